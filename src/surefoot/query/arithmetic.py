"""How each numeric operator is lowered: a table keyed by `Op`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from surefoot.errors import Unsupported
from surefoot.problem.meaning.evaluate import LARGEST_EXPONENT
from surefoot.problem.number import bounded_power
from surefoot.problem.show import show
from surefoot.problem.term import FALSE, TRUE, Apply, Const, Op, Term, conjunction, disjunction, equal
from surefoot.query.auxiliary import Auxiliaries, Value, negation, whole_part
from surefoot.query.linear import (
    Linear,
    as_term,
    bounded_linear,
    constant,
    minus,
    not_linear,
    scaled,
    total_of,
)

if TYPE_CHECKING:
    from surefoot.query.lower import Lowering

_ONE = Fraction(1)


def _values(lowering: Lowering, term: Apply) -> tuple[list[Linear], Term]:
    values = [lowering.number(a) for a in term.args]
    return [v.linear for v in values], conjunction(tuple(v.defined for v in values))


def _sum(lowering: Lowering, term: Apply) -> Value:
    parts, defined = _values(lowering, term)
    return Value(total_of(parts), defined)


def _difference(lowering: Lowering, term: Apply) -> Value:
    (left, right), defined = _values(lowering, term)
    return Value(bounded_linear(minus(left, right)), defined)


def _negation(lowering: Lowering, term: Apply) -> Value:
    (inner,), defined = _values(lowering, term)
    return Value(scaled(inner, -_ONE), defined)


def _product(lowering: Lowering, term: Apply) -> Value:
    factors, defined = _values(lowering, term)
    return Value(reduce(lambda a, b: _times(lowering.made, a, b, term), factors), defined)


def _times(made: Auxiliaries, left: Linear, right: Linear, term: Apply) -> Linear:
    if left.is_constant():
        return bounded_linear(scaled(right, left.constant))
    if right.is_constant():
        return bounded_linear(scaled(left, right.constant))
    few = [
        (d, other, own)
        for own, other in ((left, right), (right, left))
        if (d := made.domain(own)) is not None
    ]
    if not few:
        raise not_linear(term)
    values, other, own = min(few, key=lambda choice: len(choice[0]))
    return _by_value(made, own, values, [bounded_linear(scaled(other, Fraction(k))) for k in values])


def _by_value(made: Auxiliaries, own: Linear, values: Sequence[int], results: Sequence[Linear]) -> Linear:
    """results[i] where `own` is values[i]; elsewhere anything."""
    domain = made.domain(own)
    options = [(equal(as_term(own), k), r) for k, r in zip(values, results, strict=True)]
    return made.piecewise(options, covering=domain is not None and set(domain) <= set(values))


def _quotient(lowering: Lowering, term: Apply) -> Value:
    (left, right), defined = _values(lowering, term)
    if right.is_constant():
        return (
            Value(bounded_linear(scaled(left, 1 / right.constant)), defined)
            if right.constant
            else Value(constant(0), FALSE)
        )
    domain = lowering.made.domain(right)
    if domain is None:
        raise not_linear(term)
    values = [k for k in domain if k]
    result = _by_value(lowering.made, right, values, [scaled(left, Fraction(1, k)) for k in values])
    return Value(result, _unless_zero(defined, right, domain))


def _unless_zero(defined: Term, divisor: Linear, domain: range) -> Term:
    return conjunction((defined, negation(equal(as_term(divisor), 0)))) if 0 in domain else defined


def _modulo(lowering: Lowering, term: Apply) -> Value:
    (left, right), defined = _values(lowering, term)
    made = lowering.made
    defined = conjunction((defined, _is_whole(made, left), _is_whole(made, right)))
    if right.is_constant():
        return (
            Value(_remainder(made, left, right.constant), defined)
            if right.constant
            else Value(constant(0), FALSE)
        )
    domain = made.domain(right)
    if domain is None:
        raise not_linear(term)
    values = [k for k in domain if k]
    result = _by_value(made, right, values, [_remainder(made, left, Fraction(k)) for k in values])
    return Value(result, _unless_zero(defined, right, domain))


def _remainder(made: Auxiliaries, left: Linear, divisor: Fraction) -> Linear:
    size = abs(divisor)
    result = minus(left, scaled(whole_part(made, scaled(left, 1 / size)), size))
    if result.is_constant() or divisor.denominator != 1 or not made.is_whole(left):
        return result
    # A quantity of its own, so that what uses the remainder knows its few values.
    named = made.fresh((Fraction(0), size - 1), whole=True)
    made.require(equal(as_term(named), as_term(result)))
    return named


def _is_whole(made: Auxiliaries, linear: Linear) -> Term:
    if made.is_whole(linear):
        return TRUE
    return equal(as_term(linear), as_term(whole_part(made, linear)))


def _power(lowering: Lowering, term: Apply) -> Value:
    (base, exponent), defined = _values(lowering, term)
    made = lowering.made
    if exponent.is_constant():
        power = exponent.constant
        if power in (0, 1):
            return Value(base if power else constant(1), defined)
        domain = made.domain(base)
        if domain is None or power.denominator != 1 or abs(power) > LARGEST_EXPONENT:
            raise not_linear(term)
        values = [k for k in domain if k or power > 0]
        result = _by_value(made, base, values, [constant(bounded_power(k, int(power))) for k in values])
        return Value(result, _unless_zero(defined, base, domain) if power < 0 else defined)
    domain = made.domain(exponent)
    if domain is None or not base.is_constant():
        raise not_linear(term)
    values = [k for k in domain if base.constant or k >= 0]
    result = _by_value(made, exponent, values, [constant(bounded_power(base.constant, k)) for k in values])
    return Value(
        result,
        defined if len(values) == len(domain) else conjunction((defined, Const(0) <= as_term(exponent))),
    )


def _largest(lowering: Lowering, term: Apply) -> Value:
    parts, defined = _values(lowering, term)
    return Value(maximum(lowering.made, parts), defined)


def _smallest(lowering: Lowering, term: Apply) -> Value:
    parts, defined = _values(lowering, term)
    return Value(scaled(maximum(lowering.made, [scaled(p, -_ONE) for p in parts]), -_ONE), defined)


def maximum(made: Auxiliaries, parts: Sequence[Linear]) -> Linear:
    """The largest of several expressions."""
    for candidate in parts:
        if all(_never_below(made, candidate, other) for other in parts):
            return candidate
    lows, highs = zip(*(made.interval(p) for p in parts), strict=True)
    known = [low for low in lows if low is not None]
    bounds = (max(known) if known else None, None if None in highs else max(highs))
    result = made.fresh(bounds, whole=all(made.is_whole(p) for p in parts))
    for part in parts:
        made.require(as_term(part) <= as_term(result))
    made.require(disjunction(tuple(equal(as_term(result), as_term(p)) for p in parts)))
    return result


def _never_below(made: Auxiliaries, left: Linear, right: Linear) -> bool:
    low, _ = made.interval(minus(left, right))
    return low is not None and low >= 0


def _absolute(lowering: Lowering, term: Apply) -> Value:
    (inner,), defined = _values(lowering, term)
    return Value(maximum(lowering.made, [inner, scaled(inner, -_ONE)]), defined)


def _sign(lowering: Lowering, term: Apply) -> Value:
    (inner,), defined = _values(lowering, term)
    x = as_term(inner)
    options = [(x < 0, constant(-1)), (equal(x, 0), constant(0)), (Const(0) < x, constant(1))]
    return Value(lowering.made.piecewise(options, covering=True), defined)


def _floor(lowering: Lowering, term: Apply) -> Value:
    (inner,), defined = _values(lowering, term)
    return Value(whole_part(lowering.made, inner), defined)


def _ceil(lowering: Lowering, term: Apply) -> Value:
    (inner,), defined = _values(lowering, term)
    return Value(scaled(whole_part(lowering.made, scaled(inner, -_ONE)), -_ONE), defined)


def _truncate(lowering: Lowering, term: Apply) -> Value:
    (inner,), defined = _values(lowering, term)
    made = lowering.made
    low, high = made.interval(inner)
    down = inner if high is not None and high <= 0 else whole_part(made, inner)
    up = inner if low is not None and low >= 0 else scaled(whole_part(made, scaled(inner, -_ONE)), -_ONE)
    if low is not None and low >= 0:
        return Value(down, defined)
    if high is not None and high <= 0:
        return Value(up, defined)
    return Value(
        made.piecewise([(Const(0) <= as_term(inner), down), (as_term(inner) < 0, up)], True), defined
    )


def _ite(lowering: Lowering, term: Apply) -> Value:
    test, then, otherwise = term.args
    yes, no = lowering.truth(test, True), lowering.truth(test, False)
    first, second = lowering.number(then), lowering.number(otherwise)
    total = lowering.is_total(test)
    result = lowering.made.piecewise([(yes, first.linear), (no, second.linear)], covering=total)
    if total and first.defined == TRUE and second.defined == TRUE:
        return Value(result)
    return Value(result, disjunction((conjunction((yes, first.defined)), conjunction((no, second.defined)))))


def _select(lowering: Lowering, term: Apply) -> Value:
    array, index = term.args
    options = [(c, lowering.number(e).linear) for c, e in lowering.options(term)]
    position = lowering.number(index)
    sure = (
        isinstance(array, Apply)
        and array.op is Op.ARRAY
        and lowering.made.covers(position.linear, len(array.args))
        and conjunction((position.defined, lowering.defined(array))) == TRUE
    )
    result = lowering.made.piecewise(options, covering=sure)
    return Value(result, TRUE if sure else disjunction(tuple(c for c, _ in options)))


def _refuse(lowering: Lowering, term: Apply) -> Value:
    raise not_linear(term)


def _not_a_number(lowering: Lowering, term: Apply) -> Value:
    raise Unsupported(f"`{show(term)}` is not a number", fix="use ite(…, 1, 0) for truth values")


NUMBER: dict[Op, Callable[[Lowering, Apply], Value]] = {
    Op.ADD: _sum,
    Op.SUB: _difference,
    Op.NEG: _negation,
    Op.MUL: _product,
    Op.DIV: _quotient,
    Op.MOD: _modulo,
    Op.POW: _power,
    Op.MIN: _smallest,
    Op.MAX: _largest,
    Op.ABS: _absolute,
    Op.SIGN: _sign,
    Op.FLOOR: _floor,
    Op.CEIL: _ceil,
    Op.TRUNC: _truncate,
    Op.ITE: _ite,
    Op.SELECT: _select,
    **dict.fromkeys((Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES, Op.ARRAY), _not_a_number),
    **dict.fromkeys((Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS), _refuse),
    **dict.fromkeys((Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH), _refuse),
}
