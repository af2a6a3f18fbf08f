"""A set of states that no run leaves, one part of it after the other (docs/certificates.md, section 9).

The set is given by a condition on states. Its parts are the conjunctions that it is multiplied out to. Every
part has its own queries: about one state alone, because a next value is written as the term that it gets.
What the bounds of a part exclude is left out, so that each query speaks of what is near its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...kernel.query import ClaimedQuery, Ends, Formula, formula_parts
from ...kernel.strict_json import Refused
from ...kernel.term import Term
from .canonical_problem import CanonicalProblem
from .formula import (
    FALSE,
    formula_and,
    formula_names,
    formula_or,
    narrow_by_comparisons,
    simplify_by_bounds,
)
from .term import FormulaScope, truth_formula
from .time_frame import TimeFrame
from .unroll import range_violations, run_query, scope_with_choices, successor_scope

MOST_PARTS = 50_000
FEW_NAMES = 4  # variables of a formula that is remembered as it is for some bounds
MOST_LOOKED = 20 * MOST_PARTS  # at, with those that are false at sight
Bounds = Mapping[str, Ends]
_NONE: frozenset[str] = frozenset()


def enumerate_part_queries(problem: CanonicalProblem, inside: Term) -> Iterator[tuple[str, ClaimedQuery]]:
    """What no values may satisfy so that every state of every run is inside and not bad, by name.

    `start n`: a start of part n of the initial condition is outside. `bad n`: a state of part n is bad.
    `step n/e/o`: from part n, outcome o of edge e leads outside, or out of the range of a variable.
    """
    here = TimeFrame(problem, 0)
    declared = list(here.frame_variables())
    if len({v.name for v in declared}) < len(declared):  # bounds of one would exclude values of another
        raise Refused("two variables have the same name")
    bounds: Bounds = {v.name: (v.low, v.high) for v in declared}
    integers = frozenset(v.name for v in declared if v.kind == "integer")

    def tight(whole: Formula) -> Formula:
        return simplify_by_bounds(whole, bounds, integers)

    simplifier = _Simplifier()
    outside = _SplitCondition(_condition_tree(inside, False), here.plain, tight, simplifier)
    starts = _SplitCondition(_condition_tree(problem.initial, True), here.plain, tight, simplifier)
    for number, (part, known) in enumerate(_enumerate_conjunctions(starts, bounds)):
        yield from _part_query(problem, f"start {number}", part, outside.within(known))
    bad, steps = tight(here.condition(True)), list(_outcome_steps(here, inside, tight, simplifier))
    whole = _SplitCondition(_condition_tree(inside, True), here.plain, tight, simplifier)
    for number, (part, known) in enumerate(_enumerate_conjunctions(whole, bounds)):
        yield from _part_query(problem, f"bad {number}", part, simplifier.within(bad, known))
        for step in steps:
            yield from _part_query(problem, f"step {number}/{step.name}", part, step.within(known))


class _Simplifier:
    """Formulas of which comparisons that the bounds decide are gone.

    The same formulas are looked at for every part, and neighbouring parts have mostly the same bounds: what
    mentions few variables is simplified once for equal bounds of these.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Formula, tuple[str, ...], dict[tuple[Ends | None, ...], Formula]]] = {}

    def within(self, whole: Formula, bounds: Bounds) -> Formula:
        entry = self.known.get(id(whole))
        if entry is None:  # with the formula itself, so that no other one gets its identity
            entry = self.known[id(whole)] = whole, tuple(sorted(formula_names(whole))), {}
        _, names, found = entry
        if len(names) > FEW_NAMES and whole[0] in ("and", "or"):
            parts = (self.within(part, bounds) for part in formula_parts(whole))
            return formula_and(parts) if whole[0] == "and" else formula_or(parts)
        key = tuple(bounds.get(name) for name in names)
        if key not in found:
            found[key] = simplify_by_bounds(whole, bounds, _NONE)
        return found[key]


def _enumerate_conjunctions(whole: _SplitCondition, bounds: Bounds) -> Iterator[tuple[Formula, Bounds]]:
    """The conjunctions that a condition is multiplied out to, and the bounds that each of them gives.

    The alternatives of the first disjunction come one after the other, and so on; what the bounds decide is
    left out, and so are conjunctions that are false at sight. What is no `and`, `or` or `not` stays whole.
    """
    waiting: list[tuple[tuple[Formula, ...], tuple[Tree, ...], Bounds]] = [((), (whole.tree,), bounds)]
    count = looked = 0
    while waiting:
        kept, trees, known = waiting.pop()
        looked += 1
        todo, several = list(trees), list[_Connective]()
        while todo and FALSE not in kept:
            tree = todo.pop(0)
            if not isinstance(tree, _Connective):
                found = whole.simplifier.within(whole.leaf(tree), known)
                more = formula_parts(found) if found[0] == "and" else (found,)
                kept, known = (*kept, *more), narrow_by_comparisons(known, more)
            elif tree.word == "and":
                todo[:0] = tree.parts
            else:
                several.append(tree)
        if looked > MOST_LOOKED:
            raise Refused(f"a condition with more than {MOST_LOOKED} parts, even if most are false at sight")
        if FALSE in kept:
            continue
        if several:
            first, *others = several
            waiting += [(kept, (alternative, *others), known) for alternative in reversed(first.parts)]
            continue
        count += 1
        if count > MOST_PARTS:
            raise Refused(f"a condition with more than {MOST_PARTS} parts")
        yield formula_and(kept), known


def _part_query(
    problem: CanonicalProblem, name: str, part: Formula, what: Formula
) -> Iterator[tuple[str, ClaimedQuery]]:
    if what == FALSE:
        return
    query = run_query(problem, 0, (part, what), name)
    if query.formula != FALSE:
        yield name, query


class _SplitCondition:
    """Where a condition made of others may have a value; each of these is looked at once for some bounds."""

    def __init__(
        self, tree: Tree, scope: FormulaScope, tight: Callable[[Formula], Formula], simplifier: _Simplifier
    ) -> None:
        self.tree, self.scope, self.tight, self.simplifier = tree, scope, tight, simplifier
        self.leaves: dict[tuple[Term, bool], Formula] = {}

    def within(self, bounds: Bounds) -> Formula:
        found: dict[tuple[Term, bool], Formula] = {}

        def restrict_tree(tree: Tree) -> Formula:
            if isinstance(tree, _Connective):
                parts = (restrict_tree(part) for part in tree.parts)
                return formula_and(parts) if tree.word == "and" else formula_or(parts)
            if tree not in found:
                found[tree] = self.simplifier.within(self.leaf(tree), bounds)
            return found[tree]

        return restrict_tree(self.tree)

    def leaf(self, tree: tuple[Term, bool]) -> Formula:
        if tree not in self.leaves:
            self.leaves[tree] = self.tight(truth_formula(*tree, self.scope))
        return self.leaves[tree]


@dataclass(frozen=True, slots=True, eq=False)
class _Connective:
    word: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = "_Connective | tuple[Term, bool]"


def _condition_tree(term: Term, wanted: bool) -> Tree:
    """Which conditions must be true or false so that the term is what is wanted."""
    word = term[0] if type(term) is tuple else ""
    if word == "not":
        return _condition_tree(term[1], not wanted)
    if word in ("and", "or"):
        parts = tuple(_condition_tree(part, wanted) for part in term[1:])
        return _Connective("and" if (word == "and") is wanted else "or", parts)
    return (term, wanted)


@dataclass(frozen=True, slots=True, eq=False)
class _OutcomeStep:
    """An outcome of an edge: where it is enabled, leads out of a range, leads outside, is permitted."""

    name: str
    enabled: Formula
    escapes: Formula
    outside: _SplitCondition
    permitted: Formula

    def within(self, bounds: Bounds) -> Formula:
        """It may come about, and lead outside or out of a range."""
        within = self.outside.simplifier.within
        enabled = within(self.enabled, bounds)
        if enabled == FALSE:
            return FALSE
        wrong = formula_or((within(self.escapes, bounds), self.outside.within(bounds)))
        return FALSE if wrong == FALSE else formula_and((enabled, wrong, within(self.permitted, bounds)))


def _outcome_steps(
    here: TimeFrame, inside: Term, tight: Callable[[Formula], Formula], simplifier: _Simplifier
) -> Iterator[_OutcomeStep]:
    problem, tree = here.problem, _condition_tree(inside, False)
    for number, edge in enumerate(problem.edges):
        scope = scope_with_choices(here, edge)
        enabled = tight(formula_and((here.guards[number][0], truth_formula(edge.assuming, True, scope))))
        permitted = tight(here.edge_permitted(number))
        for outcome, updates in enumerate(edge.outcomes):
            escapes = tight(range_violations(here, updates, scope))
            after = _SplitCondition(tree, successor_scope(here, updates, scope), tight, simplifier)
            yield _OutcomeStep(f"{number}/{outcome}", enabled, escapes, after, permitted)
