"""Figure 6 of the shield paper: the Duffing oscillator, its starts covered by closed sets."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot_studies.control.problem import PROBLEMS
from surefoot_studies.region_figures import RegionFigureSpec, RegionResult, RegionSpec


def _covered_share(found: Mapping[str, RegionResult]) -> float:
    """Rounded towards 0: 1 is everything."""
    return 1.0 if found["duffing"].covered == 1 else min(float(found["duffing"].covered), 0.9999)


def _rule_count(found: Mapping[str, RegionResult]) -> float:
    return float(len(found["duffing"].sets))


FIGURES = {
    "6": RegionFigureSpec(
        "6",
        "Figure 6: the Duffing oscillator",
        (RegionSpec("duffing", "sets of the synthesised program", PROBLEMS["duffing"], "shield"),),
    )
}
MEASURES = {"covered": _covered_share, "rules": _rule_count}
