"""Random problems in which much is drawn before it is read, and questions about them."""

from fractions import Fraction
from random import Random
from typing import Any

from tests.explore import random_environments
from tests.explore.random_environments import B, condition

from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Expected, Path, Probability, Property
from surefoot.query.markov import Optimise
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal, ite
from surefoot.term.value_types import Bool, Int

T, COINS = Var("t"), tuple(Var(f"c{n}") for n in range(4))
SHARES = (
    (Fraction(1, 2),) * 2,
    (Fraction(1, 3), Fraction(2, 3)),
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
)


def coin_value(rng: Random) -> Term:
    """Mostly a constant, sometimes what another coin shows, or a sum of two."""
    other, more = rng.choice(COINS), rng.choice(COINS)
    kind = rng.randrange(12)
    if kind < 7:
        return Const(rng.randint(0, 2))
    if kind < 9:
        return Apply(Op.MIN, (other + 1, Const(2)))
    return other if kind < 11 else Apply(Op.MIN, (other + more, Const(2)))


def coin_condition(rng: Random, depth: int = 2) -> Term:
    if depth == 0 or rng.random() < 0.3:
        coin, other = rng.choice(COINS), rng.choice(COINS)
        return rng.choice(
            (equal(coin, rng.randint(0, 2)), coin <= 1, coin < other, equal(coin, other), B, Const(1) < coin)
        )
    left, right = coin_condition(rng, depth - 1), coin_condition(rng, depth - 1)
    kind = rng.randrange(5)
    if kind < 2:
        return left & right
    if kind < 4:
        return left | right
    return rng.choice((~left, Apply(Op.IMPLIES, (left, right)), ite(B, left, right)))


def drawing(rng: Random, more: tuple[Update, ...]) -> tuple[Outcome, ...]:
    """Outcomes that write coins, some of them several at once; sometimes their shares or rewards read one."""
    coins = rng.sample(COINS, rng.randint(1, 2))
    shares: tuple[Fraction | Term, ...] = rng.choice((*SHARES, (Fraction(1),)))
    if rng.random() < 0.1:
        shares = (COINS[0] / 2, 1 - COINS[0] / 2)
    found = []
    for share in shares:
        written = coins if rng.random() < 0.8 else coins[:1]
        updates = [Update(coin, coin_value(rng)) for coin in written]
        paid = rng.choice((Const(1), Const(2), COINS[1], ite(coin_condition(rng, 1), 1, 0)))
        rewards = (("cost", paid),) if rng.random() < 0.4 else ()
        probability = share if isinstance(share, Term) else Const(share)
        found.append(Outcome(probability, (*updates, *more), rewards))
    return tuple(found)


def clocked(rng: Random) -> Environment:
    """A clock counts, and at each tick something is drawn, moved, or read."""
    last = rng.randint(3, 6)
    edges, many = [], rng.random() < 0.3
    for tick in range(last):
        here = (Update(T, Const(tick + 1)),)
        action = "tick" if many else None
        if rng.random() < 0.25:
            asked = coin_condition(rng)
            for guard in (asked, ~asked):
                edges.append(Edge("here", action, equal(T, tick) & guard, outcomes=drawing(rng, here)))
        else:
            edges.append(Edge("here", action, equal(T, tick), outcomes=drawing(rng, here)))
            if rng.random() < 0.1:
                edges.append(Edge("here", action, equal(T, tick), outcomes=drawing(rng, here)))
    end = rng.choice(((), (Update(T, Const(rng.randrange(last))),), (Update(B, ~B),)))
    if rng.random() < 0.8:
        edges.append(Edge("here", None, equal(T, last), outcomes=(Outcome(Const(1), end),)))
    components = [Component("clock", tuple(edges))]
    vectors = (
        [Synchronisation(("tick", *(("tick",) if rng.random() < 0.8 else (None,))), "tick")] if many else []
    )
    if many:
        flips = tuple(
            Outcome(Const(s), (Update(B, Const(n == 0)),)) for n, s in enumerate(rng.choice(SHARES[:2]))
        )
        other = [
            Edge("here", "tick", guard, outcomes=flips) for guard in rng.choice(((TRUE,), (B, ~B), (B,)))
        ]
        components.append(Component("other", tuple(other)))
    kinds = (
        Variable("t", Int(0, last)),
        Variable("b", Bool()),
        *(Variable(c.name, Int(0, 2)) for c in COINS),
    )
    start = [equal(T, 0), ~B, *(equal(c, 0) for c in COINS)]
    if rng.random() < 0.3:
        start[2] = COINS[0] <= 1
    return Environment(
        "clocked", kinds, conjunction_of(tuple(start)), tuple(components), synchronisations=tuple(vectors)
    )


def question(rng: Random, of_coins: bool) -> Property:
    def asked() -> Term:
        return coin_condition(rng) if of_coins else condition(rng, 2)

    final = asked() & (T >= 2) if of_coins and rng.random() < 0.5 else asked()
    optimise: Optimise | None = rng.choice((None, "min", "max"))
    steps = rng.choice((None, None, None, rng.randint(1, 5)))
    if rng.random() < 0.35:
        worth = rng.choice(("cost", "cost", "steps", ite(asked(), 1, 0)))
        return Expected(worth, final, None, optimise, steps=steps)
    bounds = () if steps is None else (Bound(None, Const(steps)),)
    operator: Any = rng.choice("FUGWRF")
    return Probability(Path(operator, final, asked(), bounds), None, optimise)


def problem(seed: int) -> Problem:
    """A problem about a probability or an expected reward; not all of them are well defined."""
    rng = Random(seed)
    if seed % 3:
        world, policy = clocked(rng), None
        if rng.random() < 0.2 and len(world.components) == 1:
            names = tuple(f"clock#{n}" for n in range(len(world.components[0].edges)))
            policy = ProgramPolicy((Branch(coin_condition(rng, 1), rng.choice(names)),), names)
        return Problem(f"random-{seed}", world, policy, question(rng, True))
    world = random_environments.environment(rng, free=rng.random() < 0.1)
    policies = [random_environments.policy(rng) for _ in range(1)]
    return Problem(f"random-{seed}", world, policies[0], question(rng, False))
