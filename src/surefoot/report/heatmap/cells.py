"""A heat map: the starts of a table sorted into cells by one or two terms of the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.environment import Environment
from surefoot.problem.semantics import State
from surefoot.report.heatmap.start_values import Aggregate, StartValue, Table, Which, aggregate_values
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.parser import parse_term
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import location_key, location_name
from surefoot.term.term import Term, Var, free_names
from surefoot.term.traverse import substitute_names

MOST_VALUES = 1000  # on one axis
Point: TypeAlias = bool | int | float | Fraction


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of a term, in order; every whole number between the least and the greatest is one."""

    term: Term
    name: str
    values: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """`starts`: all that fall into the cell; the first one decides a least or greatest value."""

    column: int
    row: int
    value: StartValue
    starts: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Cells that no start falls into are not there. `others`: what varies inside a cell."""

    which: Which
    x: Axis
    y: Axis | None
    cells: tuple[HeatCell, ...]
    aggregate: Aggregate | None  # None: every cell has one start
    others: tuple[str, ...]

    @property
    def rows(self) -> int:
        return 1 if self.y is None else len(self.y.values)

    def places(self) -> Mapping[tuple[int, int], HeatCell]:
        return {(c.column, c.row): c for c in self.cells}


@dataclass(frozen=True, slots=True)
class MapView:
    """What is drawn along the axes, and of which starts; of all maps beside each other, so that cells at the
    same place are the same states."""

    x: Axis
    y: Axis | None
    where: tuple[Term, ...]
    environment: Environment | None  # None: locations have no names


def parse_view(
    tables: Sequence[Table],
    x: str | None = None,
    y: str | None = None,
    where: Sequence[str] = (),
    environment: Environment | None = None,
) -> MapView:
    """Read the terms; without `x`, the one or two variables in which the starts differ."""
    every = [state for table in tables for state, _ in table]
    if not every:
        raise InvalidProblem("there is no start to draw", fix="check the property and its starts")
    conditions = parse_filter(where, every, environment)
    if y is not None and x is None:
        raise InvalidProblem("--y needs --x", fix="give both, or none")
    along = None if y is None else _parse_start_term(y, every, environment, "--y")
    across = None if x is None else _parse_start_term(x, every, environment, "--x")
    states = [state for state in every if satisfies_filter(state, conditions, environment)]
    if across is None:
        across, along = _choose_terms(states)
    if not states:
        raise InvalidProblem("no start satisfies --where", fix="ask for others")
    row = None if along is None else _make_axis(along, states, environment)
    return MapView(_make_axis(across, states, environment), row, conditions, environment)


def _choose_terms(states: Sequence[State]) -> tuple[Term, Term | None]:
    different = varying_names(states)
    if not 1 <= len(different) <= 2:
        told = ", ".join(f"`{n}`" for n in different) or "none"
        fix = "name one or two of them with --x and --y"
        raise InvalidProblem(f"the starts do not differ in one or two variables but in: {told}", fix=fix)
    return Var(different[0]), Var(different[1]) if len(different) == 2 else None


def varying_names(states: Iterable[State]) -> list[str]:
    """Names of variables that have more than one value."""
    first: State | None = None
    found: dict[str, None] = {}
    for state in states:
        first = first or state
        found |= {n: None for n, v in state.items() if v != first[n] and not n.startswith("@")}
    return [name for name in first or {} if name in found]


def heat_map(which: Which, table: Table, view: MapView, aggregate: Aggregate = "max") -> HeatMap:
    """Sort a table into cells; several starts of one cell are put together as `aggregate` says."""
    columns = {value: i for i, value in enumerate(view.x.values)}
    rows: dict[Any, int] = {value: i for i, value in enumerate(view.y.values if view.y is not None else ())}
    places: dict[tuple[int, int], list[tuple[State, StartValue]]] = {}
    for state, measured in table:
        if satisfies_filter(state, view.where, view.environment):
            column = columns[_evaluate_in_start(view.x.term, state, view.environment)]
            row = 0 if view.y is None else rows[_evaluate_in_start(view.y.term, state, view.environment)]
            places.setdefault((column, row), []).append((state, measured))
    cells = [_make_cell(place, inside, aggregate) for place, inside in sorted(places.items())]
    crowded = any(len(c.starts) > 1 for c in cells)
    others = {n: None for c in cells for n in varying_names(c.starts)}
    return HeatMap(which, view.x, view.y, tuple(cells), aggregate if crowded else None, tuple(others))


def _make_cell(
    place: tuple[int, int], inside: list[tuple[State, StartValue]], aggregate: Aggregate
) -> HeatCell:
    value = aggregate_values([m for _, m in inside], aggregate)
    sign = -1 if aggregate == "max" else 1

    def order(one: tuple[State, StartValue]) -> tuple[bool, Fraction]:
        number = one[1].displayed_value()
        return number is None, sign * (number or Fraction(0))

    if aggregate != "mean":
        inside = sorted(inside, key=order)
    return HeatCell(*place, value, tuple(state for state, _ in inside))


def _evaluate_in_start(term: Term, state: State, environment: Environment | None) -> Any:
    """The value of a term in a state; locations are known if the environment is."""
    names: dict[str, Any] = dict(state)
    for component in environment.components if environment is not None else ():
        here = state.get(location_key(component.name), 0)
        for number, location in enumerate(component.locations):
            names[location_name(component.name, location)] = number == here
    try:
        return evaluate_term(term, names)
    except KeyError as name:
        raise InvalidProblem(f"{name} is not known in every start") from None
    except Undefined as why:
        raise InvalidProblem(f"a term has no value in some start: {why}") from None


def parse_filter(
    where: Iterable[str], states: Sequence[State], environment: Environment | None
) -> tuple[Term, ...]:
    """The conditions that starts have to satisfy, as terms of the state."""
    return tuple(_parse_start_term(text, states, environment, "--where") for text in where)


def satisfies_filter(state: State, where: tuple[Term, ...], environment: Environment | None) -> bool:
    return all(_evaluate_in_start(condition, state, environment) is True for condition in where)


def _make_axis(term: Term, states: Iterable[State], environment: Environment | None) -> Axis:
    found = {_evaluate_in_start(term, s, environment) for s in states}
    if any(isinstance(v, tuple) for v in found):
        fix = f"name an element, such as `{show_term(term)}[0]`"
        raise InvalidProblem(f"`{show_term(term)}` is an array", fix=fix, where="--x")
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in found)
    if whole and max(found) - min(found) < MOST_VALUES:
        return Axis(term, show_term(term), tuple(range(min(found), max(found) + 1)))
    if len(found) > MOST_VALUES:
        what = f"`{show_term(term)}` has {len(found)} values, more than {MOST_VALUES}"
        raise InvalidProblem(what, fix="draw a coarser term, such as `floor(x / 10)`")
    return Axis(term, show_term(term), tuple(sorted(found)))


def _parse_start_term(
    text: str, states: Sequence[State], environment: Environment | None, option: str
) -> Term:
    names = [name for state in states[:1] for name in state if not name.startswith("@")]
    defined = {} if environment is None else dict(environment.definitions)
    term = substitute_names(parse_term(text), defined)
    for name in sorted(free_names(term)):
        if name not in names and not name.startswith("at("):
            what = f"there is no state variable `{name}`"
            raise InvalidProblem(what, fix=did_you_mean(name, (*names, *defined)), where=option)
    return term


def common_values(states: Iterable[State]) -> Mapping[str, Any]:
    """What all states have in common."""
    listed = list(states)
    different = set(varying_names(listed))
    first = listed[0] if listed else {}
    return {n: v for n, v in first.items() if n not in different and not n.startswith("@")}
