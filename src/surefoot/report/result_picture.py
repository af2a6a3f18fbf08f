"""The picture of an answer as one drawing: a violation, or the sets that runs stay in."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.report.drawing.shapes import Drawing
from surefoot.report.flowpipe.pipe_figure import draw_flowpipe
from surefoot.report.flowpipe.pipe_scene import pipe_scene
from surefoot.report.violation.figure import draw_violation
from surefoot.verdict.verdict import Result


def draw_result(problem: Problem, result: Result, axes: Sequence[str] | None = None) -> Drawing:
    """`axes`: two names of a flowpipe, such as `time` and `x`; without them what the property speaks of."""
    scene = pipe_scene(problem, result.verdict, result.seed)
    if scene is not None:
        return draw_flowpipe(scene, axes)
    if axes is not None:
        fix = "leave them out, or ask engine `reach`, which keeps the sets that runs stay in"
        raise InvalidProblem("there are no sets that could be drawn over two names", fix=fix)
    return draw_violation(problem, result)
