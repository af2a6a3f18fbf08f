"""Runs that leave the range of a variable: no argument shows anything about a problem that has them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from benchmarks.forgery.__main__ import is_accepted
from benchmarks.forgery.executions import prove_claim
from benchmarks.forgery.finite_systems import System, write_execution, write_states
from benchmarks.old_format import read_flat_problem

from surefoot_checker.claims.runs.argument import read_run_argument
from surefoot_checker.claims.runs.obligations import enumerate_obligations


def move(*targets: int) -> dict[str, Any]:
    """Action `a` with equally likely targets."""
    return {"a": (tuple((Fraction(1, len(targets)), t, 0) for t in targets),)}


def accepts(moves: list[dict[str, Any]], kind: str, holds: list[bool], argument: dict[str, Any]) -> bool:
    """Is the claim accepted, with every proof that the prover finds for what the checker asks?"""
    system = System(len(moves), (0,), tuple(moves), ((),) * len(moves), "rules", ((9, "a"),), ((0, 0),) * 3)
    asked = {"kind": kind, "condition": write_states(holds)}
    claim = {"kind": "execution", "problem": write_execution(system, asked), "argument": argument}

    def derive() -> Any:
        return list(enumerate_obligations(read_flat_problem(claim["problem"]), read_run_argument(argument)))

    return is_accepted(prove_claim(system, claim, derive)[1])


UNROLLED = {"kind": "unrolled", "steps": 3}
INDUCTION = {"kind": "induction", "steps": 1}


@pytest.mark.parametrize("kind", ["never", "eventually"])
def test_unrolled_runs_leave_no_range(kind: str) -> None:
    good = kind == "eventually"
    assert accepts([move(1), move(2), {}], kind, [False, False, good], UNROLLED)
    assert not accepts([move(1), move(3), {}], kind, [False, False, good], UNROLLED)


@pytest.mark.parametrize("argument", [UNROLLED, INDUCTION, {"kind": "closed", "steps": 1}])
def test_no_outcome_leaves_a_range(argument: dict[str, Any]) -> None:
    bad = [False, False, False]
    assert accepts([move(1, 2), move(2, 2), {}], "never", bad, argument)
    for outcomes in ((1, 2, 3), (1, 3, 2), (3, 1, 2)):
        assert not accepts([move(*outcomes), move(2), {}], "never", bad, argument)
