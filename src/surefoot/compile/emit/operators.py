"""The operators in machine code: a table from `Op` to the instructions that compute it exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from surefoot.compile.emit import value as v
from surefoot.compile.emit.packing import Objection, Packing
from surefoot.compile.emit.terms import Module, Terms, is_risky
from surefoot.compile.emit.value import (
    Constants,
    InState,
    Listed,
    Number,
    Ratio,
    Truth,
    Value,
    Whole,
    literal,
    number,
    ratio,
)
from surefoot.problem.term import Apply, Const, Op, Term
from surefoot.work.machine.text import Function


def terms(
    f: Function, module: Module, packing: Packing, base: str, more: Mapping[str, Value] | None = None
) -> Terms:
    """The terms of a function, which reads variables at the pointer `base`; `more`: other names."""
    return Terms(f, module, packing, base, more or {}, TABLE)


def _sum(t: Terms, args: tuple[Term, ...]) -> Value:
    total = t.number(args[0])
    for arg in args[1:]:
        total = plus(t.f, total, t.number(arg))
    return total


def plus(f: Function, left: Number, right: Number) -> Number:
    if isinstance(left, Whole) and isinstance(right, Whole):
        return v.add(f, left, right)
    a, b = ratio(left), ratio(right)
    if a.bottom.text == b.bottom.text:
        return Ratio(v.add(f, a.top, b.top), a.bottom)
    across = v.add(f, v.multiply(f, a.top, b.bottom), v.multiply(f, b.top, a.bottom))
    return Ratio(across, v.multiply(f, a.bottom, b.bottom))


def _negated(f: Function, value: Number) -> Number:
    if isinstance(value, Whole):
        return v.negative(f, value)
    return Ratio(v.negative(f, value.top), value.bottom)


def times(f: Function, left: Number, right: Number) -> Number:
    if isinstance(left, Whole) and isinstance(right, Whole):
        return v.multiply(f, left, right)
    a, b = ratio(left), ratio(right)
    return Ratio(v.multiply(f, a.top, b.top), v.multiply(f, a.bottom, b.bottom))


def _product(t: Terms, args: tuple[Term, ...]) -> Value:
    total = t.number(args[0])
    for arg in args[1:]:
        total = times(t.f, total, t.number(arg))
    return total


def compared(f: Function, how: str, left: Number, right: Number) -> Truth:
    if isinstance(left, Whole) and isinstance(right, Whole):
        return v.compare(f, how, left, right)
    a, b = ratio(left), ratio(right)
    if a.bottom.text == b.bottom.text:
        return v.compare(f, how, a.top, b.top)
    return v.compare(f, how, v.multiply(f, a.top, b.bottom), v.multiply(f, b.top, a.bottom))


def _extreme(how: str) -> Callable[[Terms, tuple[Term, ...]], Value]:
    def build(t: Terms, args: tuple[Term, ...]) -> Value:
        best = t.number(args[0])
        for arg in args[1:]:
            other = t.number(arg)
            pair = (other, best) if how == "min" else (best, other)
            chosen = number(t.choose(compared(t.f, "slt", *pair), other, best))
            best = _within(chosen, best, other, how)
        return best

    return build


def _within(chosen: Number, left: Number, right: Number, how: str) -> Number:
    """A minimum is at most what it was taken of, and a maximum at least."""
    if not (isinstance(chosen, Whole) and isinstance(left, Whole) and isinstance(right, Whole)):
        return chosen
    if how == "min":
        return Whole(chosen.text, chosen.low, min(left.high, right.high))
    return Whole(chosen.text, max(left.low, right.low), chosen.high)


def _absolute(t: Terms, args: tuple[Term, ...]) -> Value:
    value = t.number(args[0])
    below = compared(t.f, "slt", value, literal(0))
    result = t.choose(below, _negated(t.f, value), value)
    if isinstance(result, Whole):
        return Whole(result.text, max(0, result.low), result.high)
    return result


def _sign(t: Terms, args: tuple[Term, ...]) -> Value:
    value = t.number(args[0])
    above, below = compared(t.f, "slt", literal(0), value), compared(t.f, "slt", value, literal(0))
    return t.choose(above, literal(1), t.choose(below, literal(-1), literal(0)))


def _power(t: Terms, args: tuple[Term, ...]) -> Value:
    exponent = args[1]
    if not isinstance(exponent, Const) or type(exponent.value) is not int or abs(exponent.value) > 64:
        raise Objection("`^` with an exponent that varies or is large is not compiled")
    base, result = t.number(args[0]), number(literal(1))
    for _ in range(abs(exponent.value)):
        result = times(t.f, result, base)
    return result if exponent.value >= 0 else v.divide(t.f, ratio(literal(1)), ratio(result))


def _equal(t: Terms, args: tuple[Term, ...]) -> Value:
    return _same(t, t.value(args[0]), t.value(args[1]))


def _same(t: Terms, left: Value, right: Value) -> Truth:
    match left, right:
        case Truth(a), Truth(b):
            return Truth(t.f.value(f"icmp eq i1 {a}, {b}"))
        case ((Whole() | Ratio()), (Whole() | Ratio())):
            return compared(t.f, "eq", left, right)
        case ((Listed() | InState() | Constants()), (Listed() | InState() | Constants())):
            ours, theirs = t.listed(left), t.listed(right)
            if len(ours) != len(theirs):
                return Truth("false")
            result = Truth("true")
            for one, other in zip(ours, theirs, strict=True):
                result = Truth(t.f.value(f"and i1 {result.text}, {_same(t, one, other).text}"))
            return result
    raise Objection("values of different kinds are compared")


def _ite(t: Terms, args: tuple[Term, ...]) -> Value:
    condition = t.truth(args[0])
    if condition.text in ("true", "false"):
        return t.value(args[1] if condition.text == "true" else args[2])
    if is_risky(args[1]) or is_risky(args[2]):
        return t.branch(condition, args[1], args[2])
    return t.choose(condition, t.value(args[1]), t.value(args[2]))


def _array(t: Terms, args: tuple[Term, ...]) -> Value:
    known = _constant_array(Apply(Op.ARRAY, args))
    if known is not None and args:
        shape, data, is_truth = known
        name = t.module.constants(data)
        return Constants(name, shape, literal(0), min(data), max(data), is_truth)
    return Listed(tuple(t.value(a) for a in args))


def _constant_array(term: Term) -> tuple[tuple[int, ...], tuple[int, ...], bool] | None:
    """Shape and numbers of a rectangular array of whole constants or truth values."""
    match term:
        case Const(bool() as known):
            return (), (int(known),), True
        case Const(int() as known) if abs(known) < 2**62:
            return (), (known,), False
        case Apply(Op.ARRAY, args) if args:
            parts = [_constant_array(a) for a in args]
            first = parts[0]
            if first is None or any(p is None or p[0] != first[0] or p[2] != first[2] for p in parts):
                return None
            data = tuple(n for p in parts if p is not None for n in p[1])
            return (len(args), *first[0]), data, first[2]
    return None


def _select(t: Terms, args: tuple[Term, ...]) -> Value:
    return t.select(t.value(args[0]), t.whole(args[1]))


def _not(t: Terms, args: tuple[Term, ...]) -> Value:
    return inverted(t.f, t.truth(args[0]))


def inverted(f: Function, value: Truth) -> Truth:
    if value.text in ("true", "false"):
        return Truth("false" if value.text == "true" else "true")
    return Truth(f.value(f"xor i1 {value.text}, true"))


def _implies(t: Terms, args: tuple[Term, ...]) -> Value:
    return t.lazily((Apply(Op.NOT, (args[0],)), args[1]), until=True)


def _ceiling(t: Terms, args: tuple[Term, ...]) -> Value:
    return v.negative(t.f, v.floor(t.f, _negated(t.f, t.number(args[0]))))


TABLE: dict[Op, Callable[[Terms, tuple[Term, ...]], Value]] = {
    Op.ADD: _sum,
    Op.SUB: lambda t, a: plus(t.f, t.number(a[0]), _negated(t.f, t.number(a[1]))),
    Op.NEG: lambda t, a: _negated(t.f, t.number(a[0])),
    Op.MUL: _product,
    Op.DIV: lambda t, a: v.divide(t.f, t.ratio(a[0]), t.ratio(a[1])),
    Op.MOD: lambda t, a: v.modulo(t.f, t.whole(a[0]), t.whole(a[1])),
    Op.POW: _power,
    Op.MIN: _extreme("min"),
    Op.MAX: _extreme("max"),
    Op.ABS: _absolute,
    Op.SIGN: _sign,
    Op.FLOOR: lambda t, a: v.floor(t.f, t.number(a[0])),
    Op.CEIL: _ceiling,
    Op.TRUNC: lambda t, a: v.truncate(t.f, t.number(a[0])),
    Op.LT: lambda t, a: compared(t.f, "slt", t.number(a[0]), t.number(a[1])),
    Op.LE: lambda t, a: compared(t.f, "sle", t.number(a[0]), t.number(a[1])),
    Op.EQ: _equal,
    Op.NOT: _not,
    Op.AND: lambda t, a: t.lazily(a, until=False),
    Op.OR: lambda t, a: t.lazily(a, until=True),
    Op.IMPLIES: _implies,
    Op.ITE: _ite,
    Op.ARRAY: _array,
    Op.SELECT: _select,
}
NOT_COMPILED = frozenset(
    {Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH}
)
