"""Reachable states by the reference semantics alone: slow, and the measure for everything else."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, enumerate_successors, holds_in_state, is_initial
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import location_key
from surefoot.term.term import FALSE, Apply, Op, Term, Var
from surefoot.term.value_types import Bool


def question(environment: Environment) -> Problem:
    return Problem("question", environment, None, Never(FALSE))


def starts(environment: Environment) -> Iterator[State]:
    """Every initial state: variables that an equation fixes, and all values of the others."""
    whole = environment.initial
    parts = whole.args if isinstance(whole, Apply) and whole.op is Op.AND else (whole,)
    fixed: dict[str, Any] = {}
    for part in parts:
        match part:
            case Apply(Op.EQ, (Var(name), value)):
                fixed[name] = evaluate_term(value, {})
    options: list[list[tuple[str, Any]]] = []
    for variable in environment.variables:
        kind = variable.kind
        if variable.name in fixed:
            values = [fixed[variable.name]]
        else:
            values = [False, True] if isinstance(kind, Bool) else list(range(kind.low, kind.high + 1))
        options.append([(variable.name, value) for value in values])
    for component in environment.components:
        if len(component.locations) > 1:
            key = location_key(component.name)
            options.append([(key, component.locations.index(place)) for place in component.initial])
    for combination in product(*options):
        if is_initial(environment, dict(combination)):
            yield dict(combination)


def packed(state: State) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(state.items()))


def reachable(environment: Environment, *, stop: Term = FALSE, most: int = 10_000) -> list[State]:
    """All reachable states; those that satisfy `stop` are not left. Outcomes of a step must add up to 1."""
    problem = question(environment)
    found = {packed(s): s for s in starts(environment)}
    waiting = list(found.values())
    while waiting:
        state = waiting.pop()
        if holds_in_state(problem, state, stop):
            continue
        totals: dict[Any, Fraction] = {}
        for successor in enumerate_successors(problem, state):
            taken = successor.move.transition, packed(successor.move.chosen)
            totals[taken] = totals.get(taken, Fraction(0)) + successor.probability
            if (key := packed(successor.state)) not in found:
                found[key] = successor.state
                waiting.append(successor.state)
        assert all(total == 1 for total in totals.values())
        assert len(found) <= most
    return list(found.values())
