"""Run `surefoot vnnlib` on a folder of queries and compare with the known answers.

    python -m benchmarks.vnnlib_rows FOLDER --timeout 60 --rows '*prop_1*' --json rows.json

FOLDER holds `answers.csv` with columns `onnx`, `vnnlib` and `answer` (or `truth`). Rows run one after the
other. Every `sat` is replayed with onnxruntime at zero tolerance. Exit 1 if an answer contradicts the table
or a replay fails.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.vnnlib_replay import content, replay

GRACE = 20.0  # seconds beyond the timeout in which the command must end by itself
ANSWERS = ("sat", "unsat", "unknown", "timeout")


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    network: Path
    specification: Path
    expected: str  # sat, unsat, or empty where nobody knows


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    answer: str
    seconds: float
    expected: str
    contradiction: bool
    replay: str  # ok, empty when the answer is not sat, or what is wrong

    @property
    def failed(self) -> bool:
        return self.contradiction or self.replay not in ("", "ok")


def queries(folder: Path, pattern: str, most_variables: int | None) -> list[Query]:
    """The rows of answers.csv that are asked for, in its order."""
    found = []
    with (folder / "answers.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            network, specification = existing(folder / row["onnx"]), existing(folder / row["vnnlib"])
            name = f"{Path(row['onnx']).stem} {Path(row['vnnlib']).stem}"
            expected = row.get("answer") or row.get("truth") or ""
            if fnmatch(name, pattern) and (most_variables is None or inputs(specification) <= most_variables):
                found.append(Query(name, network, specification, expected if expected in ANSWERS[:2] else ""))
    return found


def existing(path: Path) -> Path:
    """The file itself, or its gzipped form: the table names neither suffix."""
    packed = path.with_name(path.name + ".gz")
    return packed if not path.exists() and packed.exists() else path


def inputs(specification: Path) -> int:
    return len(re.findall(rb"\(\s*declare-(?:const|fun)\s+X_", content(specification)))


def ask(query: Query, command: str, timeout: float, more: list[str]) -> Row:
    """One query in a process of its own."""
    files = [str(query.network), str(query.specification)]
    started = time.monotonic()
    output = finished(
        [command, "vnnlib", *files, "--format", "vnncomp", "--timeout", f"{timeout:g}", *more], timeout
    )
    seconds = time.monotonic() - started
    answer, _, witness = output.lstrip().partition("\n")
    answer = answer.strip() if answer.strip() in ANSWERS else "error"
    return Row(
        name=query.name,
        answer=answer,
        seconds=round(seconds, 3),
        expected=query.expected,
        contradiction={answer, query.expected} == {"sat", "unsat"},
        replay=replayed(query, witness) if answer == "sat" else "",
    )


def finished(command: list[str], timeout: float) -> str:
    """What the command printed; `timeout` if it had to be stopped with everything it started."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        return process.communicate(timeout=timeout + GRACE)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "timeout"


def replayed(query: Query, witness: str) -> str:
    try:
        return replay(query.network, query.specification, witness)
    except (ValueError, KeyError) as error:  # no values, too few of them, or not numbers
        return f"the witness cannot be read: {error}"


def line(row: Row, width: int) -> str:
    flag = "CONTRADICTION" if row.contradiction else ""
    cells = f"{row.name:<{width}}  {row.answer:<8} {row.seconds:>8.2f}  {row.expected or '-':<8} {flag:<13} "
    return (cells + row.replay).rstrip()


def totals(rows: list[Row]) -> dict[str, object]:
    return {
        "rows": len(rows),
        "answers": dict(Counter(row.answer for row in rows)),
        "agree": sum(row.answer == row.expected for row in rows),
        "contradictions": sum(row.contradiction for row in rows),
        "replayed": sum(row.replay == "ok" for row in rows),
        "failed_replays": sum(row.replay not in ("", "ok") for row in rows),
        "seconds": round(sum(row.seconds for row in rows), 1),
    }


def arguments(given: list[str]) -> argparse.Namespace:
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vnnlib_rows", description=summary)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per row")
    parser.add_argument("--solver", help="passed to surefoot")
    parser.add_argument("--rows", default="*", metavar="GLOB", help="matched against `NETWORK SPECIFICATION`")
    parser.add_argument("--max-variables", type=int, metavar="N", help="only rows with at most N inputs")
    parser.add_argument("--json", type=Path, metavar="FILE")
    installed = str(Path(sys.executable).with_name("surefoot"))
    parser.add_argument("--command", default=installed, help="the surefoot to run")
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    options = arguments(given)
    chosen = queries(options.folder, options.rows, options.max_variables)
    if not chosen:
        print("no row matches", file=sys.stderr)
        return 2
    solver = ["--solver", options.solver] if options.solver else []
    width = max(len(query.name) for query in chosen)
    rows = []
    print(f"{'row':<{width}}  {'answer':<8} {'seconds':>8}  {'expected':<8} {'contradiction':<13} replay")
    for query in chosen:
        rows.append(ask(query, options.command, options.timeout, solver))
        print(line(rows[-1], width), flush=True)
    summary = totals(rows)
    print(" ".join(f"{key}={value}" for key, value in summary.items()))
    if options.json:
        document = {"totals": summary, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
