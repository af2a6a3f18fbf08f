"""Which kind of value a term has: truth value, integer, real number or array. One rule for each operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.term.printer import abbreviate_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, enumerate_parts, fold_term
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

Sort: TypeAlias = Bool | Int | Real
BOOL, INT, REAL = Bool(), Int(), Real()
ELEMENTARY = frozenset(  # the reference rounds these to float64 even in exact arithmetic
    {Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH}
)
TRUTHS = frozenset({Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES})  # give true or false
_UnknownName: TypeAlias = Callable[[str], InvalidProblem]
_TypeRule: TypeAlias = Callable[[Apply, list[ValueType]], ValueType]
_SortRule: TypeAlias = Callable[[Apply, list[Sort]], Sort]


def infer_term_type(
    whole: Term, names: Mapping[str, ValueType], where: str, unknown: _UnknownName
) -> ValueType:
    """The kind of a term, without bounds; `unknown(name)` is the error for a name not among `names`."""

    def leaf(part: Leaf) -> ValueType:
        if isinstance(part, Const):
            return _type_of_constant(part)
        if part.name not in names:
            raise unknown(part.name).at(where)
        return unbounded_type(names[part.name])

    try:
        return fold_term(whole, leaf, lambda part, kinds: TYPE_RULES[part.op](part, kinds))
    except _TypeMisfit as misfit:
        raise InvalidProblem(misfit.what, fix=misfit.fix, where=where) from None


def term_sort(whole: Term, names: Callable[[str], Sort]) -> Sort:
    """The kind of a term that was checked before; an array has that of its elements."""
    return fold_term(
        whole,
        lambda part: names(part.name) if isinstance(part, Var) else _type_of_constant(part),
        lambda part, sorts: SORT_RULES[part.op](part, sorts),
    )


def is_truth(term: Term, names: Callable[[str], Sort]) -> bool:
    """Is its sort that of truth values? Seen from one value, because terms never mix the two."""
    while isinstance(term, Apply) and term.op in (Op.ITE, Op.SELECT, Op.ARRAY) and term.args:
        term = term.args[1 if term.op is Op.ITE else 0]
    if isinstance(term, Apply):
        return term.op in TRUTHS
    return names(term.name) is BOOL if isinstance(term, Var) else isinstance(term.value, bool)


def is_truth_value(term: Term, kinds: Mapping[str, ValueType]) -> bool:
    """Is this a truth value (or an array of them) rather than a number?"""
    return is_truth(term, lambda name: sort_of_type(kinds.get(name)))


def is_whole(whole: Term, kinds: Mapping[str, ValueType]) -> bool:
    """Is this surely a whole number wherever it is defined? Not 2 ^ n, whose kind is that of integers."""
    return _checked_sort(whole, kinds, WHOLE_RULES) is INT


def sort_of(whole: Term, kinds: Mapping[str, ValueType]) -> type[int] | type[bool] | None:
    """`int` or `bool` where the value is surely that, else None; an array has the sort of its elements."""
    sort = _checked_sort(whole, kinds, WHOLE_RULES)
    return bool if sort is BOOL else int if sort is INT else None


def is_rounded(whole: Term, kinds: Mapping[str, ValueType]) -> bool:
    """Does the term use an operator whose reference value is rounded although the arithmetic is exact?"""
    return any(
        part.op in ELEMENTARY or (part.op is Op.POW and not is_whole(part.args[1], kinds))
        for part in enumerate_parts(whole)
        if isinstance(part, Apply)
    )


def as_number(term: Term, kinds: Mapping[str, ValueType]) -> Term:
    """The term itself, or 1 and 0 for a truth value."""
    return Apply(Op.ITE, (term, Const(1), Const(0))) if is_truth_value(term, kinds) else term


def sort_of_type(kind: ValueType | None) -> Sort:
    """Controls and outputs, which have no kind, are real numbers."""
    while isinstance(kind, Array):
        kind = kind.element
    return BOOL if isinstance(kind, Bool) else INT if isinstance(kind, Int) else REAL


def leaf_sort(leaf: Leaf, kinds: Mapping[str, ValueType]) -> Sort:
    """The kind of a constant or of a name."""
    return sort_of_type(kinds.get(leaf.name)) if isinstance(leaf, Var) else _type_of_constant(leaf)


def _checked_sort(whole: Term, kinds: Mapping[str, ValueType], rules: Mapping[Op, _SortRule]) -> Sort:
    return fold_term(
        whole, lambda part: leaf_sort(part, kinds), lambda part, sorts: rules[part.op](part, sorts)
    )


def unbounded_type(kind: ValueType) -> ValueType:
    """The same kind without limits on the values."""
    match kind:
        case Int():
            return INT
        case Real():
            return REAL
        case Array(element, length):
            return Array(unbounded_type(element), length)
        case Bool():
            return BOOL


def join_types(first: ValueType, second: ValueType) -> ValueType | None:
    """The kind that holds values of both, or None: integers are real numbers, nothing else mixes."""
    if first == second:
        return first
    match first, second:
        case (Int(), Real()) | (Real(), Int()):
            return REAL
        case (Array(a, m), Array(b, n)) if m == n:
            element = join_types(a, b)
            return None if element is None else Array(element, m)
        case _:
            return None


def describe_type(kind: ValueType) -> str:
    match kind:
        case Bool():
            return "a truth value"
        case Int():
            return "an integer"
        case Real():
            return "a real number"
        case Array(element, length):
            return f"an array of {length} ({describe_type(element)} each)"


class _TypeMisfit(Exception):
    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def suggest_conversion(term: Term, kind: ValueType, wanted: tuple[type, ...]) -> str:
    """How to make a value of one of the wanted kinds from a term of another kind."""
    if Array in wanted:
        return "give an array of that kind"
    if isinstance(kind, Array):
        return f"take an element of it: `{abbreviate_term(term)}[0]`"
    if Bool in wanted:
        compared = f"compare it with something: `{abbreviate_term(term)} > 0`"
        return "write `true` or `false`" if isinstance(term, Const) else compared
    if isinstance(kind, Bool):
        return f"turn it into a number: `ite({abbreviate_term(term)}, 1, 0)`"
    return "round it with floor, ceil or trc"


def _type_of_constant(constant: Const) -> Sort:
    if isinstance(constant.value, bool):
        return BOOL
    return INT if isinstance(constant.value, int) else REAL


def _check_arity(term: Apply, least: int, most: int | None) -> None:
    if len(term.args) < least or (most is not None and len(term.args) > most):
        raise _TypeMisfit(f"`{term.op.value}` has {len(term.args)} arguments in `{abbreviate_term(term)}`")


def _check_arguments(term: Apply, kinds: list[ValueType], wanted: tuple[type, ...], word: str) -> None:
    for argument, kind in zip(term.args, kinds, strict=True):
        if not isinstance(kind, wanted):
            place = (
                f"`{abbreviate_term(argument)}` is {describe_type(kind)}, but `{term.op.value}` needs {word}"
            )
            raise _TypeMisfit(
                f"{place} in `{abbreviate_term(term)}`", suggest_conversion(argument, kind, wanted)
            )


def _numeric_rule(least: int, most: int | None, result: ValueType | None = None) -> _TypeRule:
    """Numbers to a number: `result`, or an integer exactly when all arguments are integers."""

    def rule(term: Apply, kinds: list[ValueType]) -> ValueType:
        _check_arity(term, least, most)
        _check_arguments(term, kinds, (Int, Real), "numbers")
        return result if result is not None else REAL if REAL in kinds else INT

    return rule


def _logical_rule(least: int, most: int | None) -> _TypeRule:
    def rule(term: Apply, kinds: list[ValueType]) -> ValueType:
        _check_arity(term, least, most)
        _check_arguments(term, kinds, (Bool,), "truth values")
        return BOOL

    return rule


def _quotient_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    _check_arity(term, 2, 2)
    _check_arguments(term, kinds, (Int, Real), "numbers")
    _refuse_zero_divisor(term)
    return REAL


def _modulo_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    _check_arity(term, 2, 2)
    _check_arguments(term, kinds, (Int,), "integers")
    _refuse_zero_divisor(term)
    return INT


def _refuse_zero_divisor(term: Apply) -> None:
    """Such a term has a value nowhere."""
    if term.args[1] == Const(0):
        raise _TypeMisfit(f"`{abbreviate_term(term)}` divides by zero", "divide by something else")


def _power_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    _check_arity(term, 2, 2)
    _check_arguments(term, kinds, (Int, Real), "numbers")
    exponent = term.args[1]
    inverts = isinstance(exponent, Const) and exponent.value < 0
    return INT if kinds == [INT, INT] and not inverts else REAL


def _common_type(term: Apply, kinds: list[ValueType], first: int = 0) -> ValueType:
    common = kinds[first]
    for argument, kind in zip(term.args[first + 1 :], kinds[first + 1 :], strict=True):
        both = join_types(common, kind)
        if both is None:
            other = f"`{abbreviate_term(term.args[first])}` is {describe_type(common)}"
            raise _TypeMisfit(
                f"`{abbreviate_term(argument)}` is {describe_type(kind)} and {other} in "
                f"`{abbreviate_term(term)}`"
            )
        common = both
    return common


def _equality_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    _check_arity(term, 2, 2)
    _common_type(term, kinds)
    return BOOL


def _conditional_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    _check_arity(term, 3, 3)
    if not isinstance(kinds[0], Bool):
        what = (
            f"the condition `{abbreviate_term(term.args[0])}` of `ite` is "
            f"{describe_type(kinds[0])}, not a truth value"
        )
        raise _TypeMisfit(what, suggest_conversion(term.args[0], kinds[0], (Bool,)))
    return _common_type(term, kinds, first=1)


def _array_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    if not kinds:
        raise _TypeMisfit("an array without elements has no kind", "write at least one element")
    return Array(_common_type(term, kinds), len(kinds))


def _element_type(term: Apply, kinds: list[ValueType]) -> ValueType:
    _check_arity(term, 2, 2)
    array, index = kinds
    if not isinstance(array, Array):
        raise _TypeMisfit(
            f"`{abbreviate_term(term.args[0])}` is {describe_type(array)}, not an array, in "
            f"`{abbreviate_term(term)}`"
        )
    if not isinstance(index, Int):
        raise _TypeMisfit(
            f"the index `{abbreviate_term(term.args[1])}` is {describe_type(index)}, not an integer"
        )
    if isinstance(term.args[1], Const) and not 0 <= term.args[1].value < array.length:
        last = array.length - 1
        raise _TypeMisfit(
            f"index {abbreviate_term(term.args[1])} is outside `{abbreviate_term(term.args[0])}`",
            f"it goes from 0 to {last}",
        )
    return array.element


TYPE_RULES: dict[Op, _TypeRule] = {
    **dict.fromkeys((Op.ADD, Op.MUL, Op.MIN, Op.MAX), _numeric_rule(2, None)),
    Op.SUB: _numeric_rule(2, 2),
    Op.DIV: _quotient_type,
    **dict.fromkeys((Op.NEG, Op.ABS), _numeric_rule(1, 1)),
    **dict.fromkeys((Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC), _numeric_rule(1, 1, INT)),
    Op.MOD: _modulo_type,
    Op.POW: _power_type,
    **dict.fromkeys((Op.LT, Op.LE), _numeric_rule(2, 2, BOOL)),
    Op.EQ: _equality_type,
    Op.NOT: _logical_rule(1, 1),
    **dict.fromkeys((Op.AND, Op.OR), _logical_rule(1, None)),
    Op.IMPLIES: _logical_rule(2, 2),
    Op.ITE: _conditional_type,
    Op.ARRAY: _array_type,
    Op.SELECT: _element_type,
    **dict.fromkeys(ELEMENTARY, _numeric_rule(1, 1, REAL)),
}


def _power_sort(term: Apply, sorts: list[Sort]) -> Sort:
    inverts = isinstance(term.args[1], Const) and term.args[1].value < 0
    return REAL if inverts or REAL in sorts else INT


def _whole_power_sort(term: Apply, sorts: list[Sort]) -> Sort:
    exponent = term.args[1]
    whole = isinstance(exponent, Const) and isinstance(exponent.value, int) and exponent.value >= 0
    return INT if whole and sorts[0] is INT else REAL


def _common_sort(_: Apply, sorts: list[Sort]) -> Sort:
    return REAL if REAL in sorts or not sorts else sorts[0]


# `TYPE_RULES` without checks, and so for terms that were rewritten: the tests hold the two together.
SORT_RULES: dict[Op, _SortRule] = {
    **dict.fromkeys(TRUTHS, lambda _, sorts: BOOL),
    **dict.fromkeys((Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.MOD), lambda _, sorts: INT),
    **dict.fromkeys((Op.DIV, *ELEMENTARY), lambda _, sorts: REAL),
    **dict.fromkeys(
        (Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.MIN, Op.MAX, Op.ABS),
        lambda _, sorts: REAL if REAL in sorts else INT,
    ),
    Op.POW: _power_sort,
    Op.ITE: lambda term, sorts: _common_sort(term, sorts[1:]),
    Op.ARRAY: _common_sort,
    Op.SELECT: lambda _, sorts: sorts[0],
}
WHOLE_RULES: dict[Op, _SortRule] = {**SORT_RULES, Op.POW: _whole_power_sort}
