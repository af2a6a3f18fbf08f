"""Ask one engine one question: prints a line when it is ready and a line with its answer.

    python -m benchmarks.rivals ENGINE FILE CAP

The system ends the process after CAP seconds of processor time beyond the imports.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks.rivals import marabou, milp, smt
from benchmarks.rivals.program import CannotTake, programs

ENGINES = {
    "marabou": (partial(marabou.marabou, strategy="default"), "maraboupy.Marabou"),
    "marabou-violation": (partial(marabou.marabou, strategy="relu-violation"), "maraboupy.Marabou"),
    "highs": (milp.highs, "highspy"),
    "scip": (milp.scip, "pyscipopt"),
    "gurobi": (milp.gurobi, "gurobipy"),
    "z3": (smt.z3, "z3"),
}


def main(name: str, file: str, cap: float) -> int:
    engine, package = ENGINES[name]
    try:
        import_module(package)
    except ImportError as error:
        tell(answer="absent", detail=str(error))
        return 0
    document = json.loads(Path(file).read_text(encoding="utf-8"))
    started = time.process_time()
    tell(ready=started)
    limit = int(started + cap) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    answer, point = "unsat", {}
    try:
        for program in programs(document, use_bounds=not name.startswith("marabou")):
            found, point = engine(program)
            if found == "sat":
                answer = found
                break
            answer = "unknown" if "unknown" in (found, answer) else answer
    except CannotTake as reason:
        tell(answer="cannot", detail=str(reason))
        return 0
    tell(answer=answer, seconds=time.process_time() - started, point=point)
    return 0


def tell(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
