"""Steps and predicates as cubes: what a batch of questions needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime
from surefoot.engines.predicates.symbolic.conditions import (
    FEW,
    condition_to_cubes,
    condition_to_formula,
    formula_to_cubes,
    restrict_cube,
    term_cases,
)
from surefoot.engines.predicates.symbolic.cubes import (
    MOST,
    Cube,
    Point,
    atoms_of,
    cube_of,
    cube_precondition,
    evaluate_linear_form,
    integer_names,
    intersect_cubes,
    kind_range,
    names_in_formula,
    satisfies_cube,
)
from surefoot.errors import Unsupported
from surefoot.query.formula import LinearAtom, Relation, sharpen_integer_atoms
from surefoot.term.interval import Kinds
from surefoot.term.linear import LinearForm, scale_form, term_from_linear, variable_form
from surefoot.term.term import Term, Var
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class TransitionCube:
    """One linear case of a step: where it is possible, and what it does."""

    step: int  # position among the steps
    label: str
    cube: Cube  # state, chosen values and outputs; clauses: what other actions are to be applicable or not
    guard: Cube  # the same without outputs
    after: Mapping[str, LinearForm]


@dataclass(frozen=True, slots=True)
class Predicate:
    shown: Term  # as the model writes it
    condition: Term  # over scalars
    yes: tuple[Cube, ...]
    no: tuple[Cube, ...]

    def cubes(self, value: bool) -> tuple[Cube, ...]:
        return self.yes if value else self.no

    def at(self, point: Point) -> bool:
        return any(satisfies_cube(point, cube) for cube in self.yes)


def normalise_comparison(dynamics: Dynamics, condition: Term) -> Term:
    """The condition as one comparison with a constant, if it is one: `2 * x + y <= 7`."""
    kinds = dynamics.layout.kinds
    found = sharpen_integer_atoms(condition_to_formula(condition, kinds), integer_names(kinds))
    if not isinstance(found, LinearAtom) or found.relation is not Relation.LE:
        return condition
    left = found.linear
    if all(c < 0 for _, c in left.coefficients):  # at least, rather than at most minus something
        return term_from_linear(scale_form(LinearForm(left.coefficients), Fraction(-1))) >= left.constant
    return term_from_linear(LinearForm(left.coefficients)) <= -left.constant


def compared_quantity(dynamics: Dynamics, condition: Term) -> LinearForm | None:
    """What a condition compares with a number, in whole multiples without a common divisor; None: no such."""
    kinds = dynamics.layout.kinds
    found = sharpen_integer_atoms(condition_to_formula(condition, kinds), integer_names(kinds))
    if not isinstance(found, LinearAtom) or not found.linear.coefficients:
        return None
    factors = [c for _, c in found.linear.coefficients]
    unit = Fraction(gcd(*(c.numerator for c in factors)), lcm(*(c.denominator for c in factors)))
    unit = unit if factors[0] > 0 else -unit
    return LinearForm(tuple((n, c / unit) for n, c in found.linear.coefficients))


def build_predicate(dynamics: Dynamics, shown: Term, condition: Term) -> Predicate:
    kinds = dynamics.layout.kinds
    return Predicate(
        shown, condition, condition_to_cubes(condition, kinds), condition_to_cubes(~condition, kinds)
    )


def successor_point(point: Point, way: TransitionCube) -> dict[str, Fraction]:
    """The next state."""
    return {name: evaluate_linear_form(linear, point) for name, linear in way.after.items()}


def transition_cubes(dynamics: Dynamics, clock: Budget) -> tuple[TransitionCube, ...]:
    """Every linear case of every step; raises `OutOfTime`."""
    kinds, found = dynamics.kinds, []
    for number, step in enumerate(dynamics.steps):
        guards: list[Cube] = list(condition_to_cubes(step.guard, kinds, clock))
        cases = _update_cases(dynamics, step.after, guards, clock)
        choice = sharpen_integer_atoms(condition_to_formula(step.choice, kinds), integer_names(kinds))
        for guard, after in cases:
            if (cube := restrict_cube(choice, guard, kinds)) is not None:
                found.append(
                    TransitionCube(number, step.label, cube, drop_names(cube, dynamics.outputs), after)
                )
    return tuple(found)


def _update_cases(
    dynamics: Dynamics, after: Mapping[str, Term], guards: Sequence[Cube], clock: Budget
) -> list[tuple[Cube, dict[str, LinearForm]]]:
    """The update case by case, and only where the next values are within their ranges."""
    kinds = dynamics.kinds
    found: list[tuple[Cube, dict[str, LinearForm]]] = [(g, {}) for g in guards]
    for name, term in after.items():
        if term == Var(name):
            found = [(cube, {**values, name: variable_form(name)}) for cube, values in found]
            continue
        options = [
            (alternative, value)
            for condition, value in term_cases(term, kinds)
            for alternative in formula_to_cubes(
                sharpen_integer_atoms(condition, integer_names(kinds)), kinds, clock
            )
        ]
        found = [
            (inside, {**values, name: value})
            for cube, values in found
            for alternative, value in options
            if (both := intersect_cubes(cube, alternative, kinds)) is not None
            and (inside := _within_range(both, name, value, kinds)) is not None
        ]
        if len(found) > FEW and clock.is_spent():
            raise OutOfTime
        if len(found) > MOST:
            raise Unsupported("a step has too many cases for predicate abstraction")
    return found


def _within_range(cube: Cube, name: str, value: LinearForm, kinds: Kinds) -> Cube | None:
    """Where the new value is one of its variable's range."""
    within = cube_precondition(Cube({name: kind_range(kinds[name])}, ()), {name: value}, kinds)
    return None if within is None else intersect_cubes(cube, within, kinds)


def drop_names(cube: Cube, names: Iterable[str]) -> Cube:
    """The comparisons and clauses that do not mention these names."""
    left = set(names)
    kept: list[LinearAtom] = [a for a in atoms_of(cube) if not left & {n for n, _ in a.linear.coefficients}]
    return replace(cube_of(kept), clauses=tuple(c for c in cube.clauses if not left & names_in_formula(c)))


def predicate_precondition(
    predicate: Predicate, value: bool, way: TransitionCube, kinds: Kinds
) -> list[Cube]:
    """Where the predicate has this value after the step."""
    several = (cube_precondition(cube, way.after, kinds) for cube in predicate.cubes(value))
    return [cube for cube in several if cube is not None]


def disjunction_to_cubes(terms: Iterable[Term], dynamics: Dynamics, clock: Budget) -> tuple[Cube, ...]:
    """The alternatives of several conditions of which one holds; raises `OutOfTime`.

    Where they are many, clauses about outputs are not multiplied out.
    """
    kinds, outputs, found = dynamics.kinds, frozenset(dynamics.outputs), list[Cube]()
    for term in terms:
        try:
            found += condition_to_cubes(term, kinds, clock, most=FEW)
        except Unsupported:
            found += condition_to_cubes(term, kinds, clock, undivided=outputs)
    return tuple(found)
