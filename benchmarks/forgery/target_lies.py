"""What a liar changes in a claim of convergence: the target, the ranking function, and what they hide."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from benchmarks.forgery.evidence import write_number
from benchmarks.forgery.finite_systems import Json
from benchmarks.forgery.lies import WHOLE, Lie, pushed_dynamics, scaled_dynamics, system_of


def smaller_target(data: Json, draw: Random) -> bool:
    """Too small for the disturbances, or for the ranking as it is."""
    centre, factor = (
        data["about"]["centre"],
        draw.choice((Fraction(1, 4), Fraction(1, 64), Fraction(1, 2**20))),
    )
    size = data["about"]["radius"] * factor
    data["claim"]["target"] = _box_target(system_of(data)["variables"], centre, size)
    return True


def moved_target(data: Json, draw: Random) -> bool:
    names, about = system_of(data)["variables"], data["about"]
    size = about["radius"] * draw.choice((Fraction(1, 8), Fraction(1, 2)))
    centre = [
        c + draw.choice((1, -1)) * about["radius"] * draw.choice((Fraction(1, 2), 1, 4))
        for c in about["centre"]
    ]
    data["claim"]["target"] = _box_target(names, centre, size)
    return True


def half_target(data: Json, draw: Random) -> bool:
    """One side of a plane, which runs may leave for ever."""
    names, about = system_of(data)["variables"], data["about"]
    index = draw.randrange(len(names))
    edge = about["centre"][index] + about["radius"] * draw.choice((Fraction(1, 16), Fraction(1, 2), 2))
    data["claim"]["target"] = ["<=", write_number(edge), ["name", names[index]]]
    return True


def inverted_target(data: Json, draw: Random) -> bool:
    data["claim"]["target"] = ["not", data["claim"]["target"]]
    return True


def no_target(data: Json, draw: Random) -> bool:
    one = ["name", system_of(data)["variables"][0]]
    data["claim"]["target"] = draw.choice(
        (False, ["<", one, one], ["and", data["claim"]["target"], ["<", one, -9]])
    )
    return True


def round_target(data: Json, draw: Random) -> bool:
    """A condition that float64 computes for multiples of a power of two: never in the middle."""
    if data["arithmetic"] != "float64":
        return False
    names, about = system_of(data)["variables"], data["about"]
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
    system, about = system_of(data), data["about"]
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
    system = system_of(data)
    system["next"] = [["name", v] for v in system["variables"]]
    return True


def other_ranking(data: Json, draw: Random) -> bool:
    """Negated, a number, of one variable, shrunk; with a system that does not come to its target."""
    ranking, one = data["ranking"], ["name", draw.choice(system_of(data)["variables"])]
    old = ranking["function"]
    ranking["function"] = draw.choice(
        (["negate", old], 0, one, ["*", one, one], ["*", "1/1000", old], ["+", old, 100], ["*", -1, old, old])
    )
    return draw.choice((scaled_dynamics, pushed_dynamics, moved_target, smaller_target))(data, draw)


def standing_still(data: Json, draw: Random) -> bool:
    system = system_of(data)
    index = draw.randrange(len(system["variables"]))
    system["next"][index] = ["name", system["variables"][index]]
    data["hint"] = {"first": True}
    return True


def escaping_starts(data: Json, draw: Random) -> bool:
    """A term that hardly matters in the set, and starts far outside of it, where it takes all away."""
    system = system_of(data)
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
