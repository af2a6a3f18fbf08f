"""Closed sets as pictures: the page of `surefoot shield --report`."""

from __future__ import annotations

from surefoot.cli.commands.shield.synthesis_text import render_synthesis
from surefoot.cli.output import deliver_file
from surefoot.cli.terminal import print_line
from surefoot.report.region import Scene, region_page, synthesis_scene
from surefoot.report.search_page import preformatted_html
from surefoot.shields.certified_shield import ShieldSynthesis
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time


def write_shield_page(
    made: ShieldSynthesis, path: str, budget: Budget, seconds: float, quiet: bool
) -> Scene | None:
    """Write the page; None if that was interrupted, or the time is over: all else is known by then."""
    try:
        scene = call_in_time(
            budget, lambda: synthesis_scene(made, made.problem.name, budget.seed), lambda: None
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
