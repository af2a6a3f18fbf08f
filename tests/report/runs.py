"""A small system with a history buffer, and runs of it."""

from __future__ import annotations

from fractions import Fraction

from surefoot.engines.bmc import Bmc
from surefoot.problem.environment import Choice, Component, Control, Edge, Environment, Outcome
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Property
from surefoot.problem.window import window
from surefoot.run import verify
from surefoot.term.term import TRUE, Term, Var
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Result
from surefoot.work.budget import Budget

LOAD = window("load", 3, Real(Fraction(0), Fraction(1)))


def problem(asked: Property, initial: Term = TRUE, name: str = "load") -> Problem:
    """Three past loads, of which the newest is picked freely; the network adds them up."""
    step = Edge(
        chosen=(Choice("new_load", Real(Fraction(0), Fraction(1))),),
        outcomes=(Outcome(updates=LOAD.shift(Var("new_load"))),),
    )
    where = Environment(
        name, LOAD.variables, initial, (Component("world", (step,)),), (Control("power", clipped=False),)
    )
    network = dense_network([([[1.0, 1.0, 1.0]], [0.0])])
    return Problem(name, where, NeuralPolicy(network, LOAD.terms, choose=Choose.VALUE), asked)


def overload(bound: int | Fraction = 2) -> tuple[Problem, Result]:
    """From no load at all, three steps lead to more than two."""
    quiet = (Var("load_0") <= 0) & (Var("load_1") <= 0) & (Var("load_2") <= 0)
    asked = problem(Never(Var("output[0]") > bound), quiet, name="load <b>&amp;</b>")
    return asked, verify(asked, Bmc(depth=4), Budget(60))
