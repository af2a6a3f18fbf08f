"""Terms over a set of states: truth values with a third one for "not known", exact numbers, and affine forms.

Discrete variables have one value in a cell, real ones are forms. `PlantArithmetic` says what the plant
computes with: `exact` real numbers (in steps, elementary functions are the nearest doubles), or `float64`,
every operation rounded: a result is off by 2^-53 of its size, an elementary function by 2^-51, a power by
2^-53 for each of its products; what underflows is off by less than a unit, whatever the operation. Whole
numbers stay exact there until they meet a real one: those that no double holds are not covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import Refused, limit_bits
from ...kernel.term import ELEMENTARY, OPERATORS, Term, integer_if_whole, is_number, same_term
from .affine_form import Form, FormArithmetic, form_bounds, form_size, widen_form
from .flow_program import LARGEST_EXPONENT, Truth, decide_comparison
from .interval import Interval, IntervalArithmetic, meet_intervals

Value = Any  # a truth value (None: not known), an exact number (int or Fraction) or a Form
_MOST_DOUBLE = Fraction(1 << 1000)


@dataclass(frozen=True, slots=True)
class PlantArithmetic:
    rounded: bool  # float64
    functions_rounded: bool  # elementary functions are doubles: in steps


EXACT_TIME = PlantArithmetic(False, False)


def widen_read(x: Form) -> Form:
    """The double nearest to what a form stands for."""
    return widen_form(x, (form_size(x) >> 53) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class TermForms:
    """Values of terms where names have these values."""

    arithmetic: FormArithmetic
    plant: PlantArithmetic
    names: Mapping[str, Value]

    def value(self, term: Term) -> Value:
        if type(term) is bool or is_number(term):
            return self._constant(term)
        word, *parts = term
        if word == "name":
            return self._whole(self.names[parts[0]])
        if word in ("and", "or", "not", "=>", "<", "<=", "="):
            return self.truth(term)
        if word == "ite":
            return self._choose(term)
        values = [self.number(part) for part in parts]
        if word in ELEMENTARY:
            known = self._range(parts[0]) if self._needs_range(word, values[0]) else None
            return self._apply_function(word, values[0], known)
        if word == "/" and self._needs_range(word, values[1]):
            return self._divide(values[0], values[1], self._range(parts[1]))
        return self._operate(word, values)

    def number(self, term: Term) -> Value:
        found = self.value(term)
        if found is None or type(found) is bool:
            raise Refused("a truth value stands where a number is needed")
        return found

    def form(self, term: Term) -> Form:
        """A number, as a form."""
        return self._as_form(self.number(term))

    def _as_form(self, value: Value) -> Form:
        return value if type(value) is tuple else self.arithmetic.enclose_number(value)

    def _constant(self, term: Any) -> Any:
        rounded = self.plant.rounded and type(term) is not bool
        return nearest_double(self._whole(term)) if rounded else term

    def _whole(self, value: Value) -> Value:
        """A value as it is, unless a whole number and the double nearest to it differ."""
        if self.plant.rounded and type(value) is int and nearest_double(value) != value:
            raise Refused("a whole number that no double holds")
        return value

    # Conditions.

    def truth(self, term: Term) -> Truth:
        if type(term) is bool:
            return term
        word = term[0] if type(term) is tuple else ""
        match word:
            case "not":
                inner = self.truth(term[1])
                return None if inner is None else not inner
            case "and" | "or":
                return self._connect(word, term[1:])
            case "=>":
                return self._connect("or", (("not", term[1]), term[2]))
            case "<" | "<=" | "=":
                return self._compare(term)
            case "name":
                found = self.names[term[1]]
                if type(found) is bool:
                    return found
            case "ite":
                found = self._choose(term)
                if found is None or type(found) is bool:
                    return found
        raise Refused("a number stands where a truth value is needed")

    def _connect(self, word: str, parts: Sequence[Term]) -> Truth:
        decisive, known = word == "or", True
        for part in parts:
            found = self.truth(part)
            if found is decisive:
                return decisive
            known = known and found is not None
        return not decisive if known else None

    def _compare(self, term: Term) -> Truth:
        word, (left, right) = term[0], (self.value(part) for part in term[1:])
        truths = [x for x in (left, right) if x is None or type(x) is bool]
        if truths:
            if word != "=" or len(truths) < 2:
                raise Refused("a truth value is compared with a number")
            return None if None in truths else left is right
        if type(left) is not tuple and type(right) is not tuple:
            return bool(OPERATORS[word](left, right))
        difference = form_bounds(self.arithmetic.subtract(self._as_form(left), self._as_form(right)))
        found = decide_comparison(word, difference)
        return found if found is not None else self._compare_ranges(term, difference)

    def _compare_ranges(self, term: Term, difference: Interval) -> Truth:
        """In plain intervals too: where a term bends much these may be narrower than a form."""
        word, left, right = term
        if _is_linear(left) and _is_linear(right):
            return None
        try:
            (a, b), (c, d) = self._range(left), self._range(right)
        except Refused:  # outside of the domain of an operation, which forms are not
            return None
        return decide_comparison(word, meet_intervals((a - d, b - c), difference))

    def _choose(self, term: Term) -> Value:
        known = self.truth(term[1])
        if known is not None:
            return self.value(term[2] if known else term[3])
        then, otherwise = self.value(term[2]), self.value(term[3])
        if type(then) is bool or then is None or type(otherwise) is bool or otherwise is None:
            return then if then is otherwise else None
        if type(then) is not tuple and then == otherwise:
            return then
        return self.arithmetic.join(self._as_form(then), self._as_form(otherwise))

    # Numbers.

    def _operate(self, word: str, parts: list[Value]) -> Value:
        if word in ("+", "*") and len(parts) > 1:  # from the first to the last
            found = parts[0]
            for part in parts[1:]:
                found = self._apply(word, [found, part])
            return found
        return self._apply(word, parts)

    def _apply(self, word: str, parts: list[Value]) -> Value:
        if all(type(part) is not tuple for part in parts):
            if word == "^" and type(parts[1]) is not int:
                raise Refused("an exponent that is not a whole number")
            exact = limit_bits(OPERATORS[word](*parts))
            if not self.plant.rounded or word not in _ROUNDED:
                return exact
            if word != "/" and all(type(part) is int for part in parts) and type(exact) is int:
                return self._whole(exact)
            if word == "^":
                product = limit_bits(OPERATORS[word](parts[0], abs(parts[1])))
                self._round(
                    self.arithmetic.enclose_number(product), 53
                )  # it may overflow before it is divided
                return self._round(self.arithmetic.enclose_number(exact), 53, _roundings(parts[1]))
            return nearest_double(exact)
        found = self._form_operation(word, parts)
        if self.plant.rounded and word in _ROUNDED and type(found) is tuple:
            return self._round(found, 53, _roundings(parts[1]) if word == "^" else 1)
        return found

    def _apply_function(self, word: str, x: Value, known: Interval | None) -> Form:
        found = self.arithmetic.apply(word, self._as_form(x), known)
        return self._round(found, 51) if self.plant.functions_rounded else found

    def _divide(self, x: Value, y: Value, known: Interval) -> Form:
        inverse = self.arithmetic.reciprocal(self._as_form(y), known)
        found = self.arithmetic.multiply(self._as_form(x), inverse)
        return self._round(found, 53) if self.plant.rounded else found

    # Ranges in plain intervals, where a form leaves the domain of an operation but the term itself does not:
    # a sum of squares is not negative.

    def _needs_range(self, word: str, value: Value) -> bool:
        if type(value) is not tuple:
            return False
        low, high = form_bounds(value)
        match word:
            case "sqrt" | "log":
                return low <= 0
            case "asin" | "acos":
                return max(-low, high) >= 1 << self.arithmetic.bits
            case "/":
                return low <= 0 <= high
        return False

    def _range(self, term: Term) -> Interval:
        """An enclosure of a number, operation by operation, wider by what the plant may round."""
        exact = IntervalArithmetic(self.arithmetic.bits)
        word = term[0] if type(term) is tuple else ""
        if word in ("", "name", "ite"):
            return form_bounds(self.form(term))
        parts = [self._range(part) for part in (term[1:2] if word == "^" else term[1:])]
        match word:
            case "+" | "*":
                found = parts[0]
                for number, part in enumerate(parts[1:], start=2):
                    same = word == "*" and number == 2 and same_term(term[1], term[2])
                    found = exact.square(part) if same else _INTERVALS[word](exact, found, part)
                    found = self._widen(found)
                return found
            case "-":
                found = exact.subtract(*parts)
            case "/":
                found = exact.multiply(parts[0], exact.reciprocal(parts[1]))
            case "^":
                exponent = self.number(term[2])
                return self._widen(self._range_power(exact, parts[0], exponent), _roundings(exponent))
            case "negate":
                return exact.negate(parts[0])
            case "abs":
                return exact.absolute(parts[0])
            case "min":
                return min(p[0] for p in parts), min(p[1] for p in parts)
            case "max":
                return max(p[0] for p in parts), max(p[1] for p in parts)
            case _ if word in ELEMENTARY:
                found = exact.apply(word, parts[0])
            case _:
                return form_bounds(self.form(term))
        return self._widen(found)

    def _range_power(self, exact: IntervalArithmetic, base: Interval, exponent: Value) -> Interval:
        if type(exponent) is not int or not 1 <= exponent <= LARGEST_EXPONENT:
            raise Refused("an exponent that is not a small whole number")
        found = base if exponent % 2 else exact.square(base)
        for _ in range((exponent - 1) // 2):
            found = exact.multiply(found, exact.square(base))
        return found

    def _widen(self, x: Interval, times: int = 4) -> Interval:
        """By what rounding may add, of so many operations or a function; it does not change a sign."""
        if not (self.plant.rounded or self.plant.functions_rounded):
            return x
        more = (max(-x[0], x[1], 0) * times >> 53) + 1
        low, high = x[0] - more, x[1] + more
        return (max(low, 0) if x[0] >= 0 else low), (min(high, 0) if x[1] <= 0 else high)

    def _round(self, x: Form, places: int, times: int = 1) -> Form:
        """Off by so many times 2^-places of its size."""
        size = form_size(x)
        if size >> self.arithmetic.bits >= _MOST_DOUBLE:
            raise Refused("a value may come near the largest double")
        return widen_form(x, (size * times >> places) + 1)

    def _form_operation(self, word: str, parts: list[Value]) -> Value:
        arithmetic = self.arithmetic
        if word == "*" and any(type(p) is not tuple for p in parts):
            x, factor = parts if type(parts[0]) is tuple else parts[::-1]
            exact = Fraction(factor)
            return arithmetic.scale(x, exact.numerator, exact.denominator)
        if word == "/" and type(parts[1]) is not tuple:
            if not parts[1]:
                raise Refused("a division by zero")
            exact = 1 / Fraction(parts[1])
            return arithmetic.scale(parts[0], exact.numerator, exact.denominator)
        if word == "^":
            return self._power(*parts)
        forms = [self._as_form(part) for part in parts]
        match word:
            case "+":
                return arithmetic.add(*forms) if len(forms) == 2 else forms[0]
            case "*":
                return arithmetic.multiply(*forms) if len(forms) == 2 else forms[0]
            case "-":
                return arithmetic.subtract(*forms)
            case "/":
                return arithmetic.multiply(forms[0], arithmetic.reciprocal(forms[1]))
            case "negate":
                return arithmetic.negate(forms[0])
            case "abs":
                return arithmetic.absolute(forms[0])
            case "min" | "max":
                combine = arithmetic.minimum if word == "min" else arithmetic.maximum
                found = forms[0]
                for form in forms[1:]:
                    found = combine(found, form)
                return found
            case "floor" | "ceil" | "trc" | "sgn":
                return self._step_function(word, forms[0])
        raise Refused(f"`{word}` of real numbers is not covered")

    def _power(self, base: Value, exponent: Value) -> Form:
        if type(exponent) is not int or abs(exponent) > LARGEST_EXPONENT:
            raise Refused("an exponent that is not a small whole number")
        found: Form | None = None
        form, left = self._as_form(base), abs(exponent)
        while left:
            if left % 2:
                found = form if found is None else self.arithmetic.multiply(found, form)
            left //= 2
            form = self.arithmetic.square(form) if left else form
        if found is None:
            return self.arithmetic.enclose_number(1)
        if exponent > 0:
            return found
        if self.plant.rounded:
            self._round(found, 53)  # it may overflow before it is divided
        return self.arithmetic.reciprocal(found)

    def _step_function(self, word: str, x: Form) -> int | Form:
        """Its value if it is the same at both ends, else all between."""
        low, high = (OPERATORS[word](Fraction(end, 1 << self.arithmetic.bits)) for end in form_bounds(x))
        if low == high:
            return int(low)
        return self.arithmetic.enclose_interval((low << self.arithmetic.bits, high << self.arithmetic.bits))


def _is_linear(term: Term) -> bool:
    """Sums and multiples of names, which forms are exact for."""
    if type(term) is not tuple or term[0] == "name":
        return True
    if term[0] in ("+", "-", "negate"):
        return all(map(_is_linear, term[1:]))
    return (
        term[0] == "*"
        and sum(type(part) is tuple for part in term[1:]) < 2
        and all(map(_is_linear, term[1:]))
    )


_ROUNDED = frozenset({"+", "-", "*", "/", "^"})
_INTERVALS = {"+": IntervalArithmetic.add, "*": IntervalArithmetic.multiply}


def _roundings(exponent: int) -> int:
    """So many times 2^-53 covers the products of a power from the left, and one division."""
    return max(abs(exponent), 3) + 1


def nearest_double(value: int | Fraction) -> int | Fraction:
    """The double nearest to an exact number."""
    if abs(Fraction(value)) >= _MOST_DOUBLE:
        raise Refused("a value may come near the largest double")
    found: int | Fraction = integer_if_whole(Fraction(float(Fraction(value))))
    return found


def assumed_forms(terms: TermForms, term: Term, wanted: bool) -> list[Form]:
    """Forms that are at most 0 wherever a condition is `wanted`; there may be more to say."""
    word = term[0] if type(term) is tuple else ""
    if word == "not":
        return assumed_forms(terms, term[1], not wanted)
    if word == "=>" and not wanted:
        return [*assumed_forms(terms, term[1], True), *assumed_forms(terms, term[2], False)]
    if word == ("and" if wanted else "or"):
        return [form for part in term[1:] for form in assumed_forms(terms, part, wanted)]
    if word not in ("<", "<=", "=") or (word == "=" and not wanted):
        return []
    left, right = terms.value(term[1]), terms.value(term[2])
    if all(type(side) is not tuple for side in (left, right)):
        return []
    difference = terms.arithmetic.subtract(terms.form(term[1]), terms.form(term[2]))
    opposite = terms.arithmetic.negate(difference)
    if word == "=":
        return [difference, opposite]
    return [difference if wanted else opposite]
