"""Interpreted runs are those of the reference semantics, word for word."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.random_environments import X, calm, problem
from tests.simulate.by_reference import run

from surefoot.errors import Unsupported
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.simulator import make_simulator
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE
from surefoot.work.philox import Stream


def watched(rng: Random) -> PathProperty:
    low = rng.choice([None, None, 0, 2])
    return PathProperty(
        calm(rng) & calm(rng),
        rng.choice([TRUE, TRUE, calm(rng)]),
        low,
        rng.choice([None, (low or 0) + rng.randrange(6)]),
        rng.choice([None, "steps", "cost", X / 3]),
    )


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_random_problems(seed: int) -> None:
    rng = Random(seed)
    asked, what, uniform = problem(rng, free=False), watched(rng), rng.random() < 0.7
    if (
        isinstance(what.reward, str)
        and what.reward == "cost"
        and not any(o.rewards for c in asked.environment.components for e in c.edges for o in e.outcomes)
    ):
        return
    simulator = make_simulator(asked, what, max_steps=12, tier="interpreter", uniform=uniform)
    start = rng.choice([None, 0])
    for number in range(3):
        stream = Stream(seed, number, 0 if start is None else 1)
        first = stream.below(len(simulator.starts)) if start is None else 0
        try:
            expected = run(asked, what, 12, simulator.starts.valuation(first), stream, uniform)
        except Undefined:
            continue  # the reference also looks at outcomes that are not drawn
        except Unsupported:
            with pytest.raises(Unsupported, match="several transitions are possible in the state"):
                simulator.runs(seed, start, number, 1)
            continue
        found = simulator.runs(seed, start, number, 1)
        assert (found.outcome[0], found.steps[0]) == expected[:2]
        assert Fraction(found.reward_low[0]) <= expected[2] <= Fraction(found.reward_high[0])
        assert found.reward_high[0] - found.reward_low[0] <= 1e-6
