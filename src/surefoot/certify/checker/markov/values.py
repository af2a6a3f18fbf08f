"""The inequalities that make numbers bounds (docs/certificates.md, section 11, has the proofs).

Every function takes vectors of integers over a common scale, one entry for each state, and raises `Refused`
unless they are bounds below and above of the value asked for.
"""

from __future__ import annotations

from ..number import Refused
from .graph import Flags, can_reach, must_reach, never_missed, surely_reached
from .process import Choice, Process

Vector = list[int]


def _gain(choice: Choice, state: int, values: Vector, scale: int) -> int:
    """What the choice gains over the value of its state, times something positive."""
    unit, weights, targets, reward = choice
    total = -unit * values[state]
    for weight, target in zip(weights, targets, strict=True):
        total += weight * values[target]
    if reward:
        return reward.denominator * total + reward.numerator * unit * scale
    return total


def probability(
    process: Process, optimise: str, left: Flags, right: Flags, low: Vector, high: Vector, scale: int
) -> None:
    """Bounds of the probability of `left U right`; entries of states where it is certain are set."""
    through = [a and not b for a, b in zip(left, right, strict=True)]
    choices = [several if through[s] else [] for s, several in enumerate(process.choices)]
    for state, several in enumerate(choices):
        if right[state]:
            low[state] = high[state] = scale
        elif not several:
            low[state] = high[state] = 0
        if not 0 <= low[state] <= high[state]:
            raise Refused(f"state {state}: the bounds are not 0 <= low <= high")
    best: list[list[Choice]] = []
    for state, several in enumerate(choices):
        rises = [c for c in several if _gain(c, state, low, scale) >= 0]
        falls = [c for c in several if _gain(c, state, high, scale) <= 0]
        if optimise == "max":
            _all(falls, several, state, "above")
        else:
            _all(rises, several, state, "below")
            if several and not falls:
                raise Refused(f"state {state}: no choice keeps the bound above")
        best.append(rises)
    reached = (can_reach if optimise == "max" else must_reach)(best, right, through)
    for state, value in enumerate(low):
        if value and not reached[state]:
            raise Refused(f"state {state}: the bound below is not led to the goal by any ranking")


def _all(kept: list[Choice], several: list[Choice], state: int, side: str) -> None:
    if len(kept) != len(several):
        raise Refused(f"state {state}: a choice breaks the bound {side}")


def reward(process: Process, optimise: str, goal: Flags, low: Vector, high: Vector, scale: int) -> Flags:
    """Bounds of the expected reward until the goal; returns where it is infinite."""
    choices = [[] if goal[s] else several for s, several in enumerate(process.choices)]
    finite = (never_missed if optimise == "max" else surely_reached)(choices, goal)
    for state, flag in enumerate(goal):
        if flag:
            low[state] = high[state] = 0
    best: list[list[Choice]] = [[] for _ in choices]
    for state, several in enumerate(choices):
        if goal[state] or not finite[state]:
            continue
        if not 0 <= low[state] <= high[state]:
            raise Refused(f"state {state}: the bounds are not 0 <= low <= high")
        usable = [c for c in several if all(finite[t] for t in c[2])]
        rises = [c for c in usable if _gain(c, state, low, scale) >= 0]
        falls = [c for c in usable if _gain(c, state, high, scale) <= 0]
        if optimise == "max":
            _all(falls, several, state, "above")
            if not rises:
                raise Refused(f"state {state}: no choice keeps the bound below")
        else:
            _all(rises, usable, state, "below")
        best[state] = falls
    if optimise == "min":
        reached = can_reach(best, goal, [True] * len(choices))
        for state, flag in enumerate(finite):
            if flag and not reached[state]:
                raise Refused(f"state {state}: no choice keeps the bound above and leads to the goal")
    return [not flag for flag in finite]
