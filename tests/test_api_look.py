"""How problems, shields, heat maps and runs look: in one line, in a notebook, as data, as source code."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import surefoot as sf
from surefoot.interface.result import trace_columns
from tests.test_api import LANE, counter, here

__all__ = ["here"]  # the fixture

PLANE = """
name = "plane"
arithmetic = "float64"
initial = "-0.5 <= x <= 0.5 and -0.5 <= y <= 0.5"
[variables]
x = "real [-2, 2]"
y = "real [-2, 2]"
[controls]
u = "[-1, 1]"
v = "[-1, 1]"
[flow]
step = 0.125
method = "euler"
derivatives = { x = "u", y = "v" }
[[edges]]
[properties]
inside = "never x > 1 or x < -1 or y > 1 or y < -1"
"""


def test_a_problem_is_shown_in_one_line(here: Path) -> None:
    x, env = counter()
    assert repr(sf.load("walk.toml", "high")) == (
        "<LoadedProblem walk/high: 1 variable, 2 edges; program of 1 rule; P=? [ F (n = 4) ]>"
    )
    assert repr(sf.load("toy.toml", "below_ten")) == (
        "<LoadedProblem toy/below_ten: 2 variables, 2 edges; network 2 -> 1; never output[0] >= 10>"
    )
    assert repr(sf.Problem("p", env, None, sf.never(x == 5))) == (
        "<Problem p: 1 variable, 2 edges; no policy; never x = 5>"
    )
    program = sf.Policy.program([(x < 4, "up"), (x >= 4, "reset")])
    shielded = sf.ShieldedPolicy(program, sf.TRUE, program)
    assert "shield around program of 2 rules" in repr(sf.Problem("p", env, shielded, sf.never(x == 5)))
    long = sf.Problem("p", env, program, sf.never(sf.maximum(*[x + i for i in range(100)]) == 5))
    assert len(repr(long)) < 200
    assert repr(long).endswith("…>")


def parts_of(fragment: str) -> ElementTree.Element:
    """A part of a page: well-formed, one element, and nothing that would change the page around it."""
    element = ElementTree.fromstring(fragment)
    tags = {one.tag.rpartition("}")[2] for one in element.iter()}
    assert not tags & {"html", "head", "body", "style", "script"}
    return element


def test_a_notebook_shows_the_picture_of_a_heat_map(here: Path) -> None:
    drawn = sf.heatmap("walk.toml", "high", x="n")
    shown = parts_of(drawn._repr_html_())
    drawn.save("m.svg")
    pictures = [one for one in shown if one.tag.endswith("svg")]
    assert len(pictures) == 1
    saved = ElementTree.fromstring(Path("m.svg").read_text())
    assert "".join(pictures[0].itertext()).split() == "".join(saved.itertext()).split()


def test_a_notebook_shows_the_sets_of_a_shield(here: Path) -> None:
    Path("plane.toml").write_text(PLANE)
    made = sf.shield("plane.toml", degrees=(2,), timeout=60)
    assert made.accepted
    shown = parts_of(made._repr_html_())
    assert [one.tag.rpartition("}")[2] for one in shown] == ["svg", "pre"]
    words = "".join(shown.itertext())
    assert "certificate  accepted" in words
    assert "unsafe" in words
    assert "seconds" not in words


def test_a_notebook_shows_what_a_shield_of_actions_permits() -> None:
    x, env = counter()
    words = "".join(parts_of(sf.shield(env, sf.never(x == 5))._repr_html_()).itertext())
    assert "certified: 1 of 1 starts kept safe" in words
    assert "actions      2; 2 permitted sets" in words


def test_a_shield_that_cannot_be_exported_says_so_and_what_to_do(here: Path) -> None:
    Path("exact.toml").write_text(LANE.replace('arithmetic = "float64"\n', ""))
    made = sf.shield("exact.toml", degrees=(2,), timeout=60)
    assert made.accepted
    assert "it cannot be exported: source code computes in float64" in str(made)
    for export in (lambda: made.export_python("g.py"), lambda: made.export_c("g"), lambda: made.wrap(None)):
        with pytest.raises(sf.Unsupported, match=r'; fix: write .* Environment\(…, arithmetic="float64"\)'):
            export()
    assert not list(Path().glob("g.*"))
    for option in (["--python", "g.py"], ["--c", "g"]):
        command = [sys.executable, "-m", "surefoot", "shield", "exact.toml", *option, "--json", "all.json"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        assert said.returncode == 2
        assert said.stderr.startswith(f"error: {option[0]}: source code computes in float64")
        assert not Path("all.json").exists()  # it is said before any work


def test_what_does_not_help_an_uncertified_shield_is_not_advised() -> None:
    n = sf.integer("n", 0, 4)
    walk = sf.Environment("walk", start=(n >= 1) & (n <= 3)).edge("go", guard=(n == 0) | (n == 4))
    walk = walk.edge("go", guard=(n > 0) & (n < 4), outcomes=[(0.5, {n: n + 1}), (0.5, {n: n - 1})])
    with pytest.raises(
        sf.InvalidProblem, match="fix: start only where it can be kept safe, or lower `bound`"
    ):
        sf.shield(walk, sf.never(n == 0), bound=0.5).export_python("g.py")


def mixed_run() -> Any:
    """A run with all kinds of values, locations, and names that a table uses itself."""
    x, flag, y = sf.integer("x", 0, 9), sf.boolean("flag"), sf.real("y", 0, 1)
    cells, named = sf.array("cells", 2, sf.Int(0, 3)), sf.integer("action", 0, 3)
    start = (x == 0) & flag & (y == "1/3") & (cells[0] == 1) & (cells[1] == 2) & (named == 0)
    env = sf.Environment("mixed", start=start, location="off")
    env = env.edge("up", update={x: x + 1, flag: ~flag, y: y / 2, cells[0]: 3, named: 2}, target="on")
    env = env.edge("up", source="on", update={x: x + 1, y: 0})
    trace = sf.check(env, sf.Policy.program([(x >= 0, "up")]), sf.never(x == 2), engine="bmc").trace
    assert trace is not None
    return trace


COLUMNS = {
    "x": [0, 1, 2],
    "flag": [True, False, False],
    "y": [Fraction(1, 3), Fraction(1, 6), 0],
    "cells[0]": [1, 3, 3],
    "cells[1]": [2, 2, 2],
    "action": [0, 2, 2],
    "main": ["off", "on", "on"],
    "@action": ["up", "up", None],
}


def test_a_run_is_columns_with_a_kind_each() -> None:
    trace = mixed_run()
    columns = trace_columns(trace.problem, trace.run)
    assert set(columns) == set(COLUMNS)
    assert columns == COLUMNS | {"y": [1 / 3, 1 / 6, 0.0]}
    assert {type(value) for value in columns["y"]} == {float}
    assert {type(value) for value in columns["flag"]} == {bool}
    assert trace_columns(trace.problem, trace.run, exact=True) == COLUMNS


def test_a_run_of_one_state_has_the_same_columns() -> None:
    x, env = counter()
    trace = sf.check(env, sf.Policy.program([(x >= 0, "up")]), sf.never(x == 0)).trace
    assert trace is not None
    assert trace_columns(trace.problem, trace.run) == {"x": [0], "action": [None]}


def test_what_the_environment_chose_is_a_column() -> None:
    q, w = sf.real("q", 0, 9), sf.real("w", 0, 1)
    env = sf.Environment("c", start=q == 0).edge("go", chosen=[w], update={q: q + w})
    trace = sf.check(env, sf.Policy.program([(sf.TRUE, "go")]), sf.never(q > "3/2")).trace
    assert trace is not None
    columns = trace_columns(trace.problem, trace.run, exact=True)
    assert columns["w"][-1] is None
    assert [a + w for a, w in zip(columns["q"], columns["w"][:-1], strict=False)] == columns["q"][1:]


def test_a_data_frame_has_these_columns_with_types() -> None:
    pandas = pytest.importorskip("pandas")
    trace = mixed_run()
    frame = trace.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert sorted(frame) == sorted(COLUMNS)
    assert frame.index.name == "state"
    assert list(frame.index) == [0, 1, 2]
    kinds = {name: frame[name].dtype.kind for name in ("x", "flag", "y", "cells[0]", "action")}
    assert kinds == {"x": "i", "flag": "b", "y": "f", "cells[0]": "i", "action": "i"}
    assert frame["main"].tolist() == ["off", "on", "on"]
    assert frame["@action"].isna().tolist() == [False, False, True]
    assert trace.to_pandas(exact=True)["y"].tolist() == COLUMNS["y"]
