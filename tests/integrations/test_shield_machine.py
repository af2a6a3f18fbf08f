"""The wrapper runs an exported step as machine code, alone, copied, pickled and in other processes."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from tests.shield.export.test_source import ENVIRONMENT, shield  # noqa: E402

from surefoot.integrations.shield import Shielded  # noqa: E402
from surefoot.shield.export import guard_of, python_source  # noqa: E402

ENV = """
import gymnasium
import numpy as np


class Plane(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-3.0, 3.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.array([0.1, -0.2])
        return self.state, {}

    def step(self, action):
        self.state = self.state + 0.2 * np.asarray(action, np.float64) - np.array([0.0, 0.25])
        return self.state, 0.0, False, False, {}
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    """As a user has them: a shield and an environment that can be imported."""
    (tmp_path / "written_shield.py").write_text(python_source(guard_of(ENVIRONMENT, shield())))
    (tmp_path / "written_plane.py").write_text(ENV)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("written_shield"), importlib.import_module("written_plane")
    for name in ("written_shield", "written_plane"):
        sys.modules.pop(name, None)


def told(env: Any, seed: int, steps: int = 300) -> list[dict[str, Any]]:
    """What is said of steps with random actions, some of them no numbers."""
    random, found = Random(seed), []
    for index in range(steps):
        if index % 60 == 0:
            env.reset(seed=0)
        action = [random.uniform(-2, 2), random.uniform(-1, 3)]
        if index % 17 == 0:
            action[index % 2] = random.choice([float("nan"), float("inf"), -0.0])
        found.append(repr(env.step(np.array(action, np.float32))[4]["shield"]))
    return found


def test_machine_code_is_used_and_says_the_same(modules: tuple[ModuleType, ModuleType]) -> None:
    guard, plane = modules
    env, plain = Shielded(plane.Plane(), guard.step), Shielded(plane.Plane(), lambda s, p: guard.step(s, p))
    assert env.deciding.objection is None
    assert env.decide is not guard.step
    assert plain.deciding.objection is not None
    found = told(env, 1)
    assert found == told(plain, 1)
    assert {word for word in "012" if any(f"'intervened': {word}" in text for text in found)} == {*"012"}


def test_another_callable_is_called_as_it_is(modules: tuple[ModuleType, ModuleType]) -> None:
    guard, plane = modules

    class Counting:
        calls = 0

        def __call__(self, state: Any, proposed: Any) -> Any:
            self.calls += 1
            return guard.step(state, proposed)

    counting = Counting()
    env = Shielded(plane.Plane(), counting)
    assert env.decide is counting
    told(env, 2, 10)
    other = copy.deepcopy(env)
    told(other, 2, 10)
    assert (counting.calls, other.decide.calls) == (10, 20)


def test_copies_are_independent(modules: tuple[ModuleType, ModuleType]) -> None:
    guard, plane = modules
    env = Shielded(plane.Plane(), guard.step)
    env.reset()
    env.step(np.zeros(2, np.float32))
    for other in (copy.deepcopy(env), copy.copy(env), pickle.loads(pickle.dumps(env))):  # noqa: S301
        assert other.deciding.objection is None
        assert other.state == env.state
        assert other.told == env.told
        assert other.decide is not guard.step
    other = copy.deepcopy(env)
    expected = env.step(np.array([0.5, 1.5], np.float32))[4]
    assert other.step(np.array([0.5, 1.5], np.float32))[4] == expected
    env.step(np.zeros(2, np.float32))
    assert (env.told["steps"], other.told["steps"]) == (3, 2)


def test_another_process_gets_machine_code_of_its_own(
    modules: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    guard, plane = modules
    env = Shielded(plane.Plane(), guard.step)
    writer = pytest.importorskip("cloudpickle")
    (tmp_path / "env.pickle").write_bytes(writer.dumps(lambda: env))
    (tmp_path / "run.py").write_text(
        "import pickle, sys\nimport numpy as np\n"
        "env = pickle.load(open('env.pickle', 'rb'))()\n"
        "env.reset()\n"
        "print(env.deciding.objection, env.step(np.array([2.0, 1.0], np.float32))[4]['shield'])\n"
    )
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    env.reset()
    assert done.stdout == f"None {env.step(np.array([2.0, 1.0], np.float32))[4]['shield']}\n"


def test_vector_environments_in_processes(modules: tuple[ModuleType, ModuleType]) -> None:
    guard, plane = modules
    envs = gymnasium.vector.AsyncVectorEnv([lambda: Shielded(plane.Plane(), guard.step)] * 2)
    try:
        envs.reset(seed=1)
        *_, info = envs.step(np.array([[0.1, 1.0], [2.0, 9.0]], np.float32))
        assert info["shield"]["steps"].tolist() == [1, 1]
    finally:
        envs.close()


def test_threads_may_share_a_step(modules: tuple[ModuleType, ModuleType]) -> None:
    guard, plane = modules
    env = Shielded(plane.Plane(), guard.step)
    expected = [told(Shielded(plane.Plane(), guard.step), seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(told, [copy.deepcopy(env) for _ in range(4)], range(4))) == expected
