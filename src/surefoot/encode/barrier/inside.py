"""Conditions by which a program or a shield sees at run time that it is in a set, or will be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from surefoot.encode.barrier.system import Range, System
from surefoot.problem.term import Const, Term, Var, conjunction, disjunction, substitute


def inside_set(system: System, domain: Sequence[Range], barrier: Term, margin: Fraction) -> Term:
    """The state is in the domain, and the barrier there is computed to be at most minus the margin."""
    return _inside([Var(name) for name in system.variables], domain, barrier, margin)


def permitted(
    system: System, barriers: Sequence[Term], permits: Sequence[tuple[Sequence[Range], Fraction]]
) -> Term:
    """The next state, predicted for the middle of every disturbance, is in one of these boxes and sets."""
    middle = {name: Const((low + high) / 2) for name, (low, high) in system.disturbances}
    following = [substitute(term, middle) for term in system.next]
    values = dict(zip(system.variables, following, strict=True))
    return disjunction(
        tuple(
            _inside(following, box, substitute(barrier, values), margin)
            for barrier, (box, margin) in zip(barriers, permits, strict=True)
        )
    )


def _inside(values: Sequence[Term], box: Sequence[Range], barrier: Term, margin: Fraction) -> Term:
    sides = [
        side
        for value, (low, high) in zip(values, box, strict=True)
        for side in (Const(low) <= value, value <= Const(high))
    ]
    return conjunction((*sides, barrier <= Const(-margin)))
