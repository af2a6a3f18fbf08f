"""Damaged certificates of closed sets of abstract states: is anything false ever accepted?

    python -m benchmarks.mutation.closed_sets --count 500 --json closed.json

Random automata networks (`tests/laws/automata_networks.py`) and races on small maps that predicate
abstraction shows to be safe are the base. A mutant has one to three changes: of the set (abstract states,
predicates, boxes), of the problem, or of both; or its problem is made false and the set is the best that a
liar could say: what is reached, what is reached and not bad, everything that is not bad, everything. The
truth about every claim is found by following all runs. Exit 1 if a false claim is accepted, or one that is
not shown to be true.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.engines.predicates.end_cells import SMALL, race, slow_driver  # noqa: E402
from tests.laws.automata_networks import automata_network, predicates  # noqa: E402

from benchmarks.mutation.graph_mutations import PROBLEM, made_false  # noqa: E402
from benchmarks.mutation.graph_truth import Runs, State, Wrong, truth  # noqa: E402
from benchmarks.old_format import judge_both_formats, to_format_1  # noqa: E402
from surefoot.certify.values.claim import build_graph_certificate  # noqa: E402
from surefoot.engines.predicates import Predicates  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.verdict.verdict import Certificate, Holds  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402
from surefoot_checker.kernel.strict_json import BadCertificate  # noqa: E402

Content = dict[str, Any]
Change = Callable[[Content, Random], object]
SECONDS = 30.0
STARTS = ([(0, 1, 0, 0)], [(0, 1, 0, 0), (0, 1, 1, 0)], [(1, 1, 0, 0), (0, 2, 0, 0)])


def base(seed: int) -> Content | None:
    """The certificate of a system, as it is read from a file; None if nothing was shown."""
    if seed % 10 == 9:
        problem: Problem = race(SMALL, STARTS[seed // 10 % 3], slow_driver(), speed=1)
        engine = Predicates()
    else:
        problem = automata_network(seed)
        engine = Predicates(predicates(seed, problem), fixed=bool(seed % 3))
    if engine.objection(problem) is not None:
        return None
    verdict = engine.check(problem, Budget(SECONDS))
    if not isinstance(verdict, Holds) or verdict.argument is None or verdict.argument.states is None:
        return None
    found = build_graph_certificate(problem, {}, verdict.argument.states)
    assert isinstance(found, Certificate)
    content: Content = to_format_1(found.content)
    return content


def drop_state(content: Content, draw: Random) -> None:
    content["closed"]["states"].pop(draw.randrange(len(content["closed"]["states"])))


def move_state(content: Content, draw: Random) -> None:
    """One abstract state gets another truth value or place."""
    state = draw.choice(content["closed"]["states"])
    bits = list(state[1])
    if bits and draw.random() < 0.7:
        place = draw.randrange(len(bits))
        bits[place] = "10"[int(bits[place])]
        state[1] = "".join(bits)
    elif state[0]:
        state[0][draw.randrange(len(state[0]))] = draw.randrange(3)


def add_state(content: Content, draw: Random) -> None:
    content["closed"]["states"].append(copy.deepcopy(draw.choice(content["closed"]["states"])))
    move_state(content, draw)


def drop_box(content: Content, draw: Random) -> None:
    content["closed"]["boxes"].pop(draw.randrange(len(content["closed"]["boxes"])))


def move_box(content: Content, draw: Random) -> None:
    """An end of a box is moved, in or out."""
    box = draw.choice(content["closed"]["boxes"])
    draw.choice(box)[draw.randrange(2)] += draw.choice((-2, -1, 1, 2))


def widest_boxes(content: Content, _: Random) -> None:
    sides = [
        [min(e[0] for e in side), max(e[1] for e in side)]
        for side in zip(*content["closed"]["boxes"], strict=True)
    ]
    content["closed"]["boxes"] = [sides]


def drop_predicate(content: Content, draw: Random) -> None:
    closed = content["closed"]
    if closed["predicates"]:
        place = draw.randrange(len(closed["predicates"]))
        del closed["predicates"][place]
        for state in closed["states"]:
            state[1] = state[1][:place] + state[1][place + 1 :]


def negate_predicate(content: Content, draw: Random) -> None:
    closed = content["closed"]
    if closed["predicates"]:
        place = draw.randrange(len(closed["predicates"]))
        closed["predicates"][place] = ["not", closed["predicates"][place]]


def weaken_predicate(content: Content, draw: Random) -> None:
    closed = content["closed"]
    if closed["predicates"]:
        place = draw.randrange(len(closed["predicates"]))
        closed["predicates"][place] = draw.choice((True, False))


def swap_predicates(content: Content, draw: Random) -> None:
    draw.shuffle(content["closed"]["predicates"])


SET: tuple[Change, ...] = (
    drop_state,
    move_state,
    add_state,
    drop_box,
    move_box,
    widest_boxes,
    drop_predicate,
    negate_predicate,
    weaken_predicate,
    swap_predicates,
)


def damaged(content: Content, draw: Random) -> Iterator[tuple[str, Content]]:
    """Mutants of one certificate: where they were changed, and what became of it."""
    for family, changes in (("set", SET), ("problem", PROBLEM), ("both", (*SET, *PROBLEM))):
        for _ in range(4):
            changed = copy.deepcopy(content)
            try:
                for change in draw.choices(changes, k=draw.choice((1, 1, 2, 3))):
                    change(changed, draw)
            except (IndexError, KeyError, TypeError, ValueError):  # nothing there to be changed
                continue
            if changed != content:
                yield family, changed
    for problem in made_false(content["claim"]["problem"], draw):
        false = {**copy.deepcopy(content), "claim": {"kind": "graph", "problem": problem}}
        yield "made false", false
        for name, states in lies(problem):
            yield f"made false, set: {name}", {**false, "closed": written(problem, states)}


def lies(problem: dict[str, Any]) -> Iterator[tuple[str, list[State]]]:
    """Sets of states that hide as much as they can."""
    runs = Runs(problem)
    try:
        reached = runs.reached()
    except Wrong:  # a run meets an error of the model
        return
    places = [c["locations"] for c in runs.components]
    everything = list(product(*runs.ranges, *places))
    bad = {s for s in everything if is_bad(runs, s)}
    yield "reached", list(reached)
    yield "reached, not bad", [s for s in reached if s not in bad]
    yield "not bad", [s for s in everything if s not in bad]
    yield "everything", everything


def is_bad(runs: Runs, state: State) -> bool:
    try:
        return runs.look(state)[0]
    except Wrong:
        return True


def written(problem: dict[str, Any], states: Sequence[State]) -> dict[str, Any]:
    """A set of states, each a box of its own."""
    components = problem["environment"]["components"]
    count = len(problem["environment"]["variables"])
    several = [(i, c["locations"]) for i, c in enumerate(components) if len(c["locations"]) > 1]
    rows = [
        [*(int(v) for v in s[:count]), *(where.index(s[count + i]) for i, where in several)] for s in states
    ]
    listed = sorted({tuple(row[count:]) for row in rows})
    return {
        "predicates": [],
        "states": [[list(places), ""] for places in listed],
        "boxes": [[[v, v] for v in row] for row in rows],
    }


def outcome(content: Content) -> tuple[str, str, str]:
    """The truth about the claim, what the checker says, and why."""
    try:
        found = judge_both_formats(json.loads(json.dumps(content)))
    except BadCertificate as error:
        return truth(content["claim"]["problem"]), "rejected", f"not a certificate: {str(error)[:30]}"
    said = "accepted" if found.accepted else "rejected"
    return truth(content["claim"]["problem"]), said, found.reason.partition(":")[0][:50]


def campaign(count: int, seed: int) -> dict[str, Any]:
    """So many mutants; each is judged once."""
    seen: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    bases, number = 0, seed
    while sum(seen.values()) < count:
        content = base(number)
        number += 1
        if content is None:
            continue
        assert outcome(content)[:2] == ("true", "accepted"), number - 1
        bases += 1
        for family, mutant in damaged(content, Random(number)):
            true, said, why = outcome(mutant)
            seen[f"{family}: {true}, {said}"] += 1
            reasons[why] += 1
            if said == "accepted" and true != "true":
                wrong.append({"seed": number - 1, "family": family, "truth": true, "certificate": mutant})
            if sum(seen.values()) == count:
                break
    return {"bases": bases, "seen": dict(seen), "reasons": dict(reasons), "wrong": wrong}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write everything here")
    given = parser.parse_args(arguments)
    started = time.process_time()
    found = campaign(given.count, given.seed) | {"cpu seconds": round(time.process_time() - started, 1)}
    for row, count in sorted(found["seen"].items()):
        print(f"{count:6}  {row}")
    for row, count in sorted(found["reasons"].items(), key=lambda r: -r[1]):
        print(f"{count:6}    {row}")
    false = sum(n for row, n in found["seen"].items() if ": false, " in row)
    total = sum(found["seen"].values())
    print(f"{total} mutants of {found['bases']} certificates, {false} claim something false")
    print(f"{len(found['wrong'])} accepted that are not true, {found['cpu seconds']} s of CPU time")
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
