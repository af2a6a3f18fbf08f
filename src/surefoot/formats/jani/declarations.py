"""Declarations: types, constants (also from the command line), functions and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from surefoot.errors import InvalidProblem, did_you_mean, locate_errors
from surefoot.formats.jani.expressions import (
    JaniFunction,
    JaniScope,
    jani_term_type,
    read_jani_constant,
    read_jani_term,
)
from surefoot.formats.jani.json_document import JsonNode
from surefoot.problem.semantics import has_value_type
from surefoot.term.evaluate import evaluate_term
from surefoot.term.parser import parse_term
from surefoot.term.printer import abbreviate_term, show_term
from surefoot.term.term import Apply, Const, Term, free_names
from surefoot.term.types import INT, REAL, describe_type, unbounded_type
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

ConstantOverride = bool | int | Fraction | str
_UNSUPPORTED_TYPES = {
    "clock": "clocks need a timed model",
    "continuous": "continuous variables need a hybrid model",
    "datatype": "data types are not supported",
    "option": "option types are not supported",
}


@dataclass(frozen=True, slots=True)
class JaniVariable:
    """A variable of the file; `initial` None = any value of its kind. Transient ones are in no state."""

    name: str
    kind: ValueType
    initial: Term | None
    transient: bool
    node: JsonNode


def _read_type(node: JsonNode, scope: JaniScope, value: ValueType | None = None) -> ValueType:
    """A type. The length of an array is that of `value`, the kind of what it starts with."""
    if isinstance(node.value, str):
        match node.value:
            case "bool":
                return Bool()
            case "int":
                return Int()
            case "real":
                return Real()
            case name:
                _refuse_type(node, name)
    kind = node.table(("kind",), ("base", "lower-bound", "upper-bound", "ref"))["kind"].string()
    if kind == "bounded":
        return _read_bounded_type(node, scope)
    if kind == "array":
        base = node.table(("kind", "base"))["base"]
        if not isinstance(value, Array):
            node.refuse("an array whose length is not known", "give it an initial value")
        return Array(_read_type(base, scope, value.element), value.length)
    _refuse_type(node, kind)


def _refuse_type(node: JsonNode, name: str) -> NoReturn:
    if name in _UNSUPPORTED_TYPES:
        node.refuse(f"type `{name}` is not supported", _UNSUPPORTED_TYPES[name])
    known = ("bool", "int", "real", "bounded", "array")
    node.fail(f"unknown type `{name}`", did_you_mean(name, known))


def _read_bounded_type(node: JsonNode, scope: JaniScope) -> ValueType:
    fields = node.table(("kind", "base"), ("lower-bound", "upper-bound"))
    base = fields["base"].string()
    if base not in ("int", "real"):
        fields["base"].fail(f"`{base}` cannot be bounded", "use int or real")
    wanted: ValueType = INT if base == "int" else REAL
    low, high = (
        read_jani_constant(fields[key], scope, wanted).value if key in fields else None
        for key in ("lower-bound", "upper-bound")
    )
    if low is not None and high is not None and low > high:
        node.fail(
            f"the lower bound {show_term(Const(low))} is above the upper bound {show_term(Const(high))}"
        )
    if base == "int":
        return Int(None if low is None else int(low), None if high is None else int(high))
    return Real(None if low is None else Fraction(low), None if high is None else Fraction(high))


def nodes_by_name(
    nodes: list[JsonNode], what: str, taken: Mapping[str, Any] | None = None
) -> dict[str, JsonNode]:
    """Objects with a `name`, none of them twice."""
    found: dict[str, JsonNode] = {}
    for node in nodes:
        if not isinstance(node.value, dict) or "name" not in node.value:
            node.fail("`name` is missing", "give it a name")
        name = JsonNode(node.value["name"], node, "name").name()
        if name in found or (taken is not None and name in taken):
            node.fail(f"{what} `{name}` is declared twice", "rename one of them")
        found[name] = node
    return found


def read_constants(
    nodes: list[JsonNode], given: Mapping[str, ConstantOverride], notes: set[str]
) -> dict[str, Term]:
    """The values of the constants; a constant may be declared after one that uses it."""
    declared = nodes_by_name(nodes, "constant")
    for name in given:
        if name not in declared:
            fix = did_you_mean(name, declared)
            raise InvalidProblem(f"the model has no constant `{name}`", fix=fix, where="--const")
    done: dict[str, Term] = {}
    waiting = list(declared)
    under_way: list[str] = []
    while waiting:
        name = waiting[-1]
        needs = [] if name in done else [n for n in _mentioned_names(declared[name], given) if n not in done]
        needs = [n for n in needs if n in declared]
        if name in done or not needs:
            if name not in done:
                scope = JaniScope(done, {}, notes=notes)
                done[name] = _constant_value(declared[name], name, given.get(name), scope)
            waiting.pop()
            under_way = [n for n in under_way if n != name]
            continue
        if name in under_way:
            declared[name].fail(f"constant `{name}` depends on itself", "break the cycle")
        under_way.append(name)
        waiting.extend(needs)
    return {name: done[name] for name in declared}


def _mentioned_names(node: JsonNode, given: Mapping[str, ConstantOverride]) -> list[str]:
    """Every text in a declaration that might be the name of another constant."""
    skipped = {"name", "comment", "op", *(["value"] if node.value["name"] in given else [])}
    found: list[str] = []
    waiting: list[Any] = [{k: v for k, v in node.value.items() if k not in skipped}]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(v for k, v in value.items() if k not in ("op", "comment", "kind"))
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str) and value != node.value["name"]:
            found.append(value)
    return found


def _constant_value(node: JsonNode, name: str, given: ConstantOverride | None, scope: JaniScope) -> Term:
    fields = node.table(("name", "type"), ("value",))
    if given is None and "value" not in fields:
        node.fail(f"constant `{name}` has no value", f"give one: --const {name}=…")
    if given is None:
        value = read_jani_term(fields["value"], scope)
        node = fields["value"]
    else:
        value = read_constant_override(name, given)
    if free_names(value):
        node.fail(f"`{abbreviate_term(value)}` is not a constant", "use numbers and constants only")
    found = jani_term_type(node, value, scope)
    kind = _read_type(fields["type"], scope, found)
    if not has_value_type(evaluate_term(value, {}), kind):
        what = (
            f"constant `{name}` is {describe_type(unbounded_type(kind))}{_range_text(kind)}, not "
            f"{abbreviate_term(value)}"
        )
        if given is not None:
            raise InvalidProblem(what, fix="give another value", where=f"--const {name}")
        node.fail(what)
    return value


def read_constant_override(name: str, given: ConstantOverride) -> Const:
    """The value that the command line, or a caller, gives a constant."""
    if not isinstance(given, str):
        return Const(given)
    with locate_errors(f"--const {name}"):
        term = parse_term(given, names=())
    value = evaluate_term(term, {}) if not isinstance(term, Const) else term.value
    return Const(value)


def _range_text(kind: ValueType) -> str:
    match kind:
        case Int(low, high) | Real(low, high) if low is not None or high is not None:
            shown = ["…" if b is None else show_term(Const(b)) for b in (low, high)]
            return f" from {shown[0]} to {shown[1]}"
        case _:
            return ""


def read_functions(nodes: list[JsonNode], scope: JaniScope) -> dict[str, JaniFunction]:
    """The functions of the model or of an automaton; their bodies are read where they are called."""
    found: dict[str, JaniFunction] = {}
    for name, node in nodes_by_name(nodes, "function").items():
        fields = node.table(("name", "type", "parameters", "body"))
        parameters = nodes_by_name(fields["parameters"].entries(), "parameter")
        kinds = [
            (parameter, _read_type(p.table(("name", "type"))["type"], scope))
            for parameter, p in parameters.items()
        ]
        found[name] = JaniFunction(name, tuple(kinds), _read_type(fields["type"], scope), fields["body"])
    return found


def read_variables(
    nodes: list[JsonNode], scope: JaniScope, taken: Mapping[str, Any]
) -> dict[str, JaniVariable]:
    """The variables of the model or of an automaton."""
    found: dict[str, JaniVariable] = {}
    for name, node in nodes_by_name(nodes, "the name", taken).items():
        fields = node.table(("name", "type"), ("transient", "initial-value"))
        transient = fields["transient"].truth() if "transient" in fields else False
        initial, kind = _initial_value(fields, name, scope)
        if transient and initial is None:
            node.fail(f"transient variable `{name}` has no initial value", "give it one")
        found[name] = JaniVariable(name, kind, initial, transient, node)
    return found


def _initial_value(
    fields: Mapping[str, JsonNode], name: str, scope: JaniScope
) -> tuple[Term | None, ValueType]:
    if "initial-value" not in fields:
        return None, _read_type(fields["type"], scope)
    node = fields["initial-value"]
    value = read_jani_term(node, scope)
    if free_names(value):
        node.refuse(
            f"the initial value `{abbreviate_term(value)}` is not a constant", "use `restrict-initial`"
        )
    kind = _read_type(fields["type"], scope, jani_term_type(node, value, scope))
    start = evaluate_term(value, {})
    if not has_value_type(start, kind):
        what = (
            f"`{name}` starts with {abbreviate_term(value)}, but it is "
            f"{describe_type(unbounded_type(kind))}{_range_text(kind)}"
        )
        node.fail(what, "change one of them")
    return (value if isinstance(value, Apply) else Const(start)), kind
