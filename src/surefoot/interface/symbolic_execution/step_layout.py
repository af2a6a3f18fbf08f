"""How a step function is called, and what its result says: the state, a reward, whether the episode ended."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, WrongType
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol import Symbol, Unfollowed
from surefoot.interface.symbolic_execution.symbol_array import SymbolArray, is_array, to_array
from surefoot.term.arguments import describe_value
from surefoot.term.value_types import Array, ValueType

FORMS = ("dict", "tuple", "list", "array", "object")
REWARD, TERMINATED, TRUNCATED = "reward", "terminated", "truncated"
EXTRAS = (REWARD, TERMINATED, TRUNCATED)
IGNORED = "ignored"
_ACTION_WORDS = ("action", "act", "u", "control", "force", "torque", "a")


@dataclass(frozen=True, slots=True)
class Signature:
    """Which parameter gets what."""

    by_name: tuple[str, ...]  # state variables that are parameters
    whole: str | None = None  # the parameter that gets the whole state
    action: str | None = None
    controls: tuple[str, ...] = ()  # that are parameters each
    noise: tuple[str, ...] = ()
    annotation: Any = None  # of the whole state


def read_signature(
    step: Any, state: Sequence[str], actions: Sequence[str] | None, noise: Sequence[str], *, bound: bool
) -> Signature:
    """`actions`: names of several controls, or one name for a single action that has none; None: no action.

    `bound`: the state is in the attributes of an object.
    """
    try:
        parameters = inspect.signature(step).parameters
    except (TypeError, ValueError):
        raise WrongType(
            "the parameters of the step cannot be read", fix="give a function: def step(x, u): …"
        ) from None
    plain = [p for p in parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    names = [p.name for p in plain]
    drawn = tuple(name for name in noise if name in names)
    if missing := [name for name in noise if name not in names]:
        raise InvalidProblem(
            f"the step has no parameter `{missing[0]}`",
            fix=f"its parameters are {', '.join(names)}",
            where="noise",
        )
    named = () if bound else tuple(name for name in state if name in names)
    if named and len(named) < len(state):
        gone = next(name for name in state if name not in names)
        raise InvalidProblem(
            f"the step has no parameter `{gone}`", fix=f"its parameters are {', '.join(names)}", where="state"
        )
    rest = [p for p in plain if p.name not in (*named, *drawn)]
    driven = tuple(name for name in actions or () if name in names)
    if driven and len(driven) < len(actions or ()):
        gone = next(name for name in actions or () if name not in names)
        raise InvalidProblem(
            f"the step has no parameter `{gone}`",
            fix=f"its parameters are {', '.join(names)}",
            where="action",
        )
    rest = [p for p in rest if p.name not in driven]
    free = [p for p in rest if p.default is p.empty]
    action = None
    if actions is not None and not driven:
        last = free[-1:] if named or bound or len(free) > 1 else []
        meant = (
            [p for p in free if p.name in _ACTION_WORDS]
            or last
            or [p for p in rest if p.name in _ACTION_WORDS]
        )
        if not meant:
            raise InvalidProblem(
                "the step has no parameter for the action", fix="leave `action` out", where="action"
            )
        action = meant[0].name
        rest = [p for p in rest if p.name != action]
    whole = None
    if not named and not bound:
        if not rest:
            raise InvalidProblem(
                "the step has no parameter for the state", fix="write def step(x, v, u): …", where="state"
            )
        whole = rest.pop(0)
    if open_ones := [p.name for p in rest if p.default is p.empty]:
        fix = f'declare it: noise={{"{open_ones[0]}": sf.real(…)}}, or give it a default value'
        raise InvalidProblem(f"nothing is given for the parameter `{open_ones[0]}`", fix=fix)
    hint = None if whole is None or whole.annotation is whole.empty else whole.annotation
    return Signature(named, whole.name if whole else None, action, driven, drawn, hint)


def arrange_state(form: Any, values: Mapping[str, Any]) -> Any:
    """The whole state as the step takes it."""
    if form == "dict":
        return dict(values)
    if form == "tuple":
        return tuple(values.values())
    if form == "list":
        return list(values.values())
    if form == "array":
        parts = list(values.values())
        if len(parts) == 1 and is_array(parts[0]):
            return parts[0]
        if any(type(v) in (Symbol, SymbolArray) for v in parts):
            return to_array(parts)
        return np.array(parts)
    if form == "object":
        return SimpleNamespace(**values)
    return form(**values)


def form_of_annotation(annotation: Any) -> Any:
    """The form that an annotation asks for; None if it says nothing."""
    if isinstance(annotation, str):
        word = annotation.split("[")[0].split(".")[-1]
        known = {"ndarray": "array", "NDArray": "array", "ArrayLike": "array"}
        return known.get(word, word.lower() if word.lower() in ("dict", "tuple", "list") else None)
    origin = getattr(annotation, "__origin__", annotation)
    if origin in (dict, tuple, list):
        return origin.__name__
    if origin is np.ndarray:
        return "array"
    if isinstance(origin, type) and (is_dataclass(origin) or hasattr(origin, "_fields")):
        return origin
    return None


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """What the parts of a result are: names of state variables, `reward`, `terminated`, …"""

    roles: tuple[str, ...]  # of a sequence; "state" is the whole state; empty: the result is the state

    def read(self, result: Any, kinds: Mapping[str, ValueType]) -> dict[str, Any]:
        if not self.roles:
            return read_state(result, kinds)
        if not is_sequence(result) or len(result) != len(self.roles):
            raise Refusal(
                "the step returns results of different forms", "return the same parts on every path"
            )
        found: dict[str, Any] = {}
        for role, part in zip(self.roles, result, strict=True):
            if role == "state":
                found |= read_state(part, kinds)
            elif role != IGNORED:
                found[role] = part
        return found


def is_sequence(value: Any) -> bool:
    if type(value) is SymbolArray or isinstance(value, np.ndarray):
        return bool(value.ndim > 0)
    return isinstance(value, tuple | list)


def is_number(value: Any) -> bool:
    """A number or truth value, also in an array without axes."""
    return isinstance(value, bool | int | float | np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _fits(value: Any, kind: ValueType) -> bool:
    if isinstance(kind, Array):
        return is_sequence(value) and len(value) == kind.length and all(_fits(v, kind.element) for v in value)
    return not is_sequence(value) and is_number(value)


def _is_state(value: Any, kinds: Mapping[str, ValueType]) -> bool:
    try:
        found = read_state(value, kinds)
    except Refusal:
        return False
    return all(_fits(found[name], kind) for name, kind in kinds.items())


def read_state(value: Any, kinds: Mapping[str, ValueType]) -> dict[str, Any]:
    """The state in a container of any form; a single variable also bare."""
    names = list(kinds)
    if type(value) is Unfollowed:
        raise value.reason
    if isinstance(value, Mapping):
        if missing := [name for name in names if name not in value]:
            raise Refusal(f"the result has no `{missing[0]}`", "return every variable of the state")
        extras = {name: value[name] for name in EXTRAS if name in value and name not in kinds}
        return {**{name: value[name] for name in names}, **extras}
    if hasattr(value, "_fields") or not (is_sequence(value) or is_number(value)):
        if missing := [name for name in names if not hasattr(value, name)]:
            what = (
                "the step returns nothing"
                if value is None
                else f"{describe_value(value)} has no `{missing[0]}`"
            )
            raise Refusal(what, "return the next state: return x, v")
        return {name: getattr(value, name) for name in names}
    if len(names) == 1:
        (kind,) = kinds.values()
        if not isinstance(kind, Array) and is_sequence(value) and len(value) == 1:
            return {names[0]: value[0]}
        return {names[0]: value}
    if not is_sequence(value) or len(value) != len(names):
        raise Refusal("the result is not the state", f"return {', '.join(names)}")
    return dict(zip(names, value, strict=True))


def find_layout(result: Any, kinds: Mapping[str, ValueType], returns: Sequence[str] | None) -> ResultLayout:
    """What the parts of a result are, by its form: the state, (state, reward), Gymnasium's five, …"""
    if returns is not None:
        return ResultLayout(tuple(returns))
    if _is_state(result, kinds):
        return ResultLayout(())
    if is_sequence(result) and len(result) > 1:
        count = len(kinds)
        if _is_state(result[0], kinds):
            roles = _extra_roles(list(result[1:]))
            if roles is not None:
                return ResultLayout(("state", *roles))
        elif len(result) > count and _is_state(tuple(result[:count]), kinds):
            roles = _extra_roles(list(result[count:]))
            if roles is not None:
                return ResultLayout((*kinds, *roles))
    fix = f'return {", ".join(kinds)}, or say what is returned: returns=("state", "reward", "terminated")'
    raise Refusal("what the step returns is not understood", fix)


def _extra_roles(rest: list[Any]) -> tuple[str, ...] | None:
    """The parts after the state; None if they cannot be told apart."""
    roles: list[str] = []
    for part in rest:
        if isinstance(part, bool | np.bool_):
            roles.append(
                TERMINATED if TERMINATED not in roles else TRUNCATED if TRUNCATED not in roles else ""
            )
        elif isinstance(part, int | float | np.number) and REWARD not in roles:
            roles.append(REWARD)
        else:
            roles.append(IGNORED if isinstance(part, Mapping) or part is None else "")
    return None if "" in roles else tuple(roles)
