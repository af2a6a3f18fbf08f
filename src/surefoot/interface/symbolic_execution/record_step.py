"""Recording: the step is run on symbols, for each action, along every path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.interface.symbolic_execution import arithmetic as operations
from surefoot.interface.symbolic_execution.declarations import scalar_kind
from surefoot.interface.symbolic_execution.path import current_path, explore_paths, merge_tree
from surefoot.interface.symbolic_execution.recording import Recording
from surefoot.interface.symbolic_execution.refusal import Refusal, traceback_line
from surefoot.interface.symbolic_execution.step_function import StepFunction, scalar_parts
from surefoot.interface.symbolic_execution.step_layout import EXTRAS, REWARD, TERMINATED, TRUNCATED
from surefoot.interface.symbolic_execution.step_request import TraceRequest, action_argument
from surefoot.interface.symbolic_execution.substitution import exchange_names
from surefoot.interface.symbolic_execution.symbol import Symbol
from surefoot.interface.symbolic_execution.symbol_array import SymbolArray
from surefoot.term.printer import abbreviate_term
from surefoot.term.term import Apply, Op, Term
from surefoot.term.traverse import enumerate_parts
from surefoot.term.types import INT, REAL
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

PYTHON_KINDS = {Real: float, Int: int, Bool: bool}


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """The terms of one action."""

    label: str | None
    value: Any
    parts: tuple[tuple[str, ValueType], ...]
    terms: tuple[Term, ...]
    paths: int


def record_actions(
    request: TraceRequest, function: StepFunction, recording: Recording, controls: Mapping[str, ValueType]
) -> tuple[set[str], list[RecordedStep]]:
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
    request: TraceRequest,
    function: StepFunction,
    recording: Recording,
    controls: Mapping[str, ValueType],
    label: str | None,
    value: Any,
    reads: set[str],
) -> RecordedStep:
    shape: list[tuple[tuple[str, ValueType], ...]] = []

    def run() -> tuple[Term, ...]:
        state = {
            name: _symbolic_value(recording, recording.name(name), kind)
            for name, kind in function.kinds.items()
        }
        driven = {
            n: Symbol(recording.name(n), float, isinstance(request.actions.control, Array)) for n in controls
        }
        noise = {n: Symbol(recording.name(n), PYTHON_KINDS[type(c.kind)]) for n, c in request.noise.items()}
        try:
            found = function.call(state, action_argument(request, value, driven, True), noise, reads)
            parts = _result_parts(function, found)
            if shape and parts != shape[0]:
                raise Refusal(
                    "the step returns results of different forms", "return the same parts on every path"
                )
            shape.append(parts)
            return _result_terms(found, parts)
        except SurefootError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises
            raise _refuse_exception(error) from None

    tree, count = explore_paths(recording, run, request.limits)
    return RecordedStep(label, value, shape[0], merge_tree(recording, tree), count)


def _refuse_exception(error: Exception) -> Refusal:
    taken = current_path().taken[-3:]
    said = [abbreviate_term(c if side else Apply(Op.NOT, (c,))) for c, side in taken]
    where = f" where {' and '.join(said)}" if said else ""
    what = f"the step raises {type(error).__name__} ({error}){where}"
    return Refusal(
        what,
        "return a state there, or give the state narrower limits",
        traceback_line(error.__traceback__) or " ",
    )


def _symbolic_value(recording: Recording, place: Term, kind: ValueType, boxed: bool = False) -> Any:
    if not isinstance(kind, Array):
        return Symbol(place, PYTHON_KINDS[type(kind)], boxed)
    parts = [
        _symbolic_value(
            recording, recording.apply(Op.SELECT, place, recording.constant(i)), kind.element, True
        )
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
    return (
        *own,
        *((name, kind) for name, kind in extras.items() if name in found and name not in function.kinds),
    )


def _result_terms(found: Mapping[str, Any], parts: Sequence[tuple[str, ValueType]]) -> tuple[Term, ...]:
    for name, kind in parts:
        _check_array_type(found[name], kind, name)
    return tuple(
        _part_term(v, kind, name) for name, kind in parts for v in scalar_parts(found[name], kind, name)
    )


def _check_array_type(value: Any, kind: ValueType, name: str) -> None:
    """The next call gets an array of this type: whole numbers cut off fractions, truth values add by `or`."""
    wanted = PYTHON_KINDS[type(scalar_kind(kind))]
    if type(value) is SymbolArray and isinstance(kind, Array) and value.kind is not wanted:
        what = f"`{name}` is an array of `{wanted.__name__}` and becomes one of `{value.kind.__name__}`"
        raise Refusal(what, f"return a.astype({wanted.__name__}), or declare it so")


def _part_term(value: Any, kind: ValueType, name: str) -> Term:
    while isinstance(kind, Array):
        kind = kind.element
    own = operations.kind_of(value)
    if isinstance(kind, Bool):
        if own is not bool and name not in EXTRAS:
            raise Refusal(
                f"`{name}` is a truth value and becomes a number", "return a comparison, or bool(…)"
            )
        return operations.term_of(operations.truth(value))
    if own is bool and operations.is_boxed(value) and name not in EXTRAS:
        raise Refusal(f"`{name}` is a number and becomes numpy's truth value", "return int(…)")
    if isinstance(kind, Int) and own is float:
        raise Refusal(
            f"`{name}` is a whole number and becomes a real one", "return int(…), or declare sf.real(…)"
        )
    if own is int and isinstance(kind, Real) and not operations.stays_within(operations.number_term(value)):
        raise Refusal(
            f"`{name}` becomes a whole number without limits", "give the whole numbers of the state limits"
        )
    return operations.number_term(value)


def arithmetic_of(
    request: TraceRequest, recording: Recording, recorded: Sequence[RecordedStep]
) -> Arithmetic:
    """Exact where only whole numbers and truth values are computed with: there both are the same."""
    if request.exact:
        return Arithmetic.EXACT
    whole = not any(
        kind == REAL or isinstance(kind, Real) for kind in map(scalar_kind, recording.kinds.values())
    )
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


def list_part_names(parts: Sequence[tuple[str, ValueType]]) -> list[str]:
    return [name for name, kind in parts for _ in range(_count_scalars(kind))]


def _count_scalars(kind: ValueType) -> int:
    return kind.length * _count_scalars(kind.element) if isinstance(kind, Array) else 1
