"""Racetrack as data, run by the reference semantics."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import floor
from pathlib import Path
from random import Random

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.meaning.simulate import enumerate_initial_states, simulate_run
from surefoot.problem.network import dense_network
from surefoot.problem.policy import EdgesOf
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, enumerate_successors, holds_in_state, policy_decision
from surefoot.problem.validate import validate_problem
from surefoot.term.term import Var
from surefoot_studies.racetrack.model import ACCELERATIONS, racetrack_environment
from surefoot_studies.racetrack.policies import careful_policy, racetrack_policy
from surefoot_studies.racetrack.problem import (
    CRASHED,
    FINISHED,
    PROBLEMS,
    bend_track,
    goal_probability,
    never_crashes,
    never_stalls,
    racetrack_problem,
)
from surefoot_studies.racetrack.track import (
    FREE,
    GOAL,
    START,
    Track,
    nearest_goal,
    parse_track,
    wall_distance,
)

SPEED = 3
DRIVE, WAIT = 0, 1  # locations of `car`


def at_rest(x: int, y: int, dx: int = 0, dy: int = 0) -> dict[str, int]:
    auxiliary = dict.fromkeys(("start_x", "start_y", "cells"), 0)
    return {
        "car_x": x,
        "car_y": y,
        "car_dx": dx,
        "car_dy": dy,
        **auxiliary,
        "@car": DRIVE,
        "@road": 0,
        "@check": 0,
    }


def moving(x: int, y: int, dx: int, dy: int) -> dict[str, int]:
    """The state in which `road` has just taken over."""
    return {**at_rest(x, y, dx, dy), "start_x": x, "start_y": y, "@car": WAIT, "@road": 1}


def plain_drive(track: Track, x: int, y: int, dx: int, dy: int) -> tuple[str, int, int]:
    """What becomes of a segment, without automata: the outcome and where the car is then."""
    n = max(abs(dx), abs(dy))
    for k in range(1, n + 1):
        cx, cy = (
            x + floor(Fraction(k * dx, n) + Fraction(1, 2)),
            y + floor(Fraction(k * dy, n) + Fraction(1, 2)),
        )
        if track.is_blocked(cx, cy):
            return "crashed", cx, cy
        if track.cells[cy][cx] == GOAL:
            return "finished", cx, cy
    return "drive", x + dx, y + dy


def drive(question: Problem, state: State) -> State:
    """Follow the micro-steps, which are deterministic, until the car knows what became of it."""
    while state["@car"] == WAIT:
        (successor,) = enumerate_successors(question, state)
        state = successor.state
    return state


@pytest.fixture(scope="module")
def small() -> Problem:
    track = bend_track()
    return Problem(
        "small", racetrack_environment(track, Fraction(1, 5), SPEED, anywhere=True), None, never_crashes()
    )


def test_the_collision_check_agrees_with_plain_python_everywhere(small: Problem) -> None:
    """All positions off the walls, all velocities."""
    track, locations = bend_track(), ("drive", "wait", "crashed", "finished")
    seen = Counter()
    for (x, y), dx, dy in product(
        track.places(FREE, START), range(-SPEED, SPEED + 1), range(-SPEED, SPEED + 1)
    ):
        end = drive(small, moving(x, y, dx, dy))
        found = locations[end["@car"]], end["car_x"], end["car_y"]
        assert found == plain_drive(track, x, y, dx, dy), (x, y, dx, dy)
        assert (end["start_x"], end["start_y"], end["cells"], end["@road"], end["@check"]) == (0, 0, 0, 0, 0)
        seen[found[0]] += 1
    assert min(seen["crashed"], seen["finished"], seen["drive"]) > 40


def test_a_decision_has_nine_edges_and_each_may_slip(small: Problem) -> None:
    found = list(enumerate_successors(small, at_rest(2, 4, 1, -3)))
    assert len(found) == 18
    for number, (ax, ay) in enumerate(ACCELERATIONS):
        taken, slipped = found[2 * number : 2 * number + 2]
        assert taken.move.transition.label == "accelerate"
        assert taken.move.transition.edges[0] == (0, number)
        assert (taken.probability, slipped.probability) == (Fraction(4, 5), Fraction(1, 5))
        assert (taken.state["car_dx"], taken.state["car_dy"]) == (1 + ax, max(-3 + ay, -SPEED))
        assert (slipped.state["car_dx"], slipped.state["car_dy"]) == (1, -3)
        assert taken.state["@car"] == WAIT


def test_two_hundred_runs_of_the_careful_driver() -> None:
    question = racetrack_problem(
        goal_probability(),
        slip=Fraction(1, 2),
        track=parse_track("xxxxgx\nxxx..x\nxx..xx\ns..xxx\ns.xxxx", "corner"),
    )
    rng, starts = Random(1), list(enumerate_initial_states(question.environment, 10**6))
    assert len(starts) == 2
    ends: Counter[str] = Counter()
    visited: dict[tuple, State] = {}
    for _ in range(200):
        run = simulate_run(question, rng.choice(starts), 400, rng)
        assert run.ending == "deadlocked"
        crashed, finished = (holds_in_state(question, run.states[-1], what) for what in (CRASHED, FINISHED))
        assert crashed != finished
        ends["crashed" if crashed else "finished"] += 1
        visited.update({tuple(s.values()): s for s in run.states})
    for state in visited.values():
        found = list(enumerate_successors(question, state))
        assert sum(s.probability for s in found) == (1 if found else 0)
    assert min(ends["finished"], ends["crashed"]) > 10


def test_without_slipping_the_careful_driver_arrives() -> None:
    question = racetrack_problem(never_crashes(), slip=Fraction(0))
    for start in enumerate_initial_states(question.environment, 10**6):
        run = simulate_run(question, start, 400, Random(0))
        assert holds_in_state(question, run.states[-1], FINISHED)


def random_driver(inputs: int, track: Track) -> Problem:
    rng = np.random.default_rng(3)
    network = dense_network(
        [(rng.normal(size=(8, inputs)), rng.normal(size=8)), (rng.normal(size=(9, 8)), rng.normal(size=9))]
    )
    return racetrack_problem(never_stalls(), racetrack_policy(network, track), track, anywhere=True)


@pytest.mark.parametrize("inputs", [4, 15])
def test_networks_pick_edges_of_the_car(inputs: int) -> None:
    question = random_driver(inputs, bend_track())
    validate_problem(question)
    state = at_rest(3, 4, 1, 0)
    made = policy_decision(question, state)
    assert made is not None
    assert made.outputs is not None
    (action,) = made.actions
    assert action == f"car#{np.argmax(made.outputs)}"
    assert {s.move.transition.edges[0] for s in enumerate_successors(question, state)} == {
        (0, int(np.argmax(made.outputs)))
    }
    run = simulate_run(question, state, 60, Random(2))
    assert not any(holds_in_state(question, s, Var("stalled")) for s in run.states)


def test_the_observation_of_surroundings() -> None:
    track = bend_track()
    question = random_driver(15, track)
    seen = observation_vector(question.policy, question.environment, at_rest(4, 4, 2, -1)).tolist()  # type: ignore[arg-type]
    #        dx  dy x  y  E  N  NE NW S  SE SW W  goal: distance, x, y
    assert seen == [2, -1, 4, 4, 1, 2, 5, 2, 4, 3, 3, 5, 7, 3, -4]


def test_wall_distances_and_goals_by_brute_force() -> None:
    track = bend_track()
    east = wall_distance(track, "east")
    for x, y in track.places(FREE, START, GOAL):
        assert east[y][x] == next(k for k in range(1, 20) if track.is_blocked(x + k, y))
    for x, y in track.places(FREE, START):
        dx, dy = nearest_goal(track)[y][x]
        assert (x + dx, y + dy) in track.places(GOAL)
        assert abs(dx) + abs(dy) == min(abs(gx - x) + abs(gy - y) for gx, gy in track.places(GOAL))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_valid(name: str) -> None:
    validate_problem(PROBLEMS[name]())


def test_an_edge_picker_names_the_nine_accelerations_only() -> None:
    who = random_driver(4, bend_track()).policy
    assert who.actions == EdgesOf("car", tuple(range(9)))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dim: 1 3\ns.q", "t:2:3: `q` is no cell"),
        ("dim: 2 3\ns.g", "announces another size"),
        ("...\n", "at least one start and one goal"),
        ("", "between 1 and 1000"),
        ("s" * 1001, "between 1 and 1000"),
    ],
)
def test_bad_tracks(text: str, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        parse_track(text, "t")


def test_both_spellings_of_walls_and_free_cells() -> None:
    assert parse_track("s#x. g").cells == ((START, 1, 1, FREE, FREE, GOAL),)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "height", "width", "starts"),
    [("barto-small", 12, 35, 233), ("barto-big", 33, 30, None), ("ring", 45, 50, None)],
)
def test_the_published_tracks_can_be_read(
    shared_data: Path, name: str, height: int, width: int, starts: int | None
) -> None:
    track = parse_track((shared_data / "jani" / "tracks" / f"{name}.track").read_text(), name)
    assert (track.height, track.width) == (height, width)
    if starts is not None:
        assert len(track.places(FREE, START)) == starts


@pytest.mark.shared_data
def test_a_published_policy_drives_the_published_track(shared_data: Path) -> None:
    """A good checkpoint without noise reaches the goal from the start line."""
    folder = shared_data / "jani"
    track = parse_track((folder / "tracks" / "barto-small.track").read_text(), "barto-small")
    network = read_onnx_network(folder / "racetrack-policies" / "ep10999.onnx")
    question = racetrack_problem(
        goal_probability(), racetrack_policy(network, track), track, slip=Fraction(0)
    )
    x, y = track.places(START)[0]
    run = simulate_run(question, at_rest(x, y), 200, Random(0))
    assert holds_in_state(question, run.states[-1], FINISHED)


@pytest.mark.shared_data
def test_a_published_policy_has_the_published_goal_probability(shared_data: Path) -> None:
    """Barto-small, 10 % noise, uniform over 233 starts: 0.906802, by iteration from below.

    The policy sees the terms of the study; what becomes of a segment is computed as in `plain_drive`.
    """
    folder = shared_data / "jani"
    track = parse_track((folder / "tracks" / "barto-small.track").read_text(), "barto-small")
    network = read_onnx_network(folder / "racetrack-policies" / "ep10999.onnx")
    who, where = (
        racetrack_policy(network, track),
        racetrack_environment(track, Fraction(1, 10), 50, anywhere=True),
    )
    places = track.places(FREE, START)
    seen = {place: observation_vector(who, where, at_rest(*place)) for place in places}
    numbers = {(x, y, 0, 0): i for i, (x, y) in enumerate(places)}
    todo, steps = list(numbers), []
    while todo:
        x, y, dx, dy = state = todo.pop()
        inputs = seen[x, y].copy()
        inputs[:2] = dx, dy
        ax, ay = ACCELERATIONS[int(infer_outputs(network, inputs[None, :])[0].argmax())]
        for chance, velocity in ((0.9, (dx + ax, dy + ay)), (0.1, (dx, dy))):
            outcome, *place = plain_drive(track, x, y, *velocity)
            following = (*place, *velocity) if outcome == "drive" else outcome
            if outcome == "drive" and following not in numbers:
                numbers[following] = len(numbers)
                todo.append(following)
            if outcome != "crashed":
                steps.append((numbers[state], numbers.get(following, -1), chance))
    sources, targets, chances = (np.array(column) for column in zip(*steps, strict=True))
    value = np.zeros(len(numbers) + 1)
    value[-1] = 1  # the goal
    for _ in range(3000):
        value[:-1] = np.bincount(sources, chances * value[targets], len(numbers))
    assert value[: len(places)].mean() == pytest.approx(0.906802, abs=1e-6)


def test_the_careful_driver_is_a_program_over_edges() -> None:
    question = racetrack_problem(never_crashes(), careful_policy(bend_track()))
    made = policy_decision(question, at_rest(0, 3))
    assert made is not None
    assert dict(made.actions) == {"car#7": 1.0}  # acceleration (1, 0)
