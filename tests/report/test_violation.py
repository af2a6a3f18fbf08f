"""Pictures of violating runs: what a condition bounds, where it holds in a plane, and what a page shows."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.browser import browser

from surefoot.errors import InvalidProblem
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem
from surefoot.report.drawing.png_file import render_pixels
from surefoot.report.drawing.shapes import Drawing, Group, Polygon
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.result_page import render_result_page
from surefoot.report.result_text import render
from surefoot.report.violation.condition_parts import describe_decisive_parts, split_condition
from surefoot.report.violation.drawn_run import draw_traces
from surefoot.report.violation.figure import draw_violation
from surefoot.report.violation.html import watched_names
from surefoot.report.violation.phase_plot import choose_axes, draw_phase_plot
from surefoot.report.violation.plane_region import PlaneView, plane_region
from surefoot.run import verify
from surefoot.search.find_witnesses import with_witnesses
from surefoot.term.evaluate import evaluate_term
from surefoot.term.parser import parse_term
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.verdict.verdict import Reason, Result, Unknown, Violated
from surefoot.work.budget import Budget

KINDS = {"x": Real(), "y": Real(), "z": Real(), "n": Int(0, 20), "b": Bool()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 3", [("x", ((3, inf),), "> 3", "")]),
        ("x > 3 or x < -3", [("x", ((-inf, -3), (3, inf)), "> 3 or < -3", "")]),
        ("x >= 1 and x <= 2", [("x", ((1, 2),), ">= 1 and <= 2", "")]),
        ("not (x <= 3)", [("x", ((3, inf),), "> 3", "")]),
        ("x - y > 3", [("x - y", ((3, inf),), "> 3", "")]),
        ("y + 3 < x", [("y - x", ((-inf, -3),), "< -3", "")]),
        ("2*x - 4*y <= 10", [("x - 2*y", ((-inf, 5),), "<= 5", "")]),
        ("x - y > 3 or x - y < -1", [("x - y", ((-inf, -1), (3, inf)), "> 3 or < -1", "")]),
        ("abs(x) > 2", [("x", ((-inf, -2), (2, inf)), "> 2 in size", "")]),
        ("abs(x) <= 2", [("x", ((-2, 2),), "<= 2 in size", "")]),
        ("x*y > 3", [("x * y", ((3, inf),), "> 3", "")]),
        ("n = 4", [("n", ((3.5, 4.5),), "= 4", "")]),
        ("not (n = 4)", [("n", ((-inf, 3.5), (4.5, inf)), "!= 4", "")]),
        ("b", [("b", ((0.5, inf),), "true", "")]),
        ("not b", [("b", ((-inf, 0.5),), "false", "")]),
        ("x > 3 and y < 2", [("x", ((3, inf),), "> 3", "y < 2"), ("y", ((-inf, 2),), "< 2", "x > 3")]),
        ("x > 3 or y < 2", [("x", ((3, inf),), "> 3", ""), ("y", ((-inf, 2),), "< 2", "")]),
        (
            "(x > 3 or y > 3) and (x < 0 or y < 0)",  # each may be what holds, in either part
            [
                ("x", ((-inf, 0), (3, inf)), "> 3 or < 0", "y > 3 or < 0"),
                ("y", ((-inf, 0), (3, inf)), "> 3 or < 0", "x > 3 or < 0"),
            ],
        ),
    ],
)
def test_parts_of_a_condition(text: str, expected: list[tuple[object, ...]]) -> None:
    found = split_condition(parse_term(text), KINDS)
    assert [(p.quantity.label, p.intervals, p.words, p.also) for p in found] == expected


def test_only_what_made_a_condition_true_is_named() -> None:
    condition = parse_term("(x > 3 and y > 3) or z > 1 or (n = 2 and b)")
    values = {"x": 5.0, "y": 0.0, "z": 2.0, "n": 2, "b": True}
    said = describe_decisive_parts(condition, values, KINDS, Arithmetic.FLOAT64)
    assert said == "z > 1, n = 2, b"


@given(
    st.lists(st.tuples(*[st.integers(-4, 4)] * 3, st.booleans()), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_linear_areas_are_where_the_condition_holds(
    rows: list[tuple[int, int, int, bool]], joins: list[bool]
) -> None:
    """At random points the condition holds exactly in the areas, but for points on an edge."""
    text = ""
    for (a, b, c, strict), conjoin in zip(rows, joins, strict=False):
        one = f"{a}*x + {b}*y {'<' if strict else '<='} {c}"
        text = f"({text}) {'and' if conjoin else 'or'} {one}" if text else one
    condition = parse_term(text)
    view = PlaneView(("x", "y"), (-3.0, 3.0), (-2.0, 2.0), (False, False))
    region = plane_region(condition, view, {}, KINDS, Arithmetic.EXACT)
    assert region.exact
    rng = np.random.default_rng(3)
    for x, y in rng.uniform((-3, -2), (3, 2), size=(40, 2)):
        if all(abs(a * x + b * y - c) > 1e-6 for a, b, c, _ in rows):
            holds = bool(evaluate_term(condition, {"x": Fraction(x), "y": Fraction(y)}))
            assert holds == any(_is_inside(area, x, y) for area in region.areas)


def _is_inside(area: tuple[tuple[float, float], ...], x: float, y: float) -> bool:
    sides = [
        (area[n][0] - area[n - 1][0]) * (y - area[n - 1][1])
        - (area[n][1] - area[n - 1][1]) * (x - area[n - 1][0])
        for n in range(len(area))
    ]
    return all(s >= -1e-9 for s in sides) or all(s <= 1e-9 for s in sides)


def test_other_names_have_their_given_values() -> None:
    view = PlaneView(("x", "y"), (0.0, 4.0), (0.0, 4.0), (False, False))
    condition = parse_term("x + y + z >= 5")
    here = plane_region(condition, view, {"z": Fraction(1)}, KINDS, Arithmetic.EXACT)
    there = plane_region(condition, view, {"z": Fraction(-9)}, KINDS, Arithmetic.EXACT)
    assert here.areas == (((4.0, 0.0), (4.0, 4.0), (0.0, 4.0)),)
    assert there.areas == ()


def test_what_is_not_linear_is_looked_at_point_by_point() -> None:
    view = PlaneView(("x", "y"), (-2.0, 2.0), (-2.0, 2.0), (False, False))
    region = plane_region(parse_term("x^2 + y^2 <= 1"), view, {}, KINDS, Arithmetic.EXACT)
    assert not region.exact
    covered = sum((b[0] - a[0]) * (c[1] - b[1]) for a, b, c, _ in region.areas)
    assert covered == pytest.approx(np.pi, rel=0.02)


def test_whole_numbers_are_squares() -> None:
    kinds = KINDS | {"m": Int(0, 20)}
    view = PlaneView(("n", "m"), (-0.7, 4.7), (-0.7, 4.7), (True, True))
    region = plane_region(parse_term("n = 2 and m >= 3"), view, {}, kinds, Arithmetic.EXACT)
    assert [area[0] for area in region.areas] == [(1.5, 2.5), (1.5, 3.5)]


def test_polygons_and_groups_are_drawn_in_both_kinds_of_file() -> None:
    triangle = Polygon(((10, 10), (30, 10), (10, 30)), "#ff0000")
    drawing = Drawing(40, 40, (Group("run", (triangle,)),))
    assert '<g class="run">\n<polygon points="10,10 30,10 10,30" fill="#ff0000"/>' in render_svg(drawing)
    pixels = render_pixels(drawing, zoom=1)
    assert pixels[12, 12].tolist() == [255, 0, 0]
    assert pixels[28, 28].tolist() == [255, 255, 255]
    assert (pixels == [255, 0, 0]).all(axis=2).sum() == pytest.approx(200, abs=25)


MASS = """
name = "mass"
arithmetic = "float64"
initial = "-0.1 <= x <= 0.1 and 0.8 <= v <= 1"
[variables]
x = "real"
v = "real"
[flow]
step = 0.1
[flow.derivatives]
x = "v"
v = "-x"
[[edges]]
[properties]
inside = "never x > 0.5 or x - v > 3"
arrives = "within 6 x > 2"
"""


def mass(folder: Path, name: str) -> tuple[Problem, Result]:
    (folder / "mass.toml").write_text(MASS)
    problem = read_problem_file(folder / "mass.toml", property=name)
    return problem, verify(problem, "falsify", Budget(30))


def test_a_page_shows_thresholds_the_moment_and_the_plane(tmp_path: Path) -> None:
    problem, result = mass(tmp_path, "inside")
    text = render_result_page([(problem, result)])
    panel = re.search(r'aria-label="x".*?</svg>', text, re.DOTALL)
    assert panel is not None
    assert "bad: &gt; 0.5" in panel.group()
    assert "violated at time 0." in panel.group()
    assert ">time</text>" in panel.group()
    assert 'aria-label="x - v"' in text  # a term of the state has a panel of its own
    plane = re.search(r'aria-label="phase plot: v over x".*?</svg>', text, re.DOTALL)
    assert plane is not None
    assert ">starts</text>" in plane.group()
    assert ">bad</text>" in plane.group()
    assert "<script" not in text


def test_a_goal_is_drawn_like_a_bad_region(tmp_path: Path) -> None:
    text = render_result_page([mass(tmp_path, "arrives")])
    assert "goal: &gt; 2" in text
    assert "not reached until time 0.6" in text


def test_the_plane_is_that_of_what_was_violated(tmp_path: Path) -> None:
    problem, result = mass(tmp_path, "inside")
    assert isinstance(result.verdict, Violated)
    runs = draw_traces(problem, [result.verdict.trace], watched_names(problem))
    assert choose_axes(problem, runs) == ("x", "v")
    plot = draw_phase_plot(problem, runs)
    assert plot is not None
    assert plot.words == ()  # there is no other variable that would have to be told


def test_a_long_run_is_drawn_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "count.toml").write_text(
        'initial = "n = 0"\n[variables]\nn = "int 0..400"\n[[edges]]\nguard = "n < 400"\n'
        'updates = { n = "n + 1" }\n[properties]\nlow = "never n >= 390"\n'
    )
    problem = read_problem_file(tmp_path / "count.toml", property="low")
    text = render_result_page([(problem, verify(problem, "explicit", Budget(60)))])
    assert "violated at step 390" in text
    assert "The first 150 and the last 50 of 391 states" in text
    assert "<td>149</td>" in text
    assert "<td>150</td><td>150</td>" not in text
    assert "<td>390</td><td>390</td>" in text


def test_pictures_for_a_paper(tmp_path: Path) -> None:
    drawing = draw_violation(*witnesses(tmp_path))
    text = render_svg(drawing)
    assert text.count(">x<") == 2  # the title of the panel, and the axis of the plane
    assert "witness-3" in text
    pixels = render_pixels(drawing, zoom=1)
    assert pixels.shape == (drawing.height, drawing.width, 3)
    assert (pixels == [250, 219, 216]).all(axis=2).sum() > 1000  # what is bad


def test_without_a_violation_there_is_no_picture(tmp_path: Path) -> None:
    problem, result = mass(tmp_path, "inside")
    with pytest.raises(InvalidProblem, match="no violation"):
        draw_violation(problem, replace(result, verdict=Unknown(Reason.TIMEOUT, "")))


def witnesses(folder: Path) -> tuple[Problem, Result]:
    problem, result = mass(folder, "inside")
    return problem, with_witnesses(problem, result, 3, Budget(30))


def test_several_witnesses_are_told_in_a_table(tmp_path: Path) -> None:
    problem, result = witnesses(tmp_path)
    lines = render(problem, result).splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("  witnesses 3,"))
    assert lines[head + 1].split() == ["run", "start", "steps", "violated"]
    assert all("x > 0.5" in line for line in lines[head + 2 : head + 5])


@pytest.mark.browser
def test_a_browser_hides_and_shows_witnesses(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(render_result_page([witnesses(tmp_path)]), encoding="utf-8")
    drawn = "filter(g => g.getBoundingClientRect().width > 0)"
    shown = f"[...document.querySelectorAll('g.witness-2')].{drawn}.length"
    with browser(tmp_path / "profile") as opened:
        opened.open(page)
        before = opened.evaluate(shown)
        assert before == 3  # x, x - v, and the plane
        opened.evaluate("document.querySelector('input[data-run=\"2\"]').click()")
        assert opened.evaluate(shown) == 0
        assert opened.evaluate(shown.replace("witness-2", "witness-1")) == before
        opened.evaluate("document.querySelector('input[data-run=\"2\"]').click()")
        assert opened.evaluate(shown) == before
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not [url for url in opened.requests if not url.startswith(("file:", "data:"))]
