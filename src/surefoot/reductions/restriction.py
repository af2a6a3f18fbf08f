"""Restrict a problem to the runs that stay within bounds of some variables.

The starts are those within the bounds, and a step is taken only if it keeps them: the environment is assumed
to choose so. A run that cannot go on without leaving the bounds neither goes on nor counts as ended, as
wherever an assumption cannot be kept. So what holds of the result holds of the original as long as the bounds
are kept, and every run of the result is a run of the original. A step that would leave a variable's declared
range is an error of the model and stays one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from math import ceil, floor

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Choice, Edge, Environment, Outcome, Variable
from surefoot.problem.problem import Problem
from surefoot.term.interval import Span, defined_span, span_of
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, Const, Term, Var, conjunction_of, disjunction_of
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Arithmetic, Int, Real, ValueType


class EmptyRegion(InvalidProblem):
    """No value is within the bounds: whatever were said about them would be vacuous."""


def restrict_variables(problem: Problem, spans: Mapping[str, Span]) -> Problem:
    """The runs all of whose states are within these bounds."""
    environment = problem.environment
    if environment.flow is not None:
        raise Unsupported("bounds of an environment with a flow cannot be moved", fix="discretise it first")
    narrowed = {v.name: _narrow_variable(v, spans) for v in environment.variables}
    if unknown := sorted(set(spans) - set(narrowed)):
        raise InvalidProblem(f"`{unknown[0]}` is not a variable of `{environment.name}`")
    variables = tuple(narrowed.values())
    within = conjunction_of(tuple(span.condition(Var(name)) for name, span in spans.items()))
    components = tuple(
        replace(c, edges=tuple(_keep_bounds(e, spans, variables, environment) for e in c.edges))
        for c in environment.components
    )
    start = conjunction_of((environment.initial, within))
    where = replace(environment, variables=variables, initial=start, components=components)
    return replace(problem, environment=where)


def _narrow_variable(variable: Variable, spans: Mapping[str, Span]) -> Variable:
    if variable.name not in spans:
        return variable
    return replace(variable, kind=_narrow_type(variable.kind, spans[variable.name], variable.name))


def _narrow_type(kind: ValueType, span: Span, name: str) -> ValueType:
    own = span_of(kind)
    if own is None:
        raise Unsupported(f"`{name}` is not a number, so it has no bounds to move")
    both = own.meet(span)
    low, high = both.low, both.high
    if isinstance(kind, Int):
        low = None if low is None else Fraction(ceil(low))
        high = None if high is None else Fraction(floor(high))
    if low is not None and high is not None and low > high:
        raise EmptyRegion(
            f"no value of `{name}` is left between {show_term(Const(low))} and {show_term(Const(high))}"
        )
    if isinstance(kind, Int):
        return Int(None if low is None else int(low), None if high is None else int(high))
    assert isinstance(kind, Real)
    return Real(low, high, kind.float32)


def _keep_bounds(
    edge: Edge, spans: Mapping[str, Span], variables: tuple[Variable, ...], environment: Environment
) -> Edge:
    """The same step, taken only where it keeps the bounds."""
    wanted = [_next_values(outcome, spans) for outcome in edge.outcomes]
    if not any(wanted):
        return edge
    if any(other != wanted[0] for other in wanted[1:]):
        what = "an edge with several outcomes changes a variable whose bounds are moved in different ways"
        raise Unsupported(what, fix="move the bounds of variables that chance does not change")
    if any(sum(a is not None for a in v.actions) > 1 for v in environment.synchronisations):
        what = "a variable whose bounds are moved is changed by a step of several components"
        raise Unsupported(what, fix="move the bounds of variables that one component changes alone")
    kinds = {v.name: v.kind for v in variables}
    declared = {v.name: v.kind for v in environment.variables}
    known = {**kinds, **{c.name: c.kind for c in edge.chosen}}
    chosen = {c.name: c for c in edge.chosen}
    conditions: list[Term] = []
    for name, value in wanted[0].items():
        span, whole = spans[name], span_of(declared[name]) or Span()
        exact = environment.arithmetic is Arithmetic.EXACT or isinstance(value, Var)
        reached = defined_span(value, known) if exact else None
        proper = reached is not None and whole.contains(reached)
        if reached is not None and span.contains(reached):
            continue
        if proper and isinstance(value, Var) and value.name in chosen:
            chosen[value.name] = _narrow_choice(chosen[value.name], span)
        else:
            wrong = FALSE if proper else ~whole.condition(value)
            conditions.append(disjunction_of((span.condition(value), wrong)))
    assuming = conjunction_of((edge.assuming, *conditions))
    return replace(edge, chosen=tuple(chosen.values()), assuming=assuming)


def _narrow_choice(choice: Choice, span: Span) -> Choice:
    """Fewer values to pick from; a law of simulation, which is about all of them, no longer fits."""
    kind = _narrow_type(choice.kind, span, choice.name)
    return choice if kind == choice.kind else Choice(choice.name, kind)


def _next_values(outcome: Outcome, spans: Mapping[str, Span]) -> dict[str, Term]:
    """The new values of those of the variables that an outcome writes, over the state before the step."""
    values: dict[str, Term] = {}
    updates = sorted(outcome.updates, key=lambda u: u.index)
    for number, (_, group) in enumerate(groupby(updates, key=lambda u: u.index)):
        written: dict[str, Term] = {}
        for update in group:
            if isinstance(update.target, Var):
                written[update.target.name] = substitute_names(update.value, values)
            elif number:
                raise Unsupported("bounds cannot be moved where elements of arrays are written in sequence")
        values |= written
    return {name: value for name, value in values.items() if name in spans}
