"""Training itself: short runs that need torch."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surefoot_studies.training.__main__ import train_from_arguments
from surefoot_studies.training.recipes import RECIPES
from surefoot_studies.training.rollout import greedy_actor, held_out_returns
from surefoot_studies.training.simulators import SIMULATORS


@pytest.mark.train
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("aurora-48", {"iterations": 2, "episodes": 4}),
        ("pensieve-32x16", {"iterations": 15, "episodes": 32}),
        ("deeprm-20", {"iterations": 1, "episodes": 20, "imitation": 5}),
    ],
)
def test_a_short_training_is_repeatable_and_learns(name: str, changes: dict[str, int]) -> None:
    from surefoot_studies.training.ppo import train_ppo

    recipe = replace(RECIPES[name], **changes)
    first, again = train_ppo(recipe, 7), train_ppo(recipe, 7)
    for one, other in zip(first.layers, again.layers, strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])
    assert first.curve[0].iteration == 0
    assert first.curve[-1].iteration == recipe.imitation + recipe.iterations
    if name == "pensieve-32x16":  # the quickest
        assert not np.array_equal(first.layers[0][0], train_ppo(recipe, 8).layers[0][0])
    if name != "aurora-48":  # where doing nothing is not so bad
        assert first.curve[-1].mean_return > first.curve[0].mean_return
    kind = SIMULATORS[recipe.study]
    again_measured = held_out_returns(kind, greedy_actor(first.layers, recipe.activation, kind), 64).mean()
    assert again_measured == pytest.approx(first.curve[-1].mean_return)


@pytest.mark.train
def test_the_command_writes_networks_checkpoints_and_a_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short = replace(RECIPES["aurora-48"], iterations=2, episodes=4)
    monkeypatch.setitem(RECIPES, "aurora-48", short)
    seeds = ["--seed", "0", "--seed", "2"]
    train_from_arguments(
        ["aurora", "--policy", "aurora-48", *seeds, "--output", str(tmp_path), "--checkpoints"]
    )
    assert "aurora-48, seed 2: return" in capsys.readouterr().out
    names = {path.name for path in tmp_path.iterdir()}
    assert {"aurora-48.onnx", "aurora-48-2.onnx", "aurora-48.toml", "aurora-48-after-0.onnx"} <= names
    recipe = tomllib.loads((tmp_path / "aurora-48.toml").read_text("utf-8"))
    assert recipe["settings"]["iterations"] == 2
    assert [entry["seed"] for entry in recipe["seeds"]] == [0, 2]


def test_without_torch_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("surefoot_studies.training.__main__.find_spec", lambda _: None)
    assert train_from_arguments(["aurora"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "surefoot[train]" in error


def test_the_simulators_need_no_torch() -> None:
    code = (
        "import sys; from surefoot_studies.training import rollout, onnx_files; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
