"""Policies for CartPole, MountainCar and Pendulum that fail, written as a user would.

Each network imitates a controller on a few hundred states and is trained for a few seconds; two of its
checkpoints are kept: an early one, and the latest that still fails from some starts. How often they fail is
counted by runs of Gymnasium. Then `surefoot check problem.toml`, with nothing else, is run in a process of
its own, on one thread; its processor time includes the start of the program.

    python -m benchmarks.gym_policies FOLDER [--only cartpole]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.laws.oracle.model import Layer
from tests.laws.oracle.network import write_network

Weights = list[tuple[NDArray[np.float32], NDArray[np.float32]]]

CARTPOLE = """
name = "cartpole"
arithmetic = "float64"
initial = "-0.05 <= x <= 0.05 and -0.05 <= v <= 0.05 and -0.05 <= a <= 0.05 and -0.05 <= w <= 0.05"

[variables]
x = "real"
v = "real"
a = "real"
w = "real"
{edges}
[policy]
file = "policy.onnx"
observe = ["x", "v", "a", "w"]
actions = ["left", "right"]

[properties]
balanced = "never x > 2.4 or x < -2.4 or a > 0.20943951 or a < -0.20943951 for 500 steps"
"""


def cartpole_edges() -> str:
    edges = []
    for action, force in (("left", -10), ("right", 10)):
        push = f"(({force} + 0.05 * w * w * sin(a)) / 1.1)"
        turn = f"((9.8 * sin(a) - cos(a) * {push}) / (0.5 * (4 / 3 - 0.1 * cos(a) * cos(a) / 1.1)))"
        move = f"({push} - 0.05 * {turn} * cos(a) / 1.1)"
        updates = f'x = "x + 0.02 * v", v = "v + 0.02 * {move}", a = "a + 0.02 * w", w = "w + 0.02 * {turn}"'
        edges.append(f'[[edges]]\naction = "{action}"\nupdates = {{ {updates} }}\n')
    return "\n".join(edges)


MOUNTAINCAR = """
name = "mountaincar"
arithmetic = "float64"
initial = "-0.6 <= x <= -0.4 and v = 0"

[variables]
x = "real"
v = "real"
{edges}
[policy]
file = "policy.onnx"
observe = ["x", "v"]
actions = ["left", "none", "right"]

[properties]
arrives = "within 200 x >= 0.5"
"""


def mountaincar_edges() -> str:
    """The car stands still at the left wall, whatever it came with."""
    edges = []
    for action, push in (("left", -1), ("none", 0), ("right", 1)):
        speed = f"max(-0.07, min(0.07, v + {push} * 0.001 - 0.0025 * cos(3 * x)))"
        place = f"max(-1.2, min(0.6, x + {speed}))"
        updates = f'x = "{place}", v = "ite({place} <= -1.2 and {speed} < 0, 0, {speed})"'
        edges.append(f'[[edges]]\naction = "{action}"\nupdates = {{ {updates} }}\n')
    return "\n".join(edges)


MOUNTAINCAR_CONTINUOUS = """
name = "mountaincar-continuous"
arithmetic = "float64"
initial = "-0.6 <= x <= -0.4 and v = 0"

[variables]
x = "real"
v = "real"

[controls]
force = "[-1, 1]"

[[edges]]
updates = { x = "PLACE", v = "ite(PLACE <= -1.2 and SPEED < 0, 0, SPEED)" }

[policy]
file = "policy.onnx"
observe = ["x", "v"]
choose = "value"

[properties]
arrives = "within 300 x >= 0.45"
"""

PENDULUM = """
name = "pendulum"
arithmetic = "float64"
initial = "-3.14159 <= a <= 3.14159 and -1 <= w <= 1 and n = 0"

[variables]
a = "real"
w = "real"
n = "int 0..200"

[controls]
torque = "[-2, 2]"

[[edges]]
guard = "n < 200"
updates = { w = "SPEED", a = "a + 0.05 * SPEED", n = "n + 1" }

[policy]
file = "policy.onnx"
observe = ["cos(a)", "sin(a)", "w"]
choose = "value"

[properties]
upright = "never n >= 100 and cos(a) < 0.5403"
"""


@dataclass(frozen=True)
class Task:
    name: str
    environment: str
    text: str
    draw: Callable[[np.random.Generator, int], NDArray[np.float64]]  # observations to imitate on
    act: Callable[[NDArray[np.float64]], NDArray[np.float64]]  # what the controller does
    outputs: int  # 1: a value
    failed: Callable[[Any, NDArray[np.float64], int, bool], bool | None]  # observation, step, over
    steps: int


def draw_cartpole(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    return rng.uniform(-1, 1, size=(count, 4)) * np.array([2.4, 2, 0.2, 2])


def act_cartpole(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    return (seen @ np.array([0.1, 0.5, 10.0, 2.0]) > 0).astype(np.int64)


def draw_mountaincar(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    return np.column_stack([rng.uniform(-1.2, 0.6, count), rng.normal(0, 0.03, count)])


def draw_pendulum(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    angle = rng.uniform(-np.pi, np.pi, count)
    return np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(-8, 8, count)])


def act_pendulum(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    angle, speed = np.arctan2(seen[:, 1], seen[:, 0]), seen[:, 2]
    energy = speed**2 / 2 + 15 * (seen[:, 0] - 1)
    near = np.abs(angle) < 0.5
    return np.where(near, -12 * angle - 3 * speed, np.clip(-3 * energy * np.sign(speed + 1e-9), -2, 2))


def replace_speed(text: str, speed: str, place: str) -> str:
    return text.replace("PLACE", place).replace("SPEED", speed)


CONTINUOUS_SPEED = "max(-0.07, min(0.07, v + 0.0015 * force - 0.0025 * cos(3 * x)))"
TASKS = (
    Task(
        "cartpole",
        "CartPole-v1",
        CARTPOLE.replace("{edges}", cartpole_edges()),
        draw_cartpole,
        act_cartpole,
        2,
        lambda env, seen, step, over: True if over else (False if step >= 500 else None),
        500,
    ),
    Task(
        "mountaincar",
        "MountainCar-v0",
        MOUNTAINCAR.replace("{edges}", mountaincar_edges()),
        draw_mountaincar,
        lambda seen: np.where(seen[:, 1] >= 0, 2, 0),
        3,
        lambda env, seen, step, over: False if over else (True if step >= 200 else None),
        200,
    ),
    Task(
        "mountaincar-continuous",
        "MountainCarContinuous-v0",
        replace_speed(
            MOUNTAINCAR_CONTINUOUS, CONTINUOUS_SPEED, f"max(-1.2, min(0.6, x + {CONTINUOUS_SPEED}))"
        ),
        draw_mountaincar,
        lambda seen: np.clip(seen[:, 1] * 40, -1, 1),
        1,
        lambda env, seen, step, over: False if over else (True if step >= 300 else None),
        300,
    ),
    Task(
        "pendulum",
        "Pendulum-v1",
        replace_speed(PENDULUM, "max(-8, min(8, w + 0.05 * (15 * sin(a) + 3 * torque)))", ""),
        draw_pendulum,
        act_pendulum,
        1,
        lambda env, seen, step, over: (
            True if step >= 100 and seen[0] < 0.5403 else (False if step >= 200 else None)
        ),
        200,
    ),
)


def train(task: Task, seed: int) -> list[Weights]:
    """Checkpoints of a network that learns to imitate."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    seen = task.draw(rng, 4000 if task.name in ("pendulum", "cartpole") else 600)
    scale = seen.std(axis=0)
    wanted = task.act(seen)
    width = 32 if task.name != "pendulum" else 64
    net = torch.nn.Sequential(
        torch.nn.Linear(seen.shape[1], width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, task.outputs),
    )
    inputs = torch.tensor(seen / scale, dtype=torch.float32)
    loss_of = torch.nn.CrossEntropyLoss() if task.outputs > 1 else torch.nn.MSELoss()
    target = torch.tensor(wanted, dtype=torch.int64 if task.outputs > 1 else torch.float32)
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    found = []
    for step in range(2001):
        if step in (20, 40, 80, 150, 300, 600, 900, 1200, 1600, 2000):
            found.append(weights_of(net, scale))
        optimiser.zero_grad()
        said = net(inputs)
        loss = loss_of(said if task.outputs > 1 else said[:, 0], target)
        loss.backward()
        optimiser.step()
    return found


def weights_of(net: Any, scale: NDArray[np.float64]) -> Weights:
    layers = [
        (m.weight.detach().numpy().copy(), m.bias.detach().numpy().copy())
        for m in net
        if hasattr(m, "weight")
    ]
    layers[0] = ((layers[0][0] / scale).astype(np.float32), layers[0][1])
    return layers


def infer(weights: Weights, seen: NDArray[np.float32]) -> NDArray[np.float32]:
    for place, (w, b) in enumerate(weights):
        seen = w @ seen + b
        if place + 1 < len(weights):
            seen = np.maximum(seen, 0)
    return seen


def count_failures(task: Task, weights: Weights, runs: int) -> int:
    import gymnasium

    env = gymnasium.make(task.environment).unwrapped
    failed = 0
    for seed in range(runs):
        seen, _ = env.reset(seed=seed)
        step, said = 0, None
        while said is None:
            outputs = infer(weights, np.asarray(seen, np.float32))
            action: Any = int(outputs.argmax()) if task.outputs > 1 else outputs
            seen, _, over, _, _ = env.step(action)
            step += 1
            said = task.failed(env, seen, step, bool(over))
        failed += said
    return failed


def pick_checkpoints(task: Task, seed: int) -> list[tuple[Weights, int, int]]:
    """One that often fails, and the one that fails least often but does; each with failures and runs."""
    scored = [(w, count_failures(task, w, 100)) for w in train(task, seed)]
    failing = [(w, n) for w, n in scored if n]
    seldom = min(failing, key=lambda pair: pair[1])
    often = min(failing, key=lambda pair: abs(pair[1] - 50))
    return [(often[0], often[1], 100), (seldom[0], seldom[1], 100)]


def write_task(task: Task, weights: Weights, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    layers = [Layer(tuple(map(tuple, w.tolist())), tuple(b.tolist())) for w, b in weights]
    write_network(layers, folder / "policy.onnx", batch=True)
    path = folder / "problem.toml"
    path.write_text(task.text, encoding="utf-8")
    return path


def time_check(path: Path, arguments: Sequence[str] = ()) -> tuple[str, float]:
    """The first line of the answer and the processor seconds of the whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "surefoot", "check", str(path), *arguments]
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    made = subprocess.run(command, capture_output=True, text=True, env=os.environ | single, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (made.stdout or made.stderr).strip().splitlines()[0], took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for task in TASKS:
        if given.only and given.only != task.name:
            continue
        for word, (weights, failed, runs) in zip(
            ("often", "seldom"), pick_checkpoints(task, given.seed), strict=True
        ):
            path = write_task(task, weights, given.folder / f"{task.name}-{word}")
            said, took = time_check(path)
            print(f"{task.name:<24}{failed:>4} of {runs} fail   {took:5.2f} s   {said}", flush=True)


if __name__ == "__main__":
    main()
