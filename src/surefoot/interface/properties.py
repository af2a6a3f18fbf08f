"""Properties as functions; a condition is an expression, a term or a text."""

from __future__ import annotations

from surefoot.errors import InvalidProblem
from surefoot.interface.expression import Limit, Operand, expression_from, number_from
from surefoot.problem.property import (
    Bound,
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Optimise,
    Path,
    Probability,
    Recurs,
    Threshold,
    Within,
    default_filter,
)
from surefoot.term.arguments import whole_number
from surefoot.term.term import Const, Term


def _condition(given: Operand) -> Term:
    return expression_from(given).term


def never(bad: Operand, steps: int | None = None) -> Never:
    """No reachable state is bad; with `steps`, none within so many steps.

    >>> never("x >= 12 or x = 5", steps=8).steps
    8
    """
    return Never(_condition(bad), steps)


def never_before(bad: Operand, goal: Operand, steps: int | None = None) -> NeverBefore:
    """No state is bad before the first one that satisfies `goal`.

    >>> never_before("x = 5", goal="x = 9").steps is None
    True
    """
    return NeverBefore(_condition(bad), _condition(goal), steps)


def eventually(good: Operand) -> Eventually:
    """Every run reaches a good state.

    >>> eventually("x = 9") == eventually("x = 9")
    True
    """
    return Eventually(_condition(good))


def recurs(good: Operand) -> Recurs:
    """Every run is in a good state again and again.

    >>> recurs("x = 0") == recurs("x = 1")
    False
    """
    return Recurs(_condition(good))


def within(good: Operand, steps: int, after: int = 0) -> Within:
    """Every run is in a good state in one of its states number `after` to `steps`.

    >>> within("x = 9", 12).after
    0
    """
    return Within(_condition(good), steps, after)


def probability_of(
    goal: Operand,
    steps: int | None = None,
    *,
    optimise: Optimise | None = None,
    at_most: Limit = None,
    at_least: Limit = None,
) -> Probability:
    """How likely a goal state is reached, within `steps` if they are given; `optimise` ("min", "max")
    resolves what policy and environment leave open, `at_most` or `at_least` ask for a threshold.

    >>> probability_of("x = 9", at_most=0.01).threshold.value
    Fraction(1, 100)
    """
    bounds = () if steps is None else (Bound(high=Const(whole_number(steps))),)
    threshold = _threshold(at_most, at_least)
    path = Path("F", _condition(goal), bounds=bounds)
    return Probability(path, threshold, optimise, default_filter(threshold))


def expected_reward(
    reward: str,
    until: Operand,
    *,
    optimise: Optimise | None = None,
    at_most: Limit = None,
    at_least: Limit = None,
) -> Expected:
    """The expected reward of that name, or of "steps", until a state satisfies `until`.

    >>> expected_reward("steps", until="x = 9").reward
    'steps'
    """
    threshold = _threshold(at_most, at_least)
    return Expected(reward, _condition(until), threshold, optimise, default_filter(threshold))


def _threshold(at_most: Limit, at_least: Limit) -> Threshold | None:
    if at_most is not None and at_least is not None:
        raise InvalidProblem("both `at_most` and `at_least` are given", fix="ask for one of them")
    if at_most is not None:
        return Threshold("<=", number_from(at_most))  # type: ignore[arg-type]
    return None if at_least is None else Threshold(">=", number_from(at_least))  # type: ignore[arg-type]
