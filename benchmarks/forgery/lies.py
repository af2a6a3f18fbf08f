"""What a liar changes in a claim about a polynomial system.

Each rule returns whether there was something to change; the tables show its name. Some leave a claim true.
"""

from __future__ import annotations

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


def system_of(data: Json) -> Json:
    found: Json = data["claim"]["system"]
    return found


def _motion(data: Json) -> list[Any]:
    """What the state does: derivatives, or next values."""
    system = system_of(data)
    found: list[Any] = system["time"]["derivatives"] if "time" in system else system["next"]
    return found


def _predicts(data: Json, draw: Random) -> None:
    """After a change of the differential equation a careful liar predicts it as it is now."""
    if "time" in system_of(data) and draw.random() < 0.7:
        system_of(data)["next"] = predict_period(system_of(data), data["sets"][0]["period"]["order"])


def _covers(data: Json, draw: Random) -> None:
    """After a change of the starts a careful liar says that his sets cover them, whatever their domains."""
    system, entry = system_of(data), data["sets"][0]
    if draw.random() < 0.7:
        entry["covers"] = [[list(r) for r in box] for box in system.get("parts", [system["initial"]])]
    if draw.random() < 0.7:
        for rule in system["rules"]:
            for i, ends in enumerate(rule["set"]["domain"]):
                lows, highs = zip(*(box[i] for box in (*entry["covers"], system["initial"])), strict=True)
                ends[0] = write_number(min(map(Fraction, (ends[0], *lows))))
                ends[1] = write_number(max(map(Fraction, (ends[1], *highs))))


def wider_starts(data: Json, draw: Random) -> bool:
    system = system_of(data)
    factor = draw.choice((Fraction(5, 4), 2, 4))
    for box in (system["initial"], *system.get("parts", [])):
        for ends in box:
            middle, half = _middle(ends)
            ends[:] = [write_number(middle - factor * half), write_number(middle + factor * half)]
    _covers(data, draw)
    return True


def moved_starts(data: Json, draw: Random) -> bool:
    system = system_of(data)
    system.pop("parts", None)
    ends = draw.choice(system["initial"])
    _, half = _middle(ends)
    by = half * draw.choice((Fraction(1, 2), 1, 3)) * draw.choice((1, -1))
    ends[:] = [write_number(Fraction(e) + by) for e in ends]
    _covers(data, draw)
    return True


def added_part(data: Json, draw: Random) -> bool:
    """A box of starts further away, in a larger initial box."""
    system = system_of(data)
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
    one = ["name", draw.choice(system_of(data)["variables"])]
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
    found = system_of(data)["disturbances"]
    if not found:
        return False
    factor = draw.choice((2, 5, 20, 100))
    side = draw.choice((1, 2))
    found[0][side] = write_number(Fraction(found[0][side]) * factor)
    if draw.random() < 0.5:
        found[0][3 - side] = write_number(Fraction(found[0][3 - side]) * factor)
    return True


def added_disturbance(data: Json, draw: Random) -> bool:
    system = system_of(data)
    if system["disturbances"]:
        return False
    size = draw.choice(("1/10", "1/2", 1))
    system["disturbances"] = [["d", f"-{size}", size]]
    motion = _motion(data)
    index = draw.randrange(len(motion))
    motion[index] = ["+", motion[index], ["name", "d"]]
    if "time" in system:
        system_of(data)["next"] = predict_period(system, data["sets"][0]["period"]["order"])
    for entry in data["sets"]:
        entry["scale"] = [*entry["scale"], [0, 1]]
    return True


def other_program(data: Json, draw: Random) -> bool:
    rule = draw.choice(system_of(data)["rules"])
    if not rule["then"]:
        return False
    rule["then"] = [["*", draw.choice(("-1", 0, 3, "1/4", 10)), t] for t in rule["then"]]
    return True


def narrower_limits(data: Json, draw: Random) -> bool:
    controls = system_of(data)["controls"]
    if not controls:
        return False
    factor = draw.choice((Fraction(1, 2), Fraction(1, 8), Fraction(1, 100)))
    controls[0][1:] = [write_number(Fraction(e) * factor) for e in controls[0][1:]]
    data["hint"] = {"within": True}
    return True


def exchanged_rules(data: Json, draw: Random) -> bool:
    """Sets with the program of the other one."""
    rules = system_of(data)["rules"]
    if len(rules) < 2:
        return False
    rules[0]["then"], rules[1]["then"] = rules[1]["then"], rules[0]["then"]
    return True


def untested_rule(data: Json, draw: Random) -> bool:
    inner = system_of(data)["rules"][-1]["set"]
    if not inner["tested"] or system_of(data)["shield"] is not None:
        return False
    inner |= {"tested": False, "margin": 0}
    return True


def draw_extremes(data: Json, draw: Random) -> tuple[str, Fraction, Fraction, Fraction, Fraction] | None:
    """Of one variable: the least and greatest values that runs have at samples, then at all times."""
    flow = "time" in system_of(data)
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
    if (found := draw_extremes(data, draw)) is None:
        return False
    name, _, _, low, high = found
    by = Fraction(draw.choice((1e-5, 1e-3, 0.05))) * max(abs(low), abs(high), 1)
    if draw.random() < 0.5:
        term: Any = ["<=", write_number(_short(high - by)), ["name", name]]
    else:
        term = ["<", ["name", name], write_number(_short(low + by))]
    old = system_of(data)["unsafe"]
    if draw.random() < 0.3:
        system_of(data)["unsafe"], data["hint"] = ["or", old, term], {"first": True}
    else:
        system_of(data)["unsafe"] = draw.choice((term, ["or", term, old], ["not", ["not", term]]))
    return True


def _short(value: Fraction) -> Fraction:
    return Fraction(round(value * 2**30), 2**30)


def nearer_unsafe(data: Json, draw: Random) -> bool:
    """A half space with an edge in the middle of the starts or not far from them."""
    system = system_of(data)
    index = draw.randrange(len(system["variables"]))
    middle, half = _middle(system.get("parts", [system["initial"]])[0][index])
    edge = write_number(middle + half * draw.choice((Fraction(1, 2), Fraction(9, 10), Fraction(11, 10))))
    term = ["<=", edge, ["name", system["variables"][index]]]
    system["unsafe"] = ["or", system["unsafe"], term] if draw.random() < 0.5 else term
    return True


def band_unsafe(data: Json, draw: Random) -> bool:
    """A narrow band that runs come into or go through, away from the edge of the set."""
    if (found := draw_extremes(data, draw)) is None:
        return False
    name, _, _, low, high = found
    at, width = low + (high - low) * Fraction(draw.randint(1, 9), 10), (high - low) / draw.choice((10, 50))
    one = ["name", name]
    sides = [["<=", write_number(_short(at)), one], ["<=", one, write_number(_short(at + width))]]
    system_of(data)["unsafe"] = ["and", *sides]
    return True


def inverted_unsafe(data: Json, draw: Random) -> bool:
    system_of(data)["unsafe"] = ["not", system_of(data)["unsafe"]]
    return True


def round_dynamics(data: Json, draw: Random) -> bool:
    """The same polynomial, but float64 rounds it to whole numbers (or quarters)."""
    if data["arithmetic"] != "float64":
        return False
    system, big = system_of(data), WHOLE // draw.choice((1, 4, 16))
    terms = system["next"] if "time" not in system else draw.choice(system["rules"])["then"]
    if not terms:
        return False
    index = draw.randrange(len(terms))
    terms[index] = ["-", ["+", terms[index], big], big]
    return True


def round_unsafe(data: Json, draw: Random) -> bool:
    """A condition that float64 computes for whole numbers only: what is near its edge is rounded onto it."""
    system = system_of(data)
    if data["arithmetic"] != "float64" or "time" in system:
        return False
    if (found := draw_extremes(data, draw)) is None:
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
    system = system_of(data)
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
    system = system_of(data)
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
    system = system_of(data)
    index = draw.randrange(len(system["variables"]))
    high, grain = Fraction(system["rules"][0]["set"]["domain"][index][1]), Fraction(1, draw.choice((2, 4, 8)))
    big, edge = write_number(grain * WHOLE), (high // grain + 1) * grain
    data["arithmetic"] = "float64"
    rounded = ["-", ["+", ["name", system["variables"][index]], big], big]
    system["unsafe"] = ["<=", write_number(edge), rounded]
    data["hint"] = {"missing": ("slack",)}
    return True


ROUNDING_LIES: tuple[Lie, ...] = (round_outwards, round_onto_unsafe) * 2
