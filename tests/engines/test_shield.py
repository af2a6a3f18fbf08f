"""Synthesis of programs with closed sets, and shields whose permits lead into them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.old_format import to_format_1
from tests.engines.held import plant

from surefoot.certify.barrier.claim import build_barrier_certificate, matches_barrier_claim
from surefoot.engines.barrier.invariant_set import cover_start_box
from surefoot.engines.barrier.scaled_system import scale_system
from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.policy import OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.certified_shield import make_certified_shield
from surefoot.shields.program import shield_policy, synthesis_evidence, synthesis_program
from surefoot.shields.synthesis import RuleSource, Synthesis, synthesise_rules
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Var
from surefoot.term.value_types import Real
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_studies.pendulum.problem import stays_upright

PROBLEM = discretise(stays_upright(disturbance=Fraction(1, 10)))
SYSTEM = read_control_system(PROBLEM)
SMALL = "-0.3 <= x <= 0.3 and -0.3 <= v <= 0.3"


@pytest.fixture(scope="module")
def found() -> Synthesis:
    return synthesise_rules(SYSTEM, RuleSource(), (2,), Budget(60))


def certificate(problem: Problem, shown: dict[str, Any]) -> dict[str, Any]:
    data = to_format_1(build_barrier_certificate(problem, shown).content)
    return data


def adversary(seed: int) -> OraclePolicy:
    generator = np.random.default_rng(seed)
    return OraclePolicy("adversary", lambda _: (float(generator.choice([-15.0, 15.0, 0.0])),))


def test_all_starts_are_covered(found: Synthesis) -> None:
    assert found.covered_share(SYSTEM.initial) == 1
    assert not found.uncovered


def test_the_program_is_certified(found: Synthesis) -> None:
    problem = replace(PROBLEM, policy=synthesis_program(SYSTEM, found))
    data = certificate(problem, synthesis_evidence(found))
    assert judge_certificate(data).accepted
    assert matches_barrier_claim(data, problem)
    assert not matches_barrier_claim(data, replace(problem, property=Never(Var("eta") > 0)))


def test_the_shield_is_certified_whatever_is_proposed(found: Synthesis) -> None:
    policy, permits = shield_policy(SYSTEM, found, adversary(0))
    problem = replace(PROBLEM, policy=policy)
    data = certificate(problem, synthesis_evidence(found, permits))
    assert judge_certificate(data).accepted
    assert matches_barrier_claim(data, problem)


def test_a_shield_that_permits_more_is_refused(found: Synthesis) -> None:
    policy, permits = shield_policy(SYSTEM, found, adversary(0))
    data = certificate(replace(PROBLEM, policy=policy), synthesis_evidence(found, permits))
    data["claim"]["system"]["shield"][0]["margin"] = 0
    assert not judge_certificate(data).accepted
    looser = replace(policy, permits=Var("eta") < 1)
    with pytest.raises(Unsupported):
        certificate(replace(PROBLEM, policy=looser), synthesis_evidence(found, permits))


def test_nothing_unsafe_happens_behind_the_shield(found: Synthesis) -> None:
    policy, _ = shield_policy(SYSTEM, found, adversary(1))
    generator = np.random.default_rng(2)
    bad = PROBLEM.property
    assert isinstance(bad, Never)
    updates = PROBLEM.environment.components[0].edges[0].outcomes[0].updates
    interventions = 0
    for _ in range(5):
        state = {name: float(generator.uniform(float(a), float(b))) for name, (a, b) in _starts()}
        for _ in range(400):
            decision = decide_in_state(policy, PROBLEM.environment, state)
            interventions += decision.intervened
            names = {**state, **decision.controls, "gust": float(generator.choice([-0.1, 0.1]))}
            state = {
                u.target.name: evaluate_term(u.value, names, PROBLEM.environment.arithmetic)
                for u in updates
                if isinstance(u.target, Var)
            }
            assert not evaluate_term(bad.bad, state, PROBLEM.environment.arithmetic)
    assert interventions > 0


def _starts() -> list[tuple[str, tuple[Fraction, Fraction]]]:
    return list(zip(SYSTEM.variables, SYSTEM.initial, strict=True))


def test_starts_that_no_rule_can_save_stay_open() -> None:
    weak = discretise(stays_upright(strongest_action=Fraction(1, 100), degrees=25))
    open_parts = synthesise_rules(read_control_system(weak), RuleSource(), (2,), Budget(4))
    assert open_parts.covered_share(read_control_system(weak).initial) < 1


def lopsided(low: str, high: str) -> Problem:
    """A disturbance whose middle is no double."""
    rates = {"x": "u0 - x + d", "v": "x - v"}
    one = plant(
        rates, "0.1", SMALL, "x > 1 or x < -1 or v > 1", rule=("0",), limit="1", gust="1", continuous=False
    )
    problem = discretise(one)
    (component,) = problem.environment.components
    (edge,) = component.edges
    changed = replace(edge, chosen=(Choice("d", Real(Fraction(low), Fraction(high))),))
    components = (replace(component, edges=(changed,)),)
    return replace(problem, environment=replace(problem.environment, components=components))


@pytest.mark.parametrize("ends", [("0", "0.3"), ("-0.1", "0.35")])
def test_the_middle_of_a_disturbance_need_not_be_a_double(ends: tuple[str, str]) -> None:
    made = make_certified_shield(lopsided(*ends), (2,), Budget(30))
    ((low, high),) = (r for _, r in made.system.disturbances)
    assert Fraction(float((low + high) / 2)) != (low + high) / 2
    assert made.accepted, made.reason
    assert "whatever is proposed" in made.reason
    guard, generator = BatchGuard(made.guard()), np.random.default_rng(0)
    states, intervened = generator.uniform(-0.3, 0.3, (400, 2)), set[int]()
    for _ in range(80):
        proposed = generator.choice([-1.0, 1.0], (400, 1))
        done = guard.step(states, proposed)
        intervened |= set(done.intervened.tolist())
        noise = generator.choice([float(low), float(high)], 400)
        x, v = states.T
        states = np.column_stack([x + 0.1 * (done.applied[:, 0] - x + noise), v + 0.1 * (x - v)])
        assert np.abs(states).max() <= 1
    assert intervened <= {0, 1}
    assert made.certificate is not None
    data = to_format_1(made.certificate)
    assert data["claim"]["system"]["disturbances"][0][0] == "d"
    data["claim"]["system"]["disturbances"][0][2] = "0.9"  # then what is permitted leads further
    assert not judge_certificate(data).accepted


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gust", [None, "0.1"])
def test_without_controls_nothing_is_found_where_nothing_is_safe(gust: str | None) -> None:
    rates = {"x": "x" if gust is None else "x + d"}
    alone = plant(rates, "0.1", "-0.5 <= x <= 0.5", "x > 1 or x < -1", gust=gust, continuous=False)
    system = read_control_system(discretise(alone))
    found = synthesise_rules(system, RuleSource(), (2,), Budget(2))
    assert not found.branches
    assert found.covered_share(system.initial) == 0


def test_a_claim_about_parts_is_about_starts_only(found: Synthesis) -> None:
    """Sets that runs come to on their way are shown to contain other states, which are no starts."""
    problem = replace(PROBLEM, policy=synthesis_program(SYSTEM, found))
    half = [[str(low), str(high / 2)] for low, high in SYSTEM.initial]
    beyond = [[str(high / 2), str(high + 1)] for _, high in SYSTEM.initial]
    outside = [[str(high + 1), str(high + 2)] for _, high in SYSTEM.initial]
    data = certificate(problem, {**synthesis_evidence(found), "parts": [half, beyond, outside]})
    parts = [[[Fraction(e) for e in ends] for ends in box] for box in data["claim"]["system"]["parts"]]
    assert parts == [
        [[low, high / 2] for low, high in SYSTEM.initial],
        [[high / 2, high] for _, high in SYSTEM.initial],
    ]
    assert "2 boxes of its starts" in judge_certificate(data).claim
    data["claim"]["system"]["parts"].append(outside)
    with pytest.raises(BadCertificate, match="parts"):
        judge_certificate(data)


def test_a_part_of_the_starts_is_certified_as_a_part(found: Synthesis) -> None:
    """A certificate about a part is accepted for it, and never taken for one about the problem."""
    (branch,) = found.branches
    small = tuple((low / 2, high / 2) for low, high in SYSTEM.initial)
    where = scale_system(SYSTEM, branch.then, branch.set.domain)
    only = {**branch.set.proof, "covers": [], "start": []}
    narrowed = cover_start_box(where, replace(branch.set, proof=only), small, Budget(60))
    partial = Synthesis((replace(branch, set=narrowed),), (SYSTEM.initial,))
    problem = replace(PROBLEM, policy=synthesis_program(SYSTEM, partial))
    data = certificate(problem, synthesis_evidence(partial))
    judged = judge_certificate(data)
    assert judged.accepted
    assert "1 boxes of its starts" in judged.claim
    assert not matches_barrier_claim(data, problem)
    whole = {**data, "claim": {**data["claim"], "system": {**data["claim"]["system"]}}}
    del whole["claim"]["system"]["parts"]
    assert not judge_certificate(whole).accepted
    wider = {**data, "claim": {**data["claim"], "system": {**data["claim"]["system"]}}}
    wider["claim"]["system"]["parts"] = [data["claim"]["system"]["initial"]]
    assert not judge_certificate(wider).accepted
