"""A policy whose network is evaluated in any order: every action that some evaluation may pick.

Where a network decides, every action counts as possible whose output is within rounding of the largest one:
whatever the order of summation, a run is among those that are looked at (docs/certificates.md, 4 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..markov.moves import Step
from ..markov.policy import Policy
from ..markov.term import Row
from ..points import Bounds, Rough, enclosure, rough


@dataclass(slots=True, eq=False)
class AnyOrder:
    """A policy whose network is evaluated in any order; `pick` is the decision that is being looked at."""

    policy: Policy
    bounds: Callable[[tuple[float, ...]], Bounds] | None
    rough: Rough | None  # wider bounds, sooner
    known: dict[tuple[float, ...], Bounds]
    stuck: set[Row]  # where a run may end because of what is picked, although there are other steps
    pick: str | None

    def __init__(self, policy: Policy) -> None:
        self.policy, self.known, self.stuck, self.pick = policy, {}, set(), None
        self.bounds = None if policy.network is None else enclosure(policy.network)
        self.rough = None if policy.network is None else rough(policy.network)

    def possible(self, row: Row, own: set[str]) -> list[str | None]:
        """The actions that may be picked where these are enabled; None: nothing is decided."""
        policy = self.policy
        if self.bounds is None or not own or any(when(row) for when, _ in policy.rules):
            return [policy.picked(row, own)]
        inputs, choice = policy.observed(row), policy.choice(own)
        about = None if self.rough is None else self.rough(inputs)
        if about is not None and len(several := _largest(*about, choice)) == 1:
            return [policy.actions[several[0]]]
        if (found := self.known.get(inputs)) is None:
            found = self.known[inputs] = self.bounds(inputs)
        return [policy.actions[i] for i in _largest(*found, choice)]

    def permitted(self, row: Row, steps: list[Step]) -> list[Step]:
        named = [(step, self.policy.action_of(step)) for step in steps]
        picks = self.possible(row, {action for _, action in named if action is not None})
        left = {action for _, action in named}
        if None not in left and not left.issuperset(picks):
            self.stuck.add(row)
        return [step for step, action in named if action is None or action in picks]

    def holds(self, row: Row, test: Callable[[Row], object], *, bad: bool) -> bool:
        """The condition; where it depends on what is picked, for the worse."""
        found = []
        for pick in self.possible(row, self.policy.enabled(row)):
            self.pick = pick
            found.append(bool(test(row)))
        return any(found) if bad else all(found)

    def stalls(self, row: Row) -> bool:
        own = self.policy.enabled(row)
        return bool(own) and self.pick not in own

    def picks(self, _: Row, action: str) -> bool:
        return self.pick == action


def _largest(low: Sequence[int], high: Sequence[int], choice: Sequence[int]) -> list[int]:
    """Those that may be the largest."""
    best = max([low[i] for i in choice])
    return [i for i in choice if high[i] >= best]


def asks_policy(condition: Any) -> bool:
    """Does a condition depend on what is picked?"""
    if type(condition) is not list or not condition:
        return False
    return condition[0] in ("stalled", "chosen") or any(map(asks_policy, condition))
