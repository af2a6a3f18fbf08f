"""Which kind of value a term has: truth value, integer, real number or array. One rule for each operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.term.printer import abbreviate_term
from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

BOOL, INT, REAL = Bool(), Int(), Real()
_UnknownName: TypeAlias = Callable[[str], InvalidProblem]
_TypeRule: TypeAlias = Callable[[Apply, list[ValueType]], ValueType]


def infer_term_type(
    whole: Term, names: Mapping[str, ValueType], where: str, unknown: _UnknownName
) -> ValueType:
    """The kind of a term, without bounds; `unknown(name)` is the error for a name not among `names`."""
    done: dict[int, ValueType] = {}  # by identity: large terms share their parts
    waiting = [whole]
    while waiting:
        term = waiting[-1]
        if isinstance(term, Apply):
            missing = [a for a in term.args if id(a) not in done]
            if missing:
                waiting.extend(missing)
                continue
            try:
                done[id(term)] = TYPE_RULES[term.op](term, [done[id(a)] for a in term.args])
            except _TypeMisfit as misfit:
                raise InvalidProblem(misfit.what, fix=misfit.fix, where=where) from None
        elif isinstance(term, Const):
            done[id(term)] = _type_of_constant(term)
        elif term.name in names:
            done[id(term)] = unbounded_type(names[term.name])
        else:
            raise unknown(term.name).at(where)
        waiting.pop()
    return done[id(whole)]


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


def _type_of_constant(constant: Const) -> ValueType:
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
    **dict.fromkeys(
        (Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH),
        _numeric_rule(1, 1, REAL),
    ),
}
