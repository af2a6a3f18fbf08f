"""Networks that divide one value by another: answers agree with brute force, proofs are accepted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.solvers.examples import real
from tests.solvers.native.test_proofs import accepted, certificate

from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import problem_from_vnnlib, read_vnnlib_file
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
    freeze_float32,
    freeze_indices,
)
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Undecided, Unsat
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.unroll import unroll
from surefoot.solvers.native.bounding.network_bounds import bound_box_batch, build_bounding_plan
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real
from surefoot_checker.check import judge_certificate

DIVIDE = Pairing.DIVIDE


def ratio_network(generator: np.random.Generator) -> Network:
    """Sums of quotients: numerators of any sign, divisors clipped to numbers of one sign or sums of ReLUs."""

    def affine(source: int, columns: int, rows: int) -> Affine:
        weights = generator.integers(-4, 5, size=(rows, columns)) / 2
        return Affine(
            source, freeze_float32(weights), freeze_float32(generator.integers(-4, 5, size=rows) / 2)
        )

    nodes: list[Node] = [affine(0, 2, 3)]
    match generator.integers(3):
        case 0:
            nodes += [affine(0, 2, 3), Activation(2, Shape.CLIP, (0.5, 4.0))]
        case 1:
            nodes += [affine(0, 2, 3), Activation(2, Shape.CLIP, (-3.0, -0.25))]
        case _:  # shares of a sum
            nodes.append(Activation(1, Shape.RELU))
            nodes.append(Affine(2, freeze_float32(np.ones((3, 3))), freeze_float32(np.ones(3))))
    nodes.append(Combine(1, 3, DIVIDE))
    return Network(2, (*nodes, affine(4, 3, 1)))


def ratio_query(seed: int) -> tuple[Query, list[tuple[Fraction, Fraction]]]:
    """Whether the output passes a threshold that is a little above or below what points of a grid reach."""
    generator = np.random.default_rng(seed)
    network, box = ratio_network(generator), generator.integers(-2, 1, size=2)
    sides = [(Fraction(int(low)), Fraction(int(low) + 1)) for low in box]
    most = max(exact_outputs(network, p)[0] for p in points(sides))
    wanted = most + Fraction(int(generator.choice([-1, 1, 2])), 8)
    call = NetworkCall(network, (Var("a"), Var("b")), ("u",), float32=bool(generator.random() < 0.5))
    quantities = (*(QueryVariable(n, Real(*s)) for n, s in zip("ab", sides, strict=True)), real("u"))
    return Query(quantities, (Var("u") >= Const(wanted),), (call,)), sides


def points(sides: list[tuple[Fraction, Fraction]]) -> list[list[Fraction]]:
    steps = [[low + (high - low) * Fraction(k, 12) for k in range(13)] for low, high in sides]
    return [[x, y] for x in steps[0] for y in steps[1]]


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_quotients(start: int) -> None:
    proofs = 0
    for seed in range(start, start + 10):
        query, sides = ratio_query(seed)
        answer = decide_native_query(query, seconds=10)
        network = query.calls[0].network
        reached = any(
            assignment_defect(query, {"a": p[0], "b": p[1], "u": exact_outputs(network, p)[0]}) is None
            for p in points(sides)
        )
        if reached:
            assert isinstance(answer, Sat), seed
        elif isinstance(answer, Unsat):
            asked = "float32" if query.calls[0].float32 else "real"
            assert accepted(answer.proof).arithmetic == asked, seed
            proofs += 1
        else:
            assert not isinstance(answer, Undecided), seed
    assert proofs >= 2


def test_divisors_that_intervals_do_not_keep_from_zero_leave_no_proof() -> None:
    """1 + relu(x) - relu(x) is 1, but intervals say [0, 2], and there a certificate cannot begin."""
    nodes = (
        Affine(0, freeze_float32([[1], [1]]), freeze_float32([0, 0])),
        Activation(1, Shape.RELU),
        Affine(2, freeze_float32([[1, -1]]), freeze_float32([1])),
        Combine(0, 3, DIVIDE),
    )
    call = NetworkCall(Network(1, nodes), (Var("x"),), ("u",))
    query = Query((real("x", -1, 1), real("u")), (Var("u") >= 2,), (call,))
    answer = decide_native_query(query)
    assert isinstance(answer, Unsat)
    assert answer.proof is None


@pytest.mark.shared_data
def test_a_parallel_pensieve_network_is_certified(shared_data: Path) -> None:
    folder = shared_data / "queries" / "nn4sys_pensieve"
    asked = read_vnnlib_file(folder / "vnnlib" / "pensieve_parallel_32.vnnlib")
    network = load_policy(folder / "pensieve_small_parallel.onnx").network
    assert network.divisors()
    encoded = unroll(problem_from_vnnlib(network, asked, "row", float32=False), 0)
    constraints = (*encoded.query.constraints, encode_violation(encoded))
    answer = decide_native_query(
        Query(encoded.query.quantities, constraints, encoded.query.calls), seconds=30
    )
    assert isinstance(answer, Unsat)
    proof = accepted(answer.proof)
    assert proof.arithmetic == "float32"
    content: dict[str, Any] = certificate(proof)
    case = content["cases"][0]
    case["steps"] = [step for step in case["steps"] if step[0] != "slopes"]
    assert "no positive bound" in judge_certificate(content).reason  # constants are too weak


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("certified", [False, True])
def test_values_without_bounds_are_given_up_without_a_warning(certified: bool) -> None:
    """relu(x / y) with y around 0, and numbers beyond float64: intervals are all that is known."""
    same, none = freeze_float32(np.eye(2)), freeze_float32(np.zeros(2))
    divided: list[Node] = [Pick(0, freeze_indices([1, 0])), Combine(0, 1, DIVIDE)]
    huge: list[Node] = [
        Affine(i, freeze_float32(np.array([[1e38, 1e38], [0.0, 1e38]])), none) for i in range(9)
    ]
    for before in (divided, huge):
        count = len(before)
        rest = (Affine(count, same, none), Activation(count + 1, Shape.RELU), Affine(count + 2, same, none))
        plan = build_bounding_plan(Network(2, (*before, *rest)), certified=certified)
        found = bound_box_batch(plan, -np.ones((1, 2)), np.ones((1, 2)), {})
        assert found.boxes[-2].low[0, 0] == 0
        assert found.boxes[-1].high[0, 0] == np.inf
        assert found.least(np.eye(2))[1][0, 0] in (0, -np.inf)
