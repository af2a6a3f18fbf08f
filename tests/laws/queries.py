"""Random small queries: whole numbers, truth values, reals, clauses, partial operators, small networks."""

from fractions import Fraction

from hypothesis import strategies as st

from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
    freeze_float32,
    freeze_indices,
)
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.term import Apply, Const, Op, Term, Var, array_term, equal, ite
from surefoot.term.value_types import Bool, Int, Real

SMALL = st.integers(-3, 3)
HALVES = st.integers(-6, 6).map(lambda n: Fraction(n, 2))
WHOLE = st.sampled_from([Var("i"), Var("j")])
TRUTH = st.sampled_from([Var("p"), Var("q")])


def applied(op: Op, *args: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.tuples(*args).map(lambda several: Apply(op, several))


def numbers(leaves: st.SearchStrategy[Term], depth: int) -> st.SearchStrategy[Term]:
    """Number-valued terms, some of them undefined somewhere."""
    if depth == 0:
        return st.one_of(SMALL.map(Const), leaves)
    inner = numbers(leaves, depth - 1)
    unary = (Op.NEG, Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC)
    return st.one_of(
        inner,
        *(applied(op, inner, inner) for op in (Op.ADD, Op.SUB, Op.MIN, Op.MAX)),
        st.sampled_from(unary).flatmap(lambda op: applied(op, inner)),
        applied(Op.MUL, inner, WHOLE),
        applied(Op.MUL, HALVES.map(Const), inner),
        applied(Op.DIV, inner, st.one_of(WHOLE, SMALL.map(Const))),
        applied(Op.MOD, inner, st.one_of(WHOLE, SMALL.map(Const))),
        applied(Op.POW, WHOLE, st.integers(-2, 3).map(Const)),
        st.builds(ite, truths(leaves, depth - 1), inner, inner),
        st.builds(lambda a, b, c, i: array_term(a, b, c)[i], inner, inner, inner, st.one_of(WHOLE, inner)),
    )


def truths(leaves: st.SearchStrategy[Term], depth: int) -> st.SearchStrategy[Term]:
    """Truth-valued terms."""
    below = numbers(leaves, max(0, depth - 1))
    atoms = st.one_of(*(applied(op, below, below) for op in (Op.LT, Op.LE, Op.EQ)), TRUTH)
    if depth == 0:
        return atoms
    inner = truths(leaves, depth - 1)
    return st.one_of(
        atoms,
        *(applied(op, inner, inner) for op in (Op.AND, Op.OR, Op.IMPLIES, Op.EQ)),
        st.builds(lambda a, b, c: Apply(Op.OR, (a, b, c)), inner, inner, inner),
        applied(Op.NOT, inner),
        st.builds(ite, inner, inner, inner),
        st.builds(lambda a, b, i: array_term(a, b)[i], inner, inner, WHOLE),
    )


TRUTHS = (QueryVariable("p", Bool()), QueryVariable("q", Bool()))


@st.composite
def whole_queries(draw: st.DrawFn) -> Query:
    """Only whole numbers and truth values: few enough assignments to try them all."""
    low, width = draw(st.integers(-2, 1)), draw(st.integers(-1, 3))
    quantities = (QueryVariable("i", Int(low, low + width)), QueryVariable("j", Int(-1, 2)), *TRUTHS)
    return Query(quantities, tuple(draw(st.lists(truths(WHOLE, 2), min_size=1, max_size=3))))


@st.composite
def mixed_queries(draw: st.DrawFn) -> Query:
    """With two real quantities, one of them perhaps fixed or in a very narrow box."""
    leaves = st.one_of(WHOLE, st.sampled_from([Var("x"), Var("y")]))
    low = Fraction(draw(st.integers(-20, 20)), 10)
    width = draw(st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1), Fraction(3)]))
    quantities = (
        QueryVariable("x", Real(low, low + width)),
        QueryVariable("y", Real(Fraction(-2), Fraction(2))),
        QueryVariable("i", Int(-2, 2)),
        QueryVariable("j", Int(-1, 2)),
        *TRUTHS,
    )
    return Query(quantities, tuple(draw(st.lists(truths(leaves, 2), min_size=1, max_size=3))))


WEIGHT = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-2, 2, width=16))


@st.composite
def networks(draw: st.DrawFn, inputs: int, outputs: int) -> Network:
    """Piecewise-linear networks with dead and duplicate neurons, one of every kind of node somewhere."""
    nodes: list[Node] = []

    def affine(width: int, source_width: int) -> None:
        rows = [[draw(WEIGHT) for _ in range(source_width)] for _ in range(width)]
        if width > 1 and draw(st.booleans()):
            rows[1] = rows[0]
        bias = [draw(WEIGHT) for _ in range(width)]
        nodes.append(Affine(len(nodes), freeze_float32(rows), freeze_float32(bias)))

    hidden = draw(st.integers(1, 4))
    affine(hidden, inputs)
    shape = draw(st.sampled_from([Shape.RELU, Shape.RELU, Shape.LEAKY_RELU, Shape.CLIP]))
    parameters = {Shape.LEAKY_RELU: (0.25,), Shape.CLIP: (-0.5, 0.75)}.get(shape, ())
    nodes.append(Activation(len(nodes), shape, parameters))
    extra = draw(st.sampled_from(["none", "elementwise", "maximum", "add", "join"]))
    width = hidden
    if extra == "elementwise":
        nodes.append(Elementwise(len(nodes), draw(st.sampled_from(Constant)), freeze_float32([2.0] * hidden)))
    elif extra in ("maximum", "add"):
        nodes.append(Combine(1, len(nodes), Pairing.MAXIMUM if extra == "maximum" else Pairing.ADD))
    elif extra == "join":
        nodes.append(Pick(len(nodes), freeze_indices([0] * hidden)))
        nodes.append(Join((len(nodes), 0)))
        width = hidden + inputs
    affine(outputs, width)
    return Network(inputs, tuple(nodes))


@st.composite
def network_queries(draw: st.DrawFn) -> Query:
    """One network, a box that may be a point, very narrow or empty, and clauses over inputs and outputs."""
    quantities = []
    for name in ("x", "y"):
        low = Fraction(draw(st.integers(-10, 10)), 10)
        width = Fraction(draw(st.sampled_from(["-1/10", "0", "1/1000000", "1", "2"])))
        if width < 0 and draw(st.integers(0, 3)):
            width = Fraction(1)
        quantities.append(QueryVariable(name, Real(low, low + width)))
    quantities += [
        QueryVariable("i", Int(-1, 1)),
        QueryVariable("u", Real()),
        QueryVariable("v", Real()),
        *TRUTHS,
    ]
    network = draw(networks(2, 2))
    first = draw(st.sampled_from([Var("x"), Var("x") + Var("i"), ite(Var("p"), Var("x"), Var("y"))]))
    slack = draw(st.sampled_from([(), (Fraction(0), Fraction(1, 8))]))
    call = NetworkCall(network, (first, Var("y")), ("u", "v"), slack)
    leaves = st.sampled_from([Var(n) for n in ("x", "y", "u", "v", "i")])
    linear = st.builds(lambda a, m, b, c: a * m + b <= Const(c), leaves, SMALL.map(Const), leaves, HALVES)
    strict = st.builds(lambda a, b, c: a - b < Const(c), leaves, leaves, HALVES)
    tie = st.builds(lambda a, c: equal(a, c), st.sampled_from([Var("i"), Var("x")]), HALVES)
    atoms = st.one_of(linear, strict, tie, TRUTH, TRUTH.map(lambda t: ~t))
    clauses = st.lists(st.lists(atoms, min_size=1, max_size=3), min_size=1, max_size=3)
    constraints = tuple(Apply(Op.OR, tuple(c)) if len(c) > 1 else c[0] for c in draw(clauses))
    return Query(tuple(quantities), constraints, (call,))
