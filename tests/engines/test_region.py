"""Algorithm 2's regions: around a start that no set contains, smaller until there is a rule for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from surefoot.certify.barrier.claim import build_barrier_certificate
from surefoot.problem.policy import OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.barrier import ControlSystem, read_control_system
from surefoot.shields import linear_controllers, synthesis
from surefoot.shields.program import shield_policy, synthesis_evidence, synthesis_program
from surefoot.shields.start_regions import (
    Box,
    region_around,
    states_in_sets,
    subtract_region,
    uncovered_start,
)
from surefoot.shields.synthesis import RuleSource, Synthesis, synthesise_rules
from surefoot.term.parser import parse_term
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.barrier.box_cover import is_box_covered
from surefoot_studies.control.plants import PaperPlant
from surefoot_studies.control.problem import plant_environment

# Where |x2| is large x1 grows, and whether the control pushes it up or down depends on the sign of x2: no
# affine rule is right on both sides.
TWO_SIDED = PaperPlant(
    ("0.8*x1 + 0.5*x2^2*x1 + x2*u1", "0.99*x2"),
    (("-0.5", "0.5"), ("-1", "1")),
    "x1 <= -1 or x1 >= 1",
    (("-1", "1"),),
)
PROBLEM = Problem(
    "two-sided", plant_environment("two-sided", TWO_SIDED), None, Never(parse_term(TWO_SIDED.unsafe))
)
SYSTEM = read_control_system(PROBLEM)


def right_on_both_sides(states: Any) -> Any:
    return -0.6 * np.sign(states[:, 1:]) * states[:, :1]


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def found(told: list[str]) -> Iterator[Synthesis]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_controllers, "WEIGHTS", (1.0,))  # how rules are found is not what is tested
        patch.setattr(linear_controllers, "ROUNDS", 1)
        patch.setattr(linear_controllers, "STEPS", 60)
        yield synthesise_rules(SYSTEM, RuleSource(right_on_both_sides), (2,), Budget(300, 0, told.append))


def test_several_rules_cover_the_starts_by_regions(found: Synthesis, told: list[str]) -> None:
    assert len(found.branches) >= 2
    assert not found.uncovered
    slopes = {str(b.then) for b in found.branches}
    assert len(slopes) == len(found.branches)
    assert any("radius 0.5 of the starts" in text for text in told)
    assert any(text.startswith("shield: 1 rules, ") for text in told)


def test_the_rules_are_certified_together_and_none_of_them_alone(found: Synthesis) -> None:
    policy, permits = shield_policy(SYSTEM, found, OraclePolicy("nobody", lambda _: (0.0,)))
    content = build_barrier_certificate(
        replace(PROBLEM, policy=policy), synthesis_evidence(found, permits)
    ).content
    data = json.loads(json.dumps(content))
    assert judge_certificate(data).accepted
    boxes = [
        [tuple(map(Fraction, ends)) for ends in box] for b in found.branches for box in b.set.proof["covers"]
    ]
    assert is_box_covered([tuple(box) for box in boxes], SYSTEM.initial)  # type: ignore[misc]
    for branch in found.branches:
        own = [tuple(tuple(map(Fraction, e)) for e in box) for box in branch.set.proof["covers"]]
        assert not is_box_covered(own, SYSTEM.initial)  # type: ignore[arg-type]


def test_an_uncovered_start_is_uncovered(found: Synthesis) -> None:
    sets = [b.set for b in found.branches]
    generator = np.random.default_rng(1)
    assert uncovered_start(SYSTEM, sets, SYSTEM.initial, generator) is None
    start = uncovered_start(SYSTEM, sets[:1], SYSTEM.initial, generator)
    assert start is not None
    assert not states_in_sets(SYSTEM, sets[:1], start[None])[0]
    assert states_in_sets(SYSTEM, sets, start[None])[0]


@pytest.mark.parametrize("seed", range(30))
def test_a_region_and_the_rest_are_the_part(seed: int) -> None:
    random = Random(seed)
    count = random.randint(1, 4)
    starts: Box = tuple((Fraction(-1), Fraction(random.randint(0, 3), 3)) for _ in range(count))
    part: Box = tuple((low + (high - low) * random.randint(0, 2) / 8, high) for low, high in starts)
    start = np.array([random.uniform(float(low), float(high)) for low, high in part])
    region = region_around(start, Fraction(1, 2 ** random.randint(0, 6)), part, starts)
    rest = subtract_region(part, region)
    assert all(low <= x <= high for x, (low, high) in zip(start.tolist(), region, strict=True))
    assert is_box_covered([region], region)
    assert is_box_covered([region, *rest], part)
    assert all(is_box_covered([part], box) for box in rest)
    volumes = [np.prod([float(b - a) if b > a else 1.0 for a, b in box]) for box in (region, *rest)]
    whole = np.prod([float(b - a) if b > a else 1.0 for a, b in part])
    assert sum(volumes) == pytest.approx(whole)


def test_a_region_without_a_rule_is_given_up_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """For parts that reach beyond 1/2 no rule is let through, and sets are not asked for more than parts."""
    plant = PaperPlant(("0.5*x1 + u1",), (("-1", "1"),), "x1 <= -3 or x1 >= 3", (("-1", "1"),))
    problem = Problem("half", plant_environment("half", plant), None, Never(parse_term(plant.unsafe)))
    system, through = read_control_system(problem), synthesis._find_rule

    def refusing(system: ControlSystem, part: Box, *others: Any) -> Any:
        return "refused" if part[0][1] > Fraction(1, 2) else through(system, part, *others)

    def as_if_they_held_nothing_else(_: ControlSystem, sets: Any, states: Any) -> Any:
        return np.zeros(len(states), dtype=bool)

    monkeypatch.setattr(synthesis, "_find_rule", refusing)
    monkeypatch.setattr("surefoot.shields.start_regions.states_in_sets", as_if_they_held_nothing_else)
    made = synthesise_rules(system, RuleSource(), (2,), Budget(300))
    open_share = 1 - made.covered_share(system.initial)
    assert made.trouble == "refused"
    assert Fraction(1, 4) <= open_share < Fraction(1, 4) + 2 * synthesis.SMALLEST
    assert all(box[0][1] > Fraction(1, 2) for box in made.uncovered)
    data = build_barrier_certificate(
        replace(problem, policy=synthesis_program(system, made)), synthesis_evidence(made)
    ).content
    assert judge_certificate(json.loads(json.dumps(data))).accepted
