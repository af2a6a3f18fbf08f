"""Campaigns: runs by the batch are those of the reference meaning, and a shield holds whoever proposes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot.engines.barrier.float_system import Floats
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import OraclePolicy, ShieldedPolicy
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.certified_shield import ShieldSynthesis, make_certified_shield
from surefoot.shields.evaluation.adversary import ADVERSARIES
from surefoot.shields.evaluation.baselines import baseline_regulator, random_search_policy
from surefoot.shields.evaluation.plant import (
    BatchPlant,
    by_gain,
    by_network,
    by_nobody,
    covered_boxes,
    draw_start_states,
)
from surefoot.shields.evaluation.simulation import (
    _Kept,
    count_needed_interventions,
    rerun_unshielded,
    simulate_campaign,
)
from surefoot.shields.linear_controllers import Gain
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Var
from surefoot.term.value_types import Arithmetic
from surefoot.work.budget import Budget
from surefoot_studies.pendulum.problem import pendulum_policy, stays_upright


def weak() -> Network:
    """Much less than what would hold the pendulum."""
    return dense_network([([[-2.0, -1.0], [2.0, 1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])])


PROBLEM = stays_upright(pendulum_policy(weak()), degrees=90, disturbance=Fraction(1, 10))


@pytest.fixture(scope="module")
def made() -> ShieldSynthesis:
    return make_certified_shield(PROBLEM, (2,), Budget(100))


@pytest.fixture(scope="module")
def guard(made: ShieldSynthesis) -> BatchGuard:
    return BatchGuard(made.guard())


def starts(made: ShieldSynthesis, count: int) -> Floats:
    boxes = covered_boxes([b.set.proof for b in made.found.branches], made.system.initial)
    return draw_start_states(boxes, count, np.random.default_rng(5))


def test_a_run_is_the_one_of_the_meaning(made: ShieldSynthesis, guard: BatchGuard) -> None:
    """State, decision and next state, bit for bit, under a policy that is overruled again and again."""
    plant, generator = BatchPlant(made.system), np.random.default_rng(6)
    states = starts(made, 3)
    updates = made.problem.environment.components[0].edges[0].outcomes[0].updates
    assert isinstance(made.problem.policy, ShieldedPolicy)
    overruled = 0
    for _ in range(150):
        proposed = generator.uniform(-20, 20, (3, 1))
        drawn = plant.draw_disturbances(3, generator, ends=True)
        decided = guard.step(states, proposed)
        following = plant.step(states, decided.applied, drawn)
        for row in range(3):
            given = tuple(proposed[row].tolist())
            policy = replace(made.problem.policy, policy=OraclePolicy("given", lambda _, g=given: g))
            state = dict(zip(made.system.variables, states[row].tolist(), strict=True))
            one = decide_in_state(policy, made.problem.environment, state)
            names = {**state, **one.controls, "gust": float(drawn[row, 0])}
            after = {u.target: evaluate_term(u.value, names, Arithmetic.FLOAT64) for u in updates}
            assert decided.intervened[row] == int(one.intervened)
            assert decided.applied[row].tolist() == [one.controls["a"]]
            assert following[row].tolist() == [after[Var(v)] for v in made.system.variables]
            overruled += one.intervened
        states = following
    assert overruled > 20


def test_a_shield_saves_every_run_of_a_network_that_fails(made: ShieldSynthesis, guard: BatchGuard) -> None:
    plant, begun = BatchPlant(made.system), starts(made, 60)
    propose = by_network(pendulum_policy(weak()), made.system)
    alone = simulate_campaign(plant, begun, 300, propose, None, Budget(60))
    behind = simulate_campaign(plant, begun, 300, propose, guard, Budget(60))
    assert alone.failures > 30
    assert alone.taken < behind.taken == 60 * 300
    assert behind.failures == behind.outside == 0
    assert behind.complete
    assert behind.interventions > 0
    yes, asked = count_needed_interventions(plant, behind.moments, 300, propose, Budget(60)) or (0, 0)
    assert asked == min(behind.interventions, 500)
    assert 0 < yes <= asked
    same = rerun_unshielded(plant, begun, propose, behind, Budget(60), what="alone")
    assert (same.failures, same.taken) == (alone.failures, alone.taken)
    again = simulate_campaign(plant, begun, 300, propose, guard, Budget(60))
    assert np.array_equal(again.last, behind.last)


@pytest.mark.parametrize("name", ADVERSARIES)
def test_no_adversary_gets_past_the_shield(made: ShieldSynthesis, guard: BatchGuard, name: str) -> None:
    plant = BatchPlant(made.system)
    propose = ADVERSARIES[name](plant, guard, np.random.default_rng(1))
    begun = starts(made, 100)
    found = simulate_campaign(plant, begun, 100, propose, guard, Budget(60), extreme=True)
    assert found.failures == found.outside == 0
    if not name.startswith("towards"):  # those look for what is permitted
        assert found.interventions > 0
        assert simulate_campaign(plant, begun, 100, propose, None, Budget(60), extreme=True).failures > 0


def test_an_adversary_that_was_permitted_more_would_win(made: ShieldSynthesis) -> None:
    """The test can fail: a shield that permits everything lets runs become unsafe."""
    plant, loose = BatchPlant(made.system), replace(made.guard(), permits=Var("eta") <= 100)
    open_guard = BatchGuard(loose)
    propose = ADVERSARIES["towards unsafe"](plant, open_guard, np.random.default_rng(1))
    assert simulate_campaign(plant, starts(made, 20), 200, propose, open_guard, Budget(60)).failures > 0


def test_the_program_alone_is_safe_and_settles(made: ShieldSynthesis, guard: BatchGuard) -> None:
    still = replace(made.system, disturbances=(("gust", (Fraction(0), Fraction(0))),))
    found = simulate_campaign(BatchPlant(still), starts(made, 40), 400, by_nobody(1), guard, Budget(60))
    assert found.failures == found.outside == 0
    assert found.interventions == found.taken == 40 * 400
    assert found.settled == found.watched == 40
    assert found.steps_to_steady is not None
    assert 5 < found.steps_to_steady < 300


def test_baselines_hold_the_pendulum(made: ShieldSynthesis) -> None:
    plant, begun = BatchPlant(made.system), starts(made, 40)
    gain = baseline_regulator(made.system)
    assert gain is not None
    nothing = Gain(np.zeros((1, 2)), np.zeros(1))
    for policy, fails in (
        (gain, False),
        (random_search_policy(plant, begun, Budget(60)), False),
        (nothing, True),
    ):
        found = simulate_campaign(plant, begun, 300, by_gain(policy), None, Budget(60))
        assert (found.failures > 0) is fails


def test_without_time_what_happened_is_not_called_complete(made: ShieldSynthesis, guard: BatchGuard) -> None:
    plant, begun = BatchPlant(made.system), starts(made, 5)
    found = simulate_campaign(plant, begun, 100, by_nobody(1), guard, Budget(0))
    assert not found.complete
    assert found.taken == 0
    propose = by_network(pendulum_policy(weak()), made.system)
    behind = simulate_campaign(plant, begun, 100, propose, guard, Budget(60))
    assert count_needed_interventions(plant, behind.moments, 100, propose, Budget(0)) is None


def test_an_interruption_keeps_what_happened(made: ShieldSynthesis, guard: BatchGuard) -> None:
    def stops(states: Floats, step: int) -> Floats:
        if step == 7:
            raise KeyboardInterrupt
        return np.zeros((len(states), 1))

    found = simulate_campaign(BatchPlant(made.system), starts(made, 5), 100, stops, guard, Budget(60))
    assert not found.complete
    assert found.taken == 7 * 5


def test_starts_are_drawn_from_all_boxes_by_their_size() -> None:
    boxes = [
        [(Fraction(0), Fraction(1)), (Fraction(2), Fraction(2))],
        [(Fraction(1), Fraction(4)), (Fraction(2), Fraction(2))],
    ]
    drawn = draw_start_states(boxes, 4000, np.random.default_rng(0))
    assert np.all(drawn[:, 1] == 2)
    assert 0 <= drawn[:, 0].min() < 0.01
    assert 3.99 < drawn[:, 0].max() <= 4
    assert 0.22 < np.mean(drawn[:, 0] < 1) < 0.28


def test_runs_start_in_starts() -> None:
    """On the way around an obstacle there are sets with boxes of their own, where no run starts."""
    starts = [(Fraction(0), Fraction(4)), (Fraction(2), Fraction(2))]
    boxes = [
        [["-1", "1"], ["0", "3"]],
        [["1", "4"], [2, 2]],
        [["4", "5"], ["1", "3"]],
        [["0", "4"], ["3", "4"]],
    ]
    found = covered_boxes([{"covers": boxes[:2]}, {"covers": boxes[2:]}], starts)
    assert found == [[(0, 1), (2, 2)], [(1, 4), (2, 2)]]


class InterruptedList(list[object]):
    """An interrupt that comes while something is put in, or right after."""

    def __init__(self, after: bool) -> None:
        super().__init__()
        self.after = after

    def append(self, row: object) -> None:
        if self.after:
            super().append(row)
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_between_two_statements_leaves_whole_rows(after: bool) -> None:
    kept = _Kept(np.random.default_rng(0))
    states, proposed = np.arange(6.0).reshape(3, 2), np.ones((3, 1))
    kept.add(states, proposed, 0)
    kept.rows = InterruptedList(after)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        kept.add(states, proposed, 1)
    found = kept.moments(2)
    assert len(found.states) == len(found.proposed) == len(found.at) == (3 if after else 0)
