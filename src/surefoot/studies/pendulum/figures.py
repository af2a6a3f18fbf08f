"""Figure 3 of the shield paper: invariants of the pendulum, with 90 and with 30 degrees allowed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import radians

from surefoot.studies.pendulum.problem import SAFE_DEGREES, STRICT_DEGREES, stays_upright
from surefoot.studies.regions import RegionOf, RegionsOf, Shown, share


def _within(degrees: float) -> tuple[tuple[float, float], tuple[float, float]]:
    return ((-radians(degrees), radians(degrees)),) * 2


def _permitted(found: Mapping[str, Shown]) -> float:
    """How much of what 90 degrees permit is in the invariant."""
    return share(found["a"], _within(SAFE_DEGREES))


def _beyond(found: Mapping[str, Shown]) -> float:
    """How much of the invariant for 90 degrees is unsafe if only 30 are allowed."""
    everything = share(found["a"], _within(SAFE_DEGREES)) * SAFE_DEGREES**2
    return 1 - share(found["a"], _within(STRICT_DEGREES)) * STRICT_DEGREES**2 / everything


def _restricted(found: Mapping[str, Shown]) -> float:
    """The invariant for 30 degrees, as a share of the one for 90."""
    everything = share(found["a"], _within(SAFE_DEGREES)) * SAFE_DEGREES**2
    return share(found["b"], _within(SAFE_DEGREES)) * SAFE_DEGREES**2 / everything


def _unsafe_with_shield(found: Mapping[str, Shown]) -> float:
    return float(found["b"].unsafe_runs[1])


FIGURES = {
    "3": RegionsOf(
        "3",
        "Figure 3: invariants of the pendulum",
        (
            RegionOf("a", "(a) within 90 degrees, the paper's program", stays_upright, "barrier"),
            RegionOf(
                "b",
                "(b) within 30 degrees, shielded",
                partial(stays_upright, degrees=STRICT_DEGREES),
                "shield",
            ),
        ),
    )
}
MEASURES = {
    "permitted": _permitted,
    "beyond": _beyond,
    "restricted": _restricted,
    "unsafe with the shield": _unsafe_with_shield,
}
