"""`surefoot study abstraction racetrack pa-1`: figures of policy predicate abstraction, and their claims."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli import plugin
from surefoot_studies import Tell
from surefoot_studies.commands import options
from surefoot_studies.commands.figure import claim_to_json, claims_exit_code, render_claims
from surefoot_studies.comparison import Study
from surefoot_studies.paper_figures import CheckedClaim, Claim, check_claim, read_claims
from surefoot_studies.racetrack.abstraction_instances import ABSTRACTIONS, AbstractionFigure
from surefoot_studies.racetrack.abstraction_log import StoredRuns, read_stored_runs
from surefoot_studies.racetrack.abstraction_runs import (
    DEFAULT,
    MEASURES,
    PAPER,
    AbstractionRun,
    known_figures,
)
from surefoot_studies.racetrack.abstraction_workers import PlannedRun, run_missing_instances


@dataclass(frozen=True, slots=True)
class AbstractionSettings:
    """`configurations` beside the default, `cap` seconds for an instance of theirs, every so many-th."""

    seconds: float  # for an instance of the default
    configurations: tuple[str, ...] = ()
    cap: float = 60.0
    every: int = 1
    sample: bool = False  # only what the study names as enough to measure the claims
    workers: int = 1

    def planned_runs(self, figure: AbstractionFigure, several: Sequence[str]) -> list[PlannedRun]:
        """The runs: first those of the default, then instance by instance those of the others."""
        others = [c for c in several if c != DEFAULT]
        few = (figure.sample() if self.sample else figure.instances)[:: self.every] if others else ()
        own = dict.fromkeys((*figure.outline(), *few)) if self.sample else figure.instances
        default: list[PlannedRun] = [(i, DEFAULT, self.seconds) for i in own]
        return default + [(i, c, self.cap) for i in few for c in others]


@dataclass(frozen=True, slots=True)
class MeasuredAbstraction:
    """What was wanted was made or is `missing`; claims only if nothing is."""

    figure: AbstractionFigure
    runs: tuple[AbstractionRun, ...]
    missing: tuple[PlannedRun, ...]
    claims: tuple[CheckedClaim, ...]


@click.command("abstraction")
@options.study_argument
@click.argument("figures", metavar="FIGURE…|pa", nargs=-1, required=True)
@options.folder_option
@click.option("--configuration", "configurations", multiple=True, metavar="NAME|paper",
              help="Run this configuration of `predicates` too; paper: those of the figure.")  # fmt: skip
@options.seconds_option("--cap", 60.0, "Of --configuration: per instance.")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True,
              help="Of --configuration: only every so many-th instance.")  # fmt: skip
@click.option("--sample", is_flag=True, help="Only instances that the study names.")
@options.workers_option("So many runs at the same time.")
@options.seconds_option("--timeout", 300.0, "Per instance of the default.")
@options.json_flag
@options.with_progress
def draw_abstractions(
    study: Study,
    figures: tuple[str, ...],
    folder: Path | None,
    timeout: float,
    as_json: bool,
    tell: Tell,
    **how: Any,
) -> int:
    """Make the figures pa-1 to pa-5 of predicate abstraction again (pa: all), and measure their claims.

    With --folder an interrupted command goes on from there. Exit 0 if every claim is as recorded, 1 if one is
    not.
    """
    if study.name != "racetrack":
        fix = "surefoot study abstraction racetrack"
        raise api.InvalidProblem(f"study `{study.name}` has no figures of predicate abstraction", fix=fix)
    if not how["configurations"]:
        plugin.refuse_given_options({"--cap": "cap", "--every": "every"}, "without --configuration")
    plugin.check_folder(folder, "--folder")
    return draw_abstraction_figures(figures, AbstractionSettings(timeout, **how), folder, tell, as_json)


def draw_abstraction_figures(
    names: Sequence[str], how: AbstractionSettings, folder: Path | None, tell: Tell, as_json: bool
) -> int:
    """Run every instance once, draw, and measure what the paper claims. Exit 1 if one is not as recorded.

    Exit 130 if it was interrupted: what is there is drawn. With a folder the next time goes on from there.
    """
    documents, checked, missing = [], list[CheckedClaim](), set[PlannedRun]()
    for made in measure_abstractions(names, how, tell, read_stored_runs(folder)):
        figure, runs = made.figure, made.runs
        checked += made.claims
        missing |= set(made.missing)
        mark = api.interruption_note(len(runs), len(runs) + len(made.missing), "runs") if made.missing else ""
        documents.append({"figure": figure.name, "title": figure.title, "runs": [r.facts() for r in runs]}
                         | ({"interrupted": mark} if mark else {}))  # fmt: skip
        if folder is not None and runs:
            stem = folder / f"racetrack-figure-{figure.name}"
            data = {
                "schema": 1,
                "kind": "abstractions",
                **documents[-1],
                "missing": len(made.missing),
                "claims": list(map(claim_to_json, made.claims)),
            }
            plugin.deliver_file(stem.with_suffix(".svg"), partial(_render_figure, figure, runs, mark))
            plugin.deliver_file(stem.with_suffix(".json"), partial(_render_json, data))
        elif not as_json and folder is None:
            print(_render_run_table(figure, runs) + (f"\n{mark}; no claim is judged" if mark else ""))
    if as_json:
        told: dict[str, Any] = {"study": "racetrack", "figures": documents}
        told |= {"interrupted": True} if missing else {"claims": list(map(claim_to_json, checked))}
        print(json.dumps({**told, "missing": len(missing)}, indent=1))
    elif checked and not missing:
        print(render_claims(checked))
    if missing:
        rest = (
            "run it again with the same --folder to go on" if folder else "use --folder to keep what is made"
        )
        plugin.print_line(f"interrupted: {len(missing)} runs are missing; {rest}", error=True)
        return 130
    return claims_exit_code(checked)


def _render_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"


def measure_abstractions(
    names: Sequence[str], how: AbstractionSettings, tell: Tell, stored: StoredRuns
) -> Iterator[MeasuredAbstraction]:
    """The named figures; an instance that occurs in several is run once. Interrupted: as far as it came."""
    claims, figures = abstraction_claims(), []
    for name in list(ABSTRACTIONS) if "pa" in names else names:
        if name not in ABSTRACTIONS:
            raise api.InvalidProblem(f"there is no figure `{name}`", fix=api.did_you_mean(name, ABSTRACTIONS))
        several = _select_configurations(ABSTRACTIONS[name], how)
        figures.append((ABSTRACTIONS[name], several, how.planned_runs(ABSTRACTIONS[name], several)))
    run_missing_instances([one for *_, wanted in figures for one in wanted], stored, tell, how.workers)
    for figure, several, wanted in figures:
        known = {one: stored.of(*one) for one in wanted}
        runs = [made for made in known.values() if made is not None]
        missing = tuple(one for one, made in known.items() if made is None)
        all_there = set(figure.configurations) <= set(several)
        told = _check_claims(claims, figure, runs, all_there) if not missing else []
        yield MeasuredAbstraction(figure, tuple(runs), missing, tuple(told))


def _select_configurations(figure: AbstractionFigure, how: AbstractionSettings) -> list[str]:
    found = [DEFAULT]
    for name in how.configurations:
        if name != "paper" and name not in api.CONFIGURATIONS:
            fix = api.did_you_mean(name, ["paper", *api.CONFIGURATIONS])
            raise api.InvalidProblem(f"there is no configuration `{name}`", fix=fix, where="--configuration")
        found += figure.configurations if name == "paper" else (name,)
    return list(dict.fromkeys(found))


def abstraction_claims() -> tuple[Claim, ...]:
    text = files("surefoot_studies.racetrack").joinpath("expected.toml").read_text("utf-8")
    where = "racetrack/expected.toml"
    return read_claims(text, where, known_figures(ABSTRACTIONS), MEASURES, key="abstraction")


def _check_claims(
    claims: Sequence[Claim], figure: AbstractionFigure, runs: Sequence[AbstractionRun], all_there: bool
) -> list[CheckedClaim]:
    wanted = {figure.name, f"{figure.name}, {PAPER}"} if all_there else {figure.name}
    return [check_claim(c, MEASURES[c.measure](runs)) for c in claims if c.figure in wanted]


def _render_run_table(figure: AbstractionFigure, runs: Sequence[AbstractionRun]) -> str:
    lines = [f"figure {figure.name}: {figure.title}", "network predicates starts  states  seconds"]
    for one in runs:
        i = one.instance
        end = "" if one.finished else "  (not finished)"
        end = end if one.known_from is None else f"  (not finished with {one.known_from} of them)"
        by = "" if one.configuration == DEFAULT else f"  {one.configuration}"
        lines.append(f"{i.width:7} {i.predicates:10} {i.starts:6} {one.states:7} {one.seconds:8.2f}{by}{end}")
    return "\n".join(lines)


def _render_figure(figure: AbstractionFigure, runs: Sequence[AbstractionRun], mark: str = "") -> str:
    """Time and number of abstract states; figure pa-3: time, a panel for each network."""
    across = "predicates" if figure.across == "predicates" else "start states"
    widths = list(dict.fromkeys(r.instance.width for r in runs))
    if figure.name == "pa-3":
        parts = [[r for r in runs if r.instance.width == w] for w in widths]
        panels = [
            api.LinePanel(
                f"network {w}", across, "seconds", _figure_lines(part, figure, "seconds"), logarithmic=True
            )
            for w, part in zip(widths, parts, strict=True)
        ]
    else:
        panels = [
            api.LinePanel(
                "time", across, "seconds", _figure_lines(runs, figure, "seconds"), logarithmic=True
            ),
            api.LinePanel("reachable abstract states", across, "", _figure_lines(runs, figure, "states")),
        ]
    if figure.name == "pa-4":
        own = [r for r in runs if r.configuration == DEFAULT and r.instance.width == widths[0]]
        panels.append(
            api.LinePanel("abstract starts", across, "", _figure_lines(own, figure, "abstract_starts"))
        )
    return api.line_panels_svg(f"{figure.name}: {figure.title}{f' ({mark})' if mark else ''}", panels)


def _figure_lines(
    runs: Sequence[AbstractionRun], figure: AbstractionFigure, what: str
) -> tuple[api.DataLine, ...]:
    over = figure.across
    found: dict[tuple[int, int, str], list[AbstractionRun]] = {}
    for one in runs:
        fixed = one.instance.starts if over == "predicates" else one.instance.predicates
        found.setdefault((one.instance.width, fixed, one.configuration), []).append(one)
    lines = []
    for (width, fixed, configuration), group in found.items():
        name = f"{width}" if over == "predicates" else f"{width}, {fixed} predicates"
        kind = "" if configuration == DEFAULT else configuration
        place = [(float(getattr(r.instance, over)), float(getattr(r, what)), r.finished) for r in group]
        place.sort()
        done = tuple((x, y) for x, y, finished in place if finished)
        late = tuple((x, y) for x, y, finished in place if not finished)
        gaps = tuple(x for x, _ in late)
        lines.append(api.DataLine(name, kind, done, late if what == "seconds" else (), gaps))
    return tuple(lines)
