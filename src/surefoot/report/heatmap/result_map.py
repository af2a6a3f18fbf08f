"""The heat map of one result, without further questions: for reports and for checks while training."""

from __future__ import annotations

from collections.abc import Iterable

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.report.heatmap.cells import common_axes, heat_map, parse_view
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure, measure_of, unit_of
from surefoot.report.heatmap.start_values import Aggregate, value_table
from surefoot.verdict.verdict import PerStart, Result


def result_figure(
    problem: Problem,
    result: Result,
    *,
    x: str | None = None,
    y: str | None = None,
    where: Iterable[str] = (),
    aggregate: Aggregate = "max",
    down: bool = False,
    title: str = "",
) -> Figure:
    """The values of all starts; an error in one line where there is nothing to draw."""
    if not isinstance(result.verdict, PerStart):
        raise InvalidProblem("the result has no value for each start", fix="ask `over values`")
    table = value_table(result.verdict)
    view = parse_view([table], x, y, where, problem.environment)
    along = common_axes([table], view, problem.environment)
    map = heat_map("value", table, view, along, aggregate=aggregate, environment=problem.environment)
    asked = show_property(problem.property)
    panel = Panel(title or result.problem, map, unit_of("value", measure_of(problem.property)), asked)
    return build_figure(title or asked, [panel], down=down)
