"""Property-directed invariants against the truth, and each learnt invariant against all reachable states."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from tests.laws.automata_networks import automata_network
from tests.laws.brute_force import truth
from tests.laws.contradictions import answer
from tests.laws.finite_systems import problems

from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.symbolic.conserved import conserved_quantities
from surefoot.engines.predicates.symbolic.cubes import EVERYTHING
from surefoot.engines.predicates.symbolic.transition_cubes import TransitionCube
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import enumerate_successors, holds_in_state
from surefoot.term.linear import LinearForm, add_forms, constant_form, variable_form
from surefoot.verdict.verdict import Holds, ProofArgument
from surefoot.work.budget import Budget

SEEDS = 8
ENGINE = Predicates(means="cells", strategy="invariants")
seen: Counter[tuple[str, str]] = Counter()


def check(problem: Problem) -> None:
    if ENGINE.objection(problem) is not None:
        return
    true = truth(problem)
    said = answer(problem, ENGINE, 20, true)
    assert said is None or said[1] is None, f"{problem.name}: {said}"
    seen[true, said[0] if said else ""] += 1
    verdict = ENGINE.check(problem, Budget(20))
    if isinstance(verdict, Holds) and isinstance(verdict.argument, ProofArgument):
        invariant = verdict.argument.invariant
        assert invariant is not None
        assert all(holds_in_state(problem, state, invariant) for state in reachable(problem))


def reachable(problem: Problem) -> list[dict[str, object]]:
    waiting = list(enumerate_initial_states(problem.environment, 10_000))
    known = {tuple(s.values()): s for s in waiting}
    while waiting:
        for after in enumerate_successors(problem, waiting.pop()):
            name = tuple(after.state.values())
            if name not in known:
                known[name] = dict(after.state)
                waiting.append(known[name])
    return list(known.values())


@pytest.mark.parametrize("seed", range(SEEDS))
def test_automata_networks(seed: int) -> None:
    check(automata_network(seed))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_finite_systems(seed: int) -> None:
    check(problems(seed)["never"])


def test_it_did_answer() -> None:
    """After the others: silence would not contradict anything either."""
    if sum(seen.values()) < SEEDS:
        pytest.skip("the systems above were not all looked at in this process")
    assert seen["holds", "proved"] + seen["holds", "holds"] > 0
    assert seen["violated", "violated"] > 0


def test_sums_that_no_step_changes() -> None:
    def step(**changes: int | None) -> TransitionCube:
        after = {
            n: variable_form("z") if c is None else add_forms(variable_form(n), constant_form(c))
            for n, c in changes.items()
        }
        return TransitionCube(0, "step", EVERYTHING, EVERYTHING, after)

    ways = [step(x=1, y=-2), step(x=2, y=-4, u=3, v=-3), step(w=None)]
    found = conserved_quantities(["x", "y", "u", "v", "w"], ways)
    assert set(found) == {
        LinearForm((("x", Fraction(2)), ("y", Fraction(1)))),
        LinearForm((("u", Fraction(1)), ("v", Fraction(1)))),
    }
