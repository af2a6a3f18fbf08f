"""Terms as Python functions of a row: the meaning of `term/evaluate.py`, several times faster.

What has no value raises `Undefined`, `ZeroDivisionError` or `OverflowError`; whoever calls asks the reference
for the message. Every operator has the reference's own function; the ones below are shorter ways for whole
numbers and truth values, whose results need no normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.term.evaluate import EXACT, TABLES, Undefined, constant_elements, evaluate_term
from surefoot.term.number import as_doubles, check_bit_length
from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.traverse import LAZY, Leaf, fold_term, is_constant_array
from surefoot.term.types import INT, REAL, SORT_RULES, WHOLE_RULES, Sort, leaf_sort
from surefoot.term.value_types import Arithmetic, ValueType

Row: TypeAlias = tuple[Any, ...]
Closure: TypeAlias = Callable[[Row], Any]
UNDEFINED_ERRORS = (Undefined, ZeroDivisionError, OverflowError)


class _CompiledTerm(NamedTuple):
    closure: Closure
    constant: bool  # the same for every row
    whole: Sort  # what the values surely are
    sort: Sort  # what they are by the kind of the term


def compile_closure(
    term: Term, slots: Mapping[str, int], kinds: Mapping[str, ValueType], arithmetic: Arithmetic
) -> Closure:
    """The function from a row to the value of the term."""

    def leaf(part: Leaf) -> _CompiledTerm:
        sort = leaf_sort(part, kinds)
        if isinstance(part, Const):
            return _CompiledTerm(_constant_closure(evaluate_term(part, {}, arithmetic)), True, sort, sort)
        if part.name not in slots:
            raise InvalidProblem(f"`{part.name}` is not declared")
        return _CompiledTerm(itemgetter(slots[part.name]), False, sort, sort)

    def apply_operator(part: Apply, parts: list[_CompiledTerm]) -> _CompiledTerm:
        if not parts and part.op is Op.ARRAY and part.args:
            return _constant_array(part, kinds, arithmetic)
        made, constant = _operator_closure(part, parts, arithmetic), False
        if all(p.constant for p in parts):
            with suppress(*UNDEFINED_ERRORS):  # without a value: an error if it is ever looked at
                made, constant = _constant_closure(made(())), True
        whole = WHOLE_RULES[part.op](part, [p.whole for p in parts])
        return _CompiledTerm(made, constant, whole, SORT_RULES[part.op](part, [p.sort for p in parts]))

    return fold_term(term, leaf, apply_operator, _arguments_to_compile).closure


def _arguments_to_compile(part: Apply, _: list[_CompiledTerm]) -> Iterator[Term]:
    """Those of an array of constants, which may be a table of very many, are not looked at one by one."""
    return iter(()) if is_constant_array(part) else iter(part.args)


def _constant_array(array: Apply, kinds: Mapping[str, ValueType], arithmetic: Arithmetic) -> _CompiledTerm:
    parts = [part for part in array.args if part.__class__ is Const]
    value = TABLES[arithmetic][Op.ARRAY](*constant_elements(parts, arithmetic))
    examples = {leaf_sort(part, kinds): part for part in parts}  # the rules ask which kinds there are
    short, sorts = Apply(Op.ARRAY, tuple(examples.values())), list(examples)
    whole = WHOLE_RULES[Op.ARRAY](short, sorts)
    return _CompiledTerm(_constant_closure(value), True, whole, SORT_RULES[Op.ARRAY](short, sorts))


def _operator_closure(term: Apply, compiled: list[_CompiledTerm], arithmetic: Arithmetic) -> Closure:
    op, parts = term.op, [part.closure for part in compiled]
    if op is Op.ITE and arithmetic is Arithmetic.FLOAT64:
        parts = [parts[0], *_convert_branches(compiled[1:])]
    if op in LAZY:
        return _lazy_closure(op, parts)
    if all(part.whole is not REAL for part in compiled):
        if op in _SHORT and len(parts) == 2:
            return _SHORT[op](parts[0], parts[1], _integer_constant(term.args[1]))
        if op in (Op.NOT, Op.NEG):
            return _negation_closure(op, parts[0])
    return _reference_closure(TABLES[arithmetic][op], parts)


def _convert_branches(branches: list[_CompiledTerm]) -> list[Closure]:
    """Both branches of a choice; an integer one gives a double where the other is real."""
    mixed = {branch.sort for branch in branches} == {INT, REAL}
    return [_in_doubles(b.closure) if mixed and b.sort is INT else b.closure for b in branches]


def _in_doubles(part: Closure) -> Closure:
    return lambda row: as_doubles(part(row))


def _constant_closure(value: Any) -> Closure:
    return lambda _: value


def _integer_constant(term: Term) -> int | None:
    return term.value if isinstance(term, Const) and type(term.value) is int else None


def _lazy_closure(op: Op, parts: list[Closure]) -> Closure:
    match op, parts:
        case Op.ITE, [condition, then, otherwise]:
            return lambda row: then(row) if condition(row) else otherwise(row)
        case Op.IMPLIES, [left, right]:
            return lambda row: not left(row) or bool(right(row))
        case Op.AND, [left, right]:
            return lambda row: bool(left(row) and right(row))
        case Op.OR, [left, right]:
            return lambda row: bool(left(row) or right(row))
        case Op.AND, _:
            return lambda row: all(part(row) for part in parts)
        case _:
            return lambda row: any(part(row) for part in parts)


def _reference_closure(function: Callable[..., Any], parts: list[Closure]) -> Closure:
    """The reference's function; results that are whole become `int`, as there."""

    def value(row: Row) -> Any:
        result = function(*[part(row) for part in parts])
        if isinstance(result, Fraction) and result.denominator == 1:
            return result.numerator
        return result

    return value


def _negation_closure(op: Op, part: Closure) -> Closure:
    if op is Op.NOT:
        return lambda row: not part(row)
    return lambda row: -part(row)


def _less_closure(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) < constant
    return lambda row: left(row) < right(row)


def _at_most_closure(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) <= constant
    return lambda row: left(row) <= right(row)


def _equal_closure(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) == constant
    return lambda row: left(row) == right(row)


def _sum_closure(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) + constant
    return lambda row: left(row) + right(row)


def _difference_closure(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) - constant
    return lambda row: left(row) - right(row)


def _product_closure(left: Closure, right: Closure, _: int | None) -> Closure:
    return lambda row: check_bit_length(left(row) * right(row))


def _min_closure(left: Closure, right: Closure, _: int | None) -> Closure:
    return lambda row: min(left(row), right(row))


def _max_closure(left: Closure, right: Closure, _: int | None) -> Closure:
    return lambda row: max(left(row), right(row))


def _select_closure(array: Closure, index: Closure, _: int | None) -> Closure:
    pick = EXACT[Op.SELECT]
    return lambda row: pick(array(row), index(row))


# For two arguments that are whole; the third parameter is the second one if it is a constant.
_SHORT: dict[Op, Callable[[Closure, Closure, int | None], Closure]] = {
    Op.LT: _less_closure,
    Op.LE: _at_most_closure,
    Op.EQ: _equal_closure,
    Op.ADD: _sum_closure,
    Op.SUB: _difference_closure,
    Op.MUL: _product_closure,
    Op.MIN: _min_closure,
    Op.MAX: _max_closure,
    Op.SELECT: _select_closure,
}
