"""Runs of a problem as queries: states at times 0, 1, …, a network call for each, and the moves between.

Every run of the reference semantics of this many steps, whose states keep to their ranges, is a solution.
Variable `x` at time t is called `x@t`, output i `output[i]@t`, and the n-th value that the environment may
pick (values of different edges with the same name and range are one) `chosen[n]@t`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from ...kernel.float32 import is_float32_number
from ...kernel.query import (
    ClaimedQuery,
    ClaimedVariable,
    Ends,
    FlatNetworkCall,
    Formula,
    Linear,
    formula_parts,
)
from ...kernel.strict_json import Refused
from ...kernel.term import Term
from .canonical_problem import CanonicalEdge, CanonicalProblem
from .formula import (
    FALSE,
    form_comparison,
    formula_and,
    formula_names,
    formula_or,
    propagate_single_bounds,
    simplify_by_bounds,
)
from .term import FormulaScope, Number, number_cases, truth_formula, variable_cases
from .time_frame import TimeFrame, chosen_names

_ONE = Fraction(1)


def run_query(problem: CanonicalProblem, steps: int, parts: Iterable[Formula], what: str) -> ClaimedQuery:
    """The runs of this many steps that satisfy all parts. A network is called where its outputs matter."""
    moments = [TimeFrame(problem, time) for time in range(steps + 1)]
    whole = formula_and((*(transition_formula(m) for m in moments[:-1]), *parts))
    variables = {v.name: v for m in moments for v in m.frame_variables()}
    if len(variables) < sum(1 for m in moments for _ in m.frame_variables()):
        raise Refused("two variables have the same name")
    bounds: dict[str, Ends] = {v.name: (v.low, v.high) for v in variables.values()}
    integers = frozenset(v.name for v in variables.values() if v.kind == "integer")
    whole, known = propagate_single_bounds(whole, bounds, integers)
    used = formula_names(whole)
    calls = []
    for moment in moments:
        if used.intersection(moment.computed_outputs):
            calls.append(_network_call(moment, known, integers))
            used |= set(moment.computed_outputs) | {n for line in calls[-1].inputs for n in line if n}
    return ClaimedQuery(tuple(v for v in variables.values() if v.name in used), tuple(calls), whole, what)


def _network_call(moment: TimeFrame, bounds: Mapping[str, Ends], integers: frozenset[str]) -> FlatNetworkCall:
    """The network reads the observed terms, each of which must be linear within these bounds, or free."""
    inputs: list[Linear] = []
    for number, seen in enumerate(moment.problem.observe):
        if number in moment.problem.free.inputs:
            inputs.append({moment.free_input(number): _ONE})
            continue
        cases = number_cases(seen, moment.plain)
        lines = [line for where, line in cases if simplify_by_bounds(where, bounds, integers) != FALSE]
        if any(line != lines[0] for line in lines[1:]):
            raise Refused("an observed term is not linear")
        inputs.append(lines[0] if lines else {})
    assert moment.problem.network is not None
    return FlatNetworkCall(moment.problem.network, tuple(inputs), moment.computed_outputs)


def transition_formula(moment: TimeFrame) -> Formula:
    """Some leap is taken; what all of them have in common is said once."""
    ways = _transition_branches(moment)
    if not ways:
        return FALSE
    common = [part for part in ways[0] if all(part in way for way in ways[1:])]
    own = formula_or(formula_and(part for part in way if part not in common) for way in ways)
    return formula_and((*common, own))


def _transition_branches(moment: TimeFrame) -> list[tuple[Formula, ...]]:
    """The ways to move on: each a list of what must hold, the next state included."""
    found = []
    for number, edge in enumerate(moment.problem.edges):
        scope = scope_with_choices(moment, edge)
        before = (moment.edge_permitted(number), truth_formula(edge.assuming, True, scope))
        for updates in edge.outcomes:
            after = (_update_formula(moment, v, updates, scope) for v in moment.problem.variables)
            whole = formula_and((*before, *after))
            if whole != FALSE:
                found.append(formula_parts(whole) if whole[0] == "and" else (whole,))
    return found


def scope_with_choices(moment: TimeFrame, edge: CanonicalEdge) -> FormulaScope:
    picks = chosen_names(moment.problem)
    numbers = {c.name: variable_cases(moment.at(picks[c])) for c in edge.chosen}
    truths = {c.name: moment.bit(picks[c]) for c in edge.chosen if c.kind == "boolean"}
    scope = moment.scope
    return replace(scope, numbers={**scope.numbers, **numbers}, truths={**scope.truths, **truths})


def successor_scope(moment: TimeFrame, updates: Mapping[str, Term], scope: FormulaScope) -> FormulaScope:
    """The names of the next state, as terms of this one."""
    after = [(v, updates.get(v.name, ("name", v.name))) for v in moment.problem.variables]
    return bind_terms(FormulaScope(bounds=moment.plain.bounds), after, scope)


def bind_terms(
    base: FormulaScope, more: Iterable[tuple[ClaimedVariable, Term]], scope: FormulaScope
) -> FormulaScope:
    """A scope with more variables, whose values are terms of another one."""
    numbers: dict[str, Number] = dict(base.numbers)
    truths = dict(base.truths)
    for variable, term in more:
        if variable.kind == "boolean":
            yes, no = truth_formula(term, True, scope), truth_formula(term, False, scope)
            truths[variable.name] = (yes, no)
            numbers[variable.name] = tuple(c for c in ((yes, {"": _ONE}), (no, {})) if c[0] != FALSE)
        else:
            numbers[variable.name] = number_cases(term, scope)
    return replace(base, numbers=numbers, truths=truths)


def _update_formula(
    moment: TimeFrame, target: ClaimedVariable, updates: Mapping[str, object], scope: FormulaScope
) -> Formula:
    """The next value of a variable."""
    same = ("name", target.name)
    new, term = moment.at(target.name, moment.time + 1), updates.get(target.name, same)
    if target.kind == "boolean" and term != same:
        bits = moment.bit(target.name, moment.time + 1)
        ways = ((bits[0], truth_formula(term, True, scope)), (bits[1], truth_formula(term, False, scope)))
        return formula_or(formula_and(way) for way in ways)
    cases = number_cases(term, scope)
    return formula_or(formula_and((where, form_comparison("=", {new: _ONE}, line))) for where, line in cases)


def states_differ(early: TimeFrame, late: TimeFrame) -> Formula:
    """Some variable does not have the same value at these times."""
    pairs = [({early.at(v.name): _ONE}, {late.at(v.name): _ONE}) for v in early.problem.variables]
    return formula_or(form_comparison("<", *way) for pair in pairs for way in (pair, pair[::-1]))


def escape_formula(moment: TimeFrame) -> Formula:
    """A permitted step may lead out of the range of a variable."""
    found = []
    for number, edge in enumerate(moment.problem.edges):
        scope = scope_with_choices(moment, edge)
        before = (moment.edge_permitted(number), truth_formula(edge.assuming, True, scope))
        for updates in edge.outcomes:
            found.append(formula_and((*before, range_violations(moment, updates, scope))))
    return formula_or(found)


def range_violations(moment: TimeFrame, updates: Mapping[str, Term], scope: FormulaScope) -> Formula:
    """The updates may lead out of the range of a variable."""
    return formula_or(
        range_violation(moment, v, number_cases(updates[v.name], scope))
        for v in moment.problem.variables
        if v.name in updates and v.kind != "boolean"
    )


def range_violation(moment: TimeFrame, target: ClaimedVariable, cases: Number) -> Formula:
    """A value may be outside the range of a variable; refused where it may be of another kind."""
    kinds = {v.name: v.kind for v in moment.frame_variables()}
    found = []
    for where, line in cases:
        if target.kind == "integer" and not _is_whole(line, kinds):
            raise Refused(f"`{target.name[:60]}` is an integer, but its new value may be none")
        alone = len(line) == 1 and all(c == 1 and kinds.get(n) == "float32" for n, c in line.items())
        fixed = not line.keys() - {""} and is_float32_number(line.get("", Fraction(0)))
        if target.kind == "float32" and not alone and not fixed:
            raise Refused(f"`{target.name[:60]}` is a float32 number, but its new value may be none")
        below = FALSE if target.low is None else form_comparison("<", line, {"": target.low})
        above = FALSE if target.high is None else form_comparison("<", {"": target.high}, line)
        found.append(formula_and((where, formula_or((below, above)))))
    return formula_or(found)


def _is_whole(line: Mapping[str, Fraction], kinds: Mapping[str, str]) -> bool:
    return all(c.denominator == 1 and (not n or kinds.get(n) == "integer") for n, c in line.items())
