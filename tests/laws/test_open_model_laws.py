"""Steps that a learner takes are steps of the reference semantics, in random environments."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reductions.random_problems import control_problems, environments

from surefoot.errors import SurefootError
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import enumerate_outcomes, free_choices, is_initial
from surefoot.simulate.open_model import OpenModel
from surefoot.work.philox import Stream


@settings(max_examples=150, deadline=None)
@given(environments(), st.integers(0, 2**32), st.lists(st.integers(0, 7), min_size=1, max_size=6))
def test_actions(environment: Environment, seed: int, actions: list[int]) -> None:
    try:
        model = OpenModel(environment)
        row = model.begin(np.random.default_rng(seed))
    except SurefootError:
        return  # no start, or none that is found
    assert is_initial(environment, model.layout.state(row))
    stream = Stream(seed, 0)
    for number in actions:
        if not model.labels:
            return
        label = model.labels[number % len(model.labels)]
        state = model.layout.state(row)
        try:
            taken = model.take_step(row, label, (), stream)
        except SurefootError:
            return  # several steps are possible, a choice without a law, or no next state
        possible = enabled_transitions(environment, state)
        own = [t for t in possible if t.label == label or t.label not in model.labels]
        if taken.row is None:
            assert not own
            return
        (step,) = own
        if free_choices(environment, step):
            return
        after = model.layout.state(taken.row)
        fitting = [o for o in enumerate_outcomes(environment, state, step, {}, {}) if o.state == after]
        assert any(
            all(taken.rewards.get(name) == float(value) for name, value in o.rewards.items()) for o in fitting
        )
        row = taken.row


@settings(max_examples=100, deadline=None)
@given(control_problems(), st.integers(0, 2**32), st.floats(-8, 8, width=32))
def test_controls(problem: Problem, seed: int, pushed: float) -> None:
    environment = problem.environment
    try:
        model = OpenModel(environment)
        row = model.begin(np.random.default_rng(seed))
        controls = model.set_controls([pushed] * len(environment.controls))
        taken = model.take_step(row, None, controls, Stream(seed, 0))
    except SurefootError:
        return
    state = model.layout.state(row)
    named = dict(zip(model.layout.controls, controls, strict=True))
    for control, value in zip(environment.controls, controls, strict=True):
        assert not control.clipped or control.low is None or value >= control.low
        assert not control.clipped or control.high is None or value <= control.high
    possible = enabled_transitions(environment, state, named)
    if taken.row is None:
        assert not possible
        return
    (step,) = possible
    if not free_choices(environment, step):
        found = [o.state for o in enumerate_outcomes(environment, state, step, {}, named)]
        assert model.layout.state(taken.row) in found
