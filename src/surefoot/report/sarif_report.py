"""Results as SARIF 2.1.0, which code hosts show beside the lines of a problem file.

Only a violation is of level `error`. A proof is of kind `pass`, what is unknown of kind `open`, a value that
nothing was asked about `informational`. The run of a violation is a code flow: one location for each state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.report.junit_report import verdict_word
from surefoot.report.result_text import render, verdict_headline
from surefoot.report.run_table import format_number
from surefoot.verdict.exit_code import classify_outcome
from surefoot.verdict.sentences import cut_term, verdict_sentences
from surefoot.verdict.threshold import answer_threshold
from surefoot.verdict.verdict import Estimated, Exact, Found, PerStart, Result, Trace, Vacuous, Violated
from surefoot.visible import make_data_visible, make_lines_visible

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_STATES = 200  # of a run; the JSON of `--json` has all of them
_RULES = {
    "violated": "A run of the policy in its environment violates the property.",
    "missed": "The value misses the threshold of the property.",
    "unknown": "The question is not answered.",
    "vacuous": "Nothing satisfies the premise of the property.",
    "passed": "The property holds, or a value was computed.",
}


def render_sarif(results: Sequence[tuple[Problem, Result]], lines: Mapping[str, int] | None = None) -> str:
    """One run of the tool. `lines`: of the properties in their file, by name."""
    found = [_result_to_sarif(problem, result, lines or {}) for problem, result in results]
    inputs = {path: digest for _, result in results for path, digest in result.inputs.items()}
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {
        "name": "surefoot",
        "version": version("surefoot"),
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "artifacts": [
            {"location": {"uri": _path_uri(path)}, "hashes": {"sha-256": digest}}
            for path, digest in inputs.items()
        ],
        "results": found,
    }
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(make_data_visible(document), indent=1) + "\n"


def _result_to_sarif(problem: Problem, result: Result, lines: Mapping[str, int]) -> dict[str, Any]:
    outcome = classify_outcome(problem, result)
    rule = _rule_of(result, outcome)
    asked = cut_term(show_property(problem.property))
    headline = f"{verdict_headline(problem, result)}: {asked}"
    name = str(result.source.get("property", problem.name))
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "kind": _kind_of(problem, result, outcome),
        "level": "error" if outcome == "failed" else "none",
        "message": {"text": " ".join([f"{headline}.", *verdict_sentences(problem, result.verdict)])},
        "locations": _locations(result, lines.get(name, 1)),
        "partialFingerprints": {
            "question/v1": hashlib.sha256(
                f"{result.problem}\n{show_property(problem.property)}".encode()
            ).hexdigest()
        },
        "properties": {
            "verdict": verdict_word(result),
            "certified": result.certified,
            "engine": result.engine,
            "report": make_lines_visible(render(problem, result)).split("\n"),
        },
        **(_code_flow(result.verdict.trace) if isinstance(result.verdict, Violated) else {}),
    }


def _rule_of(result: Result, outcome: str) -> str:
    if outcome == "failed":
        return "violated" if isinstance(result.verdict, Violated) else "missed"
    if isinstance(result.verdict, Vacuous):
        return "vacuous"
    return "passed" if outcome == "passed" else "unknown"


def _kind_of(problem: Problem, result: Result, outcome: str) -> str:
    """What SARIF calls it. A level other than `none` goes with `fail` alone."""
    if outcome == "failed":
        return "fail"
    if isinstance(result.verdict, Vacuous):
        return "notApplicable"
    if outcome == "unknown":
        return "open"
    values = isinstance(result.verdict, Exact | Estimated | PerStart | Found)
    return (
        "informational" if values and answer_threshold(problem.property, result.verdict) is None else "pass"
    )


def _locations(result: Result, line: int) -> list[dict[str, Any]]:
    model = result.source.get("model")
    if not isinstance(model, str):
        return [{"logicalLocations": [{"fullyQualifiedName": result.problem}]}]
    place = {"artifactLocation": {"uri": _path_uri(model)}, "region": {"startLine": line}}
    return [{"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": result.problem}]}]


def _path_uri(path: str) -> str:
    """A path as it stands in the file: relative to where the command was run."""
    return quote(path.replace("\\", "/"))


def _code_flow(trace: Trace) -> dict[str, Any]:
    shown = trace.states[:MOST_STATES]
    labels = [move.transition.label for move in trace.moves]
    steps = [
        {
            "location": {"message": {"text": _describe_state(number, labels)}},
            "state": {name: {"text": format_number(value)} for name, value in state.items()},
            "executionOrder": number + 1,
        }
        for number, state in enumerate(shown)
    ]
    flow = {"threadFlows": [{"locations": steps}]}
    if len(trace.states) > len(shown):
        flow["message"] = {"text": f"the first {len(shown)} of {len(trace.states)} states"}  # type: ignore[assignment]
    return {"codeFlows": [flow]}


def _describe_state(number: int, labels: Sequence[str | None]) -> str:
    if number >= len(labels):
        return f"state {number}"
    return f"state {number}" + (f", then {labels[number]}" if labels[number] else "")
