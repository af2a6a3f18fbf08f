"""How often runs succeed, against the exact probability: missed with a chance of one in a million at most."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.stats import binom
from tests.explore.random_environments import calm, problem

from surefoot.engines.explicit import Explicit
from surefoot.errors import Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.explore.uniform_policy import resolve_uniformly
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Path, Probability
from surefoot.query.markov import Until
from surefoot.simulate.path_property import ENDED, FAILED, SUCCEEDED, UNDECIDED, PathProperty, RunOutcomes
from surefoot.simulate.simulator import make_simulator
from surefoot.solvers.markov import solve_markov
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE, Const, Var, conjunction_of, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget

RISK = 1e-6
X = Var("x")


def walk(up: Fraction) -> Environment:
    """Between 0 and 6 one step up or down; there it ends."""
    inside = conjunction_of((X > 0, X < 6))
    moves = (
        Outcome(Const(up), (Update(X, X + 1),)),
        Outcome(Const(1 - up), (Update(X, X - 1),)),
    )
    edge = Edge(guard=inside, outcomes=moves)
    return Environment("walk", (Variable("x", Int(0, 6)),), equal(X, 3), (Component("c", (edge,)),))


def is_likely(successes: int, runs: int, probability: Fraction) -> bool:
    """Neither tail of the exact binomial distribution is below half the risk."""
    p = float(probability)
    return bool(binom.cdf(successes, runs, p) > RISK / 2 and binom.sf(successes - 1, runs, p) > RISK / 2)


@pytest.mark.parametrize("up", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(99, 100)])
def test_a_walk_ends_where_it_should(up: Fraction) -> None:
    asked = Problem("walk", walk(up), None, Probability(Path("F", equal(X, 6))))
    exact = Explicit(exact=True).check(asked, Budget())
    assert isinstance(exact, Exact)
    assert exact.low is not None
    found = make_simulator(asked, PathProperty(equal(X, 6)), max_steps=10_000).runs(1, None, 0, 3000)
    assert is_likely(found.count(SUCCEEDED), 3000, Fraction(exact.low))
    assert found.count(SUCCEEDED) + found.count(ENDED) == 3000
    assert not is_likely(found.count(SUCCEEDED), 3000, Fraction(exact.low) + Fraction(1, 5))


def test_steps_are_counted_from_the_start() -> None:
    asked = Problem("walk", walk(Fraction(1)), None, Probability(Path("F", TRUE)))

    def of(low: int | None, high: int | None) -> RunOutcomes:
        return make_simulator(asked, PathProperty(equal(X, 6), low=low, high=high), max_steps=5).runs(
            0, 0, 0, 4
        )

    assert of(None, None).steps.tolist() == [3] * 4
    assert of(None, 3).outcome.tolist() == [SUCCEEDED] * 4
    assert of(None, 2).outcome.tolist() == [FAILED] * 4
    assert of(4, 8).steps.tolist() == [4] * 4  # the run has ended, and stays where it is
    assert np.all(of(4, 8).outcome == SUCCEEDED)


def test_random_chains() -> None:
    """Random environments in which every choice is equally likely, against the exact probability."""
    rng, inside = Random(11), 0
    for _ in range(60):
        asked, condition = problem(rng, free=False), calm(rng) & calm(rng)
        try:
            explored = resolve_uniformly(explore_problem(asked, labels={"goal": condition}))
            simulator = make_simulator(
                asked, PathProperty(condition), max_steps=1000, tier="llvm", uniform=True
            )
            found = simulator.runs(2, 0, 0, 1000)
        except (Undefined, Unsupported):
            continue
        everywhere = np.ones(explored.markov.states, dtype=np.bool_)
        question = Until("max", everywhere, explored.markov.labels["goal"], None, 0)
        answer = solve_markov(explored.markov, question, width=Fraction(1, 1000), exact=True)
        exact = Fraction(answer.low[0]) / answer.scale
        assert explored.valuation(0) == simulator.starts.valuation(0)
        assert is_likely(found.count(SUCCEEDED), 1000, exact), exact
        assert found.count(UNDECIDED) == 0 or exact < 1
        inside += 0 < exact < 1
    assert inside > 2
