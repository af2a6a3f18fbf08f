"""What is asked for, and how the step is called with it."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.interface.symbolic_execution.agreement import Sampler
from surefoot.interface.symbolic_execution.declarations import Actions
from surefoot.interface.symbolic_execution.path import PathLimits
from surefoot.interface.symbolic_execution.refusal import Refusal, limit_lines, traceback_line
from surefoot.interface.symbolic_execution.step_function import StepFunction, scalar_parts
from surefoot.interface.symbolic_execution.step_layout import (
    EXTRAS,
    IGNORED,
    find_layout,
    form_of_annotation,
    read_signature,
)
from surefoot.interface.symbolic_execution.symbol_array import SymbolArray
from surefoot.problem.environment import Choice
from surefoot.term.value_types import Array, ValueType

_MOST_LINES = 200_000  # that a few calls of the step may run through


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What the user asks for, checked."""

    step: Any
    declared: Mapping[str, ValueType]
    actions: Actions
    noise: Mapping[str, Choice]
    start: Any
    name: str
    form: Any
    returns: tuple[str, ...] | None
    ignore: frozenset[str]
    exact: bool
    limits: PathLimits
    samples: int
    seed: int


def prepare_call(request: TraceRequest) -> StepFunction:
    owner = getattr(request.step, "__self__", None)
    if inspect.ismodule(owner) or isinstance(owner, type):
        owner = None
    written = list(request.declared)
    bound = owner is not None and (
        any(name.startswith("self.") for name in written)
        or all(hasattr(owner, name.split(".")[0]) for name in written)
    )
    if any("." in name for name in written) and not bound:
        fix = "give the method of an object: sf.trace(plant.step, …)"
        raise InvalidProblem(
            f"`{next(n for n in written if '.' in n)}` needs an object", fix=fix, where="state"
        )
    paths = {variable_name(n): tuple(n.removeprefix("self.").split(".")) for n in written} if bound else {}
    kinds = {variable_name(n): kind for n, kind in request.declared.items()}
    if len(kinds) < len(written):
        raise InvalidProblem(
            "two parts of the state have the same name", fix="choose other names", where="state"
        )
    for extra in EXTRAS:
        if extra in kinds and request.returns and extra in request.returns:
            raise InvalidProblem(
                f"`{extra}` is in the state and returned beside it",
                fix="leave it out of the state",
                where="returns",
            )
    actions = request.actions
    names = None if actions.is_none else list(actions.named or {}) or [""]
    signature = read_signature(request.step, list(kinds), names, list(request.noise), bound=bound)
    if request.returns is not None:
        for role in request.returns:
            if role not in (*kinds, *EXTRAS, "state", IGNORED):
                fix = f"write {', '.join(kinds)}, state, reward, terminated, truncated or ignored"
                raise InvalidProblem(f"`{role}` is nothing that is returned", fix=fix, where="returns")
    return StepFunction(
        request.step, signature, kinds, owner=owner if bound else None, paths=paths, ignored=request.ignore
    )


def variable_name(name: str) -> str:
    return name.removeprefix("self.").replace(".", "_")


def control_kinds(request: TraceRequest, function: StepFunction) -> dict[str, ValueType]:
    actions = request.actions
    if actions.named is not None:
        return dict(actions.named)
    if actions.control is None:
        return {}
    word = function.signature.action or "action"
    if isinstance(actions.control, Array):
        return {f"{word}_{i}": actions.control.element for i in range(actions.control.length)}
    return {word: actions.control}


def refuse_same_names(*groups: Mapping[str, ValueType]) -> None:
    seen: set[str] = set()
    for name in (n for group in groups for n in group):
        if name in seen:
            raise InvalidProblem(
                f"`{name}` is declared twice", fix="give the state, the action and the noise different names"
            )
        seen.add(name)


def refuse_kept_values(step: Any) -> None:
    """Values that survive a call: `global` and `nonlocal`."""
    function = inspect.unwrap(getattr(step, "__func__", step))
    code = getattr(function, "__code__", None)
    if code is None:
        return
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        given = getattr(instruction, "line_number", instruction.starts_line)  # of Python 3.13, and before
        line = given or line
        kept = instruction.opname == "STORE_GLOBAL" or (
            instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        )
        if kept:
            where = f"{Path(code.co_filename).name}:{line}"
            raise Refusal(
                f"`{instruction.argval}` keeps its value between calls", "make it a part of the state", where
            )


def action_argument(request: TraceRequest, value: Any, controls: Mapping[str, Any], symbolic: bool) -> Any:
    """What the step gets: the value of a listed action, a number, an array, or a dictionary."""
    if request.actions.named is not None:
        return dict(controls)
    if request.actions.control is None:
        return value
    if isinstance(request.actions.control, Array):
        cells = list(controls.values())
        if not symbolic:
            return np.array(cells, dtype=float)
        array = np.empty(len(cells), dtype=object)
        array[:] = cells
        return SymbolArray(array, float)
    return next(iter(controls.values()))


def split_values(
    function: StepFunction, controls: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[Any, Any, Any]:
    state = {name: values[name] for name in function.kinds}
    noise = {name: values[name] for name in function.signature.noise}
    return state, {name: values[name] for name in controls}, noise


def call_with_numbers_only(
    request: TraceRequest, function: StepFunction, controls: Mapping[str, Any], value: Any
) -> Callable[..., dict[str, Any]]:
    def call(values: Mapping[str, Any]) -> dict[str, Any]:
        state, driven, noise = split_values(function, controls, values)
        copied = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in state.items()}
        with np.errstate(all="ignore"):
            return function.call(copied, action_argument(request, value, driven, False), noise)

    return call


def settle_form(
    request: TraceRequest, function: StepFunction, controls: Mapping[str, ValueType]
) -> StepFunction:
    """The form in which the step takes the whole state, and where in its result the parts are: by trying."""
    if function.layout is not None or (function.owner is not None and request.returns is None):
        return function
    sampler = Sampler(request.seed, (), {})
    given = {**function.kinds, **controls, **{n: c.kind for n, c in request.noise.items()}}
    draws = [{name: sampler.draw(name, kind) for name, kind in given.items()} for _ in range(8)]
    forms = _possible_forms(request, function)
    working: list[tuple[StepFunction, list[Any]]] = []
    failure: BaseException | None = None
    value = request.actions.labels[0][1]
    for form in forms:
        tried = replace(function, form=form)
        try:
            with limit_lines(_MOST_LINES):
                first = call_with_numbers_only(request, tried, controls, value)(draws[0])
            result = first.get("", first)
            if function.owner is None:
                tried = replace(tried, layout=find_layout(result, function.kinds, request.returns))
            else:
                tried = replace(tried, layout=find_layout((), function.kinds, request.returns))
            call = call_with_numbers_only(request, tried, controls, value)
            with limit_lines(_MOST_LINES):
                found = [call(draw) for draw in draws]
            flat = [[p for n, k in function.kinds.items() for p in scalar_parts(f[n], k, n)] for f in found]
        except (Exception, Refusal) as error:  # noqa: BLE001 - whatever the user's code raises
            failure = failure or error
            continue
        working.append((tried, flat))
    if not working:
        raise _refuse_failure(failure, len(forms)) from None
    if any(not _same_results(flat, working[0][1]) for _, flat in working):
        words = ", ".join(f'form="{f.form}"' for f, _ in working)
        raise Refusal(
            "the state can be given in several forms, and the step does different things",
            f"write one of {words}",
        )
    return working[0][0]


def _same_results(first: list[Any], second: list[Any]) -> bool:
    return all(
        a == b or (a != a and b != b)
        for x, y in zip(first, second, strict=True)
        for a, b in zip(x, y, strict=True)
    )


def _possible_forms(request: TraceRequest, function: StepFunction) -> list[Any]:
    if function.signature.whole is None:
        return [None]
    asked = request.form or form_of_annotation(function.signature.annotation)
    if asked is not None:
        return [asked]
    if len(function.kinds) == 1 and isinstance(next(iter(function.kinds.values())), Array):
        return ["array", "dict"]
    return ["dict", "tuple", "array", "object"]


def _refuse_failure(failure: BaseException | None, forms: int) -> BaseException:
    if isinstance(failure, Refusal) and forms == 1:
        return failure
    fix = (
        "call it once with numbers of your own"
        if forms == 1
        else 'say how the state is passed: form="dict", "tuple", "array" or "object"'
    )
    if isinstance(failure, Refusal):
        return Refusal(failure.what, f"{failure.fix}, or {fix}", failure.where)
    line = traceback_line(failure.__traceback__) if failure is not None else ""
    return Refusal(f"the step raises {type(failure).__name__} ({failure})", fix, line or " ")
