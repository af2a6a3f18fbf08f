"""Machine code for chains of ReLU layers: its bounds are those of numpy, and hold without any tolerance."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from tests.solvers.native.test_proofs import accepted, random_query

from surefoot.network.directed_rounding import Array
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Constant,
    Elementwise,
    Join,
    Network,
    Pick,
    Shape,
    dense_network,
    freeze_float32,
    freeze_indices,
)
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Unsat
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.bounding.network_bounds import (
    BoundingPlan,
    bound_box_batch,
    build_bounding_plan,
    inherit_bounds,
    vacuous_bounds,
)
from surefoot.solvers.native.bounding.slope_ascent import ascend_slopes
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.proof import proof_log
from surefoot.solvers.native.relu_chain import bound_arrays, layer_tables
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real


@pytest.fixture(autouse=True)
def every_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the smallest network goes to machine code."""
    monkeypatch.setattr(layer_tables, "LEAST", 1)


def network(rng: np.random.Generator, scale: float = 1.0, direct: bool = True) -> Network:
    """Inputs in another order, a shift, some layers of any width, and rows over inputs and outputs."""
    sizes = [int(rng.integers(1, 6)), *rng.integers(1, 40, size=rng.integers(1, 5)).tolist(), 3]
    nodes = [
        Pick(0, freeze_indices(rng.permutation(sizes[0]))),
        Elementwise(1, Constant.ADD, _some(rng, sizes[0])),
    ]
    for wide, high in pairwise(sizes):
        if len(nodes) > 2:
            nodes.append(Activation(len(nodes), Shape.RELU))
        nodes.append(
            Affine(len(nodes), freeze_float32(_some(rng, high, wide) * np.float32(scale)), _some(rng, high))
        )
    if direct:
        nodes.append(Join((0, len(nodes))))
        nodes.append(Affine(len(nodes), _some(rng, 4, sizes[0] + 3), _some(rng, 4)))
    return Network(sizes[0], tuple(nodes))


def _some(rng: np.random.Generator, *shape: int) -> Array:
    numbers = rng.normal(size=shape) * (rng.random(shape) < 0.8)
    return freeze_float32(numbers.astype(np.float32))


def boxes(rng: np.random.Generator, width: int, count: int) -> tuple[Array, Array]:
    low = rng.normal(size=(count, width))
    return low, low + rng.random((count, width)) * rng.integers(0, 2, size=(count, 1))


def plans(given: Network, rounded: dict[int, Mask]) -> tuple[BoundingPlan, BoundingPlan]:
    """With machine code, and without."""
    by_machine = build_bounding_plan(given, rounded, frozenset({1}), certified=True)
    assert by_machine.chain is not None
    return by_machine, replace(by_machine, chain=None)


def roundings(given: Network, single: bool) -> dict[int, Mask]:
    widths = given.widths()
    return {v: np.ones(widths[v], dtype=np.bool_) for v in range(1, len(widths))} if single else {}


@pytest.mark.parametrize("seed", range(30))
def test_bounds_and_planes_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = network(rng, direct=bool(seed % 3))
    low, high = boxes(rng, given.width, 4)
    by_machine, by_numpy = plans(given, roundings(given, bool(seed % 2)))
    one, other = bound_box_batch(by_machine, low, high, {}), bound_box_batch(by_numpy, low, high, {})
    size = 1e-9 * (1.0 + max(float(box.magnitude.max()) for box in other.boxes))
    for a, b in zip(one.boxes, other.boxes, strict=True):
        np.testing.assert_allclose(a.low, b.low, atol=size)
        np.testing.assert_allclose(a.high, b.high, atol=size)
    rows = rng.normal(size=(3, given.outputs))
    for found, same in (
        (one, other),
        (one.in_reals(), other.in_reals()),
        (one.pick([2, 0]), other.pick([2, 0])),
    ):
        (planes, least), (plain, other_least) = found.least(rows), same.least(rows)
        np.testing.assert_allclose(planes.coefficients, plain.coefficients, atol=100 * size)
        np.testing.assert_allclose(least, other_least, atol=100 * size)
    assert inherit_bounds(by_machine, one.boxes[0], vacuous_bounds(by_machine)).boxes[-1].low.shape == (
        4,
        given.outputs,
    )


@pytest.mark.parametrize("seed", range(30))
def test_bounds_and_planes_hold_exactly(seed: int) -> None:
    """Also where sums cancel: weights of very different sizes."""
    rng = np.random.default_rng(seed)
    given = network(rng, scale=(1.0, 1e4, 1e-3)[seed % 3])
    low, high = boxes(rng, given.width, 2)
    found = bound_box_batch(plans(given, {})[0], low, high, {})
    rows = np.eye(given.outputs)
    planes, least = found.least(rows)
    best = ascend_slopes(found, rows, rng.random((2, len(rows))), np.ones((2, len(rows))), 6)
    for member in range(2):
        for share in (0.0, 1.0, *rng.random(3)):
            point = np.clip(low[member] + share * (high[member] - low[member]), low[member], high[member])
            x = [Fraction(v) for v in point.tolist()]
            for number, box in enumerate(found.boxes):
                values = exact_outputs(Network(given.width, given.nodes[:number]), x)
                for value, a, b in zip(
                    values, box.low[member].tolist(), box.high[member].tolist(), strict=True
                ):
                    assert Fraction(a) <= value <= Fraction(b)
            for j, value in enumerate(values):
                assert _at(planes.coefficients[member, j], planes.constant[member, j], x) <= value
                assert Fraction(least[member, j]) <= value
            combined = sum(Fraction(w) * v for w, v in zip(best.row[member].tolist(), values, strict=True))
            assert _at(best.plane.coefficients[member, 0], best.plane.constant[member, 0], x) <= combined
            assert Fraction(best.value[member]) <= combined


def _at(slopes: Array, constant: float, x: list[Fraction]) -> Fraction:
    return sum((Fraction(a) * v for a, v in zip(slopes.tolist(), x, strict=True)), Fraction(float(constant)))


@pytest.mark.parametrize("seed", range(120))
def test_answers_have_proofs_that_the_checker_accepts(seed: int) -> None:
    query, _ = random_query(seed)
    match decide_native_query(query, seconds=5.0):
        case Sat(assignment):
            if query.calls[0].network.is_piecewise_linear():
                assert assignment_defect(query, assignment) is None
        case Unsat(proof):
            accepted(proof)


def test_the_same_question_gives_the_same_proof() -> None:
    found = [decide_native_query(random_query(seed)[0], seconds=5.0) for seed in (3, 3)]
    proofs = [answer.proof for answer in found if isinstance(answer, Unsat) and answer.proof is not None]
    assert len({str(proof.cases) for proof in proofs}) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_closed_boxes_that_wait_are_written_as_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof does not depend on when the steps of its boxes are written."""
    rng = np.random.default_rng(seed)
    given = dense_network(
        [(rng.normal(size=(12, 3)), rng.normal(size=12)), (rng.normal(size=(1, 12)), [0.0])]
    )
    inputs = tuple(QueryVariable(f"x{i}", Real(-1, 1, float32=True)) for i in range(3))
    call = NetworkCall(given, tuple(Var(q.name) for q in inputs), ("y",), float32=True)
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    most = forward_values(given, np.concatenate([corners, rng.uniform(-1, 1, size=(500, 3))]))[-1].max()
    asked = Query((*inputs, QueryVariable("y", Real())), (Var("y") >= Const(Fraction(most + 0.3)),), (call,))
    later = decide_native_query(asked, seconds=20)
    monkeypatch.setattr(proof_log, "_WAITING", 0)
    at_once = decide_native_query(asked, seconds=20)
    assert isinstance(later, Unsat)
    assert isinstance(at_once, Unsat)
    proof = accepted(later.proof)
    assert proof.cases == accepted(at_once.proof).cases


def test_other_networks_are_left_to_numpy() -> None:
    smooth = Network(
        2, (Affine(0, _some(np.random.default_rng(0), 3, 2), _some(np.random.default_rng(1), 3)),)
    )
    smooth = Network(2, (*smooth.nodes, Activation(1, Shape.TANH)))
    assert build_bounding_plan(smooth, certified=True).chain is None


def test_without_machine_code_there_is_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    given = network(np.random.default_rng(0))
    monkeypatch.setattr("surefoot.solvers.native.bounding.network_bounds.load_chain_functions", lambda: None)
    assert build_bounding_plan(given, certified=True).chain is None
    assert bound_arrays.load_chain_functions() is not None
