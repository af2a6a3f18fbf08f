"""Tables 1 and 3 of the shield paper made again, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from surefoot import api
from surefoot_studies import Tell
from surefoot_studies.control.paper_tables import PaperRow, network_of_row, read_paper_rows
from surefoot_studies.control.problem import stays_safe
from surefoot_studies.control.runtime_overhead import Overhead, overhead_cells, shield_overhead
from surefoot_studies.training.control.recipes import training_seconds

HEAD = (
    "benchmark", "vars", "network", "training s", "failures", "rules", "covered", "synthesis s",
    "interventions", "needed", "unsafe with shield", "overhead: C", "overhead: Python", "steps: network",
    "steps: program", "regulator fails", "learnt fails",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table of the paper whose rows are measured one after the other; each has its `cells` and facts."""

    legend: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[Callable[[], dict[str, Any]], ...]
    facts: Mapping[str, Any]


def shield_table(
    table: int, only: tuple[str, ...], folder: Path | None, size: api.EvaluationSize, tell: Tell
) -> MeasuredTable:
    """Table 1 or 3, or some rows of it."""
    legend = (
        "In each cell: measured / printed in the paper. Overhead: one step of the shield in percent of",
        "the network alone. Steps: until a steady state. ?: not all runs, interrupted or out of time.",
    )
    rows = tuple(partial(_measure_row, row, folder, size, tell) for row in read_paper_rows(table, only))
    return MeasuredTable(legend, HEAD, rows, {"table": table, "size": asdict(size)})


def _measure_row(row: PaperRow, folder: Path | None, size: api.EvaluationSize, tell: Tell) -> dict[str, Any]:
    found = network_of_row(row, folder)
    network, whose, file = (None, "none", None) if found is None else found
    problem = stays_safe(row.problem, network)
    began = api.processor_time()
    made = api.make_certified_shield(problem, api.shapes_for(), api.Budget(size.seconds, size.seed, tell))
    seconds = api.processor_time() - began
    known = api.evaluate_shield(made, problem.policy, size, tell)
    if made.found.interrupted or known.interrupted:  # a row is measured whole or not at all
        raise KeyboardInterrupt
    trained = None if file is None else training_seconds(file)
    costs = shield_overhead(made, problem.policy, file, tell)
    guarded = _guarded_campaigns(known)
    return {
        "problem": row.problem,
        "paper": asdict(row),
        "network": {"from": whose, "hidden": hidden_sizes(network), "training cpu seconds": trained},
        "rules": len(made.found.branches),
        "covered": str(made.found.covered_share(made.system.initial)),
        "certified": made.accepted,
        "synthesis cpu seconds": round(seconds, 1),
        "campaigns": api.evaluation_to_json(known),
        "shielded steps": sum(c.taken for c in guarded),
        "unsafe with shield": sum(c.failures for c in guarded),
        "overhead": None if costs is None else costs.facts(),
        "cells": _row_cells(row, made, known, costs, (trained, seconds), hidden_sizes(network)),
    }


def _guarded_campaigns(known: api.ShieldEvaluation) -> list[api.Campaign]:
    """Everything that happened under the program or the shield."""
    return [c for c in (known.shielded, known.program, *(c for _, c in known.adversaries)) if c is not None]


def hidden_sizes(network: api.Network | None) -> str:
    """The sizes of the hidden layers."""
    if network is None:
        return "none"
    sizes = [node.weights.shape[0] for node in network.nodes if isinstance(node, api.Affine)]
    return "x".join(map(str, sizes[:-1]))


def _row_cells(
    row: PaperRow,
    made: api.ShieldSynthesis,
    known: api.ShieldEvaluation,
    costs: Overhead | None,
    seconds: tuple[float | None, float],
    sizes: str,
) -> list[str]:
    """Ours, and after a bar the paper's; `seconds`: of training and of synthesis."""
    shielded, guarded, share = known.shielded, _guarded_campaigns(known), "–"
    if known.needed is not None and known.needed[1]:
        share = f"{100 * known.needed[0] / known.needed[1]:.0f} %"
    return [
        row.problem,
        f"{len(made.system.variables)} / {row.variables}",
        f"{sizes} / {row.network}",
        f"{'–' if seconds[0] is None else f'{seconds[0]:.1f}'} / {_show_number(row.training_seconds)}",
        f"{_show_failures(known.alone)} / {row.failures}",
        f"{len(made.found.branches)} / {row.branches}",
        api.render_share(made.found.covered_share(made.system.initial)),
        f"{seconds[1]:.1f} / {row.synthesis_seconds:g}",
        f"{'–' if shielded is None else shielded.interventions} / {row.interventions}",
        share,
        f"{sum(c.failures for c in guarded)} in {sum(c.taken for c in guarded):,} steps" if guarded else "–",
        *overhead_cells(costs, row.overhead),
        f"{_show_steps(shielded)} / {_show_number(row.steps_network)}",
        f"{_show_steps(known.program)} / {_show_number(row.steps_program)}",
        _show_failures(known.regulator),
        _show_failures(known.learnt),
    ]


def _show_failures(campaign: api.Campaign | None) -> str:
    return "–" if campaign is None else f"{campaign.failures}{'' if campaign.complete else '?'}"


def _show_steps(campaign: api.Campaign | None) -> str:
    return "–" if campaign is None or campaign.steps_to_steady is None else f"{campaign.steps_to_steady:.1f}"


def _show_number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
