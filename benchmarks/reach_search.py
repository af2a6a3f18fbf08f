"""The search of `reach` alone: `python -m benchmarks.reach_search CAP MODEL [--property P] [--policy FILE]`.

Prints processor seconds of the engine in this process, after imports and reading, and of what it starts; and
the kind of its answer. Nothing is certified here.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from time import process_time
from typing import Any

from surefoot import api
from surefoot.engines.reach import Reach
from surefoot_studies.named_problem import load_named_problem


def read_question(model: str, wanted: str | None, policy: Path | None) -> api.Problem:
    if model.endswith(".toml"):
        found: api.Problem = api.load(model, wanted)
        return found
    (problem,) = load_named_problem(model, policy=policy).problems.values()
    return api.discretise(problem, continuous=True)


def time_search(problem: api.Problem, cap: float) -> dict[str, Any]:
    engine, budget = Reach(), api.Budget(cap)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), process_time()
    verdict = engine.check(problem, budget)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = process_time() - began + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"kind": type(verdict).__name__.lower(), "seconds": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cap", type=float)
    parser.add_argument("model")
    parser.add_argument("--property")
    parser.add_argument("--policy", type=Path)
    given = parser.parse_args()
    problem = read_question(given.model, given.property, given.policy)
    Reach().objection(problem)  # imports what it needs
    print(json.dumps(time_search(problem, given.cap)))


if __name__ == "__main__":
    main()
