"""Reading a polynomial system with a program that controls it (docs/certificates.md, section 12)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from ..runs.term import Term, mentioned_names, read_claimed_term
from .polynomial import nearest_double

Range = tuple[Fraction, Fraction]
Box = tuple[Range, ...]
MOST_CASES = 64  # of the unsafe states
_SYSTEM = frozenset(
    {"name", "variables", "initial", "controls", "disturbances", "next", "unsafe", "rules", "shield"}
)
_PERMIT = frozenset({"inside", "margin"})
_RULE = frozenset({"set", "then"})
_TIME = frozenset({"derivatives", "period"})
_SET = frozenset({"domain", "barrier", "tested", "margin"})


@dataclass(frozen=True, slots=True)
class SublevelSet:
    """States of the domain where the barrier is at most 0. `tested`: the program asks for it, see `Rule`."""

    domain: Box
    barrier: Term
    tested: bool
    margin: Fraction

    @property
    def rows(self) -> tuple[Term, ...]:
        """The barrier is the largest of these polynomials."""
        term = self.barrier
        return term[1:] if type(term) is tuple and term[0] == "max" else (term,)


@dataclass(frozen=True, slots=True)
class ClaimedRule:
    """Where the computed barrier is at most minus the margin (untested: always) the controls get values."""

    set: SublevelSet
    then: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class ClaimedPermit:
    """Proposed values are used where the state predicted for the middle of all disturbances is computed to be
    in this box with a barrier of at most minus the margin."""

    inside: Box
    margin: Fraction


@dataclass(frozen=True, slots=True)
class ClaimedControl:
    name: str
    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, slots=True)
class ContinuousTime:
    """Time is continuous: variables have these derivatives, and controls are held for the period."""

    derivatives: tuple[Term, ...]
    period: Fraction


@dataclass(frozen=True, slots=True)
class ClaimedSystem:
    name: str
    rounded: bool  # float64; otherwise exact
    variables: tuple[str, ...]
    initial: Box
    controls: tuple[ClaimedControl, ...]
    disturbances: tuple[tuple[str, Range], ...]
    next: tuple[Term, ...]
    unsafe: Term
    rules: tuple[ClaimedRule, ...]
    shield: tuple[ClaimedPermit, ...] | None  # one for each rule; None: nobody proposes anything
    parts: tuple[Box, ...]  # of the starts: the claim is about runs from them only; else the whole box
    time: ContinuousTime | None  # None: there are steps only


def read_claimed_system(data: object, arithmetic: str) -> ClaimedSystem:
    entry = expect_object(data, _SYSTEM, frozenset({"parts", "time"}), "system")
    variables = tuple(expect_text(v, "variable") for v in expect_list(entry["variables"], "variables"))
    controls = tuple(_read_control(c, arithmetic) for c in expect_list(entry["controls"], "controls"))
    disturbances = tuple(
        _read_disturbance(d, arithmetic) for d in expect_list(entry["disturbances"], "disturbances")
    )
    names = [*variables, *(c.name for c in controls), *(n for n, _ in disturbances)]
    if len(set(names)) < len(names) or not all(names) or not variables:
        raise BadCertificate("system: a name is declared twice, or empty, or there are no variables")
    following = tuple(read_claimed_term(t) for t in expect_list(entry["next"], "next"))
    if len(following) != len(variables) or any(not mentioned_names(t) <= set(names) for t in following):
        raise BadCertificate("system: one next value for each variable, of things that are declared")
    rules = tuple(_read_rule(r, variables, len(controls)) for r in expect_list(entry["rules"], "rules"))
    if not rules or any(not r.set.tested for r in rules[:-1]):
        raise BadCertificate("system: there is a rule, and only the last one may apply without a test")
    shield = None if entry["shield"] is None else _read_shield(entry["shield"], len(variables))
    if shield is not None and (len(shield) != len(rules) or not all(r.set.tested for r in rules)):
        raise BadCertificate("system: a shield has one permit for each rule, and tests its sets")
    initial = _read_start_box(entry["initial"], len(variables), arithmetic)
    parts: tuple[Box, ...] = (initial,)
    if "parts" in entry:
        parts = tuple(
            _read_start_box(p, len(variables), arithmetic) for p in expect_list(entry["parts"], "parts")
        )
        if not parts:
            raise BadCertificate("parts: of the starts, at least one")
        if not all(
            a <= low and high <= b for p in parts for (low, high), (a, b) in zip(p, initial, strict=True)
        ):
            raise BadCertificate("parts: a box is not inside the initial one")
    return ClaimedSystem(
        expect_text(entry["name"], "name"),
        arithmetic == "float64",
        variables,
        initial,
        controls,
        disturbances,
        following,
        read_claimed_term(entry["unsafe"]),
        rules,
        shield,
        parts,
        _read_time(entry["time"], names, len(variables)) if "time" in entry else None,
    )


def _read_time(data: object, names: list[str], variables: int) -> ContinuousTime:
    entry = expect_object(data, _TIME, frozenset(), "time")
    derivatives = tuple(read_claimed_term(t) for t in expect_list(entry["derivatives"], "derivatives"))
    period = expect_number(entry["period"], "period")
    if len(derivatives) != variables or any(not mentioned_names(t) <= set(names) for t in derivatives):
        raise BadCertificate("time: one derivative for each variable, of things that are declared")
    if period <= 0:
        raise BadCertificate("time: the period is positive")
    return ContinuousTime(derivatives, period)


def _read_start_box(data: object, variables: int, arithmetic: str) -> Box:
    return tuple(_widen_to_doubles(ends, arithmetic) for ends in read_claimed_box(data, variables))


def _read_shield(data: object, variables: int) -> tuple[ClaimedPermit, ...]:
    entries = [expect_object(p, _PERMIT, frozenset(), "permit") for p in expect_list(data, "shield")]
    return tuple(
        ClaimedPermit(read_claimed_box(p["inside"], variables), expect_number(p["margin"], "margin"))
        for p in entries
    )


def _read_range(data: object) -> Range:
    ends = expect_list(data, "range")
    if len(ends) != 2:
        raise BadCertificate("a range has two ends")
    low, high = expect_number(ends[0], "range"), expect_number(ends[1], "range")
    if low > high:
        raise BadCertificate("a range is empty")
    return low, high


def read_claimed_box(data: object, count: int) -> Box:
    found = tuple(_read_range(r) for r in expect_list(data, "box"))
    if len(found) != count:
        raise BadCertificate("a box has a range for each variable")
    return found


def _read_control(data: object, arithmetic: str) -> ClaimedControl:
    parts = expect_list(data, "control")
    if len(parts) != 3:
        raise BadCertificate("a control is a list of name, low and high")
    low, high = (None if end is None else expect_number(end, "bound") for end in parts[1:])
    if low is not None and high is not None and low > high:
        raise BadCertificate("a control has an empty range")
    if arithmetic == "float64":
        low, high = (None if end is None else nearest_double(end) for end in (low, high))
    return ClaimedControl(expect_text(parts[0], "name"), low, high)


def _read_disturbance(data: object, arithmetic: str) -> tuple[str, Range]:
    parts = expect_list(data, "disturbance")
    if len(parts) != 3:
        raise BadCertificate("a disturbance is a list of name, low and high")
    return expect_text(parts[0], "name"), _widen_to_doubles(_read_range(parts[1:]), arithmetic)


def _widen_to_doubles(ends: Range, arithmetic: str) -> Range:
    """With the doubles nearest to its ends: what float64 compares with an end it compares with those."""
    low, high = ends
    return (
        (min(low, nearest_double(low)), max(high, nearest_double(high))) if arithmetic == "float64" else ends
    )


def _read_rule(data: object, variables: tuple[str, ...], controls: int) -> ClaimedRule:
    entry = expect_object(data, _RULE, frozenset(), "rule")
    inner = expect_object(entry["set"], _SET, frozenset(), "set")
    then = tuple(read_claimed_term(t) for t in expect_list(entry["then"], "then"))
    barrier, known = read_claimed_term(inner["barrier"]), set(variables)
    if len(then) != controls or any(not mentioned_names(t) <= known for t in (*then, barrier)):
        raise BadCertificate("rule: one value for each control, and a barrier, of the variables")
    if type(inner["tested"]) is not bool:
        raise BadCertificate("rule: `tested` is true or false")
    domain, margin = (
        read_claimed_box(inner["domain"], len(variables)),
        expect_number(inner["margin"], "margin"),
    )
    if margin < 0 or (margin and not inner["tested"]):
        raise BadCertificate("rule: a negative margin, or one that nobody tests")
    return ClaimedRule(SublevelSet(domain, barrier, inner["tested"], margin), then)


Atom = tuple[Term, Term]  # the first is at most the second


def relaxed_conjunctions(term: Term, wanted: bool = True) -> list[list[Atom]]:
    """Lists of comparisons such that wherever the term is `wanted` all of one list hold (`<` as `<=`)."""
    if type(term) is bool:
        return [[]] if term is wanted else []
    word = term[0] if type(term) is tuple else ""
    match word:
        case "not":
            return relaxed_conjunctions(term[1], not wanted)
        case "=>":
            return relaxed_conjunctions(("or", ("not", term[1]), term[2]), wanted)
        case "and" | "or":
            parts = [relaxed_conjunctions(part, wanted) for part in term[1:]]
            return (
                _conjoin_cases(parts)
                if (word == "and") is wanted
                else [c for several in parts for c in several]
            )
        case "<" | "<=":
            return [[(term[1], term[2]) if wanted else (term[2], term[1])]]
        case "=":
            left, right = term[1:]
            if wanted:
                return [[(left, right), (right, left)]]
            return [[(left, right)], [(right, left)]]
    raise Refused("the unsafe states are not described by comparisons with and, or, not, =>")


def _conjoin_cases(parts: list[list[list[Atom]]]) -> list[list[Atom]]:
    found: list[list[Any]] = [[]]
    for several in parts:
        found = [[*first, *second] for first in found for second in several]
        if len(found) > MOST_CASES:
            raise Refused(f"the unsafe states have more than {MOST_CASES} cases")
    return found
