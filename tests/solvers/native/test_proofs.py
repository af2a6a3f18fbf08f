"""Proofs of the native solver: each one is accepted by the checker, and answers agree with brute force."""

import json
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from tests.solvers.examples import EXAMPLES, real

from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import problem_from_vnnlib, read_vnnlib_file
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import Network, Shape, dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import (
    NetworkCall,
    Proof,
    Query,
    QueryVariable,
    Sat,
    Undecided,
    UndecidedReason,
    Unsat,
)
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.unroll import unroll
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Const, Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Int, Real
from surefoot_checker.check import judge_certificate


def certificate(proof: Proof) -> dict[str, object]:
    content = {
        "surefoot-certificate": 1,
        "claim": proof.claim,
        "arithmetic": proof.arithmetic,
        "cases": list(proof.cases),
    }
    found: dict[str, object] = json.loads(json.dumps(content))
    return found


def accepted(proof: Proof | None) -> Proof:
    assert proof is not None
    verdict = judge_certificate(certificate(proof))
    assert verdict.accepted, verdict.reason
    return proof


def random_network(generator: np.random.Generator, inputs: int, outputs: int, smooth: bool) -> Network:
    """One or two hidden layers of small integers and halves, with dead and duplicate neurons."""
    sizes = [inputs, *(int(n) for n in generator.integers(2, 6, size=generator.integers(1, 3))), outputs]
    layers = []
    for wide, high in pairwise(sizes):
        weights = generator.integers(-4, 5, size=(high, wide)) / 2
        bias = generator.integers(-4, 5, size=high) / 2
        weights[generator.random(high) < 0.1] = 0
        if high > 1 and generator.random() < 0.3:
            weights[1], bias[1] = weights[0], bias[0]
        layers.append((weights, bias))
    return dense_network(layers, Shape.TANH if smooth else Shape.RELU)


def random_query(seed: int) -> tuple[Query, list[QueryVariable]]:
    """Few inputs, whole, real or fixed; comparisons of outputs under `and` and `or`."""
    generator = np.random.default_rng(seed)
    smooth, single = bool(generator.random() < 0.2), bool(generator.random() < 0.4)
    inputs = []
    for i in range(int(generator.integers(1, 4))):
        low = int(generator.integers(-3, 3))
        high = low + int(generator.integers(0, 4))
        kinds = (
            Int(low, high),
            Real(Fraction(low), Fraction(high)),
            Real(Fraction(low), Fraction(high), True),
        )
        inputs.append(QueryVariable(f"x{i}", kinds[int(generator.integers(3))]))
    network = random_network(generator, len(inputs), 2, smooth)
    call = NetworkCall(network, tuple(Var(q.name) for q in inputs), ("u", "v"), float32=single)

    def atom() -> Term:
        a, b = (int(n) for n in generator.integers(-2, 3, size=2))
        left = Var("u") * a + Var("v") * b
        if generator.random() < 0.2:
            left = left + Var("x0")
        right = Const(Fraction(int(generator.integers(-20, 20)), 2))
        return (left <= right, left < right, equal(left, right))[int(generator.choice(3, p=[0.6, 0.3, 0.1]))]

    parts = []
    for _ in range(int(generator.integers(1, 4))):
        options = [
            conjunction_of(tuple(atom() for _ in range(2))) for _ in range(int(generator.integers(1, 3)))
        ]
        parts.append(disjunction_of(tuple(options)))
    query = Query((*inputs, real("u"), real("v")), tuple(parts), (call,))
    return query, inputs


def brute_force(query: Query, inputs: list[QueryVariable]) -> bool:
    """Whether a point of a coarse grid satisfies the query."""
    choices = []
    for quantity in inputs:
        low, high = Fraction(quantity.kind.low), Fraction(quantity.kind.high)  # type: ignore[union-attr,arg-type]
        steps = 1 if isinstance(quantity.kind, Int) else 4
        choices.append([low + Fraction(k, steps) for k in range(int((high - low) * steps) + 1)])
    call = query.calls[0]
    for point in product(*choices):
        outputs = exact_outputs(call.network, list(point))
        values = dict(zip((*(q.name for q in inputs), "u", "v"), (*point, *outputs), strict=True))
        if assignment_defect(query, values) is None:
            return True
    return False


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_queries(start: int) -> None:
    """Every refutation has a proof that is accepted and no point that contradicts it."""
    for seed in range(start, start + 20):
        query, inputs = random_query(seed)
        answer = decide_native_query(query, seconds=5)
        smooth = not query.calls[0].network.is_piecewise_linear()
        if isinstance(answer, Unsat):
            asked = "float32" if query.calls[0].float32 else "real"
            assert accepted(answer.proof).arithmetic == asked, seed
            assert smooth or not brute_force(query, inputs), seed
        elif isinstance(answer, Undecided):
            assert query.calls[0].float32 or smooth or answer.why is UndecidedReason.INCOMPLETE, (
                seed,
                answer,
            )
            if answer.proof is not None:
                assert accepted(answer.proof).arithmetic == "real"
                assert answer.why is UndecidedReason.NUMERICS


@pytest.mark.parametrize("name", EXAMPLES)
def test_known_answers(name: str) -> None:
    query, possible = EXAMPLES[name]
    answer = decide_native_query(query, seconds=20)
    assert isinstance(answer, Sat if possible else Unsat)
    if isinstance(answer, Unsat) and answer.proof is not None:
        accepted(answer.proof)


def test_alternatives_that_define_a_quantity_are_cases_of_their_own() -> None:
    """z is x or 2 x, w is z or z + 1, y = relu(x) with x in [0, 1]: y <= z <= w, so w < y is impossible."""
    x, y, z, w = (Var(n) for n in "xyzw")
    quantities = (QueryVariable("x", Real(Fraction(0), Fraction(1))), real("y"), real("z"), real("w"))
    call = NetworkCall(dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])]), (x,), ("y",))
    ties = disjunction_of((equal(z, x), equal(z, 2 * x))), disjunction_of((equal(w, z), equal(w, z + 1)))
    answer = decide_native_query(Query(quantities, (*ties, w + Const(Fraction(1, 8)) <= y), (call,)))
    assert isinstance(answer, Unsat)
    proof = accepted(answer.proof)
    assert [case["choose"] for case in proof.cases] == [[[0, i], [0, j]] for i in (0, 1) for j in (0, 1)]
    damaged = certificate(proof)
    damaged["cases"] = damaged["cases"][:3]  # type: ignore[index]
    assert "alternative 1" in judge_certificate(damaged).reason


def test_contradictory_bounds_are_a_proof() -> None:
    x, y = Var("x"), Var("y")
    quantities = (QueryVariable("x", Real(Fraction(0), Fraction(1))), real("y"))
    call = NetworkCall(dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])]), (x,), ("y",), float32=True)
    for constraint in (x >= 2, equal(x, 2), disjunction_of((x >= 2, x <= -1))):
        answer = decide_native_query(Query(quantities, (constraint, y <= 3), (call,)))
        assert isinstance(answer, Unsat)
        accepted(answer.proof)


def test_a_definition_that_leaves_no_whole_number_is_a_proof() -> None:
    """z = n + 1/2 must be 5/8, or y = relu(n) be negative."""
    n, y, z = Var("n"), Var("y"), Var("z")
    exactly = Real(Fraction(5, 8), Fraction(5, 8))
    quantities = (QueryVariable("n", Int(0, 1)), QueryVariable("z", exactly), real("y"))
    call = NetworkCall(dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])]), (n,), ("y",))
    ties = disjunction_of((equal(z, n + Const(Fraction(1, 2))), y < 0))
    answer = decide_native_query(Query(quantities, (ties, y <= 3), (call,)))
    assert isinstance(answer, Unsat)
    accepted(answer.proof)


def test_strict_comparisons_that_just_fail_are_refuted_in_float32_too() -> None:
    x, y, half = Var("x"), Var("y"), Const(Fraction(1, 2))
    quantities = (QueryVariable("x", Real(Fraction(0), Fraction(1))), real("y"))
    call = NetworkCall(dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])]), (x,), ("y",), float32=True)
    for constraints in ((y < half, y >= half), (x < half, x >= half), (x < 0,), (equal(y, x), y < x)):
        answer = decide_native_query(Query(quantities, constraints, (call,)))
        assert isinstance(answer, Unsat)
        assert accepted(answer.proof).arithmetic == "float32"


def test_what_is_fixed_by_equalities_is_evaluated() -> None:
    """The only point left is x = 1/3, where y = 1/3."""
    x, y = Var("x"), Var("y")
    quantities = (QueryVariable("x", Real(Fraction(0), Fraction(1))), real("y"))
    call = NetworkCall(dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])]), (x,), ("y",))
    answer = decide_native_query(Query(quantities, (equal(3 * x, 1), y < Const(Fraction(1, 3))), (call,)))
    assert isinstance(answer, Unsat)
    accepted(answer.proof)


def test_alternatives_in_different_regions() -> None:
    """y = relu(x) is at most 1/4 on [-1, 1/4] and at least 3/2 on [3/2, 2]; two alternatives deny it."""
    x, y = Var("x"), Var("y")
    quantities = (QueryVariable("x", Real(Fraction(-1), Fraction(2))), real("y"))
    call = NetworkCall(dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])]), (x,), ("y",), float32=True)
    left = conjunction_of((x <= Const(Fraction(1, 4)), y >= Const(Fraction(1, 2))))
    right = conjunction_of((x >= Const(Fraction(3, 2)), y <= 1))
    answer = decide_native_query(Query(quantities, (disjunction_of((left, right)),), (call,)))
    assert isinstance(answer, Unsat)
    proof = accepted(answer.proof)
    assert proof.arithmetic == "float32"
    steps = proof.cases[0]["steps"]
    assert isinstance(steps, list)
    assert "split" in [s[0] for s in steps]


def test_only_rounding_is_in_doubt() -> None:
    """3 (x / 3) > x + 2^-30 holds nowhere, but float32 may round that far: the proof is for reals."""
    x, y = Var("x"), Var("y")
    quantities = (QueryVariable("x", Real(Fraction(1), Fraction(2))), real("y"))
    network = dense_network([([[1 / 3]], [0.0]), ([[3.0]], [0.0])])
    slope = Fraction(float(np.float32(1 / 3))) * 3
    call = NetworkCall(network, (x,), ("y",), float32=True)
    answer = decide_native_query(
        Query(quantities, (y - x * Const(slope) >= Const(Fraction(1, 2**30)),), (call,))
    )
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.NUMERICS
    assert accepted(answer.proof).arithmetic == "real"


def test_tampered_steps_are_rejected() -> None:
    claimed = decide_native_query(random_query(4)[0])
    assert isinstance(claimed, Unsat)
    content = certificate(accepted(claimed.proof))
    assert judge_certificate(content).accepted
    content["claim"]["formula"] = ["and"]  # type: ignore[index]
    assert not judge_certificate(content).accepted


def test_aurora_is_positive_under_excellent_conditions(shared_data: Path) -> None:
    """Tanh: the slopes of its lines are in the certificate."""
    network = load_policy(shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx").network
    epsilon = Fraction(1, 100)
    bounds = [(-epsilon, epsilon), (Fraction(1), 1 + epsilon), (Fraction(1), Fraction(1))] * 10
    inputs = tuple(QueryVariable(f"x{i}", Real(*pair)) for i, pair in enumerate(bounds))
    call = NetworkCall(network, tuple(Var(q.name) for q in inputs), ("y",), float32=True)
    answer = decide_native_query(Query((*inputs, real("y")), (Var("y") <= 0,), (call,)), seconds=20)
    assert isinstance(answer, Unsat)
    assert accepted(answer.proof).arithmetic == "float32"


@pytest.mark.parametrize(("network", "prop"), [("5_7", 3), ("5_4", 4)])
def test_acasxu(shared_data: Path, network: str, prop: int) -> None:
    folder = shared_data / "queries" / "acasxu"
    found = next((folder / "onnx").glob(f"ACASXU_run2a_{network}_batch_2000.onnx*"))
    asked = next((folder / "vnnlib").glob(f"prop_{prop}.vnnlib*"))
    problem = problem_from_vnnlib(load_policy(found).network, read_vnnlib_file(asked), "row")
    encoded = unroll(problem, 0)
    constraints = (*encoded.query.constraints, encode_violation(encoded))
    answer = decide_native_query(
        Query(encoded.query.quantities, constraints, encoded.query.calls), seconds=30
    )
    assert isinstance(answer, Unsat)
    assert accepted(answer.proof).arithmetic == "float32"
