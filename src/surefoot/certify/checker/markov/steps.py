"""Values of so many steps, computed backwards with integers.

Either rounded (down for one bound, up for the other) at a fixed number of bits, or exactly: then the common
denominator grows with every step.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lcm

from .graph import Flags
from .process import Choice, Process
from .question import Question

BITS = 256


def backward(
    process: Process, question: Question, left: Flags, right: Flags, *, exactly: bool
) -> tuple[list[int], list[int], int]:
    """Bounds of the value of every state, and their scale; a run that has ended stays where it is."""
    if not exactly:
        one = 1 << BITS
        low = _all_steps(process, question, left, right, one, 1, lambda c, v, _: _step(c, v, one, down=True))
        high = _all_steps(
            process, question, left, right, one, 1, lambda c, v, _: _step(c, v, one, down=False)
        )
        return low, high, one
    units = {c[0] for several in process.choices for c in several}
    rewards = {c[3].denominator for several in process.choices for c in several}
    unit, grain = lcm(1, *units), lcm(1, *rewards)
    values = _all_steps(
        process, question, left, right, grain, unit, lambda c, v, one: _exact_step(c, v, one, unit)
    )
    assert question.steps is not None
    return values, values, grain * unit**question.steps


def _all_steps(
    process: Process,
    question: Question,
    left: Flags,
    right: Flags,
    one: int,
    growth: int,
    step: Callable[[Choice, list[int], int], int],
) -> list[int]:
    """`one` stands for the number 1; it is multiplied by `growth` in every step."""
    assert question.steps is not None
    is_until = question.kind == "until"
    best = max if question.optimise == "max" else min
    values = [one if is_until and flag else 0 for flag in right]
    for i in reversed(range(question.steps)):
        after = []
        before, one = one, one * growth
        for state, several in enumerate(process.choices):
            if is_until and right[state] and i >= question.after:
                after.append(one)
            elif not left[state] if is_until else right[state]:
                after.append(0)
            elif not several:
                after.append(values[state] * growth)
            else:
                after.append(best([step(c, values, before) for c in several]))
        values = after
    return values


def _step(choice: Choice, values: list[int], one: int, *, down: bool) -> int:
    unit, weights, targets, reward = choice
    total = 0
    for weight, target in zip(weights, targets, strict=True):
        total += weight * values[target]
    if reward:
        below = unit * reward.denominator
        total = total * reward.denominator + reward.numerator * unit * one
    else:
        below = unit
    return total // below if down else -(-total // below)


def _exact_step(choice: Choice, values: list[int], one: int, common: int) -> int:
    """`one` is that of the values; the result is over `common` times as much."""
    unit, weights, targets, reward = choice
    total = sum(weight * values[target] for weight, target in zip(weights, targets, strict=True))
    return total * (common // unit) + int(reward * one * common)
