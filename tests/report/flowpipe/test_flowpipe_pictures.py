"""Flowpipes as files and data: panels for what the property speaks of, any two names, and errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.report.flowpipe.scenes import spring_result

from surefoot.errors import InvalidProblem
from surefoot.interface.result import CheckResult
from surefoot.problem.property_parser import parse_property
from surefoot.report.drawing.png_file import render_png
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.flowpipe.pipe_figure import OPEN
from surefoot.report.flowpipe.pipe_scene import find_conditions, pipe_scene
from surefoot.report.result_page import render_result_page
from surefoot.report.result_picture import draw_result


def test_panels_of_what_the_property_bounds(tmp_path: Path) -> None:
    problem, result = spring_result(tmp_path)
    drawn = render_svg(draw_result(problem, result))
    for title in ("x over time", "x + v over time", "v over x"):
        assert f">{title}</text>" in drawn
    assert ">v over time</text>" not in drawn
    assert "12 simulated runs" in drawn
    assert OPEN in drawn
    assert render_png(draw_result(problem, result)).startswith(b"\x89PNG")


def test_any_two_names(tmp_path: Path) -> None:
    problem, result = spring_result(tmp_path)
    assert ">v over time</text>" in render_svg(draw_result(problem, result, ("time", "v")))
    assert ">x over v</text>" in render_svg(draw_result(problem, result, ("v", "x")))
    for axes, words in (
        (("time", "w"), "there is no `w` to draw"),
        (("x", "time"), "`time` is drawn from left to right"),
        (("x",), "a picture has two axes"),
    ):
        with pytest.raises(InvalidProblem, match=words):
            draw_result(problem, result, axes)
    plain = replace(result, verdict=replace(result.verdict, artifact=None))  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="there are no sets"):
        draw_result(problem, plain, ("time", "x"))


def test_conditions_in_a_plane_say_no_more_than_they_know(tmp_path: Path) -> None:
    problem, result = spring_result(tmp_path)
    problem = replace(problem, property=parse_property("never x > 1.25 or (v > 0.2 and x < 0.4) or x^2 > 9"))
    scene = pipe_scene(problem, result.verdict, 0)
    assert scene is not None
    (whole,) = find_conditions(scene, "x", "v")
    assert not whole.part
    (band,) = find_conditions(scene, "time", "v")
    assert band.part  # only where x < 0.4 too
    assert all(v > 0.19 for area in band.region.areas for _, v in area)
    timed = replace(problem, property=parse_property("never x > 0.9 from 1 to 1.5 seconds"))
    again = pipe_scene(timed, result.verdict, 0)
    assert again is not None
    (band,) = find_conditions(again, "time", "x")
    assert {t for area in band.region.areas for t, _ in area} == {1.0, 1.5}


def test_the_page_tells_what_is_known(tmp_path: Path) -> None:
    page = render_result_page([spring_result(tmp_path)])
    assert '<section class="flowpipe">' in page
    assert (
        "50 % of the starts are shown to satisfy the property, all of them up to time 1; 1 cell open." in page
    )


def test_data_in_python(tmp_path: Path) -> None:
    problem, result = spring_result(tmp_path)
    found = CheckResult(problem, result).flowpipe
    assert found is not None
    assert (found.share, found.until, len(found)) == (0.5, 1, 8)
    columns = found.columns()
    assert list(columns) == [
        *("begin", "end", "cell", "x low", "x high", "v low", "v high", "x + v low", "x + v high")
    ]
    assert columns["begin"][-1] == 1.5
    found.save(tmp_path / "x.svg", axes=("x", "v"))
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    with pytest.raises(InvalidProblem, match="no kind of file"):
        found.save(tmp_path / "x.pdf")


def test_a_data_frame_of_boxes(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    found = CheckResult(*spring_result(tmp_path)).flowpipe
    assert found is not None
    assert list(found.to_pandas().columns) == list(found.columns())


def test_sets_that_were_given_up_do_not_shrink_the_others(tmp_path: Path) -> None:
    problem, result = spring_result(tmp_path)
    scene = pipe_scene(problem, result.verdict, 0)
    assert scene is not None
    pieces = list(scene.pipe.pieces)
    assert pieces[-1].cell == 1  # open after time 1
    pieces[-1] = replace(pieces[-1], low=(-1e12, -1e12, -1e12), high=(1e12, 1e12, 1e12))
    wild = replace(scene, pipe=replace(scene.pipe, pieces=tuple(pieces)))
    for name in ("x", "v", "x + v"):
        (low, high), (least, most) = scene.view(name), wild.view(name)
        assert least <= low
        assert high <= most
        assert most - least < 6 * (high - low)
    known = list(scene.pipe.pieces)
    known[0] = replace(known[0], high=(50.0, 50.0, 50.0))
    assert replace(scene, pipe=replace(scene.pipe, pieces=tuple(known))).view("x")[1] > 50


def test_a_plane_says_from_when_on_something_counts(tmp_path: Path) -> None:
    problem, result = spring_result(tmp_path)
    for asked, words in (
        ("never x > 0.9 for 2 seconds", "bad"),
        ("never x > 0.9 from 1 to 1.5 seconds", "bad from time 1"),
        ("at time 1.5 x > 0.6", "goal at time 1.5"),
        ("never x > 0.9 before x < 0.6 from 1 to 2 seconds", "goal"),
    ):
        timed = replace(problem, property=parse_property(asked))
        assert f">{words}</text>" in render_svg(draw_result(timed, result, ("x", "v")))
        over_time = render_svg(draw_result(timed, result, ("time", "x")))
        assert " time 1" not in over_time
