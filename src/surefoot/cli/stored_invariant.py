"""An invariant from a result file, as a condition to be proved again."""

from __future__ import annotations

from pathlib import Path

from surefoot.cli.stored_json import read_json
from surefoot.errors import InvalidProblem
from surefoot.formats.result_json import from_json
from surefoot.problem.parse import parse_term
from surefoot.problem.term import Term
from surefoot.verdict.verdict import Found


def read_invariant(path: Path) -> Term:
    """The condition that a stored tipping point or invariant says of every state. A claim, no more."""
    fix = "give a file that `surefoot invariant --json` wrote"
    data = read_json(path)
    try:
        verdict = from_json(data).result.verdict
    except InvalidProblem as error:
        raise error.at(str(path)) from None
    artifact = verdict.artifact if isinstance(verdict, Found) else None
    condition = artifact.get("condition") if isinstance(artifact, dict) else None
    if not isinstance(condition, str):
        raise InvalidProblem("the result holds no invariant", fix=fix, where=str(path))
    try:
        return parse_term(condition)
    except InvalidProblem as error:
        raise error.at(str(path)) from None
