"""Linear expressions over quantities, with exact coefficients.

A truth value counts as the number 0 or 1 where a formula needs it; terms never mix the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from surefoot.errors import Unsupported
from surefoot.term.evaluate import evaluate_term
from surefoot.term.number import check_bit_length
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import ELEMENTARY, TRUTHS


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Sum of coefficient times name, plus a constant. No coefficient is zero, no name occurs twice."""

    coefficients: tuple[tuple[str, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def is_constant(self) -> bool:
        return not self.coefficients

    def at(self, values: Mapping[str, bool | int | Fraction]) -> Fraction:
        return self.constant + sum((c * Fraction(values[n]) for n, c in self.coefficients), Fraction(0))


_ONE, _MINUS_ONE = Fraction(1), Fraction(-1)


def constant_form(value: bool | int | Fraction) -> LinearForm:
    return LinearForm((), value if type(value) is Fraction else Fraction(value))


@lru_cache(1 << 12)  # the inputs of one network call are those of the next
def variable_form(name: str) -> LinearForm:
    return LinearForm(((name, _ONE),))


def add_forms(left: LinearForm, right: LinearForm) -> LinearForm:
    if right.is_constant():
        total_constant = left.constant + right.constant if left.constant else right.constant
        return LinearForm(left.coefficients, total_constant)
    if left.is_constant() and not left.constant:
        return right
    total = dict(left.coefficients)
    for name, coefficient in right.coefficients:
        total[name] = total[name] + coefficient if name in total else coefficient
    together = left.constant + right.constant if right.constant else left.constant
    return LinearForm(tuple((n, c) for n, c in total.items() if c), together)


def check_form_length(linear: LinearForm) -> LinearForm:
    """The expression itself, unless a number in it is too long: `LongNumber`."""
    for _, coefficient in linear.coefficients:
        check_bit_length(coefficient)
    check_bit_length(linear.constant)
    return linear


def sum_forms(parts: Sequence[LinearForm]) -> LinearForm:
    """Their sum; how long its numbers are is looked at now and then, because that takes as long as adding.

    But always that of the constant: fifty long denominators in it would take many seconds to add.
    """
    total = parts[0]
    for number, part in enumerate(parts[1:], 1):
        total = add_forms(total, part)
        check_bit_length(total.constant)
        if number % 50 == 0:
            check_form_length(total)
    return check_form_length(total)


def scale_form(linear: LinearForm, factor: Fraction) -> LinearForm:
    if not factor:
        return LinearForm()
    if factor == 1:
        return linear
    if factor == -1:
        return _negate_form(linear)
    return LinearForm(tuple((n, c * factor) for n, c in linear.coefficients), linear.constant * factor)


def subtract_forms(left: LinearForm, right: LinearForm) -> LinearForm:
    return add_forms(left, _negate_form(right))


def _negate_form(linear: LinearForm) -> LinearForm:
    return LinearForm(tuple((n, -c) for n, c in linear.coefficients), -linear.constant)


def term_from_linear(linear: LinearForm) -> Term:
    """The expression as a sum of products."""
    parts: list[Term] = [
        Var(n) if c == 1 else Apply(Op.MUL, (Const(c), Var(n))) for n, c in linear.coefficients
    ]
    if linear.constant or not parts:
        parts.append(Const(linear.constant))
    return parts[0] if len(parts) == 1 else Apply(Op.ADD, tuple(parts))


def linearise_term(whole: Term) -> LinearForm:
    """A number-valued term as a linear expression; `Unsupported` names the first part that is none."""
    return fold_term(whole, _linearise_leaf, lambda t, parts: LINEAR_RULES[t.op](t, parts), _linear_arguments)


def _linear_arguments(term: Apply, _: list[LinearForm]) -> Iterator[Term]:
    return iter(term.args if term.op in _LINEAR else ())


def _linearise_leaf(leaf: Leaf) -> LinearForm:
    if isinstance(leaf, Var):
        return variable_form(leaf.name)
    if isinstance(leaf.value, bool):
        raise nonlinear_error(leaf)
    return constant_form(leaf.value)


def nonlinear_error(term: Term) -> Unsupported:
    return Unsupported(
        f"`{show_term(term)}` is not linear", fix="ask engine `reach` or `falsify`, or bound its integers"
    )


def _linearise_sum(_: Apply, parts: list[LinearForm]) -> LinearForm:
    return sum_forms(parts)


def _linearise_difference(_: Apply, parts: list[LinearForm]) -> LinearForm:
    return check_form_length(subtract_forms(*parts))


def _linearise_negation(_: Apply, parts: list[LinearForm]) -> LinearForm:
    return scale_form(parts[0], _MINUS_ONE)


def _linearise_product(term: Apply, parts: list[LinearForm]) -> LinearForm:
    total = constant_form(1)
    for factor in parts:
        if total.is_constant():
            total = scale_form(factor, total.constant)
        elif factor.is_constant():
            total = scale_form(total, factor.constant)
        else:
            raise nonlinear_error(term)
        check_form_length(total)
    return total


def _linearise_quotient(term: Apply, parts: list[LinearForm]) -> LinearForm:
    left, right = parts
    if not right.is_constant() or not right.constant:
        raise nonlinear_error(term)
    return check_form_length(scale_form(left, 1 / right.constant))


def _linearise_constant(term: Apply, _: list[LinearForm]) -> LinearForm:
    """Other operators are linear only where nothing in them varies."""
    if free_names(term):
        raise nonlinear_error(term)
    value = evaluate_term(term, {})
    if isinstance(value, bool | tuple):
        raise nonlinear_error(term)
    return constant_form(Fraction(value))


def _refuse_nonlinear(term: Apply, _: list[LinearForm]) -> LinearForm:
    raise nonlinear_error(term)


_LINEAR = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV})
LINEAR_RULES: dict[Op, Callable[[Apply, list[LinearForm]], LinearForm]] = {
    **dict.fromkeys((Op.MOD, Op.POW, Op.MIN, Op.MAX, Op.ABS, Op.SIGN, Op.FLOOR), _linearise_constant),
    **dict.fromkeys((Op.CEIL, Op.TRUNC, Op.ITE, Op.SELECT, *ELEMENTARY), _linearise_constant),
    **dict.fromkeys((*TRUTHS, Op.ARRAY), _refuse_nonlinear),
    Op.ADD: _linearise_sum,
    Op.SUB: _linearise_difference,
    Op.NEG: _linearise_negation,
    Op.MUL: _linearise_product,
    Op.DIV: _linearise_quotient,
}
