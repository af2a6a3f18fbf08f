"""Random small queries, answered by the native solver and cross-checked with all else that can answer them.

    python -m benchmarks.fuzz --count 20000 --seed 0 --json fuzz.json

Every model is verified exactly, every proof goes to the checker, and every answer is compared with trying all
points (whole inputs), with evaluated points, with MILP and, for piecewise-linear networks, with Z3. The file
is written as the run goes on; a run that was interrupted goes on from there. `--slice 2/8` takes every eighth
query. Exit 1 if there is any disagreement.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

from benchmarks import truth  # noqa: E402
from benchmarks.random_queries import Small, small  # noqa: E402
from surefoot.engines.bmc import verdict_from_proof  # noqa: E402
from surefoot.errors import SurefootError  # noqa: E402
from surefoot.query.check_assignment import assignment_defect  # noqa: E402
from surefoot.query.query import Answer, Proof, Query, Sat, Undecided, Unsat  # noqa: E402
from surefoot.solvers.milp import solver as milp  # noqa: E402
from surefoot.solvers.native.solver import decide_native_query  # noqa: E402
from surefoot.solvers.z3 import solver as z3  # noqa: E402
from surefoot_checker.check import judge_certificate  # noqa: E402
from surefoot_checker.kernel.strict_json import BadCertificate  # noqa: E402

SECONDS = 5.0  # for one answer of one solver
SAMPLES = 400
EVERY = 250  # queries between two writings of the file


@dataclass(slots=True)
class Finding:
    """What happened with one query."""

    answer: str
    compared: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def examined(case: Small, number: int) -> Finding:
    """The native answer, and everything that contradicts it."""
    query = case.query()
    try:
        answer = decide_native_query(query, seconds=SECONDS)
    except SurefootError as error:
        return Finding(f"refused: {error.what}")
    found = Finding(word(answer))
    if isinstance(answer, Sat):
        found.wrong += model(case, query, answer)
    elif isinstance(answer, Unsat):
        certificate(answer.proof, found)
    sampling(case, number, answer, found)
    if not truth.inexact(case) and case.kind != "float32":
        others(query, answer, found, with_z3=not truth.is_finite(case))
    return found


def word(answer: Answer) -> str:
    return (
        f"undecided ({answer.why.value})" if isinstance(answer, Undecided) else type(answer).__name__.lower()
    )


def model(case: Small, query: Query, answer: Sat) -> Iterator[str]:
    """What is wrong with a model. Smooth networks have no exact outputs: there a tiny error is allowed."""
    if case.kind not in ("smooth", "float32"):
        if (trouble := assignment_defect(query, answer.assignment)) is not None:
            yield f"the model is none: {trouble}"
        return
    some = np.array([[float(answer.assignment[v.name]) for v in case.free]])
    if not truth.satisfied(case, some, -truth.SURE)[0]:
        yield "the model is none, not even nearly"
    for v in case.free:
        if not v.low <= answer.assignment[v.name] <= v.high:
            yield f"the model has `{v.name}` out of its bounds"


def certificate(proof: Proof | None, found: Finding) -> None:
    if proof is None:
        found.compared.append("no proof")
        return
    evidence = verdict_from_proof(proof).certificate
    assert evidence is not None
    try:
        verdict = judge_certificate(json.loads(json.dumps(evidence.content)))
    except BadCertificate as error:
        found.wrong.append(f"the certificate cannot be read: {error}")
        return
    if verdict.accepted:
        found.compared.append(f"proof accepted ({proof.arithmetic})")
    else:
        found.wrong.append(f"certificate rejected: {verdict.reason}")


def sampling(case: Small, number: int, answer: Answer, found: Finding) -> None:
    some = truth.points(case, np.random.default_rng([77, number]), SAMPLES)
    margin = truth.SURE if truth.inexact(case) else 0.0
    has_solution = bool(truth.satisfied(case, some, margin).any())
    if has_solution and isinstance(answer, Unsat):
        found.wrong.append("unsat, but a point satisfies it")
    if truth.is_finite(case):
        found.compared.append("all points")
        nearly = has_solution or bool(truth.satisfied(case, some, -margin).any())
        if not nearly and isinstance(answer, Sat):
            found.wrong.append("sat, but no point satisfies it")
    elif has_solution:
        found.compared.append("a point")


def others(query: Query, answer: Answer, found: Finding, with_z3: bool) -> None:
    answers = {"milp": milp.decide_milp(query, seed=0, seconds=SECONDS)}
    if with_z3:
        answers["z3"] = z3.prepare_z3(query, 0)((), SECONDS)
    for name, other in answers.items():
        if isinstance(other, Undecided):
            found.compared.append(f"{name} undecided")
            continue
        found.compared.append(name)
        if not isinstance(answer, Undecided) and type(other) is not type(answer):
            found.wrong.append(f"{word(answer)}, but {name} says {word(other)}")


def arguments(given: Sequence[str]) -> argparse.Namespace:
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=summary)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slice", default="0/1", metavar="I/N", help="only the queries I, I + N, I + 2N, …")
    parser.add_argument("--json", type=Path, help="summary; a run goes on from it")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    options = arguments(given)
    first, step = (int(n) for n in options.slice.split("/"))
    report: dict[str, Any] = {"seed": options.seed, "slice": options.slice, "next": first, "seconds": 0.0}
    report |= {"answers": {}, "comparisons": {}, "disagreements": []}
    if options.json and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
        if (report["seed"], report["slice"]) != (options.seed, options.slice):
            print(f"{options.json} is of another seed or slice", file=sys.stderr)
            return 2
    answers, comparisons = Counter(report["answers"]), Counter(report["comparisons"])
    before, started = report["seconds"], time.process_time()
    for number in range(report["next"], options.count, step):
        case = small(options.seed, number)
        found = examined(case, number)
        answers[f"{case.kind} {found.answer}"] += 1
        comparisons.update(found.compared)
        for what in found.wrong:
            print(f"DISAGREEMENT seed {options.seed} query {number} ({case.kind}): {what}", flush=True)
            report["disagreements"].append({"number": number, "kind": case.kind, "what": what})
        report |= {"next": number + step, "seconds": round(before + time.process_time() - started, 1)}
        report |= {"answers": dict(sorted(answers.items())), "comparisons": dict(sorted(comparisons.items()))}
        if options.json and ((number - first) // step % EVERY == EVERY - 1):
            written(options.json, report)
    if options.json:
        written(options.json, report)
    print(json.dumps(report, indent=1))
    return 1 if report["disagreements"] else 0


def written(file: Path, report: dict[str, Any]) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
