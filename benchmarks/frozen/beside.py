"""Rows of another checkout, measured on request: a process of that tree that answers one name after another.

Seconds of two trees can be compared only if both were measured on the same machine at the same time. The
process is `python -m benchmarks.frozen serve FOLDER` in that checkout, with its own `.venv`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from benchmarks.frozen.timing import run_once, time_work


class Beside:
    """Asks the other tree."""

    def __init__(self, tree: Path, folder: Path, shared: Path | None) -> None:
        words = ["serve", str(folder.resolve()), *(["--shared", str(shared)] if shared else [])]
        python = tree.resolve() / ".venv" / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"error: {tree}: there is no `.venv`; fix: name a checkout after `make setup`")
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.frozen", *words],
            cwd=tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def measure(self, name: str, *, once: bool = False) -> float | None:
        """Processor seconds of a row over there; None: there is no such row."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"name": name, "once": once}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"error: the other tree ended at the row `{name}`")
        found: float | None = json.loads(line)
        return found


def serve(given: argparse.Namespace) -> int:
    """Over there: a name on each line of stdin, the seconds on stdout."""
    from benchmarks.frozen.rows import find_rows
    from benchmarks.frozen.timing import load_program

    load_program()
    rows = {row.name: row for row in find_rows(given.shared)}
    cache = given.folder / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for line in sys.stdin:
        asked = json.loads(line)
        row = rows.get(asked["name"])
        if row is None:
            print("null", flush=True)
            continue
        if row.prepare is not None:
            row.prepare()
        measure = run_once if asked["once"] else time_work
        print(json.dumps(measure(row.work, cache).seconds), flush=True)
    return 0
