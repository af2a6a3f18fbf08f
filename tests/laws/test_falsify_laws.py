"""Falsification against brute force: nothing that is not so, and almost everything that is.

What holds by brute force is never violated, everything that is found replays, and of the systems that brute
force refutes at least 95 in 100 are refuted by a few thousand runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.laws.automata_networks import automata_network
from tests.laws.awkward_systems import awkward
from tests.laws.brute_force import truth
from tests.laws.finite_systems import problems

from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.simulate.starts.start_cases import NoStart
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

SEEDS, RUNS, MOST_STATES = 25, 1_000, 3_000


def systems() -> Iterator[Problem]:
    for seed in range(SEEDS):
        yield from problems(seed).values()
        yield automata_network(seed)
        yield awkward(seed)


def test_falsify_agrees_with_brute_force_and_misses_little() -> None:
    refuted, missed = 0, []
    for problem in systems():
        executed = discretise(problem)
        ending, engine = end_at_goal(executed), Falsify(runs=RUNS, steps=64)
        try:
            true = truth(ending, MOST_STATES)
        except (SurefootError, AssertionError):  # real numbers, or too many states
            continue
        assert engine.objection(ending) is None
        try:
            found = engine.check(ending, Budget(60))
        except NoStart:
            assert true != "violated", problem.name
            continue
        refuted += true == "violated"
        if isinstance(found, Violated):
            assert true == "violated", problem.name
            assert replay(executed, found.trace) is None, problem.name
        elif true == "violated":
            missed.append(problem.name)
    assert refuted > 80
    assert len(missed) <= 0.05 * refuted, missed
