"""docs/tutorial/gymnasium.md as a whole: training, verdicts, a shield around the environment of the library.

Its blocks are run as they stand, in their order, in an empty folder by a fresh process each; only numbers of
training steps and of episodes are smaller here. Verdicts are looked at, not numbers: other versions of torch
train other policies.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial" / "gymnasium.md"
SMALLER = {".learn(5_000)": ".learn(300)", "EPISODES = 1000": "EPISODES = 20"}
VERDICT = re.compile(
    r"(violated|proved|holds|estimated|between|exactly|unknown|vacuous)\b|set  |if -|asking ", re.MULTILINE
)
SECONDS = 280
CHECKED = 9  # commands `surefoot check` on the page


def blocks() -> list[tuple[str, str]]:
    """The kind and the text of every block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [
        line.removeprefix("$ ")
        for kind, text in blocks()
        for line in text.splitlines()
        if not kind and line.startswith("$ surefoot ")
    ]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def run_block(text: str, folder: Path) -> str:
    for large, small in SMALLER.items():
        text = text.replace(large, small)
    done = run(["-c", text], folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def code(marker: str) -> str:
    """The block of Python in which this stands."""
    (found,) = [text for kind, text in blocks() if kind == "python" and marker in text]
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the policies that the first block trains."""
    pytest.importorskip("stable_baselines3")
    folder = tmp_path_factory.mktemp("walk")
    run_block(code("import DQN, PPO, SAC"), folder)
    assert {path.name for path in folder.iterdir()} == {"ppo.zip", "dqn.zip", "sac.zip"}
    return folder


def test_the_page_has_the_walk() -> None:
    """Without this, a page that is written in another way would be no test any more."""
    asked = [shlex.split(line) for line in commands()]
    assert sum(line[1] == "check" for line in asked) == CHECKED
    assert sum(line[1] == "shield" for line in asked) == 2
    policies = {name: sum(name in line for line in asked) for name in ("ppo.zip", "dqn.zip", "sac.zip")}
    assert all(policies.values())
    text = "".join(text for kind, text in blocks() if kind == "python")
    assert all(large in text for large in SMALLER)


@pytest.mark.train
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("line", [c for c in commands() if " check " in c])
def test_every_question_has_a_verdict_with_evidence(trained: Path, line: str) -> None:
    limit = [] if "--timeout" in line else ["--timeout", "40"]
    done = run(["-m", *shlex.split(line), *limit], trained)
    assert done.returncode in (0, 1, 3), done.stderr
    assert VERDICT.match(done.stdout)
    assert "internal" not in done.stderr
    assert "\n  evidence  " in done.stdout or done.stdout.startswith("unknown")
    if "FrozenLake" in line:  # finite: computed or replayed, whatever was learned
        assert not done.stdout.startswith("unknown")
        assert "certificate" in done.stdout or "replayed step by step" in done.stdout
    if "--property safe" in line and "ppo.zip" in line:
        assert done.stdout.startswith("violated")
        assert "replayed step by step with zero tolerance" in done.stdout
        assert "the same start and actions violate it too" in done.stdout  # in the installed library
    if "--property" not in line:
        assert done.stderr.startswith("asking 6 questions: safe, P safe, goal, P goal, return, steps; ")
        assert done.stdout.count("\n  problem   FrozenLake-v1/") == 6


@pytest.mark.train
@pytest.mark.timeout(SECONDS)
def test_a_shield_keeps_the_real_environment_safe(trained: Path) -> None:
    (line,) = [c for c in commands() if c.startswith("surefoot shield") and "Pendulum" in c]
    done = run(["-m", *shlex.split(line)], trained)
    assert done.returncode == 0, done.stderr
    assert "certificate  accepted" in done.stdout
    assert run_block(code("EPISODES"), trained).split() == ["0", "0"]
    bare = code("EPISODES").replace("env.step(", "plain.step(")
    assert run_block(bare, trained).split()[0] == "20"  # the adversary alone


@pytest.mark.train
@pytest.mark.timeout(SECONDS)
def test_the_python_of_the_page(trained: Path) -> None:
    run_block(code('sf.gym("CartPole-v1")   '), trained)
