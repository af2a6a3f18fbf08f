"""A problem with a program as a polynomial system written out (docs/certificates.md, section 12)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot.certify.execution.terms import end, exact
from surefoot.encode.barrier import System, inside_set, permitted, rules_of, system_of
from surefoot.errors import Unsupported
from surefoot.problem.policy import Policy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.show import show
from surefoot.problem.term import TRUE, Apply, Const, Op, Term, Var
from surefoot.verdict.verdict import Certificate

_OPERATORS = {
    op: op.value
    for op in (
        Op.ADD,
        Op.SUB,
        Op.NEG,
        Op.MUL,
        Op.DIV,
        Op.MAX,
        Op.LT,
        Op.LE,
        Op.EQ,
        Op.NOT,
        Op.AND,
        Op.OR,
        Op.IMPLIES,
    )
}


def about_sets(problem: Problem, content: Mapping[str, Any]) -> Certificate:
    """The certificate for the sets that an engine found; `Unsupported` where the problem does not fit.

    With `parts` of the starts it is about runs from them, and not about the whole problem.
    """
    system, sets, permits = system_of(problem), content["sets"], content.get("permits")
    program = _program(problem)
    rules = rules_of(program)
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
        if problem.policy.permits != permitted(system, [s["barrier"] for s in sets], boxes):
            raise Unsupported("the shield permits something else than what leads into its sets")
    shown = permits if isinstance(problem.policy, ShieldedPolicy) else None
    described = _system(system, [r.then for r in rules], sets, shown)
    parts = {"parts": _starting(content["parts"], system)} if "parts" in content else {}
    return Certificate(
        "barrier",
        {
            "surefoot-certificate": 1,
            "claim": {"kind": "barrier", "system": described | parts},
            "arithmetic": "float64" if system.rounded else "exact",
            "sets": [entry["proof"] for entry in sets],
        },
    )


def _starting(boxes: Sequence[Sequence[Sequence[int | str]]], system: System) -> list[list[list[int | str]]]:
    """The starts in these boxes; sets that runs come to on their way are shown to contain other states."""
    found = []
    for box in boxes:
        pairs = zip(_ranges(box), system.initial, strict=True)
        both = [(max(low, a), min(high, b)) for (low, high), (a, b) in pairs]
        if all(low <= high for low, high in both):
            found.append(_box(both))
    return found


def _program(problem: Problem) -> Policy | None:
    return problem.policy.fallback if isinstance(problem.policy, ShieldedPolicy) else problem.policy


def is_about_sets(content: Mapping[str, Any], problem: Problem) -> bool:
    """Is this a certificate about exactly this problem? Sets that no rule tests are part of the proof."""
    try:
        system, rules = system_of(problem), rules_of(_program(problem))
        claimed = content["claim"]["system"]
        sets = [_read(entry["set"]) for entry in claimed["rules"]]
        for entry, rule in zip(sets, rules, strict=True):
            test = inside_set(system, entry["domain"], entry["barrier"], entry["margin"])
            if written(rule.when) != (written(test) if entry["tested"] else True):
                return False
        permits = None
        if isinstance(problem.policy, ShieldedPolicy):
            boxes = [(_ranges(p["inside"]), Fraction(p["margin"])) for p in claimed["shield"]]
            permits = [{"inside": inside, "margin": margin} for inside, margin in boxes]
            asked = permitted(system, [s["barrier"] for s in sets], boxes)
            if written(problem.policy.permits) != written(asked):
                return False
        wanted = _system(system, [r.then for r in rules], sets, permits)
        same = content["arithmetic"] == ("float64" if system.rounded else "exact")
        return bool(same and json.loads(json.dumps(wanted)) == claimed)
    except (Unsupported, TypeError, KeyError, ValueError, IndexError):
        return False


def rules_claimed(content: Mapping[str, Any]) -> list[tuple[tuple[Term, ...], dict[str, Any]]]:
    """What a certificate says of its rules: controls and sets. `ValueError`: it cannot be read."""
    try:
        rules = content["claim"]["system"]["rules"]
        return [(tuple(map(_term, rule["then"])), _read(rule["set"])) for rule in rules]
    except (TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, RecursionError) as error:
        raise ValueError(f"not a certificate of closed sets: {error}") from None


def _read(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A set of a claim, as an engine has it."""
    return {
        "domain": _ranges(entry["domain"]),
        "barrier": _term(entry["barrier"]),
        "tested": entry["tested"],
        "margin": Fraction(entry["margin"]),
    }


def sets_of(
    content: Mapping[str, Any],
) -> tuple[tuple[tuple[tuple[Fraction, Fraction], ...], Term, tuple[Term, ...]], ...]:
    """Of every rule of a certificate: the domain of its set, the barrier, and the controls."""
    return tuple(
        (_ranges(rule["set"]["domain"]), _term(rule["set"]["barrier"]), tuple(map(_term, rule["then"])))
        for rule in content["claim"]["system"]["rules"]
    )


def _ranges(box: Sequence[Sequence[int | str]]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(low), Fraction(high)) for low, high in box)


def _term(data: Any) -> Term:
    """A polynomial that `written` wrote."""
    if not isinstance(data, list):
        return Const(Fraction(data))
    if data[0] == "name":
        return Var(data[1])
    return Apply({text: op for op, text in _OPERATORS.items()}[data[0]], tuple(map(_term, data[1:])))


def _system(
    system: System,
    then: Sequence[tuple[Term, ...]],
    sets: Sequence[Mapping[str, Any]],
    permits: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    time = {}
    if (motion := system.motion) is not None:
        rates = [written(t) for t in motion.derivatives]
        time = {"time": {"derivatives": rates, "period": exact(motion.period)}}
    return time | {
        "name": system.name,
        "variables": list(system.variables),
        "initial": _box(system.initial),
        "controls": [[name, end(low), end(high)] for name, low, high in system.controls],
        "disturbances": [[name, exact(low), exact(high)] for name, (low, high) in system.disturbances],
        "next": [written(t) for t in system.next],
        "unsafe": written(system.unsafe),
        "rules": [
            {
                "set": {
                    "domain": _box(entry["domain"]),
                    "barrier": written(entry["barrier"]),
                    "tested": entry["tested"],
                    "margin": exact(entry["margin"]),
                },
                "then": [written(t) for t in values],
            }
            for values, entry in zip(then, sets, strict=True)
        ],
        "shield": None if permits is None else [_permit(p) for p in permits],
    }


def _permit(permit: Mapping[str, Any]) -> dict[str, Any]:
    return {"inside": _box(permit["inside"]), "margin": exact(permit["margin"])}


def _box(box: Sequence[tuple[Fraction, Fraction]]) -> list[list[int | str]]:
    return [[exact(low), exact(high)] for low, high in box]


def written(term: Term) -> Any:
    """A term of polynomials and comparisons; powers are products, as they are computed."""
    match term:
        case Const(bool(value)):
            return value
        case Const(value):
            return exact(value)
        case Var(name):
            return ["name", name]
        case Apply(Op.POW, (base, Const(int(exponent)))) if exponent > 0:
            return ["*", *([written(base)] * exponent)]
        case Apply(op, args) if op in _OPERATORS:
            return [_OPERATORS[op], *map(written, args)]
        case _:
            raise Unsupported(f"`{show(term)}` is not a polynomial")
