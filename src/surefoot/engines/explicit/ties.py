"""What a policy may decide in a state, whichever way the sums of its networks are ordered.

Proofs cover every action whose output is within rounding of the largest one, and every float32 number that a
control may become. Each possibility is written as a program that decides just that, so that the reference
semantics says what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.evaluate import evaluate_network_batch as evaluate_rows
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_names, action_of, observation_vector
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy
from surefoot.problem.policy import ShieldedPolicy as Shielded
from surefoot.problem.semantics import State
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import TRUE, Const

MOST_VALUES = 4096  # combinations of float32 numbers that controls may become in one state


def possible_decisions(policy: Policy, environment: Environment, state: State) -> tuple[Policy, ...]:
    """One policy for each decision that rounding leaves open in this state; it decides that and no more."""
    if environment.controls:
        return tuple(
            ProgramPolicy((Branch(TRUE, tuple(map(Const, values))),))
            for values in _possible_controls(policy, environment, state)
        )
    own = {
        a
        for t in enabled_transitions(environment, state)
        if (a := action_of(policy, environment, t)) is not None
    }
    if not own:
        return (policy,)  # not asked here
    names = action_names(policy, environment)
    picks = _possible_actions(policy, environment, state, own)
    return tuple(ProgramPolicy(() if pick is None else (Branch(TRUE, pick),), names) for pick in picks)


def _possible_actions(
    policy: Policy, environment: Environment, state: State, own: set[str]
) -> dict[str | None, None]:
    """The actions that may be picked, enabled or not; None: no branch of a program applies."""
    match policy:
        case NeuralPolicy():
            names = action_names(policy, environment)
            applicable = policy.choose is Choose.ARGMAX_APPLICABLE
            ready = [i for i, name in enumerate(names) if not applicable or name in own]
            if not ready:
                raise Undefined("none of the actions of this network is enabled here")
            low, high = _output_bounds(policy, environment, state)
            best = max(low[i] for i in ready)
            return {names[i]: None for i in ready if high[i] >= best}
        case ProgramPolicy(branches):
            then = _first_branch(branches, environment, state)
            if isinstance(then, tuple):
                raise Unsupported("a branch that sets controls where there are none")
            return {then: None} if then is None or isinstance(then, str) else _possible_actions(
                then, environment, state, own
            )  # fmt: skip
        case Shielded(inner, permits, fallback):
            found: dict[str | None, None] = {}
            for pick in _possible_actions(inner, environment, state, own):
                proposed = {chosen_name(a): a == pick for a in action_names(inner, environment)}
                if evaluate_term(permits, {**state, **proposed}, environment.arithmetic):
                    found[pick] = None
                else:
                    found |= _possible_actions(fallback, environment, state, own)
            return found
        case OraclePolicy(name):
            raise Unsupported(f"the policy `{name}` is a Python function, which can only be simulated")


def _first_branch(branches: tuple[Branch, ...], environment: Environment, state: State) -> Any:
    holding = (b.then for b in branches if evaluate_term(b.when, state, environment.arithmetic))
    return next(holding, None)


def _possible_controls(
    policy: Policy, environment: Environment, state: State
) -> dict[tuple[Fraction, ...], None]:
    match policy:
        case NeuralPolicy():
            options = []
            for low, high in zip(*_output_bounds(policy, environment, state), strict=True):
                options.append(list(_enumerate_float32(low, high)))
            if np.prod([float(len(several)) for several in options]) > MOST_VALUES:
                raise Unsupported("controls that rounding leaves too many values for")
            return {_clip_controls(environment, values): None for values in product(*options)}
        case ProgramPolicy(branches):
            then = _first_branch(branches, environment, state)
            if then is None or isinstance(then, str):
                raise Undefined("no branch of the program sets the controls in this state")
            if isinstance(then, tuple):
                values = tuple(Fraction(evaluate_term(t, state, environment.arithmetic)) for t in then)
                return {_clip_controls(environment, values): None}
            return _possible_controls(then, environment, state)
        case Shielded(inner, permits, fallback):
            found: dict[tuple[Fraction, ...], None] = {}
            for values in _possible_controls(inner, environment, state):
                names: Mapping[str, Any] = {
                    c.name: v for c, v in zip(environment.controls, values, strict=True)
                }
                if evaluate_term(permits, {**state, **names}, environment.arithmetic):
                    found[values] = None
                else:
                    found |= _possible_controls(fallback, environment, state)
            return found
        case OraclePolicy(name):
            raise Unsupported(f"the policy `{name}` is a Python function, which can only be simulated")


def _output_bounds(
    policy: NeuralPolicy, environment: Environment, state: State
) -> tuple[list[float], list[float]]:
    """Between which numbers every float32 evaluation of the network lies."""
    found = evaluate_rows(policy.network, observation_vector(policy, environment, state)[None, :])
    centre, error = found.outputs[0].astype(np.float64), found.error[0]
    if not (np.isfinite(centre).all() and np.isfinite(error).all()):
        raise Undefined("a value of the network may not be finite here")
    low, high = np.nextafter(centre - error, -np.inf), np.nextafter(centre + error, np.inf)
    return low.tolist(), high.tolist()


def _enumerate_float32(low: float, high: float) -> Iterator[Fraction]:
    """Every float32 number between two numbers, at most one more than are permitted."""
    here = np.float32(low)
    if float(here) < low:
        here = np.nextafter(here, np.float32(np.inf))
    for _ in range(MOST_VALUES + 1):
        if float(here) > high:
            return
        yield Fraction(float(here))
        here = np.nextafter(here, np.float32(np.inf))


def _clip_controls(environment: Environment, values: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    found = []
    for control, value in zip(environment.controls, values, strict=True):
        low = control.low if control.clipped else None
        high = control.high if control.clipped else None
        value = value if low is None else max(value, Fraction(low))
        found.append(value if high is None else min(value, Fraction(high)))
    return tuple(found)
