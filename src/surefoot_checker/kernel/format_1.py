"""Certificates of format 1, translated into format 2 before anything else reads them.

Format 1 wrote a problem in three forms: an automaton of scalars for claims about runs, an environment for
claims about finite systems, and a polynomial system with its sets. Whatever is no part of the form that a
claim had is refused here; what stays as it is, terms above all, is left to the reader of format 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .strict_json import BadCertificate, expect_list, expect_object, expect_text

_NORMALISED = frozenset({"normalised"})
_RUN_PROBLEM = frozenset({"name", "variables", "initial", "controls", "edges", "policy", "property"})
_RUN_EDGE = frozenset({"action", "guard", "chosen", "assuming", "outcomes"})
_FINITE_PROBLEM = frozenset({"name", "environment", "policy", "property"})
_ENVIRONMENT = frozenset({"variables", "initial", "components", "synchronisations"})
_POLICY = frozenset({"rules", "network", "observe", "choose", "actions", "owns"})
_GRAPH_PROPERTY = frozenset({"kind", "condition", "steps", "after"})
_SYSTEM = frozenset(
    {"name", "variables", "initial", "controls", "disturbances", "next", "unsafe", "rules", "shield"}
)
_SET = frozenset({"domain", "barrier", "tested", "margin"})
_KINDS = ("real", "float32", "integer", "boolean")
_ALONE = {"name": "", "locations": [""], "initial": [""]}  # a component with one location
_OUTPUT = re.compile(r"output\[(0|[1-9][0-9]*)\]", re.ASCII)
_CHOSEN = re.compile(r"chosen\((.*)\)", re.DOTALL)
_NEST = 100  # of terms in conditions about runs


def translate_certificate(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The same certificate in format 2."""
    found: dict[str, Any] = {**certificate, "surefoot-certificate": 2}
    claim: Any = certificate.get("claim")
    match claim.get("kind") if isinstance(claim, dict) else None:
        case "execution":
            entry = expect_object(claim, frozenset({"kind", "problem", "argument"}), "claim")
            argument = _translate_argument(entry["argument"])
            found["claim"] = {**entry, "problem": _translate_runs(entry["problem"]), "argument": argument}
        case "recurrence":
            keys = frozenset({"kind", "problem", "start", "moves", "regions"})
            entry = expect_object(claim, keys, "claim")
            found["claim"] = {**entry, "problem": _translate_runs(entry["problem"])}
        case "process" | "graph":
            problem = expect_object(claim.get("problem"), _FINITE_PROBLEM, "problem", _NORMALISED)
            found["claim"] = {**claim, "problem": _translate_finite(problem, claim["kind"] == "graph")}
        case "barrier" | "convergence":
            more = frozenset({"target"}) if claim["kind"] == "convergence" else frozenset()
            entry = expect_object(claim, frozenset({"kind", "system"}) | more, "claim")
            parts, found["claim"], sets = _translate_system(entry)
            given = expect_list(certificate.get("sets"), "sets")
            if len(given) != len(sets):
                raise BadCertificate("sets: one for each rule")
            if any(type(proof) is not dict or "set" in proof for proof in given):
                raise BadCertificate("sets: not an object, or of another format")
            found["claim"] |= parts
            found["sets"] = [{**proof, "set": own} for proof, own in zip(given, sets, strict=True)]
    return found


def _edge(action: object, guard: Any, chosen: Any, assuming: Any, outcomes: list[Any]) -> dict[str, Any]:
    """An edge of a component with one location."""
    return {
        "source": "",
        "action": action,
        "guard": guard,
        "chosen": chosen,
        "assuming": assuming,
        "outcomes": [
            {"probability": share, "updates": updates, "rewards": [], "target": ""}
            for share, updates in outcomes
        ],
    }


# Claims about runs.


def _translate_runs(data: object) -> dict[str, Any]:
    entry = expect_object(data, _RUN_PROBLEM, "problem", _NORMALISED)
    asked = entry["property"]
    if type(asked) is not dict:
        raise BadCertificate("property: not an object")
    conditions = {k: _translate_condition(asked[k]) for k in ("condition", "before") if k in asked}
    variables = [_translate_variable(v) for v in expect_list(entry["variables"], "variables")]
    controls = expect_list(entry["controls"], "controls")
    named = [v[0] for v in variables] + [expect_list(c, "control")[0] for c in controls if c]
    if any(type(name) is not str or _translate_name(name) != ["name", name] for name in named):
        raise BadCertificate("problem: a variable or control has a name that conditions have a meaning for")
    edges = []
    for data_ in expect_list(entry["edges"], "edges"):
        edge = expect_object(data_, _RUN_EDGE, "edge")
        chosen = [_translate_variable(c) for c in expect_list(edge["chosen"], "chosen")]
        outcomes = [(None, _translate_updates(o)) for o in expect_list(edge["outcomes"], "outcomes")]
        edges.append(_edge(edge["action"], edge["guard"], chosen, edge["assuming"], outcomes))
    kept = {k: entry[k] for k in ("name", "initial", "controls", "normalised") if k in entry}
    return kept | {
        "variables": variables,
        "components": [{**_ALONE, "edges": edges}],
        "synchronisations": [],
        "policy": expect_object(entry["policy"], _POLICY, "policy"),
        "property": {**asked, **conditions},
    }


def _translate_variable(data: object) -> list[Any]:
    form = "a variable is a list of name, low, high and kind"
    name, low, high, kind = expect_list(data, "variable", 4, form)
    if kind not in _KINDS:
        raise BadCertificate(form)
    if kind != "boolean":
        return [name, [kind, low, high]]
    if low is not None or high is not None:
        raise BadCertificate("a boolean has no bounds")
    return [name, kind]


def _translate_updates(data: object) -> list[Any]:
    form = "an update is a pair of name and term"
    pairs = [expect_list(pair, "update", 2, form) for pair in expect_list(data, "outcome")]
    return [[["name", name], value, 0] for name, value in pairs]


def _translate_argument(data: object) -> Any:
    """The conditions that are assumed, of arguments within arguments."""
    if type(data) is not dict or type(data.get("assuming")) is not dict:
        return data
    lemma = expect_object(data["assuming"], frozenset({"never", "argument"}), "assuming")
    never, argument = _translate_condition(lemma["never"]), _translate_argument(lemma["argument"])
    return {**data, "assuming": {"never": never, "argument": argument}}


def _translate_condition(data: Any, nested: int = 0) -> Any:
    """Names that conditions had a meaning for are atoms of their own."""
    if type(data) is not list or not data:
        return data
    if nested > _NEST or data[0] in ("at", "deadlocked", "stalled", "chosen", "output"):
        raise BadCertificate("a term is nested too deeply, or has an operator that is not known")
    if data[0] == "name":
        return _translate_name(data[1]) if len(data) == 2 and type(data[1]) is str else data
    return [data[0], *(_translate_condition(part, nested + 1) for part in data[1:])]


def _translate_name(name: str) -> list[Any]:
    if name in ("deadlocked", "stalled"):
        return [name]
    if match := _CHOSEN.fullmatch(name):
        return ["chosen", match[1]]
    if match := _OUTPUT.fullmatch(name):
        return ["output", int(match[1])]
    if name.startswith(("output[", "chosen(")):
        raise BadCertificate("problem: a name that begins as an output or a choice does, and is none")
    return ["name", name]


# Claims about finite systems.


def _translate_finite(problem: dict[str, Any], graph: bool) -> dict[str, Any]:
    environment = expect_object(problem["environment"], _ENVIRONMENT, "environment")
    asked = problem["property"]
    if graph:
        asked = expect_object(asked, _GRAPH_PROPERTY, "property", frozenset({"before"}))
        left_out = {k for k in ("steps",) if asked[k] is None}
        if asked["kind"] != "within" and type(asked["after"]) is int and asked["after"] == 0:
            left_out.add("after")
        asked = {k: v for k, v in asked.items() if k not in left_out}
    policy = problem["policy"]
    return {
        **{k: v for k, v in problem.items() if k in ("name", "normalised")},
        **environment,
        "controls": [],
        "policy": None if policy is None else expect_object(policy, _POLICY, "policy"),
        "property": asked,
    }


# Claims about polynomial systems.


def _translate_system(claim: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Parts of the starts, the claim, and the sets of the rules."""
    system = expect_object(claim["system"], _SYSTEM, "system", frozenset({"parts", "time"}))
    names = [expect_text(v, "variable") for v in expect_list(system["variables"], "variables")]
    following = expect_list(system["next"], "next")
    if len(following) != len(names):
        raise BadCertificate("system: one next value for each variable")
    updates = [[["name", n], value, 0] for n, value in zip(names, following, strict=True)]
    gusts = [_take_three(d, "disturbance") for d in expect_list(system["disturbances"], "disturbances")]
    chosen = [[name, ["real", low, high]] for name, low, high in gusts]
    rules, sets = [], []
    for data in expect_list(system["rules"], "rules"):
        rule = expect_object(data, frozenset({"set", "then"}), "rule")
        own = expect_object(rule["set"], _SET, "set")
        if type(own["tested"]) is not bool:
            raise BadCertificate("rule: `tested` is true or false")
        test = [*_inside_box(own["domain"], names), ["<=", own["barrier"], _negate_number(own["margin"])]]
        rules.append({"when": ["and", *test] if own["tested"] else True, "then": rule["then"]})
        sets.append({key: own[key] for key in ("domain", "barrier", "margin")})
    policy = {"rules": rules, "network": None, "observe": [], "choose": "value", "actions": [], "owns": []}
    if system["shield"] is not None:
        permits = [
            expect_object(p, frozenset({"inside", "margin"}), "permit")
            for p in expect_list(system["shield"], "shield")
        ]
        if len(permits) != len(sets):
            raise BadCertificate("system: a shield has one permit for each rule")
        pairs = zip(permits, sets, strict=True)
        policy["shield"] = [{**permit, "barrier": own["barrier"]} for permit, own in pairs]
    problem = {
        "name": system["name"],
        "variables": [[name, ["real", None, None]] for name in names],
        "initial": ["and", *_inside_box(system["initial"], names)],
        "controls": [[*_take_three(c, "control"), True] for c in expect_list(system["controls"], "controls")],
        "components": [{**_ALONE, "edges": [_edge(None, True, chosen, True, [(1, updates)])]}],
        "synchronisations": [],
        "policy": policy,
        "property": {"kind": "never", "condition": system["unsafe"]},
        **{key: system[key] for key in ("time",) if key in system},
    }
    kept: dict[str, Any] = {key: claim[key] for key in ("kind", "target") if key in claim}
    return {k: system[k] for k in ("parts",) if k in system}, {**kept, "problem": problem}, sets


def _take_three(data: object, what: str) -> list[Any]:
    return expect_list(data, what, 3, f"a {what} is a list of name, low and high")


def _inside_box(data: object, names: list[str]) -> list[Any]:
    """Two comparisons for each name."""
    box = [expect_list(ends, "range") for ends in expect_list(data, "box")]
    if len(box) != len(names) or any(len(ends) != 2 or None in ends for ends in box):
        raise BadCertificate("a box has a range of two ends for each variable")
    pairs = zip(names, box, strict=True)
    return [
        side for n, (low, high) in pairs for side in (["<=", low, ["name", n]], ["<=", ["name", n], high])
    ]


def _negate_number(data: object) -> int | str:
    """In the text of a number, which need not have a short one as a fraction."""
    if type(data) is int:
        return -data
    text = expect_text(data, "margin")
    return text[1:] if text.startswith("-") else "-" + text.removeprefix("+")
