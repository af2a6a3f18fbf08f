"""Expressions: from JSON to terms. Constants and function calls are replaced by what they stand for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.json_document import JsonNode
from surefoot.term.elementary import base_logarithm
from surefoot.term.lexer import shorten_text
from surefoot.term.number import LongNumber
from surefoot.term.parser import MOST_LEVELS
from surefoot.term.printer import abbreviate_term
from surefoot.term.term import Apply, Const, Op, Term, Var, equal
from surefoot.term.traverse import count_term_parts
from surefoot.term.types import (
    describe_type,
    infer_term_type,
    join_types,
    suggest_conversion,
    unbounded_type,
)
from surefoot.term.value_types import ValueType

_Build: TypeAlias = Callable[[tuple[Term, ...]], Term]
MOST_CALLS = 2_000  # of functions in one expression, written out one inside the other
MOST_ELEMENTS = 100_000  # of one array that is built by `ac`, nested ones multiplied

BINARY = {
    "∨": Op.OR,
    "∧": Op.AND,
    "⇒": Op.IMPLIES,
    "=": Op.EQ,
    "<": Op.LT,
    "≤": Op.LE,
    "+": Op.ADD,
    "-": Op.SUB,
    "*": Op.MUL,
    "%": Op.MOD,
    "/": Op.DIV,
    "pow": Op.POW,
    "min": Op.MIN,
    "max": Op.MAX,
}
SWAPPED_COMPARISONS = {">": Op.LT, "≥": Op.LE}
UNARY = {
    "¬": Op.NOT,
    "floor": Op.FLOOR,
    "ceil": Op.CEIL,
    "abs": Op.ABS,
    "sgn": Op.SIGN,
    "trc": Op.TRUNC,
    "sin": Op.SIN,
    "cos": Op.COS,
    "tan": Op.TAN,
    "asin": Op.ASIN,
    "acos": Op.ACOS,
    "atan": Op.ATAN,
    "tanh": Op.TANH,
}
OTHER_OPERATORS = ("≠", "log", "ite", "call", "av", "ac", "aa")
_MOST = 1_000_000  # operators and leaves of an expression
_CHAINS = frozenset({Op.OR, Op.AND, Op.ADD, Op.MUL, Op.MIN, Op.MAX})
_NAMED_NUMBERS = {"π": math.pi, "e": math.e}
_MEASURES = ("filter", "Pmin", "Pmax", "Smin", "Smax", "Emin", "Emax", "∀", "∃")
_PROPERTY_OPERATORS = (*_MEASURES, "U", "W", "F", "G", "R", "X", "initial", "deadlock", "timelock")


@dataclass(frozen=True, slots=True)
class JaniFunction:
    name: str
    parameters: tuple[tuple[str, ValueType], ...]
    result: ValueType
    body: JsonNode


@dataclass(frozen=True, slots=True)
class JaniScope:
    """What names stand for where an expression is written, and the kinds of the variables behind them."""

    values: Mapping[str, Term]
    kinds: Mapping[str, ValueType]
    functions: Mapping[str, JaniFunction] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)  # names that exist but not here, and why
    predicates: Mapping[str, Term] = field(default_factory=dict)  # `deadlock` in properties
    calls: tuple[str, ...] = ()  # functions that are being expanded
    repeats: int = 1  # how often the expression is written out by the arrays around it
    notes: set[str] = field(default_factory=set)
    expanded: Counter[str] = field(
        default_factory=Counter
    )  # how often each function occurs in this expression
    outer: Mapping[str, Term] | None = None  # what names stand for outside of arrays and functions

    def within(self, values: Mapping[str, Term]) -> JaniScope:
        """Inside an array comprehension: one more name."""
        outer = self.values if self.outer is None else self.outer
        return replace(self, values={**self.values, **values}, outer=outer)

    def inside(self, function: str, arguments: Mapping[str, Term]) -> JaniScope:
        """In the body of a function, which sees its own parameters but not those of its caller."""
        outer = self.values if self.outer is None else self.outer
        return replace(self, values={**outer, **arguments}, outer=outer, calls=(*self.calls, function))


def read_jani_term(node: JsonNode, scope: JaniScope, wanted: ValueType | None = None) -> Term:
    """The term of an expression, folded; its kind has to be the one that is wanted, if any is."""
    if scope.functions:
        scope = replace(scope, expanded=Counter())
    term = read_unfolded_term(node, scope)
    check_jani_type(node, term, scope, wanted)
    try:
        return fold_constant_parts(term)
    except LongNumber as error:
        node.refuse(error.what, error.fix)


def read_jani_constant(node: JsonNode, scope: JaniScope, wanted: ValueType | None = None) -> Const:
    """The value of an expression that has the same one everywhere."""
    term = read_jani_term(node, scope, wanted)
    if not isinstance(term, Const):
        node.fail(f"`{abbreviate_term(term)}` is not a constant", "use numbers and constants only")
    return term


def _is_jani_subtype(kind: ValueType, wanted: ValueType) -> bool:
    """An integer may stand where a real number is wanted."""
    return join_types(kind, unbounded_type(wanted)) == unbounded_type(wanted)


def check_jani_type(node: JsonNode, term: Term, scope: JaniScope, wanted: ValueType | None) -> None:
    """Refuse a term without a kind, or of another one than is wanted."""
    kind = jani_term_type(node, term, scope)
    if wanted is not None and not _is_jani_subtype(kind, wanted):
        needed = describe_type(unbounded_type(wanted))
        what = f"`{abbreviate_term(term)}` is {describe_type(kind)}, but {needed} is needed"
        node.fail(what, suggest_conversion(term, kind, (type(wanted),)))


def jani_term_type(node: JsonNode, term: Term, scope: JaniScope) -> ValueType:
    """The kind of a term over the variables of a scope."""
    if count_term_parts(term) > _MOST:
        node.refuse(f"an expression of more than {_MOST} operators", "expand fewer functions and arrays")

    def unknown(name: str) -> InvalidProblem:
        return InvalidProblem(f"`{name}` is not declared", fix=did_you_mean(name, scope.kinds))

    try:
        return infer_term_type(term, scope.kinds, "", unknown)
    except InvalidProblem as error:
        node.fail(error.what, error.fix)


def read_unfolded_term(node: JsonNode, scope: JaniScope, level: int = 0) -> Term:
    """The term as it is written: not yet checked for kinds, not folded. Deep ones need no deep recursion."""
    done: list[Term] = []
    waiting: list[tuple[JsonNode, int] | tuple[_Build, int]] = [(node, level)]
    while waiting:
        task, number = waiting.pop()
        if not isinstance(task, JsonNode):
            arguments = tuple(done[len(done) - number :])
            done[len(done) - number :] = [task(arguments)]
            continue
        plan = _plan_term(task, scope, number)
        if isinstance(plan, Const | Var | Apply):
            done.append(plan)
        else:
            build, operands = plan
            waiting.append((build, len(operands)))
            waiting.extend((operand, number + 1) for operand in reversed(operands))
    return done[0]


def _plan_term(node: JsonNode, scope: JaniScope, level: int) -> Term | tuple[_Build, list[JsonNode]]:
    """The term of an expression, or how to make it from those of its operands."""
    value = node.value
    if isinstance(value, bool | int | Fraction):
        return Const(value)
    if isinstance(value, str):
        return _resolve_name(node, scope)
    if not isinstance(value, dict):
        node.fail("an expression is needed here", "write a number, a name or an object with `op`")
    if level > MOST_LEVELS:
        node.refuse(f"an expression of more than {MOST_LEVELS} levels", "nest it less deeply")
    if "constant" in value:
        return _named_number(node, scope)
    for key, feature in (("distribution", "sampling from a distribution"), ("der", "a derivative")):
        if key in value:
            node.refuse(f"`{key}` ({feature}) is not supported", "only discrete models are read")
    if "op" not in value:
        node.fail("`op` is missing", "write a number, a name or an object with `op`")
    return _plan_operation(node, scope, level)


def _resolve_name(node: JsonNode, scope: JaniScope) -> Term:
    name: str = node.value
    if name in scope.values:
        return scope.values[name]
    if name in scope.hidden:
        node.refuse(scope.hidden[name])
    node.fail(f"`{shorten_text(name)}` is not declared", did_you_mean(name, scope.values))


def _named_number(node: JsonNode, scope: JaniScope) -> Term:
    name = node.table(("constant",))["constant"].string()
    if name not in _NAMED_NUMBERS:
        node.fail(f"unknown constant `{shorten_text(name)}`", did_you_mean(name, _NAMED_NUMBERS))
    scope.notes.add(f"{name} is the nearest double, {_NAMED_NUMBERS[name]!r}")
    return Const(Fraction(_NAMED_NUMBERS[name]))


def _plan_operation(node: JsonNode, scope: JaniScope, level: int) -> Term | tuple[_Build, list[JsonNode]]:
    operator = JsonNode(node.value["op"], node, "op").string()
    if operator in BINARY:
        op = BINARY[operator]
        operands = _flatten_chain(node, operator) if op in _CHAINS else _read_operands(node, "left", "right")
        return partial(Apply, op), operands
    if operator in SWAPPED_COMPARISONS:
        return partial(Apply, SWAPPED_COMPARISONS[operator]), _read_operands(node, "left", "right")[::-1]
    if operator in UNARY:
        return partial(Apply, UNARY[operator]), _read_operands(node, "exp")
    match operator:
        case "≠":
            return (lambda both: ~equal(*both)), _read_operands(node, "left", "right")
        case "ite":
            return partial(Apply, Op.ITE), _read_operands(node, "if", "then", "else")
        case "aa":
            return partial(Apply, Op.SELECT), _read_operands(node, "exp", "index")
        case "av":
            return _read_array(node, scope, level)
        case "ac":
            return _expand_comprehension(node, scope, level)
        case "call":
            return _expand_call(node, scope, level)
        case "log":
            return _read_logarithm(node, scope, level)
    if operator in scope.predicates:
        node.table(("op",))
        return scope.predicates[operator]
    if operator in _PROPERTY_OPERATORS:
        node.refuse(f"`{operator}` inside an expression is not supported", "ask about one path formula")
    node.refuse(
        f"operator `{shorten_text(operator)}` is not supported", did_you_mean(operator, _operator_names())
    )


def _operator_names() -> Iterable[str]:
    return (*BINARY, *SWAPPED_COMPARISONS, *UNARY, *OTHER_OPERATORS)


def _read_operands(node: JsonNode, *keys: str) -> list[JsonNode]:
    fields = node.table(("op", *keys))
    return [fields[key] for key in keys]


def _flatten_chain(node: JsonNode, operator: str) -> list[JsonNode]:
    """The operands of an associative operator, however they are nested: one term with many arguments."""
    operands: list[JsonNode] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part.value, dict) and part.value.get("op") == operator:
            waiting.extend(reversed(_read_operands(part, "left", "right")))
        else:
            operands.append(part)
    return operands


def _read_array(node: JsonNode, scope: JaniScope, level: int) -> Term:
    elements = node.table(("op", "elements"))["elements"].entries()
    if not elements:
        node.refuse("an array without elements has no kind", "write at least one element")
    rows = tuple(read_unfolded_term(e, scope, level + 1) for e in elements)
    lengths = {len(r.args) for r in rows if isinstance(r, Apply) and r.op is Op.ARRAY}
    if len(lengths) > 1:
        node.refuse("an array whose rows have different lengths is not supported", "fill the rows up")
    return Apply(Op.ARRAY, rows)


def _expand_comprehension(node: JsonNode, scope: JaniScope, level: int) -> Term:
    fields = node.table(("op", "var", "length", "exp"))
    length = read_jani_constant(fields["length"], scope).value
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        fields["length"].fail("an array has at least one element", "write a whole number from 1 on")
    if length * scope.repeats > MOST_ELEMENTS:
        fields["length"].refuse(f"an array of more than {MOST_ELEMENTS} elements", "use a smaller one")
    name = fields["var"].name()
    inner = replace(scope, repeats=scope.repeats * length)
    return Apply(
        Op.ARRAY,
        tuple(
            read_unfolded_term(fields["exp"], inner.within({name: Const(i)}), level + 1)
            for i in range(length)
        ),
    )


def _expand_call(node: JsonNode, scope: JaniScope, level: int) -> Term:
    fields = node.table(("op", "function", "args"))
    function = scope.functions[fields["function"].declared_name(scope.functions, "function")]
    if function.name in scope.calls:
        node.refuse(f"function `{function.name}` calls itself", "recursive functions are not supported")
    scope.expanded[function.name] += 1
    if scope.expanded.total() > MOST_CALLS:
        what = f"functions are written out more than {MOST_CALLS} times"
        node.refuse(what, "call them less often in each other")
    given = fields["args"].entries()
    if len(given) != len(function.parameters):
        what = f"`{function.name}` takes {len(function.parameters)} arguments, not {len(given)}"
        fields["args"].fail(what)
    arguments: dict[str, Term] = {}
    for argument, (name, kind) in zip(given, function.parameters, strict=True):
        arguments[name] = read_unfolded_term(argument, scope, level + 1)
        found = jani_term_type(argument, arguments[name], scope)
        if not _is_jani_subtype(found, kind):
            argument.fail(
                f"`{name}` is {describe_type(unbounded_type(kind))}, but this is {describe_type(found)}"
            )
    inner = scope.inside(function.name, arguments)
    body = read_unfolded_term(function.body, inner, level + 1)
    found = jani_term_type(function.body, body, inner)
    if not _is_jani_subtype(found, function.result):
        what = f"`{function.name}` is declared as {describe_type(unbounded_type(function.result))}"
        function.body.fail(f"{what}, but this is {describe_type(found)}")
    return body


def _read_logarithm(node: JsonNode, scope: JaniScope, level: int) -> Term:
    fields = node.table(("op", "left", "right"))
    of, base = (
        fold_constant_parts(read_unfolded_term(fields[side], scope, level + 1)) for side in ("left", "right")
    )
    if fields["right"].value == {"constant": "e"}:
        return Apply(Op.LOG, (of,))
    if not isinstance(of, Const) or not isinstance(base, Const):
        node.refuse("`log` of something that is not constant", "only logarithms to base e may depend on it")
    try:
        return Const(base_logarithm(of.value, base.value))
    except InvalidProblem as error:
        node.fail(error.what, error.fix)
    except Unsupported as error:
        node.refuse(error.what, error.fix)
