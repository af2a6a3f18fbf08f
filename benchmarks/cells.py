"""Racetrack-like cells: many small questions over one network on four integers, answered in one batch.

    python -m benchmarks.cells --widths 16 32 64 --questions 3000 --milp 5 --json rows.json

A question: is there a state of this cell (position x velocity) where the network chooses this of nine
accelerations and the next position is in that cell? Times are CPU seconds of this process. `cold` makes the
table of the network, `warm` is given one with all its counts; `milp` answers the first few of the same
questions one by one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.race_track import MOVES, TRACK, driver
from surefoot.network.evaluate import decide_batch_actions
from surefoot.problem.network import Network
from surefoot.query.query import Sat, Unsat
from surefoot.solvers.milp.solver import decide_milp as milp
from surefoot.solvers.native.batch_queries import (
    BatchQueries,
    QueryOutcome,
    answer_batch_queries,
    argmax_row_system,
    tabulate_network,
)
from surefoot.solvers.native.batch_queries.batch import build_single_query

FIRST, LAST = np.array([0.0, 0, -5, -5]), np.array([TRACK, TRACK, 5.0, 5])
STEPS = np.array(MOVES, dtype=np.float64)
CELLS = ((3, 2), (6, 4), (15, 6))


def questions(net: Network, count: int, cell: tuple[int, int], float32: bool, seed: int) -> BatchQueries:
    rng = np.random.default_rng(seed)
    extent = np.array([cell[0], cell[0], cell[1], cell[1]], dtype=np.float64)
    low = np.floor(rng.uniform(FIRST, LAST - extent + 2, (count, 4)))
    member = np.floor(rng.uniform(low, low + extent))
    chosen = decide_batch_actions(net, member.astype(np.float32)).actions
    action = np.where(rng.random(count) < 0.5, chosen, rng.integers(0, 9, count))
    corner = np.floor((member[:, :2] + member[:, 2:] + STEPS[action]) / cell[0]) * cell[0]
    moved = rng.random((count, 1)) < 0.3
    corner += np.where(moved, cell[0] * rng.integers(-1, 2, (count, 2)), 0)
    rows = np.array([[1, 0, 1, 0], [-1, 0, -1, 0], [0, 1, 0, 1], [0, -1, 0, -1]])
    offsets = np.zeros((count, 12))
    offsets[:, 8::2], offsets[:, 9::2] = corner + cell[0] - 1 - STEPS[action], STEPS[action] - corner
    systems = tuple(argmax_row_system(net, a).and_also(rows) for a in range(9))
    return BatchQueries(
        net, low, low + extent - 1, np.ones(4, dtype=np.bool_), systems, action, offsets, float32
    )


def measured(width: int, cell: tuple[int, int], count: int, by_milp: int, float32: bool) -> dict[str, object]:
    net = driver(width)
    asked = questions(net, count, cell, float32, width + cell[0])
    started = time.process_time()
    found = answer_batch_queries(asked)
    cold = time.process_time() - started
    table = tabulate_network(net, FIRST, LAST, float32)
    answer_batch_queries(asked, table=table)
    started = time.process_time()
    again = answer_batch_queries(asked, table=table)
    warm = time.process_time() - started
    assert (again.outcomes == found.outcomes).all()
    used, ratio, disagreements = [], None, 0
    for i in range(by_milp):
        single = build_single_query(asked, i)
        assert single is not None
        started = time.process_time()
        other = milp(single, 0, 60.0)
        used.append(time.process_time() - started)
        expected = {QueryOutcome.SAT: Sat, QueryOutcome.UNSAT: Unsat}.get(QueryOutcome(found.outcomes[i]))
        if not float32 and isinstance(other, Sat | Unsat) and not isinstance(other, expected or object):
            disagreements += 1
    if used:
        ratio = round(float(np.mean(used)) / (cold / count))
    return {
        "net": f"{width}x{width}",
        "cell": "x".join(map(str, (cell[0], cell[0], cell[1], cell[1]))),
        "arithmetic": "float32" if float32 else "real",
        "questions": count,
        "outcomes": np.bincount(found.outcomes, minlength=4).tolist(),
        "cold_us": round(1e6 * cold / count, 1),
        "warm_us": round(1e6 * warm / count, 1),
        "milp_ms": round(1e3 * float(np.mean(used)), 2) if used else None,
        "milp_over_cold": ratio,
        "milp_disagrees": disagreements,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--widths", type=int, nargs="*", default=[16, 32, 64])
    parser.add_argument("--questions", type=int, default=3000)
    parser.add_argument("--milp", type=int, default=5, help="how many questions milp answers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for width in options.widths:
        for cell in CELLS:
            for float32 in (False, True):
                by_milp = 0 if float32 else options.milp
                rows.append(measured(width, cell, options.questions, by_milp, float32))
                print(" ".join(f"{k}={v}" for k, v in rows[-1].items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
