"""The sizes that PlaJA's regression tests expect of policy predicate abstraction, beside those found here.

    python -m benchmarks.plaja FOLDER [--eight] [--refined]

FOLDER holds PlaJA's test instances. Every question is asked with the predicates of its file, unrefined;
transitions are counted once for each pair of abstract states, as there. `--eight` adds the instance of eight
blocks, which takes some minutes. `--refined` asks those of four blocks instead, which have no predicates,
with the policy as it is and with the best of the applicable actions: both are safe. Exit 1 if a number
differs, or if one of these is not proved with a certificate that the checker accepts. Runs go on beyond the
goal of the objective, as in these tests.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from surefoot.engines.predicates import Predicates  # noqa: E402
from surefoot.formats.plaja import PlajaProperty, read_plaja_properties  # noqa: E402
from surefoot.problem.policy import Choose, NeuralPolicy  # noqa: E402
from surefoot.run import verify  # noqa: E402
from surefoot.verdict.artifact import AbstractGraph  # noqa: E402
from surefoot.verdict.verdict import Proved  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402
from surefoot.work.processor_time import processor_seconds  # noqa: E402

BLOCKS = "icaps22/blocksworld"
ASKED = "additional_properties/safety_verification/cost05"
SIX = (
    f"{BLOCKS}/models/cost05/blocksworld_6_5.jani",
    f"{BLOCKS}/{ASKED}/blocksworld_6_5/compact_starts_cost_predicates_afterwards/learned_cost05_non_terminal/"
    "pa_compact_starts_cost_predicates_afterwards_blocksworld_6_5_32_32.jani",
)
EIGHT = (
    f"{BLOCKS}/models/cost05/blocksworld_8_7.jani",
    f"{BLOCKS}/{ASKED}/blocksworld_8_7/compact_starts_cost_predicates_afterwards/learned_no_cost/"
    "pa_compact_starts_cost_predicates_afterwards_blocksworld_8_7_16_16.jani",
)
FOUR = "blocksworld/cost_terminal/models/legacy_enc/blocksworld_4_3.jani"
CONSTANTS = {"failing_probability": "0.5", "item_cost_bound": "50"}
# Of ppa_blocks_6_cost and ppa_blocks_8_no_cost, by the number of predicates: starts, reachable states,
# transitions, unsafe states.
EXPECTED = {43: (171, 433, 1005, 0), 49: (202, 349, 738, 0), 81: (4139, 6569, 13138, 0)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with PlaJA's test instances")
    parser.add_argument("--eight", action="store_true", help="eight blocks as well")
    parser.add_argument("--refined", action="store_true", help="four blocks, without predicates")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for one question")
    given = parser.parse_args(arguments)
    if given.refined:
        return refined(given.folder, given.seconds)
    differ = 0
    asked = [
        question
        for files in ((SIX, EIGHT) if given.eight else (SIX,))
        for question in read_plaja_properties(*(given.folder / part for part in files), goal=False).values()
    ]
    print("predicates  expected (starts, reachable, transitions, unsafe)  found  CPU seconds")
    for question in asked:
        begun = time.process_time()
        found = sizes(question, given.seconds)
        expected = EXPECTED[len(question.predicates)]
        differ += found != expected
        print(
            f"{len(question.predicates)}  {expected}  {found}  {time.process_time() - begun:.1f}", flush=True
        )
    return 1 if differ else 0


def refined(folder: Path, seconds: float) -> int:
    """Four blocks (cegar_blocks_4_cost, 22 predicates and 2,167 or 3,026 abstract states there)."""
    (question,) = read_plaja_properties(folder / FOUR, None, CONSTANTS, goal=False).values()
    policy = question.problem.policy
    assert isinstance(policy, NeuralPolicy)
    missing = 0
    print("policy  answer  predicates  abstract states  CPU seconds")
    for choose in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE):
        problem = replace(question.problem, policy=replace(policy, choose=choose))
        begun = processor_seconds()
        result = verify(problem, engine=Predicates(), budget=Budget(seconds))
        missing += not (isinstance(result.verdict, Proved) and result.certified)
        graph = getattr(result.verdict, "artifact", None)
        assert isinstance(graph, AbstractGraph)
        name = type(result.verdict).__name__.lower()
        count = f"{len(graph.predicates)}  {len(graph.states)}"
        print(f"{choose.value}  {name}  {count}  {processor_seconds() - begun:.1f}", flush=True)
    return 1 if missing else 0


def sizes(question: PlajaProperty, seconds: float) -> tuple[int, int, int, int] | None:
    """None: not all of the abstraction could be built in that time."""
    verdict = Predicates(question.predicates, fixed=True).check(question.problem, Budget(seconds))
    graph = getattr(verdict, "artifact", None)
    if not isinstance(graph, AbstractGraph) or not graph.complete:
        return None
    pairs = {(source, target) for source, _, target in graph.edges}
    starts, unsafe = sum(s.start for s in graph.states), sum(s.unsafe for s in graph.states)
    return starts, len(graph.states), len(pairs), unsafe


if __name__ == "__main__":
    sys.exit(main())
