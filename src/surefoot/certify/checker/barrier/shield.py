"""What a shield permits leads into a set of its certificate (docs/certificates.md, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..number import Refused
from .period import Bounds, seen, state_of
from .polynomial import add, constant, double, largest, of_term, subtract, variable
from .rounding import Computed, computed
from .shift import shifted, sizes_of
from .system import System


def check_shield(system: System, rooms: Sequence[Fraction], periods: Sequence[Bounds]) -> None:
    """What passes the test of a permit leads into J of its set, from anywhere in any set.

    The test is computed for one value of the disturbances; the state that comes is another one, by what the
    disturbances and rounding can change.
    """
    assert system.shield is not None
    if any(c.low is None or c.high is None for c in system.controls):
        raise Refused("a shield needs controls with two ends")
    hull = [
        (min(low for low, _ in ranges), max(high for _, high in ranges))
        for ranges in zip(*(seen(system, rule) for rule in system.rules), strict=True)
    ]
    values = state_of(system, tuple(hull))
    for control in system.controls:
        ends = [abs(end) for end in (control.low, control.high) if end is not None]
        values[control.name] = Computed(max(ends))
    middle: dict[str, Fraction] = {}
    for name, (low, high) in system.disturbances:
        values[name] = Computed(max(abs(low), abs(high)))
        centre = (low + high) / 2
        middle[name] = double(centre) if system.rounded else centre  # as it is computed with
    differs = _prediction(system, middle, values)
    if periods:
        most = [max(several) for several in zip(*(p.step for p in periods), strict=True)]
        differs = [a + b for a, b in zip(differs, most, strict=True)]
    for rule, permit, room in zip(system.rules, system.shield, rooms, strict=True):
        for (low, high), (a, b), error in zip(permit.inside, rule.set.domain, differs, strict=True):
            if low - error < a or high + error > b:
                raise Refused("what a shield permits may leave the domain")
            if system.rounded and (double(low) != low or double(high) != high):
                raise Refused("a side of a permit is no double")
        inner = sizes_of(rule.set.domain)
        state = {name: Computed(size) for name, size in zip(system.variables, inner, strict=True)}
        error = computed(rule.set.barrier, state).error if system.rounded else Fraction(0)
        if permit.margin < room + error + shifted(system, rule.set.rows, rule.set.domain, differs):
            raise Refused("the margin of a permit is smaller than what may happen")
        if system.rounded and double(permit.margin) != permit.margin:
            raise Refused("the margin of a permit is no double")


def _prediction(system: System, middle: dict[str, Fraction], values: dict[str, Computed]) -> list[Fraction]:
    """How far each next value may be from the one predicted with the middle of each disturbance."""
    names = (*system.variables, *(c.name for c in system.controls), *middle)
    size = len(names)
    free = {name: variable(i, size) for i, name in enumerate(names)}
    there = free | {name: add(free[name], constant(m, size)) for name, m in middle.items()}  # and an offset
    fixed = free | {name: constant(m, size) for name, m in middle.items()}
    widths = [max(high - middle[name], middle[name] - low) for name, (low, high) in system.disturbances]
    sizes = [*(values[name].size for name in names[: size - len(middle)]), *widths]
    predicted = values | {name: Computed(abs(m)) for name, m in middle.items()}
    found = []
    for term in system.next:
        moved, still = (of_term(term, n, size, system.rounded) for n in (there, fixed))
        differs = largest(subtract(moved, still), sizes)
        if system.rounded:
            plant = Fraction(0) if system.time is not None else computed(term, values).error
            differs += plant + computed(term, predicted).error
        found.append(differs)
    return found
