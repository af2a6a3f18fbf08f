"""Reference values of the PRISM Benchmark Suite: the `// RESULT` lines of its property files.

    python -m benchmarks.prism_results [--rows GLOB …] [--models FOLDER] [--cap SECONDS] [--no-check]
        [--json FILE]

A row is a model with constants, as the file `models` of its folder lists them, and a question with a line
`// RESULT (constants): value` in front of it. Each is asked for an interval within so many seconds, whose
certificate is given to the checker unless --no-check is given.
PRISM computes its values by iteration, up to a relative error of 1e-6 or so: a row agrees if its value is
that near to the interval. A row without an answer in time is named and is no failure; one that disagrees is.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.errors import SurefootError
from surefoot.formats.model_file import read_model
from surefoot.problem.property import Threshold
from surefoot.verdict.threshold import compare_with_threshold, threshold_of
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

MODELS = Path(__file__).parents[2] / "shared" / "data" / "prism"
PRECISION = Fraction(1, 10**6)  # of PRISM's values, relative
_RESULT = re.compile(r"//\s*RESULT\s*(?:\(([^)]*)\))?\s*:\s*(\S+)")


@dataclass(frozen=True, slots=True)
class ResultRow:
    model: Path
    constants: tuple[str, ...]
    questions: Path
    question: str
    value: str

    @property
    def name(self) -> str:
        given = ",".join(self.constants)
        return f"{self.model.stem}{f'({given})' if given else ''} {self.question}"


def model_rows(folder: Path) -> list[tuple[Path, tuple[str, ...]]]:
    """The models of a folder with their constants, as `models` lists them; commented lines too."""
    found: list[tuple[Path, tuple[str, ...]]] = []
    for line in (folder / "models").read_text(encoding="utf-8").splitlines():
        words = line.lstrip("#").split()
        if words and (folder / words[0]).is_file():
            constants = words[2].split(",") if len(words) > 2 and words[1] == "-const" else []
            found.append((folder / words[0], tuple(constants)))
    return found


def result_rows(models: Path = MODELS) -> Iterator[ResultRow]:
    """Every model that a result is about, with the constants that the result names."""
    for folder in sorted(path for path in models.iterdir() if (path / "models").is_file()):
        known = model_rows(folder)
        for file in sorted(f for f in folder.iterdir() if f.suffix in (".props", ".pctl", ".csl")):
            waiting: list[tuple[set[str], str]] = []
            for line in file.read_text(encoding="utf-8").splitlines():
                if found := _RESULT.search(line):
                    given = {c.replace(" ", "") for c in (found[1] or "").split(",") if c.strip()}
                    waiting.append((given, found[2]))
                elif named := re.match(r'\s*"(\w+)"\s*:', line):
                    for given, value in waiting:
                        for model, constants in known:
                            if given <= set(constants):
                                yield ResultRow(model, constants, file, named[1], value)
                    waiting = []


def ask_row(row: ResultRow, seconds: float, *, check: bool = True) -> dict[str, Any]:
    """What came out: `agrees`, `disagrees` or why there is no answer."""
    began = process_time()
    told: dict[str, Any] = {"row": row.name, "reference": row.value}
    try:
        loaded = read_model(
            row.model, constants=row.constants, property_file=row.questions, properties=(row.question,)
        )
        problem = loaded.problems[row.question]
        verdict = Explicit(max_states=20_000_000).check(problem, Budget(seconds))
    except SurefootError as error:
        return {**told, "outcome": f"no answer: {error}"}
    told["seconds"] = round(process_time() - began, 2)
    if not isinstance(verdict, Exact) or verdict.stop:
        return {**told, "outcome": f"no answer: {verdict}"[:200]}
    told |= {"low": _shown(verdict.low), "high": _shown(verdict.high)}
    told["outcome"] = "agrees" if _agrees(row.value, verdict, threshold_of(problem.property)) else "disagrees"
    if check and told["outcome"] == "agrees":
        certificate = build_process_certificate(problem, verdict)
        if certificate is not None:
            judged = judge_certificate(json.loads(json.dumps(certificate.content)))
            told["checker"] = "accepted" if judged.accepted else judged.reason
    return told


def _shown(value: Fraction | None) -> float | str:
    return "infinite" if value is None else float(value)


def _agrees(reference: str, verdict: Exact, threshold: Threshold | None) -> bool:
    if threshold is not None:
        return compare_with_threshold(threshold, verdict) == ("met" if reference == "true" else "missed")
    if reference.lower() in ("infinity", "inf"):
        return verdict.low is None
    if verdict.low is None or verdict.high is None:
        return False
    value = Fraction(reference)
    return verdict.low - abs(value) * PRECISION <= value <= verdict.high + abs(value) * PRECISION


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--cap", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--json", type=Path)
    told = parser.parse_args(arguments)
    found = []
    for row in result_rows(told.models):
        if not any(fnmatch(row.name, pattern) for pattern in told.rows):
            continue
        answer = ask_row(row, told.cap, check=not told.no_check)
        found.append(answer)
        print("  ".join(f"{k} {v}" for k, v in answer.items()), flush=True)
    counts = {
        word: sum(a["outcome"].startswith(word) for a in found) for word in ("agrees", "disagrees", "no")
    }
    print(f"{counts['agrees']} agree, {counts['disagrees']} disagree, {counts['no']} without an answer")
    if told.json:
        told.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if counts["disagrees"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
