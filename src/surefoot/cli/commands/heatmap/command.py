"""`surefoot heatmap PROBLEM…`: the values of all starts as pictures, over one or two terms of the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from surefoot.cli.commands.check import MODEL_OPTIONS
from surefoot.cli.commands.heatmap.answers import Answers, Asker, ask_all
from surefoot.cli.commands.heatmap.compose import Look, composed, drawn_starts, read_limits
from surefoot.cli.commands.heatmap.flags import heat_flags, value_flags
from surefoot.cli.commands.heatmap.outputs import Outputs
from surefoot.cli.commands.heatmap.stored import stored_answers
from surefoot.cli.commands.heatmap.variants import (
    Checkpoint,
    Sweep,
    checkpoints,
    read_sweep,
    variants,
)
from surefoot.cli.engine_options import build_engines, refuse_options_of_others
from surefoot.cli.model import flag_of, model_flags
from surefoot.cli.output import worst
from surefoot.cli.progress import progress
from surefoot.cli.screen import say
from surefoot.cli.unused import flag, is_given, refuse_given, refuse_idle_options
from surefoot.engines.explicit import Explicit
from surefoot.engines.statistical import Statistical
from surefoot.errors import InvalidProblem
from surefoot.problem.parse import parse_term
from surefoot.problem.property import Optimise, Threshold
from surefoot.report.heatmap.critical import critical, misses, read_threshold
from surefoot.report.heatmap.curve import Curve, read_curve
from surefoot.report.heatmap.measured import Which
from surefoot.verdict.words import cut_short
from surefoot.work.budget import Budget

LOOK = ("x", "y", "down", "where", "aggregate", "end", "limits", "title", "columns")
ASKING = ("engine_name", "starts", "sweeps", "folder", "curve", "uncertified")
SAID = {"engine_name": "engine", "sweeps": "sweep", "folder": "checkpoints", "uncertified": "no-certificates"}
FILES = ("svg", "png", "json", "report", "critical", "quiet")


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@model_flags
@value_flags
@heat_flags
def heatmap(
    models: tuple[Path, ...],
    engine_name: str | None,
    quantities: tuple[Which, ...],
    optimise: Optimise | None,
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
    started = Budget(timeout, seed)
    outputs = Outputs(*(options.pop(name) for name in FILES))
    outputs.check(models)
    given = {name: options.pop(name) for name in LOOK}
    look = Look(**given | {"limits": read_limits(given["limits"])})
    wiring = {name: options.pop(name) for name in MODEL_OPTIONS}
    limit = None if threshold is None else read_threshold(threshold)
    saved, line = _training(folder, curve, wiring["policy"])
    swept = _swept(sweeps)
    wanted: tuple[Which, ...] = tuple(dict.fromkeys(quantities)) or ("value",)
    if limit is not None and "value" not in wanted:
        raise InvalidProblem("a threshold is about values", fix="draw them: --quantity value")
    _refuse_unseen(wanted)
    mark = ""
    if any(model.suffix == ".json" for model in models):
        why = "on stored results: nothing is computed again"
        refuse_given({flag(SAID.get(name, name)): name for name in (*ASKING, *options)}, why)
        refuse_given({flag_of(name): name for name in MODEL_OPTIONS}, why)
        answered = stored_answers(models, wanted)
        _check_critical(outputs, [one.subject.threshold for one in answered], limit)
    else:
        places = None if starts is None else parse_term(starts)
        unit = line.x if line is not None else "step"
        only = tuple(map(parse_term, look.where)) if places is None else ()
        found = list(variants(models, wiring, swept, saved, places, only, unit))
        _check_critical(outputs, [one.threshold for one in found], limit)
        outputs.check([Path(file) for one in found for file in one.inputs])
        chosen = engine_name or _meant(options, wanted)
        if not {"optimum", "gap"} & set(wanted):  # which `explicit` is asked for as well
            refuse_options_of_others(chosen, options)
        refuse_idle_options(options, [one.problem.property for one in found])
        engine = build_engines(chosen, options, None)[0]
        if not isinstance(engine, Explicit) and not {"optimum", "gap"} & set(wanted):
            refuse_given({"--no-certificates": "uncertified"}, "on estimates, which have none")
        if "effort" in wanted and isinstance(engine, Explicit):
            raise InvalidProblem("`explicit` makes no runs", fix="draw the effort with --engine statistical")
        best = build_engines(Explicit.name, options, None)[0]
        asker = Asker(engine, best, wanted, optimise, certificates=not uncertified)
        with progress(outputs.quiet) as tell:
            answered = ask_all(found, asker, started, tell)
        mark = _mark(answered, len(found))
    for one in answered:
        if one.trouble:
            say(f"{one.subject.title}: {one.trouble}", error=True)
    written = True
    if any(one.tables for one in answered):
        across = len(wanted) if len(wanted) > 1 else len(swept[-1].values) if len(swept) == 2 else None
        written = _write_critical(answered[0], look, limit, outputs)
        written &= outputs.write(composed(answered, look, wanted, across, line, mark))
    elif mark:
        say(mark)
    code = worst([_exit_code(one, look, limit) for one in answered])
    return code if written or code else 4  # the pictures are what was asked for


def _refuse_unseen(wanted: Sequence[Which]) -> None:
    """What is about a picture that is not drawn."""
    if not {"optimum", "gap"} & set(wanted):
        refuse_given({"--optimise": "optimise"}, "unless --quantity optimum or gap is drawn")
    if not is_given("y"):
        refuse_given({"--y-down": "down"}, "without --y: there is one row")


def _meant(options: Mapping[str, Any], wanted: Sequence[Which]) -> str:
    """Without a name: the engine that has the options, of two the one that computes."""
    given = {name for name, value in options.items() if value is not None}
    sampled = given & {f.name for f in fields(Statistical)}
    if sampled and given <= sampled and not {"optimum", "gap"} & set(wanted):
        return Statistical.name
    return Explicit.name


def _mark(answered: Sequence[Answers], wanted: int) -> str:
    """How far it came, if it was interrupted; of the last map there may be estimates from few runs."""
    if not answered or not answered[-1].interrupted:
        return ""
    partly = (
        f"; `{answered[-1].subject.title}` is drawn from a part of the work" if answered[-1].tables else ""
    )
    return f"{cut_short(len(answered) - 1, wanted, 'maps')}{partly}; no threshold is judged"


def _training(
    folder: Path | None, curve: Path | None, policy: Path | None
) -> tuple[tuple[Checkpoint, ...], Curve | None]:
    """The checkpoints, and the learning curve with their places on it."""
    if folder is None:
        if curve is not None:
            raise InvalidProblem("a learning curve belongs to checkpoints", fix="give --checkpoints FOLDER")
        return (), None
    if policy is not None:
        raise InvalidProblem("the checkpoints are the policies", fix="leave --policy out")
    saved = checkpoints(folder)
    if curve is None:
        return saved, None
    line = read_curve(curve)
    marks = tuple((float(c.step), c.path.name) for c in saved)
    return saved, Curve(line.x, line.y, line.points, marks)


def _swept(sweeps: Sequence[str]) -> tuple[Sweep, ...]:
    found = tuple(map(read_sweep, sweeps))
    if len(found) > 2:
        raise InvalidProblem("more than two parameters cannot be drawn at once", where="--sweep")
    return found


def _check_critical(
    outputs: Outputs, thresholds: Sequence[Threshold | None], limit: Threshold | None
) -> None:
    if outputs.critical is not None and (len(thresholds) != 1 or (limit or thresholds[0]) is None):
        fix = "draw one problem, with --threshold '<= 0.1'"
        raise InvalidProblem("critical starts are about one problem and a threshold", fix=fix)


def _write_critical(answers: Answers, look: Look, limit: Threshold | None, outputs: Outputs) -> bool:
    kept = limit or answers.subject.threshold
    if answers.interrupted and outputs.critical is not None:
        say(f"not written: {outputs.critical} (interrupted)", error=True)
        return False
    if outputs.critical is not None and kept is not None and "value" in answers.tables:
        found = critical(drawn_starts(answers, look), kept)
        return outputs.write_critical(found, kept, answers.subject.words)
    return True


def _exit_code(answers: Answers, look: Look, limit: Threshold | None) -> int:
    """As `surefoot check`: a threshold is kept by every start, missed by one, or neither is known."""
    if answers.interrupted:
        return 130
    if answers.trouble:
        return 3
    kept = limit or answers.subject.threshold
    if kept is None or "value" not in answers.tables:
        return 0
    judged = {misses(value, kept) for _, value in drawn_starts(answers, look)}
    if "certain" in judged:
        return 1
    sampled = all(value.confidence is not None for _, value in answers.tables["value"])
    return 3 if "possible" in judged or not (answers.result.certified or sampled) else 0
