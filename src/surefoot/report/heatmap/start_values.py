"""What is known at each start: a value with its bounds, its gap to the optimum, or the effort it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log2
from typing import Any, Literal, TypeAlias

from surefoot.problem.property import Optimise
from surefoot.problem.semantics import State
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Unknown, Verdict

Aggregate: TypeAlias = Literal["min", "max", "mean"]
Which: TypeAlias = Literal["value", "optimum", "gap", "effort"]
End: TypeAlias = Literal["low", "middle", "high"]
PRINTED = Fraction(1, 10**9)  # of the values: no picture and no table shows a smaller difference
RUNS = "runs"  # the key of the number of runs in `Estimated.counts`


@dataclass(frozen=True, slots=True)
class StartValue:
    """Bounds of a quantity (None: infinite), with what confidence, from which runs; or why there are none."""

    low: Fraction | None
    high: Fraction | None
    confidence: Fraction | None = None  # None: the bounds hold for certain
    counts: Mapping[str, int] = field(default_factory=dict)
    trouble: str = ""
    unseen: Fraction | None = None  # of a difference: what is smaller is none
    average_over: str = ""  # the law of the starts, where it is an average over starts that were drawn

    @property
    def is_infinite(self) -> bool:
        return self.low is None and not self.trouble

    def displayed_value(self, end: End = "middle") -> Fraction | None:
        """The number that is drawn; None if there is none."""
        if self.trouble or self.low is None or (self.high is None and end != "low"):
            return None
        if self.high is not None and self.is_no_difference(self.low, self.high):
            return Fraction(0)
        if end == "low" or self.high is None:
            return self.low
        return self.high if end == "high" else (self.low + self.high) / 2

    def is_no_difference(self, low: Fraction, high: Fraction) -> bool:
        """Two values whose bounds overlap are not known to differ, whatever their ends say."""
        return self.unseen is not None and (low <= 0 <= high or max(abs(low), abs(high)) < self.unseen)


Table: TypeAlias = Sequence[tuple[State, StartValue]]


def value_table(found: PerStart) -> Table:
    """The values of a table, start by start."""
    return [(state, value_from_verdict(verdict)) for state, verdict in found.table]


def value_from_verdict(verdict: Verdict) -> StartValue:
    match verdict:
        case Estimated(low, high, confidence, counts, starts=law):
            return StartValue(low, high, confidence, counts, average_over=law)
        case Exact(low, high):
            return StartValue(low, high)
        case Unknown(reason, detail):
            return StartValue(None, None, trouble=f"{reason.value}: {detail}")
        case _:
            return StartValue(None, None, trouble=f"`{type(verdict).__name__.lower()}` is no value")


def effort_table(found: PerStart) -> Table:
    """The binary logarithm of the number of runs that each start took."""
    rows = []
    for state, verdict in found.table:
        counts = verdict.counts if isinstance(verdict, Estimated) else {}
        if counts.get(RUNS, 0) > 0:
            log = Fraction(f"{log2(counts[RUNS]):.4f}")
            rows.append((state, StartValue(log, log, counts=counts)))
        else:
            rows.append((state, StartValue(None, None, trouble="no runs were made for this start")))
    return rows


def gap_table(policy: Table, optimum: Table, optimise: Optimise) -> Table:
    """By how much each start misses the best value; nothing where the two are not known to differ.

    It is below 0 where the policy gets more than any way to choose, which only a run that stalls can do.
    """
    best = {_state_key(state): there for state, there in optimum}
    rows = []
    for state, mine in policy:
        there = best.get(_state_key(state))
        rows.append((state, _gap_to_optimum(mine, there, optimise)))
    return rows


def _gap_to_optimum(mine: StartValue, best: StartValue | None, optimise: Optimise) -> StartValue:
    if best is None:
        return StartValue(None, None, trouble="the optimum of this start is not known")
    for one in (mine, best):
        if one.trouble:
            return StartValue(None, None, trouble=one.trouble)
    high, low = (best, mine) if optimise == "max" else (mine, best)
    if high.is_infinite and low.high is not None:
        return StartValue(None, None, joint_confidence((mine, best)), mine.counts)
    if mine.low is None or mine.high is None or best.low is None or best.high is None:
        return StartValue(None, None, trouble="a value here is infinite or has no upper bound")
    assert high.low is not None
    assert high.high is not None
    assert low.low is not None
    assert low.high is not None
    sure = joint_confidence((mine, best))
    unseen = PRINTED * max(map(abs, (mine.low, mine.high, best.low, best.high)))
    return StartValue(high.low - low.high, high.high - low.low, sure, mine.counts, unseen=unseen)


def aggregate_values(several: Sequence[StartValue], how: Aggregate) -> StartValue:
    """The least, greatest or mean value of several starts. Bounds that hold with a confidence hold together
    with what the union bound leaves of it."""
    if len(several) == 1:
        return several[0]
    counts: Counter[str] = Counter()
    for one in several:
        counts.update(one.counts)
    if troubled := [one.trouble for one in several if one.trouble]:
        what = f"{len(troubled)} of {len(several)} starts: {troubled[0]}"
        return StartValue(None, None, counts=counts, trouble=what)
    fold = {"min": _least_end, "max": _greatest_end, "mean": _mean_end}[how]
    low, high = fold([one.low for one in several]), fold([one.high for one in several])
    unseen = [one.unseen for one in several if one.unseen is not None]
    return StartValue(
        low,
        high,
        joint_confidence(several),
        dict(counts),
        unseen=max(unseen) if len(unseen) == len(several) else None,
    )


def joint_confidence(several: Iterable[StartValue]) -> Fraction | None:
    """That all bounds hold, by the union bound; None: all of them hold for certain."""
    missed = [1 - one.confidence for one in several if one.confidence is not None]
    return max(Fraction(0), 1 - sum(missed, Fraction(0))) if missed else None


def _least_end(ends: Sequence[Fraction | None]) -> Fraction | None:
    return min((e for e in ends if e is not None), default=None)


def _greatest_end(ends: Sequence[Fraction | None]) -> Fraction | None:
    finite = [e for e in ends if e is not None]
    return max(finite) if len(finite) == len(ends) else None


def _mean_end(ends: Sequence[Fraction | None]) -> Fraction | None:
    finite = [e for e in ends if e is not None]
    return sum(finite, Fraction(0)) / len(ends) if len(finite) == len(ends) else None


def _state_key(state: State) -> tuple[tuple[str, Any], ...]:
    """What makes two states the same."""
    return tuple(sorted(state.items()))
