"""`surefoot invariant MODEL`: find a tipping point or an inductive invariant."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
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
from surefoot.cli.output import check_output_files, deliver_file, write_results
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options, refuse_option


def _parse_numbers(_: click.Context, option: click.Parameter, given: Any) -> Any:
    """Exact numbers from text: 0.1 means one tenth."""
    if given is None:
        return None
    if isinstance(given, tuple):
        return tuple(_parse_exact_number(g, option) for g in given)
    return _parse_exact_number(given, option)


def _parse_exact_number(text: str, option: click.Parameter | None) -> Fraction:
    try:
        term = api.parse_term(text)
    except api.InvalidProblem:
        term = None
    if not isinstance(term, api.Const) or isinstance(term.value, bool):
        raise click.BadParameter(f"`{text}` is not a number", param=option)
    return Fraction(term.value)


def _parse_templates(_: click.Context, option: click.Parameter, given: Any) -> Any:
    """Each bound with the range in which it moves."""
    return tuple(
        (text, _parse_exact_number(low, option), _parse_exact_number(high, option))
        for text, low, high in given
    )


@click.command(cls=GroupedCommand)
@click.argument("model", metavar="MODEL|STUDY/PROBLEM")
@click.option(
    "--tighten", metavar="BOUND", help="`output[0]>=`, `send_ratio<=`, `x,-x,y-1<=`; needs --between."
)
@click.option(
    "--between",
    nargs=2,
    callback=_parse_numbers,
    metavar="LOW HIGH",
    help="Where the tipping point is looked for.",
)
@click.option("--inductive", nargs=3, multiple=True, callback=_parse_templates, metavar="BOUND LOW HIGH",
              help="Look for an inductive invariant: `x<=` 0 10; may be repeated.")  # fmt: skip
@click.option(
    "--precision", callback=_parse_numbers, metavar="NUMBER", help="Default: a thousandth of the range."
)
@click.option("--probe", type=click.IntRange(min=0, max=1000), default=0, show_default=True, metavar="N",
              help="Ask N more values on each side, to see whether the answers are monotone.")  # fmt: skip
@model_flags
@engine_flags
@timeout_flag("For the whole search; what is known then is reported.")
@workers_flag
@seed_flag
@json_flag()
@click.option("--plot", metavar="FILE.svg", help="Draw the questions of a tipping point.")
@click.option("--report", metavar="FILE", help="Write the result as one HTML page with pictures.")
@quiet_flag
def invariant(
    model: str,
    tighten: str | None,
    between: tuple[Fraction, Fraction] | None,
    inductive: tuple[tuple[str, Fraction, Fraction], ...],
    precision: Fraction | None,
    probe: int,
    engine_name: str | None,
    dump_queries: Path | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    plot: str | None,
    report: str | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Find out for which bounds a property of MODEL holds.

    \b
    --tighten 'output[0]>=' --between -5 5    the largest bound that the output keeps
    --tighten 'send_ratio<=' --between 2 10   how large may send_ratio be for the property to hold?
    --inductive 'x<=' 0 10                    bounds that no step leaves and no bad state satisfies

    Each value is verified: the last proved one is printed with its proof, the first refuted one with its
    trace. Exit 0: found to the precision asked for, 1: violated in the whole range, 3: only in part.
    """
    if (tighten is None) == (not inductive):
        raise api.InvalidProblem(
            "what should move?", fix="give --tighten BOUND --between LOW HIGH, or --inductive"
        )
    if tighten is not None and between is None:
        raise api.InvalidProblem("where should the bound move?", fix="give --between LOW HIGH")
    if inductive:
        why = "on an inductive invariant: it is about a tipping point (--tighten)"
        refuse_given_options({"--between": "between", "--probe": "probe", "--plot": "plot"}, why)
    outputs = {"--json": json_path, "--plot": plot, "--report": report}
    check_output_files(outputs, [model])
    if plot is not None and not plot.endswith(".svg"):
        refuse_option("--plot", f"`{plot}` does not end in .svg", "choose such a name")
    wiring = {name: options.pop(name) for name in MODEL_OPTIONS}
    refuse_options_of_others(engine_name, options)
    name, problem, loaded = load_single_problem(model, wiring)
    check_output_files(outputs, loaded.inputs)
    engines = build_engines(engine_name, options, dump_queries)
    refuse_what_is_unused(engine_name, options, {name: problem}, engines)
    if loaded.predicates.get(name):
        engines, _ = api.with_predicates(engines, options.get("predicates"), loaded.predicates[name])
    with report_progress(quiet) as tell:
        source = {**loaded.source, "property": name}
        asking = api.SearchSettings(engines, begin_budget(timeout, seed, tell), loaded.inputs, source)
        if tighten is not None and between is not None:
            step = (between[1] - between[0]) / 1000 if precision is None else precision
            moving = api.parse_bound_template(tighten, problem)
            about, result = api.find_tipping_point(problem, moving, between, step, asking, probe)
            easy = between[0] if moving.rises else between[1]
            result = replace(result, source={**source, "tighten": tighten, **_replayed_value(result, easy)})
        else:
            made = [
                b
                for text, low, high in inductive
                for b in api.parse_moving_bounds(problem, text, low, high, precision)
            ]
            about, result = problem, api.find_invariant(problem, tuple(made), asking)
    if plot is not None:
        match result.verdict:
            case api.Found(api.TippingPoint() as found):
                deliver_file(plot, lambda: api.tipping_point_svg(found), quiet)
            case _:
                print_line(f"not written: {plot} (there is no tipping point)", error=True)
    write_results([(about, result)], json_path, quiet, report)
    return _search_exit_code(result)


def _replayed_value(result: api.Result, easy: Fraction) -> dict[str, str]:
    """Where a trace is to be replayed: it violates the property at the easy end of the range."""
    return {"at": api.show_term(api.Const(easy))} if isinstance(result.verdict, api.Violated) else {}


def _search_exit_code(result: api.Result) -> int:
    """As for every verdict; a tipping point that is known less precisely than asked is a part."""
    match result.verdict:
        case api.Found(api.TippingPoint(stopped=stopped, reason=reason)) if stopped:
            return 130 if reason is api.Reason.INTERRUPTED else 3
        case _:
            return api.exit_code(result)
