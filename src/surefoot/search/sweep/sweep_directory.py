"""The run directory of a sweep: every finished result is a JSON file, so that a stopped sweep goes on.

`sweep.json` says what is asked. `results/KEY.json` is the result of one problem as `surefoot check --json`
writes it, with its line of the table; `results/KEY.html` is its page. A file is there as a whole or not at
all. A sweep goes on only where nothing has changed: the same problems, the same version, and the files that
results rest on have the digests that stand in them. What could not be read or failed is no result, and is
asked again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.model_file import file_sha256
from surefoot.formats.output_file import write_file
from surefoot.formats.result_json import result_relative_to
from surefoot.search.sweep.sweep_plan import SweepUnit, unit_to_json
from surefoot.search.sweep.sweep_row import SweepRow, UnitReport, answer_from_json, answer_to_json

SCHEMA = 1


class SweepDirectory:
    """Open for one process at a time. `resume`: go on with what the folder has; without it, a new folder."""

    def __init__(self, folder: Path, units: Sequence[SweepUnit], surefoot: str, resume: bool) -> None:
        self.folder = folder
        (folder / "results").mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise InvalidProblem(
                f"another process is at work in `{folder}`", fix="wait for it, or choose another folder"
            ) from None
        try:
            self.digests: dict[str, str] = {}  # whole path -> of all files that results rest on
            self.rows = self._open(units, surefoot, resume)
        except BaseException:
            self.close()
            raise

    def _open(self, units: Sequence[SweepUnit], surefoot: str, resume: bool) -> dict[str, SweepRow]:
        asked = {"schema": SCHEMA, "surefoot": surefoot, "problems": [unit_to_json(u) for u in units]}
        path = self.folder / "sweep.json"
        known = _read_object(path)
        if known is None:
            if any((self.folder / "results").iterdir()):
                what = f"`{self.folder}` has results, and not the sweep that they belong to"
                raise InvalidProblem(what, fix="choose another folder")
            write_file(path, json.dumps(asked, indent=1) + "\n")
            return {}
        if known != asked:
            version = known.get("surefoot") != surefoot
            what = "by another version of surefoot" if version else "of other problems, times or seeds"
            raise InvalidProblem(f"`{self.folder}` has a sweep {what}", fix="choose another folder")
        if not resume and any((self.folder / "results").iterdir()):
            what = f"`{self.folder}` has results of this sweep already"
            raise InvalidProblem(what, fix="go on with --resume, or choose another folder")
        found = (self._recall(unit) for unit in units)
        return {row.unit.key: row for row in found if row is not None}

    def _recall(self, unit: SweepUnit) -> SweepRow | None:
        """What is known of a problem; None if nothing whole is."""
        name = f"results/{unit.key}.json"
        document = _read_object(self.folder / name)
        if document is None:
            return None
        try:
            answer = answer_from_json(document["sweep"]["answer"])
            inputs = {str(path): str(digest) for path, digest in document["inputs"].items()}
            known = document["sweep"]["problem"] == unit_to_json(unit)
        except (KeyError, TypeError, ValueError, AttributeError):
            known = False
        if not known:
            what = f"`{self.folder / name}` is not what a sweep wrote"
            raise InvalidProblem(what, fix="remove it: it is asked again then")
        for path, digest in inputs.items():
            self._require_unchanged(self.folder / "results" / path, digest)
        page = f"results/{unit.key}.html"
        return SweepRow(unit, answer, name, page if (self.folder / page).is_file() else None)

    def _require_unchanged(self, path: Path, digest: str) -> None:
        whole = os.path.abspath(path)
        now = self.digests.get(whole) or (file_sha256(Path(whole)) if os.path.isfile(whole) else "")
        if now != digest:
            what = f"`{os.path.relpath(whole)}` has changed since results here were found"
            raise InvalidProblem(what, fix="put it back, or choose another folder")
        self.digests[whole] = digest

    def changed_input(self, inputs: Mapping[str, str]) -> str | None:
        """A file that is not the one that earlier results rest on."""
        for path, digest in inputs.items():
            if self.digests.setdefault(os.path.abspath(path), digest) != digest:
                return path
        return None

    def record(self, unit: SweepUnit, report: UnitReport) -> SweepRow:
        """Write a result; when this returns it is kept."""
        if report.document is None:
            return SweepRow(unit, report.answer)
        name = f"results/{unit.key}"
        told = {"problem": unit_to_json(unit), "answer": answer_to_json(report.answer)}
        document = result_relative_to(report.document, self.folder / "results") | {"sweep": told}
        if report.page is not None:
            write_file(self.folder / f"{name}.html", report.page)
        write_file(self.folder / f"{name}.json", json.dumps(document, indent=1) + "\n")
        return SweepRow(unit, report.answer, f"{name}.json", None if report.page is None else f"{name}.html")

    def close(self) -> None:
        os.close(self._lock)

    def __enter__(self) -> SweepDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object of a file; None if there is no whole one."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
