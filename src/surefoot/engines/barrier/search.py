"""A closed set for one rule: degrees, boxes, ends of the controls and factors, one after the other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from surefoot.engines.barrier.domain import enumerate_domains, limits_of
from surefoot.engines.barrier.float_system import float_system, is_linear
from surefoot.engines.barrier.invariant_set import InvariantSet, prove_invariant_set
from surefoot.engines.barrier.polyhedron.search import search_polyhedron
from surefoot.engines.barrier.scaled_system import ScaledSystem, Unproved, scale_system
from surefoot.engines.barrier.sos_candidate import (
    Polyhedron,
    Shape,
    fit_barrier,
    sos_template,
    template_objection,
)
from surefoot.reductions.barrier import ControlSystem
from surefoot.term.term import Term
from surefoot.verdict.verdict import Reason, Refused
from surefoot.work.budget import Budget

ROOM = Fraction(11, 10)  # times what a state may be nearer to a limit than where it is seen
NO_POLYHEDRON = "polyhedra are for steps of linear systems"
DEFECTIVE, SLOW = 1e8, (Fraction(999, 1000), Fraction(995, 1000))
FACTORS = (Fraction(99, 100), Fraction(95, 100), Fraction(999, 1000))  # where nothing better is known


def search_invariant_set(
    system: ControlSystem,
    then: tuple[Term, ...],
    shapes: tuple[Shape, ...],
    budget: Budget,
    *,
    tested: bool = False,
) -> InvariantSet | Refused:
    """A closed set that contains all starts; or what was in the way, as far as one can say."""
    trouble = "nothing was tried"
    linear, known = is_linear(system), tuple[Fraction, ...]()
    for shape in shapes:
        if budget.is_spent():
            return Refused(Reason.TIMEOUT, trouble)
        if isinstance(shape, Polyhedron):
            found = search_polyhedron(system, then, shape.rows, budget, tested=tested) if linear else None
            if isinstance(found, InvariantSet):
                return found
            trouble = found.detail if found else (NO_POLYHEDRON if len(shapes) == 1 else trouble)
            continue
        known = known or contraction_factors(system, then, budget)
        wanted = sos_template(shape)
        given = isinstance(wanted.template, tuple)
        kind = "with the given monomials" if given else f"of degree {wanted.template}"
        if (refused := template_objection(len(system.variables), shape)) is not None:
            trouble = refused
            continue
        for domain in enumerate_domains(system, then, budget):
            try:
                where = shrink_domain(scale_system(system, then, domain, tested=tested), tested=tested)
            except Unproved as why:
                trouble = str(why)
                continue
            for reached in saturation_cases(system):
                for factor in known:
                    budget.progress(f"barrier: {kind}, B(next) <= {float(factor)} B")
                    barrier = fit_barrier(where, system.initial, wanted, factor, reached, budget)
                    if barrier is None:
                        trouble = f"none is found {kind}"
                        continue
                    try:
                        return prove_invariant_set(
                            where, [barrier], system.initial, reached, tested, budget, wanted.squares
                        )
                    except Unproved as why:
                        trouble = f"one {kind} was found in floats, but not proved: {why}"
                    if budget.is_spent():
                        return Refused(Reason.TIMEOUT, trouble)
    return Refused(Reason.INCOMPLETE, trouble)


def shrink_domain(where: ScaledSystem, *, tested: bool) -> ScaledSystem:
    """In continuous time, a smaller domain: between two times at which it is seen a state is in no limit."""
    known = [b for b in (where.own, where.proposed) if b is not None]
    if not known:
        return where
    domain = []
    for i, (name, (low, high)) in enumerate(zip(where.system.variables, where.domain, strict=True)):
        room = max(b.chord[i] for b in known) * ROOM
        least, most = limits_of(where.system, name)
        low = low if least is None else max(low, Fraction(float(least + room)))
        high = high if most is None else min(high, Fraction(float(most - room)))
        if low >= high:
            raise Unproved("between two times at which it is seen a state may come to a limit")
        domain.append((low, high))
    return scale_system(where.system, where.then, domain, tested=tested)


def contraction_factors(
    system: ControlSystem, then: tuple[Term, ...], budget: Budget
) -> tuple[Fraction, ...]:
    """Between how fast runs come closer to where they stay (squared, as barriers grow) and 1."""
    moving = float_system(system, then)
    none = np.array([[float(a + b) / 2 for _, (a, b) in system.disturbances]])
    state = np.array([[float(a + b) / 2 for a, b in system.initial]])
    for _ in range(2000):
        if budget.is_spent():
            return FACTORS
        state = moving.step(state, none)
    if not np.all(np.isfinite(state)):
        return FACTORS
    width = np.array([float(b - a) for a, b in system.initial])
    offsets = np.diag(np.where(width > 0, width, 1.0) * 1e-4)
    ahead, behind = (moving.step(state + s * offsets, np.repeat(none, len(offsets), axis=0)) for s in (1, -1))
    slopes = (ahead - behind).T / (2 * np.diag(offsets))
    if not np.all(np.isfinite(slopes)):
        return FACTORS
    values, vectors = np.linalg.eig(slopes)
    speed = float(np.abs(values).max()) ** 2
    if speed >= 1:
        return FACTORS
    found = tuple(Fraction(1 - (1 - speed) * share).limit_denominator(10**6) for share in (0.5, 0.1, 0.9))
    # Nearly the same direction twice: distances grow for long before they shrink.
    late = speed > 0.5 and np.linalg.cond(vectors) > DEFECTIVE
    return (*SLOW, *found) if late else found


def saturation_cases(system: ControlSystem) -> list[list[tuple[bool, bool]]]:
    """Which ends of the controls the set may reach: none of them, or any."""
    none = [(False, False)] * len(system.controls)
    some = [(low is not None, high is not None) for _, low, high in system.controls]
    return [none, some] if some != none and len(system.controls) <= 2 else [none]
