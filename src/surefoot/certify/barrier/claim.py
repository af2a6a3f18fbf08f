"""A problem with a program as a polynomial system written out (docs/certificates.md, section 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot.certify.execution.terms import end, exact
from surefoot.encode.barrier import System, rules_of, system_of
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.show import show
from surefoot.problem.term import TRUE, Apply, Const, Op, Term, Var, conjunction
from surefoot.verdict.verdict import Certificate

_OPERATORS = {
    op: op.value
    for op in (Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES)
}


def about_sets(problem: Problem, content: Mapping[str, Any]) -> Certificate:
    """The certificate for the sets that an engine found; `Unsupported` where the problem does not fit."""
    system, rules = system_of(problem), rules_of(problem.policy)
    sets = content["sets"]
    if len(sets) != len(rules):
        raise Unsupported("there is not one set for each rule of the program")
    for entry, rule in zip(sets, rules, strict=True):
        if rule.when != (tested(system, entry) if entry["tested"] else TRUE):
            raise Unsupported("the program tests something else than its sets")
    return Certificate(
        "barrier",
        {
            "surefoot-certificate": 1,
            "claim": {"kind": "barrier", "system": _system(system, [r.then for r in rules], sets)},
            "arithmetic": "float64" if system.rounded else "exact",
            "sets": [entry["proof"] for entry in sets],
        },
    )


def is_about_sets(content: Mapping[str, Any], problem: Problem) -> bool:
    """Is this a certificate about exactly this problem? Sets that no rule tests are part of the proof."""
    try:
        system, rules = system_of(problem), rules_of(problem.policy)
        claimed = content["claim"]["system"]
        sets = [entry["set"] for entry in claimed["rules"]]
        same = content["arithmetic"] == ("float64" if system.rounded else "exact")
        for entry, rule in zip(sets, rules, strict=True):
            asked = written(rule.when)
            same &= asked == (_test(claimed["variables"], entry) if entry["tested"] else True)
        plain = {**claimed, "rules": [r["then"] for r in claimed["rules"]]}
        wanted = _system(system, [r.then for r in rules], [_NOTHING] * len(rules))
        return bool(same) and plain == {**wanted, "rules": [r["then"] for r in wanted["rules"]]}
    except (Unsupported, TypeError, KeyError, ValueError):
        return False


_NOTHING: dict[str, Any] = {"domain": (), "barrier": TRUE, "tested": False, "margin": Fraction(0)}


def _test(variables: Sequence[str], entry: Mapping[str, Any]) -> list[Any]:
    """The test of a set, written out."""
    sides = [
        side
        for name, (low, high) in zip(variables, entry["domain"], strict=True)
        for side in (["<=", low, ["name", name]], ["<=", ["name", name], high])
    ]
    return ["and", *sides, ["<=", entry["barrier"], exact(-Fraction(entry["margin"]))]]


def tested(system: System, entry: Mapping[str, Any]) -> Term:
    """The condition by which a program sees that it is in a set."""
    sides = [
        side
        for name, (low, high) in zip(system.variables, entry["domain"], strict=True)
        for side in (Const(low) <= Var(name), Var(name) <= Const(high))
    ]
    return conjunction((*sides, entry["barrier"] <= Const(-entry["margin"])))


def _system(
    system: System, then: Sequence[tuple[Term, ...]], sets: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
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
        "shield": None,
    }


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
