"""Properties as text that reads back as the same property."""

from __future__ import annotations

from fractions import Fraction

from surefoot.problem.property import (
    Bound,
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Path,
    Probability,
    Property,
    Recurs,
    Threshold,
    Timed,
    Within,
    default_filter,
)
from surefoot.term.decimal_literals import show_number
from surefoot.term.operator_syntax import BINARY_PATHS, UNARY_PATHS
from surefoot.term.printer import show_name, show_term
from surefoot.term.reserved_names import is_reserved
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var

_TAKEN = (*UNARY_PATHS, *BINARY_PATHS, "second", "seconds")


def show_property(prop: Property) -> str:
    """The text of a property: `parse_property(show_property(p)) == p`."""
    match prop:
        case Never(Apply(Op.NOT, (good,)), steps):
            return f"always {show_term(good)}{_show_step_limit(steps)}"
        case Never(bad, steps):
            return f"never {show_term(bad)}{_show_step_limit(steps)}"
        case NeverBefore(Apply(Op.NOT, (good,)), goal, steps):
            return f"always {show_term(good)} before {show_term(goal)}{_show_step_limit(steps)}"
        case NeverBefore(bad, goal, steps):
            return f"never {show_term(bad)} before {show_term(goal)}{_show_step_limit(steps)}"
        case Eventually(good):
            return f"eventually {show_term(good)}"
        case Recurs(good):
            return f"recurs {show_term(good)}"
        case Within(good, steps, after):
            return f"within {steps} {_show_operand(good)}" + (f" after {after}" if after else "")
        case Timed(plain, until, since):
            return _show_timed(plain, until, since)
        case Probability(path, threshold, optimise, over, starts):
            return (
                f"P{optimise or ''}{_show_threshold(threshold)} [ {_show_path(path)} "
                f"]{_show_starts(over, starts, threshold)}"
            )
        case Expected(reward, until, threshold, optimise, over, starts, steps):
            counted = show_name(reward) if isinstance(reward, str) else f"({show_term(reward)})"
            ends = "" if until == FALSE and steps is not None else f" until {show_term(until)}"
            asked = f"[ {counted}{ends}{_show_step_limit(steps)} ]"
            return (
                f"E{optimise or ''}{_show_threshold(threshold)} "
                f"{asked}{_show_starts(over, starts, threshold)}"
            )


def _show_timed(asked: Never | NeverBefore | Eventually, until: Fraction | None, since: Fraction) -> str:
    first = show_number(since)
    if not isinstance(asked, Eventually):
        if until is None:
            return f"{show_property(asked)} from {_show_seconds(since)}"
        if until == since:
            return f"{show_property(asked)} at time {first}"
        if since:
            return f"{show_property(asked)} from {first} to {show_number(until)} seconds"
        return f"{show_property(asked)} for {_show_seconds(until)}"
    if until is None:
        return f"{show_property(asked)} after {_show_seconds(since)}"
    if until == since:
        return f"at time {first} {_show_operand(asked.good)}"
    later = f" after {_show_seconds(since)}" if since else ""
    return f"within {_show_seconds(until)} {_show_operand(asked.good)}{later}"


def _show_seconds(time: Fraction) -> str:
    return f"{show_number(time)} {'second' if time == 1 else 'seconds'}"


def _show_step_limit(steps: int | None) -> str:
    if steps == 0:
        return " at the start"
    return "" if steps is None else f" for {steps} steps"


def _show_threshold(threshold: Threshold | None) -> str:
    return "=?" if threshold is None else f"{threshold.relation}{show_number(threshold.value)}"


def _show_path(path: Path) -> str:
    bounds = "".join(_show_bound(b) for b in path.bounds)
    right = f"{path.operator}{bounds} {_show_operand(path.right)}"
    return right if path.operator in UNARY_PATHS else f"{_show_operand(path.left)} {right}"


def _show_operand(term: Term) -> str:
    """A term beside a path operator or a number: in parentheses unless it is a single word."""
    match term:
        case Var(name) if name in _TAKEN:
            return f"`{name}`"
        case Var() | Const(bool()):
            return show_term(term)
        case _:
            return f"({show_term(term)})"


def _show_bound(bound: Bound) -> str:
    reward = "" if bound.reward is None else f"{{{show_name(bound.reward)}}}"
    if bound.high is None:
        return f"{reward}>={_show_limit(bound.low)}" if bound.low is not None else ""
    if bound.low is None:
        return f"{reward}{'<' if bound.strict else '<='}{_show_limit(bound.high)}"
    return f"{reward}[{show_term(bound.low)}, {show_term(bound.high)}{')' if bound.strict else ']'}"


def _show_limit(term: Term | None) -> str:
    """A limit: a number or a name as it is, anything else in parentheses."""
    match term:
        case Const(value) if (
            not isinstance(value, bool) and value >= 0 and "/" not in (text := show_number(value))
        ):
            return text
        case Var(name) if not is_reserved(name):
            return show_name(name)
        case None:
            return ""
        case _:
            return f"({show_term(term)})"


def _show_starts(over: str, starts: Term | None, threshold: Threshold | None) -> str:
    if starts is None:
        return "" if over == default_filter(threshold) else f" over {over}"
    return f" over {over} of {show_term(starts)}"
