"""The operators in machine code: a table from `Op` to the instructions that compute it exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from surefoot.explore.emit import machine_values as v
from surefoot.explore.emit.machine_values import (
    ConstantArray,
    ElementList,
    Number,
    Ratio,
    StateArray,
    Truth,
    Value,
    Whole,
    integer_literal,
    number_to_ratio,
    require_number,
)
from surefoot.explore.emit.state_packing import CompileObjection, Packing
from surefoot.explore.emit.term_emitter import ConstantPool, TermEmitter
from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.types import ELEMENTARY
from surefoot.work.machine.llvm_ir import IrFunction


def make_term_emitter(
    f: IrFunction, module: ConstantPool, packing: Packing, base: str, more: Mapping[str, Value] | None = None
) -> TermEmitter:
    """The terms of a function, which reads variables at the pointer `base`; `more`: other names."""
    return TermEmitter(f, module, packing, base, more or {}, TABLE)


def _emit_sum(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    total = t.number(args[0])
    for arg in args[1:]:
        total = emit_number_sum(t.f, total, t.number(arg))
    return total


def emit_number_sum(f: IrFunction, left: Number, right: Number) -> Number:
    if isinstance(left, Whole) and isinstance(right, Whole):
        return v.emit_integer_add(f, left, right)
    return v.emit_ratio_add(f, number_to_ratio(left), number_to_ratio(right))


def _emit_negation(f: IrFunction, value: Number) -> Number:
    if isinstance(value, Whole):
        return v.emit_integer_negate(f, value)
    return Ratio(v.emit_integer_negate(f, value.top), value.bottom)


def _emit_number_product(f: IrFunction, left: Number, right: Number) -> Number:
    if isinstance(left, Whole) and isinstance(right, Whole):
        return v.emit_integer_multiply(f, left, right)
    return v.emit_ratio_multiply(f, number_to_ratio(left), number_to_ratio(right))


def _emit_product(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    total = t.number(args[0])
    for arg in args[1:]:
        total = _emit_number_product(t.f, total, t.number(arg))
    return total


def emit_number_comparison(f: IrFunction, how: str, left: Number, right: Number) -> Truth:
    if isinstance(left, Whole) and isinstance(right, Whole):
        return v.emit_integer_compare(f, how, left, right)
    a, b = number_to_ratio(left), number_to_ratio(right)
    if a.bottom.text == b.bottom.text:
        return v.emit_integer_compare(f, how, a.top, b.top)
    return v.emit_ratio_compare(f, how, a, b)


def _emit_extreme(how: str) -> Callable[[TermEmitter, tuple[Term, ...]], Value]:
    def build(t: TermEmitter, args: tuple[Term, ...]) -> Value:
        best = t.number(args[0])
        for arg in args[1:]:
            other = t.number(arg)
            pair = (other, best) if how == "min" else (best, other)
            chosen = require_number(t.choose(emit_number_comparison(t.f, "slt", *pair), other, best))
            best = _narrow_range(chosen, best, other, how)
        return best

    return build


def _narrow_range(chosen: Number, left: Number, right: Number, how: str) -> Number:
    """A minimum is at most what it was taken of, and a maximum at least."""
    if not (isinstance(chosen, Whole) and isinstance(left, Whole) and isinstance(right, Whole)):
        return chosen
    if how == "min":
        return Whole(chosen.text, chosen.low, min(left.high, right.high))
    return Whole(chosen.text, max(left.low, right.low), chosen.high)


def _emit_absolute(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    value = t.number(args[0])
    below = emit_number_comparison(t.f, "slt", value, integer_literal(0))
    result = t.choose(below, _emit_negation(t.f, value), value)
    if isinstance(result, Whole):
        return Whole(result.text, max(0, result.low), result.high)
    return result


def _emit_sign(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    value = t.number(args[0])
    above, below = (
        emit_number_comparison(t.f, "slt", integer_literal(0), value),
        emit_number_comparison(t.f, "slt", value, integer_literal(0)),
    )
    return t.choose(above, integer_literal(1), t.choose(below, integer_literal(-1), integer_literal(0)))


def _emit_power(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    exponent = args[1]
    if not isinstance(exponent, Const) or type(exponent.value) is not int or abs(exponent.value) > 64:
        raise CompileObjection("`^` with an exponent that varies or is large is not compiled")
    base, result = t.number(args[0]), require_number(integer_literal(1))
    for _ in range(abs(exponent.value)):
        result = _emit_number_product(t.f, result, base)
    return (
        result
        if exponent.value >= 0
        else v.emit_ratio_divide(t.f, number_to_ratio(integer_literal(1)), number_to_ratio(result))
    )


def _emit_equality(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    return _compare_values(t, t.value(args[0]), t.value(args[1]))


def _compare_values(t: TermEmitter, left: Value, right: Value) -> Truth:
    match left, right:
        case Truth(a), Truth(b):
            return Truth(t.f.value(f"icmp eq i1 {a}, {b}"))
        case ((Whole() | Ratio()), (Whole() | Ratio())):
            return emit_number_comparison(t.f, "eq", left, right)
        case (
            (ElementList() | StateArray() | ConstantArray()),
            (ElementList() | StateArray() | ConstantArray()),
        ):
            ours, theirs = t.array_elements(left), t.array_elements(right)
            if len(ours) != len(theirs):
                return Truth("false")
            result = Truth("true")
            for one, other in zip(ours, theirs, strict=True):
                result = Truth(t.f.value(f"and i1 {result.text}, {_compare_values(t, one, other).text}"))
            return result
    raise CompileObjection("values of different kinds are compared")


def _emit_ite(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    condition = t.truth(args[0])
    if condition.text in ("true", "false"):
        return t.value(args[1] if condition.text == "true" else args[2])
    if t.may_be_undefined(args[1]) or t.may_be_undefined(args[2]):
        return t.branch(condition, args[1], args[2])
    return t.choose(condition, t.value(args[1]), t.value(args[2]))


def _emit_array(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    known = _constant_array(Apply(Op.ARRAY, args))
    if known is not None and args:
        shape, data, is_truth = known
        name = t.module.constants(data)
        return ConstantArray(name, shape, integer_literal(0), min(data), max(data), is_truth)
    return ElementList(tuple(t.value(a) for a in args))


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


def _emit_select(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    return t.select(t.value(args[0]), t.whole(args[1]))


def _emit_not(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    return _invert_truth(t.f, t.truth(args[0]))


def _invert_truth(f: IrFunction, value: Truth) -> Truth:
    if value.text in ("true", "false"):
        return Truth("false" if value.text == "true" else "true")
    return Truth(f.value(f"xor i1 {value.text}, true"))


def _emit_implies(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    return t.short_circuit((Apply(Op.NOT, (args[0],)), args[1]), until=True)


def _emit_ceiling(t: TermEmitter, args: tuple[Term, ...]) -> Value:
    return v.emit_integer_negate(t.f, v.emit_number_floor(t.f, _emit_negation(t.f, t.number(args[0]))))


TABLE: dict[Op, Callable[[TermEmitter, tuple[Term, ...]], Value]] = {
    Op.ADD: _emit_sum,
    Op.SUB: lambda t, a: emit_number_sum(t.f, t.number(a[0]), _emit_negation(t.f, t.number(a[1]))),
    Op.NEG: lambda t, a: _emit_negation(t.f, t.number(a[0])),
    Op.MUL: _emit_product,
    Op.DIV: lambda t, a: v.emit_ratio_divide(t.f, t.ratio(a[0]), t.ratio(a[1])),
    Op.MOD: lambda t, a: v.emit_integer_remainder(t.f, t.whole(a[0]), t.whole(a[1])),
    Op.POW: _emit_power,
    Op.MIN: _emit_extreme("min"),
    Op.MAX: _emit_extreme("max"),
    Op.ABS: _emit_absolute,
    Op.SIGN: _emit_sign,
    Op.FLOOR: lambda t, a: v.emit_number_floor(t.f, t.number(a[0])),
    Op.CEIL: _emit_ceiling,
    Op.TRUNC: lambda t, a: v.emit_number_truncate(t.f, t.number(a[0])),
    Op.LT: lambda t, a: emit_number_comparison(t.f, "slt", t.number(a[0]), t.number(a[1])),
    Op.LE: lambda t, a: emit_number_comparison(t.f, "sle", t.number(a[0]), t.number(a[1])),
    Op.EQ: _emit_equality,
    Op.NOT: _emit_not,
    Op.AND: lambda t, a: t.short_circuit(a, until=False),
    Op.OR: lambda t, a: t.short_circuit(a, until=True),
    Op.IMPLIES: _emit_implies,
    Op.ITE: _emit_ite,
    Op.ARRAY: _emit_array,
    Op.SELECT: _emit_select,
}
NOT_COMPILED = ELEMENTARY
