"""What a problem means: the reference against which encoders, compiled code and replay are tested.

Decided here, once:
- A state maps variable names to values and `@component` to the index of its location (where it has several).
- The policy is asked where at least one action of its own is enabled (or where it sets controls). Transitions
  that are not among its actions stay the environment's choice. Ties go to the lowest output.
- An inapplicable choice stalls: only the environment's own transitions remain. A state without any enabled
  transition is deadlocked. Neither is silently replaced by another action.
- A run ends where no transition is left (`may_end`). A policy that samples may draw every action of its
  network: where one of them is not enabled and the environment has no transition of its own, a run may end,
  and another may go on. `chosen(a)` and `stalled` say what it may draw.
- Guards decide what is enabled; values that the environment chooses must satisfy `assuming`. Where nothing
  satisfies it the assumption cannot be kept: such a run is not one of the environment's, and it neither goes
  on nor counts as ended.
- Synchronised edges read the same state; updates of one index happen at once, lower indices first.
- A value outside its variable's kind is an error of the model, not a state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Choice, Edge, Environment, Outcome, Update
from surefoot.problem.meaning.decision import (
    Decision,
    action_among,
    action_names,
    decide_and_enable,
    decide_in_state,
)
from surefoot.problem.meaning.transition import Transition, enabled_transitions
from surefoot.problem.problem import Problem
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.float32 import round_to_float32
from surefoot.term.number import as_doubles, brief_number, within_doubles
from surefoot.term.reserved_names import (
    DEADLOCKED,
    STALLED,
    chosen_action,
    location_key,
    location_parts,
    output_index,
)
from surefoot.term.term import Term, free_names, split_target
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

State: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Move:
    """Which transition is taken, which outcome of each of its edges, and the values the environment chose."""

    transition: Transition
    outcomes: tuple[int, ...]
    chosen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Successor:
    move: Move
    probability: Fraction
    state: State
    rewards: Mapping[str, Any]


class NotAStep(InvalidProblem):
    """The move cannot be made in this state."""


def has_value_type(value: Any, kind: ValueType, arithmetic: Arithmetic = Arithmetic.EXACT) -> bool:
    """Is the value one of this kind? In float64 a real number is a `float`."""
    match kind:
        case Bool():
            return isinstance(value, bool)
        case Int(low, high):
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and (low is None or low <= value) and (high is None or value <= high)
        case Real(low, high, float32):
            if not isinstance(value, int | Fraction | float) or isinstance(value, bool):
                return False
            if isinstance(value, float) and not isfinite(value):
                return False
            nearest = round_to_float32(value) if float32 else None
            if nearest is not None and not (isfinite(nearest) and Fraction(float(nearest)) == value):
                return False
            if arithmetic is Arithmetic.FLOAT64:
                return isinstance(value, float) and within_doubles(value, low, high)
            return (low is None or low <= value) and (high is None or value <= high)
        case Array(element, length):
            several = isinstance(value, tuple) and len(value) == length
            return several and all(has_value_type(v, element, arithmetic) for v in value)


def is_initial(environment: Environment, state: State) -> bool:
    """Is this one of the states in which runs start?"""
    own, arithmetic = environment.variables, environment.arithmetic
    if not all(v.name in state and has_value_type(state[v.name], v.kind, arithmetic) for v in own):
        return False
    for component in environment.components:
        if len(component.locations) > 1:
            index = state.get(location_key(component.name))
            if type(index) is not int or not 0 <= index < len(component.locations):
                return False
            if component.locations[index] not in component.initial:
                return False
    return bool(evaluate_term(environment.initial, state, environment.arithmetic))


def policy_decision(problem: Problem, state: State) -> Decision | None:
    """What the policy does here; None when the problem has no policy."""
    return None if problem.policy is None else decide_in_state(problem.policy, problem.environment, state)


def permitted_transitions(problem: Problem, state: State) -> tuple[Transition, ...]:
    """The transitions that policy and environment together permit in this state."""
    return _permit_in_state(problem, state)[1]


def _permit_in_state(problem: Problem, state: State) -> tuple[Decision | None, tuple[Transition, ...]]:
    """What the policy decides, and the transitions that it and the environment permit."""
    environment, policy = problem.environment, problem.policy
    if policy is None:
        return None, enabled_transitions(environment, state)
    made, possible = decide_and_enable(policy, environment, state)
    names, allowed = action_names(policy, environment), {None, *made.actions}
    return made, tuple(t for t in possible if action_among(names, environment, t) in allowed)


def may_end(problem: Problem, state: State) -> bool:
    """May a run end here: does something that the policy may pick leave no transition at all?

    Where the policy draws, a run may end although other draws go on.
    """
    environment, policy = problem.environment, problem.policy
    if policy is None:
        return not enabled_transitions(environment, state)
    made, possible = decide_and_enable(policy, environment, state)
    names = action_names(policy, environment)
    actions = [action_among(names, environment, t) for t in possible]
    if None in actions:
        return False
    return made.stalls or not any(action in made.actions for action in actions)


def free_choices(environment: Environment, transition: Transition) -> tuple[Choice, ...]:
    """The values that the environment picks freely when it takes this transition."""
    return tuple(c for edge in _transition_edges(environment, transition) for c in edge.chosen)


def enumerate_outcomes(
    environment: Environment,
    state: State,
    transition: Transition,
    chosen: Mapping[str, Any],
    controls: Mapping[str, Any],
    only: tuple[int, ...] | None = None,
) -> Iterator[Successor]:
    """Every outcome of positive probability, or `only` this one, with the next state."""
    names = {**state, **controls, **chosen}
    edges = _transition_edges(environment, transition)
    for picks in product(*(range(len(e.outcomes)) for e in edges)):
        if only is not None and picks != only:
            continue
        parts = [e.outcomes[i] for e, i in zip(edges, picks, strict=True)]
        likelihood = Fraction(1)
        for part in parts:
            likelihood *= Fraction(evaluate_term(part.probability, names, environment.arithmetic))
        if likelihood < 0 or likelihood > 1:
            raise Undefined(
                f"probability {brief_number(likelihood)} in transition `{transition.describe(environment)}`"
            )
        if likelihood > 0:
            after = _next_state(environment, state, transition, parts, names)
            rewards: dict[str, Any] = {}
            for part in parts:
                for reward, amount in part.rewards:
                    rewards[reward] = rewards.get(reward, 0) + evaluate_term(
                        amount, names, environment.arithmetic
                    )
            yield Successor(Move(transition, picks, dict(chosen)), likelihood, after, rewards)


def _transition_edges(environment: Environment, transition: Transition) -> list[Edge]:
    return [environment.components[c].edges[e] for c, e in transition.edges]


def _next_state(
    environment: Environment,
    state: State,
    transition: Transition,
    parts: list[Outcome],
    names: Mapping[str, Any],
) -> State:
    after = dict(state)
    updates = sorted((u for part in parts for u in part.updates), key=lambda u: u.index)
    for index in dict.fromkeys(u.index for u in updates):
        before = {**names, **after}
        written: set[object] = set()
        for update in (u for u in updates if u.index == index):
            _apply_update(environment, after, before, update, written)
    for (number, _), part in zip(transition.edges, parts, strict=True):
        component = environment.components[number]
        if len(component.locations) > 1:
            after[location_key(component.name)] = component.locations.index(part.target)
    for variable in environment.variables:
        if not has_value_type(after[variable.name], variable.kind, environment.arithmetic):
            raise Undefined(
                f"`{variable.name}` becomes {brief_number(after[variable.name])}, outside its kind, "
                f"in transition `{transition.describe(environment)}`"
            )
    return after


def _apply_update(
    environment: Environment,
    after: dict[str, Any],
    before: Mapping[str, Any],
    update: Update,
    written: set[object],
) -> None:
    value = evaluate_term(update.value, before, environment.arithmetic)
    name, indices = split_target(update.target)
    path = tuple(evaluate_term(index, before, environment.arithmetic) for index in indices)
    if environment.arithmetic is Arithmetic.FLOAT64 and _holds_reals(environment, name):
        value = _double_to_write(value, name)
    if (name, path) in written:
        raise Undefined(f"`{name}` is written twice in one step")
    written.add((name, path))
    after[name] = _replace_element(after[name], path, value)


def _holds_reals(environment: Environment, name: str) -> bool:
    kind = next(v.kind for v in environment.variables if v.name == name)
    while isinstance(kind, Array):
        kind = kind.element
    return isinstance(kind, Real)


def _double_to_write(value: Any, name: str) -> Any:
    """What a float64 environment writes into a real variable is a double."""
    try:
        return as_doubles(value)
    except OverflowError:
        raise Undefined(f"what is written into `{name}` is beyond float64") from None


def _replace_element(old: Any, path: tuple[int, ...], value: Any) -> Any:
    if not path:
        return value
    if not 0 <= path[0] < len(old):
        raise Undefined(f"index {brief_number(path[0])} is outside an array of {len(old)}")
    return (*old[: path[0]], _replace_element(old[path[0]], path[1:], value), *old[path[0] + 1 :])


def enumerate_successors(problem: Problem, state: State) -> Iterator[Successor]:
    """Every next state; only where the environment's free choices are finitely many."""
    made, permitted = _permit_in_state(problem, state)
    controls = made.controls if made else {}
    for transition in permitted:
        for chosen in _enumerate_choices(problem.environment, transition):
            if _satisfies_assumption(problem.environment, state, transition, chosen, controls):
                yield from enumerate_outcomes(problem.environment, state, transition, chosen, controls)


def _enumerate_choices(environment: Environment, transition: Transition) -> Iterator[Mapping[str, Any]]:
    picks: list[range | tuple[bool, bool]] = []
    free = free_choices(environment, transition)
    for choice in free:
        match choice.kind:
            case Bool():
                picks.append((False, True))
            case Int(int() as low, int() as high):
                picks.append(range(low, high + 1))
            case _:
                raise Unsupported(f"`{choice.name}` is chosen among infinitely many values")
    for values in product(*picks):
        yield {c.name: v for c, v in zip(free, values, strict=True)}


def _satisfies_assumption(
    environment: Environment,
    state: State,
    transition: Transition,
    chosen: Mapping[str, Any],
    controls: Mapping[str, Any],
) -> bool:
    names = {**state, **controls, **chosen}
    return all(
        evaluate_term(e.assuming, names, environment.arithmetic)
        for e in _transition_edges(environment, transition)
    )


def apply_move(problem: Problem, state: State, move: Move) -> State:
    """The state that a move leads to; raises `NotAStep` unless policy and environment permit it."""
    environment = problem.environment
    made, permitted = _permit_in_state(problem, state)
    if move.transition not in permitted:
        raise NotAStep(f"transition `{move.transition.describe(environment)}` is not permitted here")
    free = free_choices(environment, move.transition)
    if {c.name for c in free} != set(move.chosen):
        raise NotAStep("the move chooses other values than the transition leaves open")
    for choice in free:
        if not has_value_type(move.chosen[choice.name], choice.kind, environment.arithmetic):
            raise NotAStep(f"`{choice.name}` = {brief_number(move.chosen[choice.name])} is outside its kind")
    controls = made.controls if made else {}
    if not _satisfies_assumption(environment, state, move.transition, move.chosen, controls):
        raise NotAStep("the chosen values do not satisfy the edge's assumption")
    given = (environment, state, move.transition, move.chosen, controls)
    for successor in enumerate_outcomes(*given, only=move.outcomes):  # another one may have no value
        return successor.state
    raise NotAStep("the outcome has probability 0")


def holds_in_state(problem: Problem, state: State, condition: Term) -> bool:
    """Does the state satisfy a condition, which may also mention the names of `term/reserved_names.py`?"""
    names = names_in_state(problem, state, free_names(condition))
    return bool(evaluate_term(condition, names, problem.environment.arithmetic))


def names_in_state(problem: Problem, state: State, wanted: Collection[str]) -> dict[str, Any]:
    """The values of all variables, and of those reserved names that are wanted."""
    names = {v.name: state[v.name] for v in problem.environment.variables}
    for name in set(wanted) - set(names):
        names[name] = _reserved_value(problem, state, name)
    return names


def _reserved_value(problem: Problem, state: State, name: str) -> Any:
    environment = problem.environment
    if (place := location_parts(name)) is not None:
        component = next(c for c in environment.components if c.name == place[0])
        return component.locations[state.get(location_key(component.name), 0)] == place[1]
    made = policy_decision(problem, state)
    if name == DEADLOCKED:
        return not enabled_transitions(environment, state, made.controls if made else {})
    if made is None:
        raise InvalidProblem(f"`{name}` needs a policy")
    if name == STALLED:
        return made.stalls
    if (index := output_index(name)) is not None:
        if made.outputs is None:
            raise InvalidProblem(f"`{name}` needs a network policy")
        value = made.outputs[index]
        return Fraction(value) if environment.arithmetic is environment.arithmetic.EXACT else value
    if (action := chosen_action(name)) is not None:
        return action in made.actions
    if name in made.controls:
        return made.controls[name]
    raise InvalidProblem(f"`{name}` is not declared")
