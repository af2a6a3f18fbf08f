"""Terms over columns: the value of a term in many states at once, one row for each state.

The meaning is that of `term/evaluate.py`. Integers are int64, real numbers float64, truth values bool, arrays
have further axes. A row in which a part that is looked at has no value (division by zero, an index outside,
overflow), or an integer of more than 62 bits, is *lost*; what stands there means nothing. `and`, `or`, `=>`
and `ite` lose a row by later arguments only where these matter.

In float64 arithmetic every other row has the bits of the reference, but for elementary functions and broken
powers, which numpy rounds in its own way unless `exact` is asked for. Exact arithmetic is followed in
doubles: exactly for integers and truth values, nearly for real numbers. `exact` of the terms says that they
have neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.term.elementary_columns import broken_power, elementary_column, whole_power
from surefoot.term.evaluate import MOST_PRODUCTS
from surefoot.term.interval import Interval, apply_interval, leaf_interval
from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import ELEMENTARY, INT, REAL, SORT_RULES, Sort, leaf_sort
from surefoot.term.value_types import Arithmetic, Array, ValueType

Column: TypeAlias = NDArray[Any]
Truths: TypeAlias = NDArray[np.bool_]
_Lost: TypeAlias = Any  # rows, or False: none is lost
_Rule: TypeAlias = Callable[[list[Any], list[_Lost]], tuple[Any, _Lost]]
LARGEST = 2**62  # of an integer: a sum of two fits into 64 bits


@dataclass(frozen=True, slots=True)
class ColumnNode:
    """A name, a constant (without an axis of rows), or an operation on earlier nodes."""

    sort: Sort
    interval: Interval
    content: Any
    arguments: tuple[int, ...] = ()
    computed: bool = False  # a double that may have overflowed
    exact: bool = True
    term: Apply | None = None  # of an operation
    depth: int = 0  # of an array: its further axes
    checked: bool = False  # a sum or product of integers that may be too large


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column for each term, and the rows in which it has no value."""

    columns: list[Column]
    lost: list[Truths]


@dataclass(frozen=True, slots=True)
class ColumnTerms:
    """Terms that share their operations."""

    nodes: tuple[ColumnNode, ...]
    places: tuple[int, ...]
    last: tuple[int, ...]  # the node after which nobody needs this one
    exact: bool

    def __call__(self, names: Mapping[str, Column], count: int) -> ColumnValues:
        """Of `count` rows; a column for each name."""
        values: list[Any] = [None] * len(self.nodes)
        lost: list[_Lost] = [False] * len(self.nodes)
        with np.errstate(all="ignore"):
            for place, node in enumerate(self.nodes):
                if not node.arguments:
                    values[place] = names[node.content] if isinstance(node.content, str) else node.content
                    continue
                used = node.arguments
                values[place], lost[place] = node.content([values[p] for p in used], [lost[p] for p in used])
                for p in used:
                    if self.last[p] == place:
                        values[p] = None
            columns = [give_rows(values[p], count) for p in self.places]
            rows = [rows_lost(lost[p], values[p]) if self.nodes[p].computed else lost[p] for p in self.places]
        none = np.broadcast_to(np.False_, count)
        return ColumnValues(columns, [none if r is False else give_rows(r, count) for r in rows])


def compile_columns(
    terms: Sequence[Term],
    kinds: Mapping[str, ValueType],
    arithmetic: Arithmetic = Arithmetic.EXACT,
    *,
    exact: bool = False,
) -> ColumnTerms:
    """The function from columns to the values of terms; `Unsupported` where a constant does not fit.

    `exact`: elementary functions and powers of doubles have the bits of the reference too.
    """
    listing = _Listing(kinds, arithmetic, exact)
    places = tuple(_place_of(fold_term(term, listing.leaf, listing.apply_operator)) for term in terms)
    same = all(node.exact for node in listing.nodes)
    return ColumnTerms(tuple(listing.nodes), places, _last_uses(listing.nodes, places), same)


def select_columns(terms: ColumnTerms, first: int, stop: int) -> ColumnTerms:
    """Some of the terms, with what they need only."""
    wanted = set(terms.places[first:stop])
    for place in range(len(terms.nodes) - 1, -1, -1):
        if place in wanted:
            wanted.update(terms.nodes[place].arguments)
    kept = sorted(wanted)
    number = {place: new for new, place in enumerate(kept)}
    nodes = tuple(
        replace(terms.nodes[p], arguments=tuple(number[a] for a in terms.nodes[p].arguments)) for p in kept
    )
    places = tuple(number[p] for p in terms.places[first:stop])
    return ColumnTerms(nodes, places, _last_uses(nodes, places), all(node.exact for node in nodes))


def _last_uses(nodes: Sequence[ColumnNode], places: Sequence[int]) -> tuple[int, ...]:
    last = list(range(len(nodes)))
    for place, node in enumerate(nodes):
        for used in node.arguments:
            last[used] = place
    for place in places:
        last[place] = len(nodes)
    return tuple(last)


@dataclass(frozen=True, slots=True)
class _HugeInteger:
    """A constant that fits into no column of integers; where it meets a real number its double takes part."""

    value: int


def _place_of(found: int | _HugeInteger) -> int:
    if isinstance(found, _HugeInteger):
        raise Unsupported("an integer of more than 62 bits does not fit into a column")
    return found


@dataclass(slots=True)
class _Listing:
    """Operations in an order in which they can be done, each once."""

    kinds: Mapping[str, ValueType]
    arithmetic: Arithmetic
    bits: bool  # those of the reference are wanted, also of elementary functions
    nodes: list[ColumnNode] = field(default_factory=list)
    known: dict[object, int] = field(default_factory=dict)

    def leaf(self, part: Leaf) -> int | _HugeInteger:
        if isinstance(part, Const) and type(part.value) is int and abs(part.value) > LARGEST:
            return _HugeInteger(part.value)
        sort = leaf_sort(part, self.kinds)
        exact = sort is not REAL or self.arithmetic is Arithmetic.FLOAT64
        if isinstance(part, Const):
            value = _constant_column(part.value)
            node = ColumnNode(sort, leaf_interval(part, {}), value, exact=exact)
            return self._place((type(value), repr(value)), node)
        if part.name not in self.kinds:
            raise InvalidProblem(f"`{part.name}` is not declared")
        interval, depth = leaf_interval(part, self.kinds), _count_axes(self.kinds[part.name])
        return self._place(part.name, ColumnNode(sort, interval, part.name, exact=exact, depth=depth))

    def _place_double(self, term: Apply, huge: _HugeInteger, beside: Sequence[int | _HugeInteger]) -> int:
        """Of a constant beside a real number, in an operation that makes doubles of both."""
        met = any(isinstance(p, int) and self.nodes[p].sort is REAL for p in beside)
        if not met or len(beside) > 2 or term.op not in _MEETING:  # of three two may be integers
            return _place_of(huge)
        exact = self.arithmetic is Arithmetic.FLOAT64
        node = ColumnNode(
            REAL,
            leaf_interval(Const(huge.value), {}),
            _constant_column(Fraction(huge.value)),
            exact=exact,
        )
        return self._place((float, huge.value), node)

    def apply_operator(self, term: Apply, given: list[int | _HugeInteger]) -> int:
        places = [self._place_double(term, p, given) if isinstance(p, _HugeInteger) else p for p in given]
        key = (term.op, tuple(places))
        if key in self.known:
            return self.known[key]
        parts = [self.nodes[p] for p in places]
        sort = SORT_RULES[term.op](term, [p.sort for p in parts])
        interval = apply_interval(term, [p.interval for p in parts])
        own = self.bits and self.arithmetic is Arithmetic.FLOAT64
        checked = term.op in _ARITHMETIC and _may_be_large(term.op, parts)
        rule = _operator_rule(term, parts, sort, checked=checked, exact=own)
        if term.op is Op.ARRAY and all(map(_is_constant, parts)):
            rule = _TableRule(rule)
        rounded = term.op in ELEMENTARY or (term.op is Op.POW and not is_few_products(term.args[1]))
        same = not rounded or (own and sort is REAL)  # the sort of an integer's power may be wrong
        exact = same and (sort is not REAL or self.arithmetic is Arithmetic.FLOAT64)
        computed = sort is REAL and (term.op in _COMPUTING or any(p.computed for p in parts))
        depth = _axes_of_operation(term.op, parts)
        node = ColumnNode(sort, interval, rule, tuple(places), computed, exact, term, depth, checked)
        return self._place(key, node)

    def _place(self, key: object, node: ColumnNode) -> int:
        if key not in self.known:
            self.known[key] = len(self.nodes)
            self.nodes.append(node)
        return self.known[key]


@dataclass(slots=True)
class _TableRule:
    """An array of constants, as a map is one: put together once."""

    rule: _Rule
    found: tuple[Any, _Lost] | None = None

    def __call__(self, values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
        if self.found is None:
            self.found = self.rule(values, lost)
        return self.found


def _is_constant(node: ColumnNode) -> bool:
    return isinstance(node.content, _TableRule) or not (node.arguments or isinstance(node.content, str))


_MEETING = frozenset({Op.LT, Op.LE, Op.EQ, Op.ADD, Op.SUB, Op.MUL, Op.DIV})
_COMPUTING = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.POW, *ELEMENTARY})  # may overflow in doubles


def _constant_column(value: bool | int | Fraction) -> Any:
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int64(value)
    try:
        return np.float64(float(value))
    except OverflowError:
        raise Unsupported("a number is beyond float64") from None


def give_rows(value: Any, count: int) -> Column:
    """A constant repeated in every row; columns as they are."""
    column = np.asarray(value)
    if column.ndim and len(column) == count:
        return column
    return np.broadcast_to(column, (count, *column.shape[1:]))


def rows_lost(lost: _Lost, value: Any) -> _Lost:
    """Those that are lost already, and those whose value is no number."""
    return _join_lost(lost, _lost_by_overflow(value))


def _lost_by_overflow(value: Any) -> Any:
    """Rows that are no number; False: none is."""
    fine = np.isfinite(value)
    if fine.all():
        return False
    bad = ~fine
    return bad.any(axis=tuple(range(1, bad.ndim))) if np.ndim(bad) > 1 else bad


def _count_axes(kind: ValueType) -> int:
    return 1 + _count_axes(kind.element) if isinstance(kind, Array) else 0


def _axes_of_operation(op: Op, parts: Sequence[ColumnNode]) -> int:
    match op:
        case Op.ARRAY:
            return 1 + max((p.depth for p in parts), default=0)
        case Op.SELECT:
            return parts[0].depth - 1
        case Op.ITE:
            return parts[1].depth
        case _:
            return 0


def _may_be_large(op: Op, parts: Sequence[ColumnNode]) -> bool:
    sizes = [_largest_size(p.interval) for p in parts if p.sort is INT]
    most = sum(sizes) if op is not Op.MUL else reduce(lambda a, b: a * max(b, 1), sizes, 1)
    return bool(most > LARGEST)


def _operator_rule(term: Apply, parts: list[ColumnNode], sort: Sort, *, checked: bool, exact: bool) -> _Rule:
    op = term.op
    if op in _LAZY_RULES:
        return _LAZY_RULES[op]
    if op in _EAGER:
        return _strict_rule(_EAGER[op], () if op in _TRANSPARENT else _computed_places(parts))
    if op in ELEMENTARY:
        return _strict_rule(elementary_column(op, exact=exact), _computed_places(parts))
    if op is Op.DIV:
        return _losing_rule(_divide, _computed_places(parts[1:], first=1))
    if op is Op.POW:
        return _power_rule(term, parts, sort, exact)
    if op in (Op.FLOOR, Op.CEIL, Op.TRUNC):
        if parts[0].sort is INT:
            return _strict_rule(lambda x: x)
        return _losing_rule(_rounding_function(op))
    if op is Op.MOD:
        return _losing_rule(_modulo)
    if op is Op.SELECT:
        return _losing_rule(_select)
    return _folding_rule(_ARITHMETIC[op], _CHECKED[op], checked=checked)


def _computed_places(parts: Sequence[ColumnNode], first: int = 0) -> tuple[int, ...]:
    return tuple(n for n, part in enumerate(parts, first) if part.computed)


def _largest_size(interval: Interval) -> Any:
    low, high = interval
    return max(-low, low, -high, high)


def _join_lost(*lost: _Lost) -> _Lost:
    found: _Lost = False
    for rows in lost:
        if rows is not False:
            found = rows if found is False else found | rows
    return found


def _strict_rule(function: Callable[..., Any], looked_at: tuple[int, ...] = ()) -> _Rule:
    """All arguments matter; those at `looked_at` have to be numbers, because the result does not show it."""

    def rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
        return function(*values), _join_lost(*lost, *(_lost_by_overflow(values[p]) for p in looked_at))

    return rule


def _losing_rule(function: Callable[..., tuple[Any, _Lost]], looked_at: tuple[int, ...] = ()) -> _Rule:
    """As a strict rule; the function says which rows it loses."""

    def rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
        value, own = function(*values)
        return value, _join_lost(own, *lost, *(_lost_by_overflow(values[p]) for p in looked_at))

    return rule


def _folding_rule(
    plain: Callable[[Any, Any], Any], careful: Callable[[Any, Any], tuple[Any, Any]], *, checked: bool
) -> _Rule:
    """From the left; integers that may be large are checked as long as no double has been met."""

    def rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
        total, own = values[0], list(lost)
        for value in values[1:]:
            if checked and _is_integer(total) and _is_integer(value):
                total, over = careful(total, value)
                own.append(over)
            else:
                total = plain(total, value)
        return total, _join_lost(*own)

    return rule


def _is_integer(value: Any) -> bool:
    return bool(np.asarray(value).dtype.kind == "i")


def _beyond(value: Any) -> Any:
    return (value > LARGEST) | (value < -LARGEST)


def _checked_product(left: Any, right: Any) -> tuple[Any, Any]:
    size = np.abs(np.asarray(left, dtype=np.float64) * right)
    return left * right, size > LARGEST * (1 - 1e-9)


_ARITHMETIC: dict[Op, Callable[[Any, Any], Any]] = {Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply}
_CHECKED: dict[Op, Callable[[Any, Any], tuple[Any, Any]]] = {
    Op.ADD: lambda a, b: (a + b, _beyond(a + b)),
    Op.SUB: lambda a, b: (a - b, _beyond(a - b)),
    Op.MUL: _checked_product,
}


def _divide(left: Any, right: Any) -> tuple[Any, Any]:
    return np.true_divide(left, right), right == 0


def _modulo(left: Any, right: Any) -> tuple[Any, Any]:
    size = np.abs(right)
    return np.mod(left, np.maximum(size, 1)), size == 0


def _rounding_function(op: Op) -> Callable[[Any], tuple[Any, Any]]:
    rounded: Any = {Op.FLOOR: np.floor, Op.CEIL: np.ceil, Op.TRUNC: np.trunc}[op]

    def apply(x: Any) -> tuple[Any, Any]:
        lost = ~(np.abs(x) <= LARGEST)
        return rounded(np.where(lost, 0.0, x)).astype(np.int64), lost

    return apply


def _select(array: Any, index: Any) -> tuple[Any, Any]:
    length = array.shape[1]
    lost = (index < 0) | (index >= length)
    place = np.where(lost, 0, index)
    if np.ndim(place) == 0:
        return array[:, place], lost
    return array[0 if len(array) == 1 else np.arange(len(array)), place], lost


def is_few_products(exponent: Term) -> bool:
    """Is it a constant power that is a product of so many factors?"""
    if not isinstance(exponent, Const) or type(exponent.value) is not int:
        return False
    return abs(exponent.value) <= MOST_PRODUCTS


def _power_rule(term: Apply, parts: list[ColumnNode], sort: Sort, exact: bool) -> _Rule:
    exponent = term.args[1]
    if not is_few_products(exponent):
        if sort is INT:
            return _losing_rule(_integer_power)
        power = partial(whole_power, most_products=MOST_PRODUCTS) if parts[1].sort is INT else broken_power
        return _strict_rule(partial(power, exact=exact), (0, 1))
    times = abs(int(exponent.value))  # type: ignore[union-attr]
    inverse = exponent.value < 0  # type: ignore[union-attr]

    def rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
        base, own = values[0], [lost[0]]
        if sort is REAL:
            base = np.asarray(base, dtype=np.float64)
        total = np.ones_like(base)
        for _ in range(times):
            if sort is INT:
                total, over = _checked_product(total, base)
                own.append(over)
            else:
                total = total * base
        if inverse:
            own += [_lost_by_overflow(total), total == 0]
            total = 1 / total
        return total, _join_lost(*own)

    return rule


def _integer_power(base: Any, exponent: Any) -> tuple[Any, Any]:
    size = np.power(np.abs(np.asarray(base, dtype=np.float64)), exponent)
    lost = (exponent < 0) | ~(size <= LARGEST * (1 - 1e-9))
    return np.power(np.where(lost, 1, base), np.where(lost, 1, exponent)), lost


def _sign(x: Any) -> Any:
    return np.asarray(x > 0, dtype=np.int64) - np.asarray(x < 0, dtype=np.int64)


def _equal(left: Any, right: Any) -> Any:
    same = np.equal(left, right)
    return same.all(axis=tuple(range(1, same.ndim))) if np.ndim(same) > 1 else same


def _array_of(*elements: Any) -> Any:
    return np.stack(
        np.broadcast_arrays(*(e if np.ndim(e) else np.reshape(e, (1,)) for e in elements)), axis=1
    )


_TRANSPARENT = frozenset({Op.NEG, Op.ABS, Op.ARRAY})  # of what is no number they make what is none
_EAGER: dict[Op, Callable[..., Any]] = {
    Op.NEG: np.negative,
    Op.ABS: np.abs,
    Op.SIGN: _sign,
    Op.MIN: lambda *xs: reduce(lambda a, b: np.where(b < a, b, a), xs),
    Op.MAX: lambda *xs: reduce(lambda a, b: np.where(b > a, b, a), xs),
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: _equal,
    Op.NOT: np.logical_not,
    Op.ARRAY: _array_of,
}


def _and_rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
    total, own = values[0], lost[0]
    for value, rows in zip(values[1:], lost[1:], strict=True):
        own = own if rows is False else _join_lost(own, total & rows)
        total = total & value
    return total, own


def _or_rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
    total, own = values[0], lost[0]
    for value, rows in zip(values[1:], lost[1:], strict=True):
        own = own if rows is False else _join_lost(own, ~total & rows)
        total = total | value
    return total, own


def _implies_rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
    return _or_rule([np.logical_not(values[0]), values[1]], lost)


def _choose_rule(values: list[Any], lost: list[_Lost]) -> tuple[Any, _Lost]:
    condition, then, otherwise = values
    own = lost[0]
    if lost[1] is not False or lost[2] is not False:
        own = _join_lost(own, np.where(condition, lost[1], lost[2]))
    if np.ndim(condition) and (more := np.ndim(then) - 1) > 0:
        condition = condition.reshape(-1, *(1,) * more)
    return np.where(condition, then, otherwise), own


_LAZY_RULES: dict[Op, _Rule] = {
    Op.AND: _and_rule,
    Op.OR: _or_rule,
    Op.IMPLIES: _implies_rule,
    Op.ITE: _choose_rule,
}
