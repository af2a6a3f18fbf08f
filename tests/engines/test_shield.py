"""Synthesis of programs with closed sets, and shields whose permits lead into them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.engines.held import plant

from surefoot.certify.barrier.claim import about_sets, is_about_sets
from surefoot.certify.checker.check import check
from surefoot.certify.checker.number import BadCertificate
from surefoot.cli.commands.shield.made import make
from surefoot.compile.batch import BatchGuard
from surefoot.encode.barrier import system_of
from surefoot.engines.barrier.closed import covering
from surefoot.engines.barrier.plane import plane
from surefoot.engines.shield.program import evidence, program, shielded
from surefoot.engines.shield.synthesis import Sought, Synthesis, synthesise
from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice, Real
from surefoot.problem.meaning.decision import decide
from surefoot.problem.meaning.evaluate import evaluate
from surefoot.problem.policy import OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.term import Var
from surefoot.studies.pendulum.problem import stays_upright
from surefoot.transform.discretise import discretise
from surefoot.work.budget import Budget

PROBLEM = discretise(stays_upright(disturbance=Fraction(1, 10)))[0]
SYSTEM = system_of(PROBLEM)
SMALL = "-0.3 <= x <= 0.3 and -0.3 <= v <= 0.3"


@pytest.fixture(scope="module")
def found() -> Synthesis:
    return synthesise(SYSTEM, Sought(), (2,), Budget(60))


def certificate(problem: Problem, shown: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(about_sets(problem, shown).content))
    return data


def adversary(seed: int) -> OraclePolicy:
    generator = np.random.default_rng(seed)
    return OraclePolicy("adversary", lambda _: (float(generator.choice([-15.0, 15.0, 0.0])),))


def test_all_starts_are_covered(found: Synthesis) -> None:
    assert found.covered_share(SYSTEM.initial) == 1
    assert not found.uncovered


def test_the_program_is_certified(found: Synthesis) -> None:
    problem = replace(PROBLEM, policy=program(SYSTEM, found))
    data = certificate(problem, evidence(found))
    assert check(data).accepted
    assert is_about_sets(data, problem)
    assert not is_about_sets(data, replace(problem, property=Never(Var("eta") > 0)))


def test_the_shield_is_certified_whatever_is_proposed(found: Synthesis) -> None:
    policy, permits = shielded(SYSTEM, found, adversary(0))
    problem = replace(PROBLEM, policy=policy)
    data = certificate(problem, evidence(found, permits))
    assert check(data).accepted
    assert is_about_sets(data, problem)


def test_a_shield_that_permits_more_is_refused(found: Synthesis) -> None:
    policy, permits = shielded(SYSTEM, found, adversary(0))
    data = certificate(replace(PROBLEM, policy=policy), evidence(found, permits))
    data["claim"]["system"]["shield"][0]["margin"] = 0
    assert not check(data).accepted
    looser = replace(policy, permits=Var("eta") < 1)
    with pytest.raises(Unsupported):
        certificate(replace(PROBLEM, policy=looser), evidence(found, permits))


def test_nothing_unsafe_happens_behind_the_shield(found: Synthesis) -> None:
    policy, _ = shielded(SYSTEM, found, adversary(1))
    generator = np.random.default_rng(2)
    bad = PROBLEM.property
    assert isinstance(bad, Never)
    updates = PROBLEM.environment.components[0].edges[0].outcomes[0].updates
    interventions = 0
    for _ in range(5):
        state = {name: float(generator.uniform(float(a), float(b))) for name, (a, b) in _starts()}
        for _ in range(400):
            decision = decide(policy, PROBLEM.environment, state)
            interventions += decision.intervened
            names = {**state, **decision.controls, "gust": float(generator.choice([-0.1, 0.1]))}
            state = {
                u.target.name: evaluate(u.value, names, PROBLEM.environment.arithmetic)
                for u in updates
                if isinstance(u.target, Var)
            }
            assert not evaluate(bad.bad, state, PROBLEM.environment.arithmetic)
    assert interventions > 0


def _starts() -> list[tuple[str, tuple[Fraction, Fraction]]]:
    return list(zip(SYSTEM.variables, SYSTEM.initial, strict=True))


def test_starts_that_no_rule_can_save_stay_open() -> None:
    weak = discretise(stays_upright(strongest_action=Fraction(1, 100), degrees=25))[0]
    open_parts = synthesise(system_of(weak), Sought(), (2,), Budget(4))
    assert open_parts.covered_share(system_of(weak).initial) < 1


def lopsided(low: str, high: str) -> Problem:
    """A disturbance whose middle is no double."""
    rates = {"x": "u0 - x + d", "v": "x - v"}
    one = plant(
        rates, "0.1", SMALL, "x > 1 or x < -1 or v > 1", rule=("0",), limit="1", gust="1", continuous=False
    )
    problem = discretise(one)[0]
    (component,) = problem.environment.components
    (edge,) = component.edges
    changed = replace(edge, chosen=(Choice("d", Real(Fraction(low), Fraction(high))),))
    components = (replace(component, edges=(changed,)),)
    return replace(problem, environment=replace(problem.environment, components=components))


@pytest.mark.parametrize("ends", [("0", "0.3"), ("-0.1", "0.35")])
def test_the_middle_of_a_disturbance_need_not_be_a_double(ends: tuple[str, str]) -> None:
    made = make(lopsided(*ends), (2,), Budget(30))
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
    data = json.loads(json.dumps(made.certificate))
    assert data["claim"]["system"]["disturbances"][0][0] == "d"
    data["claim"]["system"]["disturbances"][0][2] = "0.9"  # then what is permitted leads further
    assert not check(data).accepted


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gust", [None, "0.1"])
def test_without_controls_nothing_is_found_where_nothing_is_safe(gust: str | None) -> None:
    rates = {"x": "x" if gust is None else "x + d"}
    alone = plant(rates, "0.1", "-0.5 <= x <= 0.5", "x > 1 or x < -1", gust=gust, continuous=False)
    system = system_of(discretise(alone)[0])
    found = synthesise(system, Sought(), (2,), Budget(2))
    assert not found.branches
    assert found.covered_share(system.initial) == 0


def test_a_claim_about_parts_is_about_starts_only(found: Synthesis) -> None:
    """Sets that runs come to on their way are shown to contain other states, which are no starts."""
    problem = replace(PROBLEM, policy=program(SYSTEM, found))
    half = [[str(low), str(high / 2)] for low, high in SYSTEM.initial]
    beyond = [[str(high / 2), str(high + 1)] for _, high in SYSTEM.initial]
    outside = [[str(high + 1), str(high + 2)] for _, high in SYSTEM.initial]
    data = certificate(problem, {**evidence(found), "parts": [half, beyond, outside]})
    parts = [[[Fraction(e) for e in ends] for ends in box] for box in data["claim"]["system"]["parts"]]
    assert parts == [
        [[low, high / 2] for low, high in SYSTEM.initial],
        [[high / 2, high] for _, high in SYSTEM.initial],
    ]
    assert "2 boxes of its starts" in check(data).claim
    data["claim"]["system"]["parts"].append(outside)
    with pytest.raises(BadCertificate, match="parts"):
        check(data)


def test_a_part_of_the_starts_is_certified_as_a_part(found: Synthesis) -> None:
    """A certificate about a part is accepted for it, and never taken for one about the problem."""
    (branch,) = found.branches
    small = tuple((low / 2, high / 2) for low, high in SYSTEM.initial)
    where = plane(SYSTEM, branch.then, branch.set.domain)
    only = {**branch.set.proof, "covers": [], "start": []}
    narrowed = covering(where, replace(branch.set, proof=only), small, Budget(60))
    partial = Synthesis((replace(branch, set=narrowed),), (SYSTEM.initial,))
    problem = replace(PROBLEM, policy=program(SYSTEM, partial))
    data = certificate(problem, evidence(partial))
    judged = check(data)
    assert judged.accepted
    assert "1 boxes of its starts" in judged.claim
    assert not is_about_sets(data, problem)
    whole = {**data, "claim": {**data["claim"], "system": {**data["claim"]["system"]}}}
    del whole["claim"]["system"]["parts"]
    assert not check(whole).accepted
    wider = {**data, "claim": {**data["claim"], "system": {**data["claim"]["system"]}}}
    wider["claim"]["system"]["parts"] = [data["claim"]["system"]["initial"]]
    assert not check(wider).accepted
