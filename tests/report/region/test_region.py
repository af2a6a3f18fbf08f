"""Pictures of closed sets: what is inside, outside, unsafe; runs by the reference semantics; words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import radians

import pytest
from tests.report.region.scenes import ball

from surefoot.engines.barrier import Barrier
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy, ShieldedPolicy
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.report.drawing.shapes import Cells
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.region.html import describe_scene, region_page
from surefoot.report.region.region_figure import (
    COLUMNS,
    EDGES,
    PAPER,
    ROWS,
    SETS,
    STRIPE,
    UNSAFE,
    draw_scenes,
)
from surefoot.report.region.sample_runs import sample_shield_runs
from surefoot.report.region.scene import scene_to_json
from surefoot.report.result_page import render_result_page
from surefoot.run import verify
from surefoot.term.term import FALSE, TRUE
from surefoot.work.budget import Budget
from surefoot_studies.pendulum.problem import ETA, OMEGA, linear_policy, stays_upright


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.report.region.sample_runs.STEPS", 40)


def test_squares_have_the_colour_of_what_is_there() -> None:
    (cells,) = (s for s in draw_scenes([ball()], 0, 1).shapes if isinstance(s, Cells))
    (low, high), middle = ball().view(0), (COLUMNS // 2, ROWS // 2)
    for j, row in enumerate(cells.colours):
        for i, colour in enumerate(row):
            x = low + (i + 0.5) / COLUMNS * (high - low)
            y = high - (j + 0.5) / ROWS * (high - low)
            if abs(x) >= 2 or abs(y) >= 2:
                assert colour in (UNSAFE, STRIPE)
            elif x * x + y * y <= 1:
                assert colour in (SETS[0], EDGES[0])
            else:
                assert colour == PAPER
    assert cells.colours[middle[1]][middle[0]] == SETS[0]


def test_a_cut_off_the_middle_is_smaller() -> None:
    """z is cut at the middle of the starts; in x and z the ball is an ellipse."""

    def inside(upwards: int) -> int:
        (cells,) = (s for s in draw_scenes([ball()], 0, upwards).shapes if isinstance(s, Cells))
        return sum(c in (SETS[0], EDGES[0]) for row in cells.colours for c in row)

    assert inside(2) == pytest.approx(inside(1) / 2, rel=0.05)


def test_words_say_what_the_picture_shows() -> None:
    words = describe_scene(ball())
    assert words[0].startswith("1 closed set, accepted by the independent checker.")
    assert "set 1: u = -x" in words
    assert "1 run without the shield (the network): 1 of them unsafe." in words
    assert "1 run with the shield (the network): 0 of them unsafe, 2 interventions." in words
    assert "NOT certified" in describe_scene(replace(ball(), certified=False))[0]
    assert describe_scene(replace(ball(), regions=(), runs=())) == ["No closed set was found."]


def test_page_and_file_escape_names() -> None:
    page = region_page("t", [ball(), ball()])
    assert "<ball>" not in page
    assert page.count("<canvas") == 2
    assert "<ball>" not in render_svg(draw_scenes([ball()]))
    assert "http" not in page.replace("http-equiv", "")


def test_data_has_exponents_of_variables_that_occur() -> None:
    (region,) = scene_to_json(ball())["regions"]
    assert [4.0, [[2, 2]]] in region["rows"][0]
    assert [-1.0, []] in region["rows"][0]


def test_runs_without_a_shield_end_when_they_are_unsafe() -> None:
    problem = discretise(stays_upright(degrees=30))
    system = read_control_system(problem)
    runs, who = sample_shield_runs(problem, system, [system.initial], 0)
    assert who == "the program"
    assert not any(r.unsafe or r.shielded for r in runs)
    careless = replace(problem, policy=ShieldedPolicy(linear_policy(), FALSE, linear_policy()))
    runs, who = sample_shield_runs(careless, system, [system.initial], 0)
    assert "one end of their range" in who
    limit = radians(30)
    for run in runs:
        outside = [max(map(abs, state)) >= limit for state in run.states]
        assert not any(outside[:-1])
        assert run.unsafe is outside[-1]
        assert run.unsafe is not run.shielded
        assert run.interventions == (len(run.states) - 1 if run.shielded else 0)  # nothing is permitted
    assert runs == sample_shield_runs(careless, system, [system.initial], 0)[0]


def test_a_network_proposes_its_own_controls() -> None:
    network = NeuralPolicy(dense_network([([[0.0, 0.0]], [15.0])]), (ETA, OMEGA), choose=Choose.VALUE)
    problem = discretise(stays_upright())
    trusted = replace(problem, policy=ShieldedPolicy(network, TRUE, linear_policy()))
    runs, who = sample_shield_runs(
        trusted, read_control_system(problem), [read_control_system(problem).initial], 0
    )
    assert who == "the network"
    assert all(r.unsafe and r.interventions == 0 for r in runs)  # everything is permitted


def test_starts_of_the_runs_are_starts() -> None:
    problem = discretise(stays_upright())
    system = read_control_system(problem)
    runs, _ = sample_shield_runs(
        problem, system, [((Fraction(0), Fraction(0)), (Fraction(1, 8), Fraction(1, 4)))], 0
    )
    for run in runs:
        assert run.states[0][0] == 0
        assert 0.125 <= run.states[0][1] <= 0.25


def test_the_page_of_a_proof_has_its_set() -> None:
    problem = stays_upright()
    result = verify(problem, Barrier(2), Budget(60))
    assert result.certified
    text = render_result_page([(problem, result)])
    assert text.count('<section class="region">') == 1
    assert "set 1: a = -12.05 * eta + -5.87 * omega" in text
    doubted = replace(result, certified=False)
    assert '<section class="region">' not in render_result_page([(problem, doubted)])
