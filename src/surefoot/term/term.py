"""Terms: the one expression language. Three node kinds and a table of operators.

Python operators build terms: `Var("x") + 1 <= Var("y")`. `==` says whether two terms are the same data: it
never builds a condition, so it raises against anything that is no term, and what it gives is refused
wherever a term is expected. Write `equal(a, b)` for the term that compares two values. `and`, `or`, `not` are
`&`, `|`, `~`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

from surefoot.errors import InvalidProblem, WrongType
from surefoot.term.arguments import describe_value, exact_number, quote_text, take_text, take_tuple
from surefoot.term.number import check_bit_length


class Op(Enum):
    """Every operator. The value is its name in messages; arity and meaning are in the tables keyed by it."""

    ADD = "+"  # two or more arguments, left to right
    SUB = "-"
    NEG = "negate"
    MUL = "*"  # two or more arguments, left to right
    DIV = "/"  # exact division, never integer division
    MOD = "%"  # JANI: the Euclidean remainder, from 0 to |b| - 1; integers only
    POW = "^"
    MIN = "min"
    MAX = "max"
    ABS = "abs"
    SIGN = "sgn"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trc"  # towards zero
    LT = "<"
    LE = "<="
    EQ = "="
    NOT = "not"
    AND = "and"
    OR = "or"
    IMPLIES = "=>"
    ITE = "ite"
    ARRAY = "array"  # an array value from its elements
    SELECT = "select"  # element of an array: (array, index)
    SQRT = "sqrt"
    EXP = "exp"
    LOG = "log"  # natural logarithm
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    TANH = "tanh"


class _TermOperators:
    """Operator overloading shared by the three node kinds."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy's numbers leave the operators to terms

    def __add__(self, other: Operand) -> Apply:
        return Apply(Op.ADD, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __radd__(self, other: Operand) -> Apply:
        return Apply(Op.ADD, (term_from_python(other), self))  # type: ignore[arg-type]

    def __sub__(self, other: Operand) -> Apply:
        return Apply(Op.SUB, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __rsub__(self, other: Operand) -> Apply:
        return Apply(Op.SUB, (term_from_python(other), self))  # type: ignore[arg-type]

    def __mul__(self, other: Operand) -> Apply:
        return Apply(Op.MUL, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __rmul__(self, other: Operand) -> Apply:
        return Apply(Op.MUL, (term_from_python(other), self))  # type: ignore[arg-type]

    def __truediv__(self, other: Operand) -> Term:
        return divide_terms(self, other)  # type: ignore[arg-type]

    def __rtruediv__(self, other: Operand) -> Term:
        return divide_terms(other, self)  # type: ignore[arg-type]

    def __mod__(self, other: Operand) -> Apply:
        return Apply(Op.MOD, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __pow__(self, other: Operand) -> Apply:
        return Apply(Op.POW, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __neg__(self) -> Term:
        return negate_number(self)  # type: ignore[arg-type]

    def __lt__(self, other: Operand) -> Apply:
        return Apply(Op.LT, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __le__(self, other: Operand) -> Apply:
        return Apply(Op.LE, (self, term_from_python(other)))  # type: ignore[arg-type]

    def __gt__(self, other: Operand) -> Apply:
        return Apply(Op.LT, (term_from_python(other), self))  # type: ignore[arg-type]

    def __ge__(self, other: Operand) -> Apply:
        return Apply(Op.LE, (term_from_python(other), self))  # type: ignore[arg-type]

    def __and__(self, other: Operand) -> Term:
        return conjunction_of((self, term_from_python(other)))  # type: ignore[arg-type]

    def __or__(self, other: Operand) -> Term:
        return disjunction_of((self, term_from_python(other)))  # type: ignore[arg-type]

    def __rand__(self, other: Operand) -> Term:
        return conjunction_of((term_from_python(other), self))  # type: ignore[arg-type]

    def __ror__(self, other: Operand) -> Term:
        return disjunction_of((term_from_python(other), self))  # type: ignore[arg-type]

    def __invert__(self) -> Apply:
        return Apply(Op.NOT, (self,))  # type: ignore[arg-type]

    def __getitem__(self, index: Operand) -> Apply:
        return Apply(Op.SELECT, (self, term_from_python(index)))  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Term]:
        raise WrongType("a term cannot be iterated over", fix="take an element of an array: x[0]")

    def __bool__(self) -> bool:
        what = "a term has no truth value in Python"
        raise WrongType(what, fix="write &, |, ~ for and, or, not; `0 <= x <= 9` is (0 <= x) & (x <= 9)")


@dataclass(frozen=True, slots=True, eq=False)
class Const(_TermOperators):
    """A constant. Integral fractions become `int`, so equal numbers are equal; `True` is not `1`."""

    value: bool | int | Fraction

    def __post_init__(self) -> None:
        if isinstance(self.value, Fraction) and self.value.denominator == 1:
            object.__setattr__(self, "value", self.value.numerator)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is Const:
            return isinstance(self.value, bool) is isinstance(other.value, bool) and self.value == other.value
        return _refuse_python_equality(self, other)

    def __hash__(self) -> int:
        return hash((isinstance(self.value, bool), self.value))


@dataclass(frozen=True, slots=True, eq=False)
class Var(_TermOperators):
    """A name: state variable, control, chosen value, or one of those in `term/reserved_names.py`."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise WrongType(f"{describe_value(self.name)} is not a name", fix='write Var("x")')

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if other.__class__ is Var else _refuse_python_equality(self, other)

    def __hash__(self) -> int:
        return hash((self.name,))


@dataclass(frozen=True, slots=True, eq=False)
class Apply(_TermOperators):
    op: Op
    args: tuple[Term, ...]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is Apply:
            return self.op is other.op and self.args == other.args
        return _refuse_python_equality(self, other)

    def __hash__(self) -> int:
        return hash((self.op, self.args))


Term: TypeAlias = Const | Var | Apply
_NODES = (Const, Var, Apply)  # a union would be made anew by every call
Operand: TypeAlias = "Term | int | Fraction | float | Decimal"

TRUE, FALSE = Const(True), Const(False)


def _refuse_python_equality(own: Term, other: object) -> bool:
    """Terms of two kinds are different; whoever compares a term with a value means an equation.

    None is no value: it stands where data has no term.
    """
    if isinstance(other, Const | Var | Apply) or other is None:
        return False
    from surefoot.term.printer import abbreviate_term

    shown = repr(other) if isinstance(other, bool | int | float | str) else "b"
    left = abbreviate_term(own)
    what = f"`==` does not build a condition, and {describe_value(other)} is no term"
    raise WrongType(what, fix=f"write equal({left}, {shown}) for `{left} = {shown}`")


def term_from_python(value: Operand) -> Term:
    """A term from a term, from what stands for one (`__term__`), or from a number; see `exact_number`."""
    if isinstance(value, _NODES):
        return value
    if (convert := getattr(type(value), "__term__", None)) is not None:
        stands_for: Term = convert(value)
        return stands_for
    if isinstance(value, str):
        raise WrongType(
            f"{describe_value(value)} is not a term", fix=f"write parse_term({quote_text(value)})"
        )
    if isinstance(value, Real | Decimal):
        return Const(exact_number(value))
    raise WrongType(f"{describe_value(value)} is not a term", fix='build it from Var("x") and numbers')


def take_named(given: object) -> object:
    """Pairs of a name and a term, also written as {"cost": 1}."""
    return _take_pairs(tuple(given.items()) if isinstance(given, Mapping) else given)


def _take_pair(given: Any) -> object:
    match given:
        case (name, value):
            taken = (take_text(name), term_from_python(value))
            return given if isinstance(given, tuple) and taken[1] is value else taken
    raise WrongType(f"{describe_value(given)} is not a pair of a name and a term", fix='give ("cost", x + 1)')


_take_pairs = take_tuple(_take_pair, "pairs of a name and a term")


def equal(left: Operand, right: Operand) -> Apply:
    """The equation of two terms, whose own `==` compares them as data.

    >>> from surefoot import Var, equal
    >>> equal(Var("x"), 5) == equal(Var("x"), 5)
    True
    """
    return Apply(Op.EQ, (term_from_python(left), term_from_python(right)))


def conjunction_of(parts: tuple[Term, ...]) -> Term:
    """`and` of all parts: flat, without `true`, `false` as soon as one part is."""
    return _flatten_connective(Op.AND, parts, TRUE, FALSE)


def disjunction_of(parts: tuple[Term, ...]) -> Term:
    """`or` of all parts: flat, without `false`, `true` as soon as one part is."""
    return _flatten_connective(Op.OR, parts, FALSE, TRUE)


def negate_condition(term: Term) -> Term:
    """`not term`, without double negation."""
    match term:
        case Const(value):
            return FALSE if value else TRUE
        case Apply(Op.NOT, (inner,)):
            return inner
        case _:
            return Apply(Op.NOT, (term,))


def _flatten_connective(op: Op, parts: tuple[Term, ...], neutral: Const, absorbing: Const) -> Term:
    kept: list[Term] = []
    for part in parts:
        if part == absorbing:
            return absorbing
        if isinstance(part, Apply) and part.op is op:
            kept.extend(part.args)
        elif part != neutral:
            kept.append(part)
    return neutral if not kept else kept[0] if len(kept) == 1 else Apply(op, tuple(kept))


def is_number(t: Term) -> TypeGuard[Const]:
    """Is the term a constant number (and not a truth value)?"""
    return isinstance(t, Const) and not isinstance(t.value, bool)


def negate_number(value: Operand) -> Term:
    """`-value`; a number is negated at once."""
    inner = term_from_python(value)
    if is_number(inner):
        return Const(-inner.value)
    return Apply(Op.NEG, (inner,))


def divide_terms(left: Operand, right: Operand) -> Term:
    """`left / right`; the quotient of two numbers is a number (so 1/3 is a constant)."""
    a, b = term_from_python(left), term_from_python(right)
    if is_number(a) and is_number(b) and b != Const(0):
        return Const(check_bit_length(Fraction(a.value) / Fraction(b.value)))
    return Apply(Op.DIV, (a, b))


def ite(condition: Operand, then: Operand, otherwise: Operand) -> Apply:
    """One of two terms, as a condition decides.

    >>> from surefoot import Var, ite
    >>> [part for part in ite(Var("x") > 3, 0, 1).args[1:]]
    [Const(value=0), Const(value=1)]
    """
    return Apply(Op.ITE, (term_from_python(condition), term_from_python(then), term_from_python(otherwise)))


def array_term(*elements: Operand) -> Apply:
    return Apply(Op.ARRAY, tuple(term_from_python(e) for e in elements))


def free_names(t: Term) -> frozenset[str]:
    """Every name that occurs in a term."""
    found: set[str] = set()
    stack: list[Term] = [t]
    while stack:
        match stack.pop():
            case Var(name):
                found.add(name)
            case Apply(_, args):
                stack.extend(args)
    return frozenset(found)


def split_conjunction(whole: Term) -> tuple[Term, ...]:
    """The parts of a condition that have to hold, however they are nested, without `true`."""
    found: list[Term] = []
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Apply) and part.op is Op.AND:
            waiting.extend(reversed(part.args))
        elif part != TRUE:
            found.append(part)
    return tuple(found)


def split_target(target: Term) -> tuple[str, tuple[Term, ...]]:
    """The variable that an update writes, and the indices of the element: of `a[i][j]`, a and (i, j)."""
    path: list[Term] = []
    while isinstance(target, Apply) and target.op is Op.SELECT:
        target, index = target.args
        path.append(index)
    if not isinstance(target, Var):
        raise InvalidProblem("an update's target must be a variable or an array element")
    return target.name, tuple(reversed(path))


def targets_overlap(first: Term, second: Term) -> bool:
    """Do two targets surely share a value? `a[i]` and `a[j]` can only be compared when they are run."""
    for part, whole in ((first, second), (second, first)):
        while part != whole and isinstance(part, Apply) and part.op is Op.SELECT:
            part = part.args[0]
        if part == whole:
            return True
    return False
