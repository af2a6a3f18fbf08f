"""A small abstract graph of a counter: five states in a row, the last one unsafe, and a way back."""

from __future__ import annotations

from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.splits import with_splits
from surefoot.problem.environment import Component, Edge, Environment, Int, Outcome, Update, Variable
from surefoot.problem.network import dense
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.term import Var
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Unknown
from surefoot.work.budget import Budget

X = Var("x")


def counter() -> Problem:
    """Counts up below 6, then down; above 8 is bad and never reached."""
    edges = (
        Edge(action="up", guard=X < 9, outcomes=(Outcome(updates=(Update(X, X + 1),)),)),
        Edge(action="down", guard=X > 0, outcomes=(Outcome(updates=(Update(X, X - 1),)),)),
    )
    world = Environment("counter", (Variable("x", Int(0, 9)),), X <= 2, (Component("c", edges),))
    network = dense([([[-1.0], [1.0]], [6.0, -5.5])])
    return Problem("counter", world, NeuralPolicy(network, (X,), ("up", "down")), Never(X > 8))


def graph(most: int = 8) -> AbstractGraph:
    """Two predicates: what is above 4 seems unsafe."""
    engine = Predicates((X <= 2, X <= 4), fixed=True)
    verdict = engine.check(counter(), Budget(60))
    assert isinstance(verdict, Unknown)
    assert isinstance(verdict.artifact, AbstractGraph)
    return with_splits(counter(), verdict.artifact, engine.asked_tests(), most, Budget(60))
