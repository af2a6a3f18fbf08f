"""Properties: filters over the initial states, probabilities, expected rewards, questions about all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NoReturn, cast, get_args

from surefoot.errors import SurefootError, did_you_mean
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.expressions import JaniScope, read_jani_constant, read_jani_term
from surefoot.formats.jani.instances import ModelInstances
from surefoot.formats.jani.json_document import JsonNode
from surefoot.formats.jani.rewards import Rewards
from surefoot.formats.jani.transient_variables import rewrite_locations
from surefoot.problem.property import (
    STEPS,
    Bound,
    Eventually,
    Expected,
    Filter,
    Never,
    NeverBefore,
    Optimise,
    Path,
    Probability,
    Property,
    Threshold,
    Within,
)
from surefoot.term.lexer import shorten_text
from surefoot.term.reserved_names import location_name
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, conjunction_of
from surefoot.term.types import BOOL, INT, REAL

OPTIMUM: dict[str, Optimise] = {"Pmin": "min", "Pmax": "max", "Emin": "min", "Emax": "max"}
TRAINING = ("accumulate", "step-reward", "goal-reward")  # of an objective: what learning was rewarded for
RELATIONS = {"<": "<", "≤": "<=", ">": ">", "≥": ">="}
SWAPPED_RELATIONS = {"<": ">", "≤": ">=", ">": "<", "≥": "<="}
UNARY, BINARY = ("X", "F", "G"), ("U", "W", "R")
Relation = Literal["<", "<=", ">", ">="]
_BOUNDS = ("step-bounds", "time-bounds", "reward-bounds")
_EXTENSIONS = {
    "PA": "predicate abstraction of PlaJA",
    "objective": "an objective of PlaJA",
    "Smin": "a steady-state probability",
    "Smax": "a steady-state probability",
}


@dataclass(frozen=True, slots=True)
class PropertyReader:
    cast: ModelInstances
    scope: JaniScope
    rewards: Rewards

    def read_property(self, node: JsonNode) -> Property:
        fields = node.table(("name", "expression"))
        return self._filter(fields["expression"], fields["name"].name())

    def _filter(self, node: JsonNode, name: str) -> Property:
        operator = _operator_name(node)
        if operator == "PA":
            return self._unreachable(node)
        if operator != "filter":
            _refuse_operator(node, operator, "write a filter over the initial states")
        fields = node.table(("op", "fun", "values", "states"))
        if _operator_name(fields["states"]) != "initial":
            fields["states"].refuse(
                "a filter over other states than the initial ones", 'use {"op": "initial"}'
            )
        fun = fields["fun"].string()
        if fun not in (*get_args(Filter), "∀", "∃"):
            fields["fun"].fail(
                f"unknown filter `{shorten_text(fun)}`", did_you_mean(fun, (*get_args(Filter), "∀", "∃"))
            )
        values = fields["values"]
        asked = _operator_name(values)
        if asked in OPTIMUM:
            if fun in ("∀", "∃", "count"):
                fields["fun"].fail(f"`{fun}` needs a truth value, but this is a number", "compare it")
            return self._measure(values, None, cast(Filter, fun), name)
        if asked in RELATIONS and (side := _measured_side(values)) is not None:
            threshold = self._threshold(values, side)
            over = _deciding_filter(fields["fun"], threshold)
            return self._measure(JsonNode(values.value[side], values, side), threshold, over, name)
        return self._about_runs(values, asked, fields["fun"])

    def _unreachable(self, node: JsonNode) -> Never | NeverBefore:
        """PlaJA's question whether a condition can be reached; its predicates only help to answer it."""
        fields = node.table(("op",), ("file", "start", "reach", "objective", "predicates"))
        if "reach" not in fields:
            node.refuse("`PA` without `reach` is not supported", "say what must not be reached")
        if "start" in fields:
            fields["start"].refuse("`PA` with other start states is not supported", "use `restrict-initial`")
        if "file" in fields:
            fields["file"].refuse("`PA` with a policy is not supported", "leave it out and give --policy")
        if isinstance(fields["reach"].value, dict) and "file" in fields["reach"].value:
            fields["reach"].refuse("a condition in another file is not supported", "write it here")
        bad = self._condition(fields["reach"])
        if "objective" not in fields:
            return Never(bad)
        aims = fields["objective"].table(("op",), ("goal", *TRAINING))
        if aims["op"].value != "objective":
            aims["op"].refuse(f"`{aims['op'].value}` is not supported", "use `objective`")
        return NeverBefore(bad, self._condition(aims["goal"])) if "goal" in aims else Never(bad)

    def _condition(self, node: JsonNode) -> Term:
        """PlaJA's condition on variables and locations."""
        condition = node.table(("op",), ("exp", "locations"))
        if condition["op"].value != "state-condition":
            condition["op"].refuse(f"`{condition['op'].value}` is not supported", "use `state-condition`")
        parts = [self._state(condition["exp"])] if "exp" in condition else []
        for place in condition["locations"].entries() if "locations" in condition else []:
            parts.append(self._location(place))
        return conjunction_of(tuple(parts))

    def _location(self, node: JsonNode) -> Term:
        fields = node.table(("automaton", "index", "location"))
        index = fields["index"].integer()
        if not 0 <= index < len(self.cast.instances):
            fields["index"].fail(f"there are {len(self.cast.instances)} automata", "they are counted from 0")
        instance = self.cast.instances[index]
        if fields["automaton"].string() != instance.automaton:
            what = f"automaton {index} of the composition is `{instance.automaton}`"
            fields["automaton"].fail(what, "name that one, or give the index of the one that is meant")
        place = instance.locations[fields["location"].declared_name(instance.locations, "location")]
        return Var(location_name(instance.component, place))

    def _threshold(self, node: JsonNode, side: str) -> Threshold:
        fields = node.table(("op", "left", "right"))
        relation = (RELATIONS if side == "left" else SWAPPED_RELATIONS)[fields["op"].string()]
        value = read_jani_constant(fields["right" if side == "left" else "left"], self.scope, REAL)
        return Threshold(cast(Relation, relation), Fraction(value.value))

    def _measure(self, node: JsonNode, threshold: Threshold | None, over: Filter, name: str) -> Property:
        operator = node.value["op"]
        if operator.startswith("P"):
            path = self._path(node.table(("op", "exp"))["exp"], name)
            return Probability(path, threshold, OPTIMUM[operator], over)
        return self._expected_reward(node, threshold, over, name)

    def _expected_reward(
        self, node: JsonNode, threshold: Threshold | None, over: Filter, name: str
    ) -> Expected:
        optional = ("accumulate", "reach", "step-instant", "time-instant", "reward-instants")
        fields = node.table(("op", "exp"), optional)
        for key in ("time-instant", "reward-instants"):
            if key in fields:
                fields[key].refuse(f"`{key}` is not supported", "use `reach` or `step-instant`")
        if "accumulate" not in fields:
            what = "an expected value that is not accumulated"
            node.refuse(f"{what} is not supported", 'add "accumulate": ["steps"] or ["exit"]')
        if "reach" not in fields and "step-instant" not in fields:
            node.refuse("a reward that is accumulated for ever is not supported", "add `reach`")
        reward = self.rewards.request_reward(fields["exp"], fields["accumulate"], name)
        until = self._state(fields["reach"]) if "reach" in fields else FALSE
        steps = self._count(fields["step-instant"]) if "step-instant" in fields else None
        return Expected(reward, until, threshold, OPTIMUM[node.value["op"]], over, steps=steps)

    def _about_runs(self, node: JsonNode, asked: str, fun: JsonNode) -> Property:
        """What holds of all runs, or of some run, from the initial states."""
        if asked in ("∀", "∃"):
            path = self._path(node.table(("op", "exp"))["exp"], "")
            if fun.value not in ("∀", "values") and not (asked == "∃" and fun.value == "∃"):
                fun.refuse(f"`{fun.value}` of what holds of runs is not supported", "use ∀")
            return _for_all(node, path) if asked == "∀" else _for_some(node, path, fun.value)
        if asked in (*UNARY, *BINARY):
            node.refuse(f"`{asked}` without Pmin, Pmax, ∀ or ∃ is not supported", "say for which runs")
        if asked in _EXTENSIONS:
            _refuse_operator(node, asked, "ask for Pmin, Pmax, Emin, Emax, ∀ or ∃")
        if fun.value != "∀":
            fun.refuse(f"`{fun.value}` of a condition on states is not supported", "use ∀")
        return Never(fold_constant_parts(~self._state(node)), 0)

    def _state(self, node: JsonNode) -> Term:
        return rewrite_locations(self.cast, read_jani_term(node, self.scope, BOOL))

    def _count(self, node: JsonNode) -> int:
        value = read_jani_constant(node, self.scope, INT).value
        if not isinstance(value, int) or value < 0:
            node.fail(f"{value} is not a number of steps", "use a whole number from 0 on")
        return value

    def _path(self, node: JsonNode, name: str) -> Path:
        operator = _operator_name(node)
        if operator not in (*UNARY, *BINARY):
            node.refuse("this is not a path formula", f"use one of {', '.join((*UNARY, *BINARY))}")
        sides = ("exp",) if operator in UNARY else ("left", "right")
        fields = node.table(("op", *sides), () if operator == "X" else _BOUNDS)
        if "time-bounds" in fields:
            fields["time-bounds"].refuse("`time-bounds` need a timed model", "use `step-bounds`")
        bounds: list[Bound] = []
        if "step-bounds" in fields:
            bounds.append(self._step_bound(fields["step-bounds"]))
        for entry in fields["reward-bounds"].entries() if "reward-bounds" in fields else []:
            bounds.append(self._reward_bound(entry, name))
        right = self._state(fields[sides[-1]])
        left = self._state(fields["left"]) if len(sides) > 1 else TRUE
        return Path(cast(Literal["X", "F", "G", "U", "W", "R"], operator), right, left, tuple(bounds))

    def _step_bound(self, node: JsonNode) -> Bound:
        low, open_low, high, open_high = self._interval(node)
        for limit in (low, high):
            if limit is not None and (not isinstance(limit, int) or limit < 0):
                node.fail(f"{limit} is not a number of steps", "use a whole number from 0 on")
        least = None if low is None else Const(low + open_low)
        if high is not None and open_high and high == 0:
            node.fail("fewer than 0 steps: nothing satisfies this bound", "use a larger one")
        most = None if high is None else Const(high - open_high)
        return _check_bound(node, Bound(least, most))

    def _reward_bound(self, node: JsonNode, name: str) -> Bound:
        fields = node.table(("exp", "accumulate", "bounds"))
        low, open_low, high, open_high = self._interval(fields["bounds"])
        from_the_start = low is None or low < 0 or (low == 0 and not open_low)
        reward = self.rewards.request_reward(
            fields["exp"], fields["accumulate"], name, plain_steps=from_the_start
        )
        if low is not None and open_low and not from_the_start:
            low = self._least_sum_above(fields["bounds"], low, reward)
        least, most = (None if limit is None else Const(limit) for limit in (low, high))
        return _check_bound(node, Bound(least, most, None if reward == STEPS else reward, open_high))

    def _least_sum_above(self, node: JsonNode, low: int | Fraction, reward: str) -> Fraction:
        """The least sum of a reward that is larger than a number."""
        grain = self.rewards.common_denominator(reward)
        if grain is None:
            what = "a lower bound that is excluded, on a reward that depends on the state,"
            node.refuse(f"{what} is not supported", "include it")
        return Fraction((low * grain).__floor__() + 1, grain)

    def _interval(self, node: JsonNode) -> tuple[int | Fraction | None, bool, int | Fraction | None, bool]:
        keys = ("lower", "lower-exclusive", "upper", "upper-exclusive")
        fields = node.table((), keys)
        low, high = (
            read_jani_constant(fields[key], self.scope, REAL).value if key in fields else None
            for key in ("lower", "upper")
        )
        open_low, open_high = (
            fields[key].truth() if key in fields else False for key in ("lower-exclusive", "upper-exclusive")
        )
        return low, open_low, high, open_high


def _operator_name(node: JsonNode) -> str:
    value = node.value
    return value["op"] if isinstance(value, dict) and isinstance(value.get("op"), str) else ""


def _refuse_operator(node: JsonNode, operator: str, fix: str) -> NoReturn:
    if operator in _EXTENSIONS:
        node.refuse(f"`{operator}` ({_EXTENSIONS[operator]}) is not supported", fix)
    node.refuse(f"a property that begins with `{shorten_text(operator)}` is not supported", fix)


def _measured_side(node: JsonNode) -> str | None:
    sides = [s for s in ("left", "right") if _operator_name(JsonNode(node.value.get(s), node, s)) in OPTIMUM]
    if len(sides) == 2:
        node.refuse("a comparison of two probabilities or rewards is not supported", "ask one by one")
    return sides[0] if sides else None


def _deciding_filter(fun: JsonNode, threshold: Threshold) -> Filter:
    """Which initial state decides a comparison: for all of them the worst, for one of them the best."""
    if fun.value == "count":
        return "count"
    if fun.value not in ("∀", "values", "∃"):
        fun.refuse(f"`{fun.value}` of truth values is not supported", "use ∀")
    lowest = threshold.relation in (">", ">=")
    return "min" if lowest == (fun.value != "∃") else "max"


def _check_bound(node: JsonNode, bound: Bound) -> Bound:
    match bound:
        case Bound(None, None):
            node.fail("a bound without a limit", "add `lower` or `upper`")
        case Bound(Const(low), Const(high)) if low > high:
            node.fail("the lower limit is above the upper limit", "swap them")
    return bound


def _steps_of(path: Path) -> int | None:
    """The number of steps within which a formula is about, if that is all its bounds say."""
    match path.bounds:
        case (Bound(None, Const(int() as high), None, False),):
            return high
        case _:
            return None


def _for_all(node: JsonNode, path: Path) -> Property:
    match path:
        case Path("G", good, _, ()):
            return Never(fold_constant_parts(~good))
        case Path("F", good, _, ()):
            return Eventually(good)
        case Path("G", good) if (steps := _steps_of(path)) is not None:
            return Never(fold_constant_parts(~good), steps)
        case Path("F", good) if (steps := _steps_of(path)) is not None:
            return Within(good, steps)
        case Path("X" | "W" | "R" | "G", _, _, bounds) if all(b.reward is None for b in bounds):
            # Such a formula is violated by a finite run already, and that has a positive probability.
            return Probability(path, Threshold(">=", Fraction(1)), "min", "min")
    node.refuse(f"∀ {path.operator} is not supported", "∀ is read with G, F, X, W and R")


def _for_some(node: JsonNode, path: Path, fun: str) -> Property:
    if path.operator in ("X", "F", "U"):
        # A finite run is enough, and a finite run has a positive probability.
        return Probability(path, Threshold(">", Fraction(0)), "max", "max" if fun == "∃" else "min")
    node.refuse(f"∃ {path.operator} is not supported", "ask ∀ F of the opposite")


def read_jani_properties(
    readers: PropertyReader, nodes: Mapping[str, JsonNode]
) -> tuple[dict[str, Property], dict[str, SurefootError]]:
    """The properties that can be asked, and why the others cannot."""
    found: dict[str, Property] = {}
    refused: dict[str, SurefootError] = {}
    for name, node in nodes.items():
        try:
            found[name] = readers.read_property(node)
        except SurefootError as error:
            refused[name] = error
    return found, refused
