"""From tables to a figure: common axes, one panel for each table, and what is told beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from surefoot.errors import InvalidProblem
from surefoot.report.heatmap.cells import heat_map, parse_filter, parse_view, satisfies_filter
from surefoot.report.heatmap.heat_figure import Figure, Limits, Panel, build_figure, unit_of
from surefoot.report.heatmap.learning_curve import Curve
from surefoot.report.heatmap.start_tables import StartTables, result_provenance
from surefoot.report.heatmap.start_values import Aggregate, End, Table, Which

WORDS: dict[Which, str] = {"value": "", "optimum": "optimum", "gap": "gap to the optimum", "effort": "effort"}
MOST_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class HeatmapOptions:
    """What is drawn along the axes, of which starts, and how."""

    x: str | None
    y: str | None
    down: bool
    where: tuple[str, ...]
    aggregate: Aggregate
    end: End
    limits: Limits
    title: str | None
    columns: int | None


def read_limits(text: str | None) -> Limits:
    """`0:0.5`, the ends of a scale, or `auto`: as far as the values go."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        low, high = 0.0, 0.0
    if not (isfinite(low) and isfinite(high) and low < high):
        raise InvalidProblem(f"`{text}` is not LOW:HIGH", fix="write for example 0:0.5", where="--range")
    return low, high


def compose_figure(
    answered: Sequence[StartTables],
    look: HeatmapOptions,
    quantities: Sequence[Which],
    across: int | None,
    curve: Curve | None,
    mark: str = "",
) -> Figure:
    """Panels in the order in which they were asked; maps of one model share their axes.

    `mark`: how far it came, if it was interrupted.
    """
    panels: list[Panel] = []
    known = [a for a in answered if a.tables]
    for group in dict.fromkeys(a.subject.group for a in known):
        mine = [a for a in known if a.subject.group == group]
        tables = [t for a in mine for t in a.tables.values()]
        view = parse_view(tables, look.x, look.y, look.where, mine[0].subject.environment)
        for one in mine:
            for which in (q for q in quantities if q in one.tables):
                map, subject = heat_map(which, one.tables[which], view, look.aggregate), one.subject
                title = ", ".join(w for w in (subject.title, WORDS[which]) if w)
                unit = unit_of(which, subject.measure)
                panels.append(Panel(title, map, unit, subject.words, result_provenance(one, which)))
    notes = [mark] if mark else []
    notes += [f"only starts with {', '.join(look.where)}"] if look.where else []
    notes += [f"{a.subject.title}: {a.trouble}" for a in answered if a.trouble]
    columns = look.columns or across or min(len(panels), MOST_COLUMNS)
    return build_figure(
        look.title or " / ".join(dict.fromkeys(p.asked for p in panels)),
        panels,
        columns=columns,
        down=look.down,
        end=look.end,
        limits=look.limits,
        notes=notes,
        curve=curve,
    )


def drawn_start_values(answers: StartTables, look: HeatmapOptions) -> Table:
    """The values of those starts that are drawn."""
    table, environment = answers.tables["value"], answers.subject.environment
    where = parse_filter(look.where, [state for state, _ in table], environment)
    return [(state, value) for state, value in table if satisfies_filter(state, where, environment)]
