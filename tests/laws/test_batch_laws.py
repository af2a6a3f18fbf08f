"""Every step of a run in columns is a step of the reference."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.laws.automata_networks import automata_network
from tests.laws.awkward_systems import awkward
from tests.laws.finite_systems import problems
from tests.laws.real_systems import wandering

from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, apply_move, is_initial, permitted_transitions
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.simulate.batch.fast_columns import FastColumns, MachineColumns
from surefoot.simulate.batch.model import ENDED, BatchModel, make_batch_model, value_at_share
from surefoot.simulate.batch.state_columns import columns_from_rows, rows_from_columns
from surefoot.term.columns import compile_columns
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Array, Real

ROWS, STEPS = 40, 4


def sin(x: Term) -> Term:
    return Apply(Op.SIN, (x,))


def cos(x: Term) -> Term:
    return Apply(Op.COS, (x,))


def draw_numbers(seed: int) -> Callable[[str, NDArray[np.int64]], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return lambda _, rows: rng.random(len(rows))


def some_starts(problem: Problem, rng: Random) -> list[State]:
    environment = problem.environment
    try:
        every = list(enumerate_initial_states(environment, 20_000))
    except Unsupported:  # real variables: tried at random
        every = []
        for _ in range(400):
            shares = np.array([rng.random() if rng.random() < 0.8 else float(rng.random() < 0.5)])
            state = {}
            for variable in environment.variables:
                shares = np.array([rng.choice((0.0, 0.5, 1.0, rng.random()))])
                state[variable.name] = value_at_share(variable.kind, shares)
            for component in environment.components:
                if len(component.locations) > 1:
                    state[f"@{component.name}"] = np.array([rng.randrange(len(component.locations))])
            row = next(iter(rows_from_columns(state, environment, [0])))
            if is_initial(environment, row):
                every.append(row)
    return [rng.choice(every) for _ in range(ROWS)] if every else []


def assert_steps_are_of_the_reference(problem: Problem, seed: int) -> int:
    model, rng = make_batch_model(problem, exact=True), Random(seed)
    starts = some_starts(problem, rng)
    if not starts:
        return 0
    state, uniform, seen = columns_from_rows(starts, problem.environment), draw_numbers(seed), 0
    alive = np.ones(len(starts), dtype=np.bool_)
    for _ in range(STEPS):
        made = model.step(state, len(starts), uniform)
        before = list(rows_from_columns(state, problem.environment, range(len(starts))))
        after = list(rows_from_columns(made.state, problem.environment, range(len(starts))))
        for row in np.flatnonzero(alive & ~made.lost):
            seen += 1
            assert_row(model, made.transition[row], before[row], after[row], made, int(row))
        alive &= ~made.lost & (made.transition != ENDED)
        state = {n: np.where(_spread(alive, c), c, state[n]) for n, c in made.state.items()}
    return seen


def _spread(alive: NDArray[np.bool_], column: NDArray[np.generic]) -> NDArray[np.bool_]:
    return alive.reshape(-1, *(1,) * (column.ndim - 1))


def assert_row(model: BatchModel, number: int, before: State, after: State, made: object, row: int) -> None:
    problem = model.problem
    if number == ENDED:
        if made.decision is None or made.decision.may_stall is None:  # type: ignore[attr-defined]
            assert not permitted_transitions(problem, before)
        return
    chosen = {n: c[row] for n, c in made.chosen.items()}  # type: ignore[attr-defined]
    move = model.move(int(number), int(made.outcomes[row]), chosen)  # type: ignore[attr-defined]
    assert apply_move(problem, before, move) == after


def is_followed_exactly(problem: Problem) -> bool:
    def has_reals(kind: object) -> bool:
        return has_reals(kind.element) if isinstance(kind, Array) else isinstance(kind, Real)

    environment = problem.environment
    reals = any(has_reals(v.kind) for v in environment.variables) or bool(environment.controls)
    return environment.arithmetic is Arithmetic.FLOAT64 or not reals


KINDS = pytest.mark.parametrize(
    "make",
    [lambda s: problems(s)["never"], automata_network, awkward, wandering],
    ids=["finite", "automata", "awkward", "wandering"],
)


@KINDS
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_step_in_columns_is_a_step_of_the_reference(make: Callable[[int], Problem], seed: int) -> None:
    problem = end_at_goal(discretise(make(seed)))
    if is_followed_exactly(problem):
        assert_steps_are_of_the_reference(problem, seed)


@KINDS
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_so_is_one_in_machine_code(make: Callable[[int], Problem], seed: int) -> None:
    problem = end_at_goal(discretise(make(seed)))
    with patch("surefoot.simulate.batch.fast_columns._COMPILING", -1e9):  # worth it at once
        if is_followed_exactly(problem):
            assert_steps_are_of_the_reference(problem, seed)


def swinging(kind: Real, arithmetic: Arithmetic = Arithmetic.FLOAT64) -> Problem:
    """A pendulum, pushed by a program that looks at a sine."""
    x, v = Var("x"), Var("v")
    turned = {x: x + v / 8, v: v - sin(x) / 8 + cos(v * x) / 16}
    edges = tuple(
        Edge("here", a, guard=g, outcomes=(Outcome(1, tuple(Update(t, u + p) for t, u in turned.items())),))
        for a, g, p in (("left", x > -3, Fraction(-1, 8)), ("right", x < 3, Fraction(1, 8)))
    )
    environment = Environment(
        "swing",
        (Variable("x", kind), Variable("v", kind)),
        (x >= -1) & (x <= 1) & (v >= -1) & (v <= 1),
        (Component("c", edges),),
        arithmetic=arithmetic,
    )
    program = ProgramPolicy((Branch(sin(x) < v, "left"), Branch(Const(True), "right")), ("left", "right"))
    return Problem("swing", environment, program, Never(x > 2))


@pytest.mark.parametrize("worth", [0.05, -1e9], ids=["numpy", "machine code"])
@pytest.mark.parametrize("threads", [1, 2])
def test_steps_with_sines_are_those_of_the_reference(worth: float, threads: int) -> None:
    problem, rng = swinging(Real(Fraction(-100), Fraction(100))), np.random.default_rng(5)
    with patch("surefoot.simulate.batch.fast_columns._COMPILING", worth):
        model = make_batch_model(problem, exact=True, threads=threads)
        state = {name: rng.uniform(-1, 1, 5000) for name in ("x", "v")}
        for _ in range(3):
            made = model.step(state, 5000, draw_numbers(1))
            rows = [*range(20), *range(2490, 2510), *range(4980, 5000)]
            before = list(rows_from_columns(state, problem.environment, rows))
            after = list(rows_from_columns(made.state, problem.environment, rows))
            assert not made.lost.any()
            for number, row in enumerate(rows):
                assert_row(model, made.transition[row], before[number], after[number], made, row)
            state = made.state


def test_sines_in_machine_code_have_the_bits_of_the_reference() -> None:
    rng = np.random.default_rng(2)
    turns = np.arange(-300, 300) * np.pi / 2
    tiny = rng.normal(size=300) * 10.0 ** rng.integers(-320, 0, 300)
    x = np.concatenate(
        [rng.uniform(-10, 10, 3000), rng.uniform(-1e6, 1e6, 3000), turns[:250], tiny, [0.0, -0.0]]
    )
    terms = [sin(Var("x")), cos(Var("x"))]
    compiled = compile_columns(terms, {"x": Real()}, Arithmetic.FLOAT64, exact=True)
    right = compiled({"x": x}, len(x))
    for row in rng.integers(0, len(x), 200):
        for term, column in zip(terms, right.columns, strict=True):
            assert evaluate_term(term, {"x": float(x[row])}, Arithmetic.FLOAT64) == column[row]
    machine = MachineColumns(compiled, joined=False, sines=True, threads=1)
    open_rows = 0
    for start in range(0, len(x), 10):  # one that is left open leaves a part open
        part = x[start : start + 10]
        found = machine({"x": part}, len(part))
        open_rows += found is None
        if found is not None:
            for near, exact in zip(found.columns, right.columns, strict=True):
                assert near.tobytes() == exact[start : start + 10].tobytes()
    assert open_rows <= 30  # those near multiples of pi/2
    for large in (1e15, 1e20, np.nan):
        fast = FastColumns(compiled)
        fast.compile_now()
        mixed = fast({"x": np.append(x, large)}, len(x) + 1)
        for near, exact, lost in zip(mixed.columns, right.columns, mixed.lost, strict=True):
            assert near[:-1].tobytes() == exact.tobytes()
            assert lost[-1] == np.isnan(large)
