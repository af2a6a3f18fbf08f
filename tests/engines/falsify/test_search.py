"""What random runs hardly ever meet is found by searches; what is said when nothing is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from benchmarks.rare_violations import PROBLEMS, single, slip
from tests.engines.falsify.test_falsify import counter, falsify, walker

from benchmarks import planning_models
from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.engines.falsify.archive import Archive, Stretch, make_archive
from surefoot.engines.falsify.joined_runs import join_runs
from surefoot.engines.falsify.looking import Looking
from surefoot.engines.falsify.nearness import missed_parts
from surefoot.engines.falsify.suspicion import confirm_run
from surefoot.engines.falsify.watch import Watch, compile_watched
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.problem.semantics import apply_move, is_initial
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.simulate.batch.model import make_batch_model
from surefoot.simulate.batch.numbers import RunNumbers, numbers_of_rows
from surefoot.simulate.batch.runs import BatchRuns, begin_runs
from surefoot.simulate.starts import draw_starts
from surefoot.term.term import Term, Var, equal
from surefoot.term.value_types import Arithmetic, Int, Real
from surefoot.verdict.verdict import Reason, Trace, Unknown, Violated
from surefoot.work.budget import Budget

x = Var("x")


@pytest.mark.parametrize("runs", [1, 7, 130, 1537, 2000])
@pytest.mark.parametrize("asked", [Never(x > 9), Within(x >= 0, 3), Recurs(x < 9)])
def test_so_many_runs_as_are_asked_for_and_no_more(asked: Property, runs: int) -> None:
    found = falsify(counter(asked), runs=runs, steps=8)
    assert isinstance(found, Unknown)
    assert f"none of {runs} run" in found.detail


@pytest.mark.parametrize("name", ["needle", "keys", "resonance", "uphill"])
def test_a_search_is_led_to_what_chance_does_not_meet(name: str) -> None:
    assert isinstance(falsify(PROBLEMS[name]()), Violated)


def test_actions_that_a_policy_almost_never_takes_are_looked_for() -> None:
    assert isinstance(falsify(slip(1e-4)), Violated)


def test_the_nearest_run_is_told_by_what_it_missed() -> None:
    found = falsify(walker(Arithmetic.FLOAT64, x > 5), runs=500)
    assert isinstance(found, Unknown)
    assert "the nearest missed `x > 5` by 4" in found.detail
    problem = counter(Never((x > 9) & equal(x, 4) | (x < 0)))
    assert missed_parts(problem, {"x": 3}, problem.property.bad, holds=True) == (("x < 0", 3.0),)  # type: ignore[union-attr]


def test_of_several_ways_to_be_bad_the_nearest_is_told() -> None:
    problem = counter(Never((x > 9) | (x < -20)))
    assert missed_parts(problem, {"x": 3}, problem.property.bad, holds=True) == (("x > 9", 6.0),)  # type: ignore[union-attr]


def test_a_suspicion_outlives_its_turn() -> None:
    """Turns that end while a run is made again do not lose it."""
    ending = end_at_goal(discretise(walker(Arithmetic.EXACT, x > Fraction(9, 10))))
    looking = Falsify().begin(ending, 0)
    found = looking.check(ending, Budget(0))
    for _ in range(2_000):
        if isinstance(found, Violated):
            break
        found = looking.check(ending, Budget(0))
    assert isinstance(found, Violated)


def test_the_slowest_run_is_told_where_something_good_is_met() -> None:
    found = falsify(counter(Within(x >= 3, 6)), runs=300)
    assert isinstance(found, Unknown)
    assert "the latest first good state came after 3 steps" in found.detail


def ring(size: int, start: Term = equal(x, 0)) -> Problem:  # noqa: B008
    """Round and round in steps forward or home; good is to come home to 0."""
    forward = Edge("main", "on", guard=x < size, outcomes=(Outcome(1, (Update(x, x + 1),), target="main"),))
    back = Edge(
        "main", "back", guard=x >= size - 1, outcomes=(Outcome(1, (Update(x, 0 * x + 1),), target="main"),)
    )
    home = Edge("main", "home", guard=x > 0, outcomes=(Outcome(1, (Update(x, 0 * x),), target="main"),))
    return single(
        "ring", {"x": Int(0, size)}, start, [forward, back, home], Recurs(equal(x, 0)),
        arithmetic=Arithmetic.EXACT,
    )  # fmt: skip


def make_runs(
    problem: Problem, count: int, steps: int, seed: int, see: Callable[..., None] | None = None
) -> tuple[BatchRuns, Watch]:
    rng, model = np.random.default_rng(seed), make_batch_model(problem)
    starts = draw_starts(problem.environment, count, rng)
    runs, watch = begin_runs(model, starts.columns), Watch(problem, compile_watched(problem, model), count)
    numbers = RunNumbers(count, rng, plain=True)
    for step in range(steps + 1):
        state, alive, rows = runs.state, runs.alive.copy(), runs.rows
        made = runs.advance(numbers_of_rows(numbers, rows))
        watch.look(state, alive, rows, made)
        if see is not None:
            see(runs, starts, state, alive, rows, step)
    return runs, watch


def test_one_run_goes_on_where_another_one_was() -> None:
    """Of runs of 3 steps none returns to a state, since the ring has 5; together they do."""
    problem = ring(6, start=x > 0)
    runs, watch = make_runs(problem, 400, 3, 3)
    lasso = False
    for row, moves in join_runs(watch, runs):
        found = confirm_run(problem, {"x": int(runs.start["x"][row])}, moves, Budget(20))
        assert isinstance(found, Trace)
        assert found.loop is not None
        lasso = True
    assert lasso
    assert not len(watch.find_returning())


@pytest.mark.parametrize("asked", [Eventually(x < 0), Recurs(equal(x, 0))])
def test_lassos_are_found_where_runs_stray(asked: Property) -> None:
    problem = ring(40)
    assert isinstance(falsify(Problem("ring", problem.environment, None, asked), runs=3_000), Violated)


def test_kept_states_are_where_their_moves_lead() -> None:
    problem = PROBLEMS["keys"]()
    kept: Archive = make_archive(problem, ("x", "y", "k"))

    def see(runs: BatchRuns, starts: object, state: object, alive: object, rows: object, step: int) -> None:
        if not step:
            kept.begin(Stretch(runs, starts, ()))  # type: ignore[arg-type]
        kept.note(state, alive, rows, np.zeros(len(rows)), step)  # type: ignore[arg-type]

    make_runs(problem, 50, 12, 1, see)
    assert len(kept.states) > 50
    for place, state in enumerate(kept.states):
        now, moves = kept.trace_back(kept.origins[place])
        assert is_initial(problem.environment, now)
        assert len(moves) == kept.depths[place]
        for move in moves:
            now = apply_move(problem, now, move)
        assert now == state


def test_an_interruption_of_the_command_gives_what_there_is(tmp_path: Path) -> None:
    text = """
        initial = "0 <= x <= 0.1"
        arithmetic = "float64"
        [variables]
        x = "real"
        [[edges]]
        chosen = { d = "real [-0.1, 0.1]" }
        updates = { x = "0.9 * x + d" }
        [properties]
        below = "never x > 5"
    """
    (tmp_path / "walk.toml").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "surefoot",
        "check",
        "walk.toml",
        "--engine",
        "falsify",
        "--timeout",
        "60",
    ]
    child = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )
    assert child.stderr is not None
    began, seen = monotonic(), b""
    while b"none of" not in seen and monotonic() < began + 50:
        seen += os.read(child.stderr.fileno(), 4096)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=40)
    assert b"none of" in out
    assert b"the nearest missed `x > 5`" in out


def test_the_time_is_kept() -> None:
    problem = walker(Arithmetic.FLOAT64, x > 5)
    began = monotonic()
    found = falsify(problem, seconds=1.0)
    assert monotonic() - began < 4
    assert isinstance(found, Unknown)
    assert found.reason is Reason.TIMEOUT


@pytest.mark.parametrize(("heaps", "batches"), [(5, 2), (8, 3)])
def test_a_first_look_is_longer_where_transitions_are_many(heaps: int, batches: int) -> None:
    problem = end_at_goal(discretise(planning_models.heaps(heaps, 30, 9, (8,), 1)))  # nothing is bad
    looking = Looking(problem, 0)
    found = looking.look_first(problem, Budget(60))
    assert isinstance(found, Unknown)
    assert looking.rounds == batches


def test_the_first_look_finds_a_rare_violation_among_many_edges() -> None:
    """Eight of 4,000 random runs of 60 steps meet it."""
    problem = end_at_goal(discretise(planning_models.MODELS["deliveries-12-rare"]()))
    found = Looking(problem, 0).look_first(problem, Budget(600))
    assert isinstance(found, Violated)
    assert replay(problem, found.trace) is None


def growing(bad: Term) -> Problem:
    """Squares: a number of n digits has 2n digits after a step, and no more are computed at some time."""
    drawn = Choice("w", Real(Fraction(-1, 100), Fraction(3, 100)))
    updates = (Update(x, x + x * x / 20 + Var("w")), Update(Var("n"), Var("n") + 1))
    world = Component("world", (Edge(chosen=(drawn,), outcomes=(Outcome(updates=updates),)),))
    start = (x >= 1) & (x <= Fraction(21, 20)) & equal(Var("n"), 0)
    variables = (Variable("x", Real()), Variable("n", Int(0, 30)))
    return Problem("growing", Environment("growing", variables, start, (world,)), None, Never(bad))


def test_a_run_of_long_numbers_is_made_again_with_short_ones() -> None:
    problem = growing((Var("n") >= 11) & (x > Fraction(5, 2)))
    found = falsify(problem)
    assert isinstance(found, Violated)
    assert replay(problem, found.trace) is None


def test_numbers_that_are_too_long_end_no_search() -> None:
    """A double has 53 digits, so that after eleven steps one has 100,000."""
    found = falsify(growing((Var("n") >= 18) & (x > 2)), runs=600)
    assert isinstance(found, Unknown)
    assert "none of 600 runs" in found.detail
    assert "in numbers that become too long to be exact; fix: `arithmetic = float64`" in found.detail
