"""Rewards of float64 plants: rounded ones have limits only where least and greatest numbers say them."""

from fractions import Fraction

import pytest

import surefoot as sf
from surefoot.engines.statistical.reward_range import reward_range
from surefoot.interface.environment import plain_environment
from surefoot.problem.property import Expected


def earning(reward: sf.Expression, *more: sf.Expression) -> sf.EnvironmentData:
    x = sf.real("x")
    env = sf.Environment("tank", start=x == 0, arithmetic="float64")
    for number, term in enumerate((reward, *more)):
        env = env.edge(f"go{number}", update={x: x + 1}, rewards={"won": term})
    return plain_environment(env)


@pytest.mark.parametrize(
    ("reward", "low", "high"),
    [
        (lambda x: sf.maximum(-2, sf.minimum(0, -x * x)), -20, 0),
        (lambda x: sf.minimum(0, sf.maximum(-2, -x * x)), -20, 0),
        (lambda x: sf.maximum(-2, -x * x), -20, None),
        (lambda x: sf.minimum(3, x), None, 30),
        (lambda x: sf.minimum(3, sf.maximum(1, x)), 0, 30),  # a run may end before it earns anything
        (lambda x: -x * x, None, None),
        (lambda x: sf.maximum("-0.1", sf.minimum(0, x)), Fraction(-0.1) * 10, 0),
    ],
)
def test_limits(reward: object, low: Fraction | None, high: int | None) -> None:
    x = sf.real("x")
    asked = Expected("won", sf.FALSE, steps=10)
    found = reward_range(earning(reward(x)), asked, None, None)  # type: ignore[operator]
    assert (found.low, found.high) == (low, high)


def test_several_edges() -> None:
    x = sf.real("x")
    one, other = sf.maximum(-2, sf.minimum(0, x)), sf.maximum(-1, sf.minimum(5, x))
    found = reward_range(earning(one, other), Expected("won", sf.FALSE, steps=10), None, None)
    assert (found.low, found.high) == (-20, 50)
    found = reward_range(earning(one, x), Expected("won", sf.FALSE, steps=10), Fraction(-7), None)
    assert (found.low, found.high) == (-7, None)
