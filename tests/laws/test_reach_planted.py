"""Planted mistakes in the checker's sets: the laws of closed loops, and of rounding here, see each one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checker.reach.loops import affine, edge, inside, name, network_of
from tests.checker.reach.simulator import evaluate, run_network
from tests.laws.test_reach_laws import (
    check_stepped,
    check_timed,
    random_network,
    random_stepped_problem,
    random_term,
)

from surefoot_checker.claims.reach import (
    activation_lines,
    decision,
    network_forms,
    network_outputs,
    period,
    step,
    sub_step,
    wide_networks,
)
from surefoot_checker.claims.reach import cell as cell_module
from surefoot_checker.claims.reach.affine_form import FormArithmetic, form_bounds
from surefoot_checker.claims.reach.cell import WalkOptions, cell_of_box
from surefoot_checker.claims.reach.flow_program import SeriesRun
from surefoot_checker.claims.reach.loop_system import read_closed_loop
from surefoot_checker.claims.reach.network_forms import FormsRun, NetworkOnForms
from surefoot_checker.claims.reach.step import enumerate_successors
from surefoot_checker.claims.reach.sub_step import SubStep
from surefoot_checker.claims.reach.term_forms import TermForms
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.network import ActivationNode, AffineNode, read_network
from surefoot_checker.kernel.strict_json import Refused

Patch = pytest.MonkeyPatch


def check_float32(seed: int) -> bool:
    """Evaluations of a network in float32, sums in any order, are in the sets from a point."""
    draw = random.Random(seed)
    network = read_network(random_network(draw, 3, 2))
    if not all(isinstance(node, AffineNode | ActivationNode) for node in network.nodes):
        return True
    inputs = [Fraction(draw.randint(-(1 << 40), 1 << 40), 1 << 39) for _ in range(3)]
    arithmetic = FormArithmetic(60, 0)
    outputs = NetworkOnForms(network, 60).run([arithmetic.enclose_number(x) for x in inputs])
    for _ in range(8):
        values = [np.array([float(x) for x in inputs], np.float32)]
        for node in network.nodes:
            x = values[node.source]  # type: ignore[union-attr]
            if isinstance(node, AffineNode):
                rows = np.array(node.weights, np.float32).reshape(len(node.bias), node.columns)
                totals = []
                for row, bias in zip(rows, np.array(node.bias, np.float32), strict=True):
                    terms = [w * v for w, v in zip(row, x, strict=True)]
                    draw.shuffle(terms)
                    total = np.float32(0)
                    for term in terms:
                        total = np.float32(total + term)
                    totals.append(np.float32(total + bias))
                values.append(np.array(totals, np.float32))
            else:
                assert isinstance(node, ActivationNode)
                values.append(_activate_float32(node, x))
        for i, found in enumerate(values[-1]):
            low, high = form_bounds(outputs.form(i))
            assert Fraction(low, 1 << 60) <= Fraction(float(found)) <= Fraction(high, 1 << 60)
    return True


def _activate_float32(node: ActivationNode, x: Any) -> Any:
    match node.kind:
        case "relu":
            return np.maximum(x, np.float32(0))
        case "leaky_relu":
            return np.where(x >= 0, x, np.float32(node.parameters[0]) * x)
        case "clip":
            return np.clip(x, np.float32(node.parameters[0]), np.float32(node.parameters[1]))
        case "tanh":
            return np.tanh(x)
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


def check_float64(seed: int) -> bool:
    """What Python's floats compute, operation by operation, is in the sets from a point, to the last bit."""
    draw = random.Random(seed)
    problem, _ = random_stepped_problem(draw)
    start = {n: draw.uniform(-1, 1) for n in ("x", "y")}
    updates = [[name(n), random_term(draw, ["x", "y"], 3), 0] for n in start]
    point = {n: (str(Fraction(v)), str(Fraction(v))) for n, v in start.items()}
    problem["components"][0]["edges"] = [edge(updates=updates, action="go")]
    problem["initial"] = ["and", inside(point), ["=", name("i"), 0]]
    problem["controls"], problem["policy"] = [], {**problem["policy"], "choose": "argmax", "network": None}
    problem["policy"] |= {
        "rules": [{"when": True, "then": "go"}],
        "observe": [],
        "actions": [],
        "owns": ["go"],
    }
    bits = 90
    loop = read_closed_loop(problem, "float64", bits, FileLocations(Path()))
    box: dict[str, Any] = {n: (Fraction(v), Fraction(v)) for n, v in start.items()}
    here, state = cell_of_box(loop, {**box, "i": 0}, bits), dict(start)
    try:
        for _ in range(3):
            (here,) = enumerate_successors(loop, here, bits, WalkOptions(4, 1, 1), False).values()
            state = {n: evaluate(value, state) for (_, n), value, _ in updates}
            for n, form in zip(loop.reals, here.reals, strict=True):
                low, high = form_bounds(form)
                assert Fraction(low, 1 << bits) <= Fraction(state[n]) <= Fraction(high, 1 << bits)
    except Refused:
        return False
    return True


def check_branches(seed: int) -> bool:
    """relu(x) - tanh(x), two activations of one value, for every x of the symbol."""
    scale = random.Random(seed).uniform(0.5, 2)
    nodes = [
        affine(0, [[scale]], [0.0]),
        ["relu", 1],
        ["tanh", 1],
        ["join", [2, 3]],
        affine(4, [[1.0, -1.0]], [0.0]),
    ]
    network, one = read_network(network_of(1, *nodes)), 1 << 44
    c, (a,), r = NetworkOnForms(network, 44).run([(0, [one], 0)]).form(0)
    for k in range(-20, 21):
        (true,) = run_network(network, [k / 20])
        assert abs(true - (c + a * k / 20) / one) <= r / one
    return True


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_rounding_is_covered(first: int) -> None:
    assert all(check_float32(seed) and check_branches(seed) for seed in range(first, first + 20))
    assert sum(check_float64(seed) for seed in range(first, first + 20)) >= 15


# The mistakes.


def no_radius_of_products(patch: Patch) -> None:
    true = FormArithmetic.multiply
    patch.setattr(FormArithmetic, "multiply", lambda self, x, y: (*true(self, x, y)[:2], 0))


def no_rest_of_functions(patch: Patch) -> None:
    true = FormArithmetic._bend
    patch.setattr(FormArithmetic, "_bend", lambda self, x, v, s, b: true(self, x, v, s, (0, 0)))


def no_enclosure(patch: Patch) -> None:
    patch.setattr(sub_step, "_enclose_solutions", lambda flow, exact, box, held, length: box)


def no_deviation(patch: Patch) -> None:
    patch.setattr(sub_step, "_bound_deviation", lambda flow, *rest: [0] * len(flow.derivatives))


def no_band_of_activations(patch: Patch) -> None:
    def narrow(line: Any) -> Any:
        return line and (line[0], (sum(line[1]) // 2,) * 2, line[2])

    one, several = activation_lines.activation_line, activation_lines.activation_lines
    patch.setattr(network_forms, "activation_line", lambda *data: narrow(one(*data)))
    patch.setattr(wide_networks, "activation_lines", lambda *data: list(map(narrow, several(*data))))


def symbols_of_networks_mixed_up(patch: Patch) -> None:
    true = FormsRun._activate

    def mix(self: Any, layer: Any, kind: str, parameters: Any, first: int) -> Any:
        return true(self, layer, kind, parameters, layer.settle().fields)

    patch.setattr(FormsRun, "_activate", mix)


def small_symbols_dropped(patch: Patch) -> None:
    def drop(rows: Any, limit: int, first: int) -> Any:
        return [row[: limit + first] for row in rows]

    patch.setattr(cell_module, "reduce_symbols", drop)


def narrowed_too_far(patch: Patch) -> None:
    def narrow(forms: Any, assumed: Any) -> Any:
        return true(forms, [(c + (c.bit_length() and abs(c) // 4 + (1 << 24)), a, r) for c, a, r in assumed])

    true = cell_module.tighten_forms
    patch.setattr(decision, "tighten_forms", narrow)
    patch.setattr(step, "tighten_forms", narrow)


def series_without_squares(patch: Patch) -> None:
    def half(self: Any, x: Any, k: int) -> Any:
        return self._scaled(self._convolve(x, x, k, 0, (k - 1) // 2), 2) if k else true(self, x, k)

    true = SeriesRun._square
    patch.setattr(SeriesRun, "_square", half)


def straight_between_ends(patch: Patch) -> None:
    def chord(self: Any, number: int, first: Fraction, last: Fraction) -> Any:
        if not self.series(number):
            return self.bound_operation(number, first, last)
        (a, b), (c, d) = self._bound_moment(number, first), self._bound_moment(number, last)
        return min(a, c), max(b, d)

    patch.setattr(SubStep, "bound_by_ends", chord)


def radii_forgotten(patch: Patch) -> None:
    def forget(forms: Any) -> Any:
        return [(c, a, 0) for c, a, _ in forms]

    patch.setattr(period, "settle_radii", forget)
    patch.setattr(step, "settle_radii", forget)
    patch.setattr("tests.laws.test_reach_laws.settle_radii", forget)


def controls_are_points(patch: Patch) -> None:
    def narrow(loop: Any, cell: Any, bits: int, halvings: int) -> Any:
        return [
            replace(d, controls=tuple((c, [0] * len(a), 0) for c, a, _ in d.controls))
            for d in true(loop, cell, bits, halvings)
        ]

    true = decision.decide_controls
    patch.setattr("tests.laws.test_reach_laws.decide_controls", narrow)


def doubles_are_exact(patch: Patch) -> None:
    patch.setattr(TermForms, "_round", lambda self, x, places, times=1: x)


def float32_is_exact(patch: Patch) -> None:
    true = FormsRun._affine

    def forget(layer: Any) -> Any:
        return replace(layer, radii=[[0] * len(r) for r in layer.radii])

    patch.setattr(FormsRun, "_affine", lambda self, layer, matrix: forget(true(self, forget(layer), matrix)))


def first_part_alone(patch: Patch) -> None:
    true = network_outputs.join_parts

    def join(forms: Any, parts: Any) -> Any:
        return true(forms[:1] * len(forms), parts)

    patch.setattr(network_outputs, "join_parts", join)


def slopes_of_a_part(patch: Patch) -> None:
    true = network_forms.split_inputs

    def split(inputs: Any, weights: Any, halvings: int) -> Any:
        parts = true(inputs, weights, halvings)
        return replace(parts, halvings=(0,) * len(parts.symbols))

    patch.setattr(network_forms, "split_inputs", split)


PLANTED: list[tuple[Callable[[Patch], None], Callable[[int], bool]]] = [
    (no_radius_of_products, check_timed),
    (no_rest_of_functions, check_timed),
    (no_enclosure, check_timed),
    (no_deviation, check_timed),
    (no_band_of_activations, check_timed),
    (symbols_of_networks_mixed_up, check_branches),
    (small_symbols_dropped, check_timed),
    (narrowed_too_far, check_stepped),
    (series_without_squares, check_timed),
    (straight_between_ends, check_timed),
    (radii_forgotten, check_timed),
    (controls_are_points, check_timed),
    (doubles_are_exact, check_float64),
    (float32_is_exact, check_float32),
    (first_part_alone, check_timed),
    (slopes_of_a_part, check_timed),
]


@pytest.mark.parametrize(("plant", "check"), PLANTED, ids=lambda f: f.__name__)
def test_planted_mistakes_are_seen(plant: Callable[[Patch], None], check: Any, monkeypatch: Patch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        _check_many(check)


def _check_many(check: Callable[[int], bool]) -> None:
    for seed in range(80):
        check(seed)
