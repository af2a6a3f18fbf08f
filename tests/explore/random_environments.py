"""Random small problems: several components, vectors, arrays, chosen values, ordered updates, policies."""

from fractions import Fraction
from random import Random

import numpy as np

from surefoot.problem.environment import (
    Choice,
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name, location_name
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    array_term,
    conjunction_of,
    equal,
    ite,
)
from surefoot.term.value_types import Array, Bool, Int, ValueType

X, Y, B, A = Var("x"), Var("y"), Var("b"), Var("a")
KINDS: dict[str, ValueType] = {"x": Int(0, 2), "y": Int(-1, 1), "b": Bool(), "a": Array(Int(0, 1), 2)}
ACTIONS = ("go", "stop")


def number(rng: Random, depth: int, names: tuple[str, ...] = ("x", "y")) -> Term:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([Const(rng.randint(-1, 2)), Var(rng.choice(names)), A[index(rng, 2)]])
    left, right = number(rng, depth - 1, names), number(rng, depth - 1, names)
    match rng.randrange(12):
        case 0 | 1 | 2:
            return left + right
        case 3:
            return left - right
        case 4:
            return left * right
        case 5:
            return Apply(Op.FLOOR, (left / divisor(rng, right) + Fraction(1, 2),))
        case 6:
            return left % divisor(rng, right)
        case 7:
            return Apply(rng.choice([Op.MIN, Op.MAX]), (left, right))
        case 8:
            return ite(condition(rng, depth - 1, names), left, right)
        case 9:
            return Apply(rng.choice([Op.ABS, Op.SIGN, Op.NEG]), (left,))
        case 10:
            return array_term(left, right, 1)[index(rng, 3)]
        case _:
            return Apply(rng.choice([Op.CEIL, Op.TRUNC]), (left / 2,))


def index(rng: Random, length: int) -> Term:
    """Mostly inside an array of this length."""
    return rng.choice(
        [Const(0), ite(B, 0, 1), X % length, Y + 1 if length == 3 or rng.random() < 0.03 else X % 2]
    )


def divisor(rng: Random, value: Term) -> Term:
    """Mostly not zero."""
    return value if rng.random() < 0.03 else Apply(Op.ABS, (value,)) + 1


def condition(rng: Random, depth: int, names: tuple[str, ...] = ("x", "y")) -> Term:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([B, ~B, TRUE, number(rng, 0, names) <= number(rng, 0, names)])
    left, right = condition(rng, depth - 1, names), condition(rng, depth - 1, names)
    match rng.randrange(6):
        case 0:
            return left & right
        case 1:
            return left | right
        case 2:
            return Apply(Op.IMPLIES, (left, right))
        case 3:
            return equal(number(rng, depth - 1, names), number(rng, depth - 1, names))
        case 4:
            return number(rng, depth - 1, names) < number(rng, depth - 1, names) / 2
        case _:
            return ~left


def into(kind: ValueType, rng: Random, names: tuple[str, ...]) -> Term:
    """A value that mostly fits the kind."""
    match kind:
        case Bool():
            return condition(rng, 2, names)
        case Int(int() as low, int() as high):
            value = number(rng, 2, names)
            if rng.random() < 0.02:
                return value
            return Apply(Op.MIN, (Apply(Op.MAX, (value, Const(low))), Const(high)))
        case _:
            return rng.choice([A, array_term(into(Int(0, 1), rng, names), rng.randint(0, 1))])


def outcome(rng: Random, probability: Term, locations: int, names: tuple[str, ...]) -> Outcome:
    updates = []
    for name in rng.sample(sorted(KINDS), rng.randint(1, 3)):
        target: Term = Var(name)
        kind = KINDS[name]
        if isinstance(kind, Array) and rng.random() < 0.7:
            target, kind = target[index(rng, 2)], kind.element
        updates.append(Update(target, into(kind, rng, names), rng.choice([0, 0, 0, 1])))
    rewards = (("cost", rng.choice([Const(1), Const(Fraction(1, 2)), X * X, X / 3])),)
    return Outcome(
        probability,
        tuple(updates),
        rewards if rng.random() < 0.5 else (),
        f"l{rng.randrange(locations)}" if locations > 1 else "here",
    )


def probabilities(rng: Random) -> tuple[Term, ...]:
    half = Const(Fraction(1, 2))
    return rng.choice(
        [
            (Const(1),),
            (half, half),
            (Const(Fraction(1, 3)), Const(Fraction(2, 3))),
            ((X + 1) / 4, 1 - (X + 1) / 4),
            (X / 2, 1 - X / 2),
            (1 / (X + 2), half, 1 - 1 / (X + 2) - half),
            (Const(0), Const(1)),
        ]
    )


def edge(
    rng: Random, locations: int, actions: tuple[str | None, ...], free: bool, places: tuple[str, ...]
) -> Edge:
    """`places`: the names of the locations, which terms may read."""
    chosen: tuple[Choice, ...] = ()
    seen: tuple[str, ...] = ("x", "y", *places)
    names = seen
    if free and rng.random() < 0.25:
        chosen, names = (Choice("w", Int(0, 2)),), (*seen, "w")
    return Edge(
        f"l{rng.randrange(locations)}" if locations > 1 else "here",
        rng.choice(actions),
        condition(rng, 2, seen) if rng.random() < 0.4 else TRUE,
        chosen,
        condition(rng, 1, names) if chosen and rng.random() < 0.5 else TRUE,
        tuple(outcome(rng, p, locations, names) for p in probabilities(rng)),
    )


def environment(rng: Random, *, free: bool = True) -> Environment:
    components = []
    sizes = [rng.randint(1, 2) for _ in range(rng.randint(1, 3))]
    named = tuple(f"@c{n}" for n, locations in enumerate(sizes) if locations > 1)
    for n, locations in enumerate(sizes):
        edges = tuple(
            edge(rng, locations, (*ACTIONS, None, None), free, named) for _ in range(rng.randint(2, 5))
        )
        places = tuple(f"l{i}" for i in range(locations)) if locations > 1 else ("here",)
        components.append(Component(f"c{n}", edges, places, places[:1]))
    vectors = []
    for _ in range(rng.randint(0, 3) if len(components) == 1 else rng.randint(1, 4)):
        parts = tuple(rng.choice([*ACTIONS, None]) for _ in components)
        if any(parts):
            vectors.append(Synchronisation(parts, rng.choice(["go", "stop", "both", None])))
    start = [equal(X, 0), equal(Y, 0), B, equal(A, array_term(0, 1))]
    if rng.random() < 0.3:
        start[rng.randrange(2)] = TRUE
    return Environment(
        "random",
        tuple(Variable(n, k) for n, k in KINDS.items()),
        conjunction_of(tuple(start)),
        tuple(components),
        synchronisations=tuple(vectors),
    )


def network(rng: Random, choose: Choose) -> NeuralPolicy:
    def matrix(rows: int, columns: int) -> np.ndarray:
        values = [[rng.choice([-1, -0.5, 0, 0.5, 1, 2]) for _ in range(columns)] for _ in range(rows)]
        return np.array(values, dtype=np.float32)

    layers = [(matrix(3, 3), matrix(1, 3)[0]), (matrix(2, 3), matrix(1, 2)[0])]
    return NeuralPolicy(dense_network(layers), (X, Y / 3, ite(B, 1, 0)), ACTIONS, choose)


def calm(rng: Random) -> Term:
    """Defined everywhere: the reference looks at the policy even where it is not asked."""
    return rng.choice([B, ~B, X <= 1, Y < 1, X < Y, equal(A[0], X)])


def policy(rng: Random) -> Policy | None:
    kind = rng.randrange(5)
    if kind == 0:
        return None
    if kind == 1:
        return network(rng, Choose.ARGMAX)
    if kind == 2:
        return network(rng, Choose.ARGMAX)
    program = ProgramPolicy((Branch(calm(rng), "go"), Branch(calm(rng), rng.choice(["stop", "go"]))), ACTIONS)
    if kind == 3:
        return program
    return ShieldedPolicy(network(rng, Choose.ARGMAX), calm(rng) | Var(chosen_name("stop")), program)


def problem(rng: Random, *, free: bool = True, policies: bool = True) -> Problem:
    return Problem("random", environment(rng, free=free), policy(rng) if policies else None, Never(FALSE))


def labels(asked: Problem) -> dict[str, Term]:
    found: dict[str, Term] = {"low": X <= 1, "ended": Var(DEADLOCKED), "pair": equal(A[0], A[1]) & B}
    for component in asked.environment.components:
        found[component.name] = Var(location_name(component.name, component.locations[-1]))
    if asked.policy is not None:
        found |= {"stalled": Var(STALLED), "going": Var(chosen_name("go"))}
    return found
