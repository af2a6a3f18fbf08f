"""A polynomial as a term with few operations (Horner's scheme for several variables).

c + x1*(…) + x2*(…) + …, where the factor of a variable has it and later ones only: about one product and one
sum for each coefficient, where a sum of monomials has as many products as its degree. The order of operations
is part of what is certified: the checker bounds the rounding of the term as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.query.polynomial import Polynomial
from surefoot.term.term import Apply, Const, Op, Term, Var


def horner_term(polynomial: Polynomial, names: Sequence[str]) -> Term:
    """Of the variables in this order."""
    return _horner_scheme(polynomial, names, 0)


def _horner_scheme(polynomial: Polynomial, names: Sequence[str], first: int) -> Term:
    nothing = (0,) * len(names)
    parts: list[Term] = []
    if nothing in polynomial.terms or not polynomial.terms:
        parts.append(Const(polynomial.terms.get(nothing, 0)))
    for index in range(first, len(names)):
        factor = Polynomial(
            {
                _lower_exponent(monomial, index): coefficient
                for monomial, coefficient in polynomial.terms.items()
                if monomial[index] and not any(monomial[first:index])
            }
        )
        if factor.terms:
            inner = _horner_scheme(factor, names, index)
            parts.append(Apply(Op.MUL, (inner, Var(names[index]))))
    return Apply(Op.ADD, tuple(parts)) if len(parts) > 1 else parts[0]


def _lower_exponent(monomial: tuple[int, ...], index: int) -> tuple[int, ...]:
    return (*monomial[:index], monomial[index] - 1, *monomial[index + 1 :])
