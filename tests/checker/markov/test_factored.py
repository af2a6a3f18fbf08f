"""Joint steps of many outcomes: the checker computes them edge by edge, and means the same."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Path, Probability, Property
from surefoot.term.term import Const, Var, conjunction_of, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.values.model import build_automata_model
from surefoot_checker.claims.values.transitions import FactoredStep, JointTransitions
from surefoot_checker.kernel.problem import read_problem

COINS = tuple(Var(f"x{n}") for n in range(5))


def ring() -> Environment:
    """Each coin is kept while its neighbour shows 1, and thrown otherwise; a throw may cost something."""
    parts = []
    for n, coin in enumerate(COINS):
        beside = COINS[n - 1]
        share = Fraction(1, n + 2)
        thrown = (
            Outcome(Const(share), (Update(coin, Const(1)),), (("cost", Const(n)),)),
            Outcome(Const(1 - share), (Update(coin, Const(0)),)),
        )
        edges = (
            Edge(action="go", guard=equal(beside, 0), outcomes=thrown),
            Edge(action="go", guard=equal(beside, 1), outcomes=(Outcome(updates=(Update(coin, beside),)),)),
        )
        parts.append(Component(f"c{n}", edges))
    start = conjunction_of(tuple(equal(c, 0) for c in COINS))
    variables = tuple(Variable(c.name, Int(0, 1)) for c in COINS)
    together = (Synchronisation(("go",) * len(COINS), "go"),)
    return Environment("ring", variables, start, tuple(parts), synchronisations=together)


def certificate(asked: Property) -> dict[str, Any]:
    problem = Problem("ring", ring(), None, asked)
    verdict = Explicit(exact=True, tier="interpreter").check(problem, Budget(60))
    assert isinstance(verdict, Exact)
    made = build_process_certificate(problem, verdict)
    assert made is not None
    written: dict[str, Any] = json.loads(json.dumps(made.content))
    return written


ALL = conjunction_of(tuple(equal(c, 1) for c in COINS))


@pytest.mark.parametrize(
    "asked", [Expected("steps", ALL), Expected("cost", ALL), Probability(Path("U", ALL, equal(COINS[4], 0)))]
)
def test_accepted_and_nothing_else(asked: Property) -> None:
    written = certificate(asked)
    assert judge_certificate(written).accepted
    outcomes = written["claim"]["problem"]["components"][3]["edges"][0]["outcomes"]
    outcomes[0]["probability"], outcomes[1]["probability"] = "1/4", "3/4"
    assert not judge_certificate(written).accepted


def test_the_rows_of_the_product() -> None:
    """In the order, and with the weights, of the combinations that are written out elsewhere."""
    problem = read_problem(certificate(Expected("steps", ALL))["claim"]["problem"])
    moves = JointTransitions(build_automata_model(problem))
    row = (0, 0, 0, 0, 0)
    (step,) = moves.enabled_steps(row)
    found = moves.factor(step)
    assert found is not None
    unit, weights, factored = found
    assert isinstance(factored, FactoredStep)
    moves.prepare(step)
    assert step.weights is not None
    assert factored.rows_after(row) == [ending.after(row) for ending in step.endings]
    assert [Fraction(w, unit) for w in weights] == [Fraction(w, step.unit) for w in step.weights]
