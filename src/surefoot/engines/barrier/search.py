"""A closed set for one rule: degrees, boxes, ends of the controls and factors, one after the other."""

from __future__ import annotations

from fractions import Fraction

from surefoot.encode.barrier import System
from surefoot.engines.barrier.closed import ClosedSet, Unproved, closed_set
from surefoot.engines.barrier.domain import domains
from surefoot.engines.barrier.find import find
from surefoot.engines.barrier.plane import plane
from surefoot.problem.term import Term
from surefoot.work.budget import Budget

FACTORS = (Fraction(99, 100), Fraction(95, 100), Fraction(999, 1000))


def search(
    system: System, then: tuple[Term, ...], degrees: tuple[int, ...], budget: Budget
) -> ClosedSet | str:
    """A closed set that contains all starts; or what was in the way, as far as one can say."""
    trouble = "nothing was tried"
    for degree in degrees:
        for domain in domains(system, then):
            where = plane(system, then, domain)
            for reached in _ends(system):
                for factor in FACTORS:
                    budget.progress(f"barrier: degree {degree}, B(next) <= {float(factor)} B")
                    barrier = find(where, system.initial, degree, factor, reached, budget)
                    if barrier is None:
                        trouble = f"none is found at degree {degree}"
                        continue
                    try:
                        return closed_set(where, barrier, system.initial, reached, False, budget)
                    except Unproved as why:
                        trouble = f"one of degree {degree} was found in floats, but not proved: {why}"
                    if budget.spent():
                        return trouble
    return trouble


def _ends(system: System) -> list[list[tuple[bool, bool]]]:
    """Which ends of the controls the set may reach: none of them, or any."""
    none = [(False, False)] * len(system.controls)
    some = [(low is not None, high is not None) for _, low, high in system.controls]
    return [none, some] if some != none and len(system.controls) <= 2 else [none]
