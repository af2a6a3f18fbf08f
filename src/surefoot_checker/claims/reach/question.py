"""What a property asks of a cell at a moment, and over a stretch of time.

`Refused` where the property may be violated; True where nothing more has to be shown of the cell, because the
last moment that counts is over or the goal was surely met.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...kernel.strict_json import Refused
from .cell import Cell, cell_terms
from .loop_system import ClosedLoop
from .sub_step import SubStep


@dataclass(frozen=True, slots=True, eq=False)
class LoopQuestion:
    """`always`: for cells that may be reached at any time, so that all bad states count."""

    loop: ClosedLoop
    bits: int
    always: bool

    @property
    def first(self) -> Fraction:
        asked = self.loop.property
        return Fraction(0) if self.always else max(asked.since, Fraction(asked.after))

    @property
    def last(self) -> Fraction | None:
        """In seconds, or in steps."""
        asked = self.loop.property
        return asked.until if asked.steps is None else Fraction(asked.steps)

    def ask_moment(self, cell: Cell, time: Fraction, shown: bool = False) -> bool:
        """Of the states of a cell at one time (a number of seconds, or of steps); `shown`: none is bad."""
        asked, terms = self.loop.property, cell_terms(self.loop, cell, self.bits)
        counts = self.first <= time and (self.last is None or time <= self.last)
        if asked.kind == "never":
            if counts and not shown and terms.truth(asked.condition) is not False:
                raise Refused(f"a bad state may be reached at {self._when(time)}")
            if asked.before is not None and terms.truth(asked.before) is True:
                return True
            return self.last is not None and time >= self.last
        if counts and terms.truth(asked.condition) is True:
            return True
        self._check_late(time)
        return False

    def ask_sub_step(self, step: SubStep, time: Fraction, length: Fraction) -> tuple[bool, bool]:
        """Of everything between two moments, the first of which is `time`; and whether no state is bad at the
        second, if it counts: it is one of those that are asked about then."""
        asked, timed = self.loop.property, self.loop.time
        assert timed is not None
        begin = max(self.first - time, Fraction(0))
        end = length if self.last is None else min(self.last - time, length)
        if begin > end:
            return False, False
        found = step.decide(timed.condition, begin, end)
        if asked.kind == "never":
            single = begin == end and begin in (0, length)  # the states at that moment are asked
            if found is not False and not single:
                raise Refused(f"a bad state may be reached between {self._when(time)} and {time + length}")
            return False, found is False
        return found is True, False

    def _check_late(self, time: Fraction) -> None:
        if self.last is not None and time >= self.last:
            raise Refused(f"the goal is not surely met by {self._when(self.last)}")

    def _when(self, time: Fraction) -> str:
        return f"step {time}" if self.loop.time is None else f"time {time}"
