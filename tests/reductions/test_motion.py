"""What a Taylor polynomial leaves out: bounds of engine and reader against accurate solutions."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.engines.held import period, plant

from surefoot.certify.barrier.claim import build_barrier_certificate
from surefoot.engines.barrier.float_system import float_system
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import read_control_system
from surefoot.term.term import Const
from surefoot.term.value_types import Arithmetic
from surefoot_checker.claims.barrier.sampling_period import bound_period
from surefoot_checker.claims.barrier.system import read_claimed_system
from surefoot_checker.kernel.strict_json import Refused

MONOMIALS = ("1", "x", "y", "x*y", "x^2", "y^3", "x^2*y", "u0", "x*u0", "d", "y*d", "u0*d", "u0^2")


def rate(random: Random) -> str:
    return " + ".join(f"({random.randint(-30, 30)}/10)*{m}" for m in random.sample(MONOMIALS, 5))


def written(problem: Problem) -> dict[str, Any]:
    """The system as the reader gets it; nothing is proved here."""
    box = ((Fraction(-1), Fraction(1)),) * 2
    entry = {"domain": box, "barrier": Const(-1), "tested": False, "margin": Fraction(0), "proof": {}}
    found: dict[str, Any] = json.loads(
        json.dumps(build_barrier_certificate(problem, {"sets": [entry]}).content)
    )
    return found


@pytest.mark.parametrize("seed", range(16))
def test_solutions_are_as_near_as_the_bounds_say(seed: int) -> None:
    random, generator = Random(seed), np.random.default_rng(seed)
    problem = plant(
        {"x": rate(random), "y": rate(random)},
        random.choice(["0.002", "0.01", "0.02"]),
        "0 <= x <= 0 and 0 <= y <= 0",
        "x > 9",
        rule=("0",),
        gust=random.choice(["0.2", "1"]),
        method=random.choice(["euler", "taylor"]),
        arithmetic=random.choice([Arithmetic.EXACT, Arithmetic.FLOAT64]),
    )
    system = read_control_system(problem)
    assert system.period is not None
    assert system.motion is not None
    low = [Fraction(random.randint(-8, 8), 8) for _ in range(2)]
    box = tuple((a, a + Fraction(random.randint(1, 8), 8)) for a in low)
    ends = (Fraction(random.randint(-8, 0), 4), Fraction(random.randint(0, 8), 4))
    known = system.period.bounds(box, [ends], [Fraction(0)])
    assert known is not None
    data = written(problem)
    sets = [proof["set"] for proof in data["sets"]]
    reader = read_claimed_system(data["claim"]["problem"], sets, None, data["arithmetic"])
    assert reader.time is not None
    order = system.motion.order
    its = bound_period(reader, reader.time, box, [ends], [Fraction(0)], known.enclosure, order)
    assert (its.step, its.chord, its.half) == (known.step, known.chord, known.half)
    assert known.enclosure != box
    with pytest.raises(Refused, match="may leave its enclosure"):
        bound_period(reader, reader.time, box, [ends], [Fraction(0)], box, order)
    states = generator.uniform([float(a) for a, _ in box], [float(b) for _, b in box], (80, 2))
    states[:40] = np.where(states[:40] < states.mean(axis=0), *([float(r[i]) for r in box] for i in (0, 1)))
    controls = generator.choice([float(e) for e in ends], (80, 1))
    seen, mean = period(system, states, controls, generator)
    predicted = float_system(system, (Const(0),)).next_states(states, mean, controls)
    assert (np.abs(seen[-1] - predicted) <= np.array([float(s) for s in known.step]) + 1e-11).all()
    for share, state in zip(np.linspace(0, 1, len(seen)), seen, strict=True):
        inside = [(float(a) - 1e-11, float(b) + 1e-11) for a, b in known.enclosure]
        assert all((state[:, i] >= a).all() and (state[:, i] <= b).all() for i, (a, b) in enumerate(inside))
        line = (1 - share) * states + share * seen[-1]
        assert (np.abs(state - line) <= np.array([float(s) for s in known.chord]) + 1e-11).all()
        nearer = states if share <= 0.5 else seen[-1]
        assert (np.abs(state - nearer) <= np.array([float(s) for s in known.half]) + 1e-11).all()
