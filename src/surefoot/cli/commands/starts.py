"""`surefoot starts MODEL`: the largest safe subset of a start condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.engine_options import (
    build_engines,
    engine_flags,
    refuse_options_of_others,
    refuse_what_is_unused,
)
from surefoot.cli.model import MODEL_OPTIONS, load_single_problem, model_flags
from surefoot.cli.option_groups import (
    GroupedCommand,
    json_flag,
    quiet_flag,
    seed_flag,
    timeout_flag,
    workers_flag,
)
from surefoot.cli.output import check_output_files, write_results
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.unused_options import option_flag, refuse_option


@click.command(cls=GroupedCommand)
@click.argument("model", metavar="MODEL|STUDY/PROBLEM")
@click.option("--parts", type=click.IntRange(min=1, max=100_000), default=32, show_default=True, metavar="N",
              help="Ask about so many parts, where the starts have to be split.")  # fmt: skip
@model_flags
@engine_flags
@timeout_flag("For the whole search; what is known then is reported.")
@workers_flag
@seed_flag
@json_flag()
@click.option("--report", metavar="FILE", help="Write the result as one HTML page.")
@quiet_flag
def starts(
    model: str,
    parts: int,
    engine_name: str | None,
    dump_queries: Path | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    report: str | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Find out from which starts of MODEL its property holds.

    Where all states fit into a table every start is decided (without --engine, or with `predicates`, unless
    --means cells or another option of an engine is given). Otherwise the starts are asked about as a whole
    and split where that is not a proof.
    Exit 0: all are proved, 1: some start is refuted, 3: some are open, none is refuted.
    """
    outputs = {"--json": json_path, "--report": report}
    check_output_files(outputs, [model])
    wiring = {name: options.pop(name) for name in MODEL_OPTIONS}
    refuse_options_of_others(engine_name, options)
    name, problem, loaded = load_single_problem(model, wiring)
    check_output_files(outputs, loaded.inputs)
    asked = {option for option, value in options.items() if value is not None} - {"means"}
    by_table = engine_name in (None, "predicates") and options.get("means") in (None, "auto", "table")
    by_table = by_table and not asked and dump_queries is None  # else they would change nothing
    if asked and options.get("means") == "table":
        fix = "leave it, or --means table, out"
        refuse_option(option_flag(min(asked)), "a table of all states is made without it", fix)
    engines = build_engines(engine_name, options, dump_queries)
    refuse_what_is_unused(engine_name, options, {name: problem}, engines)
    engines, _ = api.with_predicates(engines, options.get("predicates"), loaded.predicates.get(name, ()))
    with report_progress(quiet) as tell:
        source = {**loaded.source, "property": name}
        asking = api.SearchSettings(engines, begin_budget(timeout, seed, tell), loaded.inputs, source)
        result = api.find_safe_starts(problem, asking, parts, by_table)
    write_results([(problem, result)], json_path, quiet, report)
    return _starts_exit_code(result)


def _starts_exit_code(result: api.Result) -> int:
    """By the worst group; the word of a solver is no proof."""
    if not isinstance(result.verdict, api.Found) or not isinstance(result.verdict.artifact, api.SafeStarts):
        return api.exit_code(result)
    groups = result.verdict.artifact.groups
    if result.verdict.artifact.stopped == api.STARTS_INTERRUPTED:
        return 130
    if any(g.answer == "refuted" for g in groups):
        return 1
    return 3 if any(g.answer == "unknown" or isinstance(g.verdict, api.Holds) for g in groups) else 0
