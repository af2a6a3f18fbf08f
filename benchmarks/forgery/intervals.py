"""Terms of a claim in numbers that are exact: fractions, or intervals of fixed length that contain them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

BITS = 256
MOST = 1 << (BITS + 4000)


class Unsure(Exception):
    """An interval does not tell."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Multiples of 2^-BITS."""

    low: int
    high: int

    @staticmethod
    def of(value: Fraction | int) -> Interval:
        exact = Fraction(value) * (1 << BITS)
        return Interval(exact.numerator // exact.denominator, -(-exact.numerator // exact.denominator))

    def _kept(self, low: int, high: int) -> Interval:
        if low < -MOST or high > MOST:
            raise Unsure
        return Interval(low, high)

    def __add__(self, other: Interval) -> Interval:
        return self._kept(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return self._kept(self.low - other.high, self.high - other.low)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return self._kept(min(ends) >> BITS, -(-max(ends) >> BITS))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0 <= other.high:
            raise Unsure
        ends = [Fraction(a << BITS, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        least, most = min(ends), max(ends)
        return self._kept(least.numerator // least.denominator, -(-most.numerator // most.denominator))

    def __lt__(self, other: Interval) -> bool:
        if self.high < other.low:
            return True
        if self.low >= other.high:
            return False
        raise Unsure

    def __le__(self, other: Interval) -> bool:
        return not other < self

    def within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high


def larger(a: Any, b: Any) -> Any:
    if isinstance(a, Interval):
        return Interval(max(a.low, b.low), max(a.high, b.high))
    return max(a, b)


def smaller(a: Any, b: Any) -> Any:
    return -larger(-a, -b)


def evaluate(term: Any, names: Mapping[str, Any], lift: Any) -> Any:
    """Of one state; `lift` makes a number of a fraction."""
    if isinstance(term, bool):
        return term
    if not isinstance(term, list):
        return lift(Fraction(term))
    word, *parts = term
    if word == "name":
        return names[parts[0]]
    if word in ("and", "or", "not", "=>"):
        return _evaluate_truth(word, parts, names, lift)
    values = [evaluate(part, names, lift) for part in parts]
    total = values[0]
    if len(values) == 1:
        return -total if word == "negate" else total
    for other in values[1:]:
        match word:
            case "+":
                total = total + other
            case "-":
                total = total - other
            case "*":
                total = total * other
            case "/":
                total = total / other
            case "max":
                total = larger(total, other)
            case "<":
                return total < other
            case "<=":
                return total <= other
            case "=":
                return total <= other and other <= total
            case _:
                raise Unsure
    return total


def _evaluate_truth(word: str, parts: list[Any], names: Mapping[str, Any], lift: Any) -> bool:
    """As much is looked at as is needed: an interval that does not tell may not matter."""
    if word == "not":
        return not evaluate(parts[0], names, lift)
    if word == "=>":
        parts, word = [["not", parts[0]], parts[1]], "or"
    decides, unsure = word == "or", False
    for part in parts:
        try:
            if bool(evaluate(part, names, lift)) is decides:
                return decides
        except Unsure:
            unsure = True
    if unsure:
        raise Unsure
    return not decides


def depth(term: Any, names: Mapping[str, Any], value: Any, wanted: bool = True) -> Any:
    """By how much a condition holds, in units of its comparisons, of arrays; negative: it does not."""
    import numpy as np

    if isinstance(term, bool):
        return np.inf if term is wanted else -np.inf
    word, *parts = term
    match word:
        case "not":
            return depth(parts[0], names, value, not wanted)
        case "=>":
            return depth(["or", ["not", parts[0]], parts[1]], names, value, wanted)
        case "and" | "or":
            several = [depth(part, names, value, wanted) for part in parts]
            join = np.minimum if (word == "and") is wanted else np.maximum
            total = several[0]
            for one in several[1:]:
                total = join(total, one)
            return total
        case "<" | "<=":
            gap = value(parts[1], names) - value(parts[0], names)
            return gap if wanted else -gap
    gap = np.abs(value(parts[1], names) - value(parts[0], names))
    return -gap if wanted else gap
