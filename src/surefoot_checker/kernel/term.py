"""Terms: one tree, one type rule, one exact meaning (docs/certificates.md, section 9).

A term is true, false, an exact number (`int` if it is whole, else `Fraction`), an **atom** such as
`("name", n)`, or `(operator, term, …)`. What else a term can be turned into (a formula, a polynomial, code)
is defined over this tree, and where it has values they are those of `evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar

from .strict_json import BadCertificate, Refused, expect_integer, expect_number, limit_bits, limited_power

Term = Any
Kind = tuple[Any, ...]  # ("boolean",), ("integer" | "real" | "float32", low, high) or ("array", length, kind)
Result = TypeVar("Result")
DEEPEST = 400
LARGEST_EXPONENT = 10_000
DIGITS = 80
_MOST_OUTPUTS = 1 << 22
BOOLEAN, NUMBER, ARRAY = "boolean", "number", "array"

# How many texts stand behind the word of an atom. Those other than `name` are for conditions of properties:
# a component is at a location, nothing is enabled, the picked action is not enabled, this one is picked.
_ATOMS = {"name": 1, "at": 2, "deadlocked": 0, "stalled": 0, "chosen": 1}
_OUTPUT = "output"  # ("output", number): of the network
_WORDS = frozenset({*_ATOMS, _OUTPUT})
# Real functions that have no exact values: only enclosures of them are computed, by claims that cover them.
ELEMENTARY = frozenset({"sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "tanh"})
ACTING = frozenset({"deadlocked", "stalled", "chosen"})  # about what may happen next, not about the state


def read_term(
    data: object, *, condition: bool = False, deepest: int = DEEPEST, elementary: bool = False
) -> Term:
    """A term as JSON has it; `condition`: it may ask more than names; `elementary`: it may have a sine."""
    if type(data) is bool or type(data) is int:
        return data
    if type(data) is not list:
        return integer_if_whole(expect_number(data, "a number in a term"))
    if deepest < 0 or not data or type(data[0]) is not str:
        raise BadCertificate("a term is nested too deeply, or has no operator")
    word = data[0]
    if word in _WORDS:
        if word != "name" and not condition:
            raise BadCertificate(f"`{word}` stands in a term that is no condition of a property")
        return _read_atom(word, data)
    if word in ELEMENTARY and not elementary:
        raise BadCertificate(f"`{word}` stands in a claim of a kind that does not cover it")
    if word not in _ARITY:
        raise BadCertificate(f"a term has an operator that is not known: {word[:40]!r}")
    least, most = _ARITY[word]
    if not least <= len(data) - 1 <= most:
        raise BadCertificate(f"`{word}` has {len(data) - 1} arguments")
    below = deepest - 1
    parts = [read_term(p, condition=condition, deepest=below, elementary=elementary) for p in data[1:]]
    return (word, *parts)


def _read_atom(word: str, data: list[Any]) -> Term:
    if word == _OUTPUT and len(data) == 2:
        return (word, expect_integer(data[1], 0, _MOST_OUTPUTS, "output"))
    texts = data[1:]
    if len(texts) != _ATOMS.get(word) or not all(type(t) is str for t in texts) or data == ["name", ""]:
        raise BadCertificate(f"`{word}` in a term is not followed by what it is about")
    return tuple(data)


def is_atom(term: Term) -> bool:
    return type(term) is tuple and term[0] in _WORDS


def atom_key(atom: Term) -> Any:
    """What an atom is looked up by: a name by itself, others by the whole of them."""
    return atom[1] if atom[0] == "name" else atom


def is_number(term: Term) -> bool:
    return type(term) is int or type(term) is Fraction


def fold_term(
    term: Term, leaf: Callable[[Term], Result], combine: Callable[[Term, list[Result]], Result]
) -> Result:
    """A meaning that is built up from the leaves: of constants and atoms, and of operators by their parts."""
    if type(term) is not tuple or term[0] in _WORDS:
        return leaf(term)
    return combine(term, [fold_term(part, leaf, combine) for part in term[1:]])


def term_atoms(term: Term) -> set[Term]:
    """All atoms in a term."""
    return fold_term(term, lambda t: {t} if type(t) is tuple else set(), lambda _, parts: set().union(*parts))


def term_names(term: Term) -> set[str]:
    """The names in a term."""
    return {atom[1] for atom in term_atoms(term) if atom[0] == "name"}


def replace_atoms(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with other terms in the place of its atoms."""
    return fold_term(term, lambda t: change(t) if type(t) is tuple else t, lambda t, parts: (t[0], *parts))


def same_term(left: Term, right: Term) -> bool:
    """Are they the same tree? `true` is not 1 here."""
    if type(left) is not type(right):
        return False
    if type(left) is not tuple or is_atom(left):
        return bool(left == right)
    return len(left) == len(right) and left[0] == right[0] and all(map(same_term, left[1:], right[1:]))


# Types. A truth value may stand where a number is needed, for 1 or 0, and a number for a truth value, for
# whether it is not 0: so `evaluate` has it. Claims that read terms otherwise refuse the second.


def term_type(term: Term, type_of: Callable[[Term], str | None]) -> str | None:
    """Truth value, number or array; refuse a term in which something stands where its type cannot.

    `type_of`: of the atoms; None: of any type, as elements of arrays are.
    """

    def of_leaf(leaf: Term) -> str | None:
        if type(leaf) is bool:
            return BOOLEAN
        return type_of(leaf) if type(leaf) is tuple else NUMBER

    def of_operator(t: Term, parts: list[str | None]) -> str | None:
        word = t[0]
        if ARRAY in parts and word != "array":
            places = {place for place, part in enumerate(parts) if part == ARRAY}
            if not places <= _TAKE_ARRAYS.get(word, set()):
                raise BadCertificate(f"an argument of `{word}` is an array, which it does not take")
        if word == "select" and parts[0] in (BOOLEAN, NUMBER):
            raise BadCertificate("an element of something that is no array")
        return _result_type(word, parts)

    return fold_term(term, of_leaf, of_operator)


def check_scalar(term: Term, type_of: Callable[[Term], str | None]) -> Term:
    """The term, if it is a truth value or a number."""
    if term_type(term, type_of) == ARRAY:
        raise BadCertificate("an array stands where a number or a truth value is needed")
    return term


_CONNECTIVES = frozenset({"and", "or", "not", "=>"})
_COMPARED = frozenset({"<", "<=", "="})
_TAKE_ARRAYS = {"=": {0, 1}, "ite": {1, 2}, "select": {0}}  # at which places


def _result_type(word: str, parts: Sequence[str | None]) -> str | None:
    if word in _CONNECTIVES or word in _COMPARED:
        return BOOLEAN
    if word == "ite":
        then, otherwise = parts[1:]
        if then == otherwise:
            return then
        return None if {then, otherwise} & {ARRAY, None} else NUMBER
    if word == "select":
        return None
    return ARRAY if word == "array" else NUMBER


# The meaning.


def evaluate(term: Term, value_of: Callable[[Term], Any]) -> Any:
    """The exact value of a term, given those of its atoms; arrays are tuples.

    `and`, `or`, `=>` and `ite` look at later arguments only if they matter. `Refused`: it has no value.
    """
    if type(term) is not tuple:
        return term
    if is_atom(term):
        return value_of(term)
    word, *parts = term
    if word in ("and", "or"):
        decides = word == "or"
        return decides if any(bool(evaluate(p, value_of)) is decides for p in parts) else not decides
    if word == "=>":
        return not evaluate(parts[0], value_of) or bool(evaluate(parts[1], value_of))
    if word == "ite":
        return evaluate(parts[1] if evaluate(parts[0], value_of) else parts[2], value_of)
    if word in ELEMENTARY:
        raise Refused(f"`{word}` has no exact value")
    return OPERATORS[word](*[evaluate(part, value_of) for part in parts])


def integer_if_whole(value: Any) -> Any:
    """Whole numbers are `int`."""
    return value.numerator if type(value) is Fraction and value.denominator == 1 else value


def _divide_exactly(a: Any, b: Any) -> Any:
    if b == 0:
        raise Refused("a division by zero")
    return integer_if_whole(limit_bits(Fraction(a) / Fraction(b)))


def _modulo_integers(a: Any, b: Any) -> Any:
    if type(a) is not int or type(b) is not int or b == 0:
        raise Refused("`%` of what is not a whole number, or by zero")
    return a % abs(b)


def _raise_power(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent < 0:
        raise Refused("a power of zero that is not defined")
    if type(exponent) is not int:
        return _rounded_power(Fraction(base), Fraction(exponent))
    if abs(exponent) > LARGEST_EXPONENT:
        raise Refused("an exponent that is too large")
    return integer_if_whole(limited_power(base, exponent))


def _rounded_power(base: Fraction, exponent: Fraction) -> Any:
    """Powers that are not rational are, by definition, the nearest float64."""
    if base < 0:
        raise Refused("a fractional power of a negative number")
    if base == 0:
        return 1 if exponent == 0 else 0
    with localcontext(Context(prec=DIGITS)):
        low, high = (Decimal(x.numerator) / Decimal(x.denominator) for x in (base, exponent))
        power = (high * low.ln()).exp()
        if not -300 < power.adjusted() < 300:
            raise Refused("a power that is too large or too small")
        return integer_if_whole(Fraction(float(Fraction(power))))


def _select_element(array: Any, index: Any) -> Any:
    if type(index) is not int or not 0 <= index < len(array):
        raise Refused("an index outside its array")
    return array[index]


# The connectives and `ite` of values that are all known: `evaluate` and compiled code are lazy.
OPERATORS: dict[str, Callable[..., Any]] = {
    "+": lambda *xs: integer_if_whole(reduce(lambda a, b: limit_bits(a + b), xs)),
    "*": lambda *xs: integer_if_whole(reduce(lambda a, b: limit_bits(a * b), xs)),
    "-": lambda a, b: integer_if_whole(limit_bits(a - b)),
    "/": _divide_exactly,
    "%": _modulo_integers,
    "^": _raise_power,
    "negate": lambda x: -x,
    "abs": abs,
    "sgn": lambda x: (x > 0) - (x < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trc": math.trunc,
    "min": lambda *xs: min(xs),
    "max": lambda *xs: max(xs),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "not": lambda x: not x,
    "and": lambda *xs: all(xs),
    "or": lambda *xs: any(xs),
    "=>": lambda premise, conclusion: not premise or bool(conclusion),
    "ite": lambda condition, then, otherwise: then if condition else otherwise,
    "array": lambda *xs: xs,
    "select": _select_element,
}
_MANY = 1 << 62
_ARITY = {
    **dict.fromkeys(("-", "/", "%", "^", "<", "<=", "=", "=>", "select"), (2, 2)),
    **dict.fromkeys(("negate", "abs", "sgn", "floor", "ceil", "trc", "not"), (1, 1)),
    **dict.fromkeys(("+", "*", "min", "max", "array"), (1, _MANY)),
    **dict.fromkeys(("and", "or"), (0, _MANY)),
    **dict.fromkeys(ELEMENTARY, (1, 1)),
    "ite": (3, 3),
}
