"""The values of all starts in short: mean, least, greatest, what misses a threshold, and a map."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Threshold
from surefoot.problem.property_printer import show_property
from surefoot.report.heatmap.cells import heat_map, parse_view, varying_names
from surefoot.report.heatmap.critical_starts import CriticalStart, find_critical_starts
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure, measure_of, unit_of
from surefoot.report.heatmap.start_values import (
    StartValue,
    Table,
    aggregate_values,
    value_from_verdict,
    value_table,
)
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Result, Verdict


@dataclass(frozen=True, slots=True)
class StartSummary:
    """Bounds of the mean value and of the value at the least and the greatest start; None: not known."""

    mean: StartValue | None = None
    least: StartValue | None = None
    greatest: StartValue | None = None
    critical: tuple[CriticalStart, ...] = ()
    figure: Figure | None = None


def summarise_starts(
    problem: Problem,
    result: Result,
    threshold: Threshold | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    down: bool = False,
    title: str = "",
) -> StartSummary:
    """Of a result with a value for each start; a figure where one or two things vary, or `x` says what."""
    table = _value_table(result.verdict)
    if not table:
        return StartSummary()
    every = [value for _, value in table]
    bad = () if threshold is None else find_critical_starts(table, threshold)
    figure = None
    if isinstance(result.verdict, PerStart) and (
        x is not None or 1 <= len(varying_names(s for s, _ in table)) <= 2
    ):
        figure = result_figure(problem, result, x=x, y=y, down=down, title=title)
    mean, least, greatest = (aggregate_values(every, how) for how in ("mean", "min", "max"))
    return StartSummary(mean, least, greatest, bad, figure)


def _value_table(verdict: Verdict) -> Table:
    """The values of a verdict; of one start only, a table of one row without a state. Unknown: none."""
    match verdict:
        case PerStart():
            return value_table(verdict)
        case Exact() | Estimated():
            return [({}, value_from_verdict(verdict))]
        case _:
            return []


def result_figure(
    problem: Problem,
    result: Result,
    *,
    x: str | None = None,
    y: str | None = None,
    down: bool = False,
    title: str = "",
) -> Figure:
    """The values of all starts; an error in one line where there is nothing to draw."""
    if not isinstance(result.verdict, PerStart):
        raise InvalidProblem("the result has no value for each start", fix="ask `over values`")
    table = value_table(result.verdict)
    map = heat_map("value", table, parse_view([table], x, y, environment=problem.environment))
    asked = show_property(problem.property)
    panel = Panel(title or result.problem, map, unit_of("value", measure_of(problem.property)), asked)
    return build_figure(title or asked, [panel], down=down)
