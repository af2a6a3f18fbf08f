"""Reference values of the Quantitative Verification Benchmark Set, row by row.

    python -m benchmarks.conformance [--rows GLOB …] [--models FOLDER] [--json FILE]

Each row is asked twice: for an interval of relative width 1e-6, which must contain the reference, and, if the
model is small enough, for the exact number, which must be the reference where that is rational. Both have
certificates, which are given to the checker. A line for each row says what came out; the command fails if one
is not as it should be.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.formats.jani import read_jani
from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

MODELS = Path(__file__).parents[2] / "shared" / "data" / "jani" / "qvbs"
SMALL = 10_000  # states; exact numbers are asked below
SECONDS = 600.0
ROUNDED = Fraction(1, 10**12)  # relative; references without a fraction were rounded to doubles


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "conformance.json").read_text(encoding="utf-8"))
    return found


def name_of(row: dict[str, Any]) -> str:
    return f"{Path(row['file']).stem} {row['property']} {row['states']}"


def problem_of(row: dict[str, Any], folder: Path) -> Problem:
    given = {name: str(value).lower() for name, value in row["params"].items()}
    model = read_jani(folder / row["file"], given)
    return Problem(row["property"], model.environment, None, model.properties[row["property"]])


def answered(problem: Problem, exact: bool) -> dict[str, Any]:
    """The interval, the time it took, and what the checker says about its certificate."""
    began = process_time()
    verdict = Explicit(exact=exact).check(problem, Budget(SECONDS))
    seconds = process_time() - began
    if not isinstance(verdict, Exact):
        return {"flaw": f"no answer: {verdict}", "seconds": seconds}
    began, flaw = process_time(), "no certificate"
    if (certificate := build_process_certificate(problem, verdict)) is not None:
        found = judge_certificate(json.loads(json.dumps(certificate.content)))
        flaw = "" if found.accepted else f"the certificate is refused: {found.reason}"
    return {"low": verdict.low, "high": verdict.high, "flaw": flaw, "seconds": seconds,
            "checking": process_time() - began}  # fmt: skip


def judged(row: dict[str, Any], folder: Path) -> dict[str, Any]:
    problem = problem_of(row, folder)
    first = answered(problem, exact=False)
    flaw = first["flaw"] or misses(row, first["low"], first["high"])
    result = {"row": name_of(row), **first}
    if not flaw and row["states"] < SMALL:
        exactly = answered(problem, exact=True)
        result["exact seconds"] = exactly["seconds"]
        flaw = exactly["flaw"] or misses(row, exactly["low"], exactly["high"])
        if not flaw and exactly["low"] != exactly["high"]:
            flaw = "not exact"
    return {**result, "flaw": flaw}


def misses(row: dict[str, Any], low: Fraction | None, high: Fraction | None) -> str:
    """Why the interval is not as it should be; nothing if it is."""
    if row["reference"] == "∞":
        return "" if low is None and high is None else "not infinite"
    if low is None or high is None:
        return "infinite"
    reference = Fraction(row.get("exact", row["reference"]))
    is_rational = "exact" in row or reference.denominator == 1
    slack = 0 if is_rational else reference * ROUNDED
    if not low - slack <= reference <= high + slack:
        return f"the reference {float(reference)} is outside of [{float(low)}, {float(high)}]"
    return "" if high - low <= low / 10**6 else "too wide"


def line(result: dict[str, Any]) -> str:
    exactly = f"{result['exact seconds']:8.2f}" if "exact seconds" in result else "       –"
    times = f"{result['seconds']:8.2f} {result.get('checking', 0):8.2f} {exactly}"
    return f"{result['row']:45} {times}  {result['flaw'] or 'as it should be'}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=__doc__)
    parser.add_argument("--rows", nargs="+", default=["*"], metavar="GLOB", help="names of rows")
    parser.add_argument("--models", type=Path, default=MODELS, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    options = parser.parse_args(arguments)
    wanted = [r for r in rows(options.models) if any(fnmatch(name_of(r), g) for g in options.rows)]
    print(f"{'row':45} {'seconds':>8} {'checking':>8} {'exact':>8}  (processor seconds)")
    results = []
    for row in wanted:
        results.append(judged(row, options.models))
        print(line(results[-1]), flush=True)
    bad = sum(bool(r["flaw"]) for r in results)
    print(f"{len(results)} rows, {bad} not as they should be")
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1, default=str) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
