"""Batches of small questions: every means agrees with trying all points, in both kinds of arithmetic."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.random_networks import networks

from surefoot.network.directed_rounding import Array
from surefoot.network.exact import exact_outputs
from surefoot.problem.meaning.inference import infer_all_values
from surefoot.problem.network import Affine, Network, dense_network
from surefoot.query.query import Sat, Unsat
from surefoot.solvers.native.batch_queries import (
    BatchAnswers,
    BatchQueries,
    QueryOutcome,
    RowSystem,
    answer_batch_queries,
    tabulate_network,
)
from surefoot.solvers.native.batch_queries import batch as entry
from surefoot.solvers.native.batch_queries import box_splitting as halving
from surefoot.solvers.native.batch_queries.batch import build_single_query
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.evaluate import Undefined

LAW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def integral_network(rng: np.random.Generator) -> Network:
    """Small whole weights: ties everywhere."""
    width, hidden, outputs = rng.integers(1, 4), rng.integers(1, 5), rng.integers(2, 4)
    sizes = [(hidden, width), (outputs, hidden)]
    return dense_network([(rng.integers(-2, 3, s), rng.integers(-2, 3, s[0])) for s in sizes])


def questions_about(
    rng: np.random.Generator, network: Network, float32: bool, whole: Array | None = None
) -> BatchQueries:
    """Boxes that overlap, some of them empty or single points, against a few systems with many offsets."""
    count, width = 12, network.width
    low = rng.integers(-3, 4, (count, width)).astype(np.float64)
    high = low + rng.integers(-1 if rng.random() < 0.2 else 0, 4, (count, width))
    systems = []
    for _ in range(3):
        rows = rng.integers(-1, 2, (rng.integers(1, 5), width + network.outputs)) * rng.choice(
            [1.0, 0.5, 3.0]
        )
        rows[rng.random(len(rows)) < 0.4, width:] = 0.0
        systems.append(RowSystem(rows.astype(np.float64), rng.random(len(rows)) < 0.5))
    offsets = rng.integers(-4, 8, (count, 4)) / rng.choice([1.0, 2.0, 10.0])
    offsets[rng.random((count, 4)) < 0.1] = np.inf
    offsets[:, 0] = rng.choice([0.0, 1.0])
    integers = np.ones(width, dtype=np.bool_) if whole is None else np.asarray(whole)
    return BatchQueries(
        network, low, high, integers, tuple(systems), rng.integers(0, 3, count), offsets, float32
    )


def satisfies(questions: BatchQueries, i: int, inputs: list[Fraction], outputs: list[Fraction]) -> bool:
    system = questions.systems[questions.system[i]]
    for row, strict, offset in zip(system.coefficients, system.strict, questions.offsets[i], strict=False):
        total = sum((Fraction(c) * v for c, v in zip(row, [*inputs, *outputs], strict=True)), Fraction(0))
        if not (total < offset if strict else total <= offset):
            return False
    return True


def reference(network: Network, inputs: list[Fraction]) -> list[Fraction] | None:
    """The reference float32 evaluation; None if it is not finite."""
    values = infer_all_values(network, np.array([[float(x) for x in inputs]], dtype=np.float32))
    if not all(np.isfinite(v).all() for v in values):
        return None
    return [Fraction(float(y)) for y in values[-1][0]]


def exact(network: Network, inputs: list[Fraction]) -> list[Fraction] | None:
    try:
        return exact_outputs(network, inputs)
    except Undefined:
        return None


def by_trying(questions: BatchQueries, i: int) -> bool:
    value = reference if questions.float32 else exact
    choices = [range(int(a), int(b) + 1) for a, b in zip(questions.low[i], questions.high[i], strict=True)]
    for point in product(*choices):
        inputs = [Fraction(x) for x in point]
        outputs = value(questions.network, inputs)
        if outputs is not None and satisfies(questions, i, inputs, outputs):
            return True
    return False


def from_table(questions: BatchQueries) -> BatchAnswers:
    table = tabulate_network(
        questions.network, questions.low.min(axis=0), questions.high.max(axis=0) + 2, questions.float32
    )
    with patch.object(entry, "SHARE", 1e9):
        return answer_batch_queries(questions, table=table)


def from_a_small_memory(questions: BatchQueries) -> BatchAnswers:
    """Room for one tally at a time."""
    low, high = questions.low.min(axis=0), questions.high.max(axis=0)
    table = tabulate_network(questions.network, low, high, questions.float32, memory=1)
    with patch.object(entry, "SHARE", 1e9):
        return answer_batch_queries(questions, table=table)


def by_points(questions: BatchQueries) -> BatchAnswers:
    return answer_batch_queries(questions, memory=0)


def by_halving(questions: BatchQueries) -> BatchAnswers:
    with (
        patch.object(halving, "LEAF", 2),
        patch.object(entry, "LEAF", 0),
        patch.object(entry, "ENUMERATED", 0),
    ):
        return answer_batch_queries(questions, memory=0)


def by_single_searches(questions: BatchQueries) -> BatchAnswers:
    nothing = {"LEAF": 0, "ENUMERATED": 0, "EACH": 0}
    with patch.multiple(entry, **nothing), patch.object(halving, "LEAF", 0):
        return answer_batch_queries(questions, memory=0, boxes=1, seconds_each=60.0)


MEANS: list[Callable[[BatchQueries], BatchAnswers]] = [
    from_table,
    from_a_small_memory,
    by_points,
    by_halving,
    answer_batch_queries,
]


def check(questions: BatchQueries, found: BatchAnswers, truth: list[bool]) -> None:
    for i, satisfiable in enumerate(truth):
        outcome, point = QueryOutcome(found.outcomes[i]), found.witness(i)
        if satisfiable:
            assert outcome is QueryOutcome.SAT
        elif questions.float32:
            assert outcome in (QueryOutcome.UNSAT, QueryOutcome.POSSIBLE)
        else:
            assert outcome is QueryOutcome.UNSAT
        assert (point is None) == (outcome is QueryOutcome.UNSAT)
        if point is not None:
            assert all(Fraction(a) <= x for a, x in zip(questions.low[i], point, strict=True))
            assert all(x <= Fraction(b) for b, x in zip(questions.high[i], point, strict=True))
            value = (reference if questions.float32 else exact)(questions.network, list(point))
            holds = value is not None and satisfies(questions, i, list(point), value)
            assert holds == (outcome is QueryOutcome.SAT)


@pytest.mark.parametrize("means", MEANS, ids=lambda m: m.__name__)
@settings(LAW, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_ties_of_whole_weights_are_decided_as_by_trying(
    means: Callable[[BatchQueries], BatchAnswers], seed: int, float32: bool
) -> None:
    rng = np.random.default_rng(seed)
    questions = questions_about(rng, integral_network(rng), float32)
    check(questions, means(questions), [by_trying(questions, i) for i in range(len(questions))])


@settings(LAW, max_examples=8)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_searches_of_their_own_decide_ties_as_by_trying(seed: int, float32: bool) -> None:
    rng = np.random.default_rng(seed)
    questions = questions_about(rng, integral_network(rng), float32)
    truth = [by_trying(questions, i) for i in range(len(questions))]
    check(questions, by_single_searches(questions), truth)


@pytest.mark.parametrize("means", [from_table, by_points, by_halving], ids=lambda m: m.__name__)
@settings(LAW, max_examples=40)
@given(networks(smooth=False), st.integers(0, 2**32 - 1), st.booleans())
def test_every_kind_of_node_is_decided_as_by_trying(
    means: Callable[[BatchQueries], BatchAnswers], network: Network, seed: int, float32: bool
) -> None:
    questions = questions_about(np.random.default_rng(seed), network, float32)
    truth = [by_trying(questions, i) for i in range(len(questions))]
    found = means(questions)
    for i, satisfiable in enumerate(truth):
        assert found.outcomes[i] != QueryOutcome.UNSAT or not satisfiable
        assert found.outcomes[i] != QueryOutcome.SAT or satisfiable


@LAW
@given(networks(smooth=True), st.integers(0, 2**32 - 1))
def test_with_tanh_and_sigmoid_no_float32_solution_is_lost(network: Network, seed: int) -> None:
    questions = questions_about(np.random.default_rng(seed), network, True)
    found = by_points(questions)
    for i in range(len(questions)):
        assert (found.outcomes[i] == QueryOutcome.SAT) == by_trying(questions, i)


def shuffled(network: Network, rng: np.random.Generator, inputs: list[float]) -> list[Fraction]:
    """Float32 inference of a dense network with the sums in another order, the bias anywhere."""
    value = np.array(inputs, dtype=np.float32)
    for node in network.nodes:
        if isinstance(node, Affine):
            parts = np.concatenate([node.weights * value, node.bias[:, None]], axis=1)[
                :, rng.permutation(len(value) + 1)
            ]
            total = np.zeros(len(parts), dtype=np.float32)
            for column in parts.T:
                total = total + column
            value = total
        else:
            value = np.maximum(value, np.float32(0))
    return [Fraction(float(y)) for y in value]


@settings(LAW, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_unsat_covers_every_order_of_summation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = dense_network(
        [(rng.normal(size=(6, 3)), rng.normal(size=6)), (rng.normal(size=(2, 6)), rng.normal(size=2))]
    )
    point = rng.integers(-9, 9, 3).astype(np.float64)
    outputs = infer_all_values(network, point[None].astype(np.float32))[-1][0].astype(np.float64)
    # Offsets next to what the reference computes: other orders fall on either side.
    gap = float(outputs[0] - outputs[1])
    count = 9
    offsets = gap + np.arange(-4, 5)[:, None] * 2.0**-24
    system = RowSystem(np.array([[0, 0, 0, 1.0, -1.0]]), np.array([rng.random() < 0.5]))
    questions = BatchQueries(
        network,
        np.tile(point, (count, 1)),
        np.tile(point, (count, 1)),
        np.ones(3, dtype=np.bool_),
        (system,),
        np.zeros(count, dtype=np.int64),
        offsets,
    )
    found = answer_batch_queries(questions)
    inputs = [Fraction(x) for x in point]
    others = [shuffled(network, rng, point.tolist()) for _ in range(20)]
    for i in range(count):
        assert (found.outcomes[i] == QueryOutcome.SAT) == by_trying(questions, i)
        if any(satisfies(questions, i, inputs, other) for other in others):
            assert found.possible[i]


@settings(LAW, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_with_real_inputs_it_agrees_with_single_queries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = integral_network(rng)
    questions = questions_about(rng, network, False, rng.random(network.width) < 0.5)
    found = answer_batch_queries(questions)
    for i in range(len(questions)):
        if (questions.low[i] > questions.high[i]).any():
            assert found.outcomes[i] == QueryOutcome.UNSAT
            continue
        asked = build_single_query(questions, i)
        assert asked is not None
        expected = decide_native_query(asked, seconds=5.0)
        match expected:
            case Sat():
                assert found.outcomes[i] in (QueryOutcome.SAT, QueryOutcome.OPEN)
            case Unsat():
                assert found.outcomes[i] in (QueryOutcome.UNSAT, QueryOutcome.OPEN)
        point = found.witness(i)
        if found.outcomes[i] == QueryOutcome.SAT:
            assert point is not None
            value = exact(network, list(point))
            assert value is not None
            assert satisfies(questions, i, list(point), value)


@settings(LAW, max_examples=30)
@given(networks(smooth=False), st.integers(0, 2**32 - 1))
def test_float32_with_real_inputs_keeps_what_the_reference_reaches(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    questions = questions_about(rng, network, True, np.zeros(network.width, dtype=np.bool_))
    found = answer_batch_queries(questions, boxes=50, seconds_each=0.5)
    for i in range(len(questions)):
        if (questions.low[i] > questions.high[i]).any():
            continue
        for point in rng.uniform(questions.low[i], questions.high[i], (40, network.width)):
            inputs = [Fraction(x) for x in point]
            outputs = reference(network, inputs)
            if outputs is not None and satisfies(questions, i, inputs, outputs):
                assert found.possible[i]
        point = found.witness(i)
        if found.outcomes[i] == QueryOutcome.SAT:
            assert point is not None
            outputs = reference(network, list(point))
            assert outputs is not None
            assert satisfies(questions, i, list(point), outputs)


@settings(LAW, max_examples=8)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_order_of_questions_does_not_matter(seed: int, float32: bool) -> None:
    rng = np.random.default_rng(seed)
    questions = questions_about(rng, integral_network(rng), float32)
    order = rng.permutation(len(questions))
    mixed = BatchQueries(
        questions.network,
        questions.low[order],
        questions.high[order],
        questions.whole,
        questions.systems,
        questions.system[order],
        questions.offsets[order],
        float32,
    )
    for means in MEANS:
        found, again = means(questions), means(mixed)
        assert (found.outcomes[order] == again.outcomes).all()
        assert [found.witness(i) for i in order] == [again.witness(i) for i in range(len(order))]
