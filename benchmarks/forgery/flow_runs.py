"""Runs of a claim in continuous time: does a solution become unsafe, at a sample or between two?

Own Runge–Kutta method of order 4. A run counts only if it is unsafe by a clear margin, if a computation with
half the step agrees, and if no test of a rule or permit on its way was close. Nothing of the package is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.forgery.finite_systems import Json
from benchmarks.forgery.intervals import depth
from benchmarks.forgery.stepped_runs import State, draw_gusts, draw_starts
from benchmarks.tampering.executed import (
    Claim,
    Floats,
    decide_controls,
    draw_values,
    find_permitted,
    move_state,
    value,
)

RUNS, PERIODS, PIECES, SUBSTEPS = 48, 20, 4, 2  # disturbances jump PIECES times in a period
MARGIN, CLOSE, FAR = 1e-6, 1e-7, 1e4


@dataclass(slots=True)
class Drawn:
    """For every run: where it starts, its disturbances piece by piece and what is proposed at samples."""

    start: State
    gusts: list[State]
    proposed: list[State]

    def only(self, index: int) -> Drawn:
        def one(values: State) -> State:
            return {n: x[index : index + 1] for n, x in values.items()}

        return Drawn(one(self.start), [one(g) for g in self.gusts], [one(p) for p in self.proposed])


def draw_runs(system: Json, seed: int = 0) -> Drawn:
    """Half of the runs have the same disturbance all the time; what is proposed is extreme or random."""
    rng = np.random.default_rng(seed)
    start = draw_starts(system, RUNS, rng)
    count = len(next(iter(start.values())))
    kept, steady = draw_gusts(system, count, rng), rng.random(count) < 0.5
    gusts, proposed = [], []
    for _ in range(PERIODS * PIECES):
        drawn = draw_gusts(system, count, rng)
        gusts.append({n: np.where(steady, kept[n], g) for n, g in drawn.items()})
    if system["shield"] is not None:
        ends = [tuple(c) for c in system["controls"]]
        always = draw_values(ends, count, rng)
        for _ in range(PERIODS):
            drawn = draw_values(ends, count, rng)
            proposed.append({n: np.where(steady, always[n], p) for n, p in drawn.items()})
    return Drawn(start, gusts, proposed)


def follow_runs(claim: Claim, drawn: Drawn, substeps: int) -> tuple[list[State], list[Floats]]:
    """States at all points of time that are computed, and how close tests were before each of them."""
    system = claim.system
    h = float(Fraction(system["time"]["period"])) / (PIECES * substeps)
    state, seen = drawn.start, [drawn.start]
    count = len(next(iter(state.values())))
    nearest = np.full(count, np.inf)
    near = [nearest]
    for sample in range(PERIODS):
        controls, decided = decide_controls(claim, state)
        nearest = np.minimum(nearest, _distance(claim, state))
        nearest = np.where(decided, nearest, 0.0)
        if system["shield"] is not None:
            proposed = drawn.proposed[sample]
            allowed = find_permitted(claim, state, proposed)
            nearest = np.minimum(nearest, _permit_distance(claim, state, proposed))
            controls = {n: np.where(allowed, proposed[n], c) for n, c in controls.items()}
        for piece in range(PIECES):
            held = controls | drawn.gusts[sample * PIECES + piece]
            for _ in range(substeps):
                state = _advance(system, state, held, h)
                seen.append(state)
                near.append(nearest)
        sizes = np.max([np.abs(x) for x in state.values()], axis=0)
        if not np.any(sizes < FAR):
            break
    return seen, near


def _advance(system: Json, state: State, held: State, h: float) -> State:
    def rates(now: State) -> State:
        names, count = now | held, len(next(iter(now.values())))
        return {
            v: np.broadcast_to(np.asarray(value(t, names), dtype=float), count)
            for v, t in zip(system["variables"], system["time"]["derivatives"], strict=True)
        }

    first = rates(state)
    second = rates({v: x + h / 2 * first[v] for v, x in state.items()})
    third = rates({v: x + h / 2 * second[v] for v, x in state.items()})
    fourth = rates({v: x + h * third[v] for v, x in state.items()})
    return {v: x + h / 6 * (first[v] + 2 * second[v] + 2 * third[v] + fourth[v]) for v, x in state.items()}


def _gap(box: list[Any], barrier: Any, margin: Any, state: State, names: list[str]) -> Any:
    """How far a state is from where the answer of a test changes, in its own units."""
    found = np.abs(value(barrier, state) + float(Fraction(margin)))
    for name, (low, high) in zip(names, box, strict=True):
        for end in (low, high):
            found = np.minimum(found, np.abs(state[name] - float(Fraction(end))))
    return found


def _distance(claim: Claim, state: State) -> Any:
    found: Any = np.full(len(next(iter(state.values()))), np.inf)
    for rule in claim.system["rules"]:
        inner = rule["set"]
        if inner["tested"]:
            gap = _gap(inner["domain"], inner["barrier"], inner["margin"], state, claim.system["variables"])
            found = np.minimum(found, gap)
    return found


def _permit_distance(claim: Claim, state: State, proposed: State) -> Any:
    system, count = claim.system, len(next(iter(state.values())))
    middle = {n: np.full(count, float((Fraction(a) + Fraction(b)) / 2)) for n, a, b in system["disturbances"]}
    ahead = move_state(claim, state | proposed | middle)
    found: Any = np.full(count, np.inf)
    for rule, permit in zip(system["rules"], system["shield"], strict=True):
        gap = _gap(permit["inside"], rule["set"]["barrier"], permit["margin"], ahead, system["variables"])
        found = np.minimum(found, gap)
    return found


def is_refuted_flow(data: Json) -> bool:
    """Is some solution from the starts known to become unsafe?"""
    claim = Claim.read(data)
    if claim is None:
        return False
    system, drawn = claim.system, draw_runs(claim.system)
    with np.errstate(all="ignore"):
        seen, near = follow_runs(claim, drawn, SUBSTEPS)
        depths = _depths(system, seen)
        depths = np.where(np.array(near) > CLOSE, depths, -np.inf)
        best = np.nanmax(np.where(np.isfinite(depths), depths, -np.inf), axis=0)
        for index in np.argsort(-best)[:3]:
            if best[index] < MARGIN:
                return False
            fine, close = follow_runs(claim, drawn.only(int(index)), 2 * SUBSTEPS)
            again = _depths(system, fine)[::2, 0]
            rough, alike = depths[: len(again), index], again[: len(depths)]
            safe = np.array(close)[::2, 0][: len(rough)] > CLOSE
            sure = safe & (alike > MARGIN) & (np.abs(alike - rough) < alike / 10)
            if np.any(sure):
                return True
    return False


def _depths(system: Json, seen: list[State]) -> Floats:
    count = len(next(iter(seen[0].values())))
    return np.array([np.broadcast_to(depth(system["unsafe"], s, value), count).astype(float) for s in seen])


def reach_flow_extremes(data: Json) -> dict[str, tuple[float, float, float, float]]:
    """The least and greatest values at samples, then at all times."""
    claim = Claim.read(data)
    assert claim is not None
    seen, _ = follow_runs(claim, draw_runs(claim.system, 1), SUBSTEPS)
    found = {}
    for v in claim.system["variables"]:
        all_of = np.array([s[v] for s in seen])
        some = all_of[:: PIECES * SUBSTEPS]
        found[v] = (float(some.min()), float(some.max()), float(all_of.min()), float(all_of.max()))
    return found
