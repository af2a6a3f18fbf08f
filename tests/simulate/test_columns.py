"""Columns make exactly the runs of the interpreter: outcomes, steps, rewards, errors."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.random_environments import ACTIONS, calm, network, problem
from tests.simulate.test_compiled import same
from tests.simulate.test_interpreted import watched

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Law,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.simulate import column_simulation
from surefoot.simulate.batch.run_words import RunWords, round_line
from surefoot.simulate.draw import cumulative_thresholds, draw_choice, draw_outcome
from surefoot.simulate.path_property import FAILED, SUCCEEDED, UNDECIDED, PathProperty
from surefoot.simulate.run_fate import MOST_FOLLOWING, can_settle
from surefoot.simulate.simulator import make_simulator
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var, equal, ite
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.work.philox import Stream

V, W = Var("v"), Var("w")


def in_doubles(asked: Problem) -> Problem:
    return replace(asked, environment=replace(asked.environment, arithmetic=Arithmetic.FLOAT64))


def compare(asked: Problem, what: PathProperty, rng: Random, most: int = 30) -> str:
    uniform, memo = rng.random() < 0.7, rng.random() < 0.7
    try:
        fast = make_simulator(asked, what, max_steps=most, tier="columns", uniform=uniform, memo=memo)
    except (Unsupported, InvalidProblem):
        return "unsupported"
    assert fast.tier == "columns"
    slow = make_simulator(asked, what, max_steps=most, tier="interpreter", uniform=uniform, memo=memo)
    seed, longest = rng.choice([0, 1, 2**64 - 1]), 0
    for first, count in ((0, 7), (3, 40), (2**62 + 5, 20), (0, 60)):
        start = rng.choice([None, rng.randrange(len(slow.starts))])
        if same(fast, slow, seed, start, first, count) == "error":
            return "error"
        longest = max(longest, int(fast.runs(seed, start, first, count).steps.max()))
        slow.runs(seed, start, first, count)
    if longest < most or not can_settle(what):  # else one of them may have seen sooner that a run is lost
        assert fast.counts().decisions >= slow.counts().decisions  # some runs are made twice
    return "same"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_random_problems(seed: int) -> None:
    rng = Random(seed)
    asked = problem(rng, free=False)
    compare(asked if rng.random() < 0.2 else in_doubles(asked), watched(rng), rng)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_facts_about_the_policy(seed: int) -> None:
    rng = Random(seed)
    asked = in_doubles(problem(rng, free=False))
    facts = [Var(DEADLOCKED)]
    if asked.policy is not None:
        facts += [Var(STALLED), Var(chosen_name("go")), ~Var(chosen_name("stop"))]
    left = rng.choice([calm(rng), ~calm(rng) | calm(rng)])
    reward = rng.choice([None, ite(rng.choice(facts), 2, 1)])
    compare(asked, PathProperty(rng.choice(facts), left, reward=reward), rng)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_drawn_actions_and_oracles(seed: int) -> None:
    rng = Random(seed)
    environment = in_doubles(problem(rng, free=False)).environment
    oracle = OraclePolicy("by x", lambda state: ACTIONS[state["x"] % 2], ACTIONS)
    policy = rng.choice(
        [
            network(rng, Choose.SAMPLE),
            network(rng, Choose.SAMPLE),
            network(rng, Choose.ARGMAX_APPLICABLE),
            oracle,
        ]
    )
    asked = Problem("drawn", environment, policy, problem(rng).property)
    compare(asked, PathProperty(calm(rng) & calm(rng), reward="decisions"), rng)


def test_most_random_problems_are_made_in_columns() -> None:
    rng, words = Random(1), []
    for _ in range(40):
        words.append(compare(in_doubles(problem(rng, free=False)), watched(rng), rng))
    assert words.count("same") > 20
    assert words.count("error") > 2


def walk(step: Term, start: Fraction, chosen: tuple[Choice, ...] = (), **more: object) -> Problem:
    edge = Edge(chosen=chosen, outcomes=(Outcome(updates=(Update(V, step),)),), **more)  # type: ignore[arg-type]
    line = Environment(
        "line",
        (Variable("v", Real()),),
        equal(V, Const(start)),
        (Component("c", (edge,)),),
        arithmetic=Arithmetic.FLOAT64,
    )
    return Problem("line", line, None, Never(FALSE))


LAWS = {
    "uniform": Choice("w", Real(), Law("uniform", (Fraction(-1, 3), Fraction(7, 10)))),
    "narrow": Choice("w", Real(), Law("uniform", (Fraction(10**6) + Fraction(1, 7), Fraction(10**6 + 1)))),
    "around zero": Choice("w", Real(), Law("uniform", (Fraction(-1), Fraction(1)))),
    "normal": Choice("w", Real(), Law("normal", (Fraction(1, 10), Fraction(1, 3)))),
    "limited": Choice("w", Real(Fraction(0), Fraction(1)), Law("normal", (Fraction(0), Fraction(1)))),
    "integer": Choice("w", Int(0, 9), Law("integer", (Fraction(1), Fraction(7)))),
    "coin": Choice("w", Bool(), Law("uniform", (Fraction(0), Fraction(1)))),
}


@pytest.mark.parametrize("name", sorted(LAWS))
def test_values_have_the_bits_of_the_definition(name: str) -> None:
    choice, words = LAWS[name], RunWords(5, 2)
    words.begin(np.arange(3000, dtype=np.uint64))
    found = words.value(np.arange(3000), choice)
    again = words.value(np.arange(0, 3000, 3), choice)
    for run in range(0, 3000, 3):
        stream = Stream(5, run, 2)
        assert found[run] == draw_choice(choice, Arithmetic.FLOAT64, stream)
        assert again[run // 3] == draw_choice(choice, Arithmetic.FLOAT64, stream)


def test_lines_are_rounded_once() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        start = Fraction(int(rng.integers(-(10**9), 10**9)), int(rng.integers(1, 10**6)))
        factor = Fraction(int(rng.integers(-(10**9), 10**9)), int(rng.integers(1, 10**6)))
        near = float(-start / factor) if factor else 1.0  # cancellation
        column = np.concatenate([rng.random(50), [0.0, 1.0, near, np.nextafter(near, 2), 1e-320, 1e300]])
        expected = [float(start + factor * Fraction(x)) for x in column.tolist()]
        assert round_line(start, factor, column).tolist() == expected


def test_outcomes_by_thresholds() -> None:
    shares = [Fraction(1, 3), Fraction(0), Fraction(1, 7), Fraction(11, 21), Fraction(0)]
    limits, words = cumulative_thresholds(shares), RunWords(9, 0)
    words.begin(np.arange(500, dtype=np.uint64))
    found = words.outcomes(np.arange(500), limits)
    assert found.tolist() == [draw_outcome(Stream(9, run).word(), limits) for run in range(500)]


@pytest.mark.parametrize("name", sorted(LAWS))
def test_chosen_values(name: str) -> None:
    step = ite(W, V + Fraction(1, 10), V / 3) if name == "coin" else V / 2 + W / 7
    assumed = {} if name == "coin" else {"assuming": V + W >= -1}
    asked = walk(step, Fraction(1, 10), (LAWS[name],), **assumed)
    what = PathProperty(Fraction(13, 10) < V, V > -1, None, 40, V * V)
    fast, slow = (make_simulator(asked, what, max_steps=100, tier=t) for t in ("columns", "interpreter"))
    assert make_simulator(asked, what, max_steps=100).tier == "columns"
    assert same(fast, slow, 3, None, 0, 60) == "same"


def test_a_missed_assumption_is_the_error_of_the_interpreter() -> None:
    asked = walk(V + W, Fraction(0), (LAWS["uniform"],), assuming=V <= 2)
    what = PathProperty(V > 50)
    fast, slow = (make_simulator(asked, what, max_steps=100, tier=t) for t in ("columns", "interpreter"))
    assert same(fast, slow, 3, None, 0, 2) == "error"


def plant() -> Problem:
    """A controlled walk with noise; the network sets the control."""
    force = Var("force")
    noise = Choice("w", Real(), Law("normal", (Fraction(0), Fraction(1, 20))))
    move = Outcome(updates=(Update(V, V + force / 2 + W),))
    asked = walk(V, Fraction(0))
    environment = replace(
        asked.environment,
        components=(Component("c", (Edge(chosen=(noise,), outcomes=(move,)),)),),
        controls=(Control("force", Fraction(-1, 4), Fraction(1, 4)),),
    )
    net = dense_network([(np.array([[-1]], dtype=np.float32), np.array([1], dtype=np.float32))])
    return replace(asked, environment=environment, policy=NeuralPolicy(net, (V,), choose=Choose.VALUE))


def test_controls_and_noise() -> None:
    for what in (
        PathProperty(V >= 1, reward="decisions"),
        PathProperty(Var("force") <= 0, V > -1, high=30, reward=V),
    ):
        fast, slow = (
            make_simulator(plant(), what, max_steps=100, tier=t) for t in ("columns", "interpreter")
        )
        assert same(fast, slow, 1, None, 5, 150) == "same"


CYCLES: dict[str, tuple[Term, Fraction]] = {
    "rest": (Apply(Op.MIN, (V + 1, Const(20))), Fraction(0)),
    "cycle": (ite(V >= 50, Const(30), V + 1), Fraction(0)),
    "long": (ite(V >= MOST_FOLLOWING, Const(1), V + 1), Fraction(0)),
    "too long": (ite(V >= MOST_FOLLOWING + 1, Const(1), V + 1), Fraction(0)),
    "drift": (V + Fraction(1, 10), Fraction(0)),
    "ends": (ite(V >= 300, V / (V - 300), V + 1), Fraction(0)),
}


LONG = ("drift", "long", "too long")


@pytest.mark.parametrize("name", sorted(CYCLES))
def test_certain_runs_that_go_on_for_ever(name: str) -> None:
    asked = walk(*CYCLES[name])
    watch = [PathProperty(V < 0), PathProperty(equal(V, 4000))]
    if name not in LONG:
        watch += [
            PathProperty(equal(V, 60), low=200),
            PathProperty(equal(V, 40), low=200),
            PathProperty(V < 0, V < 40),
            PathProperty(V < 0, reward="steps"),
            PathProperty(V < 0, high=1000),
        ]
    for what in watch:
        fast, slow = (make_simulator(asked, what, max_steps=70, tier=t) for t in ("columns", "interpreter"))
        assert same(fast, slow, 0, None, 0, 1) == "same"


def test_cycles_are_found_before_the_run_is_cut_off() -> None:
    asked = walk(*CYCLES["cycle"])
    simulator = make_simulator(asked, PathProperty(V < 0), max_steps=10**12)
    assert simulator.runs(0, None, 0, 5).outcome.tolist() == [FAILED] * 5


def test_absorbing_states_of_random_walks() -> None:
    half = Const(Fraction(1, 2))
    steps = tuple(Outcome(half, (Update(V, V + ite((V >= 4) | (V <= -4), 0, d)),)) for d in (-1, 1))
    asked = walk(V, Fraction(0))
    walks = replace(asked.environment, components=(Component("c", (Edge(outcomes=steps),)),))
    asked = replace(asked, environment=walks)
    what = PathProperty(V >= 4)
    fast, slow = (make_simulator(asked, what, max_steps=2000, tier=t) for t in ("columns", "interpreter"))
    assert same(fast, slow, 0, None, 0, 300) == "same"
    found = fast.runs(0, None, 0, 300)
    assert set(found.outcome.tolist()) == {FAILED, SUCCEEDED}
    assert make_simulator(asked, what, max_steps=10**12).runs(0, None, 0, 300).count(UNDECIDED) == 0


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, what = plant(), PathProperty(Const(Fraction(11, 10)) <= V, high=60)
    whole = make_simulator(asked, what, max_steps=500).runs(7, None, 0, 75)
    monkeypatch.setattr(column_simulation, "LANES", 8)
    small = make_simulator(asked, what, max_steps=500)
    parts = [small.runs(7, None, first, 15) for first in (60, 0, 30, 45, 15)]
    order = np.argsort([60, 0, 30, 45, 15])
    assert np.concatenate([parts[i].steps for i in order]).tolist() == whole.steps.tolist()


def objections() -> dict[str, Callable[[], Problem]]:
    exact = replace(walk(V / 3, Fraction(1)).environment, arithmetic=Arithmetic.EXACT)
    return {
        "real numbers are exact": lambda: replace(walk(V, Fraction(1)), environment=exact),
        "Python function": lambda: replace(plant(), policy=OraclePolicy("full", lambda _: (1.0,))),
    }


@pytest.mark.parametrize("why", sorted(objections()))
def test_objections(why: str) -> None:
    asked = objections()[why]()
    with pytest.raises(Unsupported, match=why):
        make_simulator(asked, PathProperty(V > 3), max_steps=10, tier="columns")
    assert make_simulator(asked, PathProperty(V > 3), max_steps=10).tier == "interpreter"
