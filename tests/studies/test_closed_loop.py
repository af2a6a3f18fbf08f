"""The study `closed-loop`: problem files in continuous time, their plants in numpy, and what runs do."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.property import Never, Timed
from surefoot.problem.validate import validate_problem
from surefoot.term.evaluate import evaluate_term
from surefoot.term.value_types import Arithmetic
from surefoot_studies.assets import shipped_network
from surefoot_studies.closed_loop.plants import evaluate_columns, read_plant, simulate_plant
from surefoot_studies.closed_loop.problem import FILES, PROBLEMS, file_problem, file_properties

IN_TIME = [name for name in FILES if not name.startswith("gym-")]
VIOLATED = {  # by some of the simulated runs
    ("acc-relu", "twenty-metres"),
    ("acc-tanh", "twenty-metres"),
    ("double-pendulum", "never-fast"),
}
SIZES = {"quadrotor": 12, "attitude": 6, "acc-relu": 6, "acc-tanh": 6}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_valid(name: str) -> None:
    problem = PROBLEMS[name]()
    validate_problem(problem)
    assert isinstance(problem.policy, NeuralPolicy)
    flow = problem.environment.flow
    assert (flow is not None and flow.continuous) == (not name.startswith("gym-"))


@pytest.mark.parametrize("name", IN_TIME)
def test_the_plant_in_numpy_is_the_plant_of_the_problem(name: str) -> None:
    plant, (wanted, *_) = read_plant(name), file_properties(name)
    environment = file_problem(name, wanted).environment
    assert environment.flow is not None
    assert tuple(v.name for v in environment.variables) == plant.variables
    assert len(plant.variables) == SIZES.get(name, 4)
    assert float(environment.flow.control_period) == plant.period
    derivatives, rng = dict(environment.flow.derivatives), Random(0)
    for _ in range(5):
        values = {n: rng.uniform(-0.5, 0.5) for n in (*plant.variables, *plant.controls)}
        gusts = {n: rng.uniform(a, b) for n, a, b in plant.disturbances}
        row = plant.rates(
            np.array([[values[v] for v in plant.variables]]),
            np.array([[values[c] for c in plant.controls]]),
            np.array([list(gusts.values())]).reshape(1, -1),
        )[0]
        for v, rate in zip(plant.variables, row, strict=True):
            exact = evaluate_term(derivatives[v], values | gusts, Arithmetic.FLOAT64)
            assert rate == pytest.approx(exact, rel=1e-12, abs=1e-12)
    drawn = plant.draw_starts(20, np.random.default_rng(0))
    for start in drawn:
        state = dict(zip(plant.variables, map(float, start), strict=True))
        assert evaluate_term(environment.initial, state, Arithmetic.FLOAT64)


@pytest.mark.parametrize("name", IN_TIME)
def test_what_simulated_runs_say(name: str) -> None:
    """No proof: runs of the shipped policy keep what is expected to be proved, and break what is not."""
    plant, generator = read_plant(name), np.random.default_rng(7)
    network = shipped_network("closed-loop", name)
    asked: dict[str, Timed] = {}
    for wanted in file_properties(name):
        found = file_problem(name, wanted).property
        assert isinstance(found, Timed)
        asked[wanted] = found
    longest = max(float(a.until or 0) for a in asked.values())
    periods, parts = round(longest / plant.period), 4
    runs = simulate_plant(
        plant,
        plant.draw_starts(60, generator),
        lambda seen: infer_outputs(network, seen.astype(np.float32)).astype(np.float64),
        periods,
        generator,
        parts,
    )
    names = {v: runs[:, :, i] for i, v in enumerate(plant.variables)}
    for wanted, timed in asked.items():
        assert timed.until is not None
        last = round(float(timed.until) / plant.period) * parts
        if isinstance(timed.asked, Never):
            broken = evaluate_columns(timed.asked.bad, names)[: last + 1].any()
        else:
            assert timed.since == timed.until
            broken = not evaluate_columns(timed.asked.good, names)[last].all()  # type: ignore[union-attr]
        assert bool(broken) == ((name, wanted) in VIOLATED), wanted
