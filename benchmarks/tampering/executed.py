"""The claim of a certificate of closed sets, executed as it is written: float64, operation by operation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RUNS, STEPS, GRID = 256, 300, 400


@dataclass(frozen=True, slots=True)
class Claim:
    system: dict[str, Any]
    arithmetic: str

    @staticmethod
    def read(data: dict[str, Any]) -> Claim | None:
        """None: what is claimed has no meaning (a range without an end, a shield without limits)."""
        system = data["claim"]["system"]
        limits = [end for _, *ends in system["controls"] for end in ends]
        if not system["rules"] or (system["shield"] is not None and None in limits):
            return None
        empty = any(Fraction(a) > Fraction(b) for a, b in system["initial"])
        empty |= any(Fraction(a) > Fraction(b) for _, a, b in system["controls"] if None not in (a, b))
        return None if empty else Claim(system, data["arithmetic"])

    @property
    def starts(self) -> list[list[Any]]:
        found: list[list[Any]] = self.system.get("parts", [self.system["initial"]])
        return found

    def says_no_more_than(self, other: Claim | None) -> bool:
        """The same, but for smaller starts and disturbances, another name, a stricter shield or none."""
        if other is None or self.arithmetic != other.arithmetic:
            return False
        mine, theirs = dict(self.system), dict(other.system)
        for key in ("initial", "parts", "disturbances", "name", "shield"):
            mine.pop(key, None)
            theirs.pop(key, None)
        inside = all(_covered(box, other.starts) for box in self.starts)
        calm = zip(self.system["disturbances"], other.system["disturbances"], strict=True)
        same = mine == theirs and inside and all(_within([a[1:]], [b[1:]]) for a, b in calm)
        return same and self._permits_no_more_than(other)

    def _permits_no_more_than(self, other: Claim) -> bool:
        """Smaller boxes and larger margins; what is predicted must not be predicted otherwise."""
        mine, theirs = self.system["shield"], other.system["shield"]
        if mine is None or mine == theirs:
            return mine is None or self.system["disturbances"] == other.system["disturbances"]
        if theirs is None or self.system["disturbances"] != other.system["disturbances"]:
            return False
        pairs = list(zip(mine, theirs, strict=True))
        return all(
            _within(a["inside"], b["inside"]) and Fraction(a["margin"]) >= Fraction(b["margin"])
            for a, b in pairs
        )


def _covered(box: list[Any], boxes: list[list[Any]]) -> bool:
    """Is every point of the box in one of the boxes? Cut at all of their sides, cell by cell."""
    cells: list[list[Fraction]] = []
    for i, (low, high) in enumerate(box):
        a, b = Fraction(low), Fraction(high)
        cuts = sorted({a, b, *(x for other in boxes for x in map(Fraction, other[i]) if a <= x <= b)})
        cells.append([*((x + y) / 2 for x, y in pairwise(cuts)), *cuts])
    return all(any(_holds(point, other) for other in boxes) for point in product(*cells))


def _holds(point: tuple[Fraction, ...], box: list[Any]) -> bool:
    return all(Fraction(a) <= x <= Fraction(b) for x, (a, b) in zip(point, box, strict=True))


def _within(box: list[Any], other: list[Any]) -> bool:
    pairs = zip(box, other, strict=True)
    return all(Fraction(c) <= Fraction(a) and Fraction(b) <= Fraction(d) for (a, b), (c, d) in pairs)


def value(term: Any, names: dict[str, Floats]) -> Any:
    """Of a polynomial, a comparison or a condition."""
    if isinstance(term, bool):
        return term
    if not isinstance(term, list):
        return float(Fraction(term))
    word, *parts = term
    if word == "name":
        return names[parts[0]]
    values = [value(part, names) for part in parts]
    total = values[0]
    for other in values[1:]:
        match word:
            case "+":
                total = total + other
            case "-":
                total = total - other
            case "*":
                total = total * other
            case "/":
                total = total / other
            case "max":
                total = np.maximum(total, other)
            case "<":
                return total < other
            case "<=":
                return total <= other
            case "=":
                return total == other
            case "and":
                total = np.logical_and(total, other)
            case "or":
                total = np.logical_or(total, other)
            case "=>":
                total = np.logical_or(np.logical_not(total), other)
    if len(values) == 1:
        return np.logical_not(total) if word == "not" else -total if word == "negate" else total
    return total


def is_inside(box: list[Any], state: dict[str, Floats], names: list[str]) -> Any:
    found: Any = True
    for name, (low, high) in zip(names, box, strict=True):
        found = found & (state[name] >= float(Fraction(low))) & (state[name] <= float(Fraction(high)))
    return found


def passes_test(claim: Claim, inner: dict[str, Any], state: dict[str, Floats]) -> Any:
    if not inner["tested"]:
        return np.ones(len(next(iter(state.values()))), dtype=bool)
    barrier = value(inner["barrier"], state) <= -float(Fraction(inner["margin"]))
    return is_inside(inner["domain"], state, claim.system["variables"]) & barrier


def clip_values(values: Floats, low: Any, high: Any) -> Floats:
    found = values if low is None else np.maximum(values, float(Fraction(low)))
    return found if high is None else np.minimum(found, float(Fraction(high)))


def decide_controls(claim: Claim, state: dict[str, Floats]) -> tuple[dict[str, Floats], Any]:
    """The controls of the first rule whose test passes, and where there is one."""
    system, count = claim.system, len(next(iter(state.values())))
    decided = np.zeros(count, dtype=bool)
    controls = {name: np.zeros(count) for name, _, _ in system["controls"]}
    for rule in system["rules"]:
        here = passes_test(claim, rule["set"], state) & ~decided
        for (name, low, high), then in zip(system["controls"], rule["then"], strict=True):
            new = clip_values(np.broadcast_to(np.asarray(value(then, state), dtype=float), count), low, high)
            controls[name] = np.where(here, new, controls[name])
        decided |= here
    return controls, decided


def find_permitted(claim: Claim, state: dict[str, Floats], proposed: dict[str, Floats]) -> Any:
    system = claim.system
    middle = {
        n: np.full(len(next(iter(state.values()))), float((Fraction(a) + Fraction(b)) / 2))
        for n, a, b in system["disturbances"]
    }
    ahead = move_state(claim, state | proposed | middle)
    found: Any = np.zeros(len(next(iter(state.values()))), dtype=bool)
    for rule, permit in zip(system["rules"], system["shield"], strict=True):
        low = value(rule["set"]["barrier"], ahead) <= -float(Fraction(permit["margin"]))
        found |= is_inside(permit["inside"], ahead, system["variables"]) & low
    return found


def move_state(claim: Claim, names: dict[str, Floats]) -> dict[str, Floats]:
    count = len(next(iter(names.values())))
    return {
        v: np.broadcast_to(np.asarray(value(t, names), dtype=float), count)
        for v, t in zip(claim.system["variables"], claim.system["next"], strict=True)
    }


def draw_values(ends: list[tuple[str, Any, Any]], count: int, rng: np.random.Generator) -> dict[str, Floats]:
    """At an end, or between them; no double outside of a range."""
    found = {}
    for name, low, high in ends:
        a, b = Fraction(low), Fraction(high)
        x, y = float(a), float(b)
        x, y = (
            (x if Fraction(x) >= a else np.nextafter(x, np.inf)),
            (y if Fraction(y) <= b else np.nextafter(y, -np.inf)),
        )
        draws = rng.uniform(min(x, y), max(x, y), count)
        found[name] = np.where(rng.random(count) < 0.7, np.where(rng.random(count) < 0.5, x, y), draws)
    return found


def unsafe_run(claim: Claim) -> bool:
    """Does some run from the starts become unsafe, or come to a state where no rule decides?"""
    rng, system = np.random.default_rng(0), claim.system
    for part in claim.starts:
        state = draw_values([(v, *r) for v, r in zip(system["variables"], part, strict=True)], RUNS, rng)
        for _ in range(STEPS):
            if np.any(value(system["unsafe"], state)):
                return True
            with np.errstate(all="ignore"):
                controls, decided = decide_controls(claim, state)
                if not np.all(decided):
                    return True
                if system["shield"] is not None:
                    proposed = draw_values([tuple(c) for c in system["controls"]], RUNS, rng)
                    allowed = find_permitted(claim, state, proposed)
                    controls = {n: np.where(allowed, proposed[n], c) for n, c in controls.items()}
                disturbed = draw_values([tuple(d) for d in system["disturbances"]], RUNS, rng)
                state = move_state(claim, state | controls | disturbed)
            if not all(np.all(np.isfinite(x)) for x in state.values()):
                return True
    return False


def false_on_a_grid(claim: Claim) -> bool:
    """Is some state of a set unsafe, or taken out of it by its rule, clearly more than rounding can?"""
    rng, system = np.random.default_rng(1), claim.system
    for rule in system["rules"]:
        inner = rule["set"]
        box = [(v, *r) for v, r in zip(system["variables"], inner["domain"], strict=True)]
        state = draw_values(box, GRID * GRID, rng)
        here = value(inner["barrier"], state) <= 0
        if np.any(value(system["unsafe"], state) & here):
            return True
        controls = {
            n: clip_values(np.broadcast_to(np.asarray(value(t, state), dtype=float), len(here)), a, b)
            for (n, a, b), t in zip(system["controls"], rule["then"], strict=True)
        }
        disturbed = draw_values([tuple(d) for d in system["disturbances"]], len(here), rng)
        ahead = move_state(claim, state | controls | disturbed)
        stays = is_inside(inner["domain"], ahead, system["variables"])
        if np.any(here & ~(stays & (value(inner["barrier"], ahead) <= 1e-9))):
            return True
    return False
