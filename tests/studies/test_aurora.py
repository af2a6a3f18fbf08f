"""Aurora as data, run by the reference semantics; and the published policy where it is at hand."""

from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from surefoot.cli import run_command_line
from surefoot.engines.bmc import Bmc
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.network import Network, Shape, dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Recurs, Within
from surefoot.problem.semantics import State, apply_move, holds_in_state, is_initial, policy_decision
from surefoot.problem.validate import validate_problem
from surefoot.run import verify
from surefoot.solvers.native import Native
from surefoot.verdict.verdict import Proved, Violated
from surefoot.work.budget import Budget
from surefoot_studies.aurora.problem import (
    EPSILON,
    NEEDS_NETWORK,
    aurora_environment,
    aurora_policy,
    liveness_excellent,
    liveness_loss,
    safety_excellent,
    safety_shallow_buffer,
)

FEATURES = ("latency_gradient", "latency_ratio", "send_ratio")


def random_network(seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    shapes = ((32, 30), (16, 32), (1, 16))
    return dense_network(
        [(rng.normal(scale=0.3, size=s), rng.normal(scale=0.1, size=s[0])) for s in shapes], Shape.TANH
    )


def history(*triple: Fraction | int | str) -> State:
    """Ten equal intervals."""
    return {f"{name}_{t}": Fraction(v) for name, v in zip(FEATURES, triple, strict=True) for t in range(10)}


@pytest.mark.parametrize("name", NEEDS_NETWORK)
def test_every_problem_is_valid(name: str) -> None:
    validate_problem(NEEDS_NETWORK[name](random_network()))


def test_the_inputs_are_time_major_with_the_oldest_first() -> None:
    names = [term.name for term in aurora_policy(random_network()).observe]  # type: ignore[union-attr]
    assert len(names) == 30
    assert names[:4] == ["latency_gradient_0", "latency_ratio_0", "send_ratio_0", "latency_gradient_1"]
    assert names[27:] == ["latency_gradient_9", "latency_ratio_9", "send_ratio_9"]


def test_a_step_shifts_every_history_and_appends_the_chosen_interval() -> None:
    problem = liveness_loss(random_network())
    start = history(0, 1, 2)
    assert is_initial(problem.environment, start)
    run = simulate_run(problem, start, 25, Random(5))
    assert run.ending == "truncated"
    for before, move, after in zip(run.states, run.moves, run.states[1:], strict=False):
        assert apply_move(problem, before, move) == after
        for name in FEATURES:
            assert [after[f"{name}_{t}"] for t in range(9)] == [before[f"{name}_{t}"] for t in range(1, 10)]
            assert after[f"{name}_9"] == move.chosen[f"new_{name}"]
        assert -EPSILON <= after["latency_gradient_9"] <= EPSILON
        assert 1 <= after["latency_ratio_9"] <= 1 + EPSILON
        assert 2 <= after["send_ratio_9"] <= 10


def test_the_output_is_the_unbounded_control() -> None:
    problem = safety_excellent(random_network())
    made = policy_decision(problem, history(0, 1, 1))
    assert made is not None
    assert made.outputs is not None
    assert made.controls == {"rate_change": Fraction(made.outputs[0])}


def test_what_is_asked() -> None:
    network = random_network()
    assert isinstance(liveness_excellent(network).property, Recurs)
    assert liveness_excellent(network, steps=1).property == Within(
        liveness_excellent(network).property.good, 1
    )  # type: ignore[union-attr]
    for problem in (safety_excellent(network), safety_shallow_buffer(network)):
        assert isinstance(problem.property, Never)
        assert problem.property.steps == 0


def test_the_reset_history_is_the_only_start_if_wanted() -> None:
    only = aurora_environment(EPSILON, (Fraction(1), Fraction(1)), from_reset=True)
    assert is_initial(only, history(0, 1, 1))
    assert not is_initial(only, history("1/100", 1, 1))


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Network:
    return read_onnx_network(shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx")


PUBLISHED = [
    ((0, 1, 1), 0.389512),
    (("0.01", "1.01", 1), 0.220261),
    (("-0.01", 1, 1), 0.543455),
    (("0.05", "1.05", 1), -0.589958),
    ((0, 1, 2), -1.358234),
    ((0, 1, 10), -1.536502),
    (("0.5", 5, 2), -2.377981),
]


@pytest.mark.shared_data
@pytest.mark.parametrize(("triple", "output"), PUBLISHED)
def test_the_published_policy_gives_the_recorded_outputs(
    published: Network, triple: tuple, output: float
) -> None:
    made = policy_decision(liveness_loss(published), history(*triple))
    assert made is not None
    assert made.outputs is not None
    assert made.outputs[0] == pytest.approx(output, abs=1e-5)


def outcome(problem: Problem, state: State) -> bool:
    assert isinstance(problem.property, Never)
    return holds_in_state(problem, state, problem.property.bad)


@pytest.mark.shared_data
def test_the_published_policy_on_single_histories(published: Network) -> None:
    assert not outcome(safety_excellent(published), history("0.01", "1.01", 1))
    assert outcome(safety_excellent(published, Fraction(1, 20)), history("0.05", "1.05", 1))
    assert not outcome(safety_shallow_buffer(published), history(0, 1, 2))


@pytest.mark.shared_data
@pytest.mark.parametrize(("epsilon", "kind"), [(Fraction(1, 100), Proved), (Fraction(1, 50), Violated)])
def test_the_published_policy_keeps_the_rate_up_only_close_to_excellent(
    published: Network, epsilon: Fraction, kind: type
) -> None:
    """Its smallest output is about 0.135 at 0.01 and below zero from 0.02 on."""
    result = verify(safety_excellent(published, epsilon), Bmc(Native(), depth=0), Budget(60))
    assert isinstance(result.verdict, kind)
    assert result.certified


@pytest.mark.shared_data
@pytest.mark.parametrize(("epsilon", "code", "word"), [("0.01", 0, "proved"), ("0.02", 1, "violated")])
def test_the_same_as_a_file_with_a_certificate(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], epsilon: str, code: int, word: str
) -> None:
    """tanh, float32, checked by the independent checker: the output is positive near excellent conditions."""
    spec = tmp_path / "excellent.vnnlib"
    ends = ((f"-{epsilon}", epsilon), ("1", f"1{epsilon[1:]}"), ("1", "1"))
    lines = [f"(declare-const X_{i} Real)" for i in range(30)] + ["(declare-const Y_0 Real)"]
    for i in range(30):
        low, high = ends[i % 3]
        lines += [f"(assert (>= X_{i} {low}))", f"(assert (<= X_{i} {high}))"]
    spec.write_text("\n".join([*lines, "(assert (<= Y_0 0))"]))
    network = shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx"
    assert run_command_line(["vnnlib", str(network), str(spec), "--quiet"]) == code
    out = capsys.readouterr().out
    assert out.startswith(word)
    assert ("accepted by the independent checker" in out) is (code == 0)
