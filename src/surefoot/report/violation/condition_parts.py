"""What a condition bounds: the quantities that it compares with numbers, and which of their values it means.

Of `x > 3 and y < 2` the part about x is `x > 3`: bad where the rest holds too. Of `x > 3 or y < 2` it is the
same, and enough. These parts are for pictures; nothing is decided by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite
from typing import TypeAlias

from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.simulate.batch.state_columns import column_kinds
from surefoot.term.evaluate import evaluate_term
from surefoot.term.lexer import shorten_text
from surefoot.term.linear import LinearForm, linearise_term, scale_form, term_from_linear
from surefoot.term.normal_form import fold_condition
from surefoot.term.printer import abbreviate_term, show_term
from surefoot.term.reserved_names import is_about_acting, location_parts
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names
from surefoot.term.types import is_truth_value, is_whole
from surefoot.term.value_types import Arithmetic, Bool, Real, ValueType
from surefoot.verdict.sentences import round_long_numbers

Interval: TypeAlias = tuple[float, float]  # its ends may be infinite
EVERYTHING: tuple[Interval, ...] = ((-inf, inf),)
LONGEST_LABEL = 44  # characters
MOST_SAID = 4  # comparisons that are named


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that has a number in every state; a truth value counts as 0 or 1."""

    term: Term
    label: str
    linear: LinearForm | None = None
    truth: bool = False
    whole: bool = False

    @property
    def name(self) -> str | None:
        """The name, where it is no more than that."""
        return self.term.name if isinstance(self.term, Var) else None


@dataclass(frozen=True, slots=True)
class ConditionPart:
    """Which values of a quantity a condition means, if `also` is empty or holds too."""

    quantity: Quantity
    intervals: tuple[Interval, ...]
    thresholds: tuple[float, ...]
    words: str  # what is said about the quantity: `> 3 or < -3`
    also: str = ""


_Parts: TypeAlias = dict[Term, ConditionPart]
_Decisive: TypeAlias = tuple[bool, tuple[ConditionPart, ...]]


def kinds_of_names(problem: Problem, names: Sequence[str]) -> dict[str, ValueType]:
    """The kinds of variables, and of what conditions may say beside them."""
    found: dict[str, ValueType] = dict(column_kinds(problem.environment))
    for name in names:
        if name not in found:
            truth = is_about_acting(name) or location_parts(name) is not None
            found[name] = Bool() if truth else Real()
    return found


def split_condition(condition: Term, kinds: Mapping[str, ValueType]) -> tuple[ConditionPart, ...]:
    """The part about each quantity, in the order in which they are met."""

    def literal(term: Term, sign: bool) -> _Parts:
        found = read_literal(term, sign, kinds)
        return {found.quantity.term: found} if free_names(found.quantity.term) else {}

    def conjoin(parts: Sequence[_Parts]) -> _Parts:
        together = _merge_parts(parts, conjoin=True)
        if len(together) == 1:
            return together
        words = {term: _describe_part(part) for term, part in together.items()}
        return {
            term: replace(part, also=" and ".join(w for other, w in words.items() if other != term))
            for term, part in together.items()
        }

    def disjoin(parts: Sequence[_Parts]) -> _Parts:
        return _merge_parts(parts, conjoin=False)

    found: _Parts = fold_condition(
        condition, True, literal, conjoin, disjoin, is_truth=lambda term: is_truth_value(term, kinds)
    )
    return tuple(found.values())


def _merge_parts(parts: Sequence[_Parts], *, conjoin: bool) -> _Parts:
    """Of each quantity the values that all, or some, of the parts about it mean.

    In a conjunction only what is about nothing else is met by all: `x > 3 or y > 3` may hold by y.
    """
    found: _Parts = {}
    for term in dict.fromkeys(t for one in parts for t in one):
        alone = [one[term] for one in parts if term in one and len(one) == 1]
        others = [one[term] for one in parts if term in one and len(one) > 1]
        both = conjoin and bool(alone)
        kept = alone if both else [one[term] for one in parts if term in one]
        first = kept[0]
        for part in kept[1:]:
            join = intersect_intervals if both else unite_intervals
            also = first.also if first.also == part.also else _either(first.also, part.also)
            intervals, words = join(first.intervals, part.intervals), _join_words(first, part, both)
            first = ConditionPart(first.quantity, intervals, first.thresholds, words, also)
        limits = sorted({t for part in (*kept, *others) for t in part.thresholds})
        found[term] = replace(first, thresholds=tuple(limits))
    return found


def _join_words(one: ConditionPart, other: ConditionPart, conjoin: bool) -> str:
    if one.words == other.words:
        return one.words
    parts = [f"({p.words})" if conjoin and " or " in p.words else p.words for p in (one, other)]
    return (" and " if conjoin else " or ").join(parts)


def _either(one: str, other: str) -> str:
    return "the rest of the condition holds" if one or other else ""


def intersect_intervals(one: Sequence[Interval], other: Sequence[Interval]) -> tuple[Interval, ...]:
    found = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return tuple(sorted((low, high) for low, high in found if low <= high))


def unite_intervals(one: Sequence[Interval], other: Sequence[Interval]) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for low, high in sorted([*one, *other]):
        if found and low < found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def read_literal(term: Term, sign: bool, kinds: Mapping[str, ValueType]) -> ConditionPart:
    """A comparison or a truth value, or its negation: the quantity in it, and the values that it means."""
    if not (isinstance(term, Apply) and term.op in (Op.LE, Op.LT, Op.EQ)):
        quantity = Quantity(term, _label(term), truth=True, whole=True)
        return ConditionPart(
            quantity, ((0.5, inf),) if sign else ((-inf, 0.5),), (), "true" if sign else "false"
        )
    left, right = term.args
    found = _linear_difference(left, right)
    if found is not None:
        form, bound, flipped = found
        quantity = Quantity(term_from_linear(form), _linear_label(form), form, whole=_is_whole(form, kinds))
    else:
        bound, flipped = Fraction(0), False
        if (inside := _absolute_value(left, right, kinds)) is not None:
            return _two_sided(*inside, term.op, sign)
        inner: Term = left - right
        if (number := _constant(right)) is not None:
            inner, bound = left, number
        elif (number := _constant(left)) is not None:
            inner, bound, flipped = right, number, True
        quantity = Quantity(inner, _label(inner), whole=is_whole(inner, kinds))
    limit = float(bound)
    words = f"{_comparison_sign(term.op, sign, flipped)} {number_text(limit)}"
    if term.op is Op.EQ:
        return ConditionPart(quantity, _around(bound, quantity.whole, sign), (limit,), words)
    below = sign is not flipped
    return ConditionPart(quantity, ((-inf, limit),) if below else ((limit, inf),), (limit,), words)


def _comparison_sign(op: Op, sign: bool, flipped: bool) -> str:
    """How a quantity stands to its number, where it stood on the left, or `flipped`: on the right."""
    if op is Op.EQ:
        return "=" if sign else "!="
    strict = (op is Op.LT) is sign
    return ("<" if sign is not flipped else ">") + ("" if strict else "=")


def _around(bound: Fraction, whole: bool, sign: bool) -> tuple[Interval, ...]:
    """One value, or all others; a whole number has room around it."""
    room, value = 0.5 if whole else 0.0, float(bound)
    if sign:
        return ((value - room, value + room),)
    return (-inf, value - room), (value + room, inf)


def _linear_difference(left: Term, right: Term) -> tuple[LinearForm, Fraction, bool] | None:
    """Left minus right as a linear form, without its constant, that begins with one of its names.

    Then left <= right says that it is at most the number, or `flipped`: at least.
    """
    try:
        whole = linearise_term(left - right)
    except SurefootError:
        return None
    if whole.is_constant():
        return LinearForm(), -whole.constant, False
    first = whole.coefficients[0][1]
    scaled = scale_form(whole, 1 / first)
    return LinearForm(scaled.coefficients), -scaled.constant, first < 0


def _is_whole(form: LinearForm, kinds: Mapping[str, ValueType]) -> bool:
    return all(c.denominator == 1 and is_whole(Var(n), kinds) for n, c in form.coefficients)


def _absolute_value(
    left: Term, right: Term, kinds: Mapping[str, ValueType]
) -> tuple[Quantity, Fraction, bool] | None:
    """|linear| compared with a number: the linear form, the number, and whether that stands on the left."""
    for one, other, flipped in ((left, right, False), (right, left, True)):
        number = _constant(other)
        if number is not None and isinstance(one, Apply) and one.op is Op.ABS:
            try:
                form = linearise_term(one.args[0])
            except SurefootError:
                return None
            if form.constant or form.is_constant():
                return None
            term, label = term_from_linear(form), _linear_label(form)
            return Quantity(term, label, form, whole=_is_whole(form, kinds)), number, flipped
    return None


def _two_sided(quantity: Quantity, bound: Fraction, flipped: bool, op: Op, sign: bool) -> ConditionPart:
    limit, whole = float(bound), quantity.whole
    words = f"{_comparison_sign(op, sign, flipped)} {number_text(limit)} in size"
    if op is Op.EQ:
        points = unite_intervals(_around(bound, whole, True), _around(-bound, whole, True))
        outside = intersect_intervals(_around(bound, whole, False), _around(-bound, whole, False))
        return ConditionPart(quantity, points if sign else outside, (-limit, limit), words)
    inside = sign is not flipped
    if limit < 0:
        return ConditionPart(quantity, () if inside else EVERYTHING, (), words)
    intervals = ((-limit, limit),) if inside else ((-inf, -limit), (limit, inf))
    return ConditionPart(quantity, intervals, (-limit, limit), words)


def _constant(term: Term) -> Fraction | None:
    if free_names(term):
        return None
    try:
        value = evaluate_term(term, {})
        return None if isinstance(value, bool | tuple) else Fraction(value)
    except (SurefootError, TypeError, ValueError, OverflowError):
        return None


def _label(term: Term) -> str:
    shown = round_long_numbers(show_term(term))
    if len(shown) > LONGEST_LABEL:
        shown = round_long_numbers(abbreviate_term(term))
    return shorten_text(shown, LONGEST_LABEL)


def _linear_label(form: LinearForm) -> str:
    text = ""
    for name, factor in form.coefficients:
        size = "" if abs(factor) == 1 else f"{number_text(float(abs(factor)))}*"
        sign = ("- " if factor < 0 else "+ ") if text else ("-" if factor < 0 else "")
        text += f"{' ' if text else ''}{sign}{size}{_label(Var(name))}"
    return shorten_text(text, LONGEST_LABEL)


def number_text(value: float) -> str:
    return f"{value:.6g}"


def _describe_part(part: ConditionPart) -> str:
    """The part as a condition."""
    label = part.quantity.label
    if part.quantity.truth:
        return label if part.words == "true" else f"not {label}"
    return f"{label} {part.words}"


def decisive_parts(
    condition: Term, names: Mapping[str, object], kinds: Mapping[str, ValueType], arithmetic: Arithmetic
) -> tuple[ConditionPart, ...]:
    """The comparisons by which a condition holds with these values; none where it does not hold."""

    def literal(term: Term, sign: bool) -> _Decisive:
        try:
            holds = bool(evaluate_term(term, names, arithmetic)) is sign
        except (SurefootError, KeyError):
            holds = False
        return holds, (read_literal(term, sign, kinds),) if holds else ()

    def conjoin(parts: Sequence[_Decisive]) -> _Decisive:
        holds = all(h for h, _ in parts)
        return holds, tuple(p for _, found in parts for p in found) if holds else ()

    def disjoin(parts: Sequence[_Decisive]) -> _Decisive:
        return any(h for h, _ in parts), tuple(p for h, found in parts if h for p in found)

    found: _Decisive = fold_condition(
        condition, True, literal, conjoin, disjoin, is_truth=lambda term: is_truth_value(term, kinds)
    )
    return found[1]


def describe_decisive_parts(
    condition: Term, names: Mapping[str, object], kinds: Mapping[str, ValueType], arithmetic: Arithmetic
) -> str:
    """What a condition holds by, in its own signs; a long list is cut."""
    said = list(dict.fromkeys(map(_describe_part, decisive_parts(condition, names, kinds, arithmetic))))
    return ", ".join(said[:MOST_SAID]) + (", …" if len(said) > MOST_SAID else "")


def constant_term(value: object) -> Term | None:
    """A value of a state as a constant of a term; None for an array, and for what is no number."""
    if isinstance(value, float):
        return Const(Fraction(value)) if isfinite(value) else None
    return Const(value) if isinstance(value, bool | int | Fraction) else None
