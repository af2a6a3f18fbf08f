"""Exploration by interpreting equals the reference semantics."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.against_reference import check, visit
from tests.explore.random_environments import calm, labels, problem

from surefoot.explore.exploration import explore_problem
from surefoot.problem.semantics import holds_in_state
from surefoot.term.evaluate import Undefined


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_random_problems(seed: int) -> None:
    asked = problem(Random(seed))
    names = labels(asked)
    try:
        visit(asked, names)
    except Undefined:
        with pytest.raises(Undefined):
            explore_problem(asked, labels=names, rewards=("cost",), tier="interpreter")
        return
    explored = explore_problem(asked, labels=names, rewards=("cost",), tier="interpreter")
    check(explored, asked, names)
    until = calm(Random(seed))
    ended = explore_problem(asked, labels=names, rewards=("cost",), until=until, tier="interpreter")
    check(ended, asked, names)
    assert all(
        ended.final[i] == holds_in_state(asked, ended.valuation(i), until) for i in range(ended.markov.states)
    )
