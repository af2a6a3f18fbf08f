"""Where the answer of a run cannot change any more, although the run goes on.

The fate of a state is found by looking at everything that can follow, up to a number of states. Nothing is
guessed: a set of states that no step leaves, in which every state has a step, decides.

* `LOST`: `right` holds nowhere in the set, `left` everywhere, no run ends there. Every run from here is
  cut off or meets the upper limit of steps, and would be the same failure if it were followed for ever.
* `SURE`: from each state of the set `right` can still be reached, and `left` holds until then. The set is
  finite, so that `right` is reached with probability 1.
* `OPEN`: everything else, also where more than so many states can follow.

All of these are properties of the state alone. What is lost or sure remains so in whatever follows, and what
can come to an open state is open. So it does not matter when somebody looks: a run that is lost is lost in
every tier, however late it is found out, and what was found out once is a short cut for whoever looks next.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar

from surefoot.simulate.path_property import PathProperty

OPEN, LOST, SURE, HOPE = range(4)  # HOPE: not lost, and whether it is sure was not asked
MOST_FOLLOWING = 4096  # states, and outcomes of one step
REACHED: tuple[()] = ()
_LAYER_WORK = 8
_FIRST_CREDIT = 512  # states that may be looked at in any case

S = TypeVar("S", bound=Hashable)
Following: TypeAlias = Sequence[S] | None  # REACHED: `right` holds; None: open, or a run is over there


def can_settle(watched: PathProperty) -> bool:
    """May a run be ended before it is over? Not where its reward counts whatever becomes of it."""
    return watched.reward is None or watched.high is None


def can_be_sure(watched: PathProperty) -> bool:
    """Does it suffice to know that `right` is reached some time?"""
    return watched.reward is None and watched.high is None and not watched.low


@dataclass(slots=True)
class LookCredit:
    """How much may be looked at before a run is cut off: about as much work as the runs themselves are.

    `price`: of looking at a state, in steps of a run.
    """

    price: int
    steps: int = 0

    def __post_init__(self) -> None:
        self.steps = _FIRST_CREDIT * self.price

    def is_spent(self) -> bool:
        return self.steps < 0

    def pay(self, work: int) -> None:
        self.steps -= self.price * work


@dataclass(frozen=True, slots=True)
class Fate(Generic[S]):
    kind: int
    sharing: set[S]  # states of which the same is true
    work: int  # about as much as looking at so many states


def explore_fate(
    start: S,
    follow: Callable[[list[S]], Iterable[Following[S]]],
    recall: Callable[[S], int | None],
    lost_only: bool,
    most: int = MOST_FOLLOWING,
) -> Fate[S]:
    """The fate of a state. `recall`: the fate of another one, if somebody has found it out; `lost_only`: what
    is not lost need not be told apart."""
    known, layer, work = {start}, [start], 0
    before: dict[S, list[S]] = {}
    reached: list[S] = []
    while layer:
        later: list[S] = []
        work += _LAYER_WORK + len(layer)
        for state, following in zip(layer, follow(layer), strict=True):
            if following is None or (lost_only and not following):
                kind = OPEN if following is None else HOPE
                return Fate(kind, _all_before([state], before), work)
            if not following:
                reached.append(state)
            for target in following:
                before.setdefault(target, []).append(state)
                if target not in known:
                    known.add(target)
                    later.append(target)
                    fate = recall(target)
                    if fate == OPEN or (lost_only and fate == HOPE):
                        return Fate(fate, _all_before([state], before), work)
            if len(known) > most:
                return Fate(OPEN, {start}, work)
        layer = later
    if not reached:
        return Fate(LOST, known, work)
    sure = len(_all_before(reached, before)) == len(known)
    return Fate(SURE, known, work) if sure else Fate(OPEN, {start}, work)


def _all_before(some: list[S], before: dict[S, list[S]]) -> set[S]:
    """These states and all that can come there."""
    found, waiting = set(some), list(some)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found


def possible_draws(limits: Sequence[int]) -> list[int]:
    """Which outcomes a random word can draw with these thresholds."""
    return [k for k, (below, limit) in enumerate(pairwise((0, *limits))) if limit > below]
