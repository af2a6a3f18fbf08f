"""What a shield costs at run time: its C and its Python, beside the network that it guards.

    python -m benchmarks.shields [PROBLEM ...] [--networks DIR] [--degree 4]

A C program calls the exported step in a loop over states along shielded runs and what the network proposes
there (without a network: anything), compiled with `gcc -O2 -std=c99`; the loop without the step is timed too
and taken off. The network is one evaluation by
onnxruntime on one thread. Every time is the least of several.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from surefoot.cli.commands.shield.made import Made, make
from surefoot.cli.commands.shield.words import facts
from surefoot.compile.batch import BatchGuard
from surefoot.engines.shield.campaign.plant import Plant, by_network, covered_boxes, drawn_starts
from surefoot.formats.policy_file import load_policy
from surefoot.problem.policy import NeuralPolicy, Policy
from surefoot.studies.control.problem import stays_safe
from surefoot.studies.control.tables import printed
from surefoot.work.budget import Budget

PROBLEMS = ("self-driving", "cartpole", "lane-keeping", "pendulum-continuous", "eight-car-platoon")
STATES = 1024
REPEATS = 7
FLAGS = ("-O2", "-std=c99", "-Wall", "-Wextra", "-Werror")
DRIVER = """#define _POSIX_C_SOURCE 199309L
#include "guard.h"
#include <stdio.h>
#include <time.h>

#define N {count}
static double rows[N][GUARD_STATES], proposed[N][GUARD_CONTROLS];

static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}}

int main(void)
{{
    double least = 1e300, idle = 1e300, kept = 0;
    long overruled = 0;
    if (fread(rows, sizeof rows, 1, stdin) != 1 || fread(proposed, sizeof proposed, 1, stdin) != 1)
        return 1;
    for (int r = 0; r < 40; r++) {{
        double out[GUARD_CONTROLS] = {{0}}, began = now();
        for (int k = 0; k < 20; k++)
            for (int i = 0; i < N; i++) {{
                overruled += guard_step(rows[i], proposed[i], out) != 0;
                kept += out[0];
            }}
        double took = (now() - began) / (20.0 * N);
        least = took < least ? took : least;
        began = now();
        for (int k = 0; k < 20; k++)
            for (int i = 0; i < N; i++) {{
                __asm__ volatile("" : : "r"(rows[i]), "r"(proposed[i]) : "memory");
                kept += proposed[i][0];
            }}
        took = (now() - began) / (20.0 * N);
        idle = took < idle ? took : idle;
    }}
    printf("%.2f %.2f %ld %g\\n", least, idle, overruled / 800, kept);
    return 0;
}}
"""


def asked(made: Made, policy: Policy | None, count: int) -> tuple[Any, Any]:
    """States along runs from covered starts and what the network proposes there; without one, anything."""
    generator, guard = np.random.default_rng(0), BatchGuard(made.guard())
    plant, low_high = Plant(made.system), Plant(made.system).ends()
    propose = by_network(policy, made.system) if isinstance(policy, NeuralPolicy) else None
    states = drawn_starts(covered_boxes([b.set.proof for b in made.found.branches]), 64, generator)
    rows, wanted = [], []
    for step in range(10 * count // len(states)):
        proposed = (
            generator.uniform(*low_high, (64, len(low_high[0]))) if propose is None else propose(states, step)
        )
        if step % 10 == 0:
            rows.append(states)
            wanted.append(proposed)
        states = plant.step(states, guard.step(states, proposed).applied, plant.drawn(64, generator))
    return np.concatenate(rows), np.concatenate(wanted)


def c_nanoseconds(made: Made, policy: Policy | None, folder: Path) -> tuple[float, int]:
    """Of one step in C, and how many of the proposals were overruled."""
    header, source = made.c("guard")
    (folder / "guard.h").write_text(header)
    (folder / "guard.c").write_text(source)
    (folder / "driver.c").write_text(DRIVER.format(count=STATES))
    subprocess.run(["gcc", *FLAGS, "guard.c", "driver.c", "-o", "driver"], cwd=folder, check=True)
    states, proposed = asked(made, policy, STATES)
    done = subprocess.run([folder / "driver"], input=states.tobytes() + proposed.tobytes(), check=True,
                          capture_output=True)  # fmt: skip
    took, idle, overruled, _ = done.stdout.split()
    return float(took) - float(idle), int(overruled)


def python_nanoseconds(made: Made, policy: Policy | None, folder: Path) -> float:
    path = folder / "guard.py"
    path.write_text(made.python())
    spec = importlib.util.spec_from_file_location("guard", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    states, proposed = (rows.tolist() for rows in asked(made, policy, STATES))
    times = []
    for _ in range(REPEATS):
        began = process_time()
        for state, wanted in zip(states, proposed, strict=True):
            module.step(state, wanted)
        times.append(process_time() - began)
    return min(times) / STATES * 1e9


def network_nanoseconds(path: Path, width: int) -> float:
    """One evaluation by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    rows = np.random.default_rng(0).normal(size=(STATES, 1, width)).astype(np.float32)
    times = []
    for _ in range(REPEATS):
        began = process_time()
        for row in rows:
            session.run(None, {name: row})
        times.append(process_time() - began)
    return min(times) / STATES * 1e9


def _network(name: str, folder: Path | None) -> Path | None:
    files = {row.problem: row.file for table in (1, 3) for row in printed(table)} | {
        "pendulum-continuous": "pendulum_continuous"
    }
    if folder is None:
        return None
    tried = [folder / f"{n}.onnx" for n in (name, files.get(name, name))]
    return next((path for path in tried if path.is_file()), None)


def measured(name: str, folder: Path | None, degrees: tuple[int, ...]) -> dict[str, Any]:
    path = _network(name, folder)
    network = None if path is None else load_policy(path).network
    problem = stays_safe(name, network)
    made = make(problem, degrees, Budget(300))
    found: dict[str, Any] = {"problem": name, "certified": made.accepted}
    if not made.accepted:
        return found | {"reason": made.reason}
    with tempfile.TemporaryDirectory() as scratch:
        c, overruled = c_nanoseconds(made, problem.policy, Path(scratch))
        python = python_nanoseconds(made, problem.policy, Path(scratch))
    found |= {
        "variables": len(made.system.variables),
        "degree": made_degree(made),
        "rules": len(made.found.branches),
        "c ns": round(c, 1),
        "overruled": f"{overruled} of {STATES}",
        "python ns": round(python),
    }
    if path is not None:
        alone = network_nanoseconds(path, len(made.system.variables))
        found |= {
            "network ns": round(alone),
            "c overhead %": round(100 * c / alone, 3),
            "python overhead %": round(100 * python / alone, 1),
        }
    return found


def made_degree(made: Made) -> int:
    """The highest of the barriers that were found."""
    return max(rule["degree"] for rule in facts(made, 0.0, seed=0, degrees=(), source={}, inputs={})["rules"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--networks", type=Path)
    parser.add_argument("--degree", default="2,4")
    given = parser.parse_args()
    degrees = tuple(int(d) for d in given.degree.split(","))
    for name in given.problems:
        print(json.dumps(measured(name, given.networks, degrees)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
