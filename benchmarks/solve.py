"""Native against other engines, in one run and on one thread: `make bench-solve`.

    python -m benchmarks.solve --quick --rows 'aurora 48*' --cap 300 --peers marabou highs

Every engine answers every question in a process of its own, and the processor time for building and solving
is compared. CAP counts processor time too; where an engine is stopped by it, its time is a lower bound and
marked `>`. All answers are compared with each other, and witnesses replayed without tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
for _name in THREADS:  # before numpy is imported, here and in every process started from here
    os.environ[_name] = "1"

from benchmarks import ours, ratios  # noqa: E402
from benchmarks.document import document, replayed  # noqa: E402
from benchmarks.questions import Question, query, questions  # noqa: E402
from benchmarks.rival import rival  # noqa: E402
from surefoot.errors import SurefootError  # noqa: E402

PEERS = ("marabou", "marabou-violation", "highs", "z3", "scip", "gurobi")
QUICK_CAP = 20.0
QUICK = (
    *(
        "aurora 48:1:1.0",
        "aurora 48:1:-0.2",
        "aurora 16x16:1:1.0",
        "argmax 16x16:3x2:0",
        "argmax 16x16:6x4:2",
    ),
    *(
        "acasxu 5_7 prop_3",
        "acasxu 1_1 prop_3",
        "planted_needles planted_012_sat_n2_r6",
        "sat_relu sat_v10_c26",
    ),
)
HARD = {
    "acasxu": "1_1 prop_1, 1_1 prop_3, 1_1 prop_4, 1_1 prop_5, 1_1 prop_6, 1_3 prop_2, 1_7 prop_2, "
    "2_1 prop_3, 2_9 prop_1, 3_3 prop_3, 3_6 prop_1, 4_5 prop_10, 4_9 prop_1, 4_9 prop_4, "
    "5_4 prop_4, 5_7 prop_3",
    "sat_relu": "sat_v10_c26, sat_v99_c485, unsat_v24_c66, unsat_v40_c142",
    "cersyve": "lane_keep_finetune_con prop_lane_keep, pendulum_finetune_inv prop_pendulum, "
    "point_mass_pretrain_con prop_point_mass",
    "planted_needles": "planted_010_sat_n6_r10, planted_012_sat_n2_r6, planted_035_unsat_n8_r8, "
    "planted_041_unsat_n8_r6",
    "nn4sys_pensieve": "pensieve_small_simple pensieve_simple_0, pensieve_small_parallel pensieve_parallel_4",
}
FILES = tuple(f"{family} {name}" for family, names in HARD.items() for name in names.split(", "))
DATA = Path(__file__).parents[2] / "shared" / "data" / "queries"
RESULTS = Path(__file__).parent / "results" / "solve.json"


def chosen(options: argparse.Namespace) -> list[Question]:
    """Without a pattern: all of the two generated families, and files that were picked beforehand."""
    data = options.data if options.data.is_dir() else None
    if data is None:
        print(f"no folder {options.data}: questions of VNN-LIB files are left out", file=sys.stderr)
    known = list(questions(data))
    if options.rows:
        return [q for q in known if any(fnmatch(q.title, p) for p in options.rows)]
    if options.quick:
        return [q for q in known if q.title in QUICK]
    return [q for q in known if q.network is None or q.title in FILES]


def measured(question: Question, options: argparse.Namespace) -> dict[str, Any]:
    """All engines on one question, ours first and last: of its two times the larger one counts."""
    asked = query(question)
    row: dict[str, Any] = {"family": question.family, "name": question.name, "expected": question.expected}
    kept = options.earlier.get(question.title, {})
    row["engines"] = {"native": ours.asked(ours.ask_query, asked, seconds=options.cap)}
    if question.network is not None:
        files = (question.network, question.specification)
        row["engines"]["native-files"] = ours.asked(ours.ask_files, *files, seconds=options.cap)
    if question.family == "argmax":
        row["engines"]["native-batch"] = ours.asked(ours.ask_cells, question.name, seconds=options.cap)
    measured_now = {*row["engines"], *options.peers}
    row["engines"] |= {n: {**a, "earlier": True} for n, a in kept.items() if n not in measured_now}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "question.json"
        try:
            file.write_text(json.dumps(document(asked)), encoding="utf-8")
        except SurefootError as error:
            row["left_out"] = error.what
            return row
        for peer in options.peers:
            answer = rival(options.python, peer, file, options.cap)
            if answer["answer"] == "sat":
                answer["replay"] = replayed(asked, answer.pop("point"))
            row["engines"][peer] = answer
    again = ours.asked(ours.ask_query, asked, seconds=options.cap)
    if (
        again["answer"] == row["engines"]["native"]["answer"]
        and again["seconds"] > row["engines"]["native"]["seconds"]
    ):
        row["engines"]["native"] = again
    return row


def ours_is_wrong(row: dict[str, Any]) -> bool:
    return any(name.startswith("native") for name in ratios.contradictions(row))


def arguments(given: Sequence[str]) -> argparse.Namespace:
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solve", description=summary)
    parser.add_argument("--quick", action="store_true", help=f"a few questions, {QUICK_CAP:g} s each")
    parser.add_argument("--rows", nargs="*", metavar="GLOB", help="such as 'aurora 48*' or 'acasxu *'")
    parser.add_argument("--cap", type=float, help="seconds of processor time for an answer; default 300")
    parser.add_argument(
        "--peers", nargs="*", default=PEERS, choices=PEERS, metavar="NAME", help=" ".join(PEERS)
    )
    parser.add_argument(
        "--python", type=Path, default=Path(".venv-bench/bin/python"), help="of the other engines"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of VNN-LIB files")
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument(
        "--again", type=Path, help="a results file: engines not asked now keep their answers in it"
    )
    options = parser.parse_args(given)
    options.earlier = answers(options.again) if options.again else {}
    options.cap = options.cap or (QUICK_CAP if options.quick else 300.0)
    return options


def answers(file: Path) -> dict[str, dict[str, Any]]:
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return {f"{row['family']} {row['name']}": row["engines"] for row in rows}


def main(given: Sequence[str]) -> int:
    options = arguments(given)
    rows: list[dict[str, Any]] = []
    for question in chosen(options):
        rows.append(measured(question, options))
        print(ratios.line(rows[-1]), flush=True)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        report = {
            "machine": "2 cores, shared",
            "cap": options.cap,
            "rows": rows,
            "ratios": ratios.table(rows),
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(ratios.shown(ratios.table(rows)))
    return 1 if not rows or any(ours_is_wrong(row) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
