"""The encoding means what the reference semantics means, on random problems and states."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.reductions.asking import Asked, State, check_state, reference, unrolled, well_defined
from tests.reductions.random_problems import CONDITIONS, LABELS, control_problems, problems, states

from surefoot.network.exact import exact_outputs
from surefoot.problem import semantics
from surefoot.problem.policy import NeuralPolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.reductions.concretise import concretise_run
from surefoot.reductions.unroll import unroll
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Var, equal
from surefoot.verdict.verdict import Trace

pytest.importorskip("z3")

quick = settings(max_examples=35, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def has_ties(policy: Policy | None, state: State) -> bool:
    """Do two outputs of some network in the policy agree here?"""
    match policy:
        case NeuralPolicy():
            seen = [Fraction(evaluate_term(t, state)) for t in policy.observe]
            outputs = exact_outputs(policy.network, seen)
            return len(set(outputs)) < len(outputs)
        case ProgramPolicy(branches):
            return any(has_ties(b.then, state) for b in branches if not isinstance(b.then, str | tuple))
        case ShieldedPolicy(inner, _, fallback):
            return has_ties(inner, state) or has_ties(fallback, state)
        case _:
            return False


@quick
@given(st.data())
def test_one_step_leads_where_the_semantics_leads(data: st.DataObject) -> None:
    problem = data.draw(problems())
    starts = [data.draw(states(problem.environment)) for _ in range(2)]
    exact, rounded = unrolled(problem, 1, rounding=False), unrolled(problem, 1)
    for start in (s for s in starts if well_defined(problem, s)):
        expected = reference(problem, start, 1)
        assert exact.runs(start) == expected
        if has_ties(problem.policy, start):
            assert rounded.runs(start) >= expected
        else:
            assert rounded.runs(start) == expected


@quick
@given(st.data())
def test_controls_lead_where_the_semantics_leads(data: st.DataObject) -> None:
    problem = data.draw(control_problems())
    starts = [data.draw(states(problem.environment)) for _ in range(3)]
    exact, rounded = unrolled(problem, 1, rounding=False), unrolled(problem, 1)
    for start in (s for s in starts if well_defined(problem, s)):
        expected = reference(problem, start, 1)
        assert exact.runs(start) == expected
        for ((_, after),) in expected:  # with slack a real variable has infinitely many next values
            assert rounded(rounded.is_state(start, 0), rounded.is_state(dict(after), 1)) is not None


@settings(quick, max_examples=12)
@given(st.data())
def test_two_steps_lead_where_the_semantics_leads(data: st.DataObject) -> None:
    problem = data.draw(problems())
    start = data.draw(states(problem.environment))
    assume(well_defined(problem, start))
    ends = [s.state for s in semantics.enumerate_successors(problem, start)]
    assume(ends and len(ends) < 8 and all(well_defined(problem, s) for s in ends))
    expected = reference(problem, start, 2)
    assume(len(expected) < 25)
    assert unrolled(problem, 2, rounding=False).runs(start) == expected


@quick
@given(st.data())
def test_conditions_hold_where_the_semantics_says(data: st.DataObject) -> None:
    problem = data.draw(st.one_of(problems(wild=True), problems(), control_problems()))
    places = [(c.name, p) for c in problem.environment.components for p in c.locations]
    names = ["deadlocked", *(f"at({c}, {p})" for c, p in places)]
    if problem.policy is not None:
        names += ["stalled", *(f"chosen({a})" for a in (*LABELS, "c0#0"))]
    conditions = [*map(Var, names), data.draw(CONDITIONS)]
    asked = unrolled(problem, 0, rounding=False)
    for _ in range(2):
        check_state(problem, asked, data.draw(states(problem.environment)), conditions)


@quick
@given(st.data())
def test_outputs_and_controls_are_those_of_the_network(data: st.DataObject) -> None:
    problem = data.draw(control_problems())
    state = data.draw(states(problem.environment))
    assume(well_defined(problem, state))
    asked = unrolled(problem, 0, rounding=False)
    made = semantics.policy_decision(problem, state)
    assert made is not None
    here = asked.is_state(state, 0)
    model = asked(here)
    assert model is not None
    assert model["u@0"] == made.controls["u"]
    if made.outputs is not None and "output[0]" in asked.encoded.system.reserved:
        name = asked.encoded.condition_at(equal(Var("output[0]"), made.outputs[0]), 0)
        assert asked(here, name) is not None
        assert asked(here, ~name) is None


@quick
@given(st.data())
def test_every_model_is_a_run(data: st.DataObject) -> None:
    problem = data.draw(st.one_of(problems(), control_problems()))
    asked = Asked(unroll(problem, 2, rounding=False))
    model = asked()
    if model is not None:
        trace = concretise_run(problem, asked.encoded.invert(model))
        assert isinstance(trace, Trace), trace
        assert trace.states == tuple(asked.state(model, i) for i in range(3))
