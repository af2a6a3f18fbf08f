"""Transition systems given by their graph: the policy always says `go`, the environment picks the edge."""

from __future__ import annotations

from collections.abc import Iterable

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, equal
from surefoot.term.value_types import Int

N = Var("n")


def graph(arrows: Iterable[tuple[int, int]], asked: Property, *, states: int, start: int = 0) -> Problem:
    """States 0 to `states` - 1 and these arrows between them."""
    edges = tuple(
        Edge(action="go", guard=equal(N, a), outcomes=(Outcome(updates=(Update(N, Const(b)),)),))
        for a, b in arrows
    )
    kind = Int(0, states - 1)
    environment = Environment("graph", (Variable("n", kind),), equal(N, start), (Component("world", edges),))
    return Problem("graph", environment, ProgramPolicy((Branch(TRUE, "go"),)), asked)


def among(*states: int) -> Term:
    found: Term = FALSE
    for number in states:
        found = equal(N, number) if found == FALSE else found | equal(N, number)
    return found
