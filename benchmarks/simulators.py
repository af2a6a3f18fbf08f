"""Other simulators on the same model with the same network, each asked by Python at every decision.

    python -m benchmarks.simulators NAME FOLDER SECONDS

FOLDER holds race.jani, race.prism and network.npz; the answer is a line of JSON. Runs in any environment that
has the peer and numpy; nothing of surefoot is imported.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

MOST_STEPS = 10_000
OBSERVED = ("x", "y", "vx", "vy")
Decide = Callable[[list[float]], int]
Run = Callable[[], tuple[int, int, bool]]  # decisions, steps, and was the goal reached


def decider(folder: Path) -> Decide:
    """The network by numpy, one observation at a time."""
    stored = np.load(folder / "network.npz")
    layers = [(stored[f"w{k}"].T.copy(), stored[f"b{k}"]) for k in range(3)]

    def decide(observed: list[float]) -> int:
        value = np.array(observed, dtype=np.float32)
        for k, (weights, bias) in enumerate(layers):
            value = value @ weights + bias
            if k < len(layers) - 1:
                value = np.maximum(value, 0)
        return int(value.argmax())

    return decide


def momba(folder: Path, decide: Decide) -> Run:
    """momba's engine (Rust) with an oracle in Python; it remembers the states that runs have come to."""
    from momba import engine, jani  # type: ignore[import-not-found]

    explorer = engine.Explorer.new_discrete_time(jani.load_model((folder / "race.jani").read_text("utf-8")))
    (start,) = explorer.initial_states

    def run() -> tuple[int, int, bool]:
        state, decisions = start, 0
        for steps in range(MOST_STEPS):
            transitions = state.transitions
            if not transitions:
                return decisions, steps, state.global_env["status"].as_int == 2
            taken = transitions[0]
            if len(transitions) > 1:
                decisions += 1
                values = state.global_env
                wanted = f"accelerate_{decide([values[name].as_int for name in OBSERVED])}"
                taken = next(t for t in transitions if t.action.action_type.label == wanted)
            state = taken.destinations.pick().state
        return decisions, MOST_STEPS, False

    return run


def stormpy(folder: Path, decide: Decide) -> Run:
    """Storm's simulator of PRISM programs, which does not build the state space."""
    import stormpy as storm  # type: ignore[import-not-found]
    from stormpy.simulator import (  # type: ignore[import-not-found]
        SimulatorActionMode,
        SimulatorObservationMode,
        create_simulator,
    )

    simulator = create_simulator(storm.parse_prism_program(str(folder / "race.prism")), seed=1)
    simulator.set_action_mode(SimulatorActionMode.GLOBAL_NAMES)
    simulator.set_observation_mode(SimulatorObservationMode.PROGRAM_LEVEL)

    def run() -> tuple[int, int, bool]:
        state, decisions = simulator.restart()[0], 0
        for steps in range(MOST_STEPS):
            if simulator.is_done():
                return decisions, steps, int(str(state["status"])) == 2
            actions = simulator.available_actions()
            taken = actions[0]
            if len(actions) > 1:
                decisions += 1
                taken = f"accelerate_{decide([float(str(state[name])) for name in OBSERVED])}"
            state = simulator.step(taken)[0]
        return decisions, MOST_STEPS, False

    return run


def python(folder: Path, decide: Decide) -> Run:
    """The same model written by hand in Python, with its tests of cells: no tool at all."""
    track = json.loads((folder / "race.json").read_text("utf-8"))
    rows, slip, (start_x, start_y) = track["rows"], track["slip"], track["start"]
    width, height = len(rows[0]), len(rows)
    draw = random.Random(1).random

    def run() -> tuple[int, int, bool]:
        x, y, vx, vy, decisions, steps = start_x, start_y, 0, 0, 0, 0
        while steps < MOST_STEPS:
            action = decide([x, y, vx, vy])
            decisions, steps = decisions + 1, steps + 1
            if draw() >= slip:
                vx, vy = vx + action // 3 - 1, vy + action % 3 - 1
            length = max(abs(vx), abs(vy))
            cx, cy = x, y
            for cell in range(1, length + 1):
                cx = x + (2 * cell * vx + length) // (2 * length)
                cy = y + (2 * cell * vy + length) // (2 * length)
                steps += 2
                letter = rows[cy][cx] if 0 <= cx < width and 0 <= cy < height else "#"
                if letter != ".":
                    return decisions, steps, letter == "G"
            x, y, steps = cx, cy, steps + 1
        return decisions, MOST_STEPS, False

    return run


PEERS: dict[str, Callable[[Path, Decide], Run]] = {"momba": momba, "stormpy": stormpy, "python": python}


def measured(name: str, folder: Path, seconds: float) -> dict[str, Any]:
    """As many runs as the time allows, but 20 at least; processor time."""
    run = PEERS[name](folder, decider(folder))
    run()
    began, runs, decisions, steps, goals = process_time(), 0, 0, 0, 0
    while process_time() - began < seconds or runs < 20:
        more, made, reached = run()
        runs, decisions, steps, goals = runs + 1, decisions + more, steps + made, goals + reached
    return {
        "runs": runs,
        "decisions": decisions,
        "steps": steps,
        "goals": goals,
        "seconds": process_time() - began,
    }


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))))
