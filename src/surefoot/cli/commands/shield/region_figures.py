"""Closed sets as pictures: figures of the paper made again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from surefoot.cli.engine_options import build_engines
from surefoot.errors import InvalidProblem
from surefoot.report.region import Scene, certified_scene, synthesis_scene
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield, shapes_for
from surefoot.verdict.verdict import Certificate, Proved, is_interrupted
from surefoot.work.budget import Budget
from surefoot_studies.region_figures import RegionFigureSpec, RegionResult, RegionSpec


def region_scenes(
    wanted: RegionFigureSpec, seconds: float, seed: int, tell: Callable[[str], None]
) -> tuple[list[Scene], dict[str, RegionResult]]:
    """The panels of a figure; an error if there is no certificate for one of them."""
    scenes, found = [], {}
    for panel in wanted.panels:
        tell(f"figure {wanted.name}: {panel.title}")
        scene, covered = _region_panel(panel, Budget(seconds, seed, tell))
        if not scene.certified:
            raise InvalidProblem(f"{panel.title}: nothing is certified", fix="give more time with --timeout")
        unsafe = [sum(r.unsafe for r in scene.runs if r.shielded is kind) for kind in (False, True)]
        sets = tuple((region.domain, region.rows) for region in scene.regions)
        found[panel.name] = RegionResult(sets, covered, (unsafe[0], unsafe[1]))
        scenes.append(scene)
    return scenes, found


def _region_panel(panel: RegionSpec, budget: Budget) -> tuple[Scene, Fraction]:
    problem = panel.problem()
    if panel.engine == "shield":
        made = make_certified_shield(problem, shapes_for(), budget)
        if made.found.interrupted:
            raise KeyboardInterrupt
        covered = made.found.covered_share(made.system.initial)
        return synthesis_scene(made, panel.title, budget.seed), covered
    result = verify(problem, build_engines("barrier", {}, None)[0], budget)
    if is_interrupted(result.verdict):
        raise KeyboardInterrupt
    match result.verdict:
        case Proved(Certificate("barrier", content)) if result.certified:
            return certified_scene(problem, content, panel.title, budget.seed), Fraction(1)
        case _:
            what = f"{panel.title}: no certificate was found"
            raise InvalidProblem(what, fix="give more time with --timeout")
