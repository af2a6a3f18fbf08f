"""Claims about polynomial systems: the part of the canonical problem that they cover (section 12).

Real variables that start in a box, one edge that is always enabled and takes every variable to a polynomial,
and a program whose rules test sets of states. The sets are part of the proof: that the program tests them,
and that its shield permits what leads into them, is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.asked_property import RunProperty
from ...kernel.problem import (
    Box,
    ContinuousTime,
    Control,
    Edge,
    Permit,
    Policy,
    Problem,
    Range,
    read_box,
    read_problem,
)
from ...kernel.strict_json import BadCertificate, Refused, expect_list, expect_number, expect_object
from ...kernel.term import Term, integer_if_whole, is_number, read_term, same_term, term_atoms
from .polynomial import bound_polynomial_change, nearest_double, poly_from_term, poly_variable

MOST_CASES = 64  # of the unsafe states
DEEPEST = 100  # nesting of terms
_SET = frozenset({"domain", "barrier", "margin"})


@dataclass(frozen=True, slots=True)
class SublevelSet:
    """States of the domain where the barrier is at most 0. `tested`: the program asks for it."""

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
class ClaimedSystem:
    name: str
    rounded: bool  # float64; otherwise exact
    variables: tuple[str, ...]
    initial: Box
    controls: tuple[Control, ...]
    disturbances: tuple[tuple[str, Range], ...]
    next: tuple[Term, ...]
    unsafe: Term
    rules: tuple[ClaimedRule, ...]
    shield: tuple[Permit, ...] | None  # one for each rule; None: nobody proposes anything
    parts: tuple[Box, ...]  # of the starts: the claim is about runs from them only; else the whole box
    time: ContinuousTime | None  # None: there are steps only


def read_claimed_system(
    data: object, sets: Sequence[object], parts: object, arithmetic: str
) -> ClaimedSystem:
    """The system of a canonical problem; `sets`: those of the rules; `parts`: of the starts, or None."""
    problem = read_problem(data, DEEPEST)
    asked, policy, edge = problem.property, problem.policy, _only_edge(problem)
    names = tuple(v.name for v in problem.variables)
    if not names or any(v.kind != ("real", None, None) for v in problem.variables):
        raise BadCertificate("system: its variables are real numbers without bounds, and there is one")
    if not isinstance(asked, RunProperty) or (asked.kind, asked.steps, asked.before) != ("never", None, None):
        raise BadCertificate("system: its property is that something never holds")
    if policy is None or policy.network is not None or policy.choose != "value" or policy.observe:
        raise BadCertificate("system: its policy is a program that sets the controls")
    _check_names([asked.condition], names)
    rounded = arithmetic == "float64"
    rules = _match_rules(policy, sets, names)
    initial = _widen_box(_read_initial(problem.initial, names), rounded)
    return ClaimedSystem(
        problem.name,
        rounded,
        names,
        initial,
        tuple(_double_ends(c, rounded) for c in problem.controls),
        tuple((c.name, _disturbance_range(c.kind, rounded)) for c in edge.chosen),
        _next_values(edge, names),
        asked.condition,
        rules,
        None if policy.shield is None else _match_shield(policy.shield, rules, len(names)),
        (initial,) if parts is None else _read_parts(parts, initial, rounded),
        problem.time,
    )


def box_magnitudes(box: Sequence[Range]) -> list[Fraction]:
    return [max(abs(low), abs(high)) for low, high in box]


def bound_max_change(
    system: ClaimedSystem, rows: Sequence[Term], domain: Box, by: Sequence[Fraction]
) -> Fraction:
    """How much the largest of polynomials changes at most if each variable does by so much in the domain.

    That is not more than what one of them does.
    """
    count, sizes = len(system.variables), box_magnitudes(domain)
    names = {name: poly_variable(i, count) for i, name in enumerate(system.variables)}
    polynomials = [poly_from_term(row, names, count, system.rounded) for row in rows]
    return max(bound_polynomial_change(p, sizes, by) for p in polynomials)


def _only_edge(problem: Problem) -> Edge:
    """The step of the system, which is always possible."""
    edges = [edge for component in problem.components for edge in component.edges]
    if len(edges) != 1 or len(problem.components) != 1 or len(problem.components[0].locations) != 1:
        raise BadCertificate("system: one component with one location and one edge")
    (edge,) = edges
    if problem.synchronisations or edge.action is not None or len(edge.outcomes) != 1:
        raise BadCertificate("system: its edge has no action, and one outcome")
    if edge.guard is not True or edge.assuming is not True or edge.outcomes[0].probability != 1:
        raise BadCertificate("system: its edge is always enabled, and its outcome sure")
    return edge


def _check_names(terms: Sequence[Term], names: Sequence[str]) -> None:
    known = {("name", name) for name in names}
    if any(not term_atoms(term) <= known for term in terms):
        raise BadCertificate("system: a term of other things than the variables")


def _next_values(edge: Edge, names: Sequence[str]) -> tuple[Term, ...]:
    updates = edge.outcomes[0].updates
    if tuple(u.variable for u in updates) != tuple(names) or any(u.path or u.index for u in updates):
        raise BadCertificate("system: one next value for each variable, in their order")
    return tuple(u.value for u in updates)


def _disturbance_range(kind: tuple[Any, ...], rounded: bool) -> Range:
    if kind[0] != "real" or None in kind or kind[1] > kind[2]:
        raise BadCertificate("system: a disturbance is a real number between two ends")
    return _widen_to_doubles((Fraction(kind[1]), Fraction(kind[2])), rounded)


def _double_ends(control: Control, rounded: bool) -> Control:
    if not control.clipped:
        raise BadCertificate("system: a control that is not clipped")
    if not rounded:
        return control
    low, high = (None if end is None else nearest_double(end) for end in (control.low, control.high))
    return Control(control.name, low, high, True)


def inside_box(box: Box, names: Sequence[str]) -> tuple[Term, ...]:
    """The comparisons that say that a state is in a box, in this order."""
    sides: list[Term] = []
    for name, (low, high) in zip(names, box, strict=True):
        here = ("name", name)
        sides += [("<=", integer_if_whole(low), here), ("<=", here, integer_if_whole(high))]
    return tuple(sides)


def _read_initial(term: Term, names: Sequence[str]) -> Box:
    """The box that the initial condition describes, which has one form only."""
    sides = term[1:] if type(term) is tuple and term[0] == "and" else ()
    ends = [end for side in sides if type(side) is tuple for end in side[1:] if is_number(end)]
    if len(ends) == 2 * len(names):
        box = tuple((Fraction(a), Fraction(b)) for a, b in zip(ends[::2], ends[1::2], strict=True))
        if all(a <= b for a, b in box) and same_term(term, ("and", *inside_box(box, names))):
            return box
    raise BadCertificate(
        "system: its initial condition is no box, written as two comparisons for each variable"
    )


def _read_parts(data: object, initial: Box, rounded: bool) -> tuple[Box, ...]:
    parts = tuple(_widen_box(read_sized_box(p, len(initial)), rounded) for p in expect_list(data, "parts"))
    if not parts:
        raise BadCertificate("parts: of the starts, at least one")
    if not all(a <= low and high <= b for p in parts for (low, high), (a, b) in zip(p, initial, strict=True)):
        raise BadCertificate("parts: a box is not inside the initial one")
    return parts


def read_sized_box(data: object, count: int) -> Box:
    if len(box := read_box(data)) != count:
        raise BadCertificate("a box has a range for each variable")
    return box


def _match_rules(policy: Policy, sets: Sequence[object], names: Sequence[str]) -> tuple[ClaimedRule, ...]:
    """The rules with their sets; only the last one may apply without a test."""
    if len(sets) != len(policy.rules):
        raise BadCertificate("sets: one for each rule")
    found = []
    for (when, then), data in zip(policy.rules, sets, strict=True):
        entry = expect_object(data, _SET, "set")
        barrier, domain = (
            read_term(entry["barrier"], deepest=DEEPEST),
            read_sized_box(entry["domain"], len(names)),
        )
        margin, tested = expect_number(entry["margin"], "margin"), when is not True
        _check_names([*then, barrier], names)
        if margin < 0 or (margin and not tested):
            raise BadCertificate("set: a negative margin, or one that nobody tests")
        test = ("and", *inside_box(domain, names), ("<=", barrier, integer_if_whole(-margin)))
        if tested and not same_term(when, test):
            raise BadCertificate("set: the rule tests something else")
        found.append(ClaimedRule(SublevelSet(domain, barrier, tested, margin), then))
    if not found or any(not rule.set.tested for rule in found[:-1]):
        raise BadCertificate("system: there is a rule, and only the last one may apply without a test")
    return tuple(found)


def _match_shield(
    shield: tuple[Permit, ...], rules: Sequence[ClaimedRule], variables: int
) -> tuple[Permit, ...]:
    if len(shield) != len(rules) or not all(rule.set.tested for rule in rules):
        raise BadCertificate("system: a shield has one permit for each rule, and tests its sets")
    for permit, rule in zip(shield, rules, strict=True):
        if len(permit.inside) != variables or not same_term(permit.barrier, rule.set.barrier):
            raise BadCertificate(
                "system: a permit has the barrier of its rule, and a range for each variable"
            )
    return shield


def _widen_box(box: Box, rounded: bool) -> Box:
    return tuple(_widen_to_doubles(ends, rounded) for ends in box)


def _widen_to_doubles(ends: Range, rounded: bool) -> Range:
    """With the doubles nearest to its ends: what float64 compares with an end it compares with those."""
    low, high = ends
    return (min(low, nearest_double(low)), max(high, nearest_double(high))) if rounded else ends


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
