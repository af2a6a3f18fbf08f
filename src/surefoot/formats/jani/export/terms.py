"""Terms as JANI expressions: one entry for each operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from surefoot.errors import Unsupported
from surefoot.formats.jani.expressions import BINARY, UNARY
from surefoot.problem.environment import Environment
from surefoot.term.printer import abbreviate_term
from surefoot.term.reserved_names import DEADLOCKED, is_reserved, location_key, location_parts
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term

Json = Any
LARGEST = 10**4000  # Python refuses to write longer whole numbers


@dataclass(frozen=True, slots=True)
class ExportNames:
    """What stands for names that JANI does not know: transient variables that tell where a component is."""

    environment: Environment
    used: set[str]  # names that are taken
    tests: dict[tuple[str, str], str] = field(default_factory=dict)  # component, location -> truth value
    numbers: dict[str, str] = field(default_factory=dict)  # component -> number of its location

    def fresh(self, wanted: str) -> str:
        while wanted in self.used:
            wanted += "_"
        self.used.add(wanted)
        return wanted

    def test(self, component: str, location: str) -> str:
        key = component, location
        if key not in self.tests:
            self.tests[key] = self.fresh(f"{component} is at {location}")
        return self.tests[key]

    def number(self, component: str) -> str:
        if component not in self.numbers:
            self.numbers[component] = self.fresh(f"location of {component}")
        return self.numbers[component]


def jani_expression(term: Term, names: ExportNames, where: str) -> Json:
    """The JANI expression of a term; `where` says in errors which part of the problem it stands in."""

    def leaf(part: Leaf) -> Json:
        return _encode_name(part.name, names, where) if isinstance(part, Var) else jani_number(part.value)

    def arguments(part: Apply, _: list[Json]) -> Iterator[Term]:
        if part.op not in WRITERS:
            what = f"`{part.op.value}` in `{abbreviate_term(part)}` has no counterpart in JANI"
            raise Unsupported(what, fix="write the model without it", where=where)
        return iter(() if _location_test(part, names) is not None else part.args)

    def apply_operator(part: Apply, args: list[Json]) -> Json:
        test = _location_test(part, names)
        return WRITERS[part.op](args) if test is None else test

    return fold_term(term, leaf, apply_operator, arguments)


def _location_test(term: Apply, names: ExportNames) -> Json:
    """What stands for a test of a component's location; None for other terms."""
    match term:
        case Apply(Op.EQ, (Var(name), Const(int() as index))) if (
            owner := _location_owner(name, names)
        ) is not None:
            places = owner.locations
            return names.test(owner.name, places[index]) if 0 <= index < len(places) else False
    return None


def jani_number(value: bool | int | Fraction) -> Json:
    """A number as a decimal where that is exact, else as a quotient."""
    if isinstance(value, bool):
        return value
    if max(abs(Fraction(value).numerator), Fraction(value).denominator) > LARGEST:
        raise Unsupported("a number is too large to be written", fix="use smaller numbers")
    if isinstance(value, int):
        return value
    try:
        shortest = float(value)
    except OverflowError:
        shortest = 0.0
    if Fraction(repr(shortest)) == value:
        return shortest
    return _binary_expression("/", value.numerator, value.denominator)


def _location_owner(name: str, names: ExportNames) -> Any:
    """The component whose location has this key, if it is one."""
    return next((c for c in names.environment.components if location_key(c.name) == name), None)


def _encode_name(name: str, names: ExportNames, where: str) -> Json:
    if (owner := _location_owner(name, names)) is not None:
        return names.number(owner.name)
    if (place := location_parts(name)) is not None:
        single = next(c for c in names.environment.components if c.name == place[0])
        return True if len(single.locations) == 1 else names.test(*place)
    if name == DEADLOCKED:
        return {"op": "deadlock"}
    if is_reserved(name) or name not in {v.name for v in names.environment.variables}:
        what = f"`{name}` has no counterpart in JANI"
        raise Unsupported(what, fix="a JANI model knows no policy", where=where)
    return name


def _binary_expression(operator: str, left: Json, right: Json) -> Json:
    return {"op": operator, "left": left, "right": right}


def balanced_expression(operator: str, args: Sequence[Json]) -> Json:
    """Many arguments as a balanced tree of pairs: thousands of them are not nested deeply."""
    if len(args) == 1:
        return args[0]
    middle = len(args) // 2
    left, right = balanced_expression(operator, args[:middle]), balanced_expression(operator, args[middle:])
    return _binary_expression(operator, left, right)


def _binary_writer(operator: str) -> Callable[[list[Json]], Json]:
    return lambda args: _binary_expression(operator, *args)


def _unary_writer(operator: str) -> Callable[[list[Json]], Json]:
    return lambda args: {"op": operator, "exp": args[0]}


_SPELLED = {op: operator for operator, op in BINARY.items()}
_ASSOCIATIVE = (Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR)
WRITERS: Mapping[Op, Callable[[list[Json]], Json]] = {
    **{op: partial(balanced_expression, _SPELLED[op]) for op in _ASSOCIATIVE},
    **{op: _binary_writer(operator) for op, operator in _SPELLED.items() if op not in _ASSOCIATIVE},
    **{op: _unary_writer(operator) for operator, op in UNARY.items()},
    Op.NEG: lambda args: _binary_expression("-", 0, args[0]),
    Op.ITE: lambda args: {"op": "ite", "if": args[0], "then": args[1], "else": args[2]},
    Op.ARRAY: lambda args: {"op": "av", "elements": args},
    Op.SELECT: lambda args: {"op": "aa", "exp": args[0], "index": args[1]},
    Op.LOG: lambda args: _binary_expression("log", args[0], {"constant": "e"}),
}
WITHOUT_COUNTERPART = (Op.SQRT, Op.EXP)
