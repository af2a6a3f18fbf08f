"""A small simulator: one run at a time by the reference semantics, and the starts of finite environments.

What policy and laws leave open is resolved here in the simplest way: among several transitions that remain
possible each is equally likely. Chosen values follow their law, repeated until kind and assumption are met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Any, Literal

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Choice, Environment, Variable
from surefoot.problem.meaning.decision import Decision, action_among, action_names
from surefoot.problem.meaning.initial_values import fixed_values
from surefoot.problem.meaning.transition import Transition, enabled_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import (
    Move,
    State,
    enumerate_outcomes,
    free_choices,
    has_value_type,
    is_initial,
    policy_decision,
)
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import location_key
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

_LARGEST_REJECTIONS = 1000


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """States and the moves between them; `ending` says why there is no further state."""

    states: tuple[State, ...]
    moves: tuple[Move, ...]
    ending: Literal["deadlocked", "stalled", "truncated"]


def simulate_run(problem: Problem, start: State, steps: int, rng: Random) -> ReferenceRun:
    """One run of at most `steps` steps from a start state."""
    states: list[State] = [start]
    moves: list[Move] = []
    for _ in range(steps):
        made = policy_decision(problem, states[-1])
        controls = made.controls if made else {}
        possible = _transitions_after_draw(problem, states[-1], made, rng)
        if not possible:
            ending: Literal["deadlocked", "stalled"] = "stalled" if made and made.stalls else "deadlocked"
            return ReferenceRun(tuple(states), tuple(moves), ending)
        transition = rng.choice(possible)
        chosen = _draw_choices(problem.environment, states[-1], transition, controls, rng)
        move, state = _draw_outcome(problem.environment, states[-1], transition, chosen, controls, rng)
        moves.append(move)
        states.append(state)
    return ReferenceRun(tuple(states), tuple(moves), "truncated")


def _transitions_after_draw(
    problem: Problem, state: State, made: Decision | None, rng: Random
) -> tuple[Transition, ...]:
    """As `semantics.transitions`, once a sampling policy has drawn its action."""
    environment, policy = problem.environment, problem.policy
    if made is None or policy is None:
        return enabled_transitions(environment, state)
    drawn = rng.choices(list(made.actions), list(made.actions.values()))[0] if made.actions else None
    names = action_names(policy, environment)
    possible = enabled_transitions(environment, state, made.controls)
    return tuple(t for t in possible if action_among(names, environment, t) in (None, drawn))


def _draw_choices(
    environment: Environment,
    state: State,
    transition: Transition,
    controls: Mapping[str, Any],
    rng: Random,
) -> dict[str, Any]:
    free = free_choices(environment, transition)
    assumptions = [environment.components[c].edges[e].assuming for c, e in transition.edges]
    for _ in range(_LARGEST_REJECTIONS):
        chosen = {c.name: _draw_value(c, environment.arithmetic, rng) for c in free}
        names = {**state, **controls, **chosen}
        if all(has_value_type(chosen[c.name], c.kind, environment.arithmetic) for c in free) and all(
            evaluate_term(a, names, environment.arithmetic) for a in assumptions
        ):
            return chosen
    raise Unsupported(
        f"{_LARGEST_REJECTIONS} draws for `{transition.describe(environment)}` all missed its assumption",
        fix="give the chosen values laws that fit the assumption",
    )


def _draw_value(choice: Choice, arithmetic: Arithmetic, rng: Random) -> Any:
    if choice.law is None:
        raise Unsupported(
            f"`{choice.name}` is chosen freely and has no sampling law, so it cannot be simulated",
            fix="give the choice a law, for example uniform(low, high)",
        )
    match choice.kind, choice.law.name, choice.law.parameters:
        case Bool(), "uniform", _:
            return rng.random() < 0.5
        case Int(), "integer", (low, high):
            return rng.randint(int(low), int(high))
        case Real(), "uniform", (low, high):
            return _round_to_arithmetic(low + (high - low) * Fraction(rng.random()), arithmetic)
        case Real(), "normal", (mean, deviation):
            return _round_to_arithmetic(Fraction(rng.gauss(float(mean), float(deviation))), arithmetic)
        case _:
            raise InvalidProblem(f"the law {choice.law} does not fit the choice `{choice.name}`")


def _round_to_arithmetic(value: Fraction, arithmetic: Arithmetic) -> Fraction | float:
    return value if arithmetic is Arithmetic.EXACT else float(value)


def _draw_outcome(
    environment: Environment,
    state: State,
    transition: Transition,
    chosen: Mapping[str, Any],
    controls: Mapping[str, Any],
    rng: Random,
) -> tuple[Move, State]:
    possible = tuple(enumerate_outcomes(environment, state, transition, chosen, controls))
    total = sum((s.probability for s in possible), Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):  # float64 environments may be off by rounding
        raise InvalidProblem(
            f"the outcomes of transition `{transition.describe(environment)}` have total probability {total}"
        )
    drawn = Fraction(rng.random()) * total
    for successor in possible[:-1]:
        drawn -= successor.probability
        if drawn < 0:
            return successor.move, successor.state
    return possible[-1].move, possible[-1].state


def enumerate_initial_states(environment: Environment, limit: int) -> Iterator[State]:
    """Every start state, in order; refuses where more than `limit` candidates would have to be tried.

    Variables that `initial` fixes take that value; all others are enumerated.
    """
    fixed = fixed_values(environment)
    names, options = [], []
    for variable in environment.variables:
        names.append(variable.name)
        options.append([fixed[variable.name]] if variable.name in fixed else _variable_values(variable))
    for component in environment.components:
        if len(component.locations) > 1:
            names.append(location_key(component.name))
            options.append([component.locations.index(location) for location in component.initial])
    if prod(len(o) for o in options) > limit:
        raise Unsupported(f"more than {limit} candidates for start states of `{environment.name}`")
    for values in product(*options):
        if is_initial(environment, state := dict(zip(names, values, strict=True))):
            yield state


def _variable_values(variable: Variable) -> list[Any]:
    match variable.kind:
        case Bool():
            return [False, True]
        case Int(int() as low, int() as high) if high - low < 10**6:
            return list(range(low, high + 1))
        case _:
            raise Unsupported(f"`{variable.name}` may start with too many values to enumerate")
