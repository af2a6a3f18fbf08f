"""Steps and predicates as cubes: what a batch of questions needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from surefoot.encode.interval import Kinds
from surefoot.engines.predicates.asked.conditions import FEW, cubes, formula, numbers, of_formula, within
from surefoot.engines.predicates.asked.cubes import (
    MOST,
    Cube,
    Point,
    atoms_of,
    composed,
    cube_of,
    joined,
    named,
    satisfies,
    value,
    whole_names,
)
from surefoot.engines.predicates.moves import Dynamics
from surefoot.engines.predicates.tabulated.table import OutOfTime
from surefoot.errors import Unsupported
from surefoot.problem.environment import Bool, Int, Real
from surefoot.problem.term import Term, Var
from surefoot.query.formula import Atom, Relation, sharpen
from surefoot.query.linear import Linear, as_term, scaled, variable
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class Way:
    """One linear case of a step: where it is possible, and what it does."""

    step: int  # position among the steps
    label: str
    cube: Cube  # state, chosen values and outputs; clauses: what other actions are to be applicable or not
    guard: Cube  # the same without outputs
    after: Mapping[str, Linear]


@dataclass(frozen=True, slots=True)
class Predicate:
    shown: Term  # as the model writes it
    condition: Term  # over scalars
    yes: tuple[Cube, ...]
    no: tuple[Cube, ...]

    def cubes(self, value: bool) -> tuple[Cube, ...]:
        return self.yes if value else self.no

    def at(self, point: Point) -> bool:
        return any(satisfies(point, cube) for cube in self.yes)


def tidy(dynamics: Dynamics, condition: Term) -> Term:
    """The condition as one comparison with a constant, if it is one: `2 * x + y <= 7`."""
    kinds = dynamics.layout.kinds
    found = sharpen(formula(condition, kinds), whole_names(kinds))
    if not isinstance(found, Atom) or found.relation is not Relation.LE:
        return condition
    left = found.linear
    if all(c < 0 for _, c in left.coefficients):  # at least, rather than at most minus something
        return as_term(scaled(Linear(left.coefficients), Fraction(-1))) >= left.constant
    return as_term(Linear(left.coefficients)) <= -left.constant


def quantity(dynamics: Dynamics, condition: Term) -> Linear | None:
    """What a condition compares with a number, in whole multiples without a common divisor; None: no such."""
    kinds = dynamics.layout.kinds
    found = sharpen(formula(condition, kinds), whole_names(kinds))
    if not isinstance(found, Atom) or not found.linear.coefficients:
        return None
    factors = [c for _, c in found.linear.coefficients]
    unit = Fraction(gcd(*(c.numerator for c in factors)), lcm(*(c.denominator for c in factors)))
    unit = unit if factors[0] > 0 else -unit
    return Linear(tuple((n, c / unit) for n, c in found.linear.coefficients))


def predicate(dynamics: Dynamics, shown: Term, condition: Term) -> Predicate:
    kinds = dynamics.layout.kinds
    return Predicate(shown, condition, cubes(condition, kinds), cubes(~condition, kinds))


def moved(point: Point, way: Way) -> dict[str, Fraction]:
    """The next state."""
    return {name: value(linear, point) for name, linear in way.after.items()}


def ways(dynamics: Dynamics, clock: Budget) -> tuple[Way, ...]:
    """Every linear case of every step; raises `OutOfTime`."""
    kinds, found = dynamics.kinds, []
    for number, step in enumerate(dynamics.steps):
        guards: list[Cube] = list(cubes(step.guard, kinds, clock))
        cases = _cases(dynamics, step.after, guards, clock)
        choice = sharpen(formula(step.choice, kinds), whole_names(kinds))
        for guard, after in cases:
            if (cube := within(choice, guard, kinds)) is not None:
                found.append(Way(number, step.label, cube, without(cube, dynamics.outputs), after))
    return tuple(found)


def _cases(
    dynamics: Dynamics, after: Mapping[str, Term], guards: Sequence[Cube], clock: Budget
) -> list[tuple[Cube, dict[str, Linear]]]:
    """The update case by case, and only where the next values are within their ranges."""
    kinds = dynamics.kinds
    found: list[tuple[Cube, dict[str, Linear]]] = [(g, {}) for g in guards]
    for name, term in after.items():
        if term == Var(name):
            found = [(cube, {**values, name: variable(name)}) for cube, values in found]
            continue
        options = [
            (alternative, value)
            for condition, value in numbers(term, kinds)
            for alternative in of_formula(sharpen(condition, whole_names(kinds)), kinds, clock)
        ]
        found = [
            (inside, {**values, name: value})
            for cube, values in found
            for alternative, value in options
            if (both := joined(cube, alternative, kinds)) is not None
            and (inside := _inside(both, name, value, kinds)) is not None
        ]
        if len(found) > FEW and clock.spent():
            raise OutOfTime
        if len(found) > MOST:
            raise Unsupported("a step has too many cases for predicate abstraction")
    return found


def _inside(cube: Cube, name: str, value: Linear, kinds: Kinds) -> Cube | None:
    """Where the new value is one of its variable's range."""
    match kinds[name]:
        case Bool():
            bounds: tuple[int | Fraction | None, int | Fraction | None] = (0, 1)
        case Int(low, high) | Real(low, high):
            bounds = (low, high)
    ends = tuple(None if end is None else Fraction(end) for end in bounds)
    within = composed(Cube({name: (ends[0], ends[1])}, ()), {name: value}, kinds)
    return None if within is None else joined(cube, within, kinds)


def without(cube: Cube, names: Iterable[str]) -> Cube:
    """The comparisons and clauses that do not mention these names."""
    left = set(names)
    kept: list[Atom] = [a for a in atoms_of(cube) if not left & {n for n, _ in a.linear.coefficients}]
    return replace(cube_of(kept), clauses=tuple(c for c in cube.clauses if not left & named(c)))


def located(dynamics: Dynamics, places: Mapping[str, int]) -> Cube:
    """The states with these locations."""
    return Cube({name: (p, p) for name, p in places.items()}, ())


def before(predicate: Predicate, value: bool, way: Way, kinds: Kinds) -> list[Cube]:
    """Where the predicate has this value after the step."""
    several = (composed(cube, way.after, kinds) for cube in predicate.cubes(value))
    return [cube for cube in several if cube is not None]


def alternatives(terms: Iterable[Term], dynamics: Dynamics, clock: Budget) -> tuple[Cube, ...]:
    """The alternatives of several conditions of which one holds; raises `OutOfTime`.

    Where they are many, clauses about outputs are not multiplied out.
    """
    kinds, outputs, found = dynamics.kinds, frozenset(dynamics.outputs), list[Cube]()
    for term in terms:
        try:
            found += cubes(term, kinds, clock, most=FEW)
        except Unsupported:
            found += cubes(term, kinds, clock, undivided=outputs)
    return tuple(found)
