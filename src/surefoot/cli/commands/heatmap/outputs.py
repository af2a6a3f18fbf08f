"""Where a figure goes: the terminal, SVG, PNG, JSON, a page; and the starts that miss a threshold."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.cli.output import check_distinct, check_writable, write_file
from surefoot.errors import InvalidProblem
from surefoot.problem.property import Threshold
from surefoot.report.drawing import png, svg
from surefoot.report.heatmap.critical import Critical, critical_csv, critical_data
from surefoot.report.heatmap.document import document
from surefoot.report.heatmap.figure import Figure
from surefoot.report.heatmap.html import heat_page
from surefoot.report.heatmap.layout import drawn
from surefoot.report.heatmap.terminal import lines, text


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; None: not asked for."""

    svg: str | None
    png: str | None
    json: str | None
    report: str | None
    critical: str | None
    quiet: bool

    def check(self, inputs: Sequence[Path]) -> None:
        """Refuse what cannot be written, before any work."""
        for option in ("svg", "png", "json", "report", "critical"):
            check_writable(getattr(self, option), inputs, f"--{option}")
        check_distinct(
            {f"--{name}": getattr(self, name) for name in ("svg", "png", "json", "report", "critical")}
        )
        if self.critical is not None and Path(self.critical).suffix not in (".json", ".csv"):
            fix = "end its name in .json or .csv"
            raise InvalidProblem("critical starts are written as JSON or CSV", fix=fix, where="--critical")

    def write(self, figure: Figure) -> None:
        """The figure in every form that was asked for."""
        if self.json == "-":
            sys.stdout.write(_json(document(figure)))
        else:
            show(figure)
        picture = drawn(figure) if self.svg is not None or self.png is not None else None
        if self.svg is not None and picture is not None:
            self._file(self.svg, svg(picture))
        if self.png is not None and picture is not None:
            self._file(self.png, png(picture))
        if self.json not in (None, "-"):
            self._file(str(self.json), _json(document(figure)))
        if self.report is not None:
            self._file(self.report, heat_page([figure]))

    def write_critical(self, found: Sequence[Critical], threshold: Threshold, asked: str) -> None:
        """The starts that miss the threshold."""
        if self.critical is None:
            return
        as_csv = self.critical.endswith(".csv")
        self._file(
            self.critical, critical_csv(found) if as_csv else _json(critical_data(found, threshold, asked))
        )

    def _file(self, path: str, content: str | bytes) -> None:
        write_file(Path(path), content)
        if not self.quiet:
            print(f"written: {path}", file=sys.stderr)


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"


def show(figure: Figure) -> None:
    """The figure on the terminal; digits on colours, or digits alone."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal or console.color_system is None:
        sys.stdout.write(text(figure, 160 if not console.is_terminal else console.width))
        return
    for line in lines(figure, console.width):
        whole = Text()
        for piece in line:
            whole.append(piece.text, style="" if piece.colour is None else _style(piece.colour))
        console.print(whole)


def _style(colour: str) -> str:
    bright = sum(int(colour[i : i + 2], 16) * w for i, w in ((1, 2), (3, 5), (5, 1))) > 8 * 130
    return f"{'black' if bright else 'white'} on {colour}"
