"""Every run of a controlled polynomial system keeps away from its unsafe states (section 12).

Each rule of the program has a set I = {x in the domain, B(x) <= 0}. J is the part of it where B(x) <= -room,
with room for what rounding can hide from the test of the rule. Shown here: the starts are in the union of all
J; a step by a rule whose test passes leads into its J; no unsafe state is in an I; and what a shield permits
leads into a J. So at every time the state is in some J, where some test passes, and never unsafe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from ..file import shown as shown_name
from ..number import BadCertificate, Refused, items, number, record
from .cover import covers
from .polynomial import (
    Polynomial,
    add,
    constant,
    double,
    largest,
    of_term,
    scale,
    subtract,
    variable,
)
from .positive import check_positive
from .rounding import Computed, computed
from .system import Box, Range, Rule, System, conjunctions, read_box, read_system

_CLAIM = frozenset({"kind", "system"})
_PROOF = frozenset({"scale", "margins", "covers", "start", "unsafe", "saturation", "steps"})
_MARGINS = frozenset({"room", "step", "barrier"})
_UNSAFE = frozenset({"slack", "proof"})


@dataclass(frozen=True, slots=True)
class Ring:
    """Polynomials in the variables and the disturbances, each of them written as centre + unit * variable.

    The units only make numbers of similar size; every value of a variable has one of its new variable.
    """

    names: dict[str, Polynomial]
    size: int
    rounded: bool

    def of(self, term: Any) -> Polynomial:
        return of_term(term, self.names, self.size, self.rounded)

    def at_least(self, low: Fraction, p: Polynomial) -> Polynomial:
        return subtract(p, constant(low, self.size))

    def at_most(self, high: Fraction, p: Polynomial) -> Polynomial:
        return subtract(constant(high, self.size), p)

    def within(self, names: Sequence[str], box: Sequence[Range]) -> list[Polynomial]:
        """Two constraints for each name: not below its range, not above it."""
        pairs = zip(names, box, strict=True)
        return [
            side
            for name, (low, high) in pairs
            for side in (self.at_least(low, self.names[name]), self.at_most(high, self.names[name]))
        ]


@dataclass(frozen=True, slots=True)
class Margins:
    """What rounding may do: to the test of a set, to each next value, to the barrier after a step."""

    room: Fraction  # J: the barrier is at most minus this
    step: tuple[Fraction, ...]
    barrier: Fraction


def check_barrier(claim_data: object, proofs: object, arithmetic: str) -> str:
    """The claim in words; `Refused` if it is not shown."""
    system = read_system(record(claim_data, _CLAIM, frozenset(), "claim")["system"], arithmetic)
    given = [record(p, _PROOF, frozenset(), "set") for p in items(proofs, "sets")]
    if len(given) != len(system.rules):
        raise BadCertificate("sets: one for each rule")
    starts: list[Box] = []
    rooms: list[Fraction] = []
    for index, (rule, proof) in enumerate(zip(system.rules, given, strict=True)):
        try:
            room, boxes = check_rule(system, ring_of(system, proof["scale"]), rule, proof)
        except Refused as error:
            raise Refused(f"set {index}: {error}") from None
        rooms.append(room)
        starts += boxes
    if not all(covers(starts, part) for part in system.parts):
        raise Refused("the starts are not covered by the sets")
    if system.shield is not None:
        _check_shield(system, rooms)
    who = "whatever is proposed to its shield" if system.shield is not None else "by its program"
    where = "" if system.parts == (system.initial,) else f" from {len(system.parts)} boxes of its starts"
    return (
        f"no run of the system {shown_name(system.name)}{where}, controlled {who}, comes to an unsafe state"
    )


def ring_of(system: System, data: object) -> Ring:
    names = (*system.variables, *(name for name, _ in system.disturbances))
    size, pairs = len(names), items(data, "scale")
    if len(pairs) != size:
        raise BadCertificate("scale: a centre and a unit for each variable and disturbance")
    found = {}
    for index, (name, pair) in enumerate(zip(names, pairs, strict=True)):
        parts = [number(part, "scale") for part in items(pair, "scale")]
        if len(parts) != 2:
            raise BadCertificate("scale: a centre and a unit for each variable and disturbance")
        centre, unit = parts
        if unit <= 0:
            raise BadCertificate("scale: a unit is positive")
        found[name] = add(scale(variable(index, size), unit), constant(centre, size))
    return Ring(found, size, system.rounded)


def check_rule(system: System, ring: Ring, rule: Rule, proof: dict[str, Any]) -> tuple[Fraction, list[Box]]:
    barrier = ring.of(rule.set.barrier)
    margins = _margins(system, rule, proof["margins"])
    inside = [*ring.within(system.variables, rule.set.domain), scale(barrier, Fraction(-1))]
    _check_saturation(system, ring, rule, inside, proof)
    _check_steps(system, ring, rule, inside, margins, proof)
    _check_unsafe(system, ring, rule, inside, proof)
    boxes = [read_box(box, len(system.variables)) for box in items(proof["covers"], "covers")]
    shown = items(proof["start"], "start")
    if len(shown) != len(boxes):
        raise BadCertificate("start: a proof for each box")
    deep = ring.at_most(-margins.room, barrier)
    for box, entry in zip(boxes, shown, strict=True):
        if any(low < a or high > b for (low, high), (a, b) in zip(box, rule.set.domain, strict=True)):
            raise Refused("a start is outside of the domain")
        check_positive(deep, ring.within(system.variables, box), entry, ring.size)
    return margins.room, boxes


def sizes_of(box: Sequence[Range]) -> list[Fraction]:
    return [max(abs(low), abs(high)) for low, high in box]


def _margins(system: System, rule: Rule, data: object) -> Margins:
    """The margins that are given, if they are not smaller than they have to be."""
    entry = record(data, _MARGINS, frozenset(), "margins")
    step = tuple(number(e, "margin") for e in items(entry["step"], "margins"))
    given = Margins(number(entry["room"], "room"), step, number(entry["barrier"], "margin"))
    if len(step) != len(system.variables):
        raise BadCertificate("margins: one for each variable")
    room, least = _needed(system, rule)
    enough = given.room >= room and all(a >= b for a, b in zip(step, least, strict=True))
    if not enough or given.barrier < (
        shifted(system, rule.set.barrier, rule.set.domain, step) if any(step) else 0
    ):
        raise Refused("a margin is smaller than the rounding errors")
    return given


def _needed(system: System, rule: Rule) -> tuple[Fraction, tuple[Fraction, ...]]:
    """How far the test of the set and each next value may be from what they should be, over the domain."""
    room = rule.set.margin
    if not system.rounded:
        return room, (Fraction(0),) * len(system.variables)
    for low, high in rule.set.domain:
        if double(low) != low or double(high) != high:
            raise Refused("a side of a domain is no double")
    if double(room) != room:
        raise Refused("a margin is no double")
    sizes = sizes_of(rule.set.domain)
    state = {name: Computed(size) for name, size in zip(system.variables, sizes, strict=True)}
    if rule.set.tested:
        error = computed(rule.set.barrier, state).error
        if room < error:
            raise Refused("the margin of the test is smaller than its rounding errors")
        room += error
    values = dict(state)
    for control, then in zip(system.controls, rule.then, strict=True):
        found = computed(then, state)
        ends = [abs(end) for end in (control.low, control.high) if end is not None]
        size = max(ends) if len(ends) == 2 else max([found.size, *ends])
        values[control.name] = Computed(size, found.error)
    for name, ends_of in system.disturbances:
        values[name] = Computed(max(map(abs, ends_of)))
    return room, tuple(computed(t, values).error for t in system.next)


def shifted(system: System, term: Any, domain: Box, by: Sequence[Fraction]) -> Fraction:
    """How much a polynomial changes at most if each variable does by so much, within the domain."""
    count = len(system.variables)
    total = 2 * count
    here = {name: variable(i, total) for i, name in enumerate(system.variables)}
    there = {name: add(here[name], variable(count + i, total)) for i, name in enumerate(system.variables)}
    before, after = (of_term(term, n, total, system.rounded) for n in (here, there))
    return largest(subtract(after, before), [*sizes_of(domain), *by])


def _check_saturation(
    system: System, ring: Ring, rule: Rule, inside: Sequence[Polynomial], proof: dict[str, Any]
) -> None:
    """Where it is said that a control never reaches an end of its range, that is shown."""
    entries = items(proof["saturation"], "saturation")
    if len(entries) != len(system.controls):
        raise BadCertificate("saturation: a pair for each control")
    for control, then, entry in zip(system.controls, rule.then, entries, strict=True):
        pair = items(entry, "saturation")
        if len(pair) != 2:
            raise BadCertificate("saturation: a pair for each control")
        value = ring.of(then)
        for end, above, shown in ((control.low, False, pair[0]), (control.high, True, pair[1])):
            if shown is not None:
                if end is None:
                    raise BadCertificate("saturation: at an end that does not exist")
                wanted = ring.at_most(end, value) if above else ring.at_least(end, value)
                check_positive(wanted, inside, shown, ring.size)


def modes_of(
    system: System, ring: Ring, rule: Rule, proof: dict[str, Any]
) -> Iterator[tuple[list[Polynomial], list[Polynomial]]]:
    """The values of the controls case by case, and the constraints under which each case occurs."""
    choices: list[list[tuple[Polynomial, list[Polynomial]]]] = []
    for control, then, pair in zip(system.controls, rule.then, proof["saturation"], strict=True):
        value = ring.of(then)
        low, high = control.low, control.high
        between = [ring.at_least(low, value)] if low is not None else []
        between += [ring.at_most(high, value)] if high is not None else []
        cases = [(value, between)]
        if low is not None and pair[0] is None:
            cases.append((constant(low, ring.size), [ring.at_most(low, value)]))
        if high is not None and pair[1] is None:
            cases.append((constant(high, ring.size), [ring.at_least(high, value)]))
        choices.append(cases)
    for combination in product(*choices):
        yield [value for value, _ in combination], [c for _, several in combination for c in several]


def _check_steps(
    system: System,
    ring: Ring,
    rule: Rule,
    inside: Sequence[Polynomial],
    margins: Margins,
    proof: dict[str, Any],
) -> None:
    """From I, whatever the disturbance, the next state is in J even after rounding."""
    disturbed = ring.within([n for n, _ in system.disturbances], [r for _, r in system.disturbances])
    modes = list(modes_of(system, ring, rule, proof))
    steps = items(proof["steps"], "steps")
    if len(steps) != len(modes):
        raise BadCertificate(f"steps: {len(modes)} cases of the controls, in order")
    for (values, constraints), entry in zip(modes, steps, strict=True):
        shown = items(entry, "steps")
        if len(shown) != 1 + 2 * len(system.variables):
            raise BadCertificate("steps: the barrier, and both sides of each variable")
        where = [*inside, *disturbed, *constraints]
        names = ring.names | {c.name: v for c, v in zip(system.controls, values, strict=True)}
        following = [of_term(t, names, ring.size, ring.rounded) for t in system.next]
        moved = dict(zip(system.variables, following, strict=True))
        after = of_term(rule.set.barrier, moved, ring.size, ring.rounded)
        check_positive(ring.at_most(-margins.room - margins.barrier, after), where, shown[0], ring.size)
        sides = iter(shown[1:])
        for value, (low, high), error in zip(following, rule.set.domain, margins.step, strict=True):
            check_positive(ring.at_least(low + error, value), where, next(sides), ring.size)
            check_positive(ring.at_most(high - error, value), where, next(sides), ring.size)


def _check_unsafe(
    system: System, ring: Ring, rule: Rule, inside: Sequence[Polynomial], proof: dict[str, Any]
) -> None:
    """The constraints of I and of each unsafe case contradict each other: -1 would not be negative there."""
    cases = conjunctions(system.unsafe)
    shown = items(proof["unsafe"], "unsafe")
    if len(shown) != len(cases):
        raise BadCertificate(f"unsafe: {len(cases)} cases, in order")
    sizes = sizes_of(rule.set.domain)
    state = {name: Computed(size) for name, size in zip(system.variables, sizes, strict=True)}
    known = {name: ring.names[name] for name in system.variables}
    for case, data in zip(cases, shown, strict=True):
        entry = record(data, _UNSAFE, frozenset(), "unsafe")
        slacks = [number(s, "slack") for s in items(entry["slack"], "slack")]
        if len(slacks) != len(case):
            raise BadCertificate("unsafe: a slack for each comparison")
        constraints = []
        for (left, right), slack in zip(case, slacks, strict=True):
            gap = subtract(*(of_term(t, known, ring.size, ring.rounded) for t in (right, left)))
            errors = [computed(t, state).error if ring.rounded else Fraction(0) for t in (left, right)]
            if slack < sum(errors):
                raise Refused("a slack is smaller than the rounding errors of its comparison")
            constraints.append(add(gap, constant(slack, ring.size)))
        check_positive(constant(-1, ring.size), [*inside, *constraints], entry["proof"], ring.size)


def _check_shield(system: System, rooms: Sequence[Fraction]) -> None:
    """What passes the test of a permit leads into J of its set, from anywhere in any set.

    The test is computed for one value of the disturbances; the state that comes is another one, by what the
    disturbances and rounding can change.
    """
    assert system.shield is not None
    if any(c.low is None or c.high is None for c in system.controls):
        raise Refused("a shield needs controls with two ends")
    hull = [
        (min(low for low, _ in ranges), max(high for _, high in ranges))
        for ranges in zip(*(rule.set.domain for rule in system.rules), strict=True)
    ]
    sizes = sizes_of(hull)
    values = {name: Computed(size) for name, size in zip(system.variables, sizes, strict=True)}
    for control in system.controls:
        ends = [abs(end) for end in (control.low, control.high) if end is not None]
        values[control.name] = Computed(max(ends))
    middle: dict[str, Fraction] = {}
    for name, (low, high) in system.disturbances:
        values[name] = Computed(max(abs(low), abs(high)))
        middle[name] = (low + high) / 2
    differs = _prediction(system, middle, values)
    for rule, permit, room in zip(system.rules, system.shield, rooms, strict=True):
        for (low, high), (a, b), error in zip(permit.inside, rule.set.domain, differs, strict=True):
            if low - error < a or high + error > b:
                raise Refused("what a shield permits may leave the domain")
            if system.rounded and (double(low) != low or double(high) != high):
                raise Refused("a side of a permit is no double")
        inner = sizes_of(rule.set.domain)
        state = {name: Computed(size) for name, size in zip(system.variables, inner, strict=True)}
        error = computed(rule.set.barrier, state).error if system.rounded else Fraction(0)
        if permit.margin < room + error + shifted(system, rule.set.barrier, rule.set.domain, differs):
            raise Refused("the margin of a permit is smaller than what may happen")
        if system.rounded and double(permit.margin) != permit.margin:
            raise Refused("the margin of a permit is no double")


def _prediction(system: System, middle: dict[str, Fraction], values: dict[str, Computed]) -> list[Fraction]:
    """How far each next value may be from the one predicted with the middle of each disturbance."""
    names = (*system.variables, *(c.name for c in system.controls), *middle)
    size = len(names)
    if system.rounded and any(double(m) != m for m in middle.values()):
        raise Refused("the middle of a disturbance is no double")
    free = {name: variable(i, size) for i, name in enumerate(names)}
    there = free | {name: add(free[name], constant(m, size)) for name, m in middle.items()}  # and an offset
    fixed = free | {name: constant(m, size) for name, m in middle.items()}
    widths = [(high - low) / 2 for _, (low, high) in system.disturbances]
    sizes = [*(values[name].size for name in names[: size - len(middle)]), *widths]
    predicted = values | {name: Computed(abs(m)) for name, m in middle.items()}
    found = []
    for term in system.next:
        moved, still = (of_term(term, n, size, system.rounded) for n in (there, fixed))
        change = largest(subtract(moved, still), sizes)
        if system.rounded:
            change += computed(term, values).error + computed(term, predicted).error
        found.append(change)
    return found
