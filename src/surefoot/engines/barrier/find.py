"""A barrier for one rule, in floats (section 4.2 of Zhu et al., PLDI 2019, with two changes).

B <= 0 at the starts, B > 0 at unsafe states and at the rim of the domain, and B(next) <= factor * B on the
domain. The factor below 1 leaves room for rounding at an equilibrium, where the paper's B(next) <= B is an
equality; and the condition is asked on the domain only, since for most polynomial maps no barrier satisfies
it everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from surefoot.encode.barrier import conjunctions
from surefoot.engines.barrier.plane import Plane, Range
from surefoot.engines.barrier.sampled import sampled
from surefoot.problem.term import Const, Term, Var
from surefoot.query.polynomial import Polynomial, constant, monomials
from surefoot.solve.sos import Condition, fit
from surefoot.work.budget import Budget

ABOVE = Fraction(1, 1000)  # what B is at least where it has to be positive
SAMPLES = 2000


def pairs(count: int, first: int = 0) -> list[tuple[int, int]]:
    """The products of the two constraints of each range."""
    return [(first + 2 * i, first + 2 * i + 1) for i in range(count)]


def find(
    where: Plane,
    starts: Sequence[Range],
    degree: int,
    factor: Fraction,
    reached: Sequence[tuple[bool, bool]],
    budget: Budget,
) -> Polynomial | None:
    """A polynomial in the units of the plane; `reached`: ends of controls that the set may reach."""
    basis = list(monomials(where.states, where.size, degree))
    conditions = [_start(where, basis, starts)]
    conditions += [_positive(where, basis, extra) for extra in _outside(where, reached)]
    conditions += _steps(where, basis, factor, reached)
    found = fit(conditions, len(basis), budget)
    if found is None:
        return None
    return Polynomial({m: c for m, c in zip(basis, found, strict=True) if c})


def _monomials(basis: Sequence[tuple[int, ...]], sign: int) -> dict[int, Polynomial]:
    return {k: Polynomial({m: Fraction(sign)}) for k, m in enumerate(basis)}


def _start(where: Plane, basis: Sequence[tuple[int, ...]], starts: Sequence[Range]) -> Condition:
    inside = tuple(where.within(starts))
    fixed = constant(-ABOVE, where.size)
    return Condition(fixed, _monomials(basis, -1), inside, tuple(pairs(len(starts))), where.states)


def _positive(where: Plane, basis: Sequence[tuple[int, ...]], extra: list[Polynomial]) -> Condition:
    """B is positive on the domain where these are not negative."""
    inside = (*where.within(where.domain), *extra)
    count = len(where.domain)
    products = (*pairs(count), *((2 * count + i,) for i in range(len(extra))))
    return Condition(constant(-ABOVE, where.size), _monomials(basis, 1), inside, products, where.states)


def _outside(where: Plane, reached: Sequence[tuple[bool, bool]]) -> Iterator[list[Polynomial]]:
    """The rim of the domain, unsafe states that are not there, and where a control must not be at an end."""
    rims = list(_rims(where))
    names = where.names()
    for name, (low, high), rim in zip(where.system.variables, where.domain, rims, strict=True):
        yield [names[name] - constant(high - rim, where.size)]
        yield [constant(low + rim, where.size) - names[name]]
    for case in conjunctions(where.system.unsafe):
        if not any(_beyond(where, rims, left, right) for left, right in case):
            yield [where.of(right) - where.of(left) for left, right in case]
    for (value, least, most), (at_low, at_high) in zip(where.ends(), reached, strict=True):
        if least is not None and not at_low:
            yield [constant(least, where.size) - value]
        if most is not None and not at_high:
            yield [value - constant(most, where.size)]


def _beyond(where: Plane, rims: Sequence[Fraction], left: Term, right: Term) -> bool:
    """Is what satisfies left <= right in the rim of the domain or outside of it?"""
    variables = where.system.variables
    match left, right:
        case Const(value), Var(name) if name in variables:
            index = variables.index(name)
            return value >= where.domain[index][1] - rims[index]
        case Var(name), Const(value) if name in variables:
            index = variables.index(name)
            return value <= where.domain[index][0] + rims[index]
        case _:
            return False


def _rims(where: Plane) -> Iterator[Fraction]:
    """How far a step can go, of each variable, as far as samples tell."""
    generator = np.random.default_rng(0)
    ends = np.array([[float(a), float(b)] for a, b in where.domain])
    points = generator.uniform(ends[:, 0], ends[:, 1], (SAMPLES, len(ends)))
    moving = sampled(where.system, where.then)
    moved = np.abs(moving.step(points, moving.drawn(SAMPLES, generator)) - points).max(axis=0)
    for far, (low, high) in zip(moved, where.domain, strict=True):
        yield min(max(Fraction(float(far) * 1.05), (high - low) / 1000), (high - low) * Fraction(3, 10))


def _steps(
    where: Plane, basis: Sequence[tuple[int, ...]], factor: Fraction, reached: Sequence[tuple[bool, bool]]
) -> list[Condition]:
    """B(next) <= factor * B on the domain, for every disturbance and every case of the controls."""
    found = []
    count, disturbed = len(where.domain), where.disturbed()
    for controls, constraints in where.modes(reached):
        following = [
            (value - constant(centre, where.size)).times(1 / unit)
            for value, (centre, unit) in zip(where.following(controls), where.units, strict=False)
        ]
        rest = [constant(0, where.size)] * len(where.system.disturbances)
        linear = {
            k: Polynomial({m: factor})
            - Polynomial({m: Fraction(1)}).replaced([*following, *rest], where.size)
            for k, m in enumerate(basis)
        }
        inside = (*where.within(where.domain), *disturbed, *constraints)
        first = 2 * count + len(disturbed)
        products = (
            *pairs(count),
            *pairs(len(where.system.disturbances), 2 * count),
            *((first + i,) for i in range(len(constraints))),
        )
        found.append(Condition(constant(0, where.size), linear, inside, products, where.everything))
    return found
