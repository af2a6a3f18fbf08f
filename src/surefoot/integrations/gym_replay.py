"""A violating run of a library environment, tried out in the library itself, where it is installed.

The model rounds sines correctly and may choose roundings; the library does what it does. So the same start
and the same actions are given to it, and it is said whether its own states violate the property too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot import api


def replay_in_gymnasium(
    text: str, constants: Mapping[str, str], problem: api.Problem, trace: api.Trace
) -> str | None:
    """What becomes of it there, in words; None where the library is not there or the question is another."""
    condition = _watched_condition(problem)
    if condition is None or trace.times or trace.loop is not None:
        return None
    try:
        import gymnasium
    except ImportError:
        return None
    name, _ = api.split_gym_name(text)
    variables = [v.name for v in problem.environment.variables]
    plain: Any = gymnasium.make(name).unwrapped
    plain.reset(seed=0)
    if not isinstance(getattr(plain, "state", None), np.ndarray | tuple | list):
        return None  # a table, whose library draws successors by itself
    api.set_gym_arguments(plain, text, constants)
    width = len(plain.state)
    plain.state = np.array([float(trace.states[0][key]) for key in variables[:width]])
    where, bad = f"in the installed Gymnasium {gymnasium.__version__} the same start and actions", False
    for number, (move, decided) in enumerate(
        zip(trace.moves, api.annotate_trace(problem, trace), strict=False)
    ):
        action = _action_of(problem, move.transition.label, decided)
        if action is None:
            return None
        if _holds(condition, trace, number, variables, plain.state):
            bad = True
            break
        plain.step(action)
    else:
        number = len(trace.moves)
        bad = _holds(condition, trace, number, variables, plain.state)
    if isinstance(problem.property, api.Within):
        return f"{where} {'reach the goal' if bad else 'do not reach the goal either'}"
    return f"{where} {f'violate it too, after {number} steps' if bad else 'do not violate it'}"


def _watched_condition(problem: api.Problem) -> api.Term | None:
    """What has to hold in some state, if that is about the state alone."""
    match problem.property:
        case api.Never(condition) | api.NeverBefore(condition) | api.Within(condition, _, 0):
            known = {v.name for v in problem.environment.variables}
            return condition if api.free_names(condition) <= known else None
    return None


def _action_of(problem: api.Problem, label: str | None, decided: Any) -> Any:
    """The action as the library takes it: a number, or a vector of controls."""
    if not problem.environment.controls:
        (component,) = problem.environment.components
        labels = [edge.action for edge in component.edges]
        return labels.index(label) if label in labels else None
    if decided is None or not decided.controls:
        return None
    own = (decided.controls[control.name] for control in problem.environment.controls)
    return np.array([float(value) for value in own], dtype=np.float32)


def _holds(condition: api.Term, trace: api.Trace, number: int, variables: list[str], state: Any) -> bool:
    """In a state of the library; what it does not have (the count of steps) is that of the trace."""
    names = {name: trace.states[number][name] for name in variables}
    names |= {name: float(value) for name, value in zip(variables, state, strict=False)}
    return bool(api.evaluate_term(condition, names, api.Arithmetic.FLOAT64))
