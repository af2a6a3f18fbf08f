"""Properties of a canonical problem: of runs (docs/certificates.md, section 9), of a process (section 11).

Limits in seconds, and a `never` that counts from a later step on, are for closed loops (section 14).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .strict_json import (
    BadCertificate,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from .term import Term

MOST_STEPS = 10_000_000
OVER = ("min", "max", "sum", "avg", "values")
_PROBABILITY = frozenset({"kind", "optimise", "operator", "left", "right", "bounds", "over", "starts"})
_EXPECTED = frozenset({"kind", "optimise", "reward", "until", "steps", "over", "starts"})
_BOUND = frozenset({"reward", "low", "high", "strict"})
_STEPPED, _TIMED = {"steps", "after"}, {"until", "since"}
_RUNS: dict[str, set[str]] = {
    "never": {"steps", "before"},
    "within": _STEPPED,
    "eventually": set(),
    "recurs": set(),
}
_LOOPS: dict[bool, dict[str, set[str]]] = {
    False: {"never": {*_STEPPED, "before"}, "within": _STEPPED, "eventually": set()},
    True: {"never": {*_TIMED, "before"}, "eventually": _TIMED},
}
Scalar = Callable[[object], Term]  # reads a term that is a truth value or a number


@dataclass(frozen=True, slots=True)
class RunProperty:
    kind: str  # "never", "within", "eventually" or "recurs"
    condition: Term
    steps: int | None = None
    after: int = 0
    before: Term | None = None  # of `never`: a run ends where this holds
    until: Fraction | None = None  # in continuous time: the last moment that counts, in seconds
    since: Fraction = Fraction(0)  # and the first one


@dataclass(frozen=True, slots=True, eq=False)
class SumBound:
    """On the steps so far (`reward` is None), or on a reward summed up so far."""

    reward: str | None
    low: Fraction | None
    high: Fraction | None
    strict: bool  # the bound above is excluded

    def is_over(self, total: Any) -> bool:
        return self.high is not None and (total > self.high or (self.strict and total == self.high))

    def holds(self, total: Any) -> bool:
        return not self.is_over(total) and (self.low is None or total >= self.low)


@dataclass(frozen=True, slots=True, eq=False)
class Probability:
    optimise: str | None
    operator: str
    left: Term
    right: Term
    bounds: tuple[SumBound, ...]
    over: str
    starts: Term | None


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedReward:
    optimise: str | None
    reward: str | None  # None: steps
    worth: Term | None  # what every step from a state pays, if that is asked for
    until: Term
    steps: int | None
    over: str
    starts: Term | None


def read_property(
    data: object, scalar: Scalar, timed: bool | None = None
) -> RunProperty | Probability | ExpectedReward:
    """`timed`: for claims about closed loops, whether time is continuous; None for all other claims."""
    kind = data.get("kind") if type(data) is dict else None
    if kind == "probability":
        return _read_probability(expect_object(data, _PROBABILITY, "property"), scalar)
    if kind == "expected":
        return _read_expected(expect_object(data, _EXPECTED, "property"), scalar)
    entry: dict[str, Any] = expect_object(
        data, frozenset({"kind", "condition"}), "property", frozenset({*_STEPPED, *_TIMED, "before"})
    )
    given, known = entry.keys() - {"kind", "condition"}, _RUNS if timed is None else _LOOPS[timed]
    if kind not in known or not given <= known[kind] or (kind == "within" and given != known[kind]):
        raise BadCertificate("property: of no known kind, or with other bounds than its kind has")
    steps = expect_integer(entry["steps"], 0, MOST_STEPS, "steps") if "steps" in entry else None
    after = expect_integer(entry.get("after", 0), 0, MOST_STEPS, "after")
    until = expect_number(entry["until"], "until") if "until" in entry else None
    since = expect_number(entry.get("since", 0), "since")
    if (steps is not None and after > steps) or (until is not None and since > until) or since < 0:
        raise BadCertificate("property: it ends before it begins, or begins before time 0")
    before = scalar(entry["before"]) if "before" in entry else None
    return RunProperty(kind, scalar(entry["condition"]), steps, after, before, until, since)


def _read_probability(entry: dict[str, Any], scalar: Scalar) -> Probability:
    optimise, over, starts = _read_common(entry, scalar)
    return Probability(
        optimise,
        expect_text(entry["operator"], "operator"),
        scalar(entry["left"]),
        scalar(entry["right"]),
        tuple(_read_bound(b) for b in expect_list(entry["bounds"], "bounds")),
        over,
        starts,
    )


def _read_expected(entry: dict[str, Any], scalar: Scalar) -> ExpectedReward:
    optimise, over, starts = _read_common(entry, scalar)
    reward: Any = entry["reward"]
    worth: Term | None = None
    if type(reward) is list:
        if len(reward) != 2 or reward[0] != "of":
            raise BadCertificate("property: a reward that is neither named nor a term")
        worth, reward = scalar(reward[1]), None
    paid = None if reward is None else expect_text(reward, "reward")
    steps = None if entry["steps"] is None else expect_integer(entry["steps"], 0, MOST_STEPS, "steps")
    return ExpectedReward(optimise, paid, worth, scalar(entry["until"]), steps, over, starts)


def _read_common(entry: dict[str, Any], scalar: Scalar) -> tuple[str | None, str, Term | None]:
    if entry["optimise"] not in ("min", "max", None) or entry["over"] not in OVER:
        raise BadCertificate("property: what is optimised, or how starts are looked at, is not known")
    starts = None if entry["starts"] is None else scalar(entry["starts"])
    return entry["optimise"], entry["over"], starts


def _read_bound(data: object) -> SumBound:
    bound = expect_object(data, _BOUND, "bound")
    low, high = (None if bound[k] is None else expect_number(bound[k], k) for k in ("low", "high"))
    if type(bound["strict"]) is not bool or any(n is not None and n < 0 for n in (low, high)):
        raise BadCertificate("property: a bound that is negative or neither strict nor not")
    reward = None if bound["reward"] is None else expect_text(bound["reward"], "reward")
    return SumBound(reward, low, high, bound["strict"])
