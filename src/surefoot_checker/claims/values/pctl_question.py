"""What is asked: a path formula or an expected reward, read and brought into the form that is checked.

Every path formula is `left U right` or its opposite: F b = true U b, G b = not F not b, X b = b after exactly
one step, a W b = not (not b U neither), a R b = not (not a U not b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from ...kernel.strict_json import (
    BadCertificate,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from .model import OURS, AutomataModel
from .state_space import RunCounter
from .term import Function, Row, compile_row_function
from .transitions import JointTransitions

MOST_STEPS = 10_000_000
_PROBABILITY = frozenset({"kind", "optimise", "operator", "left", "right", "bounds", "over", "starts"})
_EXPECTED = frozenset({"kind", "optimise", "reward", "until", "steps", "over", "starts"})
_BOUND = frozenset({"reward", "low", "high", "strict"})
OVER = ("min", "max", "sum", "avg", "values")
Compile = Callable[[Any], Function]


class PolicyPredicates(Protocol):
    """What conditions may ask a policy."""

    def stalls(self, row: Row) -> bool: ...

    def picks(self, row: Row, action: str) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class QuantitativeQuery:
    kind: str  # "until" or "reward"
    optimise: str  # of what is checked: the opposite of what is asked where `negated`
    negated: bool
    left: Function
    right: Function
    steps: int | None
    after: int
    counters: tuple[RunCounter, ...]
    reward: str | None  # "": steps
    over: str
    starts: Function | None
    worth: Function | None = None  # what every step from a state pays, where that is asked for

    def is_lost(self, row: Row, width: int) -> bool:
        if not self.counters:
            return False
        return any(c.is_lost(v) for c, v in zip(self.counters, row[width:], strict=True))

    def is_counted(self, row: Row, width: int) -> bool:
        if not self.counters:
            return True
        return all(c.holds(v) for c, v in zip(self.counters, row[width:], strict=True))


def read_quantitative_query(data: object, optimise: str, condition: Compile) -> QuantitativeQuery:
    """`optimise`: what is looked at, where the property may leave it open."""
    kind = data.get("kind") if type(data) is dict else None
    if kind == "expected":
        entry = expect_object(data, _EXPECTED, frozenset(), "property")
        reward = entry["reward"]
        of_state = reward[1] if type(reward) is list and len(reward) == 2 and reward[0] == "of" else None
        worth = None if of_state is None else condition(of_state)
        paid = "" if reward is None or worth is not None else expect_text(reward, "reward")
        steps = None if entry["steps"] is None else expect_integer(entry["steps"], 0, MOST_STEPS, "steps")
        goal = condition(entry["until"])
        common = _read_common(entry, optimise, condition)
        return QuantitativeQuery(
            "reward", common[0], False, goal, goal, steps, 0, (), paid, *common[1:], worth
        )
    entry = expect_object(data, _PROBABILITY, frozenset(), "property")
    if kind != "probability":
        raise BadCertificate("property: neither a probability nor an expected reward")
    optimise, over, starts = _read_common(entry, optimise, condition)
    left, right, negated = _until_form(entry, condition)
    steps, after, counters = _read_bounds(entry)
    if entry["operator"] == "X":
        if entry["bounds"]:
            raise BadCertificate("property: X with bounds")
        steps, after = 1, 1
    if entry["operator"] == "W" and (after or any(c.low is not None for c in counters)):
        raise BadCertificate("property: W with a bound below")
    if after and steps is None:
        raise BadCertificate("property: a least number of steps without a largest one")
    if steps is not None and steps < after:
        raise BadCertificate("property: a bound on steps that nothing can meet")
    if counters and starts is not None:
        raise BadCertificate("property: rewards are counted from the initial states, not from other starts")
    if negated:
        optimise = "min" if optimise == "max" else "max"
    return QuantitativeQuery(
        "until", optimise, negated, left, right, steps, after, counters, None, over, starts
    )


def _read_common(
    entry: dict[str, Any], optimise: str, condition: Compile
) -> tuple[str, str, Function | None]:
    if entry["over"] not in OVER:
        raise BadCertificate("property: this way to look at starts is not covered")
    return optimise, entry["over"], None if entry["starts"] is None else condition(entry["starts"])


def _until_form(entry: dict[str, Any], condition: Compile) -> tuple[Function, Function, bool]:
    left, right = condition(entry["left"]), condition(entry["right"])
    match entry["operator"]:
        case "F" | "X":
            return lambda row: True, right, False
        case "U":
            return left, right, False
        case "G":
            return lambda row: True, lambda row: not right(row), True
        case "W":
            return lambda row: not right(row), lambda row: not right(row) and not left(row), True
        case "R":
            return lambda row: not left(row), lambda row: not right(row), True
        case _:
            raise BadCertificate("property: an unknown path operator")


def _read_bounds(entry: dict[str, Any]) -> tuple[int | None, int, tuple[RunCounter, ...]]:
    steps: int | None = None
    after = 0
    counters: list[RunCounter] = []
    for data in expect_list(entry["bounds"], "bounds"):
        bound = expect_object(data, _BOUND, frozenset(), "bound")
        low, high = (None if bound[k] is None else expect_number(bound[k], k) for k in ("low", "high"))
        if type(bound["strict"]) is not bool or any(n is not None and n < 0 for n in (low, high)):
            raise BadCertificate("property: a bound that is negative or neither strict nor not")
        if bound["reward"] is not None:
            counters.append(RunCounter(expect_text(bound["reward"], "reward"), low, high, bound["strict"]))
        elif steps is None and after == 0 and high is not None:
            steps, after = (
                _largest_steps(high, bound["strict"]),
                -((-low.numerator) // low.denominator) if low else 0,
            )
        else:
            raise BadCertificate("property: several bounds on steps, or one without a largest number")
    return steps, after, tuple(counters)


def _largest_steps(high: Fraction, strict: bool) -> int:
    """The largest number of steps that the bound permits."""
    most = high.numerator // high.denominator
    most = most - 1 if strict and most == high else most
    if not 0 <= most <= MOST_STEPS:
        raise BadCertificate("property: a number of steps that is not covered")
    return most


def compile_condition(data: Any, moves: JointTransitions, policy: PolicyPredicates | None) -> Function:
    """A condition on states: of variables, locations, deadlocks and what the policy does."""
    model = moves.model
    slots = {name: slot for name, slot in model.slots.items() if slot < model.width}
    extra: list[Function] = []

    def replace_special(part: Any) -> Any:
        if type(part) is not list or not part:
            return part
        if part[0] == "name":
            if len(part) != 2 or type(part[1]) is not str or part[1] not in slots:
                raise BadCertificate(f"a condition mentions the unknown name {str(part[1:])[:40]}")
            return part
        if part[0] == "at" and len(part) == 3:
            extra.append(
                _location_test(model, expect_text(part[1], "component"), expect_text(part[2], "location"))
            )
        elif part == ["deadlocked"]:
            extra.append(lambda row: not moves.enabled_steps(row[: model.width]))
        elif part == ["stalled"] and policy is not None:
            extra.append(lambda row: policy.stalls(row[: model.width]))
        elif part[0] == "chosen" and len(part) == 2 and policy is not None:
            action = expect_text(part[1], "action")
            extra.append(lambda row: policy.picks(row[: model.width], action))
        else:
            return [part[0], *map(replace_special, part[1:])]
        return ["name", f"{OURS}{len(extra) - 1}"]

    tree = replace_special(data)
    names = {**slots, **{f"{OURS}{i}": model.length + i for i in range(len(extra))}}
    whole = compile_row_function(tree, names, model.sure())
    if not extra:
        return whole
    pad = (None,) * (model.length - model.width)
    return lambda row: whole((*row[: model.width], *pad, *(f(row) for f in extra)))


def _location_test(model: AutomataModel, component: str, location: str) -> Function:
    if component not in model.names or location not in model.locations[model.names.index(component)]:
        raise BadCertificate("a condition mentions an unknown component or location")
    number_ = model.names.index(component)
    place, wanted = model.places[number_], model.locations[number_].index(location)
    return lambda row: True if place is None else row[place] == wanted
