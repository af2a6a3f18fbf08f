"""Machine code explores exactly what the interpreter does: same states, numbering, choices and numbers."""

from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.random_environments import calm, condition, labels, problem

from surefoot.errors import Unsupported
from surefoot.explore.emit.operators import NOT_COMPILED, TABLE
from surefoot.explore.exploration import explore_problem, llvm_objection
from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Policy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.evaluate import Undefined
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Int, Real
from surefoot_studies.racetrack.model import racetrack_environment as racetrack
from surefoot_studies.racetrack.policies import careful_policy
from surefoot_studies.racetrack.problem import CRASHED, FINISHED, bend_track, never_crashes


def same(ours: ExploredModel, theirs: ExploredModel) -> None:
    a, b = ours.markov, theirs.markov
    for left, right in ((a.choices, b.choices), (a.outcomes, b.outcomes), (a.targets, b.targets)):
        assert left.tolist() == right.tolist()
    assert [a.values[w] for w in a.weights] == [b.values[w] for w in b.weights]
    assert a.initial.tolist() == b.initial.tolist()
    assert a.cut.tolist() == b.cut.tolist()
    assert a.rewards.keys() == b.rewards.keys()
    for name in a.rewards:
        assert [a.values[w] for w in a.rewards[name]] == [b.values[w] for w in b.rewards[name]]
    for name in a.labels:
        assert a.labels[name].tolist() == b.labels[name].tolist(), name
    for name in ours.quantities:
        mine, yours = ours.quantities[name], theirs.quantities[name]
        assert [a.values[w] for w in mine] == [b.values[w] for w in yours]
    assert [ours.valuation(i) for i in range(a.states)] == [theirs.valuation(i) for i in range(b.states)]
    for name in ours.states.names:
        assert ours.states.column(name).tolist() == theirs.states.column(name).tolist()
    assert [ours.transitions[t] for t in ours.transition] == [
        theirs.transitions[t] for t in theirs.transition
    ]
    assert [ours.label_names[n] if n >= 0 else None for n in ours.labels] == [
        theirs.label_names[n] if n >= 0 else None for n in theirs.labels
    ]
    for flags in ("stalled", "near_tie", "halted", "blocked", "final"):
        assert getattr(ours, flags).tolist() == getattr(theirs, flags).tolist(), flags
    assert ours.why_cut == theirs.why_cut


def compare(
    asked: Problem,
    names: Mapping[str, Term],
    max_states: int | None = None,
    until: Term = FALSE,
    through: Term = FALSE,
) -> str:
    """Explore with both tiers; what came of it, in a word."""
    quantities = {"third": Var(asked.environment.variables[0].name) / 3}
    options: dict[str, Any] = {"labels": names, "rewards": ("cost",), "quantities": quantities}
    options |= {"max_states": max_states, "until": until, "through": through}
    try:
        reference = explore_problem(asked, tier="interpreter", **options)
    except Undefined:
        with pytest.raises((Undefined, Unsupported), match=r"in the state|not compiled"):
            explore_problem(asked, tier="llvm", **options)
        return "undefined"
    try:
        compiled = explore_problem(asked, tier="llvm", **options)
    except Unsupported:
        return "unsupported"
    same(compiled, reference)
    return "same"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_random_problems(seed: int) -> None:
    rng = Random(seed)
    asked = problem(rng, free=rng.random() < 0.1)
    until = rng.choice([FALSE, FALSE, calm(rng), condition(rng, 1)])
    names = labels(asked) if rng.random() < 0.7 else {}
    through = rng.choice([FALSE, TRUE, calm(rng), condition(rng, 1)])
    compare(asked, names, rng.choice([None, None, 7]), until, through)


def test_most_random_problems_are_compiled() -> None:
    found = []
    for seed in range(20):
        asked = problem(Random(seed), free=False)
        found.append(compare(asked, labels(asked)))
    assert found.count("same") >= 10


def test_every_operator_is_compiled_or_refused() -> None:
    assert set(TABLE) | NOT_COMPILED == set(Op)
    assert not set(TABLE) & NOT_COMPILED


@pytest.mark.parametrize("policy", [None, careful_policy(bend_track())], ids=["all choices", "careful"])
def test_racetrack(policy: Policy | None) -> None:
    asked = Problem("race", racetrack(bend_track(), anywhere=True), policy, never_crashes())
    names = {"crashed": CRASHED, "finished": FINISHED}
    options: dict[str, Any] = {"labels": names, "rewards": ("decisions",)}
    same(
        explore_problem(asked, tier="llvm", **options), explore_problem(asked, tier="interpreter", **options)
    )
    assert explore_problem(asked, **options).tier == "llvm"


def several(count: int, high: int) -> Environment:
    """Numbers that count up one after another, in several words; all arrays of the kernel must grow."""
    names = [Var(f"v{i}") for i in range(count)]
    edges = tuple(
        Edge(guard=v < high, outcomes=(Outcome(Const(Fraction(1, 2)), (Update(v, v + 1),)), HALF))
        for v in names
    )
    return Environment(
        "several",
        tuple(Variable(v.name, Int(0, 2**40)) for v in names),
        conjunction_of(tuple(equal(v, 0) for v in names)),
        (Component("c", edges),),
    )


HALF = Outcome(Const(Fraction(1, 2)), rewards=(("cost", Const(2)),))


def test_states_of_several_words() -> None:
    asked = Problem("several", several(3, 19), None, Never(FALSE))
    options: dict[str, Any] = {"labels": {"late": Var("v1") > 3}, "rewards": ("cost",)}
    ours = explore_problem(asked, tier="llvm", **options)
    assert ours.markov.states == 20**3
    same(ours, explore_problem(asked, tier="interpreter", **options))


def test_many_numbers() -> None:
    n = Var("n")
    chance = (n + 1) / (n + 3)
    edge = Edge(
        guard=n < 3000,
        outcomes=(Outcome(chance, (Update(n, n + 1),), (("cost", n / 7),)), Outcome(1 - chance)),
    )
    counting = Environment("many", (Variable("n", Int(0, 3000)),), equal(n, 0), (Component("c", (edge,)),))
    assert compare(Problem("many", counting, None, Never(FALSE)), {}) == "same"


def counting(update: Term, high: int = 9) -> Problem:
    n = Var("n")
    where = Environment(
        "counting",
        (Variable("n", Int(0, high)),),
        equal(n, 1),
        (Component("c", (Edge(outcomes=(Outcome(updates=(Update(n, update),)),)),)),),
    )
    return Problem("counting", where, None, Never(FALSE))


def test_errors_name_the_state() -> None:
    with pytest.raises(Undefined, match=r"`n` becomes 10, outside its kind in transition .* n = 9"):
        explore_problem(counting(Var("n") + 1), labels={}, tier="llvm")
    with pytest.raises(Undefined, match=r"division by zero in transition .*, in the state n = 1"):
        explore_problem(counting(Apply(Op.FLOOR, (1 / (Var("n") - 1),))), labels={}, tier="llvm")


def test_what_64_bits_cannot_hold_is_interpreted() -> None:
    n = Var("n")
    large = counting(Apply(Op.MIN, (n * n * n * n + 2, Const(2**40))), high=2**40)
    modest = counting(((n + 2**20) ** 4) % 1000, high=2**20)
    for asked in (large, modest):
        with pytest.raises(Unsupported, match="64 bits"):
            explore_problem(asked, labels={}, tier="llvm")
        assert explore_problem(asked, labels={}).tier == "interpreter"


@pytest.mark.parametrize("seed", range(8))
def test_large_numbers(seed: int) -> None:
    """Products on both sides of what 64 bits can hold: the same, or left to the interpreter."""
    rng, n = Random(seed), Var("n")
    modulus = rng.randrange(2**20, 2**34)
    factor, shift = rng.randrange(-(2**33), 2**33), rng.randrange(-(2**40), 2**40)
    scaled = Apply(Op.FLOOR, (n * factor / rng.randrange(2, 2**20) + shift,))
    asked = counting((scaled if rng.random() < 0.5 else n * factor + shift) % modulus, high=2**34)
    names = {"half": n / modulus < Fraction(1, 2), "odd": equal(n % 2, 1)}
    assert compare(asked, names, max_states=300) in ("same", "unsupported")


def test_the_tier_is_chosen() -> None:
    small, large = several(1, 20), several(2, 40)
    assert explore_problem(Problem("p", small, None, Never(FALSE)), labels={}).tier == "interpreter"
    assert explore_problem(Problem("p", large, None, Never(FALSE)), labels={}).tier == "llvm"
    reals = Environment("reals", (Variable("x", Real()),), equal(Var("x"), 0), (Component("c", ()),))
    asked = Problem("p", reals, None, Never(FALSE))
    assert llvm_objection(asked) == "`x` is not a bounded integer"
    with pytest.raises(Unsupported, match="not compiled: `x` is not a bounded integer"):
        explore_problem(asked, labels={}, tier="llvm")
    assert llvm_objection(Problem("p", small, None, Never(FALSE))) is None
