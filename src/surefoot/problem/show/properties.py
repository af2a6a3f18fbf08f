"""Properties as text that reads back as the same property."""

from __future__ import annotations

from surefoot.problem.names import is_reserved
from surefoot.problem.parse.number import show_number
from surefoot.problem.parse.spelling import BINARY_PATHS, UNARY_PATHS
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
    Within,
    filter_for,
)
from surefoot.problem.show.terms import show, show_name
from surefoot.problem.term import FALSE, Apply, Const, Op, Term, Var

_TAKEN = (*UNARY_PATHS, *BINARY_PATHS)


def show_property(prop: Property) -> str:
    """The text of a property: `parse_property(show_property(p)) == p`."""
    match prop:
        case Never(Apply(Op.NOT, (good,)), steps):
            return f"always {show(good)}{_for_steps(steps)}"
        case Never(bad, steps):
            return f"never {show(bad)}{_for_steps(steps)}"
        case NeverBefore(Apply(Op.NOT, (good,)), goal, steps):
            return f"always {show(good)} before {show(goal)}{_for_steps(steps)}"
        case NeverBefore(bad, goal, steps):
            return f"never {show(bad)} before {show(goal)}{_for_steps(steps)}"
        case Eventually(good):
            return f"eventually {show(good)}"
        case Recurs(good):
            return f"recurs {show(good)}"
        case Within(good, steps, after):
            return f"within {steps} {_operand(good)}" + (f" after {after}" if after else "")
        case Probability(path, threshold, optimise, over, starts):
            return f"P{optimise or ''}{_limit(threshold)} [ {_path(path)} ]{_starts(over, starts, threshold)}"
        case Expected(reward, until, threshold, optimise, over, starts, steps):
            counted = show_name(reward) if isinstance(reward, str) else f"({show(reward)})"
            ends = "" if until == FALSE and steps is not None else f" until {show(until)}"
            asked = f"[ {counted}{ends}{_for_steps(steps)} ]"
            return f"E{optimise or ''}{_limit(threshold)} {asked}{_starts(over, starts, threshold)}"


def _for_steps(steps: int | None) -> str:
    if steps == 0:
        return " at the start"
    return "" if steps is None else f" for {steps} steps"


def _limit(threshold: Threshold | None) -> str:
    return "=?" if threshold is None else f"{threshold.relation}{show_number(threshold.value)}"


def _path(path: Path) -> str:
    bounds = "".join(_bound(b) for b in path.bounds)
    right = f"{path.operator}{bounds} {_operand(path.right)}"
    return right if path.operator in UNARY_PATHS else f"{_operand(path.left)} {right}"


def _operand(term: Term) -> str:
    """A term beside a path operator or a number: in parentheses unless it is a single word."""
    match term:
        case Var(name) if name in _TAKEN:
            return f"`{name}`"
        case Var() | Const(bool()):
            return show(term)
        case _:
            return f"({show(term)})"


def _bound(bound: Bound) -> str:
    reward = "" if bound.reward is None else f"{{{show_name(bound.reward)}}}"
    if bound.high is None:
        return f"{reward}>={_limiting(bound.low)}" if bound.low is not None else ""
    if bound.low is None:
        return f"{reward}{'<' if bound.strict else '<='}{_limiting(bound.high)}"
    return f"{reward}[{show(bound.low)}, {show(bound.high)}{')' if bound.strict else ']'}"


def _limiting(term: Term | None) -> str:
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
            return f"({show(term)})"


def _starts(over: str, starts: Term | None, threshold: Threshold | None) -> str:
    if starts is None:
        return "" if over == filter_for(threshold) else f" over {over}"
    return f" over {over} of {show(starts)}"
