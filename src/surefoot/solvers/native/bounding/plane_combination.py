"""Conjunctions of planes that cannot all be <= 0 on a box, and boxes shrunk by planes that must be.

Any non-negative multipliers are sound, since the planes are rigorous; good ones are found by a few steps of
exponentiated gradient ascent on the minimum of their combination over the box.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.back_substitution import Planes
from surefoot.network.directed_rounding import Array, BoxArray, gamma_factor
from surefoot.solvers.native.compiled_query import Mask


def ascend_multipliers(planes: Planes, box: BoxArray, idle: Mask, steps: int) -> tuple[Array, Array]:
    """Shares and scales per batch member: their products are multipliers for which the minimum is large.

    The scales make planes comparable, those of idle planes are zero; the shares sum up to 1.
    """
    batch, count = planes.constant.shape
    coefficients, constant = (
        planes.coefficients,
        np.where(np.isfinite(planes.constant), planes.constant, -1e300),
    )
    if count == 1:
        return np.ones((batch, 1)), np.where(idle, 0.0, 1.0)
    spread = (np.abs(coefficients) * (box.high - box.low)[:, None]).sum(-1)
    scale = 1.0 / np.maximum(spread, 1e-300)  # so that steep planes do not drown flat ones
    scale = np.where(idle, 0.0, np.clip(scale / scale.max(axis=1, keepdims=True), 1e-9, 1.0))
    share = np.full((batch, count), 1.0 / count)
    best, found = share.copy(), np.full(batch, -np.inf)
    with np.errstate(all="ignore"):
        for step in range(steps):
            weights = share * scale
            slope = np.matmul(weights[:, None], coefficients)[:, 0]
            worst = np.where(slope > 0, box.low, box.high)
            heights = (np.matmul(coefficients, worst[..., None])[..., 0] + constant) * scale
            value = (share * heights).sum(axis=1)
            better = value > found
            best[better], found[better] = share[better], value[better]
            centred = np.where(idle, 0.0, heights - value[:, None])
            rate = 3.0 * (1.0 - step / steps)
            share = share * np.exp(rate * centred / (np.abs(centred).max(axis=1, keepdims=True) + 1e-300))
            share = np.where(idle, 1e-12, np.maximum(share, 1e-6))
            share /= share.sum(axis=1, keepdims=True)
    return best, scale


def combine_planes(planes: Planes, weights: Array, box: BoxArray) -> Planes:
    """One plane per batch member below the weighted sum; the rounding of the sum is taken off."""
    with np.errstate(all="ignore"):
        usable = np.where(weights > 0, planes.constant, 0.0)
        coefficients = np.matmul(weights[:, None], planes.coefficients)
        constant = (weights * usable).sum(axis=1)
        size = np.matmul(weights[:, None], np.abs(planes.coefficients))[:, 0]
        error = gamma_factor(weights.shape[1] + 2) * (
            (size * box.magnitude).sum(axis=1) + (weights * np.abs(usable)).sum(axis=1)
        )
        # Twice, for the rounding of the error itself and of the last subtraction.
        constant = constant - 2.0 * error - gamma_factor(1) * np.abs(constant) - 2.0**-900
        constant = np.where(np.isfinite(constant), constant, -np.inf)
    return Planes(coefficients, constant[:, None])


def contract_by_planes(planes: Planes, least: Array, box: BoxArray) -> BoxArray:
    """The part of each box in which every plane can be <= 0, rounded outward; `least` is their minimum."""
    room = np.where(np.isfinite(least), np.maximum(-least, 0.0), np.inf)
    with np.errstate(all="ignore"):
        reach = room[..., None] / np.abs(planes.coefficients)
        reach = np.where(np.isnan(reach), np.inf, reach) * (1.0 + 2.0**-50)
        positive, negative = planes.coefficients > 0, planes.coefficients < 0
        # Twice outward: the division and the sum are each off by one rounding.
        upper = np.nextafter(np.nextafter(box.low[:, None] + reach, np.inf), np.inf)
        lower = np.nextafter(np.nextafter(box.high[:, None] - reach, -np.inf), -np.inf)
    high = np.minimum(box.high, np.where(positive, upper, np.inf).min(axis=1))
    low = np.maximum(box.low, np.where(negative, lower, -np.inf).max(axis=1))
    return BoxArray(low, high)
