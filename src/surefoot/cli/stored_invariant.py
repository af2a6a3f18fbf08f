"""An invariant from a result file, as a condition to be proved again."""

from __future__ import annotations

import json
from pathlib import Path

from surefoot.errors import InvalidProblem
from surefoot.formats.inert.file import require_file
from surefoot.formats.result_json import from_json
from surefoot.problem.parse import parse_term
from surefoot.problem.term import Term
from surefoot.verdict.verdict import Found

LARGEST_BYTES = 1 << 28


def read_invariant(path: Path) -> Term:
    """The condition that a stored tipping point or invariant says of every state. A claim, no more."""
    require_file(path)
    fix = "give a file that `surefoot invariant --json` wrote"
    if path.stat().st_size > LARGEST_BYTES:
        raise InvalidProblem("larger than 256 MB", where=str(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InvalidProblem("not a JSON document", fix=fix, where=str(path)) from None
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
