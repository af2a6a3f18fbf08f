"""The faults of a policy as users have them: a table that prints, saves and exports itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike

from surefoot.errors import InvalidProblem
from surefoot.fault_analysis.training_data import SUFFIXES, export_faults
from surefoot.formats.output_file import write_file
from surefoot.interface.result import output_path
from surefoot.problem.problem import Problem
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.fault_figure import draw_faults
from surefoot.report.fault_page import render_fault_page
from surefoot.report.fault_text import fault_table_to_json, render_fault_table
from surefoot.verdict.fault import CountedFault, FaultTable


@dataclass(frozen=True, slots=True)
class PolicyFaults:
    """The last decisions that could have been different, of many violating runs, most frequent first."""

    problem: Problem = field(repr=False)
    table: FaultTable = field(repr=False)

    @property
    def decisions(self) -> tuple[CountedFault, ...]:
        """Each with `fault` (its state, what was chosen, what would have been safe) and `count`."""
        return self.table.decisions

    @property
    def runs(self) -> int:
        """How many violating runs were looked at."""
        return self.table.runs

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything as .json, a page with pictures (.html), or the picture alone (.svg)."""
        target = output_path(path)
        match target.suffix:
            case ".json":
                text = json.dumps(fault_table_to_json(self.problem, self.table), indent=1) + "\n"
            case ".html" | ".htm":
                text = render_fault_page(self.problem, self.table)
            case ".svg":
                text = render_svg(draw_faults(self.problem, self.table))
            case _:
                fix = "choose a name that ends in .json, .html or .svg"
                raise InvalidProblem(f"`{target}` is no kind of file that faults are written to", fix=fix)
        write_file(target, text)

    def export(self, path: str | PathLike[str]) -> None:
        """Write training data: state, observation, bad action, good actions, as .csv, .jsonl or .npz."""
        target = output_path(path)
        if target.suffix not in SUFFIXES:
            fix = f"choose a name that ends in {', '.join(SUFFIXES)}"
            raise InvalidProblem(f"`{target}` is no kind of file that faults are exported to", fix=fix)
        write_file(target, export_faults(self.problem, self.table, target.suffix))

    def __str__(self) -> str:
        return render_fault_table(self.problem, self.table)

    def __repr__(self) -> str:
        return f"<PolicyFaults {self.problem.name}: {len(self.decisions)} decisions in {self.runs} runs>"

    def _repr_html_(self) -> str:
        return render_fault_page(self.problem, self.table)
