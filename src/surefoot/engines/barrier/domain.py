"""Boxes in which a closed set is looked for: the safe box where there is one, else where runs go."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from surefoot.engines.barrier.float_system import float_system
from surefoot.reductions.barrier import ControlSystem, relaxed_dnf
from surefoot.term.term import Const, Term, Var
from surefoot.work.budget import Budget

Range = tuple[Fraction, Fraction]
Ends = tuple[Fraction | None, Fraction | None]
NEAR = Fraction(1, 4096)
WIDER = (Fraction(2), Fraction(4), Fraction(5, 4))  # times what runs reach
NARROWEST = Fraction(1, 10)  # of the starts: a variable that hardly moves is easily kept in a wider range
RUNS, STEPS = 256, 2000


def enumerate_domains(
    system: ControlSystem, then: tuple[Term, ...], budget: Budget
) -> Iterator[tuple[Range, ...]]:
    """Boxes, the most promising first; in float64 their sides are doubles."""
    limits = inner_limits(system)
    if all(low is not None and high is not None for low, high in limits):
        yield tuple((low, high) for low, high in limits if low is not None and high is not None)
    reach = _simulated_reach(system, then, budget)
    if reach is None:
        return
    # In a chain of filters each variable follows the one before it: its range is a little wider.
    least = max((high - low for low, high in system.initial), default=Fraction(0)) * NARROWEST
    wide = [(centre, max(half, least * (100 + i) / 100)) for i, (centre, half) in enumerate(reach)]
    for factor, ranges in ([(WIDER[0], wide)] if wide != reach else []) + [(f, reach) for f in WIDER]:
        yield tuple(
            (
                _nearest_double(
                    max(low, centre - half * factor) if low is not None else centre - half * factor
                ),
                _nearest_double(
                    min(high, centre + half * factor) if high is not None else centre + half * factor
                ),
            )
            for (low, high), (centre, half) in zip(limits, ranges, strict=True)
        )


def inner_limits(system: ControlSystem) -> list[Ends]:
    """Of each variable, a little inside of where everything is unsafe."""
    return [_shrink_limits(limits_of(system, name)) for name in system.variables]


def _shrink_limits(limits: Ends) -> Ends:
    """A little less far than where states become unsafe, so that no state of the domain is."""
    low, high = limits
    width = high - low if low is not None and high is not None else abs(low or high or Fraction(0))
    room = width * NEAR
    return None if low is None else _nearest_double(low + room), None if high is None else _nearest_double(
        high - room
    )


def _nearest_double(value: Fraction) -> Fraction:
    return Fraction(float(value))


def limits_of(system: ControlSystem, name: str) -> Ends:
    """Beyond which values of a variable everything is unsafe."""
    low: list[Fraction] = []
    high: list[Fraction] = []
    for case in relaxed_dnf(system.unsafe):
        match case:
            case [(Var(n), Const(value))] if n == name:
                low.append(Fraction(float(value)) if system.compares_rounded else Fraction(value))
            case [(Const(value), Var(n))] if n == name:
                high.append(Fraction(float(value)) if system.compares_rounded else Fraction(value))
    return max(low, default=None), min(high, default=None)


def _simulated_reach(
    system: ControlSystem, then: tuple[Term, ...], budget: Budget
) -> list[tuple[Fraction, Fraction]] | None:
    """Centre and half width of what runs from random starts and corners reach.

    None if they diverge, or if the time is up.
    """
    generator, moving = np.random.default_rng(0), float_system(system, then)
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    state = generator.uniform(low, high, (RUNS, len(low)))
    state[: RUNS // 2] = np.where(generator.random((RUNS // 2, len(low))) < 0.5, low, high)
    least, most = state.min(axis=0), state.max(axis=0)
    for _ in range(STEPS):
        if budget.is_spent():
            return None
        state = moving.step(state, moving.draw_disturbances(RUNS, generator))
        if not np.all(np.isfinite(state)) or np.abs(state).max() > 1e9:
            return None
        least, most = np.minimum(least, state.min(axis=0)), np.maximum(most, state.max(axis=0))
    centres, halves = (least + most) / 2, np.maximum((most - least) / 2, 1e-6)
    return [(Fraction(float(c)), Fraction(float(h))) for c, h in zip(centres, halves, strict=True)]
