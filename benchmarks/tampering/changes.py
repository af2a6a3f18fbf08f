"""Single changes of a certificate of closed sets: each returns whether there was something to change."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Data = dict[str, Any]
Change = Callable[[Data, random.Random], bool]


def _system(data: Data) -> Data:
    found: Data = data["claim"]["system"]
    return found


def _number(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def _moved(value: Any, rng: random.Random, plain: bool = True) -> Any:
    """Another number, near or far; in float64 mostly still a double."""
    number = Fraction(value)
    how = rng.randrange(6)
    if how == 0:
        number = -number
    elif how == 1:
        number *= Fraction(float(rng.choice((0.5, 0.9, 1.1, 2.0, 10.0))))
    elif how == 2:
        number += Fraction(rng.choice((-1, 1)), rng.choice((1, 10, 1000, 2**30)))
    elif how == 3:
        number *= 1 + Fraction(rng.choice((-1, 1)), 2 ** rng.choice((3, 10, 20, 40)))
    elif how == 4:
        number = Fraction(0)
    else:
        number *= Fraction(rng.choice((3, 5, 100)))
    return _number(Fraction(float(number)) if plain and rng.random() < 0.8 else number)


def _constants(term: Any, found: list[tuple[list[Any], int]]) -> None:
    if isinstance(term, list) and term and term[0] != "name":
        for i, part in enumerate(term[1:], start=1):
            if isinstance(part, int | str) and not isinstance(part, bool):
                found.append((term, i))
            else:
                _constants(part, found)


def _in_term(term: Any, rng: random.Random) -> bool:
    found: list[tuple[list[Any], int]] = []
    _constants(term, found)
    if not found:
        return False
    where, index = rng.choice(found)
    where[index] = _moved(where[index], rng)
    return True


def _end(box: list[list[Any]], rng: random.Random) -> bool:
    """One end of one range, outwards more often than inwards."""
    ends = rng.choice(box)
    low, high = Fraction(ends[0]), Fraction(ends[1])
    width = (high - low) or Fraction(1, 10)
    by = width * Fraction(rng.choice((1, 4, 20, 100, -10)), 100)
    side = rng.randrange(2)
    ends[side] = _number(Fraction(float(high + by if side else low - by)))
    return Fraction(ends[0]) <= Fraction(ends[1])


def dynamics(data: Data, rng: random.Random) -> bool:
    return _in_term(["+", *_system(data)["next"]], rng)


def program(data: Data, rng: random.Random) -> bool:
    return _in_term(["+", *rng.choice(_system(data)["rules"])["then"]], rng)


def barrier(data: Data, rng: random.Random) -> bool:
    return _in_term(rng.choice(_system(data)["rules"])["set"]["barrier"], rng)


def level(data: Data, rng: random.Random) -> bool:
    """A larger or smaller set: a number is added to the barrier."""
    inner = rng.choice(_system(data)["rules"])["set"]
    by = Fraction(rng.choice((-1, 1)), rng.choice((1, 10, 100, 10**6, 2**40)))
    more = _number(Fraction(float(by)))
    if _has_rows(inner):
        index = rng.randrange(1, len(inner["barrier"]))
        inner["barrier"][index] = ["+", inner["barrier"][index], more]
    else:
        inner["barrier"] = ["+", inner["barrier"], more]
    return True


def _has_rows(inner: Data) -> bool:
    return isinstance(inner["barrier"], list) and inner["barrier"][0] == "max"


def _polyhedra(data: Data) -> list[tuple[Data, Data]]:
    """Sets whose barrier has rows, with their proofs."""
    rules = [rule["set"] for rule in _system(data)["rules"]]
    return [pair for pair in zip(rules, data["sets"], strict=True) if _has_rows(pair[0])]


def dropped_row(data: Data, rng: random.Random) -> bool:
    """A half-space less: with its proofs, or with those of another one, or with none taken away."""
    inner, proof = rng.choice(_polyhedra(data))
    rows = len(inner["barrier"]) - 1
    index = rng.randrange(rows)
    del inner["barrier"][1 + index]
    if (how := rng.randrange(3)) < 2:
        index = index if how else rng.randrange(rows)
        for several in (*proof["start"], *proof["steps"]):
            del several[index]
    return rows > 1


def weights(data: Data, rng: random.Random) -> bool:
    """One multiplier changed, left out, negative, or of another constraint."""
    one = rng.choice([p for p in _proofs(data) if isinstance(p, dict) and p["weights"]])
    pair = rng.choice(one["weights"])
    value = int(pair[1], 16) if isinstance(pair[1], str) else pair[1]
    match rng.randrange(6):
        case 0:
            one["weights"].remove(pair)
        case 1:
            pair[0] += rng.choice((-1, 1, 2))
        case 2:
            pair[1] = hex(-value)
        case 3:
            one["over"] += rng.choice((-1, 1, one["over"]))
        case _:
            pair[1] = hex(rng.choice((value + 1, value * 2, value // 2, value ^ (1 << rng.randrange(60)))))
    return True


def exchanged_proofs(data: Data, rng: random.Random) -> bool:
    """The proofs of two rows in each other's place."""
    several = rng.choice(rng.choice(_polyhedra(data))[1]["steps"])
    first, second = rng.randrange(len(several)), rng.randrange(len(several))
    several[first], several[second] = several[second], several[first]
    return True


def domain(data: Data, rng: random.Random) -> bool:
    return _end(rng.choice(_system(data)["rules"])["set"]["domain"], rng)


def margin(data: Data, rng: random.Random) -> bool:
    inner = rng.choice(_system(data)["rules"])["set"]
    inner["margin"] = _moved(inner["margin"], rng)
    return True


def starts(data: Data, rng: random.Random) -> bool:
    return _end(_system(data)["initial"], rng)


def parts(data: Data, rng: random.Random) -> bool:
    system = _system(data)
    if "parts" not in system:
        system["parts"] = [[list(ends) for ends in system["initial"]]]
    if rng.random() < 0.2:
        del system["parts"]
        return True
    return _end(rng.choice(system["parts"]), rng)


def unsafe(data: Data, rng: random.Random) -> bool:
    return _in_term(_system(data)["unsafe"], rng)


def limits(data: Data, rng: random.Random) -> bool:
    control = rng.choice(_system(data)["controls"])
    side = rng.choice((1, 2))
    control[side] = (
        None if rng.random() < 0.2 else _moved(control[side], rng) if control[side] is not None else 1
    )
    return True


def disturbance(data: Data, rng: random.Random) -> bool:
    found = _system(data)["disturbances"]
    if not found:
        return False
    one = rng.choice(found)
    side = rng.choice((1, 2))
    one[side] = _moved(one[side], rng)
    return Fraction(one[1]) <= Fraction(one[2])


def permit(data: Data, rng: random.Random) -> bool:
    shield = _system(data)["shield"]
    if shield is None:
        return False
    one = rng.choice(shield)
    if rng.random() < 0.5:
        return _end(one["inside"], rng)
    one["margin"] = _moved(one["margin"], rng)
    return True


def no_shield(data: Data, rng: random.Random) -> bool:
    _system(data)["shield"] = None
    return True


def untested(data: Data, rng: random.Random) -> bool:
    inner = _system(data)["rules"][-1]["set"]
    inner["tested"], inner["margin"] = False, 0
    return True


def dropped_rule(data: Data, rng: random.Random) -> bool:
    index = rng.randrange(len(data["sets"]))
    del _system(data)["rules"][index], data["sets"][index]
    if _system(data)["shield"] is not None:
        del _system(data)["shield"][index]
    return True


def arithmetic(data: Data, rng: random.Random) -> bool:
    data["arithmetic"] = "exact" if data["arithmetic"] == "float64" else "float64"
    return True


def _proofs(data: Data) -> list[Any]:
    """All of them: lists of summands, and weights."""
    found: list[Any] = []
    for rule, one in zip(_system(data)["rules"], data["sets"], strict=True):
        starts = one["start"]
        found += [p for several in starts for p in several] if _has_rows(rule["set"]) else starts
        found += [*(u["proof"] for u in one["unsafe"]), *(p for case in one["steps"] for p in case)]
        found += [p for pair in one["saturation"] for p in pair if p is not None]
    return found


def _summands(data: Data) -> list[list[Data]]:
    return [proof for proof in _proofs(data) if isinstance(proof, list)]


def gram(data: Data, rng: random.Random) -> bool:
    row = rng.choice(rng.choice(rng.choice(_summands(data)))["gram"])
    index = rng.randrange(len(row))
    value = int(row[index], 16) if isinstance(row[index], str) else row[index]
    row[index] = hex(rng.choice((value + 1, -value, value * 2, 0, value ^ (1 << rng.randrange(60)))))
    return True


def over(data: Data, rng: random.Random) -> bool:
    rng.choice(rng.choice(_summands(data)))["over"] += rng.choice((-1, 1, 7))
    return True


def basis(data: Data, rng: random.Random) -> bool:
    monomial = rng.choice(rng.choice(rng.choice(_summands(data)))["basis"])
    monomial[rng.randrange(len(monomial))] += rng.choice((1, 2))
    return True


def constraints(data: Data, rng: random.Random) -> bool:
    summand = rng.choice(rng.choice(_summands(data)))
    summand["of"] = rng.choice(([], [0], [0, 0], [*summand["of"], 0], [1]))
    return True


def dropped_summand(data: Data, rng: random.Random) -> bool:
    proof = rng.choice(_summands(data))
    del proof[rng.randrange(len(proof))]
    return True


def dropped_proof(data: Data, rng: random.Random) -> bool:
    one = rng.choice(data["sets"])
    where = one[rng.choice(("unsafe", "steps", "start", "covers"))]
    if not where:
        return False
    del where[rng.randrange(len(where))]
    return True


def saturation(data: Data, rng: random.Random) -> bool:
    pair = rng.choice(rng.choice(data["sets"])["saturation"])
    pair[rng.randrange(2)] = rng.choice((None, []))
    return True


def rounding(data: Data, rng: random.Random) -> bool:
    margins = rng.choice(data["sets"])["margins"]
    name = rng.choice(("room", "step", "barrier"))
    if name == "step":
        index = rng.randrange(len(margins["step"]))
        margins["step"][index] = rng.choice((0, "-1/1000", _moved(margins["step"][index], rng, False)))
    else:
        margins[name] = rng.choice((0, "-1/1000", _moved(margins[name], rng, False)))
    return True


def covers(data: Data, rng: random.Random) -> bool:
    one = rng.choice(data["sets"])
    return bool(one["covers"]) and _end(rng.choice(one["covers"]), rng)


def scale(data: Data, rng: random.Random) -> bool:
    pair = rng.choice(rng.choice(data["sets"])["scale"])
    index = rng.randrange(2)
    pair[index] = _moved(pair[index], rng)
    return True


def slack(data: Data, rng: random.Random) -> bool:
    entry = rng.choice(rng.choice(data["sets"])["unsafe"])
    if not entry["slack"]:
        return False
    entry["slack"][rng.randrange(len(entry["slack"]))] = rng.choice((0, "-1/100", 1))
    return True


CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (
        *(
            dynamics,
            program,
            barrier,
            level,
            domain,
            margin,
            starts,
            parts,
            unsafe,
            limits,
            disturbance,
            permit,
        ),
        *(no_shield, untested, dropped_rule, arithmetic, gram, over, basis, constraints, dropped_summand),
        *(dropped_proof, saturation, rounding, covers, scale, slack, dropped_row, weights, exchanged_proofs),
    )
}
