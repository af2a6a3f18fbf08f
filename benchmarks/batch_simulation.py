"""Steps per second of CartPole with a 4-64-64-2 ReLU policy: in columns, and in Gymnasium.

The same network decides in both, by one batch of float32 products for each step. `python -m
benchmarks.batch_simulation` prints processor seconds; set OMP_NUM_THREADS=1 to compare single threads.
"""

from __future__ import annotations

from fractions import Fraction
from time import process_time

import numpy as np
from numpy.typing import NDArray

from surefoot.network.evaluate import network_batch_outputs
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.simulate.batch.model import make_batch_model
from surefoot.simulate.batch.numbers import random_numbers
from surefoot.simulate.batch.runs import begin_runs
from surefoot.simulate.starts import draw_starts
from surefoot.term.term import Apply, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Real

NAMES = ("x", "v", "angle", "spin")
STEPS = 40


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


def columns_per_second(lanes: int) -> float:
    problem, rng = cart_pole(), np.random.default_rng(0)
    model = make_batch_model(problem)
    runs = begin_runs(model, draw_starts(problem.environment, lanes, rng).columns)
    runs.advance(random_numbers(rng))  # what is compiled when first used
    before = process_time()
    for _ in range(STEPS):
        runs.advance(random_numbers(rng))
    return STEPS * lanes / (process_time() - before)


def gymnasium_per_second(lanes: int) -> float | None:
    """Its own vector environment of CartPole; None if it is not installed."""
    try:
        from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
    except ImportError:
        return None
    network, world = policy_network(), CartPoleVectorEnv(num_envs=lanes)
    seen: NDArray[np.float32] = world.reset(seed=0)[0]
    before = process_time()
    for _ in range(STEPS):
        seen = world.step(network_batch_outputs(network, seen).argmax(axis=1))[0]
    return STEPS * lanes / (process_time() - before)


def main() -> None:
    for lanes in (256, 1024, 4096, 16384):
        ours, theirs = columns_per_second(lanes), gymnasium_per_second(lanes)
        beside = (
            "Gymnasium is not installed"
            if theirs is None
            else f"Gymnasium {theirs:,.0f} ({ours / theirs:.1f})"
        )
        print(f"{lanes} runs at once: {ours:,.0f} steps a second; {beside}", flush=True)


if __name__ == "__main__":
    main()
