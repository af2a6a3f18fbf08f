"""Random small decision processes and chains: every answer against exact enumeration, in every tier.

    python -m benchmarks.random_processes --count 1000 --first 0

Processes of two to six states with end components, loops that cost nothing and several starts; greatest and
least probabilities of an until formula and expected rewards, folded over the starts. The truth is the best
over all memoryless ways to choose, each solved in fractions. Asked are the interpreter (an interval), machine
code (the exact number), and both with states passed through, on the same process with single steps in
between. Certificates go to the checker. Exit 1 if there is a contradiction.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from time import process_time

from tests.solvers.markov.random_processes import (
    cost_of_chain,
    random_rows,
    reach_of_chain,
    schedulers,
    stretched,
)
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Filter, Optimise, Path, Probability
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

Value = Fraction | None  # None: infinite
ENGINES = {
    "interpreter": Explicit(tier="interpreter"),
    "llvm, exact": Explicit(tier="llvm", exact=True),
    "interpreter, fused": Explicit(tier="interpreter", fuse=True),
    "llvm, fused, exact": Explicit(tier="llvm", fuse=True, exact=True),
}


def questions(seed: int) -> list[tuple[Problem, Problem, Value]]:
    """A probability and a reward: of the process, of the longer one, and what is true of both."""
    draw = Random(seed)
    rows, _ = random_rows(seed)
    longer = stretched(rows, Random(seed), free=0)
    starts = [draw.random() < 0.5 for _ in rows]
    starts[draw.randrange(len(rows))] = True
    left, right = ([draw.random() < share for _ in rows] for share in (0.8, 0.3))
    optimise: Optimise = draw.choice(("min", "max"))
    over: Filter = draw.choice(("min", "max", "sum", "avg"))
    asked: list[tuple[Probability | Expected, Probability | Expected, list[list[Value]]]] = []
    wide = left + [True] * (len(longer) - len(rows))
    reach = [list[Value](reach_of_chain(chain, left, right)) for chain in schedulers(rows)]
    short, long = (Path("U", one_of(right), one_of(where)) for where in (left, wide))
    asked.append((Probability(short, None, optimise, over), Probability(long, None, optimise, over), reach))
    if any(paid for choices in rows for choice in choices for _, _, paid in choice):
        cost = Expected("cost", one_of(right), None, optimise, over)
        asked.append((cost, cost, [cost_of_chain(chain, right) for chain in schedulers(rows)]))
    more = starts + [False] * (len(longer) - len(rows))
    return [
        (problem(rows, first, starts), problem(longer, second, more), truth(every, starts, optimise, over))
        for first, second, every in asked
    ]


def truth(every: list[list[Value]], starts: list[bool], optimise: str, over: str) -> Value:
    """The best over all ways to choose, for each start, and then what is asked of the starts together."""
    values = [_best([v[s] for v in every], optimise) for s, flag in enumerate(starts) if flag]
    finite = [v for v in values if v is not None]
    if over == "min":
        return min(finite, default=None)
    if len(finite) < len(values):
        return None
    return max(finite) if over == "max" else sum(finite, Fraction(0)) / (len(finite) if over == "avg" else 1)


def _best(several: list[Value], optimise: str) -> Value:
    finite = [v for v in several if v is not None]
    if optimise == "min":
        return min(finite, default=None)
    return max(finite) if len(finite) == len(several) else None


def flaw(engine: Explicit, asked: Problem, expected: Value) -> str:
    """What is wrong with the answer, or nothing."""
    verdict = engine.check(asked, Budget(60))
    if not isinstance(verdict, Exact):
        return f"no answer: {verdict}"
    if (certificate := build_process_certificate(asked, verdict)) is not None:
        found = judge_certificate(dict(certificate.content))
        if not found.accepted:
            return f"the certificate is refused: {found.reason}"
    elif not engine.fuse:
        return "no certificate"
    if expected is None or verdict.low is None or verdict.high is None:
        return "" if (verdict.low, verdict.high) == (expected, expected) else "infinite on one side only"
    if not verdict.low <= expected <= verdict.high:
        return f"{expected} is outside of [{verdict.low}, {verdict.high}]"
    if verdict.high - verdict.low > (0 if engine.exact else expected / 10**6):
        return "too wide"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_processes", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many processes")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    options = parser.parse_args(arguments)
    answers: Counter[str] = Counter()
    bad = 0
    for seed in range(options.first, options.first + options.count):
        for short, long, expected in questions(seed):
            for name, engine in ENGINES.items():
                answers[name] += 1
                if wrong := flaw(engine, long if engine.fuse else short, expected):
                    bad += 1
                    print(f"seed {seed}, {name}, {short.property}: {wrong}", flush=True)
    for name, number in answers.items():
        print(f"{name:20} {number} answers")
    print(f"{bad} contradictions, {process_time():.0f} processor seconds")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
