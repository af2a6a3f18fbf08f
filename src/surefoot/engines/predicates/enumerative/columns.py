"""Terms over many states at once: whole numbers as int64 columns, exact.

A number is a column of numerators over one denominator, with bounds that rule out an overflow. A truth value
is a column of booleans. An output of the network is only known up to its rounding error: a comparison with it
says whether it may hold, which is why such a comparison must not stand under a negation. Not on `fold_term`:
later arguments of a connective are computed for the states alone that earlier ones leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.term.term import Apply, Const, Op, Term, Var

Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]
LARGEST = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class RationalColumn:
    """`values` / `over`; every value lies between `low` and `high`."""

    values: NDArray[np.int64]
    low: int
    high: int
    over: int = 1

    def __post_init__(self) -> None:
        if self.low < -LARGEST or self.high > LARGEST:
            raise Unsupported("numbers of more than 62 bits cannot be tabulated")


@dataclass(frozen=True, slots=True, eq=False)
class IntervalColumn:
    """An output of the network: between two ends in any evaluation."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


Column: TypeAlias = "RationalColumn | IntervalColumn | Mask"


def _constant_column(value: bool | int | Fraction) -> RationalColumn | Mask:
    if isinstance(value, bool):
        return np.array([value])
    exact = Fraction(value)
    top = exact.numerator
    if abs(top) > LARGEST:
        raise Unsupported("numbers of more than 62 bits cannot be tabulated")
    return RationalColumn(np.array([top]), top, top, exact.denominator)


class ColumnEvaluator:
    """Evaluates terms over named columns of one length.

    What a conjunct leaves, or the branch of an `ite` that applies, is looked at further for its states alone.
    """

    def __init__(self, given: Mapping[str, Column], size: int) -> None:
        self.given, self.size = given, size
        self.wider: tuple[ColumnEvaluator, Rows] | None = None  # of which these are some rows
        self.known: dict[
            int, RationalColumn
        ] = {}  # values of terms by identity: a term may occur in many places

    def narrow(self, rows: Rows) -> ColumnEvaluator:
        some = ColumnEvaluator(NarrowedColumns(self.given, rows), len(rows))
        some.wider = (self, rows)
        return some

    def condition(self, term: Term) -> Mask:
        return np.broadcast_to(require_boolean(self.of(term)), (self.size,))

    def numbers(self, term: Term) -> NDArray[np.int64]:
        """Whole numbers; truth values count as 0 and 1. Where it is no whole number the result is rounded."""
        value = self.of(term)
        if isinstance(value, np.ndarray):
            return np.broadcast_to(value.astype(np.int64), (self.size,))
        if isinstance(value, IntervalColumn):
            raise Unsupported("an output of the network becomes part of the state")
        return np.broadcast_to(value.values // value.over, (self.size,))

    def of(self, term: Term) -> Column:
        match term:
            case Const(value):
                return _constant_column(value)
            case Var(name):
                return self.given[name]
            case Apply(Op.AND | Op.OR as op, args):
                return self._many(args, every=op is Op.AND)
            case Apply(Op.ITE, (test, then, otherwise)):
                return self._either(test, then, otherwise)
            case Apply():
                if (before := self._cached_value(term)) is not None:
                    return before
                return self._apply_rule(term)

    def _cached_value(self, term: Apply) -> RationalColumn | None:
        """The value of this very term, if it was computed before, here or for more states."""
        if id(term) in self.known:
            return self.known[id(term)]
        if self.wider is None:
            return None
        whole, rows = self.wider
        found = whole._cached_value(term)
        if found is not None:
            found = _as_rational(select_rows(found, rows))
            self.known[id(term)] = found
        return found

    def _apply_rule(self, term: Apply) -> Column:
        rule = RULES.get(term.op)
        if rule is None:
            raise Unsupported(f"`{term.op.value}` cannot be tabulated")
        result: Column = rule(*(self.of(a) for a in term.args))
        if isinstance(result, RationalColumn):
            self.known[id(term)] = result
        return result

    def _many(self, args: tuple[Term, ...], *, every: bool) -> Mask:
        """And (or): later parts are looked at where all earlier ones are true (false)."""
        here, rows, total = self, None, np.full(self.size, every)
        for part in args:
            value = here.condition(part)
            open_rows = np.flatnonzero(value if every else ~value)
            if rows is None:
                total[:] = value
            else:
                total[rows] = value
            if not open_rows.size:
                break
            if open_rows.size < here.size:
                rows = open_rows if rows is None else rows[open_rows]
                here = self.narrow(rows)
        return total

    def _either(self, test: Term, then: Term, otherwise: Term) -> Column:
        decided = require_boolean(self.of(test))
        if decided.all() or not decided.any():
            return self.of(then if decided.all() else otherwise)
        decided = np.broadcast_to(decided, (self.size,))
        rows, rest = np.flatnonzero(decided), np.flatnonzero(~decided)
        first, second = self.narrow(rows).of(then), self.narrow(rest).of(otherwise)
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            mask = np.empty(self.size, dtype=np.bool_)
            mask[rows], mask[rest] = first, second
            return mask
        one, other = _common_denominator(first, second)
        values = np.empty(self.size, dtype=np.int64)
        values[rows], values[rest] = one.values, other.values
        return RationalColumn(values, min(one.low, other.low), max(one.high, other.high), one.over)


class NarrowedColumns(Mapping[str, Column]):
    """Some rows of columns, taken when they are needed."""

    def __init__(self, whole: Mapping[str, Column], rows: Rows) -> None:
        self.whole, self.rows = whole, rows
        self.taken: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self.taken:
            self.taken[name] = select_rows(self.whole[name], self.rows)
        return self.taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def select_rows(column: Column, rows: Rows) -> Column:
    match column:
        case RationalColumn(values, low, high, over):
            return column if values.size == 1 else RationalColumn(values[rows], low, high, over)
        case IntervalColumn(low_end, high_end):
            return IntervalColumn(low_end[rows], high_end[rows])
        case mask:
            return mask if mask.size == 1 else mask[rows]


def require_boolean(value: Column) -> Mask:
    if not isinstance(value, np.ndarray):
        raise Unsupported("a number stands where a truth value is needed")
    return value


def _as_rational(value: Column) -> RationalColumn:
    if isinstance(value, RationalColumn):
        return value
    if isinstance(value, IntervalColumn):
        raise Unsupported("outputs of the network are compared only, in what can be tabulated")
    return RationalColumn(value.astype(np.int64), 0, 1)


def _common_denominator(*columns: Column) -> list[RationalColumn]:
    """The same numbers over one denominator."""
    parts = [_as_rational(c) for c in columns]
    over = lcm(*(p.over for p in parts))
    return [p if p.over == over else _scale_column(p, over // p.over, over) for p in parts]


def _scale_column(part: RationalColumn, factor: int, over: int) -> RationalColumn:
    low, high = sorted((part.low * factor, part.high * factor))
    if max(abs(low), abs(high), abs(factor)) > LARGEST:
        raise Unsupported("numbers of more than 62 bits cannot be tabulated")
    return RationalColumn(part.values * factor, low, high, over)


def _add_columns(*columns: Column) -> RationalColumn:
    parts = _common_denominator(*columns)
    total = parts[0]
    for part in parts[1:]:
        low, high = total.low + part.low, total.high + part.high
        total = RationalColumn(total.values + part.values, low, high, total.over)
    return total


def _negate_column(column: Column) -> RationalColumn:
    part = _as_rational(column)
    return RationalColumn(-part.values, -part.high, -part.low, part.over)


def _multiply_columns(*columns: Column) -> RationalColumn:
    parts = [_as_rational(c) for c in columns]
    total = parts[0]
    for part in parts[1:]:
        corners = [a * b for a in (total.low, total.high) for b in (part.low, part.high)]
        checked = RationalColumn(np.zeros(1, dtype=np.int64), min(corners), max(corners))
        total = RationalColumn(total.values * part.values, checked.low, checked.high, total.over * part.over)
    return total


def _divide_columns(left: Column, right: Column) -> RationalColumn:
    top, bottom = _as_rational(left), _as_rational(right)
    if bottom.low != bottom.high or bottom.low == 0:
        raise Unsupported("a division by something that varies cannot be tabulated")
    sign = 1 if bottom.low > 0 else -1
    return _scale_column(top, sign * bottom.over, top.over * abs(bottom.low))


def _floor_column(column: Column) -> RationalColumn:
    part = _as_rational(column)
    return RationalColumn(part.values // part.over, part.low // part.over, part.high // part.over)


def _truncate_column(column: Column) -> RationalColumn:
    part = _as_rational(column)
    values = np.where(part.values < 0, -(-part.values // part.over), part.values // part.over)
    return RationalColumn(values, min(0, -(-part.low // part.over)), max(0, part.high // part.over))


def _modulo_columns(left: Column, right: Column) -> RationalColumn:
    """Where the divisor is 0 the term is undefined, and what stands here does not matter."""
    top, bottom = _as_rational(left), _as_rational(right)
    if top.over != 1 or bottom.over != 1:
        raise Unsupported("a remainder of fractions cannot be tabulated")
    divisor = np.where(bottom.values == 0, 1, np.abs(bottom.values))
    return RationalColumn(top.values % divisor, 0, max(abs(bottom.low), abs(bottom.high)))


def _minimum_columns(*columns: Column) -> RationalColumn:
    parts = _common_denominator(*columns)
    total = parts[0]
    for part in parts[1:]:
        low, high = min(total.low, part.low), min(total.high, part.high)
        total = RationalColumn(np.minimum(total.values, part.values), low, high, total.over)
    return total


def _absolute_column(column: Column) -> RationalColumn:
    part = _as_rational(column)
    low = 0 if part.low <= 0 <= part.high else min(abs(part.low), abs(part.high))
    return RationalColumn(np.abs(part.values), low, max(abs(part.low), abs(part.high)), part.over)


def _sign_column(column: Column) -> RationalColumn:
    return RationalColumn(np.sign(_as_rational(column).values), -1, 1)


def _comparison_rule(strict: bool) -> Callable[[Column, Column], Mask]:
    def compare(left: Column, right: Column) -> Mask:
        if isinstance(left, IntervalColumn) or isinstance(right, IntervalColumn):
            low, high = _float_ends(left)[0], _float_ends(right)[1]
            result: Mask = low < high if strict else low <= high
            return result
        first, second = _common_denominator(left, right)
        answer: Mask = first.values < second.values if strict else first.values <= second.values
        return answer

    return compare


def _float_ends(column: Column) -> tuple[Any, Any]:
    """Floats at or beyond the two ends."""
    if isinstance(column, IntervalColumn):
        return column.low, column.high
    part = _as_rational(column)
    near = part.values / part.over
    return np.nextafter(near, -np.inf), np.nextafter(near, np.inf)


def _equal_columns(left: Column, right: Column) -> Mask:
    if isinstance(left, IntervalColumn) or isinstance(right, IntervalColumn):
        raise Unsupported("an output of the network compared by `=` cannot be tabulated")
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        both: Mask = left == right
        return both
    first, second = _common_denominator(left, right)
    same: Mask = first.values == second.values
    return same


def _negate_mask(column: Column) -> Mask:
    return ~require_boolean(column)


RULES: dict[Op, Callable[..., Column]] = {
    Op.ADD: _add_columns,
    Op.SUB: lambda a, b: _add_columns(a, _negate_column(b)),
    Op.NEG: _negate_column,
    Op.MUL: _multiply_columns,
    Op.DIV: _divide_columns,
    Op.MOD: _modulo_columns,
    Op.MIN: _minimum_columns,
    Op.MAX: lambda *parts: _negate_column(_minimum_columns(*map(_negate_column, parts))),
    Op.ABS: _absolute_column,
    Op.SIGN: _sign_column,
    Op.FLOOR: _floor_column,
    Op.CEIL: lambda a: _negate_column(_floor_column(_negate_column(a))),
    Op.TRUNC: _truncate_column,
    Op.LT: _comparison_rule(True),
    Op.LE: _comparison_rule(False),
    Op.EQ: _equal_columns,
    Op.NOT: _negate_mask,
    Op.IMPLIES: lambda a, b: _negate_mask(a) | b,
}
