"""Bounds of all neurons on the boxes of a batch: intervals, and linear bounds for deeper layers."""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import TINY, UNIT, Array
from surefoot.solve.native.dual.clip import CHUNK, CutBox, cut_box
from surefoot.solve.native.dual.domains import Domains
from surefoot.solve.native.dual.kernel import Compiled, gather
from surefoot.solve.native.dual.layered import Mask

_CHUNK = 1 << 17  # entries of a coefficient array that stay in the cache


def tightened(c: Compiled, domains: Domains) -> Mask:
    """Tighten `lower` and `upper` in place; the answer says which sub-domains turned out empty."""
    problem, wide = c.problem, c.problem.hidden
    centre = 0.5 * domains.low + 0.5 * domains.high
    radius = np.maximum(domains.high - centre, centre - domains.low)
    lower, upper = domains.lower.reshape(-1, wide), domains.upper.reshape(-1, wide)
    phase = domains.phase.reshape(-1, wide)
    errors = np.broadcast_to(c.errors.reshape(1, problem.copies, wide), (len(domains), problem.copies, wide))
    errors = errors.reshape(-1, wide)
    value, spread = gather(c, centre), gather(c, radius)
    first = (value, spread)
    cut = cut_box(c, domains, by_copy=True)
    for layer, s in enumerate(c.slices):
        w, b = problem.weights[layer], problem.biases[layer]
        middle, reach = value @ w.T + b, spread @ np.abs(w).T + errors[:, s]
        np.maximum(lower[:, s], middle - reach, out=lower[:, s])
        np.minimum(upper[:, s], middle + reach, out=upper[:, s])
        if layer:
            _linear(c, layer, first, lower, upper, errors[:, s], cut)
        # A phase is part of what the sub-domain assumes.
        np.maximum(lower[:, s], 0.0, out=lower[:, s], where=phase[:, s] > 0)
        np.minimum(upper[:, s], 0.0, out=upper[:, s], where=phase[:, s] < 0)
        least, most = np.maximum(lower[:, s], 0.0), np.maximum(upper[:, s], 0.0)
        value = 0.5 * least + 0.5 * most
        spread = np.maximum(most - value, value - least)
    crossed, gone = domains.lower > domains.upper, domains.low > domains.high
    empty: Mask = np.asarray(crossed.any(axis=1)) | np.asarray(gone.any(axis=1))
    return empty


def _linear(
    c: Compiled,
    layer: int,
    first: tuple[Array, Array],
    lower: Array,
    upper: Array,
    errors: Array,
    cut: CutBox,
) -> None:
    """Intersect the bounds of one layer with those of backward substitution to the inputs."""
    s = c.slices[layer]
    w = c.problem.weights[layer]
    step = max(1, _CHUNK // w.size)
    for start in range(0, len(lower), step):
        rows = slice(start, start + step)
        lines = [_lines(lower[rows, t], upper[rows, t]) for t in c.slices[:layer]]
        box = (first[0][rows], first[1][rows])
        forms = [_substituted(c, layer, lines, len(box[0]), sign) for sign in (-1, 1)]
        for (slopes, constants), sign, bounds in zip(forms, (-1, 1), (lower, upper), strict=True):
            reach = np.einsum("rij,rj->ri", np.abs(slopes), box[1]) + errors[rows]
            found = np.einsum("rij,rj->ri", slopes, box[0]) + constants + sign * reach
            (np.minimum if sign > 0 else np.maximum)(bounds[rows, s], found, out=bounds[rows, s])
        if c.first is None:
            _clip(c, start, forms, lower[rows, s], upper[rows, s], errors[rows], cut)


def _clip(
    c: Compiled,
    start: int,
    forms: list[tuple[Array, Array]],
    lower: Array,
    upper: Array,
    errors: Array,
    cut: CutBox,
) -> None:
    """Tighten undecided neurons by the inequality that wanted points satisfy; rows begin at `start` in it."""
    rows, neurons = np.nonzero((lower < 0.0) & (upper > 0.0))
    for part in range(0, len(rows), CHUNK):
        r, j = rows[part : part + CHUNK], neurons[part : part + CHUNK]
        for (slopes, constants), sign, bounds in zip(forms, (-1, 1), (lower, upper), strict=True):
            chosen = slopes[r, j]
            middle = np.einsum("ij,ij->i", chosen, cut.best[r + start]) + constants[r, j]
            reach, error = cut.reach(c, r + start, sign * chosen)
            found = middle + sign * (reach + error + 2.0 * errors[r, j])
            bounds[r, j] = (np.minimum if sign > 0 else np.maximum)(bounds[r, j], found)


def _lines(lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """Slope below, slope above and intercept above of each ReLU."""
    on = lower >= 0.0
    unstable = ~on & (upper > 0.0)
    width = np.where(unstable, upper - lower, 1.0)
    chord = np.where(unstable, upper / width, on)
    intercept = np.where(unstable, 16 * UNIT * width - chord * lower + TINY, 0.0)
    below = np.where(unstable, upper > -lower, on).astype(np.float64)
    return below, chord, intercept


def _substituted(
    c: Compiled, layer: int, lines: list[tuple[Array, Array, Array]], count: int, sign: int
) -> tuple[Array, Array]:
    """Linear functions of the inputs below (sign -1) or above (sign 1) every neuron of the layer.

    Coefficients (rows, neurons, inputs of a copy) and constants (rows, neurons).
    """
    problem = c.problem
    constants = np.broadcast_to(problem.biases[layer], (count, len(problem.biases[layer]))).copy()
    coefficients = problem.weights[layer][None]
    for before in range(layer - 1, -1, -1):
        below, chord, intercept = lines[before]
        up, down = np.maximum(coefficients, 0.0), np.minimum(coefficients, 0.0)
        if sign < 0:
            up, down = down, up
        # `up` holds the coefficients that take the line above the ReLU, `down` the others.
        if len(up) == 1:
            constants += intercept @ up[0].T
        else:
            constants += np.einsum("rij,rj->ri", up, intercept)
        coefficients = up * chord[:, None] + down * below[:, None]
        constants += coefficients @ problem.biases[before]
        flat = coefficients.reshape(-1, coefficients.shape[2]) @ problem.weights[before]
        coefficients = flat.reshape(count, -1, flat.shape[1])
    return coefficients, constants
