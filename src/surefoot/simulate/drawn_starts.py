"""Start states by a law, one for each run: the same whoever makes the run.

The starts of runs number 256 k to 256 k + 255 are drawn together, with random numbers that depend on the seed
and k alone: those of `numpy.random.Philox` with the key (seed, k) and a purpose for which no run reads words.
"""

from __future__ import annotations

import numpy as np

from surefoot.errors import Unsupported
from surefoot.explore.row_layout import row_layout
from surefoot.problem.environment import Environment
from surefoot.simulate.starts.draw_starts import StartSamples, StartSource, prepare_starts
from surefoot.term.closures import Row
from surefoot.term.columns import Column

_TOGETHER = 256  # runs
_PURPOSE = 1 << 63
_MOST_KEPT = 64  # groups of runs


class DrawnStarts:
    """`words`: what the law is, for a reader of the answer. `Unsupported` where there is no law to name."""

    def __init__(self, environment: Environment) -> None:
        self._environment, self._layout = environment, row_layout(environment)
        self._source: StartSource = prepare_starts(environment, np.random.default_rng(0))
        bad = next((s for s in self._source.sources if s.law == "spread"), None)
        if bad is not None:
            raise _refuse(bad.how)
        self._kept: dict[tuple[int, int], StartSamples] = {}
        hows = list(dict.fromkeys(s.how for s in self._source.sources if s.how != "one value"))
        self.words = "; ".join(hows) or "one start"

    def columns(self, seed: int, first: int, count: int) -> dict[str, Column]:
        """The starts of these runs, as `batch/state_columns.py` has them."""
        parts: list[dict[str, Column]] = []
        at, end = first, first + count
        while at < end:
            group, place = divmod(at, _TOGETHER)
            until = min(_TOGETHER, place + end - at)
            drawn = self._draw(seed, group)
            parts.append({n: c[place:until] for n, c in drawn.columns.items()})
            at += until - place
        return {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}

    def row(self, seed: int, run: int) -> Row:
        """The start of one run, as the interpreter has it."""
        group, place = divmod(run, _TOGETHER)
        return self._layout.row(next(self._draw(seed, group).states(self._environment, (place,))))

    def _draw(self, seed: int, group: int) -> StartSamples:
        known = self._kept.get((seed, group))
        if known is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            counter = np.array([0, 0, _PURPOSE, 0], dtype=np.uint64)
            key = np.array([seed, group], dtype=np.uint64)
            known = self._source.draw(
                _TOGETHER, np.random.Generator(np.random.Philox(counter=counter, key=key))
            )
            if known.law == "spread":  # the condition was met so rarely that some are there twice
                raise _refuse(known.how)
            self._kept[seed, group] = known
        return known


def _refuse(how: str) -> Unsupported:
    return Unsupported(
        f"the start condition is not a uniform law that can be drawn ({how})",
        fix="bound the start values by a box or list them, or declare their laws in [starts]",
    )
