"""What a shield decides in many states at once: the `step` of its source code, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from sys import float_info

import numpy as np
from numpy.typing import NDArray

from surefoot.shields.export.guard import ShieldGuard
from surefoot.term.vectorised import Floats, Truths, VectorisedTerms, vectorise_terms


@dataclass(frozen=True, slots=True)
class GuardDecisions:
    """A row for each state; `intervened`: 0, 1, or 2 where the state is in no set."""

    applied: Floats
    intervened: NDArray[np.int8]


class BatchGuard:
    """A guard whose terms are listed once."""

    def __init__(self, guard: ShieldGuard) -> None:
        self.guard = guard
        self._permits = vectorise_terms((), (guard.permits,))
        self._rules = [
            (vectorise_terms((), (r.when,)), vectorise_terms(r.then), vectorise_terms((r.gap,)))
            for r in guard.rules
        ]
        self._rest = np.array(guard.at_rest())

    def permitted_rows(self, states: Floats, controls: Floats) -> Truths:
        """Are these controls, which are within their ends, seen to lead into a set?"""
        names = self._states(states) | {n: controls[:, i] for i, (n, _, _) in enumerate(self.guard.controls)}
        return self._permits(names, len(states))[1][0]

    def clip_controls(self, controls: Floats) -> Floats:
        found = controls.copy()
        for i, (_, low, high) in enumerate(self.guard.controls):
            if low is not None:
                found[:, i] = np.where(low > found[:, i], low, found[:, i])
            if high is not None:
                found[:, i] = np.where(high < found[:, i], high, found[:, i])
        return found

    def step(self, states: Floats, proposed: Floats) -> GuardDecisions:
        """The proposed controls where they are permitted, else what the program says."""
        count = len(states)
        applied = np.tile(self._rest, (count, 1))
        intervened = np.full(count, 2, dtype=np.int8)
        sound = _finite_rows(states)
        asked = sound & _finite_rows(proposed)
        clipped = self.clip_controls(np.where(asked[:, None], proposed, self._rest))
        passed = asked & self.permitted_rows(states, clipped)
        applied[passed], intervened[passed] = clipped[passed], 0
        others = np.flatnonzero(sound & ~passed)
        if len(others):
            self._overrule(states, others, applied, intervened)
        return GuardDecisions(applied, intervened)

    def _overrule(
        self, states: Floats, others: NDArray[np.intp], applied: Floats, intervened: NDArray[np.int8]
    ) -> None:
        """The first rule that applies; where there is none, the one with the smallest gap."""
        rows = states[others]
        names, count = self._states(rows), len(rows)
        chosen = np.full(count, -1)
        for index, (when, _, _) in enumerate(self._rules):
            holds = when(names, count)[1][0]
            chosen[(chosen < 0) & holds] = index
        outside = chosen < 0
        least = np.full(count, float_info.max)
        for index, (_, _, gap) in enumerate(self._rules if outside.any() else ()):
            found = gap(names, count)[0][0]
            nearer = outside & (found < least)
            least[nearer], chosen[nearer] = found[nearer], index
        for index, (_, then, _) in enumerate(self._rules):
            here = np.flatnonzero(chosen == index)
            if len(here):
                values = self._values(then, rows[here])
                finite = ~outside[here] | np.isfinite(values).all(axis=1)
                applied[others[here[finite]]] = values[finite]
        intervened[others] = np.where(outside, 2, 1)

    def _values(self, then: VectorisedTerms, rows: Floats) -> Floats:
        found, _ = then(self._states(rows), len(rows))
        return self.clip_controls(np.column_stack(found))

    def _states(self, states: Floats) -> dict[str, Floats]:
        return {n: np.ascontiguousarray(states[:, i]) for i, n in enumerate(self.guard.variables)}


def _finite_rows(rows: Floats) -> Truths:
    found: Truths = np.logical_and.reduce(np.isfinite(rows), axis=1)
    return found
