"""The experiments of policy predicate abstraction (Vinzent and Hoffmann 2021): predicates, starts, instances.

Predicates are bounds `c <= v` of single variables: the first halves the range of its variable, the others are
spread evenly over the two halves, and so on, in an order that is fixed for each variable. One more predicate
goes to the variable whose parts are widest. Beside one start at rest there are 1,000 random starts from which
some driver reaches the goal. The paper's largest set has 145 predicates; it does not give the ranges of its
variables. With the speeds here 145 bounds tell all states apart: 60 of `car_x`, 35 of `car_y`, 26 and 24 of
the speeds. So its sets of 30, 50, 75, 100, 125 and 145 predicates are what they are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from random import Random
from typing import Literal

from surefoot import api
from surefoot_studies.racetrack.end_cell import WIDTHS, end_cell_environment, end_cell_problem, start_states
from surefoot_studies.racetrack.model import ACCELERATIONS
from surefoot_studies.racetrack.track import FREE, GOAL, START, Track, shipped_track

State = tuple[int, int, int, int]
FASTEST = (13, 12)  # speeds in the direction of x and of y
RANDOM_STARTS = 1000
SIZES = (4, *range(10, 146, 5))  # of predicate sets: one for each variable first; the last tells all apart
STEPS = (1, *range(101, RANDOM_STARTS + 2, 100))  # numbers of starts
OUTLINE = (4, 30, 75, 100, 125, 145)  # sizes between which numbers rise and fall


@dataclass(frozen=True, slots=True)
class AbstractionInstance:
    """A network, a number of predicates and a number of starts."""

    width: int
    predicates: int
    starts: int

    def problem(self) -> api.Problem:
        return end_cell_problem(
            self.width, start_states(abstraction_starts()[: self.starts]), largest_speed=FASTEST
        )

    def predicate_set(self) -> tuple[api.Term, ...]:
        return predicate_order()[: self.predicates]


@dataclass(frozen=True, slots=True)
class AbstractionFigure:
    """What is drawn over `across`, and which of the paper's configurations belong to it."""

    name: str
    title: str
    across: Literal["predicates", "starts"]
    instances: tuple[AbstractionInstance, ...]
    configurations: tuple[str, ...]

    def outline(self) -> tuple[AbstractionInstance, ...]:
        """The instances that are enough to measure what is claimed about the figure."""
        sizes, steps = (OUTLINE, (1,)) if self.across == "predicates" else (SIZES, (101, STEPS[-1]))
        return tuple(i for i in self.instances if i.predicates in sizes and i.starts in steps)

    def sample(self) -> tuple[AbstractionInstance, ...]:
        return tuple(i for i in SAMPLE if i in self.instances)


# What the paper's configurations are run on if not on everything: fine sets, where they end within a minute,
# and coarse ones, from one start and from many; the quickest first.
SAMPLE: tuple[AbstractionInstance, ...] = (
    *(AbstractionInstance(width, size, 1) for size in (145, 135, 125, 75, 50) for width in WIDTHS),
    *(AbstractionInstance(16, size, 101) for size in (30, 75)),
    *(AbstractionInstance(width, 145, 101) for width in (24, 32)),
    *(AbstractionInstance(64, size, 1001) for size in (50, 125)),
)


def halving_bounds(low: int, high: int) -> Iterator[int]:
    """The bounds c of `c <= v` for a variable from low to high, each c above low once."""
    if low >= high:
        return
    middle = low + (high - low + 1) // 2
    yield middle
    for pair in zip_longest(halving_bounds(low, middle - 1), halving_bounds(middle, high)):
        yield from (bound for bound in pair if bound is not None)


@cache
def predicate_order() -> tuple[api.Term, ...]:
    """All predicates; a set of n is the first n of them."""
    where = end_cell_environment(shipped_track("small"), largest_speed=FASTEST)
    kinds = {v.name: v.kind for v in where.variables}
    spans = {n: (k.low or 0, k.high or 0) for n, k in kinds.items() if isinstance(k, api.Int)}
    waiting = {name: list(halving_bounds(*span)) for name, span in spans.items()}
    found: list[api.Term] = []
    taken = dict.fromkeys(spans, 0)
    while any(waiting.values()):
        open_names = [n for n in spans if waiting[n]]
        name = max(open_names, key=lambda n: (spans[n][1] - spans[n][0] + 1) / (taken[n] + 1))
        name = next((n for n in open_names if not taken[n]), name)
        found.append(waiting[name].pop(0) <= api.Var(name))
        taken[name] += 1
    return tuple(found)


@cache
def abstraction_starts() -> tuple[State, ...]:
    """One at rest on the start line, then random ones: on the track, and the goal can be reached."""
    track = shipped_track("small")
    first = (*track.places(START)[0], 0, 0)
    others = sorted(s for s in solvable_states(track) if s != first)
    return (first, *Random(2021).sample(others, RANDOM_STARTS))


def solvable_states(track: Track) -> set[State]:
    """From which states on the track some choice of accelerations leads to a goal cell."""
    goals, free = set(track.places(GOAL)), set(track.places(FREE, START))
    across, down = (range(-limit, limit + 1) for limit in FASTEST)
    before: dict[State, list[State]] = {}
    frontier: list[State] = []
    for x, y in free:
        for dx in across:
            for dy in down:
                for ax, ay in ACCELERATIONS:
                    vx, vy = min(max(dx + ax, across[0]), across[-1]), min(max(dy + ay, down[0]), down[-1])
                    after = (x + vx, y + vy, vx, vy)
                    if (after[0], after[1]) in goals:
                        frontier.append((x, y, dx, dy))
                    elif (after[0], after[1]) in free:
                        before.setdefault(after, []).append((x, y, dx, dy))
    found = set(frontier)
    while frontier:
        for state in before.get(frontier.pop(), ()):
            if state not in found:
                found.add(state)
                frontier.append(state)
    return found


def _over_predicates() -> tuple[AbstractionInstance, ...]:
    return tuple(AbstractionInstance(w, n, 1) for w in WIDTHS for n in SIZES)


def _over_starts(widths: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[AbstractionInstance, ...]:
    return tuple(AbstractionInstance(w, n, s) for w in widths for n in sizes for s in STEPS)


THREE = ("pa-marabou", "pa-bb-marabou", "pa-marabou-z3")
ABSTRACTIONS: dict[str, AbstractionFigure] = {
    figure.name: figure
    for figure in (
        AbstractionFigure(
            "pa-1", "abstract states over predicates, one start", "predicates", _over_predicates(), THREE
        ),
        AbstractionFigure(
            "pa-2", "abstract states over starts", "starts", _over_starts((16, 64), (30, 50, 75)), THREE
        ),
        AbstractionFigure("pa-3", "time over predicates, one start", "predicates", _over_predicates(), THREE),
        AbstractionFigure(
            "pa-4",
            "abstract states over starts, with abstract starts",
            "starts",
            _over_starts((16, 64), (30, 50, 75, 125)),
            THREE,
        ),
        AbstractionFigure(
            "pa-5",
            "abstract states over starts, more predicate sets",
            "starts",
            _over_starts((24, 32), (30, 50, 75, 100, 125, 145)),
            ("pa-marabou",),
        ),
    )
}
