"""JSON files that were written by surefoot, or claim to be."""

from __future__ import annotations

import json
from pathlib import Path

from surefoot.certify.checker.file import ReadError, unpacked
from surefoot.errors import InvalidProblem
from surefoot.formats.inert.file import require_file

LARGEST_BYTES = 1 << 28


def read_json(path: Path) -> object:
    require_file(path)
    if path.stat().st_size > LARGEST_BYTES:
        raise InvalidProblem("larger than 256 MB", where=str(path))
    try:
        text = unpacked(path.read_bytes()).decode("utf-8")
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
