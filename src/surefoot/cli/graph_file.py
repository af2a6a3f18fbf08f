"""`--graph FILE`: the abstract graph beside a verdict, in the format that the name of the file asks for.

A page also shows what some more predicates would make of the graph; they are tried after the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from surefoot.cli.output import deliver_file
from surefoot.cli.terminal import print_line
from surefoot.engines.predicates import Predicates
from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.report.abstraction import graph_page
from surefoot.report.graph_export import render_graph_dot, render_graph_json
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import (
    Holds,
    Proved,
    Reason,
    Result,
    Unknown,
    Verdict,
    Violated,
    is_interrupted,
)
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

CUT = "interrupted: further predicates were not tried"
FORMATS = (".dot", ".json", ".html")
LARGE = 300  # states of a graph that is still written after an interrupt
SPLITS = 24  # predicates that are tried for a page, if nothing else is asked for


def check_graph_format(path: str | None) -> None:
    """Refuse a name that says no format."""
    if path is not None and Path(path).suffix not in FORMATS:
        raise InvalidProblem(
            f"`{path}` is no .dot, .json or .html file", fix="end its name so", where="--graph"
        )


def _verdict_graph(verdict: Verdict) -> AbstractGraph | None:
    found = verdict.artifact if isinstance(verdict, Proved | Violated | Holds | Unknown) else None
    return found if isinstance(found, AbstractGraph) else None


def number_of_splits(given: int | None, report: str | None, graph: str | None) -> int:
    """How many further predicates are tried: as asked, or some if there is a page to show them."""
    shown = report is not None or (graph is not None and graph.endswith(".html"))
    return given if given is not None else SPLITS * shown


def with_splits_tried(
    problem: Problem, result: Result, engines: Sequence[Engine], most: int, budget: Budget
) -> Result:
    """The result with what further predicates would make of its graph, if it has one and time is left."""
    graph, verdict = _verdict_graph(result.verdict), result.verdict
    engine = next((e for e in engines if isinstance(e, Predicates)), None)
    if graph is None or engine is None or not most or budget.is_spent():
        return result
    if isinstance(verdict, Unknown) and verdict.reason is Reason.INTERRUPTED:
        return result
    from surefoot.engines.predicates.split_preview import with_splits

    assert isinstance(verdict, Proved | Violated | Holds | Unknown)
    try:
        tests = engine.asked_tests()
        artifact = call_in_time(
            budget, lambda: with_splits(problem, graph, tests, most, budget), lambda: graph
        )
    except KeyboardInterrupt:  # the answer is known; only the picture has less to show
        return replace(result, notes=(*result.notes, CUT))
    return replace(result, verdict=replace(verdict, artifact=artifact))


def omit_large_graph(result: Result) -> Result:
    """Without the graph, if an interrupt has left no time to write so many states to a result or a page."""
    graph, verdict = _verdict_graph(result.verdict), result.verdict
    if graph is None or len(graph.states) <= LARGE or not (is_interrupted(verdict) or CUT in result.notes):
        return result
    assert isinstance(verdict, Proved | Violated | Holds | Unknown)
    note = f"interrupted: the abstract graph with {len(graph.states)} states is left out; --graph writes it"
    return replace(result, verdict=replace(verdict, artifact=None), notes=(*result.notes, note))


def write_graph(problem: Problem, verdict: Verdict, path: str, quiet: bool) -> None:
    """Write it, and say on stderr what was done."""
    found = _verdict_graph(verdict)
    if found is None:
        early = isinstance(verdict, Unknown) and verdict.reason in (Reason.INTERRUPTED, Reason.TIMEOUT)
        why = (
            "there was no abstract graph yet"
            if early
            else "there is no abstract graph; use --engine predicates"
        )
        print_line(f"not written: {path} ({why})", error=True)
        return
    run = verdict.trace if isinstance(verdict, Violated) else None
    made = {".html": lambda: graph_page(problem, found, run), ".dot": lambda: render_graph_dot(found)}
    deliver_file(path, made.get(Path(path).suffix, lambda: render_graph_json(found)), quiet)
