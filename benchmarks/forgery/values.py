"""Bounds of probabilities and expected costs: true ones, and those that a liar would write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from random import Random

from benchmarks.forgery.finite_systems import (
    Json,
    System,
    best_value,
    count_ways,
    random_system,
    reachable,
    write_problem,
    write_states,
)

Vector = list[Fraction]
MOST_WAYS = 600


def _raised(true: Vector, draw: Random) -> Vector:
    found = list(true)
    found[draw.randrange(len(found))] += Fraction(1, draw.choice((2, 10, 1000, 1 << 60)))
    return found


def _lowered(true: Vector, draw: Random) -> Vector:
    found = list(true)
    i = draw.randrange(len(found))
    found[i] = max(Fraction(0), found[i] - Fraction(1, draw.choice((2, 10, 1000, 1 << 60))))
    return found


# Each rule: from the true values to those that are given as bounds below and above.
RULES: dict[str, Callable[[Vector, Random], tuple[Vector, Vector]]] = {
    "the true values": lambda v, _: (v, v),
    "both raised somewhere": lambda v, draw: ((w := _raised(v, draw)), w),
    "both lowered somewhere": lambda v, draw: ((w := _lowered(v, draw)), w),
    "all are one": lambda v, _: ([Fraction(1)] * len(v), [Fraction(1)] * len(v)),
    "all are zero": lambda v, _: ([Fraction(0)] * len(v), [Fraction(0)] * len(v)),
    "what is positive is one": lambda v, _: ((w := [Fraction(x > 0) for x in v]), w),
    "the greatest for all": lambda v, _: ([max(v)] * len(v), [max(v)] * len(v)),
    "the least for all": lambda v, _: ([min(v)] * len(v), [min(v)] * len(v)),
    "halved": lambda v, _: ((w := [x / 2 for x in v]), w),
    "doubled": lambda v, _: ((w := [2 * x for x in v]), w),
    "turned round": lambda v, _: (v[::-1], v[::-1]),
    "a wide interval": lambda v, _: ([x / 2 for x in v], [(x + 1) / 2 for x in v]),
    "another constant solution": lambda v, draw: (
        (w := [max(x, Fraction(draw.randint(1, 3), 3)) if x < 1 else x for x in v]),
        w,
    ),
}


def forge_values(draw: Random) -> Iterator[tuple[str, Json, bool]]:
    system = random_system(draw)
    system = replace(system, starts=system.starts[:1])
    if count_ways(system) > MOST_WAYS:
        return
    goal = [draw.random() < 0.3 for _ in range(system.size)]
    left = [draw.random() < 0.8 for _ in range(system.size)]
    for cost in (False, True):
        for optimise in ("min", "max"):
            yield from _forged(system, optimise, goal, left, cost, draw)


def _forged(
    system: System, optimise: str, goal: list[bool], left: list[bool], cost: bool, draw: Random
) -> Iterator[tuple[str, Json, bool]]:
    true = best_value(system, optimise, goal, left, cost=cost)
    other = best_value(system, "max" if optimise == "min" else "min", goal, left, cost=cost)
    stops = [g or (not cost and not w) for g, w in zip(goal, left, strict=True)]
    order = reachable(system, stops)
    start, kind = system.starts[0], "cost" if cost else "probability"
    asked = _asked(optimise, goal, left, cost)
    finite = [v if v is not None else Fraction(0) for v in true]
    wrong_side = [v if v is not None else Fraction(0) for v in other]
    rules = {name: make(finite, draw) for name, make in RULES.items()}
    for rule, given in {**rules, "of the other optimum": (wrong_side, wrong_side)}.items():
        low, high = given
        claims: list[tuple[Fraction | None, Fraction | None]] = [(low[start], high[start])]
        claims.append((max(low[start], finite[start]), max(high[start], finite[start])))
        if cost:
            claims.append((None, None))
        for least, most in claims:
            claim = {"kind": "process", "problem": write_problem(system, asked)}
            claim |= {"low": _written(least), "high": _written(most)}
            certificate: Json = {
                "surefoot-certificate": 1,
                "claim": claim,
                "arithmetic": "reference" if system.choose.startswith("argmax") else "exact",
                "values": [_table([low[s] for s in order], [high[s] for s in order])],
            }
            yield f"{kind}: {rule}", certificate, _contains(least, most, true[start])


def _asked(optimise: str, goal: Sequence[bool], left: Sequence[bool], cost: bool) -> Json:
    where, along = write_states(goal), write_states(left)
    if cost:
        return {
            "kind": "expected",
            "optimise": optimise,
            "reward": "cost",
            "until": where,
            "steps": None,
            "over": "max",
            "starts": None,
        }
    return {
        "kind": "probability",
        "optimise": optimise,
        "operator": "U",
        "left": along,
        "right": where,
        "bounds": [],
        "over": "max",
        "starts": None,
    }


def _written(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _contains(least: Fraction | None, most: Fraction | None, value: Fraction | None) -> bool:
    if value is None:
        return most is None
    return least is not None and least <= value and (most is None or value <= most)


def _table(low: Vector, high: Vector) -> Json:
    scale = lcm(*(v.denominator for v in (*low, *high)))
    numbers = sorted({v * scale for v in (*low, *high)})
    places = {v: i for i, v in enumerate(numbers)}
    return {
        "states": len(low),
        "scale": hex(scale),
        "numbers": [hex(int(n)) for n in numbers],
        "low": [places[v * scale] for v in low],
        "high": [places[v * scale] for v in high],
    }
