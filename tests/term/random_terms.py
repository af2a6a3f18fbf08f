"""Random terms over integers, reals, truth values and arrays: typed, but undefined or huge in places."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from surefoot.term.term import Apply, Const, Op, Term, Var, equal
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

KINDS: dict[str, ValueType] = {
    "n": Int(-3, 4),
    "m": Int(1, 2),
    "x": Real(Fraction(-1, 2), Fraction(5, 2)),
    "y": Real(Fraction(1), None),
    "f": Real(Fraction(-4), Fraction(4), float32=True),
    "b": Bool(),
    "a": Array(Int(0, 7), 3),
    "r": Array(Real(Fraction(0), Fraction(1)), 2),
    "t": Array(Bool(), 2),
    "g": Array(Array(Int(0, 2), 2), 2),
}
SCALARS = {name: kind for name, kind in KINDS.items() if not isinstance(kind, Array)}
UNARY = [Op.NEG, Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS]
UNARY += [Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH]
MANY = [Op.ADD, Op.MUL, Op.MIN, Op.MAX]
HUGE = [10**400, -(10**400), Fraction(1, 10**400), Fraction(10**30, 3), 2**24, 2**24 + 1, Fraction(1, 8)]


def _apply(op: Op) -> object:
    return lambda parts: Apply(op, tuple(parts))


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3, arrays: bool = True, whole: bool = False) -> Term:
    """A number; `whole`: of the kind of integers."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        names = ["n", "m"] if whole else ["n", "m", "x", "y", "f"]
        constants = st.integers(-3, 3) if whole else st.fractions(-3, 3, max_denominator=4)
        leaves = st.one_of(st.sampled_from(names).map(Var), constants.map(Const))
        return draw(leaves if whole else st.one_of(leaves, st.sampled_from(HUGE).map(Const)))
    inner = numbers(depth=depth - 1, arrays=arrays, whole=whole)
    integers = numbers(depth=depth - 1, arrays=arrays, whole=True)
    choices = [
        st.tuples(st.sampled_from(MANY), st.lists(inner, min_size=2, max_size=3)).map(
            lambda p: Apply(p[0], tuple(p[1]))
        ),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        st.tuples(conditions(depth=depth - 1, arrays=arrays), inner, inner).map(lambda p: Apply(Op.ITE, p)),
        st.tuples(inner, st.integers(0 if whole else -2, 3)).map(
            lambda p: Apply(Op.POW, (p[0], Const(p[1])))
        ),
        st.tuples(integers, integers).map(lambda p: Apply(Op.MOD, p)),
        integers.map(lambda p: Apply(Op.POW, (p, Var("n")))),
        st.tuples(st.sampled_from(UNARY[:2] if whole else UNARY), inner).map(lambda p: Apply(p[0], (p[1],))),
    ]
    if not whole:
        choices.append(st.tuples(inner, inner).map(lambda p: Apply(Op.DIV, p)))
        choices.append(inner.map(lambda p: p * p))  # one object twice
    if arrays:
        tables = st.one_of(
            st.just(Var("a")) if whole else st.sampled_from([Var("a"), Var("r")]),
            integers.map(lambda i: Var("g")[i]),
            st.lists(inner, min_size=1, max_size=3).map(_apply(Op.ARRAY)),  # type: ignore[arg-type]
        )
        choices.append(st.tuples(tables, integers).map(lambda p: Apply(Op.SELECT, p)))
    return draw(st.one_of(choices))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3, arrays: bool = True) -> Term:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([Var("b"), Const(True), Const(False), Var("n") < 2]))
    number, inner = numbers(depth=depth - 1, arrays=arrays), conditions(depth=depth - 1, arrays=arrays)
    choices = [
        st.tuples(st.sampled_from([Op.LT, Op.LE, Op.EQ]), number, number).map(lambda p: Apply(p[0], p[1:])),
        st.tuples(st.sampled_from([Op.AND, Op.OR]), st.lists(inner, min_size=2, max_size=3)).map(
            lambda p: Apply(p[0], tuple(p[1]))
        ),
        st.tuples(inner, inner).map(lambda p: Apply(Op.IMPLIES, p)),
        st.tuples(inner, inner).map(lambda p: equal(*p)),
        inner.map(lambda p: ~p),
        st.tuples(inner, inner, inner).map(lambda p: Apply(Op.ITE, p)),
    ]
    if arrays:
        choices.append(numbers(depth=depth - 1, whole=True).map(lambda i: Var("t")[i]))
    return draw(st.one_of(choices))


terms = st.one_of(numbers(), conditions())
scalar_terms = st.one_of(numbers(arrays=False), conditions(arrays=False))
states = st.fixed_dictionaries(
    {
        "n": st.integers(-3, 4),
        "m": st.integers(1, 2),
        "x": st.fractions(Fraction(-1, 2), Fraction(5, 2), max_denominator=6),
        "y": st.one_of(st.fractions(1, 9, max_denominator=6), st.just(Fraction(10**40, 3))),
        "f": st.sampled_from([Fraction(-4), Fraction(1, 8), Fraction(3)]),
        "b": st.booleans(),
        "a": st.tuples(*[st.integers(0, 7)] * 3),
        "r": st.tuples(*[st.sampled_from([0, 1, Fraction(1, 2), Fraction(1, 3)])] * 2),
        "t": st.tuples(st.booleans(), st.booleans()),
        "g": st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2),
    }
)
