"""Constants of a PRISM model or property file: in any order, with values from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.jani.declarations import ConstantOverride, read_constant_override
from surefoot.formats.prism.expressions import PrismExpression, names_in
from surefoot.formats.prism.model_syntax import PrismConstant, PrismDefinition
from surefoot.formats.prism.terms import PrismScope, read_prism_constant
from surefoot.problem.semantics import has_value_type
from surefoot.term.printer import abbreviate_term
from surefoot.term.term import Const
from surefoot.term.types import BOOL, INT, REAL, describe_type
from surefoot.term.value_types import ValueType

_KINDS: dict[str, ValueType] = {"int": INT, "double": REAL, "bool": BOOL}


@dataclass(frozen=True, slots=True)
class _Reading:
    declared: Mapping[str, PrismConstant]
    given: Mapping[str, ConstantOverride]
    scope: PrismScope
    done: dict[str, Const]


def read_prism_constants(
    constants: Sequence[PrismConstant],
    given: Mapping[str, ConstantOverride],
    scope: PrismScope,
    *,
    may_be_open: bool = False,
) -> dict[str, Const]:
    """The values of the constants in the order of the file, with those that the scope has already in front.

    `may_be_open`: constants without a value are left out, and are errors only where they are used.
    """
    declared: dict[str, PrismConstant] = {}
    for constant in constants:
        if constant.name in declared or constant.name in scope.constants:
            constant.place.fail(f"constant `{constant.name}` is declared twice", "rename one of them")
        declared[constant.name] = constant
    for name in given:
        if name not in declared:
            what = f"the model has no constant `{name}`"
            raise InvalidProblem(what, fix=did_you_mean(name, declared), where="--const")
    open_ones = {
        c.name: f"give one: --const {c.name}=…" for c in constants if c.value is None and c.name not in given
    }
    if open_ones and not may_be_open:
        name = next(iter(open_ones))
        fix = f"give one: --const {name}=…"
        declared[name].place.fail(f"constant `{name}` has no value", fix)
    reading = _Reading(declared, given, replace(scope, waiting=open_ones), dict(scope.constants))
    for constant in constants:
        if constant.name not in open_ones:
            _read_with_needed(constant, reading)
    order = (*scope.constants, *declared)
    return {name: reading.done[name] for name in order if name in reading.done}


def _read_with_needed(wanted: PrismConstant, reading: _Reading) -> None:
    """A constant after those that it needs; long chains need no deep recursion."""
    waiting = [wanted.name]
    under_way: list[str] = []
    while waiting:
        name = waiting[-1]
        constant = reading.declared[name]
        own = name in reading.given or constant.value is None
        mentioned = () if own or constant.value is None else _mentioned_names(constant.value, reading.scope)
        needs = [n for n in mentioned if n in reading.declared and n not in reading.done]
        needs = [n for n in needs if n not in reading.scope.waiting]
        if name in reading.done or not needs:
            if name not in reading.done:
                reading.done[name] = _constant_value(constant, reading)
            waiting.pop()
            under_way = [n for n in under_way if n != name]
            continue
        if name in under_way:
            constant.place.fail(f"constant `{name}` depends on itself", "break the cycle")
        under_way.append(name)
        waiting.extend(needs)


def _mentioned_names(expression: PrismExpression, scope: PrismScope) -> Iterable[str]:
    """Every name in an expression, also by way of formulas."""
    seen: set[str] = set()
    waiting = [expression]
    while waiting:
        for part in names_in(waiting.pop()):
            name = str(part.value)
            if name not in seen:
                seen.add(name)
                if name in scope.formulas:
                    waiting.append(scope.formulas[name][0].body)
    return sorted(seen)


def _constant_value(constant: PrismConstant, reading: _Reading) -> Const:
    kind = _KINDS[constant.kind]
    name = constant.name
    if name in reading.given:
        value = read_constant_override(name, reading.given[name])
        if not has_value_type(value.value, kind):
            what = f"constant `{name}` is {describe_type(kind)}, not {abbreviate_term(value)}"
            raise InvalidProblem(what, fix="give another value", where=f"--const {name}")
        return value
    assert constant.value is not None
    scope = replace(reading.scope, constants=reading.done, done={})
    return read_prism_constant(constant.value, scope, kind)


def declared_formulas(
    formulas: Sequence[PrismDefinition],
) -> dict[str, tuple[PrismDefinition, Mapping[str, str]]]:
    """The formulas by name, none of them twice."""
    found: dict[str, tuple[PrismDefinition, Mapping[str, str]]] = {}
    for formula in formulas:
        if formula.name in found:
            formula.place.fail(f"formula `{formula.name}` is declared twice", "rename one of them")
        found[formula.name] = formula, {}
    return found
