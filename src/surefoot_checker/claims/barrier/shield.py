"""What a shield permits leads into a set of its certificate (docs/certificates.md, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...kernel.strict_json import Refused
from .polynomial import nearest_double, poly_bound, poly_constant, poly_from_term, poly_variable
from .rounding_error import RoundedValue, bound_rounding
from .sampling_period import PeriodBounds, measured_domain, measured_state
from .system import ClaimedSystem, bound_max_change, box_magnitudes


def check_shield(system: ClaimedSystem, rooms: Sequence[Fraction], periods: Sequence[PeriodBounds]) -> None:
    """What passes the test of a permit leads into J of its set, from anywhere in any set.

    The test is computed for one value of the disturbances; the state that comes is another one, by what the
    disturbances and rounding can change.
    """
    assert system.shield is not None
    if any(c.low is None or c.high is None for c in system.controls):
        raise Refused("a shield needs controls with two ends")
    hull = [
        (min(low for low, _ in ranges), max(high for _, high in ranges))
        for ranges in zip(*(measured_domain(system, rule) for rule in system.rules), strict=True)
    ]
    values = measured_state(system, tuple(hull))
    for control in system.controls:
        ends = [abs(end) for end in (control.low, control.high) if end is not None]
        values[control.name] = RoundedValue(max(ends))
    middle: dict[str, Fraction] = {}
    for name, (low, high) in system.disturbances:
        values[name] = RoundedValue(max(abs(low), abs(high)))
        centre = (low + high) / 2
        middle[name] = nearest_double(centre) if system.rounded else centre  # as it is computed with
    differs = _prediction_errors(system, middle, values)
    if periods:
        most = [max(several) for several in zip(*(p.step for p in periods), strict=True)]
        differs = [a + b for a, b in zip(differs, most, strict=True)]
    for rule, permit, room in zip(system.rules, system.shield, rooms, strict=True):
        for (low, high), (a, b), error in zip(permit.inside, rule.set.domain, differs, strict=True):
            if low - error < a or high + error > b:
                raise Refused("what a shield permits may leave the domain")
            if system.rounded and (nearest_double(low) != low or nearest_double(high) != high):
                raise Refused("a side of a permit is no double")
        inner = box_magnitudes(rule.set.domain)
        state = {name: RoundedValue(size) for name, size in zip(system.variables, inner, strict=True)}
        error = bound_rounding(rule.set.barrier, state).error if system.rounded else Fraction(0)
        if permit.margin < room + error + bound_max_change(system, rule.set.rows, rule.set.domain, differs):
            raise Refused("the margin of a permit is smaller than what may happen")
        if system.rounded and nearest_double(permit.margin) != permit.margin:
            raise Refused("the margin of a permit is no double")


def _prediction_errors(
    system: ClaimedSystem, middle: dict[str, Fraction], values: dict[str, RoundedValue]
) -> list[Fraction]:
    """How far each next value may be from the one predicted with the middle of each disturbance."""
    names = (*system.variables, *(c.name for c in system.controls), *middle)
    size = len(names)
    free = {name: poly_variable(i, size) for i, name in enumerate(names)}
    fixed = free | {name: poly_constant(m, size) for name, m in middle.items()}
    there = free | {name: free[name] + fixed[name] for name in middle}  # an offset
    widths = [max(high - middle[name], middle[name] - low) for name, (low, high) in system.disturbances]
    sizes = [*(values[name].size for name in names[: size - len(middle)]), *widths]
    predicted = values | {name: RoundedValue(abs(m)) for name, m in middle.items()}
    found = []
    for term in system.next:
        moved, still = (poly_from_term(term, n, size, system.rounded) for n in (there, fixed))
        differs = poly_bound(moved - still, sizes)
        if system.rounded:
            plant = Fraction(0) if system.time is not None else bound_rounding(term, values).error
            differs += plant + bound_rounding(term, predicted).error
        found.append(differs)
    return found
