"""`trace`: a step function in Python becomes an environment."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, SurefootError, Unsupported, WrongType
from surefoot.interface.environment import Environment
from surefoot.interface.symbolic_execution import arithmetic as operations
from surefoot.interface.symbolic_execution.agreement import (
    Agreement,
    ComparedStep,
    Sampler,
    describe_state,
    model_constants,
)
from surefoot.interface.symbolic_execution.declarations import (
    Actions,
    start_condition,
    take_actions,
    take_kinds,
    take_noise,
)
from surefoot.interface.symbolic_execution.path import PathLimits, current_path, explore_paths, merge_tree
from surefoot.interface.symbolic_execution.recording import KnownBounds, Recording
from surefoot.interface.symbolic_execution.refusal import Refusal, limit_lines, traceback_line
from surefoot.interface.symbolic_execution.step_function import StepFunction, scalar_parts
from surefoot.interface.symbolic_execution.step_layout import (
    EXTRAS,
    FORMS,
    IGNORED,
    REWARD,
    TERMINATED,
    TRUNCATED,
    find_layout,
    form_of_annotation,
    read_signature,
)
from surefoot.interface.symbolic_execution.substitution import exchange_names
from surefoot.interface.symbolic_execution.symbol import Symbol
from surefoot.interface.symbolic_execution.symbol_array import SymbolArray
from surefoot.problem.environment import Choice, Component, Control, Edge, Outcome, Update, Variable
from surefoot.problem.validate.environment import check_environment
from surefoot.term.arguments import describe_value, exact_fraction, take_callable, take_word, whole_number
from surefoot.term.interval import is_infinite
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of
from surefoot.term.traverse import enumerate_parts
from surefoot.term.types import INT, REAL
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

_RUNS, _RUN_STEPS = 10, 40
_TWICE = 100
_FIRST_LOOK = 60  # if a limit is left by then, nothing more is compared
_WIDENINGS = 3
_MOST_LINES = 200_000  # that a few calls of the step may run through
_KIND_OF = {Real: float, Int: int, Bool: bool}


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
    paths: int = 2_000,
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
    request = _Request(
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
    return str(getattr(step, "__name__", type(step).__name__))


def _take_form(given: Any) -> Any:
    if given is None or isinstance(given, type):
        return given
    return take_word(*FORMS)(given)


def _take_returns(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(r, str) for r in given):
        raise WrongType(f"{describe_value(given)} does not say what is returned", fix='give ("state", "reward", "terminated")', where="returns")
    return tuple(given)


def _definition_line(step: Any) -> str:
    code = getattr(inspect.unwrap(step), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else ""


@dataclass(frozen=True, slots=True)
class _Request:
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


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The terms of one action."""

    label: str | None
    value: Any
    parts: tuple[tuple[str, ValueType], ...]
    terms: tuple[Term, ...]
    paths: int


def _trace_request(request: _Request) -> Environment:
    function = _prepare_call(request)
    declared = dict(function.kinds)
    _refuse_kept_values(request.step)
    leaving: dict[str, str] = {}
    for _ in range(2 * (_WIDENINGS + 1) * len(declared) + 1):
        controls = _control_kinds(request, function)
        chosen = {name: choice.kind for name, choice in request.noise.items()}
        _refuse_same_names(function.kinds, controls, chosen)
        recording = Recording({**function.kinds, **controls, **chosen})
        function = _settle_form(request, function, controls)
        try:
            reads, recorded = _record_actions(request, function, recording, controls)
        except Refusal as refusal:
            raise _explain_limits(refusal, leaving) from None
        rounding = _arithmetic_of(request, recording, recorded)
        agreement = _compare_all(request, function, declared, controls, recording, recorded, rounding, reads)
        if not agreement.leaving:
            notes = _write_notes(request, recording, agreement, leaving)
            return _build_environment(request, function, declared, controls, recorded, rounding, notes)
        reached = _reached_intervals(recording, recorded)
        function, leaving = _widen_limits(function, agreement, leaving, reached)
    raise Refusal("the state leaves every limit", "declare it without limits, and give `start`")


def _explain_limits(refusal: Refusal, leaving: Mapping[str, str]) -> Refusal:
    if not leaving:
        return refusal
    return Refusal(f"{refusal.what} ({'; '.join(_last_words(leaving))})", refusal.fix, refusal.where)


def _last_words(leaving: Mapping[str, str]) -> list[str]:
    """What was done about each limit in the end."""
    return list({key[: key.index("<" if "<" in key else ">") + 1]: text for key, text in leaving.items()}.values())


# How the step is called


def _prepare_call(request: _Request) -> StepFunction:
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
        raise InvalidProblem(f"`{next(n for n in written if '.' in n)}` needs an object", fix=fix, where="state")
    paths = {_variable_name(n): tuple(n.removeprefix("self.").split(".")) for n in written} if bound else {}
    kinds = {_variable_name(n): kind for n, kind in request.declared.items()}
    if len(kinds) < len(written):
        raise InvalidProblem("two parts of the state have the same name", fix="choose other names", where="state")
    for extra in EXTRAS:
        if extra in kinds and request.returns and extra in request.returns:
            raise InvalidProblem(f"`{extra}` is in the state and returned beside it", fix="leave it out of the state", where="returns")
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


def _variable_name(name: str) -> str:
    return name.removeprefix("self.").replace(".", "_")


def _control_kinds(request: _Request, function: StepFunction) -> dict[str, ValueType]:
    actions = request.actions
    if actions.named is not None:
        return dict(actions.named)
    if actions.control is None:
        return {}
    word = function.signature.action or "action"
    if isinstance(actions.control, Array):
        return {f"{word}_{i}": actions.control.element for i in range(actions.control.length)}
    return {word: actions.control}


def _refuse_same_names(*groups: Mapping[str, ValueType]) -> None:
    seen: set[str] = set()
    for name in (n for group in groups for n in group):
        if name in seen:
            raise InvalidProblem(f"`{name}` is declared twice", fix="give the state, the action and the noise different names")
        seen.add(name)


def _refuse_kept_values(step: Any) -> None:
    """Values that survive a call: `global` and `nonlocal`."""
    function = inspect.unwrap(getattr(step, "__func__", step))
    code = getattr(function, "__code__", None)
    if code is None:
        return
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.starts_line or line if not isinstance(instruction.starts_line, bool) else line
        kept = instruction.opname == "STORE_GLOBAL" or (
            instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        )
        if kept:
            where = f"{Path(code.co_filename).name}:{line}"
            raise Refusal(f"`{instruction.argval}` keeps its value between calls", "make it a part of the state", where)


def _action_argument(request: _Request, value: Any, controls: Mapping[str, Any], symbolic: bool) -> Any:
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


def _split_values(function: StepFunction, controls: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    state = {name: values[name] for name in function.kinds}
    noise = {name: values[name] for name in function.signature.noise}
    return state, {name: values[name] for name in controls}, noise


def _call_with_numbers(request: _Request, function: StepFunction, controls: Mapping[str, Any], value: Any) -> Callable[..., dict[str, Any]]:
    def call(values: Mapping[str, Any]) -> dict[str, Any]:
        state, driven, noise = _split_values(function, controls, values)
        copied = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in state.items()}
        with np.errstate(all="ignore"):
            return function.call(copied, _action_argument(request, value, driven, False), noise)

    return call


def _settle_form(request: _Request, function: StepFunction, controls: Mapping[str, ValueType]) -> StepFunction:
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
                first = _call_with_numbers(request, tried, controls, value)(draws[0])
            result = first.get("", first)
            if function.owner is None:
                tried = replace(tried, layout=find_layout(result, function.kinds, request.returns))
            else:
                tried = replace(tried, layout=find_layout((), function.kinds, request.returns))
            call = _call_with_numbers(request, tried, controls, value)
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
        raise Refusal("the state can be given in several forms, and the step does different things", f"write one of {words}")
    return working[0][0]


def _same_results(first: list[Any], second: list[Any]) -> bool:
    return all(a == b or (a != a and b != b) for x, y in zip(first, second, strict=True) for a, b in zip(x, y, strict=True))


def _possible_forms(request: _Request, function: StepFunction) -> list[Any]:
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
    fix = "call it once with numbers of your own" if forms == 1 else 'say how the state is passed: form="dict", "tuple", "array" or "object"'
    if isinstance(failure, Refusal):
        return Refusal(failure.what, f"{failure.fix}, or {fix}", failure.where)
    line = traceback_line(failure.__traceback__) if failure is not None else ""
    return Refusal(f"the step raises {type(failure).__name__} ({failure})", fix, line or " ")


# Recording


def _record_actions(
    request: _Request, function: StepFunction, recording: Recording, controls: Mapping[str, ValueType]
) -> tuple[set[str], list[_Recorded]]:
    reads: set[str] = set()
    with exchange_names(request.step):
        recorded = [
            _record_action(request, function, recording, controls, label, value, reads)
            for label, value in request.actions.labels
        ]
    if any(r.parts != recorded[0].parts for r in recorded):
        raise Refusal("the step returns results of different forms", "return the same parts for every action")
    return reads, recorded


def _record_action(
    request: _Request,
    function: StepFunction,
    recording: Recording,
    controls: Mapping[str, ValueType],
    label: str | None,
    value: Any,
    reads: set[str],
) -> _Recorded:
    shape: list[tuple[tuple[str, ValueType], ...]] = []

    def run() -> tuple[Term, ...]:
        state = {name: _symbolic_value(recording, recording.name(name), kind) for name, kind in function.kinds.items()}
        driven = {n: Symbol(recording.name(n), float, isinstance(request.actions.control, Array)) for n in controls}
        noise = {n: Symbol(recording.name(n), _KIND_OF[type(c.kind)]) for n, c in request.noise.items()}
        try:
            found = function.call(state, _action_argument(request, value, driven, True), noise, reads)
            parts = _result_parts(function, found)
            if shape and parts != shape[0]:
                raise Refusal("the step returns results of different forms", "return the same parts on every path")
            shape.append(parts)
            return _result_terms(found, parts)
        except SurefootError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises
            raise _refuse_exception(error) from None

    tree, count = explore_paths(recording, run, request.limits)
    return _Recorded(label, value, shape[0], merge_tree(recording, tree), count)


def _refuse_exception(error: Exception) -> Refusal:
    from surefoot.term.printer import abbreviate_term

    taken = current_path().taken[-3:]
    said = [abbreviate_term(c if side else Apply(Op.NOT, (c,))) for c, side in taken]
    where = f" where {' and '.join(said)}" if said else ""
    what = f"the step raises {type(error).__name__} ({error}){where}"
    return Refusal(what, "return a state there, or give the state narrower limits", traceback_line(error.__traceback__) or " ")


def _symbolic_value(recording: Recording, place: Term, kind: ValueType, boxed: bool = False) -> Any:
    if not isinstance(kind, Array):
        return Symbol(place, _KIND_OF[type(kind)], boxed)
    parts = [
        _symbolic_value(recording, recording.apply(Op.SELECT, place, recording.constant(i)), kind.element, True)
        for i in range(kind.length)
    ]
    if isinstance(parts[0], SymbolArray) or type(parts[0]) is SymbolArray:
        cells = np.empty((len(parts), *parts[0].shape), dtype=object)
        for i, part in enumerate(parts):
            cells[i] = part.cells
        return SymbolArray(cells, parts[0].kind)
    cells = np.empty(len(parts), dtype=object)
    cells[:] = parts
    return SymbolArray(cells, parts[0].kind)


def _result_parts(function: StepFunction, found: Mapping[str, Any]) -> tuple[tuple[str, ValueType], ...]:
    extras: dict[str, ValueType] = {REWARD: REAL, TERMINATED: Bool(), TRUNCATED: Bool()}
    own = tuple(function.kinds.items())
    return (*own, *((name, kind) for name, kind in extras.items() if name in found and name not in function.kinds))


def _result_terms(found: Mapping[str, Any], parts: Sequence[tuple[str, ValueType]]) -> tuple[Term, ...]:
    return tuple(_part_term(v, kind, name) for name, kind in parts for v in scalar_parts(found[name], kind, name))


def _part_term(value: Any, kind: ValueType, name: str) -> Term:
    while isinstance(kind, Array):
        kind = kind.element
    own = operations.kind_of(value)
    if isinstance(kind, Bool):
        if own is not bool and name not in EXTRAS:
            raise Refusal(f"`{name}` is a truth value and becomes a number", "return a comparison, or bool(…)")
        return operations.term_of(operations.truth(value))
    if isinstance(kind, Int) and own is float:
        raise Refusal(f"`{name}` is a whole number and becomes a real one", "return int(…), or declare sf.real(…)")
    if own is int and isinstance(kind, Real) and not operations.stays_within(operations.number_term(value)):
        raise Refusal(f"`{name}` becomes a whole number without limits", "give the whole numbers of the state limits")
    return operations.number_term(value)


def _arithmetic_of(request: _Request, recording: Recording, recorded: Sequence[_Recorded]) -> Arithmetic:
    """Exact where only whole numbers and truth values are computed with: there both are the same."""
    if request.exact:
        return Arithmetic.EXACT
    whole = not any(kind == REAL or isinstance(kind, Real) for kind in map(_scalar_kind, recording.kinds.values()))
    quotients = set()
    for term in (t for r in recorded for t in r.terms):
        for part in enumerate_parts(term):
            if isinstance(part, Apply) and part.op is Op.FLOOR and isinstance(part.args[0], Apply):
                inner = part.args[0]
                if inner.op is Op.DIV and all(recording.sort(a) is INT for a in inner.args):
                    quotients.add(id(inner))
    whole = whole and not any(
        recording.sort(part) is REAL and id(part) not in quotients
        for r in recorded
        for t in r.terms
        for part in enumerate_parts(t)
    )
    return Arithmetic.EXACT if whole else Arithmetic.FLOAT64


def _scalar_kind(kind: ValueType) -> ValueType:
    while isinstance(kind, Array):
        kind = kind.element
    return kind


# Comparing


def _compare_all(
    request: _Request,
    function: StepFunction,
    declared: Mapping[str, ValueType],
    controls: Mapping[str, ValueType],
    recording: Recording,
    recorded: Sequence[_Recorded],
    rounding: Arithmetic,
    reads: set[str],
) -> Agreement:
    agreement = Agreement()
    steps = []
    for one in recorded:
        call = _call_with_numbers(request, function, controls, one.value)
        exact = not recording.inexact and not request.exact
        steps.append(ComparedStep(call, one.parts, one.terms, rounding, exact, one.label or ""))
    given = {**function.kinds, **controls, **{n: c.kind for n, c in request.noise.items()}}
    sampler = Sampler(request.seed, model_constants([t for r in recorded for t in r.terms]), _sampled_ranges(declared))
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
    _call_again(function, kept)
    _refuse_hidden_attributes(request, function, kept, reads)
    return agreement


def _sampled_ranges(declared: Mapping[str, ValueType]) -> dict[str, tuple[float, float]]:
    """Where real values are drawn whose limits are gone: three times as wide as they were."""
    found = {}
    for name, kind in declared.items():
        inner = _scalar_kind(kind)
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
            others = {name: sampler.draw(name, kind) for name, kind in given.items() if name not in function.kinds}
            step = sampler.chance.choice(list(steps))
            values = {**state, **others}
            found = step.compare(values, agreement)
            if found is None:
                break
            _note_leaving(function, values, found, step, agreement)
            if _is_far(function, found, ranges):
                break
            if agreement.leaving or any(bool(found.get(name, False)) for name in (TERMINATED, TRUNCATED) if name not in function.kinds):
                break
            state = {name: _as_kind(found[name], kind) for name, kind in function.kinds.items()}


def _is_far(function: StepFunction, found: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> bool:
    """Is the state outside everything that is compared? A plant that nobody controls may go anywhere."""
    for name, kind in function.kinds.items():
        low, high = ranges.get(name, (-1e6, 1e6))
        if not isinstance(_scalar_kind(kind), Bool | Int) and not all(low <= v <= high for v in scalar_parts(found[name], kind, name)):
            return True
    return False


def _as_kind(value: Any, kind: ValueType) -> Any:
    if isinstance(kind, Array):
        return np.array([_as_kind(v, kind.element) for v in value])
    return _KIND_OF[type(kind)](np.asarray(value).reshape(-1)[0])


def _note_leaving(
    function: StepFunction, values: Mapping[str, Any], found: Mapping[str, Any], step: ComparedStep, agreement: Agreement
) -> bool:
    """Does the next state keep to its kinds? A whole number has to; a real one is noted."""
    inside = True
    for name, kind in function.kinds.items():
        inner = _scalar_kind(kind)
        if isinstance(inner, Bool):
            continue
        for value in scalar_parts(found[name], kind, name):
            below = inner.low is not None and float(value) < float(inner.low)
            above = inner.high is not None and float(value) > float(inner.high)
            if not below and not above:
                continue
            inside = False
            if isinstance(inner, Int):
                what = f"`{name}` becomes {value}, outside {inner.low} to {inner.high}, at {describe_state(values, step.label)}"
                raise Refusal(what, "stop it there, min(n + 1, 9), or declare wider limits", " ")
            agreement.leaving.setdefault(f"{name}{'<' if below else '>'}", (float(value), dict(values)))
    return inside


def _call_again(function: StepFunction, kept: Sequence[tuple[ComparedStep, dict[str, Any], Any]]) -> None:
    """The same arguments in another order give the same results, or something is kept between calls."""
    for step, values, before in reversed(kept):
        again = step.call(values)
        for name, kind in step.parts:
            first, second = (scalar_parts(found[name], kind, name) for found in (before, again))
            if first != second:
                what = f"the step gives another `{name}` when it is called again at {describe_state(values, step.label)}"
                raise Refusal(what, "pass what it remembers or draws as an argument, or put it into the state", " ")


def _refuse_hidden_attributes(
    request: _Request, function: StepFunction, kept: Sequence[tuple[ComparedStep, dict[str, Any], Any]], reads: set[str]
) -> None:
    if function.owner is None:
        return
    controls = _control_kinds(request, function)
    for step, values, _ in kept:
        value = next(v for label, v in request.actions.labels if (label or "") == step.label)
        state, driven, noise = _split_values(function, controls, values)
        changed = function.changed_attributes(state, _action_argument(request, value, driven, False), noise)
        if hidden := sorted(changed & reads):
            what = f"`self.{hidden[0]}` changes and is read, and is not in the state"
            raise Refusal(what, f'add it, "self.{hidden[0]}": sf.integer(…), or write ignore=["{hidden[0]}"] where it does not matter')


def _widen_limits(
    function: StepFunction,
    agreement: Agreement,
    leaving: Mapping[str, str],
    reached: Mapping[str, tuple[Any, Any]],
) -> tuple[StepFunction, dict[str, str]]:
    """A limit that a step leaves is moved to where one step may get at most; if that is left too, it is gone."""
    kinds, said = dict(function.kinds), dict(leaving)
    for key, (value, _) in agreement.leaving.items():
        name, side = key[:-1], key[-1]
        inner = _scalar_kind(kinds[name])
        if not isinstance(inner, Real):
            continue
        end = reached[name][0 if side == "<" else 1]
        done = sum(k.startswith(key) for k in said)
        new = None if done >= _WIDENINGS or is_infinite(end) else exact_fraction(float(end))
        limit = inner.low if side == "<" else inner.high
        instead = "that it has no limit there" if new is None else f"its limit is {float(new):.6g}"
        said[f"{key}{done}"] = f"`{name}` gets to {value:.6g}, beyond {float(limit or 0):g}, so {instead}"
        kinds[name] = _with_limits(kinds[name], new if side == "<" else inner.low, new if side == ">" else inner.high)
    return replace(function, kinds=kinds), said


def _reached_intervals(recording: Recording, recorded: Sequence[_Recorded]) -> dict[str, tuple[Any, Any]]:
    """Between which numbers each variable is after one step, whatever the state."""
    bounds, found = KnownBounds(recording), dict[str, tuple[Any, Any]]()
    for one in recorded:
        for name, term in zip(_flat_names(one.parts), one.terms, strict=True):
            low, high = bounds.interval(term)
            before = found.get(name, (low, high))
            found[name] = (min(low, before[0]), max(high, before[1]))
    return found


def _with_limits(kind: ValueType, low: Fraction | None, high: Fraction | None) -> ValueType:
    return Array(_with_limits(kind.element, low, high), kind.length) if isinstance(kind, Array) else Real(low, high)


def _write_notes(request: _Request, recording: Recording, agreement: Agreement, leaving: Mapping[str, str]) -> tuple[str, ...]:
    notes = [f"traced from `{request.name}`, and compared with it at {agreement.compared} states"]
    if recording.inexact:
        words = ", ".join(recording.inexact)
        notes.append(
            f"the model rounds {words} in its own way: the step differs by at most {agreement.largest:.2g} at these states"
        )
    if request.exact:
        notes.append(f"the model does not round: the step differs by at most {agreement.largest:.2g} at these states")
    if agreement.missing:
        notes.append(f"neither has a value at {len(agreement.missing)} of them: {agreement.missing[0]}")
    return (*notes, *(f"{text}; runs start within" for text in _last_words(leaving)))


# The environment


def _build_environment(
    request: _Request,
    function: StepFunction,
    declared: Mapping[str, ValueType],
    controls: Mapping[str, ValueType],
    recorded: Sequence[_Recorded],
    rounding: Arithmetic,
    notes: tuple[str, ...],
) -> Environment:
    start = request.start
    if isinstance(start, Mapping):
        start = {_variable_name(name) if isinstance(name, str) else name: v for name, v in start.items()}
    ends, facts = _ending_names(recorded, function.kinds)
    initial = conjunction_of((start_condition(start, declared, function.kinds), *(Apply(Op.NOT, (Var(n),)) for n in ends)))
    guard = conjunction_of(tuple(Apply(Op.NOT, (Var(n),)) for n in ends))
    chosen = tuple(request.noise.values())
    edges = tuple(_build_edge(one, function.kinds, guard, chosen, ends) for one in recorded)
    variables = [Variable(name, kind) for name, kind in function.kinds.items()]
    variables += [Variable(name, Bool()) for name in ends]
    driven = tuple(Control(name, kind.low, kind.high) for name, kind in controls.items() if isinstance(kind, Real))
    environment = Environment(
        request.name,
        tuple(variables),
        initial,
        (Component("main", edges),),
        driven,
        arithmetic=rounding,
        notes=notes,
        definitions=facts,
    )
    check_environment(environment)
    return environment


def _ending_names(
    recorded: Sequence[_Recorded], kinds: Mapping[str, ValueType]
) -> tuple[list[str], tuple[tuple[str, Term], ...]]:
    """`terminated` and `truncated` as variables; where they never become true, as names of `false`."""
    found: dict[str, list[Term]] = {}
    for one in recorded:
        for name, term in zip(_flat_names(one.parts), one.terms, strict=True):
            if name in (TERMINATED, TRUNCATED) and name not in kinds:
                found.setdefault(name, []).append(term)
    never = [n for n, terms in found.items() if all(t == Const(False) for t in terms)]
    return [n for n in found if n not in never], tuple((n, Const(False)) for n in never)


def _flat_names(parts: Sequence[tuple[str, ValueType]]) -> list[str]:
    return [name for name, kind in parts for _ in range(_count_scalars(kind))]


def _count_scalars(kind: ValueType) -> int:
    return kind.length * _count_scalars(kind.element) if isinstance(kind, Array) else 1


def _build_edge(
    one: _Recorded, kinds: Mapping[str, ValueType], guard: Term, chosen: tuple[Choice, ...], ends: Sequence[str]
) -> Edge:
    updates, rewards = [], []
    targets = [place for name, kind in one.parts for place in _places(Var(name), kind)]
    for (name, target), term in zip(zip(_flat_names(one.parts), targets, strict=True), one.terms, strict=True):
        if name in kinds or name in ends:
            if term != target:
                updates.append(Update(target, term))
        elif name == REWARD:
            rewards.append((REWARD, term))
    return Edge(action=one.label, guard=guard, chosen=chosen, outcomes=(Outcome(updates=tuple(updates), rewards=tuple(rewards)),))


def _places(place: Term, kind: ValueType) -> list[Term]:
    if not isinstance(kind, Array):
        return [place]
    return [p for i in range(kind.length) for p in _places(Apply(Op.SELECT, (place, Const(i))), kind.element)]
