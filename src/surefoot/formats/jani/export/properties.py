"""Properties as JANI filters over the initial states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from surefoot.errors import Unsupported
from surefoot.formats.jani.export.terms import Json, Names, expression, number
from surefoot.problem.property import (
    STEPS,
    Bound,
    Eventually,
    Expected,
    Never,
    Path,
    Probability,
    Property,
    Threshold,
    Within,
)
from surefoot.problem.term import FALSE, Apply, Const, Op, Term

_RELATIONS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}
INITIAL = {"op": "initial"}
Rewards = Mapping[str, list[str]]  # a reward, and the transient variables whose sum it is


def written_property(name: str, asked: Property, names: Names, rewards: Rewards) -> Json:
    """The property as JANI has it, or an error that says why it has none."""
    where = f"property `{name}`"
    match asked:
        case Never(Apply(Op.NOT, (good,)), steps):
            values, fun = _always(expression(good, names, where), steps), "∀"
        case Never(bad, steps):
            values, fun = _always({"op": "¬", "exp": expression(bad, names, where)}, steps), "∀"
        case Eventually(good):
            values, fun = _all_runs(_within(expression(good, names, where), None)), "∀"
        case Within(good, steps, 0):
            values, fun = _all_runs(_within(expression(good, names, where), steps)), "∀"
        case Probability():
            path = _path(asked.path, names, rewards, where)
            values, fun = _measured({"op": "P", "exp": path}, asked, where)
        case Expected():
            values, fun = _measured(_expected(asked, names, rewards, where), asked, where)
        case _:
            kind = type(asked).__name__
            _refuse(f"{kind} properties of this form cannot be written in JANI", where)
    return {"name": name, "expression": {"op": "filter", "fun": fun, "values": values, "states": INITIAL}}


def _refuse(what: str, where: str) -> NoReturn:
    raise Unsupported(what, fix="leave this property out", where=where)


def _always(good: Json, steps: int | None) -> Json:
    bounds = {} if steps is None else {"step-bounds": {"upper": steps}}
    return _all_runs({"op": "G", "exp": good, **bounds})


def _within(good: Json, steps: int | None) -> Json:
    return {"op": "F", "exp": good, **({} if steps is None else {"step-bounds": {"upper": steps}})}


def _all_runs(path: Json) -> Json:
    return {"op": "∀", "exp": path}


def _measured(measure: dict[str, Any], asked: Probability | Expected, where: str) -> tuple[Json, str]:
    """The measure with its optimum and threshold, and the function of the filter."""
    if asked.optimise is None:
        _refuse("JANI asks for the smallest or largest value only", where)
    if asked.starts is not None:
        _refuse("starts other than the initial states cannot be written in JANI", where)
    values = {**measure, "op": f"{measure['op']}{asked.optimise}"}
    if asked.threshold is None:
        return values, asked.over
    compared = {
        "op": _RELATIONS[asked.threshold.relation],
        "left": values,
        "right": number(asked.threshold.value),
    }
    return compared, _quantifier(asked.threshold, asked.over, where)


def _quantifier(threshold: Threshold, over: str, where: str) -> str:
    if over not in ("min", "max"):
        _refuse(f"a threshold over `{over}` of the starts cannot be written in JANI", where)
    lowest = threshold.relation in (">", ">=")
    return "∀" if lowest == (over == "min") else "∃"


def _expected(asked: Expected, names: Names, rewards: Rewards, where: str) -> dict[str, Any]:
    if not isinstance(asked.reward, str):
        _refuse("a reward that is a term cannot be written in JANI", where)
    measure: dict[str, Any] = {"op": "E", "exp": _reward(asked.reward, rewards), "accumulate": ["steps"]}
    if asked.until != FALSE or asked.steps is None:
        measure["reach"] = expression(asked.until, names, where)
    if asked.steps is not None:
        measure["step-instant"] = asked.steps
    return measure


def _reward(reward: str, rewards: Rewards) -> Json:
    if reward == STEPS:
        return 1
    first, *others = rewards[reward]
    total: Json = first
    for name in others:
        total = {"op": "+", "left": total, "right": name}
    return total


def _path(path: Path, names: Names, rewards: Rewards, where: str) -> Json:
    right = expression(path.right, names, where)
    sides = {"exp": right}
    if path.operator in ("U", "W", "R"):
        sides = {"left": expression(path.left, names, where), "right": right}
    written: dict[str, Any] = {"op": path.operator, **sides}
    steps = [b for b in path.bounds if b.reward is None]
    if len(steps) > 1 or (path.bounds and path.operator == "X"):
        _refuse("these bounds cannot be written in JANI", where)
    if steps:
        written["step-bounds"] = _interval(steps[0], where)
    if earned := [b for b in path.bounds if b.reward is not None]:
        written["reward-bounds"] = [
            {
                "exp": _reward(b.reward or STEPS, rewards),
                "accumulate": ["steps"],
                "bounds": _interval(b, where),
            }
            for b in earned
        ]
    return written


def _interval(bound: Bound, where: str) -> Json:
    interval: dict[str, Any] = {}
    if bound.low is not None:
        interval["lower"] = _limit(bound.low, where)
    if bound.high is not None:
        interval["upper"] = _limit(bound.high, where)
        interval |= {"upper-exclusive": True} if bound.strict else {}
    return interval


def _limit(limit: Term, where: str) -> Json:
    if not isinstance(limit, Const):
        _refuse("a limit that is not a number cannot be written in JANI", where)
    return number(limit.value)
