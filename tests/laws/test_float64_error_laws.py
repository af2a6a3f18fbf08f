"""Law: what a term is computed to in float64 is no further from its exact value than the bound says."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.term.evaluate import evaluate_term
from surefoot.term.float64_error import float64_error
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Real

NAMES = ("x", "y")
NUMBERS = st.one_of(
    st.integers(-5, 5).map(Const),
    st.fractions(-4, 4, max_denominator=100).map(Const),
    st.sampled_from([Var(n) for n in NAMES]),
)
OPERATORS = [Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MIN, Op.MAX]
UNARY = [Op.NEG, Op.ABS, Op.SIN, Op.COS, Op.TANH, Op.ATAN, Op.SQRT]


def _extend(parts: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.one_of(
        st.builds(lambda op, a, b: Apply(op, (a, b)), st.sampled_from(OPERATORS), parts, parts),
        st.builds(lambda a, b, c: Apply(Op.ADD, (a, b, c)), parts, parts, parts),
        st.builds(lambda op, a: Apply(op, (a,)), st.sampled_from(UNARY), parts),
        st.builds(lambda a, n: Apply(Op.POW, (a, Const(n))), parts, st.integers(1, 5)),
    )


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(NUMBERS, _extend, max_leaves=8),
    st.tuples(*[st.floats(-3, 3, width=32) for _ in NAMES]),
)
def test_rounding_is_bounded(term: Term, values: tuple[float, ...]) -> None:
    kinds = {n: Real(Fraction(-3), Fraction(3)) for n in NAMES}
    try:
        bound = float64_error(term, kinds)
    except SurefootError:
        assume(False)
    state = {n: Fraction(v) for n, v in zip(NAMES, values, strict=True)}
    try:
        exact = Fraction(evaluate_term(term, state))
        computed = Fraction(evaluate_term(term, state, Arithmetic.FLOAT64))
    except (SurefootError, ArithmeticError):
        assume(False)
    assert abs(exact - computed) <= bound + Fraction(
        1, 2**50
    )  # the exact meaning rounds elementary functions, too
