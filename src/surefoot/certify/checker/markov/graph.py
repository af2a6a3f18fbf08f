"""Which states can reach, must reach or surely reach a goal, and what all runs do, from lists of choices."""

from __future__ import annotations

from collections.abc import Sequence

from ..number import BadCertificate, Refused
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


def all_runs(
    choices: Choices, starts: list[int], kind: str, holds: Flags, steps: int | None, after: object
) -> None:
    """Refuses unless every run keeps the property; a state without choices is where a run ends."""
    if type(after) is not int or after < 0 or (after and kind != "within"):
        raise BadCertificate("property: `after` belongs to `within`")
    if kind == "within" if steps is None else kind not in ("never", "within"):
        raise BadCertificate("property: `steps` belongs to `within`, and perhaps to `never`")
    if kind == "never":
        _never(choices, starts, holds, steps)
    elif kind == "within":
        _within(choices, starts, holds, steps or 0, after)
    elif kind in ("eventually", "recurs"):
        _no_quiet_run(choices, starts, holds, through_good=kind == "recurs")
    else:
        raise BadCertificate("property: of an unknown kind")


def _after(choices: Choices, states: set[int]) -> set[int]:
    return {t for s in states for c in choices[s] for t in c[2]}


def _never(choices: Choices, starts: list[int], bad: Flags, steps: int | None) -> None:
    seen = here = set(starts)
    number = 0
    while here:
        if any(bad[s] for s in here):
            raise Refused(f"a bad state after {number} steps")
        if number == steps:
            return
        here = _after(choices, here) - seen
        seen = seen | here
        number += 1


def _within(choices: Choices, starts: list[int], good: Flags, steps: int, after: int) -> None:
    here = set(starts)
    for number in range(steps + 1):
        if number >= after:
            here = {s for s in here if not good[s]}
        if not here:
            return
        if number == steps or any(not choices[s] for s in here):
            raise Refused(f"a run of {number} steps without a good state in time")
        here = _after(choices, here)


def _no_quiet_run(choices: Choices, starts: list[int], good: Flags, *, through_good: bool) -> None:
    """Neither an end nor a cycle without good states; for `eventually`, along states that are not good."""
    seen = {s for s in starts if through_good or not good[s]}
    stack = list(seen)
    while stack:
        for target in _after(choices, {stack.pop()}):
            if target not in seen and (through_good or not good[target]):
                seen.add(target)
                stack.append(target)
    quiet = {s for s in seen if not good[s]}
    if any(not choices[s] for s in quiet):
        raise Refused("a run ends without a good state")
    left = {s: {t for t in _after(choices, {s}) if t in quiet} for s in quiet}
    users: dict[int, list[int]] = {s: [] for s in quiet}
    for s, targets in left.items():
        for t in targets:
            users[t].append(s)
    done = [s for s, targets in left.items() if not targets]
    count = 0
    while done:
        last = done.pop()
        count += 1
        for s in users[last]:
            left[s].discard(last)
            if not left[s]:
                done.append(s)
    if count < len(quiet):
        raise Refused("a cycle without good states")
