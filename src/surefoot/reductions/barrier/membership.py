"""Conditions by which a program or a shield sees at run time that it is in a set, or will be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from surefoot.reductions.barrier.control_system import ControlSystem, Range
from surefoot.term.term import Const, Term, Var, conjunction_of, disjunction_of
from surefoot.term.traverse import substitute_names


def inside_set(system: ControlSystem, domain: Sequence[Range], barrier: Term, margin: Fraction) -> Term:
    """The state is in the domain, and the barrier there is computed to be at most minus the margin."""
    return _inside_condition([Var(name) for name in system.variables], domain, barrier, margin)


def next_state_inside(
    system: ControlSystem, barriers: Sequence[Term], permits: Sequence[tuple[Sequence[Range], Fraction]]
) -> Term:
    """The next state, predicted for the middle of every disturbance, is in one of these boxes and sets."""
    middle = {name: Const((low + high) / 2) for name, (low, high) in system.disturbances}
    following = [substitute_names(term, middle) for term in system.next]
    values = dict(zip(system.variables, following, strict=True))
    return disjunction_of(
        tuple(
            _inside_condition(following, box, substitute_names(barrier, values), margin)
            for barrier, (box, margin) in zip(barriers, permits, strict=True)
        )
    )


def _inside_condition(values: Sequence[Term], box: Sequence[Range], barrier: Term, margin: Fraction) -> Term:
    sides = [
        side
        for value, (low, high) in zip(values, box, strict=True)
        for side in (Const(low) <= value, value <= Const(high))
    ]
    return conjunction_of((*sides, barrier <= Const(-margin)))
