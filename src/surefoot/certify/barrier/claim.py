"""A problem with a program as a polynomial system written out (docs/certificates.md, section 12)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot.certify.runs.term_json import end_to_json, exact_to_json, term_to_json
from surefoot.errors import Unsupported
from surefoot.problem.policy import Policy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import (
    ControlSystem,
    control_branches,
    inside_set,
    next_state_inside,
    read_control_system,
)
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var
from surefoot.term.types import TRUTHS
from surefoot.verdict.verdict import Certificate

_OPERATORS = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MAX, *TRUTHS})


def build_barrier_certificate(problem: Problem, content: Mapping[str, Any]) -> Certificate:
    """The certificate for the sets that an engine found; `Unsupported` where the problem does not fit.

    With `parts` of the starts it is about runs from them, and not about the whole problem.
    """
    system, sets, permits = read_control_system(problem), content["sets"], content.get("permits")
    program = _program_policy(problem)
    rules = control_branches(program)
    if len(sets) != len(rules):
        raise Unsupported("there is not one set for each rule of the program")
    for entry, rule in zip(sets, rules, strict=True):
        test = inside_set(system, entry["domain"], entry["barrier"], entry["margin"])
        if rule.when != (test if entry["tested"] else TRUE):
            raise Unsupported("the program tests something else than its sets")
    if isinstance(problem.policy, ShieldedPolicy):
        if permits is None:
            raise Unsupported("the sets come without what the shield permits")
        boxes = [(p["inside"], p["margin"]) for p in permits]
        if problem.policy.permits != next_state_inside(system, [s["barrier"] for s in sets], boxes):
            raise Unsupported("the shield permits something else than what leads into its sets")
    shown = permits if isinstance(problem.policy, ShieldedPolicy) else None
    described = _system_to_json(system, [r.then for r in rules], sets, shown)
    parts = {"parts": _intersect_starts(content["parts"], system)} if "parts" in content else {}
    return Certificate(
        "barrier",
        {
            "surefoot-certificate": 1,
            "claim": {"kind": "barrier", "system": described | parts},
            "arithmetic": "float64" if system.rounded else "exact",
            "sets": [entry["proof"] for entry in sets],
        },
    )


def _intersect_starts(
    boxes: Sequence[Sequence[Sequence[int | str]]], system: ControlSystem
) -> list[list[list[int | str]]]:
    """The starts in these boxes; sets that runs come to on their way are shown to contain other states."""
    found = []
    for box in boxes:
        pairs = zip(_box_from_json(box), system.initial, strict=True)
        both = [(max(low, a), min(high, b)) for (low, high), (a, b) in pairs]
        if all(low <= high for low, high in both):
            found.append(_box_to_json(both))
    return found


def _program_policy(problem: Problem) -> Policy | None:
    return problem.policy.fallback if isinstance(problem.policy, ShieldedPolicy) else problem.policy


def matches_barrier_claim(content: Mapping[str, Any], problem: Problem) -> bool:
    """Is this a certificate about exactly this problem? Sets that no rule tests are part of the proof."""
    try:
        system, rules = read_control_system(problem), control_branches(_program_policy(problem))
        claimed = content["claim"]["system"]
        sets = [_read_set(entry["set"]) for entry in claimed["rules"]]
        for entry, rule in zip(sets, rules, strict=True):
            test = inside_set(system, entry["domain"], entry["barrier"], entry["margin"])
            if polynomial_to_json(rule.when) != (polynomial_to_json(test) if entry["tested"] else True):
                return False
        permits = None
        if isinstance(problem.policy, ShieldedPolicy):
            boxes = [(_box_from_json(p["inside"]), Fraction(p["margin"])) for p in claimed["shield"]]
            permits = [{"inside": inside, "margin": margin} for inside, margin in boxes]
            asked = next_state_inside(system, [s["barrier"] for s in sets], boxes)
            if polynomial_to_json(problem.policy.permits) != polynomial_to_json(asked):
                return False
        wanted = _system_to_json(system, [r.then for r in rules], sets, permits)
        same = content["arithmetic"] == ("float64" if system.rounded else "exact")
        return bool(same and json.loads(json.dumps(wanted)) == claimed)
    except (Unsupported, TypeError, KeyError, ValueError, IndexError):
        return False


def read_claimed_rules(content: Mapping[str, Any]) -> list[tuple[tuple[Term, ...], dict[str, Any]]]:
    """What a certificate says of its rules: controls and sets. `ValueError`: it cannot be read."""
    try:
        rules = content["claim"]["system"]["rules"]
        return [(tuple(map(_term_from_json, rule["then"])), _read_set(rule["set"])) for rule in rules]
    except (TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, RecursionError) as error:
        raise ValueError(f"not a certificate of closed sets: {error}") from None


def _read_set(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A set of a claim, as an engine has it."""
    return {
        "domain": _box_from_json(entry["domain"]),
        "barrier": _term_from_json(entry["barrier"]),
        "tested": entry["tested"],
        "margin": Fraction(entry["margin"]),
    }


def read_claimed_sets(
    content: Mapping[str, Any],
) -> tuple[tuple[tuple[tuple[Fraction, Fraction], ...], Term, tuple[Term, ...]], ...]:
    """Of every rule of a certificate: the domain of its set, the barrier, and the controls."""
    return tuple(
        (
            _box_from_json(rule["set"]["domain"]),
            _term_from_json(rule["set"]["barrier"]),
            tuple(map(_term_from_json, rule["then"])),
        )
        for rule in content["claim"]["system"]["rules"]
    )


def _box_from_json(box: Sequence[Sequence[int | str]]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(low), Fraction(high)) for low, high in box)


def _term_from_json(data: Any) -> Term:
    """A polynomial that `polynomial_to_json` wrote."""
    if not isinstance(data, list):
        return Const(Fraction(data))
    if data[0] == "name":
        return Var(data[1])
    return Apply(Op(data[0]), tuple(map(_term_from_json, data[1:])))


def _system_to_json(
    system: ControlSystem,
    then: Sequence[tuple[Term, ...]],
    sets: Sequence[Mapping[str, Any]],
    permits: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    time = {}
    if (motion := system.motion) is not None:
        rates = [polynomial_to_json(t) for t in motion.derivatives]
        time = {"time": {"derivatives": rates, "period": exact_to_json(motion.period)}}
    return time | {
        "name": system.name,
        "variables": list(system.variables),
        "initial": _box_to_json(system.initial),
        "controls": [[name, end_to_json(low), end_to_json(high)] for name, low, high in system.controls],
        "disturbances": [
            [name, exact_to_json(low), exact_to_json(high)] for name, (low, high) in system.disturbances
        ],
        "next": [polynomial_to_json(t) for t in system.next],
        "unsafe": polynomial_to_json(system.unsafe),
        "rules": [
            {
                "set": {
                    "domain": _box_to_json(entry["domain"]),
                    "barrier": polynomial_to_json(entry["barrier"]),
                    "tested": entry["tested"],
                    "margin": exact_to_json(entry["margin"]),
                },
                "then": [polynomial_to_json(t) for t in values],
            }
            for values, entry in zip(then, sets, strict=True)
        ],
        "shield": None if permits is None else [_permit_to_json(p) for p in permits],
    }


def _permit_to_json(permit: Mapping[str, Any]) -> dict[str, Any]:
    return {"inside": _box_to_json(permit["inside"]), "margin": exact_to_json(permit["margin"])}


def _box_to_json(box: Sequence[tuple[Fraction, Fraction]]) -> list[list[int | str]]:
    return [[exact_to_json(low), exact_to_json(high)] for low, high in box]


def polynomial_to_json(term: Term) -> Any:
    """A term of polynomials and comparisons; powers are products, as they are computed."""
    return term_to_json(term, _OPERATORS, "is not a polynomial", powers=True)
