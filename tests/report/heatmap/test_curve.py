"""Learning curves from files of several kinds."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from surefoot.errors import InvalidProblem
from surefoot.report.heatmap.learning_curve import read_curve
from surefoot.search.sweep.checkpoint_files import checkpoint_step

POINTS = ((1000.0, -3.5), (2000.0, 10.0))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "# made by a trainer\nstep,return,loss\n1000,-3.5,7\n2000,10,8\n"),
        ("a.csv", "2000,10\n1000,-3.5\n"),
        ("a.tsv", "step\treturn\n1000\t-3.5\n2000\t10\n"),
        ("a.json", '[{"step": 1000, "return": -3.5}, {"step": 2000, "return": 10}]'),
        ("a.json", "[[1000, -3.5], [2000, 10]]"),
        ("a.json", '{"step": [1000, 2000], "return": [-3.5, 10]}'),
    ],
)
def test_read(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    curve = read_curve(tmp_path / name)
    assert (curve.x, curve.y, curve.points) == ("step", "return", POINTS)


def test_the_recipe_of_a_shipped_policy(tmp_path: Path) -> None:
    recipe = tmp_path / "aurora-48.toml"
    recipe.write_bytes(files("surefoot_studies.aurora").joinpath("assets", recipe.name).read_bytes())
    curve = read_curve(recipe)
    assert curve.x == "decisions"
    assert curve.points[-1][0] == 1_440_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "step\n1\n"),
        ("a.csv", "step,return\n1,word\n"),
        ("a.csv", "step,return\n1,nan\n"),
        ("a.json", "{}"),
        ("a.json", "[1, 2]"),
        ("a.json", "{"),
        ("a.json", '{"a": [1], "b": [1, 2]}'),
        ("a.toml", "x = 1"),
        ("a.txt", "1,2"),
    ],
)
def test_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidProblem, match="learning curve"):
        read_curve(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "step"),
    [("aurora-48-after-124800", 124800), ("rl_model_7000_steps", 7000), ("ep999", 999), ("final", None)],
)
def test_when_a_checkpoint_was_saved(name: str, step: int | None) -> None:
    assert checkpoint_step(name) == step
