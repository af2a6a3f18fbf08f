"""The pictures of a violation as one drawing, for SVG and PNG files."""

from __future__ import annotations

from itertools import accumulate

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.report.drawing.shapes import Drawing, Shape, shift_shapes
from surefoot.report.violation.drawn_run import DrawnRun, draw_flow_run, draw_traces
from surefoot.report.violation.html import MOST_DRAWN, watched_names
from surefoot.report.violation.phase_plot import draw_phase_plot
from surefoot.report.violation.time_panels import draw_time_panels
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Result, Unknown, Violated

GAP = 6


def draw_violation(problem: Problem, result: Result) -> Drawing:
    """What the property bounds over time, one panel below the other, then the runs in the plane."""
    runs: tuple[DrawnRun, ...]
    match result.verdict:
        case Violated(trace, artifact=SuspectedRun() as found):
            runs = (draw_flow_run(found, trace),)
        case Violated(trace):
            shown = (result.witnesses or (trace,))[:MOST_DRAWN]
            runs = draw_traces(problem, shown, watched_names(problem))
        case Unknown(artifact=SuspectedRun() as found):
            runs = (DrawnRun("", found.times, found.states),)
        case _:
            fix = "the report (--report, or a name that ends in .html) shows every answer"
            raise InvalidProblem("there is no violation that could be drawn", fix=fix)
    parts, _ = draw_time_panels(problem, runs)
    plot = draw_phase_plot(problem, runs)
    parts += [plot.drawing] if plot is not None else []
    if not parts:
        raise InvalidProblem("the property bounds nothing that could be drawn over time")
    shapes: list[Shape] = []
    tops = accumulate((part.height + GAP for part in parts), initial=0)
    for part, top in zip(parts, tops, strict=False):
        shapes += shift_shapes(part.shapes, 0, top)
    height = sum(part.height + GAP for part in parts) - GAP
    return Drawing(max(part.width for part in parts), height, tuple(shapes), f"violation of {problem.name}")
