"""`surefoot study figure STUDY FIGURE…`: figures of a paper made again, and its claims measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli import plugin
from surefoot_studies import Tell
from surefoot_studies import paper_figures as paper
from surefoot_studies.assets import recipe_curve
from surefoot_studies.commands import options
from surefoot_studies.comparison import REPRODUCED, Study
from surefoot_studies.region_figures import RegionFigureSpec, region_scenes


@dataclass(frozen=True, slots=True)
class Sampling:
    """How panels that are sampled in the paper are made: `engine` statistical, or another one."""

    engine: str
    options: Mapping[str, Any]
    seconds: float  # per panel
    seed: int


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure and what was measured in it; `missing`: why there is none."""

    picture: api.Figure | tuple[api.Scene, ...] | None
    claims: tuple[paper.CheckedClaim, ...]
    missing: str = ""


@click.command("figure")
@options.study_argument
@click.argument("figures", metavar="FIGURE…|all", nargs=-1, required=True)
@options.folder_option
@options.sampling_options
@options.seed_option
@options.seconds_option("--timeout", 300.0, "Per panel.")
@options.json_flag
@options.with_progress
def draw_figures(
    study: Study,
    figures: tuple[str, ...],
    folder: Path | None,
    engine: str,
    eps: Fraction | None,
    seed: int,
    timeout: float,
    as_json: bool,
    tell: Tell,
) -> int:
    """Make figures of a paper again, and measure what the paper claims to see there.

    Exit 0 if every claim is as recorded, 1 if one is not, 3 if a figure had not enough time.
    """
    refuse_idle_sampling(study.name)
    plugin.check_folder(folder, "--folder")
    how = Sampling(engine, {} if eps is None else {"eps": eps}, timeout, seed)
    return draw_study_figures(study.name, figures, how, folder, tell, as_json)


def refuse_idle_sampling(study: str) -> None:
    """Refuse options about sampled panels if the study has none."""
    if any(
        isinstance(figure, paper.FigureSpec) for figure in paper.load_study_figures(study).figures.values()
    ):
        return
    plugin.refuse_given_options({"--engine": "engine", "--eps": "eps"}, "on figures of closed sets")


def draw_study_figures(
    study: str, names: Sequence[str], how: Sampling, folder: Path | None, tell: Tell, as_json: bool
) -> int:
    """Draw figures and print what was measured; the exit code."""
    checked: list[paper.CheckedClaim] = []
    done: list[str] = []
    missing: dict[str, str] = {}
    try:
        for name, made in _measure_figures(study, names, how, tell):
            checked += made.claims
            if made.picture is None:
                missing[name] = made.missing
                continue
            _write_figure(made.picture, study, name, folder, as_json)
            done.append(name)
    except KeyboardInterrupt:  # a figure is made whole or not at all
        wanted = list(paper.load_study_figures(study).figures) if "all" in names else names
        mark = f"{api.interruption_note(len(done), len(wanted), 'figures')}; no claim is judged"
        print(json.dumps({"study": study, "interrupted": mark, "made": done}, indent=1) if as_json else mark)
        return 130
    if as_json:
        told = {"not made": missing} if missing else {}
        print(json.dumps({"study": study, "claims": [claim_to_json(c) for c in checked], **told}, indent=1))
    else:
        lines = [f"figure {name} is not made: {why}; give more --timeout" for name, why in missing.items()]
        print("\n".join(part for part in (render_claims(checked), api.join_visible(lines)) if part))
    return claims_exit_code(checked, bool(missing))


def claims_exit_code(checked: Sequence[paper.CheckedClaim], missing: bool = False) -> int:
    """1 if a claim is not as recorded; 3 if none is, but one is open."""
    if any(not c.as_recorded and not c.missing for c in checked):
        return 1
    return 3 if missing or any(c.missing for c in checked) else 0


def _measure_figures(
    study: str, names: Sequence[str], how: Sampling, tell: Tell
) -> Iterator[tuple[str, MeasuredFigure]]:
    """The named figures of a study one after the other; `all`: every one."""
    all_of = paper.load_study_figures(study)
    for name in list(all_of.figures) if "all" in names else [all_of.figure(n).name for n in names]:
        wanted = all_of.figures[name]
        if isinstance(wanted, RegionFigureSpec):
            scenes, found = region_scenes(wanted, how.seconds, how.seed, tell)
            yield name, MeasuredFigure(tuple(scenes), paper.check_figure_claims(wanted, all_of, found))
        else:
            yield name, _measure_figure(wanted, all_of, how, study, tell)


def check_study_claims(study: str, how: Sampling, tell: Tell) -> list[paper.CheckedClaim]:
    """Every claim about a figure of the study; none if it has no figures."""
    if not paper.has_figures(study):
        return []
    return [claim for _, made in _measure_figures(study, ["all"], how, tell) for claim in made.claims]


def _measure_figure(
    wanted: paper.FigureSpec, all_of: paper.StudyFigures, how: Sampling, study: str, tell: Tell
) -> MeasuredFigure:
    """Ask every panel, draw them, measure what is claimed."""
    sampled = api.build_engines_of([how.engine], how.options)[0]
    computed = api.Explicit()
    found: list[tuple[paper.PanelSpec, api.Problem, api.Result]] = []
    for panel in wanted.panels:
        tell(f"figure {wanted.name}: {panel.title}")
        engine = sampled if panel.sampled or panel.quantity == "effort" else computed
        problem = panel.problem()
        found.append(
            (panel, problem, _verify_panel(problem, engine, api.Budget(how.seconds, how.seed, tell)))
        )
    try:
        tables = {panel.name: paper.sampled_values(_verdict_table(result)) for panel, _, result in found}
    except paper.UnmeasuredFigure as error:
        return MeasuredFigure(None, paper.leave_claims_open(wanted, all_of, str(error)), str(error))
    claims = paper.check_figure_claims(wanted, all_of, tables)
    return MeasuredFigure(_compose_heatmaps(wanted, found, study), claims)


def _verify_panel(problem: api.Problem, engine: api.Engine, budget: api.Budget) -> api.Result:
    """Without certificates: a picture is for looking, `surefoot check` certifies the same problems."""
    result = api.verify(problem, engine, budget, certificates=False)
    if api.is_interrupted(result.verdict):
        raise KeyboardInterrupt
    return result


def _verdict_table(result: api.Result) -> api.PerStart:
    match result.verdict:
        case api.PerStart() as table:
            return table
        case api.Unknown(reason, detail):
            raise paper.UnmeasuredFigure(f"{result.problem}: unknown ({reason.value}): {detail}")
        case other:
            raise api.InvalidProblem(
                f"{result.problem}: `{type(other).__name__.lower()}` is no table of starts"
            )


def _compose_heatmaps(
    wanted: paper.FigureSpec, found: Sequence[tuple[paper.PanelSpec, api.Problem, api.Result]], study: str
) -> api.Figure:
    panels: list[api.Panel] = []
    views: dict[str, api.MapView] = {}
    for panel, problem, result in found:
        table = (
            api.effort_table(_verdict_table(result))
            if panel.quantity == "effort"
            else api.value_table(_verdict_table(result))
        )
        environment = problem.environment
        if environment.name not in views:
            views[environment.name] = api.parse_view([table], "car_x", "car_y", (), environment)
        drawn = api.heat_map(panel.quantity, table, views[environment.name])
        unit = api.unit_of(panel.quantity, api.measure_of(problem.property))
        facts = {"problem": result.problem, "engine": result.engine, "seed": result.seed}
        panels.append(api.Panel(panel.title, drawn, unit, api.show_property(problem.property), facts))
    curve: api.Curve | None = None
    if wanted.curve is not None:
        points = recipe_curve(study, wanted.curve.policy, "episodes")
        marks = tuple((float(x), word) for x, word in wanted.curve.marks)
        curve = api.Curve("episodes", "return", tuple((float(x), y) for x, y in points.items()), marks)
    # A run that is cut off leaves open what it would have become; the paper counts it as no success.
    return api.build_figure(
        wanted.title,
        panels,
        columns=wanted.columns,
        down=True,
        end="middle" if all(p.quantity == "effort" for p in wanted.panels) else "low",
        limits=wanted.limits,
        curve=curve,
    )


def _write_figure(
    picture: api.Figure | tuple[api.Scene, ...], study: str, name: str, folder: Path | None, as_json: bool
) -> None:
    """Pictures, data and a page in the folder; without one, the terminal."""
    if folder is None:
        if isinstance(picture, api.Figure) and not as_json:
            plugin.Outputs(None, None, None, None, None, True).write(picture)
        return

    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(picture, api.Figure):
        shapes, page, data = api.draw_figure(picture), api.heat_page([picture]), api.figure_to_json(picture)
    else:
        shapes = api.draw_scenes(picture)
        page = api.region_page(f"surefoot: {study}, figure {name}", picture)
        data = {"panels": [api.scene_to_json(scene) for scene in picture]}
    stem = folder / f"{study}-figure-{name}"
    plugin.deliver_file(stem.with_suffix(".png"), lambda: api.render_png(shapes))
    plugin.deliver_file(stem.with_suffix(".svg"), lambda: api.render_svg(shapes))
    plugin.deliver_file(stem.with_suffix(".html"), lambda: page)
    plugin.deliver_file(stem.with_suffix(".json"), lambda: json.dumps(data, indent=1) + "\n")


def claim_to_json(checked: paper.CheckedClaim) -> dict[str, Any]:
    found: dict[str, Any] = {"measured": checked.measured, "as_recorded": checked.as_recorded}
    found |= {"missing": checked.missing} if checked.missing else {}
    return (
        asdict(checked.claim) | found | {"reproduced": checked.answer == REPRODUCED, "answer": checked.answer}
    )


def render_claims(checked: Sequence[paper.CheckedClaim]) -> str:
    """Paper against measured, a claim in three lines."""
    lines = []
    for one in checked:
        claim = one.claim
        ends = [f"at least {claim.at_least:g}"] if claim.at_least is not None else []
        ends += [f"at most {claim.at_most:g}"] if claim.at_most is not None else []
        before = f"; {claim.found:g} when written" if claim.found is not None else ""
        lines.append(f"{one.answer:<14} figure {claim.figure}: {claim.measure}")
        lines.append(f"  paper     {claim.paper}: {claim.says}")
        measured = one.missing if one.measured is None else f"{one.measured:.4g}"
        lines.append(f"  measured  {measured} (expected {' and '.join(ends)}{before})")
        lines += [f"  note      {claim.note}"] if claim.note else []
    return api.join_visible(lines)
