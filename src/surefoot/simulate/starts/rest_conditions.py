"""Conditions that are not linear, over columns: whether they hold, and by how much they are missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.term.columns import ColumnTerms, ColumnValues, compile_columns
from surefoot.term.interval import Scalar
from surefoot.term.normal_form import fold_condition
from surefoot.term.term import Apply, Const, Op, Term, conjunction_of
from surefoot.term.types import is_truth_value
from surefoot.term.value_types import Arithmetic

Floats = NDArray[np.float64]
Columns: TypeAlias = Mapping[str, NDArray[Any]]
_Measure: TypeAlias = Callable[[ColumnValues], Any]
FAR_OFF = 1e30  # of a row that has no value
_COMPARED = frozenset({Op.LE, Op.LT, Op.EQ})


@dataclass(frozen=True, slots=True, eq=False)
class RestConditions:
    """Conditions at once. `equations`: how many of them are equalities at the top."""

    condition: ColumnTerms
    differences: ColumnTerms
    measure: _Measure
    equations: int  # the first of the differences

    def hold(self, columns: Columns, count: int) -> NDArray[np.bool_]:
        found = self.condition(columns, count)
        return np.asarray(found.columns[0] & ~found.lost[0])

    def violation(self, columns: Columns, count: int) -> Floats:
        """Zero where the conditions nearly hold: strict comparisons count as others."""
        return np.broadcast_to(
            np.asarray(self.measure(self.differences(columns, count)), dtype=np.float64), (count,)
        )

    def errors(self, columns: Columns, count: int) -> Floats:
        """Left minus right side of each equation, by rows."""
        found = self.differences(columns, count)
        errors = [np.where(lost, np.nan, c) for c, lost in zip(found.columns, found.lost, strict=True)]
        return np.array(errors[: self.equations], dtype=np.float64).reshape(self.equations, count).T


def compile_rest(rest: Sequence[Term], kinds: Mapping[str, Scalar], arithmetic: Arithmetic) -> RestConditions:
    """In the arithmetic of the environment, because nearness is decided there."""
    ordered = sorted(rest, key=lambda t: not is_equation(t))
    terms: list[Term] = [t.args[0] - t.args[1] for t in ordered if isinstance(t, Apply) and is_equation(t)]
    equations = len(terms)

    def literal(term: Term, sign: bool) -> _Measure:
        if isinstance(term, Apply) and term.op in _COMPARED:
            place = len(terms)
            terms.append(term.args[0] - term.args[1])
            return _comparison_measure(term.op, place, sign)
        place = len(terms)
        terms.append(Apply(Op.ITE, (term if sign else ~term, Const(0), Const(1))))
        return lambda found: np.where(found.lost[place], FAR_OFF, found.columns[place])

    measure = fold_condition(
        conjunction_of(tuple(ordered)),
        True,
        literal,
        _sum_measures,
        _least_measure,
        is_truth=lambda t: is_truth_value(t, kinds),
    )
    condition = compile_columns([conjunction_of(tuple(rest))], kinds, arithmetic)
    return RestConditions(condition, compile_columns(terms, kinds, arithmetic), measure, equations)


def _sum_measures(parts: Sequence[_Measure]) -> _Measure:
    def measure(found: ColumnValues) -> Any:
        return sum((part(found) for part in parts), 0.0)

    return measure


def _least_measure(parts: Sequence[_Measure]) -> _Measure:
    def measure(found: ColumnValues) -> Any:
        return np.minimum.reduce([part(found) for part in parts]) if parts else FAR_OFF

    return measure


def _comparison_measure(op: Op, place: int, sign: bool) -> _Measure:
    def measure(found: ColumnValues) -> Any:
        value = found.columns[place].astype(np.float64)
        if op is Op.EQ:
            missed = np.abs(value) if sign else (value == 0).astype(np.float64)
        else:
            missed = np.maximum(value if sign else -value, 0.0)
        return np.where(found.lost[place] | np.isnan(missed), FAR_OFF, missed)

    return measure


def is_equation(term: Term) -> bool:
    return isinstance(term, Apply) and term.op is Op.EQ
