"""What a network reads is cut into parts: its outputs are narrower, and still contain every value."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.checker.reach.loops import affine, certificate, name, network_of, run, start_region, timed_problem
from tests.checker.reach.simulator import run_network

from surefoot.engines.reach.network_forms import propagate_in_parts
from surefoot.problem.network import Activation, Affine, Network, Shape
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.reach.affine_form import reduce_symbols
from surefoot_checker.claims.reach.input_parts import split_inputs
from surefoot_checker.claims.reach.network_forms import NARROW, NetworkOnForms
from surefoot_checker.kernel.network import ActivationNode, AffineNode, FlatNetwork, read_network
from surefoot_checker.kernel.strict_json import BadCertificate

ONE = 1 << 44
# u = -relu(x) + relu(-x) = -x, which is seen where x has one sign
FOLD = network_of(1, affine(0, [[1.0], [-1.0]], [0.0, 0.0]), ["relu", 1], affine(2, [[-1.0, 1.0]], [0.0]))


def random_layers(draw: random.Random, kind: str, widths: list[int]) -> FlatNetwork:
    nodes: list[Any] = []
    for columns, rows in pairwise(widths):
        weights = [[draw.gauss(0, 1.5 / columns**0.5) for _ in range(columns)] for _ in range(rows)]
        nodes.append(affine(len(nodes), weights, [draw.gauss(0, 0.2) for _ in range(rows)]))
        nodes.append([kind, len(nodes)])
    return read_network(network_of(widths[0], *nodes[:-1]))


@pytest.mark.parametrize("kind", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("symbols", [2, 7])
def test_parts_contain_and_narrow(kind: str, symbols: int) -> None:
    draw = random.Random(symbols)
    network = random_layers(draw, kind, [3, 12, 12, 2])
    inputs = [
        (int(draw.uniform(-1, 1) * ONE), [int(draw.uniform(-0.2, 0.2) * ONE) for _ in range(symbols)], 5)
        for _ in range(3)
    ]
    widths = []
    for halvings in (0, 1, 3, 6):
        outputs = NetworkOnForms(network, 44).run(inputs, halvings)
        forms = [outputs.form(0), outputs.form(1)]
        gap = outputs.difference(0, 1)
        widths.append(sum(form[2] for form in forms))
        for _ in range(100):
            e = [draw.choice([-1.0, 1.0, draw.uniform(-1, 1)]) for _ in range(symbols)]
            values = run_network(
                network, [(c + sum(map(float.__mul__, map(float, a), e))) / ONE for c, a, _ in inputs]
            )
            for (c, a, r), true in zip([*forms, gap], [*values, values[0] - values[1]], strict=True):
                assert abs(true * ONE - c - sum(x * y for x, y in zip(a, e, strict=True))) <= r
        assert widths[-1] < 1.01 * _engine_width(network, inputs, halvings)
    assert min(widths[2:]) < 1.1 * widths[0]


def _engine_width(network: FlatNetwork, inputs: Any, halvings: int) -> float:
    """Radii that the engine finds for the outputs."""
    nodes: list[Any] = []
    for node in network.nodes:
        if isinstance(node, AffineNode):
            weights = np.array(node.weights, np.float32).reshape(len(node.bias), node.columns)
            nodes.append(Affine(node.source, weights, np.array(node.bias, np.float32)))
        else:
            assert isinstance(node, ActivationNode)
            nodes.append(Activation(node.source, Shape[node.kind.upper()]))
    forms = np.array([[[c / ONE, *(x / ONE for x in a), r / ONE] for c, a, r in inputs]])
    found, _ = propagate_in_parts(Network(3, tuple(nodes)), forms, halvings)
    return float(found[0, :, -1].sum()) * ONE


def test_the_symbol_that_matters_most_is_halved_first() -> None:
    inputs = [(0, [8 << 20, 3 << 20, 1 << 20], 0), (0, [0, 1 << 20, 5 << 20], 0)]
    assert split_inputs(inputs, [1, 1], 3).symbols == (0, 2)
    assert split_inputs(inputs, [1, 1], 3).halvings == (2, 1)  # 8 4 6: 0, then 2, then 0 (before 1)
    assert split_inputs(inputs, [1, 9], 2).symbols == (2,)
    assert len(split_inputs(inputs, [1, 1], 5).inputs) == 32
    assert len(split_inputs([(7, [0, 0], 1)], [1], 5).inputs) == 1


def test_units_inside_become_finer_words_where_values_are_large() -> None:
    draw = random.Random(0)
    network = random_layers(draw, "relu", [2, 8, 1])
    prepared = NetworkOnForms(network, 44)
    c, (a,), r = prepared.run([(0, [0], 0), (1 << 62, [1 << 60], 0)]).form(0)
    assert all(scale.bits not in NARROW for scale in prepared.scales)
    for k in (-1.0, 0.0, 1.0):
        (true,) = run_network(network, [0.0, 2.0**18 + k * 2.0**16])
        assert abs(true * ONE - c - a * k) <= r


def folded(**more: Any) -> Any:
    """x' = u = -x held for 1: the next x is 0."""
    asked = {"kind": "never", "condition": ["<", "0.01", ["abs", name("x")]], "since": "1", "until": "1"}
    problem = timed_problem({"x": ("-1", "1")}, [name("u")], "1", FOLD, asked)
    tree = run(1)
    return certificate(problem, [start_region({"x": ("-1", "1")}, tree)], **more)


def test_claims_that_need_parts() -> None:
    assert not judge_certificate(folded()).accepted
    assert judge_certificate(folded(halvings=1)).accepted
    assert judge_certificate(folded(halvings=5)).accepted
    written = folded()
    written["reach"]["regions"][0]["tree"] = ["run", 1, ["done"], {"halvings": 5}]
    assert judge_certificate(written).accepted


@pytest.mark.parametrize("halvings", [-1, 13, "1", True, None])
def test_halvings_are_few(halvings: Any) -> None:
    with pytest.raises(BadCertificate, match="halvings"):
        judge_certificate(folded(halvings=halvings))


def test_symbols_of_the_start_stay() -> None:
    rows = [[1, 0, *range(1, 11)], [0, 1, *range(11, 1, -1)]]
    assert reduce_symbols(rows, 10, 2) == rows
    found = reduce_symbols(rows, 9, 2)  # 6 - 2 of the others stay, and one for each of the variables
    assert [row[:2] for row in found] == [[1, 0], [0, 1]]
    assert len(found[0]) == 2 + 4 + 2
    assert [sum(row[2:]) for row in found] == [sum(row[2:]) for row in rows]
    assert reduce_symbols([[0, 0, 3]], 5, 1) == [[0, 3]]
    assert Fraction(sum(found[0]), sum(rows[0])) == 1
