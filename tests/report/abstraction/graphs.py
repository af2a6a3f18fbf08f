"""Small abstract graphs of a counter: three states in a row, the last one seems unsafe, or is."""

from __future__ import annotations

from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.split_preview import with_splits
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.term import Term, Var
from surefoot.term.value_types import Int
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Unknown, Violated
from surefoot.work.budget import Budget

X = Var("x")


BEYOND = X > 5


def counter(bad: Term = X > 8) -> Problem:
    """Counts up below 6, then down: it reaches 6 and no more."""
    edges = (
        Edge(action="up", guard=X < 9, outcomes=(Outcome(updates=(Update(X, X + 1),)),)),
        Edge(action="down", guard=X > 0, outcomes=(Outcome(updates=(Update(X, X - 1),)),)),
    )
    world = Environment("counter", (Variable("x", Int(0, 9)),), X <= 2, (Component("c", edges),))
    network = dense_network([([[-1.0], [1.0]], [6.0, -5.5])])
    return Problem("counter", world, NeuralPolicy(network, (X,), ("up", "down")), Never(bad))


def graph(most: int = 8) -> AbstractGraph:
    """Two predicates: what is above 4 seems unsafe."""
    engine = Predicates((X <= 2, X <= 4), fixed=True)
    verdict = engine.check(counter(), Budget(60))
    assert isinstance(verdict, Unknown)
    assert isinstance(verdict.artifact, AbstractGraph)
    return with_splits(counter(), verdict.artifact, engine.asked_tests(), most, Budget(60))


def violation() -> Violated:
    verdict = Predicates((X <= 2, X <= 4), fixed=True).check(counter(BEYOND), Budget(60))
    assert isinstance(verdict, Violated)
    return verdict
