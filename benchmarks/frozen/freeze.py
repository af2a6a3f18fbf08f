"""`make`: certificates and their verdicts, rows and their answers, into a folder."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import mkstemp
from time import monotonic
from typing import Any

from benchmarks.frozen import forged, proofs
from benchmarks.frozen.comparison import tree_checker
from benchmarks.frozen.judge import judge_files
from benchmarks.frozen.rows import find_rows, measure_rows, measure_speed
from benchmarks.frozen.stored import Made, Store, write_entries
from benchmarks.frozen.timing import load_program, run_once

LONGEST = 20.0  # processor seconds of the checker; what takes longer is not stored
DAMAGED = ("examples", "random processes", "studies", "random problems", "commands", "published")
MOST_DAMAGED = 25  # certificates of each of these sources

Source = Callable[[int, Path | None], Iterator[Made]]


def freeze(given: argparse.Namespace) -> int:
    begun = monotonic()
    given.folder.mkdir(parents=True, exist_ok=True)
    shared = given.shared.resolve() if given.shared else None
    if given.certificates:
        freeze_certificates(given, shared)
    if given.rows:
        freeze_rows(given, shared)
    print(f"made in {monotonic() - begun:.0f} s")
    return 0


def freeze_certificates(given: argparse.Namespace, shared: Path | None) -> None:
    folder = given.folder / "certificates"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    load_program()
    store = Store(folder)
    sources: Mapping[str, Source] = {**forged.SOURCES, **proofs.SOURCES}
    for name, source in sources.items():
        if given.only in name:
            began = monotonic()
            made = collect(source, given.seed, shared)
            if name in DAMAGED:
                made += forged.damage_certificates(spread(made, MOST_DAMAGED), 1, given.seed)
            kept = sum(store.add(one) for one in made)
            print(f"{name}: {kept} certificates in {monotonic() - began:.0f} s", flush=True)
    names = [entry.name for entry in store.entries]
    found = dict(judge_files(given.checker or tree_checker(), folder, names, LONGEST, given.jobs))
    for name, verdict in found.items():
        if verdict["verdict"] == "too long":
            store.remove(name)
    write_entries(given.folder / "verdicts.json", store.entries, found)
    print(count_verdicts([{**asdict(e), **found[e.name]} for e in store.entries]), flush=True)


def collect(source: Source, seed: int, shared: Path | None) -> list[Made]:
    """All that a source makes, in a process of its own: what it leaves in memory is gone afterwards."""
    number, name = mkstemp()
    os.close(number)
    file = Path(name)

    def write_all(_: Path) -> dict[str, Any]:
        with file.open("w") as stream:
            for made in source(seed, shared):
                files = {named: data.hex() for named, data in made.files.items()}
                stream.write(json.dumps({**asdict(made), "files": files}) + "\n")
        return {}

    try:
        facts = run_once(write_all, file.parent / "no such cache").facts
        lines = [json.loads(line) for line in file.read_text().splitlines()]
    finally:
        file.unlink()
    if facts:
        print(f"  a source failed: {facts}", file=sys.stderr, flush=True)
    return [Made(**{**one, "files": {k: bytes.fromhex(v) for k, v in one["files"].items()}}) for one in lines]


def spread(made: Sequence[Made], most: int) -> list[Made]:
    """So many of them, from the first to the last."""
    return list(made[:: max(1, len(made) // most)])[:most]


def count_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each kind of claim."""
    kinds = Counter((row["kind"].split(",")[0], row["verdict"]) for row in rows)
    lines = [f"  {kind}: {number} {verdict}" for (kind, verdict), number in sorted(kinds.items())]
    total = Counter(row["verdict"] for row in rows)
    words = ", ".join(f"{number} {verdict}" for verdict, number in sorted(total.items()))
    seconds = sum(row["seconds"] for row in rows)
    wrong = sum(row["true"] is False and row["verdict"] == "accepted" for row in rows)
    lines.append(
        f"{len(rows)} certificates: {words}; {seconds:.0f} s; known to be false and accepted: {wrong}"
    )
    return "\n".join(lines)


def freeze_rows(given: argparse.Namespace, shared: Path | None) -> None:
    """With `--only` these rows alone, with `--resume` those that are missing; others that are there stay."""
    load_program()
    known, cache, file = list(find_rows(shared)), given.folder / "cache", given.folder / "rows.json"
    rows: dict[str, dict[str, Any]] = {}
    if (given.only or given.resume) and file.exists():
        rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    document: dict[str, Any] = {
        "shared": str(shared) if shared else None,
        "python": platform.python_version(),
        "calibration": measure_speed(cache),
    }
    begun, total = monotonic(), 0.0
    wanted = [row for row in known if given.only in row.name and not (given.resume and row.name in rows)]
    for row, timed in measure_rows(wanted, cache):
        rows[row.name] = {"name": row.name, **asdict(timed)}
        total += timed.seconds
        document["rows"] = [rows[one.name] for one in known if one.name in rows]
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{total:.0f} s of processor time, {monotonic() - begun:.0f} s to measure")
