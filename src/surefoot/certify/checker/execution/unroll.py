"""Runs of a problem as queries: states at times 0, 1, …, a network call for each, and the moves between.

Every run of the reference semantics of this many steps, whose states keep to their ranges, is a solution.
Variable `x` at time t is called `x@t`, output i `output[i]@t`, and the n-th value that the environment may
pick (values of different edges with the same name and range are one) `chosen[n]@t`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from ..inference import is_single
from ..number import Refused
from ..query import Call, Formula, Linear, Query, inner
from .formula import FALSE, Ends, all_of, compare, names_in, settled_by_each_other, simplified, some_of
from .problem import Declared, Edge, Problem
from .state import Moment, chosen_names
from .term import Number, Scope, truth, value, variable

_ONE = Fraction(1)


def run_query(problem: Problem, steps: int, parts: Iterable[Formula], what: str) -> Query:
    """The runs of this many steps that satisfy all parts. A network is called where its outputs matter."""
    moments = [Moment(problem, time) for time in range(steps + 1)]
    whole = all_of((*(move(m) for m in moments[:-1]), *parts))
    variables = {v.name: v for m in moments for v in m.declared()}
    if len(variables) < sum(1 for m in moments for _ in m.declared()):
        raise Refused("two variables have the same name")
    bounds: dict[str, Ends] = {v.name: (v.low, v.high) for v in variables.values()}
    integers = frozenset(v.name for v in variables.values() if v.kind == "integer")
    whole, known = settled_by_each_other(whole, bounds, integers)
    used = names_in(whole)
    calls = []
    for moment in moments:
        if used.intersection(moment.computed):
            calls.append(_call(moment, known, integers))
            used |= set(moment.computed) | {n for line in calls[-1].inputs for n in line if n}
    return Query(tuple(v for v in variables.values() if v.name in used), tuple(calls), whole, what)


def _call(moment: Moment, bounds: Mapping[str, Ends], integers: frozenset[str]) -> Call:
    """The network reads the observed terms, each of which must be linear within these bounds, or free."""
    inputs: list[Linear] = []
    for number, seen in enumerate(moment.problem.observe):
        if number in moment.problem.free.inputs:
            inputs.append({moment.free_input(number): _ONE})
            continue
        cases = value(seen, moment.plain)
        lines = [line for where, line in cases if simplified(where, bounds, integers) != FALSE]
        if any(line != lines[0] for line in lines[1:]):
            raise Refused("an observed term is not linear")
        inputs.append(lines[0] if lines else {})
    assert moment.problem.network is not None
    return Call(moment.problem.network, tuple(inputs), moment.computed)


def move(moment: Moment) -> Formula:
    """Some leap is taken; what all of them have in common is said once."""
    ways = _leaps(moment)
    if not ways:
        return FALSE
    common = [part for part in ways[0] if all(part in way for way in ways[1:])]
    own = some_of(all_of(part for part in way if part not in common) for way in ways)
    return all_of((*common, own))


def _leaps(moment: Moment) -> list[tuple[Formula, ...]]:
    """The ways to move on: each a list of what must hold, the next state included."""
    found = []
    for number, edge in enumerate(moment.problem.edges):
        scope = with_chosen(moment, edge)
        before = (moment.permitted(number), truth(edge.assuming, True, scope))
        for updates in edge.outcomes:
            after = (_becomes(moment, v, updates, scope) for v in moment.problem.variables)
            whole = all_of((*before, *after))
            if whole != FALSE:
                found.append(inner(whole) if whole[0] == "and" else (whole,))
    return found


def with_chosen(moment: Moment, edge: Edge) -> Scope:
    picks = chosen_names(moment.problem)
    numbers = {c.name: variable(moment.at(picks[c])) for c in edge.chosen}
    truths = {c.name: moment.bit(picks[c]) for c in edge.chosen if c.kind == "boolean"}
    scope = moment.scope
    return replace(scope, numbers={**scope.numbers, **numbers}, truths={**scope.truths, **truths})


def _becomes(moment: Moment, target: Declared, updates: Mapping[str, object], scope: Scope) -> Formula:
    """The next value of a variable."""
    same = ("name", target.name)
    new, term = moment.at(target.name, moment.time + 1), updates.get(target.name, same)
    if target.kind == "boolean" and term != same:
        bits = moment.bit(target.name, moment.time + 1)
        ways = ((bits[0], truth(term, True, scope)), (bits[1], truth(term, False, scope)))
        return some_of(all_of(way) for way in ways)
    cases = value(term, scope)
    return some_of(all_of((where, compare("=", {new: _ONE}, line))) for where, line in cases)


def are_different(early: Moment, late: Moment) -> Formula:
    """Some variable does not have the same value at these times."""
    pairs = [({early.at(v.name): _ONE}, {late.at(v.name): _ONE}) for v in early.problem.variables]
    return some_of(compare("<", *way) for pair in pairs for way in (pair, pair[::-1]))


def escape(moment: Moment) -> Formula:
    """A permitted step may lead out of the range of a variable."""
    found = []
    for number, edge in enumerate(moment.problem.edges):
        scope = with_chosen(moment, edge)
        before = (moment.permitted(number), truth(edge.assuming, True, scope))
        for updates in edge.outcomes:
            leaving = some_of(
                leaves(moment, v, value(updates[v.name], scope))
                for v in moment.problem.variables
                if v.name in updates and v.kind != "boolean"
            )
            found.append(all_of((*before, leaving)))
    return some_of(found)


def leaves(moment: Moment, target: Declared, cases: Number) -> Formula:
    """A value may be outside the range of a variable; refused where it may be of another kind."""
    kinds = {v.name: v.kind for v in moment.declared()}
    found = []
    for where, line in cases:
        if target.kind == "integer" and not _is_whole(line, kinds):
            raise Refused(f"`{target.name[:60]}` is an integer, but its new value may be none")
        alone = len(line) == 1 and all(c == 1 and kinds.get(n) == "float32" for n, c in line.items())
        fixed = not line.keys() - {""} and is_single(line.get("", Fraction(0)))
        if target.kind == "float32" and not alone and not fixed:
            raise Refused(f"`{target.name[:60]}` is a float32 number, but its new value may be none")
        below = FALSE if target.low is None else compare("<", line, {"": target.low})
        above = FALSE if target.high is None else compare("<", {"": target.high}, line)
        found.append(all_of((where, some_of((below, above)))))
    return some_of(found)


def _is_whole(line: Mapping[str, Fraction], kinds: Mapping[str, str]) -> bool:
    return all(c.denominator == 1 and (not n or kinds.get(n) == "integer") for n, c in line.items())
