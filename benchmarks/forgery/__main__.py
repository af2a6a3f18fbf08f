"""Forge certificates by rules, for claims whose truth is known: is a false one ever accepted?

    python -m benchmarks.forgery --count 500 --seed 0 [--kinds values graphs …]

`values` (kind `process`): bounds of random decision processes, true ones and what a liar would write instead;
`graphs`: claims about all runs of random systems, which have no evidence but the claim; `executions` and
`recurrences`: claims with obligations, which the real prover proves for the liar as far as it can. `--count`
is the number of **false** claims of each kind. Exit 1 if one is accepted, or if hardly any true one is (a
checker that refuses everything shows nothing).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from benchmarks.forgery import executions, graphs, values
from benchmarks.forgery.finite_systems import Json
from surefoot.certify.checker.check import check
from surefoot.certify.checker.number import BadCertificate

Forged = tuple[str, Json, bool]  # rule, certificate, whether its claim is true
KINDS: dict[str, Callable[[Random], Iterator[Forged]]] = {
    "values": values.forge_values,
    "graphs": graphs.forge_graphs,
    "executions": executions.forge_executions,
    "recurrences": executions.forge_recurrences,
}


def is_accepted(certificate: Json) -> bool:
    try:
        return check(certificate).accepted
    except BadCertificate:
        return False


def run_kind(kind: str, count: int, seed: int) -> bool:
    """Print what became of each rule; False if a false claim was accepted or no true one was."""
    seen: Counter[tuple[str, bool, bool]] = Counter()
    draw, wrong = Random(seed), 0
    while sum(n for (_, true, _), n in seen.items() if not true) < count:
        for rule, certificate, true in KINDS[kind](draw):
            accepted = is_accepted(certificate)
            seen[rule, true, accepted] += 1
            if accepted and not true:
                wrong += 1
                print(f"{kind}: FALSE AND ACCEPTED by rule `{rule}`: {certificate}")
    print(f"{kind}:")
    for rule in dict.fromkeys(rule for rule, _, _ in sorted(seen)):
        true, good = (seen[rule, True, True] + seen[rule, True, False]), seen[rule, True, True]
        false, bad = (seen[rule, False, True] + seen[rule, False, False]), seen[rule, False, True]
        print(f"  {rule:44} {false:5} false, {bad} accepted; {true:5} true, {good} accepted")
    false = sum(n for (_, true, _), n in seen.items() if not true)
    genuine = sum(n for (_, true, accepted), n in seen.items() if true and accepted)
    print(f"  {false} false claims, {wrong} accepted; {genuine} true ones accepted", flush=True)
    return not wrong and genuine > count // 20


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", choices=sorted(KINDS), default=sorted(KINDS))
    options = parser.parse_args()
    fine = [run_kind(kind, options.count, options.seed) for kind in options.kinds]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
