"""`python -m tests.laws.oracle --count 5000 --seed 0 [--out FILE]`: a campaign, with its figures."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.laws.oracle.campaign import Figures, run_problem, summarise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--engines", type=float, default=1, help="further runs per question, one engine each")
    parser.add_argument(
        "--certify", type=float, default=0.2, help="which share of results is certified again"
    )
    parser.add_argument("--only", help="no portfolio, and this engine instead of one or another")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="write the problems here and keep them")
    given = parser.parse_args()
    figures, began = Figures(), time.process_time()
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep or Path(temporary)
        for seed in range(given.seed, given.seed + given.count):
            before = len(figures.found)
            folder = root / str(seed) if given.keep else root / "problem"
            run_problem(
                seed,
                folder,
                figures,
                timeout=given.timeout,
                engines=given.engines,
                certify=given.certify,
                only=given.only,
            )
            for line in figures.found[before:]:
                print(line, file=sys.stderr, flush=True)
            if given.out and seed % 20 == 19:
                given.out.write_text(report(figures, began), encoding="utf-8")
    text = report(figures, began)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text)
    return 1 if any(kind.startswith("wrong") for kind in figures.findings) else 0


def report(figures: Figures, began: float) -> str:
    lines = [*summarise(figures), f"{time.process_time() - began:.0f} s of processor time"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
