"""The native solver on known answers, on every kind of node, and on networks that nobody here made."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.solvers.examples import EXAMPLES, RELU, hard_query, real, relu

from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import problem_from_vnnlib, read_vnnlib_file
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import Combine, Network, Pairing, Pick, dense_network, freeze_indices
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import (
    Answer,
    NetworkCall,
    Query,
    QueryVariable,
    Sat,
    Undecided,
    UndecidedReason,
    Unsat,
)
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.unroll import unroll
from surefoot.solvers.native import Native
from surefoot.solvers.native.solver import decide_native_query
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import Apply, Const, Op, Var, equal
from surefoot.term.value_types import Int, Real

x, y = Var("x"), Var("y")


@pytest.mark.parametrize("name", EXAMPLES)
def test_known_answers(name: str) -> None:
    query, possible = EXAMPLES[name]
    assert Native().objection(query) is None
    answer = decide_native_query(query, seconds=20)
    assert isinstance(answer, Sat if possible else Unsat)
    if isinstance(answer, Sat):
        assert assignment_defect(query, answer.assignment) is None


def test_answers_through_a_session_and_again() -> None:
    query, _ = EXAMPLES["tie"]
    assert solve_query(Native(), query, seconds=20) == solve_query(Native(), query, seconds=20)
    with Native().session(Query(query.quantities, (), query.calls), seconds=20) as ask:
        assert isinstance(ask(), Sat)
        assert ask(Const(False)) == Unsat()


def test_an_answer_in_time() -> None:
    answer = decide_native_query(hard_query(), seconds=1)
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.TIMEOUT


@pytest.mark.parametrize(
    ("pairing", "least"), [(Pairing.MULTIPLY, -1), (Pairing.MAXIMUM, -1), (Pairing.ADD, -2)]
)
def test_pairs(pairing: Pairing, least: int) -> None:
    nodes = (Pick(0, freeze_indices([0])), Pick(0, freeze_indices([1])), Combine(1, 2, pairing))
    call = NetworkCall(Network(2, nodes), (x, y), ("u",))
    quantities = (real("x", -1, 1), real("y", -1, 1), real("u"))
    u = Var("u")
    assert isinstance(decide_native_query(Query(quantities, (u <= least,), (call,))), Sat)
    assert (
        decide_native_query(Query(quantities, (u <= Const(least - Fraction(1, 1000)),), (call,))) == Unsat()
    )


def test_quotients() -> None:
    call = NetworkCall(Network(1, (Combine(0, 0, Pairing.DIVIDE),), "one"), (x,), ("y",))
    query = Query((real("x", 1, 2), real("y")), (y >= Const(Fraction(101, 100)),), (call,))
    assert decide_native_query(query) == Unsat()


def test_whole_inputs_are_looked_at_one_by_one() -> None:
    generator = np.random.default_rng(1)
    sizes = [(8, 3), (8, 8), (1, 8)]
    network = dense_network([(generator.normal(size=s), generator.normal(size=s[0])) for s in sizes])
    names = [f"x{i}" for i in range(3)]
    call = NetworkCall(network, tuple(Var(n) for n in names), ("y",))
    quantities = (*(QueryVariable(n, Int(-4, 4)) for n in names), real("y"))
    values = sorted(exact_outputs(network, p)[0] for p in product(map(Fraction, range(-4, 5)), repeat=3))
    between = (values[3] + values[4]) / 2
    only = (y >= Const(values[3]), y <= Const(values[3]))
    assert isinstance(decide_native_query(Query(quantities, only, (call,))), Sat)
    assert decide_native_query(Query(quantities, (equal(y, between),), (call,))) == Unsat()
    inside = (y > Const(values[3]), y < Const(values[4]))
    assert decide_native_query(Query(quantities, inside, (call,))) == Unsat()


def test_float32_inputs_are_exhausted() -> None:
    one = Fraction(float(np.nextafter(np.float32(1), np.float32(2))))
    quantities = (QueryVariable("x", Real(Fraction(1), Fraction(2), float32=True)), real("y"))
    between = (y > 1, y < Const(one))
    assert decide_native_query(Query(quantities, between, relu().calls)) == Unsat()
    assert isinstance(decide_native_query(Query(quantities, (y > 1, y <= Const(one)), relu().calls)), Sat)


def test_objections() -> None:
    unbounded = Query((real("x"), real("y")), (), (NetworkCall(RELU, (x,), ("y",)),))
    assert "`x` has no bounds" in (Native().objection(unbounded) or "")
    smooth = Query((real("x", 0, 1),), (Apply(Op.EXP, (x,)) <= 2,))
    assert "exp(x)" in (Native().objection(smooth) or "")


def excellent(network: Network, epsilon: Fraction) -> Query:
    """Aurora's output at most 0 although latency is excellent and nothing is lost."""
    bounds = [(-epsilon, epsilon), (Fraction(1), 1 + epsilon), (Fraction(1), Fraction(1))] * 10
    inputs = tuple(QueryVariable(f"x{i}", Real(*pair)) for i, pair in enumerate(bounds))
    call = NetworkCall(network, tuple(Var(q.name) for q in inputs), ("y",))
    return Query((*inputs, real("y")), (y <= 0,), (call,))


def test_aurora_is_positive_under_excellent_conditions(shared_data: Path) -> None:
    network = load_policy(shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx").network
    assert decide_native_query(excellent(network, Fraction(1, 100)), seconds=20) == Unsat()
    negative = decide_native_query(excellent(network, Fraction(2, 100)), seconds=20)
    assert isinstance(negative, Sat)
    assert negative.assignment["y"] < -0.05


def from_files(network: Path, specification: Path) -> Query:
    problem = problem_from_vnnlib(load_policy(network).network, read_vnnlib_file(specification), "row")
    encoded = unroll(problem, 0, rounding=False)
    more = encode_violation(encoded)
    return Query(encoded.query.quantities, (*encoded.query.constraints, more), encoded.query.calls)


def answer(folder: Path, network: str, specification: str) -> Answer:
    found = next((folder / "onnx").glob(f"{network}.onnx*"))
    asked = next((folder / "vnnlib").glob(f"{specification}.vnnlib*"))
    return decide_native_query(from_files(found, asked), seconds=30)


@pytest.mark.parametrize(
    ("network", "prop", "expected"),
    [("1_1", 1, Unsat), ("2_1", 3, Unsat), ("1_9", 3, Sat), ("5_7", 3, Unsat), ("1_2", 2, Sat)],
)
def test_acasxu(shared_data: Path, network: str, prop: int, expected: type) -> None:
    folder = shared_data / "queries" / "acasxu"
    found = answer(folder, f"ACASXU_run2a_{network}_batch_2000", f"prop_{prop}")
    assert isinstance(found, expected)


@pytest.mark.parametrize("row", ["012_sat_n2_r6", "050_sat_n3_r10", "035_unsat_n8_r8", "041_unsat_n8_r6"])
def test_planted_needles(shared_data: Path, row: str) -> None:
    folder = shared_data / "queries" / "planted_needles"
    found = answer(folder, f"planted_{row}", f"planted_{row}")
    assert isinstance(found, Unsat if "unsat" in row else Sat)
