"""Polynomials as terms with few operations."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from random import Random

from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import horner_term, polynomial_of
from surefoot.term.term import Apply, Const, Op, Term


def operations(term: Term, of: Op) -> int:
    if not isinstance(term, Apply):
        return 0
    return (len(term.args) - 1) * (term.op is of) + sum(operations(a, of) for a in term.args)


def test_the_term_is_the_polynomial() -> None:
    random, names = Random(2), ("x", "y", "z")
    ring = {name: polynomial_from_variable(i, 3) for i, name in enumerate(names)}
    for _ in range(200):
        monomials = random.sample(list(product(range(4), repeat=3)), random.randrange(0, 12))
        terms = {m: Fraction(random.choice([-3, -1, 2, 7]), random.choice([1, 4, 9])) for m in monomials}
        term = horner_term(Polynomial(terms), names)
        assert polynomial_of(term, ring, 3, rounded=False).terms == terms


def test_a_full_polynomial_takes_one_product_for_each_coefficient() -> None:
    count, degree = 4, 4
    terms = {m: Fraction(1 + sum(m)) for m in product(range(degree + 1), repeat=count) if sum(m) <= degree}
    term = horner_term(Polynomial(terms), ("a", "b", "c", "d"))
    assert len(terms) == comb(count + degree, degree)
    assert operations(term, Op.MUL) == operations(term, Op.ADD) == len(terms) - 1


def test_nothing_is_zero() -> None:
    assert horner_term(Polynomial({}), ("x",)) == Const(0)
