"""The checker's unrolling agrees with the reference semantics on random finite systems.

Its formulas are evaluated in every state, and for every pair of states: a pair satisfies the move exactly if
a step of the reference leads from one to the other. On ties the formulas may hold of more, never of less.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.brute_force import truth
from tests.laws.finite_systems import KINDS, problems

from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.prove import prove_run_certificate
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.policy import Branch, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import (
    State,
    enumerate_successors,
    holds_in_state,
    is_initial,
    may_end,
    policy_decision,
)
from surefoot.term.evaluate import Undefined
from surefoot.term.reserved_names import location_key, output_index
from surefoot.term.term import TRUE, Term, Var, free_names
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import ProofArgument
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.runs.canonical_problem import CanonicalProblem as Read
from surefoot_checker.claims.runs.canonical_problem import read_canonical_problem
from surefoot_checker.claims.runs.time_frame import TimeFrame
from surefoot_checker.claims.runs.unroll import escape_formula as may_escape
from surefoot_checker.claims.runs.unroll import transition_formula as moves
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.query import Formula, comparison_form, formula_parts
from surefoot_checker.kernel.strict_json import BadCertificate


def satisfied(formula: Formula, values: Mapping[str, Fraction]) -> bool:
    if formula[0] == "and":
        return all(satisfied(part, values) for part in formula_parts(formula))
    if formula[0] == "or":
        return any(satisfied(part, values) for part in formula_parts(formula))
    total = sum((c * values[n] if n else c for n, c in comparison_form(formula).items()), Fraction(0))
    return {"<=": total <= 0, "<": total < 0, "=": total == 0}[str(formula[0])]


def states(environment: Environment) -> Iterator[State]:
    ranges: dict[str, list[Any]] = {}
    for variable in environment.variables:
        kind = variable.kind
        ranges[variable.name] = (
            list(range(kind.low or 0, (kind.high or 0) + 1)) if isinstance(kind, Int) else [False, True]
        )
    (component,) = environment.components
    if len(component.locations) > 1:
        ranges[location_key(component.name)] = list(range(len(component.locations)))
    for values in product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))


def numbers(problem: Problem, state: State, time: int) -> dict[str, Fraction]:
    found = {f"{name}@{time}": Fraction(value) for name, value in state.items()}
    return found | {f"output[{i}]@{time}": Fraction(o) for i, o in enumerate(outputs(problem, state))}


def outputs(problem: Problem, state: State) -> tuple[float, ...]:
    """What the network says here, also where a rule decides."""
    policy = problem.policy
    if isinstance(policy, ProgramPolicy):
        policy = next((b.then for b in policy.branches if isinstance(b.then, NeuralPolicy)), policy)
    made = policy_decision(replace(problem, policy=policy), state)
    return made.outputs if made is not None and made.outputs is not None else ()


def is_tied(problem: Problem, state: State) -> bool:
    return len(set(outputs(problem, state))) < len(outputs(problem, state))


def agrees(said: bool, true: bool, tied: bool) -> bool:
    return said is true or (tied and said)


def read(problem: Problem) -> Read | None:
    try:
        return read_canonical_problem(run_problem_to_json(problem), FileLocations(Path()))
    except Unsupported:
        return None


def with_rules(problem: Problem, how: int) -> Problem:
    """Rules in front of the network, or on both sides of it."""
    if how == 0 or not isinstance(problem.policy, NeuralPolicy):
        return problem
    first, last = problem.policy.actions[0], problem.policy.actions[-1]
    before, after = Branch(Var("x") < 1, last), Branch(TRUE, first)
    middle = Branch(Var("b"), problem.policy) if how == 2 else Branch(TRUE, problem.policy)
    branches = (before, middle, after) if how == 2 else (before, middle)
    return replace(problem, policy=ProgramPolicy(branches, ("spare",)[: how - 1]))


@settings(deadline=None, max_examples=90)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(0, 2))
def test_a_state_has_the_same_meaning(seed: int, kind: str, how: int) -> None:
    problem = with_rules(problems(seed)[kind], how)
    asked = condition_of(problem)
    if isinstance(problem.policy, ProgramPolicy) and any(map(is_output, free_names(asked))):
        return  # where a rule decides, the network is not asked
    if (found := read(problem)) is None:
        return
    moment = TimeFrame(found, 0)
    initial, may_hold, may_fail = moment.initial(), moment.condition(True), moment.condition(False)
    ended, escape = moment.may_end(), may_escape(moment)
    for state in states(problem.environment):
        values, tied = numbers(problem, state, 0), is_tied(problem, state)
        assert satisfied(initial, values) is is_initial(problem.environment, state)
        true = holds_in_state(problem, state, asked)
        assert agrees(satisfied(may_hold, values), true, tied)
        assert agrees(satisfied(may_fail, values), not true, tied)
        assert agrees(satisfied(ended, values), may_end(problem, state), tied)
        assert agrees(any(satisfied(escape, values | p) for p in picks(found)), escapes(problem, state), tied)


def condition_of(problem: Problem) -> Term:
    match problem.property:
        case Never(condition) | Within(condition) | Eventually(condition) | Recurs(condition):
            return condition
    raise AssertionError(problem.property)


def is_output(name: str) -> bool:
    return output_index(name) is not None


def picks(found: Read) -> list[dict[str, Fraction]]:
    """All values of what the environment may pick: 0 or 1."""
    names = {v.name for v in TimeFrame(found, 0).frame_variables() if v.name.startswith("chosen[")}
    return [dict(zip(names, map(Fraction, bits), strict=True)) for bits in product((0, 1), repeat=len(names))]


def escapes(problem: Problem, state: State) -> bool:
    try:
        for _ in enumerate_successors(problem, state):
            pass
    except Undefined:
        return True
    return False


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_a_step_has_the_same_meaning(seed: int, how: int) -> None:
    problem = with_rules(problems(seed)["never"], how)
    if (found := read(problem)) is None:
        return
    move, several = moves(TimeFrame(found, 0)), picks(found)
    everything = list(states(problem.environment))
    for state in everything:
        values, after = numbers(problem, state, 0), reached(problem, state)
        tied = is_tied(problem, state) or escapes(problem, state)  # then the list of next states is cut off
        for other in everything:
            pair = values | {f"{name}@1": Fraction(v) for name, v in other.items()}
            said = any(satisfied(move, pair | pick) for pick in several)
            assert agrees(said, other in after, tied)


def reached(problem: Problem, state: State) -> list[State]:
    """The next states within their ranges."""
    found: list[State] = []
    steps = enumerate_successors(problem, state)
    while True:
        try:
            found.append(next(steps).state)
        except (StopIteration, InvalidProblem):
            return found


SEEDS = (20, 21, 31)  # where small arguments are enough


def test_certificates_of_random_systems_do_not_fit_properties_that_are_violated() -> None:
    """Which are violated, or come to an error of the model, says the search through all states."""
    accepted = swapped = 0
    for seed in SEEDS:
        asked = {k: p for k, p in problems(seed).items() if read(p) is not None}
        truths = {kind: truth(problem) for kind, problem in asked.items()}
        for kind, problem in ((k, p) for k, p in asked.items() if truths[k] == "holds"):
            for argument in ARGUMENTS[kind](problem):
                found = prove_run_certificate(problem, run_problem_to_json(problem), argument, Budget(20))
                if isinstance(found, str):
                    continue
                content = json.loads(json.dumps(found.content))
                assert judge_certificate(content).accepted
                accepted += 1
                for other in (k for k, true in truths.items() if true != "holds"):
                    content["claim"]["problem"] = json.loads(json.dumps(run_problem_to_json(asked[other])))
                    assert is_rejected(content)
                    swapped += 1
                break
    assert accepted >= 3
    assert swapped >= 6


def is_rejected(content: dict[str, Any]) -> bool:
    try:
        return not judge_certificate(content).accepted
    except BadCertificate:
        return True


def within(problem: Problem) -> tuple[ProofArgument, ...]:
    assert isinstance(problem.property, Within)
    return (ProofArgument("unrolled", problem.property.steps),)


ARGUMENTS: dict[str, Callable[[Problem], tuple[ProofArgument, ...]]] = {
    "never": lambda _: (
        ProofArgument("induction", 1),
        ProofArgument("induction", 2),
        ProofArgument("unrolled", 2),
    ),
    "recurs": lambda _: (
        ProofArgument("induction", 1, 2),
        ProofArgument("induction", 2, 3),
        ProofArgument("unrolled", 2),
    ),
    "eventually": lambda _: (ProofArgument("unrolled", 1), ProofArgument("unrolled", 3)),
    "within": within,
}
