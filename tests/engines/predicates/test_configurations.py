"""The paper's configurations: who is asked, exactness where it is claimed, and no proof by hearsay."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from tests.engines.predicates.test_asked import edges, graph, states

from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.configurations import CONFIGURATIONS
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.term.term import Term, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Holds, Reason, Unknown
from surefoot.work.budget import Budget

has_marabou = find_spec("maraboupy") is not None
has_z3 = find_spec("z3") is not None
needs_marabou = pytest.mark.skipif(not (has_marabou and has_z3), reason="needs maraboupy and z3-solver")
needs_z3 = pytest.mark.skipif(not has_z3, reason="needs z3-solver")
EXACT = [
    "pa-bb-milp",
    pytest.param("pa-z3", marks=needs_z3),
    pytest.param("pa-bb-marabou", marks=needs_marabou),
    pytest.param("pa-marabou-z3", marks=needs_marabou),
]
MORE = [
    "pa-milp",
    pytest.param("pa", marks=needs_z3),
    pytest.param("pa-marabou", marks=needs_marabou),
]
X, Y = Var("x"), Var("y")
GIVEN = (X >= 2, X >= 4, Y >= 3, X + Y >= 6)


def walker(bad: Term = X + Y >= 12) -> Problem:
    """Two whole variables; a small network says which of three steps is made."""
    rng = np.random.default_rng(5)
    network = dense_network(
        [(rng.normal(size=(5, 2)), rng.normal(size=5)), (rng.normal(size=(3, 5)), rng.normal(size=3))]
    )
    steps = {"right": (X, X + 1, X <= 5), "up": (Y, Y + 1, Y <= 5), "back": (X, X - 1, X >= 1)}
    edges_of = tuple(
        Edge("run", name, guard, outcomes=(Outcome(updates=(Update(variable, value),), target="run"),))
        for name, (variable, value, guard) in steps.items()
    )
    variables = (Variable("x", Int(0, 6)), Variable("y", Int(0, 6)))
    component = Component("walker", edges_of, ("run",), ("run",))
    environment = Environment("walk", variables, equal(X, 1) & equal(Y, 1), (component,))
    return Problem("walk", environment, NeuralPolicy(network, (X, Y), tuple(steps)), Never(bad))


@pytest.mark.parametrize("name", EXACT)
def test_exact_configurations_give_the_graph_of_the_table(name: str) -> None:
    table = graph(walker(), Predicates(GIVEN, fixed=True))
    found = graph(walker(), Predicates(GIVEN, fixed=True, configuration=name))
    assert states(found) == states(table)
    assert edges(found) == edges(table)
    assert found.complete
    assert len(found.states) > 2


@pytest.mark.parametrize("name", MORE)
def test_the_others_have_more_steps_never_fewer(name: str) -> None:
    table = graph(walker(), Predicates(GIVEN, fixed=True))
    found = graph(walker(), Predicates(GIVEN, fixed=True, configuration=name))
    assert edges(found) >= edges(table)
    assert not found.exact


def test_what_rests_on_another_solver_is_not_proved() -> None:
    engine = Predicates(GIVEN, fixed=True, configuration="pa-bb-milp")
    result = verify(walker(), engine, Budget(60))
    assert isinstance(result.verdict, Holds)
    assert result.verdict.uncertified_by == "milp, branch(milp)"
    assert not result.certified
    kinds = {t.kind for t in graph(walker(), engine).tests}
    assert {"applicability, relaxed (milp)", "transition, exact (branch(milp))"} <= kinds
    assert not any(k.startswith("applicability, exact") for k in kinds)


def test_a_spent_budget_is_unknown_with_the_graph_so_far() -> None:
    engine = Predicates(GIVEN, fixed=True, configuration="pa-bb-milp")
    verdict = engine.check(walker(), Budget(0.0))
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.TIMEOUT


def test_says_what_is_wrong_with_a_configuration() -> None:
    assert "did you mean `pa-marabou`?" in (Predicates(configuration="pa-marabo").objection(walker()) or "")
    both = Predicates(configuration="pa-milp", means="table").objection(walker())
    assert both == "a table needs no solver; leave out --means or --configuration"
    assert list(CONFIGURATIONS)[:5] == ["native", "pa", "pa-marabou", "pa-bb-marabou", "pa-marabou-z3"]


@pytest.mark.skipif(has_marabou, reason="maraboupy is there")
def test_a_missing_marabou_is_told_in_one_line() -> None:
    why = Predicates(configuration="pa-marabou").objection(walker())
    assert why == 'this needs maraboupy; fix: pip install "surefoot[marabou]"'
