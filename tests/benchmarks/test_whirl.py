"""The k-step questions can be asked of every policy that ships, and native answers them as expected."""

from __future__ import annotations

from benchmarks.whirl import steps

from surefoot.query.query import Unsat
from surefoot.solvers.native.solver import decide_native_query


def test_every_question_is_a_query() -> None:
    asked = {f"{s.family} {s.name}": s for s in steps() if s.states <= 2}
    assert {"aurora A2 aurora-48 k=2", "deeprm deeprm-20 D2"} <= set(asked)
    assert isinstance(decide_native_query(asked["aurora A2 aurora-48 k=1"].query(), seconds=60.0), Unsat)
