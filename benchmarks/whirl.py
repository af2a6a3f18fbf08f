"""The k-step queries of whiRL 1.0 and 2.0 through several engines: `make bench-whirl`.

    python -m benchmarks.whirl --rows 'aurora*' --cap 60 --peers highs z3 marabou

For every policy and every k: can k consecutive states, from any state, all be without anything good (the step
of k-induction for liveness)? For properties of one state: is there a state that violates it? All engines are
asked the same query in real arithmetic, in a process of their own, and their processor times are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported, here and in every process started from here

from benchmarks import ours, ratios  # noqa: E402
from benchmarks.document import document, replayed  # noqa: E402
from benchmarks.rival import rival  # noqa: E402
from surefoot.engines.induction import nothing_good  # noqa: E402
from surefoot.errors import SurefootError  # noqa: E402
from surefoot.formats.policy_file import load_policy  # noqa: E402
from surefoot.problem.network import Network  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.problem.property import Never  # noqa: E402
from surefoot.query.query import Query  # noqa: E402
from surefoot.reductions.refutation.violation import encode_violation  # noqa: E402
from surefoot.reductions.unroll import unroll  # noqa: E402
from surefoot.term.term import conjunction_of  # noqa: E402
from surefoot_studies.aurora import problem as aurora  # noqa: E402
from surefoot_studies.deeprm import problem as deeprm  # noqa: E402

PEERS = ("highs", "z3", "marabou", "marabou-violation")
ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "src" / "surefoot_studies"
PUBLISHED = ROOT.parent / "shared" / "data" / "policies"
RESULTS = Path(__file__).parent / "results" / "whirl.json"
LONGEST = 8


@dataclass(frozen=True, slots=True)
class Step:
    """`name` such as `aurora_relu_48 A2 k=3`."""

    family: str
    name: str
    problem: Problem
    states: int

    def query(self) -> Query:
        """About so many consecutive states from anywhere, without rounding errors: what all engines know."""
        from_initial = isinstance(self.problem.property, Never)
        encoded = unroll(self.problem, self.states - 1, from_initial=from_initial, rounding=False)
        if from_initial:
            return encoded.query_with(encode_violation(encoded))
        return encoded.query_with(conjunction_of(nothing_good(encoded)))


def steps() -> Iterator[Step]:
    """All questions about the policies that are there."""
    for file in networks("aurora"):
        network = load_policy(file).network
        yield from of_aurora(file.stem, network)
    for file in networks("deeprm"):
        network = load_policy(file).network
        for title, job in (("D2", deeprm.SMALL), ("D3", deeprm.LARGE)):
            yield Step("deeprm", f"{file.stem} {title}", deeprm.full_cluster(network, job), 1)


def of_aurora(name: str, network: Network) -> Iterator[Step]:
    loss = aurora.liveness_loss(network, largest_ratio=Fraction(8))
    for k in range(1, LONGEST + 1):
        yield Step("aurora A2", f"{name} k={k}", loss, k)
    yield Step("aurora A1", f"{name} k=1", aurora.liveness_excellent(network), 1)
    for title, build in (("A3", aurora.safety_excellent), ("A4", aurora.safety_shallow_buffer)):
        yield Step(f"aurora {title}", name, build(network), 1)


def networks(study: str) -> Iterator[Path]:
    """The policies that ship with a study, and published ones where they are at hand."""
    for folder in (SHIPPED / study / "assets", *sorted(PUBLISHED.glob(f"{study}_*"))):
        yield from sorted(f for f in folder.glob("*.onnx") if "dual" not in f.stem)


def measured(step: Step, options: argparse.Namespace) -> dict[str, Any]:
    """All engines on one question, ours first and last: of its two times the larger one counts."""
    asked = step.query()
    row: dict[str, Any] = {"family": step.family, "name": step.name, "expected": ""}
    first = ours.asked(ours.ask_query, asked, seconds=options.cap)
    row["engines"] = {"native": first}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "question.json"
        try:
            written = document(asked)
        except SurefootError as error:
            return row | {"left_out": error.what}
        if not written["cases"]:
            return row | {"left_out": "bounds alone decide it"}
        file.write_text(json.dumps(written), encoding="utf-8")
        for peer in options.peers:
            answer = rival(options.python, peer, file, options.cap)
            if answer["answer"] == "sat":
                answer["replay"] = replayed(asked, answer.pop("point"))
            row["engines"][peer] = answer
    again = ours.asked(ours.ask_query, asked, seconds=options.cap)
    if again["answer"] == first["answer"] and again["seconds"] > first["seconds"]:
        row["engines"]["native"] = again
    return row


def arguments(given: Sequence[str]) -> argparse.Namespace:
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whirl", description=summary)
    parser.add_argument("--rows", nargs="*", default=["*"], metavar="GLOB", help="such as 'aurora A2 *k=3'")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds of processor time for an answer")
    parser.add_argument(
        "--peers", nargs="*", default=PEERS, choices=PEERS, metavar="NAME", help=" ".join(PEERS)
    )
    parser.add_argument("--python", type=Path, default=Path(".venv-bench/bin/python"), help="of the others")
    parser.add_argument("--json", type=Path, default=RESULTS)
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    options = arguments(given)
    rows: list[dict[str, Any]] = []
    for step in steps():
        if not any(fnmatch(f"{step.family} {step.name}", pattern) for pattern in options.rows):
            continue
        rows.append(measured(step, options))
        print(ratios.line(rows[-1]), flush=True)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        report = {"cap": options.cap, "rows": rows, "ratios": ratios.table(rows)}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(ratios.shown(ratios.table(rows)))
    return 1 if not rows or any("native" in ratios.contradictions(row) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
