"""`surefoot study checkpoints|generalise|train|retrain`: what is asked about trainings, and new ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli import plugin
from surefoot_studies import Tell, checkpoints, generalisation
from surefoot_studies.assets import shipped_names, shipped_network
from surefoot_studies.commands import options
from surefoot_studies.commands.compare import make_verifier
from surefoot_studies.comparison import Study
from surefoot_studies.generalisation import render_tipping_bounds as drawn_bounds
from surefoot_studies.training.recipes import RECIPES, Recipe


@click.command("checkpoints")
@options.study_argument
@options.seconds_option("--timeout", 300.0, "Per question.")
@options.json_flag
@options.with_progress
def check_checkpoints(study: Study, timeout: float, as_json: bool, tell: Tell) -> int:
    """Ask one question about every checkpoint of a training.

    Exit 0 if the final policy keeps the property, 1 if it does not, 3 if that is not known.
    """
    run = checkpoints.training_run(study.name)
    points: list[checkpoints.CheckpointVerdict] = []
    mark = ""
    try:
        points.extend(checkpoints.verify_checkpoints(run, make_verifier(timeout, tell)))
    except KeyboardInterrupt:
        mark = api.interruption_note(len(points), len(run.decisions), "checkpoints")
    if as_json:
        stopped = {"interrupted": mark} if mark else {}
        print(json.dumps({"study": study.name, **stopped, "checkpoints": _show_fractions(points)}, indent=1))
    else:
        print("\n".join([checkpoints.render_checkpoints(run, tuple(points)), *([mark] if mark else [])]))
    if mark:
        return 130
    return {"proved": 0, "violated": 1}.get(points[-1].verdict, 3)


@click.command("generalise")
@options.study_argument
@click.option("--policy", "policies", multiple=True, metavar="NAME", help="Only these; may be repeated.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.svg|FILE.html", help="Draw the bounds."
)
@options.seconds_option("--timeout", 300.0, "Per tipping point.")
@options.json_flag
@options.with_progress
def compare_instances(
    study: Study, policies: tuple[str, ...], plot: Path | None, timeout: float, as_json: bool, tell: Tell
) -> int:
    """Compare where policies trained alike begin to fail: at a ratio, or at an absolute value?

    Exit 0 if every tipping point was found to the precision with its evidence, else 3.
    """
    if plot is not None:
        if plot.suffix not in (".svg", ".html"):
            raise api.InvalidProblem(
                f"`{plot}` is no .svg or .html file", fix="end its name so", where="--plot"
            )
        plugin.check_output_files({"--plot": str(plot)}, [])
    about, known = generalisation.load_instances(study.name), shipped_names(study.name)
    for policy in policies:
        if policy not in known:
            what = f"study `{study.name}` ships no policy `{policy}`"
            raise api.InvalidProblem(what, fix=api.did_you_mean(policy, known))
    engines = api.build_engines_of(["bmc"], {"solver": "native"})
    found: list[generalisation.TippingBounds] = []
    wanted, mark = [(p, s) for p in policies or about.policies for s in about.scales], ""
    try:
        for policy, scale in wanted:
            tell(f"{policy}: P = {float(scale):g}")
            asking = api.SearchSettings(engines, api.Budget(timeout, 0, tell))
            network = shipped_network(study.name, policy)
            found.append(generalisation.find_tipping_bounds(about, policy, network, scale, asking))
    except KeyboardInterrupt:
        mark = api.interruption_note(len(found), len(wanted), "tipping points")
    each = [tuple(t for t in found if t.policy == p) for p in dict.fromkeys(t.policy for t in found)]
    answers = tuple(
        generalisation.judge_dependence(about, mine) for mine in each if len(mine) == len(about.scales)
    )
    lines = [(mine[0].policy, bars) for mine in each if (bars := _tipping_bars(about, mine))]
    text = "\n".join([drawn_bounds(about, tuple(found), answers), *([mark] if mark else [])])
    if plot is not None and lines:
        names = f"P, largest {about.quantity}", f"L, {about.quantity}"
        picture = api.bounds_svg(f"{about.words} ({mark})" if mark else about.words, *names, lines)
        parts = [picture, api.preformatted_html(text)]
        page = api.render_html_page(f"surefoot: {study.name}", parts) if plot.suffix == ".html" else picture
        plugin.deliver_file(plot, lambda: page, quiet=True)
    if as_json:
        facts: dict[str, Any] = {"study": study.name, **({"interrupted": mark} if mark else {})}
        facts |= {"bounds": _show_fractions(found), "answers": [asdict(a) for a in answers]}
        print(json.dumps(facts))
    else:
        print(text)
    if mark:
        return 130
    return 0 if all(t.certified and t.reached for t in found) else 3


def _show_fractions(found: Sequence[Any]) -> list[dict[str, Any]]:
    """For JSON."""
    return [{k: str(v) if isinstance(v, Fraction) else v for k, v in asdict(one).items()} for one in found]


def _tipping_bars(
    about: generalisation.Instances, mine: tuple[generalisation.TippingBounds, ...]
) -> list[tuple[float, float, float]]:
    ends = [(t.scale, t.refuted or about.lowest, t.proved) for t in mine if t.proved is not None]
    return [(float(x), float(low), float(high)) for x, low, high in ends]


@click.command("retrain")
@options.study_argument
@click.argument("problem")
@options.output_option(required=False)
@options.seed_option
@options.seconds_option("--timeout", 300.0, "Per question.")
@options.json_flag
@options.with_progress
def retrain_problem(
    study: Study, problem: str, output: Path | None, seed: int, timeout: float, as_json: bool, tell: Tell
) -> int:
    """Feed the counterexamples of a violated problem back into training until it is proved.

    Exit 0 if it is proved and certified in the end, 1 if it is violated, 3 otherwise.
    """
    build = _find_problem(study, problem)
    if output is not None:
        plugin.check_output_files({"--output": str(output)}, [])
    recipe = _find_recipe(problem)
    if find_spec("torch") is None:
        raise api.MissingBackend("training needs torch", fix='pip install "surefoot[train]"')
    from surefoot_studies.training.onnx_files import write_network
    from surefoot_studies.training.repair import RepairSettings, render_rounds, repair_policy

    def decide(problem: api.Problem) -> api.Result:
        result = api.verify(problem, None, api.Budget(timeout, seed, tell))
        if api.is_interrupted(result.verdict):
            raise KeyboardInterrupt
        return result

    done = repair_policy(recipe, build(), decide, RepairSettings(seed=seed), tell)
    if output is not None:
        write_network(output, done.layers, recipe)
    facts = {"study": study.name, "problem": problem, "rounds": [asdict(r) for r in done.rounds]}
    print(json.dumps(facts, indent=1) if as_json else f"{problem}\n{render_rounds(done.rounds)}")
    last = done.rounds[-1]
    return 1 if last.verdict == "violated" else 0 if last.verdict == "proved" and last.certified else 3


def _find_problem(study: Study, problem: str) -> Callable[[], api.Problem]:
    if problem not in study.problems:
        fix = api.did_you_mean(problem, study.problems)
        raise api.InvalidProblem(f"study `{study.name}` has no problem `{problem}`", fix=fix)
    return study.problems[problem]


def _find_recipe(problem: str) -> Recipe:
    """How the policy of a problem was trained; the number of another seed is no part of its name."""
    policy = problem.rpartition("/")[2]
    for name in (policy, policy.rpartition("-")[0]):
        if name in RECIPES:
            return RECIPES[name]
    raise api.InvalidProblem(
        f"there is no recipe for `{policy}`", fix="`surefoot study show STUDY` lists the problems"
    )


@click.command("train")
@options.study_argument
@click.argument("problem")
@options.output_option(required=True)
@click.option("--hidden", default="64x64", show_default=True, metavar="64x64|paper",
              help="The hidden layers, or those that the paper prints.")  # fmt: skip
@click.option("--imitate", is_flag=True, help="Begin with what a regulator does.")
@options.seed_option
@options.with_progress
def train_plant(
    study: Study, problem: str, output: Path, hidden: str, imitate: bool, seed: int, tell: Tell
) -> int:
    """Train an actor for a plant of the study (DDPG); write it and a TOML file that says how.

    Exit 1 if held-out runs were unsafe, 130 if it was interrupted (the best actor so far is written).
    """
    from surefoot_studies.training.control.ddpg import train_actor
    from surefoot_studies.training.control.recipes import actor_recipe, text_file, training_text
    from surefoot_studies.training.onnx_files import onnx_bytes

    build = _find_problem(study, problem)
    plugin.check_output_files({"--output": str(output), "the recipe of --output": str(text_file(output))}, [])
    recipe = actor_recipe(_parse_sizes(study.name, problem, hidden), imitate)
    system = api.read_control_system(api.discretise(build()))
    made = train_actor(system, recipe, seed, tell)
    written = plugin.deliver_file(
        output, lambda: onnx_bytes(made.layers, "relu", problem, made.reach), quiet=True
    )
    written &= plugin.deliver_file(
        text_file(output), lambda: training_text(problem, recipe, seed, made), quiet=True
    )
    update, worth, fallen = made.best_point()
    took = f"{made.cpu_seconds:.1f} s of processor time"
    took += f"; written: {output}, {text_file(output).name}" if written else ""
    plugin.print_line(
        f"{problem}: after {update} updates mean return {worth:.4g}, {fallen} held-out runs unsafe, {took}"
    )
    if made.interrupted:
        plugin.print_line("interrupted: this is the best actor so far")
        return 130
    return 1 if fallen else 0 if written else 4


def _parse_sizes(study: str, problem: str, hidden: str) -> tuple[int, ...]:
    """`64x64`, or `paper`: what the shield paper prints for the problem."""
    from surefoot_studies.control.paper_tables import paper_size

    if hidden == "paper":
        found = paper_size(problem) if study == "control" else None
        if found is None:
            what = f"the paper prints no size of a network for `{problem}`"
            raise api.InvalidProblem(what, fix="write sizes like 64x64", where="--hidden")
        hidden = found
    sizes = tuple(int(part) for part in hidden.split("x") if part.isdigit() and int(part) > 0)
    if len(sizes) != len(hidden.split("x")):
        fix = "write 64x64, or paper"
        raise api.InvalidProblem(f"`{hidden}` are no sizes of layers", fix=fix, where="--hidden")
    return sizes
