"""Every translation: an objection exactly where it refuses, and the way back of what it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.reductions.test_discretise import SPRING, X, problem

from surefoot.engines.bmc import Bmc
from surefoot.errors import SurefootError
from surefoot.problem.environment import Flow, Variable
from surefoot.problem.property import NeverBefore
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.objection import LOWER
from surefoot.query.query import Query, QueryVariable, Sat
from surefoot.query.reduction import Reduction
from surefoot.reductions.absorbing_goal import END_AT_GOAL
from surefoot.reductions.abstraction import ABSTRACT, FreedValues
from surefoot.reductions.concretise import concretise_run
from surefoot.reductions.discretise import DISCRETISE, _next_value_sizes, discretise
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.scalar_layout import EXPAND
from surefoot.reductions.unroll import UNROLL
from surefoot.solvers.milp.solver import decide_milp
from surefoot.term.term import TRUE, Apply, Op, Term, Var
from surefoot.term.value_types import Array, Bool, Int, Real
from surefoot.verdict.verdict import Trace, Violated
from surefoot.work.budget import Budget
from surefoot_studies.toy.problem import below_ten

TOY = below_ten()
WIDE = replace(TOY.environment, variables=(Variable("a", Array(Array(Bool(), 1000), 1000)),))
LINE = Query((QueryVariable("x", Real()), QueryVariable("i", Int(0, 3))), (Var("x") * Var("i") >= 2,))
IN_TIME = replace(problem().environment, flow=Flow(SPRING, Fraction(1), "taylor", continuous=True))
CASES: list[tuple[Reduction, Callable[[], tuple[Any, ...]]]] = [
    (DISCRETISE, lambda: (problem("rk4"),)),
    (DISCRETISE, lambda: (TOY,)),
    (DISCRETISE, lambda: (problem("ruler"),)),
    (DISCRETISE, lambda: (replace(problem(), environment=IN_TIME),)),
    (DISCRETISE, lambda: (problem("rk4", (("x", Apply(Op.ADD, (X,) * 300)),)),)),
    (END_AT_GOAL, lambda: (TOY,)),
    (END_AT_GOAL, lambda: (replace(TOY, property=NeverBefore(TRUE, Var("x1") > 0)),)),
    (END_AT_GOAL, lambda: (replace(problem(), property=NeverBefore(TRUE, X > 0)),)),
    (ABSTRACT, lambda: (TOY, FreedValues(frozenset({1})))),
    (ABSTRACT, lambda: (TOY, FreedValues(frozenset({7})))),
    (ABSTRACT, lambda: (problem(), FreedValues(frozenset({0})))),
    (EXPAND, lambda: (TOY.environment, set())),
    (EXPAND, lambda: (WIDE, set())),
    (UNROLL, lambda: (TOY, 2)),
    (UNROLL, lambda: (problem(), 1)),
    (LOWER, lambda: (LINE,)),
    (LOWER, lambda: (replace(LINE, constraints=(Var("x") * Var("x") >= 2,)),)),
]


@pytest.mark.parametrize(("reduction", "given"), CASES, ids=lambda v: getattr(v, "name", ""))
def test_a_translation_refuses_what_it_objects_to(
    reduction: Reduction, given: Callable[[], tuple[Any, ...]]
) -> None:
    why = reduction.objection(*given()[:1]) if reduction is not ABSTRACT else ABSTRACT.objection(*given())
    if why is None:
        reduction.apply(*given())
    else:
        with pytest.raises(SurefootError) as refused:
            reduction.apply(*given())
        assert str(refused.value) == str(why)


def test_every_translation_is_accepted_and_refused_somewhere() -> None:
    for reduction in {id(r): r for r, _ in CASES}.values():
        several = [given() for r, given in CASES if r is reduction]
        objections = {reduction.objection(*(g if reduction is ABSTRACT else g[:1])) is None for g in several}
        assert objections == {True, False}, reduction.name


def test_the_way_back() -> None:
    encoded = UNROLL.apply(TOY, 1)
    query = encoded.query_with(encode_violation(encoded))
    lowered = LOWER.apply(query)
    found = decide_milp(lowered.query, 0, 20)
    assert isinstance(found, Sat)
    assignment = LOWER.invert(lowered, found.assignment)
    assert assignment_defect(query, assignment) is None
    candidate = UNROLL.invert(encoded, assignment)
    assert isinstance(concretise_run(TOY, candidate), Trace)
    layout = EXPAND.apply(TOY.environment, set())
    assert EXPAND.invert(layout, TOY.environment, {"x1": 1, "x2": Fraction(1, 2)}) == candidate.initial | {
        "x1": 1,
        "x2": Fraction(1, 2),
    }
    made = ABSTRACT.apply(TOY, FreedValues(frozenset({1})))
    verdict = Bmc(depth=1).check(made.problem, Budget(30))
    assert isinstance(verdict, Violated)
    assert set(ABSTRACT.invert(made, verdict.trace).states[0]) == {"x1", "x2"}
    assert DISCRETISE.invert(TOY, verdict.trace) is verdict.trace


def _tree_size(term: Term) -> int:
    return 1 + sum(map(_tree_size, term.args)) if isinstance(term, Apply) else 1


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_sizes_of_next_values_are_known_before_they_are_made(method: str) -> None:
    given = problem(method)
    assert given.environment.flow is not None
    updates = discretise(given).environment.components[0].edges[0].outcomes[0].updates
    sizes = {u.target.name: _tree_size(u.value) for u in updates if isinstance(u.target, Var)}
    assert _next_value_sizes(given.environment.flow) == sizes
