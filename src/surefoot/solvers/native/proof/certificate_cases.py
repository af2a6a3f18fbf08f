"""The cases of a certificate: the formula as it stands, with choices from disjunctions that tie reals.

The points that satisfy an equality of reals fill no box, so each alternative of a disjunction with such an
equality becomes a case of its own, in which the equality defines a quantity (docs/certificates.md, section
5). Disjunctions are also chosen from where a case would have too many sets of atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, declared_box, intersect_intervals, is_empty
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation, formula_atoms
from surefoot.query.query import Json, Query
from surefoot.solvers.native.compile import compile_query
from surefoot.solvers.native.compiled_query import CompiledQuery, count_cubes
from surefoot.solvers.native.goal_cubes import MOST
from surefoot.solvers.native.variable_definitions import (
    Choices,
    bound_atoms,
    bounds_of_atom,
    expand_choices,
    flatten_conjunctions,
    solve_defining_equalities,
    substitute_linear_names,
)
from surefoot.term.linear import LinearForm
from surefoot.term.value_types import Real

CASES = 64  # of a certificate


@dataclass(frozen=True, slots=True, eq=False)
class CertificateCase:
    """One case: choices, what is left of the formula, bounds. `closed`: it contradicts itself at sight."""

    query: Query
    choices: Choices
    parts: tuple[Formula, ...]
    known: Mapping[str, Interval]
    closed: bool

    def frame(self, equations: Sequence[tuple[str, int]] = ()) -> dict[str, object]:
        """What a certificate says of the case before its atoms."""
        found: dict[str, object] = {}
        if self.choices:
            found["choose"] = [list(choice) for choice in self.choices]
        if equations:
            found["define"] = [list(equation) for equation in equations]
        return found

    def render_empty_case(self) -> Json:
        """The case of a certificate where there is nothing to search."""
        equations = () if self.closed else solve_defining_equalities(self.query, self.parts).equations
        return {**self.frame(equations), "atoms": [], "sets": [], "steps": []}


def undivided_case(query: Query, formulas: Iterable[Formula]) -> CertificateCase:
    """The formula as it stands, without any choice."""
    parts = tuple(flatten_conjunctions(formulas))
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    known = tighten_by_formulas(parts, declared_box(query.quantities), outputs)
    return CertificateCase(query, (), parts, known, AnyOf() in parts or any(map(is_empty, known.values())))


def certificate_cases(
    query: Query, formulas: Iterable[Formula], box: Mapping[str, Interval]
) -> list[CertificateCase] | None:
    """All cases, without any simplification; None where a certificate cannot speak about the query."""
    if any(call.float32 != query.calls[0].float32 for call in query.calls):
        return None
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    definable = frozenset(
        q.name
        for q in query.quantities
        if isinstance(q.kind, Real) and not q.kind.float32 and q.name not in outputs
    )

    def decide(choices: Choices, parts: tuple[Formula, ...]) -> int | CertificateCase:
        known = tighten_by_formulas([part for part in parts if isinstance(part, LinearAtom)], box, outputs)
        plain = all(isinstance(part, LinearAtom) for part in parts)
        every = known if plain else tighten_by_formulas(parts, box, outputs)
        closed = AnyOf() in parts or any(is_empty(b) for b in every.values())
        place = None if closed else _next_disjunction(parts, definable)
        return CertificateCase(query, choices, parts, known, closed) if place is None else place

    return expand_choices(formulas, decide, CASES)


@lru_cache(maxsize=1)
def compile_case(case: CertificateCase) -> CompiledQuery | None:
    """The problem to search; None if nothing satisfies the case, at sight.

    `Unsupported` says why a certificate cannot speak about it.
    """
    if case.closed:
        return None
    problem = compile_query(case.query, case.parts, bounds_of_free(case), literal=True)
    if problem is None or not count_cubes(problem.tree):
        return None
    if problem.curtailed or count_cubes(problem.tree) > MOST:
        raise Unsupported("a quantity without bounds, or too many sets of atoms")
    return problem


def bounds_of_free(case: CertificateCase) -> dict[str, Interval]:
    """The bounds of free quantities when the definitions are put into everything else."""
    query, defined = case.query, solve_defining_equalities(case.query, case.parts).defined
    if not defined and all(isinstance(part, LinearAtom) for part in case.parts):
        return dict(case.known)
    parts = [_substitute_formula(part, defined) for part in case.parts]
    for name, value in defined.items():
        parts += bound_atoms(value, case.known[name])
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    # What is defined keeps bounds that are conjuncts of their own: they become atoms.
    return tighten_by_formulas(parts, case.known, outputs | defined.keys())


def _substitute_formula(formula: Formula, values: Mapping[str, LinearForm]) -> Formula:
    match formula:
        case All(parts):
            return All(tuple(_substitute_formula(p, values) for p in parts))
        case AnyOf(parts):
            return AnyOf(tuple(_substitute_formula(p, values) for p in parts))
        case LinearAtom(linear, relation):
            return LinearAtom(substitute_linear_names(linear, values), relation)


def tighten_by_formulas(
    parts: Sequence[Formula], box: Mapping[str, Interval], others: frozenset[str]
) -> dict[str, Interval]:
    """Bounds of the box and, but for these others, of comparisons with single quantities in all parts."""
    ends = _formula_bounds(All(tuple(parts)))
    return {
        n: intersect_intervals(b, ends[n]) if n in ends and n not in others else b for n, b in box.items()
    }


def _formula_bounds(formula: Formula) -> dict[str, Interval]:
    """Bounds of quantities wherever a formula holds: all parts of a conjunction, the hull of alternatives."""
    found: dict[str, Interval] = {}
    match formula:
        case All(parts):
            for part in parts:
                for name, ends in _formula_bounds(part).items():
                    found[name] = intersect_intervals(found[name], ends) if name in found else ends
        case AnyOf(parts):
            several = [_formula_bounds(part) for part in parts]
            for name in several[0] if several else ():
                if all(name in each for each in several):
                    found[name] = _interval_hull([each[name] for each in several])
        case LinearAtom() if (own := bounds_of_atom(formula)) is not None:
            found[own[0]] = own[1]
    return found


def _interval_hull(several: Sequence[Interval]) -> Interval:
    lows, highs = [low for low, _ in several], [high for _, high in several]
    return (
        min((x for x in lows if x is not None), default=None) if None not in lows else None,
        max((x for x in highs if x is not None), default=None) if None not in highs else None,
    )


def _next_disjunction(parts: Sequence[Formula], definable: frozenset[str]) -> int | None:
    """The position of the disjunction to choose from next, the one with the fewest alternatives."""
    several = [i for i, part in enumerate(parts) if isinstance(part, AnyOf)]
    tying = [i for i in several if _may_define_real(parts[i], definable)]
    if not tying and _count_formula_cubes(All(tuple(parts))) > MOST:
        tying = several
    return min(tying, key=lambda i: sum(1 for _ in formula_atoms(parts[i])), default=None)


def _may_define_real(formula: Formula, definable: frozenset[str]) -> bool:
    """Whether an equality in a formula may say what a real quantity is."""
    return any(
        atom.relation is Relation.EQ and any(n in definable for n, _ in atom.linear.coefficients)
        for atom in formula_atoms(formula)
    )


def _count_formula_cubes(formula: Formula) -> int:
    """How many sets of atoms a formula is multiplied out to."""
    match formula:
        case All(parts):
            return prod(map(_count_formula_cubes, parts))
        case AnyOf(parts):
            return sum(map(_count_formula_cubes, parts))
        case LinearAtom():
            return 1
