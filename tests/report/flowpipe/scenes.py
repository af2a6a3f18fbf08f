"""Flowpipes made by hand: two variables and a sum, over time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tests.engines.reach.followed_loops import spring_problem

from surefoot.problem.problem import Problem
from surefoot.verdict.artifact import Flowpipe, FlowpipePiece, FollowedStarts
from surefoot.verdict.verdict import Reason, Result, Unknown


def spring_result(folder: Path) -> tuple[Problem, Result]:
    """One cell that is done and one that is open after time 1; boxes of half a unit of time."""
    half = Fraction(1, 2)
    starts = (
        FollowedStarts((half, Fraction(0)), (Fraction(1), Fraction(1, 4)), "done"),
        FollowedStarts(
            (half, Fraction(-1, 4)), (Fraction(1), Fraction(0)), "open", Fraction(1), "it may be bad"
        ),
    )
    pieces = tuple(
        FlowpipePiece(n * half, (n + 1) * half, cell, (0.5 - 0.1 * n, -0.3 * n, 0.0), (1.0, 0.3, 1.3))
        for n in range(4)
        for cell in (0, 1)
    )
    pipe = Flowpipe(("x", "v"), ("x + v",), "time", starts, pieces, half, Fraction(1), (1, 1), Fraction(2))
    verdict = Unknown(Reason.TIMEOUT, "50 % of the starts are shown to keep it", artifact=pipe)
    result = Result("spring/asked", "Reach()", verdict, False, "exact", 0, {}, {}, 1.0)
    return spring_problem(folder), result
