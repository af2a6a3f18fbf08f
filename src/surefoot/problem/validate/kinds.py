"""Which kind of value a term has: truth value, integer, real number or array. One rule for each operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Array, Bool, Int, Kind, Real
from surefoot.problem.show import brief
from surefoot.problem.term import Apply, Const, Op, Term

BOOL, INT, REAL = Bool(), Int(), Real()
Unknown: TypeAlias = Callable[[str], InvalidProblem]
Rule: TypeAlias = Callable[[Apply, list[Kind]], Kind]


def kind_of(whole: Term, names: Mapping[str, Kind], where: str, unknown: Unknown) -> Kind:
    """The kind of a term, without bounds; `unknown(name)` is the error for a name not among `names`."""
    done: dict[int, Kind] = {}  # by identity: large terms share their parts
    waiting = [whole]
    while waiting:
        term = waiting[-1]
        if isinstance(term, Apply):
            missing = [a for a in term.args if id(a) not in done]
            if missing:
                waiting.extend(missing)
                continue
            try:
                done[id(term)] = RULES[term.op](term, [done[id(a)] for a in term.args])
            except _Misfit as misfit:
                raise InvalidProblem(misfit.what, fix=misfit.fix, where=where) from None
        elif isinstance(term, Const):
            done[id(term)] = _kind_of_constant(term)
        elif term.name in names:
            done[id(term)] = unbounded(names[term.name])
        else:
            raise unknown(term.name).at(where)
        waiting.pop()
    return done[id(whole)]


def unbounded(kind: Kind) -> Kind:
    """The same kind without limits on the values."""
    match kind:
        case Int():
            return INT
        case Real():
            return REAL
        case Array(element, length):
            return Array(unbounded(element), length)
        case Bool():
            return BOOL


def joined(first: Kind, second: Kind) -> Kind | None:
    """The kind that holds values of both, or None: integers are real numbers, nothing else mixes."""
    if first == second:
        return first
    match first, second:
        case (Int(), Real()) | (Real(), Int()):
            return REAL
        case (Array(a, m), Array(b, n)) if m == n:
            element = joined(a, b)
            return None if element is None else Array(element, m)
        case _:
            return None


def describe(kind: Kind) -> str:
    match kind:
        case Bool():
            return "a truth value"
        case Int():
            return "an integer"
        case Real():
            return "a real number"
        case Array(element, length):
            return f"an array of {length} ({describe(element)} each)"


class _Misfit(Exception):
    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def converted(term: Term, kind: Kind, wanted: tuple[type, ...]) -> str:
    """How to make a value of one of the wanted kinds from a term of another kind."""
    if Array in wanted:
        return "give an array of that kind"
    if isinstance(kind, Array):
        return f"take an element of it: `{brief(term)}[0]`"
    if Bool in wanted:
        compared = f"compare it with something: `{brief(term)} > 0`"
        return "write `true` or `false`" if isinstance(term, Const) else compared
    if isinstance(kind, Bool):
        return f"turn it into a number: `ite({brief(term)}, 1, 0)`"
    return "round it with floor, ceil or trc"


def _kind_of_constant(constant: Const) -> Kind:
    if isinstance(constant.value, bool):
        return BOOL
    return INT if isinstance(constant.value, int) else REAL


def _count(term: Apply, least: int, most: int | None) -> None:
    if len(term.args) < least or (most is not None and len(term.args) > most):
        raise _Misfit(f"`{term.op.value}` has {len(term.args)} arguments in `{brief(term)}`")


def _all_are(term: Apply, kinds: list[Kind], wanted: tuple[type, ...], word: str) -> None:
    for argument, kind in zip(term.args, kinds, strict=True):
        if not isinstance(kind, wanted):
            place = f"`{brief(argument)}` is {describe(kind)}, but `{term.op.value}` needs {word}"
            raise _Misfit(f"{place} in `{brief(term)}`", converted(argument, kind, wanted))


def _numeric(least: int, most: int | None, result: Kind | None = None) -> Rule:
    """Numbers to a number: `result`, or an integer exactly when all arguments are integers."""

    def rule(term: Apply, kinds: list[Kind]) -> Kind:
        _count(term, least, most)
        _all_are(term, kinds, (Int, Real), "numbers")
        return result if result is not None else REAL if REAL in kinds else INT

    return rule


def _logical(least: int, most: int | None) -> Rule:
    def rule(term: Apply, kinds: list[Kind]) -> Kind:
        _count(term, least, most)
        _all_are(term, kinds, (Bool,), "truth values")
        return BOOL

    return rule


def _quotient(term: Apply, kinds: list[Kind]) -> Kind:
    _count(term, 2, 2)
    _all_are(term, kinds, (Int, Real), "numbers")
    _not_by_zero(term)
    return REAL


def _modulo(term: Apply, kinds: list[Kind]) -> Kind:
    _count(term, 2, 2)
    _all_are(term, kinds, (Int,), "integers")
    _not_by_zero(term)
    return INT


def _not_by_zero(term: Apply) -> None:
    """Such a term has a value nowhere."""
    if term.args[1] == Const(0):
        raise _Misfit(f"`{brief(term)}` divides by zero", "divide by something else")


def _power(term: Apply, kinds: list[Kind]) -> Kind:
    _count(term, 2, 2)
    _all_are(term, kinds, (Int, Real), "numbers")
    exponent = term.args[1]
    inverts = isinstance(exponent, Const) and exponent.value < 0
    return INT if kinds == [INT, INT] and not inverts else REAL


def _agreed(term: Apply, kinds: list[Kind], first: int = 0) -> Kind:
    common = kinds[first]
    for argument, kind in zip(term.args[first + 1 :], kinds[first + 1 :], strict=True):
        both = joined(common, kind)
        if both is None:
            other = f"`{brief(term.args[first])}` is {describe(common)}"
            raise _Misfit(f"`{brief(argument)}` is {describe(kind)} and {other} in `{brief(term)}`")
        common = both
    return common


def _equality(term: Apply, kinds: list[Kind]) -> Kind:
    _count(term, 2, 2)
    _agreed(term, kinds)
    return BOOL


def _conditional(term: Apply, kinds: list[Kind]) -> Kind:
    _count(term, 3, 3)
    if not isinstance(kinds[0], Bool):
        what = f"the condition `{brief(term.args[0])}` of `ite` is {describe(kinds[0])}, not a truth value"
        raise _Misfit(what, converted(term.args[0], kinds[0], (Bool,)))
    return _agreed(term, kinds, first=1)


def _array(term: Apply, kinds: list[Kind]) -> Kind:
    if not kinds:
        raise _Misfit("an array without elements has no kind", "write at least one element")
    return Array(_agreed(term, kinds), len(kinds))


def _element(term: Apply, kinds: list[Kind]) -> Kind:
    _count(term, 2, 2)
    array, index = kinds
    if not isinstance(array, Array):
        raise _Misfit(f"`{brief(term.args[0])}` is {describe(array)}, not an array, in `{brief(term)}`")
    if not isinstance(index, Int):
        raise _Misfit(f"the index `{brief(term.args[1])}` is {describe(index)}, not an integer")
    if isinstance(term.args[1], Const) and not 0 <= term.args[1].value < array.length:
        last = array.length - 1
        raise _Misfit(
            f"index {brief(term.args[1])} is outside `{brief(term.args[0])}`", f"it goes from 0 to {last}"
        )
    return array.element


RULES: dict[Op, Rule] = {
    **dict.fromkeys((Op.ADD, Op.MUL, Op.MIN, Op.MAX), _numeric(2, None)),
    Op.SUB: _numeric(2, 2),
    Op.DIV: _quotient,
    **dict.fromkeys((Op.NEG, Op.ABS), _numeric(1, 1)),
    **dict.fromkeys((Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC), _numeric(1, 1, INT)),
    Op.MOD: _modulo,
    Op.POW: _power,
    **dict.fromkeys((Op.LT, Op.LE), _numeric(2, 2, BOOL)),
    Op.EQ: _equality,
    Op.NOT: _logical(1, 1),
    **dict.fromkeys((Op.AND, Op.OR), _logical(1, None)),
    Op.IMPLIES: _logical(2, 2),
    Op.ITE: _conditional,
    Op.ARRAY: _array,
    Op.SELECT: _element,
    **dict.fromkeys(
        (Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH),
        _numeric(1, 1, REAL),
    ),
}
