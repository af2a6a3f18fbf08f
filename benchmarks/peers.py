"""The native solver on the rows on which public verifiers were measured: one thread, 60 s a row.

    python -m benchmarks.peers --rows 'acasxu *' --json peers.json --markdown peers.md
    python -m benchmarks.peers --every --rows 'sat_relu *'   # all rows of the sets, without other columns
    python -m benchmarks.peers --short         # does `--timeout 1` end within 3 s on the hardest rows?

Seconds are in process, after imports, network loading included. Certificates are checked by the stand-alone
checker in a process of its own. `--memory` adds the peak of the resident set.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ[_name] = "1"

from benchmarks import ours  # noqa: E402
from benchmarks.public_verifiers import NAMES, Published, published, seconds  # noqa: E402
from benchmarks.questions import SETS, Question, listed  # noqa: E402
from benchmarks.solve import DATA  # noqa: E402

LIMIT = 60.0
CHECKING = 600.0  # seconds that a check may take
CHECK = """
import sys, time
from surefoot_checker.__main__ import main
started = time.process_time()
code = main([sys.argv[1]])
print(time.process_time() - started)
sys.exit(code)
"""
HARDEST = (
    "acasxu 3_3 prop_2",
    "acasxu 4_2 prop_2",
    "sat_relu unsat_v95_c275",
    "cersyve lane_keep_finetune_inv*",
)
Row = dict[str, Any]


def everything(known: dict[str, Question]) -> list[Published]:
    return [Published(q.family, q.name, q.expected or "open", ("-",) * len(NAMES)) for q in known.values()]


def measured(question: Question, row: Published, limit: float, busy: float) -> Row:
    """Our answer, with certificate and check; what takes more processor time than the limit is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "certificate.json"
        task = (question.network, question.specification)
        found = ours.asked(ours.ask_files, *task, seconds=busy * limit, keep=file)
        if found["seconds"] > limit:
            found["answer"] = "timeout"
        elif file.exists():
            found |= checked(file)
    found |= {"family": row.family, "name": row.name, "expected": row.answer, "peers": row.cells}
    found["contradiction"] = {found["answer"], row.answer} == {"sat", "unsat"}
    return found


def checked(file: Path) -> Row:
    """The stand-alone checker's opinion, in its own process; seconds after imports, as for the search."""
    command = [sys.executable, "-c", CHECK, str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHECKING, check=False)
    except subprocess.TimeoutExpired:
        return {"check": f"not within {CHECKING:g} s"}
    said = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode != 0:
        return {"check": f"refused: {said[0][:200] if said else done.returncode}"}
    return {"check": "accepted", "check_seconds": float(said[-1])}


def cell(row: Row) -> str:
    if row["answer"] in ("sat", "unsat"):
        return f"{row['seconds']:.2f}{' WRONG' if row['contradiction'] else ''}"
    return {"timeout": "T", "cannot": "E", "capped": "T"}.get(row["answer"], row["answer"])


def evidence(row: Row) -> str:
    if row["answer"] == "sat":
        return "replayed"
    if row["answer"] != "unsat":
        return "–"
    if "bytes" not in row:
        return "none"
    how = (
        f"{row['check_seconds']:.2f} s" if row.get("check") == "accepted" else row.get("check", "not checked")
    )
    return f"{row['arithmetic']}, {row['bytes'] / 1000:.0f} kB, {how}"


def markdown(rows: Sequence[Row], memory: bool) -> str:
    titles = ["set", "row", "answer", "surefoot", "evidence", *(["MB"] if memory else []), *NAMES]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for row in rows:
        cells = [row["family"], row["name"], row["expected"], cell(row), evidence(row)]
        cells += [f"{row['memory'] / 1e6:.0f}"] if memory else []
        lines.append(f"| {' | '.join([*cells, *(c.replace('-', '–') for c in row['peers'])])} |")
    return "\n".join([*lines, "", *summary(rows)])


def summary(rows: Sequence[Row]) -> list[str]:
    """Decided rows and medians on the rows that a peer was tried on; an undecided row counts as 60 s."""
    titles = ["set", *(f"{n}: rows, decided / ours, median s / ours" for n in NAMES)]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for family in [*dict.fromkeys(row["family"] for row in rows), "all"]:
        cells = [family]
        for i in range(len(NAMES)):
            both = [r for r in rows if family in (r["family"], "all") and r["peers"][i] != "-"]
            cells.append(_compared(both, i))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *reached(rows)]
    checks = [r["check_seconds"] / r["seconds"] for r in rows if r.get("check") == "accepted"]
    refused = [r["name"] for r in rows if "check" in r and r["check"] != "accepted"]
    wrong = [r["name"] for r in rows if r["contradiction"]]
    lines += [
        "",
        f"decided {sum(map(_decided, rows))} of {len(rows)}; wrong answers {len(wrong)} {' '.join(wrong)}",
    ]
    lines.append(f"certificates accepted {len(checks)}, not accepted {len(refused)} {' '.join(refused)}")
    if checks:
        lines.append(f"check / search, median: {median(checks):.2f}")
    return lines


def reached(rows: Sequence[Row]) -> list[str]:
    """Per set: rows decided, and those of them with a replayed witness or an accepted certificate."""
    lines = []
    for family in dict.fromkeys(row["family"] for row in rows):
        own = [r for r in rows if r["family"] == family]
        decided = [r for r in own if _decided(r)]
        certified = sum(r["answer"] == "sat" or r.get("check") == "accepted" for r in decided)
        middle = f", median {median(r['seconds'] for r in decided):.2f} s" if decided else ""
        largest = max(r.get("memory", 0) for r in own) / 1e6
        text = f"{family}: {len(decided)} of {len(own)} decided, {certified} certified{middle}"
        lines.append(f"{text}, at most {largest:.0f} MB")
    return lines


def _compared(rows: Sequence[Row], index: int) -> str:
    if not rows:
        return "–"
    theirs = [seconds(r["peers"][index]) for r in rows]
    own = [r["seconds"] if _decided(r) else None for r in rows]
    medians = (median(LIMIT if s is None else s for s in several) for several in (theirs, own))
    counts = (sum(s is not None for s in several) for several in (theirs, own))
    return f"{len(rows)}, {' / '.join(map(str, counts))}, {' / '.join(f'{m:.2f}' for m in medians)}"


def _decided(row: Row) -> bool:
    return row["answer"] in ("sat", "unsat") and not row["contradiction"]


def short(questions: Sequence[Question]) -> int:
    """Wall seconds of the whole command with `--timeout 1`, process start included."""
    worst = 0.0
    for question in questions:
        files = [str(question.network), str(question.specification)]
        command = [
            sys.executable,
            "-m",
            "surefoot",
            "vnnlib",
            *files,
            "--timeout",
            "1",
            "--format",
            "vnncomp",
        ]
        started = time.monotonic()
        done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False)
        took = time.monotonic() - started
        worst = max(worst, took)
        print(f"{question.title:<60} {done.stdout.strip().splitlines()[:1]} {took:.2f} s", flush=True)
    print(f"longest {worst:.2f} s")
    return 0 if worst <= 3.0 else 1


def arguments(given: Sequence[str]) -> argparse.Namespace:
    summary_line = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=summary_line)
    parser.add_argument("--rows", nargs="*", default=["*"], metavar="GLOB")
    parser.add_argument("--every", action="store_true", help="all rows, not only those of the table")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per row")
    parser.add_argument("--busy", type=float, default=1.0, help="times more wall time, on a busy machine")
    parser.add_argument("--memory", action="store_true", help="show the peak of the resident set")
    parser.add_argument(
        "--short", action="store_true", help="only: the command with --timeout 1 on the hardest rows"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of VNN-LIB files")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    options = arguments(given)
    known = {q.title: q for family in (*SETS, "lsnc_relu") for q in listed(options.data / family, family)}
    if options.short:
        return short([q for t, q in known.items() if any(fnmatch(t, p) for p in HARDEST)])
    rows = []
    for row in everything(known) if options.every else published():
        if any(fnmatch(f"{row.family} {row.name}", p) for p in options.rows):
            found = measured(known[f"{row.family} {row.name}"], row, options.limit, options.busy)
            rows.append(found)
            text = f"{row.family} {row.name}: {cell(found)} {evidence(found)} {found.get('detail', '')}"
            print(text.rstrip(), flush=True)
            if options.json:
                report = {"machine": "2 cores, shared", "limit": options.limit, "rows": rows}
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    text = markdown(rows, options.memory)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n", encoding="utf-8")
    return 1 if any(r["contradiction"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
