"""Whole numbers by branch and bound over a solver that knows none (Vinzent and Hoffmann 2021, Algorithm 1).

The relaxed solver is asked with whole variables as real ones. If nothing satisfies that, nothing does. If the
point has whole values where they are wanted, it is the answer. Otherwise a variable whose value lies between
two whole numbers is bounded from below by the upper one, then from above by the lower one, and each is asked
again. Beyond the paper: the point with its values rounded is tried before branching, and one that is whole
but fails the exact check (tolerances) is set apart by a third branch that fixes one of its variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from time import monotonic
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.problem.environment import Bool, Int, Real
from surefoot.problem.term import Term, Var, equal
from surefoot.query.formula import Atom, atoms, normal
from surefoot.query.lower import lower
from surefoot.query.query import Answer, Assignment, Quantity, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.many import Local
from surefoot.solve.nearby import settled
from surefoot.solve.protocol import Ask, Solver
from surefoot.solve.remote import Question

WHOLE = Fraction(1, 10**5)  # a value this close to a whole number counts as one, until it is checked exactly
Bounds: TypeAlias = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Branch:
    """Algorithm 1 over `relaxed`. Its Unsat rests on those of the relaxed solver."""

    relaxed: Solver

    @property
    def name(self) -> str:
        return f"branch({self.relaxed.name})"

    def objection(self, query: Query) -> str | None:
        for quantity in query.quantities:
            match quantity.kind:
                case Bool():
                    return f"`{self.name}` takes numbers; `{quantity.name}` is a truth value"
                case Int(low, high) if low is None or high is None:
                    return f"`{self.name}` needs bounds of whole numbers; `{quantity.name}` has none"
        return self.relaxed.objection(relaxation(query))

    @contextmanager
    def session(self, base: Query, *, seconds: float) -> Iterator[Ask]:
        with self.relaxed.session(relaxation(base), seconds=seconds) as ask_relaxed:
            yield lambda *more: _branched(base, more, ask_relaxed)

    def question(self, base: Query) -> Question:
        if not isinstance(self.relaxed, Local):
            raise Unsupported(f"`{self.relaxed.name}` answers in sessions only")
        relaxed = self.relaxed.question(relaxation(base))

        def question(more: tuple[Term, ...], seconds: float) -> Answer:
            deadline = monotonic() + seconds
            return _branched(base, more, lambda *all: relaxed(all, max(0.0, deadline - monotonic())))

        return question


def _ends(kind: Int) -> tuple[int, int]:
    assert kind.low is not None
    assert kind.high is not None
    return kind.low, kind.high


def relaxation(query: Query) -> Query:
    """The same question with whole variables as real ones."""
    return replace(query, quantities=tuple(map(_relaxed, query.quantities)))


def _relaxed(quantity: Quantity) -> Quantity:
    if not isinstance(quantity.kind, Int):
        return quantity
    low, high = _ends(quantity.kind)
    return Quantity(quantity.name, Real(Fraction(low), Fraction(high)))


def _branched(base: Query, more: tuple[Term, ...], ask_relaxed: Ask) -> Answer:
    whole = {q.name: _ends(q.kind) for q in base.quantities if isinstance(q.kind, Int)}
    if any(low > high for low, high in whole.values()):
        return Unsat()
    query = Query(base.quantities, base.constraints + more, base.calls)
    wanted = _comparisons(query)
    waiting: list[Bounds] = [whole]
    doubt: Undecided | None = None
    while waiting:
        bounds = waiting.pop()
        answer = ask_relaxed(*more, *_as_terms(bounds, whole))
        match answer:
            case Unsat():
                continue
            case Undecided(why) if why in (Why.TIMEOUT, Why.MEMORY) or answer.near is None:
                doubt = answer
                if why in (Why.TIMEOUT, Why.MEMORY):
                    break
                continue
            case Undecided():
                assert answer.near is not None
                point = answer.near
            case Sat():
                point = answer.assignment
        found = settled(query, {n: Fraction(v) for n, v in point.items()}, wanted)
        if found.exact:
            return Sat(found.assignment)
        parts = _divided(bounds, point)
        if not parts:
            doubt = Undecided(Why.NUMERICS, "a point is within tolerances of a solution, but is none")
        waiting += reversed(parts)
    return doubt or Unsat()


def _comparisons(query: Query) -> tuple[Atom, ...]:
    try:
        return tuple(a for c in lower(query).query.constraints for a in atoms(normal(c)))
    except Unsupported:
        return ()


def _as_terms(bounds: Bounds, whole: Bounds) -> Iterator[Term]:
    for name, (low, high) in bounds.items():
        least, most = whole[name]
        if low == high and least < most:
            yield equal(Var(name), low)
            continue
        if low > least:
            yield Var(name) >= low
        if high < most:
            yield Var(name) <= high


def _divided(bounds: Bounds, point: Assignment) -> list[Bounds]:
    """Lines 6 to 11: both sides of a value between whole numbers; none if every variable is fixed."""
    for name, (low, high) in bounds.items():
        value = min(max(Fraction(point[name]), Fraction(low)), Fraction(high))  # bounds have a tolerance too
        if abs(value - round(value)) > WHOLE:
            return _kept(bounds, name, ((ceil(value), high), (low, floor(value))))
    for name, (low, high) in bounds.items():
        if low < high:
            here = min(max(round(Fraction(point[name])), low), high)
            return _kept(bounds, name, ((here, here), (here + 1, high), (low, here - 1)))
    return []


def _kept(bounds: Bounds, name: str, parts: tuple[tuple[int, int], ...]) -> list[Bounds]:
    return [{**bounds, name: part} for part in parts if part[0] <= part[1]]
