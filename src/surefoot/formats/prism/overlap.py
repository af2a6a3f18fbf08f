"""Can conditions hold together? Decided by bounds; ranges are split where bounds leave it open.

What takes too long to decide counts as possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.term.interval import Scalar, interval_of_type, is_infinite, term_interval
from surefoot.term.normal_form import strip_negations
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, free_names, split_conjunction
from surefoot.term.value_types import Bool, Int, ValueType

MOST_BOXES = 64  # that one question is split into
MOST_BOXES_IN_ALL = 20_000

_Box = dict[str, tuple[int, int]]  # of bounded variables only; truth values are 0 and 1


class GuardComparison:
    """Answers about conditions; what takes too long to decide counts as possible."""

    def __init__(self, kinds: Mapping[str, ValueType]) -> None:
        self._kinds = kinds
        self._left = MOST_BOXES_IN_ALL

    def may_hold_together(self, *conditions: Term) -> bool:
        whole = conjunction_of(conditions)
        if isinstance(whole, Const):
            return bool(whole.value)
        waiting = [self._first_box(free_names(whole))]
        boxes = 0
        while waiting:
            boxes += 1
            self._left -= 1
            if boxes > MOST_BOXES or self._left < 0:
                return True
            box = waiting.pop()
            decided = self._decide_box(whole, box)
            if decided is True:
                return True
            if decided is False:
                continue
            waiting += _split_box(box, decided)
        return False

    def _first_box(self, names: Sequence[str] | frozenset[str]) -> _Box:
        box: _Box = {}
        for name in names:
            low, high = interval_of_type(self._kinds[name])
            if not is_infinite(low) and not is_infinite(high):
                box[name] = int(low), int(high)
        return box

    def _decide_box(self, whole: Term, box: _Box) -> bool | str:
        """Does the condition hold somewhere in a box? Otherwise the name of the variable to split."""
        parts = split_conjunction(whole)
        for part in parts:
            if not _narrow_box(part, box):
                return False
        kinds = self._kinds_in_box(box)
        unsure: list[str] = []
        for part in parts:
            low, high = term_interval(part, kinds)
            if high == 0:
                return False
            if low != 1:
                unsure += [n for n in free_names(part) if n in box and box[n][0] < box[n][1]]
        if not unsure:  # nothing is left to split: every value is known, or some have no bounds
            return True
        return min(dict.fromkeys(sorted(unsure)), key=lambda name: box[name][1] - box[name][0])

    def _kinds_in_box(self, box: _Box) -> dict[str, Scalar]:
        kinds: dict[str, Scalar] = {}
        for name, kind in self._kinds.items():
            if isinstance(kind, Int) and name in box:
                kinds[name] = replace(kind, low=box[name][0], high=box[name][1])
            elif isinstance(kind, Bool) and name in box:
                kinds[name] = Int(*box[name])  # only its bounds are looked at
            elif not hasattr(kind, "element"):
                kinds[name] = kind
        return kinds


def _split_box(box: _Box, name: str) -> list[_Box]:
    low, high = box[name]
    middle = (low + high) // 2
    return [{**box, name: (low, middle)}, {**box, name: (middle + 1, high)}]


def _narrow_box(part: Term, box: _Box) -> bool:
    """What a comparison of a variable with a number, or a truth value, leaves of its range: anything?"""
    inner, positive = strip_negations(part)
    negated = not positive
    match inner:
        case Var(name):
            return _meet(box, name, int(not negated), int(not negated))
        case Apply(Op.EQ, (Var(name), Const(int() as value)) | (Const(int() as value), Var(name))):
            return negated or _meet(box, name, int(value), int(value))
        case Apply(Op.LE | Op.LT as op, (Var(name), Const(int() as value))):
            strict = (op is Op.LT) is not negated
            return (
                _meet_above(box, name, value + strict) if negated else _meet_below(box, name, value - strict)
            )
        case Apply(Op.LE | Op.LT as op, (Const(int() as value), Var(name))):
            strict = (op is Op.LT) is not negated
            return (
                _meet_below(box, name, value - strict) if negated else _meet_above(box, name, value + strict)
            )
    return True


def _meet_above(box: _Box, name: str, low: int) -> bool:
    return name not in box or _meet(box, name, low, max(low, box[name][1]))


def _meet_below(box: _Box, name: str, high: int) -> bool:
    return name not in box or _meet(box, name, min(high, box[name][0]), high)


def _meet(box: _Box, name: str, low: int, high: int) -> bool:
    if name not in box:
        return True
    box[name] = max(low, box[name][0]), min(high, box[name][1])
    return box[name][0] <= box[name][1]
