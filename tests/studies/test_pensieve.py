"""Pensieve's property 2 as data; and the published actor where it is at hand."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.network import Network, dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, holds_in_state, is_initial, policy_decision
from surefoot.problem.validate import validate_problem
from surefoot.term.evaluate import evaluate_term
from surefoot_studies.pensieve.decision import (
    BITRATES,
    DOWNLOAD_SECONDS,
    likeliest_condition,
    poor_conditions,
    poor_network,
)
from surefoot_studies.pensieve.problem import NEEDS_NETWORK
from surefoot_studies.pensieve.streaming import leaves_best, reaches_best
from surefoot_studies.pensieve.throughput import divide_by_download_time


def random_network(width: int) -> Network:
    rng = np.random.default_rng(width)
    return dense_network(
        [(rng.normal(size=(5, width)), rng.normal(size=5)), (rng.normal(size=(6, 5)), rng.normal(size=6))]
    )


@pytest.mark.parametrize("width", [24, 25, 48])
def test_the_query_is_valid_for_both_layouts(width: int) -> None:
    problem = poor_network(random_network(width), Fraction(8))
    validate_problem(problem)
    state = {"remaining": Fraction(1, 2)}
    assert is_initial(problem.environment, state)
    seen = observation_vector(problem.policy, problem.environment, state)  # type: ignore[arg-type]
    assert seen.shape == (width,)
    sizes = [np.float32(b * 4 / 8000) for b in BITRATES]
    throughput, delay = np.float32(0.375 / 8), np.float32(0.8)
    if width < 48:
        ends = [np.float32(750 / 4300), np.float32(0.4), *[throughput] * 8, *[delay] * 8, *sizes]
        assert seen.tolist() == ends + [0.5] * (width - 24)
    else:
        rows = seen.reshape(6, 8)
        assert (rows[0, 7], rows[1, 7], rows[5, 7]) == (
            np.float32(750 / 4300),
            np.float32(0.4),
            np.float32(0.5),
        )
        assert set(rows[2]) == {throughput}
        assert set(rows[3]) == {delay}
        assert rows[4].tolist() == [*sizes, 0, 0]


def test_a_network_that_reads_downloads_computes_the_throughputs_itself() -> None:
    network = random_network(25)
    seen = np.random.default_rng(3).uniform(0.1, 2, 25).astype(np.float32)
    told = seen.copy()
    told[2:10] = seen[2:10] / seen[10:18]
    assert np.array_equal(
        infer_outputs(divide_by_download_time(network), seen[None]), infer_outputs(network, told[None])
    )


@pytest.mark.parametrize("name", [n for n in NEEDS_NETWORK if "conditions" in n or "playback" in n])
def test_questions_about_all_download_times_at_once(name: str) -> None:
    network = random_network(25)
    problem = NEEDS_NETWORK[name](network)
    validate_problem(problem)
    independent = name.endswith("independent")
    times = [v for v in problem.environment.variables if v.name.startswith("download")]
    assert len(times) == (8 if independent else 1)
    state = {"remaining": Fraction(1, 2), "buffer": Fraction(2)} | {v.name: v.kind.low for v in times}  # type: ignore[union-attr]
    seen = observation_vector(problem.policy, problem.environment, state)  # type: ignore[arg-type]
    last = BITRATES.index(round(float(seen[0]) * BITRATES[-1]))
    assert seen[2:10] == pytest.approx([BITRATES[last] * 4 / 80000] * 8)
    made = policy_decision(problem, state)
    told = np.concatenate([seen[:2], seen[2:10] / seen[10:18], seen[10:]])
    assert made is not None
    assert made.outputs == pytest.approx(infer_outputs(network, told[None])[0].tolist())


@pytest.mark.parametrize("width", [24, 48])
def test_those_questions_need_25_inputs(width: int) -> None:
    with pytest.raises(InvalidProblem, match=f"{width} inputs; this question needs 25"):
        poor_conditions(random_network(width))


@pytest.mark.parametrize("build", [leaves_best, reaches_best])
def test_over_whole_runs_each_choice_enters_the_history(build: Callable[..., Problem]) -> None:
    problem = build(random_network(25))
    validate_problem(problem)
    (start,) = sampled(problem, 1)
    run = simulate_run(problem, start, 12, Random(3))
    assert run.ending == "truncated"
    for before, move, after in zip(run.states, run.moves, run.states[1:], strict=False):
        quality = int(str(move.transition.label).removeprefix("quality"))
        assert after["bitrate"] == Fraction(BITRATES[quality], BITRATES[-1])
        sizes = [before[f"size_{i}"] for i in range(1, 8)] + [Fraction(BITRATES[quality] * 4, 80000)]
        times = [before[f"download_{i}"] for i in range(1, 8)] + [move.chosen["new_download"]]
        assert [after[f"size_{i}"] for i in range(8)] == sizes
        assert [after[f"download_{i}"] for i in range(8)] == times
        made = policy_decision(problem, before)
        assert made is not None
        assert made.outputs is not None
        assert max(made.outputs) == made.outputs[quality]


def sampled(problem: Problem, count: int) -> list[State]:
    """Some states within the declared ranges."""
    draw = Random(7)
    return [
        {v.name: v.kind.low + (v.kind.high - v.kind.low) * Fraction(draw.randrange(9), 8) for v in ranges}  # type: ignore[union-attr]
        for ranges in [problem.environment.variables] * count
    ]


def test_what_is_likeliest() -> None:
    outputs = {f"output[{i}]": Fraction(v) for i, v in enumerate((3, 1, 4, 1, 4, 2))}
    for qualities, true in (((2,), True), ((4,), True), ((0, 1), False), ((1, 4), True), ((0, 5), False)):
        assert evaluate_term(likeliest_condition(qualities), outputs) is true


def test_the_papers_download_times() -> None:
    assert (DOWNLOAD_SECONDS[0], DOWNLOAD_SECONDS[-1], len(DOWNLOAD_SECONDS)) == (4, 15, 111)


@pytest.mark.shared_data
def test_the_published_actor_gives_the_recorded_outputs(shared_data: Path) -> None:
    actor = read_onnx_network(shared_data / "policies" / "pensieve_original" / "pensieve_actor_48.onnx")
    recorded = {
        4: [96.79552, 88.07281, 81.1489, 82.503624, 75.4041, 55.797146],
        15: [105.09182, 86.39296, 100.32616, 101.39526, 95.86523, 79.469124],
    }
    for seconds, outputs in recorded.items():
        made = policy_decision(poor_network(actor, Fraction(seconds)), {"remaining": Fraction(0)})
        assert made is not None
        assert made.outputs == pytest.approx(outputs, abs=1e-3)


@pytest.mark.shared_data
def test_the_published_actor_keeps_the_property_at_every_download_time(shared_data: Path) -> None:
    actor = read_onnx_network(shared_data / "policies" / "pensieve_original" / "pensieve_actor_24.onnx")
    for seconds in DOWNLOAD_SECONDS[::10]:
        problem = poor_network(actor, seconds)
        assert isinstance(problem.property, Never)
        assert not holds_in_state(problem, {"remaining": Fraction(1)}, problem.property.bad)
