"""A policy whose network is evaluated in any order: every action that some evaluation may pick.

Where a network decides, every action counts as possible whose output is within rounding of the largest one:
whatever the order of summation, a run is among those that are looked at (docs/certificates.md, 4 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...bounds.point_bounds import Bounds, RoughEnclosure, point_enclosure, rough_enclosure
from ...kernel.term import Term, term_atoms
from ..values.policy import ClaimedPolicy
from ..values.term import Row
from ..values.transitions import ModelStep


@dataclass(slots=True, eq=False)
class AnyOrderPolicy:
    """A policy whose network is evaluated in any order; `pick` is the decision that is being looked at."""

    policy: ClaimedPolicy
    bounds: Callable[[tuple[float, ...]], Bounds] | None
    rough: RoughEnclosure | None  # wider bounds, sooner
    known: dict[tuple[float, ...], Bounds]
    stuck: set[Row]  # where a run may end because of what is picked, although there are other steps
    pick: str | None

    def __init__(self, policy: ClaimedPolicy) -> None:
        self.policy, self.known, self.stuck, self.pick = policy, {}, set(), None
        self.bounds = None if policy.network is None else point_enclosure(policy.network)
        self.rough = None if policy.network is None else rough_enclosure(policy.network)

    def possible_actions(self, row: Row, own: set[str]) -> list[str | None]:
        """The actions that may be picked where these are enabled; None: nothing is decided."""
        policy = self.policy
        if self.bounds is None or not own or any(when(row) for when, _ in policy.rules):
            return [policy.picked_action(row, own)]
        inputs, choice = policy.observe_row(row), policy.choice(own)
        about = None if self.rough is None else self.rough(inputs)
        if about is not None and len(several := _possible_argmax(*about, choice)) == 1:
            return [policy.actions[several[0]]]
        if (found := self.known.get(inputs)) is None:
            found = self.known[inputs] = self.bounds(inputs)
        return [policy.actions[i] for i in _possible_argmax(*found, choice)]

    def permitted_steps(self, row: Row, steps: list[ModelStep]) -> list[ModelStep]:
        named = [(step, self.policy.action_of(step)) for step in steps]
        picks = self.possible_actions(row, {action for _, action in named if action is not None})
        left = {action for _, action in named}
        if None not in left and not left.issuperset(picks):
            self.stuck.add(row)
        return [step for step, action in named if action is None or action in picks]

    def holds(self, row: Row, test: Callable[[Row], object], *, bad: bool) -> bool:
        """The condition; where it depends on what is picked, for the worse."""
        found = []
        for pick in self.possible_actions(row, self.policy.enabled_actions(row)):
            self.pick = pick
            found.append(bool(test(row)))
        return any(found) if bad else all(found)

    def stalls(self, row: Row) -> bool:
        own = self.policy.enabled_actions(row)
        return bool(own) and self.pick not in own

    def picks(self, _: Row, action: str) -> bool:
        return self.pick == action


def _possible_argmax(low: Sequence[int], high: Sequence[int], choice: Sequence[int]) -> list[int]:
    """Those that may be the largest."""
    best = max([low[i] for i in choice])
    return [i for i in choice if high[i] >= best]


def asks_policy(condition: Term) -> bool:
    """Does a condition depend on what is picked?"""
    return any(atom[0] in ("stalled", "chosen") for atom in term_atoms(condition))
