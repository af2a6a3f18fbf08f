"""PRISM expressions as terms: names resolved, formulas put in, constants folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from surefoot.errors import InvalidProblem, SurefootError, did_you_mean
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.prism.expressions import PrismExpression, check_call
from surefoot.formats.prism.model_syntax import PrismDefinition
from surefoot.formats.prism.tokens import PrismPlace
from surefoot.term.elementary import base_logarithm
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.interval import term_interval
from surefoot.term.number import LongNumber
from surefoot.term.printer import abbreviate_term
from surefoot.term.term import Apply, Const, Op, Term, Var, equal, free_names
from surefoot.term.traverse import count_term_parts
from surefoot.term.types import (
    BOOL,
    INT,
    describe_type,
    infer_term_type,
    join_types,
    unbounded_type,
)
from surefoot.term.value_types import Int, ValueType

_MOST_PARTS = 1_000_000
_PLAIN = {
    "|": Op.OR,
    "&": Op.AND,
    "=>": Op.IMPLIES,
    "<=>": Op.EQ,
    "=": Op.EQ,
    "<": Op.LT,
    "<=": Op.LE,
    "+": Op.ADD,
    "-": Op.SUB,
    "*": Op.MUL,
    "/": Op.DIV,
    "negate": Op.NEG,
    "!": Op.NOT,
    "?": Op.ITE,
}
_SWAPPED = {">": Op.LT, ">=": Op.LE}
_CALLS = {"min": Op.MIN, "max": Op.MAX, "floor": Op.FLOOR, "ceil": Op.CEIL}
_Renames: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PrismScope:
    """What names stand for. `renames`: of the module in which an expression stands, also inside formulas."""

    kinds: Mapping[str, ValueType]  # variables, by the names of the file
    names: Mapping[str, str]  # variables: name in the file -> name in the environment
    constants: Mapping[str, Const]
    formulas: Mapping[str, tuple[PrismDefinition, _Renames]]
    labels: Mapping[str, Term] | None = None  # None: labels cannot be used here
    renames: _Renames = field(default_factory=dict)
    under: tuple[str, ...] = ()  # formulas that are being put in
    notes: set[str] = field(default_factory=set)
    done: dict[tuple[str, tuple[tuple[str, str], ...]], Term] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)  # constants without a value, and what to do
    terms: Mapping[str, Term] = field(default_factory=dict)  # other names, and what they stand for

    def renaming(self, renames: _Renames) -> PrismScope:
        return replace(self, renames=renames)

    def own_kinds(self) -> dict[str, ValueType]:
        """The kinds of the variables by their names in the environment."""
        return {self.names[name]: kind for name, kind in self.kinds.items()}


def read_prism_term(expression: PrismExpression, scope: PrismScope, wanted: ValueType | None = None) -> Term:
    """The term of an expression, folded; its kind has to be the one that is wanted, if any is."""
    term = _unfolded_term(expression, scope)
    kind = prism_term_type(expression, term, scope)
    if wanted is not None and join_types(kind, unbounded_type(wanted)) != unbounded_type(wanted):
        needed = describe_type(unbounded_type(wanted))
        what = f"`{abbreviate_term(term)}` is {describe_type(kind)}, but {needed} is needed"
        start_of(expression).fail(what, _suggest_fix(term, kind, wanted))
    try:
        return fold_constant_parts(term)
    except LongNumber as error:
        start_of(expression).refuse(error.what, error.fix)


def _suggest_fix(term: Term, kind: ValueType, wanted: ValueType) -> str:
    """How the term could have become one of that kind, in the words of PRISM."""
    if kind == BOOL:
        return f"write ({abbreviate_term(term)} ? 1 : 0)" if isinstance(term, Var) else "write (… ? 1 : 0)"
    if isinstance(wanted, Int):
        return "round it with floor, ceil or round"
    return f"compare it with something: `{abbreviate_term(term)} > 0`"


def start_of(expression: PrismExpression) -> PrismPlace:
    """Where an expression begins."""
    while expression.args and expression.op != "call" and expression.op not in ("!", "negate"):
        expression = expression.args[0]
    return expression.place


def prism_term_type(expression: PrismExpression, term: Term, scope: PrismScope) -> ValueType:
    """The kind of a term over the variables of the scope."""
    place = start_of(expression)
    if count_term_parts(term) > _MOST_PARTS:
        place.refuse(
            f"an expression of more than {_MOST_PARTS} operators", "use fewer formulas in each other"
        )
    kinds = scope.own_kinds()

    def unknown(name: str) -> InvalidProblem:
        return InvalidProblem(f"`{name}` is not declared", fix=did_you_mean(name, kinds))

    try:
        return infer_term_type(term, kinds, "", unknown)
    except InvalidProblem as error:
        place.fail(error.what, error.fix)


def read_prism_constant(
    expression: PrismExpression, scope: PrismScope, wanted: ValueType | None = None
) -> Const:
    """The value of an expression that has the same one everywhere."""
    term = read_prism_term(expression, scope, wanted)
    if free_names(term):
        what = f"`{abbreviate_term(term)}` is not a constant"
        start_of(expression).fail(what, "use numbers and constants only")
    if not isinstance(term, Const):
        try:
            return Const(evaluate_term(term, {}))
        except Undefined as error:
            start_of(expression).fail(error.what, "use another value")
    return term


def _unfolded_term(expression: PrismExpression, scope: PrismScope) -> Term:
    op, place = expression.op, expression.place
    if op in ("number", "truth"):
        value = expression.value
        assert not isinstance(value, str)
        return Const(value)
    if op == "name":
        return _resolve_name(str(expression.value), place, scope)
    if op == "label":
        return _resolve_label(str(expression.value), place, scope)
    args = tuple(_unfolded_term(argument, scope) for argument in expression.args)
    if op == "call":
        return _call_function(expression, args, scope)
    if op in _SWAPPED:
        return Apply(_SWAPPED[op], args[::-1])
    if op == "!=":
        return ~equal(*args)
    if op == "<=>":
        for argument, term in zip(expression.args, args, strict=True):
            _require_truth(argument, term, scope)
    return Apply(_PLAIN[op], args)


def _require_truth(expression: PrismExpression, term: Term, scope: PrismScope) -> None:
    kind = prism_term_type(expression, term, scope)
    if describe_type(kind) != "a truth value":
        start_of(expression).fail(f"`{abbreviate_term(term)}` is {describe_type(kind)}, not a truth value")


def _resolve_name(written: str, place: PrismPlace, scope: PrismScope) -> Term:
    if written in scope.formulas:  # formulas are put in first, then their contents are renamed
        return _expand_formula(written, place, scope)
    name = scope.renames.get(written, written)
    if name in scope.names:
        return Var(scope.names[name])
    if name in scope.constants:
        return scope.constants[name]
    if name in scope.formulas:
        return _expand_formula(name, place, scope)
    if name in scope.terms:
        return scope.terms[name]
    if name in scope.waiting:
        place.fail(f"constant `{name}` has no value", scope.waiting[name])
    known = (*scope.names, *scope.constants, *scope.formulas, *scope.terms)
    place.fail(f"`{name}` is not declared", did_you_mean(name, known))


def _expand_formula(name: str, place: PrismPlace, scope: PrismScope) -> Term:
    if name in scope.under:
        place.fail(f"formula `{name}` depends on itself", "break the cycle")
    definition, own = scope.formulas[name]
    renames = {old: scope.renames.get(new, new) for old, new in own.items()}
    renames |= {old: new for old, new in scope.renames.items() if old not in own}
    key = (name, tuple(sorted(renames.items())))
    if key not in scope.done:
        inner = replace(scope, renames=renames, under=(*scope.under, name), labels=None)
        scope.done[key] = _unfolded_term(definition.body, inner)
    return scope.done[key]


def _resolve_label(name: str, place: PrismPlace, scope: PrismScope) -> Term:
    if scope.labels is None:
        place.fail(f'label "{name}" cannot be used here', "labels belong into properties; use a formula")
    if name not in scope.labels:
        place.fail(f'there is no label "{name}"', did_you_mean(name, scope.labels))
    return scope.labels[name]


def _call_function(expression: PrismExpression, args: tuple[Term, ...], scope: PrismScope) -> Term:
    name = scope.renames.get(str(expression.value), str(expression.value))
    place = expression.place
    check_call(name, len(args), place)
    if name in _CALLS:
        return args[0] if len(args) == 1 and name in ("min", "max") else Apply(_CALLS[name], args)
    match name:
        case "round":
            return Apply(Op.FLOOR, (args[0] + Const(Fraction(1, 2)),))
        case "mod":
            return _read_modulo(expression, args, scope)
        case "pow":
            return _read_power(expression, args, scope)
        case _:
            return _read_logarithm(expression, args, scope)


def _read_modulo(expression: PrismExpression, args: tuple[Term, ...], scope: PrismScope) -> Term:
    """PRISM has no value for a divisor below 1."""
    divisor = fold_constant_parts(args[1])
    if isinstance(divisor, Const) and not isinstance(divisor.value, bool) and divisor.value <= 0:
        start_of(expression.args[1]).fail("`mod` by a number below 1 has no value", "use a positive divisor")
    if term_interval(divisor, scope.own_kinds())[0] < 0:
        what = "`mod` by something that may be negative is not supported"
        start_of(expression.args[1]).refuse(what, "use max(1, …)")
    return Apply(Op.MOD, args)


def _read_power(expression: PrismExpression, args: tuple[Term, ...], scope: PrismScope) -> Term:
    kinds = [prism_term_type(e, t, scope) for e, t in zip(expression.args, args, strict=True)]
    exponent = fold_constant_parts(args[1])
    if kinds == [INT, INT] and term_interval(exponent, scope.own_kinds())[0] < 0:
        if isinstance(exponent, Const) and any(_is_written_as_double(part) for part in expression.args):
            return Apply(Op.DIV, (Const(1), Apply(Op.POW, (args[0], Const(-exponent.value)))))
        what = "`pow` of integers with an exponent that may be negative"
        start_of(expression.args[1]).refuse(what, "write 1/pow(a, b) with the exponent turned round")
    if kinds[1] != INT and not isinstance(exponent, Const):
        scope.notes.add("powers with exponents that are no integers are rounded to the nearest double")
    return Apply(Op.POW, args)


def _is_written_as_double(expression: PrismExpression) -> bool:
    """`2.0` and `-1.0`: doubles of PRISM with the values of integers."""
    while expression.op == "negate":
        (expression,) = expression.args
    return expression.op == "number" and isinstance(expression.value, Fraction)


def _read_logarithm(expression: PrismExpression, args: tuple[Term, ...], scope: PrismScope) -> Term:
    of, base = (fold_constant_parts(argument) for argument in args)
    if not isinstance(of, Const) or not isinstance(base, Const):
        expression.place.refuse("`log` of something that is not constant", "use constants only")
    try:
        value = base_logarithm(of.value, base.value)
    except SurefootError as error:
        expression.place.fail(error.what, error.fix)
    if isinstance(value, Fraction):
        scope.notes.add("logarithms that are no integers are rounded to the nearest double")
    return Const(value)
