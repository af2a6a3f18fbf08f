"""JSON files that were written by surefoot, or claim to be."""

from __future__ import annotations

import json
from pathlib import Path

from surefoot.errors import InvalidProblem, locate_errors
from surefoot.formats.result_json import StoredResult, result_from_json
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.term.parser import parse_term
from surefoot.term.term import Term
from surefoot.verdict.verdict import Found
from surefoot_checker.kernel.untrusted_file import ReadError, decompress_gzip

LARGEST_BYTES = 1 << 28


def read_json(path: Path) -> object:
    require_file(path)
    if path.stat().st_size > LARGEST_BYTES:
        raise InvalidProblem("larger than 256 MB", where=str(path))
    try:
        text = decompress_gzip(path.read_bytes()).decode("utf-8")
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except ReadError as error:
        raise InvalidProblem(str(error), where=str(path)) from None
    except (ValueError, RecursionError):
        raise InvalidProblem(
            "not a JSON document", fix="give a file that --json wrote", where=str(path)
        ) from None


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A key that is given twice would hide one of its values."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def read_invariant(path: Path) -> Term:
    """The condition that a stored tipping point or invariant says of every state. A claim, no more."""
    fix = "give a file that `surefoot invariant --json` wrote"
    data = read_json(path)
    with locate_errors(str(path)):
        verdict = result_from_json(data).result.verdict
    artifact = verdict.artifact if isinstance(verdict, Found) else None
    condition = artifact.get("condition") if isinstance(artifact, dict) else None
    if not isinstance(condition, str):
        raise InvalidProblem("the result holds no invariant", fix=fix, where=str(path))
    with locate_errors(str(path)):
        return parse_term(condition)


def read_stored_results(data: object, path: Path) -> list[StoredResult]:
    """The results in a JSON file, one or several."""
    documents = data.get("results", [data]) if isinstance(data, dict) else []
    if not isinstance(documents, list) or not documents:
        raise InvalidProblem("not a result of surefoot", fix="give a file that --json wrote", where=str(path))
    with locate_errors(str(path)):
        return [result_from_json(d) for d in documents]
