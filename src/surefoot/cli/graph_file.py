"""`--graph FILE`: the abstract graph beside a verdict, in the format that the name of the file asks for.

A page also shows what some more predicates would make of the graph; they are tried after the verdict.
"""

from __future__ import annotations

from pathlib import Path

from surefoot import api
from surefoot.cli.output import deliver_file
from surefoot.cli.terminal import print_line

FORMATS = (".dot", ".json", ".html")
SPLITS = 24  # predicates that are tried for a page, if nothing else is asked for


def check_graph_format(path: str | None) -> None:
    """Refuse a name that says no format."""
    if path is not None and Path(path).suffix not in FORMATS:
        raise api.InvalidProblem(
            f"`{path}` is no .dot, .json or .html file", fix="end its name so", where="--graph"
        )


def number_of_splits(given: int | None, report: str | None, graph: str | None) -> int:
    """How many further predicates are tried: as asked, or some if there is a page to show them."""
    shown = report is not None or (graph is not None and graph.endswith(".html"))
    return given if given is not None else SPLITS * shown


def write_graph(problem: api.Problem, verdict: api.Verdict, path: str, quiet: bool) -> None:
    """Write it, and say on stderr what was done."""
    found = api.verdict_graph(verdict)
    if found is None:
        early = isinstance(verdict, api.Unknown) and verdict.reason in (
            api.Reason.INTERRUPTED,
            api.Reason.TIMEOUT,
        )
        why = (
            "there was no abstract graph yet"
            if early
            else "there is no abstract graph; use --engine predicates"
        )
        print_line(f"not written: {path} ({why})", error=True)
        return
    deliver_file(path, lambda: api.render_graph(problem, verdict, found, Path(path).suffix), quiet)
