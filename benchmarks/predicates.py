"""Random small automata networks: predicates, explicit, bmc, induction and all states never contradict.

    python -m benchmarks.predicates --count 200 --others

Every network is asked one `never` property, by predicate abstraction with given predicates and refined from
none, each from a table and by questions; with `--others` by explicit, bmc and induction too, each answer
within `--seconds`. The graphs of both means are compared. The table shows the truth (every state is visited),
what the engines said and how often; then for every two engines how often both were conclusive, and agreed.
Exit 1 if anything contradicts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.laws.automata_networks import automata_network, predicates  # noqa: E402
from tests.laws.brute_force import truth  # noqa: E402
from tests.laws.contradictions import answer  # noqa: E402

from surefoot.engines.bmc import Bmc  # noqa: E402
from surefoot.engines.explicit import Explicit  # noqa: E402
from surefoot.engines.induction import Induction  # noqa: E402
from surefoot.engines.predicates import Predicates  # noqa: E402
from surefoot.engines.protocol import Engine  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.verdict.artifact import AbstractGraph  # noqa: E402
from surefoot.verdict.verdict import Holds, Unknown, Violated  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402

SECONDS = 4.0  # for one answer
CONCLUSIVE = {"proved": "holds", "holds": "holds", "vacuous": "holds", "violated": "violated"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="networks")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--others", action="store_true", help="ask explicit, bmc and induction too")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one answer; default 4")
    given = parser.parse_args(arguments)
    agreed: Counter[tuple[str, str, bool]] = Counter()
    said: Counter[tuple[str, str, str]] = Counter()
    seconds: Counter[str] = Counter()
    wrong = 0
    for seed in range(given.first, given.first + given.count):
        problem = automata_network(seed)
        true = truth(problem)
        words: dict[str, str] = {}
        for name, engine in engines(seed, problem, given.others).items():
            begun = time.process_time()
            found = answer(problem, engine, given.seconds, true)
            seconds[name] += time.process_time() - begun
            words[name] = "not taken" if found is None else found[0]
            said[true, name, words[name]] += 1
            if found is not None and found[1] is not None:
                print(f"{problem.name}, {name}: {found[1]}")
                wrong += 1
        for pair, same in compared(words).items():
            agreed[*pair, same] += 1
            if not same:
                print(f"{problem.name}: {pair[0]} and {pair[1]} contradict each other")
                wrong += 1
        if not same_graphs(seed, problem, given.seconds):
            print(f"{problem.name}: the graphs of table and questions differ")
            wrong += 1
    for (true, name, word), number in sorted(said.items()):
        print(f"{true:9} {name:22} {word:14} {number:5}")
    for (first, second, same), number in sorted(agreed.items()):
        print(f"{first:22} {second:22} {'agree' if same else 'CONTRADICT':14} {number:5}")
    for name, spent in seconds.items():
        print(f"{name:22} {spent:8.1f} s of CPU time")
    print(f"{wrong} contradictions in {given.count} networks")
    return 1 if wrong else 0


def engines(seed: int, problem: Problem, others: bool) -> dict[str, Engine]:
    given = predicates(seed, problem)
    asked: dict[str, Engine] = {
        "refined, table": Predicates(),
        "refined, questions": Predicates(means="cells"),
        "given, table": Predicates(given, fixed=True),
        "given, questions": Predicates(given, fixed=True, means="cells"),
    }
    more: dict[str, Engine] = {
        "explicit": Explicit(),
        "bmc": Bmc(depth=5),
        "induction": Induction(depth=3),
    }
    return asked | (more if others else {})


def compared(words: Mapping[str, str]) -> dict[tuple[str, str], bool]:
    """For every two engines that are both conclusive: do they say the same?"""
    sides = {name: CONCLUSIVE[word] for name, word in words.items() if word in CONCLUSIVE}
    return {(a, b): sides[a] == sides[b] for a, b in combinations(sides, 2)}


def same_graphs(seed: int, problem: Problem, seconds: float) -> bool:
    """Do a table and questions give the same reachable abstract states and transitions?"""
    given, found = predicates(seed, problem), []
    for engine in (Predicates(given, fixed=True), Predicates(given, fixed=True, means="cells")):
        if engine.objection(problem) is not None:
            return True
        verdict = engine.check(problem, Budget(20 * seconds))
        if not isinstance(verdict, Holds | Violated | Unknown):
            return True
        assert isinstance(verdict.artifact, AbstractGraph)
        names = [(s.locations, s.values, s.start, s.unsafe) for s in verdict.artifact.states]
        if not verdict.artifact.complete:
            return True  # there was no time for all of it
        edges = {(names[s], label, names[t]) for s, label, t in verdict.artifact.edges}
        found.append((set(names), edges))
    return found[0] == found[1]


if __name__ == "__main__":
    sys.exit(main())
