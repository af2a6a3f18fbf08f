"""Random small systems, sampled by `statistical`, computed by `explicit`, searched by `bmc`: do they agree?

    python -m benchmarks.agreement --systems 100 --bmc-seconds 1

A computed value must meet the estimated interval (whose risk is one in a million), a probability of 0 or 1
must have no run against it, and what a run or a trace reaches is never said to be out of reach. Exit 1 if
anything contradicts anything.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.laws.estimated import contradictions  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--bmc-seconds", type=float, default=1.0)
    given = parser.parse_args(arguments)
    kinds: Counter[str] = Counter()
    started, wrong = time.process_time(), 0
    for seed in range(given.first_seed, given.first_seed + given.systems):
        told, found = contradictions(seed, given.bmc_seconds)
        kinds[told] += 1
        wrong += bool(found)
        for text in found:
            print(f"system {seed}: {text}")
    print("statistical, explicit, bmc:")
    for told, number in kinds.most_common():
        print(f"{number:6} {told.replace('NoneType', '-')}")
    print(f"{wrong} of {given.systems} systems contradict; {time.process_time() - started:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
