"""Alternatives that share the bounds of the whole box: the same answers as one by one, and proofs of all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.solvers.native.dual.test_route import attempted, checked, relu_network

from surefoot.network.float32_error import affine_radius
from surefoot.problem.network import Network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Undecided, Unsat
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainInputs,
    build_chain_problem,
    refine_chain_noise,
)
from surefoot.solvers.native.relu_splitting.neuron_bounds import select_largest
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, disjunction_of
from surefoot.term.value_types import Real


def many_alternatives(seed: int, count: int, *, boxes: bool, float32: bool, depth: int = 1) -> Query:
    """One call, and so many alternatives about its outputs, perhaps each with a box of its own."""
    random = np.random.default_rng(seed)
    network = relu_network(random, 3, *[6] * depth, 3)
    return query_about(network, random, count, boxes=boxes, float32=float32)


def query_about(
    network: Network, random: np.random.Generator, count: int, *, boxes: bool, float32: bool
) -> Query:
    names = [f"x{i}" for i in range(network.width)]
    outputs = tuple(f"y{i}" for i in range(network.widths()[-1]))
    quantities = [QueryVariable(n, Real(Fraction(-1), Fraction(1), float32)) for n in names]
    quantities += [QueryVariable(n, Real()) for n in outputs]
    spread = float(random.integers(2, 12))
    alternatives: list[Term] = []
    for _ in range(count):
        i, j = random.integers(0, len(outputs), 2).tolist()
        limit = Fraction(int(100 * (spread + 2 * random.random())), 100)
        parts = [Var(outputs[i]) >= Const(limit)]
        if random.random() < 0.5:
            parts.append(Var(outputs[j]) - Var(outputs[i]) <= Const(-limit))
        if boxes:
            for name in names:
                low = Fraction(int(random.integers(-10, 8)), 10)
                parts += [Var(name) >= Const(low), Var(name) <= Const(low + Fraction(1, 5))]
        alternatives.append(conjunction_of(tuple(parts)))
    call = NetworkCall(network, tuple(map(Var, names)), outputs, (), float32)
    return Query(tuple(quantities), (disjunction_of(tuple(alternatives)),), (call,))


@pytest.mark.parametrize("float32", [False, True])
@pytest.mark.parametrize("boxes", [False, True])
def test_same_answers_as_splitting_inputs(boxes: bool, float32: bool) -> None:
    seen = {Sat: 0, Unsat: 0}
    for seed in range(24):
        query = many_alternatives(seed, 5, boxes=boxes, float32=float32, depth=1 + seed % 3)
        answer = attempted(query)
        if answer is None or isinstance(answer, Undecided):
            continue
        seen[type(answer)] += 1
        if isinstance(answer, Sat):
            assert assignment_defect(query, answer.assignment) is None, seed
            continue
        verdict = checked(answer)
        assert verdict.accepted, (seed, verdict.reason)
        assert not isinstance(decide_native_query(query, seconds=5, proof=False), Sat), seed
    assert min(seen.values()) >= 3, seen


@pytest.mark.parametrize("boxes", [False, True])
def test_hundreds_of_alternatives_have_one_proof(boxes: bool) -> None:
    """More than the search by inputs puts into a certificate; also where there are few inputs."""
    random = np.random.default_rng(7)
    network = relu_network(random, 3, 8, 8, 3)
    query = query_about(network, random, 300, boxes=boxes, float32=True)
    wish = query.constraints[0]
    assert isinstance(wish, Apply)
    assert wish.op is Op.OR
    far = disjunction_of(tuple(conjunction_of((part, Var("y0") >= Const(200))) for part in wish.args))
    answer = decide_native_query(Query(query.quantities, (far,), query.calls), seconds=60)
    assert isinstance(answer, Unsat)
    assert answer.proof is not None
    assert len(answer.proof.cases) == 1
    assert checked(answer).accepted


def test_alternatives_that_contradict_themselves() -> None:
    """A box of an alternative that is empty, or lies outside of the box of all."""
    query = many_alternatives(3, 2, boxes=False, float32=True)
    wish, x, high = query.constraints[0], Var("x0"), Var("y0") >= Const(-50)
    empty = conjunction_of((x >= Const(Fraction(1, 2)), x <= Const(Fraction(1, 4)), high))
    outside = conjunction_of((x >= Const(2), high))
    assert isinstance(wish, Apply)
    far = [conjunction_of((part, Var("y0") >= Const(200))) for part in wish.args]
    answer = attempted(Query(query.quantities, (disjunction_of((*far, empty, outside)),), query.calls))
    assert isinstance(answer, Unsat)
    assert checked(answer).accepted


def test_float32_errors_follow_from_bounds() -> None:
    """Refined errors are those of the bounds that are given, never larger than before, and offsets follow."""
    random = np.random.default_rng(1)
    weights = tuple(random.normal(0, 1, shape) for shape in ((8, 4), (8, 8), (2, 8)))
    biases = tuple(random.normal(0, 1, len(w)) for w in weights)
    reading = ChainInputs(np.eye(4)[None], np.zeros((1, 4)), np.zeros((1, 4)), single=True)
    problem = build_chain_problem(
        weights, biases, -np.ones(4), np.ones(4), np.eye(2), np.zeros(2), reading=reading
    )
    lower, upper = np.full((1, 16), -0.5), np.full((1, 16), 0.25)
    refined = refine_chain_noise(problem, 1, lower, upper)
    size = np.full(8, 0.25) @ np.abs(weights[1]).T + np.abs(biases[1])
    least = affine_radius(8, size)
    assert (refined.noise[8:] >= least).all()
    assert (refined.noise[8:] <= 1.001 * least).all()
    assert (refined.noise[:8] == problem.noise[:8]).all()
    outputs = refine_chain_noise(refined, 2, lower, upper)
    size = np.full(8, 0.25) @ np.abs(weights[2]).T + np.abs(biases[2])
    assert (outputs.offsets >= affine_radius(8, size)).all()  # rows @ y <= offsets still allows for all of it
    assert (outputs.offsets <= problem.offsets).all()
    wide = refine_chain_noise(problem, 1, np.full((1, 16), -1e6), np.full((1, 16), 1e6))
    assert (wide.noise == problem.noise).all()


def test_only_the_largest_are_chosen() -> None:
    score = np.array([[1.0, 5.0, 3.0, 4.0], [0.0, 0.0, 2.0, 1.0]])
    wanted = np.array([[True, False, True, True], [False, False, False, True]])
    chosen = select_largest(score, wanted, 2)
    assert chosen.tolist() == [[False, False, True, True], [False, False, False, True]]
    assert (select_largest(score, wanted, 4) == wanted).all()
