"""Values of so many steps, computed backwards with integers: rounded down for one bound, up for the other."""

from __future__ import annotations

from .graph import Flags
from .process import Choice, Process
from .question import Question

BITS = 256


def backward(process: Process, question: Question, left: Flags, right: Flags) -> tuple[list[int], list[int]]:
    """Bounds over 2^256 of the value of every state; a run that has ended stays where it is."""
    return _rounded(process, question, left, right, down=True), _rounded(
        process, question, left, right, down=False
    )


def _rounded(process: Process, question: Question, left: Flags, right: Flags, down: bool) -> list[int]:
    assert question.steps is not None
    one = 1 << BITS
    is_until = question.kind == "until"
    best = max if question.optimise == "max" else min
    values = [one if is_until and flag else 0 for flag in right]
    for i in reversed(range(question.steps)):
        after = []
        for state, several in enumerate(process.choices):
            if is_until and right[state] and i >= question.after:
                after.append(one)
            elif not left[state] if is_until else right[state]:
                after.append(0)
            elif not several:
                after.append(values[state])
            else:
                after.append(best([_step(c, values, one, down) for c in several]))
        values = after
    return values


def _step(choice: Choice, values: list[int], one: int, down: bool) -> int:
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
