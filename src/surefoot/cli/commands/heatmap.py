"""`surefoot heatmap PROBLEM…`: the values of all starts as pictures, over one or two terms of the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.engine_options import build_engines, engine_flags, refuse_options_of_others
from surefoot.cli.figure_outputs import Outputs
from surefoot.cli.model import (
    MODEL_OPTIONS,
    check_model_file,
    load_named_model,
    model_flags,
    model_option_flag,
    names_study,
)
from surefoot.cli.option_groups import GroupedCommand, quiet_flag, seed_flag, timeout_flag, workers_flag
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import is_given, option_flag, refuse_given_options, refuse_idle_options

LOOK = ("x", "y", "down", "where", "aggregate", "end", "limits", "title", "columns")
ASKING = ("engine_name", "starts", "sweeps", "folder", "curve", "uncertified")
SAID = {"engine_name": "engine", "sweeps": "sweep", "folder": "checkpoints", "uncertified": "no-certificates"}
FILES = ("svg", "png", "json", "report", "critical", "quiet")
QUANTITIES = ("value", "optimum", "gap", "effort")
OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--x", metavar="TERM", help="What is drawn from left to right: a variable or a term."),
    click.option("--y", metavar="TERM", help="What is drawn from bottom to top; without it, one row."),
    click.option("--y-down", "down", is_flag=True, help="--y grows downwards, as the lines of a text map."),
    click.option("--where", multiple=True, metavar="TERM", help="Draw only these starts: `dx = 0`."),
    click.option("--aggregate", type=click.Choice(["min", "max", "mean"]), default="max", show_default=True,
                 help="Of several starts in one cell."),
    click.option("--starts", metavar="TERM|uniform",
                 help="Start in all reachable states like this one; uniform: draw the starts of each cell."),
    click.option("--quantity", "quantities", type=click.Choice(QUANTITIES), multiple=True,
                 help="May be repeated; default: value."),
    click.option("--optimise", type=click.Choice(["min", "max"]), help="What is best, for optimum and gap."),
    click.option("--end", type=click.Choice(["low", "middle", "high"]), default="middle", show_default=True,
                 help="Which end of each interval is drawn."),
    click.option("--range", "limits", metavar="LOW:HIGH|auto",
                 help="Ends of the scale; default: as far as the values go, and from 0 to 1 for "
                      "probabilities that differ by more than 0.2."),
    click.option("--sweep", "sweeps", multiple=True, metavar="N=0.1:0.5:0.1",
                 help="One map for each value of a constant or parameter; twice: a table of maps."),
    click.option("--checkpoints", "folder", type=click.Path(path_type=Path), metavar="FOLDER",
                 help="One map for each network in a folder, in place of --policy."),
    click.option("--curve", type=click.Path(path_type=Path), metavar="FILE",
                 help="A learning curve (CSV, JSON or a recipe) above the maps of --checkpoints."),
    click.option("--threshold", metavar="'<= 0.1'", help="What every start should keep; sets the exit code."),
    click.option("--critical", metavar="FILE", help="Write the starts that miss it (.json, .csv)."),
    click.option("--title", metavar="TEXT", help="Default: the property."),
    click.option("--columns", type=click.IntRange(min=1), help="Maps beside each other."),
    click.option("--svg", metavar="FILE"),
    click.option("--png", metavar="FILE"),
    click.option("--json", metavar="FILE|-", help="Every number of the picture; - = stdout, nothing else."),
    click.option("--report", metavar="FILE", help="One HTML page on which cells can be clicked."),
    click.option("--no-certificates", "uncertified", is_flag=True,
                 help="Do not have exact values checked by the independent checker, which can take longer."),
    timeout_flag("For the whole run; all maps share it equally."),
    workers_flag,
    seed_flag,
    quiet_flag,
)  # fmt: skip


def _heatmap_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is drawn, and how; and the options of those engines that give a value to each start."""
    for option in reversed(OPTIONS):
        command = option(command)
    return engine_flags(command, ("explicit", "statistical"), without=("starts",))


@click.command(cls=GroupedCommand)
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@model_flags
@_heatmap_flags
def heatmap(
    models: tuple[Path, ...],
    engine_name: str | None,
    quantities: tuple[api.Which, ...],
    optimise: api.Optimise | None,
    starts: str | None,
    sweeps: tuple[str, ...],
    folder: Path | None,
    curve: Path | None,
    threshold: str | None,
    timeout: float,
    seed: int,
    uncertified: bool,
    **options: Any,
) -> int:
    """Draw the values of all starts of MODELS (problem files, JANI models, problems of studies, or results
    that --json has stored): one map for each model, property, swept value, checkpoint and quantity, on a
    common scale.

    Exit 0, or with a threshold: 1 if a start misses it for certain, 3 if one possibly does.
    """
    outputs = Outputs(*(options.pop(name) for name in FILES))
    outputs.check(models)
    for model in models:
        if not names_study(model):
            check_model_file(model)
    started = begin_budget(timeout, seed)
    given = {name: options.pop(name) for name in LOOK}
    look = api.HeatmapOptions(**given | {"limits": api.read_limits(given["limits"])})
    wiring = {name: options.pop(name) for name in MODEL_OPTIONS}
    limit = None if threshold is None else api.read_threshold(threshold)
    plan = api.read_map_plan(sweeps, folder, curve, wiring["policy"])
    wanted: tuple[api.Which, ...] = tuple(dict.fromkeys(quantities)) or ("value",)
    if limit is not None and "value" not in wanted:
        raise api.InvalidProblem("a threshold is about values", fix="draw them: --quantity value")
    _refuse_unseen(wanted)
    mark = ""
    if any(model.suffix == ".json" for model in models):
        why = "on stored results: nothing is computed again"
        refuse_given_options({option_flag(SAID.get(name, name)): name for name in (*ASKING, *options)}, why)
        refuse_given_options({model_option_flag(name): name for name in MODEL_OPTIONS}, why)
        answered = api.read_start_tables(models, wanted)
        _check_critical(outputs, [one.subject.threshold for one in answered], limit)
    else:
        drawn = starts == "uniform"
        if drawn:
            options |= {"starts": starts, "cells": options["cells"] or _cells_of_axes(look)}
        places = None if starts is None or drawn else api.parse_term(starts)
        only = tuple(map(api.parse_term, look.where)) if places is None and not drawn else ()
        reading: Any = {"load": load_named_model, "title_of": _model_title, "named": is_given("properties")}
        found = list(plan.variants(models, wiring, places, only, **reading))
        _check_critical(outputs, [one.subject.threshold for one in found], limit)
        outputs.check([Path(file) for one in found for file in one.inputs])
        chosen = engine_name or _infer_engine(options, wanted)
        if not {"optimum", "gap"} & set(wanted):  # which `explicit` is asked for as well
            refuse_options_of_others(chosen, options)
        refuse_idle_options(options, [one.problem.property for one in found])
        engine = build_engines(chosen, options, None)[0]
        if not isinstance(engine, api.Explicit) and not {"optimum", "gap"} & set(wanted):
            refuse_given_options({"--no-certificates": "uncertified"}, "on estimates, which have none")
        if "effort" in wanted and isinstance(engine, api.Explicit):
            raise api.InvalidProblem(
                "`explicit` makes no runs", fix="draw the effort with --engine statistical"
            )
        best = build_engines(api.Explicit.name, options, None)[0]
        with report_progress(outputs.quiet) as tell:
            answered = api.solve_start_tables(
                found, engine, best, wanted, optimise, not uncertified, replace(started, progress=tell)
            )
        mark = _interruption_note(answered, len(found))
    for one in answered:
        if one.trouble:
            print_line(f"{one.subject.title}: {one.trouble}", error=True)
    written = True
    if any(one.tables for one in answered):
        across = len(wanted) if len(wanted) > 1 else plan.across
        figure = api.compose_figure(answered, look, wanted, across, plan.curve, mark)
        written = _write_critical(answered[0], look, limit, outputs)
        written &= outputs.write(figure)
    elif mark:
        print_line(mark)
    code = api.worst_exit_code([_exit_code(one, look, limit) for one in answered])
    return code if written or code else 4  # the pictures are what was asked for


def _cells_of_axes(look: api.HeatmapOptions) -> str | None:
    """Variables along the axes; without axes, those in which starts differ."""
    return ", ".join(axis for axis in (look.x, look.y) if axis is not None) or None


def _model_title(model: Path) -> str:
    return str(model) if names_study(model) or api.names_gym_model(model) else model.stem


def _refuse_unseen(wanted: Sequence[api.Which]) -> None:
    """What is about a picture that is not drawn."""
    if not {"optimum", "gap"} & set(wanted):
        refuse_given_options({"--optimise": "optimise"}, "unless --quantity optimum or gap is drawn")
    if not is_given("y"):
        refuse_given_options({"--y-down": "down"}, "without --y: there is one row")


def _infer_engine(options: Mapping[str, Any], wanted: Sequence[api.Which]) -> str:
    """Without a name: the engine that has the options, of two the one that computes."""
    given = {name for name, value in options.items() if value is not None}
    sampled = given & {f.name for f in fields(api.Statistical)}
    if sampled and given <= sampled and not {"optimum", "gap"} & set(wanted):
        return api.Statistical.name
    return api.Explicit.name


def _interruption_note(answered: Sequence[api.StartTables], wanted: int) -> str:
    """How far it came, if it was interrupted; of the last map there may be estimates from few runs."""
    if not answered or not answered[-1].interrupted:
        return ""
    partly = (
        f"; `{answered[-1].subject.title}` is drawn from a part of the work" if answered[-1].tables else ""
    )
    return f"{api.interruption_note(len(answered) - 1, wanted, 'maps')}{partly}; no threshold is judged"


def _check_critical(
    outputs: Outputs, thresholds: Sequence[api.Threshold | None], limit: api.Threshold | None
) -> None:
    if outputs.critical is not None and (len(thresholds) != 1 or (limit or thresholds[0]) is None):
        fix = "draw one problem, with --threshold '<= 0.1'"
        raise api.InvalidProblem("critical starts are about one problem and a threshold", fix=fix)


def _write_critical(
    answers: api.StartTables, look: api.HeatmapOptions, limit: api.Threshold | None, outputs: Outputs
) -> bool:
    kept = limit or answers.subject.threshold
    if answers.interrupted and outputs.critical is not None:
        print_line(f"not written: {outputs.critical} (interrupted)", error=True)
        return False
    if outputs.critical is not None and kept is not None and "value" in answers.tables:
        found = api.find_critical_starts(api.drawn_start_values(answers, look), kept)
        return outputs.write_critical(found, kept, answers.subject.words)
    return True


def _exit_code(answers: api.StartTables, look: api.HeatmapOptions, limit: api.Threshold | None) -> int:
    """As `surefoot check`: a threshold is kept by every start, missed by one, or neither is known."""
    if answers.interrupted:
        return 130
    if answers.trouble:
        return 3
    kept = limit or answers.subject.threshold
    if kept is None or "value" not in answers.tables:
        return 0
    judged = {api.misses_threshold(value, kept) for _, value in api.drawn_start_values(answers, look)}
    if "certain" in judged:
        return 1
    sampled = all(value.confidence is not None for _, value in answers.tables["value"])
    return 3 if "possible" in judged or not (answers.result.certified or sampled) else 0
