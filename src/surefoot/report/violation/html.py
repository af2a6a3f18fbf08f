"""The part of a page that shows violating runs."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.problem.problem import Problem
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.violation.drawn_run import DrawnRun, names_of_conditions, watched_conditions
from surefoot.report.violation.phase_plot import draw_phase_plot, phase_plot_caption
from surefoot.report.violation.time_panels import draw_time_panels


def condition_section(problem: Problem, runs: Sequence[DrawnRun]) -> tuple[str, tuple[str, ...]]:
    """What the property bounds over time, and in the plane; and the names that are drawn so."""
    panels, names = draw_time_panels(problem, runs)
    plot = draw_phase_plot(problem, runs)
    parts = [render_svg(panel) for panel in panels]
    if plot is not None:
        parts += [render_svg(plot.drawing, attributes=' class="phase"'), phase_plot_caption(plot)]
    return "\n".join(parts), names


def watched_names(problem: Problem) -> frozenset[str]:
    return names_of_conditions(watched_conditions(problem))
