"""Table 2 of the shield paper made again: sets of degree 2, 4 and 8, the paper's numbers beside ours."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from surefoot import api
from surefoot_studies import Tell
from surefoot_studies.control.measured_table import MeasuredTable
from surefoot_studies.control.paper_tables import network_file_of_row, read_paper_rows
from surefoot_studies.control.problem import stays_safe
from surefoot_studies.control.runtime_overhead import overhead_cells, shield_overhead

HEAD = ("benchmark", "degree", "rules", "covered", "seconds", "interventions", "unsafe with shield",
        "overhead: C", "overhead: Python")  # fmt: skip


def degree_table(
    only: tuple[str, ...], cap: float, folder: Path | None, size: api.EvaluationSize, tell: Tell
) -> MeasuredTable:
    """Table 2, or some rows of it; each has `cap` seconds for its synthesis, whatever the clock."""
    text = files("surefoot_studies.control").joinpath("tables.toml").read_text("utf-8")
    rows = tomllib.loads(text)["degree"]
    known = list(dict.fromkeys(row["problem"] for row in rows))
    for name in only:
        if name not in known:
            what = f"there is no row `{name}` in table 2"
            raise api.InvalidProblem(what, fix=api.did_you_mean(name, known), where="--problem")
    legend = (
        "In each cell: measured / printed in the paper. Seconds are processor time of the synthesis;",
        f"TO: not within {cap:g} s of the clock (the paper: 2 h).",
        f"{size.runs} runs of {size.steps} steps.",
    )
    wanted = [row for row in rows if not only or row["problem"] in only]
    measured = tuple(partial(measure_degree_row, row, cap, folder, size, tell) for row in wanted)
    return MeasuredTable(legend, HEAD, measured, {"table": 2, "cap": cap, "size": asdict(size)})


def measure_degree_row(
    row: dict[str, Any], cap: float, folder: Path | None, size: api.EvaluationSize, tell: Tell
) -> dict[str, Any]:
    """A synthesis without the network as oracle, as the degree alone is to make the difference."""
    budget, began = api.Budget(cap, size.seed, tell), api.processor_time()
    made = api.make_certified_shield(stays_safe(row["problem"]), (row["degree"],), budget)
    found = {
        **row,
        "rules": len(made.found.branches),
        "covered": api.render_share(made.found.covered_share(made.system.initial)),
        "certified": made.accepted,
        "seconds": round(api.processor_time() - began, 1),
        "timeout": budget.is_spent() and bool(made.found.uncovered),
        "refused": api.template_objection(len(made.system.variables), row["degree"]) is not None,
        "trouble": made.found.trouble,
    }
    file = network_file_of_row(row["problem"], read_paper_rows(1, (row["problem"],))[0], folder)
    policy = None if file is None else stays_safe(row["problem"], api.load_policy(file).network).policy
    shielded = api.evaluate_guarded_network(made, policy, size, tell)
    if made.found.interrupted or (shielded is not None and shielded.interrupted):
        raise KeyboardInterrupt  # a row is measured whole or not at all
    costs = shield_overhead(made, policy, file, tell)
    found |= {
        "network": None if file is None else file.name,
        "campaign": None if shielded is None else api.evaluation_to_json(shielded)["network and shield"],
        "unsafe with shield": 0
        if shielded is None or shielded.shielded is None
        else shielded.shielded.failures,
        "overhead": None if costs is None else costs.facts(),
    }
    return found | {"cells": _row_cells(found, overhead_cells(costs, row.get("paper_overhead")))}


def _row_cells(row: dict[str, Any], overhead: tuple[str, str]) -> list[str]:
    if row["refused"]:
        seconds = "too large"
    else:
        seconds = "TO" if row["timeout"] else f"{row['seconds']}" if row["certified"] else "none"
    paper = f"{row['paper_seconds']:g}" if "paper_seconds" in row else "TO"
    runs = row["campaign"]
    ours = "–" if runs is None else f"{runs['interventions']:,}{'' if runs['complete'] else '?'}"
    printed_ones = f"{row['paper_interventions']:,}" if "paper_interventions" in row else "–"
    return [
        row["problem"],
        str(row["degree"]),
        str(row["rules"]),
        row["covered"],
        f"{seconds} / {paper}",
        f"{ours} / {printed_ones}",
        "–" if runs is None else str(runs["failures"]),
        *overhead,
    ]
