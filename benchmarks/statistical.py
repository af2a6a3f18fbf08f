"""Decisions and runs per second of simulation, beside momba, stormpy and plain Python, in one run.

    python -m benchmarks.statistical [--python FILE] [--seconds N] [--models FOLDER] [--json FILE]

One model (`racing.py`) and one network for all; every simulator has a process of its own and one thread, and
processor time is measured. momba and stormpy ask the network through Python. With `--models` the published
Racetrack model and a published policy are measured as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks import prism, racing
from surefoot.formats.jani import read_jani, write_jani
from surefoot.formats.onnx import read_onnx_network
from surefoot.network.evaluate import evaluate_network_batch
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.network import Affine, Network
from surefoot.problem.policy import EdgesOf, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.simulate.path_property import ENDED, FAILED, STALLED, SUCCEEDED, PathProperty
from surefoot.simulate.simulator import RunSimulator, make_simulator
from surefoot.solvers.sampling.methods import choose_plan
from surefoot.solvers.sampling.plan import FAILURE, SUCCESS, UNDECIDED, Progress
from surefoot.term.term import FALSE, Var, equal

ROOT = Path(__file__).parents[1]
MODELS = ROOT.parent / "shared" / "data" / "jani"
PEERS = ("momba", "stormpy", "python")
TARGETS = {"momba": 300, "stormpy": 1000}  # how many times as many decisions, the network asked at each
REMEMBERED = 5e6  # decisions per second where they are remembered
HEAT_MAP = 2.0  # seconds
MOST_STEPS = 10_000
OBSERVED = (
    "car_dx car_dy car_x car_y dist_east dist_north dist_north_east dist_north_west dist_south "
    "dist_south_east dist_south_west dist_west goal_dist goal_dist_x goal_dist_y"
)


def write_files(folder: Path, network: Network) -> None:
    environment = racing.environment()
    (folder / "race.jani").write_text(write_jani(environment, {}, kind="mdp"), encoding="utf-8")
    start = next(enumerate_initial_states(environment, 100))
    (folder / "race.prism").write_text(prism.prism_text(environment, start), encoding="utf-8")
    track = {"rows": racing.TRACK, "slip": float(racing.SLIP), "start": racing.START}
    (folder / "race.json").write_text(json.dumps(track), encoding="utf-8")
    layers = [node for node in network.nodes if isinstance(node, Affine)]
    arrays = {f"w{k}": layer.weights for k, layer in enumerate(layers)}
    np.savez(folder / "network.npz", **arrays, **{f"b{k}": layer.bias for k, layer in enumerate(layers)})


def peer(python: Path, name: str, folder: Path, seconds: float) -> dict[str, Any]:
    command = [str(python.absolute()), "-W", "ignore", "-m", "benchmarks.simulators", name, str(folder)]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, str(seconds)],
        cwd=ROOT,
        env={**os.environ, **one},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def own(simulator: RunSimulator, seconds: float, batch: int) -> dict[str, Any]:
    """As many batches as the time allows, the first of them not counted."""
    simulator.runs(0, None, 0, batch)
    before, began = simulator.counts(), process_time()
    runs = steps = goals = 0
    while process_time() - began < seconds:
        found = simulator.runs(1, None, runs, batch)
        runs, steps = runs + batch, steps + int(found.steps.sum())
        goals += found.count(SUCCEEDED)
    took, after = process_time() - began, simulator.counts()
    decisions = after.decisions - before.decisions
    return {"runs": runs, "decisions": decisions, "steps": steps, "goals": goals, "seconds": took}


def ours(problem: Problem, watched: PathProperty, seconds: float) -> dict[str, dict[str, Any]]:
    def of(tier: Any, memo: bool, batch: int) -> dict[str, Any]:
        simulator = make_simulator(problem, watched, max_steps=MOST_STEPS, tier=tier, memo=memo)
        return own(simulator, seconds, batch)

    return {
        "decisions remembered": of("llvm", True, 50_000),
        "network at every decision": of("llvm", False, 10_000),
        "interpreted": of("interpreter", True, 200),
    }


def heat_map(problem: Problem, watched: PathProperty) -> dict[str, Any]:
    """The probability to reach the goal from every cell, to 0.01 with 95 %; the second of two maps."""
    plan = choose_plan("clopper-pearson", Fraction(1, 100), Fraction(1, 20), folder=None)
    code = np.zeros(5, dtype=np.uint8)
    code[[FAILED, SUCCEEDED, STALLED, ENDED]] = [FAILURE, SUCCESS, FAILURE, FAILURE]
    code[2] = UNDECIDED
    simulator = make_simulator(problem, watched, max_steps=MOST_STEPS)
    answer: dict[str, Any] = {}
    for seed in (0, 1):
        began, runs = process_time(), 0
        for start in range(len(simulator.starts)):
            progress = Progress()
            while progress.stop is None:
                found = simulator.runs(seed, start, progress.runs, max(1, plan.ahead(progress)))
                progress = plan.consume(progress, code[found.outcome])
            runs += progress.runs
        answer = {"cells": len(simulator.starts), "runs": runs, "seconds": process_time() - began}
    return answer


def limits(network: Network) -> dict[str, float]:
    """What the machine can do: large matrix products, and this network in batches by BLAS alone."""
    generator = np.random.default_rng(0)
    square = generator.normal(size=(512, 512)).astype(np.float32)
    rows = generator.normal(size=(1024, network.width)).astype(np.float32)
    layers = [node for node in network.nodes if isinstance(node, Affine)]

    def batch() -> None:
        value = rows
        for layer in layers:
            value = np.maximum(value @ layer.weights.T + layer.bias, 0)

    products = sum(layer.weights.size for layer in layers)
    return {
        "flops per second": 2 * 512**3 / _time(lambda: square @ square, 50),
        "flops per decision": 2.0 * products,
        "rows per second": 1024 / _time(batch, 50),
        "seconds per call": _time(lambda: evaluate_network_batch(network, rows[:1]), 200),
    }


def _time(work: Any, rounds: int) -> float:
    """The median of a few measurements, in seconds of processor time."""
    times = []
    for _ in range(7):
        began = process_time()
        for _ in range(rounds):
            work()
        times.append((process_time() - began) / rounds)
    return median(times)


def published(folder: Path, seconds: float) -> dict[str, Any]:
    """The published model with a published policy of 15 inputs, and how long it takes to load the network."""
    file = folder / "racetrack-policies" / "ep10999.onnx"
    model = read_jani(folder / "racetrack" / "racetrack_barto_sml.jani", {})
    network = read_onnx_network(file)
    policy = NeuralPolicy(network, tuple(map(Var, OBSERVED.split())), EdgesOf("car"))
    asked = model.properties["goalProbability"]
    assert isinstance(asked, Probability)
    problem = Problem("published", model.environment, policy, asked)
    found: dict[str, Any] = ours(problem, PathProperty(asked.path.right), seconds)
    return {**found, "seconds to load": _time(lambda: read_onnx_network(file), 5)}


def table(rows: dict[str, dict[str, Any]]) -> str:
    base = rows["network at every decision"]
    speed = base["decisions"] / base["seconds"]
    lines = [f"{'':32}{'decisions/s':>14}{'runs/s':>12}{'steps/s':>14}{'P(goal)':>9}{'ratio':>10}"]
    for name, row in rows.items():
        if "failed" in row:
            lines.append(f"{name:32}failed: {row['failed']}")
            continue
        each = [row[key] / row["seconds"] for key in ("decisions", "runs", "steps")]
        share = row["goals"] / row["runs"]
        numbers = f"{each[0]:14,.0f}{each[1]:12,.0f}{each[2]:14,.0f}{share:9.4f}{speed / each[0]:10,.4g}"
        lines.append(f"{name:32}{numbers}")
    return "\n".join(lines)


def judged(rows: dict[str, dict[str, Any]], heat: dict[str, Any]) -> dict[str, bool]:
    """Were the targets met? And do all simulators simulate the same thing?"""
    speeds = {n: r["decisions"] / r["seconds"] for n, r in rows.items() if "failed" not in r}
    base = speeds["network at every decision"]
    found = {n: base >= factor * speeds[n] for n, factor in TARGETS.items() if n in speeds}
    found["decisions remembered"] = speeds["decisions remembered"] >= REMEMBERED
    found["heat map"] = heat["seconds"] < HEAT_MAP
    reference = rows["decisions remembered"]
    for name, row in rows.items():
        if "failed" not in row:
            expected = reference["decisions"] / reference["runs"]
            found[f"{name} agrees"] = abs(row["decisions"] / row["runs"] / expected - 1) < 0.05
    return found


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statistical", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--python", type=Path, default=Path(".venv-bench/bin/python"), help="with the peers")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each simulator")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of JANI models")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    network = racing.network()
    watched = PathProperty(equal(racing.STATUS, racing.FINISHED))
    problem = Problem("race", racing.environment(), racing.policy(network), Never(FALSE))
    rows = ours(problem, watched, options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), network)
        for name in PEERS:
            python = Path(sys.executable) if name == "python" else options.python
            rows[name] = peer(python, name, Path(folder), options.seconds)
    print(table(rows), flush=True)
    everywhere = Problem("race", racing.environment(anywhere=True), racing.policy(network), Never(FALSE))
    heat, machine = heat_map(everywhere, watched), limits(network)
    print(f"heat map: {heat['cells']} cells, {heat['runs']:,} runs, {heat['seconds']:.2f} s")
    decisions = rows["network at every decision"]["decisions"] / rows["network at every decision"]["seconds"]
    share = decisions * machine["flops per decision"] / machine["flops per second"]
    print(
        f"machine: {machine['flops per second'] / 1e9:.0f} GFLOP/s in matrix products, of which "
        f"{share:.0%} are reached; BLAS alone {machine['rows per second']:,.0f} rows/s in batches of 1024; "
        f"{1e6 * machine['seconds per call']:.0f} us for one row through Python"
    )
    answer: dict[str, Any] = {"rows": rows, "heat map": heat, "machine": machine, "share": share}
    if (options.models / "racetrack-policies").is_dir():
        answer["published"] = published(options.models, options.seconds)
        load = answer["published"].pop("seconds to load")
        print(f"published model and policy ep10999 (loaded in {1e3 * load:.2f} ms):")
        print(table(answer["published"]))
        answer["seconds to load"] = load
    answer["met"] = judged(rows, heat)
    missed = [name for name, met in answer["met"].items() if not met]
    print("all targets met" if not missed else f"missed: {', '.join(missed)}")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    return 0 if all(answer["met"][f"{name} agrees"] for name in rows if "failed" not in rows[name]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
