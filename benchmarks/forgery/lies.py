"""What a liar changes in a claim about a polynomial system.

Each rule returns whether there was something to change; the tables show its name. Some leave a claim true.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from benchmarks.forgery.evidence import write_number
from benchmarks.forgery.finite_systems import Json
from benchmarks.forgery.flow_runs import reach_flow_extremes
from benchmarks.forgery.polynomial_systems import predict_period
from benchmarks.forgery.stepped_runs import reach_extremes
from benchmarks.tampering.executed import value

Lie = Callable[[Json, Random], bool]
WHOLE = 2**52  # added and subtracted in float64 it rounds to whole numbers, and changes no polynomial


def _system(data: Json) -> Json:
    found: Json = data["claim"]["system"]
    return found


def _motion(data: Json) -> list[Any]:
    """What the state does: derivatives, or next values."""
    system = _system(data)
    found: list[Any] = system["time"]["derivatives"] if "time" in system else system["next"]
    return found


def _predicts(data: Json, draw: Random) -> None:
    """After a change of the differential equation a careful liar predicts it as it is now."""
    if "time" in _system(data) and draw.random() < 0.7:
        _system(data)["next"] = predict_period(_system(data), data["sets"][0]["period"]["order"])


def _covers(data: Json, draw: Random) -> None:
    """After a change of the starts a careful liar says that his sets cover them, whatever their domains."""
    system, entry = _system(data), data["sets"][0]
    if draw.random() < 0.7:
        entry["covers"] = [[list(r) for r in box] for box in system.get("parts", [system["initial"]])]
    if draw.random() < 0.7:
        for rule in system["rules"]:
            for i, ends in enumerate(rule["set"]["domain"]):
                lows, highs = zip(*(box[i] for box in (*entry["covers"], system["initial"])), strict=True)
                ends[0] = write_number(min(map(Fraction, (ends[0], *lows))))
                ends[1] = write_number(max(map(Fraction, (ends[1], *highs))))


def wider_starts(data: Json, draw: Random) -> bool:
    system = _system(data)
    factor = draw.choice((Fraction(5, 4), 2, 4))
    for box in (system["initial"], *system.get("parts", [])):
        for ends in box:
            middle, half = _middle(ends)
            ends[:] = [write_number(middle - factor * half), write_number(middle + factor * half)]
    _covers(data, draw)
    return True


def moved_starts(data: Json, draw: Random) -> bool:
    system = _system(data)
    system.pop("parts", None)
    ends = draw.choice(system["initial"])
    _, half = _middle(ends)
    by = half * draw.choice((Fraction(1, 2), 1, 3)) * draw.choice((1, -1))
    ends[:] = [write_number(Fraction(e) + by) for e in ends]
    _covers(data, draw)
    return True


def added_part(data: Json, draw: Random) -> bool:
    """A box of starts further away, in a larger initial box."""
    system = _system(data)
    old = system.get("parts", [[list(r) for r in system["initial"]]])
    more = []
    for ends in system["initial"]:
        _, half = _middle(ends)
        more.append([write_number(Fraction(ends[1]) + half), write_number(Fraction(ends[1]) + 2 * half)])
        ends[1] = more[-1][1]
    system["parts"] = [*old, more]
    _covers(data, draw)
    return True


def _middle(ends: list[Any]) -> tuple[Fraction, Fraction]:
    low, high = Fraction(ends[0]), Fraction(ends[1])
    return (low + high) / 2, (high - low) / 2


def scaled_dynamics(data: Json, draw: Random) -> bool:
    motion = _motion(data)
    index = draw.randrange(len(motion))
    motion[index] = ["*", draw.choice(("-1", "3/2", 2, "-2", 5, "1/2")), motion[index]]
    _predicts(data, draw)
    return True


def pushed_dynamics(data: Json, draw: Random) -> bool:
    motion = _motion(data)
    index = draw.randrange(len(motion))
    motion[index] = ["+", motion[index], draw.choice(("1/8", "-1/2", 1, "-1", 3))]
    _predicts(data, draw)
    return True


def bent_dynamics(data: Json, draw: Random) -> bool:
    """A term of degree 2 or 3 more."""
    motion = _motion(data)
    index = draw.randrange(len(motion))
    one = ["name", draw.choice(_system(data)["variables"])]
    power = [one] * draw.choice((2, 3))
    motion[index] = ["+", motion[index], ["*", draw.choice(("1/2", "-1/2", 2, "-2")), *power]]
    _predicts(data, draw)
    return True


def exchanged_variables(data: Json, draw: Random) -> bool:
    motion = _motion(data)
    motion.reverse()
    _predicts(data, draw)
    return len(motion) > 1


def other_coefficient(data: Json, draw: Random) -> bool:
    places: list[tuple[list[Any], int]] = []
    _constants(_motion(data), places)
    if not places:
        return False
    where, index = draw.choice(places)
    where[index] = write_number(Fraction(where[index]) * draw.choice((-1, Fraction(3, 2), 3, 10, 0)))
    _predicts(data, draw)
    return True


def _constants(term: Any, found: list[tuple[list[Any], int]]) -> None:
    if isinstance(term, list) and term and term[0] != "name":
        for i, part in enumerate(term):
            if isinstance(part, list):
                _constants(part, found)
            elif isinstance(part, int) or (isinstance(part, str) and part[-1].isdigit()):
                found.append((term, i))


def larger_disturbance(data: Json, draw: Random) -> bool:
    found = _system(data)["disturbances"]
    if not found:
        return False
    factor = draw.choice((2, 5, 20, 100))
    side = draw.choice((1, 2))
    found[0][side] = write_number(Fraction(found[0][side]) * factor)
    if draw.random() < 0.5:
        found[0][3 - side] = write_number(Fraction(found[0][3 - side]) * factor)
    return True


def added_disturbance(data: Json, draw: Random) -> bool:
    system = _system(data)
    if system["disturbances"]:
        return False
    size = draw.choice(("1/10", "1/2", 1))
    system["disturbances"] = [["d", f"-{size}", size]]
    motion = _motion(data)
    index = draw.randrange(len(motion))
    motion[index] = ["+", motion[index], ["name", "d"]]
    if "time" in system:
        _system(data)["next"] = predict_period(system, data["sets"][0]["period"]["order"])
    for entry in data["sets"]:
        entry["scale"] = [*entry["scale"], [0, 1]]
    return True


def other_program(data: Json, draw: Random) -> bool:
    rule = draw.choice(_system(data)["rules"])
    if not rule["then"]:
        return False
    rule["then"] = [["*", draw.choice(("-1", 0, 3, "1/4", 10)), t] for t in rule["then"]]
    return True


def narrower_limits(data: Json, draw: Random) -> bool:
    controls = _system(data)["controls"]
    if not controls:
        return False
    factor = draw.choice((Fraction(1, 2), Fraction(1, 8), Fraction(1, 100)))
    controls[0][1:] = [write_number(Fraction(e) * factor) for e in controls[0][1:]]
    data["hint"] = {"within": True}
    return True


def exchanged_rules(data: Json, draw: Random) -> bool:
    """Sets with the program of the other one."""
    rules = _system(data)["rules"]
    if len(rules) < 2:
        return False
    rules[0]["then"], rules[1]["then"] = rules[1]["then"], rules[0]["then"]
    return True


def untested_rule(data: Json, draw: Random) -> bool:
    inner = _system(data)["rules"][-1]["set"]
    if not inner["tested"] or _system(data)["shield"] is not None:
        return False
    inner |= {"tested": False, "margin": 0}
    return True


def _draw_extremes(data: Json, draw: Random) -> tuple[str, Fraction, Fraction, Fraction, Fraction] | None:
    """Of one variable: the least and greatest values that runs have at samples, then at all times."""
    flow = "time" in _system(data)
    with np.errstate(all="ignore"):
        extremes = reach_flow_extremes(data) if flow else reach_extremes(data)
    name = draw.choice(sorted(extremes))
    values = extremes[name]
    if not all(-1e6 < e < 1e6 for e in values):
        return None
    low, high, least, most = map(Fraction, values)
    return name, low, high, least, most


def reached_unsafe(data: Json, draw: Random) -> bool:
    """What runs just reach is unsafe: at an end of the values that were seen, by little or by more."""
    if (found := _draw_extremes(data, draw)) is None:
        return False
    name, _, _, low, high = found
    by = Fraction(draw.choice((1e-5, 1e-3, 0.05))) * max(abs(low), abs(high), 1)
    if draw.random() < 0.5:
        term: Any = ["<=", write_number(_short(high - by)), ["name", name]]
    else:
        term = ["<", ["name", name], write_number(_short(low + by))]
    old = _system(data)["unsafe"]
    if draw.random() < 0.3:
        _system(data)["unsafe"], data["hint"] = ["or", old, term], {"first": True}
    else:
        _system(data)["unsafe"] = draw.choice((term, ["or", term, old], ["not", ["not", term]]))
    return True


def _short(value: Fraction) -> Fraction:
    return Fraction(round(value * 2**30), 2**30)


def nearer_unsafe(data: Json, draw: Random) -> bool:
    """A half space with an edge in the middle of the starts or not far from them."""
    system = _system(data)
    index = draw.randrange(len(system["variables"]))
    middle, half = _middle(system.get("parts", [system["initial"]])[0][index])
    edge = write_number(middle + half * draw.choice((Fraction(1, 2), Fraction(9, 10), Fraction(11, 10))))
    term = ["<=", edge, ["name", system["variables"][index]]]
    system["unsafe"] = ["or", system["unsafe"], term] if draw.random() < 0.5 else term
    return True


def band_unsafe(data: Json, draw: Random) -> bool:
    """A narrow band that runs come into or go through, away from the edge of the set."""
    if (found := _draw_extremes(data, draw)) is None:
        return False
    name, _, _, low, high = found
    at, width = low + (high - low) * Fraction(draw.randint(1, 9), 10), (high - low) / draw.choice((10, 50))
    one = ["name", name]
    sides = [["<=", write_number(_short(at)), one], ["<=", one, write_number(_short(at + width))]]
    _system(data)["unsafe"] = ["and", *sides]
    return True


def inverted_unsafe(data: Json, draw: Random) -> bool:
    _system(data)["unsafe"] = ["not", _system(data)["unsafe"]]
    return True


def round_dynamics(data: Json, draw: Random) -> bool:
    """The same polynomial, but float64 rounds it to whole numbers (or quarters)."""
    if data["arithmetic"] != "float64":
        return False
    system, big = _system(data), WHOLE // draw.choice((1, 4, 16))
    terms = system["next"] if "time" not in system else draw.choice(system["rules"])["then"]
    if not terms:
        return False
    index = draw.randrange(len(terms))
    terms[index] = ["-", ["+", terms[index], big], big]
    return True


def round_unsafe(data: Json, draw: Random) -> bool:
    """A condition that float64 computes for whole numbers only: what is near its edge is rounded onto it."""
    system = _system(data)
    if data["arithmetic"] != "float64" or "time" in system:
        return False
    if (found := _draw_extremes(data, draw)) is None:
        return False
    name, _, _, _, high = found
    rounded = ["-", ["+", ["*", 2, ["name", name]], WHOLE], WHOLE]
    system["unsafe"] = ["<=", write_number(Fraction(round(2 * high)) or Fraction(1)), rounded]
    return True


def other_arithmetic(data: Json, draw: Random) -> bool:
    data["arithmetic"] = "exact" if data["arithmetic"] == "float64" else "float64"
    return True


LIES: tuple[Lie, ...] = (
    *(wider_starts, moved_starts, added_part, scaled_dynamics, pushed_dynamics, bent_dynamics),
    *(exchanged_variables, other_coefficient, larger_disturbance, added_disturbance, other_program),
    *(narrower_limits, exchanged_rules, untested_rule, round_dynamics, other_arithmetic),
)


def edge_unsafe(data: Json, draw: Random) -> bool:
    """Unsafe begins right beyond the sets: true as long as no margin is missing."""
    system = _system(data)
    count = len(system["variables"])
    index, most = draw.randrange(count), Fraction(-(10**6))
    for rule in system["rules"]:
        ends = [np.linspace(float(Fraction(a)), float(Fraction(b)), 65) for a, b in rule["set"]["domain"]]
        ends[index] = np.linspace(ends[index][0], ends[index][-1], 1281)
        grid = dict(zip(system["variables"], (g.ravel() for g in np.meshgrid(*ends)), strict=True))
        inside = np.broadcast_to(value(rule["set"]["barrier"], grid) <= 0, grid["x"].shape)
        if np.any(inside):
            most = max(most, Fraction(float(grid[system["variables"][index]][inside].max())))
    beyond = _short(most + draw.choice((Fraction(1, 500), Fraction(1, 100), Fraction(1, 40))))
    data["hint"] = {"missing": ("permit",)}
    system["unsafe"] = ["<=", write_number(beyond), ["name", system["variables"][index]]]
    return True


UNSAFE_LIES: tuple[Lie, ...] = (
    *(reached_unsafe, nearer_unsafe, band_unsafe, inverted_unsafe, round_unsafe),
    *(edge_unsafe, edge_unsafe),
)


# Rounding that matters: exactly the claim is true, and the proof complete but for margins.


def round_outwards(data: Json, draw: Random) -> bool:
    """The next value is rounded to the first multiple of a power of two outside of the set."""
    system = _system(data)
    index = draw.randrange(len(system["variables"]))
    low, high = (Fraction(e) for e in system["rules"][0]["set"]["domain"][index])
    size = max(abs(low), abs(high))
    grain = Fraction(1, 64)
    while grain <= size:
        grain *= 2
    big = write_number(grain * WHOLE)
    data["arithmetic"] = "float64"
    system["next"][index] = ["-", ["+", system["next"][index], big], big]
    one, edge = ["name", system["variables"][index]], (size + grain) / 2
    system["unsafe"] = ["or", ["<=", write_number(edge), one], ["<=", one, write_number(-edge)]]
    data["hint"] = {"missing": ("step", "barrier")}
    return True


def round_onto_unsafe(data: Json, draw: Random) -> bool:
    """The condition is computed for multiples of a power of two; the first one outside is unsafe."""
    system = _system(data)
    index = draw.randrange(len(system["variables"]))
    high, grain = Fraction(system["rules"][0]["set"]["domain"][index][1]), Fraction(1, draw.choice((2, 4, 8)))
    big, edge = write_number(grain * WHOLE), (high // grain + 1) * grain
    data["arithmetic"] = "float64"
    rounded = ["-", ["+", ["name", system["variables"][index]], big], big]
    system["unsafe"] = ["<=", write_number(edge), rounded]
    data["hint"] = {"missing": ("slack",)}
    return True


ROUNDING_LIES: tuple[Lie, ...] = (round_outwards, round_onto_unsafe) * 2


def round_program(data: Json, draw: Random) -> bool:
    """In float64 the program says 0 until it is too late."""
    system = _system(data)
    then = system["rules"][0]["then"]
    if not then:
        return False
    data["arithmetic"] = "float64"
    grain = draw.choice((2, 8, 32))
    then[0] = ["-", ["+", then[0], grain * WHOLE], grain * WHOLE]
    found = edge_unsafe(data, draw) if draw.random() < 0.7 else True
    data["hint"] = {"missing": ("step", "barrier")}
    return found


# Continuous time.


def longer_period(data: Json, draw: Random) -> bool:
    system = _system(data)
    time = system["time"]
    time["period"] = write_number(Fraction(time["period"]) * draw.choice((2, 5, 20, 60)))
    if draw.random() < 0.5:  # otherwise the prediction is that of the period as it was
        system["next"] = predict_period(system, data["sets"][0]["period"]["order"])
    return True


def better_prediction(data: Json, draw: Random) -> bool:
    """`next` says that everything comes to rest; with it something becomes unsafe that it hides."""
    system = _system(data)
    system["next"] = [["*", "1/2", ["name", v]] for v in system["variables"]]
    return draw.choice((reached_unsafe, scaled_dynamics, pushed_dynamics))(data, draw)


def unsafe_between(data: Json, draw: Random) -> bool:
    """Unsafe is what runs reach between samples and at none."""
    if (found := _draw_extremes(data, draw)) is None:
        return False
    name, low, high, least, most = found
    if most - high > 4e-6 and draw.random() < 0.7:
        edge = high + (most - high) * Fraction(draw.randint(1, 3), 4)
        _system(data)["unsafe"] = ["<=", write_number(edge), ["name", name]]
        return True
    if low - least > 4e-6:
        edge = low - (low - least) * Fraction(draw.randint(1, 3), 4)
        _system(data)["unsafe"] = ["<=", ["name", name], write_number(edge)]
        return True
    return False


def thin_starts(data: Json, draw: Random) -> bool:
    """From few starts runs reach their extremes between samples; the edge of unsafe is put there."""
    system = _system(data)
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
    system = _system(data)
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
    system = _system(data)
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


# Targets.


def smaller_target(data: Json, draw: Random) -> bool:
    """Too small for the disturbances, or for the ranking as it is."""
    centre, factor = (
        data["about"]["centre"],
        draw.choice((Fraction(1, 4), Fraction(1, 64), Fraction(1, 2**20))),
    )
    size = data["about"]["radius"] * factor
    data["claim"]["target"] = _box_target(_system(data)["variables"], centre, size)
    return True


def moved_target(data: Json, draw: Random) -> bool:
    names, about = _system(data)["variables"], data["about"]
    size = about["radius"] * draw.choice((Fraction(1, 8), Fraction(1, 2)))
    centre = [
        c + draw.choice((1, -1)) * about["radius"] * draw.choice((Fraction(1, 2), 1, 4))
        for c in about["centre"]
    ]
    data["claim"]["target"] = _box_target(names, centre, size)
    return True


def half_target(data: Json, draw: Random) -> bool:
    """One side of a plane, which runs may leave for ever."""
    names, about = _system(data)["variables"], data["about"]
    index = draw.randrange(len(names))
    edge = about["centre"][index] + about["radius"] * draw.choice((Fraction(1, 16), Fraction(1, 2), 2))
    data["claim"]["target"] = ["<=", write_number(edge), ["name", names[index]]]
    return True


def inverted_target(data: Json, draw: Random) -> bool:
    data["claim"]["target"] = ["not", data["claim"]["target"]]
    return True


def no_target(data: Json, draw: Random) -> bool:
    one = ["name", _system(data)["variables"][0]]
    data["claim"]["target"] = draw.choice(
        (False, ["<", one, one], ["and", data["claim"]["target"], ["<", one, -9]])
    )
    return True


def round_target(data: Json, draw: Random) -> bool:
    """A condition that float64 computes for multiples of a power of two: never in the middle."""
    if data["arithmetic"] != "float64":
        return False
    names, about = _system(data)["variables"], data["about"]
    grain = Fraction(1, draw.choice((1, 2, 4)))
    big, half = write_number(grain * WHOLE), write_number(grain / 2)
    sides: list[Any] = []
    for name, centre in zip(names, about["centre"], strict=True):
        one = ["-", ["+", ["+", ["-", ["name", name], write_number(centre)], half], big], big]
        sides += [["<=", write_number(grain / 8), one], ["<=", one, write_number(grain * 7 / 8)]]
    data["claim"]["target"] = ["and", *sides]
    data["ranking"]["least"] = "1/10000"
    data["hint"] = {"missing": ("slack",)}
    return True


def stuck_by_rounding(data: Json, draw: Random) -> bool:
    """Next values are rounded so that runs stay near the centre and never come nearer to it."""
    data["arithmetic"] = "float64"
    system, about = _system(data), data["about"]
    grain = Fraction(1, draw.choice((8, 16, 32)))
    big = write_number(grain * WHOLE)
    system["next"] = [["-", ["+", t, big], big] for t in system["next"]]
    data["claim"]["target"] = _box_target(
        system["variables"], about["centre"], grain * 3 / draw.choice((4, 6))
    )
    data["ranking"]["least"] = "1/100000"
    data["hint"] = {"missing": ("drift",)}
    return True


def _box_target(names: list[str], centre: list[Fraction], size: Fraction) -> Any:
    sides: list[Any] = []
    for name, c in zip(names, centre, strict=True):
        sides += [
            ["<=", write_number(c - size), ["name", name]],
            ["<", ["name", name], write_number(c + size)],
        ]
    return ["and", *sides]


def faster_ranking(data: Json, draw: Random) -> bool:
    """It is said to fall by more than it does: so runs are said to come to the target sooner."""
    ranking = data["ranking"]
    ranking["least"] = write_number(Fraction(ranking["least"]) * draw.choice((30, 100, 1000, 10**6)))
    return True


def resting_ranking(data: Json, draw: Random) -> bool:
    """It need not fall, and nothing else moves."""
    data["ranking"]["least"] = draw.choice((0, -1, "-1/1000"))
    system = _system(data)
    system["next"] = [["name", v] for v in system["variables"]]
    return True


def other_ranking(data: Json, draw: Random) -> bool:
    """Negated, a number, of one variable, shrunk; with a system that does not come to its target."""
    ranking, one = data["ranking"], ["name", draw.choice(_system(data)["variables"])]
    old = ranking["function"]
    ranking["function"] = draw.choice(
        (["negate", old], 0, one, ["*", one, one], ["*", "1/1000", old], ["+", old, 100], ["*", -1, old, old])
    )
    return draw.choice((scaled_dynamics, pushed_dynamics, moved_target, smaller_target))(data, draw)


def standing_still(data: Json, draw: Random) -> bool:
    system = _system(data)
    index = draw.randrange(len(system["variables"]))
    system["next"][index] = ["name", system["variables"][index]]
    data["hint"] = {"first": True}
    return True


def escaping_starts(data: Json, draw: Random) -> bool:
    """A term that hardly matters in the set, and starts far outside of it, where it takes all away."""
    system = _system(data)
    for i, (v, ends) in enumerate(zip(system["variables"], system["initial"], strict=True)):
        cube = ["*", draw.choice(("1/30", "-1/30")), *[["name", v]] * 3]
        system["next"][i] = ["+", system["next"][i], cube]
        ends[draw.randrange(2)] = draw.choice((-20, 20)) if i else 20
        ends.sort(key=Fraction)
    system.pop("parts", None)
    if draw.random() < 0.5:
        small = data["sets"][0]["covers"][0]
        system["parts"] = [[list(r) for r in small], [[19, 20], *([e[0], e[0]] for e in small[1:])]]
    return True


TARGET_LIES: tuple[Lie, ...] = (
    *(smaller_target, moved_target, half_target, inverted_target, no_target, round_target),
    *(faster_ranking, faster_ranking, resting_ranking, other_ranking, other_ranking, standing_still),
    *(escaping_starts, stuck_by_rounding, stuck_by_rounding),
)
