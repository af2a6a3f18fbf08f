"""Random small automata networks: predicate abstraction, bmc, induction and all states never contradict.

    python -m benchmarks.predicates --count 200

Every network is asked one `never` property, by predicate abstraction with given predicates and refined from
none, each from a table and by questions, by bmc and by induction; and the graphs of both means are compared.
The table shows the truth, what the engines said and how often. Exit 1 if anything contradicts.
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

from tests.laws.automata_networks import automata_network, predicates  # noqa: E402
from tests.laws.brute_force import truth  # noqa: E402
from tests.laws.contradictions import answer  # noqa: E402

from surefoot.engines.bmc import Bmc  # noqa: E402
from surefoot.engines.induction import Induction  # noqa: E402
from surefoot.engines.predicates import Predicates  # noqa: E402
from surefoot.engines.protocol import Engine  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.verdict.artifact import AbstractGraph  # noqa: E402
from surefoot.verdict.verdict import Holds, Unknown, Violated  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402

SECONDS = 20.0  # for one answer


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="networks")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--others", action="store_true", help="ask bmc and induction too")
    given = parser.parse_args(arguments)
    said: Counter[tuple[str, str, str]] = Counter()
    seconds: Counter[str] = Counter()
    wrong = 0
    for seed in range(given.first, given.first + given.count):
        problem = automata_network(seed)
        true = truth(problem)
        for name, engine in engines(seed, problem, given.others).items():
            begun = time.process_time()
            found = answer(problem, engine, SECONDS, true)
            seconds[name] += time.process_time() - begun
            said[true, name, "not taken" if found is None else found[0]] += 1
            if found is not None and found[1] is not None:
                print(f"{problem.name}, {name}: {found[1]}")
                wrong += 1
        if not same_graphs(seed, problem):
            print(f"{problem.name}: the graphs of table and questions differ")
            wrong += 1
    for (true, name, word), number in sorted(said.items()):
        print(f"{true:9} {name:22} {word:14} {number:5}")
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
    return asked | ({"bmc": Bmc(depth=5), "induction": Induction(depth=3)} if others else {})


def same_graphs(seed: int, problem: Problem) -> bool:
    """Do a table and questions give the same reachable abstract states and transitions?"""
    given, found = predicates(seed, problem), []
    for engine in (Predicates(given, fixed=True), Predicates(given, fixed=True, means="cells")):
        if engine.objection(problem) is not None:
            return True
        verdict = engine.check(problem, Budget(SECONDS))
        if not isinstance(verdict, Holds | Violated | Unknown):
            return True
        assert isinstance(verdict.artifact, AbstractGraph)
        names = [(s.locations, s.values, s.start, s.unsafe) for s in verdict.artifact.states]
        edges = {(names[s], label, names[t]) for s, label, t in verdict.artifact.edges}
        found.append((set(names), edges))
    return found[0] == found[1]


if __name__ == "__main__":
    sys.exit(main())
