"""What an answer is worth to a script: the exit code of a command, and whether a test passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from surefoot.problem.problem import Problem
from surefoot.problem.property import Threshold
from surefoot.verdict.threshold import compare_with_threshold, threshold_of
from surefoot.verdict.verdict import (
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Reason,
    Result,
    Unknown,
    Vacuous,
    Violated,
)

WORST_FIRST = (130, 4, 1, 3, 0)
THRESHOLD_CODES: dict[str, int] = {"met": 0, "missed": 1, "undecided": 3}

CheckOutcome: TypeAlias = Literal["passed", "failed", "unknown"]


def exit_code(result: Result, problem: Problem | None = None) -> int:
    """0 proved, or no violation in as many steps as the property speaks of; 1 violated; 130 interrupted.

    A value: 0, or 1 where it misses the threshold of the property; an estimate with its confidence.
    3: no full answer, or one about all runs that rests on the word of a solver.
    """
    limit = None if problem is None else threshold_of(problem.property)
    match result.verdict:
        case Violated():
            return 1
        case Estimated() as found:
            return _estimate_code(found, limit)
        case PerStart(table) if any(isinstance(v, Estimated) for _, v in table):
            return worst_exit_code([_estimate_code(v, limit) for _, v in table if isinstance(v, Estimated)])
        case Exact(certificate=certificate) | PerStart(certificate=certificate) if limit is not None:
            answer = compare_with_threshold(limit, result.verdict)
            return 3 if answer == "met" and certificate is None else THRESHOLD_CODES[answer]
        case Exact(stop=stop) if stop:
            return 3
        case Proved() | Exact() | Found() | PerStart():
            return 0
        case Holds(up_to, as_asked=asked):
            return 0 if asked and up_to is not None else 3
        case Unknown(reason=Reason.INTERRUPTED):
            return 130
        case Vacuous() | Unknown():
            return 3


def _estimate_code(found: Estimated, threshold: Threshold | None) -> int:
    """0: as precise as was asked, on the asked side of a threshold; 1: on the other; 3: neither."""
    if found.stop == Reason.INTERRUPTED.value:
        return 130
    if threshold is None:
        return 0 if found.complete else 3
    return THRESHOLD_CODES[compare_with_threshold(threshold, found)]


def worst_exit_code(codes: Sequence[int]) -> int:
    return next((c for c in WORST_FIRST if c in codes), 0)


def classify_outcome(problem: Problem, result: Result) -> CheckOutcome:
    """What a test says of it: everything that is neither a full answer nor a violation is unknown."""
    code = exit_code(result, problem)
    return "passed" if code == 0 else "failed" if code == 1 else "unknown"
