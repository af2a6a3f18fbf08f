"""Recurrence sets against the truth: what the checker derives and computes, and what the engine finds.

On random finite systems every state can be looked at: the checker's formulas must say of each of them what
the reference semantics says (on ties and errors of the model they may say more, never less), and a violation
that is found must be one.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.brute_force import truth
from tests.laws.contradictions import answer
from tests.laws.finite_systems import problems
from tests.laws.real_systems import wandering
from tests.laws.test_execution_laws import is_tied, numbers, satisfied, states, with_rules
from tests.random_networks import networks

from surefoot.certify.replay import replay_stem
from surefoot.certify.runs.recurrence import recurrence_claim
from surefoot.engines.induction import Induction
from surefoot.engines.recurrence import Recurrence
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Recurs
from surefoot.problem.semantics import (
    State,
    apply_move,
    enumerate_outcomes,
    enumerate_successors,
    holds_in_state,
    policy_decision,
)
from surefoot.problem.validate import validate_problem
from surefoot.query.unsat_claim import network_to_json
from surefoot.reductions.refutation.state_boxes import box_around_states, state_scalars
from surefoot.run import verify
from surefoot.term.evaluate import Undefined
from surefoot.term.float32 import round_to_float32
from surefoot.term.term import Const, Term, Var, free_names
from surefoot.verdict.recurrence import recurrence_move
from surefoot.verdict.verdict import Proved, RecurrenceRegion, Trace, Violated
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.runs.canonical_problem import read_canonical_problem
from surefoot_checker.claims.runs.recurrence import (
    check_stem,
    read_recurrence_claim,
    region_obligations,
)
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.float32 import is_float32_number
from surefoot_checker.kernel.inference import reference_outputs
from surefoot_checker.kernel.network import read_network
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

exact_numbers = st.one_of(
    st.fractions(-50, 50, max_denominator=10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(Fraction),
    st.floats(-1e-37, 1e-37, width=64).map(Fraction),
)


@settings(deadline=None, max_examples=150)
@given(networks(), st.data())
def test_the_checker_evaluates_networks_as_the_reference_does(network: Network, data: st.DataObject) -> None:
    inputs = data.draw(st.lists(exact_numbers, min_size=network.width, max_size=network.width))
    row = np.array([[round_to_float32(x) for x in inputs]], dtype=np.float32)
    expected = infer_outputs(network, row)[0]
    try:
        found = reference_outputs(read_network(json.loads(json.dumps(network_to_json(network)))), inputs)
    except Refused:
        return  # too large, a division by zero: never a value
    assert [Fraction(float(x)) for x in expected] == list(found)


@given(exact_numbers)
def test_which_numbers_are_float32_numbers(value: Fraction) -> None:
    nearest = round_to_float32(value)
    assert is_float32_number(value) is bool(np.isfinite(nearest) and Fraction(float(nearest)) == value)


KINDS = ("eventually", "recurs")
said: Counter[str] = Counter()


def random_region(draw: Random, problem: Problem, everything: list[State]) -> RecurrenceRegion:
    """A box around some states with some edge, outcome and picks."""
    (component,) = problem.environment.components
    number = draw.randrange(len(component.edges))
    edge = component.edges[number]
    some = draw.sample(everything, min(len(everything), draw.randint(1, 3)))
    where = box_around_states(state_scalars(problem.environment), some).where()
    picks: list[Term] = [Const(0), Const(1), Var("y")]
    chosen = tuple((c.name, draw.choice(picks)) for c in edge.chosen)
    return RecurrenceRegion(
        where, Transition(((0, number),), edge.action), (draw.randrange(len(edge.outcomes)),), chosen
    )


def random_run(draw: Random, problem: Problem) -> Trace | None:
    """Some steps from a start."""
    starts = list(enumerate_initial_states(problem.environment, 1000))
    if not starts:
        return None
    run, moves = [draw.choice(starts)], []
    for _ in range(draw.randint(0, 3)):
        try:
            found = list(enumerate_successors(problem, run[-1]))
        except Undefined:
            return None
        if found:
            chosen = draw.choice(found)
            run.append(chosen.state)
            moves.append(chosen.move)
    return Trace(tuple(run), tuple(moves))


def good_of(problem: Problem) -> Term:
    assert isinstance(problem.property, Eventually | Recurs)
    return problem.property.good


def goes_wrong(problem: Problem, state: State, region: RecurrenceRegion, following: RecurrenceRegion) -> bool:
    """What the reference says about a state of a region."""
    if not holds_in_state(problem, state, region.where):
        return False
    if holds_in_state(problem, state, good_of(problem)):
        return True
    try:
        after = apply_move(problem, state, recurrence_move(problem, state, region))
    except InvalidProblem:
        return True
    return not holds_in_state(problem, after, following.where)


def has_errors(problem: Problem, state: State, region: RecurrenceRegion) -> bool:
    """Does some outcome of the step lead out of a range?"""
    move, made = recurrence_move(problem, state, region), policy_decision(problem, state)
    try:
        controls = made.controls if made else {}
        list(enumerate_outcomes(problem.environment, state, region.transition, move.chosen, controls))
    except InvalidProblem:
        return True
    return False


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(0, 2))
def test_the_checker_derives_what_the_reference_says_of_every_state(seed: int, kind: str, how: int) -> None:
    problem, draw = with_rules(problems(seed)[kind], how), Random(seed)
    everything = list(states(problem.environment))
    ring = tuple(random_region(draw, problem, everything) for _ in range(draw.randint(1, 2)))
    run = random_run(draw, problem)
    if run is None:
        return
    if draw.random() < 0.5:
        around = box_around_states(
            state_scalars(problem.environment), (run.states[-1], draw.choice(everything))
        )
        ring = (replace(ring[0], where=around.where()), *ring[1:])
    try:
        claim = recurrence_claim(problem, Trace(run.states, run.moves, None, ring), {})
        read = read_canonical_problem(claim["problem"], FileLocations(Path()))
        derived = region_obligations(read, read_recurrence_claim(claim))
    except (Unsupported, Refused):
        return
    assert [(o.name, o.steps) for o in derived] == [
        (name, i) for i in range(len(ring)) for name in ("good", "blocked", "assumption", "outside")
    ]
    for place, region in enumerate(ring):
        following = ring[(place + 1) % len(ring)]
        asked = [o.query.formula for o in derived if o.steps == place]
        for state in everything:
            found = any(satisfied(formula, numbers(problem, state, 0)) for formula in asked)
            wrong = goes_wrong(problem, state, region, following)
            assert found or not wrong
            if found and not wrong:
                assert is_tied(problem, state) or has_errors(problem, state, region)
            said["wrong" if wrong else "right"] += holds_in_state(problem, state, region.where)
    stem_is_judged(problem, Trace(run.states, run.moves, None, ring), claim)


def stem_is_judged(problem: Problem, trace: Trace, claim: dict[str, object]) -> None:
    """The checker makes exactly the runs that the reference makes."""
    seen = trace.states if isinstance(problem.property, Eventually) else trace.states[-1:]
    fine = holds_in_state(problem, trace.states[-1], trace.recurrence[0].where)
    if isinstance(problem.property, Eventually):
        fine = fine and not any(holds_in_state(problem, s, good_of(problem)) for s in seen)
    try:
        check_stem(
            read_canonical_problem(claim["problem"], FileLocations(Path())), read_recurrence_claim(claim)
        )
        accepted = True
    except Refused:
        accepted = False
    assert fine or not accepted
    if fine and not (good_of_policy(problem) and any(is_tied(problem, s) for s in trace.states)):
        assert accepted
    said["stem accepted" if accepted else "stem refused"] += 1


def good_of_policy(problem: Problem) -> bool:
    """Is the property about what the policy picks, which on a tie is open for the checker?"""
    return not free_names(good_of(problem)) <= {v.name for v in problem.environment.variables}


def test_both_answers_were_met() -> None:
    """After the test above."""
    if not said:
        pytest.skip("the test above was not run in this process")
    assert min(said[word] for word in ("wrong", "right", "stem accepted", "stem refused")) > 2, said


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_engine_agrees_with_the_search_through_all_states(seed: int) -> None:
    """`benchmarks/finite_systems.py` asks many more, and all engines."""
    problem = problems(seed)[KINDS[seed % 2]]
    found = answer(problem, Recurrence(depth=2), 10, truth(problem))
    if found is not None:
        word, wrong = found
        assert wrong is None, f"{problem.name}: {wrong}"
        said[f"engine {word}"] += 1


def test_the_engine_did_answer() -> None:
    if said["engine unknown"] + said["engine violated"] < 20:
        pytest.skip("the systems above were not all looked at in this process")
    assert said["engine violated"] >= 2, said


def damaged(draw: Random, problem: Problem, trace: Trace, everything: list[State]) -> Trace:
    """The trace with something else in it."""
    regions, place = list(trace.recurrence), draw.randrange(len(trace.recurrence))
    other = random_region(draw, problem, everything)
    kind = draw.randrange(5)
    if kind == 0:
        return replace(trace, states=(draw.choice(everything), *trace.states[1:]))
    if kind == 1 and trace.moves:
        return replace(trace, states=trace.states[:-1], moves=trace.moves[:-1])
    if kind == 2:
        regions[place] = other
    elif kind == 3:
        regions[place] = replace(other, where=regions[place].where)
    else:
        regions[place] = replace(regions[place], where=other.where)
    return replace(trace, recurrence=tuple(regions))


def is_true(problem: Problem, trace: Trace, everything: list[State]) -> bool:
    """Does the reference say the same of the start, of every step and of every state of every region?"""
    if replay_stem(problem, trace) is not None:
        return False
    ring = trace.recurrence
    return not any(
        goes_wrong(problem, s, r, ring[(i + 1) % len(ring)]) for i, r in enumerate(ring) for s in everything
    )


def test_damaged_claims_are_accepted_only_where_they_are_true() -> None:
    """The proofs stay as they are, the claim is another one."""
    found: Counter[str] = Counter()
    for seed in (1001, 1003, 1004, 1008, 1009, 1010, 1017, 1022):
        problem, draw = problems(seed)["recurs"], Random(seed)
        verdict = verify(problem, Recurrence(depth=2), Budget(10)).verdict
        if not isinstance(verdict, Violated) or verdict.certificate is None:
            continue
        everything = list(states(problem.environment))
        assert is_true(problem, verdict.trace, everything)
        for _ in range(60):
            other = damaged(draw, problem, verdict.trace, everything)
            try:
                claim = recurrence_claim(problem, other, {})
                content = {**verdict.certificate.content, "claim": json.loads(json.dumps(claim))}
                accepted = judge_certificate(content).accepted
            except (Unsupported, BadCertificate):
                continue
            true = is_true(problem, other, everything)
            assert true or not accepted
            found[f"{true}, {accepted}"] += 1
    assert found["False, False"] > 50, found
    assert found["True, True"] > 0, found


@pytest.mark.parametrize("seed", range(8))
def test_runs_of_real_values_stay_where_they_are_said_to(seed: int) -> None:
    """Far beyond what is replayed; and nothing is refuted that induction proves."""
    problem = wandering(seed)
    validate_problem(problem)
    verdict = verify(problem, Recurrence(depth=1), Budget(5)).verdict
    said[f"real {type(verdict).__name__.lower()}"] += 1
    if isinstance(verdict, Violated):
        state, ring = verdict.trace.states[-1], verdict.trace.recurrence
        for count in range(40):
            region = ring[count % len(ring)]
            assert holds_in_state(problem, state, region.where)
            assert not holds_in_state(problem, state, good_of(problem))
            state = apply_move(problem, state, recurrence_move(problem, state, region))
        other = verify(problem, Induction(depth=2), Budget(3)).verdict
        assert not isinstance(other, Proved)


def test_some_real_systems_were_refuted() -> None:
    if said["real violated"] + said["real unknown"] < 8:
        pytest.skip("the systems above were not all looked at in this process")
    assert said["real violated"] >= 2, said
