"""What the engine shows the checker shows too: its sets are as narrow, and it decides as much."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.engines.reach.small_loops import (
    ask_reach,
    check_reach_proof,
    linear_network,
    stepped_loop,
    timed_loop,
    write_edge,
)

from surefoot.engines.reach.network_forms import propagate_network
from surefoot.problem.network import Activation, Affine, Join, Network, Shape
from surefoot.problem.policy import Choose
from surefoot.problem.problem import Problem
from surefoot_checker.claims.reach.activation_lines import SLOPE, activation_line, line_size
from surefoot_checker.claims.reach.affine_form import FormArithmetic
from surefoot_checker.claims.reach.term_forms import EXACT_TIME, TermForms

HALF = {"x": ("-0.975", "-0.475"), "y": ("0.549", "1.049")}


def is_accepted(problem: Problem) -> bool:
    found = check_reach_proof(problem, ask_reach(problem, 20.0))
    assert found.accepted, found.reason
    return found.accepted


@pytest.mark.parametrize(
    "asked",
    [
        "within 1 steps tanh(x - y) ^ 2 > 0.5766",  # a form of the square reaches further than its ends
        "within 1 steps 1.411 / (2 + x ^ 2) < 0.64",
        "never tanh(acos(0.8 * sin(x))) < 0.9175 for 1 steps",
    ],
)
def test_conditions_that_bend_are_decided_by_their_ranges(asked: str) -> None:
    assert is_accepted(stepped_loop({"x": "x", "y": "y"}, HALF, asked))


def test_ranges_decide_only_what_is_so() -> None:
    one = 1 << 40
    cell = {"x": (0, [one], 0)}  # -1 <= x <= 1
    terms = TermForms(FormArithmetic(40, 1), EXACT_TIME, cell)
    square = ("^", ("name", "x"), 2)
    assert terms.truth(("<=", 0, square)) is True
    assert terms.truth(("<", 0, square)) is None
    assert terms.truth(("<=", square, 1)) is True
    assert terms.truth(("<", square, Fraction(99, 100))) is None
    assert terms.truth(("<", ("+", 1, square), 1)) is False


@pytest.mark.parametrize("steep", ["-2", "-0.25", "0", "0.01", "0.5", "3"])
def test_lines_of_leaky_activations_lose_nothing(steep: str) -> None:
    """One that falls has a slope below 0; it was between two constants."""
    bits, given = 28, (Fraction(steep),)
    for low, high in [(-3.0, -1.0), (-2.0, 1.5), (-0.5, 2.0), (0.5, 1.0)]:
        ends = int(low * 2**bits), int(high * 2**bits)
        line = activation_line("leaky_relu", *ends, bits, given)
        assert line is not None
        slope, (least, most), _ = line
        values = []
        for k in range(33):
            x = ends[0] + (ends[1] - ends[0]) * k // 32
            value = x if x >= 0 else x * given[0]
            values.append(abs(value))
            assert least <= value - Fraction(slope * x, 1 << SLOPE) <= most
        assert max(values) <= line_size(line, *ends)
        if low > 0 or high < 0:  # it is linear there
            assert most - least <= 2**bits >> 12


def join_network(shape: Shape, *parameters: float) -> Network:
    """Outputs read a layer and what an activation makes of it."""
    first = Affine(0, np.array([[-2, 1, 0], [1, 1, 0]], np.float32), np.array([-2.5, -3], np.float32))
    last = Affine(3, np.array([[1, -0.5, 2, 1]], np.float32), np.array([0.25], np.float32))
    return Network(3, (first, Activation(1, shape, parameters), Join((1, 2)), last))


ALIKE = [("leaky_relu", (-0.25,)), ("leaky_relu", (0.125,)), ("tanh", ())]


@pytest.mark.parametrize(("shape", "given"), ALIKE)
def test_sets_behind_activations_are_alike(shape: str, given: tuple[float, ...]) -> None:
    network = join_network(Shape(shape), *given)
    draw = np.random.default_rng(3)
    updates = {"x": "x", "y": "y", "z": "10 + u / 8"}
    for _ in range(3):
        low = draw.uniform(-1, 0.5, 2).round(3)
        starts = {n: (f"{a:.3f}", f"{a + 0.5:.3f}") for n, a in zip("xy", low, strict=True)}
        starts["z"] = ("0.0", "0.0")
        inputs = np.zeros((1, 3, 4))
        inputs[0, :2, 0] = low + 0.25
        inputs[0, (0, 1), (1, 2)] = 0.25
        forms, _ = propagate_network(network, inputs)
        high = 10 + (forms[0, 0, 0] + np.abs(forms[0, 0, 1:]).sum() * 1.001) / 8
        asked = f"never z > {high + 1e-5:.6f} for 1 steps"
        assert is_accepted(stepped_loop(updates, starts, asked, network=network))


def test_actions_are_enabled_where_the_run_is_not_over() -> None:
    """`never … before GOAL`: guards say that the goal is not met, which makes no other action possible."""
    edges = [
        write_edge({"x": "x + 5", "y": "y"}, action="a"),
        write_edge({"x": "x / 2", "y": "y"}, action="b"),
    ]
    asked = "never x > 3 before x > 0.4 and x < 0.6 for 4 steps"
    network = linear_network([0, 0, 0], [0, 0, 1])
    loop = stepped_loop(
        edges,
        {"x": ("0.1", "0.5"), "y": ("0", "1")},
        asked,
        network=network,
        actions=("a", "b"),
        choose=Choose.ARGMAX_APPLICABLE,
    )
    assert is_accepted(loop)


def test_actions_that_may_not_be_enabled_are_no_rivals() -> None:
    """Where a guard of its own is open, the other action may be taken, and leads to what is bad."""
    edges = [
        write_edge({"x": "x + 5", "y": "y"}, action="a"),
        write_edge({"x": "x / 2", "y": "y"}, action="b", guard="x < 0.3"),
    ]
    network = linear_network([0, 0, 0], [0, 0, 1])
    loop = stepped_loop(
        edges,
        {"x": ("0.1", "0.5"), "y": ("0", "1")},
        "never x > 3 before y > 2",
        network=network,
        actions=("a", "b"),
        choose=Choose.ARGMAX_APPLICABLE,
    )
    assert type(ask_reach(loop, 2.0)).__name__ != "Proved"


def test_terms_of_conditions_are_expanded_where_they_are_needed() -> None:
    """Over a whole sub-step x^2 + v^2 may be 1.2 by what each may be, and by their series it is not."""
    starts = {"x": ("0.98", "1"), "v": ("-0.01", "0.01")}
    derivatives = {"x": "v", "v": "-x + u"}
    loop = timed_loop(derivatives, starts, "never x^2 + v^2 > 1.02 for 2 seconds", period="0.5")
    assert is_accepted(loop)


def test_what_a_disturbance_drives_through_others_is_bounded() -> None:
    """A force moves the speed, and only through it the place: half a second was too long for any bound."""
    loop = timed_loop(
        {"x": "v", "v": "-x - v + u + w"},
        {"x": ("0.4", "0.5"), "v": ("0.0", "0.0")},
        "never x > 1 for 2 seconds",
        chosen={"w": ("-0.05", "0.05")},
        period="0.5",
    )
    verdict = ask_reach(loop, 20.0, pieces=1)
    assert check_reach_proof(loop, verdict).accepted
