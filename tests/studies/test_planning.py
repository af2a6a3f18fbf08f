"""Blocksworld, n-puzzle and line transport: the models are what is described, and what holds of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from random import Random
from typing import Any

import pytest

from surefoot.cli.engine_options import build_engines
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, enumerate_successors, is_initial
from surefoot.run import verify
from surefoot.term.term import FALSE
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Result
from surefoot.work.budget import Budget
from surefoot_studies.assets import shipped_model
from surefoot_studies.blocksworld import model as blocks
from surefoot_studies.comparison import compare_study, load_study
from surefoot_studies.line_transport.problem import PROBLEMS as LINES
from surefoot_studies.npuzzle import model as puzzle
from surefoot_studies.write_jani_models import MODELS, jani_model_text

QUICK = (
    ("line-transport", "one-way"),
    ("line-transport", "two-ways-short"),
    ("blocksworld", "room-2"),
    ("npuzzle", "jams-shuffled-more"),
    ("npuzzle", "jams-all-tiles"),
)


@pytest.mark.parametrize(("study", "name"), MODELS)
def test_the_shipped_model_is_the_one_that_is_written(study: str, name: str) -> None:
    shipped = files(f"surefoot_studies.{study}").joinpath("assets", f"{name}.jani").read_text("utf-8")
    assert shipped == jani_model_text(study, name)


def decide(problem: Problem, engine: str, options: Mapping[str, Any]) -> Result:
    return verify(problem, build_engines(engine, options, None)[0], Budget(60))


@pytest.mark.parametrize(("study", "name"), QUICK)
def test_an_expectation_is_met_with_evidence(study: str, name: str) -> None:
    loaded = load_study(study)
    (expectation,) = [e for e in loaded.expectations if e.problem == name]
    (row,) = compare_study(replace(loaded, expectations=(expectation,)), decide)
    assert row.as_recorded, row.measured
    assert row.certified


@pytest.mark.parametrize("study", ["blocksworld", "line-transport", "npuzzle"])
def test_every_problem_has_an_expectation_and_a_policy_that_reads_everything(study: str) -> None:
    loaded = load_study(study)
    assert {e.problem for e in loaded.expectations} == set(loaded.problems)
    for name, make in loaded.problems.items():
        problem = make()
        names = {v.name for v in problem.environment.variables}
        if name == "jams-all-tiles":  # the policy of the board with four marked tiles
            names -= {f"tile_{i}" for i in range(5, 9)}
        assert {t.name for t in problem.policy.observe} == names


@pytest.mark.parametrize("name", ["one-way", "two-ways"])
def test_there_are_more_than_a_billion_starts(name: str) -> None:
    """The start condition bounds single variables: corners of a box are starts, so all of the box is."""
    inside = {
        "one-way": {"place": (0, 600_000), "load": (0, 95), "waiting": (0, 1000), "fuel": (1000, 10_000)},
        "two-ways": {"place": (100_000, 900_000), "gear": (-3, 3), "load": (0, 100), "charge": (0, 1000)},
    }[name]
    world = LINES[name]().environment
    count = 1
    for low, high in inside.values():
        count *= high - low + 1
    assert count > 10**9
    for side in (0, 1):
        assert is_initial(world, {n: ends[side] for n, ends in inside.items()})
    kinds = {v.name: v.kind for v in world.variables}
    for changed, (low, high) in inside.items():  # and nothing beyond it
        kind = kinds[changed]
        assert isinstance(kind, Int)
        state = {n: ends[0] for n, ends in inside.items()}
        beyond = [v for v in (low - 1, high + 1) if kind.low <= v <= kind.high]
        assert not any(is_initial(world, {**state, changed: v}) for v in beyond)


def free(problem_world: object) -> Problem:
    return Problem("free", problem_world, None, Never(FALSE))  # type: ignore[arg-type]


def states(problem: Problem, state: State) -> list[State]:
    return [s.state for s in enumerate_successors(problem, state)]


def after(problem: Problem, state: State) -> set[tuple[int, ...]]:
    return {tuple(following.values()) for following in states(problem, state)}


def test_the_puzzle_moves_as_its_boards_do() -> None:
    problem = free(shipped_model("npuzzle", "puzzle-3x3"))
    boards = list(puzzle.boards_near_solved(3, 3, 4, 12))
    names = [v.name for v in puzzle.board_variables(4)]
    for board in Random(1).sample(boards, 25):
        state = dict(zip(names, board, strict=True))
        assert after(problem, state) == set(puzzle.neighbour_boards(board, 3, 3).values())


def test_blocks_stay_blocks() -> None:
    """Whatever is done: derived variables say what follows from the positions, and arrangements are ones."""
    problem = free(shipped_model("blocksworld", "blocks-4"))
    towers = list(blocks.enumerate_towers(4))
    assert len(towers) == 73  # the number of ways to arrange four blocks in stacks
    rng = Random(2)
    state: State = blocks.tower_state(towers[5])
    for _ in range(60):
        state = rng.choice(states(problem, state))
        places = [state[f"block_{i}"] for i in range(4)]
        assert state["hand_empty"] == (0 not in places)
        assert state["on_table"] == places.count(blocks.TABLE)
        for i in range(4):
            free_block = places[i] != blocks.HAND and blocks.FIRST + i not in places
            assert state[f"clear_{i}"] == free_block
        if state["hand_empty"]:
            assert tuple(places) in towers
