"""`surefoot optimum MODEL`: the best way to choose, state by state, and how far a policy is from it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from surefoot.cli.model import load_model, model_flags
from surefoot.cli.output import check_output_files, deliver_file
from surefoot.cli.progress import limit_command, report_progress
from surefoot.cli.terminal import print_line
from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.explicit.filters import End
from surefoot.engines.explicit.optimum import OptimalState, optimal_table
from surefoot.errors import InvalidProblem
from surefoot.explore.initial_states import LateStarts
from surefoot.formats.result_json.exact_numbers import (
    INFINITE,
    bounds_text,
    round_ends_outward,
    value_to_json,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Optimise, Probability
from surefoot.reductions.discretise import discretise
from surefoot.report.result_text import decimal_text, describe_interval
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Reason, Unknown
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

DIGITS = 20  # of the numbers in a table, unless they are exact


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@model_flags
@click.option("--optimise", type=click.Choice(["min", "max"]), help="Default: as the property says, or max.")
@click.option("--exact", is_flag=True, help="Compute in fractions.")
@click.option(
    "--timeout", type=float, callback=limit_command, default=60.0, show_default=True, metavar="SECONDS"
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write value and choice of every state.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def optimum(
    model: Path,
    optimise: Optimise | None,
    exact: bool,
    timeout: float,
    json_path: str | None,
    quiet: bool,
    **wiring: Any,
) -> int:
    """Print the optimum over all ways to choose at the starts of MODEL, for one P or E property.

    With a policy its own value stands beside it, and how much it misses. The table in JSON holds an optimal
    scheduler: which transition to take in which state. The bounds hold; they are not certified one by one.
    """
    budget = Budget(timeout)
    check_output_files({"--json": json_path}, [model])
    loaded = load_model(model, **wiring)
    check_output_files({"--json": json_path}, loaded.inputs)
    if len(loaded.problems) != 1:
        raise InvalidProblem("an optimum is about one property", fix="name one with --property")
    (given,) = loaded.problems.values()
    threshold = getattr(given.property, "threshold", None)
    if threshold is not None:
        what = "an optimum is a number: the threshold of the property would not be looked at"
        raise InvalidProblem(
            what, fix="ask with =?, or `surefoot check` for the threshold", where="--property"
        )
    problem = discretise(given)
    asked = problem.property
    named = asked.optimise if isinstance(asked, Probability | Expected) else None
    way: Optimise = optimise or named or "max"
    with report_progress(quiet) as tell:
        budget = replace(budget, progress=tell)
        table = call_in_time(budget, lambda: _solve_optimum(problem, way, budget, exact), _not_in_time)
    if isinstance(table, Unknown):
        print_line(f"unknown ({table.reason.value}): {table.detail}")
        return 3
    if json_path == "-":
        sys.stdout.write(_render_json(table, given.name, way, exact))
        return 0
    written = json_path is None or deliver_file(
        json_path, lambda: _render_json(table, given.name, way, exact), quiet
    )
    for row in table:
        if row.is_start:
            print_line(_describe_row(row, way))
    print_line(f"{count_noun(len(table), 'state')}, {count_noun(sum(r.is_start for r in table), 'start')}")
    near = [r for r in table if r.near_tie]
    if near:
        print_line(
            f"{count_noun(len(near), 'near tie')}: where {_describe_state(near[0])}, another "
            "order may decide otherwise"
        )
    return 0 if written else 4


def _render_json(table: Sequence[OptimalState], name: str, way: Optimise, exact: bool) -> str:
    """The table as JSON, a state in each line."""
    head = json.dumps({"schema": 1, "problem": name, "optimise": way})
    texts = lru_cache(maxsize=None)(bounds_text if exact else _round_bounds)
    rows = ",\n".join(json.dumps(_row_to_json(r, texts)) for r in table)
    return f'{head[:-1]}, "states": [\n{rows}\n]}}\n'


def _solve_optimum(
    problem: Problem, way: Optimise, budget: Budget, exact: bool
) -> tuple[OptimalState, ...] | Unknown:
    try:
        return optimal_table(problem, way, budget, Explicit(exact=exact))
    except LateStarts as why:
        return Unknown(Reason.TIMEOUT, str(why))


def _not_in_time() -> Unknown:
    return Unknown(Reason.TIMEOUT, "the time ended before the best choice was known in every state")


def _round_bounds(low: Fraction, high: Fraction) -> tuple[str, str]:
    """Decimals that contain the interval."""
    return round_ends_outward(low, high, DIGITS)


def _describe_row(row: OptimalState, way: str) -> str:
    told = f"{_describe_state(row)}: {way} {describe_interval(row.low, row.high)}"
    if row.policy is None:
        return told
    gap = row.gap()
    missed = "" if gap is None else f"; they differ by at most {decimal_text(gap[1], ROUND_CEILING, 6)}"
    return f"{told}; the policy {describe_interval(*row.policy)}{missed}"


def _describe_state(row: OptimalState) -> str:
    return ", ".join(f"{name} = {value}" for name, value in row.state.items() if not isinstance(value, tuple))


def _row_to_json(
    row: OptimalState, texts: Callable[[Fraction, Fraction], tuple[str, str]]
) -> Mapping[str, Any]:
    found: dict[str, Any] = {
        "state": {n: str(v) if type(v) is int else value_to_json(v) for n, v in row.state.items()},
        "value": _bound_texts(row.low, row.high, texts),
        "start": row.is_start,
        "take": None,
    }
    if row.transition is not None:
        edges = [list(edge) for edge in row.transition.edges]
        chosen = {name: value_to_json(value) for name, value in row.chosen.items()}
        found["take"] = {"label": row.transition.label, "edges": edges, "chosen": chosen}
    if row.policy is not None:
        found["policy"] = _bound_texts(*row.policy, texts)
    if (gap := row.gap()) is not None:
        found["gap"] = list(texts(*gap))
    if row.near_tie:
        found["near tie"] = True
    return found


def _bound_texts(low: End, high: End, texts: Callable[[Fraction, Fraction], tuple[str, str]]) -> list[str]:
    if low is None or high is None:
        return [INFINITE if low is None else texts(low, low)[0], INFINITE]
    return list(texts(low, high))
