# ruff: noqa: E501 - one case with its message on each line
"""Library environments that cannot be modelled as asked, and policies that do not fit: one line each, exit 2."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.laws.oracle.model import Layer
from tests.laws.oracle.network import write_network

from surefoot.cli import run_command_line

KNOWN = "CartPole-v0, CartPole-v1, MountainCar-v0"
USUAL = "fix: give numbers of a usual size"

MODELS = {
    "gym:": "error: gym:: no environment is named; fix: write gym:CartPole-v1",
    "gym:CartPole-v2": "error: gym:CartPole-v2: there is no model of `CartPole-v2`; fix: did you mean `CartPole-v1`?",
    "gym:cartpole": "error: gym:cartpole: there is no model of `cartpole`",
    "gym:Hopper-v5": f"error: gym:Hopper-v5: there is no model of `Hopper-v5` (there is of {KNOWN}",
    "gym:ALE/Pong-v5": "error: gym:ALE/Pong-v5: there is no model of `ALE/Pong-v5`",
    "gym:../../etc/passwd": "error: gym:../../etc/passwd: there is no model of",
    "gym:CartPole-v1?gravity": "error: gym:CartPole-v1?gravity: `gravity` does not give an argument its value; fix: write gym:CartPole-v1?gravity=9.81",
    "gym:CartPole-v1?tau=1&": "error: gym:CartPole-v1?tau=1&: `` does not give an argument its value",
    "gym:CartPole-v1?tau=1&tau=2": "error: gym:CartPole-v1?tau=1&tau=2: `tau` is given twice; fix: keep one of them",
    "gym:CartPole-v1?grav=9": "error: gym:CartPole-v1?grav=9: CartPole-v1 has no argument `grav`; fix: did you mean `gravity`?",
    "gym:CartPole-v1?render_mode=human": "error: gym:CartPole-v1?render_mode=human: CartPole-v1 has no argument `render_mode`",
    "gym:CartPole-v1?masspole=1": "error: gym:CartPole-v1?masspole=1: `masspole` alone would leave `total_mass` and `polemass_length` as they are, as in the library; fix: give all three of them",
    "gym:CartPole-v1?tau=nan": "error: gym:CartPole-v1?tau=nan:tau: `nan` cannot be meant; fix: give a positive number",
    "gym:CartPole-v1?gravity=inf": "error: gym:CartPole-v1?gravity=inf:gravity: `inf` cannot be meant; fix: give a finite number",
    "gym:CartPole-v1?tau=0": "error: gym:CartPole-v1?tau=0:tau: `0.0` cannot be meant; fix: give a positive number",
    "gym:CartPole-v1?tau=fast": "error: gym:CartPole-v1?tau=fast:tau: `fast` is no number; fix: give a number such as 9.81",
    "gym:CartPole-v1?sutton_barto_reward=1": "error: gym:CartPole-v1?sutton_barto_reward=1:sutton_barto_reward: `1` is neither true nor false",
    "gym:CartPole-v1?kinematics_integrator=rk4": "error: gym:CartPole-v1?kinematics_integrator=rk4:kinematics_integrator: there is no `rk4`; fix: one of euler, semi-implicit",
    "gym:CartPole-v1?max_episode_steps=0": "error: gym:CartPole-v1?max_episode_steps=0:max_episode_steps: `0` is no number of steps; fix: give a positive whole number, or none",
    "gym:CartPole-v1?max_episode_steps=1e3": "error: gym:CartPole-v1?max_episode_steps=1e3:max_episode_steps: `1e3` is no number of steps",
    "gym:Acrobot-v1?book_or_nips=pamphlet": "error: gym:Acrobot-v1?book_or_nips=pamphlet:book_or_nips: there is no `pamphlet`; fix: one of book, nips",
    "gym:Pendulum-v1?l=1e-300": f"error: gym:Pendulum-v1?l=1e-300: with these arguments the model divides by zero, or a number is beyond all doubles; {USUAL}",
    "gym:Pendulum-v1?g=1e308": f"error: gym:Pendulum-v1?g=1e308: with these arguments a number of the model is beyond all doubles; {USUAL}",
    "gym:MountainCar-v0?min_position=5": "error: gym:MountainCar-v0?min_position=5: `min_position` is not below `max_position`; fix: give the ends of the track in their order",
}

CART = ["check", "gym:CartPole-v1", "--policy", "four-two.onnx"]
QUESTIONS = (
    (["check", "gym:CartPole-v1", "--policy", "missing.zip"], "error: missing.zip: there is no such file; fix: check the path"),
    (["check", "gym:CartPole-v1", "--observe", "x"], "error: gym:CartPole-v1: there is no network that could be wired; fix: give one with --policy"),
    (["check", "gym:CartPole-v1", "--no-policy", "--policy", "four-two.onnx"], "error: --no-policy: there is no policy that --policy could be about"),
    (["check", "gym:Pendulum-v1", "--policy", "four-two.onnx"], "error: four-two.onnx: the network reads 4 numbers, and Pendulum-v1 shows 3 (cos(theta), sin(theta), theta_dot); fix: say what it reads with --observe, in its order"),
    (["check", "gym:Pendulum-v1", "--policy", "three-two.onnx"], "error: three-two.onnx: the network has 2 outputs, and Pendulum-v1 takes torque in [-2.0, 2.0]; fix: give a policy that was trained on this environment"),
    (["check", "gym:CartPole-v1", "--policy", "four-three.onnx"], "error: four-three.onnx: the network has 3 outputs, and CartPole-v1 takes one of left, right; fix: say what its outputs stand for with --actions"),
    ([*CART, "--observe", "x, y"], "error: "),
    ([*CART, "--actions", "left,up"], "error: gym:CartPole-v1:policy"),
    ([*CART, "--normalize", "missing.pkl"], "error: missing.pkl: there is no such file"),
    ([*CART, "--property", "gaol"], "error: --property: CartPole-v1 has no property `gaol`; fix: did you mean `goal`?"),
    ([*CART, "--property", "never y > 3"], "error: property:1:7: unknown name `y`"),
    ([*CART, "--property", ""], "error: property:1:1: the property is empty"),
    ([*CART, "--const", "tau=1", "--const", "tau=2"], "error: --const: `tau` is given twice"),
    ([*CART, "--ignore-goal"], "error: --ignore-goal: only questions of PlaJA about a JANI model have an objective"),
    (["check", "gym:CartPole-v1?tau=1", "--const", "tau=2"], "error: gym:CartPole-v1?tau=1: `tau` is given twice; fix: keep one of them"),
    (["check", "gym:MountainCar-v0", "--property", "safe"], "error: --property: MountainCar-v0 has no property `safe`: an episode terminates only where the car arrives"),
    (["check", "gym:Pendulum-v1", "--property", "goal"], "error: --property: Pendulum-v1 has no property `goal`: the library ends no episode early and names no goal; one of your own may be `within 200 cos(theta) >= 0.95`"),
    (["inspect", "gym:CartPole-v1", "--output", "scores"], "error: --output"),
    (["export", "gym:CartPole-v1", "model.jani"], "error: "),
)  # fmt: skip


def refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    started = time.process_time()
    code = run_command_line(arguments)
    seconds = time.process_time() - started
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith(message)
    assert shown.err.count("\n") == 1
    assert seconds < 2
    assert sorted(folder.rglob("*")) == before


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, inputs, outputs in (("four-two", 4, 2), ("four-three", 4, 3), ("three-two", 3, 2)):
        layer = Layer(((1,) * inputs,) * outputs, (0,) * outputs)
        write_network([layer], tmp_path / f"{name}.onnx", batch=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", MODELS)
def test_models(text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused(["inspect", text], MODELS[text], capsys, tmp_path)
    refused(["check", text], MODELS[text], capsys, tmp_path)


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_questions(number: int, capsys: pytest.CaptureFixture[str], networks: Path) -> None:
    arguments, message = QUESTIONS[number]
    refused(arguments, message, capsys, networks)


def test_two_files_that_may_be_the_statistics(capsys: pytest.CaptureFixture[str], networks: Path) -> None:
    from surefoot.errors import InvalidProblem
    from surefoot.formats.gymnasium.policy_wiring import find_statistics

    policy = networks / "ppo.zip"
    assert find_statistics(policy, "CartPole-v1") is None
    (networks / "vecnormalize.pkl").touch()
    assert find_statistics(policy, "CartPole-v1") == networks / "vecnormalize.pkl"
    (networks / "vec_normalize.pkl").touch()
    with pytest.raises(InvalidProblem) as caught:
        find_statistics(policy, "CartPole-v1")
    assert "two files beside it may be its statistics: vecnormalize.pkl and vec_normalize.pkl" in str(
        caught.value
    )
    (networks / "ppo_vecnormalize.pkl").touch()  # its own name counts more
    assert find_statistics(policy, "CartPole-v1") == networks / "ppo_vecnormalize.pkl"
