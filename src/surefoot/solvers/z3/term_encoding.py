"""Terms and networks as Z3 expressions: a table keyed by `Op`, exact rationals throughout.

Each term becomes its value and the condition under which it is defined, with the evaluator's order of
evaluation: an index out of range in an argument that is not looked at does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from surefoot.errors import Unsupported
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.number import bits_of
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names
from surefoot.term.traverse import Leaf, enumerate_parts, fold_term
from surefoot.term.types import ELEMENTARY

_LONGEST = 10_000  # bits; Python does not write integers of more than 4300 digits
_LARGEST_POWER = 16


@dataclass(frozen=True, slots=True)
class Z3Meaning:
    value: Any  # a Z3 expression, or a tuple of meanings for an array
    defined: Any


@dataclass(frozen=True, slots=True)
class _Translation:
    z3: Any
    context: Any
    names: Mapping[str, Any]

    @property
    def yes(self) -> Any:
        return self.z3.BoolVal(True, ctx=self.context)

    def real(self, value: Any) -> Any:
        return self.z3.ToReal(value) if value.is_int() else value

    def whole(self, value: Any) -> Any:
        return self.yes if value.is_int() else self.z3.IsInt(value)

    def floor(self, value: Any) -> Any:
        return value if value.is_int() else self.z3.ToInt(value)

    def both(self, *conditions: Any) -> Any:
        kept = [c for c in conditions if not self.z3.is_true(c)]
        return self.yes if not kept else kept[0] if len(kept) == 1 else self.z3.And(*kept)


def term_to_z3(z3: Any, context: Any, term: Term, names: Mapping[str, Any]) -> Z3Meaning:
    """The meaning of a term over Z3 constants of these names; `Unsupported` names what Z3 cannot take."""
    to = _Translation(z3, context, names)

    def leaf(part: Leaf) -> Z3Meaning:
        value = to.names[part.name] if isinstance(part, Var) else _encode_value(to, part.value)
        return Z3Meaning(value, to.yes)

    return fold_term(term, leaf, lambda part, parts: _encode_operator(to, part, parts), _varying_arguments)


def _varying_arguments(term: Apply, _: list[Z3Meaning]) -> Iterator[Term]:
    """None for what is evaluated here."""
    return iter(() if _is_folded(term) else term.args)


def _is_folded(term: Apply) -> bool:
    return term.op in ELEMENTARY or (term.op is Op.POW and not free_names(term))


def _encode_operator(to: _Translation, term: Apply, parts: list[Z3Meaning]) -> Z3Meaning:
    if term.op in LAZY:
        return LAZY[term.op](to, parts)
    if _is_folded(term):
        return _fold_constant(to, term)
    defined = to.both(*(m.defined for m in parts))
    if term.op is Op.ARRAY:
        return Z3Meaning(tuple(parts), defined)
    result = MEANING[term.op](to, term, [m.value for m in parts])
    return Z3Meaning(result.value, to.both(defined, result.defined))


def _encode_value(to: _Translation, value: bool | int | Fraction) -> Any:
    if isinstance(value, bool):
        return to.z3.BoolVal(value, ctx=to.context)
    if bits_of(value) > _LONGEST:
        raise Unsupported(f"a number of more than {_LONGEST} bits is not written for Z3")
    if isinstance(value, int):
        return to.z3.IntVal(value, ctx=to.context)
    return to.z3.RealVal(f"{value.numerator}/{value.denominator}", ctx=to.context)


def _fold_constant(to: _Translation, term: Apply) -> Z3Meaning:
    """Transcendental functions of constants are the evaluator's rational values."""
    if free_names(term):
        raise Unsupported(f"`{show_term(term)}` is beyond linear and polynomial arithmetic")
    try:
        return Z3Meaning(_encode_value(to, evaluate_term(term, {})), to.yes)
    except Undefined:
        return Z3Meaning(_encode_value(to, 0), to.z3.BoolVal(False, ctx=to.context))


def _encode_and(to: _Translation, parts: list[Z3Meaning]) -> Z3Meaning:
    return Z3Meaning(to.z3.And(*(p.value for p in parts)), _defined_while(to, parts, lambda p: p.value))


def _encode_or(to: _Translation, parts: list[Z3Meaning]) -> Z3Meaning:
    return Z3Meaning(
        to.z3.Or(*(p.value for p in parts)), _defined_while(to, parts, lambda p: to.z3.Not(p.value))
    )


def _encode_implies(to: _Translation, parts: list[Z3Meaning]) -> Z3Meaning:
    premise, conclusion = parts
    return _encode_or(to, [Z3Meaning(to.z3.Not(premise.value), premise.defined), conclusion])


def _defined_while(to: _Translation, parts: Sequence[Z3Meaning], goes_on: Callable[[Z3Meaning], Any]) -> Any:
    """Defined if the first part is and, where evaluation goes on after it, the rest is."""
    if all(to.z3.is_true(p.defined) for p in parts):
        return to.yes
    rest = to.yes
    for part in reversed(parts):
        rest = to.both(part.defined, to.z3.Implies(goes_on(part), rest))
    return rest


def _encode_ite(to: _Translation, parts: list[Z3Meaning]) -> Z3Meaning:
    test, then, otherwise = parts
    defined = to.yes
    if not (to.z3.is_true(then.defined) and to.z3.is_true(otherwise.defined)):
        defined = to.z3.If(test.value, then.defined, otherwise.defined)
    return Z3Meaning(
        _if_then_else(to, test.value, then.value, otherwise.value), to.both(test.defined, defined)
    )


def _if_then_else(to: _Translation, test: Any, then: Any, otherwise: Any) -> Any:
    if isinstance(then, tuple):
        if len(then) != len(otherwise):
            raise Unsupported("a choice between arrays of different lengths")
        pairs = zip(then, otherwise, strict=True)
        return tuple(Z3Meaning(_if_then_else(to, test, a.value, b.value), to.yes) for a, b in pairs)
    return to.z3.If(test, then, otherwise)


def _total_operator(compute: Callable[..., Any]) -> Callable[[_Translation, Apply, list[Any]], Z3Meaning]:
    """For operators that are defined everywhere."""
    return lambda to, term, values: Z3Meaning(compute(to, *values), to.yes)


def _encode_division(to: _Translation, term: Apply, values: list[Any]) -> Z3Meaning:
    a, b = (to.real(v) for v in values)
    return Z3Meaning(a / b, b != 0)


def _encode_modulo(to: _Translation, term: Apply, values: list[Any]) -> Z3Meaning:
    a, b = values
    size = to.z3.If(b < 0, -b, b)
    quotient = to.z3.ToInt(to.real(a) / to.real(size))
    return Z3Meaning(a - size * quotient, to.both(b != 0, to.whole(a), to.whole(b)))


def _encode_power(to: _Translation, term: Apply, values: list[Any]) -> Z3Meaning:
    base, exponent = values[0], term.args[1]
    if (
        not isinstance(exponent, Const)
        or not isinstance(exponent.value, int)
        or abs(exponent.value) > _LARGEST_POWER
    ):
        raise Unsupported(f"`{show_term(term)}`: only small constant whole exponents")
    if exponent.value == 0:
        return Z3Meaning(_encode_value(to, 1), to.yes)
    product = reduce(lambda p, _: p * base, range(abs(exponent.value) - 1), base)
    return Z3Meaning(product, to.yes) if exponent.value > 0 else Z3Meaning(1 / to.real(product), base != 0)


def _encode_select(to: _Translation, term: Apply, values: list[Any]) -> Z3Meaning:
    elements, index = values
    if not isinstance(elements, tuple):
        raise Unsupported(f"`{show_term(term)}` reads from something that is not an array of known elements")
    if not elements:
        return Z3Meaning(_encode_value(to, 0), to.z3.BoolVal(False, ctx=to.context))
    result = elements[-1].value
    for position, element in reversed(list(enumerate(elements[:-1]))):
        result = _if_then_else(to, index == position, element.value, result)
    return Z3Meaning(result, to.both(index >= 0, index < len(elements), to.whole(index)))


def _encode_equality(to: _Translation, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        if len(a) != len(b):
            return to.z3.BoolVal(False, ctx=to.context)
        return to.both(*(_encode_equality(to, x.value, y.value) for x, y in zip(a, b, strict=True)))
    return a == b


def _encode_extreme(smaller: bool) -> Callable[..., Any]:
    def compute(to: _Translation, *values: Any) -> Any:
        return reduce(lambda a, b: to.z3.If((a <= b) if smaller else (b <= a), a, b), values)

    return compute


def _encode_sign(to: _Translation, x: Any) -> Any:
    return to.z3.If(x > 0, _encode_value(to, 1), to.z3.If(x < 0, _encode_value(to, -1), _encode_value(to, 0)))


def unsupported_operator(term: Term) -> str | None:
    """Why Z3 cannot take this term, without loading Z3."""
    for part in enumerate_parts(term):
        if isinstance(part, Apply) and part.op in ELEMENTARY and free_names(part):
            return f"`{show_term(part)}` is beyond linear and polynomial arithmetic"
    return None


LAZY: dict[Op, Callable[[_Translation, list[Z3Meaning]], Z3Meaning]] = {
    Op.AND: _encode_and,
    Op.OR: _encode_or,
    Op.IMPLIES: _encode_implies,
    Op.ITE: _encode_ite,
}
MEANING: dict[Op, Callable[[_Translation, Apply, list[Any]], Z3Meaning]] = {
    Op.ADD: _total_operator(lambda to, *xs: reduce(lambda a, b: a + b, xs)),
    Op.SUB: _total_operator(lambda to, a, b: a - b),
    Op.NEG: _total_operator(lambda to, x: -x),
    Op.MUL: _total_operator(lambda to, *xs: reduce(lambda a, b: a * b, xs)),
    Op.DIV: _encode_division,
    Op.MOD: _encode_modulo,
    Op.POW: _encode_power,
    Op.MIN: _total_operator(_encode_extreme(smaller=True)),
    Op.MAX: _total_operator(_encode_extreme(smaller=False)),
    Op.ABS: _total_operator(lambda to, x: to.z3.If(x >= 0, x, -x)),
    Op.SIGN: _total_operator(_encode_sign),
    Op.FLOOR: _total_operator(lambda to, x: to.floor(x)),
    Op.CEIL: _total_operator(lambda to, x: -to.floor(-x)),
    Op.TRUNC: _total_operator(lambda to, x: to.z3.If(x >= 0, to.floor(x), -to.floor(-x))),
    Op.LT: _total_operator(lambda to, a, b: a < b),
    Op.LE: _total_operator(lambda to, a, b: a <= b),
    Op.EQ: _total_operator(_encode_equality),
    Op.NOT: _total_operator(lambda to, x: to.z3.Not(x)),
    Op.SELECT: _encode_select,
}
