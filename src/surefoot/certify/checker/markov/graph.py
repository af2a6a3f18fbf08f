"""Which states can reach, must reach or surely reach a goal, from lists of choices."""

from __future__ import annotations

from collections.abc import Sequence

from .process import Choice

Choices = Sequence[Sequence[Choice]]
Flags = list[bool]


def _incoming(choices: Choices) -> list[list[tuple[int, int]]]:
    """For each state the (state, choice) pairs that may lead to it."""
    found: list[list[tuple[int, int]]] = [[] for _ in choices]
    for state, several in enumerate(choices):
        for number, (_, _, targets, _) in enumerate(several):
            for target in set(targets):
                found[target].append((state, number))
    return found


def can_reach(choices: Choices, goal: Flags, through: Flags) -> Flags:
    """Some way to choose reaches the goal with positive probability, along states of `through`."""
    incoming = _incoming(choices)
    found = list(goal)
    stack = [s for s, flag in enumerate(goal) if flag]
    while stack:
        for state, _ in incoming[stack.pop()]:
            if not found[state] and through[state]:
                found[state] = True
                stack.append(state)
    return found


def must_reach(choices: Choices, goal: Flags, through: Flags) -> Flags:
    """Every choice has an outcome that is nearer to the goal: it is reached with positive probability."""
    incoming = _incoming(choices)
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


def surely_reached(choices: Choices, goal: Flags) -> Flags:
    """Some way to choose reaches the goal with probability 1."""
    anywhere = [True] * len(choices)
    inside = anywhere
    while True:
        kept = [
            [c for c in several if inside[s] and all(inside[t] for t in c[2])]
            for s, several in enumerate(choices)
        ]
        found = can_reach(kept, goal, anywhere)
        if found == inside:
            return found
        inside = found


def never_missed(choices: Choices, goal: Flags) -> Flags:
    """Every way to choose reaches the goal with probability 1."""
    avoidable = [not flag for flag in must_reach(choices, goal, [True] * len(choices))]
    missed = can_reach(choices, avoidable, [not flag for flag in goal])
    return [not flag for flag in missed]
