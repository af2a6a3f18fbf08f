"""Can two guards hold in one state? Decided by bounds, then by trying out few values; otherwise: perhaps."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from surefoot.term.evaluate import Undefined
from surefoot.term.closures import compile_closure
from surefoot.term.interval import interval_of_type
from surefoot.term.normal_form import strip_negations
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, free_names, split_conjunction
from surefoot.term.value_types import Arithmetic, Bool, Int, ValueType

MOST_STATES = 2_000  # of the variables of one condition that are tried out
MOST_TRIES = 400_000  # of one model

_Ranges = dict[str, tuple[float, float]]


class GuardComparison:
    """Answers about conditions over bounded variables; what takes too long to decide counts as possible."""

    def __init__(self, kinds: Mapping[str, ValueType]) -> None:
        self._kinds = kinds
        self._left = MOST_TRIES
        self._known: dict[Term, bool] = {}

    def may_hold_together(self, *conditions: Term) -> bool:
        whole = conjunction_of(conditions)
        if whole not in self._known:
            self._known[whole] = self._may_hold(whole)
        return self._known[whole]

    def surely_holds(self, condition: Term) -> bool:
        """In every state?"""
        return not self.may_hold_together(~condition)

    def _may_hold(self, whole: Term) -> bool:
        if isinstance(whole, Const):
            return bool(whole.value)
        ranges: _Ranges = {}
        for name in free_names(whole):
            low, high = interval_of_type(self._kinds[name])
            ranges[name] = float(low), float(high)
        for part in split_conjunction(whole):
            _narrow_ranges(part, ranges)
        if any(low > high for low, high in ranges.values()):
            return False
        count = prod(high - low + 1 for low, high in ranges.values())
        if count > min(MOST_STATES, self._left):
            return True
        self._left -= int(count)
        return self._some_state_satisfies(whole, ranges)

    def _some_state_satisfies(self, whole: Term, ranges: _Ranges) -> bool:
        names = list(ranges)
        kinds = {name: self._kinds[name] for name in names}
        holds = compile_closure(whole, {n: i for i, n in enumerate(names)}, kinds, Arithmetic.EXACT)
        values = [
            [bool(v) for v in range(int(low), int(high) + 1)]
            if isinstance(kinds[name], Bool)
            else range(int(low), int(high) + 1)
            for name, (low, high) in ranges.items()
        ]
        try:
            return any(holds(row) for row in product(*values))
        except (Undefined, ZeroDivisionError, OverflowError):
            return True


def _narrow_ranges(part: Term, ranges: _Ranges) -> None:
    """What a comparison of a variable with a number, or a truth value, leaves of the range."""
    inner, negated = strip_negations(part)
    match inner:
        case Var(name):
            _meet(ranges, name, 0.0 if negated else 1.0, 0.0 if negated else 1.0)
        case Apply(Op.EQ, (Var(name), Const(value)) | (Const(value), Var(name))) if not negated:
            _meet(ranges, name, float(value), float(value))
        case Apply(Op.LE | Op.LT as op, (Var(name), Const(value))):
            _narrow_by_order(ranges, name, op, float(value), above=negated, negated=negated)
        case Apply(Op.LE | Op.LT as op, (Const(value), Var(name))):
            _narrow_by_order(ranges, name, op, float(value), above=not negated, negated=negated)


def _narrow_by_order(
    ranges: _Ranges, name: str, op: Op, value: float, *, above: bool, negated: bool
) -> None:
    """`x < v` and the like over integers; a real limit is left a little wide."""
    strict = (op is Op.LT) is not negated
    step = 1.0 if strict and value.is_integer() else 0.0
    if above:
        _meet(ranges, name, value + step, float("inf"))
    else:
        _meet(ranges, name, float("-inf"), value - step)


def _meet(ranges: _Ranges, name: str, low: float, high: float) -> None:
    old = ranges[name]
    ranges[name] = max(old[0], low), min(old[1], high)


