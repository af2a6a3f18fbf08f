"""The part of a page that shows violating runs."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.problem.problem import Problem
from surefoot.report.drawing.frame import LINE_COLOURS
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.run_chart import ChartFacts, Series, line_chart
from surefoot.report.violation.drawn_run import (
    DrawnRun,
    draw_flow_run,
    names_of_conditions,
    time_unit,
    watched_conditions,
)
from surefoot.report.violation.phase_plot import draw_phase_plot, phase_plot_caption
from surefoot.report.violation.time_panels import draw_time_panels
from surefoot.report.violation.witness_table import witness_rows
from surefoot.verdict.artifact import SuspectedRun
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


def suspicion_section(problem: Problem, found: SuspectedRun) -> str:
    """A run that was integrated numerically, drawn like one that violates the property."""
    told = f"{_how_integrated(found)} This was seen; nothing is proved by it."
    return _flow_section(problem, DrawnRun("", found.times, found.states), told)


def flow_run_section(problem: Problem, found: SuspectedRun, trace: Trace) -> str:
    """A run whose violation is certified, as it was integrated numerically."""
    told = f"{_how_integrated(found)} That is the picture; the certificate rests on enclosures."
    return _flow_section(problem, draw_flow_run(found, trace), told)


def _how_integrated(found: SuspectedRun) -> str:
    return (
        f"Integrated numerically ({found.method}; with coarser steps its states move by {found.error:.2g})."
    )


def _flow_section(problem: Problem, run: DrawnRun, told: str) -> str:
    pictures, drawn = condition_section(problem, [run])
    unit = time_unit(problem.environment)
    others = [
        line_chart(
            name,
            [Series(name, tuple((t, s[name]) for t, s in zip(run.times, run.names, strict=True)))],
            facts=ChartFacts(unit),
        )
        for name in run.names[0]
        if name not in drawn and len({s[name] for s in run.names}) > 1
    ]
    return "\n".join([f"<p>{escape_html(told)}</p>", pictures, *others])


def watched_names(problem: Problem) -> frozenset[str]:
    return names_of_conditions(watched_conditions(problem))
