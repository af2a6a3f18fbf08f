"""The study's Gymnasium problems are the models of `formats/gymnasium`, which are held against the library.

Their states have shorter names, and their roundings may be as large as those of the models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.formats.gymnasium.registry import build_gym_model
from surefoot.problem.environment import Edge, Environment
from surefoot.problem.policy import NeuralPolicy
from surefoot.term.columns import compile_columns
from surefoot.term.term import Term
from surefoot.term.value_types import Arithmetic, Real
from surefoot_studies.closed_loop.problem import PROBLEMS

COUNT = 10_000
NAMES = {
    "gym-cartpole": ("CartPole-v1", {"x": "x", "v": "x_dot", "a": "theta", "w": "theta_dot"}),
    "gym-cartpole-early": ("CartPole-v1", {"x": "x", "v": "x_dot", "a": "theta", "w": "theta_dot"}),
    "gym-mountaincar": ("MountainCar-v0", {"x": "position", "v": "velocity"}),
    "gym-mountaincar-early": ("MountainCar-v0", {"x": "position", "v": "velocity"}),
    "gym-mountaincar-continuous": (
        "MountainCarContinuous-v0",
        {"x": "position", "v": "velocity", "force": "force", "speed_rounding": "speed_rounding"}
        | {"place_rounding": "position_rounding"},
    ),
    "gym-pendulum-brake": ("Pendulum-v1", {"a": "theta", "w": "theta_dot"}),
    "gym-pendulum-swing": ("Pendulum-v1", {"a": "theta", "w": "theta_dot"}),
}
ENDS = {"gym-cartpole": "bad", "gym-cartpole-early": "bad", "gym-mountaincar": "good"}
ENDS |= {"gym-mountaincar-early": "good", "gym-mountaincar-continuous": "good"}
SIZES = {"x": 1.2, "v": 0.07, "a": 3.0, "w": 5.0, "torque": 2.0, "force": 1.0}


def columns_of(terms: list[Term], columns: dict[str, Any]) -> list[Any]:
    compiled = compile_columns(terms, dict.fromkeys(columns, Real()), Arithmetic.FLOAT64, exact=True)
    return compiled(columns, COUNT).columns


def edges_of(environment: Environment) -> tuple[Edge, ...]:
    return environment.components[0].edges


@pytest.mark.parametrize("name", NAMES)
def test_the_problem_is_the_model(name: str) -> None:
    registered, renamed = NAMES[name]
    problem = next(PROBLEMS[key]() for key in PROBLEMS if key.startswith(f"{name}/"))
    model, rng = build_gym_model(f"gym:{registered}"), np.random.default_rng(0)
    own, theirs = problem.environment, model.environment
    chosen = {c.name: float(c.kind.high) for edge in edges_of(own) for c in edge.chosen}  # type: ignore[union-attr]
    wanted = {c.name: float(c.kind.high) for edge in edges_of(theirs) for c in edge.chosen}  # type: ignore[union-attr]
    assert all(chosen[key] >= wanted[renamed.get(key, key)] for key in chosen)
    assert len(chosen) == len(wanted)
    used = [v.name for v in own.variables] + [c.name for c in own.controls] + list(chosen)
    ours = {key: rng.uniform(-1, 1, COUNT) * SIZES.get(key, chosen.get(key, 1.0)) for key in used}
    named = {renamed.get(key, key): column for key, column in ours.items()}
    for mine, its in zip(edges_of(own), edges_of(theirs), strict=True):
        assert mine.action == its.action
        after = {u.target.name: u.value for u in its.outcomes[0].updates}  # type: ignore[union-attr]
        updates = mine.outcomes[0].updates
        found = columns_of([u.value for u in updates], ours)
        expected = columns_of([after[renamed[u.target.name]] for u in updates], named)  # type: ignore[union-attr]
        assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    assert isinstance(problem.policy, NeuralPolicy)
    found = columns_of([*problem.policy.observe, own.initial], ours)
    expected = columns_of([*model.observe, theirs.initial], named)
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    if name in ENDS:
        condition = getattr(problem.property, ENDS[name])
        assert model.terminates is not None
        assert (columns_of([condition], ours)[0] == columns_of([model.terminates], named)[0]).all()
