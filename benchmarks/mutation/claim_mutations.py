"""Ways to change what a certificate claims, the proof adapted where that is easy; it may become false."""

from __future__ import annotations

import json
import random
from base64 import b64decode, b64encode
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.mutation.claims import outputs_at, read_claim
from benchmarks.mutation.proof_mutations import Certificate, Mutation


def move_bound(certificate: Certificate, source: random.Random) -> str | None:
    free = [v for v in certificate["claim"]["variables"] if v[1] is not None]
    variable, side = source.choice(free), source.choice([1, 2])
    size = Fraction(variable[2]) - Fraction(variable[1]) or Fraction(1)
    by = size * source.choice(
        [Fraction(1, 10**9), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(3)]
    )
    outward = source.random() < 0.8
    variable[side] = str(Fraction(variable[side]) + (by if (side == 2) is outward else -by))
    return f"a bound moved {'outward' if outward else 'inward'}"


def no_bound(certificate: Certificate, source: random.Random) -> str | None:
    variable = source.choice(certificate["claim"]["variables"])
    variable[source.choice([1, 2])] = None
    return "a bound taken away"


def change_kind(certificate: Certificate, source: random.Random) -> str | None:
    variable = source.choice(certificate["claim"]["variables"])
    variable[3] = source.choice([k for k in ("real", "float32", "integer") if k != variable[3]])
    return f"a variable is now {variable[3]}"


def reorder_variables(certificate: Certificate, source: random.Random) -> str | None:
    source.shuffle(certificate["claim"]["variables"])
    return "variables in another order"


def change_weight(certificate: Certificate, source: random.Random) -> str | None:
    nodes = [n for net in certificate["claim"]["networks"] for n in net.get("nodes", [])]
    nodes = [n for n in nodes if n[0] in ("affine", "add", "multiply", "divide")]
    if not nodes:
        return None
    node = source.choice(nodes)
    place = source.choice([4, 5]) if node[0] == "affine" else 2
    numbers = np.frombuffer(b64decode(node[place]), "<f4").copy()
    if not len(numbers):
        return None
    entry = source.randrange(len(numbers))
    change = source.choice(["up", "down", "negated", "zero", "last bit", "huge", "infinite"])
    with np.errstate(all="ignore"):
        numbers[entry] = {
            "up": numbers[entry] + np.float32(0.5),
            "down": numbers[entry] - np.float32(0.5),
            "negated": -numbers[entry],
            "zero": np.float32(0),
            "last bit": np.nextafter(numbers[entry], np.float32(9), dtype=np.float32),
            "huge": numbers[entry] * np.float32(1e6),
            "infinite": np.float32(np.inf),
        }[change]
    node[place] = b64encode(numbers.tobytes()).decode()
    return f"a weight changed ({change})"


def change_node(certificate: Certificate, source: random.Random) -> str | None:
    node = source.choice(source.choice(certificate["claim"]["networks"])["nodes"])
    if node[0] in ("relu", "tanh", "sigmoid"):
        node[0] = source.choice([k for k in ("relu", "tanh", "sigmoid") if k != node[0]])
    elif node[0] in ("sum", "product", "maximum", "quotient"):
        node[0] = source.choice([k for k in ("sum", "product", "maximum", "quotient") if k != node[0]])
    elif node[0] in ("add", "multiply", "divide"):
        node[0] = source.choice([k for k in ("add", "multiply", "divide") if k != node[0]])
    elif node[0] == "pick":
        source.shuffle(node[2])
    elif node[0] in ("leaky_relu", "clip"):
        place = source.randrange(2, len(node))
        node[place] = (float.fromhex(node[place]) + source.choice([-0.5, 0.25])).hex()
    elif isinstance(node[1], int):
        node[1] = max(0, node[1] + source.choice([-1, 1]))
    return f"a node changed ({node[0]})"


def _comparisons(formula: list[Any]) -> list[list[Any]]:
    if formula[0] in ("and", "or"):
        return [c for part in formula[1:] for c in _comparisons(part)]
    return [formula]


def _same_in_proof(certificate: Certificate, before: list[Any], after: list[Any]) -> None:
    """Change the same comparison among the atoms of the proof, so that it still fits."""
    for case in certificate["cases"]:
        for atom in case["atoms"]:
            if atom[0] == before[0] and _direction(atom) == _direction(before):
                atom[:] = json.loads(json.dumps(after))


def _direction(comparison: list[Any]) -> dict[str, Fraction]:
    """The linear form up to a positive factor."""
    form = {name: Fraction(c) for name, c in comparison[1].items()}
    size = max((abs(c) for name, c in form.items() if name), default=Fraction(0)) or Fraction(1)
    return {name: c / size for name, c in form.items() if c}


def move_threshold(certificate: Certificate, source: random.Random) -> str | None:
    """A number of the property, in claim and proof alike."""
    comparison = source.choice(_comparisons(certificate["claim"]["formula"]))
    before = json.loads(json.dumps(comparison))
    name = source.choice(["", source.choice(list(comparison[1]))])
    by = source.choice([Fraction(1, 10**9), Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(10)])
    comparison[1][name] = str(Fraction(comparison[1].get(name, 0)) + by * source.choice([-1, -1, 1]))
    _same_in_proof(certificate, before, comparison)
    return "a number of the property changed, in claim and proof"


def meet_a_point(certificate: Certificate, source: random.Random) -> str | None:
    """Thresholds of one alternative moved to where some point meets them, in claim and proof alike."""
    claim = read_claim(certificate["claim"], certificate["arithmetic"])
    chooser = np.random.default_rng(source.getrandbits(32))
    points = {}
    for name, low, high, kind in claim.free:
        if low is None or high is None:
            return None
        column = float(low) + chooser.random(16) * float(high - low)
        points[name] = np.round(column) if kind == "integer" else column.astype(np.float32).astype(np.float64)
    made = outputs_at(claim, points)
    place = source.randrange(16)
    slack = Fraction(source.choice([1, 1000]), 10**6)
    waiting, moved = [certificate["claim"]["formula"]], 0
    while waiting:
        formula = waiting.pop()
        if formula[0] == "and":
            waiting += formula[1:]
        elif formula[0] == "or":
            waiting += [source.choice(formula[1:])] if len(formula) > 1 else []
        elif formula[0] != "=":
            terms = [Fraction(c) * (Fraction(made[n][place]) if n else 1) for n, c in formula[1].items()]
            if (value := sum(terms, Fraction(0))) > -slack:
                before = json.loads(json.dumps(formula))
                formula[1][""] = str(Fraction(formula[1].get("", 0)) - value - slack)
                _same_in_proof(certificate, before, formula)
                moved += 1
    return "thresholds moved to where a point meets them" if moved else None


def change_relation(certificate: Certificate, source: random.Random) -> str | None:
    comparison = source.choice(_comparisons(certificate["claim"]["formula"]))
    before = json.loads(json.dumps(comparison))
    comparison[0] = source.choice([r for r in ("<=", "<", "=") if r != comparison[0]])
    if source.random() < 0.5:
        _same_in_proof(certificate, before, comparison)
    return "a comparison of the property changed"


def flip_comparison(certificate: Certificate, source: random.Random) -> str | None:
    comparison = source.choice(_comparisons(certificate["claim"]["formula"]))
    before = json.loads(json.dumps(comparison))
    comparison[1] = {n: str(-Fraction(c)) for n, c in comparison[1].items()}
    if source.random() < 0.5:
        _same_in_proof(certificate, before, comparison)
    return "a comparison of the property turned around"


def change_formula(certificate: Certificate, source: random.Random) -> str | None:
    """`and` for `or`, a part left out, or one more alternative."""
    formula = certificate["claim"]["formula"]
    inner = (
        [formula, *(p for p in formula[1:] if p[0] in ("and", "or"))] if formula[0] in ("and", "or") else []
    )
    if not inner:
        return None
    chosen = source.choice(inner)
    match source.randrange(3):
        case 0:
            chosen[0] = "or" if chosen[0] == "and" else "and"
            return "and and or exchanged"
        case 1 if len(chosen) > 1:
            part = chosen.pop(source.randrange(1, len(chosen)))
            return f"a part of an `{chosen[0]}` left out ({part[0]})"
        case _:
            name = source.choice(certificate["claim"]["variables"])[0]
            chosen.append(["<=", {name: source.choice(["1", "-1"]), "": source.choice(["-2", "0", "1/2"])}])
            return f"a part added to an `{chosen[0]}`"


def change_call(certificate: Certificate, source: random.Random) -> str | None:
    call = source.choice(certificate["claim"]["calls"])
    match source.randrange(3):
        case 0:
            source.shuffle(call[1])
        case 1:
            source.shuffle(call[2])
        case _:
            form = source.choice(call[1])
            form[""] = str(Fraction(form.get("", 0)) + Fraction(1, 4))
    return "a call changed"


def change_arithmetic(certificate: Certificate, _: random.Random) -> str | None:
    certificate["arithmetic"] = "real" if certificate["arithmetic"] == "float32" else "float32"
    return f"arithmetic is now {certificate['arithmetic']}"


CLAIM: tuple[Mutation, ...] = (
    move_bound,
    no_bound,
    change_kind,
    reorder_variables,
    change_weight,
    change_node,
    move_threshold,
    meet_a_point,
    meet_a_point,
    meet_a_point,
    change_relation,
    flip_comparison,
    change_formula,
    change_call,
    change_arithmetic,
)
