"""Regression on what a teacher does (behavioural cloning with values instead of picks).

Observations are drawn anew for every batch and scaled to about [-1, 1] while the network learns, outputs to
unit size; both are folded into the first and the last layer at the end. Gradients and Adam are `dense.py`.
The same seed on the same machine gives the same weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np

from surefoot_studies import Tell
from surefoot_studies.training.closed_loop.recipes import RegulatorRecipe
from surefoot_studies.training.closed_loop.teachers import TEACHERS
from surefoot_studies.training.control import dense

LOOKS, HELD_OUT = 10, 4096


@dataclass(frozen=True, slots=True, eq=False)
class ImitatedRegulator:
    layers: dense.Layers
    updates: tuple[int, ...]
    errors: tuple[
        float, ...
    ]  # root of the mean square, in units of the teacher's outputs, on held-out states
    cpu_seconds: float


def imitate_teacher(recipe: RegulatorRecipe, seed: int, tell: Tell = lambda _: None) -> ImitatedRegulator:
    """The policy of a recipe, from scratch."""
    generator, began = np.random.default_rng(seed), process_time()
    teacher = TEACHERS[recipe.teacher]()
    seen, wanted = teacher.draw_lesson(HELD_OUT, np.random.default_rng(1_000_003))
    middle, width = (seen.max(axis=0) + seen.min(axis=0)) / 2, np.ptp(seen, axis=0) / 2
    size = np.maximum(wanted.std(axis=0), 1e-9 + np.abs(wanted).max(axis=0) / 10)
    layers = dense.initialise_layers((seen.shape[1], *recipe.hidden, len(size)), generator, 1e-1)
    if recipe.activation == "sigmoid":  # its slope is a quarter at most
        layers[1:-1] = [(4 * w, -2 * w.sum(axis=1)) for w, _ in layers[1:-1]]
    adam = dense.Adam(layers, recipe.rate)
    curve: list[tuple[int, float]] = []
    for update in range(recipe.updates + 1):
        if update % (recipe.updates // LOOKS) == 0:
            said = dense.forward_layers(layers, (seen - middle) / width, recipe.activation)[-1]
            curve.append(
                (update, float(np.sqrt((((said * size) - wanted) ** 2).mean(axis=0) / size**2).max()))
            )
            tell(f"{recipe.name}, seed {seed}: {update} updates, error {curve[-1][1]:.4f}")
        rows, aims = teacher.draw_lesson(recipe.batch, generator)
        values = dense.forward_layers(layers, (rows - middle) / width, recipe.activation)
        slopes = (values[-1] - aims / size) / recipe.batch
        changes, _ = dense.backpropagate_layers(layers, values, slopes, recipe.activation)
        adam.rate = recipe.rate * (1 - 0.99 * update / recipe.updates)
        adam.step(layers, changes)
        for weights, _ in layers:
            weights *= 1 - adam.rate * recipe.decay
    (first, bias), *rest = layers
    folded = [(first / width, bias - (first / width) @ middle), *rest]
    last, bias = folded[-1]
    folded[-1] = (last * size[:, None], bias * size)
    counts, errors = zip(*curve, strict=True)
    return ImitatedRegulator(folded, counts, errors, process_time() - began)
