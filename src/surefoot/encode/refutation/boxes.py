"""Boxes of states: bounds for numbers, values for truth values and locations; widened and cut as needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, TypeAlias

from surefoot.problem.environment import Array, Environment, Int, Kind, Real
from surefoot.problem.names import location_key, location_name
from surefoot.problem.semantics import State
from surefoot.problem.term import Term, Var, conjunction, equal
from surefoot.problem.window import windows_of

Ends: TypeAlias = tuple[Fraction | None, Fraction | None]
PATIENCE = 3  # widenings of one bound before it is given up


@dataclass(frozen=True, slots=True)
class Place:
    """One number, truth value or location of a state."""

    name: str
    path: tuple[int, ...]
    kind: Kind | tuple[str, tuple[str, ...]]  # or a component and its locations

    def read(self, state: State) -> Any:
        value = state[self.name]
        for index in self.path:
            value = value[index]
        return value

    @property
    def ends(self) -> Ends:
        """The declared range of a number."""
        match self.kind:
            case Real(low, high) | Int(low, high):
                return None if low is None else Fraction(low), None if high is None else Fraction(high)
            case _:
                return None, None

    @property
    def is_number(self) -> bool:
        return isinstance(self.kind, Int | Real)

    def term(self) -> Term:
        found: Term = Var(self.name)
        for index in self.path:
            found = found[index]
        return found

    def has(self, value: Any) -> Term:
        """The condition that a truth value or a location is this one."""
        if isinstance(self.kind, tuple):
            component, locations = self.kind
            return Var(location_name(component, locations[value]))
        return self.term() if value else ~self.term()


def places_of(environment: Environment) -> tuple[Place, ...]:
    """All scalars of a state."""
    found = [p for v in environment.variables for p in _places(v.name, (), v.kind)]
    several = (c for c in environment.components if len(c.locations) > 1)
    return (*found, *(Place(location_key(c.name), (), (c.name, c.locations)) for c in several))


def _places(name: str, path: tuple[int, ...], kind: Kind) -> Iterator[Place]:
    if isinstance(kind, Array):
        for i in range(kind.length):
            yield from _places(name, (*path, i), kind.element)
    else:
        yield Place(name, path, kind)


def shared(environment: Environment, places: Sequence[Place]) -> tuple[tuple[int, ...], ...]:
    """The places that belong to one history buffer: each value moves through all of them."""
    number = {place.name: i for i, place in enumerate(places) if not place.path}
    return tuple(tuple(number[n] for n in w.names) for w in windows_of(environment))


@dataclass(frozen=True, slots=True)
class Box:
    """`ends`: of the numbers, by place; `values`: of the others, by place."""

    places: tuple[Place, ...]
    ends: tuple[Ends, ...]
    values: tuple[Any, ...]
    widened: tuple[tuple[int, int], ...]  # how often each bound was
    strict: frozenset[tuple[int, bool]] = frozenset()  # ends of the declared range that are left out

    def where(self) -> Term:
        parts: list[Term] = []
        for index, (place, (low, high), value) in enumerate(
            zip(self.places, self.ends, self.values, strict=True)
        ):
            if not place.is_number:
                parts += [] if value is None else [place.has(value)]
            elif low is not None and low == high:
                parts.append(equal(place.term(), low))
            else:
                parts += self._bounds(index, place, low, high)
        return conjunction(tuple(parts))

    def _bounds(
        self, index: int, place: Place, low: Fraction | None, high: Fraction | None
    ) -> Iterator[Term]:
        value = place.term()
        if low is not None and low != place.ends[0]:
            yield value >= low
        elif low is not None and (index, False) in self.strict:
            yield value > low
        if high is not None and high != place.ends[1]:
            yield value <= high
        elif high is not None and (index, True) in self.strict:
            yield value < high

    def with_bound(self, index: int, upper: bool, value: Fraction | None) -> Box:
        """With another bound, not beyond the declared range."""
        declared = self.places[index].ends[upper]
        if value is not None and isinstance(self.places[index].kind, Int):
            value = Fraction(ceil(value) if upper else floor(value))
        beyond = value is None or (declared is not None and (value > declared if upper else value < declared))
        pair = list(self.ends[index])
        pair[upper] = declared if beyond else value
        return replace(self, ends=(*self.ends[:index], (pair[0], pair[1]), *self.ends[index + 1 :]))

    def widened_to(self, state: State) -> Box | None:
        """With this state inside, and some room; None if that takes another truth value or location."""
        box, counts = self, [list(pair) for pair in self.widened]
        for index, place in enumerate(self.places):
            value = place.read(state)
            if not place.is_number:
                if self.values[index] not in (None, value):
                    return None
                continue
            for upper, end in enumerate(self.ends[index]):
                excess = Fraction(0) if end is None else (value - end if upper else end - value)
                if excess > 0:
                    counts[index][upper] += 1
                    given_up = counts[index][upper] > PATIENCE
                    new = None if given_up else _beyond(Fraction(value), excess, bool(upper))
                    box = box.with_bound(index, bool(upper), new)
        return replace(box, widened=tuple((a, b) for a, b in counts))

    def without(self, state: State, core: Box) -> Box | None:
        """Cut between the core, which stays inside, and this state; None if the core has the state."""
        best: tuple[Fraction, int, bool, Fraction] | None = None
        for index, place in enumerate(self.places):
            if not place.is_number:
                continue
            value = Fraction(place.read(state))
            for upper, end in enumerate(core.ends[index]):
                excess = Fraction(0) if end is None else (value - end if upper else end - value)
                if end is not None and excess > 0 and (best is None or excess > best[0]):
                    ends = sorted((end, (3 * end + value) / 4))
                    best = excess, index, bool(upper), simplest(*ends)
        if best is None:
            return None
        _, index, upper, value = best
        pair = list(self.ends[index])
        pair[upper] = value
        return replace(self, ends=(*self.ends[:index], (pair[0], pair[1]), *self.ends[index + 1 :]))

    def joined(self, groups: Sequence[Sequence[int]]) -> Box:
        """With the same bounds for all places of a group."""
        ends = list(self.ends)
        for group in groups:
            lows, highs = zip(*(self.ends[i] for i in group), strict=True)
            low = None if None in lows else min(lows)
            high = None if None in highs else max(highs)
            for i in group:
                ends[i] = (low, high)
        return replace(self, ends=tuple(ends))


def hull(places: tuple[Place, ...], states: Sequence[State]) -> Box:
    """The least box around states; truth values that differ are left open."""
    ends: list[Ends] = []
    values: list[Any] = []
    for place in places:
        seen = [place.read(s) for s in states]
        ends.append((Fraction(min(seen)), Fraction(max(seen))) if place.is_number else (None, None))
        values.append(None if place.is_number or len(set(seen)) > 1 else seen[0])
    return Box(places, tuple(ends), tuple(values), ((0, 0),) * len(places))


def wider(box: Box, share: Fraction) -> Box:
    """With room on both sides of every number, as a share of its width."""
    for index, (low, high) in enumerate(box.ends):
        if low is not None and high is not None and high > low:
            room = (high - low) * share
            box = box.with_bound(index, False, simplest(low - room, low - room / 2))
            box = box.with_bound(index, True, simplest(high + room / 2, high + room))
    return box


def opened(box: Box, states: Sequence[State]) -> Box:
    """Up to the declared range, but without its end, where a number moves on and on in that direction."""
    strict: set[tuple[int, bool]] = set()
    for index, place in enumerate(box.places):
        if place.is_number:
            seen = [place.read(s) for s in states]
            steps = list(pairwise(seen))
            for upper in (False, True):
                if all((a < b) is upper and a != b for a, b in steps):
                    box = box.with_bound(index, upper, None)
                    strict |= {(index, upper)} if isinstance(place.kind, Real) else set()
    return replace(box, strict=frozenset(strict))


def _beyond(value: Fraction, excess: Fraction, upper: bool) -> Fraction:
    return simplest(value, value + excess) if upper else simplest(value - excess, value)


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator between two numbers."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = ceil(low)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / simplest(1 / (high - whole + 1), 1 / (low - whole + 1))
