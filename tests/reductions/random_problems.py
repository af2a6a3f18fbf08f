"""Random small problems for Hypothesis: a few components, finite variables, tiny networks with whole weights.

Whole weights and small inputs make float32 exact, so an encoding without rounding slack must agree with the
reference semantics completely, ties included.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import (
    Branch,
    Choose,
    EdgesOf,
    NeuralPolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, array_term, equal, ite
from surefoot.term.value_types import Array, Bool, Int, Real

X, Y, B, A, G, R = (Var(n) for n in "xybagr")
VARIABLES = (
    Variable("x", Int(-2, 3)),
    Variable("y", Int(0, 2)),
    Variable("b", Bool()),
    Variable("a", Array(Int(0, 2), 3)),
    Variable("g", Array(Array(Bool(), 2), 2)),
    Variable("r", Real(Fraction(-1), Fraction(2))),
)
LABELS = ("go", "turn", "stop")
Draw = Callable[[st.SearchStrategy[Any]], Any]


def limited(value: Term, low: int, high: int) -> Term:
    return Apply(Op.MAX, (Const(low), Apply(Op.MIN, (Const(high), value))))


INDICES = st.sampled_from((Y, Const(1), limited(X, 0, 2), ite(B, 2, Y)))
ROWS = st.sampled_from((Const(0), ite(B, 0, 1), limited(X, 0, 1), ite(X < 1, 1, 0)))
NUMBERS = st.one_of(
    st.sampled_from((X, Y, X + Y, X - 1, 2 * Y, -X, X % 2, Apply(Op.ABS, (X,)), ite(B, X, Y), R + X)),
    st.integers(-2, 2).map(Const),
    INDICES.map(lambda i: A[i]),
    st.sampled_from((Apply(Op.FLOOR, (R,)), Apply(Op.SIGN, (X,)), array_term(0, Y, X)[Y], X / 2, X**2)),
)
CONDITIONS = st.one_of(
    st.tuples(NUMBERS, NUMBERS).map(lambda p: p[0] <= p[1]),
    st.tuples(NUMBERS, NUMBERS).map(lambda p: p[0] < p[1]),
    st.tuples(NUMBERS, NUMBERS).map(lambda p: ~equal(p[0], p[1])),
    st.tuples(ROWS, ROWS).map(lambda p: G[p[0]][p[1]]),
    st.sampled_from((TRUE, B, ~B, equal(B, X > 0), B | (X > 1), Apply(Op.IMPLIES, (B, Y > 0)))),
    st.sampled_from((equal(A, array_term(0, Y, 1)), equal(G[0], G[1]), equal(ite(B, G[0], G[1])[0], B))),
)
# Each component writes its own variables, so that synchronised edges never write one twice.
OWN: tuple[tuple[st.SearchStrategy[Update], ...], ...] = (
    (
        NUMBERS.map(lambda v: Update(X, limited(Apply(Op.FLOOR, (v,)), -2, 3))),
        CONDITIONS.map(lambda c: Update(B, c)),
    ),
    (
        NUMBERS.map(lambda v: Update(Y, limited(Apply(Op.CEIL, (v,)), 0, 2))),
        st.tuples(ROWS, ROWS, CONDITIONS).map(lambda p: Update(G[p[0]][p[1]], p[2])),
        st.tuples(ROWS, CONDITIONS).map(lambda p: Update(G[p[0]], array_term(p[1], B), 1)),
    ),
    (
        INDICES.map(lambda i: Update(A[i], ite(B, 1, Y))),
        NUMBERS.map(lambda v: Update(R, limited(v / 2, -1, 2))),
    ),
)
WILD = (  # may leave the kind or the array, may be undefined
    (Update(X, X + Y), Update(X, X / 2)),
    (Update(Y, 2 / (X + 1)), Update(Y, A[X])),
    (Update(A[X], Y), Update(A[Y], X), Update(R, R + 1)),
)


@st.composite
def edges(draw: Draw, number: int, locations: tuple[str, ...], wild: bool) -> Edge:
    chosen: tuple[Choice, ...] = ()
    assuming: Term = TRUE
    if draw(st.integers(0, 3)) == 0:
        chosen = (Choice("w", Int(0, 2)),)
        assuming = draw(st.sampled_from((TRUE, Var("w") > 0, Var("w") <= Y, Var("w") + X < 2)))
    shares = draw(
        st.sampled_from(((1,), (1,), (Fraction(1, 3), Fraction(2, 3)), (ite(B, 1, 0), ite(B, 0, 1))))
    )
    outcomes = []
    for share in shares:
        updates = [draw(u) for u in OWN[number] if draw(st.booleans())]
        if chosen and number == 0 and not any(u.target == X for u in updates):
            updates.append(Update(X, limited(X + Var("w"), -2, 3), draw(st.integers(0, 1))))
        if wild and draw(st.integers(0, 2)) == 0:
            updates = [draw(st.sampled_from(WILD[number]))]
        likelihood = share if isinstance(share, Apply) else Const(share)
        outcomes.append(Outcome(likelihood, tuple(updates), (), draw(st.sampled_from(locations))))
    action = draw(st.sampled_from((None, *LABELS)))
    return Edge(draw(st.sampled_from(locations)), action, draw(CONDITIONS), chosen, assuming, tuple(outcomes))


@st.composite
def environments(draw: Draw, wild: bool = False) -> Environment:
    count = draw(st.integers(1, 3))
    components = []
    for number in range(count):
        locations = draw(st.sampled_from((("here",), ("here", "there"))))
        own = draw(st.lists(edges(number, locations, wild), min_size=1, max_size=3))
        components.append(Component(f"c{number}", tuple(own), locations, locations[:1]))
    vectors: list[Synchronisation] = []
    if count > 1:
        slot = st.sampled_from((None, *LABELS))
        for _ in range(draw(st.integers(1, 3))):
            actions = tuple(draw(slot) for _ in range(count))
            vectors.append(Synchronisation(actions, draw(st.sampled_from((None, *LABELS)))))
    return Environment("random", VARIABLES, draw(CONDITIONS), tuple(components), (), tuple(vectors))


@st.composite
def networks(draw: Draw, inputs: int, outputs: int) -> Network:
    def layer(rows: int, columns: int) -> tuple[object, object]:
        whole = st.integers(-2, 2)
        weights = [[draw(whole) for _ in range(columns)] for _ in range(rows)]
        return weights, [draw(whole) for _ in range(rows)]

    if draw(st.booleans()):
        return dense_network([layer(outputs, inputs)])
    return dense_network([layer(2, inputs), layer(outputs, 2)])


@st.composite
def neural(draw: Draw, environment: Environment) -> NeuralPolicy:
    observe = draw(st.sampled_from(((X,), (Y, B), (X, A[Y]), (X - Y, G[0][1]))))
    number = draw(st.integers(0, 4))
    if number == 0:
        component = environment.components[0]
        order = tuple(draw(st.permutations(range(len(component.edges)))))
        actions, count = EdgesOf(component.name, order), len(order)
    else:
        labels = LABELS[: draw(st.integers(1, 3))]
        actions, count = labels, len(labels)
    choose = draw(st.sampled_from((Choose.ARGMAX, Choose.ARGMAX_APPLICABLE, Choose.SAMPLE)))
    return NeuralPolicy(draw(networks(len(observe), count)), observe, actions, choose)


@st.composite
def policies(draw: Draw, environment: Environment, depth: int = 2) -> Policy:
    shape = draw(st.integers(0, 5)) if depth else 0
    if shape <= 2:
        return draw(neural(environment))
    if shape <= 4:
        inner = st.one_of(st.sampled_from(LABELS), policies(environment, depth - 1))
        branches = draw(st.lists(st.tuples(CONDITIONS, inner), min_size=1, max_size=3))
        return ProgramPolicy(tuple(Branch(c, t) for c, t in branches))
    permits = draw(st.one_of(CONDITIONS, st.sampled_from((Var("chosen(go)"), ~Var("chosen(turn)") | B))))
    inner_policy = draw(policies(environment, depth - 1))
    known = ("chosen(go)", "chosen(turn)")
    names = {f"chosen({n})" for n in _names(inner_policy, environment)}
    if not set(known) <= names:
        permits = draw(CONDITIONS)
    return ShieldedPolicy(inner_policy, permits, draw(policies(environment, depth - 1)))


def _names(policy: Policy, environment: Environment) -> tuple[str, ...]:
    from surefoot.problem.meaning.decision import action_names

    return action_names(policy, environment)


@st.composite
def problems(draw: Draw, wild: bool = False) -> Problem:
    environment = draw(environments(wild))
    policy = draw(st.one_of(st.none(), policies(environment)))
    return Problem("random", environment, policy, Never(FALSE))


U = Var("u")


@st.composite
def control_problems(draw: Draw) -> Problem:
    """One component; a policy sets the control `u`, which guards and updates mention."""
    step = Apply(Op.FLOOR, (U + X,))
    moves = (
        Edge(
            guard=draw(st.integers(-2, 1)) < U,
            outcomes=(Outcome(updates=(Update(X, limited(step, -2, 3)),)),),
        ),
        Edge(guard=draw(CONDITIONS), outcomes=(Outcome(updates=(Update(R, limited(U / 2, -1, 2)),)),)),
    )
    control = Control("u", Fraction(-3, 2), draw(st.sampled_from((None, Fraction(2)))), draw(st.booleans()))
    environment = Environment("controlled", VARIABLES, TRUE, (Component("c", moves),), (control,))
    first = NeuralPolicy(draw(networks(2, 1)), (X, B), (), Choose.VALUE)
    branches = (
        Branch(draw(CONDITIONS), (R - X,)),
        Branch(draw(CONDITIONS), first),
        Branch(TRUE, (Const(1),)),
    )
    program = ProgramPolicy(branches[: draw(st.integers(2, 3))])
    shield = ShieldedPolicy(first, draw(st.sampled_from((U < 1, equal(U, 0), B))), program)
    return Problem("controlled", environment, draw(st.sampled_from((first, program, shield))), Never(FALSE))


def states(environment: Environment) -> st.SearchStrategy[dict[str, Any]]:
    """Any state of the random environments."""
    whole = st.integers(0, 2)
    parts: dict[str, st.SearchStrategy[Any]] = {
        "x": st.integers(-2, 3),
        "y": whole,
        "b": st.booleans(),
        "a": st.tuples(whole, whole, whole),
        "g": st.tuples(*[st.tuples(st.booleans(), st.booleans())] * 2),
        "r": st.sampled_from([Fraction(n, 2) for n in range(-2, 5)]),
    }
    for component in environment.components:
        if len(component.locations) > 1:
            parts[f"@{component.name}"] = st.integers(0, 1)
    return st.fixed_dictionaries(parts)
