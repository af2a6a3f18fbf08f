"""A sweep as one HTML file: a matrix of verdicts, policies against properties and parameters, and the table.

Green is for a question that was answered yes, as on every page; a number is neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from surefoot.report.html_page import render_html_page
from surefoot.report.sweep.sweep_table import FILES, SweepAxes, count_sentence, find_axes
from surefoot.search.sweep.sweep_row import SweepAnswer, SweepRow, SweepTable
from surefoot.visible import escape_html

ASSETS = ("sweep/sweep.css",)
MOST_COLUMNS = 400  # of the matrix; the table below it has everything
SHADES = {
    "good": "yes, certified",
    "bad": "no",
    "open": "open, or not certified",
    "value": "a number",
    "error": "could not be asked",
    "absent": "not asked",
}


def render_sweep_page(table: SweepTable, link: Callable[[str], str] | None = None) -> str:
    """The whole file. `link`: from a file of the run directory to how this page refers to it."""
    axes = find_axes(table.rows)
    common = "".join(
        f"<dt>{escape_html(name)}</dt><dd><code>{escape_html(value)}</code></dd>"
        for name, value in axes.common.items()
    )
    parts = [
        f"<p>{escape_html(count_sentence(table))}</p>",
        f"<dl>{common}</dl>" if common else "",
        _legend(table.rows),
        _matrix(table.rows, axes, link),
        "<h2>All problems</h2>",
        _list_rows(table.rows, axes, link),
    ]
    return render_html_page("surefoot sweep", parts, ASSETS)


def _legend(rows: Sequence[SweepRow]) -> str:
    there = {row.answer.shade for row in rows}
    keys = "".join(
        f'<span class="key {shade}">{escape_html(words)}</span>'
        for shade, words in SHADES.items()
        if shade in there
    )
    return f"<p>{keys}</p>"


def _matrix(rows: Sequence[SweepRow], axes: SweepAxes, link: Callable[[str], str] | None) -> str:
    """A line for each policy, or value of the first parameter; a column for each combination of others."""
    down = tuple(name for name in axes.varied if name in FILES) or axes.varied[:1]
    across = tuple(name for name in axes.varied if name not in down)
    cells: dict[tuple[str, ...], dict[tuple[str, ...], SweepRow]] = {}
    columns: dict[tuple[str, ...], None] = {}
    for row in rows:
        place = tuple(axes.label(row, name) for name in across)
        columns[place] = None
        cells.setdefault(tuple(axes.label(row, name) for name in down), {})[place] = row
    ordered = _order_columns(columns, across)
    if len(columns) > MOST_COLUMNS:
        return f"<p>The matrix would have {len(columns)} columns; the table has all of them.</p>"
    head = "".join(f"<th>{escape_html(name)}</th>" for name in down)
    for place in ordered:
        lines = [_column_line(name, label) for name, label in zip(across, place, strict=True) if label]
        head += f"<th>{'<br>'.join(map(escape_html, lines)) or 'answer'}</th>"
    body = "".join(
        "<tr>"
        + "".join(f"<th>{escape_html(label)}</th>" for label in labels)
        + "".join(_cell(found.get(place), link) for place in ordered)
        + "</tr>"
        for labels, found in cells.items()
    )
    return f'<div class="table"><table class="matrix"><tr>{head}</tr>{body}</table></div>'


def _order_columns(columns: Iterable[tuple[str, ...]], across: Sequence[str]) -> list[tuple[str, ...]]:
    """Property by property; in each the parameters in their order."""
    given = list(columns)
    if "property" not in across:
        return given
    at = across.index("property")
    first = {name: number for number, name in reversed(list(enumerate(place[at] for place in given)))}
    return sorted(given, key=lambda place: first[place[at]])


def _engine_names(engine: str) -> str:
    """`Bmc` of `Bmc(solver=Native(…), depth=None)`; of several all."""
    return " | ".join(part.partition("(")[0] for part in engine.split(" | "))


def _column_line(name: str, label: str) -> str:
    return label if name == "property" else f"{name} = {label}"


def _cell(row: SweepRow | None, link: Callable[[str], str] | None) -> str:
    if row is None:
        return '<td class="absent"></td>'
    shown, whole = (
        escape_html(_short_words(row.answer)),
        escape_html(": ".join(filter(None, (row.answer.words, row.answer.detail)))),
    )
    if row.page is not None and link is not None:
        shown = f'<a href="{escape_html(link(row.page))}">{shown}</a>'
    return f'<td class="{row.answer.shade}" title="{whole}">{shown}</td>'


def _short_words(answer: SweepAnswer) -> str:
    """The answer in a cell; its number, where it is one."""
    if answer.low is not None or answer.high is not None:
        whole = answer.words.removeprefix(f"{answer.threshold} (").removesuffix(")")
        value = whole.partition(" with confidence")[0].partition(", not certified")[0].partition(" (")[0]
        return f"{answer.threshold}: {value}" if answer.threshold else value
    return answer.threshold or answer.kind


def _list_rows(rows: Sequence[SweepRow], axes: SweepAxes, link: Callable[[str], str] | None) -> str:
    head = "".join(
        f'<th class="text">{escape_html(name)}</th>' for name in (*axes.varied, "answer", "", "engine")
    )
    body = "".join(f"<tr>{_list_cells(row, axes, link)}</tr>" for row in rows)
    return f'<div class="table"><table class="rows"><tr>{head}<th>seconds</th></tr>{body}</table></div>'


def _list_cells(row: SweepRow, axes: SweepAxes, link: Callable[[str], str] | None) -> str:
    found = row.answer
    words = ": ".join(filter(None, (found.words, found.detail)))
    files = [] if link is None else [(row.page, "page"), (row.result, "JSON")]
    links = " ".join(
        f'<a href="{escape_html(link(file))}">{name}</a>'
        for file, name in files
        if file is not None and link is not None
    )
    return (
        "".join(f"<td>{escape_html(axes.label(row, name))}</td>" for name in axes.varied)
        + f'<td class="text {found.shade}">{escape_html(words)}</td><td>{links}</td>'
        + f'<td title="{escape_html(found.engine)}">{escape_html(_engine_names(found.engine))}</td>'
        + f"<td>{found.seconds:.2f}</td>"
    )
