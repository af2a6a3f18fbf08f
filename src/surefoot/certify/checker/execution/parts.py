"""A set of states that no run leaves, one part of it after the other (docs/certificates.md, section 9).

The set is given by a condition on states. Its parts are the conjunctions that it is multiplied out to. Every
part has its own queries: about one state alone, because a next value is written as the term that it gets.
What the bounds of a part exclude is left out, so that each query speaks of what is near its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..number import Refused
from ..query import Formula, Query, inner
from .formula import FALSE, TRUE, Ends, all_of, narrowed, simplified, some_of
from .problem import Problem
from .state import Moment
from .term import Number, Scope, Term, Truth, constant, truth, value
from .unroll import leaves, run_query, with_chosen

MOST_PARTS = 50_000
Bounds = Mapping[str, Ends]
_NONE: frozenset[str] = frozenset()


def queries(problem: Problem, inside: Term) -> Iterator[tuple[str, Query]]:
    """What no values may satisfy so that every state of every run is inside and not bad, by name.

    `start n`: a start of part n of the initial condition is outside. `bad n`: a state of part n is bad.
    `step n/e/o`: from part n, outcome o of edge e leads outside, or out of the range of a variable.
    """
    here = Moment(problem, 0)
    declared = list(here.declared())
    bounds: Bounds = {v.name: (v.low, v.high) for v in declared}
    integers = frozenset(v.name for v in declared if v.kind == "integer")

    def tight(whole: Formula) -> Formula:
        return simplified(whole, bounds, integers)

    outside = tight(truth(inside, False, here.plain))
    for number, (part, known) in enumerate(parts(tight(here.initial()), bounds)):
        yield from _query(problem, f"start {number}", part, within(outside, known))
    bad, steps = tight(here.condition(True)), [(n, tight(f)) for n, f in _steps(here, inside)]
    for number, (part, known) in enumerate(parts(tight(truth(inside, True, here.plain)), bounds)):
        yield from _query(problem, f"bad {number}", part, within(bad, known))
        for name, leaving in steps:
            yield from _query(problem, f"step {number}/{name}", part, within(leaving, known))


def within(whole: Formula, bounds: Bounds) -> Formula:
    """A formula of which comparisons that the bounds decide are gone."""
    return simplified(whole, bounds, _NONE)


def parts(whole: Formula, bounds: Bounds) -> Iterator[tuple[Formula, Bounds]]:
    """The conjunctions that a formula is multiplied out to, and the bounds that each of them gives.

    The alternatives of the first disjunction come one after the other, and so on; what the bounds decide is
    left out, and so are conjunctions that are false at sight.
    """
    waiting: list[tuple[tuple[Formula, ...], Formula, Bounds]] = [((), whole, bounds)]
    count = 0
    while waiting:
        kept, rest, known = waiting.pop()
        while (rest := within(rest, known))[0] != "or" and rest != TRUE:
            together = inner(rest) if rest[0] == "and" else (rest,)
            single = [part for part in together if part[0] != "or"]
            if not single:
                break
            kept, known = (*kept, *single), narrowed(known, single)
            rest = all_of(part for part in together if part[0] == "or")
        if rest == TRUE:
            count += 1
            if count > MOST_PARTS:
                raise Refused(f"a condition with more than {MOST_PARTS} parts")
            yield all_of(kept), known
            continue
        first, *others = inner(rest) if rest[0] == "and" else (rest,)
        for alternative in reversed(inner(first)):
            waiting.append((kept, all_of((alternative, *others)), known))


def _query(problem: Problem, name: str, part: Formula, what: Formula) -> Iterator[tuple[str, Query]]:
    if what == FALSE:
        return
    query = run_query(problem, 0, (part, what), name)
    if query.formula != FALSE:
        yield name, query


def _steps(here: Moment, inside: Term) -> Iterator[tuple[str, Formula]]:
    """For every outcome of every edge: it may come about, and lead outside or out of a range."""
    problem = here.problem
    for number, edge in enumerate(problem.edges):
        scope = with_chosen(here, edge)
        before = all_of((here.guards[number][0], truth(edge.assuming, True, scope)))
        for outcome, updates in enumerate(edge.outcomes):
            escapes = some_of(
                leaves(here, v, value(updates[v.name], scope))
                for v in problem.variables
                if v.name in updates and v.kind != "boolean"
            )
            outside = truth(inside, False, _after(here, updates, scope))
            found = all_of((before, some_of((escapes, outside)), here.permitted(number)))
            if found != FALSE:
                yield f"{number}/{outcome}", found


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
