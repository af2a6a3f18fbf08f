"""Bounds of probabilities by predicate abstraction against exact values: is a value ever outside?

    python -m benchmarks.predicate_bounds --count 100

Random small decision processes, and random automata networks with tiny policies: greatest, least and open
probabilities of F, G, U, W and R, folded over the starts. Each is bounded with a few predicates, and refined
from these, and computed exactly by the explicit engine. Exit 1 if an exact value is outside of the bounds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.laws.automata_networks import automata_network, predicates  # noqa: E402
from tests.solvers.markov.random_processes import random_rows  # noqa: E402
from tests.solvers.markov.written import WHERE, one_of, problem  # noqa: E402

from surefoot.engines.explicit import Explicit  # noqa: E402
from surefoot.engines.predicates import Predicates  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.problem.property import Filter, Never, Optimise, Path, Probability  # noqa: E402
from surefoot.term.reserved_names import STALLED  # noqa: E402
from surefoot.term.term import Term, Var  # noqa: E402
from surefoot.verdict.verdict import Exact  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402

SECONDS = 30.0
NARROW = Fraction(1, 500)
Case = tuple[str, Problem, tuple[Term, ...]]


def process(seed: int) -> Case:
    """A decision process of a few states, and at most one predicate."""
    draw = Random(seed)
    rows, _ = random_rows(seed)
    starts = [draw.random() < 0.5 for _ in rows]
    starts[draw.randrange(len(rows))] = True
    left, right = ([draw.random() < share for _ in rows] for share in (0.8, 0.3))
    paths = [Path("F", one_of(right)), Path("G", one_of(left))]
    paths += [Path(o, one_of(right), one_of(left)) for o in ("U", "W", "R")]  # type: ignore[arg-type]
    given = tuple(k >= WHERE for k in draw.sample(range(len(rows)), draw.randint(0, 1)))
    return "process", problem(rows, _asked(draw, draw.choice(paths)), starts), given


def automata(seed: int) -> Case:
    """Components that synchronise, under a network."""
    draw, found = Random(seed), automata_network(seed)
    assert isinstance(found.property, Never)
    bad = found.property.bad if found.property.bad != Var(STALLED) else Var("x") >= 1
    path = draw.choice((Path("F", bad), Path("G", ~bad)))
    return "automata", replace(found, property=_asked(draw, path)), predicates(seed, found)


def _asked(draw: Random, path: Path) -> Probability:
    optimise: Optimise | None = draw.choice(("min", "max", None))
    over: Filter = draw.choice(("min", "max", "sum", "avg"))
    return Probability(path, None, optimise, over)


def compared(case: Case) -> Iterator[tuple[str, str, str]]:
    """Kind of system, how it was abstracted from, and what came out."""
    name, asked, given = case
    exact = Explicit(exact=True).check(asked, Budget(SECONDS))
    if not isinstance(exact, Exact) or exact.low is None or exact.high is None:
        yield name, "exactly", "no value"
        return
    for how, engine in (
        ("fixed", Predicates(given, fixed=True, bounds=True)),
        ("refined", Predicates(given, bounds=True)),
    ):
        if engine.objection(asked) is not None:
            yield name, how, "not taken"
            continue
        found = engine.check(asked, Budget(SECONDS))
        if not isinstance(found, Exact) or found.low is None or found.high is None:
            yield name, how, "no bounds"
        elif not found.low <= exact.low <= exact.high <= found.high:
            yield name, how, "OUTSIDE"
        else:
            narrow = found.high - found.low - (exact.high - exact.low) <= NARROW
            yield name, how, "narrow" if narrow else "wide"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="systems of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args(arguments)
    seen: Counter[tuple[str, str, str]] = Counter()
    for seed in range(given.first, given.first + given.count):
        for case in (process(seed), automata(seed)):
            for row in compared(case):
                seen[row] += 1
                if row[2] == "OUTSIDE":
                    print(f"seed {seed}: {case[1].name}, {row[1]}, {case[1].property}", flush=True)
    for (name, how, word), number in sorted(seen.items()):
        print(f"{name:10} {how:10} {word:10} {number:5}")
    wrong = sum(n for (_, _, word), n in seen.items() if word == "OUTSIDE")
    print(f"{wrong} exact values outside of their bounds, {time.process_time():.1f} s of CPU time")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
