"""Faults against brute force: a claim that is `exact` is right, in several hundred random systems.

Every property, synchronised automata, non-determinism, chosen values and chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from tests.laws.automata_networks import automata_network
from tests.laws.brute_force import key
from tests.laws.finite_systems import problems
from tests.laws.games import BruteGame

from surefoot.engines.falsify import Falsify
from surefoot.fault_analysis.bounded_fault import fault_by_looking
from surefoot.fault_analysis.finite_fault import fault_by_region
from surefoot.fault_analysis.local_game import LocalGame, Value
from surefoot.fault_analysis.winning_region import region_objection, solve_region
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Recurs, Within
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.term.evaluate import Undefined
from surefoot.term.term import Var, equal
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

SEEDS, PARTS = 120, 4


def other_properties(problem: Problem, draw: Random) -> Iterator[Property]:
    """The same condition asked otherwise."""
    assert isinstance(problem.property, Never)
    bad, goal = problem.property.bad, equal(Var("y"), draw.randint(0, 1))
    yield problem.property
    yield Never(bad, draw.randint(1, 4))
    yield NeverBefore(bad, goal)
    if "stalled" not in repr(bad):
        yield Eventually(bad)
        yield Recurs(~bad)
        yield Within(bad, draw.randint(1, 5), draw.randint(0, 1))


def systems(seeds: range) -> Iterator[Problem]:
    for seed in seeds:
        yield from problems(seed).values()
        network, draw = automata_network(seed), Random(seed)
        for asked in other_properties(network, draw):
            yield end_at_goal(replace(network, property=asked))


@pytest.mark.parametrize("part", range(PARTS))
def test_winning_regions_and_faults_agree_with_brute_force(part: int) -> None:
    compared = tried = faults = lost = rounds = 0
    for problem in systems(range(part, SEEDS, PARTS)):
        if region_objection(problem) is not None:
            continue
        try:
            game = BruteGame(problem)
            won = {index: game.won(index) for index in (0, 1, 2)}
        except Undefined:  # an error of the model
            continue
        if not game.states or len(game.states) > 400:
            continue
        region = solve_region(problem, Budget(60))
        assert region.game.markov.states <= len(game.states)
        if game.blocked:
            continue
        compared += 1
        by_trying = game.won_by_trying()
        if by_trying is not None:
            assert by_trying == won[0], problem.name
            tried += 1
        for number in range(region.game.markov.states):
            if region.explored.final[number]:
                continue
            k = key(region.explored.valuation(number))
            for index in (0, 1):
                true = k in won[index]
                assert bool(region.surely_won(index)[number]) is true, (problem, index)
                assert bool(region.maybe_won(index)[number]) is true, (problem, index)
                if true:
                    assert set(region.safe_actions(number, index)) == game.safe(k, index), problem
        counts = compare_run(problem, game, region)
        faults, lost, rounds = faults + counts[0], lost + counts[1], rounds + counts[2]
    assert compared > 150
    assert tried > 60
    assert faults > 8
    assert lost > 8


@pytest.mark.parametrize("part", range(2))
def test_what_a_search_calls_exact_agrees_with_brute_force(part: int) -> None:
    """LOST and WON of a local search, and faults by looking ahead, as far as they are called exact."""
    lost = won = told = 0
    for problem in systems(range(part, 40, 2)):
        if region_objection(problem) is not None or isinstance(problem.property, Recurs):
            continue
        try:
            game = BruteGame(problem)
            game.won(0)
        except Undefined:
            continue
        if not game.states or len(game.states) > 200 or game.blocked:
            continue
        local = LocalGame(problem, Budget(60), nodes=100_000)
        for k, state in list(game.states.items())[:12]:
            value = local.value(state, 0, 5)
            lost, won = lost + (value is Value.LOST), won + (value is Value.WON)
            assert (value is Value.LOST) <= (k not in game.won(0)), (problem.name, state)
            assert (value is Value.WON) <= (k in game.won(0)), (problem.name, state)
        found = Falsify(runs=200, steps=30).check(problem, Budget(20))
        if not isinstance(found, Violated) or found.trace.loop is not None:
            continue
        fault = fault_by_looking(problem, found.trace, Budget(20), ahead=6).fault
        if fault is None:
            continue
        if fault.saved.kind == "exact":
            told += 1
            assert key(fault.state) in game.won(fault.step), problem.name
            assert {a.action for a in fault.safe} <= game.safe(key(fault.state), fault.step), problem.name
        if fault.lost is not None and fault.lost.kind == "exact":
            later = range(fault.step + 1, len(found.trace.states))
            assert not any(key(found.trace.states[i]) in game.won(i) for i in later), problem.name
    assert lost > 60
    assert won > 60
    assert told > 1


def compare_run(problem: Problem, game: BruteGame, region: object) -> tuple[int, int, int]:
    """The fault of a violating run is the last state that brute force says is won."""
    found = Falsify(runs=300, steps=40).check(problem, Budget(20))
    if not isinstance(found, Violated):
        return 0, 0, 0
    trace = found.trace
    told = fault_by_region(problem, trace, region)  # type: ignore[arg-type]
    assert not told.unknown, problem.name
    indices = [i for i, s in enumerate(trace.states) if key(s) in game.won(i)]
    if not indices:
        assert told.fault is None, problem.name
        assert told.lost is not None
        return 0, 1, 0
    assert told.fault is not None, problem.name
    fault = told.fault
    assert fault.saved.kind == "exact"
    if fault.lost is None:  # the run returns to it
        assert trace.loop is not None
        assert trace.loop <= fault.step
        assert key(trace.states[fault.step]) in game.won(0)
        assert fault.safe, problem.name
        assert {a.action for a in fault.safe} <= game.safe(key(fault.state), 0)
        assert not {a.action for a in fault.chosen} & {a.action for a in fault.safe}
        return 1, 0, 1
    assert fault.step == indices[-1], problem.name
    k = key(fault.state)
    safe = game.safe(k, fault.step)
    assert {a.action for a in fault.safe} == safe
    if game.by_action[k]:
        assert safe, problem.name
        assert fault.stalls or not ({a.action for a in fault.chosen} & safe), (problem.name, fault)
    return 1, 0, 0
