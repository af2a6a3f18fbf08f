"""Expressions: terms as users write them. `==` is an equation, and an expression knows its variables.

Inside surefoot `==` of terms says whether they are the same data; `Expression` is the thin layer above that
builds equations, refuses Python's truth values, and carries the declarations of the variables in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias, TypeVar, overload

from surefoot.errors import InvalidProblem, WrongType
from surefoot.problem.environment import Variable
from surefoot.term.arguments import describe_value, exact_number, take_text
from surefoot.term.parser import parse_term
from surefoot.term.printer import show_term
from surefoot.term.term import (
    Apply,
    Op,
    Term,
    Var,
    equal,
    ite,
    term_from_python,
)
from surefoot.term.types import BOOL, is_truth, sort_of_type
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

_TRUTH = "write &, |, ~ for and, or, not"
_CHAIN = f"{_TRUTH}, (0 <= x) & (x <= 9) for a chain, maximum(a, b) and minimum(a, b) for max and min"
_MEMBER = f"{_TRUTH}, (x == 1) | (x == 2) for `x in [1, 2]`"
Kind = TypeVar("Kind", bound=ValueType)
_PARENTHESES = "put parentheses round each comparison: (x > 1) & (x < 5)"


class Expression:
    """A term over declared variables: build it from `integer`, `real`, `boolean`, `array` and numbers.

    >>> x = integer("x", 0, 9)
    >>> (x + 1 == 5) | ~(x >= "1/2")
    Expression('x + 1 = 5 or not x >= 0.5')
    >>> not boolean("open")
    Traceback (most recent call last):
    surefoot.errors.WrongType: `open` has no truth value in Python; fix: write &, |, ~ for and, or, not
    """

    __slots__ = ("term", "variables")
    __array_ufunc__ = None  # numpy's numbers leave the operators to expressions

    def __init__(self, term: Term, variables: tuple[Variable, ...] = ()) -> None:
        object.__setattr__(self, "term", term_from_python(term))
        object.__setattr__(self, "variables", variables)

    term: Term
    variables: tuple[Variable, ...]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("an expression cannot be changed")

    def __term__(self) -> Term:
        return self.term

    def __repr__(self) -> str:
        return f"Expression({show_term(self.term)!r})"

    def __str__(self) -> str:
        return show_term(self.term)

    def __hash__(self) -> int:
        return hash(self.term)

    def __bool__(self) -> bool:
        fix = _TRUTH
        if isinstance(self.term, Apply):  # chains, `max` and `in` ask for the truth of a comparison
            fix = {Op.LT: _CHAIN, Op.LE: _CHAIN, Op.EQ: _MEMBER}.get(self.term.op, _TRUTH)
        raise WrongType(f"`{show_term(self.term)}` has no truth value in Python", fix=fix)

    def __iter__(self) -> Iterator[Expression]:
        fix = "put it into a list, [x], or take an element of an array, x[0]"
        raise WrongType("an expression cannot be iterated over", fix=fix)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._combine(other, lambda a, b: equal(a, b))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._combine(other, lambda a, b: ~equal(a, b))

    def __lt__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a < b)

    def __le__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a <= b)

    def __gt__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a > b)

    def __ge__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a >= b)

    def __add__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a + b)

    def __radd__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: b + a)

    def __sub__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a * b)

    def __rmul__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: b * a)

    def __truediv__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: b / a)

    def __mod__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a % b)

    def __rmod__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: b % a)

    def __pow__(self, other: Operand) -> Expression:
        return self._combine(other, lambda a, b: a**b)

    def __rpow__(self, other: Operand) -> Expression:
        return expression_from(other)._combine(self, lambda a, b: a**b)

    def __and__(self, other: Operand) -> Expression:
        return self._connect("&", other, lambda a, b: a & b)

    def __rand__(self, other: Operand) -> Expression:
        return self._connect("&", other, lambda a, b: b & a)

    def __or__(self, other: Operand) -> Expression:
        return self._connect("|", other, lambda a, b: a | b)

    def __ror__(self, other: Operand) -> Expression:
        return self._connect("|", other, lambda a, b: b | a)

    def __invert__(self) -> Expression:
        return self._connect("~", self, lambda a, _: ~a)

    def __neg__(self) -> Expression:
        return Expression(-self.term, self.variables)

    def __abs__(self) -> Expression:
        return Expression(Apply(Op.ABS, (self.term,)), self.variables)

    def __floor__(self) -> Expression:
        return Expression(Apply(Op.FLOOR, (self.term,)), self.variables)

    def __ceil__(self) -> Expression:
        return Expression(Apply(Op.CEIL, (self.term,)), self.variables)

    # What Python would do otherwise: an error of its own, or another meaning.

    def __floordiv__(self, _: object) -> NoReturn:
        raise WrongType("`//` is not read", fix="write math.floor(a / b)")

    __rfloordiv__ = __floordiv__

    def __xor__(self, _: object) -> NoReturn:
        raise WrongType(
            "`^` is not read", fix="write x ** 2 for a power, a != b for either of two conditions"
        )

    __rxor__ = __xor__

    def __round__(self, _: int | None = None) -> NoReturn:
        raise WrongType("`round` is not read", fix="write math.floor(x + 0.5)")

    def __float__(self) -> NoReturn:
        what = f"`{show_term(self.term)}` is no number before it is evaluated in a state"
        raise WrongType(what, fix='write other functions as text: "sin(x)"')

    __int__ = __float__

    def __getitem__(self, index: Operand) -> Expression:
        return self._combine(index, lambda a, b: a[b])

    def implies(self, other: Operand) -> Expression:
        """Where this holds, the other does: `(x > 3).implies(y == 0)`."""
        return self._connect("implies", other, lambda a, b: Apply(Op.IMPLIES, (a, b)))

    def _connect(self, sign: str, other: object, build: _Build) -> Expression:
        """Of conditions: `x > 1 & x < 5` has `1 & x` in it, which nobody means."""
        right = expression_from(other)
        for part in (self, right):
            if part._is_number():
                what = f"`{sign}` is for conditions, and `{show_term(part.term)}` is a number"
                raise WrongType(what, fix=_PARENTHESES)
        return self._combine(right, build)

    def _is_number(self) -> bool:
        """Is it surely a number? Names in a text may stand for anything."""
        kinds = {v.name: sort_of_type(v.kind) for v in self.variables}
        return not is_truth(self.term, lambda name: kinds.get(name, BOOL))

    def _combine(self, other: object, build: _Build) -> Expression:
        right = expression_from(other)
        return Expression(build(self.term, right.term), merge_declarations(self.variables, right.variables))


Limit: TypeAlias = "int | float | Fraction | Decimal | str | None"
NumberLimit: TypeAlias = "int | float | Fraction | Decimal | None"
_Build: TypeAlias = Callable[[Any, Any], Term]
Operand: TypeAlias = "Expression | Term | int | float | Fraction | Decimal | str"


def expression_from(given: object) -> Expression:
    """An expression from an expression, a term, a number, or a text in the syntax of problem files."""
    if isinstance(given, Expression):
        return given
    if isinstance(given, str):
        return Expression(parse_term(given))
    if isinstance(given, bool):
        what = f"`{given}` is Python's truth value, not an expression"
        raise WrongType(what, fix=f"write surefoot.{str(given).upper()} for the constant")
    return Expression(term_from_python(given))  # type: ignore[arg-type]


def merge_declarations(*groups: Iterable[Variable]) -> tuple[Variable, ...]:
    """All declarations, each once, in the order in which they are met."""
    found: dict[str, Variable] = {}
    for variable in (v for group in groups for v in group):
        known = found.setdefault(variable.name, variable)
        if known != variable:
            what = f"`{variable.name}` is declared as {known.kind} and as {variable.kind}"
            raise InvalidProblem(what, fix="declare it once, or choose another name")
    return tuple(found.values())


def _declare(name: str, kind: ValueType) -> Expression:
    variable = Variable(take_text(name), kind)
    _check_limits(kind, f"`{name}` has")
    return Expression(Var(variable.name), (variable,))


def _check_limits(kind: Kind, subject: str = "there are") -> Kind:
    match kind:
        case Int(low, high) | Real(low, high) if low is not None and high is not None and low > high:
            raise WrongType(f"{subject} no values from {low} to {high}", fix="give the lower limit first")
    return kind


@overload
def integer(name: str, low: Limit = None, high: Limit = None) -> Expression: ...


@overload
def integer(name: NumberLimit = None, low: Limit = None) -> Int: ...


def integer(name: Limit = None, low: Limit = None, high: Limit = None) -> Expression | Int:
    """A whole number from `low` to `high`; a limit that is left out is none. Without a name, its kind.

    >>> integer("x", 0, 9) + 1
    Expression('x + 1')
    >>> integer(0, 9)
    Int(low=0, high=9)
    """
    if not isinstance(name, str):
        least, most = _nameless_limits(name, low, high)
        return _check_limits(Int(_whole_limit(least), _whole_limit(most)))
    return _declare(name, Int(*map(_whole_limit, (low, high))))


def _nameless_limits(low: Limit, high: Limit, more: Limit) -> tuple[Limit, Limit]:
    if more is not None:
        raise WrongType(f"{describe_value(low)} is not a name", fix='write "x", low, high, or two limits')
    return low, high


def _whole_limit(given: Limit) -> int | None:
    if given is None:
        return None
    limit = number_from(given)
    if limit != int(limit):
        raise WrongType(
            f"{describe_value(given)} is not a whole number", fix="give an int, or declare real(…)"
        )
    return int(limit)


@overload
def real(name: str, low: Limit = None, high: Limit = None) -> Expression: ...


@overload
def real(name: NumberLimit = None, low: Limit = None) -> Real: ...


def real(name: Limit = None, low: Limit = None, high: Limit = None) -> Expression | Real:
    """A real number from `low` to `high`; a float is the decimal that is printed, so 0.3 is 3/10. Without a
    name, its kind.

    >>> real("y", 0, 0.3).variables[0].kind.high
    Fraction(3, 10)
    >>> real(-2, 2).low
    Fraction(-2, 1)
    """
    named = isinstance(name, str)
    ends = (low, high) if named else _nameless_limits(name, low, high)
    least, most = (None if end is None else Fraction(number_from(end)) for end in ends)
    return _declare(name, Real(least, most)) if isinstance(name, str) else _check_limits(Real(least, most))


@overload
def boolean(name: str) -> Expression: ...


@overload
def boolean() -> Bool: ...


def boolean(name: str | None = None) -> Expression | Bool:
    """A truth value; without a name, its kind.

    >>> ~boolean("open")
    Expression('not open')
    """
    return Bool() if name is None else _declare(name, Bool())


@overload
def array(name: str, length: int, element: ValueType | None = None) -> Expression: ...


@overload
def array(name: int, length: ValueType | None = None) -> Array: ...


def array(name: Any, length: Any = None, element: Any = None) -> Expression | Array:
    """A fixed number of values, by default whole numbers; take one with `x[0]`. Without a name, its kind.

    >>> array("a", 3, Int(0, 9))[1] == 4
    Expression('a[1] = 4')
    >>> array(3, real(-1, 1)).length
    3
    """
    if not isinstance(name, str) and element is None and not isinstance(length, int):
        return Array(Int() if length is None else length, name)
    return _declare(name, Array(Int() if element is None else element, length))


def choose_value(condition: Operand, then: Operand, otherwise: Operand) -> Expression:
    """One of two values: `ite(condition, then, otherwise)` in problem files.

    >>> choose_value(integer("x", 0, 9) > 3, 1, 0)
    Expression('ite(x > 3, 1, 0)')
    """
    parts = [expression_from(part) for part in (condition, then, otherwise)]
    return Expression(ite(*(p.term for p in parts)), merge_declarations(*(p.variables for p in parts)))


def maximum(first: Operand, second: Operand, *others: Operand) -> Expression:
    """The largest of the values: `max(a, b)` in problem files; Python's own `max` cannot be used.

    >>> maximum(integer("x", 0, 9), 3)
    Expression('max(x, 3)')
    """
    return _apply_to_all(Op.MAX, (first, second, *others))


def minimum(first: Operand, second: Operand, *others: Operand) -> Expression:
    """The smallest of the values: `min(a, b)` in problem files; Python's own `min` cannot be used.

    >>> minimum(integer("x", 0, 9), "y + 1", 3)
    Expression('min(x, y + 1, 3)')
    """
    return _apply_to_all(Op.MIN, (first, second, *others))


def _apply_to_all(op: Op, given: tuple[Operand, ...]) -> Expression:
    parts = [expression_from(part) for part in given]
    return Expression(
        Apply(op, tuple(p.term for p in parts)), merge_declarations(*(p.variables for p in parts))
    )


def number_from(given: object) -> int | Fraction:
    """A number as users write them: an int, float, Fraction, Decimal, or a text such as "1/3"."""
    if isinstance(given, str):
        try:
            return exact_number(Fraction(given))
        except (ValueError, ZeroDivisionError):
            fix = 'give a number, also as text: 0.3, "3/10"'
            raise WrongType(f"{describe_value(given)} is not a number", fix=fix) from None
    return exact_number(given)
