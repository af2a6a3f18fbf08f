"""The part of a page that shows violating runs."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.problem.problem import Problem
from surefoot.report.drawing.frame import LINE_COLOURS
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.violation.drawn_run import DrawnRun, names_of_conditions, watched_conditions
from surefoot.report.violation.phase_plot import draw_phase_plot, phase_plot_caption
from surefoot.report.violation.time_panels import draw_time_panels
from surefoot.report.violation.witness_table import witness_rows
from surefoot.verdict.verdict import Trace
from surefoot.visible import escape_html

MOST_DRAWN = len(LINE_COLOURS)  # runs in one picture


def condition_section(problem: Problem, runs: Sequence[DrawnRun]) -> tuple[str, tuple[str, ...]]:
    """What the property bounds over time, and in the plane; and the names that are drawn so."""
    panels, names = draw_time_panels(problem, runs)
    plot = draw_phase_plot(problem, runs)
    parts = [render_svg(panel) for panel in panels]
    if plot is not None:
        parts += [render_svg(plot.drawing, attributes=' class="phase"'), phase_plot_caption(plot)]
    return "\n".join(parts), names


def witness_section(
    problem: Problem, traces: Sequence[Trace], runs: Sequence[DrawnRun], pictures: str
) -> str:
    """A table of runs, each of which can be hidden in the pictures below it."""
    rows = []
    for number, (place, start, steps, violated) in enumerate(witness_rows(problem, traces)):
        drawn = number < len(runs)
        box = (
            f'<input type="checkbox" checked data-run="{place}" aria-label="show run {place}">'
            if drawn
            else ""
        )
        colour = LINE_COLOURS[number % len(LINE_COLOURS)]
        sign = f'<span class="sign" style="background:{colour}"></span>' if drawn else ""
        cells = f'<td>{steps}</td><td class="text">{escape_html(violated)}</td>'
        shown = f'<td class="text"><label>{box}{sign} run {place}</label></td>'
        rows.append(f'<tr>{shown}<td class="text">{escape_html(start)}</td>{cells}</tr>')
    head = '<th class="text">run</th><th class="text">start</th><th>steps</th><th class="text">violated</th>'
    told = f"{len(traces)} runs that violate it, each replayed step by step; the first is the shortest found."
    if len(traces) > len(runs):
        told += f" The first {len(runs)} are drawn."
    table = f'<div class="table"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
    return f'<section class="witnesses"><p>{told}</p>{table}{pictures}</section>'


def watched_names(problem: Problem) -> frozenset[str]:
    return names_of_conditions(watched_conditions(problem))
