"""Steps and predicates as cubes: what a batch of questions needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime, UnsafeCase
from surefoot.engines.predicates.symbolic.clause_index import ClauseIndex
from surefoot.engines.predicates.symbolic.conditions import (
    FEW,
    condition_to_cubes,
    condition_to_formula,
    formula_to_cubes,
    term_cases,
)
from surefoot.engines.predicates.symbolic.cubes import (
    MOST,
    Cube,
    Point,
    bound_linear_form,
    cube_precondition,
    evaluate_linear_form,
    integer_names,
    intersect_cubes,
    kind_range,
    satisfies_cube,
)
from surefoot.errors import Unsupported
from surefoot.query.formula import (
    All,
    Formula,
    LinearAtom,
    Relation,
    conjoin_formulas,
    disjoin_formulas,
    sharpen_integer_atoms,
)
from surefoot.term.interval import Kinds
from surefoot.term.linear import LinearForm, scale_form, term_from_linear, variable_form
from surefoot.term.term import TRUE, Apply, Op, Term, Var
from surefoot.work.budget import Budget

_ONE, _MINUS_ONE = Fraction(1), Fraction(-1)


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


@dataclass(frozen=True, slots=True)
class StepCase:
    """One linear case of a step, before the policy is asked."""

    step: int  # position among the steps
    guard: Cube
    after: Mapping[str, LinearForm]


def step_cases(dynamics: Dynamics, clock: Budget) -> list[StepCase]:
    """Every linear case of every step, whatever the policy picks; raises `OutOfTime`.

    Disjunctions of a guard stay clauses: "not yet at the goal" would multiply all steps.
    """
    found: list[StepCase] = []
    names = frozenset(dynamics.kinds)
    for number, step in enumerate(dynamics.steps):
        if number > FEW and clock.is_spent():
            raise OutOfTime
        guards = list(condition_to_cubes(step.guard, dynamics.kinds, clock, undivided=names))
        cases = _update_cases(dynamics, step.after, guards, clock)
        found += [StepCase(number, guard, after) for guard, after in cases]
    return found


def transition_cubes(
    dynamics: Dynamics, cases: Iterable[StepCase], choices: ChoiceClauses, clock: Budget
) -> tuple[TransitionCube, ...]:
    """The cases in which the policy may pick the step, with what it has to say for that."""
    found: list[TransitionCube] = []
    for case in cases:
        if len(found) > FEW and clock.is_spent():
            raise OutOfTime
        step = dynamics.steps[case.step]
        if (cube := choices.demand(step.choice, case.guard)) is not None:
            plain = choices.index.without_outputs(cube)
            found.append(TransitionCube(case.step, step.label, cube, plain, case.after))
    return tuple(found)


@dataclass(slots=True)
class ChoiceClauses:
    """What the policy has to say for each pick, as a formula that is made once for all steps that need it.

    It names every other action, so that the parts about states are the same for all picks: they are made
    once, too, and found again by the identity of their term.
    """

    index: ClauseIndex
    outputs: frozenset[str]
    whole: frozenset[str] = field(init=False)
    made: dict[int, tuple[Term, Formula]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.whole = integer_names(self.index.kinds)

    def demand(self, choice: Term, cube: Cube) -> Cube | None:
        """The part of the cube where the policy may make this choice; None: it is empty at sight."""
        if choice == TRUE:
            return cube
        if id(choice) not in self.made:
            self.made[id(choice)] = choice, self._formula(choice)
        return self.index.demand(self.made[id(choice)][1], cube)

    def _formula(self, term: Term) -> Formula:
        """The normal form, put together of those of parts that occur in others too."""
        match term:
            case Apply(Op.LE, (Var(left), Var(right))) if {left, right} <= self.outputs:
                signs = ((left, _ONE), (right, _MINUS_ONE))
                return LinearAtom(LinearForm(signs), Relation.LE) if left != right else All()
            case Apply(Op.AND, parts):
                return conjoin_formulas(map(self._formula, parts))
            case Apply(Op.OR, parts):
                return disjoin_formulas(map(self._formula, parts))
            case _:
                if id(term) not in self.made:
                    found = sharpen_integer_atoms(condition_to_formula(term, self.index.kinds), self.whole)
                    self.made[id(term)] = term, found
                return self.made[id(term)][1]


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
    low, high = bound_linear_form(value, cube, kinds)
    least, most = kind_range(kinds[name])
    if (least is None or (low is not None and least <= low)) and (
        most is None or (high is not None and high <= most)
    ):
        return cube
    within = cube_precondition(Cube({name: kind_range(kinds[name])}, ()), {name: value}, kinds)
    return None if within is None else intersect_cubes(cube, within, kinds)


def predicate_precondition(
    predicate: Predicate, value: bool, way: TransitionCube, kinds: Kinds
) -> list[Cube]:
    """Where the predicate has this value after the step."""
    several = (cube_precondition(cube, way.after, kinds) for cube in predicate.cubes(value))
    return [cube for cube in several if cube is not None]


def few_cubes(
    condition: Term, dynamics: Dynamics, undivided: frozenset[str], clock: Budget, most: int = FEW
) -> tuple[Cube, ...]:
    """The alternatives of a condition; if they are many, clauses about some names are not divided."""
    try:
        return condition_to_cubes(condition, dynamics.kinds, clock, most=most)
    except Unsupported:
        return condition_to_cubes(condition, dynamics.kinds, clock, undivided=undivided)


def unsafe_cubes(
    cases: Iterable[UnsafeCase], dynamics: Dynamics, choices: ChoiceClauses, clock: Budget
) -> Iterator[Cube]:
    """The alternatives of several conditions of which one holds; raises `OutOfTime`.

    Where they are many, clauses about outputs are not multiplied out.
    """
    for number, case in enumerate(cases):
        if number > FEW and clock.is_spent():
            raise OutOfTime
        for cube in few_cubes(case.about, dynamics, frozenset(dynamics.outputs), clock):
            if (made := choices.demand(case.choice, cube)) is not None:
                yield made
