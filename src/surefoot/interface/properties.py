"""Properties as functions; a condition is an expression, a term or a text."""

from __future__ import annotations

from fractions import Fraction

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
    Timed,
    Within,
    default_filter,
)
from surefoot.term.arguments import whole_number
from surefoot.term.term import Const, Term


def _condition(given: Operand) -> Term:
    return expression_from(given).term


def _limit_in_time(
    asked: Never | NeverBefore | Eventually, seconds: Limit, since: Limit
) -> Never | NeverBefore | Eventually | Timed:
    """The property about the moments from `since` to `seconds`, if one of them is given."""
    if seconds is None and not since:
        return asked
    until = None if seconds is None else Fraction(number_from(seconds))
    return Timed(asked, until, Fraction(0 if since is None else number_from(since)))


def never(
    bad: Operand, steps: int | None = None, *, seconds: Limit = None, since: Limit = None
) -> Never | Timed:
    """No reachable state is bad; with `steps`, none within so many steps. Where there is a differential
    equation, `seconds` and `since` are the last and the first moment that count.

    >>> never("x >= 12 or x = 5", steps=8).steps
    8
    >>> never("x >= 12", seconds=0.5).until
    Fraction(1, 2)
    """
    return _limit_in_time(Never(_condition(bad), steps), seconds, since)  # type: ignore[return-value]


def never_before(
    bad: Operand, goal: Operand, steps: int | None = None, *, seconds: Limit = None, since: Limit = None
) -> NeverBefore | Timed:
    """No state is bad before the first one that satisfies `goal`; limits as those of `never`.

    >>> never_before("x = 5", goal="x = 9").steps is None
    True
    """
    plain = NeverBefore(_condition(bad), _condition(goal), steps)
    return _limit_in_time(plain, seconds, since)  # type: ignore[return-value]


def eventually(good: Operand, *, since: Limit = None) -> Eventually | Timed:
    """Every run reaches a good state; with `since`, at that time or later.

    >>> eventually("x = 9") == eventually("x = 9")
    True
    """
    return _limit_in_time(Eventually(_condition(good)), None, since)  # type: ignore[return-value]


def recurs(good: Operand) -> Recurs:
    """Every run is in a good state again and again.

    >>> recurs("x = 0") == recurs("x = 1")
    False
    """
    return Recurs(_condition(good))


def within(
    good: Operand,
    steps: int | None = None,
    after: int = 0,
    *,
    seconds: Limit = None,
    since: Limit = None,
) -> Within | Timed:
    """Every run is in a good state in one of its states number `after` to `steps`, or, where there is a
    differential equation, at a moment from time `since` to time `seconds`.

    >>> within("x = 9", 12).after
    0
    >>> within("x = 9", seconds=2.5, since=2.5).since
    Fraction(5, 2)
    """
    if (steps is None) == (seconds is None):
        what = "neither `steps` nor `seconds` is given" if steps is None else "limits in steps and in seconds"
        raise InvalidProblem(what, fix="give one of them", where="within")
    if steps is not None:
        if since is not None:
            raise InvalidProblem("`since` is in seconds", fix="give `after` beside `steps`", where="within")
        return Within(_condition(good), steps, after)
    if after:
        raise InvalidProblem(
            "`after` is a number of steps", fix="give `since` beside `seconds`", where="within"
        )
    return _limit_in_time(Eventually(_condition(good)), seconds, since)  # type: ignore[return-value]


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
