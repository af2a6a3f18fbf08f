"""The encoding means what the reference semantics means, on random problems and states."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from surefoot.encode.concrete import concretise
from surefoot.encode.layout import value_of
from surefoot.encode.unroll import Encoded, objection, unroll
from surefoot.errors import InvalidProblem
from surefoot.network.exact import exact_outputs
from surefoot.problem import semantics
from surefoot.problem.environment import Int, Kind
from surefoot.problem.evaluate import evaluate
from surefoot.problem.policy import NeuralPolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.term import Term, Var, conjunction, equal
from surefoot.query.query import Sat, Undecided
from surefoot.verdict.verdict import Trace
from tests.encode.random_problems import CONDITIONS, LABELS, control_problems, problems, states

pytest.importorskip("z3")
from surefoot.solve.z3.solver import prepare  # noqa: E402  after the check that Z3 is there

quick = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
State = dict[str, Any]


class Asked:
    """A problem unrolled, and Z3 asked about it."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self._ask = prepare(encoded.query, 0)

    def __call__(self, *more: Term) -> dict[str, Any] | None:
        answer = self._ask(more, 20.0)
        assert not isinstance(answer, Undecided), answer
        return dict(answer.assignment) if isinstance(answer, Sat) else None

    def kinds(self) -> Iterator[tuple[str, Kind]]:
        environment = self.encoded.problem.environment
        yield from ((v.name, v.kind) for v in environment.variables)
        yield from ((f"@{c.name}", Int()) for c in environment.components if len(c.locations) > 1)

    def state(self, assignment: dict[str, Any], step: int) -> State:
        trees = self.encoded.system.layout.trees
        return {n: value_of(k, trees[n], assignment, step, False) for n, k in self.kinds()}

    def is_state(self, state: State, step: int) -> Term:
        trees = self.encoded.system.layout.trees
        return conjunction(tuple(p for n, v in state.items() for p in _equals(trees[n], v, step)))

    def runs(self, start: State) -> set[Any]:
        """The moves and states that the encoding admits from a start, found by blocking each in turn."""
        found: set[Any] = set()
        blocked: list[Term] = [self.is_state(start, 0)]
        while (model := self(*blocked)) is not None:
            candidate = self.encoded.decode(model)
            after = [self.state(model, i + 1) for i in range(self.encoded.steps)]
            run = tuple((_move(m), _frozen(s)) for m, s in zip(candidate.moves, after, strict=True))
            assert run not in found, "a blocked run was found again"
            found.add(run)
            selectors = (equal(Var(f"move@{i}"), model[f"move@{i}"]) for i in range(self.encoded.steps))
            blocked.append(
                ~conjunction((*selectors, *(self.is_state(s, i + 1) for i, s in enumerate(after))))
            )
        return found


def _equals(tree: Any, value: Any, step: int) -> Iterator[Term]:
    if isinstance(tree, tuple):
        for part, inner in zip(tree, value, strict=True):
            yield from _equals(part, inner, step)
    else:
        yield equal(Var(f"{tree.name}@{step}"), value)


def _move(move: semantics.Move) -> Any:
    return move.transition, move.outcomes


def _frozen(state: Any) -> Any:
    return tuple(sorted(state.items()))


def reference(problem: Problem, state: Any, steps: int) -> set[Any]:
    """The same runs by the reference semantics."""
    if steps == 0:
        return {()}
    return {
        ((_move(s.move), _frozen(s.state)), *rest)
        for s in semantics.successors(problem, state)
        for rest in reference(problem, s.state, steps - 1)
    }


def well_defined(problem: Problem, state: Any) -> bool:
    try:
        list(semantics.successors(problem, state))
    except (InvalidProblem, ValueError):  # ValueError: argmax among no action at all
        return False
    return True


def unrolled(problem: Problem, steps: int, **options: bool) -> Asked:
    assert objection(problem) is None
    return Asked(unroll(problem, steps, from_initial=False, **options))


def has_ties(policy: Policy | None, state: State) -> bool:
    """Do two outputs of some network in the policy agree here?"""
    match policy:
        case NeuralPolicy():
            seen = [Fraction(evaluate(t, state)) for t in policy.observe]
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


@settings(quick, max_examples=25)
@given(st.data())
def test_two_steps_lead_where_the_semantics_leads(data: st.DataObject) -> None:
    problem = data.draw(problems())
    start = data.draw(states(problem.environment))
    assume(well_defined(problem, start))
    ends = [s.state for s in semantics.successors(problem, start)]
    assume(ends and len(ends) < 8 and all(well_defined(problem, s) for s in ends))
    expected = reference(problem, start, 2)
    assume(len(expected) < 25)
    assert unrolled(problem, 2, rounding=False).runs(start) == expected


@quick
@given(st.data())
def test_conditions_hold_where_the_semantics_says(data: st.DataObject) -> None:
    problem = data.draw(st.one_of(problems(), control_problems()))
    names = [
        "deadlocked",
        *(f"at({c.name}, {p})" for c in problem.environment.components for p in c.locations),
    ]
    if problem.policy is not None:
        names += ["stalled", *(f"chosen({a})" for a in (*LABELS, "c0#0"))]
    asked = unrolled(problem, 0, rounding=False)
    state = data.draw(states(problem.environment))
    assume(well_defined(problem, state))
    here = asked.is_state(state, 0)
    for condition in (*(Var(n) for n in names), data.draw(CONDITIONS)):
        try:
            expected = semantics.holds(problem, state, condition)
        except InvalidProblem:
            continue
        assert (asked(here, asked.encoded.condition(condition, 0)) is not None) is expected, condition
        assert (asked(here, asked.encoded.condition(~condition, 0)) is not None) is not expected, condition
    ended = asked(here, asked.encoded.ended(0)) is not None
    assert ended is not bool(semantics.transitions(problem, state))


@quick
@given(st.data())
def test_outputs_and_controls_are_those_of_the_network(data: st.DataObject) -> None:
    problem = data.draw(control_problems())
    state = data.draw(states(problem.environment))
    assume(well_defined(problem, state))
    asked = unrolled(problem, 0, rounding=False)
    made = semantics.decision(problem, state)
    assert made is not None
    here = asked.is_state(state, 0)
    model = asked(here)
    assert model is not None
    assert model["u@0"] == made.controls["u"]
    if made.outputs is not None and "output[0]" in asked.encoded.system.reserved:
        name = asked.encoded.condition(equal(Var("output[0]"), made.outputs[0]), 0)
        assert asked(here, name) is not None
        assert asked(here, ~name) is None


@quick
@given(st.data())
def test_an_escape_is_where_the_semantics_refuses(data: st.DataObject) -> None:
    problem = data.draw(problems(wild=True))
    asked = unrolled(problem, 0, rounding=False)
    escape = asked.encoded.escape(0)
    for _ in range(2):
        state = data.draw(states(problem.environment))
        found = escape is not None and asked(asked.is_state(state, 0), escape) is not None
        assert found is not well_defined(problem, state)


@quick
@given(st.data())
def test_every_model_is_a_run(data: st.DataObject) -> None:
    problem = data.draw(st.one_of(problems(), control_problems()))
    encoded = unroll(problem, 2, rounding=False)
    model = Asked(encoded)()
    if model is not None:
        trace = concretise(problem, encoded.decode(model))
        if isinstance(trace, str):  # an undefined sibling of the outcome that was taken
            assert "step" in trace
        else:
            assert isinstance(trace, Trace)
            last = Asked(encoded).state(model, 2)
            assert trace.states[-1] == last
