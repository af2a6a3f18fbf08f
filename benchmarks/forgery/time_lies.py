"""What a liar changes in a claim about continuous time."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

from benchmarks.forgery.evidence import write_number
from benchmarks.forgery.finite_systems import Json
from benchmarks.forgery.lies import (
    WHOLE,
    Lie,
    draw_extremes,
    edge_unsafe,
    pushed_dynamics,
    reached_unsafe,
    scaled_dynamics,
    system_of,
)
from benchmarks.forgery.polynomial_systems import predict_period


def round_program(data: Json, draw: Random) -> bool:
    """In float64 the program says 0 until it is too late."""
    system = system_of(data)
    then = system["rules"][0]["then"]
    if not then:
        return False
    data["arithmetic"] = "float64"
    grain = draw.choice((2, 8, 32))
    then[0] = ["-", ["+", then[0], grain * WHOLE], grain * WHOLE]
    found = edge_unsafe(data, draw) if draw.random() < 0.7 else True
    data["hint"] = {"missing": ("step", "barrier")}
    return found


def longer_period(data: Json, draw: Random) -> bool:
    system = system_of(data)
    time = system["time"]
    time["period"] = write_number(Fraction(time["period"]) * draw.choice((2, 5, 20, 60)))
    if draw.random() < 0.5:  # otherwise the prediction is that of the period as it was
        system["next"] = predict_period(system, data["sets"][0]["period"]["order"])
    return True


def better_prediction(data: Json, draw: Random) -> bool:
    """`next` says that everything comes to rest; with it something becomes unsafe that it hides."""
    system = system_of(data)
    system["next"] = [["*", "1/2", ["name", v]] for v in system["variables"]]
    return draw.choice((reached_unsafe, scaled_dynamics, pushed_dynamics))(data, draw)


def unsafe_between(data: Json, draw: Random) -> bool:
    """Unsafe is what runs reach between samples and at none."""
    if (found := draw_extremes(data, draw)) is None:
        return False
    name, low, high, least, most = found
    if most - high > 4e-6 and draw.random() < 0.7:
        edge = high + (most - high) * Fraction(draw.randint(1, 3), 4)
        system_of(data)["unsafe"] = ["<=", write_number(edge), ["name", name]]
        return True
    if low - least > 4e-6:
        edge = low - (low - least) * Fraction(draw.randint(1, 3), 4)
        system_of(data)["unsafe"] = ["<=", ["name", name], write_number(edge)]
        return True
    return False


def thin_starts(data: Json, draw: Random) -> bool:
    """From few starts runs reach their extremes between samples; the edge of unsafe is put there."""
    system = system_of(data)
    system.pop("parts", None)
    for ends in system["initial"]:
        at = Fraction(ends[0]) + (Fraction(ends[1]) - Fraction(ends[0])) * Fraction(draw.randint(0, 8), 8)
        ends[:] = [write_number(at)] * 2
    for entry in data["sets"]:
        entry["covers"] = [[list(r) for r in system["initial"]]]
    if draw.random() < 0.5:
        longer_period(data, draw)
    return unsafe_between(data, draw)


def turned_between(data: Json, draw: Random) -> bool:
    """A spiral that turns so far in a period that a box is closed at samples; between them it sticks out."""
    system = system_of(data)
    h, turn = Fraction(draw.randint(1, 4), 8), Fraction(draw.randint(8, 28), 20)
    shrinks = Fraction(draw.randint(1, 4), 10) + Fraction(draw.randint(0, 4), 100)
    while math.exp(-shrinks) * (abs(math.cos(turn)) + math.sin(turn)) > 0.98:
        shrinks += Fraction(1, 20)
    c, w = shrinks / h, turn / h
    x, y = ["name", "x"], ["name", "y"]
    rates = [
        ["-", ["*", write_number(-c), x], ["*", write_number(w), y]],
        ["+", ["*", write_number(w), x], ["*", write_number(-c), y]],
    ]
    size = Fraction(draw.randint(2, 8), 4)
    times = [h * Fraction(k, 400) for k in range(401)]
    widest = max(math.exp(-c * t) * (abs(math.cos(w * t)) + abs(math.sin(w * t))) for t in times)
    edge = size * (1 + (Fraction(widest) - 1) * Fraction(draw.randint(1, 9), 10))
    box = [[write_number(-size), write_number(size)]] * 2
    one = draw.choice((x, y))
    unsafe = draw.choice((["<=", write_number(edge), one], ["<=", one, write_number(-edge)]))
    if draw.random() < 0.3:
        unsafe = ["and", unsafe, ["<=", ["*", x, x], write_number(100 * size * size)]]
    order = draw.randint(3, 6)
    system.clear()
    system |= {
        **{"name": "spiral", "variables": ["x", "y"], "initial": [list(r) for r in box]},
        **{"controls": [], "disturbances": [], "shield": None, "unsafe": unsafe},
        "time": {"derivatives": rates, "period": write_number(h)},
        "rules": [{"set": {"domain": box, "barrier": -1, "tested": False, "margin": 0}, "then": []}],
    }
    system["next"] = predict_period(system, order)
    period = {"order": order, "enclosure": [], "proposed": None}
    data["sets"] = [{"scale": [[0, 1], [0, 1]], "covers": [[list(r) for r in box]], "period": period}]
    return widest > 1.001


def held_too_long(data: Json, draw: Random) -> bool:
    """A control that is held until it has gone too far; Euler's step, which is `next`, hides it."""
    system = system_of(data)
    h, grows = Fraction(draw.randint(1, 8), 8), Fraction(draw.randint(12, 17), 20)
    ratio = (1 + grows + Fraction(draw.randint(4, 8), 10)) / grows  # of the control's gain to the plant's
    x = ["name", "x"]
    rate = ["+", ["*", write_number(grows / h), x], ["name", "u"]]
    inner = {"domain": [[-1, 1]], "barrier": -1, "tested": False, "margin": 0}
    system.clear()
    system |= {
        **{"name": "held", "variables": ["x"], "initial": [["-1/2", "1/2"]], "disturbances": []},
        **{"controls": [["u", -1000, 1000]], "shield": None},
        "unsafe": ["or", ["<=", "9/8", x], ["<=", x, "-9/8"]],
        "time": {"derivatives": [rate], "period": write_number(h)},
        "rules": [{"set": inner, "then": [["*", write_number(-ratio * grows / h), x]]}],
    }
    system["next"] = predict_period(system, 1)
    period = {"order": 1, "enclosure": [], "proposed": None}
    data["sets"] = [{"scale": [[0, 1]], "covers": [[["-1/2", "1/2"]]], "period": period}]
    data["hint"] = {"missing": ("step", "barrier", "slack")}
    return True


TIME_LIES: tuple[Lie, ...] = (
    *(longer_period, longer_period, better_prediction, unsafe_between),
    *(thin_starts, thin_starts, turned_between, turned_between, round_program, held_too_long),
)
