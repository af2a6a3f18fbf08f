"""The inequalities that make numbers bounds (docs/certificates.md, section 11, has the proofs).

Every function takes vectors of integers over a common scale, one entry for each state, and raises `Refused`
unless they are bounds below and above of the value asked for. Values of so many steps are computed backwards:
either rounded (down for one bound, up for the other) at a fixed number of bits, or exactly: then the common
denominator grows with every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm

from ...kernel.strict_json import Refused
from .pctl_question import QuantitativeQuery
from .state_space import Choice, Process

Vector = list[int]
BITS = 256  # of values of so many steps, unless they are exact
Choices = Sequence[Sequence[Choice]]
Flags = list[bool]


def _choice_gain(choice: Choice, state: int, values: Vector, scale: int) -> int:
    """What the choice gains over the value of its state, times something positive."""
    unit, weights, targets, reward = choice
    if len(targets) == 1:
        total = values[targets[0]] - values[state]  # the only weight is the unit, which is 1
    else:
        total = -unit * values[state]
        for weight, target in zip(weights, targets, strict=True):
            total += weight * values[target]
    if reward:
        return reward.denominator * total + reward.numerator * unit * scale
    return total


def check_probability_bounds(
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
        rises = [c for c in several if _choice_gain(c, state, low, scale) >= 0]
        falls = [c for c in several if _choice_gain(c, state, high, scale) <= 0]
        if optimise == "max":
            _require_all(falls, several, state, "above")
        else:
            _require_all(rises, several, state, "below")
            if several and not falls:
                raise Refused(f"state {state}: no choice keeps the bound above")
        best.append(rises)
    reached = (_can_reach if optimise == "max" else _must_reach)(best, right, through)
    for state, value in enumerate(low):
        if value and not reached[state]:
            raise Refused(f"state {state}: the bound below is not led to the goal by any ranking")


def _require_all(kept: list[Choice], several: Sequence[Choice], state: int, side: str) -> None:
    if len(kept) != len(several):
        raise Refused(f"state {state}: a choice breaks the bound {side}")


def check_reward_bounds(
    process: Process, optimise: str, goal: Flags, low: Vector, high: Vector, scale: int
) -> Flags:
    """Bounds of the expected reward until the goal; returns where it is infinite.

    Where something may be paid that is below 0, no state may have a way to miss the goal: then every way to
    choose ends surely, after a number of steps whose expectation is finite, and the inequalities make bounds
    whatever the signs are.
    """
    choices = [[] if goal[s] else several for s, several in enumerate(process.choices)]
    sure = optimise == "max" or process.signed
    finite = (_never_missed if sure else _surely_reached)(choices, goal)
    if process.signed and not all(finite):
        raise Refused("a negative reward, and the goal may be missed")
    for state, flag in enumerate(goal):
        if flag:
            low[state] = high[state] = 0
    best: list[list[Choice]] = [[] for _ in choices]
    for state, several in enumerate(choices):
        if goal[state] or not finite[state]:
            continue
        if not low[state] <= high[state] or (low[state] < 0 and not process.signed):
            raise Refused(f"state {state}: the bounds are not 0 <= low <= high")
        usable = [c for c in several if all(finite[t] for t in c[2])]
        rises = [c for c in usable if _choice_gain(c, state, low, scale) >= 0]
        falls = [c for c in usable if _choice_gain(c, state, high, scale) <= 0]
        if optimise == "max":
            _require_all(falls, several, state, "above")
            if not rises:
                raise Refused(f"state {state}: no choice keeps the bound below")
        else:
            _require_all(rises, usable, state, "below")
        best[state] = falls
    if optimise == "min":
        reached = _can_reach(best, goal, [True] * len(choices))
        for state, flag in enumerate(finite):
            if flag and not reached[state]:
                raise Refused(f"state {state}: no choice keeps the bound above and leads to the goal")
    return [not flag for flag in finite]


def _predecessor_states(choices: Choices) -> list[list[int]]:
    """For each state the states that have a choice which may lead to it, once for each such choice."""
    found: list[list[int]] = [[] for _ in choices]
    for state, several in enumerate(choices):
        for _, _, targets, _ in several:
            for target in targets if len(targets) == 1 else set(targets):
                found[target].append(state)
    return found


def _predecessor_choices(choices: Choices) -> list[list[tuple[int, int]]]:
    """For each state the (state, choice) pairs that may lead to it."""
    found: list[list[tuple[int, int]]] = [[] for _ in choices]
    for state, several in enumerate(choices):
        for number, (_, _, targets, _) in enumerate(several):
            for target in set(targets):
                found[target].append((state, number))
    return found


def _can_reach(choices: Choices, goal: Flags, through: Flags) -> Flags:
    """Some way to choose reaches the goal with positive probability, along states of `through`."""
    incoming = _predecessor_states(choices)
    found = list(goal)
    stack = [s for s, flag in enumerate(goal) if flag]
    while stack:
        for state in incoming[stack.pop()]:
            if not found[state] and through[state]:
                found[state] = True
                stack.append(state)
    return found


def _must_reach(choices: Choices, goal: Flags, through: Flags) -> Flags:
    """Every choice has an outcome that is nearer to the goal: it is reached with positive probability."""
    incoming = _predecessor_choices(choices)
    found = list(goal)
    left = [len(several) for several in choices]
    seen: set[tuple[int, int]] = set()
    stack = [s for s, flag in enumerate(goal) if flag]
    while stack:
        for pair in incoming[stack.pop()]:
            state = pair[0]
            if found[state] or not through[state] or pair in seen:
                continue
            seen.add(pair)
            left[state] -= 1
            if not left[state]:
                found[state] = True
                stack.append(state)
    return found


def _surely_reached(choices: Choices, goal: Flags) -> Flags:
    """Some way to choose reaches the goal with probability 1."""
    anywhere = [True] * len(choices)
    inside = anywhere
    while True:
        kept = [
            [c for c in several if inside[s] and all(inside[t] for t in c[2])]
            for s, several in enumerate(choices)
        ]
        found = _can_reach(kept, goal, anywhere)
        if found == inside:
            return found
        inside = found


def _never_missed(choices: Choices, goal: Flags) -> Flags:
    """Every way to choose reaches the goal with probability 1."""
    avoidable = [not flag for flag in _must_reach(choices, goal, [True] * len(choices))]
    missed = _can_reach(choices, avoidable, [not flag for flag in goal])
    return [not flag for flag in missed]


def step_bounded_values(
    process: Process, question: QuantitativeQuery, left: Flags, right: Flags, *, exactly: bool
) -> tuple[list[int], list[int], int]:
    """Bounds of the value of every state, and their scale; a run that has ended stays where it is."""
    if not exactly:
        one = 1 << BITS
        low = _all_steps(
            process, question, left, right, one, 1, lambda c, v, _: _rounded_step(c, v, one, down=True)
        )
        high = _all_steps(
            process, question, left, right, one, 1, lambda c, v, _: _rounded_step(c, v, one, down=False)
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
    question: QuantitativeQuery,
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


def _rounded_step(choice: Choice, values: list[int], one: int, *, down: bool) -> int:
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
