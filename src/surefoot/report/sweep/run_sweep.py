"""A whole sweep: from its plan to its table, its files and its page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from surefoot.errors import InvalidProblem
from surefoot.formats.output_file import write_file
from surefoot.report.sweep.answer_unit import Load, list_model_properties, make_unit_worker
from surefoot.report.sweep.sweep_page import render_sweep_page
from surefoot.report.sweep.sweep_table import sweep_csv, sweep_to_json
from surefoot.run import package_versions
from surefoot.search.sweep.conduct_sweep import conduct_sweep
from surefoot.search.sweep.sweep_directory import SweepDirectory
from surefoot.search.sweep.sweep_plan import SweepPlan, list_units
from surefoot.search.sweep.sweep_row import SweepTable
from surefoot.work.budget import usable_processors
from surefoot.work.ray_pool import RayPool
from surefoot.work.worker_pool import ProcessPool, WorkerPool


def run_sweep(
    plan: SweepPlan,
    load: Load,
    *,
    workers: int | None = None,
    ray: str | None = None,
    folder: Path | None = None,
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> SweepTable:
    """All answers. `load` reads a model, in any process; `workers`: default, all processors of the machine,
    or of the cluster `ray`. Results do not depend on who answers; with a `folder` they are kept in it."""
    if resume and folder is None:
        raise InvalidProblem("there is nothing to resume", fix="name the folder with --run-directory")
    progress("problems are listed")
    units = list_units(plan, partial(list_model_properties, load))

    def make_pool(wanted: int) -> WorkerPool:
        given = (load, os.getcwd(), folder is not None)
        if ray is not None:
            return RayPool(ray, workers, make_unit_worker, *given)
        return ProcessPool(min(wanted, workers or usable_processors()), make_unit_worker, *given)

    version = package_versions().get("surefoot", "")
    opened = nullcontext() if folder is None else SweepDirectory(folder, units, version, resume)
    with opened as directory:
        table = conduct_sweep(units, make_pool, directory, progress)
        if folder is not None:
            _write_overview(table, folder)
    return table


def _write_overview(table: SweepTable, folder: Path) -> None:
    """What people open first."""
    write_file(folder / "table.csv", sweep_csv(table))
    write_file(folder / "table.json", json.dumps(sweep_to_json(table), indent=1) + "\n")
    write_file(folder / "index.html", render_sweep_page(table, lambda file: file))


def link_from(page: Path, folder: Path) -> Callable[[str], str]:
    """How a page somewhere refers to files of the run directory."""

    def refer(file: str) -> str:
        return os.path.relpath(str(folder / file), str(page.parent))

    return refer
