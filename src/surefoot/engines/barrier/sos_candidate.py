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

from surefoot.engines.barrier.float_system import Floats, evaluate_polynomial
from surefoot.engines.barrier.scaled_system import Range, ScaledSystem
from surefoot.query.polynomial import (
    Monomial,
    Polynomial,
    enumerate_monomials,
    polynomial_from_constant,
)
from surefoot.reductions.barrier import polynomial_box_range, polynomial_of, relaxed_dnf
from surefoot.solvers.sos.gram_blocks import Squares
from surefoot.solvers.sos.sign_symmetry import monomial_parity, parity_basis, sign_symmetries
from surefoot.solvers.sos.template import (
    TemplateCondition,
    condition_symmetries,
    drop_mirror_images,
    fit_template,
    flip_signs,
)
from surefoot.work.budget import Budget

Template: TypeAlias = int | tuple[Monomial, ...]  # a degree, or the monomials of the system's variables
MOST_MONOMIALS = 3000  # of B: with more the conditions alone take hours to write down
NOTHING = Fraction(1, 10**9)  # of what a barrier changes: not worth unknowns of its own
ABOVE = Fraction(1, 1000)  # what B is at least where it has to be positive


@dataclass(frozen=True, slots=True)
class SosTemplate:
    """B has this template; `squares`: which sums of squares its conditions are looked for and proved by."""

    template: Template
    squares: Squares


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """B is the largest of linear rows, at most so many for each variable; in linear systems only."""

    rows: int


Shape: TypeAlias = Template | SosTemplate | Polyhedron  # of B
FEW, MANY = Polyhedron(8), Polyhedron(100)  # as quick to test as a polynomial; as many as may be worth it


def barrier_shapes(polynomials: tuple[Template | SosTemplate, ...]) -> tuple[Shape, ...]:
    """Polyhedra where they are cheap, then polynomials, then any polyhedra."""
    return (FEW, *polynomials, MANY)


def range_products(count: int, first: int = 0) -> list[tuple[int, int]]:
    """The products of the two constraints of each range."""
    return [(first + 2 * i, first + 2 * i + 1) for i in range(count)]


def sos_template(shape: Template | SosTemplate) -> SosTemplate:
    """A template alone is for any sums of squares, as they fit its size."""
    return shape if isinstance(shape, SosTemplate) else SosTemplate(shape, "auto")


def template_objection(variables: int, shape: Shape) -> str | None:
    """Why no such set is looked for; None if it is."""
    if isinstance(shape, Polyhedron):
        return None
    shape = sos_template(shape).template
    count = comb(variables + shape, shape) if isinstance(shape, int) else len(shape)
    if count <= MOST_MONOMIALS:
        return None
    kind = f"degree {shape}" if isinstance(shape, int) else "the sketch"
    return f"{kind} is too large: {count} monomials in {variables} variables, at most {MOST_MONOMIALS}"


def fit_barrier(
    where: ScaledSystem,
    starts: Sequence[Range],
    shape: Template | SosTemplate,
    factor: Fraction,
    reached: Sequence[tuple[bool, bool]],
    budget: Budget,
    wished: Floats | None = None,
) -> Polynomial | None:
    """A polynomial in the units of the plane; `reached`: ends of controls that the set may reach."""
    wanted = sos_template(shape)
    plain = _template_basis(where, wanted.template)
    signs = _sign_conditions(where, plain)
    basis = [*plain, *(part.times(Fraction(-1)) for part in plain)] if signs else plain
    # What the network visits need not be symmetric.
    changed = [] if signs or wished is not None else _sign_symmetries(where, basis, starts, reached)
    basis = [part for part in basis if all(flip_signs(part, one) == part for one in changed)]
    conditions = [*_state_conditions(where, basis, starts, reached), *signs]
    conditions += _decrease_conditions(where, basis, factor, reached, budget)
    if budget.is_spent():
        return None
    conditions = drop_mirror_images(conditions, changed) if changed else conditions
    rows = None if wished is None else np.column_stack([evaluate_polynomial(part, wished) for part in basis])
    found = fit_template(conditions, len(basis), budget, rows, wanted.squares)
    if found is None:
        return None
    total = where.constant(0)
    for part, coefficient in zip(basis, found, strict=True):
        total = total + part.times(coefficient)
    return total


def _state_conditions(
    where: ScaledSystem,
    basis: Sequence[Polynomial],
    starts: Sequence[Range],
    reached: Sequence[tuple[bool, bool]],
) -> list[TemplateCondition]:
    """All conditions but those about a step."""
    outside = [_positivity_condition(where, basis, extra) for extra in _enumerate_outside(where, reached)]
    return [_start_condition(where, basis, starts), *outside]


def _sign_symmetries(
    where: ScaledSystem,
    basis: Sequence[Polynomial],
    starts: Sequence[Range],
    reached: Sequence[tuple[bool, bool]],
) -> list[int]:
    """Variables, as bits, that may change their signs together in plant, rule and all conditions."""
    system, total = where.system, where.size + len(where.system.controls)
    names = where.names_with_controls()
    sums: set[int] = set()
    for i, (term, (centre, _)) in enumerate(zip(system.next, where.units, strict=False)):
        moved = polynomial_of(term, names, total, system.rounded) - polynomial_from_constant(centre, total)
        sums |= {monomial_parity(m) ^ (1 << i) for m in moved.terms}
    for j, then in enumerate(where.then):
        sums |= {monomial_parity(m) ^ (1 << (where.size + j)) for m in where.of(then).terms}
    candidates = {signs & ((1 << where.size) - 1) for signs in sign_symmetries(parity_basis(sums), total)} - {
        0
    }
    if not candidates:
        return []
    one = {0: where.constant(1)}
    steps = [TemplateCondition(where.constant(0), one, *about, where.everything)
             for _, about in _enumerate_control_modes(where, reached)]  # fmt: skip
    return condition_symmetries(
        sorted(candidates), basis, [*_state_conditions(where, basis, starts, reached), *steps]
    )


def _template_basis(where: ScaledSystem, shape: Template) -> list[Polynomial]:
    """In the units of the plane, where a monomial around another centre is a sum; the largest number is 1."""
    if isinstance(shape, int):
        return [Polynomial({m: Fraction(1)}) for m in enumerate_monomials(where.states, where.size, shape)]
    values = list(where.names().values())[: len(where.states)]
    parts = [Polynomial({m: Fraction(1)}).substitute_variables(values, where.size) for m in shape]
    return [part.times(1 / max(abs(c) for c in part.terms.values())) for part in parts]


def _sign_conditions(where: ScaledSystem, basis: Sequence[Polynomial]) -> list[TemplateCondition]:
    """In continuous time a coefficient is the difference of two that are not negative: so what the barrier
    changes between the predicted state and the real one, a sum of absolute values, is linear in them."""
    if max(_basis_drifts(where, basis)) < NOTHING:
        return []
    nothing, one = where.constant(0), where.constant(1)
    return [TemplateCondition(nothing, {k: one}, (), (), where.everything) for k in range(2 * len(basis))]


def _basis_drifts(where: ScaledSystem, basis: Sequence[Polynomial]) -> list[Fraction]:
    """How much each part changes between the predicted state and the real one; none in steps."""
    if where.own is None:
        return [Fraction(0)] * len(basis)
    return [where.change_bound(part, where.prediction_error(where.own)) for part in basis]


def _signed_basis(basis: Sequence[Polynomial], sign: int) -> dict[int, Polynomial]:
    return {k: part.times(Fraction(sign)) for k, part in enumerate(basis)}


def _start_condition(
    where: ScaledSystem, basis: Sequence[Polynomial], starts: Sequence[Range]
) -> TemplateCondition:
    inside = tuple(where.within(starts))
    fixed = where.constant(-ABOVE)
    return TemplateCondition(
        fixed, _signed_basis(basis, -1), inside, tuple(range_products(len(starts))), where.states
    )


def _positivity_condition(
    where: ScaledSystem, basis: Sequence[Polynomial], extra: list[Polynomial]
) -> TemplateCondition:
    """B is positive on the domain where these are not negative, for some disturbance."""
    count, disturbances = len(where.domain), len(where.system.disturbances)
    moved = any(e for p in extra for m in p.terms for e in m[count:])
    disturbed = where.disturbance_constraints() if moved else []
    inside = (*where.within(where.domain), *disturbed, *extra)
    products = [*range_products(count), *(range_products(disturbances, 2 * count) if moved else ())]
    products += [(2 * count + len(disturbed) + i,) for i in range(len(extra))]
    variables = where.everything if moved else where.states
    fixed = where.constant(-ABOVE)
    return TemplateCondition(fixed, _signed_basis(basis, 1), inside, tuple(products), variables)


def _enumerate_outside(
    where: ScaledSystem, reached: Sequence[tuple[bool, bool]]
) -> Iterator[list[Polynomial]]:
    """Where a step may leave the domain, unsafe states in it, and where a control must not be at an end."""
    steps = where.prediction_error(where.own) if where.own is not None else [Fraction(0)] * len(where.domain)
    for controls, constraints in where.modes(reached):
        for value, (low, high), step in zip(where.following(controls), where.domain, steps, strict=True):
            for gap in (
                value - where.constant(high - step),
                where.constant(low + step) - value,
            ):
                if _upper_bound(where, gap) >= 0:
                    yield [gap, *constraints]
    for case in relaxed_dnf(where.system.unsafe):
        gaps = [
            where.condition(right) - where.condition(left) + where.constant(more)
            for (left, right), more in zip(case, where.between(case), strict=True)
        ]
        if all(_upper_bound(where, gap) >= 0 for gap in gaps):
            yield gaps
    for (value, least, most), (at_low, at_high) in zip(where.ends(), reached, strict=True):
        if least is not None and not at_low:
            yield [where.constant(least) - value]
        if most is not None and not at_high:
            yield [value - where.constant(most)]


def _upper_bound(where: ScaledSystem, polynomial: Polynomial) -> Fraction:
    """An upper bound over the domain and all disturbances."""
    ranges = [*where.domain, *(r for _, r in where.system.disturbances)]
    box = [
        ((low - centre) / unit, (high - centre) / unit)
        for (low, high), (centre, unit) in zip(ranges, where.units, strict=True)
    ]
    return polynomial_box_range(polynomial, box)[1]


def _decrease_conditions(
    where: ScaledSystem,
    basis: Sequence[Polynomial],
    factor: Fraction,
    reached: Sequence[tuple[bool, bool]],
    budget: Budget,
) -> list[TemplateCondition]:
    """B(next) <= factor * B on the domain, for every disturbance and every case of the controls."""
    found = []
    drifts = _basis_drifts(where, basis)
    for controls, about in _enumerate_control_modes(where, reached):
        moved, linear = where.substitution(where.following(controls)), {}
        for k, part in enumerate(basis):
            if budget.is_spent():  # of a high degree each one takes long
                return []
            after = part.substitute_variables(moved, where.size) + where.constant(drifts[k])
            linear[k] = part.times(factor) - after
        found.append(TemplateCondition(where.constant(0), linear, *about, where.everything))
    return found


def _enumerate_control_modes(
    where: ScaledSystem, reached: Sequence[tuple[bool, bool]]
) -> Iterator[tuple[list[Polynomial], tuple[tuple[Polynomial, ...], tuple[tuple[int, ...], ...]]]]:
    """Values of the controls, and the constraints of a step with the products of them that are used."""
    count, disturbed = len(where.domain), where.disturbance_constraints()
    for controls, constraints in where.modes(reached):
        first = 2 * count + len(disturbed)
        products = (
            *range_products(count),
            *range_products(len(where.system.disturbances), 2 * count),
            *((first + i,) for i in range(len(constraints))),
        )
        yield controls, ((*where.within(where.domain), *disturbed, *constraints), products)
