from fractions import Fraction

import pytest

from surefoot.errors import Unsupported
from surefoot.term.linear import LinearForm, linearise_term, term_from_linear
from surefoot.term.term import Apply, Const, Op, Term, Var, ite

x, y = Var("x"), Var("y")
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("term", "coefficients", "constant"),
    [
        (x + y * 2 - 3, {"x": 1, "y": 2}, -3),
        (x - x, {}, 0),
        (x + x - y + y, {"x": 2}, 0),
        (-(x - 1) / 2, {"x": -HALF}, HALF),
        (Const(3) * (x + 1) * HALF, {"x": Fraction(3, 2)}, Fraction(3, 2)),
        (x * (y - y + 2), {"x": 2}, 0),
        (Apply(Op.MAX, (Const(1), Const(2))) * x, {"x": 2}, 0),
        (Const(7) % 4 + x, {"x": 1}, 3),
    ],
)
def test_linear_terms(term: Term, coefficients: dict[str, Fraction], constant: Fraction) -> None:
    linear = linearise_term(term)
    assert (dict(linear.coefficients), linear.constant) == (coefficients, constant)
    assert linearise_term(term_from_linear(linear)) == linear


@pytest.mark.parametrize("term", [x * y, x / y, x**2, Apply(Op.ABS, (x,)), ite(x < 1, x, y), x / 0, x <= 1])
def test_refuses_others_by_name(term: Term) -> None:
    with pytest.raises(Unsupported, match="is not linear"):
        linearise_term(term)


def test_evaluates() -> None:
    assert LinearForm((("x", HALF),), Fraction(1)).at({"x": 3}) == Fraction(5, 2)
