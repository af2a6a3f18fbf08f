"""Every run of a controlled polynomial system keeps away from its unsafe states (section 12).

Each rule of the program has a set I = {x in the domain, B(x) <= 0}, where B may be the largest of several
polynomials. J is the part of it where B(x) <= -room, with room for what rounding can hide from the test of
the rule. Shown here: the starts are in the union of all
J; a step by a rule whose test passes leads into its J; no unsafe state is in an I; and what a shield permits
leads into a J. So at every time the state is in some J, where some test passes, and never unsafe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from ...kernel.problem import Box, Range
from ...kernel.strict_json import BadCertificate, Refused, expect_list, expect_number, expect_object
from ...kernel.untrusted_file import quote_for_message as shown_name
from .box_cover import is_box_covered
from .polynomial import (
    ExactPolynomial,
    bound_polynomial_change,
    nearest_double,
    poly_constant,
    poly_degree,
    poly_from_term,
    poly_variable,
)
from .rounding_error import RoundedValue, bound_rounding
from .sampling_period import PeriodBounds, check_period, measured_domain, measured_state
from .shield import check_shield
from .sum_of_squares import check_positivity_proof
from .system import (
    Atom,
    ClaimedRule,
    ClaimedSystem,
    bound_max_change,
    read_claimed_system,
    read_sized_box,
    relaxed_conjunctions,
)

_CLAIM = frozenset({"kind", "problem"})
PARTS = frozenset({"parts"})
_PROOF = frozenset({"set", "scale", "margins", "covers", "start", "unsafe", "saturation", "steps"})
_PERIOD = frozenset({"period"})
_MARGINS = frozenset({"room", "step", "barrier"})
_UNSAFE = frozenset({"slack", "proof"})


@dataclass(frozen=True, slots=True)
class ScaledRing:
    """Polynomials in the variables and the disturbances, each of them written as centre + unit * variable.

    The units only make numbers of similar size; every value of a variable has one of its new variable.
    """

    names: dict[str, ExactPolynomial]
    size: int
    rounded: bool
    units: tuple[Range, ...]  # centre and unit of each

    def of(self, term: Any, names: Mapping[str, ExactPolynomial] | None = None) -> ExactPolynomial:
        """A term, over other names than those of the ring if they are given."""
        return poly_from_term(term, self.names if names is None else names, self.size, self.rounded)

    def at_least(self, low: Fraction, p: ExactPolynomial) -> ExactPolynomial:
        return p - poly_constant(low, self.size)

    def at_most(self, high: Fraction, p: ExactPolynomial) -> ExactPolynomial:
        return poly_constant(high, self.size) - p

    def within(self, names: Sequence[str], box: Sequence[Range]) -> list[ExactPolynomial]:
        """Two constraints for each name: not below its range, not above it."""
        pairs = zip(names, box, strict=True)
        return [
            side
            for name, (low, high) in pairs
            for side in (self.at_least(low, self.names[name]), self.at_most(high, self.names[name]))
        ]


@dataclass(frozen=True, slots=True)
class _Margins:
    """What rounding may do, and in continuous time what `next` leaves out: to the test of a set, to each next
    value, to the barrier after a step."""

    room: Fraction  # J: the barrier is at most minus this
    step: tuple[Fraction, ...]
    barrier: Fraction


def check_barrier(claim_data: object, proofs: object, arithmetic: str) -> str:
    """The claim in words; `Refused` if it is not shown."""
    claim = expect_object(claim_data, _CLAIM, "claim", PARTS)
    system, given = read_system_proofs(claim, proofs, arithmetic)
    starts: list[Box] = []
    rooms: list[Fraction] = []
    periods: list[tuple[PeriodBounds, PeriodBounds | None]] = []
    if system.time is not None:
        pairs = zip(system.rules, given, strict=True)
        periods = [check_period(system, system.time, rule, proof["period"]) for rule, proof in pairs]
    proposed = [wide for _, wide in periods if wide is not None]
    for index, (rule, proof) in enumerate(zip(system.rules, given, strict=True)):
        within = [periods[index][0], *proposed] if periods else []
        try:
            room, boxes = check_barrier_rule(
                system, read_scaled_ring(system, proof["scale"]), rule, proof, within
            )
        except Refused as error:
            raise Refused(f"set {index}: {error}") from None
        rooms.append(room)
        starts += boxes
    if not all(is_box_covered(starts, part) for part in system.parts):
        raise Refused("the starts are not covered by the sets")
    if system.shield is not None:
        check_shield(system, rooms, proposed)
    who = "whatever is proposed to its shield" if system.shield is not None else "by its program"
    where = "" if system.parts == (system.initial,) else f" from {len(system.parts)} boxes of its starts"
    run = f"no run of the system {shown_name(system.name)}{where}, controlled {who}"
    if system.time is None:
        return f"{run}, comes to an unsafe state"
    when = f"every {system.time.period} units of continuous time"
    return f"{run} {when}, is ever in an unsafe state, at these times and between them"


def read_system_proofs(
    claim: dict[str, Any], proofs: object, arithmetic: str
) -> tuple[ClaimedSystem, list[dict[str, Any]]]:
    """The system of a claim, and the proof of each of its sets."""
    given = [expect_object(p, _PROOF, "set", _PERIOD) for p in expect_list(proofs, "sets")]
    system = read_claimed_system(claim["problem"], [p["set"] for p in given], claim.get("parts"), arithmetic)
    if any(("period" in proof) is (system.time is None) for proof in given):
        raise BadCertificate("sets: a `period` belongs to continuous time")
    return system, given


def read_scaled_ring(system: ClaimedSystem, data: object) -> ScaledRing:
    names = (*system.variables, *(name for name, _ in system.disturbances))
    size, form = len(names), "scale: a centre and a unit for each variable and disturbance"
    found, units = {}, []
    for index, (name, pair) in enumerate(zip(names, expect_list(data, "scale", size, form), strict=True)):
        centre, unit = (expect_number(part, "scale") for part in expect_list(pair, "scale", 2, form))
        if unit <= 0:
            raise BadCertificate("scale: a unit is positive")
        found[name] = poly_variable(index, size).times(unit) + poly_constant(centre, size)
        units.append((centre, unit))
    return ScaledRing(found, size, system.rounded, tuple(units))


def check_barrier_rule(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    proof: dict[str, Any],
    periods: Sequence[PeriodBounds] = (),
) -> tuple[Fraction, list[Box]]:
    """`periods`: in continuous time, that of the rule and those of what may be proposed."""
    margins = _read_margins(system, ring, rule, proof["margins"], periods)
    inside = set_constraints(system, ring, rule)
    _check_saturation(system, ring, rule, inside, proof)
    _check_steps(system, ring, rule, inside, margins, proof)
    _check_unsafe(system, ring, rule, inside, proof, periods)
    boxes = [read_sized_box(box, len(system.variables)) for box in expect_list(proof["covers"], "covers")]
    shown = expect_list(proof["start"], "start", len(boxes), "start: a proof for each box")
    deep = [ring.at_most(-margins.room, ring.of(row)) for row in rule.set.rows]
    for box, entry in zip(boxes, shown, strict=True):
        if any(low < a or high > b for (low, high), (a, b) in zip(box, rule.set.domain, strict=True)):
            raise Refused("a start is outside of the domain")
        several = [entry]
        if len(deep) > 1:
            form = "start: a proof for each row of the barrier"
            several = expect_list(entry, "start", len(deep), form)
        for wanted, one in zip(deep, several, strict=True):
            check_positivity_proof(wanted, ring.within(system.variables, box), one, ring.size)
    return margins.room, boxes


def set_constraints(system: ClaimedSystem, ring: ScaledRing, rule: ClaimedRule) -> list[ExactPolynomial]:
    """The constraints of I: the sides of the domain, and no row of the barrier is above 0."""
    rows = [-ring.of(row) for row in rule.set.rows]
    return [*ring.within(system.variables, measured_domain(system, rule)), *rows]


def _bound_change(
    system: ClaimedSystem, ring: ScaledRing, rule: ClaimedRule, p: ExactPolynomial, by: Sequence[Fraction]
) -> Fraction:
    """How much a polynomial of the variables changes at most if each does by so much, within the domain."""
    pairs = list(zip(measured_domain(system, rule), ring.units, strict=False))
    sizes = [max(abs(low - centre), abs(high - centre)) / unit for (low, high), (centre, unit) in pairs]
    steps = [step / unit for step, (_, (_, unit)) in zip(by, pairs, strict=True)]
    rest = [Fraction(0)] * (ring.size - len(sizes))
    return bound_polynomial_change(p, [*sizes, *rest], [*steps, *rest])


def _read_margins(
    system: ClaimedSystem, ring: ScaledRing, rule: ClaimedRule, data: object, periods: Sequence[PeriodBounds]
) -> _Margins:
    """The margins that are given, if they are not smaller than they have to be."""
    entry = expect_object(data, _MARGINS, "margins")
    step = tuple(expect_number(e, "margin") for e in expect_list(entry["step"], "margins"))
    given = _Margins(expect_number(entry["room"], "room"), step, expect_number(entry["barrier"], "margin"))
    if len(step) != len(system.variables):
        raise BadCertificate("margins: one for each variable")
    room, least = _required_margins(system, rule, periods)
    enough = given.room >= room and all(a >= b for a, b in zip(step, least, strict=True))
    drift = Fraction(0)
    if periods:
        drift = max(_bound_change(system, ring, rule, ring.of(row), step) for row in rule.set.rows)
    elif any(step):
        drift = bound_max_change(system, rule.set.rows, rule.set.domain, step)
    if not enough or given.barrier < drift:
        raise Refused("a margin is smaller than the rounding errors, or than what a period leaves open")
    return given


def _required_margins(
    system: ClaimedSystem, rule: ClaimedRule, periods: Sequence[PeriodBounds]
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """How far the test of the set and each next value may be from what they should be, over the domain."""
    room = rule.set.margin
    if not system.rounded:
        return room, periods[0].step if periods else (Fraction(0),) * len(system.variables)
    for low, high in rule.set.domain:
        if nearest_double(low) != low or nearest_double(high) != high:
            raise Refused("a side of a domain is no double")
    if nearest_double(room) != room:
        raise Refused("a margin is no double")
    state = measured_state(system, measured_domain(system, rule))
    if rule.set.tested:
        error = bound_rounding(rule.set.barrier, state).error
        if room < error:
            raise Refused("the margin of the test is smaller than its rounding errors")
        room += error
    if periods:
        return room, periods[0].step
    values = dict(state)
    for control, then in zip(system.controls, rule.then, strict=True):
        found = bound_rounding(then, state)
        ends = [abs(end) for end in (control.low, control.high) if end is not None]
        size = max(ends) if len(ends) == 2 else max([found.size, *ends])
        values[control.name] = RoundedValue(size, found.error)
    for name, ends_of in system.disturbances:
        values[name] = RoundedValue(max(map(abs, ends_of)))
    return room, tuple(bound_rounding(t, values).error for t in system.next)


def _check_saturation(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    inside: Sequence[ExactPolynomial],
    proof: dict[str, Any],
) -> None:
    """Where it is said that a control never reaches an end of its range, that is shown."""
    form = "saturation: a pair for each control"
    entries = expect_list(proof["saturation"], "saturation", len(system.controls), form)
    for control, then, entry in zip(system.controls, rule.then, entries, strict=True):
        pair = expect_list(entry, "saturation", 2, form)
        value = ring.of(then)
        for end, above, shown in ((control.low, False, pair[0]), (control.high, True, pair[1])):
            if shown is not None:
                if end is None:
                    raise BadCertificate("saturation: at an end that does not exist")
                wanted = ring.at_most(end, value) if above else ring.at_least(end, value)
                check_positivity_proof(wanted, inside, shown, ring.size)


def enumerate_control_modes(
    system: ClaimedSystem, ring: ScaledRing, rule: ClaimedRule, proof: dict[str, Any]
) -> Iterator[tuple[dict[str, ExactPolynomial], list[ExactPolynomial]]]:
    """The variables after a step, by cases of the controls, and the constraints under which each occurs."""
    choices: list[list[tuple[ExactPolynomial, list[ExactPolynomial]]]] = []
    for control, then, pair in zip(system.controls, rule.then, proof["saturation"], strict=True):
        value = ring.of(then)
        low, high = control.low, control.high
        between = [ring.at_least(low, value)] if low is not None else []
        between += [ring.at_most(high, value)] if high is not None else []
        cases = [(value, between)]
        if low is not None and pair[0] is None:
            cases.append((poly_constant(low, ring.size), [ring.at_most(low, value)]))
        if high is not None and pair[1] is None:
            cases.append((poly_constant(high, ring.size), [ring.at_least(high, value)]))
        choices.append(cases)
    for combination in product(*choices):
        pairs = zip(system.controls, combination, strict=True)
        names = ring.names | {control.name: value for control, (value, _) in pairs}
        moved = {v: ring.of(t, names) for v, t in zip(system.variables, system.next, strict=True)}
        yield moved, [c for _, several in combination for c in several]


def _check_steps(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    inside: Sequence[ExactPolynomial],
    margins: _Margins,
    proof: dict[str, Any],
) -> None:
    """From I, whatever the disturbance, the next state is in J even after rounding."""
    disturbed = ring.within([n for n, _ in system.disturbances], [r for _, r in system.disturbances])
    modes = list(enumerate_control_modes(system, ring, rule, proof))
    form = f"steps: {len(modes)} cases of the controls, in order"
    steps = expect_list(proof["steps"], "steps", len(modes), form)
    count = len(rule.set.rows) + 2 * len(system.variables)
    form = "steps: the rows of the barrier, and both sides of each variable"
    for (moved, constraints), entry in zip(modes, steps, strict=True):
        sides = iter(expect_list(entry, "steps", count, form))
        where = [*inside, *disturbed, *constraints]
        for row in rule.set.rows:
            after = ring.of(row, moved)
            wanted = ring.at_most(-margins.room - margins.barrier, after)
            check_positivity_proof(wanted, where, next(sides), ring.size)
        for value, (low, high), error in zip(moved.values(), rule.set.domain, margins.step, strict=True):
            check_positivity_proof(ring.at_least(low + error, value), where, next(sides), ring.size)
            check_positivity_proof(ring.at_most(high - error, value), where, next(sides), ring.size)


def _check_unsafe(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    inside: Sequence[ExactPolynomial],
    proof: dict[str, Any],
    periods: Sequence[PeriodBounds],
) -> None:
    """The constraints of I and of each unsafe case contradict each other: -1 would not be negative there."""
    cases = relaxed_conjunctions(system.unsafe)
    shown = expect_list(proof["unsafe"], "unsafe", len(cases), f"unsafe: {len(cases)} cases, in order")
    for case, data in zip(cases, shown, strict=True):
        entry = expect_object(data, _UNSAFE, "unsafe")
        form = "unsafe: a slack for each comparison"
        slacks = [expect_number(s, "slack") for s in expect_list(entry["slack"], "slack", len(case), form)]
        constraints, enough = relaxed_constraints(system, ring, rule, case, slacks, periods)
        if not enough:
            raise Refused("a slack is smaller than what rounding, or the time between two steps, may change")
        check_positivity_proof(
            poly_constant(-1, ring.size), [*inside, *constraints], entry["proof"], ring.size
        )


def relaxed_constraints(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    case: Sequence[Atom],
    slacks: Sequence[Fraction],
    periods: Sequence[PeriodBounds] = (),
) -> tuple[list[ExactPolynomial], bool]:
    """Comparisons that may be missed by so much, and whether that is as much as they may be missed by."""
    gaps, least = _comparison_gaps(system, ring, rule, case, periods)
    enough = not any(slack < needed for slack, needed in zip(slacks, least, strict=True))
    pairs = zip(gaps, slacks, strict=True)
    return [gap + poly_constant(slack, ring.size) for gap, slack in pairs], enough


def _comparison_gaps(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    case: Sequence[Atom],
    periods: Sequence[PeriodBounds],
) -> tuple[list[ExactPolynomial], list[Fraction]]:
    """What is not negative where the comparisons hold, and by how much each may be missed.

    In continuous time conditions are about the state as it is. If all comparisons of a case hold at some time
    they nearly hold at one where the state is in a set: at the nearer end of the period; or, of a single
    affine comparison, at one of both ends, since it is convex and the state near the line between them.
    """
    rounded = ring.rounded and not periods
    known = {name: ring.names[name] for name in system.variables}
    sides = [[poly_from_term(t, known, ring.size, rounded) for t in pair] for pair in case]
    gaps = [right - left for left, right in sides]
    if periods:
        alone = len(gaps) == 1 and poly_degree(gaps[0]) <= 1
        ways = [period.chord if alone else period.half for period in periods]
        return gaps, [max(_bound_change(system, ring, rule, gap, by) for by in ways) for gap in gaps]
    if not rounded:
        return gaps, [Fraction(0)] * len(gaps)
    state = measured_state(system, rule.set.domain)
    return gaps, [sum((bound_rounding(t, state).error for t in pair), Fraction(0)) for pair in case]
