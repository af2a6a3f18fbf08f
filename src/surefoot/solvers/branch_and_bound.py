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
from surefoot.query.formula import LinearAtom, formula_atoms, negation_normal_form
from surefoot.query.lower import lower_query
from surefoot.query.query import (
    Answer,
    Assignment,
    Query,
    QueryVariable,
    Sat,
    Undecided,
    UndecidedReason,
    Unsat,
)
from surefoot.solvers.protocol import Ask, Solver
from surefoot.solvers.remote import LocalSolver, Question
from surefoot.solvers.witness_rounding import round_to_witness
from surefoot.term.term import Term, Var, equal
from surefoot.term.value_types import Bool, Int, Real

INTEGER_TOLERANCE = Fraction(
    1, 10**5
)  # a value this close to a whole number counts as one, until it is checked exactly
IntegerBounds: TypeAlias = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class BranchAndBound:
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
        return self.relaxed.objection(_relax_integers(query))

    @contextmanager
    def session(self, base: Query, *, seconds: float, workers: int = 1) -> Iterator[Ask]:
        with self.relaxed.session(_relax_integers(base), seconds=seconds, workers=workers) as ask_relaxed:
            yield lambda *more: _branch_and_bound(base, more, ask_relaxed)

    def question(self, base: Query) -> Question:
        if not isinstance(self.relaxed, LocalSolver):
            raise Unsupported(f"`{self.relaxed.name}` answers in sessions only")
        relaxed = self.relaxed.question(_relax_integers(base))

        def question(more: tuple[Term, ...], seconds: float) -> Answer:
            deadline = monotonic() + seconds
            return _branch_and_bound(base, more, lambda *all: relaxed(all, max(0.0, deadline - monotonic())))

        return question


def _integer_bounds(kind: Int) -> tuple[int, int]:
    assert kind.low is not None
    assert kind.high is not None
    return kind.low, kind.high


def _relax_integers(query: Query) -> Query:
    """The same question with whole variables as real ones."""
    return replace(query, quantities=tuple(map(_relax_quantity, query.quantities)))


def _relax_quantity(quantity: QueryVariable) -> QueryVariable:
    if not isinstance(quantity.kind, Int):
        return quantity
    low, high = _integer_bounds(quantity.kind)
    return QueryVariable(quantity.name, Real(Fraction(low), Fraction(high)))


def _branch_and_bound(base: Query, more: tuple[Term, ...], ask_relaxed: Ask) -> Answer:
    whole = {q.name: _integer_bounds(q.kind) for q in base.quantities if isinstance(q.kind, Int)}
    if any(low > high for low, high in whole.values()):
        return Unsat()
    query = Query(base.quantities, base.constraints + more, base.calls)
    wanted = _comparison_atoms(query)
    waiting: list[IntegerBounds] = [whole]
    doubt: Undecided | None = None
    while waiting:
        bounds = waiting.pop()
        answer = ask_relaxed(*more, *_bounds_to_terms(bounds, whole))
        match answer:
            case Unsat():
                continue
            case Undecided(why) if (
                why in (UndecidedReason.TIMEOUT, UndecidedReason.MEMORY) or answer.near is None
            ):
                doubt = answer
                if why in (UndecidedReason.TIMEOUT, UndecidedReason.MEMORY):
                    break
                continue
            case Undecided():
                assert answer.near is not None
                point = answer.near
            case Sat():
                point = answer.assignment
        found = round_to_witness(query, {n: Fraction(v) for n, v in point.items()}, wanted)
        if found.exact:
            return Sat(found.assignment)
        parts = _split_bounds(bounds, point)
        if not parts:
            doubt = Undecided(
                UndecidedReason.NUMERICS, "a point is within tolerances of a solution, but is none"
            )
        waiting += reversed(parts)
    return doubt or Unsat()


def _comparison_atoms(query: Query) -> tuple[LinearAtom, ...]:
    try:
        return tuple(
            a for c in lower_query(query).query.constraints for a in formula_atoms(negation_normal_form(c))
        )
    except Unsupported:
        return ()


def _bounds_to_terms(bounds: IntegerBounds, whole: IntegerBounds) -> Iterator[Term]:
    for name, (low, high) in bounds.items():
        least, most = whole[name]
        if low == high and least < most:
            yield equal(Var(name), low)
            continue
        if low > least:
            yield Var(name) >= low
        if high < most:
            yield Var(name) <= high


def _split_bounds(bounds: IntegerBounds, point: Assignment) -> list[IntegerBounds]:
    """Lines 6 to 11: both sides of a value between whole numbers; none if every variable is fixed."""
    for name, (low, high) in bounds.items():
        value = min(max(Fraction(point[name]), Fraction(low)), Fraction(high))  # bounds have a tolerance too
        if abs(value - round(value)) > INTEGER_TOLERANCE:
            return _nonempty_parts(bounds, name, ((ceil(value), high), (low, floor(value))))
    for name, (low, high) in bounds.items():
        if low < high:
            here = min(max(round(Fraction(point[name])), low), high)
            return _nonempty_parts(bounds, name, ((here, here), (here + 1, high), (low, here - 1)))
    return []


def _nonempty_parts(
    bounds: IntegerBounds, name: str, parts: tuple[tuple[int, int], ...]
) -> list[IntegerBounds]:
    return [{**bounds, name: part} for part in parts if part[0] <= part[1]]
