"""Behavioural cloning (Pomerleau, 1991): a network learns to pick what an adviser picks, state by state.

The loss is the margin by which another action than the advised one comes near or above it (Crammer and
Singer, 2001), plus a small one for large weights: what is learnt keeps a distance from every change of mind.
States are drawn anew for every batch; what is read is scaled while the network learns, which is folded into
its first layer afterwards, so that a policy reads the plain numbers. Gradients and Adam are written out in
numpy; the same seed on the same machine gives the same weights.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surefoot_studies import Tell
from surefoot_studies.training.imitation.advisers import ADVISERS, Adviser
from surefoot_studies.training.imitation.recipes import ImitationRecipe
from surefoot_studies.training.racetrack.dqn import (
    AdamMoments,
    Floats32,
    backpropagate_error,
    layer_activations,
    layer_views,
    random_weights,
)
from surefoot_studies.training.rollout import Layers

CURVE_POINTS, CURVE_STATES = 10, 4096


@dataclass(frozen=True, slots=True, eq=False)
class ClonedPolicy:
    layers: Layers
    batches: tuple[int, ...]
    agreement: tuple[float, ...]  # share of states in which network and adviser pick the same
    cpu_seconds: float


def clone_adviser(recipe: ImitationRecipe, seed: int, tell: Tell = lambda _: None) -> ClonedPolicy:
    """The policy of a recipe, from scratch."""
    rng, began = np.random.default_rng(seed), time.process_time()
    adviser = ADVISERS[recipe.adviser]()
    shapes = list(pairwise((len(adviser.scales), *recipe.hidden, adviser.actions)))
    weights = random_weights(shapes, rng)
    network, gradient = layer_views(weights, shapes), np.zeros_like(weights)
    slopes = layer_views(gradient, shapes)
    moments = AdamMoments(weights)
    every = recipe.batches // CURVE_POINTS
    curve: list[tuple[int, float]] = []
    for batch in range(recipe.batches + 1):
        if batch % every == 0:
            curve.append((batch, adviser_agreement(adviser, network, np.random.default_rng(1_000_003))))
            tell(f"{recipe.name}, seed {seed}: {batch} batches, agreement {curve[-1][1]:.4f}")
        seen, wanted = adviser.some(recipe.batch, rng)
        passed = layer_activations(network, seen * adviser.scales)
        backpropagate_error(network, passed, margin_gradient(passed[-1], wanted, recipe.margin), slopes)
        gradient += np.float32(recipe.decay) * weights
        rate = recipe.rate * (1 - batch / (recipe.batches + 1)) + recipe.last_rate
        moments.descend(weights, gradient, rate)
    batches, shares = zip(*curve, strict=True)
    (first, bias), *rest = network
    return ClonedPolicy([(first * adviser.scales, bias), *rest], batches, shares, time.process_time() - began)


def margin_gradient(
    outputs: Floats32, wanted: np.ndarray[tuple[int], np.dtype[np.int64]], margin: float
) -> Floats32:
    """The slope of the mean loss: what is too near to the advised output goes down, that one up."""
    rows = np.arange(len(wanted))
    above = outputs - outputs[rows, wanted][:, None] + np.float32(margin)
    above[rows, wanted] = 0
    found: Floats32 = np.clip(above, 0, 1)
    found[rows, wanted] = -found.sum(axis=1)
    found /= np.float32(len(wanted))
    return found


def adviser_agreement(adviser: Adviser, network: Layers, rng: np.random.Generator) -> float:
    seen, wanted = adviser.some(CURVE_STATES, rng)
    return float((layer_activations(network, seen * adviser.scales)[-1].argmax(axis=1) == wanted).mean())
