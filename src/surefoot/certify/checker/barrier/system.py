"""Reading a polynomial system with a program that controls it (docs/certificates.md, section 12)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..execution.term import Term, mentioned, read_term
from ..number import BadCertificate, Refused, items, number, record, text
from .polynomial import double

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
class Set:
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
class Rule:
    """Where the computed barrier is at most minus the margin (untested: always) the controls get values."""

    set: Set
    then: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Permit:
    """Proposed values are used where the state predicted for the middle of all disturbances is computed to be
    in this box with a barrier of at most minus the margin."""

    inside: Box
    margin: Fraction


@dataclass(frozen=True, slots=True)
class Control:
    name: str
    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, slots=True)
class Time:
    """Time is continuous: variables have these derivatives, and controls are held for the period."""

    derivatives: tuple[Term, ...]
    period: Fraction


@dataclass(frozen=True, slots=True)
class System:
    name: str
    rounded: bool  # float64; otherwise exact
    variables: tuple[str, ...]
    initial: Box
    controls: tuple[Control, ...]
    disturbances: tuple[tuple[str, Range], ...]
    next: tuple[Term, ...]
    unsafe: Term
    rules: tuple[Rule, ...]
    shield: tuple[Permit, ...] | None  # one for each rule; None: nobody proposes anything
    parts: tuple[Box, ...]  # of the starts: the claim is about runs from them only; else the whole box
    time: Time | None  # None: there are steps only


def read_system(data: object, arithmetic: str) -> System:
    entry = record(data, _SYSTEM, frozenset({"parts", "time"}), "system")
    variables = tuple(text(v, "variable") for v in items(entry["variables"], "variables"))
    controls = tuple(_control(c, arithmetic) for c in items(entry["controls"], "controls"))
    disturbances = tuple(_disturbance(d, arithmetic) for d in items(entry["disturbances"], "disturbances"))
    names = [*variables, *(c.name for c in controls), *(n for n, _ in disturbances)]
    if len(set(names)) < len(names) or not all(names) or not variables:
        raise BadCertificate("system: a name is declared twice, or empty, or there are no variables")
    following = tuple(read_term(t) for t in items(entry["next"], "next"))
    if len(following) != len(variables) or any(not mentioned(t) <= set(names) for t in following):
        raise BadCertificate("system: one next value for each variable, of things that are declared")
    rules = tuple(_rule(r, variables, len(controls)) for r in items(entry["rules"], "rules"))
    if not rules or any(not r.set.tested for r in rules[:-1]):
        raise BadCertificate("system: there is a rule, and only the last one may apply without a test")
    shield = None if entry["shield"] is None else _shield(entry["shield"], len(variables))
    if shield is not None and (len(shield) != len(rules) or not all(r.set.tested for r in rules)):
        raise BadCertificate("system: a shield has one permit for each rule, and tests its sets")
    initial = _starts(entry["initial"], len(variables), arithmetic)
    parts: tuple[Box, ...] = (initial,)
    if "parts" in entry:
        parts = tuple(_starts(p, len(variables), arithmetic) for p in items(entry["parts"], "parts"))
        if not parts:
            raise BadCertificate("parts: of the starts, at least one")
        if not all(
            a <= low and high <= b for p in parts for (low, high), (a, b) in zip(p, initial, strict=True)
        ):
            raise BadCertificate("parts: a box is not inside the initial one")
    return System(
        text(entry["name"], "name"),
        arithmetic == "float64",
        variables,
        initial,
        controls,
        disturbances,
        following,
        read_term(entry["unsafe"]),
        rules,
        shield,
        parts,
        _time(entry["time"], names, len(variables)) if "time" in entry else None,
    )


def _time(data: object, names: list[str], variables: int) -> Time:
    entry = record(data, _TIME, frozenset(), "time")
    derivatives = tuple(read_term(t) for t in items(entry["derivatives"], "derivatives"))
    period = number(entry["period"], "period")
    if len(derivatives) != variables or any(not mentioned(t) <= set(names) for t in derivatives):
        raise BadCertificate("time: one derivative for each variable, of things that are declared")
    if period <= 0:
        raise BadCertificate("time: the period is positive")
    return Time(derivatives, period)


def _starts(data: object, variables: int, arithmetic: str) -> Box:
    return tuple(_around(ends, arithmetic) for ends in read_box(data, variables))


def _shield(data: object, variables: int) -> tuple[Permit, ...]:
    entries = [record(p, _PERMIT, frozenset(), "permit") for p in items(data, "shield")]
    return tuple(Permit(read_box(p["inside"], variables), number(p["margin"], "margin")) for p in entries)


def _range(data: object) -> Range:
    ends = items(data, "range")
    if len(ends) != 2:
        raise BadCertificate("a range has two ends")
    low, high = number(ends[0], "range"), number(ends[1], "range")
    if low > high:
        raise BadCertificate("a range is empty")
    return low, high


def read_box(data: object, count: int) -> Box:
    found = tuple(_range(r) for r in items(data, "box"))
    if len(found) != count:
        raise BadCertificate("a box has a range for each variable")
    return found


def _control(data: object, arithmetic: str) -> Control:
    parts = items(data, "control")
    if len(parts) != 3:
        raise BadCertificate("a control is a list of name, low and high")
    low, high = (None if end is None else number(end, "bound") for end in parts[1:])
    if low is not None and high is not None and low > high:
        raise BadCertificate("a control has an empty range")
    if arithmetic == "float64":
        low, high = (None if end is None else double(end) for end in (low, high))
    return Control(text(parts[0], "name"), low, high)


def _disturbance(data: object, arithmetic: str) -> tuple[str, Range]:
    parts = items(data, "disturbance")
    if len(parts) != 3:
        raise BadCertificate("a disturbance is a list of name, low and high")
    return text(parts[0], "name"), _around(_range(parts[1:]), arithmetic)


def _around(ends: Range, arithmetic: str) -> Range:
    """With the doubles nearest to its ends: what float64 compares with an end it compares with those."""
    low, high = ends
    return (min(low, double(low)), max(high, double(high))) if arithmetic == "float64" else ends


def _rule(data: object, variables: tuple[str, ...], controls: int) -> Rule:
    entry = record(data, _RULE, frozenset(), "rule")
    inner = record(entry["set"], _SET, frozenset(), "set")
    then = tuple(read_term(t) for t in items(entry["then"], "then"))
    barrier, known = read_term(inner["barrier"]), set(variables)
    if len(then) != controls or any(not mentioned(t) <= known for t in (*then, barrier)):
        raise BadCertificate("rule: one value for each control, and a barrier, of the variables")
    if type(inner["tested"]) is not bool:
        raise BadCertificate("rule: `tested` is true or false")
    domain, margin = read_box(inner["domain"], len(variables)), number(inner["margin"], "margin")
    if margin < 0 or (margin and not inner["tested"]):
        raise BadCertificate("rule: a negative margin, or one that nobody tests")
    return Rule(Set(domain, barrier, inner["tested"], margin), then)


Atom = tuple[Term, Term]  # the first is at most the second


def conjunctions(term: Term, wanted: bool = True) -> list[list[Atom]]:
    """Lists of comparisons such that wherever the term is `wanted` all of one list hold (`<` as `<=`)."""
    if type(term) is bool:
        return [[]] if term is wanted else []
    word = term[0] if type(term) is tuple else ""
    match word:
        case "not":
            return conjunctions(term[1], not wanted)
        case "=>":
            return conjunctions(("or", ("not", term[1]), term[2]), wanted)
        case "and" | "or":
            parts = [conjunctions(part, wanted) for part in term[1:]]
            return _joined(parts) if (word == "and") is wanted else [c for several in parts for c in several]
        case "<" | "<=":
            return [[(term[1], term[2]) if wanted else (term[2], term[1])]]
        case "=":
            left, right = term[1:]
            if wanted:
                return [[(left, right), (right, left)]]
            return [[(left, right)], [(right, left)]]
    raise Refused("the unsafe states are not described by comparisons with and, or, not, =>")


def _joined(parts: list[list[list[Atom]]]) -> list[list[Atom]]:
    found: list[list[Any]] = [[]]
    for several in parts:
        found = [[*first, *second] for first in found for second in several]
        if len(found) > MOST_CASES:
            raise Refused(f"the unsafe states have more than {MOST_CASES} cases")
    return found
