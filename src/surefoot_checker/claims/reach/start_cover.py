"""Do regions contain all starts? The initial condition is taken apart into cases, each within a box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused
from ...kernel.term import Term, is_number
from ..barrier.box_cover import is_box_covered
from .cell import Box
from .loop_system import ClosedLoop
from .term_forms import nearest_double

MOST_CASES = 1000
MOST_VALUES = 100_000  # combinations of values of discrete variables
Ends = tuple[Fraction | None, Fraction | None]


def check_starts_covered(loop: ClosedLoop, boxes: Sequence[Box]) -> None:
    """`boxes`: of the regions where runs start."""
    discrete = [v.name for v in loop.variables if v.name not in loop.reals]
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for box in boxes:
        key = tuple(int(box[name]) for name in discrete)
        groups.setdefault(key, []).append(tuple(box[name] for name in loop.reals))
    for case in _cases(loop.initial, True):
        ranges = _case_ranges(loop, case)
        if ranges is None:
            continue
        wanted = []
        for name in loop.reals:
            low, high = ranges[name]
            if low is None or high is None:
                raise Refused("the starts of a variable have no bounds that are seen")
            wanted.append((low, high))
        for values in _whole_values(ranges, discrete):
            if not is_box_covered(groups.get(values, ()), tuple(wanted)):
                raise Refused("the starts are not covered by the regions")


def _whole_values(ranges: dict[str, Ends], names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    several, count = [], 1
    for name in names:
        low, high = ranges[name]
        if low is None or high is None:
            raise Refused("the starts of a variable have no bounds that are seen")
        several.append(range(-(-low.numerator // low.denominator), high.__floor__() + 1))
        count *= len(several[-1])
        if count > MOST_VALUES:
            raise Refused("the starts have too many values of discrete variables")
    return product(*several)


def _cases(term: Term, wanted: bool) -> list[list[tuple[Term, bool]]]:
    """A disjunction of lists of leaves that are true (or false)."""
    word = term[0] if type(term) is tuple else ""
    if type(term) is bool:
        return [[]] if term is wanted else []
    if word == "not":
        return _cases(term[1], not wanted)
    if word == "=>":
        return _cases(("or", ("not", term[1]), term[2]), wanted)
    if word in ("and", "or"):
        parts = [_cases(part, wanted) for part in term[1:]]
        if (word == "or") is wanted:
            found = [case for part in parts for case in part]
        else:
            found = [[]]
            for part in parts:
                found = [[*a, *b] for a in found for b in part]
                if len(found) > MOST_CASES:
                    break
        if len(found) > MOST_CASES:
            raise Refused("the initial condition has too many cases")
        return found
    return [[(term, wanted)]]


def _case_ranges(loop: ClosedLoop, case: Sequence[tuple[Term, bool]]) -> dict[str, Ends] | None:
    """Bounds of every variable; a leaf that compares no variable with a number says nothing here.

    In float64 a number also means the double nearest to it: bounds that exclude each other as written may not
    do so as doubles.
    """
    ranges: dict[str, Ends] = {
        v.name: (_least_meant(loop, v.low), _most_meant(loop, v.high)) for v in loop.variables
    }
    kinds = {v.name: v.kind for v in loop.variables}

    def narrow(name: str, low: Fraction | None, high: Fraction | None) -> None:
        a, b = ranges[name]
        low, high = _least_meant(loop, low), _most_meant(loop, high)
        ranges[name] = (
            a if low is None else low if a is None else max(a, low),
            b if high is None else high if b is None else min(b, high),
        )

    for leaf, wanted in case:
        if type(leaf) is tuple and leaf[0] == "name":
            if kinds[leaf[1]] != "boolean":
                raise Refused("a number stands where a truth value is needed")
            narrow(leaf[1], Fraction(wanted), Fraction(wanted))
        elif type(leaf) is tuple and leaf[0] in ("<", "<=", "="):
            left, right = (_plain_side(side) for side in leaf[1:])
            if left is None or right is None or (type(left) is str) is (type(right) is str):
                continue
            if type(left) is str:
                name, number, below = left, right, True
            else:
                name, number, below = right, left, False
            if leaf[0] == "=":
                if wanted:
                    narrow(name, number, number)
            elif below is wanted:
                narrow(name, None, number)
            else:
                narrow(name, number, None)
    for low, high in ranges.values():
        if low is not None and high is not None and low > high:
            return None
    return ranges


def _least_meant(loop: ClosedLoop, low: Fraction | None) -> Fraction | None:
    return low if low is None or not loop.plant.rounded else min(low, Fraction(nearest_double(low)))


def _most_meant(loop: ClosedLoop, high: Fraction | None) -> Fraction | None:
    return high if high is None or not loop.plant.rounded else max(high, Fraction(nearest_double(high)))


def _plain_side(term: Term) -> Any:
    """The name of a variable, or a number; None for anything else."""
    if type(term) is bool:
        return Fraction(term)
    if is_number(term):
        return Fraction(term)
    if type(term) is tuple and term[0] == "negate" and is_number(term[1]):
        return -Fraction(term[1])
    return term[1] if type(term) is tuple and term[0] == "name" else None


def check_region_box(loop: ClosedLoop, data: object, read_number: Any) -> Box:
    """The box of a region: a range for every real variable, a value for every other."""
    if type(data) is not dict or data.keys() != {v.name for v in loop.variables}:
        raise BadCertificate("region: its box does not say something of every variable")
    box: Box = {}
    for variable in loop.variables:
        given = data[variable.name]
        if variable.name in loop.reals:
            if type(given) is not list or len(given) != 2:
                raise BadCertificate("region: the range of a variable is not a pair")
            low, high = (read_number(end, "range") for end in given)
            if low > high:
                raise BadCertificate("region: an empty range")
            box[variable.name] = (low, high)
        elif type(given) is not (bool if variable.kind == "boolean" else int):
            raise BadCertificate("region: a discrete variable has no value of its kind")
        else:
            box[variable.name] = given
    return box
