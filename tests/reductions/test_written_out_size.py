"""Updates one after the other: counted before they are written out, and refused where that is too long."""

import time

import pytest

import surefoot as sf
from surefoot.problem.environment import Component, Edge, Outcome, Update, Variable
from surefoot.problem.environment import Environment as Data
from surefoot.reductions.transition_system import encoding_objection
from surefoot.reductions.written_out_size import MOST_OPERATIONS, count_leaves, written_out_objection
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real


def doubling(times: int) -> Data:
    x = Var("x")
    updates = tuple(Update(x, x * x + 1, number) for number in range(times))
    edge = Edge("here", "go", outcomes=(Outcome(updates=updates),))
    return Data("doubling", (Variable("x", Real()),), x <= Const(1), (Component("main", (edge,)),))


@pytest.mark.parametrize("times", [1, 2, 5, 15])
def test_what_is_short_is_taken(times: int) -> None:
    assert written_out_objection(doubling(times)) is None


def test_what_is_long_is_refused_at_once() -> None:
    started = time.process_time()
    policy = sf.Policy.program([(sf.TRUE, "go")])
    problem = sf.Problem("doubling", doubling(400), policy, sf.never("x > 3", 4))
    why = encoding_objection(problem)
    assert why is not None
    assert why == "the next value of `x` is nested 800 levels deep, written out"
    assert (written_out_objection(doubling(20)) or "").endswith(" operations, written out")
    assert time.process_time() - started < 1


def test_what_is_deep_is_refused() -> None:
    """Linear, so that it is short; but whoever goes through it by recursion goes deep."""
    x = Var("x")

    def stepping(times: int) -> Data:
        updates = tuple(Update(x, x * 0.5 + 1, number) for number in range(times))
        edge = Edge("here", "go", outcomes=(Outcome(updates=updates),))
        return Data("stepping", (Variable("x", Real()),), x <= Const(1), (Component("main", (edge,)),))

    assert written_out_objection(stepping(95)) is None
    assert (
        written_out_objection(stepping(96)) == "the next value of `x` is nested 192 levels deep, written out"
    )


def test_the_count_is_that_of_the_whole_term() -> None:
    x = Var("x")
    assert count_leaves(x * x + 1, {}) == {"": 3, "x": 2}
    sizes = [1]
    while sizes[-1] <= MOST_OPERATIONS:
        sizes.append(3 + 2 * sizes[-1])
    assert written_out_objection(doubling(len(sizes) - 2)) is None
    assert written_out_objection(doubling(len(sizes) - 1)) is not None
