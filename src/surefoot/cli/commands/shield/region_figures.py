"""Closed sets as pictures: the page of `surefoot shield --report`, and figures of the paper made again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from surefoot.cli.commands.shield.synthesis_text import render_synthesis
from surefoot.cli.engine_options import build_engines
from surefoot.cli.output import deliver_file
from surefoot.cli.terminal import print_line
from surefoot.errors import InvalidProblem
from surefoot.reductions.discretise import discretise, in_time
from surefoot.report.region import Scene, certified_scene, make_scene, region_page, sample_shield_runs
from surefoot.report.search_page import preformatted_html
from surefoot.run import verify
from surefoot.shields.certified_shield import ShieldSynthesis, make_certified_shield, shapes_for
from surefoot.shields.evaluation.plant import covered_boxes
from surefoot.verdict.verdict import Certificate, Proved, is_interrupted
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time
from surefoot_studies.region_figures import RegionFigureSpec, RegionResult, RegionSpec


def _synthesis_scene(made: ShieldSynthesis, title: str, seed: int) -> Scene:
    """The sets of a synthesis and runs from the starts that they cover."""
    branches = made.found.branches
    covered = [tuple(box) for box in covered_boxes([b.set.proof for b in branches], made.system.initial)]
    drawn = discretise(in_time(made.problem, "steps", "rk4")) if made.system.motion else made.problem
    runs, proposed = sample_shield_runs(drawn, made.system, covered, seed) if branches else ((), "")
    sets = [(b.set.domain, b.set.barrier, b.then) for b in branches]
    return make_scene(title, made.system, sets, runs, proposed, certified=made.accepted)


def write_shield_page(
    made: ShieldSynthesis, path: str, budget: Budget, seconds: float, quiet: bool
) -> Scene | None:
    """Write the page; None if that was interrupted, or the time is over: all else is known by then."""
    try:
        scene = call_in_time(
            budget, lambda: _synthesis_scene(made, made.problem.name, budget.seed), lambda: None
        )
    except KeyboardInterrupt:
        print_line(f"not written: {path} (interrupted)", error=True)
        return None
    if scene is None:
        print_line(f"not written: {path} (the time is over)", error=True)
        return None
    shown = scene
    deliver_file(path, lambda: _render_shield_page(made, shown, seconds), quiet)
    return scene


def _render_shield_page(made: ShieldSynthesis, scene: Scene, seconds: float) -> str:
    """The pictures, and below them what the command prints."""
    return region_page(
        f"surefoot: {made.problem.name}", [scene], [preformatted_html(render_synthesis(made, seconds))]
    )


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
        return _synthesis_scene(made, panel.title, budget.seed), covered
    result = verify(problem, build_engines("barrier", {}, None)[0], budget)
    if is_interrupted(result.verdict):
        raise KeyboardInterrupt
    match result.verdict:
        case Proved(Certificate("barrier", content)) if result.certified:
            return certified_scene(problem, content, panel.title, budget.seed), Fraction(1)
        case _:
            what = f"{panel.title}: no certificate was found"
            raise InvalidProblem(what, fix="give more time with --timeout")
