"""`surefoot study NAME`: the papers' case studies, and what is measured beside what they print."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from surefoot.cli.commands.heatmap.abstraction_figures import (
    AbstractionSettings,
    draw_abstraction_figures,
    is_abstraction_figure,
    measure_abstractions,
)
from surefoot.cli.commands.heatmap.abstraction_log import StoredRuns
from surefoot.cli.commands.heatmap.study_figures import (
    Sampling,
    check_study_claims,
    claim_to_json,
    claims_exit_code,
    draw_study_figures,
    render_claims,
)
from surefoot.cli.commands.shield.degree_table import print_degree_table
from surefoot.cli.commands.shield.paper_tables import print_paper_table
from surefoot.cli.engine_options import PositiveNumber, build_engines
from surefoot.cli.output import check_folder, check_output_files, check_positive_seconds
from surefoot.cli.progress import report_progress
from surefoot.cli.study_training import (
    replay_in_simulator,
    report_checkpoints,
    report_generalisation,
    retrain_policy,
    train_plant_actor,
)
from surefoot.cli.unused_options import is_given, refuse_given_options
from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.report.shield_text import result_from_synthesis
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield, shapes_for
from surefoot.shields.evaluation.comparison import EvaluationSize
from surefoot.verdict.sentences import interruption_note
from surefoot.verdict.verdict import Result, is_interrupted
from surefoot.visible import join_visible
from surefoot.work.budget import Budget
from surefoot.work.child import processor_time
from surefoot_studies import STUDIES
from surefoot_studies.comparison import Row, Study, compare_study, load_study
from surefoot_studies.paper_figures import CheckedClaim, has_figures

MODES = {
    "--compare": "comparing",
    "--checkpoints": "training",
    "--retrain": "retrain",
    "--train": "train",
    "--generalise": "generalise",
    "--figure": "wanted",
    "--table": "table",
}
USES = {  # by option: its parameter, and with which of the modes it does something
    "--hidden": ("hidden", "--train"),
    "--imitate": ("imitate", "--train"),
    "--output": ("output", "--retrain --train"),
    "--policy": ("policies", "--generalise"),
    "--plot": ("plot", "--generalise"),
    "--folder": ("folder", "--figure"),
    "--configuration": ("configurations", "--figure"),
    "--cap": ("cap", "--figure --table --compare"),
    "--every": ("every", "--figure"),
    "--sample": ("sample", "--figure"),
    "--workers": ("workers", "--figure --compare"),
    "--engine": ("engine", "--figure --compare"),
    "--eps": ("eps", "--figure --compare"),
    "--problem": ("only", "--table"),
    "--networks": ("networks", "--table"),
    "--runs": ("runs", "--table"),
    "--steps": ("steps", "--table"),
    "--adversarial": ("adversarial", "--table"),
    "--seed": ("seed", "--retrain --train --table --figure --compare"),
    "--timeout": ("timeout", "--compare --checkpoints --retrain --generalise --figure --table"),
}
OF_ABSTRACTIONS = ("--configuration", "--cap", "--every", "--sample", "--workers")  # of --figure pa-…


@click.command()
@click.argument("name", required=False)
@click.option(
    "--compare",
    "comparing",
    is_flag=True,
    help="Run every expectation; exit 1 if an answer is not as recorded.",
)
@click.option(
    "--timeout",
    type=float,
    callback=check_positive_seconds,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Per expectation.",
)
@click.option(
    "--checkpoints", "training", is_flag=True, help="Ask one question about every checkpoint of a training."
)
@click.option(
    "--retrain",
    metavar="PROBLEM",
    help="Feed the counterexamples of a violated problem back into training until it is proved.",
)
@click.option("--train", metavar="PROBLEM", help="Train an actor for a plant with controls (DDPG).")
@click.option("--hidden", default="64x64", show_default=True, metavar="64x64|paper",
              help="Of --train: its layers, or those that the paper prints.")  # fmt: skip
@click.option("--imitate", is_flag=True, help="Of --train: begin with what a regulator does.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE.onnx", help="Of --retrain, --train.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of --retrain, --train and --table."
)
@click.option("--generalise", is_flag=True, help="Compare where policies trained alike begin to fail.")
@click.option("--policy", "policies", multiple=True, metavar="NAME", help="Of --generalise; may be repeated.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.svg|FILE.html", help="Of --generalise."
)
@click.option("--figure", "wanted", multiple=True, metavar="N|all", help="Make a figure of the paper again.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), help="Of --figure: PNG, SVG, HTML and JSON."
)
@click.option("--configuration", "configurations", multiple=True, metavar="NAME|paper",
              help="Of --figure pa-…: run these too, of predicate abstraction.")  # fmt: skip
@click.option("--cap", type=float, callback=check_positive_seconds, default=60.0, show_default=True,
              metavar="SECONDS", help="Of --configuration: per instance; of --table 2: per row.")  # fmt: skip
@click.option("--every", type=click.IntRange(1), default=1, show_default=True,
              help="Of --configuration: only every so many-th instance.")  # fmt: skip
@click.option("--sample", is_flag=True, help="Of --figure pa-…: only instances that the study names.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True,
              help="Of --figure pa-…: so many runs at the same time.")  # fmt: skip
@click.option("--engine", default="statistical", show_default=True, help="Of --figure, where it samples.")
@click.option(
    "--eps", type=PositiveNumber(), metavar="NUMBER", help="Of --figure: half the width of an interval."
)
@click.option("--table", type=int, metavar="1|2|3", help="Make a table of the shield paper again (control).")
@click.option("--problem", "only", multiple=True, metavar="NAME", help="Of --table: only these rows.")
@click.option("--networks", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Of --table: a folder with NAME.onnx for the rows; default: what is shipped.")  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(1, 1_000_000), default=1000, show_default=True, help="Of --table."
)
@click.option("--steps", type=click.IntRange(1, 10_000_000), default=5000, show_default=True,
              help="Of --table: of each run.")  # fmt: skip
@click.option("--adversarial", type=click.IntRange(0), default=0, show_default=True, metavar="STEPS",
              help="Of --table: shielded steps for each of five adversaries.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--quiet", is_flag=True)
def study(
    name: str | None,
    comparing: bool,
    timeout: float,
    training: bool,
    retrain: str | None,
    train: str | None,
    hidden: str,
    imitate: bool,
    output: Path | None,
    seed: int,
    generalise: bool,
    policies: tuple[str, ...],
    plot: Path | None,
    wanted: tuple[str, ...],
    folder: Path | None,
    configurations: tuple[str, ...],
    cap: float,
    every: int,
    sample: bool,
    workers: int,
    engine: str,
    eps: Fraction | None,
    table: int | None,
    only: tuple[str, ...],
    networks: Path | None,
    runs: int,
    steps: int,
    adversarial: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Show a case study, or with --compare set the papers' figures beside the measured ones."""
    _refuse_unused(name, wanted, table)
    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise InvalidProblem(f"`{plot}` is no .svg or .html file", fix="end its name so", where="--plot")
    if output is not None and output.suffix != ".onnx":
        raise InvalidProblem(f"`{output}` is no .onnx file", fix="end its name so", where="--output")
    if name is None:
        print("\n".join(STUDIES))
        return 0
    loaded = load_study(name)
    wanted_files = {"--output": output, "--plot": plot}
    check_output_files({option: str(path) for option, path in wanted_files.items() if path is not None}, [])
    check_folder(folder, "--folder")
    if table is not None and name != "control":
        raise InvalidProblem(f"study `{name}` has no tables", fix="surefoot study control", where="--table")
    if not (comparing or training or retrain or generalise or wanted or train or table is not None):
        print(json.dumps(_study_to_json(loaded), indent=1) if as_json else _describe_study(loaded))
        return 0
    with report_progress(quiet) as tell:

        def decide(problem: Problem, engine: str, options: Mapping[str, Any]) -> Result:
            budget = Budget(timeout, 0, tell)
            if engine == "shield":
                began = processor_time()
                made = make_certified_shield(problem, options.get("degrees") or shapes_for(), budget)
                if made.found.interrupted:
                    raise KeyboardInterrupt
                return result_from_synthesis(made, processor_time() - began, budget)
            result = verify(problem, build_engines(engine, options, None)[0], budget)
            if is_interrupted(result.verdict):
                raise KeyboardInterrupt
            return result

        if train is not None:
            return train_plant_actor(loaded, train, hidden, imitate, seed, tell, output)
        if table is not None:
            size = EvaluationSize(runs, steps, seed, timeout, adversarial)
            if table == 2:
                return print_degree_table(only, cap, networks, size, tell, as_json)
            return print_paper_table(table, only, networks, size, tell, as_json)
        how = Sampling(engine, {} if eps is None else {"eps": eps}, timeout, seed)
        making = AbstractionSettings(configurations, cap, every, timeout, sample or comparing, workers)
        if wanted and name == "racetrack" and all(map(is_abstraction_figure, wanted)):
            return draw_abstraction_figures(wanted, making, folder, tell, as_json)
        if wanted:
            return draw_study_figures(name, wanted, how, folder, tell, as_json)
        if training:
            return report_checkpoints(loaded, decide, as_json)
        if generalise:
            return report_generalisation(loaded, policies, timeout, tell, plot, as_json)
        if retrain is not None:
            return retrain_policy(loaded, retrain, timeout, seed, tell, output, as_json)
        rows: list[Row] = []
        try:
            rows.extend(compare_study(loaded, decide, replay_in_simulator))
            claims = check_study_claims(name, how, tell)
            if name == "racetrack":
                made = list(measure_abstractions(["pa"], making, tell, StoredRuns(None)))
                if any(one.missing for one in made):
                    raise KeyboardInterrupt
                claims += [claim for one in made for claim in one.claims]
        except KeyboardInterrupt:
            print(_render_partial(loaded, rows, as_json))
            return 130
    if as_json:
        told = {"claims": [claim_to_json(c) for c in claims]} if claims else {}
        print(json.dumps({"study": name, "rows": [_row_to_json(r) for r in rows], **told}, indent=1))
    else:
        print("\n".join(part for part in (_render_comparison(rows, claims), render_claims(claims)) if part))
    return claims_exit_code(claims) if all(r.as_recorded for r in rows) else 1


def _refuse_unused(name: str | None, wanted: Sequence[str], table: int | None) -> None:
    """One thing at a time, and no option of another one."""
    modes = [option for option, parameter in MODES.items() if is_given(parameter)]
    if len(modes) > 1:
        raise InvalidProblem(f"{' and '.join(modes)} are asked for at once", fix="give one of them")
    every = {option: parameter for option, (parameter, _) in USES.items()}
    if name is None:
        refuse_given_options(MODES | every | {"--json": "as_json"}, "without a study", "name the study")
    mode = modes[0] if modes else "describing a study"
    unused = {o: p for o, p in every.items() if not modes or modes[0] not in USES[o][1].split()}
    refuse_given_options(unused, f"with {mode}")
    if mode == "--train":
        refuse_given_options({"--json": "as_json"}, "with --train")
    abstract = mode == "--figure" and name == "racetrack" and all(map(is_abstraction_figure, wanted))
    if mode == "--figure":
        others = ("--engine", "--eps", "--seed") if abstract else OF_ABSTRACTIONS
        kind = "figures of predicate abstraction" if abstract else "figures of sampled runs"
        refuse_given_options({option: every[option] for option in others}, f"on {kind}")
    if (mode == "--table" and table != 2) or (mode == "--compare" and name != "racetrack"):
        refuse_given_options({"--cap": "cap", "--workers": "workers"}, "here")


def _render_partial(loaded: Study, rows: Sequence[Row], as_json: bool) -> str:
    """Half a comparison: what was measured and what was not run; nothing is judged."""
    expected = loaded.expectations
    left = [f"{e.problem} ({e.engine})" for e in expected[len(rows) :]]
    left += ["claims about figures"] if has_figures(loaded.name) else []
    mark = f"{interruption_note(len(rows), len(expected), 'expectations')}; nothing is judged"
    if as_json:
        done = [asdict(row) | {"met": None} for row in rows]
        return json.dumps(
            {"study": loaded.name, "interrupted": mark, "rows": done, "not run": left}, indent=1
        )
    lines = [f"run     {row.problem} ({row.engine})\n  expected  {row.expected}\n  measured  {row.measured}"
             for row in rows]  # fmt: skip
    return "\n".join([*lines, *(f"not run {one}" for one in left), mark])


def _study_to_json(loaded: Study) -> dict[str, object]:
    return {
        "study": loaded.name,
        "problems": list(loaded.problems),
        "with your network": list(loaded.needs_network),
    }


def _row_to_json(row: Row) -> dict[str, object]:
    return asdict(row) | {"met": row.answer == "met", "answer": row.answer}


def _describe_study(loaded: Study) -> str:
    lines = [*loaded.readme.strip().splitlines(), ""]
    lines += [f"problem {n}: {show_property(build().property)}" for n, build in loaded.problems.items()]
    lines += [f"problem {n}: needs your network" for n in loaded.needs_network]
    return join_visible(lines)


def _evidence_word(row: Row) -> str:
    if not row.certified:
        return "not certified"
    return "replayed" if row.measured.startswith("violated") else "certified"


def _render_comparison(rows: Sequence[Row], claims: Sequence[CheckedClaim]) -> str:
    if not rows:
        return "" if claims else "this study has no expectation that can be decided today"
    lines = []
    for row in rows:
        lines.append(f"{row.answer:<7} {row.problem} ({row.engine})")
        took = f" ({row.paper_time})" if row.paper_time else ""
        before = f", {row.recorded_seconds:g} s when written" if row.recorded_seconds is not None else ""
        lines.append(f"  paper     {row.paper}: {row.figure}{took}")
        lines.append(f"  asks      {row.asked}")
        lines += [f"  where     {parameter}" for parameter in row.parameters]
        lines.append(f"  expected  {row.expected}{before}")
        lines.append(f"  measured  {row.measured}, {_evidence_word(row)}, {row.seconds:.1f} s")
        lines += [f"  found     {text}" for text in row.told]
        if row.simulated is not None:
            over = "of an over-approximate environment; " if row.overapproximate else ""
            lines.append(f"  trace     {over}in the simulator {row.simulated.words}")
        lines += [f"  note      {row.note}"] if row.note else []
    return join_visible(lines)
