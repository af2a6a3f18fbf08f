"""`trace`: a step function in Python becomes an environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import Unsupported, WrongType
from surefoot.interface.environment import Environment
from surefoot.interface.symbolic_execution.build_environment import build_environment
from surefoot.interface.symbolic_execution.compare_model import (
    compare_model,
    last_words,
    reached_intervals,
    widen_limits,
    write_notes,
)
from surefoot.interface.symbolic_execution.declarations import take_actions, take_kinds, take_noise
from surefoot.interface.symbolic_execution.path import PathLimits
from surefoot.interface.symbolic_execution.record_step import arithmetic_of, record_actions
from surefoot.interface.symbolic_execution.recording import Recording
from surefoot.interface.symbolic_execution.refusal import Refusal, follow_files
from surefoot.interface.symbolic_execution.step_layout import FORMS
from surefoot.interface.symbolic_execution.step_request import (
    TraceRequest,
    control_kinds,
    prepare_call,
    refuse_kept_values,
    refuse_same_names,
    settle_form,
)
from surefoot.interface.symbolic_execution.substitution import TRACING
from surefoot.term.arguments import describe_value, take_callable, take_word, whole_number


def trace(
    step: Callable[..., Any],
    state: Mapping[str, Any],
    action: Any = None,
    *,
    start: Any = None,
    noise: Any = None,
    name: str | None = None,
    form: Any = None,
    returns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    arithmetic: str = "float64",
    paths: int = 1_000,
    samples: int = 1_000,
    seed: int = 0,
) -> Environment:
    """The environment in which each step is what `step` does: its Python code is run on symbols.

    `state` says what is in the state: `{"x": sf.real(-2, 2), "n": sf.integer(0, 9)}`, `"self.x"` for the
    attributes of the object of a method. `action` is a control (`sf.real(-1, 1)`, `sf.array(2, sf.real(-1,
    1))`), a list of actions (`["left", "right"]`), or nothing. `noise` is what the environment chooses:
    `{"w": sf.real(-0.1, 0.1)}`. Runs start within the limits of the state, or where `start` says:
    `{"x": 0, "n": (0, 3)}`. What cannot be followed is refused with its line.

    >>> import surefoot as sf
    >>> def step(x, u):
    ...     return min(max(x + 0.5 * u, -2.0), 2.0)
    >>> sf.trace(step, state={"x": sf.real(-2, 2)}, action=sf.real(-1, 1))
    Environment('step': x; 1 edges)
    """
    take_callable(step)
    request = TraceRequest(
        step=step,
        declared=take_kinds(state, "state"),
        actions=take_actions(action),
        noise=take_noise(noise),
        start=start,
        name=_name_of(step) if name is None else name,
        form=_take_form(form),
        returns=_take_returns(returns),
        ignore=frozenset(n.removeprefix("self.") for n in ignore),
        exact=take_word("float64", "exact")(arithmetic) == "exact",
        limits=PathLimits(_at_least_one(paths, "paths")),
        samples=_at_least_one(samples, "samples"),
        seed=whole_number(seed),
    )
    try:
        with TRACING, follow_files(_files_of(step)):
            return _trace_request(request)
    except Refusal as refusal:
        where = refusal.where.strip() or _definition_line(step)
        raise Unsupported(refusal.what, fix=refusal.fix, where=where) from None


def _at_least_one(given: Any, where: str) -> int:
    number = whole_number(given)
    if number < 1:
        raise WrongType(f"{number} is out of range", fix="give a number of at least 1", where=where)
    return number


def _name_of(step: Any) -> str:
    name = str(getattr(step, "__name__", type(step).__name__))
    return name if name.isidentifier() else "step"


def _take_form(given: Any) -> Any:
    if given is None or isinstance(given, type):
        return given
    return take_word(*FORMS)(given)


def _take_returns(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence)
        or not all(isinstance(r, str) for r in given)
    ):
        raise WrongType(
            f"{describe_value(given)} does not say what is returned",
            fix='give ("state", "reward", "terminated")',
            where="returns",
        )
    return tuple(given)


def _files_of(step: Any) -> set[str]:
    """The files of the step, and of the classes of its object."""
    parts = [inspect.unwrap(step), *vars(type(step)).values()]
    owner = getattr(step, "__self__", None)
    parts += [v for kind in type(owner).__mro__ if kind is not object for v in vars(kind).values()]
    codes = [getattr(getattr(part, "__func__", part), "__code__", None) for part in parts]
    return {code.co_filename for code in codes if code is not None and code.co_filename != "<string>"}


def _definition_line(step: Any) -> str:
    code = getattr(inspect.unwrap(step), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else ""


def _trace_request(request: TraceRequest) -> Environment:
    function = prepare_call(request)
    declared = dict(function.kinds)
    refuse_kept_values(request.step)
    leaving: dict[str, str] = {}
    for _ in range(8 * len(declared) + 1):
        controls = control_kinds(request, function)
        chosen = {name: choice.kind for name, choice in request.noise.items()}
        refuse_same_names(function.kinds, controls, chosen)
        recording = Recording({**function.kinds, **controls, **chosen})
        function = settle_form(request, function, controls)
        try:
            reads, recorded = record_actions(request, function, recording, controls)
        except Refusal as refusal:
            raise _explain_limits(refusal, leaving) from None
        rounding = arithmetic_of(request, recording, recorded)
        agreement = compare_model(request, function, declared, controls, recording, recorded, rounding, reads)
        if not agreement.leaving:
            notes = write_notes(request, recording, agreement, leaving)
            return build_environment(request, function, declared, controls, recorded, rounding, notes)
        reached = reached_intervals(recording, recorded)
        function, leaving = widen_limits(function, agreement, leaving, reached)
    raise Refusal("the state leaves every limit", "declare it without limits, and give `start`")


def _explain_limits(refusal: Refusal, leaving: Mapping[str, str]) -> Refusal:
    if not leaving:
        return refusal
    return Refusal(f"{refusal.what} ({'; '.join(last_words(leaving))})", refusal.fix, refusal.where)
