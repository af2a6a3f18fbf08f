"""Solutions that exist only on an edge: ties at corners of linear pieces."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest

from surefoot.formats.policy_file import load_policy
from surefoot.problem.network import Network, dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Unsat
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Term, Var
from surefoot.term.value_types import Real

ONE = Fraction(1)


def query(network: Network, condition: Term) -> Query:
    names = [f"x{i}" for i in range(network.width)]
    quantities = tuple(QueryVariable(n, Real(-ONE, ONE)) for n in names)
    call = NetworkCall(network, tuple(Var(n) for n in names), ("y",))
    return Query((*quantities, QueryVariable("y", Real())), (condition,), (call,))


def toy() -> Network:
    return load_policy(Path(str(files("surefoot_studies.toy").joinpath("assets", "toy.onnx")))).network


def roof(*, slope: float = 1.0) -> Network:
    """1 - slope * |x0 - x1|: as large as 1 on a line without corners of the box."""
    return dense_network([([[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0]), ([[-slope, -slope]], [1.0])])


@pytest.mark.parametrize(
    ("network", "most"), [(toy(), 12), (roof(), 1), (roof(slope=1e4), 1)], ids=["toy", "roof", "steep"]
)
def test_the_largest_value_is_attained(network: Network, most: int) -> None:
    asked = query(network, Var("y") >= most)
    answer = decide_native_query(asked, seconds=20)
    assert isinstance(answer, Sat)
    assert assignment_defect(asked, answer.assignment) is None
    assert isinstance(
        decide_native_query(query(network, Var("y") >= most + Fraction(1, 100)), seconds=20), Unsat
    )
