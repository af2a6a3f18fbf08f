"""`surefoot study compare STUDY`: what the papers report beside what is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import click

from surefoot import api
from surefoot.cli import plugin
from surefoot_studies import Tell
from surefoot_studies.commands import figure, options
from surefoot_studies.commands.abstraction import AbstractionSettings, measure_abstractions
from surefoot_studies.comparison import REPRODUCED, Row, Study, Verify, compare_study
from surefoot_studies.paper_figures import CheckedClaim, has_figures
from surefoot_studies.racetrack.abstraction_log import StoredRuns


@click.command("compare")
@options.study_argument
@options.seconds_option("--timeout", 300.0, "Per expectation, and per panel of a figure.")
@options.sampling_options
@options.seed_option
@options.workers_option("Of racetrack: so many runs of predicate abstraction at the same time.")
@options.json_flag
@options.with_progress
def compare_paper(
    study: Study,
    timeout: float,
    engine: str,
    eps: Fraction | None,
    seed: int,
    workers: int,
    as_json: bool,
    tell: Tell,
) -> int:
    """Decide every expectation of a study and measure every claim about its figures.

    Exit 0 if all answers are as recorded, 1 if one is not, 3 if a claim had not enough time.
    """
    if has_figures(study.name):
        figure.refuse_idle_sampling(study.name)
    else:
        plugin.refuse_given_options(
            {"--engine": "engine", "--eps": "eps", "--seed": "seed"}, "without figures"
        )
    if study.name != "racetrack":
        plugin.refuse_given_options({"--workers": "workers"}, "without figures of predicate abstraction")
    from surefoot_studies.training.realisation import replay_in_simulator  # with simulators of the systems

    how = figure.Sampling(engine, {} if eps is None else {"eps": eps}, timeout, seed)
    rows: list[Row] = []
    try:
        rows.extend(compare_study(study, make_verifier(timeout, tell), replay_in_simulator))
        claims = figure.check_study_claims(study.name, how, tell)
        if study.name == "racetrack":
            claims += _abstraction_claims(AbstractionSettings(timeout, sample=True, workers=workers), tell)
    except KeyboardInterrupt:
        print(_render_partial(study, rows, as_json))
        return 130
    if as_json:
        told = {"claims": [figure.claim_to_json(c) for c in claims]} if claims else {}
        print(json.dumps({"study": study.name, "rows": [_row_to_json(r) for r in rows], **told}, indent=1))
    else:
        print(
            "\n".join(
                part for part in (_render_comparison(rows, claims), figure.render_claims(claims)) if part
            )
        )
    return figure.claims_exit_code(claims) if all(r.as_recorded for r in rows) else 1


def make_verifier(seconds: float, tell: Tell) -> Verify:
    """Decides a problem within so many seconds; engine `shield` synthesises a program for it."""

    def decide(problem: api.Problem, engine: str, options: Mapping[str, Any]) -> api.Result:
        budget = api.Budget(seconds, 0, tell)
        if engine == "shield":
            began = api.processor_time()
            made = api.make_certified_shield(problem, options.get("degrees") or api.shapes_for(), budget)
            if made.found.interrupted:
                raise KeyboardInterrupt
            return api.result_from_synthesis(made, api.processor_time() - began, budget)
        result = api.verify(problem, api.build_engines_of([engine], options)[0], budget)
        if api.is_interrupted(result.verdict):
            raise KeyboardInterrupt
        return result

    return decide


def _abstraction_claims(how: AbstractionSettings, tell: Tell) -> list[CheckedClaim]:
    made = list(measure_abstractions(["pa"], how, tell, StoredRuns(None)))
    if any(one.missing for one in made):
        raise KeyboardInterrupt
    return [claim for one in made for claim in one.claims]


def _render_partial(loaded: Study, rows: Sequence[Row], as_json: bool) -> str:
    """Half a comparison: what was measured and what was not run; nothing is judged."""
    expected = loaded.expectations
    left = [f"{e.problem} ({e.engine})" for e in expected[len(rows) :]]
    left += ["claims about figures"] if has_figures(loaded.name) else []
    mark = f"{api.interruption_note(len(rows), len(expected), 'expectations')}; nothing is judged"
    if as_json:
        done = [asdict(row) | {"reproduced": None} for row in rows]
        return json.dumps(
            {"study": loaded.name, "interrupted": mark, "rows": done, "not run": left}, indent=1
        )
    lines = [f"run     {row.problem} ({row.engine})\n  expected  {row.expected}\n  measured  {row.measured}"
             for row in rows]  # fmt: skip
    return "\n".join([*lines, *(f"not run {one}" for one in left), mark])


def _row_to_json(row: Row) -> dict[str, object]:
    return asdict(row) | {"reproduced": row.answer == REPRODUCED, "answer": row.answer}


def _evidence_word(row: Row) -> str:
    if not row.certified:
        return "not certified"
    return "replayed" if row.measured.startswith("violated") else "certified"


def _render_comparison(rows: Sequence[Row], claims: Sequence[CheckedClaim]) -> str:
    if not rows:
        return "" if claims else "this study has no expectation that can be decided today"
    lines = []
    for row in rows:
        lines.append(f"{row.answer:<14} {row.problem} ({row.engine})")
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
    return api.join_visible(lines)
