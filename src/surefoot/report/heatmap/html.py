"""Heat maps as parts of an HTML page: they tell the number under the pointer, and more on a click."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.heatmap.cells import common_values, varying_names
from surefoot.report.heatmap.heat_figure import (
    Figure,
    Panel,
    interval_text,
    value_text,
    with_every_probability,
)
from surefoot.report.heatmap.layout import curve_drawing, legend_drawing, panel_drawing
from surefoot.report.html_page import HEATMAP_ASSETS, embeddable_json, render_html_page
from surefoot.report.run_table import format_number
from surefoot.visible import escape_html

MOST_BYTES = 1_000_000


def heat_page(figures: Sequence[Figure], parts: Sequence[str] = ()) -> str:
    """A whole page, below a megabyte: where there are too many cells, a click shows less."""
    title = "surefoot: " + ", ".join(dict.fromkeys(f.title for f in figures))
    alone = len(figures) == 1
    text = ""
    for detail in (2, 1, 0):
        sections = [heatmap_section(f, detail, heading=not alone) for f in figures]
        text = render_html_page(title, [*sections, *parts], HEATMAP_ASSETS)
        if len(text.encode()) < MOST_BYTES:
            break
    return text


def heatmap_section(figure: Figure, detail: int = 2, *, heading: bool = True) -> str:
    """`detail` 2: everything, 1: without runs and starts, 0: without intervals too."""
    told = list(figure.notes)
    if detail < 2:
        told.append("this page has too many cells to show all about each of them; the JSON has it")
    notes = f"<p>{'<br>'.join(map(escape_html, told))}</p>" if told else ""
    head = f"<h2>{escape_html(figure.title)}</h2>" if heading else ""
    curve = (
        f'<div class="curve">{render_svg(curve_drawing(figure.curve))}</div>'
        if figure.curve is not None
        else ""
    )
    other = with_every_probability(figure)
    panels = "\n".join(_panel_html(figure, other, panel, detail) for panel in figure.panels)
    scales = _either(_legends(figure), None if other is None else _legends(other))
    choice = (
        ""
        if other is None
        else '<p><label><input type="checkbox" class="whole"> colours from 0 to 1</label></p>'
    )
    rests = "".join(_facts_html(panel) for panel in figure.panels if panel.facts)
    facts = f"<details><summary>What this rests on</summary><dl>{rests}</dl></details>" if rests else ""
    return (
        f'<section class="heat">{head}{notes}{curve}'
        f'{choice}<div class="scale">{scales}</div><div class="panels">{panels}</div>'
        f'<div class="picked" aria-live="polite">'
        "<p>Click a cell, or use the arrow keys, to see its value, interval and start state.</p></div>"
        f"{facts}</section>"
    )


def _legends(figure: Figure) -> str:
    return "".join(render_svg(legend_drawing(figure, unit)) for unit in figure.scales)


def _either(fitted: str, whole: str | None) -> str:
    """What is shown with fitted colours and, if the reader wants them, with colours from 0 to 1."""
    return (
        fitted
        if whole is None
        else f'<div class="fitted">{fitted}</div><div class="whole" hidden>{whole}</div>'
    )


def _picture_html(figure: Figure, panel: Panel) -> str:
    name = escape_html(f"{panel.title}: heat map of the {panel.unit}")
    return render_svg(
        panel_drawing(figure, panel, titles=False).drawing,
        titles=False,
        attributes=f' tabindex="0" role="application" aria-label="{name}"',
    )


def _panel_html(figure: Figure, other: Figure | None, panel: Panel, detail: int) -> str:
    """`other`: the same with colours from 0 to 1."""
    placed = panel_drawing(figure, panel, titles=False)
    picture = _either(_picture_html(figure, panel), None if other is None else _picture_html(other, panel))
    map = panel.map
    starts = [c.starts[0] for c in map.cells]
    names = varying_names(starts)
    counts = list(dict.fromkeys(n for c in map.cells for n in c.value.counts))
    cells: list[list[Any]] = []
    for cell in map.cells:
        row: list[Any] = [cell.column, cell.row, value_text(figure, panel.unit, cell)]
        row.append(interval_text(cell.value) if detail > 0 else "")
        if detail > 1:
            row.append([cell.value.counts.get(n, 0) for n in counts] if cell.value.counts else None)
            row += [[format_number(cell.starts[0][n]) for n in names], len(cell.starts)]
        cells.append(row)
    data = {
        "title": panel.title,
        "unit": panel.unit,
        "left": placed.left,
        "top": placed.top,
        "size": placed.size,
        "down": figure.down,
        "x": {"name": map.x.name, "values": [format_number(v) for v in map.x.values]},
        "y": None
        if map.y is None
        else {"name": map.y.name, "values": [format_number(v) for v in map.y.values]},
        "names": names,
        "fixed": [f"{n} = {format_number(v)}" for n, v in common_values(starts).items()],
        "counts": counts,
        "cells": cells,
    }
    return (
        f'<figure class="heat">{picture}<script '
        f'type="application/json">{embeddable_json(data)}</script></figure>'
    )


def _facts_html(panel: Panel) -> str:
    told = [panel.asked, *(f"{k}: {_plain_text(v)}" for k, v in panel.facts.items())]
    return f"<dt>{escape_html(panel.title)}</dt>" + "".join(f"<dd>{escape_html(t)}</dd>" for t in told if t)


def _plain_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
