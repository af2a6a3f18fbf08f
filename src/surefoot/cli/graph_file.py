"""`--graph FILE`: the abstract graph beside a verdict, in the format that the name of the file asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surefoot.cli.output import check_writable, write_file
from surefoot.errors import InvalidProblem
from surefoot.report.graph import as_dot, as_json
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Holds, Proved, Unknown, Verdict, Violated

FORMATS = {".dot": as_dot, ".json": as_json}


def check_graph(path: str | None, inputs: Sequence[Path]) -> None:
    """Refuse a name that says no format, or an output that cannot be written, before any work."""
    if path is None:
        return
    if Path(path).suffix not in FORMATS:
        raise InvalidProblem(
            f"`{path}` is neither a .dot nor a .json file", fix="end its name so", where="--graph"
        )
    check_writable(path, inputs, "--graph")


def write_graph(verdict: Verdict, path: str) -> str:
    """What was done, for stderr."""
    found = verdict.artifact if isinstance(verdict, Proved | Violated | Holds | Unknown) else None
    if not isinstance(found, AbstractGraph):
        return f"not written: {path} (there is no abstract graph; use --engine predicates)"
    write_file(Path(path), FORMATS[Path(path).suffix](found))
    return f"written: {path}"
