"""What seconds mean where there is a differential equation: moments, numbers of steps, control periods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from surefoot.errors import InvalidProblem
from surefoot.problem.flow import Flow
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Timed, Within
from surefoot.term.decimal_literals import show_number
from surefoot.term.term import Term


@dataclass(frozen=True, slots=True)
class AskedMoments:
    """What a property says about a run in continuous time, at the moments from `since` to `until`.

    `reaches`: `condition` holds at one of them. Else at none of them, unless `goal` held at a moment before:
    any moment before, and not one at which the condition holds too.
    """

    condition: Term
    reaches: bool = False
    goal: Term | None = None
    since: Fraction = Fraction(0)
    until: Fraction | None = None


def moments_of_property(asked: Property, period: Fraction) -> AskedMoments | None:
    """In continuous time a step is a control period. None: no property of this kind."""

    def end(steps: int | None) -> Fraction | None:
        return None if steps is None else steps * period

    match asked:
        case Never(bad, steps):
            return AskedMoments(bad, until=end(steps))
        case NeverBefore(bad, goal, steps):
            return AskedMoments(bad, goal=goal, until=end(steps))
        case Eventually(good):
            return AskedMoments(good, reaches=True)
        case Within(good, steps, after):
            return AskedMoments(good, True, None, after * period, steps * period)
        case Timed(inner, until, since):
            plain = moments_of_property(inner, period)
            return None if plain is None else replace(plain, since=Fraction(since), until=until)
        case _:
            return None


def numbers_of_steps(asked: Timed, step: Fraction) -> tuple[int, int | None]:
    """The first and the last step at a time that is asked about."""
    return ceil(asked.since / step), None if asked.until is None else floor(asked.until / step)


def time_objection(asked: Timed, flow: Flow | None) -> InvalidProblem | None:
    """Why there is no moment that a property with time is about."""
    if flow is None:
        what = "the property is about seconds, and no step of this problem has a length"
        fix = "ask about steps, or say in `[flow]` how long one is"
        return InvalidProblem(what, fix=fix, where="property.until")
    for time, name in ((asked.since, "since"), (asked.until, "until")):
        if time is not None and time < 0:
            what = f"{show_number(time)} seconds: a time is not negative"
            return InvalidProblem(what, where=f"property.{name}")
    if asked.until is None:
        return None
    between = f"from time {show_number(asked.since)} to time {show_number(asked.until)}"
    if asked.since > asked.until:
        return InvalidProblem(f"there is no moment {between}", fix="swap them", where="property.since")
    first, last = numbers_of_steps(asked, flow.step)
    if flow.continuous or (last is not None and first <= last):
        return None
    length = show_number(flow.step)
    fix = f"ask about multiples of {length}, or about continuous time"
    return InvalidProblem(f"no step is {between}: a step takes {length}", fix=fix, where="property.until")


def period_objection(flow: Flow) -> InvalidProblem | None:
    """Why controls cannot be held for the period."""
    period, where = flow.control_period, "environment.flow.period"
    if period <= 0:
        what = f"the control period {show_number(period)} is not positive"
        return InvalidProblem(what, fix="write for how long controls are held", where=where)
    if flow.continuous or (period / flow.step).denominator == 1:
        return None
    what = (
        f"the control period {show_number(period)} is no whole multiple of the step {show_number(flow.step)}"
    )
    return InvalidProblem(what, fix="divide the period by a whole number", where=where)
