"""The values of all starts as a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.output_file import write_file
from surefoot.interface.expression import Operand, expression_from
from surefoot.interface.result import CheckResult, output_path
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability
from surefoot.problem.property_printer import show_property
from surefoot.report.drawing import render_png, render_svg
from surefoot.report.heatmap.cells import common_axes, heat_map, parse_view
from surefoot.report.heatmap.figure_data import figure_to_json
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure, measure_of, unit_of
from surefoot.report.heatmap.html import heat_page
from surefoot.report.heatmap.layout import draw_figure
from surefoot.report.heatmap.start_values import value_table
from surefoot.report.heatmap.terminal import terminal_text
from surefoot.run import verify
from surefoot.term.printer import show_term
from surefoot.verdict.verdict import PerStart
from surefoot.work.budget import Budget

_KINDS = (".svg", ".png", ".html", ".json")


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A picture of the values of all starts; `result` is the answer that it shows."""

    result: CheckResult
    figure: Figure = field(repr=False)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as a picture (.svg, .png), a page (.html) or as data (.json)."""
        target = output_path(path)
        content: str | bytes
        match target.suffix:
            case ".svg":
                content = render_svg(draw_figure(self.figure))
            case ".png":
                content = render_png(draw_figure(self.figure))
            case ".html":
                content = heat_page([self.figure])
            case ".json":
                content = json.dumps(figure_to_json(self.figure), indent=1) + "\n"
            case _:
                fix = f"choose a name that ends in {', '.join(_KINDS)}"
                raise InvalidProblem(f"`{target}` is no kind of file that pictures are written to", fix=fix)
        write_file(target, content)

    def __str__(self) -> str:
        return terminal_text(self.figure, 160)

    def _repr_svg_(self) -> str:
        return render_svg(draw_figure(self.figure))


def draw_values(
    problem: Problem,
    engines: Any,
    seconds: float,
    seed: int,
    *,
    x: Operand | None = None,
    y: Operand | None = None,
    where: Sequence[Operand] = (),
) -> Heatmap:
    """Ask for the value of every start, and draw it over one or two expressions of the state."""
    asked = problem.property
    if not isinstance(asked, Probability | Expected):
        fix = 'ask probability_of(condition), or a text such as "P=? [ F x = 3 ]"'
        raise InvalidProblem("a heat map shows probabilities or expected rewards", fix=fix)
    every = replace(problem, property=replace(asked, over="values", threshold=None))
    found = verify(every, engines, Budget(seconds, seed))
    answer = CheckResult(every, found)
    if not isinstance(found.verdict, PerStart):
        what = f"there is no table of starts to draw: {answer!r}"
        raise Unsupported(what, fix="let the model start in several states, or give more time")
    table = value_table(found.verdict)
    texts = [None if one is None else show_term(expression_from(one).term) for one in (x, y)]
    conditions = [show_term(expression_from(one).term) for one in where]
    view = parse_view([table], texts[0], texts[1], conditions, problem.environment)
    axes = common_axes([table], view, problem.environment)
    drawn = heat_map("value", table, view, axes, environment=problem.environment)
    words = show_property(replace(asked, over="max", starts=None))
    panel = Panel(problem.name, drawn, unit_of("value", measure_of(asked)), words, _facts(answer))
    return Heatmap(answer, build_figure(words, [panel]))


def _facts(answer: CheckResult) -> dict[str, Any]:
    data = answer.data
    return {
        "problem": data.problem,
        "engine": data.engine,
        "certified": data.certified,
        "seed": data.seed,
        "notes": list(data.notes),
    }
