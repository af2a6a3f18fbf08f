"""`surefoot check MODEL`: decide the properties of a policy in its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
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
from surefoot.cli.model import (
    MODEL_OPTIONS,
    check_time_options,
    load_named_model,
    model_flags,
    names_study,
    time_flags,
)
from surefoot.cli.option_groups import (
    GroupedCommand,
    json_flag,
    quiet_flag,
    seed_flag,
    timeout_flag,
    workers_flag,
)
from surefoot.cli.output import check_output_files, deliver_file, write_certificate, write_results
from surefoot.cli.progress import begin_budget, report_progress
from surefoot.cli.several_questions import announce_questions, answer_questions
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options, refuse_option

SPLITS = 24  # predicates that are tried for a page, if nothing else is asked for


@click.command(cls=GroupedCommand)
@click.argument("model", type=click.Path(path_type=Path))
@model_flags
@time_flags
@engine_flags
@timeout_flag("For the whole run.")
@workers_flag
@seed_flag
@json_flag()
@click.option("--report", metavar="FILE", help="Write the results as one HTML page with pictures.")
@click.option("--junit", metavar="FILE", help="Write the results as JUnit XML: a test for each property.")
@click.option("--sarif", metavar="FILE", help="Write the results as SARIF 2.1.0, for code hosts.")
@click.option("--svg", metavar="FILE", help="Draw a violation, or the sets of `reach` (one property).")
@click.option("--png", metavar="FILE", help="The same as pixels.")
@click.option("--axes", metavar="NAME,NAME", help="Draw sets over these instead: `time,x` or `x,y`.")
@click.option(
    "--certificate", metavar="FILE", help="Write the certificate of a proof (one property; .gz packs it)."
)
@click.option(
    "--no-certificate", is_flag=True, help="Search only: what is proved stays the word of the solver."
)
@click.option(
    "--graph",
    metavar="FILE",
    help="Write the abstract graph of `predicates` as .dot, .json or a page (.html).",
)
@click.option(
    "--splits",
    type=click.IntRange(min=0),
    metavar="N",
    help="Try N further predicates on that graph, one at a time.  [default: 24 for a page, else 0]",
)
@click.option(
    "--witnesses",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show up to N runs that violate a property: the shortest found, and others that differ.",
)
@click.option("--abstract", metavar="keep=…|free=…|auto", help="Prove with fewer inputs of the network.")
@click.option(
    "--assume-invariant",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Use what `surefoot invariant --json FILE` found; it is proved again first.",
)
@quiet_flag
def check(
    model: Path,
    time: str | None,
    flow_method: str | None,
    engine_name: str | None,
    dump_queries: Path | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    report: str | None,
    junit: str | None,
    sarif: str | None,
    svg: str | None,
    png: str | None,
    axes: str | None,
    certificate: str | None,
    no_certificate: bool,
    graph: str | None,
    splits: int | None,
    witnesses: int | None,
    abstract: str | None,
    assume_invariant: Path | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Decide the properties of MODEL: a problem file (.toml), a JANI or PRISM model, an environment of
    Gymnasium (gym:CartPole-v1), a Python file with --trust-python, or a problem of a study
    (aurora/safety-excellent/aurora-48).

    Without --property every property of the file is checked. The properties share the timeout equally (those
    of gym: environments have 5 seconds each at first, and the open ones share the rest), and the exit code is
    that of the worst answer.
    """
    outputs = {"--json": json_path, "--report": report, "--certificate": certificate, "--graph": graph}
    outputs |= {"--svg": svg, "--png": png, "--junit": junit, "--sarif": sarif}
    check_output_files(outputs, [model])
    _check_graph_format(graph)
    if splits is not None and graph is None and report is None and json_path is None:
        refuse_given_options({"--splits": "splits"}, "without --graph, --report or --json, which show them")
    if axes is not None and svg is None and png is None:
        refuse_given_options({"--axes": "axes"}, "without --svg or --png")
    if no_certificate and (certificate or abstract is not None or assume_invariant is not None):
        refuse_option(
            "--no-certificate", "certificates are what --certificate and indirect proofs are made of"
        )
    if abstract is not None and assume_invariant is not None:
        raise api.InvalidProblem(
            "--abstract and --assume-invariant do not go together", fix="give one of them"
        )
    wiring = {name: options.pop(name) for name in MODEL_OPTIONS}
    refuse_options_of_others("predicates" if graph or splits is not None else engine_name, options)
    if engine_name not in (None, "predicates"):
        refuse_given_options(
            {"--graph": "graph", "--splits": "splits"}, f"on `{engine_name}`: of `predicates` only"
        )
    check_time_options(time, flow_method)
    started = begin_budget(timeout, seed)
    study = str(model).partition("/")[0] if names_study(model) else None
    loaded = load_named_model(model, wiring)
    loaded = api.set_time_semantics(loaded, time, flow_method)
    check_output_files(outputs, loaded.inputs)
    for option, what in (
        ("certificate", "certificate"),
        ("graph", "graph"),
        ("svg", "picture"),
        ("png", "picture"),
    ):
        if outputs[f"--{option}"] is not None and len(loaded.problems) > 1:
            refuse_option(f"--{option}", f"a {what} is about one property", "name one with --property")
    _refuse_for_numbers({"--witnesses": witnesses, "--svg": svg, "--png": png}, loaded.problems)
    shown = "predicates" if engine_name is None and (graph is not None or splits is not None) else engine_name
    built = build_engines(shown, options, dump_queries)
    if options.get("uniform"):
        loaded = replace(loaded, problems={n: _with_random_policy(p) for n, p in loaded.problems.items()})
    if abstract is not None:
        _refuse_to_abstract(loaded.problems)
    if abstract is None and assume_invariant is None:
        refuse_what_is_unused(shown, options, loaded.problems, built)

    def ask(name: str, problem: api.Problem, budget: api.Budget) -> api.Result:
        source = {**loaded.source, "property": name}
        named = shown is not None or options.get("solver") is not None
        named_there = loaded.predicates.get(name, ())
        engines, about = api.with_predicates(built, options.get("predicates"), named_there)
        if abstract is not None or assume_invariant is not None:
            asking = api.SearchSettings(engines, budget, loaded.inputs, source)
            result = _verify_indirectly(problem, abstract, assume_invariant, asking)
        else:
            result = api.verify_without_objection(
                problem, engines, budget, loaded.inputs, source, named=named, certificates=not no_certificate
            )
        if witnesses is not None:
            result = api.with_witnesses(problem, result, witnesses, budget)
        if count := _number_of_splits(splits, report, graph):
            result = api.with_splits_tried(problem, result, engines, count, budget)
        result = replace(result, notes=(*result.notes, *about))
        if api.names_gym_model(model):
            return _try_in_library(str(model), api.parse_constants(wiring["constants"]), problem, result)
        return _simulate_violation(study, problem, result) if study else result

    everything = api.names_gym_model(model) and not wiring["properties"] and len(loaded.problems) > 1
    if everything and not quiet:
        announce_questions(list(loaded.problems), started.remaining())
    with report_progress(quiet) as tell:

        def ask_within(name: str, problem: api.Problem, seconds: float) -> api.Result:
            tell(f"{name}: starting")
            return ask(name, problem, replace(started, progress=tell).begin_part(seconds))

        found = answer_questions(loaded.problems, ask_within, started.remaining, quick=everything)
    results = [(loaded.problems[name], result) for name, result in found.items()]
    mark = _describe_rest(list(loaded.problems), [result for _, result in results])
    if certificate is not None:
        write_certificate(results[0][1], certificate, quiet)
    if graph is not None:
        _write_graph(results[0][0], results[0][1].verdict, graph, quiet)
    _draw_pictures(*results[0], {svg: api.render_svg, png: api.render_png}, axes, quiet)
    written = [(problem, api.omit_large_graph(result)) for problem, result in results]
    if junit is not None:
        deliver_file(junit, lambda: api.render_junit(results, list(loaded.problems)[len(results) :]), quiet)
    if sarif is not None:
        lines = api.find_property_lines(model) if model.suffix == ".toml" else {}
        deliver_file(sarif, lambda: api.render_sarif(results, lines), quiet)
    code = write_results(written, json_path, quiet, report, mark)
    return 130 if mark else code


def _draw_pictures(
    problem: api.Problem,
    result: api.Result,
    wanted: Mapping[str | None, Callable[[api.Drawing], str | bytes]],
    axes: str | None,
    quiet: bool,
) -> None:
    """The pictures of a violation or of sets, where there are some."""
    names = None if axes is None else [name.strip() for name in axes.split(",")]
    for path, make in wanted.items():
        if path is not None:
            deliver_file(path, partial(_draw_picture, problem, result, names, make), quiet)


def _draw_picture(
    problem: api.Problem,
    result: api.Result,
    axes: Sequence[str] | None,
    make: Callable[[api.Drawing], str | bytes],
) -> str | bytes:
    return make(api.draw_result(problem, result, axes))


def _describe_rest(names: Sequence[str], results: Sequence[api.Result]) -> str:
    """How far it came, where an interrupt has left properties that were not asked."""
    rest = names[len(results) :]
    if not rest:
        return ""
    done = len(results) - api.is_interrupted(results[-1].verdict)
    return f"{api.interruption_note(done, len(names), 'properties')}; not asked: {', '.join(rest)}"


def _refuse_to_abstract(problems: Mapping[str, api.Problem]) -> None:
    """Fewer inputs than a network has, for a proof."""
    for name, problem in problems.items():
        if not isinstance(problem.policy, api.NeuralPolicy):
            refuse_option("--abstract", f"it has no effect on `{name}`: its policy is no network")
        if isinstance(problem.property, api.Probability | api.Expected):
            refuse_option("--abstract", f"it has no effect on `{name}`: a number is asked for, not a proof")


def _refuse_for_numbers(given: Mapping[str, object], problems: Mapping[str, api.Problem]) -> None:
    """What is about violations says nothing where only numbers are asked for."""
    if all(isinstance(p.property, api.Probability | api.Expected) for p in problems.values()):
        for option, value in given.items():
            if value is not None:
                refuse_option(option, "it has no effect where a number is asked for: nothing is violated")


def _simulate_violation(study: str, problem: api.Problem, result: api.Result) -> api.Result:
    """A trace is looked for in the simulator of the study; what came of it is a note."""
    if not isinstance(result.verdict, api.Violated) or result.verdict.trace.times:
        return result
    from surefoot.cli.study_problem import replay_study_trace

    found = replay_study_trace(study, problem, result.verdict.trace)
    return (
        result if found is None else replace(result, notes=(*result.notes, f"in the simulator {found.words}"))
    )


def _try_in_library(
    model: str, constants: Mapping[str, str], problem: api.Problem, result: api.Result
) -> api.Result:
    """A violation is tried out in Gymnasium, where that is installed; what came of it is a note."""
    if not isinstance(result.verdict, api.Violated) or problem.policy is None:
        return result
    from surefoot.integrations.gym_replay import replay_in_gymnasium

    words = replay_in_gymnasium(model, constants, problem, result.verdict.trace)
    return result if words is None else replace(result, notes=(*result.notes, words))


def _with_random_policy(problem: api.Problem) -> api.Problem:
    """Without a policy: the random one, whose value is asked for instead of an optimum."""
    if problem.policy is not None or not isinstance(problem.property, api.Probability | api.Expected):
        return problem
    return replace(problem, policy=api.RANDOM, property=replace(problem.property, optimise=None))


def _verify_indirectly(
    problem: api.Problem, abstract: str | None, assumed: Path | None, asking: api.SearchSettings
) -> api.Result:
    """The answer by way of an abstraction or of an invariant."""
    if assumed is not None:
        return api.verify_assuming(problem, api.read_invariant(assumed), asking)
    request = api.parse_abstraction_request(abstract or "auto", problem)
    return api.verify_abstracted(problem, request.freed, asking, request.ranges)


def _check_graph_format(path: str | None) -> None:
    """Refuse a name that says no format."""
    if path is not None and Path(path).suffix not in (".dot", ".json", ".html"):
        refuse_option("--graph", f"`{path}` is no .dot, .json or .html file", "end its name so")


def _number_of_splits(given: int | None, report: str | None, graph: str | None) -> int:
    """How many further predicates are tried: as asked, or some if there is a page to show them."""
    shown = report is not None or (graph is not None and graph.endswith(".html"))
    return given if given is not None else SPLITS * shown


def _write_graph(problem: api.Problem, verdict: api.Verdict, path: str, quiet: bool) -> None:
    """Write it, and say on stderr what was done."""
    found = api.verdict_graph(verdict)
    if found is None:
        early = isinstance(verdict, api.Unknown) and verdict.reason in (
            api.Reason.INTERRUPTED,
            api.Reason.TIMEOUT,
        )
        why = (
            "there was no abstract graph yet"
            if early
            else "there is no abstract graph; use --engine predicates"
        )
        print_line(f"not written: {path} ({why})", error=True)
        return
    deliver_file(path, lambda: api.render_graph(problem, verdict, found, Path(path).suffix), quiet)
