"""States as columns: one for each variable and for the location of each component that has several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from surefoot.problem.environment import Environment
from surefoot.problem.semantics import State
from surefoot.term.columns import Column, Truths
from surefoot.term.reserved_names import location_key
from surefoot.term.types import BOOL, INT, sort_of_type
from surefoot.term.value_types import Arithmetic, Array, Int, Real, ValueType

Names: TypeAlias = Mapping[str, Column]


def column_kinds(environment: Environment) -> dict[str, ValueType]:
    """What a state has: variables, and numbers of locations."""
    kinds: dict[str, ValueType] = {v.name: v.kind for v in environment.variables}
    for component in environment.components:
        if len(component.locations) > 1:
            kinds[location_key(component.name)] = Int(0, len(component.locations) - 1)
    return kinds


def column_type(kind: ValueType | None) -> type[np.generic]:
    sort = sort_of_type(kind)
    return np.bool_ if sort is BOOL else np.int64 if sort is INT else np.float64


def columns_from_rows(states: Sequence[State], environment: Environment) -> dict[str, Column]:
    """Real numbers become the doubles nearest to them."""
    return {
        name: np.array([_plain(s[name]) for s in states], dtype=column_type(kind))
        for name, kind in column_kinds(environment).items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return float(value) if isinstance(value, Fraction) else value


def rows_from_columns(state: Names, environment: Environment, rows: Iterable[int]) -> Iterator[State]:
    """States of the reference: in exact arithmetic a double stands for the fraction that it is."""
    kinds = column_kinds(environment)
    for row in rows:
        yield {n: exact_entry(state[n][row], k, environment.arithmetic) for n, k in kinds.items()}


def exact_entry(entry: Any, kind: ValueType, arithmetic: Arithmetic) -> Any:
    """An entry of a column as a value of the reference."""
    match kind:
        case Array(element, _):
            return tuple(exact_entry(e, element, arithmetic) for e in entry)
        case Real():
            if arithmetic is Arithmetic.FLOAT64:
                return float(entry)
            number = Fraction(float(entry))
            return number.numerator if number.denominator == 1 else number
        case Int():
            return int(entry)
        case _:
            return bool(entry)


def misfit_rows(column: Column, kind: ValueType) -> Truths:
    """Rows whose value is not of its kind."""
    match kind:
        case Array(element, _):
            bad = misfit_rows(column, element)
            return np.asarray(bad.reshape(len(bad), -1).any(axis=1))
        case Real(low, high, float32):
            bad = ~np.isfinite(column)
            if float32:
                bad |= column.astype(np.float32) != column
        case Int(low, high):
            bad = np.zeros(column.shape, dtype=np.bool_)
        case _:
            return np.zeros(column.shape, dtype=np.bool_)
    number = float if isinstance(kind, Real) else int
    if low is not None:
        bad |= column < number(low)
    if high is not None:
        bad |= column > number(high)
    return bad
