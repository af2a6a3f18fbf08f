"""Rows of a decision process as a problem: one variable that says where the run is."""

from fractions import Fraction

from tests.solvers.markov.random_processes import Rows

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property
from surefoot.term.term import FALSE, Const, Term, Var, disjunction_of, equal
from surefoot.term.value_types import Int

WHERE = Var("where")


def one_of(flags: list[bool]) -> Term:
    places = [equal(WHERE, Const(s)) for s, flag in enumerate(flags) if flag]
    return disjunction_of(tuple(places)) if places else FALSE


def problem(rows: Rows, asked: Property, starts: list[bool]) -> Problem:
    edges = [
        Edge(
            action=f"a{number}",
            guard=equal(WHERE, Const(state)),
            outcomes=tuple(
                Outcome(Const(Fraction(p)), (Update(WHERE, Const(t)),), (("cost", Const(r)),) if r else ())
                for p, t, r in choice
            ),
        )
        for state, choices in enumerate(rows)
        for number, choice in enumerate(choices)
    ]
    kind = Int(0, len(rows) - 1)
    environment = Environment(
        "rows", (Variable("where", kind),), one_of(starts), (Component("walk", tuple(edges)),)
    )
    return Problem("rows", environment, None, asked)
