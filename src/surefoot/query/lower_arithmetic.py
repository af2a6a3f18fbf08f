"""How each numeric operator is lowered: a table keyed by `Op`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from surefoot.errors import Unsupported
from surefoot.query.auxiliary import Auxiliaries, LoweredNumber, encode_floor
from surefoot.term.evaluate import LARGEST_EXPONENT
from surefoot.term.linear import (
    LinearForm,
    check_form_length,
    constant_form,
    nonlinear_error,
    scale_form,
    subtract_forms,
    sum_forms,
    term_from_linear,
)
from surefoot.term.number import integer_power
from surefoot.term.printer import show_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    conjunction_of,
    disjunction_of,
    equal,
    negate_condition,
)
from surefoot.term.types import ELEMENTARY, TRUTHS

if TYPE_CHECKING:
    from surefoot.query.lower import Lowering

_ONE = Fraction(1)


def _lower_arguments(lowering: Lowering, term: Apply) -> tuple[list[LinearForm], Term]:
    values = [lowering.number(a) for a in term.args]
    return [v.linear for v in values], conjunction_of(tuple(v.defined for v in values))


def _lower_sum(lowering: Lowering, term: Apply) -> LoweredNumber:
    parts, defined = _lower_arguments(lowering, term)
    return LoweredNumber(sum_forms(parts), defined)


def _lower_difference(lowering: Lowering, term: Apply) -> LoweredNumber:
    (left, right), defined = _lower_arguments(lowering, term)
    return LoweredNumber(check_form_length(subtract_forms(left, right)), defined)


def _lower_negation(lowering: Lowering, term: Apply) -> LoweredNumber:
    (inner,), defined = _lower_arguments(lowering, term)
    return LoweredNumber(scale_form(inner, -_ONE), defined)


def _lower_product(lowering: Lowering, term: Apply) -> LoweredNumber:
    factors, defined = _lower_arguments(lowering, term)
    return LoweredNumber(reduce(lambda a, b: _multiply_forms(lowering.made, a, b, term), factors), defined)


def _multiply_forms(made: Auxiliaries, left: LinearForm, right: LinearForm, term: Apply) -> LinearForm:
    if left.is_constant():
        return check_form_length(scale_form(right, left.constant))
    if right.is_constant():
        return check_form_length(scale_form(left, right.constant))
    few = [
        (d, other, own)
        for own, other in ((left, right), (right, left))
        if (d := made.domain(own)) is not None
    ]
    if not few:
        raise nonlinear_error(term)
    values, other, own = min(few, key=lambda choice: len(choice[0]))
    return _by_value(made, own, values, [check_form_length(scale_form(other, Fraction(k))) for k in values])


def _by_value(
    made: Auxiliaries, own: LinearForm, values: Sequence[int], results: Sequence[LinearForm]
) -> LinearForm:
    """results[i] where `own` is values[i]; elsewhere anything."""
    domain = made.domain(own)
    options = [(equal(term_from_linear(own), k), r) for k, r in zip(values, results, strict=True)]
    return made.piecewise(options, covering=domain is not None and set(domain) <= set(values))


def _lower_quotient(lowering: Lowering, term: Apply) -> LoweredNumber:
    (left, right), defined = _lower_arguments(lowering, term)
    if right.is_constant():
        return (
            LoweredNumber(check_form_length(scale_form(left, 1 / right.constant)), defined)
            if right.constant
            else LoweredNumber(constant_form(0), FALSE)
        )
    domain = lowering.made.domain(right)
    if domain is None:
        raise nonlinear_error(term)
    values = [k for k in domain if k]
    result = _by_value(lowering.made, right, values, [scale_form(left, Fraction(1, k)) for k in values])
    return LoweredNumber(result, _unless_zero(defined, right, domain))


def _unless_zero(defined: Term, divisor: LinearForm, domain: range) -> Term:
    return (
        conjunction_of((defined, negate_condition(equal(term_from_linear(divisor), 0))))
        if 0 in domain
        else defined
    )


def _lower_modulo(lowering: Lowering, term: Apply) -> LoweredNumber:
    (left, right), defined = _lower_arguments(lowering, term)
    made = lowering.made
    defined = conjunction_of((defined, _is_whole(made, left), _is_whole(made, right)))
    if right.is_constant():
        return (
            LoweredNumber(_encode_remainder(made, left, right.constant), defined)
            if right.constant
            else LoweredNumber(constant_form(0), FALSE)
        )
    domain = made.domain(right)
    if domain is None:
        raise nonlinear_error(term)
    values = [k for k in domain if k]
    result = _by_value(made, right, values, [_encode_remainder(made, left, Fraction(k)) for k in values])
    return LoweredNumber(result, _unless_zero(defined, right, domain))


def _encode_remainder(made: Auxiliaries, left: LinearForm, divisor: Fraction) -> LinearForm:
    size = abs(divisor)
    result = subtract_forms(left, scale_form(encode_floor(made, scale_form(left, 1 / size)), size))
    if result.is_constant() or divisor.denominator != 1 or not made.is_whole(left):
        return result
    # A quantity of its own, so that what uses the remainder knows its few values.
    named = made.fresh((Fraction(0), size - 1), whole=True)
    made.require(equal(term_from_linear(named), term_from_linear(result)))
    return named


def _is_whole(made: Auxiliaries, linear: LinearForm) -> Term:
    if made.is_whole(linear):
        return TRUE
    return equal(term_from_linear(linear), term_from_linear(encode_floor(made, linear)))


def _lower_power(lowering: Lowering, term: Apply) -> LoweredNumber:
    (base, exponent), defined = _lower_arguments(lowering, term)
    made = lowering.made
    if exponent.is_constant():
        power = exponent.constant
        if power in (0, 1):
            return LoweredNumber(base if power else constant_form(1), defined)
        domain = made.domain(base)
        if domain is None or power.denominator != 1 or abs(power) > LARGEST_EXPONENT:
            raise nonlinear_error(term)
        values = [k for k in domain if k or power > 0]
        result = _by_value(made, base, values, [constant_form(integer_power(k, int(power))) for k in values])
        return LoweredNumber(result, _unless_zero(defined, base, domain) if power < 0 else defined)
    domain = made.domain(exponent)
    if domain is None or not base.is_constant():
        raise nonlinear_error(term)
    values = [k for k in domain if base.constant or k >= 0]
    result = _by_value(
        made, exponent, values, [constant_form(integer_power(base.constant, k)) for k in values]
    )
    return LoweredNumber(
        result,
        defined
        if len(values) == len(domain)
        else conjunction_of((defined, Const(0) <= term_from_linear(exponent))),
    )


def _lower_max(lowering: Lowering, term: Apply) -> LoweredNumber:
    parts, defined = _lower_arguments(lowering, term)
    return LoweredNumber(_encode_maximum(lowering.made, parts), defined)


def _lower_min(lowering: Lowering, term: Apply) -> LoweredNumber:
    parts, defined = _lower_arguments(lowering, term)
    return LoweredNumber(
        scale_form(_encode_maximum(lowering.made, [scale_form(p, -_ONE) for p in parts]), -_ONE), defined
    )


def _encode_maximum(made: Auxiliaries, parts: Sequence[LinearForm]) -> LinearForm:
    """The largest of several expressions."""
    for candidate in parts:
        if all(_never_below(made, candidate, other) for other in parts):
            return candidate
    lows, highs = zip(*(made.interval(p) for p in parts), strict=True)
    known = [low for low in lows if low is not None]
    bounds = (max(known) if known else None, None if None in highs else max(highs))
    result = made.fresh(bounds, whole=all(made.is_whole(p) for p in parts))
    for part in parts:
        made.require(term_from_linear(part) <= term_from_linear(result))
    made.require(disjunction_of(tuple(equal(term_from_linear(result), term_from_linear(p)) for p in parts)))
    return result


def _never_below(made: Auxiliaries, left: LinearForm, right: LinearForm) -> bool:
    low, _ = made.interval(subtract_forms(left, right))
    return low is not None and low >= 0


def _lower_abs(lowering: Lowering, term: Apply) -> LoweredNumber:
    (inner,), defined = _lower_arguments(lowering, term)
    return LoweredNumber(_encode_maximum(lowering.made, [inner, scale_form(inner, -_ONE)]), defined)


def _lower_sign(lowering: Lowering, term: Apply) -> LoweredNumber:
    (inner,), defined = _lower_arguments(lowering, term)
    x = term_from_linear(inner)
    options = [(x < 0, constant_form(-1)), (equal(x, 0), constant_form(0)), (Const(0) < x, constant_form(1))]
    return LoweredNumber(lowering.made.piecewise(options, covering=True), defined)


def _lower_floor(lowering: Lowering, term: Apply) -> LoweredNumber:
    (inner,), defined = _lower_arguments(lowering, term)
    return LoweredNumber(encode_floor(lowering.made, inner), defined)


def _lower_ceil(lowering: Lowering, term: Apply) -> LoweredNumber:
    (inner,), defined = _lower_arguments(lowering, term)
    return LoweredNumber(scale_form(encode_floor(lowering.made, scale_form(inner, -_ONE)), -_ONE), defined)


def _lower_trunc(lowering: Lowering, term: Apply) -> LoweredNumber:
    (inner,), defined = _lower_arguments(lowering, term)
    made = lowering.made
    low, high = made.interval(inner)
    down = inner if high is not None and high <= 0 else encode_floor(made, inner)
    up = (
        inner
        if low is not None and low >= 0
        else scale_form(encode_floor(made, scale_form(inner, -_ONE)), -_ONE)
    )
    if low is not None and low >= 0:
        return LoweredNumber(down, defined)
    if high is not None and high <= 0:
        return LoweredNumber(up, defined)
    return LoweredNumber(
        made.piecewise(
            [(Const(0) <= term_from_linear(inner), down), (term_from_linear(inner) < 0, up)], True
        ),
        defined,
    )


def _lower_ite(lowering: Lowering, term: Apply) -> LoweredNumber:
    test, then, otherwise = term.args
    yes, no = lowering.truth(test, True), lowering.truth(test, False)
    first, second = lowering.number(then), lowering.number(otherwise)
    total = lowering.is_total(test)
    result = lowering.made.piecewise([(yes, first.linear), (no, second.linear)], covering=total)
    if total and first.defined == TRUE and second.defined == TRUE:
        return LoweredNumber(result)
    return LoweredNumber(
        result, disjunction_of((conjunction_of((yes, first.defined)), conjunction_of((no, second.defined))))
    )


def _lower_select(lowering: Lowering, term: Apply) -> LoweredNumber:
    array, index = term.args
    options = [(c, lowering.number(e).linear) for c, e in lowering.options(term)]
    position = lowering.number(index)
    sure = (
        isinstance(array, Apply)
        and array.op is Op.ARRAY
        and lowering.made.covers(position.linear, len(array.args))
        and conjunction_of((position.defined, lowering.defined_condition(array))) == TRUE
    )
    result = lowering.made.piecewise(options, covering=sure)
    return LoweredNumber(result, TRUE if sure else disjunction_of(tuple(c for c, _ in options)))


def _refuse_nonlinear(lowering: Lowering, term: Apply) -> LoweredNumber:
    raise nonlinear_error(term)


def _not_a_number(lowering: Lowering, term: Apply) -> LoweredNumber:
    raise Unsupported(f"`{show_term(term)}` is not a number", fix="use ite(…, 1, 0) for truth values")


NUMBER_RULES: dict[Op, Callable[[Lowering, Apply], LoweredNumber]] = {
    Op.ADD: _lower_sum,
    Op.SUB: _lower_difference,
    Op.NEG: _lower_negation,
    Op.MUL: _lower_product,
    Op.DIV: _lower_quotient,
    Op.MOD: _lower_modulo,
    Op.POW: _lower_power,
    Op.MIN: _lower_min,
    Op.MAX: _lower_max,
    Op.ABS: _lower_abs,
    Op.SIGN: _lower_sign,
    Op.FLOOR: _lower_floor,
    Op.CEIL: _lower_ceil,
    Op.TRUNC: _lower_trunc,
    Op.ITE: _lower_ite,
    Op.SELECT: _lower_select,
    **dict.fromkeys((*TRUTHS, Op.ARRAY), _not_a_number),
    **dict.fromkeys(ELEMENTARY, _refuse_nonlinear),
}
