"""Machine code makes exactly the runs of the interpreter: outcomes, steps, rewards and decisions."""

import re
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.random_environments import ACTIONS, X, calm, network, problem
from tests.simulate.test_interpreted import watched

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.llvm import kernel_memory
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.simulate import chain_memory, compiled_simulation
from surefoot.simulate.chain_memory import SimulatedChain
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.run_fate import can_settle
from surefoot.simulate.simulator import RunSimulator, make_simulator
from surefoot.term.evaluate import Undefined
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name
from surefoot.term.term import FALSE, Const, Var, equal, ite
from surefoot.term.value_types import Int


def same(fast: RunSimulator, slow: RunSimulator, seed: int, start: int | None, first: int, count: int) -> str:
    """What came of it, in a word."""
    try:
        expected = slow.runs(seed, start, first, count)
    except (Undefined, Unsupported) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            fast.runs(seed, start, first, count)
        return "error"
    runs = fast.runs(seed, start, first, count)
    assert runs.outcome.tolist() == expected.outcome.tolist()
    assert runs.steps.tolist() == expected.steps.tolist()
    assert runs.reward_low.tolist() == expected.reward_low.tolist()
    assert runs.reward_high.tolist() == expected.reward_high.tolist()
    return "same"


def compare(asked: Problem, what: PathProperty, rng: Random, most: int = 30) -> str:
    uniform, memo = rng.random() < 0.7, rng.random() < 0.7
    try:
        fast = make_simulator(asked, what, max_steps=most, tier="llvm", uniform=uniform, memo=memo)
    except (Unsupported, InvalidProblem):
        return "unsupported"
    assert fast.tier == "llvm"
    slow = make_simulator(asked, what, max_steps=most, tier="interpreter", uniform=uniform, memo=memo)
    seed, longest = rng.choice([0, 1, 2**64 - 1]), 0
    for first, count in ((0, 7), (3, 40), (2**62 + 5, 20), (0, 60)):
        start = rng.choice([None, rng.randrange(len(slow.starts))])
        if same(fast, slow, seed, start, first, count) == "error":
            return "error"
        longest = max(longest, int(fast.runs(seed, start, first, count).steps.max()))
        slow.runs(seed, start, first, count)
    if longest < most or not can_settle(what):  # else one of them may have seen sooner that a run is lost
        assert fast.counts().decisions == slow.counts().decisions
    return "same"


@settings(max_examples=35, deadline=None)
@given(st.integers(0, 2**32))
def test_random_problems(seed: int) -> None:
    rng = Random(seed)
    compare(problem(rng, free=False), watched(rng), rng)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_facts_about_the_policy(seed: int) -> None:
    rng = Random(seed)
    asked = problem(rng, free=False)
    facts = [Var(DEADLOCKED)]
    if asked.policy is not None:
        facts += [Var(STALLED), Var(chosen_name("go")), ~Var(chosen_name("stop"))]
    left = rng.choice([calm(rng), ~calm(rng) | calm(rng)])
    reward = rng.choice([None, ite(rng.choice(facts), 2, 1)])
    compare(asked, PathProperty(rng.choice(facts), left, reward=reward), rng)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_drawn_actions_and_oracles(seed: int) -> None:
    rng = Random(seed)
    environment = problem(rng, free=False).environment
    oracle = OraclePolicy("by x", lambda state: ACTIONS[state["x"] % 2], ACTIONS)
    policy = rng.choice([network(rng, Choose.SAMPLE), network(rng, Choose.ARGMAX_APPLICABLE), oracle])
    asked = Problem("drawn", environment, policy, problem(rng).property)
    compare(asked, PathProperty(calm(rng) & calm(rng), reward="decisions"), rng)


def test_what_is_forgotten_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_MOST_STATES", 4), ("_MOST_NODES", 300), ("_LANES", 8)):
        monkeypatch.setattr(compiled_simulation, name, value)
    monkeypatch.setattr(chain_memory, "_FIRST_NODES", 64)
    monkeypatch.setattr(kernel_memory, "_FIRST_ROOM", 4)
    forgotten: list[SimulatedChain] = []
    forget = SimulatedChain.forget

    def counted(self: SimulatedChain) -> None:
        forgotten.append(self)
        forget(self)

    monkeypatch.setattr(SimulatedChain, "forget", counted)
    rng, words = Random(3), []
    for number in range(12):
        asked = problem(rng, free=False)
        if number % 3 == 0:
            asked = replace(asked, policy=network(rng, Choose.SAMPLE))
        words.append(compare(asked, watched(rng), rng, 60))
    assert words.count("same") > 3
    assert len(forgotten) > 100


def test_what_does_not_fit_is_remembered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """All lanes wait for decisions that take more room than there may be: forgetting them would never end."""
    for name, value in (("_MOST_STATES", 4), ("_MOST_NODES", 60), ("_LANES", 20)):
        monkeypatch.setattr(compiled_simulation, name, value)
    monkeypatch.setattr(chain_memory, "_FIRST_NODES", 64)
    monkeypatch.setattr(kernel_memory, "_FIRST_ROOM", 4)
    quarter = Const(Fraction(1, 4))
    outcomes = tuple(Outcome(quarter, (Update(X, X * 3 % 50 + i),)) for i in range(4))
    steps = tuple(Edge(action=a, outcomes=outcomes) for a in ACTIONS)
    line = Environment("line", (Variable("x", Int(0, 60)),), X < 20, (Component("c", steps),))
    drawn = NeuralPolicy(network(Random(1), Choose.SAMPLE).network, (X, X, X), ACTIONS, Choose.SAMPLE)
    asked = Problem("line", line, drawn, Never(FALSE))
    for memo in (True, False):
        tiers = ("llvm", "interpreter")
        fast, slow = (
            make_simulator(asked, PathProperty(X > 51), max_steps=40, tier=t, memo=memo) for t in tiers
        )
        assert same(fast, slow, 1, None, 0, 40) == "same"


def test_most_random_problems_are_compiled() -> None:
    rng, words = Random(1), []
    for _ in range(30):
        words.append(compare(problem(rng, free=False), watched(rng), rng))
    assert words.count("same") > 10


@pytest.mark.parametrize("high", [1, 5, 127, 128, 129, 300])
def test_jumps_end_where_the_steps_do(high: int) -> None:
    """A circle of certain steps, which runs leave only by the limit, and then at another place each time."""
    around = Outcome(updates=(Update(X, (X + 1) % 3),), rewards=(("cost", X / 3),))
    circle = Environment(
        "circle", (Variable("x", Int(0, 2)),), equal(X, 0), (Component("c", (Edge(outcomes=(around,)),)),)
    )
    asked = Problem("circle", circle, None, Never(FALSE))
    what = PathProperty(X > 5, high=high, reward="cost")
    fast, slow = (make_simulator(asked, what, max_steps=200, tier=tier) for tier in ("llvm", "interpreter"))
    for _ in range(9):  # jumps become longer each time
        assert same(fast, slow, 5, None, 0, 2) == "same"


def test_runs_do_not_depend_on_each_other() -> None:
    rng = Random(2)
    while True:
        asked = problem(rng, free=False)
        fast = make_simulator(asked, PathProperty(calm(rng) & calm(rng)), max_steps=50, uniform=True)
        try:
            whole = fast.runs(7, None, 0, 100)
        except (Undefined, Unsupported):
            continue
        break
    parts = [fast.runs(7, None, first, 20) for first in (80, 0, 40, 60, 20)]
    order = np.argsort([80, 0, 40, 60, 20])
    assert np.concatenate([parts[i].steps for i in order]).tolist() == whole.steps.tolist()
