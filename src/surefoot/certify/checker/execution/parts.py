"""A set of states that no run leaves, one part of it after the other (docs/certificates.md, section 9).

The set is given by a condition on states. Its parts are the conjunctions that it is multiplied out to. Every
part has its own queries: about one state alone, because a next value is written as the term that it gets.
What the bounds of a part exclude is left out, so that each query speaks of what is near its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..number import Refused
from ..query import Formula, Query, inner
from .formula import FALSE, Ends, all_of, narrowed, simplified, some_of
from .problem import Problem
from .state import Moment
from .term import Number, Scope, Term, Truth, constant, truth, value
from .unroll import leaves, run_query, with_chosen

MOST_PARTS = 50_000
MOST_LOOKED = 20 * MOST_PARTS  # at, with those that are false at sight
Bounds = Mapping[str, Ends]
_NONE: frozenset[str] = frozenset()


def queries(problem: Problem, inside: Term) -> Iterator[tuple[str, Query]]:
    """What no values may satisfy so that every state of every run is inside and not bad, by name.

    `start n`: a start of part n of the initial condition is outside. `bad n`: a state of part n is bad.
    `step n/e/o`: from part n, outcome o of edge e leads outside, or out of the range of a variable.
    """
    here = Moment(problem, 0)
    declared = list(here.declared())
    if len({v.name for v in declared}) < len(declared):  # bounds of one would exclude values of another
        raise Refused("two variables have the same name")
    bounds: Bounds = {v.name: (v.low, v.high) for v in declared}
    integers = frozenset(v.name for v in declared if v.kind == "integer")

    def tight(whole: Formula) -> Formula:
        return simplified(whole, bounds, integers)

    outside = Said(_tree(inside, False), here.plain, tight)
    starts = Said(_tree(problem.initial, True), here.plain, tight)
    for number, (part, known) in enumerate(parts(starts, bounds)):
        yield from _query(problem, f"start {number}", part, outside.within(known))
    bad, steps = tight(here.condition(True)), list(_steps(here, inside, tight))
    for number, (part, known) in enumerate(parts(Said(_tree(inside, True), here.plain, tight), bounds)):
        yield from _query(problem, f"bad {number}", part, within(bad, known))
        for step in steps:
            yield from _query(problem, f"step {number}/{step.name}", part, step.within(known))


def within(whole: Formula, bounds: Bounds) -> Formula:
    """A formula of which comparisons that the bounds decide are gone."""
    return simplified(whole, bounds, _NONE)


def parts(whole: Said, bounds: Bounds) -> Iterator[tuple[Formula, Bounds]]:
    """The conjunctions that a condition is multiplied out to, and the bounds that each of them gives.

    The alternatives of the first disjunction come one after the other, and so on; what the bounds decide is
    left out, and so are conjunctions that are false at sight. What is no `and`, `or` or `not` stays whole.
    """
    waiting: list[tuple[tuple[Formula, ...], tuple[Tree, ...], Bounds]] = [((), (whole.tree,), bounds)]
    count = looked = 0
    while waiting:
        kept, trees, known = waiting.pop()
        looked += 1
        todo, several = list(trees), list[_Several]()
        while todo and FALSE not in kept:
            tree = todo.pop(0)
            if not isinstance(tree, _Several):
                found = within(whole.leaf(tree), known)
                more = inner(found) if found[0] == "and" else (found,)
                kept, known = (*kept, *more), narrowed(known, more)
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
        yield all_of(kept), known


def _query(problem: Problem, name: str, part: Formula, what: Formula) -> Iterator[tuple[str, Query]]:
    if what == FALSE:
        return
    query = run_query(problem, 0, (part, what), name)
    if query.formula != FALSE:
        yield name, query


class Said:
    """Where a condition made of others may have a value; each of these is looked at once for some bounds."""

    def __init__(self, tree: Tree, scope: Scope, tight: Callable[[Formula], Formula]) -> None:
        self.tree, self.scope, self.tight = tree, scope, tight
        self.leaves: dict[tuple[Term, bool], Formula] = {}

    def within(self, bounds: Bounds) -> Formula:
        found: dict[tuple[Term, bool], Formula] = {}

        def said(tree: Tree) -> Formula:
            if isinstance(tree, _Several):
                parts = (said(part) for part in tree.parts)
                return all_of(parts) if tree.word == "and" else some_of(parts)
            if tree not in found:
                found[tree] = within(self.leaf(tree), bounds)
            return found[tree]

        return said(self.tree)

    def leaf(self, tree: tuple[Term, bool]) -> Formula:
        if tree not in self.leaves:
            self.leaves[tree] = self.tight(truth(*tree, self.scope))
        return self.leaves[tree]


@dataclass(frozen=True, slots=True, eq=False)
class _Several:
    word: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = "_Several | tuple[Term, bool]"


def _tree(term: Term, wanted: bool) -> Tree:
    """Which conditions must be true or false so that the term is what is wanted."""
    word = term[0] if type(term) is tuple else ""
    if word == "not":
        return _tree(term[1], not wanted)
    if word in ("and", "or"):
        parts = tuple(_tree(part, wanted) for part in term[1:])
        return _Several("and" if (word == "and") is wanted else "or", parts)
    return (term, wanted)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """An outcome of an edge: where it is enabled, leads out of a range, leads outside, is permitted."""

    name: str
    enabled: Formula
    escapes: Formula
    outside: Said
    permitted: Formula

    def within(self, bounds: Bounds) -> Formula:
        """It may come about, and lead outside or out of a range."""
        enabled = within(self.enabled, bounds)
        if enabled == FALSE:
            return FALSE
        wrong = some_of((within(self.escapes, bounds), self.outside.within(bounds)))
        return all_of((enabled, wrong, within(self.permitted, bounds)))


def _steps(here: Moment, inside: Term, tight: Callable[[Formula], Formula]) -> Iterator[_Step]:
    problem, tree = here.problem, _tree(inside, False)
    for number, edge in enumerate(problem.edges):
        scope = with_chosen(here, edge)
        enabled = tight(all_of((here.guards[number][0], truth(edge.assuming, True, scope))))
        permitted = tight(here.permitted(number))
        for outcome, updates in enumerate(edge.outcomes):
            escapes = some_of(
                leaves(here, v, value(updates[v.name], scope))
                for v in problem.variables
                if v.name in updates and v.kind != "boolean"
            )
            after = Said(tree, _after(here, updates, scope), tight)
            yield _Step(f"{number}/{outcome}", enabled, tight(escapes), after, permitted)


def _after(here: Moment, updates: Mapping[str, Term], scope: Scope) -> Scope:
    """What the variables stand for after a step."""
    numbers: dict[str, Number] = {}
    truths: dict[str, Truth] = {}
    for v in here.problem.variables:
        term = updates.get(v.name, ("name", v.name))
        if v.kind == "boolean":
            yes, no = truth(term, True, scope), truth(term, False, scope)
            truths[v.name] = (yes, no)
            numbers[v.name] = ((yes, constant(1)[0][1]), (no, constant(0)[0][1]))
        else:
            numbers[v.name] = value(term, scope)
    return replace(here.plain, numbers=numbers, truths=truths)
