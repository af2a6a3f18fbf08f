"""What a shield costs at run time: its C, its Python and its Gymnasium wrapper, beside the network it guards.

    python -m benchmarks.shields [PROBLEM ...] [--networks DIR] [--degree 2,4]

Without PROBLEM: the fifteen benchmarks of the shield paper. How C, Python and networks are timed:
`surefoot_studies.control.runtime_overhead`. The wrapper is what `Shielded(env, step)` adds to a step of
an environment that does nothing, with the step of the exported Python module; `library`: the C step loaded
into Python (`surefoot.integrations.native`), alone and wrapped. Networks are those of the folder, else the
shipped ones. Where the paper's network is not public, one of its size with random weights is timed
(`random`): its time does not depend on its numbers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from surefoot.formats.policy_file import load_policy
from surefoot.integrations.native import native
from surefoot.integrations.shield import Shielded
from surefoot.report.shield_text import barrier_degree
from surefoot.shields.certified_shield import ShieldSynthesis, make_certified_shield
from surefoot.work.budget import Budget
from surefoot_studies.control.measured_table import hidden_sizes
from surefoot_studies.control.paper_tables import PaperRow, network_file_of_row, read_paper_rows
from surefoot_studies.control.problem import stays_safe
from surefoot_studies.control.runtime_overhead import (
    FLAGS,
    Work,
    import_exported_step,
    network_works,
    sample_proposals,
    step_works,
    time_c_step,
    time_in_turns,
)
from surefoot_studies.training.onnx_files import onnx_bytes


class Replayed(gymnasium.Env[Any, Any]):
    """Goes through states that are given, whatever is done."""

    def __init__(self, states: Any, controls: int) -> None:
        self.rows, self.at = list(states), 0
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(states[0]),), np.float64)
        self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (controls,), np.float32)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.at = 0
        return self.rows[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at = (self.at + 1) % len(self.rows)
        return self.rows[self.at], 0.0, False, False, {}


def stepping(env: Any, actions: list[Any]) -> Work:
    def work() -> None:
        env.reset()
        step = env.step
        for action in actions:
            step(action)

    return work


def library(made: ShieldSynthesis, folder: Path) -> Path:
    header, source = made.c("guard")
    (folder / "guard.h").write_text(header)
    (folder / "guard.c").write_text(source)
    command = ["gcc", *FLAGS, "-shared", "-fPIC", "guard.c", "-o", "guard.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "guard.so"


def of_size(sizes: str, inputs: int, outputs: int, folder: Path) -> Path:
    """A network of that size with random weights."""
    widths, generator = [inputs, *map(int, sizes.split("x")), outputs], np.random.default_rng(0)
    layers = [
        (generator.normal(size=(after, before)) / np.sqrt(before), np.zeros(after))
        for before, after in pairwise(widths)
    ]
    path = folder / "random.onnx"
    path.write_bytes(onnx_bytes(layers, "relu", "random", np.ones(outputs)))
    return path


def measured(
    name: str, row: PaperRow | None, folder: Path | None, degrees: tuple[int, ...]
) -> dict[str, Any]:
    path = network_file_of_row(name, row, folder)
    problem = stays_safe(name, None if path is None else load_policy(path).network)
    made = make_certified_shield(problem, degrees, Budget(300))
    found: dict[str, Any] = {"problem": name, "certified": made.accepted}
    if not made.accepted:
        return found | {"reason": made.reason}
    states, proposed = sample_proposals(made, problem.policy)
    with tempfile.TemporaryDirectory() as scratch:
        timed, sort = path, "own"
        if folder is not None and row is not None and (path is None or path.parent != folder):
            timed, sort = of_size(row.network, states.shape[1], proposed.shape[1], Path(scratch)), "random"
        network = None if timed is None else load_policy(timed).network
        works = _works(made, states, proposed, Path(scratch))
        least = time_in_turns(works | network_works(network, timed, states))
    steps = {
        "c": time_c_step(made, states, proposed) or float("nan"),
        "python": least["python"] - least["idle"],
        "wrapper": least["wrapped"] - least["bare"],
        "library": least["library"] - least["idle"],
        "library in wrapper": least["library wrapped"] - least["bare"],
    }
    found |= {
        "variables": len(made.system.variables),
        "degree": max(barrier_degree(b.set.barrier, made.system.variables) for b in made.found.branches),
        "rules": len(made.found.branches),
        "ns": {name: round(ns, 1 if name == "c" else 0) for name, ns in steps.items()},
        "network": {"hidden": hidden_sizes(network), "weights": sort},
    }
    for by in ("onnxruntime", "numpy"):
        if by in least:
            found[f"{by} ns"] = round(least[by])
            found[f"% of {by}"] = {name: round(100 * ns / least[by], 2) for name, ns in steps.items()}
    return found | ({} if row is None else {"paper %": row.overhead})


def _works(made: ShieldSynthesis, states: Any, proposed: Any, folder: Path) -> dict[str, Work]:
    """What is timed."""
    step, loaded = import_exported_step(made, folder), native(library(made, folder))
    env, actions = Replayed(states, proposed.shape[1]), list(proposed.astype(np.float32))
    works = step_works(step, states, proposed)
    works["library"] = step_works(loaded, states, proposed)["python"]
    works["bare"] = stepping(env, actions)
    works["wrapped"] = stepping(Shielded(env, step), actions)
    works["library wrapped"] = stepping(Shielded(env, loaded), actions)
    return works


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--networks", type=Path)
    parser.add_argument("--degree", default="2,4")
    given = parser.parse_args()
    degrees = tuple(int(d) for d in given.degree.split(","))
    rows = {row.problem: row for row in read_paper_rows(1)}
    for name in given.problems or rows:
        print(json.dumps(measured(name, rows.get(name), given.networks, degrees)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
