"""The checker's own reading of tree ensembles: values, reachable leaves, rounding, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.checker.making import floats
from tests.laws.tree_ensembles import cell_points, plain_outputs, random_trees

from surefoot.network.float32_error import tree_radius as radius_of_the_tool
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Network
from surefoot.query.unsat_claim import network_to_json
from surefoot_checker.bounds import tree_leaves
from surefoot_checker.bounds.case_problem import CallInput, CaseProblem, GraphValue
from surefoot_checker.bounds.interval_propagation import propagate_interval, rounding_radius
from surefoot_checker.bounds.subdomain import PrecisionGrid, SubdomainState
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.inference import network_function
from surefoot_checker.kernel.network import read_network
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_checker.kernel.trees import TreesNode

LAW = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
BITS = 40


def random_network(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    return Network(2, (random_trees(rng, 2, 2, int(rng.integers(1, 5)), 6, even=bool(rng.integers(2))),))


def checkers_node(network: Network) -> TreesNode:
    node = read_network(network_to_json(network)).nodes[0]
    assert isinstance(node, TreesNode)
    return node


@LAW
@given(st.integers(0, 2**32 - 1))
def test_it_computes_what_the_reference_computes(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    evaluate = network_function(read_network(network_to_json(network)))
    points = rng.choice([-2.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0], (30, 2)).astype(np.float32)
    points = np.nextafter(points, rng.choice([-9, 9], points.shape).astype(np.float32)).astype(np.float32)
    for point, wanted in zip(points, infer_outputs(network, points), strict=True):
        assert list(evaluate(point.tolist())) == wanted.tolist()


def grid_of(node: TreesNode, float32: bool = False) -> PrecisionGrid:
    values = GraphValue(2, None, ()), GraphValue(node.width, node, (0,))
    return PrecisionGrid(CaseProblem((), values, (), (), float32), BITS, {})


@LAW
@given(st.integers(0, 2**32 - 1))
def test_its_bounds_contain_all_cells_of_a_box_and_no_more(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    node, own = checkers_node(network), network.nodes[0]
    ends = np.sort(rng.integers(-3 << 12, 3 << 12, (2, 2)), axis=0)
    low, high = ([int(e) << (BITS - 12) for e in row] for row in ends)
    grid = grid_of(node)
    state = SubdomainState([low, [0, 0]], [high, [0, 0]], 0, [], [])
    found = propagate_interval(grid, state, 1)
    sides = [(Fraction(int(a), 1 << 12), Fraction(int(b), 1 << 12)) for a, b in ends.T]
    inputs = [cell_points(own, i, *side) for i, side in enumerate(sides)]  # type: ignore[arg-type]
    values = [plain_outputs(own, list(p)) for p in product(*inputs)]  # type: ignore[arg-type]
    for output in range(2):
        least, most = min(v[output] for v in values), max(v[output] for v in values)
        assert Fraction(found[0][output], 1 << BITS) <= least
        assert Fraction(found[1][output], 1 << BITS) >= most
        if len(node.roots) == 1:
            assert least - Fraction(found[0][output], 1 << BITS) < Fraction(1, 1 << (BITS - 1))
    leaves = tree_leaves.cached_leaves(grid, state, 1)
    row = [int(rng.integers(-99, 99)), int(rng.integers(-99, 99))]
    least = min(row[0] * u + row[1] * v for u, v in values)
    assert Fraction(tree_leaves.least_of_row(leaves, row), leaves.factor) <= least


@LAW
@given(st.integers(0, 2**32 - 1))
def test_its_rounding_is_that_of_the_tool_and_covers_every_order(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    node, own = checkers_node(network), network.nodes[0]
    radius = tree_leaves.tree_radius(grid_of(node, True), node)
    tool = radius_of_the_tool(own)  # type: ignore[arg-type]
    if radius is None:
        assert not tool.any()
        return
    for r, t in zip(radius, tool.tolist(), strict=True):
        assert abs(Fraction(r, 1 << BITS) - Fraction(t)) <= Fraction(2, 1 << BITS) + Fraction(t) / 1000
    parts = [node.start, *(node.leaf(int(rng.integers(len(node.leaves) // 2))) for _ in node.roots)]
    for output in range(2):
        numbers = [np.float32(p[output]) for p in parts]
        total = sum(Fraction(float(x)) for x in numbers)
        rng.shuffle(numbers)  # type: ignore[arg-type]
        rounded = np.float32(0)
        for x in numbers:
            rounded = np.float32(rounded + x)
        size = sum(abs(Fraction(float(x))) for x in numbers)
        assert abs(Fraction(float(rounded)) - total) <= size * len(numbers) / (1 << 24)


def test_whole_inputs_are_not_rounded() -> None:
    """x < 4 at x = 4: the float32 number before 4 is as near as rounding could come."""
    for whole, radius in ((True, 0), (False, (4 << BITS >> 24) + 1)):
        read = CallInput((((0, 0, Fraction(1)),),), (Fraction(0),), (False,), None, (whole,))
        values = GraphValue(1, None, ()), GraphValue(1, read, (0,))
        grid = PrecisionGrid(CaseProblem((), values, (), (), True), BITS, {})
        four = [4 << BITS]
        assert rounding_radius(grid, SubdomainState([four, four], [four, four], 0, [], []), 1) == [radius]
    beyond = [(1 << 24) + 1 << BITS]
    read = CallInput((((0, 0, Fraction(1)),),), (Fraction(0),), (False,), None, (True,))
    grid = PrecisionGrid(
        CaseProblem((), (GraphValue(1, None, ()), GraphValue(1, read, (0,))), (), (), True), BITS, {}
    )
    assert rounding_radius(grid, SubdomainState([beyond] * 2, [beyond] * 2, 0, [], []), 1) != [0]


def claim(threshold: float, leaves: tuple[float, float], limit: str, kind: str = "integer") -> dict[str, Any]:
    """No x from 0 to 8 has u >= limit, where u is 1 up to the threshold."""
    trees = ["trees", 0, [0], floats(threshold), [-1], [-2], [0], floats(*leaves), floats(0.0)]
    return {
        "kind": "query",
        "variables": [["x", 5, 8, kind], ["u", None, None, "real"]],
        "networks": [{"width": 1, "nodes": [trees]}],
        "calls": [[0, [{"x": 1}], ["u"]]],
        "formula": ["and", ["<=", {"u": -1, "": limit}]],
    }


def certificate(claimed: dict[str, Any]) -> dict[str, Any]:
    steps = [["forward", 1, 2], ["drop", [0], {"atoms": [[0, 65536]]}]]
    case = {"atoms": [["<=", claimed["formula"][1][1]]], "sets": [[0]], "steps": steps}
    return {"surefoot-certificate": 2, "claim": claimed, "arithmetic": "float32", "cases": [case]}


def is_accepted(claimed: dict[str, Any]) -> bool:
    return judge_certificate(certificate(claimed), base=Path()).accepted


@pytest.mark.parametrize("kind", ["integer", "float32", "real"])
def test_a_claim_holds_or_not_by_one_step_of_the_threshold(kind: str) -> None:
    before_five = float(np.nextafter(np.float32(5), np.float32(0)))
    assert is_accepted(claim(4.5, (1.0, 0.0), "1/2", kind))
    assert is_accepted(claim(before_five, (1.0, 0.0), "1/2", kind)) == (kind != "real")
    assert not is_accepted(claim(5.0, (1.0, 0.0), "1/2", kind))
    assert not is_accepted(claim(4.5, (0.0, 1.0), "1/2", kind))  # the sides exchanged
    assert not is_accepted(claim(4.5, (1.0, 0.0), "0", kind))  # met by the other leaf


def mutants(nodes: list[Any]) -> list[tuple[str, list[Any]]]:
    """Ways to write the node that mean something else, or nothing."""
    kind, source, features, thresholds, lower, upper, roots, leaves, start = nodes
    return [
        ("source", [kind, 1, features, thresholds, lower, upper, roots, leaves, start]),
        ("feature", [kind, source, [5], thresholds, lower, upper, roots, leaves, start]),
        ("negative feature", [kind, source, [-1], thresholds, lower, upper, roots, leaves, start]),
        ("no such leaf", [kind, source, features, thresholds, [-3], upper, roots, leaves, start]),
        ("loop", [kind, source, features, thresholds, [0], upper, roots, leaves, start]),
        ("no such branch", [kind, source, features, thresholds, [1], upper, roots, leaves, start]),
        ("root", [kind, source, features, thresholds, lower, upper, [1], leaves, start]),
        ("lists", [kind, source, features, thresholds, [], upper, roots, leaves, start]),
        ("leaves", [kind, source, features, thresholds, lower, upper, roots, leaves, floats(0, 0, 0)]),
        ("infinite", [kind, source, features, floats(float("inf")), lower, upper, roots, leaves, start]),
        ("nan", [kind, source, features, thresholds, lower, upper, roots, floats(1, float("nan")), start]),
        ("float", [kind, source, [0.0], thresholds, lower, upper, roots, leaves, start]),
        ("too short", [kind, source, features, thresholds, lower, upper, roots, leaves]),
    ]


@pytest.mark.parametrize("name", [name for name, _ in mutants([None] * 9)])
def test_a_node_that_is_not_one_is_refused(name: str) -> None:
    nodes = claim(4.5, (1.0, 0.0), "1/2")["networks"][0]["nodes"]
    broken = dict(mutants(nodes[0]))[name]
    with pytest.raises(BadCertificate):
        read_network({"width": 1, "nodes": [broken]})


def test_slopes_mean_nothing_for_trees() -> None:
    claimed = claim(4.5, (1.0, 0.0), "1/2")
    data = certificate(claimed)
    data["cases"][0]["steps"].insert(0, ["slopes", 2, floats(1.0), None])
    assert not judge_certificate(data, base=Path()).accepted


def test_planted_faults_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the checker to take the wrong side or leaf, the laws above would fail."""
    honest = tree_leaves.reachable_leaf_numbers

    def shifted(node: TreesNode, root: int, cuts: Any, *box: Any) -> Any:
        return honest(node, root, [c - 1 for c in cuts], *box)

    def other_side(node: TreesNode, *rest: Any) -> Any:
        return honest(replace(node, lower=node.upper, upper=node.lower), *rest)

    monkeypatch.setattr(tree_leaves, "reachable_leaf_numbers", other_side)
    assert not is_accepted(claim(4.5, (1.0, 0.0), "1/2"))
    assert is_accepted(claim(4.5, (0.0, 1.0), "1/2"))  # wrongly: the test above would fail
    monkeypatch.setattr(tree_leaves, "reachable_leaf_numbers", shifted)
    assert is_accepted(claim(5.0, (1.0, 0.0), "1/2"))  # wrongly: the test above would fail
