"""Forge certificates by rules, for claims whose truth is known: is a false one ever accepted?

    python -m benchmarks.forgery --count 500 --seed 0 [--only values graphs …]

`values` (kind `process`): bounds of random decision processes, true ones and what a liar would write instead;
`graphs`: claims about all runs of random systems, which have no evidence but the claim; `executions` and
`recurrences`: claims with obligations, which the real prover proves for the liar as far as it can;
`barriers`, `flows` (in continuous time) and `convergence`: of polynomial systems, likewise; runs show that a
claim is false, and where there is none it is unknown. `--count` is the number of **false** claims of a kind.
Exit 1 if one is accepted, or if hardly any true one is (a checker that refuses everything shows nothing).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random

from benchmarks.forgery import controlled, executions, graphs, values
from benchmarks.forgery.finite_systems import Json
from benchmarks.old_format import judge_both_formats
from surefoot_checker.kernel.strict_json import BadCertificate

Forged = tuple[str, Json, bool | None]  # rule, certificate, whether its claim is true; None: nobody knows
KINDS: Mapping[str, Callable[[Random], Iterator[Forged]]] = {
    "values": values.forge_values,
    "graphs": graphs.forge_graphs,
    "executions": executions.forge_executions,
    "recurrences": executions.forge_recurrences,
    "barriers": controlled.forge_barriers,
    "flows": controlled.forge_flows,
    "convergence": controlled.forge_convergence,
}


def is_accepted(certificate: Json) -> bool:
    try:
        return judge_both_formats(certificate).accepted
    except BadCertificate:
        return False


def run_kind(kind: str, count: int, seed: int) -> bool:
    """Print what became of each rule; False if a false claim was accepted or no true one was."""
    seen: Counter[tuple[str, bool | None, bool]] = Counter()
    draw, wrong = Random(seed), 0
    while sum(n for (_, true, _), n in seen.items() if true is False) < count:
        for rule, certificate, true in KINDS[kind](draw):
            accepted = is_accepted(certificate)
            seen[rule, true, accepted] += 1
            if accepted and true is False:
                wrong += 1
                print(f"{kind}: FALSE AND ACCEPTED by rule `{rule}`: {certificate}")
    print(f"{kind}:")
    for rule in sorted({rule for rule, _, _ in seen}):
        print(f"  {rule:54} {_told(seen, {rule})}")
    genuine = sum(n for (_, true, accepted), n in seen.items() if true and accepted)
    print(f"  {'all':54} {_told(seen, {rule for rule, _, _ in seen})}", flush=True)
    return not wrong and genuine > count // 20


def _told(seen: Counter[tuple[str, bool | None, bool]], rules: set[str]) -> str:
    parts = []
    for true, word in ((False, "false"), (True, "true"), (None, "unknown")):
        yes, no = (sum(seen[rule, true, accepted] for rule in rules) for accepted in (True, False))
        if yes or no or true is False:
            parts.append(f"{yes + no:5} {word}, {yes} accepted")
    return "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", "--kinds", dest="kinds", nargs="*", choices=sorted(KINDS), default=sorted(KINDS)
    )
    options = parser.parse_args()
    fine = [run_kind(kind, options.count, options.seed) for kind in options.kinds]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
