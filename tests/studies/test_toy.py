"""The toy study: the numbers of the paper, its environment step by step, its files, its expectations."""

from fractions import Fraction
from importlib.resources import files
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.studies.toy_network import toy_model

from surefoot.engines import ENGINES
from surefoot.errors import Unsupported
from surefoot.formats.onnx import read_onnx_network
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.meaning.inference import infer_all_values, infer_outputs
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.network import freeze_float32
from surefoot.problem.property import Within
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    apply_move,
    holds_in_state,
    is_initial,
    permitted_transitions,
)
from surefoot.problem.validate import validate_problem
from surefoot.run import verify
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget
from surefoot_studies.comparison import compare_study, load_study
from surefoot_studies.toy.problem import (
    PROBLEMS,
    below_ten,
    below_ten_from_upper_right,
    below_thirteen,
    settles_within,
    toy_network,
)

ASSETS = files("surefoot_studies.toy").joinpath("assets")


def test_the_network_gives_every_number_of_the_paper() -> None:
    values = [v[0].tolist() for v in infer_all_values(toy_network(), freeze_float32([[1, 1]]))]
    assert values[2] == [4, 0]  # after the first ReLU
    assert values[4] == [0, 9]
    assert values[5] == [-18]


def test_the_largest_output_is_twelve_and_the_right_side_is_low() -> None:
    """What README.md derives by hand, on a grid."""
    line = np.linspace(-1, 1, 81, dtype=np.float32)
    grid = np.array(list(product(line, line)), dtype=np.float32)
    outputs = infer_outputs(toy_network(), grid)[:, 0]
    assert outputs.max() == 12
    assert grid[outputs.argmax()].tolist() == [-1, 0]
    assert outputs[(grid[:, 0] >= 0) & (grid[:, 1] >= 0)].max() == -4


def move_to(x1: Fraction, x2: Fraction, state: dict[str, Fraction]) -> dict[str, Fraction]:
    problem = below_ten()
    (transition,) = permitted_transitions(problem, state)
    return dict(apply_move(problem, state, Move(transition, (0,), {"next_x1": x1, "next_x2": x2})))


HALF = Fraction(1, 2)


def test_inputs_fall_while_the_output_is_not_positive() -> None:
    start = {"x1": Fraction(0), "x2": Fraction(1)}  # output -14
    assert move_to(-HALF, HALF, start) == {"x1": -HALF, "x2": HALF}
    assert move_to(Fraction(0), Fraction(1), start) == start  # by at most 1/2, so perhaps by nothing
    for wrong in (
        (Fraction(1, 4), Fraction(1)),
        (Fraction(-3, 4), Fraction(1)),
        (Fraction(0), Fraction(1, 4)),
    ):
        with pytest.raises(NotAStep, match="assumption"):
            move_to(*wrong, start)


def test_inputs_rise_while_the_output_is_positive() -> None:
    start = {"x1": Fraction(-1), "x2": Fraction(-1)}  # output 10
    assert move_to(-HALF, -HALF, start) == {"x1": -HALF, "x2": -HALF}
    with pytest.raises(NotAStep, match="assumption"):
        move_to(Fraction(-1, 4), Fraction(-1), start)


def test_inputs_stay_in_their_range() -> None:
    with pytest.raises(NotAStep, match="outside its kind"):
        move_to(Fraction(-1), Fraction(-5, 4), {"x1": Fraction(-1, 2), "x2": Fraction(-1)})


def test_the_violation_of_two_steps_by_hand() -> None:
    problem = below_ten_from_upper_right()
    path = [{"x1": Fraction(0), "x2": Fraction(1)}]
    assert is_initial(problem.environment, path[0])
    path.append(move_to(-HALF, HALF, path[-1]))
    path.append(move_to(Fraction(-1), Fraction(0), path[-1]))
    assert [holds_in_state(problem, s, problem.property.bad) for s in path] == [False, False, True]  # type: ignore[union-attr]


def test_the_restless_environment_moves_unless_it_is_at_the_border() -> None:
    problem = settles_within(3)
    state = {"x1": Fraction(-1), "x2": Fraction(-1)}
    assert isinstance(problem.property, Within)
    for _ in range(3):
        assert not holds_in_state(problem, state, problem.property.good)
        (transition,) = permitted_transitions(problem, state)
        nearest = {f"next_{n}": v + Fraction(1, 4) for n, v in state.items()}
        with pytest.raises(NotAStep, match="assumption"):
            apply_move(problem, state, Move(transition, (0,), {f"next_{n}": v for n, v in state.items()}))
        state = dict(apply_move(problem, state, Move(transition, (0,), nearest)))
    assert not holds_in_state(problem, state, problem.property.good)


def test_simulation_is_refused_because_the_paper_gives_no_law() -> None:
    with pytest.raises(Unsupported, match="no sampling law"):
        simulate_run(below_thirteen(), {"x1": Fraction(0), "x2": Fraction(0)}, 3, Random(0))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_valid(name: str) -> None:
    validate_problem(PROBLEMS[name]())


def test_the_onnx_file_holds_the_same_network() -> None:
    data = ASSETS.joinpath("toy.onnx").read_bytes()
    assert len(data) < 2000
    assert data == toy_model().SerializeToString()
    read = read_onnx_network(Path(str(ASSETS)) / "toy.onnx")
    batch = np.random.default_rng(0).uniform(-1, 1, size=(200, 2)).astype(np.float32)
    assert infer_outputs(read, batch).tobytes() == infer_outputs(toy_network(), batch).tobytes()


def test_the_problem_file_is_the_same_problem() -> None:
    read = read_problem_file(str(ASSETS.joinpath("toy.toml")), property="below_ten")
    written = below_ten_from_upper_right()
    assert read.environment.initial == written.environment.initial
    assert read.property == written.property
    assert [e.guard for e in read.environment.components[0].edges] == [
        e.guard for e in written.environment.components[0].edges
    ]
    found = verify(read, ENGINES["bmc"](), Budget(60)).verdict
    assert isinstance(found, Violated)
    assert len(found.trace.moves) == 2


def test_every_expectation_is_met() -> None:
    rows = list(
        compare_study(
            load_study("toy"),
            lambda problem, engine, options: verify(problem, ENGINES[engine](**options), Budget(60)),
        )
    )
    assert len(rows) == 6
    assert [row for row in rows if not row.as_recorded] == []
