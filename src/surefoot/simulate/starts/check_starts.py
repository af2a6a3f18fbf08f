"""Which rows are start states: `is_initial` over columns, without tolerance.

Columns decide where they have the bits of the reference. In exact arithmetic linear inequalities are decided
in doubles where these are surely right, and everything else in fractions.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import SurefootError
from surefoot.problem.environment import Environment
from surefoot.problem.semantics import has_value_type
from surefoot.simulate.batch.state_columns import column_kinds, exact_entry, misfit_rows
from surefoot.simulate.starts.start_cases import linear_parts
from surefoot.term.closures import UNDEFINED_ERRORS, compile_closure
from surefoot.term.columns import ColumnTerms, compile_columns
from surefoot.term.number import LARGEST_DOUBLE
from surefoot.term.term import Apply, Op, Term, free_names, split_conjunction
from surefoot.term.value_types import Arithmetic, Array, Real, ValueType

Columns: TypeAlias = Mapping[str, NDArray[Any]]
_INEQUALITIES = frozenset({Op.LE, Op.LT})


def check_rows(
    environment: Environment, compiled: ColumnTerms | None, columns: Columns, exact: Columns, count: int
) -> NDArray[np.bool_]:
    """By row: is it a start state? `exact`: fractions that stand for the doubles of some columns.

    `compiled`: the initial condition by `compile_start_condition`.
    """
    kept = np.ones(count, dtype=np.bool_)
    arithmetic, kinds = environment.arithmetic, column_kinds(environment)
    for name, kind in kinds.items():
        kept &= _kind_rows(exact.get(name, columns[name]), kind, arithmetic)
    if compiled is not None and compiled.exact and not exact:
        found = compiled(columns, count)
        return np.asarray(kept & found.columns[0] & ~found.lost[0])
    for part in split_conjunction(environment.initial):
        rows = np.flatnonzero(kept)
        if arithmetic is Arithmetic.EXACT:
            rows = rows[~_surely_holds(part, columns, rows)]
        kept[rows] = _exactly_holds(part, kinds, arithmetic, {**columns, **exact}, rows)
    return kept


def compile_start_condition(environment: Environment) -> ColumnTerms | None:
    """The whole initial condition over columns; None where it has no such meaning."""
    try:
        return compile_columns([environment.initial], column_kinds(environment), environment.arithmetic)
    except SurefootError:
        return None


def _kind_rows(column: NDArray[Any], kind: ValueType, arithmetic: Arithmetic) -> NDArray[np.bool_]:
    """Is the value of its kind? In exact arithmetic limits that are no doubles are no doubles here either."""
    if isinstance(kind, Array):
        every = [_kind_rows(column[:, i], kind.element, arithmetic) for i in range(kind.length)]
        return np.asarray(np.logical_and.reduce(every) if every else np.ones(len(column), dtype=np.bool_))
    if column.dtype == object:
        values = [v if isinstance(v, Fraction) else Fraction(v) for v in column]
        return np.array([has_value_type(v, kind, arithmetic) for v in values], dtype=np.bool_)
    fine = ~misfit_rows(column, kind)
    if isinstance(kind, Real) and arithmetic is Arithmetic.EXACT:
        if kind.low is not None and float(kind.low) < kind.low:
            fine &= column > float(kind.low)
        if kind.high is not None and float(kind.high) > kind.high:
            fine &= column < float(kind.high)
    return np.asarray(fine)


def _surely_holds(part: Term, columns: Columns, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a linear inequality holds by more than doubles can be wrong; nowhere for other conditions."""
    nowhere = np.zeros(len(rows), dtype=np.bool_)
    if not isinstance(part, Apply) or part.op not in _INEQUALITIES:
        return nowhere
    parts = linear_parts(part.args[0]).plus(linear_parts(part.args[1]).scaled(Fraction(-1)))
    if not parts.is_linear():
        return nowhere
    form = parts.form()
    if max(map(abs, (form.constant, *(c for _, c in form.coefficients)))) > LARGEST_DOUBLE:
        return nowhere
    total = np.full(len(rows), float(form.constant))
    size = np.abs(total)
    for name, c in form.coefficients:
        product = float(c) * columns[name][rows].astype(np.float64)
        total, size = total + product, size + np.abs(product)
    room = (len(form.coefficients) + 4) * 2.0**-50 * size + 1e-300
    return np.asarray(total < -room)


def _exactly_holds(
    part: Term,
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic,
    columns: Columns,
    rows: NDArray[np.int64],
) -> NDArray[np.bool_]:
    names = sorted(free_names(part))
    closure = compile_closure(part, {n: i for i, n in enumerate(names)}, kinds, arithmetic)
    entries = [[_entry(columns[n][row], kinds[n], arithmetic) for row in rows] for n in names]
    found = np.zeros(len(rows), dtype=np.bool_)
    for number, row in enumerate(zip(*entries, strict=True) if names else [()] * len(rows)):
        try:
            found[number] = bool(closure(row))
        except UNDEFINED_ERRORS:
            found[number] = False
    return found


def _entry(value: Any, kind: ValueType, arithmetic: Arithmetic) -> Any:
    """As the reference has it; fractions stay what they are."""
    if isinstance(kind, Array):
        return tuple(_entry(v, kind.element, arithmetic) for v in value)
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else value
    return exact_entry(value, kind, arithmetic)
