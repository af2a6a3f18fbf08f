"""Certificates of format 2 in the form that format 1 had, which is flat: campaigns change them there.

The checker translates format 1 before it reads it, so a changed certificate is judged in both forms: as it
is, and as the certificate of format 2 that it is translated into. Both must get the same verdict.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot_checker.check import CheckerVerdict, judge_certificate
from surefoot_checker.claims.barrier.system import ClaimedSystem, read_claimed_system
from surefoot_checker.claims.runs.argument import read_run_argument
from surefoot_checker.claims.runs.canonical_problem import CanonicalProblem, read_canonical_problem
from surefoot_checker.claims.runs.obligations import RunObligation, enumerate_obligations
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.format_1 import translate_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

Json = dict[str, Any]


def to_format_1(certificate: Mapping[str, Any]) -> Json:
    """The same certificate as format 1 has it; one of format 1 stays as it is."""
    data: Json = json.loads(json.dumps(certificate))
    if data["surefoot-certificate"] == 1:
        return data
    data["surefoot-certificate"], claim = 1, data["claim"]
    match claim["kind"]:
        case "execution" | "recurrence":
            claim["problem"] = _flat_runs(claim["problem"])
            if "argument" in claim:
                claim["argument"] = _flat_argument(claim["argument"])
        case "process" | "graph":
            claim["problem"] = _flat_finite(claim["problem"], claim["kind"] == "graph")
        case "barrier" | "convergence":
            sets = [proof.pop("set") for proof in data["sets"]]
            problem = claim.pop("problem")
            parts = {"parts": claim.pop("parts")} if "parts" in claim else {}
            claim["system"] = _flat_system(problem, sets) | parts
    return data


def judge_both_formats(certificate: Mapping[str, Any], **options: Any) -> CheckerVerdict:
    """The verdict about a certificate, which for format 1 must be that about its translation."""
    if certificate.get("surefoot-certificate") != 1:
        return judge_certificate(certificate, **options)
    try:
        found = judge_certificate(certificate, **options)
    except BadCertificate as error:
        try:
            again = judge_certificate(copy.deepcopy(translate_certificate(certificate)), **options)
        except BadCertificate:
            raise error from None
        raise AssertionError(f"{error}, but not of format 2: {again}") from None
    again = judge_certificate(copy.deepcopy(translate_certificate(certificate)), **options)
    assert again == found, (again, found)
    return found


def flatten_run_problem(problem: Mapping[str, Any]) -> Json:
    """The problem of a claim about runs in the form of format 1."""
    return _flat_runs(json.loads(json.dumps(problem)))


def unflatten_run_problem(problem: Mapping[str, Any]) -> Json:
    """And back."""
    claim = {"kind": "recurrence", "problem": problem, "start": {}, "moves": [], "regions": []}
    found: Json = translate_certificate({"claim": claim})["claim"]["problem"]
    return found


def read_flat_problem(problem: Mapping[str, Any]) -> CanonicalProblem:
    """The problem of a claim about runs, in the form of format 1, as the checker has it."""
    return read_canonical_problem(unflatten_run_problem(problem), FileLocations(Path()))


def derive_flat_obligations(problem: Mapping[str, Any], argument: Mapping[str, Any]) -> list[RunObligation]:
    """What has to be shown for a claim about runs in the form of format 1."""
    claim = {"kind": "execution", "problem": problem, "argument": argument}
    found = translate_certificate({"claim": claim})["claim"]
    return list(
        enumerate_obligations(
            read_canonical_problem(found["problem"], FileLocations(Path())),
            read_run_argument(found["argument"]),
        )
    )


def read_flat_system(certificate: Mapping[str, Any]) -> ClaimedSystem:
    """The system of a certificate of format 1, as the checker has it."""
    found = translate_certificate(certificate)
    claim, sets = found["claim"], [proof["set"] for proof in found["sets"]]
    return read_claimed_system(claim["problem"], sets, claim.get("parts"), found["arithmetic"])


def _flat_variable(data: list[Any]) -> list[Any]:
    name, kind = data
    return [name, None, None, "boolean"] if kind == "boolean" else [name, kind[1], kind[2], kind[0]]


def _flat_condition(data: Any) -> Any:
    match data:
        case ["deadlocked" | "stalled" as word]:
            return ["name", word]
        case ["chosen", action]:
            return ["name", f"chosen({action})"]
        case ["output", index]:
            return ["name", f"output[{index}]"]
        case ["name", _]:
            return data
        case [word, *parts]:
            return [word, *map(_flat_condition, parts)]
    return data


def _flat_argument(argument: Json) -> Json:
    if "assuming" not in argument:
        return argument
    lemma = argument["assuming"]
    never, inner = _flat_condition(lemma["never"]), _flat_argument(lemma["argument"])
    return {**argument, "assuming": {"never": never, "argument": inner}}


def _flat_runs(problem: Json) -> Json:
    ((component,), _) = problem.pop("components"), problem.pop("synchronisations")
    edges = component["edges"]
    for edge in edges:
        del edge["source"]
        edge["chosen"] = [_flat_variable(c) for c in edge["chosen"]]
        edge["outcomes"] = [[[u[0][1], u[1]] for u in o["updates"]] for o in edge["outcomes"]]
    asked = problem["property"]
    conditions = {k: _flat_condition(asked[k]) for k in ("condition", "before") if k in asked}
    variables = [_flat_variable(v) for v in problem["variables"]]
    return problem | {"variables": variables, "edges": edges, "property": {**asked, **conditions}}


def _flat_finite(problem: Json, graph: bool) -> Json:
    del problem["controls"]
    names = ("variables", "initial", "components", "synchronisations")
    environment = {name: problem.pop(name) for name in names}
    asked = {"steps": None, "after": 0} | problem["property"] if graph else problem["property"]
    return problem | {"environment": environment, "property": asked}


def _flat_system(problem: Json, sets: list[Json]) -> Json:
    (edge,) = problem["components"][0]["edges"]
    sides = problem["initial"][1:]
    policy, shield = problem["policy"], problem["policy"].get("shield")
    rules = [
        {"set": {**own, "tested": rule["when"] is not True}, "then": rule["then"]}
        for rule, own in zip(policy["rules"], sets, strict=True)
    ]
    found = {
        "name": problem["name"],
        "variables": [v[0] for v in problem["variables"]],
        "initial": [[a[1], b[2]] for a, b in zip(sides[::2], sides[1::2], strict=True)],
        "controls": [c[:3] for c in problem["controls"]],
        "disturbances": [[name, kind[1], kind[2]] for name, kind in edge["chosen"]],
        "next": [u[1] for u in edge["outcomes"][0]["updates"]],
        "unsafe": problem["property"]["condition"],
        "rules": rules,
        "shield": shield and [{key: p[key] for key in ("inside", "margin")} for p in shield],
    }
    return ({"time": problem["time"]} if "time" in problem else {}) | found
