"""Proved boundaries, kept from one session to the next.

A boundary takes a second or some to prove. The table is written to a folder of the user's, under a name made
of its method, precision and risk, with the digest of its content; a file that is damaged, was written by
another version of the proof or is about something else is ignored and made again. Where the folder cannot be
written, nothing happens. The digest finds accidents. It is no evidence against somebody who can write to the
user's files.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile

from surefoot.errors import SurefootError
from surefoot.solvers.sampling.boundary.coverage import ProvedBoundary
from surefoot.solvers.sampling.boundary.table import Boundary

_VERSION = 1  # of the proof: to be raised whenever it is changed


def user_folder(environment: Mapping[str, str]) -> Path | None:
    """Where the user keeps what can be made again ($XDG_CACHE_HOME, ~/.cache); None without a home."""
    if chosen := environment.get("XDG_CACHE_HOME"):
        return Path(chosen) / "surefoot"
    return Path(environment["HOME"]) / ".cache" / "surefoot" if environment.get("HOME") else None


def load_or_prove(
    folder: Path | None, method: str, eps: Fraction, delta: Fraction, make: Callable[[], ProvedBoundary]
) -> ProvedBoundary:
    """The boundary from the folder if it is there and sound, otherwise made now and put there."""
    if folder is None:
        return make()
    head = {"surefoot-boundary": _VERSION, "method": method, "eps": str(eps), "delta": str(delta)}
    name = hashlib.sha256(json.dumps(head).encode()).hexdigest()[:24]
    path = folder / "boundaries" / f"{method}-{name}.json"
    found = _read_boundary(path, head)
    if found is None or Fraction(found.miss) > delta or not found.boundary.is_ordered:
        found = make()
        _write_boundary(path, head, found)
    return found


def _content_digest(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_boundary(path: Path, head: Mapping[str, object]) -> ProvedBoundary | None:
    try:
        stored = json.loads(path.read_text(encoding="ascii"))
        content = {key: value for key, value in stored.items() if key != "sha256"}
        if stored["sha256"] != _content_digest(content) or any(content.get(key) != head[key] for key in head):
            return None
        boundary = Boundary(
            Fraction(content["eps"]), tuple(accumulate(int(step) for step in content["steps"]))
        )
        return ProvedBoundary(boundary, float.fromhex(content["miss"]), Fraction(content["level"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, SurefootError):
        return None  # whatever is wrong with it: it is made again


def _write_boundary(path: Path, head: Mapping[str, object], proved: ProvedBoundary) -> None:
    steps = [proved.boundary.least[0], *(b - a for a, b in pairwise(proved.boundary.least))]
    content = {**head, "level": str(proved.level), "miss": proved.miss.hex(), "steps": steps}
    text = json.dumps({**content, "sha256": _content_digest(content)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False, encoding="ascii") as part:
            part.write(text)
        os.replace(part.name, path)  # at once: nobody reads half a file
    except OSError:
        return
