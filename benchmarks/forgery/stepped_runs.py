"""Runs of a claim about steps, made as it is written: does one refute it? Nothing of the package is used.

In float64 a run of doubles is a run. In exact arithmetic a run is looked for in float64 and then made again
in intervals (or fractions) that contain the real one; what these do not tell does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from benchmarks.forgery.finite_systems import Json
from benchmarks.forgery.intervals import Interval, Unsure, evaluate, larger, smaller
from benchmarks.tampering.executed import (
    Claim,
    Floats,
    decide_controls,
    draw_values,
    find_permitted,
    move_state,
    value,
)

RUNS, STEPS = 64, 120
LONGEST = 2500  # steps outside of a target that are looked at
RADII = tuple(Fraction(1, 2**k) for k in (8, 16, 30, 50))
State = dict[str, Any]


def parts_of(system: Json) -> list[list[list[Any]]]:
    found: list[list[list[Any]]] = system.get("parts", [system["initial"]])
    return found


def draw_starts(system: Json, runs: int, rng: np.random.Generator) -> State:
    """Corners of the boxes of starts first, then ends and numbers between them."""
    boxes = parts_of(system)
    found: dict[str, list[Floats]] = {v: [] for v in system["variables"]}
    for box in boxes:
        ends = [(v, *r) for v, r in zip(system["variables"], box, strict=True)]
        drawn = draw_values(ends, max(runs // len(boxes), 8), rng)
        lows, highs = ({v: f(drawn[v]) for v in drawn} for f in (np.min, np.max))
        for i, corner in enumerate(product((0, 1), repeat=len(ends))):
            if i < len(drawn[ends[0][0]]):
                for (v, _, _), side in zip(ends, corner, strict=True):
                    drawn[v][i] = highs[v] if side else lows[v]
        for v in drawn:
            found[v].append(drawn[v])
    return {v: np.concatenate(several) for v, several in found.items()}


def draw_gusts(system: Json, count: int, rng: np.random.Generator) -> State:
    return draw_values([tuple(d) for d in system["disturbances"]], count, rng)


class Record:
    """What was drawn for all runs, step by step."""

    def __init__(self, start: State) -> None:
        self.start, self.gusts, self.proposed = start, list[State](), list[State]()

    def of(self, index: int) -> tuple[State, list[State], list[State]]:
        def one(values: State) -> State:
            return {n: float(x[index]) for n, x in values.items()}

        return one(self.start), [one(g) for g in self.gusts], [one(p) for p in self.proposed]


def is_refuted(data: Json) -> bool:
    """Is some run from the starts known to become unsafe?"""
    claim = Claim.read(data)
    if claim is None:
        return False
    rng, system = np.random.default_rng(0), claim.system
    state = draw_starts(system, RUNS, rng)
    count = len(next(iter(state.values())))
    record, alive = Record(state), np.ones(count, dtype=bool)
    kept = draw_gusts(system, count, rng)
    steady = rng.random(count) < 0.5
    tries = 0
    with np.errstate(all="ignore"):
        for number in range(STEPS):
            for index in np.flatnonzero(np.broadcast_to(value(system["unsafe"], state), count) & alive):
                if data["arithmetic"] == "float64" or _is_real(system, *record.of(int(index)), number):
                    return True
                tries += 1
                alive[index] = False
                if tries > 20:
                    return False
            controls, decided = decide_controls(claim, state)
            alive &= decided
            gusts = draw_gusts(system, count, rng)
            gusts = {n: np.where(steady, kept[n], g) for n, g in gusts.items()}
            record.gusts.append(gusts)
            if system["shield"] is not None:
                proposed = draw_values([tuple(c) for c in system["controls"]], count, rng)
                record.proposed.append(proposed)
                allowed = find_permitted(claim, state, proposed)
                controls = {n: np.where(allowed, proposed[n], c) for n, c in controls.items()}
            state = move_state(claim, state | controls | gusts)
            for x in state.values():
                alive &= np.abs(x) < 1e12
            if not np.any(alive):
                return False
    return False


def reach_extremes(data: Json) -> dict[str, tuple[float, float, float, float]]:
    """The least and greatest value of each variable in runs, twice: there are no times between steps."""
    claim = Claim.read(data)
    assert claim is not None
    rng, system = np.random.default_rng(1), claim.system
    state = draw_starts(system, RUNS, rng)
    count = len(next(iter(state.values())))
    found = dict.fromkeys(system["variables"], (np.inf, -np.inf))
    for _ in range(12):
        found = {v: (min(a, state[v].min()), max(b, state[v].max())) for v, (a, b) in found.items()}
        controls, _ = decide_controls(claim, state)
        state = move_state(claim, state | controls | draw_gusts(system, count, rng))
    return {v: (float(a), float(b), float(a), float(b)) for v, (a, b) in found.items()}


# One run in exact numbers.


def _is_real(system: Json, start: State, gusts: list[State], proposed: list[State], steps: int) -> bool:
    """Does the run with these starts and draws become unsafe after so many steps, in exact arithmetic?"""
    lift = Interval.of
    state = {n: lift(Fraction(x)) for n, x in start.items()}
    try:
        for k in range(steps):
            offered = proposed[k] if system["shield"] is not None else None
            state = step_exactly(system, state, gusts[k], offered, lift)
        return bool(evaluate(system["unsafe"], state, lift))
    except (Unsure, ZeroDivisionError):
        return False


def step_exactly(
    system: Json, state: State, gusts: State, offered: State | None, lift: Callable[[Fraction], Any]
) -> State:
    """`Unsure` where a test is not told, or nobody decides."""
    blown = {n: lift(Fraction(g)) for n, g in gusts.items()}
    controls = None
    if offered is not None:
        given = {n: lift(Fraction(x)) for n, x in offered.items()}
        middle = {n: lift((Fraction(a) + Fraction(b)) / 2) for n, a, b in system["disturbances"]}
        ahead = _move(system, state | given | middle, lift)
        for rule, permit in zip(system["rules"], system["shield"], strict=True):
            test = {**rule["set"], "domain": permit["inside"], "margin": permit["margin"], "tested": True}
            if _passes(system, test, ahead, lift):
                controls = given
                break
    if controls is None:
        for rule in system["rules"]:
            if _passes(system, rule["set"], state, lift):
                controls = {
                    name: _clip(evaluate(then, state, lift), low, high, lift)
                    for (name, low, high), then in zip(system["controls"], rule["then"], strict=True)
                }
                break
        else:
            raise Unsure
    return _move(system, state | controls | blown, lift)


def _move(system: Json, names: State, lift: Callable[[Fraction], Any]) -> State:
    return {v: evaluate(t, names, lift) for v, t in zip(system["variables"], system["next"], strict=True)}


def _passes(system: Json, inner: Json, state: State, lift: Callable[[Fraction], Any]) -> bool:
    if not inner["tested"]:
        return True
    for name, (low, high) in zip(system["variables"], inner["domain"], strict=True):
        if not (lift(Fraction(low)) <= state[name] and state[name] <= lift(Fraction(high))):
            return False
    return bool(evaluate(inner["barrier"], state, lift) <= lift(-Fraction(inner["margin"])))


def _clip(found: Any, low: Any, high: Any, lift: Callable[[Fraction], Any]) -> Any:
    found = found if low is None else larger(found, lift(Fraction(low)))
    return found if high is None else smaller(found, lift(Fraction(high)))


# Runs that do not come to a target.


def most_steps(data: Json) -> int | None:
    """So many steps in a row are claimed never to be outside of the target; None: no number is."""
    system, ranking = data["claim"]["system"], data["ranking"]
    least = Fraction(ranking["least"])
    if least <= 0:
        return None
    rounds = data["arithmetic"] == "float64"
    sizes = [max(abs(Fraction(a)), abs(Fraction(b))) for a, b in system["rules"][0]["set"]["domain"]]
    total = Fraction(0)
    for monomial, c in _expand(ranking["function"], system["variables"], rounds).items():
        term = abs(c)
        for size, exponent in zip(sizes, monomial, strict=True):
            term *= size**exponent
        total += term
    return int(2 * total / least) + 1


def _expand(term: Any, names: Sequence[str], rounds: bool) -> dict[tuple[int, ...], Fraction]:
    """The coefficients of a polynomial."""
    nothing = (0,) * len(names)
    if not isinstance(term, list):
        number = Fraction(float(Fraction(term))) if rounds else Fraction(term)
        return {nothing: number}
    word, *parts = term
    if word == "name":
        return {tuple(int(n == parts[0]) for n in names): Fraction(1)}
    values = [_expand(part, names, rounds) for part in parts]
    total = values[0]
    if word == "negate":
        return {m: -c for m, c in total.items()}
    for other in values[1:]:
        found: dict[tuple[int, ...], Fraction] = {}
        if word in ("+", "-"):
            found = dict(total)
            for m, c in other.items():
                found[m] = found.get(m, Fraction(0)) + (c if word == "+" else -c)
        else:
            divided = {nothing: 1 / other[nothing]} if word == "/" else other
            for m, c in total.items():
                for n, d in divided.items():
                    both = tuple(map(int.__add__, m, n))
                    found[both] = found.get(both, Fraction(0)) + c * d
        total = found
    return {m: c for m, c in total.items() if c}


def is_refuted_convergence(data: Json) -> bool:
    """Is some run known to stay outside of the target for ever, or for more steps than is claimed?"""
    claim = Claim.read(data)
    if claim is None:
        return False
    rng, system, target = np.random.default_rng(0), claim.system, data["claim"]["target"]
    state = draw_starts(system, 24, rng)
    count = len(next(iter(state.values())))
    gusts, bound = draw_gusts(system, count, rng), most_steps(data)
    longest = min(LONGEST, bound) if bound is not None else LONGEST
    rounds = data["arithmetic"] == "float64"
    outside, record = np.zeros(count, dtype=int), Record(state)
    saved, since = state, np.zeros(count, dtype=bool)  # a state that may come again, no target since then
    with np.errstate(all="ignore"):
        for number in range(longest if rounds else min(longest, 300)):
            if number and rounds:
                same = np.all([_bits(state[v]) == _bits(saved[v]) for v in state], axis=0)
                if np.any(same & since):
                    return True
            if number & (number - 1) == 0:
                saved, since = state, np.ones(count, dtype=bool)
            good = np.broadcast_to(value(target, state), count)
            outside, since = np.where(good, 0, outside + 1), since & ~good
            if rounds and bound is not None and np.any(outside >= bound):
                return True
            controls, _ = decide_controls(claim, state)
            state = move_state(claim, state | controls | gusts)
    record.gusts.append(gusts)
    if rounds:
        return False
    candidates = [i for i in np.argsort(-outside)[:4] if outside[i] > 0]
    return any(_stays_outside(data, *record.of(int(i))[:2], bound) for i in candidates)


def _bits(values: Floats) -> Any:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.int64)


def _stays_outside(data: Json, start: State, gusts: list[State], bound: int | None) -> bool:
    """In exact arithmetic: a state comes again, a box is mapped into itself, or the steps are counted."""
    system, target, blown = data["claim"]["system"], data["claim"]["target"], gusts[0]
    here = {n: Fraction(x) for n, x in start.items()}
    for _ in range(3):
        after = step_exactly(system, here, blown, None, Fraction)
        if after == here and not evaluate(target, here, Fraction):
            return True
        here = after
    state = {n: Interval.of(Fraction(x)) for n, x in start.items()}
    outside = 0
    try:
        for number in range(LONGEST if bound is None else min(LONGEST, bound + 300)):
            outside = 0 if evaluate(target, state, Interval.of) else outside + 1
            if bound is not None and outside >= bound:
                return True
            if outside and number in (10, 30, 100, 300, 1000) and _is_trapped(system, target, state, blown):
                return True
            state = step_exactly(system, state, blown, None, Interval.of)
    except (Unsure, ZeroDivisionError):
        return False
    return False


def _is_trapped(system: Json, target: Any, state: State, gusts: State) -> bool:
    """Is a box around the state mapped into itself after some steps, outside of the target all the time?"""
    for radius in RADII:
        more = Interval.of(radius).low
        box = {n: Interval(x.low - more, x.high + more) for n, x in state.items()}
        here = box
        try:
            for _ in range(40):
                if evaluate(target, here, Interval.of):
                    break
                here = step_exactly(system, here, gusts, None, Interval.of)
                if all(here[n].within(box[n]) for n in here):
                    return True
        except Unsure:
            continue
    return False
