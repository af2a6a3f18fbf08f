"""Figure 6 of the shield paper: the Duffing oscillator, its starts covered by closed sets."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.studies.control.problem import PROBLEMS
from surefoot.studies.regions import RegionOf, RegionsOf, Shown


def _covered(found: Mapping[str, Shown]) -> float:
    """Rounded towards 0: 1 is everything."""
    return 1.0 if found["duffing"].covered == 1 else min(float(found["duffing"].covered), 0.9999)


def _rules(found: Mapping[str, Shown]) -> float:
    return float(len(found["duffing"].sets))


FIGURES = {
    "6": RegionsOf(
        "6",
        "Figure 6: the Duffing oscillator",
        (RegionOf("duffing", "sets of the synthesised program", PROBLEMS["duffing"], "shield"),),
    )
}
MEASURES = {"covered": _covered, "rules": _rules}
