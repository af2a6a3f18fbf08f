"""Which variables a start condition fixes: an equality at its top level, or a truth value by itself."""

from __future__ import annotations

from typing import Any

from surefoot.problem.environment import Environment
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.number import as_doubles
from surefoot.term.term import Apply, Op, Term, Var, free_names, split_conjunction
from surefoot.term.value_types import Arithmetic, Array, Real, ValueType


def fixed_values(environment: Environment) -> dict[str, Any]:
    """The variables that have one value at the start; of two values the first, and then there is no start."""
    return _values_fixed_by(environment.initial, environment)


def fixed_alternatives(environment: Environment) -> list[tuple[tuple[str, ...], frozenset[tuple[Any, ...]]]]:
    """For each disjunction at the top level the variables that all alternatives fix, and to what together."""
    found = []
    for part in split_conjunction(environment.initial):
        if not (isinstance(part, Apply) and part.op is Op.OR):
            continue
        several = [_values_fixed_by(alternative, environment) for alternative in part.args]
        names = tuple(v.name for v in environment.variables if all(v.name in each for each in several))
        if names:
            found.append((names, frozenset(tuple(each[n] for n in names) for each in several)))
    return found


def _values_fixed_by(condition: Term, environment: Environment) -> dict[str, Any]:
    own = {v.name: v.kind for v in environment.variables}
    fixed: dict[str, Any] = {}
    for part in split_conjunction(condition):
        name, value = _read_equality(part, environment.arithmetic)
        if name in own and (value := _start_value(value, own[name], environment.arithmetic)) is not None:
            fixed.setdefault(name, value)
    return fixed


def _start_value(value: Any, kind: ValueType, arithmetic: Arithmetic) -> Any:
    """The value as the state has it; None if there is none: a real variable in float64 has a double."""
    while isinstance(kind, Array):
        kind = kind.element
    if arithmetic is Arithmetic.EXACT or not isinstance(kind, Real):
        return value
    try:
        return as_doubles(value)
    except OverflowError:
        return None


def _read_equality(part: Term, arithmetic: Arithmetic) -> tuple[str, Any]:
    match part:
        case Var(name):
            return name, True
        case Apply(Op.NOT, (Var(name),)):
            return name, False
        case Apply(Op.EQ, (Var(name), value)) | Apply(Op.EQ, (value, Var(name))) if not free_names(value):
            try:
                return name, evaluate_term(value, {}, arithmetic)
            except Undefined:
                return "", None
        case _:
            return "", None
