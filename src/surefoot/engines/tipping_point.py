"""Tipping points (whiRL 2.0, section IV, Algorithms 1 and 2): where a property stops to hold.

The problems of a family depend on one number; the property is easy at one end of a range and hard at the
other. Both ends are asked first (the paper's algorithms take them for granted), then the value in the middle
between the last proved and the last refuted one, until the two are neighbours on a grid whose cells are not
wider than the precision. Each question is a whole verification with its own evidence.

A question that is not decided stops nothing: the proved side is then moved as far as it goes from below, the
refuted one from above, and the gap is reported. A refuted value on the easy side of a proved one contradicts
what a tipping point rests on: then there is none. `probes` asks values outside the gap, to look for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, inf, log2
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.reductions.restriction import EmptyRegion
from surefoot.verdict.artifact import Trial
from surefoot.verdict.verdict import Reason, Result, Unknown, Vacuous
from surefoot.work.budget import Budget

Decide: TypeAlias = Callable[[Problem, Budget], Result]
Family: TypeAlias = Callable[[Fraction], Problem]
MOST_CELLS = 10**9
FALLBACKS = 4


@dataclass(frozen=True, slots=True)
class BisectionGrid:
    """Values from the easy end (number 0) to the hard end (number `cells`).

    The two ends of a tipping point may be `wide` cells apart, so that there are other values to ask where one
    cannot be decided, such as the exact maximum of an output. Multiples of `wide` are asked first.
    """

    easy: Fraction
    hard: Fraction
    cells: int
    wide: int = 1

    def value(self, number: int) -> Fraction:
        return self.easy + (self.hard - self.easy) * number / self.cells


@dataclass(frozen=True, slots=True)
class TippingPointSearch:
    """All that was asked; `proved` and `refuted` are the two ends that were found."""

    grid: BisectionGrid
    trials: tuple[Trial, ...]
    proved: Trial | None
    refuted: Trial | None
    stopped: str = ""  # why the gap is wider than a cell
    reason: Reason | None = None
    contradiction: str | None = None


def bisection_grid(low: Fraction, high: Fraction, precision: Fraction, *, rises: bool) -> BisectionGrid:
    """`rises`: the property is harder for larger values."""
    if low >= high:
        raise InvalidProblem(f"{low} is not below {high}", fix="give the smaller number first")
    if precision <= 0:
        raise InvalidProblem(f"the precision {precision} is not positive")
    cells = ceil((high - low) / precision)
    if cells > MOST_CELLS:
        raise InvalidProblem(f"a precision of {precision} makes {cells} values", fix="choose a coarser one")
    return BisectionGrid(low, high, cells) if rises else BisectionGrid(high, low, cells)


def refine_grid(where: BisectionGrid) -> BisectionGrid:
    """The same values, with others between them to fall back on."""
    return BisectionGrid(where.easy, where.hard, where.cells * FALLBACKS, FALLBACKS)


def bisect_tipping_point(
    family: Family, where: BisectionGrid, decide: Decide, budget: Budget, probes: int = 0
) -> TippingPointSearch:
    """The last value at which the property is proved and the first at which it is refuted."""
    asked = _Bisection(family, where, decide, budget)
    try:
        asked.bisect()
        for number in _probe_numbers(asked, probes):
            asked.ask(number, probes)
    except _Stop as stop:
        return asked.summarise(stop.why, stop.reason)
    except KeyboardInterrupt:
        return asked.summarise("interrupted by the user", Reason.INTERRUPTED)
    return asked.summarise()


class _Stop(Exception):
    """There is no time for another question, or no use in one."""

    def __init__(self, why: str, reason: Reason | None) -> None:
        super().__init__(why)
        self.why, self.reason = why, reason


@dataclass
class _Bisection:
    """The questions so far, by number on the grid."""

    family: Family
    grid: BisectionGrid
    decide: Decide
    budget: Budget
    trials: dict[int, Trial] = field(default_factory=dict)

    def bisect(self) -> None:
        """Both ends, then the middle of what is left between them."""
        easy, hard = 0, self.grid.cells
        if self.ask(easy, hard) != "proved" or self.ask(hard, hard) == "proved":
            return
        while (part := self._open()) is not None:
            self.ask(self._middle(*part), (part[1] - part[0]) // self.grid.wide)

    def _open(self) -> tuple[int, int] | None:
        """Where to ask next: between the two ends, or between one of them and what was not decided."""
        last, first = self._ends()
        if last is None:
            return None
        if first is not None and first - last <= self.grid.wide:
            return None
        end = self.grid.cells + 1 if first is None else first
        undecided = sorted(n for n in self.trials if last < n < end)
        low, high = (undecided[0], undecided[-1]) if undecided else (end, last)
        if low - last > 1:
            return last, low
        return (high, first) if first is not None and first - high > 1 else None

    def _middle(self, low: int, high: int) -> int:
        """The middle, or the multiple beside it that is a value of the coarse grid."""
        wide = self.grid.wide
        coarse = (low + high + wide) // (2 * wide) * wide
        return coarse if low < coarse < high else (low + high) // 2

    def ask(self, number: int, gap: int) -> str:
        """The answer at one value; it gets its share of the time that is left."""
        if number in self.trials:
            return self.trials[number].answer
        if self.budget.is_spent():
            raise _Stop("the time ran out", Reason.TIMEOUT)
        value, left = self.grid.value(number), self.budget.remaining()
        share = left if left == inf else left / (ceil(log2(max(2, gap))) + 1)
        self.budget.progress(f"{self._gap()}; asking {float(value):.6g}")
        part = self.budget.begin_part(share)
        try:
            result = self.decide(self.family(value), part)
            trial = Trial(value, result.verdict, result.certified, part.elapsed_seconds(), result.engine)
        except EmptyRegion as empty:
            trial = Trial(value, Vacuous(str(empty)), False, part.elapsed_seconds())
        self.trials[number] = trial
        if isinstance(trial.verdict, Unknown) and trial.verdict.reason is Reason.INTERRUPTED:
            raise _Stop("interrupted by the user", Reason.INTERRUPTED)
        if (why := _monotonicity_violation(self.grid, self.trials)) is not None:
            raise _Stop(why, None)
        return trial.answer

    def _gap(self) -> str:
        last, first = self._ends()
        ends = (f"{float(self.grid.value(n)):.6g}" if n is not None else "?" for n in (last, first))
        return "tipping point between {} and {}".format(*ends)

    def _ends(self) -> tuple[int | None, int | None]:
        """The last proved number and the first refuted one."""
        proved = [n for n, t in self.trials.items() if t.answer == "proved"]
        refuted = [n for n, t in self.trials.items() if t.answer == "refuted"]
        return max(proved, default=None), min(refuted, default=None)

    def summarise(self, stopped: str = "", reason: Reason | None = None) -> TippingPointSearch:
        last, first = self._ends()
        against = _monotonicity_violation(self.grid, self.trials)
        trials = tuple(self.trials.values())
        if against is not None:
            return TippingPointSearch(self.grid, trials, None, None, against, None, against)
        reached = last == self.grid.cells or first == 0
        reached = reached or (last is not None and first is not None and first - last <= self.grid.wide)
        if reached:
            stopped, reason = "", None
        elif not stopped:
            stopped, reason = self._undecided_reason()
        proved = None if last is None else self.trials[last]
        refuted = None if first is None else self.trials[first]
        return TippingPointSearch(self.grid, trials, proved, refuted, stopped, reason)

    def _undecided_reason(self) -> tuple[str, Reason | None]:
        for trial in self.trials.values():
            match trial.verdict:
                case Unknown(reason, detail):
                    return f"not decided at {float(trial.value):.6g}: {detail}", reason
                case Vacuous(why):
                    return f"vacuous at {float(trial.value):.6g}: {why}", None
        return "not every value was decided as a whole", Reason.INCOMPLETE


def confirm_tipping_point(
    search: TippingPointSearch, family: Family, decide: Decide, budget: Budget
) -> TippingPointSearch:
    """The last proved value asked once more, with all its evidence; if it is not confirmed the one before.

    A question that then takes too long leaves the first answer, which says what it rests on.
    """
    doubted: list[Trial] = []
    again: list[Trial] = []
    proved = sorted((t for t in search.trials if t.answer == "proved"), key=lambda t: t.value)
    for trial in proved if search.grid.easy > search.grid.hard else reversed(proved):
        if trial.certified or budget.is_spent():
            return _replace_proved_end(search, trial, doubted, again)
        budget.progress(f"certifying the proof at {float(trial.value):.6g}")
        part = budget.begin_part(budget.remaining())
        try:
            result = decide(family(trial.value), part)
        except KeyboardInterrupt:
            return replace(search, proved=trial, stopped="interrupted by the user", reason=Reason.INTERRUPTED)
        second = Trial(trial.value, result.verdict, result.certified, part.elapsed_seconds(), result.engine)
        again.append(second)
        match second.answer, second.verdict:
            case "proved", _:
                return _replace_proved_end(search, second, doubted, again)
            case "refuted", _:
                why = f"proved and refuted at {float(trial.value):.6g}: one of the answers is wrong"
                trials = (*search.trials, *again)
                return replace(search, trials=trials, proved=None, refuted=None, contradiction=why)
            case _, Unknown(Reason.NUMERICS):
                doubted.append(trial)
            case _, Unknown(Reason.INTERRUPTED):
                return replace(
                    search, proved=trial, stopped="interrupted by the user", reason=Reason.INTERRUPTED
                )
            case _:
                return _replace_proved_end(search, trial, doubted, again)
    return _replace_proved_end(search, None, doubted, again)


def _replace_proved_end(
    search: TippingPointSearch, proved: Trial | None, doubted: list[Trial], again: list[Trial]
) -> TippingPointSearch:
    trials = (*search.trials, *again)
    if not doubted:
        return replace(search, proved=proved, trials=trials)
    why = f"the proof at {float(doubted[0].value):.6g} was not confirmed"
    return replace(search, proved=proved, trials=trials, stopped=why, reason=Reason.NUMERICS)


def _monotonicity_violation(where: BisectionGrid, trials: dict[int, Trial]) -> str | None:
    """A refuted value on the easy side of a proved one, in words."""
    proved = [n for n, t in trials.items() if t.answer == "proved"]
    refuted = [n for n, t in trials.items() if t.answer == "refuted"]
    if not proved or not refuted or min(refuted) > max(proved):
        return None
    wrong, right = float(where.value(min(refuted))), float(where.value(max(proved)))
    return f"the answers are not monotone: refuted at {wrong:.6g}, but proved at {right:.6g}"


def _probe_numbers(asked: _Bisection, probes: int) -> list[int]:
    """Numbers spread evenly over both sides of the gap."""
    last, first = asked._ends()
    easy = 0 if last is None else last
    hard = asked.grid.cells if first is None else first
    spread = [easy * i // (probes + 1) for i in range(1, probes + 1)]
    spread += [hard + (asked.grid.cells - hard) * i // (probes + 1) for i in range(1, probes + 1)]
    return sorted(set(spread) - set(asked.trials))
