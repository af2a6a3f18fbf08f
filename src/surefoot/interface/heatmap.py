"""The values of all starts as a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from surefoot.report.drawing.png_file import render_png
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.heatmap.cells import heat_map, parse_view
from surefoot.report.heatmap.figure_data import figure_to_json
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure, measure_of, unit_of
from surefoot.report.heatmap.html import heat_page
from surefoot.report.heatmap.layout import draw_figure
from surefoot.report.heatmap.start_values import value_table
from surefoot.report.heatmap.terminal import terminal_text
from surefoot.run import verify
from surefoot.term.arguments import take_named_tuple
from surefoot.term.printer import show_term
from surefoot.verdict.verdict import PerStart
from surefoot.work.budget import Budget

_KINDS = (".svg", ".png", ".html", ".json")


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A picture of the values of all starts; `result` is the answer that it shows."""

    result: CheckResult
    figure: Figure = field(repr=False)
    results: tuple[CheckResult, ...] = field(default=(), repr=False)  # of each map, where several are drawn

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

    def _repr_html_(self) -> str:
        return f"<div>{render_svg(draw_figure(self.figure))}</div>"


def draw_values(
    problem: Problem,
    engines: Any,
    budget: Budget,
    *,
    x: Operand | None = None,
    y: Operand | None = None,
    where: Sequence[Operand] = (),
) -> Heatmap:
    """Ask for the value of every start, and draw it over one or two expressions of the state."""
    return draw_variants(
        {problem.name: problem}, engines, budget.begin_part(budget.seconds), x=x, y=y, where=where
    )


def draw_variants(
    variants: Mapping[str, Problem],
    engines: Any,
    budget: Budget,
    *,
    x: Operand | None = None,
    y: Operand | None = None,
    where: Sequence[Operand] = (),
) -> Heatmap:
    """One map for each problem, by its title, on common axes and one scale; they share the time equally."""
    texts = [None if one is None else show_term(expression_from(one).term) for one in (x, y)]
    conditions = take_named_tuple("where", where, lambda one: show_term(expression_from(one).term))
    answers: list[CheckResult] = []
    for number, problem in enumerate(variants.values()):
        share = budget.begin_part(budget.remaining() / (len(variants) - number))
        answers.append(_ask_values(problem, engines, share))
    tables = [value_table(_verdict_table(answer)) for answer in answers]
    view = parse_view(tables, texts[0], texts[1], conditions, answers[0].problem.environment)
    panels = []
    for title, answer, table in zip(variants, answers, tables, strict=True):
        asked = answer.problem.property
        assert isinstance(asked, Probability | Expected)
        words = show_property(replace(asked, over="max", starts=None))
        drawn = heat_map("value", table, view)
        panels.append(Panel(title, drawn, unit_of("value", measure_of(asked)), words, _facts(answer)))
    titles = dict.fromkeys(panel.asked for panel in panels)
    return Heatmap(answers[0], build_figure(" / ".join(titles), panels), tuple(answers))


def _ask_values(problem: Problem, engines: Any, budget: Budget) -> CheckResult:
    asked = problem.property
    if not isinstance(asked, Probability | Expected):
        fix = 'ask probability_of(condition), or a text such as "P=? [ F x = 3 ]"'
        raise InvalidProblem("a heat map shows probabilities or expected rewards", fix=fix)
    every = replace(problem, property=replace(asked, over="values", threshold=None))
    answer = CheckResult(every, verify(every, engines, budget))
    if not isinstance(answer.verdict, PerStart):
        what = f"there is no table of starts to draw: {answer!r}"
        raise Unsupported(what, fix="let the model start in several states, or give more time")
    return answer


def _verdict_table(answer: CheckResult) -> PerStart:
    assert isinstance(answer.verdict, PerStart)
    return answer.verdict


def _facts(answer: CheckResult) -> dict[str, Any]:
    data = answer.data
    return {
        "problem": data.problem,
        "engine": data.engine,
        "certified": data.certified,
        "seed": data.seed,
        "notes": list(data.notes),
    }
