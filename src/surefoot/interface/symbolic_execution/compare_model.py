"""The recorded terms are compared with the step before they are used; limits that it leaves are widened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution.agreement import (
    Agreement,
    ComparedStep,
    Sampler,
    describe_state,
    model_constants,
)
from surefoot.interface.symbolic_execution.declarations import scalar_kind
from surefoot.interface.symbolic_execution.record_step import PYTHON_KINDS, RecordedStep, list_part_names
from surefoot.interface.symbolic_execution.recording import KnownBounds, Recording
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.step_function import StepFunction, scalar_parts
from surefoot.interface.symbolic_execution.step_layout import TERMINATED, TRUNCATED
from surefoot.interface.symbolic_execution.step_request import (
    TraceRequest,
    action_argument,
    call_with_numbers_only,
    control_kinds,
    split_values,
)
from surefoot.term.arguments import exact_fraction
from surefoot.term.interval import is_infinite
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

_RUNS, _RUN_STEPS = 10, 40
_TWICE = 100
_FIRST_LOOK = 60  # if a limit is left by then, nothing more is compared
_WIDENINGS = 3


def compare_model(
    request: TraceRequest,
    function: StepFunction,
    declared: Mapping[str, ValueType],
    controls: Mapping[str, ValueType],
    recording: Recording,
    recorded: Sequence[RecordedStep],
    rounding: Arithmetic,
    reads: set[str],
) -> Agreement:
    agreement = Agreement()
    steps = []
    for one in recorded:
        call = call_with_numbers_only(request, function, controls, one.value)
        exact = not recording.inexact and not request.exact
        steps.append(ComparedStep(call, one.parts, one.terms, rounding, exact, one.label or ""))
    given = {**function.kinds, **controls, **{n: c.kind for n, c in request.noise.items()}}
    sampler = Sampler(
        request.seed, model_constants([t for r in recorded for t in r.terms]), _sampled_ranges(declared)
    )
    kept: list[tuple[ComparedStep, dict[str, Any], Any]] = []
    count = max(-(-request.samples // len(steps)), min(request.samples, 200))
    for number in range(count):
        if number == _FIRST_LOOK and agreement.leaving:
            return agreement
        for step in steps:
            values = {name: sampler.draw(name, kind) for name, kind in given.items()}
            found = step.compare(values, agreement)
            if found is None:
                continue
            _note_leaving(function, values, found, step, agreement)
            if number < -(-_TWICE // len(steps)):
                kept.append((step, values, found))
    _compare_runs(function, declared, given, steps, sampler, agreement)
    _call_again(kept)
    _refuse_hidden_attributes(request, function, kept, reads)
    return agreement


def _sampled_ranges(declared: Mapping[str, ValueType]) -> dict[str, tuple[float, float]]:
    """Where real values are drawn whose limits are gone: three times as wide as they were."""
    found = {}
    for name, kind in declared.items():
        inner = scalar_kind(kind)
        if isinstance(inner, Real) and inner.low is not None and inner.high is not None:
            low, high = float(inner.low), float(inner.high)
            found[name] = (low - (high - low), high + (high - low))
    return found


def _compare_runs(
    function: StepFunction,
    declared: Mapping[str, ValueType],
    given: Mapping[str, ValueType],
    steps: Sequence[ComparedStep],
    sampler: Sampler,
    agreement: Agreement,
) -> None:
    """States as they follow each other, from starts within the declared limits."""
    ranges = _sampled_ranges(declared)
    for _ in range(_RUNS):
        state: dict[str, Any] = {name: sampler.draw(name, kind) for name, kind in declared.items()}
        for _ in range(_RUN_STEPS):
            others = {
                name: sampler.draw(name, kind) for name, kind in given.items() if name not in function.kinds
            }
            step = sampler.chance.choice(list(steps))
            values = {**state, **others}
            found = step.compare(values, agreement)
            if found is None:
                break
            _note_leaving(function, values, found, step, agreement)
            if _is_far(function, found, ranges):
                break
            if agreement.leaving or any(
                bool(found.get(name, False)) for name in (TERMINATED, TRUNCATED) if name not in function.kinds
            ):
                break
            state = {name: _as_kind(found[name], kind) for name, kind in function.kinds.items()}


def _is_far(
    function: StepFunction, found: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]
) -> bool:
    """Is the state outside everything that is compared? A plant that nobody controls may go anywhere."""
    for name, kind in function.kinds.items():
        low, high = ranges.get(name, (-1e6, 1e6))
        if not isinstance(scalar_kind(kind), Bool | Int) and not all(
            low <= v <= high for v in scalar_parts(found[name], kind, name)
        ):
            return True
    return False


def _as_kind(value: Any, kind: ValueType) -> Any:
    if isinstance(kind, Array):
        return np.array([_as_kind(v, kind.element) for v in value])
    return PYTHON_KINDS[type(kind)](np.asarray(value).reshape(-1)[0])


def _note_leaving(
    function: StepFunction,
    values: Mapping[str, Any],
    found: Mapping[str, Any],
    step: ComparedStep,
    agreement: Agreement,
) -> bool:
    """Does the next state keep to its kinds? A whole number has to; a real one is noted."""
    inside = True
    for name, kind in function.kinds.items():
        inner = scalar_kind(kind)
        if isinstance(inner, Bool):
            continue
        for value in scalar_parts(found[name], kind, name):
            below = inner.low is not None and float(value) < float(inner.low)
            above = inner.high is not None and float(value) > float(inner.high)
            if not below and not above:
                continue
            inside = False
            if isinstance(inner, Int):
                place = describe_state(values, step.label)
                what = f"`{name}` becomes {value}, outside {inner.low} to {inner.high}, at {place}"
                stopped = f"max({inner.low}, …)" if below else f"min({inner.high}, …)"
                raise Refusal(what, f"stop it there, {stopped}, or declare wider limits", " ")
            agreement.leaving.setdefault(f"{name}{'<' if below else '>'}", (float(value), dict(values)))
    return inside


def _call_again(kept: Sequence[tuple[ComparedStep, dict[str, Any], Any]]) -> None:
    """The same arguments in another order give the same results, or something is kept between calls.

    A number that a step returned as one of numpy's is such a one in the next call: that must not matter.
    """
    boxed = {name for _, _, found in kept for name, value in found.items() if isinstance(value, np.generic)}
    for step, values, before in reversed(kept):
        again = step.call(values)
        given = {n: np.asarray(v)[()] if n in boxed else v for n, v in values.items()}
        place = describe_state(values, step.label)
        if not _same_parts(step, before, again):
            what = f"the step gives something else when it is called again at {place}"
            raise Refusal(
                what, "pass what it remembers or draws as an argument, or put it into the state", " "
            )
        if boxed and not _same_parts(step, before, step.call(given)):
            what = f"the step gives something else for numpy's numbers, which it returns, at {place}"
            raise Refusal(what, "return float(…), int(…) and bool(…)", " ")


def _same_parts(step: ComparedStep, first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    pairs = ((first[name], second[name], name, kind) for name, kind in step.parts)
    return all(
        bool(np.all(np.asarray(scalar_parts(a, k, n)) == scalar_parts(b, k, n))) for a, b, n, k in pairs
    )


def _refuse_hidden_attributes(
    request: TraceRequest,
    function: StepFunction,
    kept: Sequence[tuple[ComparedStep, dict[str, Any], Any]],
    reads: set[str],
) -> None:
    if function.owner is None:
        return
    controls = control_kinds(request, function)
    for step, values, _ in kept:
        value = next(v for label, v in request.actions.labels if (label or "") == step.label)
        state, driven, noise = split_values(function, controls, values)
        changed = function.changed_attributes(state, action_argument(request, value, driven, False), noise)
        if hidden := sorted(changed & reads):
            what = f"`self.{hidden[0]}` changes and is read, and is not in the state"
            raise Refusal(
                what,
                f'add it, "self.{hidden[0]}": sf.integer(…), or write ignore=["{hidden[0]}"]',
            )


def widen_limits(
    function: StepFunction,
    agreement: Agreement,
    leaving: Mapping[str, str],
    reached: Mapping[str, tuple[Any, Any]],
) -> tuple[StepFunction, dict[str, str]]:
    """A limit that a step leaves is moved to where one step may get; if that is left too, it is gone."""
    kinds, said = dict(function.kinds), dict(leaving)
    for key, (value, _) in agreement.leaving.items():
        name, side = key[:-1], key[-1]
        inner = scalar_kind(kinds[name])
        if not isinstance(inner, Real):
            continue
        end = reached[name][0 if side == "<" else 1]
        done = sum(k.startswith(key) for k in said)
        new = None if done >= _WIDENINGS or is_infinite(end) else exact_fraction(float(end))
        limit = inner.low if side == "<" else inner.high
        instead = "that it has no limit there" if new is None else f"its limit is {float(new):.6g}"
        said[f"{key}{done}"] = f"`{name}` gets to {value:.6g}, beyond {float(limit or 0):g}, so {instead}"
        kinds[name] = _with_limits(
            kinds[name], new if side == "<" else inner.low, new if side == ">" else inner.high
        )
    return replace(function, kinds=kinds), said


def reached_intervals(recording: Recording, recorded: Sequence[RecordedStep]) -> dict[str, tuple[Any, Any]]:
    """Between which numbers each variable is after one step, whatever the state."""
    bounds, found = KnownBounds(recording), dict[str, tuple[Any, Any]]()
    for one in recorded:
        for name, term in zip(list_part_names(one.parts), one.terms, strict=True):
            low, high = bounds.interval(term)
            before = found.get(name, (low, high))
            found[name] = (min(low, before[0]), max(high, before[1]))
    return found


def _with_limits(kind: ValueType, low: Fraction | None, high: Fraction | None) -> ValueType:
    return (
        Array(_with_limits(kind.element, low, high), kind.length)
        if isinstance(kind, Array)
        else Real(low, high)
    )


def write_notes(
    request: TraceRequest, recording: Recording, agreement: Agreement, leaving: Mapping[str, str]
) -> tuple[str, ...]:
    notes = [f"traced from `{request.name}`, and compared with it at {agreement.compared} states"]
    if recording.inexact:
        words = ", ".join(recording.inexact)
        notes.append(
            f"the model rounds {words} in its own way: the step differs by at most {agreement.largest:.2g}"
        )
    if request.exact:
        notes.append(f"the model does not round: the step differs by at most {agreement.largest:.2g} there")
    if agreement.missing:
        notes.append(f"neither has a value at {len(agreement.missing)} of them: {agreement.missing[0]}")
    return (*notes, *(f"{text}; runs start within" for text in last_words(leaving)))


def last_words(leaving: Mapping[str, str]) -> list[str]:
    """What was done about each limit in the end."""
    return list(
        {key[: key.index("<" if "<" in key else ">") + 1]: text for key, text in leaving.items()}.values()
    )
