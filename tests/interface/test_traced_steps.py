"""Every step function is traced and does the same on 1,000 random states, or is refused with its line."""

import random

import numpy as np
import pytest
from tests.interface.traced_cases import CASES

import surefoot as sf
from surefoot.term.evaluate import evaluate_term
from surefoot.term.value_types import Array, Bool, Int

ELEMENTARY = 1e-9  # the platform rounds these in its own way


def draw(rng, kind):
    if isinstance(kind, Array):
        return np.array([draw(rng, kind.element) for _ in range(kind.length)])
    if isinstance(kind, Bool):
        return rng.random() < 0.5
    if isinstance(kind, Int):
        return rng.randint(kind.low, kind.high)
    low, high = float(kind.low), float(kind.high)
    return (
        rng.choice([low, high, 0.0 if low <= 0 <= high else low])
        if rng.random() < 0.1
        else rng.uniform(low, high)
    )


def plain(value):
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


def next_state(environment, edge, names):
    """The update of an edge, variable by variable, by the reference."""
    after = {v.name: names[v.name] for v in environment.variables if v.name in names}
    for update in edge.outcomes[0].updates:
        value = evaluate_term(update.value, names, environment.arithmetic)
        target, path = update.target, []
        while target.__class__.__name__ == "Apply":
            path.insert(0, target.args[1].value)
            target = target.args[0]
        if path:
            cells = list(after[target.name])
            cells[path[0]] = value
            value = tuple(cells)
        after[target.name] = value
    return after


def assert_same(expected, found, exact):
    if isinstance(expected, tuple):
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            assert_same(one, other, exact)
    elif exact or isinstance(expected, bool | int):
        assert expected == found
    else:
        assert abs(expected - found) <= ELEMENTARY * max(1.0, abs(expected))


@pytest.mark.parametrize("name", CASES)
def test_a_traced_step_does_the_same(name):
    case = CASES[name]
    environment = sf.trace(case.step, case.state, case.action, noise=case.noise or None, **case.more)
    exact = not any("rounds" in note for note in environment.notes)
    rng = random.Random(7)
    edges = environment.components[0].edges
    for _ in range(1000):
        number = rng.randrange(len(edges))
        state = {n.removeprefix("self."): draw(rng, kind) for n, kind in case.state.items()}
        controls = {c.name: rng.uniform(float(c.low), float(c.high)) for c in environment.controls}
        noise = {n: draw(rng, kind) for n, kind in case.noise.items()}
        if isinstance(case.action, dict):
            action = controls
        elif isinstance(case.action, Array):
            action = np.array(list(controls.values()))
        elif controls:
            action = next(iter(controls.values()))
        else:
            action = None if case.action is None else _listed(case.action)[number]
        names = {n: plain(v) for n, v in {**state, **controls, **noise}.items()}
        names |= {e: False for e in ("terminated", "truncated") if e not in names}
        found = next_state(environment, edges[number], names)
        given = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in state.items()}
        expected = case.call(given, action, noise)
        for variable, value in zip(state, expected, strict=True):
            assert_same(plain(value), found[variable], exact)


def _listed(actions):
    return range(actions.low, actions.high + 1) if isinstance(actions, Int) else list(actions)
