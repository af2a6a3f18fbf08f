"""Random finite systems: the engines and the search through all states must never contradict each other.

    python -m benchmarks.finite_systems --count 300 --json finite.json

With `--abstract`: abstractions of these systems instead, of which nothing false may be proved. With
`--awkward`: the systems of `tests/laws/awkward_systems.py`, one property each, all engines in turns.

Every system is asked one property of each kind (`Never`, `Eventually`, `Recurs`, `Within`) with every engine
that takes it. The table shows the truth, what the engines said and how often. Exit 1 if there is a
contradiction.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.laws.abstracted import said as said_of_abstraction  # noqa: E402
from tests.laws.awkward_systems import awkward  # noqa: E402
from tests.laws.brute_force import truth  # noqa: E402
from tests.laws.contradictions import answer, contradiction, word  # noqa: E402
from tests.laws.finite_systems import problems  # noqa: E402

from surefoot.engines.bmc import Bmc  # noqa: E402
from surefoot.engines.explicit import Explicit  # noqa: E402
from surefoot.engines.induction import Induction  # noqa: E402
from surefoot.engines.recurrence import Recurrence  # noqa: E402
from surefoot.errors import Unsupported  # noqa: E402
from surefoot.problem.validate import validate_problem  # noqa: E402
from surefoot.run import verify  # noqa: E402
from surefoot.solvers import SOLVERS  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402

SECONDS = 20.0  # for one answer


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="systems")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--solver", choices=list(SOLVERS), default="milp")
    parser.add_argument("--abstract", action="store_true", help="free inputs and outputs of the networks")
    parser.add_argument("--awkward", action="store_true", help="systems full of awkward things instead")
    parser.add_argument("--json", type=Path, help="write the table here")
    given = parser.parse_args(arguments)
    solver = SOLVERS[given.solver]()
    engines = (Bmc(solver, depth=8), Induction(solver, depth=6), Recurrence(solver, depth=4), Explicit())
    seen: Counter[tuple[str, str, str, str]] = Counter()
    wrong: list[str] = []
    started = time.monotonic()
    for seed in range(given.first, given.first + given.count):
        if given.abstract or given.awkward:
            found = said_of_abstraction(seed, SECONDS) if given.abstract else said_of_awkward(seed)
            if found is not None:
                seen["freed" if given.abstract else "awkward", found[0], "all", found[1]] += 1
                wrong += [f"seed {seed}: {found[2]}"] if found[2] is not None else []
            continue
        for kind, problem in problems(seed).items():
            validate_problem(problem)
            true = truth(problem)
            for engine in engines:
                said = answer(problem, engine, SECONDS, true)
                if said is not None:
                    said_word, complaint = said
                    seen[kind, true, engine.name, said_word] += 1
                    if complaint is not None:
                        wrong.append(f"{problem.name}, {engine.name}: {complaint}")
                        print(wrong[-1], flush=True)
    seconds = time.monotonic() - started
    for row, count in sorted(seen.items()):
        print(f"{count:6}  {row[0]:<11} {row[1]:<9} {row[2]:<10} {row[3]}")
    answers = f"{sum(seen.values())} answers, {len(wrong)} contradictions"
    print(f"{given.count} systems, {answers}, {seconds:.0f} s")
    if given.json is not None:
        names = ("property", "truth", "engine", "answer")
        document = {
            "systems": given.count,
            "first": given.first,
            "solver": given.solver,
            "seconds": round(seconds, 1),
            "contradictions": wrong,
            "answers": [
                {**dict(zip(names, row, strict=True)), "count": n} for row, n in sorted(seen.items())
            ],
        }
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def said_of_awkward(seed: int) -> tuple[str, str, str | None] | None:
    """The truth, the word for the answer and what is wrong with it; None: infinitely many states."""
    problem = awkward(seed)
    validate_problem(problem)
    try:
        true = truth(problem, limit=300)
    except Unsupported:
        return None
    result = verify(problem, budget=Budget(SECONDS))
    return true, word(result), contradiction(problem, result, true)


if __name__ == "__main__":
    sys.exit(main())
