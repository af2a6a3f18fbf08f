"""Small random environments: several components, locations, vectors, indices, arrays, rewards and choices."""

from fractions import Fraction
from random import Random
from typing import Any

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
from surefoot.term.reserved_names import location_key
from surefoot.term.term import (
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    equal,
    ite,
)
from surefoot.term.value_types import Array, Bool, Int, Real

VARIABLES = (
    Variable("x", Int(0, 4)),
    Variable("y", Int(-3, None)),
    Variable("on", Bool()),
    Variable("r", Real(None, Fraction(7, 3))),
    Variable("a", Array(Int(0, 9), 3)),
)
ACTIONS = ("go", "stop")


def number(random: Random, names: tuple[str, ...], depth: int = 2) -> Term:
    """An integer over the state, mostly small."""
    kind = random.randrange(14) if depth else random.randrange(4)
    if kind < 2:
        return Const(random.randint(-2, 4))
    if kind == 2:
        return Var(random.choice(("x", "y", *names)))
    if kind == 3:
        return Var("a")[random.randrange(3)]
    one, two = number(random, names, depth - 1), number(random, names, depth - 1)
    match kind:
        case 4:
            return one + two
        case 5:
            return one - two
        case 6:
            return Apply(Op.MIN, (one, two))
        case 7:
            return Apply(Op.MOD, (one, random.choice((Const(3), Const(-2), Var("x"), Var("y")))))
        case 8:
            return Apply(Op.MAX, (one, two, Const(1)))
        case 9:
            return -one
        case 10:
            return Apply(Op.ABS, (one,))
        case 11:
            return Apply(Op.FLOOR, (one / 2,))
        case 12:
            return Var("a")[Apply(Op.MOD, (one, Const(3)))]
        case _:
            return ite(condition(random, names, depth - 1), one, two)


def condition(random: Random, names: tuple[str, ...], depth: int = 2) -> Term:
    kind = random.randrange(9) if depth else random.randrange(5)
    one, two = (number(random, names, max(depth - 1, 0)) for _ in range(2))
    match kind:
        case 0:
            return TRUE
        case 1:
            return Var("on")
        case 2:
            return one <= two
        case 3:
            return one < two
        case 4:
            return equal(one, two)
    first, second = (condition(random, names, depth - 1) for _ in range(2))
    match kind:
        case 5:
            return conjunction_of((first, second, Var("x") < 4))
        case 6:
            return disjunction_of((first, second))
        case 7:
            return ~first
        case _:
            return Apply(Op.IMPLIES, (first, second))


def outcome(random: Random, targets: tuple[str, ...], names: tuple[str, ...], probability: Term) -> Outcome:
    values = {
        "x": Apply(Op.MOD, (number(random, names), Const(5))),
        "y": number(random, names),
        "on": condition(random, names),
        "r": number(random, names) / 3,
    }
    updates = [
        Update(Var(n), values[n], random.randrange(3))
        for n in random.sample(sorted(values), random.randrange(4))
    ]
    if random.random() < 0.3:
        place = Var("a")[Apply(Op.MOD, (number(random, names), Const(3)))]
        updates.append(Update(place, Apply(Op.ABS, (number(random, names),)), random.randrange(3)))
    rewards = [
        (name, random.choice((number(random, names), Const(Fraction(1, 3)))))
        for name in random.sample(("cost", "time"), random.randrange(3))
    ]
    return Outcome(probability, tuple(updates), tuple(rewards), random.choice(targets))


def edge(random: Random, locations: tuple[str, ...], places: tuple[str, ...], tag: str) -> Edge:
    chosen = random.choice(((), (), (Choice(f"c{tag}", Int(-1, 1)),), (Choice(f"c{tag}", Bool()),)))
    names = (*places, *(c.name for c in chosen if c.kind != Bool()))
    shares = [random.randint(1, 3) for _ in range(random.randint(1, 3))]
    probabilities: list[Term] = [Const(Fraction(s, sum(shares))) for s in shares]
    if len(shares) == 2 and random.random() < 0.5:
        probabilities = [Var("x") / 4, Const(1) - Var("x") / 4]
    return Edge(
        random.choice(locations),
        random.choice((None, *ACTIONS)),
        condition(random, places),
        chosen,
        outcomes=tuple(outcome(random, locations, names, p) for p in probabilities),
    )


def random_environment(random: Random) -> Environment:
    shapes = [
        (f"part{i}", tuple(f"l{j}" for j in range(random.randint(1, 3)))) for i in range(random.randint(1, 3))
    ]
    places = tuple(location_key(name) for name, locations in shapes if len(locations) > 1)
    components = tuple(
        Component(
            name,
            tuple(edge(random, locations, places, f"{i}_{e}") for e in range(random.randint(1, 3))),
            locations,
            random.choice((locations[:1], locations)),
        )
        for i, (name, locations) in enumerate(shapes)
    )
    vectors = []
    for _ in range(random.randrange(4)):
        parts = tuple(
            random.choice((None, *sorted({e.action for e in c.edges if e.action}))) for c in components
        )
        if any(parts):
            vectors.append(Synchronisation(parts, random.choice((None, "joint"))))
    restriction = random.choice((TRUE, Var("x") < 0, equal(Var("x"), 2), Var("x") < 3, ~Var("on")))
    initial = conjunction_of(
        (
            equal(Var("y"), random.randint(-3, 3)),
            equal(Var("r"), Const(Fraction(random.randint(-2, 2), 3))),
            equal(Var("a"), array_term(*(random.randint(0, 9) for _ in range(3)))),
            restriction,
        )
    )
    return Environment("random", VARIABLES, initial, components, synchronisations=tuple(vectors))


def random_state(random: Random, environment: Environment) -> dict[str, Any]:
    state: dict[str, Any] = {
        "x": random.randint(0, 4),
        "y": random.randint(-3, 5),
        "on": random.random() < 0.5,
        "r": random.choice((0, Fraction(1, 3), Fraction(-2, 3))),
        "a": tuple(random.randint(0, 9) for _ in range(3)),
    }
    for component in environment.components:
        if len(component.locations) > 1:
            state[location_key(component.name)] = random.randrange(len(component.locations))
    return state
