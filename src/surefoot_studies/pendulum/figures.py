"""Figure 3 of the shield paper: invariants of the pendulum, with 90 and with 30 degrees allowed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import radians

from surefoot_studies.pendulum.problem import SAFE_DEGREES, STRICT_DEGREES, stays_upright
from surefoot_studies.region_figures import RegionFigureSpec, RegionResult, RegionSpec, covered_box_share


def _degree_box(degrees: float) -> tuple[tuple[float, float], tuple[float, float]]:
    return ((-radians(degrees), radians(degrees)),) * 2


def _permitted_share(found: Mapping[str, RegionResult]) -> float:
    """How much of what 90 degrees permit is in the invariant."""
    return covered_box_share(found["a"], _degree_box(SAFE_DEGREES))


def _unsafe_share(found: Mapping[str, RegionResult]) -> float:
    """How much of the invariant for 90 degrees is unsafe if only 30 are allowed."""
    everything = covered_box_share(found["a"], _degree_box(SAFE_DEGREES)) * SAFE_DEGREES**2
    return 1 - covered_box_share(found["a"], _degree_box(STRICT_DEGREES)) * STRICT_DEGREES**2 / everything


def _restricted_share(found: Mapping[str, RegionResult]) -> float:
    """The invariant for 30 degrees, as a share of the one for 90."""
    everything = covered_box_share(found["a"], _degree_box(SAFE_DEGREES)) * SAFE_DEGREES**2
    return covered_box_share(found["b"], _degree_box(SAFE_DEGREES)) * SAFE_DEGREES**2 / everything


def _unsafe_with_shield(found: Mapping[str, RegionResult]) -> float:
    return float(found["b"].unsafe_runs[1])


FIGURES = {
    "3": RegionFigureSpec(
        "3",
        "Figure 3: invariants of the pendulum",
        (
            RegionSpec("a", "(a) within 90 degrees, the paper's program", stays_upright, "barrier"),
            RegionSpec(
                "b",
                "(b) within 30 degrees, shielded",
                partial(stays_upright, degrees=STRICT_DEGREES),
                "shield",
            ),
        ),
    )
}
MEASURES = {
    "permitted": _permitted_share,
    "beyond": _unsafe_share,
    "restricted": _restricted_share,
    "unsafe with the shield": _unsafe_with_shield,
}
