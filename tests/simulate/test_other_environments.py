"""Plants with controls, values that the environment chooses, and what is refused with a sentence."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest
from tests.simulate.test_frequencies import is_likely

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.jani import read_jani
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Law,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, EdgesOf, NeuralPolicy, OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.simulate.path_property import SUCCEEDED, UNDECIDED, PathProperty
from surefoot.simulate.simulator import make_simulator
from surefoot.term.evaluate import Undefined
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, equal
from surefoot.term.value_types import Arithmetic, Bool, Int, Real, ValueType

X, W, FORCE = Var("x"), Var("w"), Var("force")


def one_edge(kind: ValueType, start: int, edge: Edge, **more: object) -> Problem:
    line = Environment("line", (Variable("x", kind),), equal(X, start), (Component("c", (edge,)),), **more)  # type: ignore[arg-type]
    return Problem("line", line, None, Never(FALSE))


def plant() -> Problem:
    """x := x + force / 2, where force = 1 - x, clipped to 1/4, in float64."""
    move = Outcome(updates=(Update(X, X + FORCE / 2),))
    asked = one_edge(
        Real(),
        0,
        Edge(outcomes=(move,)),
        controls=(Control("force", Fraction(-1, 4), Fraction(1, 4)),),
        arithmetic=Arithmetic.FLOAT64,
    )
    net = dense_network([(np.array([[-1]], dtype=np.float32), np.array([1], dtype=np.float32))])
    return replace(asked, policy=NeuralPolicy(net, (X,), choose=Choose.VALUE))


def test_controls_in_float64() -> None:
    simulator = make_simulator(
        plant(), PathProperty(Const(Fraction(9, 10)) <= X, reward="decisions"), max_steps=100
    )
    assert simulator.tier == "columns"
    found = simulator.runs(0, None, 0, 2)
    value, steps = 0.0, 0
    while value < 0.9:
        value += min(0.25, float(np.float32(1) - np.float32(value))) / 2
        steps += 1
    assert found.outcome.tolist() == [SUCCEEDED] * 2
    assert found.steps.tolist() == found.reward_low.tolist() == found.reward_high.tolist() == [steps] * 2


def test_an_oracle_sets_controls() -> None:
    asked = replace(plant(), policy=OraclePolicy("full", lambda _: (1.0,)))
    found = make_simulator(asked, PathProperty(X >= 1), max_steps=100).runs(0, None, 0, 1)
    assert found.steps.tolist() == [8]


def chosen(kind: ValueType, law: Law | None, assuming: Term = TRUE) -> Problem:
    """In each step x becomes what the environment chooses."""
    edge = Edge(
        chosen=(Choice("w", kind, law),), assuming=assuming, outcomes=(Outcome(updates=(Update(X, W),)),)
    )
    return one_edge(kind, 0, edge)


def share(asked: Problem, condition: Term, runs: int = 2000) -> int:
    watched = PathProperty(condition, low=1, high=1)
    return make_simulator(asked, watched, max_steps=5).runs(3, None, 0, runs).count(SUCCEEDED)


def test_laws() -> None:
    dice = chosen(Int(0, 5), Law("integer", (Fraction(0), Fraction(5))))
    assert is_likely(share(dice, X >= 4), 2000, Fraction(1, 3))
    loaded = chosen(Int(0, 5), Law("integer", (Fraction(0), Fraction(5))), assuming=W >= 2)
    assert is_likely(share(loaded, X >= 4), 2000, Fraction(1, 2))
    uniform = chosen(Real(), Law("uniform", (Fraction(-1), Fraction(3))))
    assert is_likely(share(uniform, X >= 2), 2000, Fraction(1, 4))
    coin = Law("uniform", (Fraction(0), Fraction(1)))
    flips = Edge(chosen=(Choice("w", Bool(), coin),), outcomes=(Outcome(updates=(Update(X, W),)),))
    line = Environment("coin", (Variable("x", Bool()),), ~X, (Component("c", (flips,)),))
    assert is_likely(share(Problem("coin", line, None, Never(FALSE)), X), 2000, Fraction(1, 2))


def test_the_normal_law() -> None:
    asked = chosen(Real(), Law("normal", (Fraction(1), Fraction(2))))
    watched = PathProperty(FALSE, reward=X)
    found = make_simulator(asked, watched, max_steps=2).runs(8, None, 0, 1500)
    assert found.count(UNDECIDED) == 1500
    assert kstest(found.reward_low, "norm", args=(1, 2)).pvalue > 1e-6


def test_what_has_no_law_is_refused() -> None:
    with pytest.raises(Unsupported, match="`w` is chosen freely and has no sampling law"):
        share(chosen(Int(0, 5), None), X >= 4, 1)
    with pytest.raises(Unsupported, match=r"1000 draws for `silent \(c#0\)` all missed its assumption"):
        share(chosen(Int(0, 5), Law("integer", (Fraction(0), Fraction(5))), assuming=W > 9), X >= 4, 1)


@pytest.mark.parametrize("tier", ["interpreter", "llvm", "columns"])
def test_errors_name_the_state_and_the_edge(tier: str) -> None:
    out = one_edge(Int(0, 3), 2, Edge(action="up", outcomes=(Outcome(updates=(Update(X, X + 1),)),)))
    with pytest.raises(
        Undefined, match=r"`x` becomes 4, outside its kind in transition `up \(c#0\)`, in the state x = 3"
    ):
        make_simulator(out, PathProperty(FALSE), max_steps=5, tier=tier).runs(0, None, 0, 3)  # type: ignore[arg-type]
    two = Component("c", (Edge(action="left"), Edge(action="right", guard=X > 0)))
    both = replace(out, environment=replace(out.environment, components=(two,)))
    with pytest.raises(Unsupported, match=r"possible in the state x = 2: `left \(c#0\)`, `right \(c#1\)`"):
        make_simulator(both, PathProperty(FALSE), max_steps=5, tier=tier).runs(0, None, 0, 1)  # type: ignore[arg-type]
    likely = make_simulator(both, PathProperty(FALSE), max_steps=5, tier=tier, uniform=True)  # type: ignore[arg-type]
    assert likely.runs(0, None, 0, 1).steps.tolist() == [5]


def test_wrong_arguments() -> None:
    asked = one_edge(Int(0, 3), 2, Edge())
    simulator = make_simulator(asked, PathProperty(FALSE), max_steps=5)
    for seed, start in ((-1, None), (1 << 64, None), (0, 1)):
        with pytest.raises(InvalidProblem):
            simulator.runs(seed, start, 0, 1)
    with pytest.raises(InvalidProblem, match="no reward `cost`"):
        make_simulator(asked, PathProperty(FALSE, reward="cost"), max_steps=5)
    elsewhere = make_simulator(asked, PathProperty(FALSE), max_steps=5, starts=({"x": 0}, {"x": 3}))
    assert elsewhere.starts.valuation(1) == {"x": 3}
    for wrong in ({"x": 4}, {}):
        with pytest.raises(InvalidProblem, match="`x` has no value of its kind in a start state"):
            make_simulator(asked, PathProperty(FALSE), max_steps=5, starts=(wrong,))


@pytest.mark.shared_data
@pytest.mark.parametrize(("episode", "capped"), [(4999, "0.647021"), (12999, "0.749482")])
def test_published_policies(episode: int, capped: str, shared_data: Path) -> None:
    """Goal probabilities within 10,000 steps, as recorded beside the policies."""
    model = read_jani(shared_data / "jani" / "racetrack" / "racetrack_barto_sml.jani", {})
    network = read_onnx_network(shared_data / "jani" / "racetrack-policies" / f"ep{episode}.onnx")
    names = "car_dx car_dy car_x car_y dist_east dist_north dist_north_east dist_north_west dist_south"
    names += " dist_south_east dist_south_west dist_west goal_dist goal_dist_x goal_dist_y"
    policy = NeuralPolicy(network, tuple(map(Var, names.split())), EdgesOf("car"))
    asked = model.properties["goalProbability"]
    assert isinstance(asked, Probability)
    problem = Problem("goal", model.environment, policy, asked)
    simulator = make_simulator(problem, PathProperty(asked.path.right), max_steps=10_000)
    assert simulator.tier == "llvm"
    found = simulator.runs(5, None, 0, 20_000)
    assert is_likely(found.count(SUCCEEDED), 20_000, Fraction(capped))
