"""`surefoot shield MODEL`: synthesise a program that is proved safe, and a shield around a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.model import (
    MODEL_OPTIONS,
    check_time_options,
    load_model,
    load_single_problem,
    model_flags,
    names_study,
    time_flags,
)
from surefoot.cli.option_groups import GroupedCommand, json_flag, quiet_flag, timeout_flag, workers_flag
from surefoot.cli.output import check_output_files, deliver_file, write_certificate, write_facts
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import is_given, refuse_given_options, refuse_option

OF_CONTROLS = {"--degree": "tried", "--set": "kind", "--squares": "squares", "--runs": "runs"}
OF_ACTIONS = {"--bound": "bound"}
MAKING = 0.6  # of the time, if runs are simulated after it
SIMULATIONS = 12  # at most, which share the rest
ATTACKED = 100  # steps of a run under an adversary


def _parse_degrees(_: click.Context, option: click.Parameter, given: str) -> tuple[int, ...]:
    """`2,4`: even numbers from 2 on."""
    found = tuple(int(part) for part in given.split(",") if part.strip().isdigit())
    if not found or len(found) != len(given.split(",")) or any(d < 2 or d % 2 or d > 12 for d in found):
        raise click.BadParameter(f"`{given}` is not a list of even numbers like 2,4", param=option)
    return found


def _parse_share(_: click.Context, option: click.Parameter, given: str) -> Fraction:
    """`0.99` or `99/100`: more than 0, at most 1."""
    try:
        found = Fraction(given)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= 1:
        raise click.BadParameter(f"`{given}` is not a number above 0 and up to 1", param=option)
    return found


@click.command(cls=GroupedCommand)
@click.argument("model", metavar="MODEL|STUDY/PROBLEM")
@model_flags
@time_flags
@click.option("--degree", "tried", callback=_parse_degrees, default="2,4", show_default=True, metavar="2,4",
              help="Degrees of the barriers, in the order in which they are tried.")  # fmt: skip
@click.option("--set", "kind", type=click.Choice(["auto", "polynomial", "polyhedron"]), default="auto",
              show_default=True, help="What sets are tried; polyhedra are for linear systems.")  # fmt: skip
@click.option("--squares", type=click.Choice(["auto", "sos", "sdsos"]), default="auto", show_default=True,
              help="Proofs of polynomials: sums of squares with any matrices, or with sums of 2x2 ones "
              "(sdsos: fewer, for many variables); auto: by size.")  # fmt: skip
@click.option("--rule", default="", metavar="'x, y, x*y'",
              help="The monomials of the program's controls, instead of 1 and all variables.")  # fmt: skip
@click.option("--invariant", default="", metavar="'1, x^2, x*y'",
              help="The monomials of the barriers, instead of all up to a degree.")  # fmt: skip
@timeout_flag("For the whole run: synthesis, certificate, runs, pictures.", seconds=120.0)
@workers_flag
@click.option("--bound", callback=_parse_share, default="1", show_default=True, metavar="0.99",
              help="Of actions: how probable safety must stay after a permitted one.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--runs", type=click.IntRange(0, 1_000_000), default=0, show_default=True,
              help="Simulate so many runs: with and without shield, baselines, adversaries.")  # fmt: skip
@click.option("--steps", type=click.IntRange(1, 10_000_000), default=5000, show_default=True,
              help="Of --runs.")  # fmt: skip
@click.option("--recheck", type=click.Path(path_type=Path), metavar="OLD",
              help="Keep what can be kept of a shield that --certificate or --json wrote.")  # fmt: skip
@click.option("--certificate", metavar="FILE", help="Write the certificate (.gz packs it).")
@click.option("--python", "python_path", metavar="FILE.py", help="Write the shield as a Python module.")
@click.option("--c", "c_prefix", metavar="PREFIX", help="Write the shield as PREFIX.h and PREFIX.c (C99).")
@click.option(
    "--report", metavar="FILE", help="Write a page with pictures: sets, starts, unsafe states, runs."
)
@json_flag("Write everything; - = stdout, nothing else.")
@quiet_flag
def shield(
    model: str,
    time: str | None,
    flow_method: str | None,
    tried: tuple[int, ...],
    kind: api.SetKind,
    squares: api.Squares,
    rule: str,
    invariant: str,
    timeout: float,
    bound: Fraction,
    seed: int,
    runs: int,
    steps: int,
    recheck: Path | None,
    certificate: str | None,
    python_path: str | None,
    c_prefix: str | None,
    report: str | None,
    json_path: str | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Synthesise a program for MODEL whose rules have sets of states that no step leaves and that have no bad
    state, until they cover the starts; and a shield that overrules whoever proposes controls where they are
    not seen to lead into such a set. If MODEL has a network, the program imitates it where it can.

    In a system with finitely many states that is moved by actions: find which actions may be permitted where,
    and which are the safest.

    Exit 0: every start is covered and the certificate accepted, 3: a part of them or nothing, 130:
    interrupted, with what was found.
    """
    outputs = {"--certificate": certificate, "--python": python_path, "--json": json_path, "--report": report}
    outputs |= {"--c": c_prefix and f"{c_prefix}.c", "the header of --c": c_prefix and f"{c_prefix}.h"}
    if c_prefix is not None and Path(f"{c_prefix}.c").name == ".c":
        refuse_option("--c", f"`{c_prefix}` is a folder", "give the beginning of a file's name: guard")
    check_output_files(outputs, [model, *([] if recheck is None else [recheck])])
    if python_path is not None and not python_path.endswith(".py"):
        refuse_option("--python", f"`{python_path}` is no Python module", "end it with .py")
    if not runs:
        refuse_given_options({"--steps": "steps"}, "without --runs")
    reading = {name: options.pop(name) for name in MODEL_OPTIONS}
    check_time_options(time, flow_method)
    whole = begin_budget(timeout, seed)
    name, problem, loaded = load_single_problem(model, reading)
    check_output_files(outputs, loaded.inputs)
    loaded = api.set_time_semantics(loaded, time, flow_method)
    problem = loaded.problems[name]
    if runs and problem.environment.flow is not None and problem.environment.flow.continuous:
        what = "simulated runs are steps, and the problem is about continuous time"
        refuse_option("--runs", what, "leave --runs or the time out")
    finite = api.is_moved_by_actions(problem)
    switched = not finite and api.is_meant_as_switched(problem)
    if recheck is not None and (finite or switched):
        refuse_option("--recheck", "old sets are of real controls; this model is moved by actions")
    _refuse_options_of_others(finite or switched)
    if finite or switched:
        what = "on a model that is moved by actions: pictures are of sets in real variables"
        refuse_given_options({"--report": "report"}, what)
    if switched:
        refuse_given_options(
            OF_ACTIONS, "on a model with real variables, where safety is certain or not proved"
        )
    old = () if recheck is None else api.read_old_rules(recheck, problem)
    shapes = api.shapes_for(_kind_of_set(kind, invariant, squares), tried, squares)
    sketches = _check_sketches(rule, invariant, recheck is not None, finite or switched)
    sketches = replace(sketches, squares=squares)
    source = {**loaded.source, "property": name}
    files = _ShieldFiles(certificate, python_path, c_prefix, json_path, quiet)
    if finite or switched:
        goals = _read_goals(model, reading, problem)
        if switched:
            _refuse_export(problem, python_path, c_prefix, actions=True)
            return _run_switched_shield(problem, files, source, loaded.inputs, whole, goals)
        return _run_finite_shield(problem, bound, files, source, loaded.inputs, whole, goals)
    _refuse_export(problem, python_path, c_prefix)
    began = api.processor_time()
    with report_progress(quiet) as tell:
        whole = replace(whole, progress=tell)
        making = replace(whole, seconds=(MAKING if runs else 1.0) * timeout)
        made = api.make_certified_shield(problem, shapes, making, old, sketches)
        seconds = api.processor_time() - began
        simulated = None
        if runs and not made.found.interrupted:
            part = whole.remaining() / SIMULATIONS
            size = api.EvaluationSize(runs, steps, seed, part, adversarial=runs * min(steps, ATTACKED))
            simulated = api.call_in_time(
                whole, lambda: api.evaluate_shield(made, problem.policy, size, tell), lambda: None
            )
    proof = made.certificate if made.accepted else None
    files.write(made, None if proof is None else partial(_write_proof, proof, quiet))
    stopped = bool(made.found.interrupted and made.found.branches)
    stopped |= simulated is not None and simulated.interrupted
    if report is not None and stopped:  # a picture has runs of its own, for which there is no time
        print_line(f"not written: {report} (interrupted)", error=True)
    scene = None if report is None or stopped else write_shield_page(made, report, whole, seconds, quiet)
    unpictured = report is not None and scene is None and not stopped and not whole.is_spent()
    if json_path is not None:
        data = api.synthesis_to_json(
            made,
            seconds,
            seed=seed,
            kind=kind,
            squares=squares,
            degrees=tried,
            sketches=sketches,
            source=source,
            inputs=loaded.inputs,
        )
        data |= {} if simulated is None else {"simulated": api.evaluation_to_json(simulated)}
        data |= {"interrupted": True} if stopped or unpictured else {}
        data |= {} if scene is None else {"picture": api.scene_to_json(scene)}
        write_facts(json_path, lambda: data, quiet)
    if json_path != "-":
        print(api.render_synthesis(made, seconds))
        if simulated is not None:
            print_line(f"simulated    {runs} runs of at most {steps} steps from covered starts")
            print(api.render_evaluation(simulated))
        elif runs and not made.found.interrupted:
            print_line("simulated    nothing: the time is over")
        if unpictured:
            print_line("interrupted: what is above is whole, only the page is missing")
    if made.found.interrupted or stopped or unpictured:
        return 130
    return 0 if made.accepted and not made.found.uncovered else 3


def write_shield_page(
    made: api.ShieldSynthesis, path: str, budget: api.Budget, seconds: float, quiet: bool
) -> api.Scene | None:
    """Write the page; None if that was interrupted, or the time is over: all else is known by then."""
    try:
        scene = api.call_in_time(
            budget, lambda: api.synthesis_scene(made, made.problem.name, budget.seed), lambda: None
        )
    except KeyboardInterrupt:
        print_line(f"not written: {path} (interrupted)", error=True)
        return None
    if scene is None:
        print_line(f"not written: {path} (the time is over)", error=True)
        return None
    shown = scene
    deliver_file(path, lambda: api.render_shield_page(made, shown, seconds), quiet)
    return scene


def _read_goals(model: str, reading: dict[str, Any], problem: api.Problem) -> dict[str, api.Term]:
    """What the other properties of the model want to be reached; none if one of them cannot be read."""
    if names_study(model):
        return {}
    try:
        return api.reachability_goals(
            load_model(Path(model), **reading | {"properties": ()}).problems, problem
        )
    except api.SurefootError:
        return {}


def _kind_of_set(kind: api.SetKind, invariant: str, squares: api.Squares) -> api.SetKind:
    """Who asks for degrees means polynomials."""
    asked = is_given("tried")
    if kind == "polyhedron" and (asked or invariant):
        what, fix = "a polyhedron has no degree and no monomials", "leave --degree, --invariant or --set out"
        refuse_option("--set", what, fix)
    if kind == "polyhedron" and squares != "auto":
        what, fix = "a polyhedron is proved without sums of squares", "leave --squares or --set out"
        refuse_option("--squares", what, fix)
    return "polynomial" if kind == "auto" and asked else kind


def _refuse_options_of_others(finite: bool) -> None:
    """An option that shields of this kind do not have would change nothing, unseen."""
    for option, name in (OF_CONTROLS if finite else OF_ACTIONS).items():
        if is_given(name):
            kind = "real controls; this model is moved by actions" if finite else "actions; this one has none"
            refuse_option(option, f"it is for models with {kind}")


def _check_sketches(rule: str, invariant: str, again: bool, finite: bool) -> api.Sketches:
    """As they were given, if they can be meant here."""
    if finite and (rule or invariant):
        what = "sketches are of real controls; this model is moved by actions"
        refuse_option("--rule" if rule else "--invariant", what)
    if rule and again:
        what, fix = "rules are those of the old shield first", "leave --rule or --recheck out"
        refuse_option("--rule", what, fix)
    if invariant and is_given("tried"):
        what, fix = "the monomials have degrees of their own", "leave --degree or --invariant out"
        refuse_option("--invariant", what, fix)
    for option, text in (("rule", rule), ("invariant", invariant)):
        if is_given(option) and not text.strip():
            refuse_option(f"--{option}", "there is no monomial", "write some like `1, x`")
    return api.Sketches(rule, invariant)


def _refuse_export(
    problem: api.Problem, python: str | None, c_prefix: str | None, actions: bool = False
) -> None:
    for option, path in (("--python", python), ("--c", c_prefix)):
        if path is not None and (why := api.find_export_obstacle(problem.environment, actions)) is not None:
            raise why.at(option)


@dataclass(frozen=True, slots=True)
class _ShieldFiles:
    """The files that were asked for."""

    certificate: str | None
    python: str | None
    c: str | None
    json: str | None
    quiet: bool

    def write(
        self,
        made: api.ShieldSynthesis | api.FiniteSynthesis | api.SwitchedSynthesis,
        write_proof: Callable[[str], object] | None,
    ) -> None:
        """Certificate and source code; without a proof nothing is written."""
        if write_proof is None:
            for path in (self.certificate, self.python, self.c):
                if path is not None:
                    print_line(f"not written: {path} (nothing is certified)", error=True)
            return
        if self.certificate is not None:
            write_proof(self.certificate)
        if self.python is not None:
            deliver_file(self.python, made.python, self.quiet)
        if self.c is not None:
            name = Path(self.c).name
            deliver_file(f"{self.c}.h", lambda: made.c(name)[0], self.quiet)
            deliver_file(f"{self.c}.c", lambda: made.c(name)[1], self.quiet)

    def write_json(self, make: Callable[[], Mapping[str, object]]) -> None:
        if self.json is not None:
            write_facts(self.json, make, self.quiet)


def _write_proof(content: Mapping[str, object], quiet: bool, path: str) -> None:
    deliver_file(path, lambda: api.compact_json(content, path), quiet)


def _run_finite_shield(
    problem: api.Problem,
    bound: Fraction,
    files: _ShieldFiles,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
    budget: api.Budget,
    goals: Mapping[str, api.Term],
) -> int:
    """Permitted actions and the safest ones; exit 0 if it is certified, 3 if not, 130: interrupted."""
    nothing = {"schema": 1, "kind": "actions", "problem": problem.name, "certified": False,
               "certified about": "nothing"}  # fmt: skip
    began = api.processor_time()
    try:
        with report_progress(files.quiet) as tell:
            made = api.make_finite_shield(problem, bound, replace(budget, progress=tell), goals)
    except KeyboardInterrupt:
        why = "there is no shield of a part: what may be permitted depends on all states that can be reached"
        print_line(f"interrupted: {why}", error=True)
        files.write_json(lambda: {**nothing, "interrupted": True, "reason": why})
        return 130
    if isinstance(made, str):
        why = f"{made}; of a part of the states there is no shield"
        if files.json != "-":
            print_line(f"unknown (timeout): {why}")
        files.write_json(lambda: {**nothing, "interrupted": False, "reason": why})
        return 3
    seconds, proof = api.processor_time() - began, made.anybody if made.is_accepted else None
    files.write(made, None if proof is None else lambda path: write_certificate(proof, path, files.quiet))
    files.write_json(lambda: api.finite_synthesis_to_json(made, seconds, source, inputs))
    if files.json != "-":
        print(api.render_finite_synthesis(made, seconds))
    if made.interrupted:
        return 130
    return 0 if made.is_accepted and made.kept_by_anybody else 3


def _run_switched_shield(
    problem: api.Problem,
    files: _ShieldFiles,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
    budget: api.Budget,
    goals: Mapping[str, api.Term],
) -> int:
    """Actions over real variables; exit 0 if it is certified and all starts are covered, 3 if not."""
    began = api.processor_time()
    with report_progress(files.quiet) as tell:
        made = api.make_switched_synthesis(problem, replace(budget, progress=tell), goals)
    seconds = api.processor_time() - began
    proof = made.proof if made.is_accepted else None
    files.write(made, None if proof is None else lambda path: write_certificate(proof, path, files.quiet))
    files.write_json(lambda: api.switched_synthesis_to_json(made, seconds, source, inputs))
    if files.json != "-":
        print(api.render_switched_synthesis(made, seconds))
    return 0 if made.covered == 1 else 3
