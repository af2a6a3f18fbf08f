"""Damaged certificates by parts of predicate abstraction: is anything false ever accepted?

    python -m benchmarks.mutation.parts --count 500

Random automata networks (`tests/laws/automata_networks.py`) that predicate abstraction shows to be safe by
questions alone, without a table, are the base. Problem, set or obligations are changed in one place, or the
problem so that its property becomes false. A false claim is also made with the sets that hide most (the old
one, everything, nothing, all that is not bad), with the old proofs under the names of what has to be shown
then, and the prover is asked for new ones. The truth about every claim is found by visiting all states. Exit
1 if a false one is accepted.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

from benchmarks.old_format import to_format_1, unflatten_run_problem

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.laws.automata_networks import automata_network, predicates  # noqa: E402

from benchmarks.mutation.execution_falsehoods import false_mutants  # noqa: E402
from benchmarks.mutation.execution_mutations import obligation_mutants, problem_mutants  # noqa: E402
from benchmarks.mutation.executions import is_accepted, relabelled, truth  # noqa: E402
from surefoot.certify.runs.argument import ProofAid  # noqa: E402
from surefoot.certify.runs.prove import prove_run_certificate  # noqa: E402
from surefoot.engines.predicates import Predicates, inductive_invariant  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.run import verify  # noqa: E402
from surefoot.verdict.verdict import ProofArgument, Proved  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402

Content = dict[str, Any]
SECONDS = 30.0
EACH = 12  # mutants of a family, of one certificate
RARELY = 6  # of the false claims, those for which the prover is asked
TABLE = "surefoot.engines.predicates.symbolic.refinement._closed_states"


def by_parts(problem: Problem, engine: Predicates, seconds: float = SECONDS) -> Content | None:
    """The content of a certificate by parts, if the engine shows the property."""
    with patch.object(inductive_invariant, "WHOLE", 0), patch(TABLE, lambda *_: None):
        verdict = verify(problem, replace(engine, strategy="refinement"), Budget(seconds)).verdict
    if not isinstance(verdict, Proved):
        return None
    content: Content = to_format_1(verdict.certificate.content)
    assert content["claim"]["argument"]["kind"] == "parts"
    return content


def other_sets(whole: Content, draw: Random) -> Iterator[tuple[str, Content]]:
    """The same claim, with a set in which one condition is dropped, negated, or exchanged for another."""
    inside = whole["claim"]["argument"]["inside"]
    places = list(_places(inside))
    for place in draw.sample(places, min(EACH, len(places))):
        found = _at(inside, place)
        others = [True, False, ["not", found], *[_at(inside, p) for p in draw.sample(places, 1)]]
        changed = copy.deepcopy(whole)
        changed["claim"]["argument"]["inside"] = _put(inside, place, draw.choice(others))
        yield "set", changed


def _places(term: Any, here: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Where conditions stand in a condition."""
    yield here
    if isinstance(term, list) and term and term[0] in ("and", "or", "not"):
        for number, part in enumerate(term[1:], 1):
            yield from _places(part, (*here, number))


def _at(term: Any, place: Sequence[int]) -> Any:
    for number in place:
        term = term[number]
    return term


def _put(term: Any, place: Sequence[int], new: Any) -> Any:
    if not place:
        return new
    first, *rest = place
    return [*term[:first], _put(term[first], rest, new), *term[first + 1 :]]


def liars(problem: Problem, whole: Content, mutant: Content, *, anew: bool) -> Iterator[Content]:
    """The mutant as it is, with the old proofs under new names, with other sets, and with new proofs."""
    yield mutant
    asked = mutant["claim"]["problem"]["property"]["condition"]
    for inside in (whole["claim"]["argument"]["inside"], True, False, ["not", asked]):
        said = {"kind": "parts", "steps": 1, "inside": inside}
        claim = {**mutant["claim"], "argument": said}
        if (other := relabelled({**mutant, "claim": claim})) is not None:
            yield other
        if not anew:
            continue
        aid, written = ProofAid(inside=inside), unflatten_run_problem(mutant["claim"]["problem"])
        made = prove_run_certificate(problem, written, ProofArgument("parts", 1), Budget(1), aid=aid)
        if not isinstance(made, str):
            yield to_format_1(made.content)


def mutants(whole: Content, seed: int) -> Iterator[tuple[str, Content]]:
    """Some of every family."""
    draw = Random(seed)
    for name, make in (("problem", problem_mutants), ("obligations", obligation_mutants)):
        several = [mutant for _, mutant in make(whole)]
        yield from ((name, mutant) for mutant in draw.sample(several, min(EACH, len(several))))
    yield from other_sets(whole, draw)
    yield from (("made false", mutant) for _, mutant in false_mutants(whole, seed))


def campaign(count: int, first: int) -> tuple[Counter[str], int, list[str]]:
    """So many mutants: what was said of them, of how many certificates, and what was wrong."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    bases, seed = 0, first
    while sum(seen.values()) < count:
        problem = automata_network(seed)
        engine = Predicates(predicates(seed, problem), means="cells")
        whole = by_parts(problem, engine) if engine.objection(problem) is None else None
        seed += 1
        if whole is None or truth(whole) == "not known":
            continue
        bases += 1
        assert (truth(whole), is_accepted(whole)) == ("true", True), seed - 1
        for number, (family, mutant) in enumerate(mutants(whole, seed)):
            true = truth(mutant)
            several = (
                liars(problem, whole, mutant, anew=number % RARELY == 0) if true == "false" else [mutant]
            )
            said = "accepted" if any(map(is_accepted, several)) else "rejected"
            seen[f"{family}: {true}, {said}"] += 1
            if (true, said) == ("false", "accepted"):
                wrong.append(f"seed {seed - 1}: {family}, mutant {number}")
    return seen, bases, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="mutants, at least")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args(arguments)
    started = time.process_time()
    seen, bases, wrong = campaign(given.count, given.first)
    for row, count in sorted(seen.items()):
        print(f"{count:6}  {row}")
    false = sum(n for row, n in seen.items() if ": false, " in row)
    print(f"{sum(seen.values())} mutants of {bases} certificates, {false} claim something false")
    print("\n".join([*wrong, f"{len(wrong)} false ones accepted"]))
    print(f"{time.process_time() - started:.0f} s of CPU time without children")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
