"""Properties as JANI filters over the initial states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from surefoot.errors import Unsupported
from surefoot.formats.jani.export.terms import ExportNames, Json, jani_expression, jani_number
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
from surefoot.term.term import FALSE, Apply, Const, Op, Term

_RELATIONS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}
INITIAL = {"op": "initial"}
RewardVariables = Mapping[str, list[str]]  # a reward, and the transient variables whose sum it is


def encode_jani_property(name: str, asked: Property, names: ExportNames, rewards: RewardVariables) -> Json:
    """The property as JANI has it, or an error that says why it has none."""
    where = f"property `{name}`"
    match asked:
        case Never(Apply(Op.NOT, (good,)), steps):
            values, fun = _encode_all_runs("G", jani_expression(good, names, where), steps), "∀"
        case Never(bad, steps):
            good_state = {"op": "¬", "exp": jani_expression(bad, names, where)}
            values, fun = _encode_all_runs("G", good_state, steps), "∀"
        case Eventually(good):
            values, fun = _encode_all_runs("F", jani_expression(good, names, where), None), "∀"
        case Within(good, steps, 0):
            values, fun = _encode_all_runs("F", jani_expression(good, names, where), steps), "∀"
        case Probability():
            path = _encode_path(asked.path, names, rewards, where)
            values, fun = _encode_measure({"op": "P", "exp": path}, asked, where)
        case Expected():
            values, fun = _encode_measure(_encode_expected(asked, names, rewards, where), asked, where)
        case _:
            kind = type(asked).__name__
            _refuse_property(f"{kind} properties of this form cannot be written in JANI", where)
    return {"name": name, "expression": {"op": "filter", "fun": fun, "values": values, "states": INITIAL}}


def _refuse_property(what: str, where: str) -> NoReturn:
    raise Unsupported(what, fix="leave this property out", where=where)


def _encode_all_runs(operator: str, good: Json, steps: int | None) -> Json:
    bounds = {} if steps is None else {"step-bounds": {"upper": steps}}
    return {"op": "∀", "exp": {"op": operator, "exp": good, **bounds}}


def _encode_measure(measure: dict[str, Any], asked: Probability | Expected, where: str) -> tuple[Json, str]:
    """The measure with its optimum and threshold, and the function of the filter."""
    if asked.optimise is None:
        _refuse_property("JANI asks for the smallest or largest value only", where)
    if asked.starts is not None:
        _refuse_property("starts other than the initial states cannot be written in JANI", where)
    values = {**measure, "op": f"{measure['op']}{asked.optimise}"}
    if asked.threshold is None:
        return values, asked.over
    compared = {
        "op": _RELATIONS[asked.threshold.relation],
        "left": values,
        "right": jani_number(asked.threshold.value),
    }
    return compared, _filter_quantifier(asked.threshold, asked.over, where)


def _filter_quantifier(threshold: Threshold, over: str, where: str) -> str:
    if over not in ("min", "max"):
        _refuse_property(f"a threshold over `{over}` of the starts cannot be written in JANI", where)
    lowest = threshold.relation in (">", ">=")
    return "∀" if lowest == (over == "min") else "∃"


def _encode_expected(
    asked: Expected, names: ExportNames, rewards: RewardVariables, where: str
) -> dict[str, Any]:
    if not isinstance(asked.reward, str):
        _refuse_property("a reward that is a term cannot be written in JANI", where)
    measure: dict[str, Any] = {
        "op": "E",
        "exp": _encode_reward(asked.reward, rewards),
        "accumulate": ["steps"],
    }
    if asked.until != FALSE or asked.steps is None:
        measure["reach"] = jani_expression(asked.until, names, where)
    if asked.steps is not None:
        measure["step-instant"] = asked.steps
    return measure


def _encode_reward(reward: str, rewards: RewardVariables) -> Json:
    if reward == STEPS:
        return 1
    first, *others = rewards[reward]
    total: Json = first
    for name in others:
        total = {"op": "+", "left": total, "right": name}
    return total


def _encode_path(path: Path, names: ExportNames, rewards: RewardVariables, where: str) -> Json:
    right = jani_expression(path.right, names, where)
    sides = {"exp": right}
    if path.operator in ("U", "W", "R"):
        sides = {"left": jani_expression(path.left, names, where), "right": right}
    written: dict[str, Any] = {"op": path.operator, **sides}
    steps = [b for b in path.bounds if b.reward is None]
    if len(steps) > 1 or (path.bounds and path.operator == "X"):
        _refuse_property("these bounds cannot be written in JANI", where)
    if steps:
        written["step-bounds"] = _encode_interval(steps[0], where)
    if earned := [b for b in path.bounds if b.reward is not None]:
        written["reward-bounds"] = [
            {
                "exp": _encode_reward(b.reward or STEPS, rewards),
                "accumulate": ["steps"],
                "bounds": _encode_interval(b, where),
            }
            for b in earned
        ]
    return written


def _encode_interval(bound: Bound, where: str) -> Json:
    interval: dict[str, Any] = {}
    if bound.low is not None:
        interval["lower"] = _encode_limit(bound.low, where)
    if bound.high is not None:
        interval["upper"] = _encode_limit(bound.high, where)
        interval |= {"upper-exclusive": True} if bound.strict else {}
    return interval


def _encode_limit(limit: Term, where: str) -> Json:
    if not isinstance(limit, Const):
        _refuse_property("a limit that is not a number cannot be written in JANI", where)
    return jani_number(limit.value)
