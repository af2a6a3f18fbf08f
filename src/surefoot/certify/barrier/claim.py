"""A problem with a program as a polynomial system written out (docs/certificates.md, section 12)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot.certify.term_json import POLYNOMIAL, end_to_json, exact_to_json, polynomial_to_json
from surefoot.errors import Unsupported
from surefoot.problem.policy import Policy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import (
    ControlBranch,
    ControlSystem,
    control_branches,
    inside_set,
    next_state_inside,
    read_control_system,
)
from surefoot.term.term import TRUE, Apply, Const, Term, Var
from surefoot.verdict.verdict import Certificate
from surefoot_checker.kernel.format_1 import translate_certificate
from surefoot_checker.kernel.strict_json import BadCertificate


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
    shown = None
    if permits is not None and isinstance(problem.policy, ShieldedPolicy):
        shown = [{**p, "barrier": entry["barrier"]} for p, entry in zip(permits, sets, strict=True)]
    described = _system_to_json(system, rules, shown)
    parts = {"parts": _intersect_starts(content["parts"], system)} if "parts" in content else {}
    return Certificate(
        "barrier",
        {
            "surefoot-certificate": 2,
            "claim": {"kind": "barrier", "problem": described, **parts},
            "arithmetic": "float64" if system.rounded else "exact",
            "sets": [{"set": _set_to_json(entry, "domain"), **entry["proof"]} for entry in sets],
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
    """Is this a certificate about exactly this problem? The sets are part of the proof."""
    try:
        system, rules = read_control_system(problem), control_branches(_program_policy(problem))
        content = translate_old_format(content)
        claimed, permits = content["claim"]["problem"], None
        if isinstance(problem.policy, ShieldedPolicy):
            permits = [_set_from_json(p, "inside") for p in claimed["policy"]["shield"]]
            boxes = [(p["inside"], p["margin"]) for p in permits]
            asked = next_state_inside(system, [p["barrier"] for p in permits], boxes)
            if polynomial_to_json(problem.policy.permits) != polynomial_to_json(asked):
                return False
        wanted = json.loads(json.dumps(_system_to_json(system, rules, permits)))
        same = content["arithmetic"] == ("float64" if system.rounded else "exact")
        return bool(same and wanted == claimed and "parts" not in content["claim"])
    except (Unsupported, BadCertificate, TypeError, KeyError, ValueError, IndexError):
        return False


def translate_old_format(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The certificate in the format that is written today."""
    return translate_certificate(content) if content["surefoot-certificate"] == 1 else content


def read_claimed_rules(content: Mapping[str, Any]) -> list[tuple[tuple[Term, ...], dict[str, Any]]]:
    """What a certificate says of its rules: controls and sets. `ValueError`: it cannot be read."""
    try:
        content = translate_old_format(content)
        sets = zip(content["claim"]["problem"]["policy"]["rules"], content["sets"], strict=True)
        return [
            (tuple(map(_term_from_json, rule["then"])), _set_from_json(proof["set"], "domain"))
            for rule, proof in sets
        ]
    except (TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, RecursionError) as error:
        raise ValueError(f"not a certificate of closed sets: {error}") from None
    except BadCertificate as error:
        raise ValueError(f"not a certificate of closed sets: {error}") from None


def _set_from_json(entry: Mapping[str, Any], box: str) -> dict[str, Any]:
    """A set of a proof, or what a shield permits, as an engine has it; `box`: the name of its box."""
    return {
        box: _box_from_json(entry[box]),
        "barrier": _term_from_json(entry["barrier"]),
        "margin": Fraction(entry["margin"]),
    }


def read_claimed_sets(
    content: Mapping[str, Any],
) -> tuple[tuple[tuple[tuple[Fraction, Fraction], ...], Term, tuple[Term, ...]], ...]:
    """Of every rule of a certificate: the domain of its set, the barrier, and the controls."""
    return tuple((entry["domain"], entry["barrier"], then) for then, entry in read_claimed_rules(content))


def _box_from_json(box: Sequence[Sequence[int | str]]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(low), Fraction(high)) for low, high in box)


def _term_from_json(data: Any) -> Term:
    """A polynomial that `polynomial_to_json` wrote."""
    if not isinstance(data, list):
        return Const(Fraction(data))
    if data[0] == "name":
        return Var(data[1])
    return Apply({op.value: op for op in POLYNOMIAL}[data[0]], tuple(map(_term_from_json, data[1:])))


def _system_to_json(
    system: ControlSystem, rules: Sequence[ControlBranch], permits: Sequence[Mapping[str, Any]] | None
) -> dict[str, Any]:
    """The canonical problem: one edge, which is always enabled and assigns all variables."""
    time, names = {}, [["name", name] for name in system.variables]
    if (motion := system.motion) is not None:
        rates = [polynomial_to_json(t) for t in motion.derivatives]
        time = {"time": {"derivatives": rates, "period": exact_to_json(motion.period)}}
    shield = {} if permits is None else {"shield": [_set_to_json(p, "inside") for p in permits]}
    edge = {
        "source": "",
        "action": None,
        "guard": True,
        "chosen": [
            [name, ["real", exact_to_json(low), exact_to_json(high)]]
            for name, (low, high) in system.disturbances
        ],
        "assuming": True,
        "outcomes": [
            {
                "probability": 1,
                "updates": [
                    [name, polynomial_to_json(t), 0] for name, t in zip(names, system.next, strict=True)
                ],
                "rewards": [],
                "target": "",
            }
        ],
    }
    return time | {
        "name": system.name,
        "variables": [[name, ["real", None, None]] for name in system.variables],
        "initial": [
            "and",
            *(
                side
                for name, (low, high) in zip(names, _box_to_json(system.initial), strict=True)
                for side in (["<=", low, name], ["<=", name, high])
            ),
        ],
        "controls": [
            [name, end_to_json(low), end_to_json(high), True] for name, low, high in system.controls
        ],
        "components": [{"name": "", "locations": [""], "initial": [""], "edges": [edge]}],
        "synchronisations": [],
        "policy": {
            "rules": [
                {
                    "when": polynomial_to_json(rule.when),
                    "then": [polynomial_to_json(t) for t in rule.then],
                }
                for rule in rules
            ],
            "network": None,
            "observe": [],
            "choose": "value",
            "actions": [],
            "owns": [],
            **shield,
        },
        "property": {"kind": "never", "condition": polynomial_to_json(system.unsafe)},
    }


def _set_to_json(entry: Mapping[str, Any], box: str) -> dict[str, Any]:
    return {
        box: _box_to_json(entry[box]),
        "barrier": polynomial_to_json(entry["barrier"]),
        "margin": exact_to_json(entry["margin"]),
    }


def _box_to_json(box: Sequence[tuple[Fraction, Fraction]]) -> list[list[int | str]]:
    return [[exact_to_json(low), exact_to_json(high)] for low, high in box]
