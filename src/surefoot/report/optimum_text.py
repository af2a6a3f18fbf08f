"""The best way to choose, state by state: computed in the time that there is, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import lru_cache
from typing import Any

from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.explicit.optimum import OptimalState, optimal_table
from surefoot.engines.start_filters import End
from surefoot.explore.initial_states import LateStarts
from surefoot.formats.result_json.exact_numbers import (
    INFINITE,
    bounds_text,
    round_ends_outward,
    value_to_json,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Optimise
from surefoot.report.result_text import decimal_text, describe_interval
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Reason, Unknown
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

DIGITS = 20  # of the numbers in a table, unless they are exact


def solve_optimum(
    problem: Problem, way: Optimise, budget: Budget, exact: bool = False
) -> tuple[OptimalState, ...] | Unknown:
    """Value and choice of every state, or what the time ended; `exact`: in fractions."""
    return call_in_time(budget, lambda: _find_optimum(problem, way, budget, exact), _not_in_time)


def optimum_to_json(table: Sequence[OptimalState], name: str, way: Optimise, exact: bool) -> str:
    """The table as JSON, a state in each line."""
    head = json.dumps({"schema": 1, "problem": name, "optimise": way})
    texts = lru_cache(maxsize=None)(bounds_text if exact else _round_bounds)
    rows = ",\n".join(json.dumps(_row_to_json(r, texts)) for r in table)
    return f'{head[:-1]}, "states": [\n{rows}\n]}}\n'


def render_optimum(table: Sequence[OptimalState], way: Optimise) -> list[str]:
    """A line for each start, how many states there are, and where the order of equals matters."""
    lines = [_describe_optimum(row, way) for row in table if row.is_start]
    lines.append(f"{count_noun(len(table), 'state')}, {count_noun(len(lines), 'start')}")
    if near := [row for row in table if row.near_tie]:
        where = _describe_variables(near[0])
        lines.append(
            f"{count_noun(len(near), 'near tie')}: where {where}, another order may decide otherwise"
        )
    return lines


def _find_optimum(
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


def _describe_optimum(row: OptimalState, way: str) -> str:
    told = f"{_describe_variables(row)}: {way} {describe_interval(row.low, row.high)}"
    if row.policy is None:
        return told
    gap = row.gap()
    missed = "" if gap is None else f"; they differ by at most {decimal_text(gap[1], ROUND_CEILING, 6)}"
    return f"{told}; the policy {describe_interval(*row.policy)}{missed}"


def _describe_variables(row: OptimalState) -> str:
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
