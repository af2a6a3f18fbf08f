"""The table of a sweep: as text, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.run import package_versions
from surefoot.search.sweep.sweep_plan import unit_to_json
from surefoot.search.sweep.sweep_row import SweepRow, SweepTable, answer_to_json
from surefoot.term.lexer import shorten_text
from surefoot.verdict.sentences import count_noun
from surefoot.visible import join_visible, make_visible

LONGEST_CELL = 48
ANSWER_COLUMNS = (
    "answer",
    "words",
    "threshold",
    "low",
    "high",
    "certified",
    "exit code",
    "seconds",
    "detail",
)
FILES = ("model", "policy")


@dataclass(frozen=True, slots=True)
class SweepAxes:
    """In what problems differ, in the order of columns, and what they have in common."""

    varied: tuple[str, ...]
    common: Mapping[str, str]
    labels: Mapping[tuple[str, str], str]  # of parameter and value, as short as they can be told apart

    def label(self, row: SweepRow, name: str) -> str:
        value = row.unit.parameters.get(name)
        return "" if value is None else self.labels.get((name, value), value)


def find_axes(rows: Sequence[SweepRow]) -> SweepAxes:
    given = [row.unit.parameters for row in rows]
    names = tuple(dict.fromkeys(name for one in given for name in one))
    values = {name: tuple(dict.fromkeys(one.get(name) for one in given)) for name in names}
    varied = tuple(name for name in names if len(values[name]) > 1)
    common = {name: str(values[name][0]) for name in names if name not in varied}
    labels: dict[tuple[str, str], str] = {}
    for name in FILES:
        files = [value for value in values.get(name, ()) if value is not None]
        labels |= {(name, file): label for file, label in zip(files, _shorten_files(files), strict=True)}
    return SweepAxes(varied, common, labels)


def _shorten_files(files: Sequence[str]) -> list[str]:
    """The last parts of paths, as many as it takes to tell them apart."""
    for parts in range(1, 8):
        found = ["/".join(Path(file).parts[-parts:]) for file in files]
        if len(set(found)) == len(files):
            return found
    return list(files)


def render_sweep(table: SweepTable) -> str:
    """The table as text: a line for each problem, and a last one that counts them."""
    axes = find_axes(table.rows)
    lines = [f"{name}: {value}" for name, value in axes.common.items()]
    body = [
        [*(axes.label(row, name) for name in axes.varied), row.answer.words, f"{row.answer.seconds:.2f} s"]
        for row in table.rows
    ]
    head = [*axes.varied, "answer", "time"]
    cells = [[shorten_text(make_visible(cell), LONGEST_CELL) for cell in line] for line in (head, *body)]
    for line, row in zip(cells[1:], table.rows, strict=True):
        line[-2] = make_visible(row.answer.words)  # a reason is told whole
    widths = [max(len(line[n]) for line in cells) for n in range(len(head))]
    widths[-2] = min(widths[-2], LONGEST_CELL)
    for line in cells:
        left = "  ".join(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False))
        lines.append(f"{line[-1].rjust(widths[-1])}  {left}".rstrip())
    return join_visible([*lines, count_sentence(table)])


def count_sentence(table: SweepTable) -> str:
    """`200 problems: 150 proved, 30 violated, 20 timeout`."""
    counts = ", ".join(f"{count} {kind}" for kind, count in table.count_answers().items())
    mark = f"; {table.interrupted}" if table.interrupted else ""
    return f"{count_noun(len(table.rows), 'problem')}: {counts}{mark}"


def sweep_csv(table: SweepTable) -> str:
    """One line for each problem: its parameters, all of them, then its answer."""
    names = tuple(dict.fromkeys(name for row in table.rows for name in row.unit.parameters))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*names, *ANSWER_COLUMNS, "engine that answered", "result"])
    for row in table.rows:
        told, found = row.unit.parameters, row.answer
        writer.writerow(
            [
                *(told.get(name, "") for name in names),
                *(found.kind, found.words, found.threshold or "", found.low or "", found.high or ""),
                *(str(found.certified).lower(), found.code, f"{found.seconds:.3f}", found.detail),
                *(found.engine, row.result or ""),
            ]
        )
    return stream.getvalue()


def sweep_to_json(table: SweepTable) -> dict[str, Any]:
    """Everything: `surefoot schema sweep` describes it."""
    rows = [
        {
            "key": row.unit.key,
            "problem": unit_to_json(row.unit),
            "answer": answer_to_json(row.answer),
            "result": row.result,
            "page": row.page,
        }
        for row in table.rows
    ]
    found: dict[str, Any] = {"schema": 1, "kind": "sweep", "versions": package_versions()}
    found |= {"exit_code": table.exit_code, "counts": table.count_answers(), "rows": rows}
    return found | ({"interrupted": table.interrupted} if table.interrupted else {})
