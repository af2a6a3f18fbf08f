"""Tests answered by solvers other than the native one, a question at a time.

A point counts only if it satisfies the question exactly. "Impossible" is the solver's word: the result names
every solver that was asked, and what rests on one is not certified. A question that a solver leaves open, or
at which it fails, counts as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite

import numpy as np

from surefoot.engines.predicates.symbolic.cubes import (
    Cube,
    Point,
    finite_bounds,
    fraction_bounds,
    integer_names,
)
from surefoot.errors import Unsupported
from surefoot.network.float32_error import error_bounds
from surefoot.query.bounds import linear_range
from surefoot.query.formula import LinearAtom, Relation
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Unsat
from surefoot.reductions.network_call import EncodedCall
from surefoot.solvers.remote import LocalSolver, answer_many
from surefoot.term.interval import Kinds
from surefoot.term.linear import linearise_term, term_from_linear
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Int, Real
from surefoot.work.budget import Budget

RELATIONS = {Relation.LE: Op.LE, Relation.LT: Op.LT, Relation.EQ: Op.EQ}


@dataclass(frozen=True, slots=True)
class SolversByTest:
    """Who answers: tests without the network, relaxed ones and exact ones; None: the native solver."""

    plain: LocalSolver | None = None
    relaxed: LocalSolver | None = None
    exact: LocalSolver | None = None

    def names(self) -> list[str]:
        several = (self.plain, self.relaxed, self.exact)
        return list(dict.fromkeys(s.name for s in several if s is not None))


@dataclass(frozen=True, slots=True)
class StepSignature:
    """What questions are about: inputs of the step, outputs of the network, and the network itself."""

    names: tuple[str, ...]
    kinds: Kinds
    outputs: tuple[str, ...]
    call: EncodedCall | None


def ask_external_solver(
    solver: LocalSolver, about: StepSignature, cubes: Sequence[Cube], relaxed: bool, budget: Budget
) -> tuple[list[tuple[bool, Point | None]], float]:
    """For each cube whether a point of it is possible, and one if it was found; and the solver's seconds."""
    queries = [_cube_to_query(about, c, relaxed) for c in cubes if c.rows]
    told, seconds = answer_many(solver, queries, seconds=budget.remaining())
    following = iter(told)
    found: list[tuple[bool, Point | None]] = []
    for cube in cubes:
        if not cube.rows:  # a box, which is all that there is to know
            point = _lowest_corner(about, cube)
            found.append((point is not None, point))
            continue
        match next(following):
            case Unsat():
                found.append((False, None))
            case Sat(assignment):
                found.append((True, {n: Fraction(assignment[n]) for n in about.names}))
            case _:
                found.append((True, None))
    return found, seconds


def _lowest_corner(about: StepSignature, cube: Cube) -> Point | None:
    """The lowest point of a box; None if it is empty."""
    whole = integer_names(about.kinds)
    found: dict[str, Fraction] = {}
    for name in about.names:
        low, high = finite_bounds(name, cube, about.kinds)
        found[name] = Fraction(ceil(low)) if name in whole else low
        if found[name] > high:
            return None
    return found


def _cube_to_query(about: StepSignature, cube: Cube, relaxed: bool) -> Query:
    """The cube as a query; relaxed: whole variables are real ones."""
    whole = frozenset[str]() if relaxed else integer_names(about.kinds)
    quantities = []
    for name in about.names:
        low, high = finite_bounds(name, cube, about.kinds)
        kind = Int(ceil(low), floor(high)) if name in whole else Real(low, high)
        quantities.append(QueryVariable(name, kind))
    used = {n for row in cube.rows for n, _ in row.linear.coefficients}
    calls: tuple[NetworkCall, ...] = ()
    if about.call is not None and used & set(about.outputs):
        slack = _rounding_slack(about, cube, about.call)
        calls = (NetworkCall(about.call.network, _network_inputs(about.call), about.outputs, slack),)
        for name in about.outputs:
            quantities.append(QueryVariable(name, Real(*fraction_bounds(name, cube, about.kinds))))
    return Query(tuple(quantities), tuple(map(_row_to_term, cube.rows)), calls)


def _row_to_term(row: LinearAtom) -> Term:
    return Apply(RELATIONS[row.relation], (term_from_linear(row.linear), Const(0)))


def _network_inputs(call: EncodedCall) -> tuple[Term, ...]:
    """What the network reads; a truth value is the number 0 or 1 here."""

    def number(term: Term) -> Term:
        match term:
            case Apply(Op.ITE, (Var() as value, Const(1), Const(0))):
                return value
            case _:
                return term

    return tuple(map(number, call.inputs))


def _rounding_slack(about: StepSignature, cube: Cube, call: EncodedCall) -> tuple[Fraction, ...]:
    """How far float32 inference may be from the exact outputs on the box of this cube."""
    box = {name: fraction_bounds(name, cube, about.kinds) for name in about.names}
    spans = [linear_range(linearise_term(t), box) for t in _network_inputs(call)]
    known = [(float(a), float(b)) for a, b in spans if a is not None and b is not None]
    if len(known) < len(spans):
        return call.slack
    whole = integer_names(about.kinds)
    read_exactly = all(isinstance(t, Var) and t.name in whole for t in _network_inputs(call))
    read_exactly &= all(a >= -(2**24) and b <= 2**24 for a, b in known)
    low = np.nextafter([a for a, _ in known], -np.inf)
    high = np.nextafter([b for _, b in known], np.inf)
    errors = error_bounds(call.network, low, high, input_rounding=not read_exactly)
    if not all(isfinite(e) for e in errors):
        return call.slack
    return tuple(min(Fraction(float(e)), s) for e, s in zip(errors, call.slack, strict=True))


def require_solver_support(about: StepSignature, answerers: SolversByTest, sample: Sequence[Cube]) -> None:
    """`Unsupported` with the sentence of a solver that cannot take such questions."""
    everything = Cube({}, tuple(row for cube in sample for row in cube.rows))
    for solver, relaxed in ((answerers.plain, False), (answerers.relaxed, True), (answerers.exact, False)):
        if (
            solver is not None
            and (why := solver.objection(_cube_to_query(about, everything, relaxed))) is not None
        ):
            raise Unsupported(why)
