"""Figures of a paper that show closed sets: which problems a panel shows, and shares of boxes as measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from surefoot import api
from surefoot_studies import Tell

Box = tuple[tuple[Fraction, Fraction], ...]
GRID = 200  # points in each of two variables


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """One picture. `barrier`: the set of the problem's own program; `shield`: a program is synthesised."""

    name: str
    title: str
    problem: Callable[[], api.Problem]
    engine: Literal["barrier", "shield"]


@dataclass(frozen=True, slots=True)
class RegionFigureSpec:
    name: str
    title: str
    panels: tuple[RegionSpec, ...]


@dataclass(frozen=True, slots=True)
class RegionResult:
    """What a panel has found: certified sets by domain and rows of the barrier, and how much they cover."""

    sets: tuple[tuple[Box, tuple[api.Polynomial, ...]], ...]
    covered: Fraction  # of the starts
    unsafe_runs: tuple[int, int]  # without the shield, with it


def covered_box_share(found: RegionResult, box: Sequence[tuple[float, float]]) -> float:
    """How much of a box in two variables is in one of the sets: points of a grid, counted in floats."""
    (x0, x1), (y0, y1) = box
    import numpy as np  # not for `--help`

    steps = (np.arange(GRID) + 0.5) / GRID
    across, along = np.meshgrid(x0 + steps * (x1 - x0), y0 + steps * (y1 - y0))
    points = np.column_stack([across.ravel(), along.ravel()])
    inside = np.zeros(len(points), dtype=np.bool_)
    for domain, rows in found.sets:
        low, high = (np.array([float(ends[i]) for ends in domain]) for i in (0, 1))
        below = np.all([api.evaluate_polynomial(row, points) <= 0 for row in rows], axis=0)
        inside |= np.all((points >= low) & (points <= high), axis=1) & below
    return float(inside.mean())


def region_scenes(
    wanted: RegionFigureSpec, seconds: float, seed: int, tell: Tell
) -> tuple[list[api.Scene], dict[str, RegionResult]]:
    """The panels of a figure; an error if there is no certificate for one of them."""
    scenes, found = [], {}
    for panel in wanted.panels:
        tell(f"figure {wanted.name}: {panel.title}")
        scene, covered = _region_panel(panel, api.Budget(seconds, seed, tell))
        if not scene.certified:
            raise api.InvalidProblem(
                f"{panel.title}: nothing is certified", fix="give more time with --timeout"
            )
        unsafe = [sum(r.unsafe for r in scene.runs if r.shielded is kind) for kind in (False, True)]
        sets = tuple((region.domain, region.rows) for region in scene.regions)
        found[panel.name] = RegionResult(sets, covered, (unsafe[0], unsafe[1]))
        scenes.append(scene)
    return scenes, found


def _region_panel(panel: RegionSpec, budget: api.Budget) -> tuple[api.Scene, Fraction]:
    problem = panel.problem()
    if panel.engine == "shield":
        made = api.make_certified_shield(problem, api.shapes_for(), budget)
        if made.found.interrupted:
            raise KeyboardInterrupt
        covered = made.found.covered_share(made.system.initial)
        return api.synthesis_scene(made, panel.title, budget.seed), covered
    result = api.verify(problem, api.Barrier(), budget)
    if api.is_interrupted(result.verdict):
        raise KeyboardInterrupt
    match result.verdict:
        case api.Proved(api.Certificate("barrier", content)) if result.certified:
            return api.certified_scene(problem, content, panel.title, budget.seed), Fraction(1)
        case _:
            what = f"{panel.title}: no certificate was found"
            raise api.InvalidProblem(what, fix="give more time with --timeout")
