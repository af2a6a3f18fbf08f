"""A barrier for one rule, in floats (section 4.2 of Zhu et al., PLDI 2019, with two changes).

B <= 0 at the starts, B > 0 at unsafe states and where a step may leave the domain, and B(next) <= factor * B
on the domain. The factor below 1 leaves room for rounding at an equilibrium, where the paper's B(next) <= B
is an equality; and the condition is asked on the domain only, since for most polynomial maps no barrier
satisfies it everywhere. The monomials of equation (7) are all up to a degree, or those of a sketch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TypeAlias

import numpy as np

from surefoot.encode.barrier import conjunctions, polynomial_of, range_of
from surefoot.engines.barrier.plane import Plane, Range
from surefoot.engines.barrier.sampled import Floats, evaluated
from surefoot.query.polynomial import Monomial, Polynomial, constant, monomials, variable
from surefoot.solve.sos import (
    Condition,
    Squares,
    fit,
    mirrored,
    orthogonal,
    parity,
    span,
    symmetries,
    without_images,
)
from surefoot.work.budget import Budget

Template: TypeAlias = int | tuple[Monomial, ...]  # a degree, or the monomials of the system's variables
MOST_MONOMIALS = 3000  # of B: with more the conditions alone take hours to write down
NOTHING = Fraction(1, 10**9)  # of what a barrier changes: not worth unknowns of its own
ABOVE = Fraction(1, 1000)  # what B is at least where it has to be positive


@dataclass(frozen=True, slots=True)
class Squared:
    """B has this template; `squares`: which sums of squares its conditions are looked for and proved by."""

    template: Template
    squares: Squares


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """B is the largest of linear rows, at most so many for each variable; in linear systems only."""

    rows: int


Shape: TypeAlias = Template | Squared | Polyhedron  # of B
FEW, MANY = Polyhedron(8), Polyhedron(100)  # as quick to test as a polynomial; as many as may be worth it


def alternatives(polynomials: tuple[Template | Squared, ...]) -> tuple[Shape, ...]:
    """Polyhedra where they are cheap, then polynomials, then any polyhedra."""
    return (FEW, *polynomials, MANY)


def pairs(count: int, first: int = 0) -> list[tuple[int, int]]:
    """The products of the two constraints of each range."""
    return [(first + 2 * i, first + 2 * i + 1) for i in range(count)]


def squared(shape: Template | Squared) -> Squared:
    """A template alone is for any sums of squares, as they fit its size."""
    return shape if isinstance(shape, Squared) else Squared(shape, "auto")


def too_large(variables: int, shape: Shape) -> str | None:
    """Why no such set is looked for; None if it is."""
    if isinstance(shape, Polyhedron):
        return None
    shape = squared(shape).template
    count = comb(variables + shape, shape) if isinstance(shape, int) else len(shape)
    if count <= MOST_MONOMIALS:
        return None
    kind = f"degree {shape}" if isinstance(shape, int) else "the sketch"
    return f"{kind} is too large: {count} monomials in {variables} variables, at most {MOST_MONOMIALS}"


def find(
    where: Plane,
    starts: Sequence[Range],
    shape: Template | Squared,
    factor: Fraction,
    reached: Sequence[tuple[bool, bool]],
    budget: Budget,
    wished: Floats | None = None,
) -> Polynomial | None:
    """A polynomial in the units of the plane; `reached`: ends of controls that the set may reach."""
    wanted = squared(shape)
    plain = _basis(where, wanted.template)
    signs = _signs(where, plain)
    basis = [*plain, *(part.times(Fraction(-1)) for part in plain)] if signs else plain
    # What the network visits need not be symmetric.
    changed = [] if signs or wished is not None else _mirrors(where, basis, starts, reached)
    basis = [part for part in basis if all(mirrored(part, one) == part for one in changed)]
    conditions = [*_fixed(where, basis, starts, reached), *signs]
    conditions += _steps(where, basis, factor, reached, budget)
    if budget.spent():
        return None
    conditions = without_images(conditions, changed) if changed else conditions
    rows = None if wished is None else np.column_stack([evaluated(part, wished) for part in basis])
    found = fit(conditions, len(basis), budget, rows, wanted.squares)
    if found is None:
        return None
    total = constant(0, where.size)
    for part, coefficient in zip(basis, found, strict=True):
        total = total + part.times(coefficient)
    return total


def _fixed(
    where: Plane, basis: Sequence[Polynomial], starts: Sequence[Range], reached: Sequence[tuple[bool, bool]]
) -> list[Condition]:
    """All conditions but those about a step."""
    outside = [_positive(where, basis, extra) for extra in _outside(where, reached)]
    return [_start(where, basis, starts), *outside]


def _mirrors(
    where: Plane, basis: Sequence[Polynomial], starts: Sequence[Range], reached: Sequence[tuple[bool, bool]]
) -> list[int]:
    """Variables, as bits, that may change their signs together in plant, rule and all conditions."""
    system, total = where.system, where.size + len(where.system.controls)
    names = {
        name: Polynomial({(*m, *((0,) * len(system.controls))): c for m, c in p.terms.items()})
        for name, p in where.names().items()
    }
    names |= {name: variable(where.size + i, total) for i, (name, _, _) in enumerate(system.controls)}
    sums: set[int] = set()
    for i, (term, (centre, _)) in enumerate(zip(system.next, where.units, strict=False)):
        moved = polynomial_of(term, names, total, system.rounded) - constant(centre, total)
        sums |= {parity(m) ^ (1 << i) for m in moved.terms}
    for j, then in enumerate(where.then):
        sums |= {parity(m) ^ (1 << (where.size + j)) for m in where.of(then).terms}
    candidates = {signs & ((1 << where.size) - 1) for signs in orthogonal(span(sums), total)} - {0}
    if not candidates:
        return []
    one = {0: constant(1, where.size)}
    steps = [Condition(constant(0, where.size), one, *about, where.everything)
             for _, about in _cases(where, reached)]  # fmt: skip
    return symmetries(sorted(candidates), basis, [*_fixed(where, basis, starts, reached), *steps])


def _basis(where: Plane, shape: Template) -> list[Polynomial]:
    """In the units of the plane, where a monomial around another centre is a sum; the largest number is 1."""
    if isinstance(shape, int):
        return [Polynomial({m: Fraction(1)}) for m in monomials(where.states, where.size, shape)]
    values = list(where.names().values())[: len(where.states)]
    parts = [Polynomial({m: Fraction(1)}).replaced(values, where.size) for m in shape]
    return [part.times(1 / max(abs(c) for c in part.terms.values())) for part in parts]


def _signs(where: Plane, basis: Sequence[Polynomial]) -> list[Condition]:
    """In continuous time a coefficient is the difference of two that are not negative: so what the barrier
    changes between the predicted state and the real one, a sum of absolute values, is linear in them."""
    if max(_drifts(where, basis)) < NOTHING:
        return []
    nothing, one = constant(0, where.size), constant(1, where.size)
    return [Condition(nothing, {k: one}, (), (), where.everything) for k in range(2 * len(basis))]


def _drifts(where: Plane, basis: Sequence[Polynomial]) -> list[Fraction]:
    """How much each part changes between the predicted state and the real one; none in steps."""
    if where.own is None:
        return [Fraction(0)] * len(basis)
    return [where.changed(part, where.held(where.own)) for part in basis]


def _signed(basis: Sequence[Polynomial], sign: int) -> dict[int, Polynomial]:
    return {k: part.times(Fraction(sign)) for k, part in enumerate(basis)}


def _start(where: Plane, basis: Sequence[Polynomial], starts: Sequence[Range]) -> Condition:
    inside = tuple(where.within(starts))
    fixed = constant(-ABOVE, where.size)
    return Condition(fixed, _signed(basis, -1), inside, tuple(pairs(len(starts))), where.states)


def _positive(where: Plane, basis: Sequence[Polynomial], extra: list[Polynomial]) -> Condition:
    """B is positive on the domain where these are not negative, for some disturbance."""
    count, disturbances = len(where.domain), len(where.system.disturbances)
    moved = any(e for p in extra for m in p.terms for e in m[count:])
    disturbed = where.disturbed() if moved else []
    inside = (*where.within(where.domain), *disturbed, *extra)
    products = [*pairs(count), *(pairs(disturbances, 2 * count) if moved else ())]
    products += [(2 * count + len(disturbed) + i,) for i in range(len(extra))]
    variables = where.everything if moved else where.states
    fixed = constant(-ABOVE, where.size)
    return Condition(fixed, _signed(basis, 1), inside, tuple(products), variables)


def _outside(where: Plane, reached: Sequence[tuple[bool, bool]]) -> Iterator[list[Polynomial]]:
    """Where a step may leave the domain, unsafe states in it, and where a control must not be at an end."""
    steps = where.held(where.own) if where.own is not None else [Fraction(0)] * len(where.domain)
    for controls, constraints in where.modes(reached):
        for value, (low, high), step in zip(where.following(controls), where.domain, steps, strict=True):
            for gap in (value - constant(high - step, where.size), constant(low + step, where.size) - value):
                if _highest(where, gap) >= 0:
                    yield [gap, *constraints]
    for case in conjunctions(where.system.unsafe):
        gaps = [
            where.condition(right) - where.condition(left) + constant(more, where.size)
            for (left, right), more in zip(case, where.between(case), strict=True)
        ]
        if all(_highest(where, gap) >= 0 for gap in gaps):
            yield gaps
    for (value, least, most), (at_low, at_high) in zip(where.ends(), reached, strict=True):
        if least is not None and not at_low:
            yield [constant(least, where.size) - value]
        if most is not None and not at_high:
            yield [value - constant(most, where.size)]


def _highest(where: Plane, polynomial: Polynomial) -> Fraction:
    """An upper bound over the domain and all disturbances."""
    ranges = [*where.domain, *(r for _, r in where.system.disturbances)]
    box = [
        ((low - centre) / unit, (high - centre) / unit)
        for (low, high), (centre, unit) in zip(ranges, where.units, strict=True)
    ]
    return range_of(polynomial, box)[1]


def _steps(
    where: Plane,
    basis: Sequence[Polynomial],
    factor: Fraction,
    reached: Sequence[tuple[bool, bool]],
    budget: Budget,
) -> list[Condition]:
    """B(next) <= factor * B on the domain, for every disturbance and every case of the controls."""
    found = []
    drifts = _drifts(where, basis)
    for controls, about in _cases(where, reached):
        following = [
            (value - constant(centre, where.size)).times(1 / unit)
            for value, (centre, unit) in zip(where.following(controls), where.units, strict=False)
        ]
        rest = [constant(0, where.size)] * len(where.system.disturbances)
        linear = {}
        for k, part in enumerate(basis):
            if budget.spent():  # of a high degree each one takes long
                return []
            after = part.replaced([*following, *rest], where.size) + constant(drifts[k], where.size)
            linear[k] = part.times(factor) - after
        found.append(Condition(constant(0, where.size), linear, *about, where.everything))
    return found


def _cases(
    where: Plane, reached: Sequence[tuple[bool, bool]]
) -> Iterator[tuple[list[Polynomial], tuple[tuple[Polynomial, ...], tuple[tuple[int, ...], ...]]]]:
    """Values of the controls, and the constraints of a step with the products of them that are used."""
    count, disturbed = len(where.domain), where.disturbed()
    for controls, constraints in where.modes(reached):
        first = 2 * count + len(disturbed)
        products = (
            *pairs(count),
            *pairs(len(where.system.disturbances), 2 * count),
            *((first + i,) for i in range(len(constraints))),
        )
        yield controls, ((*where.within(where.domain), *disturbed, *constraints), products)
