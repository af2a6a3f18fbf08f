"""Runs as text: what is listed of long ones and of wide states, and numbers that are too long for a line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, State, apply_move, permitted_transitions
from surefoot.report.run_table import first_and_last, format_number
from surefoot.report.run_text import FIRST_STATES, MOST_STATES, trace_lines
from surefoot.term.term import Term, Var, conjunction_of, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Trace


def counters(count: int, bad: Term, actions: int = 2) -> Problem:
    """One of them counts; there are as many outputs as actions, of which the first is the largest."""
    names = [f"c{i}" for i in range(count)]
    edges = tuple(
        Edge(action=f"a{i}", outcomes=(Outcome(updates=(Update(Var("c0"), Var("c0") + 1),)),))
        for i in range(actions)
    )
    variables = tuple(Variable(name, Int(0, 10**6)) for name in names)
    start = conjunction_of([equal(Var(name), 0) for name in names])
    world = Environment("counters", variables, start, (Component("world", edges),))
    weights = [[0.0] * count for _ in range(actions)]
    network = dense_network([(weights, [float(actions - i) for i in range(actions)])])
    labels = tuple(f"a{i}" for i in range(actions))
    return Problem(
        "counters",
        world,
        NeuralPolicy(network, tuple(map(Var, names)), labels, Choose.ARGMAX_APPLICABLE),
        Never(bad),
    )


def run_of(problem: Problem, steps: int) -> Trace:
    states: list[State] = [{v.name: 0 for v in problem.environment.variables} | {"@world": 0}]
    moves = []
    for _ in range(steps):
        move = Move(permitted_transitions(problem, states[-1])[0], (0,))
        moves.append(move)
        states.append(apply_move(problem, states[-1], move))
    return Trace(tuple(states), tuple(moves))


@pytest.mark.parametrize("steps", [3, MOST_STATES - 1, MOST_STATES, 300])
def test_of_a_long_run_both_ends_are_listed(steps: int) -> None:
    asked = counters(1, Var("c0") >= steps)
    lines = trace_lines(asked, run_of(asked, steps))
    numbers = [int(line.split()[0]) for line in lines[1:] if not line.startswith("…")]
    cut = [line for line in lines if line.startswith("…")]
    assert all(line.split()[:2] == [str(n), str(n)] for line in lines if (n := line.split()[0]).isdigit())
    if steps < MOST_STATES:
        assert (numbers, cut) == (list(range(steps + 1)), [])
    else:
        last = MOST_STATES - FIRST_STATES
        assert numbers == [*range(FIRST_STATES), *range(steps + 1 - last, steps + 1)]
        assert lines.index(cut[0]) == FIRST_STATES + 1
        assert f"{steps + 1 - MOST_STATES} state" in cut[0]


def test_of_a_wide_state_what_changed_is_listed() -> None:
    asked = counters(12, Var("c0") >= 70)
    lines = trace_lines(asked, run_of(asked, 70))
    text = "\n".join(lines)
    assert "state 0\n  c0 = 0, c1 = 0, c2 = 0" in text
    assert "state 1 (what changed)\n  c0 = 1, action = a0\n" in text
    assert lines[lines.index("…         11 states not listed; --json has all") + 1] == "state 31"  # in full
    assert text.count("c11 = 0") == 2
    assert max(map(len, lines)) <= 120


def test_of_many_outputs_those_that_are_asked_about_are_listed() -> None:
    asked = counters(3, (Var("c0") >= 2) & (Var("output[7]") > 0), actions=40)
    lines = trace_lines(asked, run_of(asked, 2))
    assert "outputs   39 of each state are not listed; --json has them" in lines
    assert any(line.split() == ["state", "c0", "c1", "c2", "output[7]", "action"] for line in lines)
    few = counters(3, Var("c0") >= 2, actions=5)
    assert not any(line.startswith("outputs") for line in trace_lines(few, run_of(few, 2)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(10**6000 + 1, 3 * 10**6000), "0.3333333333"),
        (10**250, str(10**250)),
        (Fraction(10**6000), "a number of 19932 bits"),
        (-(10**6000), "a number of 19932 bits"),
        ((1, Fraction(10**6000 + 1, 10**6000)), "[1, 1]"),
    ],
    ids=("third", "long", "wide", "huge", "negative", "array"),  # pytest would write the numbers
)
def test_numbers_of_any_length_have_a_text(value: object, shown: str) -> None:
    assert format_number(value) == shown


def test_both_ends_have_the_moves_between_their_states() -> None:
    asked = counters(1, Var("c0") >= 9)
    trace = run_of(asked, 9)
    short = first_and_last(trace, 5, 2)
    assert [s["c0"] for s in short.states] == [0, 1, 7, 8, 9]
    assert short.moves == (*trace.moves[:2], *trace.moves[7:])
