"""The table of a sweep, to look at and to save."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.output_file import write_file
from surefoot.interface.result import load_pandas, output_path
from surefoot.report.sweep.answer_unit import Load, load_file_model
from surefoot.report.sweep.run_sweep import link_from, run_sweep
from surefoot.report.sweep.sweep_page import render_sweep_page
from surefoot.report.sweep.sweep_table import render_sweep, sweep_csv, sweep_to_json
from surefoot.search.sweep.sweep_plan import SweepPlan
from surefoot.search.sweep.sweep_row import SweepRow, SweepTable


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The table of a sweep: a row for each problem, in the order in which they were asked for.

    `row.unit.parameters` says which problem it is, `row.answer` what was found.
    """

    table: SweepTable
    folder: Path | None = field(default=None, repr=False)

    @property
    def rows(self) -> tuple[SweepRow, ...]:
        return self.table.rows

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there are of each kind: {"proved": 150, "violated": 30}."""
        return self.table.count_answers()

    @property
    def exit_code(self) -> int:
        """As `surefoot sweep` would end."""
        return self.table.exit_code

    def __len__(self) -> int:
        return len(self.table.rows)

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self.table.rows)

    def to_pandas(self) -> Any:
        """A data frame with a row for each problem: its parameters, then its answer."""
        pandas = load_pandas()
        told = ("kind", "words", "threshold", "low", "high", "certified", "code", "seconds", "engine")
        rows = [r.unit.parameters | {f"answer {n}": getattr(r.answer, n) for n in told} for r in self.rows]
        return pandas.DataFrame(rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table as .csv, .json or as a page (.html) with a matrix of verdicts."""
        target = output_path(path)
        match target.suffix:
            case ".csv":
                content = self.csv()
            case ".json":
                content = json.dumps(self.data(), indent=1) + "\n"
            case ".html" | ".htm":
                content = self.page(target)
            case _:
                fix = "choose a name that ends in .csv, .json or .html"
                raise InvalidProblem(f"`{target}` is no kind of file that tables are written to", fix=fix)
        write_file(target, content)

    def csv(self) -> str:
        return sweep_csv(self.table)

    def data(self) -> dict[str, Any]:
        """As `surefoot schema sweep` describes it."""
        return sweep_to_json(self.table)

    def page(self, target: Path) -> str:
        """A page, whose links lead from there to the results of the run directory."""
        return render_sweep_page(self.table, None if self.folder is None else link_from(target, self.folder))

    def __str__(self) -> str:
        return render_sweep(self.table)

    def _repr_html_(self) -> str:
        return render_sweep_page(self.table)


def ask_sweep(
    plan: SweepPlan,
    load: Load = load_file_model,
    *,
    workers: int | None = None,
    ray: str | None = None,
    folder: Path | None = None,
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> SweepResult:
    """The answers to a plan; `load` reads a model, in any process."""
    table = run_sweep(plan, load, workers=workers, ray=ray, folder=folder, resume=resume, progress=progress)
    return SweepResult(table, folder)
