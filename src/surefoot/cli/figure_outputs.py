"""Where a figure goes: the terminal, SVG, PNG, JSON, a page; and the starts that miss a threshold."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot import api
from surefoot.cli.output import check_output_files, deliver_file
from surefoot.cli.terminal import rich_console
from surefoot.cli.unused_options import refuse_option


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
        wanted = ("svg", "png", "json", "report", "critical")
        check_output_files({f"--{option}": getattr(self, option) for option in wanted}, inputs)
        if self.critical is not None and Path(self.critical).suffix not in (".json", ".csv"):
            fix = "end its name in .json or .csv"
            refuse_option("--critical", "critical starts are written as JSON or CSV", fix)

    def write(self, figure: api.Figure) -> bool:
        """The figure in every form that was asked for, files first; false: one of them is not written."""
        written = [
            self._file(self.svg, lambda: api.render_svg(api.draw_figure(figure))),
            self._file(self.png, lambda: api.render_png(api.draw_figure(figure))),
            self._file(
                None if self.json == "-" else self.json, lambda: _render_json(api.figure_to_json(figure))
            ),
            self._file(self.report, lambda: api.heat_page([figure])),
        ]
        if self.json == "-":
            sys.stdout.write(_render_json(api.figure_to_json(figure)))
        else:
            _print_figure(figure)
        return all(written)

    def write_critical(
        self, found: Sequence[api.CriticalStart], threshold: api.Threshold, asked: str
    ) -> bool:
        """The starts that miss the threshold; false: they are not written."""
        as_csv = (self.critical or "").endswith(".csv")
        return self._file(
            self.critical,
            lambda: (
                api.critical_csv(found)
                if as_csv
                else _render_json(api.critical_data(found, threshold, asked))
            ),
        )

    def _file(self, path: str | None, make: Callable[[], str | bytes]) -> bool:
        return path is None or deliver_file(path, make, self.quiet)


def _render_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"


def _print_figure(figure: api.Figure) -> None:
    """The figure on the terminal; digits on colours, or digits alone."""
    from rich.text import Text

    console = rich_console(sys.stdout)
    if not console.is_terminal or console.color_system is None:
        sys.stdout.write(api.terminal_text(figure, 160 if not console.is_terminal else console.width))
        return
    for line in api.terminal_lines(figure, console.width):
        whole = Text()
        for piece in line:
            whole.append(
                api.make_visible(piece.text), style="" if piece.colour is None else _cell_style(piece.colour)
            )
        console.print(whole)


def _cell_style(colour: str) -> str:
    bright = sum(int(colour[i : i + 2], 16) * w for i, w in ((1, 2), (3, 5), (5, 1))) > 8 * 130
    return f"{'black' if bright else 'white'} on {colour}"
