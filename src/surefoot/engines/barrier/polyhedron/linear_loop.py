"""One step of a rule in a linear system, in the units of its plane, as matrices of floats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from surefoot.engines.barrier.float_system import Floats, end_or_infinity
from surefoot.engines.barrier.scaled_system import ScaledSystem
from surefoot.query.polynomial import Polynomial, polynomial_from_constant
from surefoot.reductions.barrier import polynomial_of, relaxed_dnf
from surefoot.term.term import Term

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)  # of the rule's value, where it may be beyond its end


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """normal * z <= offset."""

    normal: Floats
    offset: float

    def margins(self, points: Floats) -> Floats:
        found: Floats = self.offset - points @ self.normal
        return found


@dataclass(frozen=True, slots=True, eq=False)
class LinearLoop:
    """z' = state z + control v + noise d + drift, where v = gain z + constant, clipped to least and most."""

    state: Floats
    control: Floats
    noise: Floats
    drift: Floats
    gain: Floats
    constant: Floats
    least: Floats  # infinite where a control has no end
    most: Floats
    widest: Floats  # of each disturbance, around 0

    def step(self, states: Floats, noise: Floats) -> Floats:
        values = np.clip(states @ self.gain.T + self.constant, self.least, self.most)
        found: Floats = states @ self.state.T + values @ self.control.T + noise @ self.noise.T + self.drift
        return found

    def equilibrium(self) -> Floats:
        """The state that stays where it is without disturbances; `LinAlgError` if there is not one."""
        moved = np.eye(len(self.state)) - self.state - self.control @ self.gain
        return np.linalg.solve(moved, self.control @ self.constant + self.drift).astype(np.float64)

    def between(self) -> Iterator[HalfSpace]:
        """Where no control is beyond an end."""
        for row, at, low, high in zip(self.gain, self.constant, self.least, self.most, strict=True):
            if np.isfinite(high):
                yield HalfSpace(row, float(high - at))
            if np.isfinite(low):
                yield HalfSpace(-row, float(at - low))

    def before(self, after: HalfSpace) -> HalfSpace:
        """From here a step leads into the half-space whatever the disturbance, if no control is at an end."""
        return self._before(after, np.ones(len(self.gain)), np.zeros(len(self.gain), dtype=bool))

    def before_clipped(self, after: HalfSpace, seen: Floats) -> list[HalfSpace]:
        """The same if controls are clipped: the clipped value is not above a mean of the value and its end.

        Which mean is best depends on what the set shall contain: it is chosen by states that are `seen`.
        """
        pull = after.normal @ self.control
        free = [SHARES if np.isfinite(end) else (1.0,) for end in self._towards(pull)]
        found: list[HalfSpace] = []
        best = -np.inf
        for shares in product(*free):
            tried = self._all(after, np.array(shares), pull)
            room = min(float(h.margins(seen).min(initial=np.inf)) for h in tried)
            if room > best:
                best, found = room, tried
            if best > 0:
                break
        return found

    def _towards(self, pull: Floats) -> Floats:
        """The end of each control at which it moves the furthest along the normal."""
        return np.where(pull >= 0, self.most, self.least)

    def _all(self, after: HalfSpace, shares: Floats, pull: Floats) -> list[HalfSpace]:
        """Each control either at the end that pulls back, or at its mean: the larger counts."""
        back = np.where(pull >= 0, self.least, self.most)
        choices = [
            (False, True) if np.isfinite(b) and p else (False,) for b, p in zip(back, pull, strict=True)
        ]
        return [self._before(after, shares, np.array(at_back)) for at_back in product(*choices)]

    def _before(self, after: HalfSpace, shares: Floats, at_back: np.ndarray) -> HalfSpace:
        pull = after.normal @ self.control
        normal, offset = after.normal @ self.state, after.offset - float(after.normal @ self.drift)
        offset -= float(np.abs(after.normal @ self.noise) @ self.widest)
        for j, (share, is_back) in enumerate(zip(shares, at_back, strict=True)):
            if not pull[j]:
                continue
            if is_back:
                offset -= float(pull[j] * (self.least if pull[j] >= 0 else self.most)[j])
                continue
            normal = normal + pull[j] * share * self.gain[j]
            offset -= float(pull[j] * share * self.constant[j])
            if share < 1:
                offset -= float(pull[j] * (1 - share) * self._towards(pull)[j])
        return HalfSpace(normal, offset)


def linear_loop(where: ScaledSystem) -> LinearLoop | None:
    """None: the system or the rule is not linear."""
    system, count = where.system, len(where.system.variables)
    total = where.size + len(system.controls)
    names = where.names_with_controls()
    following = [polynomial_of(t, names, total, system.rounded) for t in system.next]
    values = [where.of(t) for t in where.then]
    if any(p.degree > 1 for p in (*following, *values)):
        return None
    moved = [
        (p - polynomial_from_constant(centre, total)).times(1 / unit)
        for p, (centre, unit) in zip(following, where.units, strict=False)
    ]
    matrix = coefficient_matrix(moved, total)
    rule = coefficient_matrix(values, where.size)
    ends = [(end_or_infinity(low, -np.inf), end_or_infinity(high, np.inf)) for _, low, high in where.ends()]
    widest = [
        float(max(high - centre, centre - low) / unit)
        for (_, (low, high)), (centre, unit) in zip(system.disturbances, where.units[count:], strict=True)
    ]
    return LinearLoop(
        matrix[:, 1 : 1 + count],
        matrix[:, 1 + where.size :],
        matrix[:, 1 + count : 1 + where.size],
        matrix[:, 0],
        rule[:, 1 : 1 + count],
        rule[:, 0],
        np.array([low for low, _ in ends]),
        np.array([high for _, high in ends]),
        np.array(widest),
    )


def coefficient_matrix(polynomials: Sequence[Polynomial], size: int) -> Floats:
    """A row for each: its number, then its coefficients."""
    units = [tuple(int(i == j) for i in range(size)) for j in range(size)]
    rows = [[float(p.terms.get(m, 0)) for m in ((0,) * size, *units)] for p in polynomials]
    return np.array(rows, dtype=np.float64).reshape(len(polynomials), size + 1)


def safe_half_spaces(where: ScaledSystem, seen: Floats) -> list[HalfSpace] | None:
    """A half-space without each unsafe case: of several comparisons the one that the seen states fail most.

    None: an unsafe case is not described by linear comparisons.
    """
    found = []
    for case in relaxed_dnf(where.system.unsafe):
        sides = [_complement_half_space(where, left, right) for left, right in case]
        if not sides or any(side is None for side in sides):
            return None
        tried = [side for side in sides if side is not None]
        best = max(tried, key=lambda side: float(side.margins(seen).min(initial=np.inf)))
        if np.any(best.normal):
            found.append(best)
    return found


def _complement_half_space(where: ScaledSystem, left: Term, right: Term) -> HalfSpace | None:
    """Where the first is not at most the second, as a half-space with its edge."""
    gap = where.of(right) - where.of(left)
    if gap.degree > 1:
        return None
    row = coefficient_matrix([gap], where.size)[0]
    return HalfSpace(row[1 : 1 + len(where.states)], -float(row[0]))
