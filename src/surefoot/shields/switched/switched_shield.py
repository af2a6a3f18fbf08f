"""A shield of actions over real variables: permitted is what leads into a proved set, else a program acts.

The program pushes against the side of the plane on which the state is; of it the set is proved to be
invariant. So an action may be taken if the state after it is computed to be in the set, with a margin for
the rounding of that test, and the program may take over in every state of the set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter

from surefoot.errors import Unsupported
from surefoot.problem.policy import Branch, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.shields.finite.shield import restrict_to_permitted
from surefoot.shields.switched.set_obligation import BAND, Row, SetObligation, invert_rows, state_obligation
from surefoot.shields.switched.sliding_set import SlidingSet
from surefoot.shields.switched.switched_system import SwitchedSystem
from surefoot.term.float64_error import float64_error
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, disjunction_of
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Real

AROUND = 4  # so many hulls of the set the margin is about
PARTS = 24  # of each side of the starts, where not all of them are in the set


@dataclass(frozen=True, slots=True)
class SwitchedShield:
    """`limits[i]`: between which numbers row i of the coordinates has to be computed to lie."""

    problem: Problem
    system: SwitchedSystem
    found: SlidingSet
    obligation: SetObligation
    limits: tuple[tuple[Fraction, Fraction], ...]

    def in_set(self) -> Term:
        """Is the state in the set?"""
        return self._inside({name: Var(name) for name in self.system.variables})

    def permission_term(self, action: str) -> Term:
        """Is the state after the action in the set?"""
        return self._inside(dict(self.system.maps[action]))

    def _inside(self, values: dict[str, Term]) -> Term:
        parts: list[Term] = []
        for row, (low, high) in zip(self.found.rows, self.limits, strict=True):
            height = substitute_names(row_term(row, self.system.variables), values)
            parts += [Const(low) <= height, height <= Const(high)]
        return conjunction_of(tuple(parts))

    def fallback(self) -> ProgramPolicy:
        """Push against the side on which the state is."""
        first = row_term(self.found.rows[0], self.system.variables)
        middle = _dot(self.found.rows[0], self.found.centre)
        above = Const(Fraction(float(middle))) <= first
        return ProgramPolicy(
            (Branch(above, self.found.down), Branch(TRUE, self.found.up)), self.system.actions
        )

    def shielded_problem(self) -> Problem | None:
        """The problem with its policy behind the shield; None: it has no policy."""
        if self.problem.policy is None:
            return None
        parts = (conjunction_of((Var(chosen_name(a)), self.permission_term(a))) for a in self.system.actions)
        policy = ShieldedPolicy(
            self.problem.policy, disjunction_of(tuple(parts)), self.fallback(), self.problem.environment
        )
        return replace(self.problem, policy=policy)

    def program_problem(self) -> Problem:
        """The problem in which the program alone decides."""
        return replace(self.problem, policy=self.fallback())

    def anybody(self) -> Problem:
        """The problem in which whoever acts takes what is permitted, or what the program does."""
        first, second = self.fallback().branches
        program = {first.then: first.when, second.then: ~first.when}
        terms = {
            a: disjunction_of((self.permission_term(a), *([program[a]] if a in program else [])))
            for a in self.system.actions
        }
        return replace(
            self.problem, environment=restrict_to_permitted(self.problem.environment, terms), policy=None
        )

    def covered_share(self) -> Fraction:
        """The share of the box around the starts, by volume, that is in the set; a lower bound."""
        return covered_share(self.found, self.system.starts)


def make_switched_shield(problem: Problem, system: SwitchedSystem, found: SlidingSet) -> SwitchedShield:
    """The shield of a set; what has to be proved of it is `obligation`."""
    obligation = state_obligation(system, found)
    _refuse_wide_rounding(system, found, obligation)
    apart = _difference_of_platforms(system, obligation)
    inverse = invert_rows(found.rows)
    wide = {}
    for name, centre, row in zip(system.variables, found.centre, inverse, strict=True):
        reach = AROUND * sum((abs(v) * r for v, r in zip(row, found.radii, strict=True)), Fraction(0))
        wide[name] = Real(centre - reach, centre + reach)
    limits = []
    for row, radius in zip(found.rows, found.radii, strict=True):
        margin = sum((abs(w) * e for w, e in zip(row, apart, strict=True)), Fraction(0))
        if system.rounded:
            margin += 2 * float64_error(row_term(row, system.variables), wide)
        middle = _dot(row, found.centre)
        limits.append((_inner(middle - radius + margin, 1), _inner(middle + radius - margin, -1)))
    return SwitchedShield(problem, system, found, obligation, tuple(limits))


def _refuse_wide_rounding(system: SwitchedSystem, found: SlidingSet, obligation: SetObligation) -> None:
    """The program may be on the wrong side of the plane by no more than the proof leaves open."""
    middle = _dot(found.rows[0], found.centre)
    error = abs(Fraction(float(middle)) - middle)
    if system.rounded:
        error += float64_error(row_term(found.rows[0], system.variables), hull_kinds(system, obligation))
    if error > BAND * found.radii[0]:
        raise Unsupported("float64 is too coarse to tell on which side of its plane a state is")


def hull_kinds(system: SwitchedSystem, obligation: SetObligation) -> dict[str, Real]:
    """The limits of every variable in the set."""
    return {n: Real(low, high) for n, (low, high) in zip(system.variables, obligation.hull, strict=True)}


def _difference_of_platforms(system: SwitchedSystem, obligation: SetObligation) -> list[Fraction]:
    """How far two programs in float64 that round differently may be apart after a step from the set.

    Source code is refused where an action has no such bound: see `find_unbounded_rounding`.
    """
    apart = [Fraction(0)] * len(system.variables)
    if system.rounded:
        kinds = hull_kinds(system, obligation)
        for new in system.maps.values():
            for i, name in enumerate(system.variables):
                try:
                    apart[i] = max(apart[i], 2 * float64_error(new[name], kinds))
                except Unsupported:
                    continue
    return apart


def find_unbounded_rounding(shield: SwitchedShield) -> Unsupported | None:
    """Why the steps of the model as source code may be far from those that the model executes."""
    kinds = hull_kinds(shield.system, shield.obligation)
    try:
        for new in shield.system.maps.values():
            for value in new.values():
                float64_error(value, kinds)
    except Unsupported as error:
        return error
    return None


def row_term(row: Row, names: tuple[str, ...]) -> Term:
    """The height of a state over a plane."""
    parts = [Const(weight) * Var(name) for weight, name in zip(row, names, strict=True) if weight]
    whole: Term = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def _dot(left: Row, right: Row) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _inner(value: Fraction, side: int) -> Fraction:
    """A double on this side of the number, or the number itself."""
    near = float(value)
    while side * (Fraction(near) - value) < 0:
        near = nextafter(near, side * inf)
    return Fraction(near)


def covered_share(found: SlidingSet, starts: tuple[tuple[Fraction, Fraction], ...]) -> Fraction:
    """All of it where the whole box is in the set; else the parts of a grid that are."""
    if _holds_box(found, starts):
        return Fraction(1)
    count = PARTS if len(starts) <= 4 else 8 if len(starts) == 5 else 6
    sides = [
        [(low + (high - low) * k / count, low + (high - low) * (k + 1) / count) for k in range(count)]
        for low, high in starts
    ]
    held, total = _count_boxes(found, sides)
    return Fraction(held, total)


def _count_boxes(found: SlidingSet, sides: list[list[tuple[Fraction, Fraction]]]) -> tuple[int, int]:
    """How many boxes of a grid are in the set: heights in floats, with room for their rounding."""
    import numpy as np

    middles = [np.array([float((low + high) / 2) for low, high in side]) for side in sides]
    halves = np.array([float((side[0][1] - side[0][0]) / 2) for side in sides])
    grid = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, len(sides))
    rows = np.array([[float(v) for v in row] for row in found.rows])
    radii = np.array([float(r) for r in found.radii])
    heights = np.abs((grid - np.array([float(c) for c in found.centre])) @ rows.T)
    inside = (heights + np.abs(rows) @ halves <= radii * (1 - 1e-9)).all(axis=1)
    return int(inside.sum()), len(grid)


def _holds_box(found: SlidingSet, box: tuple[tuple[Fraction, Fraction], ...]) -> bool:
    """Exactly: is every corner of the box in the set?"""
    for row, radius in zip(found.rows, found.radii, strict=True):
        middle = sum(
            (w * ((low + high) / 2 - c) for w, (low, high), c in zip(row, box, found.centre, strict=True)),
            Fraction(0),
        )
        reach = sum((abs(w) * (high - low) / 2 for w, (low, high) in zip(row, box, strict=True)), Fraction(0))
        if abs(middle) + reach > radius:
            return False
    return True
