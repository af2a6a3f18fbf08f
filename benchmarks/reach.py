"""Networks in closed loop with their plants: answers, seconds of search and check, cells: `make bench-reach`.

    python -m benchmarks.reach --rows 'acc*' --cap 60 --prototype ../shared/prototypes/reach

Rows are those of the competition's category AINNCS (`../shared/data/ainncs`), of the study `closed-loop`, and
the shield paper's plants with the paper's actors in the loop, for ever (`../shared/data/control/nets`). What
is not there is left out, and said. Each row is `surefoot check` in a process of its own on one core (`all`:
its processor seconds, with the start of the program, runs that look for a violation, and the check). Where it
is proved the engine's search is timed once more by itself, and the checker in a process of its own. Beside
them: the prototype, which rounds nothing and certifies nothing, in the same run (the ratio is that of the
searches); and what CORA and JuliaReach print, on other machines.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.closed_loop_rows import CLIMB_RATES, CONTINUOUS_ROWS, SHARED_NETWORKS, write_closed_loop_row

from benchmarks.reach_prototype import PLANT_ROWS, PROTOTYPE_ROWS, time_prototype
from surefoot_studies.closed_loop.problem import FILES, file_properties
from surefoot_studies.control.plants import TABLE_1

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
PROBLEMS = ROOT / "src" / "surefoot_studies" / "closed_loop" / "problems"
SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# Seconds as printed, on other machines: CORA's repeatability package of 2026 (whole examples, with simulation
# and plots) and the executed pages of JuliaReach's documentation (without garbage collection).
PUBLISHED: dict[str, tuple[float | None, float | None]] = {
    "acc_relu": (4.9, 0.9),
    "tora_relu": (12.5, None),
    "tora_sigmoid": (7.0, 0.57),
    "unicycle": (7.4, 23.0),
    "single_pendulum": (8.5, 19.0),
    "docking_wide": (452.0, 0.5),
    "vcas_19_5": (1.0, None),
}
ACTORS = {  # plants of the shield paper, and the file of their actor
    "satellite": "satellite", "dcmotor": "dcmotor", "tape": "tape", "magnetic-pointer": "magnetic_pointer",
    "suspension": "suspension", "biology": "biology", "datacenter-cooling": "datacenter_cooling",
    "quadcopter": "quadcopter", "cartpole": "cartpole", "self-driving": "self_driving",
    "lane-keeping": "lane_keeping", "oscillator": "oscillator",
}  # fmt: skip
SHIPPED = ("pendulum", "four-car-platoon", "eight-car-platoon")  # whose actors are not public: ours


@dataclass(frozen=True, slots=True)
class ReachRow:
    """`arguments` of `surefoot check`; `prototype`: what the prototype calls it, if it has it."""

    name: str
    group: str
    arguments: tuple[str, ...]
    prototype: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    name: str
    group: str
    verdict: str
    certified: bool
    all_seconds: float  # processor time of `surefoot check`
    search_seconds: float | None  # of the engine by itself, after imports
    check_seconds: float | None  # of the checker, in a process of its own
    cells: int | None  # leaves of the certificate's trees
    periods: int | None  # the longest run in it
    prototype: str = ""
    prototype_seconds: float | None = None
    cora_seconds: float | None = None
    juliareach_seconds: float | None = None
    detail: str = field(default="", repr=False)

    @property
    def ratio(self) -> float | None:
        """Ours to the prototype's."""
        both = self.search_seconds is not None and self.prototype_seconds
        return self.search_seconds / self.prototype_seconds if both else None  # type: ignore[operator]


def list_rows(folder: Path) -> Iterator[ReachRow]:
    """All rows whose files are there; problem files of the competition are written into the folder."""
    if SHARED_NETWORKS.is_dir():
        for name in (*CONTINUOUS_ROWS, *CLIMB_RATES):
            path = write_closed_loop_row(name, folder)
            yield ReachRow(name, "AINNCS", (str(path),), ("row", name) if name in PROTOTYPE_ROWS else ())
    else:
        print(f"left out: AINNCS, as there is no {SHARED_NETWORKS.name} beside this repository")
    for name in FILES:
        for wanted in file_properties(name):
            told = (str(PROBLEMS / f"{name}.toml"), "--property", wanted)
            translated = () if name.startswith("gym-") else ("study", name, wanted)
            yield ReachRow(f"{name}/{wanted}", "closed-loop", told, translated)
    nets = SHARED / "data" / "control" / "nets"
    for name in TABLE_1:
        own = ROOT / "src" / "surefoot_studies" / "control" / "assets" / f"{name}.onnx"
        actor = own if name in SHIPPED else nets / f"{ACTORS[name]}.onnx"
        if actor.is_file():
            known = ("plant", name) if name in PLANT_ROWS else ()
            yield ReachRow(f"control/{name}", "control", (f"control/{name}", "--policy", str(actor)), known)
        else:
            print(f"left out: control/{name}, as its actor is not there")


def run_row(row: ReachRow, cap: float, extra: Sequence[str], prototype: Path | None) -> Measured:
    """One row: our answer with its certificate checked again, then the prototype."""
    with tempfile.TemporaryDirectory() as folder:
        told, certificate = Path(folder, "result.json"), Path(folder, "certificate.json")
        command = [
            sys.executable,
            "-m",
            "surefoot",
            "check",
            *row.arguments,
            "--timeout",
            str(cap),
            "--quiet",
        ]
        command += ["--json", str(told), "--certificate", str(certificate), *extra]
        seconds, made = time_process(command)
        result = json.loads(told.read_text("utf-8")) if told.is_file() else {}
        result = result[0] if isinstance(result, list) else result
        checked, cells, periods, search = None, None, None, None
        if certificate.is_file():
            checked, judged = time_process([sys.executable, "-m", "surefoot_checker", str(certificate)])
            if judged.returncode:
                raise SystemExit(f"{row.name}: the checker refuses the certificate: {judged.stdout}")
            cells, periods = count_cells(json.loads(certificate.read_text("utf-8")))
        if cells:  # a violation has none
            again = [sys.executable, "-m", "benchmarks.reach_search", str(cap), *row.arguments]
            search = json.loads(time_process(again)[1].stdout)["seconds"]
    verdict: Mapping[str, Any] = result.get("verdict", {})
    said, theirs = "", None
    if prototype is not None and row.prototype:
        said, theirs = time_prototype(prototype, row.prototype, cap)
    cora, julia = PUBLISHED.get(row.name, (None, None))
    return Measured(
        row.name,
        row.group,
        str(verdict.get("kind", f"exit {made.returncode}")),
        bool(result.get("certified", False)),
        seconds,
        search,
        checked,
        cells,
        periods,
        said,
        theirs,
        cora,
        julia,
        str(verdict.get("detail", made.stderr.strip())),
    )


def time_process(command: Sequence[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Processor seconds of a process and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = subprocess.run(command, capture_output=True, text=True, env=os.environ | SINGLE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, made


def count_cells(certificate: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Leaves of all trees of a certificate of reachable sets, and the periods of the longest branch."""
    if "reach" not in certificate:
        return None, None
    walked = [measure_tree(region["tree"]) for region in certificate["reach"].get("regions", [])]
    return sum(leaves for leaves, _ in walked), max((periods for _, periods in walked), default=0)


def measure_tree(node: Any) -> tuple[int, int]:
    """Leaves and longest branch of a tree (docs/certificates.md)."""
    match node:
        case ["split", _, *parts] | ["cut", _, *parts]:
            return _join_branches(map(measure_tree, parts))
        case ["fork", dict() as parts]:
            return _join_branches(map(measure_tree, parts.values()))
        case ["run", int(periods), end, *_]:
            leaves, more = measure_tree(end)
            return leaves, periods + more
        case _:
            return 1, 0


def _join_branches(branches: Iterable[tuple[int, int]]) -> tuple[int, int]:
    found = list(branches)
    return sum(leaves for leaves, _ in found), max((periods for _, periods in found), default=0)


TITLES = {  # with the width of the column; names to the left
    "row": 32, "answer": 18, "all s": 8, "search s": 9, "check s": 8, "cells": 6, "periods": 8,
    "prototype": 22, "its s": 7, "ratio": 6, "CORA s": 7, "JuliaReach s": 12,
}  # fmt: skip


def table_line(row: Measured) -> tuple[str, ...]:
    answer = row.verdict + (", certified" if row.certified else "")
    ours = (row.all_seconds, row.search_seconds, row.check_seconds)
    theirs = (row.prototype_seconds, row.ratio, row.cora_seconds, row.juliareach_seconds)
    counts = ("-" if n is None else str(n) for n in (row.cells, row.periods))
    return (row.name, answer, *map(_show, ours), *counts, row.prototype or "-", *map(_show, theirs))


def _show(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def render_line(parts: Iterable[str]) -> str:
    return " ".join(
        part.ljust(width) if title in ("row", "answer", "prototype") else part.rjust(width)
        for part, (title, width) in zip(parts, TITLES.items(), strict=True)
    )


def write_rows(path: Path, done: Sequence[Measured]) -> None:
    """All rows so far: an interrupted run has written them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*asdict(done[0]), "ratio"])
        writer.writeheader()
        writer.writerows(asdict(row) | {"ratio": row.ratio} for row in done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", nargs="+", default=["*"], help="patterns of names")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds for each row")
    parser.add_argument("--prototype", type=Path, default=SHARED / "prototypes" / "reach")
    parser.add_argument("--no-prototype", action="store_true")
    parser.add_argument(
        "--check", nargs="*", default=[], help="more arguments of `surefoot check`, without --: engine=reach"
    )
    parser.add_argument("--details", action="store_true", help="why an answer is unknown")
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    extra = [
        part
        for text in given.check
        for part in (f"--{text.partition('=')[0]}", text.partition("=")[2])
        if part
    ]
    prototype = None if given.no_prototype or not given.prototype.is_dir() else given.prototype
    if prototype is None:
        print("without the prototype")
    done: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        rows = [r for r in list_rows(Path(folder)) if any(fnmatch(r.name, p) for p in given.rows)]
        print(render_line(TITLES), flush=True)
        for row in rows:
            done.append(run_row(row, given.cap, extra, prototype))
            print(render_line(table_line(done[-1])), flush=True)
            if given.csv:
                write_rows(given.csv, done)
            if given.details and done[-1].detail:
                print(f"    {done[-1].detail}", flush=True)


if __name__ == "__main__":
    main()
