"""What a producer gives as evidence for a claim about a polynomial system, whether or not the claim is true.

Every margin is the least that the checker asks for, times a share; every obligation is proved by the real
prover. Where there is no proof something takes its place that looks like one: an identity with a matrix that
is not positive, one with negative weights, or nothing. A checker that derives too little, or asks for too
little, is lied to in this way.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any

from benchmarks.forgery.finite_systems import Json
from benchmarks.old_format import read_flat_system
from surefoot.query import polynomial as symbolic
from surefoot.solvers.halfspaces import FarkasCombinations
from surefoot.solvers.sos.rational_identity import prove_nonnegative
from surefoot.work.budget import Budget
from surefoot_checker.claims.barrier import claim as sets
from surefoot_checker.claims.barrier.claim import (
    ScaledRing,
    enumerate_control_modes,
    read_scaled_ring,
    set_constraints,
)
from surefoot_checker.claims.barrier.polynomial import (
    ExactPolynomial,
    nearest_double,
    poly_constant,
    poly_from_term,
    poly_variable,
)
from surefoot_checker.claims.barrier.rounding_error import RoundedValue, bound_rounding
from surefoot_checker.claims.barrier.sampling_period import (
    PeriodBounds,
    _control_ranges,
    check_period,
    measured_domain,
    measured_state,
    polynomial_range,
)
from surefoot_checker.claims.barrier.shield import _prediction_errors
from surefoot_checker.claims.barrier.system import (
    ClaimedRule,
    ClaimedSystem,
    Range,
    bound_max_change,
    box_magnitudes,
    relaxed_conjunctions,
)
from surefoot_checker.kernel.strict_json import BadCertificate, Refused
from surefoot_checker.kernel.term import read_term

SECONDS = 5.0
MARGINS = ("room", "step", "barrier", "slack", "drift", "permit")
NO_SHARES: Mapping[str, Fraction] = {}
FILLERS = ("nothing", "a matrix that is not positive", "negative weights")
_ZERO = Fraction(0)


@dataclass(slots=True)
class Work:
    """`shares`: of what is due of each of MARGINS, else all; `filler`: in the place of proofs that do not
    exist; `within`: it is said that no control reaches an end, whether or not that is so."""

    shares: Mapping[str, Fraction] = field(default_factory=dict)
    filler: str = "nothing"
    within: bool = False
    gaps: int = 0
    ring: ScaledRing | None = None

    def due(self, what: str, value: Fraction) -> Fraction:
        return value * self.shares.get(what, 1)

    def prove(
        self, wanted: ExactPolynomial, where: Sequence[ExactPolynomial], products: Sequence[Any]
    ) -> Any:
        size = self.ring.size if self.ring is not None else 0
        found = prove_positive(wanted, where, products, size)
        if found is None:
            self.gaps += 1
            return fill_gap(wanted, where, size, self.filler)
        return found


def write_number(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def give_evidence(
    data: Json,
    shares: Mapping[str, Fraction] = NO_SHARES,
    filler: str = "nothing",
    within: bool = False,
) -> tuple[Json, int] | None:
    """The certificate of this claim, and how many proofs do not exist. None: the claim cannot be read."""
    found = copy.deepcopy(data)
    work = Work(shares, filler, within)
    try:
        system = read_flat_system(found)
        periods = _periods(system, found)
        given = zip(system.rules, found["sets"], strict=True)
        proposed = [wide for _, wide in periods if wide is not None]
        rooms = []
        for index, (rule, entry) in enumerate(given):
            work.ring = read_scaled_ring(system, entry["scale"])
            within = [periods[index][0], *proposed] if periods else []
            rooms.append(_show_set(system, work, rule, entry, within))
        if system.shield is not None:
            _set_permits(system, found["claim"]["system"]["shield"], rooms, proposed, work)
        if "ranking" in found:
            _show_ranking(system, work, found)
    except (Refused, BadCertificate, ZeroDivisionError, ValueError, KeyError):
        return None
    return found, work.gaps


# Closed sets.


def _show_set(
    system: ClaimedSystem, work: Work, rule: ClaimedRule, entry: Json, periods: Sequence[PeriodBounds]
) -> Fraction:
    ring = work.ring
    assert ring is not None
    room, step = sets._required_margins(system, rule, periods)
    room = rule.set.margin + work.due("room", room - rule.set.margin)
    step = tuple(work.due("step", e) for e in step)
    if periods:
        drift = max(sets._bound_change(system, ring, rule, ring.of(row), step) for row in rule.set.rows)
    else:
        drift = bound_max_change(system, rule.set.rows, rule.set.domain, step) if any(step) else _ZERO
    drift = work.due("barrier", drift)
    margins = {"room": room, "barrier": drift}
    entry["margins"] = {k: write_number(v) for k, v in margins.items()}
    entry["margins"]["step"] = [write_number(e) for e in step]
    inside, own = set_constraints(system, ring, rule), _own(rule)
    entry["saturation"] = _show_saturation(system, work, rule, inside, own)
    disturbed = ring.within([n for n, _ in system.disturbances], [r for _, r in system.disturbances])
    entry["steps"] = []
    for moved, constraints in enumerate_control_modes(system, ring, rule, entry):
        where = [*inside, *disturbed, *constraints]
        products = _step_products(own, len(inside), len(disturbed), len(constraints))
        shown = []
        for row in rule.set.rows:
            shown.append(work.prove(ring.at_most(-room - drift, ring.of(row, moved)), where, products))
        for value, (low, high), error in zip(moved.values(), rule.set.domain, step, strict=True):
            shown.append(work.prove(ring.at_least(low + error, value), where, products))
            shown.append(work.prove(ring.at_most(high - error, value), where, products))
        entry["steps"].append(shown)
    entry["unsafe"] = []
    for case in relaxed_conjunctions(system.unsafe):
        gaps, needed = sets._comparison_gaps(system, ring, rule, case, periods)
        slacks = [work.due("slack", n) for n in needed]
        more = [gap + poly_constant(slack, ring.size) for gap, slack in zip(gaps, slacks, strict=True)]
        singles = [(len(inside) + i,) for i in range(len(more))]
        proof = work.prove(poly_constant(-1, ring.size), [*inside, *more], [*own, *singles])
        entry["unsafe"].append({"slack": [write_number(s) for s in slacks], "proof": proof})
    entry["start"] = []
    for box in entry["covers"]:
        ends = [(Fraction(a), Fraction(b)) for a, b in box]
        within = ring.within(system.variables, ends)
        pairs = [(2 * i, 2 * i + 1) for i in range(len(ends))]
        several = [work.prove(ring.at_most(-room, ring.of(row)), within, pairs) for row in rule.set.rows]
        entry["start"].append(several if len(several) > 1 else several[0])
    return room


def _own(rule: ClaimedRule) -> list[tuple[int, ...]]:
    """Products of the constraints of the set that proofs use."""
    count = len(rule.set.domain)
    return [
        *((2 * i, 2 * i + 1) for i in range(count)),
        *((2 * count + i,) for i in range(len(rule.set.rows))),
    ]


def _step_products(own: Sequence[Any], inside: int, disturbed: int, constraints: int) -> list[Any]:
    gusts = [(inside + 2 * i, inside + 2 * i + 1) for i in range(disturbed // 2)]
    return [*own, *gusts, *((inside + disturbed + i,) for i in range(constraints))]


def _show_saturation(
    system: ClaimedSystem,
    work: Work,
    rule: ClaimedRule,
    inside: Sequence[ExactPolynomial],
    own: Sequence[Any],
) -> list[list[Any]]:
    """Ends that are not reached, as far as that is proved."""
    ring = work.ring
    assert ring is not None
    found: list[list[Any]] = []
    for control, then in zip(system.controls, rule.then, strict=True):
        value, pair = ring.of(then), []
        for end, above in ((control.low, False), (control.high, True)):
            wanted = None if end is None else ring.at_most(end, value) if above else ring.at_least(end, value)
            shown = None if wanted is None else prove_positive(wanted, inside, own, ring.size)
            if wanted is not None and shown is None and work.within:
                work.gaps += 1
                shown = fill_gap(wanted, inside, ring.size, work.filler)
            pair.append(shown)
        found.append(pair)
    return found


def _periods(system: ClaimedSystem, data: Json) -> list[tuple[PeriodBounds, PeriodBounds | None]]:
    """Of each rule; where no enclosure is found, of a shorter period."""
    if system.time is None:
        return []
    found = []
    for rule, entry in zip(system.rules, data["sets"], strict=True):
        time = system.time
        for _ in range(12):
            try:
                entry["period"] = _enclosed(replace(system, time=time), rule, entry["period"]["order"])
                found.append(check_period(replace(system, time=time), time, rule, entry["period"]))
                break
            except Refused:
                time = replace(time, period=time.period / 2)
        else:
            raise Refused("no period is short enough")
    return found


def _enclosed(system: ClaimedSystem, rule: ClaimedRule, order: int) -> Json:
    start = measured_domain(system, rule)
    controls, _ = _control_ranges(system, rule, start)
    own = _enclosure(system, start, controls)
    if system.shield is None:
        return {"order": order, "enclosure": own, "proposed": None}
    ends = [(c.low, c.high) for c in system.controls if c.low is not None and c.high is not None]
    return {"order": order, "enclosure": own, "proposed": _enclosure(system, start, ends)}


def _enclosure(
    system: ClaimedSystem, start: Sequence[Range], controls: Sequence[Range]
) -> list[list[int | str]]:
    """A box that contains what is reached from the start within the period, a little too large."""
    assert system.time is not None
    h, box = system.time.period, [*start]
    named = (*system.variables, *(c.name for c in system.controls), *(n for n, _ in system.disturbances))
    for _ in range(30):
        sides = [*box, *controls, *(r for _, r in system.disturbances)]
        size = len(sides)
        middles = [(a + b) / 2 for a, b in sides]
        names = {
            n: poly_variable(i, size) + poly_constant(m, size)
            for i, (n, m) in enumerate(zip(named, middles, strict=True))
        }
        halves = [(-(b - a) / 2, (b - a) / 2) for a, b in sides]
        moves = [
            polynomial_range(poly_from_term(t, names, size, False), halves) for t in system.time.derivatives
        ]
        reached = [
            (low + min(_ZERO, h * a), high + max(_ZERO, h * b))
            for (low, high), (a, b) in zip(start, moves, strict=True)
        ]
        if all(a <= c and d <= b for (a, b), (c, d) in zip(box, reached, strict=True)):
            break
        if any(max(-c, d) > 10**6 for c, d in reached):
            raise Refused("a solution may leave every box")
        box = [
            (min(a, _short(c - (d - c) / 64)), max(b, _short(d + (d - c) / 64)))
            for (a, b), (c, d) in zip(box, reached, strict=True)
        ]
    return [[write_number(a), write_number(b)] for a, b in box]


def _short(value: Fraction) -> Fraction:
    return Fraction(round(value * 2**20), 2**20)


def _set_permits(
    system: ClaimedSystem,
    written: list[Json],
    rooms: Sequence[Fraction],
    periods: Sequence[PeriodBounds],
    work: Work,
) -> None:
    """Permits get the least margin and the widest box that the checker takes."""
    hull = [
        (min(low for low, _ in ranges), max(high for _, high in ranges))
        for ranges in zip(*(measured_domain(system, rule) for rule in system.rules), strict=True)
    ]
    values = measured_state(system, tuple(hull))
    for control in system.controls:
        values[control.name] = RoundedValue(max(abs(e) for e in (control.low, control.high) if e is not None))
    middle = {}
    for name, (low, high) in system.disturbances:
        values[name] = RoundedValue(max(abs(low), abs(high)))
        middle[name] = nearest_double((low + high) / 2) if system.rounded else (low + high) / 2
    differs = _prediction_errors(system, middle, values)
    if periods:
        most = [max(several) for several in zip(*(p.step for p in periods), strict=True)]
        differs = [a + b for a, b in zip(differs, most, strict=True)]
    for rule, permit, room in zip(system.rules, written, rooms, strict=True):
        state = dict(zip(system.variables, map(RoundedValue, box_magnitudes(rule.set.domain)), strict=True))
        error = bound_rounding(rule.set.barrier, state).error if system.rounded else _ZERO
        margin = room + error + bound_max_change(system, rule.set.rows, rule.set.domain, differs)
        margin, box = work.due("permit", margin), [work.due("permit", e) for e in differs]
        permit["margin"] = write_number(_above(margin) if system.rounded else margin)
        permit["inside"] = [
            [write_number(_above(a + e)), write_number(-_above(-(b - e)))]
            for (a, b), e in zip(rule.set.domain, box, strict=True)
        ]


def _above(value: Fraction) -> Fraction:
    """A double that is not smaller, with few digits."""
    return Fraction(-(-value.numerator * 2**40 // value.denominator), 2**40)


# Ranking functions.


def _show_ranking(system: ClaimedSystem, work: Work, data: Json) -> None:
    ring, (rule,), (entry,) = work.ring, system.rules, data["sets"]
    assert ring is not None
    ranking, target = data["ranking"], read_term(data["claim"]["target"])
    function = read_term(ranking["function"])
    margins = [Fraction(e) for e in entry["margins"]["step"]]
    drift = bound_max_change(system, [function], rule.set.domain, margins) if any(margins) else _ZERO
    falls = Fraction(ranking["least"])
    drift = work.due("drift", drift)
    ranking["drift"], ranking["least"], ranking["cases"] = write_number(drift), write_number(falls), []
    inside, own = set_constraints(system, ring, rule), _own(rule)
    disturbed = ring.within([n for n, _ in system.disturbances], [r for _, r in system.disturbances])
    state = {
        n: RoundedValue(size)
        for n, size in zip(system.variables, box_magnitudes(rule.set.domain), strict=True)
    }
    for moved, constraints in enumerate_control_modes(system, ring, rule, entry):
        wanted = ring.of(function) - ring.of(function, moved) - poly_constant(falls + drift, ring.size)
        several = []
        for case in relaxed_conjunctions(target, False):
            where = [*inside, *disturbed, *constraints]
            products = _step_products(own, len(inside), len(disturbed), len(constraints))
            slacks = []
            for left, right in case:
                errors = (
                    [bound_rounding(t, state).error for t in (left, right)] if system.rounded else [_ZERO]
                )
                slacks.append(work.due("slack", sum(errors, _ZERO)))
                products.append((len(where),))
                where.append(ring.of(right) - ring.of(left) + poly_constant(slacks[-1], ring.size))
            shown = work.prove(wanted, where, products)
            several.append({"slack": [write_number(s) for s in slacks], "proof": shown})
        ranking["cases"].append(several)


# Proofs, and what takes their place.


def _symbolic(p: ExactPolynomial) -> symbolic.Polynomial:
    return symbolic.Polynomial({m: Fraction(c, p.below) for m, c in p.terms.items()})


def prove_positive(
    wanted: ExactPolynomial, where: Sequence[ExactPolynomial], products: Sequence[tuple[int, ...]], size: int
) -> Any:
    """wanted >= 0 where the constraints are; None: no proof is found."""
    goal, given = _symbolic(wanted), [_symbolic(p) for p in where]
    straight = [i for i, p in enumerate(given) if p.degree == 1]
    if goal.degree <= 1:
        if not any(any(m) for m in goal.terms) and goal.terms.get((0,) * size, _ZERO) >= 0:
            return {"weights": [], "over": 1}
        if straight:
            found = FarkasCombinations([given[i] for i in straight], size).weights(goal)
            if found is not None:
                return _weights({straight[i]: w for i, w in found.items()})
        if len(straight) + sum(p.degree == 0 for p in given) == len(given):
            return None
    used = sorted({i for p in (goal, *given) for m in p.terms for i, e in enumerate(m) if e})
    kept = [k for k in products if all(given[i].degree > 0 for i in k)]
    shown = prove_nonnegative(goal, given, kept, used, Budget(SECONDS))
    if shown is None:
        return None
    return [_summand(s.of, s.basis, s.gram) for s in shown]


def _weights(weights: dict[int, Fraction]) -> Json:
    over = lcm(*(w.denominator for w in weights.values()))
    return {"weights": [[i, hex(int(w * over))] for i, w in sorted(weights.items())], "over": over}


def _summand(of: Sequence[int], basis: Sequence[Sequence[int]], gram: Sequence[Sequence[Fraction]]) -> Json:
    over = lcm(*(Fraction(entry).denominator for row in gram for entry in row))
    rows = [[hex(int(entry * over)) for entry in row] for row in gram]
    return {"of": list(of), "basis": [list(m) for m in basis], "gram": rows, "over": over}


def fill_gap(wanted: ExactPolynomial, where: Sequence[ExactPolynomial], size: int, how: str) -> Any:
    """Something in the place of a proof that does not exist; the identity holds, but for `nothing`."""
    goal = _symbolic(wanted)
    if how == "negative weights" and goal.degree <= 1:
        return _negative_weights(goal, where, size)
    if how == "nothing" or not goal.terms:
        return []
    highest = (goal.degree + 1) // 2
    basis = [m for m in product(range(highest + 1), repeat=size) if sum(m) <= highest]
    places: dict[tuple[int, ...], tuple[int, int]] = {}
    for i, first in enumerate(basis):
        for j, second in enumerate(basis[: i + 1]):
            key = tuple(map(int.__add__, first, second))
            if key not in places or i == j:
                places[key] = (i, j)
    gram = [[_ZERO] * (i + 1) for i in range(len(basis))]
    for monomial, coefficient in goal.terms.items():
        i, j = places[monomial]
        gram[i][j] = coefficient if i == j else coefficient / 2
    return [_summand((), basis, gram)]


def _negative_weights(goal: symbolic.Polynomial, where: Sequence[ExactPolynomial], size: int) -> Any:
    """Each variable by the side of the domain that is the wrong one, so that a positive number is left."""
    weights: dict[int, Fraction] = {}
    for index in range(size):
        single = tuple(int(i == index) for i in range(size))
        slope = goal.terms.get(single, _ZERO)
        for place, constraint in enumerate(where):
            side = _symbolic(constraint)
            only = [m for m in side.terms if any(m)]
            if slope and only == [single] and side.terms[single] * slope < 0:
                weights[place] = slope / side.terms[single]
                break
    if not weights:  # a negative number: the two sides of a range together are a positive one
        width = sum((_symbolic(side).terms.get((0,) * size, _ZERO) for side in where[:2]), _ZERO)
        weights = dict.fromkeys((0, 1), goal.terms.get((0,) * size, _ZERO) / width) if width else {}
    return _weights(weights) if weights else []
