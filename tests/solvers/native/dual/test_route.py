"""Queries that the dual search takes: its answers agree with splitting inputs, and solutions are exact."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import copy
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from time import monotonic

import numpy as np
import pytest

from surefoot.problem.network import Activation, Affine, Network, Shape, freeze_float32
from surefoot.query.bounds import integer_variable_names
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.formula import negation_normal_form, sharpen_integer_atoms
from surefoot.query.lower import lower_query
from surefoot.query.query import (
    Answer,
    NetworkCall,
    Proof,
    Query,
    QueryVariable,
    Sat,
    Undecided,
    UndecidedReason,
    Unsat,
)
from surefoot.query.unsat_claim import write_unsat_claim
from surefoot.solvers.native.relu_splitting.query_search import ReluSplitting
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Apply, Const, Op, Term, Var, disjunction_of
from surefoot.term.value_types import Int, Real
from surefoot_checker.check import CheckerVerdict, judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate


def relu_network(random: np.random.Generator, *widths: int) -> Network:
    nodes: list[Affine | Activation] = []
    for i, (n, m) in enumerate(pairwise(widths)):
        if i:
            nodes.append(Activation(len(nodes), Shape.RELU))
        weights = random.normal(0, 1, (m, n)) if random.random() < 0.7 else random.integers(-2, 3, (m, n))
        nodes.append(
            Affine(len(nodes), freeze_float32(weights), freeze_float32(np.round(random.normal(0, 0.5, m), 2)))
        )
    return Network(widths[0], tuple(nodes))


def random_query(seed: int, *, float32: bool = False) -> Query:
    """Two calls over shared inputs, plain or affine; constraints over outputs, inputs, alternatives."""
    random = np.random.default_rng(seed)
    inputs, outputs = int(random.integers(2, 5)), int(random.integers(1, 3))
    network = relu_network(
        random, inputs, *random.integers(2, 5, int(random.integers(1, 3))).tolist(), outputs
    )
    free = [f"x{i}" for i in range(inputs + 1)]
    quantities = []
    for name in free:
        low = Fraction(int(random.integers(-20, 10)), 10)
        if random.random() < 0.2:
            quantities.append(QueryVariable(name, Int(int(low) - 1, int(low) + 1)))
        else:
            quantities.append(QueryVariable(name, Real(low, low + Fraction(int(random.integers(0, 25)), 10))))
    calls = []
    for t in range(2):
        reads: list[Term] = [Var(free[i + t]) for i in range(inputs)]
        if random.random() < 0.3:
            reads[0] = (reads[0] + Var(free[-1])) * Const(Fraction(1, 3))
        names = tuple(f"y{t}_{i}" for i in range(outputs))
        quantities.extend(QueryVariable(name, Real()) for name in names)
        slack = (Fraction(1, 10**5),) * outputs if float32 else ()
        calls.append(NetworkCall(network, tuple(reads), names, slack, float32))
    everything = [Var(name) for call in calls for name in call.outputs] + [Var(free[0])]

    def row() -> Term:
        weights = random.integers(-2, 3, len(everything)).tolist()
        total: Term = Const(Fraction(int(random.integers(-15, 16)), 10))
        for weight, variable in zip(weights, everything, strict=True):
            if weight:
                total = total + Const(weight) * variable
        return total <= Const(0)

    constraints = [row() for _ in range(int(random.integers(1, 4)))]
    if random.random() < 0.4:
        constraints.append(disjunction_of((row(), Apply(Op.AND, (row(), row())))))
    if random.random() < 0.3:
        quantities.append(QueryVariable("sum", Real(-3, 3)))
        constraints.append(Apply(Op.EQ, (Var("sum"), Var(free[0]) + Var(free[1]))))
    return Query(tuple(quantities), tuple(constraints), tuple(calls))


def attempted(query: Query, least_inputs: int = 1, seconds: float = 10.0) -> Answer | None:
    lowered = lower_query(query).query
    whole = integer_variable_names(lowered.quantities)
    formulas = tuple(sharpen_integer_atoms(negation_normal_form(c), whole) for c in lowered.constraints)
    return ReluSplitting(lowered, formulas, least_inputs=least_inputs)(monotonic() + seconds)


@pytest.mark.parametrize("block", range(4))
def test_agrees_with_splitting_inputs(block: int) -> None:
    taken = 0
    for seed in range(30 * block, 30 * block + 30):
        query = random_query(seed)
        answer = attempted(query)
        if answer is None or isinstance(answer, Undecided):
            continue
        taken += 1
        if isinstance(answer, Sat):
            assert assignment_defect(query, answer.assignment) is None, seed
        else:
            other = decide_native_query(query, seconds=5)
            assert not isinstance(other, Sat), seed
            assert isinstance(answer, Unsat)
            assert answer.proof is not None, seed
    assert taken >= 20


def test_solutions_are_found() -> None:
    """Where splitting inputs finds a solution, so does this search."""
    missed = 0
    for seed in range(200, 240):
        query = random_query(seed)
        if isinstance(decide_native_query(query, seconds=5), Sat):
            answer = attempted(query)
            assert not isinstance(answer, Unsat), seed
            missed += not isinstance(answer, Sat)
    assert missed <= 1


def test_float32_evaluation_is_allowed_for() -> None:
    """1 - x over x >= 1 is 0 in exact arithmetic, but a float32 x may be rounded down from above 1."""
    low = Fraction(1) + Fraction(1, 10**9)
    network = Network(
        7,
        (
            Affine(0, freeze_float32(np.full((1, 7), -1.0)), freeze_float32([7.0])),
            Activation(1, Shape.RELU),
            Affine(2, freeze_float32([[1.0]]), freeze_float32([0.0])),
        ),
    )
    names = [f"x{i}" for i in range(7)]
    quantities = (*(QueryVariable(n, Real(low, Fraction(2))) for n in names), QueryVariable("y", Real()))
    reads = tuple(Var(n) for n in names)
    wish = (Const(Fraction(1, 10**9)) <= Var("y"),)
    real = Query(quantities, wish, (NetworkCall(network, reads, ("y",)),))
    assert isinstance(attempted(real), Unsat)
    slack = (Fraction(1, 10**5),)
    single = Query(quantities, wish, (NetworkCall(network, reads, ("y",), slack, float32=True),))
    assert not isinstance(attempted(single), Unsat)


def test_what_is_not_taken() -> None:
    random = np.random.default_rng(0)
    network = relu_network(random, 3, 4, 1)
    quantities = (
        *(QueryVariable(f"x{i}", Real(-1, 1)) for i in range(3)),
        QueryVariable("y", Real()),
        QueryVariable("z", Real()),
    )
    plain = NetworkCall(network, tuple(Var(f"x{i}") for i in range(3)), ("y",))
    wish = (Const(100) <= Var("y"),)
    assert isinstance(attempted(Query(quantities[:4], wish, (plain,))), Unsat)
    assert attempted(Query(quantities[:4], wish, (plain,)), least_inputs=7) is None  # few inputs
    smooth = Network(3, (*network.nodes[:1], Activation(1, Shape.TANH), *network.nodes[2:]))
    called = NetworkCall(smooth, plain.inputs, ("y",))
    assert attempted(Query(quantities[:4], wish, (called,))) is None  # no ReLU
    chained = NetworkCall(network, (Var("x0"), Var("x1"), Var("y")), ("z",))
    assert attempted(Query(quantities, wish, (plain, chained))) is None  # one call reads another
    unbounded = (QueryVariable("x0", Real()), *quantities[1:4])
    assert attempted(Query(unbounded, wish, (plain,))) is None


def test_time_is_limited() -> None:
    random = np.random.default_rng(1)
    network = relu_network(random, 30, 64, 64, 1)
    quantities = (*(QueryVariable(f"x{i}", Real(-1, 1)) for i in range(30)), QueryVariable("y", Real()))
    call = NetworkCall(network, tuple(Var(f"x{i}") for i in range(30)), ("y",))
    started = monotonic()
    answer = attempted(Query(quantities, (Const(900) <= Var("y"),), (call,)), seconds=0.5)
    assert monotonic() - started < 3.0
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.TIMEOUT


@pytest.mark.parametrize("float32", [False, True])
def test_proofs_are_accepted(float32: bool) -> None:
    """Whole and defined quantities, alternatives and affine inputs included."""
    accepted = 0
    for seed in range(300, 380):
        answer = attempted(random_query(seed, float32=float32))
        if isinstance(answer, Unsat):
            verdict = checked(answer)
            assert verdict.accepted, (seed, verdict.reason)
            accepted += 1
    assert accepted >= 20


def test_a_proof_does_not_fit_a_query_with_a_solution() -> None:
    """The steps of an unsatisfiable query, offered for the same query with a weaker wish."""
    refused = 0
    for seed in range(300, 340):
        query = random_query(seed)
        answer = attempted(query)
        if not isinstance(answer, Unsat) or answer.proof is None or len(query.constraints) < 2:
            continue
        weaker = Query(query.quantities, query.constraints[1:], query.calls)
        other = attempted(weaker)
        if isinstance(other, Sat):
            lowered = lower_query(weaker).query
            formulas = tuple(negation_normal_form(c) for c in lowered.constraints)
            forged = Unsat(
                Proof(write_unsat_claim(lowered, formulas), answer.proof.arithmetic, answer.proof.cases)
            )
            with suppress(BadCertificate):
                assert not checked(forged).accepted, seed
            refused += 1
    assert refused >= 3


def clauses_query(random: np.random.Generator, variables: int, clauses: int) -> tuple[Query, bool]:
    """A random formula as a network: one neuron per violated clause, and 0 = x - relu(2x - 1) for 0 and 1."""
    weights, bias = np.zeros((clauses + 2 * variables, variables)), np.zeros(clauses + 2 * variables)
    satisfied = np.ones(2**variables, dtype=np.bool_)
    points = (np.arange(2**variables)[:, None] >> np.arange(variables)) & 1
    for row in range(clauses):
        chosen, sign = random.choice(variables, 3, replace=False), random.choice([-1, 1], 3)
        weights[row, chosen], bias[row] = -sign, 1 - (sign < 0).sum()
        satisfied &= (points[:, chosen] * sign + (sign < 0)).any(axis=1)
    bias[row + 1 :] = np.repeat([0.0, -1.0], variables)
    weights[clauses : clauses + variables] = np.eye(variables)
    weights[clauses + variables :] = 2 * np.eye(variables)
    outputs = np.zeros((2, len(bias)))
    outputs[0, :clauses], outputs[1, clauses : clauses + variables] = 1.0, 1.0
    outputs[1, clauses + variables :] = -1.0
    nodes = (
        Affine(0, freeze_float32(weights), freeze_float32(bias)),
        Activation(1, Shape.RELU),
        Affine(2, freeze_float32(outputs), freeze_float32([0, 0])),
    )
    names = [f"x{i}" for i in range(variables)]
    quantities = tuple(QueryVariable(n, Real(0, 1, float32=True)) for n in names)
    quantities += (QueryVariable("violated", Real()), QueryVariable("between", Real()))
    call = NetworkCall(
        Network(variables, nodes), tuple(Var(n) for n in names), ("violated", "between"), (), float32=True
    )
    wish = (Var("violated") <= Const(0), Var("between") <= Const(0))
    return Query(quantities, wish, (call,)), bool(satisfied.any())


def test_clauses_are_propagated() -> None:
    random = np.random.default_rng(4)
    refuted = 0
    for _ in range(8):
        query, satisfiable = clauses_query(random, 10, 46)
        answer = attempted(query)
        assert isinstance(answer, Sat if satisfiable else Unsat)
        if isinstance(answer, Unsat):
            assert checked(answer).accepted
            refuted += 1
    assert refuted >= 2


def window_query(least: float) -> Query:
    """Three copies of a network on a sliding window: can all outputs be at least so large?"""
    random = np.random.default_rng(3)
    network = relu_network(random, 8, 12, 8, 1)
    names = [f"x{i}" for i in range(12)]
    quantities = [QueryVariable(n, Real(Fraction(-1), Fraction(1))) for n in names]
    quantities += [QueryVariable(f"y{t}", Real()) for t in range(3)]
    calls = [
        NetworkCall(network, tuple(Var(n) for n in names[2 * t : 2 * t + 8]), (f"y{t}",)) for t in range(3)
    ]
    wish = tuple(Var(f"y{t}") >= Const(Fraction(least)) for t in range(3))
    return Query(tuple(quantities), wish, tuple(calls))


@pytest.mark.parametrize("least", [2.0, 1.75])
def test_a_search_that_looks_ahead_has_a_certificate(least: float) -> None:
    query = window_query(least)
    search = ReluSplitting(query, tuple(negation_normal_form(c) for c in query.constraints))
    search.settings = replace(search.settings, patience=(0, 0))
    answer = search(monotonic() + 60)
    assert isinstance(answer, Unsat)
    assert checked(answer).accepted


def test_a_proof_that_is_written_later_is_the_same_in_another_process() -> None:
    answer = decide_native_query(window_query(2.0))
    assert isinstance(answer, Unsat)
    assert answer.proof is not None
    there = copy(answer.proof)  # by what pickle takes, too
    assert type(there) is Proof
    assert there.claim == answer.proof.claim
    assert there.cases == answer.proof.cases
    assert there.arithmetic == answer.proof.arithmetic
    assert answer.proof.cases is answer.proof.cases  # written once


def checked(answer: Unsat) -> CheckerVerdict:
    proof = answer.proof
    assert proof is not None
    data = {"claim": proof.claim, "arithmetic": proof.arithmetic, "cases": list(proof.cases)}
    return judge_certificate(json.loads(json.dumps({"surefoot-certificate": 1, **data})))
