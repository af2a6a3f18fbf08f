"""What has to be proved of a sliding set: a closed loop in its own coordinates, which never leaves a box.

With y = T (x - centre) the set is the box |y_i| <= r_i. In the problem that is made here the state is y, the
first action may act where y_0 >= -band and the second where y_0 <= band (so that the rounding of y_0 does not
matter), and a run becomes bad where the system does. For a system that is executed in float64 every new
value of x is off by a free error that bounds the rounding of its term over the set, and bad is what may be
computed to be. Where all runs from
the whole box are shown to come back to it, it is an invariant set of the program, and whoever acts may do
what leads into the box. T has an exact inverse; what is substituted is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.shields.switched.rounded_condition import loosen_condition
from surefoot.shields.switched.sliding_set import SlidingSet
from surefoot.shields.switched.switched_system import SwitchedSystem, round_constants
from surefoot.term.float64_error import float64_error
from surefoot.term.term import Const, Term, Var, conjunction_of
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Real

BAND = Fraction(1, 1_000_000)  # of the first radius, on both sides of the plane
Row: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class SetObligation:
    """`problem`: to be proved for ever. `hull`: a box around the set; `errors`: of the new values there."""

    problem: Problem
    hull: tuple[tuple[Fraction, Fraction], ...]
    errors: tuple[Fraction, ...]


def state_obligation(system: SwitchedSystem, found: SlidingSet) -> SetObligation:
    """The problem in coordinates of the set; `Unsupported` where rounding has no bound."""
    inverse = invert_rows(found.rows)
    hull = hull_of_set(found, inverse)
    kinds = {n: Real(low, high) for n, (low, high) in zip(system.variables, hull, strict=True)}
    names = [f"y_{i}" for i in range(len(found.rows))]
    states = {name: _affine(inverse[j], names, found.centre[j]) for j, name in enumerate(system.variables)}
    errors = [Fraction(0)] * len(system.variables)
    edges = []
    band = BAND * found.radii[0]
    sides = {found.down: Const(-band) <= Var(names[0]), found.up: Var(names[0]) <= Const(band)}
    for action in sides:
        values = [system.maps[action][name] for name in system.variables]
        if system.rounded:
            errors = [max(e, float64_error(v, kinds)) for e, v in zip(errors, values, strict=True)]
    errors = [_round_up(error) for error in errors]
    used = [j for j, error in enumerate(errors) if error]
    noise = {j: f"rounding_{system.variables[j]}" for j in used}
    choices = tuple(Choice(noise[j], Real(-errors[j], errors[j])) for j in used)
    for action, guard in sides.items():
        after = []
        for j, name in enumerate(system.variables):
            new = substitute_names(_meaning(system, system.maps[action][name]), states)
            after.append(new + Var(noise[j]) if j in noise else new)
        updates = tuple(
            Update(Var(names[i]), _sum_of(row, after, -_dot(row, found.centre)))
            for i, row in enumerate(found.rows)
        )
        edges.append(Edge(guard=guard, chosen=choices, outcomes=(Outcome(updates=updates),)))
    box = [(Const(-r) <= Var(n), Var(n) <= Const(r)) for n, r in zip(names, found.radii, strict=True)]
    environment = Environment(
        f"{system.name}: sliding set",
        tuple(Variable(n, Real()) for n in names),
        conjunction_of(tuple(part for pair in box for part in pair)),
        (Component("main", tuple(edges)),),
    )
    bad = _meaning(system, system.bad)
    bad = substitute_names(loosen_condition(bad, kinds) if system.rounded else bad, states)
    return SetObligation(Problem(environment.name, environment, None, Never(bad)), hull, tuple(errors))


def _round_up(value: Fraction) -> Fraction:
    """A short number that is not less: certificates hold numbers of so many digits."""
    return Fraction(-(-value * 2**80).__floor__(), 2**80) if value else value


def _meaning(system: SwitchedSystem, term: Term) -> Term:
    return round_constants(term) if system.rounded else term


def invert_rows(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The exact inverse of a matrix."""
    n = len(rows)
    table = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(rows)]
    for i in range(n):
        best = max(range(i, n), key=lambda k: abs(table[k][i]))
        if not table[best][i]:
            raise Unsupported("the coordinates of the set depend on each other")
        table[i], table[best] = table[best], table[i]
        table[i] = [v / table[i][i] for v in table[i]]
        for k in range(n):
            if k != i and table[k][i]:
                table[k] = [v - table[k][i] * w for v, w in zip(table[k], table[i], strict=True)]
    return tuple(tuple(row[n:]) for row in table)


def hull_of_set(found: SlidingSet, inverse: tuple[Row, ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The smallest box around it."""
    reach = [sum((abs(v) * r for v, r in zip(row, found.radii, strict=True)), Fraction(0)) for row in inverse]
    return tuple((c - w, c + w) for c, w in zip(found.centre, reach, strict=True))


def _dot(left: Row, right: Row) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _affine(weights: Row, names: list[str], constant: Fraction) -> Term:
    return _sum_of(weights, [Var(n) for n in names], constant)


def _sum_of(weights: Row, terms: list[Term] | list[Var], constant: Fraction) -> Term:
    whole: Term = Const(constant)
    for weight, term in zip(weights, terms, strict=True):
        if weight:
            whole = whole + Const(weight) * term
    return whole
