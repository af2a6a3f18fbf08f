"""DeepRM's scheduler as data, run by the reference semantics; and the published policies if at hand."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.meaning.simulate import enumerate_initial_states, simulate_run
from surefoot.problem.network import Network, dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import (
    Move,
    State,
    apply_move,
    holds_in_state,
    is_initial,
    permitted_transitions,
    policy_decision,
)
from surefoot.problem.validate import validate_problem
from surefoot_studies.deeprm.cluster import ACTIONS, CAPACITY, HORIZON, SLOTS
from surefoot_studies.deeprm.problem import (
    LARGE,
    NEEDS_NETWORK,
    SMALL,
    empties_queue,
    free_cluster_schedules,
    full_cluster,
    prefers_second_slot,
)


def random_network(seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    return dense_network(
        [
            (rng.normal(scale=0.05, size=(20, 2480)), rng.normal(size=20)),
            (rng.normal(size=(6, 20)), rng.normal(size=6)),
        ]
    )


@pytest.fixture(scope="module")
def problem() -> Problem:
    return empties_queue(random_network())


def cluster(**changes: object) -> State:
    """An idle cluster with five small jobs, but for the changes."""
    idle = {
        "used_memory": (0,) * HORIZON,
        "used_cpu": (0,) * HORIZON,
        "length": (1,) * SLOTS,
        "need_memory": (1,) * SLOTS,
        "need_cpu": (1,) * SLOTS,
        "backlog": 0,
        "silence": 0,
        "begin": 0,
    }
    return {**idle, **changes}


@pytest.fixture(scope="module")
def open_cluster(problem: Problem) -> Problem:
    """The environment alone, where every action is possible: no image has to be computed."""
    return replace(problem, policy=None)


def act(problem: Problem, state: State, action: str, job: tuple[int, int, int] = (3, 2, 4)) -> State:
    """What the action does when the environment would send this job (length, memory, cpu)."""
    (transition,) = (t for t in permitted_transitions(problem, state) if t.label == action)
    chosen = dict(zip(("new_length", "new_memory", "new_cpu"), job, strict=True))
    return apply_move(problem, state, Move(transition, (0,), chosen))


@pytest.mark.parametrize(
    "name", ["free-cluster", "full-cluster-small-jobs", "prefers-second-slot-small"]
)  # the others differ little
def test_every_problem_is_valid(name: str) -> None:
    validate_problem(NEEDS_NETWORK[name](random_network()))


def test_every_action_is_possible_everywhere_and_sampled(problem: Problem) -> None:
    for state in (cluster(), cluster(length=(0,) * SLOTS), cluster(used_cpu=(CAPACITY,) * HORIZON)):
        assert [t.label for t in permitted_transitions(problem, state)].count("wait") == 1
        assert sorted(t.label or "" for t in permitted_transitions(problem, state)) == sorted(ACTIONS)
        made = policy_decision(problem, state)
        assert made is not None
        assert not made.stalls
        assert sum(made.actions.values()) == pytest.approx(1)


def test_a_job_that_fits_is_placed_at_once_and_time_stands_still(open_cluster: Problem) -> None:
    before = cluster(length=(1, 2, 1, 1, 1), need_memory=(1, 3, 1, 1, 1), silence=4)
    after = act(open_cluster, before, "schedule2")
    assert after["used_memory"] == (3, 3, *(0,) * 18)
    assert after["used_cpu"] == (1, 1, *(0,) * 18)
    assert after["length"] == (1, 0, 1, 1, 1)
    assert after["need_memory"] == (1, 0, 1, 1, 1)
    assert (after["silence"], after["backlog"], after["begin"]) == (4, 0, 0)


def test_a_job_begins_at_the_first_step_where_both_resources_last(open_cluster: Problem) -> None:
    memory = (10, 5, 9, 5, 5, 5, *(0,) * 14)
    before = cluster(used_memory=memory, length=(3, 1, 1, 1, 1), need_memory=(5, 1, 1, 1, 1))
    after = act(open_cluster, before, "schedule1")
    assert after["used_memory"] == (10, 5, 9, 10, 10, 10, *(0,) * 14)
    assert after["used_cpu"] == (0, 0, 0, 1, 1, 1, *(0,) * 14)


def test_a_slot_is_refilled_from_the_backlog(open_cluster: Problem) -> None:
    after = act(open_cluster, cluster(backlog=2), "schedule3", job=(7, 2, 4))
    assert (after["length"][2], after["need_memory"][2], after["need_cpu"][2]) == (7, 2, 4)
    assert after["backlog"] == 1


@pytest.mark.parametrize(
    ("action", "state"),
    [
        ("wait", cluster()),
        ("schedule1", cluster(length=(0, 1, 1, 1, 1))),
        ("schedule1", cluster(used_cpu=(CAPACITY,) * HORIZON)),
        ("schedule1", cluster(length=(HORIZON, 1, 1, 1, 1))),
    ],
    ids=["wait", "empty slot", "no room", "too long"],
)
def test_waiting_and_infeasible_choices_let_time_pass(
    open_cluster: Problem, action: str, state: State
) -> None:
    after = act(open_cluster, state, action, job=(0, 1, 1))
    for plan in ("used_memory", "used_cpu"):
        assert after[plan] == (*state[plan][1:], 0)
    assert after["length"] == state["length"]
    assert after["silence"] == 1


def test_a_new_job_takes_the_first_empty_slot_or_waits_behind(open_cluster: Problem) -> None:
    after = act(open_cluster, cluster(length=(1, 0, 0, 1, 1), silence=3), "wait", job=(5, 2, 4))
    assert after["length"] == (1, 5, 0, 1, 1)
    assert (after["need_memory"][1], after["need_cpu"][1]) == (2, 4)
    assert (after["backlog"], after["silence"]) == (0, 0)
    assert act(open_cluster, cluster(), "wait", job=(5, 2, 4))["backlog"] == 1
    assert act(open_cluster, cluster(backlog=60), "wait", job=(5, 2, 4))["backlog"] == 60
    assert act(open_cluster, cluster(silence=10), "wait", job=(0, 1, 1))["silence"] == 10


def plain_image(state: State) -> np.ndarray:
    """The image drawn without terms."""
    image = np.zeros((HORIZON, 124))
    for number, resource in enumerate(("memory", "cpu")):
        for row in range(HORIZON):
            image[row, 60 * number : 60 * number + state[f"used_{resource}"][row]] = 1
        for slot in range(SLOTS):
            left = 60 * number + 10 + 10 * slot
            image[: state["length"][slot], left : left + state[f"need_{resource}"][slot]] = 1
    rows, rest = divmod(state["backlog"], 3)
    image[:rows, 120:123] = 1
    image[rows : rows + 1, 120 : 120 + rest] = 1
    image[:, 123] = state["silence"] / 10
    return image


def test_a_run_and_its_images(problem: Problem) -> None:
    (start,) = enumerate_initial_states(problem.environment, 10)
    assert is_initial(problem.environment, start)
    run = simulate_run(problem, start, 12, Random(6))
    assert run.ending == "truncated"
    assert len({m.transition.label for m in run.moves}) > 2
    for state in run.states[::4]:
        seen = observation_vector(problem.policy, problem.environment, state).reshape(HORIZON, 124)  # type: ignore[arg-type]
        assert np.array_equal(seen, plain_image(state).astype(np.float32))


def picture(problem: Problem, state: State) -> np.ndarray:
    return observation_vector(problem.policy, problem.environment, state).reshape(HORIZON, 124)  # type: ignore[arg-type]


def test_utilisation_fills_whole_columns() -> None:
    problem = prefers_second_slot(random_network(), LARGE)
    units = {f"utilisation_{r}_{c}": Fraction(c, 10) for r in ("memory", "cpu") for c in range(CAPACITY)}
    assert is_initial(problem.environment, units)
    image = picture(problem, units)
    for left in (0, 60):
        assert np.array_equal(
            image[:, left : left + 10], np.tile(np.arange(10, dtype=np.float32) / np.float32(10), (20, 1))
        )
        assert np.all(image[:, left + 10 : left + 60] == 1)
    assert np.all(image[:, 120:] == 0)


@pytest.mark.parametrize(
    ("problem", "used", "job"),
    [
        (free_cluster_schedules(random_network()), 0, SMALL),
        (full_cluster(random_network()), CAPACITY, SMALL),
        (full_cluster(random_network(), LARGE), CAPACITY, LARGE),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_the_papers_pictures_are_those_of_the_model(problem: Problem, used: int, job: tuple) -> None:
    same = {"length": (job[0],) * SLOTS, "need_memory": (job[1],) * SLOTS, "need_cpu": (job[1],) * SLOTS}
    plans = {"used_memory": (used,) * HORIZON, "used_cpu": (used,) * HORIZON}
    assert np.array_equal(picture(problem, UNIT), plain_image(cluster(**plans, **same)).astype(np.float32))


def test_the_inverse_asks_the_opposite() -> None:
    asked, inverse = full_cluster(random_network()), full_cluster(random_network(), waits=False)
    bad = [p.property.bad for p in (asked, inverse)]  # type: ignore[union-attr]
    assert holds_in_state(asked, UNIT, bad[0]) is not holds_in_state(inverse, UNIT, bad[1])


UNIT = {"shade": Fraction(1)}
RECORDED = {
    "free": (free_cluster_schedules, [-3.07325, -2.69267, -3.834795, -3.4307, -3.516855, -4.386129]),
    "small": (full_cluster, [-34.181973, -54.029358, -57.99812, -55.742355, -54.63194, -19.046972]),
    "large": (
        partial(full_cluster, job=LARGE),
        [-58.20387, -74.7086, -74.66143, -77.808784, -69.11095, -48.598248],
    ),
}


@pytest.mark.shared_data
@pytest.mark.parametrize("query", RECORDED)
def test_a_published_policy_gives_the_recorded_outputs(shared_data: Path, query: str) -> None:
    name = "deeprm_pr21_normal_490"
    build, outputs = RECORDED[query]
    problem = build(read_onnx_network(shared_data / "policies" / name / f"{name}.onnx"))  # type: ignore[operator]
    made = policy_decision(problem, UNIT)
    assert made.outputs == pytest.approx(outputs, abs=1e-4)
    assert isinstance(problem.property, Never)
    assert not holds_in_state(problem, UNIT, problem.property.bad)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["deeprm_pr21_normal_490", "deeprm_pr22_binom_490"])
def test_on_a_free_cluster_the_published_policies_prefer_the_second_slot(
    shared_data: Path, name: str
) -> None:
    problem = free_cluster_schedules(read_onnx_network(shared_data / "policies" / name / f"{name}.onnx"))
    made = policy_decision(problem, UNIT)
    assert made is not None
    assert max(made.actions, key=made.actions.__getitem__) == "schedule2"
