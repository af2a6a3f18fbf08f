"""Traces of over-approximate environments, looked for in the simulators of the studies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.engines.bmc import Bmc
from surefoot.problem.environment import Component, Edge, Environment, Variable
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, permitted_transitions
from surefoot.run import verify
from surefoot.solvers.native import Native
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import TRUE, Var
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Trace, Violated
from surefoot.work.budget import Budget
from surefoot_studies.aurora.problem import liveness_excellent, safety_excellent, safety_shallow_buffer
from surefoot_studies.deeprm.problem import PROBLEMS as DEEPRM
from surefoot_studies.pensieve.problem import PROBLEMS as PENSIEVE
from surefoot_studies.training.realisation import aurora, deeprm, pensieve, realise_trace
from surefoot_studies.training.rollout import HELD_OUT
from surefoot_studies.training.simulators.aurora import JITTER
from surefoot_studies.training.simulators.deeprm import DeepRM
from surefoot_studies.training.simulators.pensieve import BANDWIDTHS

NAMES = ("latency_gradient", "latency_ratio", "send_ratio")


def shy(level: float = 0.3, weight: float = -100.0, of: int = 0) -> Network:
    """Sends faster unless some quantity of the newest interval is large."""
    newest = [weight if i == of else 0.0 for i in range(3)]
    return dense_network([([[0.0] * 27 + newest], [level])])


def trace_of(problem: Problem) -> Trace:
    verdict = verify(problem, Bmc(Native()), Budget(60)).verdict
    assert isinstance(verdict, Violated)
    return verdict.trace


def history(*intervals: tuple[float, float, float]) -> dict[str, Fraction]:
    """A state of Aurora whose last intervals are these, all before them as the first."""
    rows = [intervals[0]] * (10 - len(intervals)) + list(intervals)
    return {f"{name}_{i}": Fraction(row[j]) for j, name in enumerate(NAMES) for i, row in enumerate(rows)}


def test_jitter_alone_makes_a_shy_policy_slower_on_an_idle_link() -> None:
    problem = safety_excellent(shy())
    found = realise_trace("aurora", problem, trace_of(problem))
    assert found is not None
    assert found.outcome == "real"
    assert found.breaks
    assert found.parameters["loss"] == 0
    assert all(found.deviations[q.name] <= q.noise + 1e-6 for q in aurora.QUANTITIES)
    assert "a run that breaks the property" in found.words()


def test_a_loop_is_followed_to_the_end_of_the_episode() -> None:
    problem = liveness_excellent(shy())
    found = realise_trace("aurora", problem, trace_of(problem))
    assert found is not None
    assert found.outcome == "real"
    assert found.states >= aurora.LONGEST
    assert "its loop followed for" in found.words()


def test_the_jitter_keeps_its_range_whatever_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    drive = aurora._Driven.jitter

    def recorded(self, early, late):  # type: ignore[no-untyped-def]
        used.append(drive(self, early, late))
        return used[-1]

    monkeypatch.setattr(aurora._Driven, "jitter", recorded)
    problem = safety_excellent(shy(), Fraction(1, 2))
    aurora.aurora_attempts(problem, np.tile([0.4, 1.5, 1.0], 10)[None, :])
    assert np.min(used) >= JITTER[0]
    assert np.max(used) <= JITTER[1]


def test_a_jump_of_the_send_ratio_is_impossible_on_an_overloaded_link() -> None:
    timid = shy(level=0.5, weight=0.0)
    state = history((0.0, 1.0, 2.0), (0.0, 1.0, 6.0))
    found = realise_trace("aurora", safety_shallow_buffer(timid), Trace((state,), ()))
    assert found is not None
    assert found.outcome == "impossible"
    assert "from 2 to 6 in one interval" in found.why
    assert "at most 1.013" in found.why  # 1 + 0.025 * 0.5


def test_a_latency_that_jitter_cannot_make_is_not_reproduced_but_nobody_says_impossible() -> None:
    problem = safety_excellent(shy(level=1.2, weight=-1.0, of=1), Fraction(1, 2))
    found = realise_trace("aurora", problem, Trace((history((0.0, 1.4, 1.0)),), ()))
    assert found is not None
    assert found.outcome == "not reproduced"
    assert "depart first in state 0" in found.why
    assert "latency ratio" in found.why


def test_a_study_without_simulator_has_no_answer() -> None:
    problem = safety_excellent(shy())
    assert realise_trace("toy", problem, trace_of(problem)) is None


def test_a_player_stays_at_the_best_quality_in_a_run_of_likely_decisions() -> None:
    problem = PENSIEVE["leaves-best-from-4-s/pensieve-32x16"]()
    found = realise_trace("pensieve", problem, trace_of(problem))
    assert found is not None
    assert found.outcome == "real nearby"
    assert found.states > 20
    assert {n for n, d in found.deviations.items() if d > 1e-5} == {"remaining"}
    assert BANDWIDTHS[0] <= found.parameters["least bandwidth"]
    assert found.parameters["largest bandwidth"] <= BANDWIDTHS[1]


def test_a_decision_with_chunks_that_remain_is_real_as_it_stands() -> None:
    problem = PENSIEVE["poor-conditions-after-best-equal/pensieve-32x16"]()
    trace = trace_of(problem)
    state = {**trace.states[0], "remaining": Fraction(20, 48)}
    found = realise_trace("pensieve", problem, Trace((state,), ()))
    assert found is not None
    assert found.outcome == "real"
    assert found.parameters["chunks before"] == 28
    assert 0 < found.parameters["probability of the decisions before"] < 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"remaining": Fraction(0)}, "no chunk remains"),
        ({"remaining": Fraction(1)}, "at most 40 of 48"),
        ({"buffer": Fraction(1, 10)}, "the buffer has 4 to 60 s"),
        ({"download": Fraction(1, 10)}, "faster than the largest bandwidth"),
    ],
)
def test_what_the_player_cannot_show(change: dict[str, Fraction], why: str) -> None:
    problem = PENSIEVE["poor-conditions-after-best-equal/pensieve-32x16"]()
    usual = {"remaining": Fraction(1, 2), "buffer": Fraction(4, 10), "download": Fraction(4, 10)}
    assert pensieve.pensieve_obstacle(problem, seen(problem, usual)) is None
    reason = pensieve.pensieve_obstacle(problem, seen(problem, usual | change))
    assert reason is not None
    assert why in reason


def seen(problem: Problem, state: dict[str, Fraction]) -> np.ndarray:
    from surefoot.problem.meaning.decision import observation_vector

    assert isinstance(problem.policy, NeuralPolicy)
    return np.array([observation_vector(problem.policy, problem.environment, state)], dtype=np.float64)


def test_jobs_that_never_come_make_a_picture_impossible() -> None:
    problem = DEEPRM["full-cluster-large-jobs-inverse/deeprm-20"]()
    found = realise_trace("deeprm", problem, trace_of(problem))
    assert found is not None
    assert found.outcome == "impossible"
    assert "lasts 20 steps and needs 10 and 10 units" in found.why
    assert not found.parameters


def test_a_cluster_stays_idle_with_jobs_that_fit_behind_a_long_one() -> None:
    problem = DEEPRM["keeps-placing-memory-jobs/deeprm-20"]()
    idle = {"planned_0": 0, "planned_1": 0, "planned_2": 0, "silence": Fraction(10)}
    wait = next(t for t in permitted_transitions(problem, idle))
    found = realise_trace("deeprm", problem, Trace((idle, idle), (Move(wait, (0,)),), loop=0))
    assert found is not None
    assert found.outcome == "real"
    assert found.states >= deeprm.LONGEST
    assert found.parameters["steps of a first job"] >= 10
    assert found.parameters["cells apart"] == 0


def test_a_picture_of_an_episode_is_found_there() -> None:
    """The policy places the first job it can; its own pictures are real, a changed one is only close."""
    places_first = dense_network([([[0.0] * 2480] * 6, [6.0, 5.0, 4.0, 3.0, 2.0, 1.0])])
    simulator = DeepRM(deeprm.EPISODES, np.random.default_rng(HELD_OUT))
    for _ in range(4):
        simulator.step(np.zeros(deeprm.EPISODES))
    picture = simulator.observe()[7]
    for cells, outcome in ((picture, "real"), (_with_backlog(picture), "real nearby")):
        where = Environment(
            "one picture", (Variable("x", Real(Fraction(0), Fraction(1))),), TRUE,
            (Component("cluster", tuple(Edge(action=a) for a in "abcdef")),),
        )  # fmt: skip
        observe = tuple(Var("x") * Fraction(float(c)) for c in cells)
        policy = NeuralPolicy(places_first, observe, tuple("abcdef"), Choose.SAMPLE)
        problem = Problem("one picture", where, policy, Never(Var(network_output_name(0)) > 0, 0))
        found = realise_trace("deeprm", problem, Trace(({"x": Fraction(1)},), ()))
        assert found is not None
        assert found.outcome == outcome
        assert (found.parameters["cells apart"] == 0) == (outcome == "real")


def _with_backlog(picture: np.ndarray) -> np.ndarray:
    changed = picture.reshape(20, 124).copy()
    changed[:, -4:-1] = 1.0
    return changed.reshape(-1)
