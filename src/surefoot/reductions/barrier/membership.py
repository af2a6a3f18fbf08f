"""Conditions by which a program or a shield sees at run time that it is in a set, or will be.

Barriers that are the largest of several polynomials: a polyhedron is where no row is above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from surefoot.reductions.barrier.control_system import ControlSystem, Range
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, disjunction_of
from surefoot.term.traverse import substitute_names


def barrier_rows(barrier: Term) -> tuple[Term, ...]:
    """The polynomials whose largest value the barrier is; most barriers are one."""
    match barrier:
        case Apply(Op.MAX, parts):
            return parts
        case _:
            return (barrier,)


def largest_of_rows(rows: Sequence[Term]) -> Term:
    """The barrier with these rows."""
    return Apply(Op.MAX, tuple(rows)) if len(rows) > 1 else rows[0]


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
