"""Boxes of states: bounds for numbers, values for truth values and locations; widened and cut as needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, TypeAlias

from surefoot.problem.environment import Environment
from surefoot.problem.semantics import State
from surefoot.problem.window import windows_of
from surefoot.term.reserved_names import location_key, location_name
from surefoot.term.term import Term, Var, conjunction_of, equal
from surefoot.term.value_types import Array, Int, Real, ValueType

_Ends: TypeAlias = tuple[Fraction | None, Fraction | None]
_PATIENCE = 3  # widenings of one bound before it is given up


@dataclass(frozen=True, slots=True)
class StateScalar:
    """One number, truth value or location of a state."""

    name: str
    path: tuple[int, ...]
    kind: ValueType | tuple[str, tuple[str, ...]]  # or a component and its locations

    def value_in(self, state: State) -> Any:
        value = state[self.name]
        for index in self.path:
            value = value[index]
        return value

    @property
    def ends(self) -> _Ends:
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


def state_scalars(environment: Environment) -> tuple[StateScalar, ...]:
    """All scalars of a state."""
    found = [p for v in environment.variables for p in _iterate_scalars(v.name, (), v.kind)]
    several = (c for c in environment.components if len(c.locations) > 1)
    return (*found, *(StateScalar(location_key(c.name), (), (c.name, c.locations)) for c in several))


def _iterate_scalars(name: str, path: tuple[int, ...], kind: ValueType) -> Iterator[StateScalar]:
    if isinstance(kind, Array):
        for i in range(kind.length):
            yield from _iterate_scalars(name, (*path, i), kind.element)
    else:
        yield StateScalar(name, path, kind)


def history_groups(environment: Environment, places: Sequence[StateScalar]) -> tuple[tuple[int, ...], ...]:
    """The places that belong to one history buffer: each value moves through all of them."""
    number = {place.name: i for i, place in enumerate(places) if not place.path}
    return tuple(tuple(number[n] for n in w.names) for w in windows_of(environment))


@dataclass(frozen=True, slots=True)
class _BoxBound:
    """One bound of a number; None: there is none."""

    value: Fraction | None
    widened: int = 0  # how often
    limit: Fraction | None = None  # something that has to stay outside
    strict: bool = False  # the end of the declared range, left out


@dataclass(frozen=True, slots=True)
class StateBox:
    """`sides`: lower and upper bound by place; `values`: of what is no number, by place."""

    places: tuple[StateScalar, ...]
    sides: tuple[tuple[_BoxBound, _BoxBound], ...]
    values: tuple[Any, ...]
    groups: tuple[tuple[int, ...], ...] = ()  # places that have the same bounds

    def where(self) -> Term:
        parts: list[Term] = []
        for place, (low, high), value in zip(self.places, self.sides, self.values, strict=True):
            if not place.is_number:
                parts += [] if value is None else [place.has(value)]
            elif low.value is not None and low.value == high.value:
                parts.append(equal(place.term(), low.value))
            else:
                parts += [*_bound_comparison(place, low, False), *_bound_comparison(place, high, True)]
        return conjunction_of(tuple(parts))

    def _with(self, index: int, upper: bool, side: _BoxBound) -> StateBox:
        """With another bound, not beyond the declared range."""
        place, value = self.places[index], side.value
        declared = place.ends[upper]
        if value is not None and isinstance(place.kind, Int):
            value = Fraction(ceil(value) if upper else floor(value))
        if value is None or (declared is not None and (value > declared if upper else value < declared)):
            value = declared
        low, high = self.sides[index]
        pair = (low, replace(side, value=value)) if upper else (replace(side, value=value), high)
        return replace(self, sides=(*self.sides[:index], pair, *self.sides[index + 1 :]))

    def _bounds(self) -> Iterator[tuple[int, bool, _BoxBound]]:
        for index, place in enumerate(self.places):
            if place.is_number:
                yield index, False, self.sides[index][0]
                yield index, True, self.sides[index][1]

    def widened_to(self, state: State) -> StateBox | None:
        """With this state inside, and some room; None if it may not be inside."""
        others = (i for i, place in enumerate(self.places) if not place.is_number)
        if any(self.values[i] not in (None, self.places[i].value_in(state)) for i in others):
            return None
        box = self
        for nudged in (False, True):  # where rounding alone leads out, everything gets some room
            for index, upper, side in self._bounds():
                value, end = Fraction(self.places[index].value_in(state)), side.value
                width = self._width(index) / 8 if nudged else Fraction(0)
                if end is None or (excess := (value - end if upper else end - value) + width) <= 0:
                    continue
                found = _widen_bound(side, end if nudged else value, excess, upper)
                if found is None:
                    return None
                box = box._with(index, upper, found)
            if box.sides != self.sides:
                return box._equalise_groups()
        return None

    def _width(self, index: int) -> Fraction:
        low, high = (side.value for side in self.sides[index])
        return Fraction(0) if low is None or high is None else high - low

    def without(self, state: State, core: StateBox) -> StateBox | None:
        """Cut between the core, which stays inside, and this state; None if the core has the state."""
        found = []
        for index, upper, side in core._bounds():
            end, value = self.sides[index][upper].value, Fraction(self.places[index].value_in(state))
            assert side.value is not None
            excess, room = abs(value - side.value), None if end is None else abs(end - side.value)
            if (value > side.value if upper else value < side.value) and room != 0:
                found.append((excess / room if room else Fraction(0), excess, index, upper))
        if not found:
            return None
        *_, index, upper = max(found)  # where it is furthest on the way from the core to the end of the box
        end, value = core.sides[index][upper].value, Fraction(self.places[index].value_in(state))
        assert end is not None
        cut = _simplest_fraction(*sorted(((3 * end + value) / 4, (end + value) / 2)))
        return self._with(index, upper, replace(self.sides[index][upper], value=cut, limit=value))

    def _equalise_groups(self) -> StateBox:
        """With the same bounds for all places of a group."""
        box = self
        for group in self.groups:
            for upper in (False, True):
                sides = [self.sides[i][upper] for i in group]
                ends = [s.value for s in sides if s.value is not None]
                widest = (max(ends) if upper else min(ends)) if len(ends) == len(sides) else None
                side = max((s for s in sides if s.value == widest), key=lambda s: s.strict)
                for i in group:
                    box = box._with(i, upper, side)
        return box

    def wider(self, share: Fraction) -> StateBox:
        """With room on both sides of every number, as a share of its width."""
        box = self
        for index, upper, side in self._bounds():
            room = self._width(index) * share
            if side.value is not None and room:
                box = box._with(index, upper, replace(side, value=_move_bound(side.value, room, upper)))
        return box._equalise_groups()

    def open_sides(self, states: Sequence[State]) -> StateBox:
        """Up to the declared range, but without its end, where a number goes on and on in that direction."""
        box = self
        for index, upper, side in self._bounds():
            steps = pairwise(self.places[index].value_in(s) for s in states)
            if all((a < b) is upper and a != b for a, b in steps):
                strict = isinstance(self.places[index].kind, Real)
                box = box._with(index, upper, replace(side, value=None, strict=strict))
        return box._equalise_groups()


def box_around_states(
    places: tuple[StateScalar, ...], states: Sequence[State], groups: tuple[tuple[int, ...], ...] = ()
) -> StateBox:
    """The least box around states; truth values that differ are left open."""
    sides: list[tuple[_BoxBound, _BoxBound]] = []
    values: list[Any] = []
    for place in places:
        seen = [place.value_in(s) for s in states]
        ends = (Fraction(min(seen)), Fraction(max(seen))) if place.is_number else (None, None)
        sides.append((_BoxBound(ends[0]), _BoxBound(ends[1])))
        values.append(None if place.is_number or len(set(seen)) > 1 else seen[0])
    return StateBox(places, tuple(sides), tuple(values), groups)._equalise_groups()


def _bound_comparison(place: StateScalar, side: _BoxBound, upper: bool) -> Iterator[Term]:
    """The comparison with a bound, unless the declared range says it."""
    if side.value is None:
        return
    if side.value != place.ends[upper]:
        yield place.term() <= side.value if upper else place.term() >= side.value
    elif side.strict:
        yield place.term() < side.value if upper else place.term() > side.value


def _widen_bound(side: _BoxBound, value: Fraction, excess: Fraction, upper: bool) -> _BoxBound | None:
    """A bound that is moved to a value and beyond; None if what has to stay outside is in the way."""
    given_up = side.widened >= _PATIENCE
    if side.limit is not None:
        free = (side.limit - value if upper else value - side.limit) / 2
        if free <= 0 or given_up:
            return None
        excess = min(excess, free)
    new = None if given_up else _move_bound(value, excess, upper)
    return replace(side, value=new, widened=side.widened + 1)


def _move_bound(value: Fraction, room: Fraction, upper: bool) -> Fraction:
    return (
        _simplest_fraction(value + room / 2, value + room)
        if upper
        else _simplest_fraction(value - room, value - room / 2)
    )


def _simplest_fraction(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator between two numbers."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -_simplest_fraction(-high, -low)
    whole = ceil(low)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest_fraction(1 / (high - whole + 1), 1 / (low - whole + 1))
