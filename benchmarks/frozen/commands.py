"""Commands of the program, run in this process, and what of their answers must not change.

The answer of a command is its exit code and the file that `--json` writes (docs/reference/result-json.md).
Kept are verdicts, bounds, lengths of runs and sizes (nodes, states, predicates, queries, runs); words, times
and the numbers of a trace are not, and long tables only by their digest.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.frozen.stored import find_certificates
from surefoot.cli import main

ANSWER = "answer.json"
CLOSED = ("drop", "exact", "point")  # steps of a proof that close a state


def run_command(words: Sequence[str], folder: Path) -> tuple[int, dict[str, Any]]:
    """Exit code and answer; the answer is empty if none was written."""
    answer = folder / ANSWER
    answer.unlink(missing_ok=True)
    code: object = 0
    try:
        main([*words, "--json", str(answer), "--quiet"])
    except SystemExit as end:
        code = end.code
    data: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
    return (code if isinstance(code, int) else 0), data


def fill_words(
    words: str, model: str, folder: Path, makers: Mapping[str, Callable[[Path], object]]
) -> list[str]:
    """A command as a list; `{}` is the model, which is written first."""
    found: list[str] = []
    for number, part in enumerate(words.split("'")):  # what is quoted is one word
        found += [part] if number % 2 else part.split()
    if model:
        made = makers[model](folder)
        several = [str(one) for one in (made if isinstance(made, tuple) else (made,))]
        found = [word for part in found for word in (several if part == "{}" else [part])]
    return found


def facts_of(code: int, data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"exit": code}
    for number, one in enumerate(data.get("results", [data])):
        facts = _facts_of_result(one)
        found |= facts if "results" not in data else {f"{number}: {k}": v for k, v in facts.items()}
    return {key: value for key, value in found.items() if value is not None}


def _facts_of_result(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"certified": data.get("certified")}
    if isinstance(verdict := data.get("verdict"), dict):
        found |= facts_of_verdict(verdict)
    elif verdict is not None:  # about a foreign barrier
        found["kind"] = verdict
    if "covered" in data:  # a shield of a polynomial system
        rules = data["rules"]
        sets = sorted([rule["degree"], rule.get("rows", 1)] for rule in rules)
        found |= {"covered": data["covered"], "rules": len(rules), "sets": sets}
    if data.get("kind") == "actions":  # a shield of a finite system
        permitted = digest(data["tree"]["permitted"])
        found |= {"states": data["states"], "starts": data["starts kept"], "permitted": permitted}
    if data.get("kind") == "heatmap":
        cells = [[c["column"], c["row"], c["low"], c["high"]] for p in data["panels"] for c in p["cells"]]
        found |= {"cells": len(cells), "values": digest(cells)}
        found["certified"] = all(panel["certified"] for panel in data["panels"])
    if "optimise" in data:
        values = [[one["value"], one.get("policy")] for one in data["states"]]
        found |= {"states": len(values), "values": digest(values)}
    return found | count_proof(data)


def facts_of_verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        key: verdict.get(key)
        for key in ("kind", "arithmetic", "decimal", "up_to", "reason", "threshold", "holds_up_to")
    }
    if verdict.get("low") == "infinite":
        found["value"] = "infinite"
    if "trace" in verdict:
        found |= {"steps": len(verdict["trace"]["moves"]), "loop": verdict["trace"].get("loop")}
        found["regions"] = len(verdict["trace"].get("recurrence", ()))
    if "counts" in verdict:
        found |= {key: verdict["counts"].get(key) for key in ("runs", "succeeded")}
    if "table" in verdict:
        rows = [(row["start"], _ends(row["verdict"])) for row in verdict["table"]]
        found |= {"starts": len(rows), "values": digest(rows)}
    if isinstance(artifact := verdict.get("artifact"), dict):
        found |= _facts_of_artifact(artifact)
    return found


def _ends(verdict: Mapping[str, Any]) -> list[Any]:
    return [verdict["kind"], verdict.get("decimal"), verdict.get("low") == "infinite"]


def _facts_of_artifact(artifact: Mapping[str, Any]) -> dict[str, Any]:
    match artifact.get("kind"):
        case "abstract graph":
            queries = sum(test["number"] for test in artifact["tests"])
            sizes = {key: len(artifact[key]) for key in ("predicates", "states", "edges", "refinements")}
            return {**sizes, "queries": queries, "exact": artifact["exact"]}
        case "tipping point":
            ends = [artifact[key] and artifact[key]["value"] for key in ("proved", "refuted")]
            return {"ends": ends, "queries": len(artifact["trials"])}
        case "safe starts":
            return {"counts": artifact["counts"], "groups": len(artifact["groups"])}
        case "invariant":
            return {"condition": artifact["condition"], "candidates": len(artifact["candidates"])}
    return {}


def count_proof(data: object) -> dict[str, Any]:
    """Nodes of all proofs in an answer: where they split, and where they close a part."""
    counts: Counter[str] = Counter()
    for certificate in find_certificates(data):
        waiting: list[object] = [v for key, v in certificate.items() if key != "claim"]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                waiting += part.values()
            elif isinstance(part, list):
                if part and isinstance(part[0], str):
                    counts["splits"] += part[0] == "split"
                    counts["closed"] += part[0] in CLOSED
                waiting += part
        counts["certificates"] += 1
    return dict(counts)


def digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
