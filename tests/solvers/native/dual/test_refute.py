"""The dual search never contradicts mixed-integer programming, enumeration or a planted point."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.solvers.native.dual.instances import least_violation, random_question, satisfied, shifted

from surefoot.solvers.native.relu_splitting.branch_and_bound import needed_rows, refute_chain_problem
from surefoot.solvers.native.relu_splitting.chain_problem import build_chain_problem, evaluate_chain_rows
from surefoot.solvers.native.relu_splitting.search_state import (
    CandidatePoint,
    ChainRefutation,
    ReluSearchSettings,
    SearchGaveUp,
    SearchLimit,
)

MOST = 1500
REPEATED_INPUTS = (2132, 2482)  # a copy reads an input twice: its way must not be paid twice in a clip


@pytest.mark.parametrize("block", range(6))
def test_agrees_with_mixed_integer_programming(block: int) -> None:
    decided = 0
    for seed in (*range(9 * block, 9 * block + 9), *REPEATED_INPUTS[block::6]):
        problem = random_question(seed)
        least = least_violation(problem)
        for margin in (0.5, 1e-2, 1e-4):
            wanted = refute_chain_problem(shifted(problem, least + margin), most_nodes=MOST)
            assert not isinstance(wanted, ChainRefutation), seed
            if isinstance(wanted, CandidatePoint):
                assert satisfied(shifted(problem, least + margin), wanted.point), seed
            unwanted = refute_chain_problem(shifted(problem, least - margin), most_nodes=MOST)
            assert not isinstance(unwanted, CandidatePoint), seed
            decided += isinstance(wanted, CandidatePoint) + isinstance(unwanted, ChainRefutation)
    assert decided >= 48  # of at least 54


def test_looking_ahead_agrees_with_mixed_integer_programming() -> None:
    at_once = ReluSearchSettings(patience=(0, 0), log=True)
    decided = 0
    for seed in range(60, 80):
        problem = random_question(seed)
        least = least_violation(problem)
        for margin in (0.5, 1e-2):
            wanted = refute_chain_problem(shifted(problem, least + margin), at_once, MOST)
            assert not isinstance(wanted, ChainRefutation), seed
            unwanted = refute_chain_problem(shifted(problem, least - margin), at_once, MOST)
            assert not isinstance(unwanted, CandidatePoint), seed
            decided += isinstance(wanted, CandidatePoint) + isinstance(unwanted, ChainRefutation)
    assert decided >= 72  # of 80


def test_the_order_of_copies_inputs_and_neurons_does_not_matter() -> None:
    problem = random_question(11)
    least = least_violation(problem)
    turned = replace(problem, low=problem.low[::-1].copy(), high=problem.high[::-1].copy())
    turned = replace(turned, whole=problem.whole[::-1].copy(), direct=problem.direct[:, ::-1].copy())
    turned = replace(turned, first=problem.first[:, ::-1].copy())
    for offset in (least - 0.01, least + 0.01):
        kinds = {type(refute_chain_problem(shifted(p, offset), most_nodes=MOST)) for p in (problem, turned)}
        assert len(kinds) == 1


def test_whole_inputs_are_enumerated_correctly() -> None:
    generator = np.random.default_rng(5)
    for _ in range(10):
        weights = (generator.normal(0, 1, (6, 3)), generator.normal(0, 1, (1, 6)))
        biases = (generator.normal(0, 1, 6), generator.normal(0, 1, 1))
        low, high = np.full(3, -2.5), np.full(3, 2.5)
        problem = build_chain_problem(
            weights, biases, low, high, np.ones((1, 1)), np.zeros(1), whole=np.ones(3, dtype=np.bool_)
        )
        points = np.array(list(product(range(-2, 3), repeat=3)), dtype=float)
        least = float(evaluate_chain_rows(problem, points)[0].min())
        assert isinstance(refute_chain_problem(shifted(problem, least - 1e-3)), ChainRefutation)
        answer = refute_chain_problem(shifted(problem, least + 1e-3))
        assert isinstance(answer, CandidatePoint)
        assert (answer.point == np.rint(answer.point)).all()


def test_an_integer_gap_without_any_point_is_refuted() -> None:
    weights, biases = (np.eye(1), np.eye(1)), (np.zeros(1), np.zeros(1))
    rows = np.array([[1.0], [-1.0]])
    problem = build_chain_problem(
        weights,
        biases,
        np.zeros(1),
        np.ones(1),
        rows,
        np.array([0.75, -0.25]),
        whole=np.ones(1, dtype=np.bool_),
    )
    assert isinstance(refute_chain_problem(problem), ChainRefutation)
    empty = build_chain_problem(
        weights,
        biases,
        np.full(1, 0.2),
        np.full(1, 0.8),
        rows,
        np.array([9.0, 9.0]),
        whole=np.ones(1, dtype=np.bool_),
    )
    assert isinstance(refute_chain_problem(empty), ChainRefutation)


@pytest.mark.parametrize("depth", [1e-2, 1e-6])
def test_finds_needles(depth: float) -> None:
    """A tent of height 1 and width 0.02 somewhere in eight dimensions, built from |x - centre|."""
    generator = np.random.default_rng(3)
    centre = np.round(generator.uniform(-0.5, 0.5, 8), 3)
    first = np.vstack([np.eye(8), -np.eye(8)])
    weights = (first, -np.full((1, 16), 100.0), np.ones((1, 1)))
    biases = (np.concatenate([-centre, centre]), np.ones(1), np.zeros(1))
    low, high = -np.ones(8), np.ones(8)
    rows = -np.ones((1, 1))
    assert isinstance(
        refute_chain_problem(build_chain_problem(weights, biases, low, high, rows, np.array([-1.0 - depth]))),
        ChainRefutation,
    )
    assert isinstance(
        refute_chain_problem(build_chain_problem(weights, biases, low, high, rows, np.array([-1.0 + depth]))),
        CandidatePoint,
    )


def test_ties_are_never_refuted() -> None:
    """The value 1/3 in float64 is attained at the end of the box: refuting it would be wrong."""
    generator = np.random.default_rng(9)
    for _ in range(50):
        weights = (generator.normal(0, 1, (3, 2)), generator.normal(0, 1, (1, 3)))
        biases = (generator.normal(0, 1, 3), generator.normal(0, 1, 1))
        fixed = generator.normal(0, 1, 2)
        problem = build_chain_problem(weights, biases, fixed, fixed, np.ones((1, 1)), np.zeros(1))
        value = float(evaluate_chain_rows(problem, fixed[None])[0][0, 0])
        assert not isinstance(refute_chain_problem(shifted(problem, value)), ChainRefutation)


def test_answers_do_not_change_from_run_to_run() -> None:
    problem = random_question(7)
    least = least_violation(problem)
    first, second = (
        refute_chain_problem(shifted(problem, least - 0.01), ReluSearchSettings(log=True)) for _ in range(2)
    )
    assert isinstance(first, ChainRefutation)
    assert isinstance(second, ChainRefutation)
    assert repr(first.log.entries) == repr(second.log.entries)


def test_limits_are_answers() -> None:
    problem = next(
        p
        for p in (shifted(q, least_violation(q) - 1e-3) for q in map(random_question, range(200)))
        if refute_chain_problem(p, most_nodes=MOST).nodes > 40
    )
    few = refute_chain_problem(problem, ReluSearchSettings(batch=1), 3)
    assert isinstance(few, SearchGaveUp)
    assert few.why is SearchLimit.NODES
    late = refute_chain_problem(problem, ReluSearchSettings(expired=lambda: True))
    assert isinstance(late, SearchGaveUp)
    assert late.why is SearchLimit.TIME
    crowded = refute_chain_problem(problem, ReluSearchSettings(most_open=1, batch=1))
    assert isinstance(crowded, SearchGaveUp)
    assert crowded.why is SearchLimit.OPEN


def test_weakened_rows_cover_every_meaning() -> None:
    weights, biases = (np.eye(1), np.eye(1)), (np.zeros(1), np.zeros(1))
    box = (np.ones(1), np.full(1, 2.0))
    sharp = build_chain_problem(weights, biases, *box, np.ones((1, 1)), np.full(1, 0.9))
    assert isinstance(refute_chain_problem(sharp), ChainRefutation)
    by_row = build_chain_problem(
        weights, biases, *box, np.ones((1, 1)), np.full(1, 0.9), row_errors=np.full((1, 1), 0.2)
    )
    assert isinstance(refute_chain_problem(by_row), CandidatePoint)
    by_offset = build_chain_problem(
        weights, biases, *box, np.ones((1, 1)), np.full(1, 0.9), offset_errors=np.full(1, 0.2)
    )
    assert isinstance(refute_chain_problem(by_offset), CandidatePoint)


@pytest.mark.parametrize(
    "change",
    [
        {"low": np.full(2, np.nan)},
        {"high": np.full(2, -9.0)},
        {"index": np.array([[0, 5]])},
        {"offsets": np.full(1, np.inf)},
    ],
)
def test_refuses_nonsense(change: dict[str, np.ndarray]) -> None:
    parts = {
        "low": -np.ones(2),
        "high": np.ones(2),
        "rows": np.ones((1, 1)),
        "offsets": np.zeros(1),
        **change,
    }
    with pytest.raises(ValueError, match=r"bound|finite|reads"):
        build_chain_problem((np.ones((3, 2)), np.ones((1, 3))), (np.zeros(3), np.zeros(1)), **parts)


def test_fewer_steps_are_as_sound() -> None:
    for seed in range(300, 310):
        problem = random_question(seed)
        least = least_violation(problem)
        for count in (1, 2, 20):
            settings = ReluSearchSettings(steps=count)
            assert not isinstance(
                refute_chain_problem(shifted(problem, least + 1e-3), settings, MOST), ChainRefutation
            )


def test_rows_that_always_hold_are_not_needed() -> None:
    weights, biases = (np.eye(2), np.eye(2)), (np.zeros(2), np.zeros(2))
    rows = np.array([[1.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
    direct = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    problem = build_chain_problem(
        weights, biases, np.zeros(2), np.ones(2), rows, np.array([1.0, 2.5, 1.5]), direct=direct
    )
    assert needed_rows(problem, 2).tolist() == [True, False, False]
    assert needed_rows(
        build_chain_problem(weights, biases, np.zeros(2), np.ones(2), rows[:1], np.full(1, 9.0)),
        2,
    ).all()
