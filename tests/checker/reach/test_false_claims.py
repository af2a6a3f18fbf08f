"""Claims that a run contradicts, which a checker could accept: each was accepted once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.reach.loops import affine, certificate, edge, name, network_of, run, start_region

from surefoot_checker.bounds.smooth_functions import enclose_tanh
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.reach.network_forms import NetworkOnForms
from surefoot_checker.kernel.network import ActivationNode, AffineNode, FlatNetwork

Json = Any
GROWN: Json = [[name("x"), ["+", name("x"), 1], 0]]


def stepped_problem(starts: Json, edges: list[Json], policy: Json, asked: Json, *more: str) -> Json:
    return {
        "name": "loop",
        "variables": [[v, ["real", None, None]] for v in ("x", *more)],
        "initial": starts,
        "controls": [],
        "components": [{"name": "", "locations": [""], "initial": [""], "edges": edges}],
        "synchronisations": [],
        "policy": {"rules": [], "network": None, "observe": [], "actions": [], "owns": []} | policy,
        "property": asked,
    }


@pytest.mark.parametrize("bits", [28, 30, 31, 36, 44, 56])
@pytest.mark.parametrize("finest", [False, True])
def test_a_layer_whose_slopes_are_all_one(bits: int, finest: bool) -> None:
    """Over a point near 0 the slope of tanh is rounded to 1; tanh x is not x."""
    for number in range(1, 200, 7):
        x = float(np.float32(0.001 * number))
        layer = (AffineNode(0, 1, (0.0,) * 12, (x,) * 12), ActivationNode(1, "tanh", ()))
        on_forms = NetworkOnForms(FlatNetwork(1, layer), bits)
        on_forms.finest = finest
        centre, _, radius = on_forms.run([(0, [], 0)]).form(0)
        for end in enclose_tanh(int(Fraction(x) * (1 << 100)), 100):
            assert abs(centre - Fraction(end, 1 << (100 - bits))) <= radius


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "within", "condition": ["<=", "6/5", name("x")], "steps": 1, "after": 0},
        {"kind": "eventually", "condition": ["<=", "6/5", name("x")]},
    ],
)
def test_a_run_that_ends_in_a_part_of_a_cell(asked: Json) -> None:
    """Below 2/5 the network can pick nothing and the environment does not move."""
    network = network_of(1, affine(0, [[1.0]], [0.0]))
    picks = {"network": network, "observe": [name("x")], "choose": "argmax-applicable", "actions": ["a"]}
    policy = {
        "rules": [{"when": ["<", name("x"), "1/2"], "then": picks}, {"when": True, "then": "a"}],
        "choose": "argmax-applicable",
        "owns": ["a"],
    }

    def judge(moves_from: str) -> bool:
        edges = [
            edge(updates=GROWN, action="a", guard=["<=", 100, name("x")]),
            edge(updates=GROWN, guard=["<=", moves_from, name("x")]),
        ]
        problem = stepped_problem(inside_unit("3/10"), edges, policy, asked)
        return judge_certificate(certificate(problem, [start_region({"x": ("3/10", 1)}, run(1))])).accepted

    assert judge("1/4")
    assert not judge("2/5")


def inside_unit(low: str) -> Json:
    return ["and", ["<=", low, name("x")], ["<=", name("x"), 1]]


@pytest.mark.parametrize(("base", "accepted"), [(2**20, True), (2**512, False)])
@pytest.mark.parametrize("constant", [False, True])
def test_a_power_that_overflows_before_it_is_divided(base: int, accepted: bool, constant: bool) -> None:
    """In doubles y ^ -2 is 1 / (y y), which has no value where y y is beyond them."""
    term = ["^", str(base) if constant else name("y"), -2]
    starts = ["and", ["=", 0, name("x")], ["<=", str(base), name("y")], ["<=", name("y"), str(base)]]
    asked = {"kind": "within", "condition": ["<", name("x"), 1], "steps": 3, "after": 3}
    policy = {"choose": "argmax"}
    problem = stepped_problem(starts, [edge(updates=[[name("x"), term, 0]])], policy, asked, "y")
    region = start_region({"x": (0, 0), "y": (str(base), str(base))}, run(3))
    assert judge_certificate(certificate(problem, [region], plant="float64")).accepted is accepted
