"""Certificates about closed loops with something changed: nothing false is accepted, and nothing crashes.

Whatever the change, an accepted certificate is about a problem: simulated runs of it must keep its property.
"""

from __future__ import annotations

import copy
import random
from fractions import Fraction
from typing import Any

import pytest
from tests.checker.reach.loops import affine, certificate, name, network_of, run, start_region, timed_problem
from tests.checker.reach.simulator import evaluate, integrate, set_controls

from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.network import read_network
from surefoot_checker.kernel.strict_json import BadCertificate, expect_number

Json = Any
STEPS = 8


def pendulum(asked: Json, tree: Json, **more: Json) -> Json:
    """x'' = sin x - 3 x' - 4 u (about), u = relu(x) - relu(-x): it falls back to 0."""
    network = network_of(
        2, affine(0, [[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ["relu", 1], affine(2, [[1.0, -1.0]], [0.0])
    )
    starts = {"x": ("0.2", "0.3"), "v": ("-0.1", "0")}
    force = ["-", ["-", ["sin", name("x")], ["*", 3, name("v")]], ["*", 4, name("u")]]
    problem = timed_problem(starts, [name("v"), force], "0.25", network, asked)
    return certificate(problem, [start_region(starts, tree)], **more)


BASES = [
    pendulum({"kind": "never", "condition": ["<", "0.42", ["abs", name("x")]], "until": "2"}, run(8)),
    pendulum(
        {"kind": "never", "condition": ["<", "0.25", name("x")], "since": "1", "until": "2"},
        run(8),
        taylor=3,
        pieces=2,
    ),
    pendulum(
        {"kind": "eventually", "condition": ["<", name("x"), "0.15"], "until": "2"},
        ["split", 0, run(8), run(8)],
    ),
]


def mutate(data: Json, draw: random.Random) -> None:
    """One leaf, or one list, somewhere in it."""
    places: list[tuple[Any, Any]] = []
    left = [data["claim"]["problem"], data["reach"]]
    while left:
        node = left.pop()
        items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
        for key, value in items:
            places.append((node, key))
            if isinstance(value, dict | list):
                left.append(value)
    node, key = draw.choice(places)
    value = node[key]
    match value:
        case bool():
            node[key] = not value
        case int():
            node[key] = value + draw.choice([-1, 1, 2, 10])
        case str():
            try:
                number = expect_number(value, "")
            except BadCertificate:
                node[key] = draw.choice(
                    ["x", "v", "u", "<", "<=", "+", "-", "*", "sin", "cos", "never", "", value + "A"]
                )
            else:
                node[key] = str(
                    draw.choice([number * 2, number / 2, -number, number + Fraction(1, 10), Fraction(0)])
                )
        case list() if value and draw.random() < 0.5:
            value.pop(draw.randrange(len(value)))
        case list() if value:
            draw.shuffle(value)
        case _:
            node[key] = draw.choice([None, 0, [], {}, "1/3"])


def keeps_property(problem: Json, draw: random.Random) -> bool:
    """A few simulated runs; with room for what the simulation is off."""
    asked, network = problem["property"], None
    if problem["policy"]["network"] is not None:
        network = read_network(problem["policy"]["network"])
    period, derivatives = float(Fraction(problem["time"]["period"])), problem["time"]["derivatives"]
    first, last = float(Fraction(asked.get("since", 0))), float(Fraction(asked.get("until", 3)))
    for _ in range(12):
        state = _random_start(problem, draw)
        if state is None:
            continue
        good, time = False, 0.0
        while time <= last + 1e-9:
            held = set_controls(problem, network, state)
            track = integrate(derivatives, state, lambda t, held=held: held, period, STEPS)
            for i, here in enumerate(track):
                at = time + i * period / STEPS
                if first + 1e-6 < at < last - 1e-6 and evaluate(asked["condition"], here):
                    if asked["kind"] == "never":
                        return False
                    good = True
            state, time = track[-1], time + period
        if asked["kind"] == "eventually" and not good and last > first + 2 * period / STEPS:
            return False
    return True


def _random_start(problem: Json, draw: random.Random) -> dict[str, float] | None:
    names = [v[0] for v in problem["variables"]]
    for _ in range(300):
        state = {
            n: draw.uniform(-0.7, 0.7) if draw.random() < 0.3 else draw.uniform(-0.12, 0.32) for n in names
        }
        if evaluate(problem["initial"], state):
            return state
    return None


@pytest.mark.parametrize("base", range(len(BASES)))
def test_bases_are_accepted_and_true(base: int) -> None:
    found = judge_certificate(copy.deepcopy(BASES[base]))
    assert found.accepted, found.reason
    assert keeps_property(BASES[base]["claim"]["problem"], random.Random(0))


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_nothing_false_is_accepted(first: int) -> None:
    accepted = 0
    for seed in range(first, first + 100):
        draw = random.Random(seed)
        written = copy.deepcopy(draw.choice(BASES))
        for _ in range(draw.choice([1, 1, 2])):
            mutate(written, draw)
        try:
            found = judge_certificate(written)
        except BadCertificate:
            continue
        if found.accepted:
            accepted += 1
            assert keeps_property(written["claim"]["problem"], draw), seed
    assert accepted >= 5
