"""Where the answer of a run cannot change any more, although the run goes on.

The fate of a state is found by looking at everything that can follow, up to a number of states. Nothing is
guessed: a set of states that no step leaves, in which every state has a step, decides.

* `LOST`: `right` holds nowhere in the set, `left` everywhere, no run ends there. Every run from here is
  cut off or meets the upper limit of steps, and would be the same failure if it were followed for ever.
* `SURE`: from each state of the set `right` can still be reached, and `left` holds until then. The set is
  finite, so that `right` is reached with probability 1.
* `OPEN`: everything else, also where more than so many states can follow.

Both are properties of the state alone and remain true in whatever follows. So it does not matter when somebody
looks: a run that is lost is lost in every tier, however late it is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

from surefoot.simulate.path_property import PathProperty

OPEN, LOST, SURE = range(3)
MOST_FOLLOWING = 4096  # states, and outcomes of one step
REACHED: tuple[()] = ()

S = TypeVar("S", bound=Hashable)
Following: TypeAlias = Sequence[S] | None  # REACHED: `right` holds; None: not known, or a run is over there


def can_settle(watched: PathProperty) -> bool:
    """May a run be ended before it is over? Not where its reward counts whatever becomes of it."""
    return watched.reward is None or watched.high is None


def can_be_sure(watched: PathProperty) -> bool:
    """Does it suffice to know that `right` is reached some time?"""
    return watched.reward is None and watched.high is None and not watched.low


def explore_fate(
    start: S, follow: Callable[[list[S]], Iterable[Following[S]]], most: int, lost_only: bool
) -> tuple[int, set[S]]:
    """The fate of a state, and all that share it if it is lost. `lost_only`: nothing else matters."""
    known, layer = {start}, [start]
    before: dict[S, list[S]] = {}
    reached: list[S] = []
    while layer:
        later: list[S] = []
        for state, following in zip(layer, follow(layer), strict=True):
            if following is None or (lost_only and not following):
                return OPEN, known
            if not following:
                reached.append(state)
            for target in following:
                before.setdefault(target, []).append(state)
                if target not in known:
                    known.add(target)
                    later.append(target)
            if len(known) > most:
                return OPEN, known
        layer = later
    if not reached:
        return LOST, known
    hopeful = set(reached)
    while reached:
        for state in before.get(reached.pop(), ()):
            if state not in hopeful:
                hopeful.add(state)
                reached.append(state)
    return SURE if len(hopeful) == len(known) else OPEN, known


def possible_draws(limits: Sequence[int]) -> list[int]:
    """Which outcomes a random word can draw with these thresholds."""
    return [k for k, (below, limit) in enumerate(pairwise((0, *limits))) if limit > below]
