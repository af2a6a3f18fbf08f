"""Labels and quantities: terms of a property, as functions of a state and of what the policy does there.

The names of `term/reserved_names.py` become entries behind the state: `at(c, l)` compares a location, the
others are facts that the exploration finds out for each state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import Decision
from surefoot.problem.problem import Problem
from surefoot.term.closures import Closure, compile_closure
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action, location_parts, output_index
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, equal, free_names
from surefoot.term.traverse import map_variables
from surefoot.term.value_types import Arithmetic

UNTIL = "until"  # the name of the condition in which states are not left
STAYS = "stays"  # and of the one in which they are not passed through


@dataclass(frozen=True, slots=True)
class StateConditions:
    """Terms by name as functions of a state followed by `facts`: reserved names and controls."""

    facts: tuple[str, ...]
    closures: Mapping[str, Closure]
    terms: Mapping[str, Term]  # over the state alone where there are no facts

    @property
    def outputs(self) -> bool:
        return any(output_index(name) is not None for name in self.facts)

    def mentions_facts(self, name: str) -> bool:
        return not free_names(self.terms[name]).isdisjoint(self.facts)

    def values(self, problem: Problem, made: Decision | None, deadlocked: bool) -> tuple[Any, ...]:
        """The facts of one state."""
        return tuple(_fact_value(problem, name, made, deadlocked) for name in self.facts)


def compile_conditions(problem: Problem, layout: RowLayout, terms: Mapping[str, Term]) -> StateConditions:
    environment = problem.environment
    own = set(layout.names)
    located = {
        name: map_variables(term, lambda v: locate_by_number(environment, v)) for name, term in terms.items()
    }
    mentioned = {n for term in located.values() for n in free_names(term)} - own
    facts = tuple(sorted(mentioned))
    for fact in facts:
        _check_fact_name(problem, fact)
    slots = {name: i for i, name in enumerate((*layout.names, *facts))}
    kinds = {name: layout.kinds[name] for name in layout.names}
    closures = {
        name: compile_closure(term, slots, kinds, environment.arithmetic) for name, term in located.items()
    }
    return StateConditions(facts, closures, located)


def compile_exploration_conditions(
    problem: Problem,
    layout: RowLayout,
    labels: Mapping[str, Term],
    quantities: Mapping[str, Term],
    until: Term,
    through: Term,
) -> StateConditions:
    """Labels as `l:NAME`, quantities as `q:NAME`, and where exploration ends or passes through."""
    terms = {f"l:{name}": term for name, term in labels.items()}
    terms |= {f"q:{name}": term for name, term in quantities.items()}
    stays = TRUE if through == FALSE else ~through if until == FALSE else until | ~through
    return compile_conditions(problem, layout, terms | {UNTIL: until, STAYS: stays})


def locate_by_number(environment: Environment, variable: Var) -> Term:
    """`at(component, location)` as a comparison of the number that a state has for the component."""
    place = location_parts(variable.name)
    if place is None:
        return variable
    component = next((c for c in environment.components if c.name == place[0]), None)
    if component is None or place[1] not in component.locations:
        raise InvalidProblem(f"`{variable.name}`: there is no such location")
    if len(component.locations) == 1:
        return TRUE
    return equal(Var(f"@{component.name}"), Const(component.locations.index(place[1])))


def _check_fact_name(problem: Problem, name: str) -> None:
    if name == DEADLOCKED:
        return
    is_control = name in {c.name for c in problem.environment.controls}
    if not (
        name == STALLED or is_control or output_index(name) is not None or chosen_action(name) is not None
    ):
        raise InvalidProblem(f"`{name}` is not declared")
    if problem.policy is None:
        raise InvalidProblem(f"`{name}` needs a policy")


def _fact_value(problem: Problem, name: str, made: Decision | None, deadlocked: bool) -> Any:
    if name == DEADLOCKED:
        return deadlocked
    if made is None:
        raise InvalidProblem(f"`{name}` needs a policy")
    if name == STALLED:
        return made.stalls
    if (index := output_index(name)) is not None:
        if made.outputs is None:
            raise InvalidProblem(f"`{name}` needs a network policy")
        value = made.outputs[index]
        return Fraction(value) if problem.environment.arithmetic is Arithmetic.EXACT else value
    if (action := chosen_action(name)) is not None:
        return action in made.actions
    return made.controls[name]
