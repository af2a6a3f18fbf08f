"""Actors by deep deterministic policy gradients, in numpy."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from surefoot.cli import run_command_line
from surefoot.errors import Unsupported
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.reductions.barrier import ControlSystem, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot_studies.assets import shipped_names, shipped_network
from surefoot_studies.control.paper_tables import paper_size
from surefoot_studies.control.problem import PLANTS, stays_safe
from surefoot_studies.training.control.ddpg import ActorRecipe, train_actor
from surefoot_studies.training.control.dense import (
    Adam,
    backpropagate_layers,
    forward_layers,
    initialise_layers,
)
from surefoot_studies.training.control.recipes import actor_recipe, text_file, training_seconds, training_text
from surefoot_studies.training.onnx_files import onnx_bytes

SMALL = ActorRecipe(hidden=(16, 16), critic=(16, 16), updates=240, looks=4, held_out=16, horizon=60)


def pendulum() -> ControlSystem:
    return read_control_system(discretise(stays_safe("pendulum")))


def test_slopes_are_those_of_the_values() -> None:
    generator = np.random.default_rng(0)
    layers = initialise_layers((3, 5, 4, 2), generator, 0.5)
    rows, towards = generator.normal(size=(6, 3)), generator.normal(size=(6, 2))

    def worth() -> float:
        return float((forward_layers(layers, rows)[-1] * towards).sum())

    slopes, inward = backpropagate_layers(layers, forward_layers(layers, rows), towards)
    for values, found in zip([*layers[0], *layers[2], rows], [*slopes[0], *slopes[2], inward], strict=True):
        place = tuple(0 for _ in values.shape)
        before = values[place]
        values[place] = before + 1e-6
        high = worth()
        values[place] = before - 1e-6
        low = worth()
        values[place] = before
        assert (high - low) / 2e-6 == pytest.approx(found[place], rel=1e-5, abs=1e-7)


def test_adam_goes_down() -> None:
    layers = [(np.array([[3.0]]), np.array([-2.0]))]
    optimiser = Adam(layers, 0.1)
    for _ in range(300):
        optimiser.step(layers, [(2 * layers[0][0], 2 * layers[0][1])])
    assert abs(layers[0][0][0, 0]) < 0.1
    assert abs(layers[0][1][0]) < 0.1


def test_an_actor_learns_to_hold_a_plant() -> None:
    made = train_actor(pendulum(), SMALL, 1)
    again = train_actor(pendulum(), SMALL, 1)
    assert all(
        np.array_equal(a, b)
        for x, y in zip(made.layers, again.layers, strict=True)
        for a, b in zip(x, y, strict=True)
    )
    assert len(made.curve) == 4
    assert made.curve[-1][2] < 16


def test_imitation_begins_with_a_regulator() -> None:
    recipe = replace(SMALL, imitation=400, patience=240, hidden=(32, 32))
    made = train_actor(read_control_system(discretise(stays_safe("four-car-platoon"))), recipe, 0)
    assert [fallen for _, _, fallen in made.curve] == [0] * 4


def test_the_file_is_the_actor(tmp_path: Path) -> None:
    made = train_actor(pendulum(), replace(SMALL, updates=8), 0)
    (tmp_path / "actor.onnx").write_bytes(onnx_bytes(made.layers, "relu", "actor", made.reach))
    network = read_onnx_network(tmp_path / "actor.onnx")
    rows = np.random.default_rng(0).normal(size=(20, 2))
    expected = np.tanh(forward_layers(made.layers, rows)[-1]) * made.reach
    assert infer_outputs(network, rows.astype(np.float32)) == pytest.approx(expected, abs=1e-4)


def test_large_layers_are_trained_in_single_precision() -> None:
    recipe = replace(SMALL, single=True)
    made = train_actor(pendulum(), recipe, 1)
    assert made.curve[-1][2] < 16
    large = actor_recipe((1200, 900), imitate=False)
    assert (large.single, large.hidden, large.critic) == (True, (1200, 900), (300, 200))
    assert actor_recipe((64, 64), imitate=False) == ActorRecipe()
    assert actor_recipe((300, 200), imitate=True).imitation > 0


def test_an_interruption_keeps_the_best_actor() -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) == 3:
            raise KeyboardInterrupt

    made = train_actor(pendulum(), SMALL, 1, tell)
    assert made.interrupted
    assert len(made.curve) == 3
    assert made.best_point() in made.curve
    with pytest.raises(KeyboardInterrupt):
        train_actor(pendulum(), replace(SMALL, imitation=5), 1, interrupted)


def interrupted(_: str) -> None:
    raise KeyboardInterrupt


def test_the_text_beside_an_actor_says_how_it_was_trained(tmp_path: Path) -> None:
    recipe = replace(SMALL, updates=8)
    made = train_actor(pendulum(), recipe, 0)
    file = tmp_path / "actor.onnx"
    assert training_seconds(file) is None
    text_file(file).write_text(training_text("pendulum", recipe, 0, made))
    data = tomllib.loads(text_file(file).read_text())
    assert data["settings"]["hidden"] == [16, 16]
    assert data["about"]["kept_after_updates"] == made.best_point()[0]
    assert len(data["curve"]["mean_return"]) == len(made.curve)
    assert training_seconds(file) == data["about"]["cpu_seconds"]
    for odd in ("[about", "about = 3", "[about]\ncpu_seconds = 'x'"):
        text_file(file).write_text(odd)
        assert training_seconds(file) is None


def test_sizes_of_the_paper() -> None:
    assert paper_size("pendulum-continuous") == "1200x900"
    assert paper_size("cartpole") == "300x200"
    assert paper_size("four-car-platoon") == "500x400x300"
    assert paper_size("duffing") is None


def test_controls_need_two_ends() -> None:
    system = pendulum()
    with pytest.raises(Unsupported, match="controls between"):
        train_actor(replace(system, controls=(("u1", Fraction(0), Fraction(1)),)), SMALL, 0)


@pytest.mark.parametrize("study", ["control", "pendulum"])
def test_shipped_actors_fit_their_plants(study: str) -> None:
    for name in shipped_names(study):
        network = shipped_network(study, name)
        sizes = (len(PLANTS[name].rates), len(PLANTS[name].controls)) if study == "control" else (2, 1)
        assert (network.width, network.outputs) == sizes
    assert shipped_names(study)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["tapes", "--output", "a.onnx"], "has no problem `tapes`"),
        (["tape"], "Missing option '--output'"),
        (["tape", "--output", "a.txt"], "is no .onnx file"),
        (["tape", "--output", "a.onnx", "--hidden", "6y4"], "no sizes of layers"),
        (["duffing", "--output", "a.onnx", "--hidden", "paper"], "prints no size of a network"),
    ],
)
def test_mistakes(given: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["study", "train", "control", *given]) == 2
    assert what in capsys.readouterr().err
