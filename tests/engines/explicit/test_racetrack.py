"""Published policies on the published Racetrack model: goal probabilities as recorded beside them."""

from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.engines.explicit import Explicit
from surefoot.formats.jani import read_jani
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.policy import EdgesOf, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.term.term import Var
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget

pytestmark = pytest.mark.shared_data

OBSERVED = [
    "car_dx",
    "car_dy",
    "car_x",
    "car_y",
    "dist_east",
    "dist_north",
    "dist_north_east",
    "dist_north_west",
    "dist_south",
    "dist_south_east",
    "dist_south_west",
    "dist_west",
    "goal_dist",
    "goal_dist_x",
    "goal_dist_y",
]
RECORDED = {999: "0.060654", 10999: "0.906802", 12999: "0.803911"}  # of runs without a limit


@pytest.mark.parametrize("episode", RECORDED)
def test_goal_probability(episode: int, shared_data: Path) -> None:
    folder = shared_data / "jani"
    model = read_jani(folder / "racetrack" / "racetrack_barto_sml.jani", {})
    network = read_onnx_network(folder / "racetrack-policies" / f"ep{episode}.onnx")
    policy = NeuralPolicy(network, tuple(map(Var, OBSERVED)), EdgesOf("car"))
    asked = Problem("goal", model.environment, policy, model.properties["goalProbability"])
    verdict = Explicit().check(asked, Budget(120))
    assert isinstance(verdict, Exact)
    assert verdict.low is not None
    assert verdict.high is not None
    assert abs(verdict.low - Fraction(RECORDED[episode])) < Fraction(1, 10**6)
    assert verdict.high - verdict.low < Fraction(1, 10**12)
