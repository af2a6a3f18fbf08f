"""Instances of the predicate abstraction study: the default, other configurations, and all states one by one.

    python -m benchmarks.abstraction --configuration pa-bb-marabou --cap 60 --sizes 4 50 100 145
    python -m benchmarks.abstraction --every 4 --check

Every configuration is stopped after CAP seconds of processor time, that of its solvers included. `--check`
compares the abstract states of the default with those found by enumerating all states. Results go to
`--output` as JSON. Exit 1 if something differs, or an instance of the default is not finished and exact.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.studies.end_cells import abstract_states, counted_states  # noqa: E402

from surefoot_studies.racetrack.abstraction_instances import ABSTRACTIONS, abstraction_starts  # noqa: E402
from surefoot_studies.racetrack.abstraction_runs import DEFAULT, AbstractionRun, build_instance  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--figure", default="pa-1", choices=list(ABSTRACTIONS))
    parser.add_argument("--configuration", nargs="*", default=[])
    parser.add_argument("--cap", type=float, default=60.0)
    parser.add_argument("--widths", type=int, nargs="*")
    parser.add_argument("--sizes", type=int, nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(arguments)
    kept = [
        i
        for i in ABSTRACTIONS[given.figure].instances
        if (not given.widths or i.width in given.widths) and (not given.sizes or i.predicates in given.sizes)
    ][:: given.every]
    abstraction_starts()  # found once for all instances
    rows: list[AbstractionRun] = []
    wrong = 0
    ratios: dict[str, list[float]] = {name: [] for name in given.configuration}
    for instance in kept:
        own, graph = build_instance(instance, DEFAULT, 60.0, _silent)
        rows.append(own)
        told(own)
        wrong += not (own.finished and own.exact and own.seconds < 60)
        if given.check and (graph is None or counted_states(graph) != abstract_states(instance)):
            print("  the abstract states differ from those of all states")
            wrong += 1
        for name in given.configuration:
            other, _ = build_instance(instance, name, given.cap, _silent)
            rows.append(other)
            ratios[name].append(other.seconds / own.seconds)
            told(other, f"{ratios[name][-1]:.0f} times the default")
    for name, several in ratios.items():
        print(f"{name}: median of {len(several)} ratios {median(several):.1f}")
    longest = max(r.seconds for r in rows if r.configuration == DEFAULT)
    print(f"{len(kept)} instances, {wrong} wrong, longest {longest:.2f} s")
    if given.output is not None:
        given.output.write_text(json.dumps([r.facts() for r in rows], indent=1) + "\n", "utf-8")
    return 1 if wrong else 0


def _silent(_: str) -> None:
    pass


def told(one: AbstractionRun, more: str = "") -> None:
    i, end = one.instance, "" if one.finished else ">"
    sizes = f"{i.width:3} {i.predicates:3} {i.starts:5} {one.configuration:14} {one.states:6} states"
    print(f"{sizes} {end:>1}{one.seconds:.2f} s ({one.solver_seconds:.2f} in solvers) {more}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
