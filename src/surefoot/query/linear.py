"""Linear expressions over quantities, with exact coefficients.

A truth value counts as the number 0 or 1 where a formula needs it; terms never mix the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from surefoot.errors import Unsupported
from surefoot.problem.meaning.evaluate import evaluate
from surefoot.problem.number import bounded
from surefoot.problem.show import show
from surefoot.problem.term import Apply, Const, Op, Term, Var, free_names


@dataclass(frozen=True, slots=True)
class Linear:
    """Sum of coefficient times name, plus a constant. No coefficient is zero, no name occurs twice."""

    coefficients: tuple[tuple[str, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def is_constant(self) -> bool:
        return not self.coefficients

    def at(self, values: Mapping[str, bool | int | Fraction]) -> Fraction:
        return self.constant + sum((c * Fraction(values[n]) for n, c in self.coefficients), Fraction(0))


_ONE, _MINUS_ONE = Fraction(1), Fraction(-1)


def constant(value: bool | int | Fraction) -> Linear:
    return Linear((), value if type(value) is Fraction else Fraction(value))


@lru_cache(1 << 12)  # the inputs of one network call are those of the next
def variable(name: str) -> Linear:
    return Linear(((name, _ONE),))


def plus(left: Linear, right: Linear) -> Linear:
    if right.is_constant():
        total_constant = left.constant + right.constant if left.constant else right.constant
        return Linear(left.coefficients, total_constant)
    if left.is_constant() and not left.constant:
        return right
    total = dict(left.coefficients)
    for name, coefficient in right.coefficients:
        total[name] = total[name] + coefficient if name in total else coefficient
    together = left.constant + right.constant if right.constant else left.constant
    return Linear(tuple((n, c) for n, c in total.items() if c), together)


def bounded_linear(linear: Linear) -> Linear:
    """The expression itself, unless a number in it is too long: `LongNumber`."""
    for _, coefficient in linear.coefficients:
        bounded(coefficient)
    bounded(linear.constant)
    return linear


def total_of(parts: Sequence[Linear]) -> Linear:
    """Their sum; how long its numbers are is looked at now and then, because that takes as long as adding."""
    total = parts[0]
    for number, part in enumerate(parts[1:], 1):
        total = plus(total, part)
        if number % 50 == 0:
            bounded_linear(total)
    return bounded_linear(total)


def scaled(linear: Linear, factor: Fraction) -> Linear:
    if not factor:
        return Linear()
    if factor == 1:
        return linear
    if factor == -1:
        return _opposite(linear)
    return Linear(tuple((n, c * factor) for n, c in linear.coefficients), linear.constant * factor)


def minus(left: Linear, right: Linear) -> Linear:
    return plus(left, _opposite(right))


def _opposite(linear: Linear) -> Linear:
    return Linear(tuple((n, -c) for n, c in linear.coefficients), -linear.constant)


def as_term(linear: Linear) -> Term:
    """The expression as a sum of products."""
    parts: list[Term] = [
        Var(n) if c == 1 else Apply(Op.MUL, (Const(c), Var(n))) for n, c in linear.coefficients
    ]
    if linear.constant or not parts:
        parts.append(Const(linear.constant))
    return parts[0] if len(parts) == 1 else Apply(Op.ADD, tuple(parts))


def linearise(term: Term) -> Linear:
    """A number-valued term as a linear expression; `Unsupported` names the first part that is none."""
    match term:
        case Const(value) if not isinstance(value, bool):
            return constant(value)
        case Var(name):
            return variable(name)
        case Apply(op, _):
            return LINEAR[op](term)
        case _:
            raise not_linear(term)


def not_linear(term: Term) -> Unsupported:
    return Unsupported(
        f"`{show(term)}` is not linear", fix="use a solver for non-linear terms, or bound its integers"
    )


def _sum(term: Apply) -> Linear:
    return total_of([linearise(a) for a in term.args])


def _difference(term: Apply) -> Linear:
    left, right = term.args
    return bounded_linear(minus(linearise(left), linearise(right)))


def _negation(term: Apply) -> Linear:
    return scaled(linearise(term.args[0]), _MINUS_ONE)


def _product(term: Apply) -> Linear:
    total = constant(1)
    for factor in (linearise(a) for a in term.args):
        if total.is_constant():
            total = scaled(factor, total.constant)
        elif factor.is_constant():
            total = scaled(total, factor.constant)
        else:
            raise not_linear(term)
        bounded_linear(total)
    return total


def _quotient(term: Apply) -> Linear:
    left, right = (linearise(a) for a in term.args)
    if not right.is_constant() or not right.constant:
        raise not_linear(term)
    return bounded_linear(scaled(left, 1 / right.constant))


def _only_of_constants(term: Apply) -> Linear:
    """Other operators are linear only where nothing in them varies."""
    if free_names(term):
        raise not_linear(term)
    value = evaluate(term, {})
    if isinstance(value, bool | tuple):
        raise not_linear(term)
    return constant(Fraction(value))


def _refuse(term: Apply) -> Linear:
    raise not_linear(term)


LINEAR: dict[Op, Callable[[Apply], Linear]] = {
    Op.ADD: _sum,
    Op.SUB: _difference,
    Op.NEG: _negation,
    Op.MUL: _product,
    Op.DIV: _quotient,
    Op.MOD: _only_of_constants,
    Op.POW: _only_of_constants,
    Op.MIN: _only_of_constants,
    Op.MAX: _only_of_constants,
    Op.ABS: _only_of_constants,
    Op.SIGN: _only_of_constants,
    Op.FLOOR: _only_of_constants,
    Op.CEIL: _only_of_constants,
    Op.TRUNC: _only_of_constants,
    Op.LT: _refuse,
    Op.LE: _refuse,
    Op.EQ: _refuse,
    Op.NOT: _refuse,
    Op.AND: _refuse,
    Op.OR: _refuse,
    Op.IMPLIES: _refuse,
    Op.ITE: _only_of_constants,
    Op.ARRAY: _refuse,
    Op.SELECT: _only_of_constants,
    Op.SQRT: _only_of_constants,
    Op.EXP: _only_of_constants,
    Op.LOG: _only_of_constants,
    Op.SIN: _only_of_constants,
    Op.COS: _only_of_constants,
    Op.TAN: _only_of_constants,
    Op.ASIN: _only_of_constants,
    Op.ACOS: _only_of_constants,
    Op.ATAN: _only_of_constants,
    Op.TANH: _only_of_constants,
}
