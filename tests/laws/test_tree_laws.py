"""Bounds of tree ensembles contain what they compute; native and the checker agree with all cells."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.laws.tree_ensembles import cell_points, plain_outputs, random_trees, tree_networks

from surefoot.network.directed_rounding import BoxArray
from surefoot.network.evaluate import decide_batch_actions
from surefoot.network.exact import exact_outputs
from surefoot.network.float32_error import error_bounds
from surefoot.network.interval import interval_bounds
from surefoot.network.tree_bounds import bound_tree_rows
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Network
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Undecided, Unsat
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Int, Real
from surefoot_checker.check import judge_certificate

LAW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def trees_of(network: Network) -> TreeEnsemble:
    node = network.nodes[0]
    assert isinstance(node, TreeEnsemble)
    return node


def points_near_thresholds(node: TreeEnsemble, rng: np.random.Generator, count: int) -> Any:
    points = rng.normal(size=(count, 2)).astype(np.float32)
    if node.thresholds.size:
        chosen = rng.choice(node.thresholds, points.shape).astype(np.float32)
        toward = rng.choice(np.array([-np.inf, np.inf], dtype=np.float32), points.shape)
        near = np.where(rng.random(points.shape) < 0.5, chosen, np.nextafter(chosen, toward))
        points = np.where(rng.random(points.shape) < 0.6, near, points).astype(np.float32)
    return points


@LAW
@given(tree_networks(), st.integers(0, 2**32 - 1))
def test_all_ways_to_evaluate_say_the_same(network: Network, seed: int) -> None:
    node, rng = trees_of(network), np.random.default_rng(seed)
    points = points_near_thresholds(node, rng, 40)
    reference = infer_outputs(network, points)
    wide = error_bounds(network, points, points, input_rounding=False)
    for row, point in enumerate(points):
        exact = [Fraction(float(x)) for x in point]
        plain = plain_outputs(node, exact)
        assert exact_outputs(network, exact) == plain
        for found, wanted, error in zip(reference[row], plain, wide[row], strict=True):
            assert abs(Fraction(float(found)) - wanted) <= Fraction(float(error))
    actions = decide_batch_actions(network, points).actions
    assert (actions == reference.argmax(axis=1)).all()


@LAW
@given(tree_networks(), st.integers(0, 2**32 - 1))
def test_bounds_contain_outputs_and_are_reached(network: Network, seed: int) -> None:
    node, rng = trees_of(network), np.random.default_rng(seed)
    ends = np.sort(points_near_thresholds(node, rng, 2).astype(np.float64), axis=0)
    low, high = ends
    box = interval_bounds(network, low, high)[-1]
    several = [cell_points(node, i, Fraction(low[i]), Fraction(high[i])) for i in range(2)]
    row = rng.normal(size=(1, 1, 2))
    least, slack = bound_tree_rows(node, BoxArray(low[None], high[None]), row)
    values = [plain_outputs(node, list(point)) for point in product(*several)]
    for value in values:
        assert all(Fraction(a) <= v for a, v in zip(box.low, value, strict=True))
        assert all(v <= Fraction(b) for v, b in zip(value, box.high, strict=True))
        total = sum(Fraction(c) * v for c, v in zip(row[0, 0], value, strict=True))
        assert Fraction(least[0, 0]) - Fraction(slack[0, 0]) <= total
    if node.roots.size == 1:  # then they are exact
        assert abs(float(min(v[0] for v in values)) - box.low[0]) < 1e-6


def ask_trees(network: Network, kinds: list[Any], limit: Fraction, *, float32: bool) -> Query:
    """Is there an input of the box with u - v + x / 8 <= limit?"""
    quantities = (QueryVariable("x", kinds[0]), QueryVariable("y", kinds[1]), *OUTPUTS)
    slack = tuple(Fraction(0) for _ in OUTPUTS)
    call = NetworkCall(network, (Var("x"), Var("y")), ("u", "v"), slack, float32)
    return Query(
        quantities, (Var("u") - Var("v") + Const(Fraction(1, 8)) * Var("x") <= Const(limit),), (call,)
    )


OUTPUTS = (QueryVariable("u", Real()), QueryVariable("v", Real()))


def is_accepted(answer: Unsat, arithmetic: str) -> bool:
    assert answer.proof is not None
    claim, cases = answer.proof.claim, answer.proof.cases
    data = {"surefoot-certificate": 2, "claim": claim, "arithmetic": arithmetic, "cases": list(cases)}
    return judge_certificate(data, base=Path()).accepted


@LAW
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_native_decides_integers_as_trying_all_does(seed: int, even: bool, float32: bool) -> None:
    rng = np.random.default_rng(seed)
    network = Network(2, (random_trees(rng, 2, 2, int(rng.integers(1, 5)), 6, even=even),))
    node = trees_of(network)
    grid = list(product(range(-3, 4), range(-3, 4)))
    outputs = {p: plain_outputs(node, [Fraction(i) for i in p]) for p in grid}
    values = {p: u - v + Fraction(p[0], 8) for p, (u, v) in outputs.items()}
    limit = Fraction(float(rng.normal())).limit_denominator(64) + Fraction(1, 1000)
    query = ask_trees(network, [Int(-3, 3), Int(-3, 3)], limit, float32=float32)
    answer = decide_native_query(query, seconds=20.0)
    if any(value <= limit for value in values.values()):
        assert isinstance(answer, Sat) or (float32 and min(values.values()) > limit - Fraction(1, 10**5))
    else:
        assert isinstance(answer, Unsat) or (float32 and min(values.values()) < limit + Fraction(1, 10**5))
    if isinstance(answer, Unsat):
        assert is_accepted(answer, "float32" if float32 else "real")


@LAW
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_native_decides_reals_as_all_cells_do(seed: int, float32: bool) -> None:
    rng = np.random.default_rng(seed)
    network = Network(2, (random_trees(rng, 2, 2, int(rng.integers(1, 5)), 6, even=False),))
    node = trees_of(network)
    low, high = np.sort(rng.normal(size=(2, 2)), axis=0).round(3)
    bounds = [(Fraction(str(a)), Fraction(str(b))) for a, b in zip(low, high, strict=True)]
    xs, ys = (cell_points(node, i, *ends) for i, ends in enumerate(bounds))
    # Inside a cell the sum is least towards its lower end, where the cell below may begin.
    starts = [(x, x if i % 2 == 0 else xs[i - 1]) for i, x in enumerate(xs)]
    least = min(
        u - v + start / 8 for (x, start), y in product(starts, ys) for u, v in (plain_outputs(node, [x, y]),)
    )
    limit = least + Fraction(str(rng.choice([-0.01, 0.01]).round(3)))
    kinds = [Real(a, b) for a, b in bounds]
    answer = decide_native_query(ask_trees(network, kinds, limit, float32=float32), seconds=20.0)
    if limit < least:
        assert not isinstance(answer, Sat)
    else:
        assert isinstance(answer, Sat) or (isinstance(answer, Undecided) and high[0] - low[0] < 0.1)
    if isinstance(answer, Unsat):
        assert is_accepted(answer, "float32" if float32 else "real")
