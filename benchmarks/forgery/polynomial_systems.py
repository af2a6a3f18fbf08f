"""Random small polynomial systems with closed sets, as certificates write them; their claims are true.

A base has all of a certificate but its proofs. Numbers in `next` and `derivatives` are short decimals; sides
of domains are multiples of 1/64, so that they are doubles.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from math import factorial
from random import Random
from typing import Any

import numpy as np

from benchmarks.forgery.evidence import write_number
from benchmarks.forgery.finite_systems import Json
from surefoot_checker.claims.barrier.polynomial import (
    ExactPolynomial,
    poly_from_term,
    poly_variable,
)
from surefoot_checker.claims.barrier.sampling_period import _lie_derivatives
from surefoot_checker.kernel.term import read_term

NAMES = ("x", "y", "z")
Matrix = list[list[Fraction]]
D: list[Any] = ["name", "d"]


def name(index: int) -> list[Any]:
    return ["name", NAMES[index]]


def plus(*terms: Any) -> Any:
    return terms[0] if len(terms) == 1 else ["+", *terms]


def times(factor: Fraction, term: Any) -> Any:
    return ["*", write_number(factor), term]


def row_term(row: Sequence[Fraction], centre: Sequence[Fraction]) -> Any:
    """The linear form of x - centre, as one of x."""
    parts = [times(a, name(i)) for i, a in enumerate(row) if a]
    offset = -sum((a * c for a, c in zip(row, centre, strict=True)), Fraction(0))
    return plus(*parts, *([write_number(offset)] if offset or not parts else []))


def squares_term(matrix: Matrix, centre: Sequence[Fraction]) -> Any:
    """(x - c)' P (x - c)."""
    shifted = [["-", name(i), write_number(c)] if c else name(i) for i, c in enumerate(centre)]
    parts = []
    for i in range(len(matrix)):
        for j in range(i + 1):
            entry = matrix[i][j] * (1 if i == j else 2)
            if entry:
                parts.append(["*", write_number(entry), shifted[i], shifted[j]])
    return plus(*parts)


def box_around(centre: Sequence[Fraction], size: Fraction) -> list[list[int | str]]:
    return [[write_number(c - size), write_number(c + size)] for c in centre]


def tenths(draw: Random, low: int, high: int) -> Fraction:
    return Fraction(draw.randint(low, high), 10)


def draw_unsafe(draw: Random, centre: Sequence[Fraction], size: Fraction) -> Any:
    """Outside of the box of this size: half spaces, a corner, or outside of a ball."""
    count, far = len(centre), size + Fraction(draw.randint(4, 32), 64)
    axis = draw.randrange(count)
    beyond = ["<=", write_number(centre[axis] + far), name(axis)]
    below = ["<", name(axis), write_number(centre[axis] - far)]
    match draw.randrange(5):
        case 0:
            return beyond
        case 1:
            return ["or", below, beyond]
        case 2:
            return ["not", ["and", ["<=", write_number(centre[axis] - far), name(axis)], ["not", beyond]]]
        case 3:
            other = (axis + 1) % count
            return ["and", beyond, ["<=", write_number(centre[other]), name(other)]]
    ball = [[Fraction(int(i == j)) for j in range(count)] for i in range(count)]
    return ["<=", write_number(count * far * far), squares_term(ball, centre)]


def draw_linear(draw: Random, count: int, least: int = 2, most: int = 8) -> tuple[Matrix, Fraction]:
    """A matrix that shrinks every vector by the factor: signs and turns by (3/5, 4/5); with that factor."""
    factor = tenths(draw, least, most)
    matrix = [[Fraction(0)] * count for _ in range(count)]
    turned = draw.random() < 0.6 and count > 1
    for i in range(count):
        matrix[i][i] = factor * draw.choice((1, 1, -1))
    if turned:
        first = draw.randrange(count - 1)
        c, s = factor * Fraction(3, 5), factor * Fraction(4, 5) * draw.choice((1, -1))
        for i, j, v in ((0, 0, c), (0, 1, -s), (1, 0, s), (1, 1, c)):
            matrix[first + i][first + j] = v
    return matrix, factor


def assemble(
    kind: str,
    draw: Random,
    *,
    following: Sequence[Any],
    initial: Any,
    rules: Sequence[Json],
    unsafe: Any,
    controls: Sequence[Any] = (),
    gust: Fraction = Fraction(0),
    shield: bool = False,
    covers: Sequence[Any] | None = None,
    arithmetic: str | None = None,
) -> Json:
    count = len(following)
    disturbances = [["d", write_number(-gust), write_number(gust)]] if gust else []
    scale_of = [[0, 1]] * count + [[0, write_number(gust)]] * bool(gust)
    system: Json = {
        "name": kind,
        "variables": list(NAMES[:count]),
        "initial": initial,
        "controls": list(controls),
        "disturbances": disturbances,
        "next": list(following),
        "unsafe": unsafe,
        "rules": list(rules),
        "shield": [{"inside": r["set"]["domain"], "margin": 0} for r in rules] if shield else None,
    }
    boxes = covers if covers is not None else [[initial]] + [[]] * (len(rules) - 1)
    return {
        "surefoot-certificate": 1,
        "arithmetic": arithmetic or draw.choice(("exact", "float64")),
        "claim": {"kind": "barrier", "system": system},
        "sets": [{"scale": scale_of, "covers": copy.deepcopy(list(b))} for b in boxes],
    }


def make_rule(domain: Any, barrier: Any, then: Sequence[Any] = (), margin: Fraction | None = None) -> Json:
    inner = {"domain": domain, "barrier": barrier, "tested": margin is not None}
    return {"set": {**inner, "margin": write_number(margin or Fraction(0))}, "then": list(then)}


# Steps.


def linear_base(draw: Random) -> Json:
    """A closed ball, or a box where the map is one of it into itself."""
    count = draw.randint(1, 3)
    matrix, factor = draw_linear(draw, count)
    centre = [
        Fraction(draw.randint(-32, 32), 64) if draw.random() < 0.5 else Fraction(0) for _ in range(count)
    ]
    radius = Fraction(draw.randint(48, 128), 64)
    gust = draw.choice((Fraction(0), radius * (1 - factor) / 8))
    following = [plus(row_term(row, centre), write_number(c)) for row, c in zip(matrix, centre, strict=True)]
    if gust:
        axis = draw.randrange(count)
        following[axis] = plus(following[axis], D)
    widest = max(sum(map(abs, row)) for row in matrix)
    unit = [[Fraction(int(i == j)) for j in range(count)] for i in range(count)]
    if widest <= Fraction(7, 8) and draw.random() < 0.5:
        domain, barrier, start = box_around(centre, radius), -1, radius
        if draw.random() < 0.4:
            rows = [
                ["-", ["-", name(i), write_number(centre[i])], write_number(radius)] for i in range(count)
            ]
            rows += [
                ["-", ["-", write_number(centre[i]), name(i)], write_number(radius)] for i in range(count)
            ]
            domain, barrier = box_around(centre, radius + 1), ["max", *rows]
    else:
        domain = box_around(centre, radius + Fraction(1, 8))
        barrier = ["-", squares_term(unit, centre), write_number(radius * radius)]
        start = radius / 2
    return assemble(
        "linear",
        draw,
        following=following,
        initial=box_around(centre, start),
        rules=[make_rule(domain, barrier)],
        unsafe=draw_unsafe(draw, centre, radius + Fraction(1, 4)),
        gust=gust,
    ) | {"about": {"centre": centre, "radius": start, "matrix": unit}}


def cubic_base(draw: Random) -> Json:
    """x becomes a x - b x^3 (+ c x y), within 1."""
    count = draw.randint(1, 2)
    a, b = tenths(draw, 2, 6), tenths(draw, -3, 3)
    following = []
    for i in range(count):
        parts = [times(a, name(i)), times(b, ["*", name(i), name(i), name(i)])]
        if count == 2:
            parts.append(times(Fraction(draw.choice((-1, 1)), 20), ["*", name(0), name(1)]))
        following.append(plus(*parts))
    gust = draw.choice((Fraction(0), Fraction(1, 50)))
    if gust:
        following[0] = plus(following[0], D)
    centre = [Fraction(0)] * count
    unit = [[Fraction(int(i == j)) for j in range(count)] for i in range(count)]
    return assemble(
        "cubic",
        draw,
        following=following,
        initial=box_around(centre, Fraction(1)),
        rules=[make_rule(box_around(centre, Fraction(1)), -1)],
        unsafe=draw_unsafe(draw, centre, Fraction(1)),
        gust=gust,
    ) | {"about": {"centre": centre, "radius": Fraction(1), "matrix": unit}}


def controlled_base(draw: Random) -> Json:
    """x becomes a x + u (+ d) with a > 1; the program says -k x, clipped or not; perhaps with a shield."""
    a = tenths(draw, 11, 14)
    k = a - tenths(draw, 2, 6)
    radius = Fraction(1)
    gust = draw.choice((Fraction(0), Fraction(1, 20)))
    limit = draw.choice((k + Fraction(1, 4), k * Fraction(15, 16)))
    shield, tested = draw.random() < 0.4, draw.random() < 0.4
    barrier = ["-", ["*", name(0), name(0)], write_number(radius * radius)]
    following = plus(times(a, name(0)), ["name", "u"], *([D] if gust else []))
    margin = Fraction(1, 1024) if shield or tested else None
    return assemble(
        "controlled",
        draw,
        following=[following],
        initial=box_around([Fraction(0)], Fraction(3, 4)),
        rules=[make_rule(box_around([Fraction(0)], Fraction(5, 4)), barrier, [times(-k, name(0))], margin)],
        unsafe=draw_unsafe(draw, [Fraction(0)], radius),
        controls=[["u", write_number(-limit), write_number(limit)]],
        gust=gust,
        shield=shield,
    ) | {"about": {"centre": [Fraction(0)], "radius": Fraction(3, 4), "matrix": [[Fraction(1)]]}}


def two_rules_base(draw: Random, flow: bool = False) -> Json:
    """To the left of 0 the program goes to -1 and to the right to 1; both sets together have the starts."""
    speed = tenths(draw, 3, 6)
    gust = draw.choice((Fraction(0), Fraction(1, 20)))
    shield = draw.random() < 0.5
    limit = 4 * speed
    terms = [times(speed, ["-", write_number(Fraction(goal)), name(0)]) for goal in (-1, 1)]
    sets = [[["-3", "3/4"]], [["-3/4", "3"]]]
    barriers = [
        ["-", ["*", ["+", name(0), "9/8"], ["+", name(0), "9/8"]], "225/64"],  # from -3 to 3/4
        ["-", ["*", ["-", name(0), "9/8"], ["-", name(0), "9/8"]], "225/64"],
    ]
    rules = [
        make_rule(box, b, [t], Fraction(1, 1024)) for box, b, t in zip(sets, barriers, terms, strict=True)
    ]
    if draw.random() < 0.4 and not shield:
        rules[1]["set"] |= {"tested": False, "margin": 0}
    moved = plus(["name", "u"], *([D] if gust else []))
    return assemble(
        "two rules",
        draw,
        following=[moved if flow else plus(name(0), moved)],
        initial=[["-5/2", "5/2"]],
        rules=rules,
        unsafe=draw_unsafe(draw, [Fraction(0)], Fraction(13, 4)),
        controls=[["u", write_number(-limit), write_number(limit)]],
        gust=gust,
        shield=shield,
        covers=[[[["-5/2", "1/2"]]], [[["-1/2", "5/2"]]]],
    )


STEPPED = (linear_base, linear_base, cubic_base, controlled_base, two_rules_base)
CONVERGENT = (linear_base, linear_base, cubic_base, controlled_base)


def stepped_base(draw: Random) -> Json:
    data = draw.choice(STEPPED)(draw)
    return draw_parts(data, draw)


def draw_parts(data: Json, draw: Random) -> Json:
    """Now and then the claim is about boxes of the starts."""
    system = data["claim"]["system"]
    if draw.random() < 0.25 and len(data["sets"]) == 1:
        low, high = (Fraction(e) for e in system["initial"][0])
        third = (high - low) / 4
        rest = system["initial"][1:]
        ends = [(low, low + third), (high - third, high)]
        system["parts"] = [[[write_number(a), write_number(b)], *rest] for a, b in ends]
    return data


def convergent_base(draw: Random) -> Json:
    """With a target around the centre, and the distance from it as a ranking function."""
    data = draw.choice(CONVERGENT)(draw)
    about, system = data["about"], data["claim"]["system"]
    system["shield"] = None
    system["rules"][0]["set"] |= {"tested": False, "margin": 0}
    if draw.random() < 0.7:
        system["unsafe"] = False
    size = about["radius"] * Fraction(draw.randint(3, 6), 8)
    data["claim"]["kind"] = "convergence"
    data["claim"]["target"] = draw_target(draw, about["centre"], size)
    data["ranking"] = {"function": squares_term(about["matrix"], about["centre"]), "least": "1/16"}
    return draw_parts(data, draw)


def draw_target(draw: Random, centre: Sequence[Fraction], size: Fraction) -> Any:
    sides = []
    for i, c in enumerate(centre):
        sides += [["<=", write_number(c - size), name(i)], ["<", name(i), write_number(c + size)]]
    if draw.random() < 0.3:
        unit = [[Fraction(int(i == j)) for j in range(len(centre))] for i in range(len(centre))]
        return ["<=", squares_term(unit, centre), write_number(size * size)]
    return ["not", ["or", *(["not", s] for s in sides)]] if draw.random() < 0.3 else ["and", *sides]


# Continuous time.


def flow_base(draw: Random) -> Json:
    data = draw.choice((decay_flow, oscillator_flow, oscillator_flow, held_flow, held_flow, two_rules_flow))(
        draw
    )
    return draw_parts(data, draw)


def in_time(data: Json, draw: Random, derivatives: Sequence[Any], period: Fraction, order: int) -> Json:
    """With this differential equation; `next` is the Taylor polynomial."""
    system = data["claim"]["system"]
    system["time"] = {"derivatives": list(derivatives), "period": write_number(period)}
    system["next"] = predict_period(system, order)
    for entry in data["sets"]:
        entry["period"] = {"order": order, "enclosure": [], "proposed": None}
    return data


def predict_period(system: Json, order: int) -> list[Any]:
    """x + h f, then the next terms of the series for 0 in the place of the disturbances."""
    h, rates = Fraction(system["time"]["period"]), system["time"]["derivatives"]
    found = [plus(["name", v], times(h, r)) for v, r in zip(system["variables"], rates, strict=True)]
    named = [*system["controls"], *system["disturbances"]]
    names = [*system["variables"], *(entry[0] for entry in named)]
    size = len(names)
    still = {n: poly_variable(i, size) for i, n in enumerate(names)}
    still |= {d[0]: ExactPolynomial({}) for d in system["disturbances"]}
    series = steady = [poly_from_term(read_term(r), still, size, False) for r in rates]
    for k in range(2, order + 1):
        series = _lie_derivatives(series, steady)
        more = [_written(p.times(h**k / factorial(k)), names) for p in series]
        found = [plus(term, *several) for term, several in zip(found, more, strict=True)]
    return found


def _written(p: ExactPolynomial, names: Sequence[str]) -> list[Any]:
    found = []
    for monomial, c in p.terms.items():
        factors = [["name", n] for n, e in zip(names, monomial, strict=True) for _ in range(e)]
        number = write_number(Fraction(c, p.below))
        found.append(["*", number, *factors] if factors else number)
    return found


def decay_flow(draw: Random) -> Json:
    """Every variable decays; boxes are closed, since the diagonal dominates."""
    count = draw.randint(1, 3)
    matrix = [
        [
            tenths(draw, -15, -8) if i == j else tenths(draw, -2, 2) if draw.random() < 0.7 else Fraction(0)
            for j in range(count)
        ]
        for i in range(count)
    ]
    centre, radius = [Fraction(0)] * count, Fraction(draw.randint(48, 96), 64)
    gust = draw.choice((Fraction(0), Fraction(1, 20)))
    rates = [row_term(row, centre) for row in matrix]
    if gust:
        rates[0] = plus(rates[0], D)
    data = assemble(
        "decay",
        draw,
        following=rates,
        initial=box_around(centre, radius * Fraction(3, 4)),
        rules=[make_rule(box_around(centre, radius), -1)],
        unsafe=draw_unsafe(draw, centre, radius),
        gust=gust,
    )
    return in_time(data, draw, rates, Fraction(draw.randint(1, 4), 40), draw.randint(1, 2))


def oscillator_flow(draw: Random) -> Json:
    """x' = y, y' = -k x - c y (- b x^3) (+ u) (+ d), in an ellipse of Lyapunov."""
    k, c = tenths(draw, 8, 20), tenths(draw, 8, 16)
    controlled, cubic = draw.random() < 0.4, draw.random() < 0.4
    gain = (tenths(draw, 2, 6), tenths(draw, 2, 6)) if controlled else (Fraction(0), Fraction(0))
    loop = np.array([[0.0, 1.0], [float(-k - gain[0]), float(-c - gain[1])]])
    eye = np.eye(2)
    solved = np.linalg.solve(np.kron(loop.T, eye) + np.kron(eye, loop.T), -eye.ravel()).reshape(2, 2)
    matrix = [[Fraction(round(float(e) * 64), 64) for e in row] for row in (solved + solved.T) / 2]
    level = Fraction(1, 2) * min(matrix[0][0], matrix[1][1])
    centre, reach = [Fraction(0)] * 2, Fraction(5, 4)
    gust = draw.choice((Fraction(0), Fraction(1, 50)))
    push = [["name", "u"]] if controlled else []
    more = [times(Fraction(-1, 10), ["*", name(0), name(0), name(0)])] if cubic else []
    rates = [name(1), plus(times(-k, name(0)), times(-c, name(1)), *more, *push, *([D] if gust else []))]
    then = [plus(times(-gain[0], name(0)), times(-gain[1], name(1)))] if controlled else []
    shield = controlled and draw.random() < 0.4
    margin = Fraction(1, 1024) if shield or draw.random() < 0.3 else None
    barrier = ["-", squares_term(matrix, centre), write_number(level)]
    data = assemble(
        "oscillator",
        draw,
        following=rates,
        initial=box_around(centre, Fraction(draw.randint(16, 24), 64)),
        rules=[make_rule(box_around(centre, reach), barrier, then, margin)],
        unsafe=draw_unsafe(draw, centre, Fraction(5, 4)),
        controls=[["u", "-3/2", "3/2"]] if controlled else [],
        gust=gust,
        shield=shield,
    )
    return in_time(data, draw, rates, Fraction(draw.randint(2, 6), 100), 2)


def held_flow(draw: Random) -> Json:
    """x' = a x + u (+ d), u = -k x at the last sample, perhaps clipped; with a test or a shield too."""
    a, k = tenths(draw, 2, 8), tenths(draw, 15, 30)
    gust = draw.choice((Fraction(0), Fraction(1, 20)))
    limit = draw.choice((k + 1, k * Fraction(3, 4)))
    shield, tested = draw.random() < 0.5, draw.random() < 0.4
    rate = plus(times(a, name(0)), ["name", "u"], *([D] if gust else []))
    barrier = ["-", ["*", name(0), name(0)], 1]
    data = assemble(
        "held",
        draw,
        following=[rate],
        initial=box_around([Fraction(0)], Fraction(3, 4)),
        rules=[
            make_rule(
                box_around([Fraction(0)], Fraction(5, 4)),
                barrier,
                [times(-k, name(0))],
                Fraction(1, 1024) if shield or tested else None,
            )
        ],
        unsafe=draw_unsafe(draw, [Fraction(0)], Fraction(3, 2)),
        controls=[["u", write_number(-limit), write_number(limit)]],
        gust=gust,
        shield=shield,
    )
    return in_time(data, draw, [rate], Fraction(draw.randint(2, 8), 80), draw.randint(1, 2))


def two_rules_flow(draw: Random) -> Json:
    data = two_rules_base(draw, flow=True)
    rates = data["claim"]["system"]["next"]
    return in_time(data, draw, rates, Fraction(draw.randint(2, 8), 40), draw.randint(1, 2))
