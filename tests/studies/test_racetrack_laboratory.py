"""Tracks made from tracks, the end-cell variant, hand-made and random drivers, export, figures."""

import json
from collections import deque
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from surefoot.engines.explicit import Explicit
from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem
from surefoot.explore.exploration import explore_problem
from surefoot.formats.jani import read_jani, write_jani
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.problem.semantics import enumerate_successors, holds_in_state, policy_decision
from surefoot.verdict.verdict import Exact, PerStart, Reason, Result, Unknown
from surefoot.work.budget import Budget
from surefoot_studies import paper_figures
from surefoot_studies.assets import shipped_network
from surefoot_studies.commands import figure as study_figures
from surefoot_studies.paper_figures import (
    Claim,
    FigureSpec,
    PanelSpec,
    SampledValue,
    StudyFigures,
    check_figure_claims,
    load_study_figures,
    read_claims,
)
from surefoot_studies.racetrack.drivers import DRIVEN, FINISHED, QUESTIONS, random_policy
from surefoot_studies.racetrack.end_cell import (
    CRASHED,
    WIDTHS,
    end_cell_environment,
    end_cell_problem,
    start_states,
)
from surefoot_studies.racetrack.figures import FIGURES, MEASURES, goal_distances
from surefoot_studies.racetrack.model import (
    ACCELERATIONS,
    cover_by_rectangles,
    on_cell_kinds,
    racetrack_environment,
)
from surefoot_studies.racetrack.policies import careful_policy, reactive_policy
from surefoot_studies.racetrack.problem import bend_track, goal_probability
from surefoot_studies.racetrack.track import (
    FREE,
    GOAL,
    START,
    TRACKS,
    WALL,
    Track,
    parse_track,
    shipped_track,
)
from surefoot_studies.racetrack.track_generator import random_road, refine_track, track_text, with_obstacles

SIZES = {"small": (12, 35), "big": (33, 30), "ring": (45, 50)}


@pytest.mark.parametrize("name", SIZES)
def test_our_tracks_have_the_sizes_of_the_published_ones(name: str) -> None:
    track = shipped_track(name)
    assert (track.height, track.width) == SIZES[name]
    assert set(track.places(FREE, START)) <= set(
        goal_distances(name)
    )  # a goal can be reached from everywhere


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["barto-small", "barto-big", "ring", "hansen", "tiny"])
def test_no_track_is_a_published_one(shared_data, name: str) -> None:  # type: ignore[no-untyped-def]
    text = (shared_data / "jani" / "tracks" / f"{name}.track").read_text()
    published = parse_track(text, name)
    assert published.cells not in [shipped_track(ours).cells for ours in TRACKS]


def test_an_unknown_track() -> None:
    with pytest.raises(InvalidProblem, match="no track `smal`"):
        shipped_track("smal")


def test_a_finer_grid() -> None:
    track = refine_track(bend_track(), 3)
    assert (track.height, track.width) == (3 * bend_track().height, 3 * bend_track().width)
    for (x, y), (i, j) in product(bend_track().places(FREE, WALL, START, GOAL), ((0, 0), (2, 1))):
        assert track.cells[3 * y + j][3 * x + i] == bend_track().cells[y][x]


@pytest.mark.parametrize("seed", range(4))
def test_obstacles_leave_a_way(seed: int) -> None:
    track = shipped_track("small")
    made = with_obstacles(track, 25, seed)
    assert made == with_obstacles(track, 25, seed)
    assert len(made.places(WALL)) == len(track.places(WALL)) + 25
    assert (made.places(START), made.places(GOAL)) == (track.places(START), track.places(GOAL))
    reached, todo = set(made.places(GOAL)), deque(made.places(GOAL))
    while todo:
        x, y = todo.popleft()
        for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if near not in reached and not made.is_blocked(*near):
                reached.add(near)
                todo.append(near)
    assert set(made.places(FREE, START)) <= reached


def test_too_many_obstacles() -> None:
    with pytest.raises(InvalidProblem, match="has room for"):
        with_obstacles(bend_track(), 1000, 0)


@pytest.mark.parametrize("seed", range(5))
def test_random_roads_can_be_driven_and_written(seed: int) -> None:
    road = random_road(20, 12, seed)
    assert parse_track(track_text(road), road.name) == road
    assert len(road.places(START)) >= 4
    asked = Probability(goal_probability().path, over="min")
    with_policy = Problem("road", racetrack_environment(road, Fraction(0)), careful_policy(road), asked)
    verdict = Explicit().check(with_policy, Budget(60))
    assert isinstance(verdict, Exact)
    assert verdict.low == 1  # without noise the careful driver arrives


@pytest.mark.parametrize("kinds", [(START,), (START, FREE), (GOAL,), (WALL,)])
def test_rectangles_cover_the_cells_once(kinds: tuple[int, ...]) -> None:
    for name in TRACKS:
        track = shipped_track(name)
        covered = [
            (x, y)
            for left, top, right, bottom in cover_by_rectangles(track, *kinds)
            for x, y in product(range(left, right + 1), range(top, bottom + 1))
        ]
        assert sorted(covered) == sorted(track.places(*kinds))


def plain_end_cell(track: Track, network, state):  # type: ignore[no-untyped-def]
    """Where a network drives in one decision, without automata: (kind, state)."""
    x, y, dx, dy = state
    outputs = infer_outputs(network, np.array([state], dtype=np.float32))[0]
    ax, ay = ACCELERATIONS[int(outputs.argmax())]
    dx, dy = min(max(dx + ax, -5), 5), min(max(dy + ay, -5), 5)
    x, y = x + dx, y + dy
    if track.is_blocked(x, y):
        return "crashed", (x, y, dx, dy)
    return ("finished" if track.cells[y][x] == GOAL else "drive"), (x, y, dx, dy)


@pytest.mark.parametrize("width", [WIDTHS[0], WIDTHS[-1]])
def test_the_end_cell_model_drives_as_plain_python(width: int) -> None:
    """From random states: the same places, and the same end."""
    track, network, rng = (
        shipped_track("small"),
        shipped_network("racetrack", f"end-cell-{width}"),
        Random(width),
    )
    places = track.places(FREE, START)
    starts = tuple((*rng.choice(places), rng.randint(-3, 3), rng.randint(-3, 3)) for _ in range(3))
    question = end_cell_problem(width, start_states(starts))
    assert len(explore_problem(question, labels={}, max_states=len(starts)).markov.initial) == len(
        set(starts)
    )
    names = ("drive", "moved", "crashed", "finished")
    for start in starts:
        state = dict(zip(("car_x", "car_y", "car_dx", "car_dy"), start, strict=True)) | {"@car": 0}
        for _ in range(8):
            kind, place = plain_end_cell(track, network, tuple(state[n] for n in list(state)[:4]))
            for _ in range(2):  # accelerate and move; look
                (step,) = enumerate_successors(question, state)
                state = dict(step.state)
            assert (names[state["@car"]], tuple(state[n] for n in list(state)[:4])) == (kind, place)
            assert holds_in_state(question, state, CRASHED) == (kind == "crashed")
            if kind != "drive":
                break


def test_only_the_end_cell_counts() -> None:
    """A wall that is jumped over is no crash here, and is one in the full model."""
    track = parse_track("s.x.g", "gap")
    state = {"car_x": 1, "car_y": 0, "car_dx": 1, "car_dy": 0}
    simple = Problem("simple", end_cell_environment(track), None, Never(CRASHED))
    ends = set()
    for step in enumerate_successors(simple, state | {"@car": 0}):
        (after,) = enumerate_successors(simple, step.state)
        ends.add((after.state["car_x"], after.state["car_y"], after.state["@car"]))
    assert (3, 0, 0) in ends  # over the wall
    assert (2, 0, 2) in ends  # into it
    assert (3, 1, 2) in ends  # off the map


def test_the_random_driver_is_uniform() -> None:
    question = Problem("random", racetrack_environment(bend_track()), random_policy(), goal_probability())
    state = next(iter(enumerate_initial_states(question.environment, 10**6)))
    made = policy_decision(question, state)
    assert made is not None
    assert len(made.actions) == 9
    assert all(float(p) == pytest.approx(1 / 9) for p in dict(made.actions).values())


def test_the_reactive_driver_brakes_before_a_wall() -> None:
    track = parse_track("s........x\ng.........", "straight")
    question = Problem("reactive", racetrack_environment(track), reactive_policy(track), goal_probability())
    rest = {"start_x": 0, "start_y": 0, "cells": 0, "@car": 0, "@road": 0, "@check": 0}
    made = policy_decision(question, {"car_x": 6, "car_y": 0, "car_dx": 2, "car_dy": 0} | rest)
    assert made is not None
    (edge,) = made.actions
    assert ACCELERATIONS[int(edge.removeprefix("car#"))][0] == -1


def test_an_exported_track_reads_back_with_the_same_states_and_probabilities(tmp_path) -> None:  # type: ignore[no-untyped-def]
    track = bend_track()
    original = racetrack_environment(track, anywhere=True)
    best = Probability(QUESTIONS["goal"].path, optimise="max", over="avg")
    path = tmp_path / "track.jani"
    path.write_text(write_jani(original, {"goal": best}, kind="mdp"), "utf-8")
    model = read_jani(path)
    sizes, values = [], []
    for where, asked in ((original, best), (model.environment, model.properties["goal"])):
        problem = Problem("export", where, None, asked)
        verdict = Explicit().check(problem, Budget(120))
        assert isinstance(verdict, Exact)
        values.append((verdict.low, verdict.high))
        sizes.append(explore_problem(problem, labels={}).markov)
    assert values[0] == values[1]
    assert sizes[0].states == sizes[1].states
    assert len(sizes[0].targets) == len(sizes[1].targets)
    assert sorted(sizes[0].values) == sorted(sizes[1].values)


def test_goal_and_crash_of_a_driver_leave_only_idling() -> None:
    tables = []
    for question in ("goal", "crash"):
        verdict = Explicit().check(DRIVEN[f"{question}/small"](), Budget(120))
        assert isinstance(verdict, PerStart)
        tables.append([float(e.high) for _, e in verdict.table])  # type: ignore[union-attr]
    assert all(a + b <= 1 + 1e-5 for a, b in zip(*tables, strict=True))
    assert sum(tables[0]) / len(tables[0]) > 0.9


def test_noise_is_a_parameter() -> None:
    question = DRIVEN["goal/big"](noise=Fraction(1, 2))
    assert Fraction(1, 2) in {
        o.probability.value for e in question.environment.components[0].edges for o in e.outcomes
    }  # type: ignore[union-attr]


def test_every_claim_names_a_figure_and_a_measure() -> None:
    found = load_study_figures("racetrack")
    assert {c.figure for c in found.claims} == set(FIGURES)
    assert {c.measure for c in found.claims} <= set(MEASURES)
    for claim in found.claims:
        assert claim.found is not None
        assert claim.at_least is None or claim.found >= claim.at_least
        assert claim.at_most is None or claim.found <= claim.at_most


def test_a_claim_can_fail() -> None:
    text = """
        [[claim]]
        figure = "random"
        measure = "small: share of starts with goal probability below 0.1"
        paper = "p"
        says = "s"
        at_least = 0.5
    """
    all_of = load_study_figures("racetrack")
    claims = read_claims(text, "t", FIGURES, MEASURES)
    tables = {
        "small": [
            ({"car_x": 0, "car_y": 5}, SampledValue(Fraction(n, 10), Fraction(n, 10))) for n in (0, 5, 9)
        ]
    }
    (checked,) = check_figure_claims(FIGURES["random"], type(all_of)(FIGURES, MEASURES, claims), tables)
    assert (checked.as_recorded, checked.measured) == (False, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[claim]]\nfigure = "7"', "not a list of claims"),
        ('[[claim]]\nfigure = "7"\nmeasure = "m"\npaper = ""\nsays = ""', "there is no `7`"),
        (
            '[[claim]]\nfigure = "2"\nmeasure = "return, later minus earlier"\npaper = ""\nsays = ""',
            "has no bound",
        ),
    ],
)
def test_bad_claims(text: str, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        read_claims(text, "t", FIGURES, MEASURES)


def test_the_start_condition_is_the_cells() -> None:
    question = Problem("starts", racetrack_environment(bend_track(), anywhere=True), None, Never(FINISHED))
    found = {(s["car_x"], s["car_y"]) for s in enumerate_initial_states(question.environment, 10**6)}
    assert found == set(bend_track().places(FREE, START))
    assert on_cell_kinds(bend_track(), START) != on_cell_kinds(bend_track(), START, FREE)


def test_a_figure_is_drawn_and_measured(tmp_path, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    """A small one, by the command: pictures, data, and a claim that is met or not."""
    track = bend_track()

    def build() -> Problem:
        return Problem(
            "tiny", racetrack_environment(track, anywhere=True), careful_policy(track), QUESTIONS["goal"]
        )

    tiny = FigureSpec("tiny", "a small figure", (PanelSpec("bend", "bend", build),), columns=1)
    measures = {"least": lambda f: min(float(v.estimate) for _, v in f["bend"])}
    for bound, code in ((0.0, 0), (1.0, 1)):
        claims = (Claim("tiny", "least", "paper", "says", at_least=bound),)
        monkeypatch.setattr(
            paper_figures, "load_study_figures", lambda _, c=claims: StudyFigures({"tiny": tiny}, measures, c)
        )
        how = study_figures.Sampling("explicit", {}, 60.0, 0)
        assert (
            study_figures.draw_study_figures("racetrack", ["all"], how, tmp_path, lambda _: None, False)
            == code
        )
        assert ("not reproduced" if code else "reproduced ") in capsys.readouterr().out
    assert (tmp_path / "racetrack-figure-tiny.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "racetrack-figure-tiny.svg").exists()
    with pytest.raises(InvalidProblem, match="no figure `7`"):
        load_study_figures("racetrack").figure("7")
    with pytest.raises(InvalidProblem, match="has no figures"):
        load_study_figures("toy")


def test_a_figure_without_time_leaves_its_claims_open(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    """It is no error of the command, and what else was asked is still told."""
    track = bend_track()

    def build() -> Problem:
        return Problem(
            "tiny", racetrack_environment(track, anywhere=True), careful_policy(track), QUESTIONS["goal"]
        )

    def late(name: str) -> PanelSpec:
        return PanelSpec(name, name, build)

    made = {name: FigureSpec(name, name, (late(name),), columns=1) for name in ("first", "second")}
    measures = {"least": lambda f: min(float(v.estimate) for p in f.values() for _, v in p)}
    claims = tuple(Claim(name, "least", "paper", "says", at_least=0.0) for name in made)
    monkeypatch.setattr(paper_figures, "load_study_figures", lambda _: StudyFigures(made, measures, claims))
    asked = study_figures._verify_panel

    def answer(problem: Problem, engine: Engine, budget: Budget) -> Result:
        result = asked(problem, engine, budget)
        monkeypatch.setattr(study_figures, "_verify_panel", asked)
        return replace(result, verdict=Unknown(Reason.TIMEOUT, "the time ended"))

    monkeypatch.setattr(study_figures, "_verify_panel", answer)
    how = study_figures.Sampling("explicit", {}, 60.0, 0)
    assert study_figures.draw_study_figures("racetrack", ["all"], how, None, lambda _: None, True) == 3
    told = json.loads(capsys.readouterr().out)
    assert [claim["answer"] for claim in told["claims"]] == ["unknown", "reproduced"]
    assert told["claims"][0]["measured"] is None
    assert told["not made"] == {"first": "tiny: unknown (timeout): the time ended"}
