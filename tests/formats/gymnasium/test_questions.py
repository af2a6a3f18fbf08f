"""Library environments as problems: asked by name or as text, with arguments, alive, and in commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.laws.oracle.model import Layer
from tests.laws.oracle.network import write_network

import surefoot as sf
from surefoot.cli import run_command_line
from surefoot.errors import InvalidProblem, Unsupported, WrongType
from surefoot.formats.gymnasium.registry import GYM_MODELS, build_gym_model
from surefoot.problem.property import Never, NeverBefore, Within
from surefoot.problem.validate import validate_problem

OVER = "x < -2.4 or x > 2.4 or theta < -0.20943951023931953 or theta > 0.20943951023931953"


@pytest.fixture
def falls(tmp_path: Path) -> Path:
    """A policy that pushes to where the pole leans from; it falls after some steps."""
    layers = [Layer(((0, 0, 1, 0), (0, 0, -1, 0)), (0, 0))]
    write_network(layers, tmp_path / "falls.onnx", batch=False)
    return tmp_path / "falls.onnx"


@pytest.mark.parametrize("name", GYM_MODELS)
def test_every_property_of_every_model_is_well_formed(name: str, tmp_path: Path) -> None:
    env = sf.gym(name)
    inputs, outputs = len(env.model.observe), len(env.model.actions) or len(env.controls)
    write_network([Layer(((1,) * inputs,) * outputs, (0,) * outputs)], tmp_path / "net.onnx", batch=False)
    policy = env.policy(tmp_path / "net.onnx")
    assert env.properties
    for asked in (
        *env.properties,
        *env.model.aliases,
        "steps" if env.model.terminates is None else "never terminated",
    ):
        validate_problem(env.problem(policy.as_data(), asked))


def test_nothing_counts_after_the_end_of_an_episode() -> None:
    env = sf.gym("CartPole-v1")
    over = sf.parse_term(OVER)
    assert env.problem(None, "safe").property == Never(over, 500)
    assert env.problem(None, "goal").property == Never(over, 500)
    asked = env.problem(None, "never theta > 0.1 for 20 steps")
    assert asked.property == NeverBefore(sf.parse_term("theta > 0.1"), over, 20)
    assert env.problem(None, "never terminated for 9 steps").property == Never(over, 9)
    before = env.problem(None, "never x > 1 before theta > 0.1").property
    assert before == NeverBefore(sf.parse_term("x > 1"), sf.parse_term(f"theta > 0.1 or {OVER}"))
    guarded = env.problem(None, "within 20 theta > 0.1")
    assert isinstance(guarded.property, Within)
    assert {sf.show_term(edge.guard) for edge in guarded.environment.components[0].edges} == {f"not ({OVER})"}
    mountain = sf.gym("MountainCar-v0")
    assert mountain.problem(None, "goal").environment.components == mountain.components


def test_an_episode_that_is_over_earns_nothing_more(falls: Path) -> None:
    env = sf.gym("CartPole-v1")
    found = [
        sf.probability(env, text, policy=falls, engine="statistical", eps=2, timeout=60)
        for text in ("return", "E=? [ reward for 500 steps ] over avg")
    ]
    assert found[0].low is not None
    assert found[1].low is not None
    assert found[0].low <= found[1].high <= 60
    assert found[1].low <= found[0].high <= 60


def test_steps_are_counted_where_a_question_names_them(falls: Path) -> None:
    found = sf.check("gym:CartPole-v1", falls, "never elapsed >= 5 and theta > 0.1", timeout=30)
    assert found.violated
    assert [state["elapsed"] for state in found.trace.states] == list(range(len(found.trace.states)))
    assert "elapsed" not in [v.name for v in sf.gym("CartPole-v1").variables]
    limited = sf.load("gym:CartPole-v1?max_episode_steps=7", "never elapsed > 7", policy=falls)
    assert "elapsed < 7" in sf.show_term(limited.environment.components[0].edges[0].guard)
    free = sf.load("gym:CartPole-v1?max_episode_steps=none", "never elapsed > 7", policy=falls)
    assert sf.show_term(free.environment.components[0].edges[0].guard) == "true"


def test_a_policy_may_see_the_time(tmp_path: Path) -> None:
    write_network([Layer(((1,) * 5,) * 2, (0, 0))], tmp_path / "timed.onnx", batch=False)
    read = sf.load(
        "gym:CartPole-v1",
        "safe",
        policy=tmp_path / "timed.onnx",
        observe="x, x_dot, theta, theta_dot, elapsed / 500",
        actions="left, right",
    )
    assert isinstance(read.policy, sf.NeuralPolicy)
    assert sf.show_term(read.policy.observe[-1]) == "elapsed / 500"


def test_a_result_names_its_model_and_is_checked_again(
    falls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = falls.with_name("result.json")
    model = "gym:CartPole-v1?gravity=9.7"
    asked = ["check", model, "--policy", str(falls), "--property", "safe", "--quiet", "--json", str(stored)]
    assert run_command_line(asked) == 1
    said = capsys.readouterr().out
    assert "note      CartPole-v1 with gravity = 9.7" in said
    assert "the same start and actions violate it too" in said
    data = json.loads(stored.read_text())
    assert model in json.dumps(data)
    assert run_command_line(["certify", str(stored)]) == 0
    stored.write_text(stored.read_text().replace("gravity=9.7", "gravity=9.6"))
    assert run_command_line(["certify", str(stored)]) != 0


def test_a_violation_is_tried_out_in_the_library(falls: Path) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from surefoot.integrations.gym_replay import replay_in_gymnasium

    found = sf.check("gym:CartPole-v1", falls, "safe", timeout=30)
    where = f"in the installed Gymnasium {gymnasium.__version__} the same start and actions"
    steps = len(found.trace.moves)
    said = replay_in_gymnasium("gym:CartPole-v1", {}, found.problem, found.data.verdict.trace)
    assert said == f"{where} violate it too, after {steps} steps"
    lighter = replay_in_gymnasium(
        "gym:CartPole-v1", {"force_mag": "0.1"}, found.problem, found.data.verdict.trace
    )
    assert lighter == f"{where} do not violate it"
    late = sf.check("gym:MountainCar-v0", sf.Policy.program([(sf.TRUE, "left")]), "goal", timeout=30)
    said = replay_in_gymnasium("gym:MountainCar-v0", {}, late.problem, late.data.verdict.trace)
    assert said == f"{where} do not reach the goal either"


def test_commands_take_a_library_environment(falls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wired = ["gym:CartPole-v1", "--policy", str(falls)]
    for arguments, code in (
        (["engines", *wired, "--property", "safe"], 0),
        (["starts", *wired, "--property", "safe", "--timeout", "5", "--quiet"], 1),
        (["check", *wired, "--property", "P safe", "--quiet"], 0),
        (["inspect", "gym:Acrobot-v1"], 0),
        (["inspect", "gym:Pendulum-v1", "--const", "g=9.81", "--json"], 0),
    ):
        assert run_command_line(arguments) == code
        assert "CartPole" in (said := capsys.readouterr().out) or "gym:" in said
    drawn = ["--starts", "uniform", "--x", "theta", "--y", "theta_dot", "--cells", "theta, theta_dot"]
    drawn += ["--engine", "statistical", "--timeout", "5", "--quiet", "--svg", str(falls.with_suffix(".svg"))]
    assert run_command_line(["heatmap", *wired, "--property", "P safe", *drawn]) in (0, 3)


def test_python_names_and_texts_mean_the_same(falls: Path) -> None:
    for given in (sf.gym("CartPole-v1"), "gym:CartPole-v1"):
        by_name = sf.check(given, falls, "safe", timeout=30)
        assert by_name.violated
        assert by_name.data.source["model"] == "gym:CartPole-v1"
        by_data = sf.check(given, falls, sf.never("theta > 0.15", 30), timeout=30)
        assert by_data.violated
        assert isinstance(by_data.problem.property, NeverBefore)
    policy = sf.gym("CartPole-v1").policy(falls)
    assert sf.check("gym:CartPole-v1", policy, "safe", timeout=30).violated


def test_other_resets() -> None:
    env = sf.gym("CartPole-v1", low=-0.2, high=0.1)
    assert sf.show_term(env.initial).startswith("x >= -0.2 and x <= 0.1")
    fixed = sf.gym("MountainCar-v0", low=-0.5, high=-0.5)
    assert sf.show_term(fixed.initial) == "position = -0.5 and velocity = 0"
    with pytest.raises(InvalidProblem, match="cannot draw from"):
        sf.gym("Pendulum-v1", x_init=-1.0)


LIVE: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    ("CartPole-v1", {}, {}, "gym:CartPole-v1"),
    ("CartPole-v0", {}, {}, "gym:CartPole-v0"),
    ("CartPole-v1", {"sutton_barto_reward": True}, {}, "gym:CartPole-v1?sutton_barto_reward=true"),
    (
        "CartPole-v1",
        {"max_episode_steps": 50},
        {"gravity": 3},
        "gym:CartPole-v1?gravity=3.0&max_episode_steps=50",
    ),
    ("MountainCar-v0", {"goal_velocity": 0.1}, {}, "gym:MountainCar-v0?goal_velocity=0.1"),
    ("MountainCarContinuous-v0", {}, {"power": 0.002}, "gym:MountainCarContinuous-v0?power=0.002"),
    ("Pendulum-v1", {"g": 9.81}, {"m": 2}, "gym:Pendulum-v1?g=9.81&m=2.0"),
    ("Acrobot-v1", {}, {"book_or_nips": "nips"}, "gym:Acrobot-v1?book_or_nips=nips"),
)


@pytest.mark.parametrize(("name", "arguments", "attributes", "text"), LIVE)
def test_live_environments(name: str, arguments: Any, attributes: Any, text: str) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name, **arguments)
    for key, value in attributes.items():
        setattr(env.unwrapped, key, value)
    assert sf.gym(env).text == text
    assert build_gym_model(text).environment == sf.gym(env).model.environment
    plain = sf.gym(env.unwrapped)
    assert plain.model.limit is None
    assert "max_episode_steps=none" in plain.text


def test_masses_of_a_live_environment_are_read_one_by_one() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.masspole = 0.2
    assert sf.gym(env).notes == ("CartPole-v1 with masspole = 0.2",)


def test_what_a_model_does_not_know_is_refused() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium import wrappers

    class Heavy(type(gymnasium.make("Pendulum-v1").unwrapped)):  # type: ignore[misc]
        pass

    replaced = gymnasium.make("Pendulum-v1")
    replaced.unwrapped.step = lambda action: None
    torques = gymnasium.make("Acrobot-v1")
    torques.unwrapped.AVAIL_TORQUE = [-2.0, 0.0, 2.0]
    wild = gymnasium.make("Pendulum-v1")
    wild.unwrapped.m = "heavy"
    for env, said in (
        (wrappers.ClipAction(gymnasium.make("Pendulum-v1")), "the wrapper `ClipAction` may change"),
        (
            wrappers.FlattenObservation(gymnasium.make("CartPole-v1")),
            "the wrapper `FlattenObservation` may change",
        ),
        (Heavy(), "there is no model of"),
        (replaced, "`step` of this Pendulum-v1 was replaced by other code"),
        (torques, "`AVAIL_TORQUE` of this Acrobot-v1 is [-2.0, 0.0, 2.0], not [-1.0, 0.0, 1.0]"),
        (wild, "`m` of this Pendulum-v1 is 'heavy'"),
        (7, "`7` is no environment of Gymnasium"),
    ):
        with pytest.raises((Unsupported, InvalidProblem, WrongType)) as caught:
            sf.gym(env)
        assert said in str(caught.value)


def test_the_models_need_neither_the_library_nor_numpy(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from surefoot.formats.gymnasium.registry import build_gym_model, GYM_MODELS\n"
        "[build_gym_model(f'gym:{name}') for name in GYM_MODELS]\n"
        "assert not {'gymnasium', 'torch', 'stable_baselines3'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
