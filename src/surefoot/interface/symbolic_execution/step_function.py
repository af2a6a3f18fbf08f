"""One call of the step, with numbers or with symbols; also of a method whose state is in attributes."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.step_layout import (
    EXTRAS,
    IGNORED,
    TERMINATED,
    ResultLayout,
    Signature,
    arrange_state,
    is_number,
    is_sequence,
)
from surefoot.interface.symbolic_execution.symbol import Symbol, Unfollowed
from surefoot.interface.symbolic_execution.symbol_array import SymbolArray, unbox
from surefoot.term.value_types import Array, ValueType

_PLAIN = (bool, int, float, str, bytes, complex, type(None))


@dataclass(frozen=True, slots=True)
class StepFunction:
    """How a step is called. `owner`: the object whose attributes are the state."""

    function: Callable[..., Any]
    signature: Signature
    kinds: Mapping[str, ValueType]
    form: Any = None
    layout: ResultLayout | None = None
    owner: Any = None
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of attributes, by variable
    ignored: frozenset[str] = frozenset()

    def call(
        self, state: Mapping[str, Any], action: Any, noise: Mapping[str, Any], reads: set[str] | None = None
    ) -> dict[str, Any]:
        """The next state by variable, with `reward`, `terminated`, `truncated` where they are returned.

        `reads` collects the other attributes that are read before they are written.
        """
        function, owner = self.function, None
        if self.owner is not None:
            owner = copy.deepcopy(self.owner)
            for name, path in self.paths.items():
                _set_attribute(owner, path, _like(_get_attribute(owner, path), state[name], self.kinds[name]))
            if reads is not None:
                watch_attributes(owner, reads)
            function = getattr(owner, self.function.__name__)
        given: dict[str, Any] = {name: state[name] for name in self.signature.by_name}
        container = None
        if self.signature.whole is not None:
            container = given[self.signature.whole] = arrange_state(self.form, state)
        if self.signature.action is not None:
            given[self.signature.action] = action
        given |= {name: action[name] for name in self.signature.controls}
        given |= {name: noise[name] for name in self.signature.noise}
        result = _call_by_name(function, given)
        if owner is not None:
            return self._read_owner(owner, result)
        if result is None and container is not None:
            result = container  # it was changed in place
        if self.layout is None:
            return {"": result}
        return self.layout.read(result, self.kinds)

    def _read_owner(self, owner: Any, result: Any) -> dict[str, Any]:
        found = {name: _get_attribute(owner, path) for name, path in self.paths.items()}
        roles = self.layout.roles if self.layout is not None and self.layout.roles else _episode_roles(result)
        if roles:
            parts = result if is_sequence(result) else (result,)
            if len(parts) != len(roles):
                raise Refusal(
                    "the step returns results of different forms", "return the same parts on every path"
                )
            found |= {r: part for r, part in zip(roles, parts, strict=True) if r in EXTRAS}
        return found

    def changed_attributes(self, state: Mapping[str, Any], action: Any, noise: Mapping[str, Any]) -> set[str]:
        """The attributes beside the state that one call leaves different."""
        if self.owner is None:
            return set()
        owner = copy.deepcopy(self.owner)
        for name, path in self.paths.items():
            _set_attribute(owner, path, _like(_get_attribute(owner, path), state[name], self.kinds[name]))
        before = copy.deepcopy(owner)
        given = {name: noise[name] for name in self.signature.noise}
        if self.signature.action is not None:
            given[self.signature.action] = action
        given |= {name: action[name] for name in self.signature.controls}
        _call_by_name(getattr(owner, self.function.__name__), given)
        for path in self.paths.values():  # what is in the state may change
            for one in (before, owner):
                _set_attribute(one, path, None)
        first, second = object_attributes(before), object_attributes(owner)
        return {n for n in {*first, *second} - self.ignored if not _same(first.get(n), second.get(n))}


def _call_by_name(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    parameters = inspect.signature(function).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    return function(
        *(given[n] for n in positional), **{n: v for n, v in given.items() if n not in positional}
    )


def _episode_roles(result: Any) -> tuple[str, ...]:
    """Gymnasium's (observation, reward, terminated, truncated, info), older ones, (reward, done), done."""
    if _is_truth(result):
        return (TERMINATED,)
    if not is_sequence(result) or not isinstance(result, tuple):
        return ()
    if len(result) == 2 and _is_truth(result[1]) and not _is_truth(result[0]):
        return ("reward" if is_number(result[0]) else IGNORED, TERMINATED)
    return {
        5: (IGNORED, "reward", TERMINATED, "truncated", IGNORED),
        4: (IGNORED, "reward", TERMINATED, IGNORED),
        3: (IGNORED, "reward", TERMINATED),
    }.get(len(result), ())


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, Symbol) and value.kind is bool)


def _get_attribute(owner: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not hasattr(owner, name):
            fix = "write the names of attributes, as in self.x"
            raise InvalidProblem(f"the object has no attribute `{name}`", fix=fix, where="state")
        owner = getattr(owner, name)
    return owner


def _set_attribute(owner: Any, path: tuple[str, ...], value: Any) -> None:
    setattr(_get_attribute(owner, path[:-1]), path[-1], value)


def _like(present: Any, value: Any, kind: ValueType) -> Any:
    """An array in the form that the attribute has now: a list, a tuple or numpy's array."""
    if not isinstance(kind, Array) or not isinstance(present, list | tuple):
        return value
    parts = [_like(p, v, kind.element) for p, v in zip(present, value, strict=False)]
    if not isinstance(kind.element, Array):
        parts = [unbox(v) for v in (value if len(present) != len(parts) or not parts else parts)]
    return type(present)(parts) if not hasattr(present, "_fields") else type(present)(*parts)


def object_attributes(owner: Any) -> dict[str, Any]:
    """The attributes of an object itself, also those in slots."""
    slots = [name for kind in type(owner).__mro__ for name in _slot_names(kind) if hasattr(owner, name)]
    return {**{name: getattr(owner, name) for name in slots}, **getattr(owner, "__dict__", {})}


def _slot_names(kind: type) -> list[str]:
    given = vars(kind).get("__slots__", ())
    names = [given] if isinstance(given, str) else list(given)
    return [name for name in names if not name.startswith("__")]


def watch_attributes(owner: Any, reads: set[str]) -> None:
    """Note which attributes are read before they are written."""
    kind: Any = type(owner)
    written: set[str] = set()
    known = set(object_attributes(owner))

    def get(self: Any, name: str) -> Any:
        if name in known and name not in written:
            reads.add(name)
        return kind.__getattribute__(self, name)

    def put(self: Any, name: str, value: Any) -> None:
        written.add(name)
        kind.__setattr__(self, name, value)

    try:
        make: Any = type(kind)
        watched = make(kind.__name__, (kind,), {"__getattribute__": get, "__setattr__": put, "__slots__": ()})
        object.__setattr__(owner, "__class__", watched)
    except TypeError:
        reads.update(known)


def _same(first: Any, second: Any) -> bool:
    """Have two values the same content? Unknown objects are compared by their attributes."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return first.shape == second.shape and bool(np.array_equal(first, second))
    if isinstance(first, (*_PLAIN, np.generic)):
        return bool(first == second) or (first != first and second != second)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_same(v, second[k]) for k, v in first.items())
    if isinstance(first, set | frozenset):
        return bool(first == second)
    if isinstance(first, np.random.Generator):
        return _same(first.bit_generator.state, second.bit_generator.state)
    if object_attributes(first) and not callable(first):
        return _same(object_attributes(first), object_attributes(second))
    return True


def scalar_parts(value: Any, kind: ValueType, where: str) -> list[Any]:
    """The numbers of a value, an array's in order."""
    if type(value) is Unfollowed:
        raise value.reason
    if isinstance(kind, Array):
        if not is_sequence(value) or len(value) != kind.length:
            raise Refusal(f"`{where}` is not an array of {kind.length}", "keep its length")
        return [part for v in value for part in scalar_parts(v, kind.element, where)]
    if type(value) is SymbolArray or isinstance(value, np.ndarray):
        if value.size != 1:
            raise Refusal(f"`{where}` becomes an array", "return one number for it, or declare sf.array(…)")
        value = value.item()
    if type(value) is not Symbol and not isinstance(value, bool | int | float | np.generic):
        raise Refusal(f"`{where}` becomes a value of type `{type(value).__name__}`", "return a number")
    return [value]
