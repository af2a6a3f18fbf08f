from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import Unsupported
from surefoot.query.bounds import declared_box, integer_variable_names, linear_range, tighten_box
from surefoot.query.formula import (
    All,
    AnyOf,
    LinearAtom,
    Relation,
    negation_normal_form,
    sharpen_integer_atoms,
)
from surefoot.query.query import QueryVariable
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, equal, ite
from surefoot.term.value_types import Bool, Int, Real

x, y, p = Var("x"), Var("y"), Var("p")


def atom(left: Term, relation: Relation) -> LinearAtom:
    return LinearAtom(linearise_term(left), relation)


def test_negation_turns_strict_into_non_strict_and_back() -> None:
    assert negation_normal_form(~(x < 3)) == atom(Const(3) - x, Relation.LE)
    assert negation_normal_form(~(x <= 3)) == atom(Const(3) - x, Relation.LT)
    assert negation_normal_form(~equal(x, 3)) == AnyOf(
        (atom(x - 3, Relation.LT), atom(Const(3) - x, Relation.LT))
    )


def test_de_morgan_and_flattening() -> None:
    assert negation_normal_form(~((x < 1) | (p & (y < 2)))) == All(
        (
            atom(Const(1) - x, Relation.LE),
            AnyOf(
                (LinearAtom(LinearForm((("p", Fraction(1)),)), Relation.EQ), atom(Const(2) - y, Relation.LE))
            ),
        )
    )


def test_constants_vanish() -> None:
    assert negation_normal_form(TRUE) == All()
    assert negation_normal_form(~FALSE & (x <= 0)) == atom(x, Relation.LE)
    assert negation_normal_form(Const(1) < Const(1)) == AnyOf()
    assert negation_normal_form((x - x <= 0) | p) == All()
    assert negation_normal_form((x - x < 0) & p) == AnyOf()


def test_refuses_what_lowering_removes() -> None:
    with pytest.raises(Unsupported, match="lower the query"):
        negation_normal_form(ite(p, x < 1, y < 1))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (x * 2 < 5, x - 2 <= 0),
        (x * 2 < 4, x - 1 <= 0),
        (x * 2 <= 5, x - 2 <= 0),
        (x / 3 < Const(Fraction(1, 2)), x - 1 <= 0),
        (equal(x * 2, 5), FALSE),
        (equal(x * 2 + y * 2, 6), equal(x + y, 3)),
    ],
)
def test_sharpens_whole_numbers(term: Term, expected: Term) -> None:
    assert sharpen_integer_atoms(negation_normal_form(term), frozenset({"x", "y"})) == negation_normal_form(
        expected
    )


def test_reals_stay_as_they_are() -> None:
    formula = negation_normal_form(x * 2 < 5)
    assert sharpen_integer_atoms(formula, frozenset({"y"})) == formula


QUANTITIES = (
    QueryVariable("x", Real(None, Fraction(10))),
    QueryVariable("n", Int(0, 9)),
    QueryVariable("p", Bool()),
)


def test_bounds_follow_from_constraints() -> None:
    whole = integer_variable_names(QUANTITIES)
    formulas = [
        sharpen_integer_atoms(negation_normal_form(t), whole) for t in (x >= Var("n") + 3, Var("n") * 2 > 9)
    ]
    box = tighten_box(declared_box(QUANTITIES), formulas, whole)
    assert box == {"x": (8, 10), "n": (5, 7), "p": (0, 1)}
    assert linear_range(linearise_term(x - Var("n")), box) == (1, 5)


@pytest.mark.parametrize(
    "constraint", [x > 10, equal(x, 11), (x >= 10) & (x < 10), equal(Var("n") * 2, 5), FALSE]
)
def test_contradictions_are_seen(constraint: Term) -> None:
    whole = integer_variable_names(QUANTITIES)
    assert (
        tighten_box(
            declared_box(QUANTITIES), [sharpen_integer_atoms(negation_normal_form(constraint), whole)], whole
        )
        is None
    )


def test_float32_bounds_are_rounded_inward() -> None:
    tenth = Fraction(1, 10)
    low, high = declared_box([QueryVariable("x", Real(tenth, 1 - tenth, float32=True))])["x"]
    assert tenth < low < tenth + Fraction(1, 10**8)
    assert 1 - tenth - Fraction(1, 10**7) < high < 1 - tenth
    assert declared_box([QueryVariable("x", Real(Fraction(1, 2), None, float32=True))])["x"] == (
        Fraction(1, 2),
        None,
    )
    huge = Fraction(10) ** 50
    largest = Fraction(float(np.finfo(np.float32).max))
    assert declared_box([QueryVariable("x", Real(-huge, huge, float32=True))])["x"] == (-largest, largest)
