"""Steps per second of CartPole with a 4-64-64-2 ReLU policy: in columns, and in Gymnasium.

    python -m benchmarks.batch_simulation --threads 2

Gymnasium's own vector environment of CartPole is given the actions of the same network, computed for the
whole batch by onnxruntime, by torch, by BLAS (`network/evaluate.py`) or by the machine code that the columns
use. Every contender runs at several batch sizes, all in turns, and its best round at its best size counts.
Beside it stands the simulation of `statistical` one run after another.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.evaluate import network_batch_outputs
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import Affine, Array32, Network, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.simulate.batch.model import make_batch_model
from surefoot.simulate.batch.network_columns import compile_column_network
from surefoot.simulate.batch.numbers import random_numbers
from surefoot.simulate.batch.runs import begin_runs
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.simulator import make_simulator
from surefoot.simulate.starts import draw_starts
from surefoot.term.term import Apply, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Real

NAMES = ("x", "v", "angle", "spin")
STEPS = 5  # of a round: short ones, so that some are not disturbed by others on the machine
WARMING = 400
SIZES = (256, 1024, 4096, 8192, 16384, 32768)
_Actions: TypeAlias = Callable[[Array32], NDArray[np.int64]]
_Round: TypeAlias = Callable[[], object]  # STEPS steps of all runs


def policy_network() -> Network:
    rng = np.random.default_rng(0)
    shapes = ((64, 4), (64, 64), (2, 64))
    return dense_network(
        [
            (rng.normal(size=s).astype(np.float32) * np.float32(0.3), np.zeros(s[0], np.float32))
            for s in shapes
        ]
    )


def cart_pole() -> Problem:
    """Gymnasium's equations, Euler steps of 0.02 s."""
    x, v, angle, spin = map(Var, NAMES)
    step = Fraction("0.02")

    def push(name: str, force: int) -> Edge:
        sine, cosine = Apply(Op.SIN, (angle,)), Apply(Op.COS, (angle,))
        pushed: Term = (force + Fraction("0.05") * spin * spin * sine) / Fraction("1.1")
        turned = (Fraction("9.8") * sine - cosine * pushed) / (
            Fraction("0.5") * (Fraction(4, 3) - Fraction("0.1") * cosine * cosine / Fraction("1.1"))
        )
        moved = pushed - Fraction("0.05") * turned * cosine / Fraction("1.1")
        updates = {
            x: x + step * v,
            v: v + step * moved,
            angle: angle + step * spin,
            spin: spin + step * turned,
        }
        return Edge("here", name, outcomes=(Outcome(1, tuple(Update(t, u) for t, u in updates.items())),))

    kind = Real(Fraction(-1000), Fraction(1000))
    small = Fraction("0.05")
    start = (x >= -small) & (x <= small)
    for other in (v, angle, spin):
        start = start & (other >= -small) & (other <= small)
    environment = Environment(
        "cart pole",
        tuple(Variable(n, kind) for n in NAMES),
        start,
        (Component("main", (push("left", -10), push("right", 10))),),
        arithmetic=Arithmetic.FLOAT64,
    )
    policy = NeuralPolicy(policy_network(), (x, v, angle, spin), ("left", "right"), Choose.ARGMAX)
    return Problem("cart pole", environment, policy, Never(x > Fraction("2.4")))


def columns_contender(runs: int, threads: int, *, exact: bool = False) -> _Round:
    problem, rng = cart_pole(), np.random.default_rng(0)
    model = make_batch_model(problem, exact=exact, threads=threads)
    starts = draw_starts(problem.environment, runs, rng).columns

    def play() -> None:
        batch = begin_runs(model, starts)
        for _ in range(STEPS):
            batch.advance(random_numbers(rng))

    for _ in range(WARMING // STEPS):  # until everything is machine code
        play()
    return play


def gymnasium_contender(runs: int, decide: _Actions) -> _Round:
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    world = CartPoleVectorEnv(num_envs=runs)

    def play() -> None:
        seen: Array32 = world.reset(seed=0)[0]
        for _ in range(STEPS):
            seen = world.step(decide(seen))[0]

    return play


def sync_contender(runs: int, decide: _Actions) -> _Round:
    """Gymnasium's vector environment of single ones, as for any environment."""
    import gymnasium

    world = gymnasium.make_vec("CartPole-v1", num_envs=runs, vectorization_mode="sync")

    def play() -> None:
        seen: Array32 = world.reset(seed=0)[0]
        for _ in range(STEPS):
            seen = world.step(decide(seen))[0]

    return play


def network_functions(threads: int) -> Iterator[tuple[str, _Actions]]:
    """Ways to compute the actions of a batch; those whose package is missing are left out."""
    network = policy_network()
    layers = [(node.weights, node.bias) for node in network.nodes if isinstance(node, Affine)]
    for name, make in (("onnxruntime", _by_onnxruntime), ("torch", _by_torch)):
        try:
            yield name, make(layers, threads)
        except ImportError:
            print(f"{name} is not installed")
    yield "BLAS", lambda seen: network_batch_outputs(network, seen).argmax(axis=1)
    compiled = compile_column_network(network)
    yield (
        "our machine code",
        lambda seen: compiled.outputs(list(seen.T), len(seen), threads).argmax(axis=0),
    )


def _by_onnxruntime(layers: list[tuple[Array32, Array32]], threads: int) -> _Actions:
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights, value = [], [], "x"
    for number, (matrix, bias) in enumerate(layers):
        weights += [
            numpy_helper.from_array(matrix, f"w{number}"),
            numpy_helper.from_array(bias, f"b{number}"),
        ]
        nodes.append(helper.make_node("Gemm", [value, f"w{number}", f"b{number}"], [f"h{number}"], transB=1))
        value = f"h{number}"
        if number + 1 < len(layers):
            nodes.append(helper.make_node("Relu", [value], [f"r{number}"]))
            value = f"r{number}"
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, layers[0][0].shape[1]])
    found = helper.make_tensor_value_info(value, TensorProto.FLOAT, [None, layers[-1][0].shape[0]])
    graph = helper.make_graph(nodes, "policy", [given], [found], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda seen: session.run(None, {"x": seen})[0].argmax(axis=1)


def _by_torch(layers: list[tuple[Array32, Array32]], threads: int) -> _Actions:
    import torch

    torch.set_num_threads(threads)
    parts: list[Any] = []
    for matrix, bias in layers:
        linear = torch.nn.Linear(matrix.shape[1], matrix.shape[0])
        linear.weight.data, linear.bias.data = torch.from_numpy(matrix.copy()), torch.from_numpy(bias.copy())
        parts += [linear, torch.nn.ReLU()]
    model = torch.nn.Sequential(*parts[:-1])

    def decide(seen: Array32) -> NDArray[np.int64]:
        with torch.inference_mode():
            return np.asarray(model(torch.from_numpy(seen)).argmax(dim=1).numpy())

    return decide


def measure_in_turns(contenders: dict[str, dict[int, _Round]], rounds: int) -> dict[str, dict[str, float]]:
    """Of each contender the steps per second of its best round: by the clock, and of processor time."""
    best: dict[tuple[str, int], list[float]] = {}
    for number in range(rounds + 1):  # the first one warms up: what is compiled when first used
        for name, sizes in contenders.items():
            for runs, play in sizes.items():
                began, used = perf_counter(), process_time()
                play()
                spent = [perf_counter() - began, process_time() - used]
                if number:
                    before = best.setdefault((name, runs), spent)
                    best[name, runs] = [min(a, b) for a, b in zip(before, spent, strict=True)]
    found: dict[str, dict[str, float]] = {}
    for name in contenders:
        runs = min((r for n, r in best if n == name), key=lambda r: best[name, r][0] / r)
        wall, used = (STEPS * runs / seconds for seconds in best[name, runs])
        found[name] = {"runs": runs, "steps_per_second": wall, "steps_per_processor_second": used}
    return found


def steps_by_interpreter(runs: int) -> float:
    """Steps per second of `statistical`, one run after another."""
    problem = cart_pole()
    start = dict.fromkeys(NAMES, 0.01)
    right = Var("x") > Fraction("2.4")
    simulator = make_simulator(problem, PathProperty(right), max_steps=20, tier="interpreter", starts=[start])
    simulator.runs(0, 0, 0, runs)
    began = perf_counter()
    found = simulator.runs(1, 0, 0, runs)
    return float(found.steps.sum()) / (perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="of everyone")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="runs at once")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != str(given.threads):
        print(f"set OPENBLAS_NUM_THREADS={given.threads} before: BLAS takes as many as it likes")
    contenders = {
        "columns": {n: columns_contender(n, given.threads) for n in given.sizes},
        "columns, all bits of the reference": {
            n: columns_contender(n, given.threads, exact=True) for n in given.sizes
        },
    }
    try:
        for name, decide in network_functions(given.threads):
            contenders[f"Gymnasium, {name}"] = {n: gymnasium_contender(n, decide) for n in given.sizes}
            if name == "onnxruntime":
                contenders["Gymnasium's SyncVectorEnv, the same"] = {256: sync_contender(256, decide)}
    except ImportError:
        print("Gymnasium is not installed")
    found = measure_in_turns(contenders, given.rounds)
    found["statistical, one run after another"] = {
        "runs": 1,
        "steps_per_second": steps_by_interpreter(20),
    }
    ours = found["columns"]["steps_per_second"]
    for name, row in found.items():
        each = row["steps_per_second"]
        used = row.get("steps_per_processor_second", each)
        print(
            f"{name:36} {row['runs']:6.0f} runs {each:12,.0f} steps/s"
            f" {used:12,.0f} by processor {ours / each:9,.1f}"
        )
    if given.json:
        given.json.write_text(json.dumps({"threads": given.threads, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
