"""Results as JUnit XML, which test servers read: a test case for each property.

A violation is a failure with the run as its text. What is unknown is an error: the question is not answered,
and nobody may take it for a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.report.result_text import render, verdict_headline
from surefoot.verdict.exit_code import classify_outcome
from surefoot.verdict.sentences import cut_term
from surefoot.verdict.verdict import Result
from surefoot.visible import make_lines_visible, make_visible

SUITE = "surefoot"


def render_junit(results: Sequence[tuple[Problem, Result]], not_asked: Sequence[str] = ()) -> str:
    """One test suite; the order is that of the properties. `not_asked`: those that an interrupt has left."""
    outcomes = [classify_outcome(problem, result) for problem, result in results]
    counts = {
        "tests": len(results) + len(not_asked),
        "failures": outcomes.count("failed"),
        "errors": outcomes.count("unknown"),
        "skipped": len(not_asked),
        "time": f"{sum(result.seconds for _, result in results):.3f}",
    }
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites>\n<testsuite {_attributes({'name': SUITE} | counts)}>",
    ]
    for (problem, result), outcome in zip(results, outcomes, strict=True):
        lines += _test_case(problem, result, outcome)
    for name in not_asked:
        told = _attributes({"classname": SUITE, "name": name, "time": "0.000"})
        lines += [f"<testcase {told}>", '<skipped message="interrupted: it was not asked"/>', "</testcase>"]
    return "\n".join([*lines, "</testsuite>\n</testsuites>", ""])


def _test_case(problem: Problem, result: Result, outcome: str) -> list[str]:
    model, _, name = result.problem.rpartition("/")
    asked = cut_term(show_property(problem.property))
    named = {
        "classname": model or SUITE,
        "name": str(result.source.get("property") or name or asked),
        "time": f"{result.seconds:.3f}",
    }
    text = escape(make_lines_visible(render(problem, result)))
    begin = f"<testcase {_attributes(named)}>"
    if outcome == "passed":
        return [begin, f"<system-out>{text}</system-out>", "</testcase>"]
    element = "failure" if outcome == "failed" else "error"
    told = {"message": f"{verdict_headline(problem, result)}: {asked}", "type": verdict_word(result)}
    return [begin, f"<{element} {_attributes(told)}>{text}</{element}>", "</testcase>"]


def verdict_word(result: Result) -> str:
    """The verdict in one word: `violated`, `unknown`, …"""
    return type(result.verdict).__name__.lower()


def _attributes(values: Mapping[str, object]) -> str:
    return " ".join(f"{name}={quoteattr(make_visible(str(value)))}" for name, value in values.items())
