"""Batches of small questions: cases with known answers, one for each thing that could go wrong."""

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.network.directed_rounding import Array
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Network, Shape, dense_network
from surefoot.solvers.native.batch_queries import (
    BatchQueries,
    QueryOutcome,
    RowSystem,
    answer_batch_queries,
    argmax_row_system,
    tabulate_network,
)
from surefoot.work.budget import Budget

TWINS = dense_network([([[1, 0], [1, 0], [0, 1]], [0, 0, 0])])  # outputs x, x, y


def asked(
    network: Network,
    low: object,
    high: object,
    *systems: RowSystem,
    system: object = 0,
    offsets: object = 0.0,
    whole: object = True,
    float32: bool = True,
) -> BatchQueries:
    """Questions from lists; one system, offset or kind of input serves all."""
    lows, highs = (np.atleast_2d(np.asarray(b, dtype=np.float64)) for b in (low, high))
    rows = max(len(s.strict) for s in systems)
    return BatchQueries(
        network,
        lows,
        highs,
        np.broadcast_to(np.asarray(whole, dtype=np.bool_), (network.width,)),
        systems,
        np.broadcast_to(np.asarray(system, dtype=np.int64), (len(lows),)),
        np.broadcast_to(np.asarray(offsets, dtype=np.float64), (len(lows), rows)),
        float32,
    )


def trained_like(width: int, seed: int = 1) -> Network:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(width, 4)) * [0.2, 0.2, 0.6, 0.6]
    return dense_network(
        [
            (first, rng.normal(size=width) * 2),
            (rng.normal(size=(width, width)) * np.sqrt(2 / width), rng.normal(size=width)),
            (rng.normal(size=(9, width)) * np.sqrt(2 / width), rng.normal(size=9)),
        ]
    )


@pytest.mark.parametrize("float32", [False, True])
def test_of_equal_outputs_the_lowest_index_is_chosen(float32: bool) -> None:
    systems = tuple(argmax_row_system(TWINS, a) for a in range(3))
    found = answer_batch_queries(
        asked(TWINS, [[2, 1]] * 3, [[2, 1]] * 3, *systems, system=[0, 1, 2], float32=float32)
    )
    assert found.outcomes.tolist() == [
        QueryOutcome.SAT,
        QueryOutcome.POSSIBLE if float32 else QueryOutcome.UNSAT,
        QueryOutcome.UNSAT,
    ]
    assert found.witness(0) == (2, 1)
    assert found.possible.tolist() == [True, float32, False]


def test_only_applicable_actions_compete() -> None:
    systems = (
        argmax_row_system(TWINS, 2),
        argmax_row_system(TWINS, 2, among=[1, 2]),
        argmax_row_system(TWINS, 2, among=[2]),
    )
    found = answer_batch_queries(
        asked(TWINS, [[3, 1]] * 3, [[3, 2]] * 3, *systems, system=[0, 1, 2], float32=False)
    )
    assert found.outcomes.tolist() == [QueryOutcome.UNSAT, QueryOutcome.UNSAT, QueryOutcome.SAT]


def test_where_only_another_order_of_summation_satisfies_the_rows_it_is_possible() -> None:
    # (2^25 x + x) - 2^25 x is 0 from left to right, as float32 drops the small term; added last, x stays.
    network = dense_network([([[2.0**25, 1.0, -(2.0**25)]], [0.0])])
    at_least_one = RowSystem(np.array([[0, 0, 0, -1.0]]), np.array([False]))
    questions = asked(network, [1, 1, 1], [1, 1, 1], at_least_one, offsets=-1.0)
    assert infer_outputs(network, np.ones((1, 3), dtype=np.float32)) == 0
    found = answer_batch_queries(questions)
    assert found.outcomes.tolist() == [QueryOutcome.POSSIBLE]
    assert found.witness(0) == (1, 1, 1)
    assert "rounding decides" in found.reasons[0]
    real = asked(network, [1, 1, 1], [1, 1, 1], at_least_one, offsets=-1.0, float32=False)
    assert answer_batch_queries(real).outcomes.tolist() == [QueryOutcome.SAT]


def test_where_only_the_reference_satisfies_the_rows_it_is_satisfied() -> None:
    network = dense_network([([[2.0**25, 1.0, -(2.0**25)]], [0.0])])
    at_most_zero = RowSystem(np.array([[0, 0, 0, 1.0]]), np.array([False]))
    questions = asked(network, [1, 1, 1], [1, 1, 1], at_most_zero)
    assert answer_batch_queries(questions).outcomes.tolist() == [QueryOutcome.SAT]
    real = asked(network, [1, 1, 1], [1, 1, 1], at_most_zero, float32=False)
    assert answer_batch_queries(real).outcomes.tolist() == [QueryOutcome.UNSAT]


def test_a_margin_beyond_rounding_is_unsat_in_every_order() -> None:
    network = dense_network([([[2.0**25, 1.0, -(2.0**25)]], [0.0])])
    large = RowSystem(np.array([[0, 0, 0, -1.0]]), np.array([False]))
    assert (
        answer_batch_queries(asked(network, [1, 1, 1], [1, 1, 1], large, offsets=-100.0)).outcomes[0]
        == QueryOutcome.UNSAT
    )


def test_empty_boxes_and_boxes_without_integers_are_unsat() -> None:
    anything = RowSystem(np.zeros((0, 5)), np.zeros(0, dtype=np.bool_))
    found = answer_batch_queries(
        asked(TWINS, [[0, 0], [1, 0], [0.25, 0]], [[1, 1], [0, 1], [0.75, 1]], anything)
    )
    assert found.outcomes.tolist() == [QueryOutcome.SAT, QueryOutcome.UNSAT, QueryOutcome.UNSAT]
    assert found.witness(1) is None
    assert np.isnan(found.points[1]).all()


def test_strict_guards_between_integers() -> None:
    first = argmax_row_system(TWINS, 0, among=[0]).and_also(
        [[2, 0], [-2, 0]], strict=True
    )  # 2 < 2x < 4 or so
    found = answer_batch_queries(asked(TWINS, [[0, 0]] * 2, [[9, 9]] * 2, first, offsets=[[4, -2], [5, -3]]))
    assert found.outcomes.tolist() == [QueryOutcome.UNSAT, QueryOutcome.SAT]
    assert found.witness(1) is not None
    assert found.points[1, 0] == 2


def test_a_row_without_offset_is_left_out() -> None:
    rows = RowSystem(np.array([[1.0, 0, 0, 0, 0]]), np.array([False]))
    found = answer_batch_queries(asked(TWINS, [[3, 3]] * 2, [[3, 3]] * 2, rows, offsets=[[1], [np.inf]]))
    assert found.outcomes.tolist() == [QueryOutcome.UNSAT, QueryOutcome.SAT]


def test_real_and_integer_inputs_together() -> None:
    # relu(x - y) >= 1/2 with an integer x: 2 needs y <= 3/2, 1 needs y <= 1/2.
    network = dense_network([([[1, -1]], [0]), ([[1]], [0])])
    high_enough = RowSystem(np.array([[0, 0, -1.0]]), np.array([False]))
    questions = asked(
        network,
        [[0.5, 1.25], [0.5, 1.75], [0.5, 0.5]],
        [[2.5, 3.0], [2.5, 3.0], [1.5, 0.5]],
        high_enough,
        offsets=-0.5,
        whole=[True, False],
        float32=False,
    )
    found = answer_batch_queries(questions)
    assert found.outcomes.tolist() == [QueryOutcome.SAT, QueryOutcome.UNSAT, QueryOutcome.SAT]
    assert found.points[0, 0] == 2
    assert found.points[0, 1] <= 1.5
    assert found.witness(2) == (1, Fraction(1, 2))


def test_a_single_real_solution_is_found_exactly() -> None:
    # 3 x = 1 has one solution, which is not a float64 number.
    third = dense_network([([[3]], [-1])])
    both = RowSystem(np.array([[0, 1.0], [0, -1.0]]), np.array([False, False]))
    found = answer_batch_queries(asked(third, [0], [1], both, whole=False, float32=False))
    assert found.outcomes.tolist() == [QueryOutcome.SAT]
    assert found.witness(0) == (Fraction(1, 3),)


def test_large_grids_are_bounded_rather_than_enumerated() -> None:
    network = trained_like(16)
    rng = np.random.default_rng(5)
    low = np.floor(rng.uniform(-3000, 3000, (30, 4)))
    systems = tuple(argmax_row_system(network, a) for a in range(9))
    system = rng.integers(0, 9, 30)
    questions = asked(network, low, low + 39, *systems, system=system, float32=False)
    found = answer_batch_queries(questions, Budget(20))
    assert found.means["bounds"] + found.means.get("single", 0) == 30
    assert set(found.outcomes.tolist()) == {QueryOutcome.SAT, QueryOutcome.UNSAT}
    for i in range(30):
        samples = np.floor(rng.uniform(low[i], low[i] + 40, (2000, 4)))
        if found.outcomes[i] == QueryOutcome.UNSAT:
            assert system[i] not in infer_outputs(network, samples.astype(np.float32)).argmax(axis=1)


def test_smooth_networks_are_bounded_too() -> None:
    rng = np.random.default_rng(3)
    network = dense_network(
        [(rng.normal(size=(8, 2)), rng.normal(size=8)), (rng.normal(size=(1, 8)), [0])], Shape.TANH
    )
    row = RowSystem(np.array([[0, 0, -1.0]]), np.array([False]))
    largest = np.abs(np.asarray(network.nodes[-1].weights)).sum()  # type: ignore[union-attr]
    offsets = -np.array([[0.5 * largest], [largest + 0.1]])
    for whole in (True, False):
        questions = asked(network, [[-9, -9]] * 2, [[9, 9]] * 2, row, offsets=offsets, whole=whole)
        found = answer_batch_queries(questions, Budget(10), memory=0)
        assert found.outcomes[1] == QueryOutcome.UNSAT
        if found.outcomes[0] == QueryOutcome.SAT:
            assert infer_outputs(network, found.points[:1].astype(np.float32))[0, 0] >= 0.5 * largest


def random_questions(
    network: Network, count: int, extent: Array, seed: int, float32: bool = True
) -> BatchQueries:
    """Cells of a grid, the action chosen there, and the cell that the step leads to."""
    rng = np.random.default_rng(seed)
    first, last = np.array([0, 0, -5, -5]), np.array([30, 30, 5, 5])
    low = np.floor(rng.uniform(first, last - extent + 2, (count, 4)))
    moves = np.array([[1, 0, 1, 0], [-1, 0, -1, 0], [0, 1, 0, 1], [0, -1, 0, -1]])
    systems = tuple(argmax_row_system(network, a).and_also(moves) for a in range(9))
    cell = np.floor(rng.uniform(first[:2], last[:2], (count, 2)) / extent[:2]) * extent[:2]
    offsets = np.zeros((count, 12))
    offsets[:, 8::2], offsets[:, 9::2] = cell + extent[:2] - 1, -cell
    return asked(
        network,
        low,
        low + extent - 1,
        *systems,
        system=rng.integers(0, 9, count),
        offsets=offsets,
        float32=float32,
    )


def test_five_thousand_questions_take_less_than_ten_seconds() -> None:
    network = trained_like(32)
    started = process_time()
    questions = random_questions(network, 5000, np.array([6, 6, 4, 4]), 1)
    found = answer_batch_queries(questions)
    assert process_time() - started < 10
    assert (found.outcomes == QueryOutcome.SAT).sum() > 50
    assert (found.outcomes == QueryOutcome.UNSAT).sum() > 50
    inputs = found.points[found.outcomes == QueryOutcome.SAT]
    actions = infer_outputs(network, inputs.astype(np.float32)).argmax(axis=1)
    assert (actions == questions.system[found.outcomes == QueryOutcome.SAT]).all()


def test_a_table_serves_many_calls() -> None:
    network = trained_like(16)
    table = tabulate_network(network, np.array([0.0, 0, -5, -5]), np.array([30.0, 30, 5, 5]), True)
    for seed in range(3):
        questions = random_questions(network, 40, np.array([3, 3, 2, 2]), seed)
        with_table, without = (
            answer_batch_queries(questions, table=table),
            answer_batch_queries(questions, memory=0),
        )
        assert with_table.outcomes.tolist() == without.outcomes.tolist()
        assert with_table.means["table"] == 40
        assert without.means["points"] == 40
    with pytest.raises(ValueError, match="another network"):
        answer_batch_queries(
            random_questions(trained_like(16, seed=2), 4, np.array([3, 3, 2, 2]), 0), table=table
        )


def test_a_table_of_integers_says_nothing_about_reals() -> None:
    network = dense_network([([[1, 0], [0, 1]], [0, 0])])
    between = RowSystem(
        np.array([[0, 0, 2.0, 0], [0, 0, -2.0, 0]]), np.array([True, True])
    )  # 1/2 < 2 x < 3/2
    table = tabulate_network(network, np.array([-0.5, 0.0]), np.array([2.5, 2.0]), True)
    assert table.shape == (3, 3)
    for whole in (True, False):
        questions = asked(network, [0, 0], [2, 2], between, offsets=[1.5, -0.5], whole=whole)
        expected = QueryOutcome.UNSAT if whole else QueryOutcome.SAT
        assert answer_batch_queries(questions, table=table).outcomes.tolist() == [expected]


@pytest.mark.parametrize("low", [[0.0], [3.0, 3.0], [-1e5, -1e5]])
def test_a_table_that_cannot_be_made_is_refused(low: list[float]) -> None:
    with pytest.raises(InvalidProblem):
        tabulate_network(TWINS, np.array(low), np.array([2.0, 1e5]), True)


def test_when_time_is_up_questions_stay_open() -> None:
    network = trained_like(16)
    questions = random_questions(network, 20, np.array([3, 3, 2, 2]), 0)
    for memory in (0, 1 << 29):
        found = answer_batch_queries(questions, Budget(0.0), memory=memory)
        assert (found.outcomes == QueryOutcome.OPEN).all()
        assert "time ran out" in found.reasons[0]
    real = asked(network, [[0, 0, -5, -5]], [[30, 30, 5, 5]], argmax_row_system(network, 0), whole=False)
    assert answer_batch_queries(real, Budget(0.0)).possible.all()


def test_progress_is_told() -> None:
    lines: list[str] = []
    network = trained_like(16)
    systems = tuple(argmax_row_system(network, a) for a in range(9))
    low, high = [[0, 0, -5, -5]] * 9, [[30, 30, 5, 5]] * 9
    real = asked(network, low, high, *systems, system=range(9), whole=False)
    answer_batch_queries(real, Budget(5.0, progress=lines.append))
    assert any("questions are searched" in line for line in lines)


@pytest.mark.parametrize(
    ("low", "high", "offsets"),
    [([[0.0]], [[1.0]], 0.0), ([[0.0, np.inf]], [[1.0, np.inf]], 0.0), ([[0.0, 0.0]], [[1.0, 1.0]], np.nan)],
)
def test_what_does_not_fit_is_refused(low: object, high: object, offsets: float) -> None:
    with pytest.raises(InvalidProblem):
        asked(TWINS, low, high, argmax_row_system(TWINS, 0), offsets=offsets)


def test_the_example_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "solvers.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```", page, re.DOTALL)
    (tmp_path / "example.py").write_text(
        next(text for kind, text in blocks if kind == "python"), encoding="utf-8"
    )
    run = subprocess.run(
        [sys.executable, tmp_path / "example.py"], capture_output=True, text=True, check=True
    )
    assert run.stdout == next(text for kind, text in blocks if not kind)


@pytest.mark.parametrize("whole", [True, False])
def test_questions_about_inputs_alone(whole: bool) -> None:
    near = RowSystem(np.zeros((0, 5)), np.zeros(0, dtype=np.bool_)).and_also(
        [[3, 1], [-3, -1]], strict=[True, False]
    )
    questions = asked(TWINS, [[0, 0]] * 2, [[5, 5]] * 2, near, offsets=[[7.5, -7], [0, 0]], whole=whole)
    found = answer_batch_queries(questions, memory=0)
    assert found.outcomes.tolist() == [QueryOutcome.SAT, QueryOutcome.UNSAT]
    assert 7 <= found.points[0] @ [3, 1] < 7.5


def test_rows_of_their_own_for_every_question() -> None:
    network = trained_like(16)
    questions = random_questions(network, 200, np.array([4, 4, 2, 2]), 3)
    shared = answer_batch_queries(questions).outcomes
    rng = np.random.default_rng(0)
    scale = (501 + rng.permutation(200)) / 1024  # the same rows, but no two systems alike
    systems = tuple(
        RowSystem(s.coefficients * f, s.strict)
        for s, f in ((questions.systems[a], f) for a, f in zip(questions.system, scale, strict=True))
    )
    own = asked(
        network,
        questions.low,
        questions.high,
        *systems,
        system=np.arange(200),
        offsets=questions.offsets * scale[:, None],
    )
    found = answer_batch_queries(own)
    assert found.outcomes.tolist() == shared.tolist()
    assert answer_batch_queries(own, memory=0).outcomes.tolist() == found.outcomes.tolist()
