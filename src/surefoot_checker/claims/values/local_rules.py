"""What has to hold at one state, looking at its successors only (docs/certificates.md, section 11).

Beside the bounds a certificate may have ranks: 0 where the goal is, `NONE` where it need not be reached. Then
every condition is local: bounds are inductive, and a rank falls along some outcome. The same conditions stand
here twice: `check_state` for a state whose choices are at hand, and as statements for `local_code`, which
makes one function of them and of what the states do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...kernel.strict_json import Refused
from .packed_states import Numbers
from .state_space import Choice

NONE = (1 << 32) - 1  # the rank of a state that no ranking leads to the goal


@dataclass(frozen=True, slots=True, eq=False)
class LocalBounds:
    """Of all states, in their order: bounds over `scale`, and ranks."""

    low: Numbers
    high: Numbers
    rank: Numbers
    scale: int


@dataclass(frozen=True, slots=True)
class LocalRule:
    """Which choices have to keep which bound; the ranking goes along some kept choice, or along all.

    For the greatest probability and reward no choice may break the bound above, for the least ones the bound
    below; for the other bound one choice is enough. A ranking that some choice follows is followed by a
    choice that keeps the bound which needs it: below for probabilities, above for the least reward.
    """

    reward: bool
    greatest: bool

    @property
    def by_some(self) -> bool:
        """Does the ranking need one choice only?"""
        return self.greatest is not self.reward

    @property
    def everywhere(self) -> bool:
        """Must every state have a rank?"""
        return self.reward


def refuse_state(why: str) -> None:
    raise Refused(f"a state: {why}")


Own: TypeAlias = tuple[int, int, int]  # of a state: the bound below, the bound above, the rank


def check_decided(own: Own, scale: int, *, goal: bool, reward: bool) -> None:
    """A state where nothing is left open: the goal, or one from which it is not reached."""
    low, high, rank = own
    if goal:
        one = 0 if reward else scale
        if low != one or high != one or rank:
            refuse_state("the goal has another value, or a rank that is not 0")
    elif reward:
        refuse_state("a run ends that has missed the goal, where a reward is infinite")
    elif low or high or rank != NONE:
        refuse_state("a run that is lost has a value above 0, or a rank")


def check_state(rule: LocalRule, bounds: LocalBounds, own: Own, choices: Sequence[Choice]) -> None:
    """A state that is neither the goal nor lost, from all its choices."""
    low, high, rank = own
    if not choices:
        check_decided(own, bounds.scale, goal=False, reward=rule.reward)
        return
    if low > high:
        refuse_state("the bounds are not low <= high")
    if rank == NONE and (low or rule.everywhere):
        refuse_state("the bound below is not led to the goal by any ranking")
    kept, led = check_choices(rule, bounds, own, choices)
    if not kept and (low or not rule.greatest or rule.reward):
        refuse_state(f"no choice keeps the bound {'below' if rule.greatest else 'above'}")
    if rule.by_some and rank != NONE and not led:
        refuse_state("no choice that keeps its bound leads to a lower rank")


def check_choices(
    rule: LocalRule, bounds: LocalBounds, own: Own, choices: Sequence[Choice]
) -> tuple[bool, bool]:
    """Refuse unless each choice keeps what all have to; does one keep the other bound, does the rank fall?"""
    low, high, rank = own
    led = kept = False
    for choice in choices:
        rises = _gain(choice, bounds.low, low, bounds.scale) >= 0
        falls = _gain(choice, bounds.high, high, bounds.scale) <= 0
        must, may = (falls, rises) if rule.greatest else (rises, falls)
        lower = any(bounds.rank[t] < rank for t in choice[2])
        if not must:
            refuse_state(f"a choice breaks the bound {'above' if rule.greatest else 'below'}")
        if not rule.by_some and rank != NONE and not lower:
            refuse_state("a choice along which the rank does not fall")
        kept, led = kept or may, led or (lower and may)
    return kept, led


def _gain(choice: Choice, values: Numbers, own: int, scale: int) -> int:
    """What the choice gains over the value of its state, times something positive."""
    unit, weights, targets, reward = choice
    total = -unit * own
    for weight, target in zip(weights, targets, strict=True):
        total += weight * values[target]
    return reward.denominator * total + reward.numerator * unit * scale if reward else total
