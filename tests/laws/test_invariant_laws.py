"""Random finite systems: brute force over all states confirms every tipping point and every invariant."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from tests.laws.brute_force import Graph, key
from tests.laws.finite_systems import problems

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.engines.invariant_search import template_bounds
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, holds_in_state
from surefoot.reductions.bound_template import parse_bound_template
from surefoot.search import SearchSettings, find_invariant, find_tipping_point
from surefoot.term.term import Term, Var, conjunction_of
from surefoot.term.value_types import Bool, Int
from surefoot.verdict.artifact import Invariant, TippingPoint
from surefoot.verdict.verdict import Found, Reason, Result, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

SYSTEMS = 11
ENGINES = (Bmc(depth=8), Induction(depth=6))
seen: Counter[str] = Counter()


def every_state(problem: Problem) -> list[State]:
    names, values = [], []
    for variable in problem.environment.variables:
        names.append(variable.name)
        kind = variable.kind
        assert isinstance(kind, Bool | Int)
        low, high = (0, 1) if isinstance(kind, Bool) else (kind.low, kind.high)
        numbers = range(low or 0, (high or 0) + 1)
        values.append([bool(n) for n in numbers] if isinstance(kind, Bool) else list(numbers))
    for component in problem.environment.components:
        if len(component.locations) > 1:
            names.append(f"@{component.name}")
            values.append(list(range(len(component.locations))))
    return [dict(zip(names, v, strict=True)) for v in product(*values)]


def truth_while(problem: Problem, largest: int) -> str:
    """What runs that keep x <= largest come to: `none`, `bad`, `unclear` or `safe`."""
    assert isinstance(problem.property, Never)
    bad, graph = problem.property.bad, Graph(problem)
    inside = graph.explore(graph.starts(), lambda s: s["x"] <= largest)
    if not inside:
        return "none"
    if any(graph.is_good(bad, s) for s in inside):
        return "bad"
    return "unclear" if graph.unclear else "safe"


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_tipping_points_of_an_input_bound_are_those_of_the_search_through_all_states(seed: int) -> None:
    problem = problems(seed)["never"]
    (x,) = (v.kind for v in problem.environment.variables if v.name == "x")
    assert isinstance(x, Int)
    assert x.high is not None
    true = {n: truth_while(problem, n) for n in range(x.high + 1)}
    try:
        tighten = parse_bound_template("x<=", problem)
        between, asking = (Fraction(0), Fraction(x.high)), SearchSettings(ENGINES, Budget(30))
        _, result = find_tipping_point(problem, tighten, between, Fraction(1), asking)
    except SurefootError:  # an edge whose outcomes change x in different ways
        seen["refused"] += 1
        return
    seen[type(result.verdict).__name__] += 1
    match result.verdict:
        case Found(TippingPoint(_, proved, refuted)):
            assert proved is not None
            assert true[int(proved.value)] == "safe"
            if refuted is not None:
                assert true[int(refuted.value)] == "bad"
        case Violated():
            assert true[0] == "bad"
        case Vacuous():
            assert true[0] != "bad"
        case other:
            assert isinstance(other, Unknown)


def is_invariant(problem: Problem, condition: Term) -> bool:
    """Starts inside, bad states outside, closed under steps: over every state there is."""
    assert isinstance(problem.property, Never)
    graph = Graph(problem)
    inside = {key(s): s for s in every_state(problem) if holds_in_state(problem, s, condition)}
    if any(key(s) not in inside for s in graph.starts()):
        return False
    if any(graph.is_good(problem.property.bad, s) for s in inside.values()):
        return False
    return all(key(n) in inside for s in inside.values() for n in graph.after(s)) and not graph.unclear


def searched(problem: Problem, highest: dict[str, int]) -> Result:
    moving = (
        *template_bounds(
            problem, parse_bound_template("x<=", problem), Fraction(0), Fraction(highest["x"]), Fraction(1)
        ),
        *template_bounds(
            problem, parse_bound_template("x>=", problem), Fraction(0), Fraction(highest["x"]), Fraction(1)
        ),
        *template_bounds(
            problem, parse_bound_template("y<=", problem), Fraction(0), Fraction(highest["y"]), Fraction(1)
        ),
    )
    return find_invariant(problem, moving, SearchSettings(Bmc(), Budget(30)))


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_invariants_are_confirmed_and_none_is_overlooked(seed: int) -> None:
    problem = problems(seed)["never"]
    kinds = {v.name: v.kind for v in problem.environment.variables}
    highest = {n: k.high for n in ("x", "y") if isinstance(k := kinds[n], Int) and k.high is not None}
    result = searched(problem, highest)
    match result.verdict:
        case Found(Invariant(condition)):
            seen["invariant"] += 1
            assert is_invariant(problem, condition)
        case Unknown(reason, detail) if reason is Reason.INCOMPLETE and detail.startswith("no bounds"):
            seen["no invariant"] += 1
            x, y = (range(highest[n] + 1) for n in ("x", "y"))
            for low, high, top in product(x, x, y):
                template = [parse_bound_template(t, problem) for t in ("x>=", "x<=", "y<=")]
                parts = [
                    t.spans(problem, Fraction(v)) for t, v in zip(template, (low, high, top), strict=True)
                ]
                box = conjunction_of(tuple(span.condition(Var(n)) for p in parts for n, span in p.items()))
                assert not is_invariant(problem, box), f"{low} <= x <= {high}, y <= {top}"
        case other:
            assert isinstance(other, Unknown | Vacuous)


def test_something_was_found() -> None:
    if sum(seen.values()) < SYSTEMS:
        pytest.skip("the systems above were not all looked at in this process")
    assert seen["Found"] > 0
    assert seen["Violated"] > 0
    assert seen["invariant"] > 0
    assert seen["no invariant"] > 1
