"""Machine code explores exactly what the interpreter does: same states, numbering, choices and numbers."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compile.random_environments import labels, problem

from surefoot.compile import Explored, explore
from surefoot.errors import Unsupported
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.problem.problem import Problem
from surefoot.problem.term import Term

QUANTITIES = "xy"


def same(ours: Explored, theirs: Explored) -> None:
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
    for flags in ("stalled", "near_tie", "halted", "blocked"):
        assert getattr(ours, flags).tolist() == getattr(theirs, flags).tolist(), flags
    assert ours.why_cut == theirs.why_cut


def compare(asked: Problem, names: Mapping[str, Term], max_states: int | None = None) -> str:
    quantities = {"third": problem_variable(asked) / 3}
    options = {"labels": names, "rewards": ("cost",), "quantities": quantities, "max_states": max_states}
    try:
        reference = explore(asked, tier="interpreter", **options)
    except Undefined as error:
        with pytest.raises((Undefined, Unsupported)) as found:
            explore(asked, tier="llvm", **options)
        if isinstance(found.value, Undefined) and " in `" not in str(error):
            assert "in the state" in str(found.value)
        return "undefined"
    try:
        compiled = explore(asked, tier="llvm", **options)
    except Unsupported as why:
        return str(why)
    same(compiled, reference)
    return "same"


def problem_variable(asked: Problem) -> Term:
    from surefoot.problem.term import Var

    return Var(asked.environment.variables[0].name)


SEEN: Counter[str] = Counter()


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_random_problems(seed: int) -> None:
    rng = Random(seed)
    asked = problem(rng, free=rng.random() < 0.1)
    SEEN[compare(asked, labels(asked), rng.choice([None, None, 7]))] += 1
