"""Tampered certificates of shields, and systems that are unsafe by construction: is anything false accepted?

    python -m benchmarks.tampered_shields --count 500 --unsafe 30 --seed 0

Certificates of true claims are changed in one to three places, in claim or proof; they have no digests.
The claim of every mutant is executed as it is written, in float64, with random and extreme disturbances and
proposals: if a run comes to an unsafe state, or to a state where nobody decides, the mutant claims something
false and must be rejected. An accepted mutant must claim the same as before, or less, or nothing in its sets
may speak against it on a grid. Then engine `barrier` and the synthesis get systems with a known unsafe run.
Exit 1 if anything false is accepted.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from benchmarks.old_format import judge_both_formats, to_format_1
from benchmarks.tampering.changes import CHANGES
from benchmarks.tampering.executed import Claim, false_on_a_grid, unsafe_run
from benchmarks.tampering.unsafe_systems import wrongly_proved
from surefoot.shields.certified_shield import make_certified_shield, shapes_for
from surefoot.work.budget import Budget
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_studies.control.problem import stays_safe
from surefoot_studies.pendulum.problem import stays_upright

Certificate = dict[str, Any]
BASES = ("pendulum", "satellite", "self-driving", "quadcopter", "lane-keeping", "biology")
POLYHEDRA = ("polyhedron-magnetic-pointer", "polyhedron-lane-keeping", "polyhedron-quadcopter")


def base(name: str) -> Certificate:
    """An accepted certificate of a shield."""
    plain = name.removeprefix("polyhedron-")
    problem = stays_upright(disturbance=Fraction(1, 10)) if name == "pendulum" else stays_safe(plain)
    made = make_certified_shield(
        problem, shapes_for("polyhedron" if plain != name else "polynomial"), Budget(60)
    )
    assert made.accepted
    assert made.certificate is not None
    return to_format_1(made.certificate)


def accepted(data: Certificate) -> bool:
    try:
        return judge_both_formats(data).accepted
    except BadCertificate:
        return False


def mutants(
    bases: list[Certificate], count: int, seed: int
) -> Iterator[tuple[str, Certificate, Certificate]]:
    """Names of changes, what was changed and what came out."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        before = rng.choice(bases)
        data, names = copy.deepcopy(before), []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            name = rng.choice(sorted(CHANGES))
            try:
                if CHANGES[name](data, rng):
                    names.append(name)
            except IndexError:  # nothing of the kind is left
                continue
        if names and data != before:
            made += 1
            yield " + ".join(names), before, json.loads(json.dumps(data))


def judged(before: Certificate, data: Certificate) -> str:
    """What became of a mutant; words in capital letters are what must not happen."""
    claim = Claim.read(data)
    false = claim is not None and unsafe_run(claim)
    if not accepted(data):
        return "rejected, claims something false" if false else "rejected"
    if false or claim is None:
        return "ACCEPTED, CLAIMS SOMETHING FALSE"
    if claim.says_no_more_than(Claim.read(before)):
        return "accepted, claims no more than before"
    return (
        "ACCEPTED, A SET IS LEFT" if false_on_a_grid(claim) else "accepted, nothing speaks against its sets"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--unsafe", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bases", default=",".join(BASES + POLYHEDRA))
    given = parser.parse_args(arguments)
    certificates = [base(name) for name in given.bases.split(",")]
    found: Counter[str] = Counter()
    bad = 0
    for names, before, data in mutants(certificates, given.count, given.seed):
        word = judged(before, data)
        found[word] += 1
        if word.startswith("ACCEPTED"):
            bad += 1
            print(f"{word}: {names}", file=sys.stderr)
    for word, count in sorted(found.items()):
        print(f"{count:5d}  {word}")
    wrong = sum(wrongly_proved(seed) for seed in range(given.seed, given.seed + given.unsafe))
    print(f"{given.unsafe:5d}  systems with an unsafe run; proved safe by barrier or shield: {wrong}")
    return 1 if bad or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
