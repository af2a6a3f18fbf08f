"""Barriers that are the largest of several polynomials: a polyhedron is where no row is above 0."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.term.term import Apply, Op, Term


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
