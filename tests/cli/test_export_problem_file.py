"""`surefoot export MODEL FILE.toml`: problem files of every kind of model, or one line that says why not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_prism_command import WALK

from surefoot.formats.problem_file import read_problems

Command = Callable[..., tuple[int, str, str]]

COUNTER = """
[variables]
x = "int 0..9"
[[edges]]
action = "up"
updates = { x = "min(9, x + 1)" }
[policy.program]
branches = [{ action = "up" }]
[properties]
low = "never x = 9"
high = "eventually x = 9"
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    path = tmp_path / "counter.toml"
    path.write_text(COUNTER, encoding="utf-8")
    return path


def test_a_problem_file_of_a_problem_file(counter: Path, command: Command) -> None:
    target = counter.with_name("copy.toml")
    assert command("export", counter, target) == (0, "", f"written: {target}\n")
    mine, copy = read_problems(counter), read_problems(target)
    assert mine == copy
    assert command("export", counter, target, "--no-policy", "--property", "low")[0] == 0
    (alone,) = read_problems(target).values()
    assert alone.policy is None


def test_the_network_of_the_toy_problem(toy: Path, command: Command) -> None:
    (toy.parent / "deep").mkdir()
    target = toy.parent / "deep" / "copy.toml"
    assert command("export", toy, target)[0] == 0
    assert 'file = "../toy.onnx"' in target.read_text("utf-8")
    code, out, _ = command("check", target, "--property", "below_ten", "--engine", "bmc")
    assert code == 1
    assert "violated" in out.lower()


def test_a_prism_model(tmp_path: Path, command: Command) -> None:
    (tmp_path / "walk.prism").write_text(WALK, encoding="utf-8")
    target = tmp_path / "walk.toml"
    asked = ("--property", 'Pmax=? [ F "goal" ]')
    assert command("export", tmp_path / "walk.prism", target, "--const", "N=3", *asked)[0] == 0
    assert "[definitions]" in target.read_text("utf-8")
    code, out, _ = command("check", target, "--engine", "explicit", "--property", "Pmax=? [ F goal ]")
    assert code == 0
    assert "exactly 1" in out


def test_a_library_environment(tmp_path: Path, command: Command) -> None:
    target = tmp_path / "cart.toml"
    assert command("export", "gym:CartPole-v1", target, "--property", "safe")[0] == 0
    code, out, _ = command("check", target, "--no-policy", "--engine", "falsify", "--timeout", 60)
    assert code == 1
    assert "violated" in out.lower()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{counter}", "{folder}/x.txt"), "does not end in .jani, .toml, or .prism"),
        (("{counter}", "{folder}/x.toml", "--type", "dtmc"), "--type: it has no effect on a problem file"),
        (("{counter}", "{counter}"), "counter.toml"),
        (("{counter}", "{folder}/none/x.toml"), "none"),
        (("{counter}", "{folder}"), "does not end in"),
        (("gym:Blackjack-v1", "{folder}/x.toml", "--property", "never true"), "1000000 are read"),
        (("racetrack/none", "{folder}/x.toml"), "none"),
        (("{folder}/missing.toml", "{folder}/x.toml"), "there is no such file"),
    ],
)
def test_refusals(counter: Path, command: Command, arguments: tuple[str, ...], said: str) -> None:
    known = {"counter": counter, "folder": counter.parent}
    code, out, err = command("export", *(a.format(**known) for a in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err
    assert not (counter.parent / "x.toml").exists()
