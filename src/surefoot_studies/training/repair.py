"""Counterexamples fed back into training (whiRL 1.0, section 1, use (2) of a counterexample).

Each round asks for the property. A violating trace gives the observations in which it is broken; they, and
points between them and the rest of the declared ranges, become extra training data: while the policy goes on
with PPO on its own episodes, every update also pays for each of these points at which the property is broken
or kept by less than a margin. Then the property is asked again, until it is proved or the rounds are over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from surefoot import api
from surefoot_studies import Tell
from surefoot_studies.training import rollout
from surefoot_studies.training.ppo import PpoLearner
from surefoot_studies.training.realisation.compare_runs import (
    Floats,
    declared_ranges,
    violating_rows,
    violation_condition,
)
from surefoot_studies.training.recipes import Recipe
from surefoot_studies.training.robustness import robustness_degree
from surefoot_studies.training.simulators import SIMULATORS


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """How a policy is trained further."""

    rounds: int = 10  # of training, at most
    iterations: int = 8  # of PPO per round
    appraisals: int = 8  # episodes from which the critic learns before the first round, in iterations
    rate: float = 3e-4  # of learning
    spread: float = 0.3  # of sampled actions, at first
    weight: float = 5.0  # of the penalty
    margin: float = 0.05  # by which the property is to be kept
    neighbours: int = 64  # extra points per counterexample
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RepairRound:
    """What was known before a round of training."""

    number: int
    counterexamples: int  # so far
    verdict: str
    certified: bool
    mean_return: float
    share: float  # of the baseline's return
    cpu_seconds: float  # of training, so far


@dataclass(frozen=True, slots=True, eq=False)
class RepairedPolicy:
    layers: rollout.Layers
    rounds: tuple[RepairRound, ...]


def repair_policy(
    recipe: Recipe,
    problem: api.Problem,
    decide: Callable[[api.Problem], api.Result],
    how: RepairSettings | None = None,
    tell: Tell = lambda _: None,
) -> RepairedPolicy:
    """Train the policy of a problem on until it is no longer violated, or the rounds are over."""
    how = how or RepairSettings()
    torch.set_num_threads(1)
    torch.manual_seed(how.seed)
    rng = np.random.default_rng(how.seed)
    kind = SIMULATORS[recipe.study]
    learner = PpoLearner(recipe, kind)
    learner.start_from(policy_weights(problem), how.spread)
    baseline = float(rollout.baseline_returns(kind).mean())
    rounds: list[RepairRound] = []
    found: list[Floats] = []
    spent = 0.0
    for number in range(how.rounds + 1):
        layers = learner.layers()
        asked = replace_policy_weights(problem, layers)
        result = decide(asked)
        own = float(
            rollout.held_out_returns(kind, rollout.greedy_actor(layers, recipe.activation, kind)).mean()
        )
        word = type(result.verdict).__name__.lower()
        if isinstance(result.verdict, api.Violated):
            found.append(_broken_observations(asked, result.verdict.trace))
        count = sum(map(len, found))
        rounds.append(
            RepairRound(number, count, word, result.certified, own, _baseline_share(own, baseline), spent)
        )
        tell(f"round {number}: {word}, return {own:.4g}")
        if not isinstance(result.verdict, api.Violated) or number == how.rounds:
            break
        began = time.process_time()
        learner.penalty = _make_penalty(problem, np.concatenate(found), how, rng)
        if not number:
            for _ in range(how.appraisals):
                learner.appraise(_play_sampled(learner, rng), rng)
        for _ in range(how.iterations):
            learner.improve(_play_sampled(learner, rng), rng, how.rate / recipe.rate)
        spent += time.process_time() - began
    return RepairedPolicy(layers, tuple(rounds))


def _play_sampled(learner: PpoLearner, rng: np.random.Generator) -> rollout.EpisodeBatch:
    return rollout.play_episodes(
        learner.kind, learner.random_act(rng), learner.recipe.episodes, rng, advised=False
    )


def _baseline_share(own: float, baseline: float) -> float:
    """How much of the baseline's return was reached; of two costs (negative returns) the inverse ratio."""
    return baseline / own if own < 0 and baseline < 0 else own / baseline


def _broken_observations(problem: api.Problem, trace: api.Trace) -> Floats:
    """What the policy saw in the states of a trace in which the property is broken."""
    policy = problem.policy
    assert isinstance(policy, api.NeuralPolicy)
    seen = np.array(
        [api.observation_vector(policy, problem.environment, s) for s in trace.states], dtype=np.float64
    )
    return np.unique(seen[violating_rows(problem, seen)], axis=0)


def _make_penalty(
    problem: api.Problem, found: Floats, how: RepairSettings, rng: np.random.Generator
) -> Callable[[Any], Any]:
    """The mean distance to keeping the property by the margin, over counterexamples and their neighbours."""
    low, high = declared_ranges(problem)
    shape = (how.neighbours, *found.shape)
    corners = np.where(rng.random(shape) < 0.5, low, high)
    share = rng.random((*shape[:2], 1))
    points = np.concatenate([found, (found + share * (corners - found)).reshape(-1, found.shape[1])])
    data = torch.from_numpy(_first_layer_inputs(problem, points))
    condition, bad = violation_condition(problem)

    def penalty(actor: Any) -> Any:
        worth = robustness_degree(condition, actor(data))
        return how.weight * torch.relu((worth if bad else -worth) + how.margin).mean()

    return penalty


def _policy_layers(problem: api.Problem) -> tuple[api.NeuralPolicy, list[api.Affine]]:
    policy = problem.policy
    assert isinstance(policy, api.NeuralPolicy)
    return policy, [node for node in policy.network.nodes if isinstance(node, api.Affine)]


def policy_weights(problem: api.Problem) -> rollout.Layers:
    """Weights and biases of the policy's layers."""
    return [(node.weights, node.bias) for node in _policy_layers(problem)[1]]


def replace_policy_weights(problem: api.Problem, layers: rollout.Layers) -> api.Problem:
    """The same problem about a policy with these weights; what comes before the layers stays."""
    policy, _ = _policy_layers(problem)
    left = iter(layers)
    nodes = tuple(
        _replace_weights(n, *next(left)) if isinstance(n, api.Affine) else n for n in policy.network.nodes
    )
    network = api.Network(policy.network.width, nodes, policy.network.name, policy.network.notes)
    return replace(problem, policy=replace(policy, network=network))


def _replace_weights(node: api.Affine, weights: Any, bias: Any) -> api.Affine:
    return replace(node, weights=api.freeze_float32(weights), bias=api.freeze_float32(bias))


def _first_layer_inputs(problem: api.Problem, points: Floats) -> Any:
    """What the first layer reads; a problem may compute it from its observation, such as size / time."""
    policy, affine = _policy_layers(problem)
    return api.infer_all_values(policy.network, points.astype(np.float32))[affine[0].source].copy()


def render_rounds(rounds: tuple[RepairRound, ...]) -> str:
    """The rounds as text."""
    lines = [
        f"{'round':>5} {'counterexamples':>15}  {'verdict':9} {'evidence':13} {'return':>8} {'share':>6}"
    ]
    for r in rounds:
        checked = "replayed" if r.verdict == "violated" else "certified"
        evidence = checked if r.certified else "not certified"
        lines.append(
            f"{r.number:>5} {r.counterexamples:>15}  {r.verdict:9} {evidence:13} "
            f"{r.mean_return:>8.2f} {r.share:>6.3f}"
        )
    return "\n".join(lines)
