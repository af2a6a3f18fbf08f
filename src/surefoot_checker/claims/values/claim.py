"""A claim about a probability or an expected reward: explore, take the bounds given, check, compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from ...kernel.asked_property import RunProperty
from ...kernel.problem import read_problem
from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
)
from ...kernel.untrusted_file import quote_for_message as shown_name
from ..unsat.query_claim import FileLocations
from .bound_checks import check_probability_bounds, check_reward_bounds, step_bounded_values
from .initial_rows import enumerate_initial_rows
from .local_check import LocalCheck, LocalResult, is_packed
from .model import AutomataModel, build_automata_model
from .packed_states import Bounds, read_hex_integer
from .pctl_question import QuantitativeQuery, compile_condition, read_quantitative_query
from .policy import ClaimedPolicy, build_claimed_policy
from .state_space import MOST_STATES, Process, explore_reachable, with_state_rewards
from .term import Row
from .transitions import JointTransitions

_CLAIM = frozenset({"kind", "problem", "low", "high"})
_STARTS = frozenset({"starts"})
WHOSE = "which start has which bounds: they are not named"
ORIGIN = "where the problem comes from: it is written out in the certificate"
_VALUES = frozenset({"states", "scale", "numbers", "low", "high"})


@dataclass(frozen=True, slots=True)
class ClaimSummary:
    claim: str
    states: int
    choices: int
    arithmetic: str  # "exact", or "reference" where a network decides
    unsaid: tuple[str, ...]


def check_process_claim(
    claim_data: object, values_data: object, places: FileLocations, workers: int = 1
) -> ClaimSummary:
    """Raises `Refused` unless the value asked for lies between the ends of the claim.

    Where the property leaves open whether the least or the greatest value is meant, both are shown, or no
    state has more than one choice.
    """
    claim = expect_object(claim_data, _CLAIM, "claim", _STARTS)
    problem = read_problem(claim["problem"])
    asked, model = problem.property, build_automata_model(problem)
    if isinstance(asked, RunProperty):
        raise BadCertificate("property: neither a probability nor an expected reward")
    moves = JointTransitions(model)
    policy = None if problem.policy is None else build_claimed_policy(problem.policy, moves, places)
    given = expect_list(values_data, "values")
    sides = _optimise_sides(asked.optimise, len(given))
    exactly = _is_exact(claim, asked.optimise)
    shown: list[LocalResult] = []
    for optimise, data in zip(sides, given, strict=True):
        question = read_quantitative_query(
            asked, optimise, lambda part: compile_condition(part, moves, policy)
        )
        if is_packed(data):
            found = LocalCheck(moves, policy, question, data).check_all(workers)
        else:
            found = _check_explored(moves, policy, question, data, exactly=exactly)
        if len(sides) == 1 and asked.optimise is None and not found.chain:
            raise Refused("least and greatest differ, and only one of them is shown")
        shown.append(found)
    if shown[0].starts != shown[-1].starts:
        raise Refused("least and greatest are shown of different starts")
    bounds = [(least[0], most[1]) for least, most in zip(shown[0].bounds, shown[-1].bounds, strict=True)]
    what = "the probability" if question.kind == "until" else "the expected reward"
    words = _compare_claim(claim, question.over, bounds)
    named = _are_named(claim, shown[-1].starts)
    name = shown_name(problem.name)
    decides = policy is not None and policy.outputs is not None
    whose = () if named else (WHOSE,)
    unsaid = (ORIGIN, *whose, *problem.unsaid, *(() if policy is None else policy.unsaid))
    words = f"{what} in {name}: {words}"
    size = shown[-1].states, shown[-1].choices
    return ClaimSummary(words, *size, "reference" if decides else "exact", unsaid)


def _check_explored(
    moves: JointTransitions,
    policy: ClaimedPolicy | None,
    question: QuantitativeQuery,
    data: object,
    *,
    exactly: bool,
) -> LocalResult:
    """The states found again from the starts, and bounds in their order."""
    process, width = _explore_question(moves, policy, question), moves.model.width
    bounds = _start_bounds(process, moves.model, question, data, exactly=exactly)
    starts = [process.rows[s][:width] for s in _find_starts(process, question)]
    choices = sum(map(len, process.choices))
    return LocalResult(starts, bounds, len(process.rows), choices, _is_chain(process))


def _is_exact(claim: Mapping[str, Any], optimise: str | None) -> bool:
    """Does the claim leave no room for rounding? Of what is left open both ends may be exact."""
    if type(claim["low"]) is list:
        return all(type(pair) is list and pair[:1] == pair[1:] for pair in claim["low"])
    return bool(claim["low"] == claim["high"]) or optimise is None


def _optimise_sides(optimise: str | None, count: int) -> tuple[str, ...]:
    if optimise is not None and count == 1:
        return (optimise,)
    if optimise is None and count in (1, 2):
        return ("min", "max")[:count]
    raise BadCertificate("values: not for what the property asks")


def _is_chain(process: Process) -> bool:
    return all(len(several) <= 1 for several in process.choices)


def _compare_claim(claim: Mapping[str, Any], over: str, bounds: list[Bounds]) -> str:
    """Refuses unless the ends of the claim are outside of what was shown."""
    if over == "values" and (len(bounds) > 1 or type(claim["low"]) is list):
        ends = [_read_interval(pair) for pair in expect_list(claim["low"], "low")]
        if claim["high"] is not None or len(ends) != len(bounds):
            raise BadCertificate("claim: not one pair for each start")
        for claimed, found in zip(ends, bounds, strict=True):
            _check_enclosed(*claimed, *found)
        return f"bounds for each of {len(ends)} starts"
    low, high = _read_interval([claim["low"], claim["high"]])
    _check_enclosed(low, high, *_aggregate_starts(over, bounds))
    return f"{over} over {len(bounds)} starts is in {_render_interval(low, high)}"


def _are_named(claim: Mapping[str, Any], starts: list[Row]) -> bool:
    """Are bounds of single starts, if there are such, those of the starts that the claim names?"""
    if type(claim["low"]) is not list:
        if "starts" in claim:
            raise BadCertificate("claim: starts, and no bounds for each of them")
        return True
    if "starts" not in claim:
        return False
    named = expect_list(claim["starts"], "starts")
    if len(named) != len(starts) or not all(map(_is_value, named, starts)):
        raise Refused("the claim names other starts than there are")
    return True


def _is_value(data: object, value: Any) -> bool:
    """Is this how the value, or the list of values, is written?"""
    if type(value) is tuple:
        return type(data) is list and len(data) == len(value) and all(map(_is_value, data, value))
    if type(value) is bool:
        return data is value
    return type(data) in (int, str) and expect_number(data, "start") == value


def _read_interval(data: object) -> Bounds:
    pair = expect_list(data, "interval", 2, "claim: an interval without two ends")
    low, high = (None if e is None else expect_number(e, "end") for e in pair)
    return low, high


def _render_interval(low: Fraction | None, high: Fraction | None) -> str:
    """Digits are left out such that no interval is written as a smaller one."""
    return f"[{_render_end(low, -inf)}, {_render_end(high, inf)}]"


def _render_end(end: Fraction | None, towards: float) -> str:
    if end is None:
        return "infinite"
    sign = 1 if towards > 0 else -1
    if abs(end) >= 10**300:
        bits = int(abs(end)).bit_length()  # it is at least 2^(bits - 1), and below 2^bits
        return f"{'-' if end < 0 else ''}2^{bits if end * sign > 0 else bits - 1}"
    nearest = float(end)
    while (Fraction(str(nearest)) - end) * sign < 0:
        nearest = nextafter(nearest, towards)
    return str(nearest)


def _check_enclosed(
    least: Fraction | None, most: Fraction | None, low: Fraction | None, high: Fraction | None
) -> None:
    """None stands for infinity, on the left for the claim, on the right for what was found."""
    below = low is None if least is None else low is None or least <= low
    above = most is None or (high is not None and high <= most)
    if not below or not above:
        raise Refused(f"the claim is {_render_interval(least, most)}, shown is {_render_interval(low, high)}")


def _explore_question(
    moves: JointTransitions, policy: ClaimedPolicy | None, question: QuantitativeQuery
) -> Process:
    left, right, width = question.left, question.right, moves.model.width

    def is_closed(row: Row) -> bool:
        if question.kind == "reward":
            return bool(right(row))
        if question.is_lost(row, width):
            return True
        if question.after:
            return not left(row) and not right(row)
        is_goal = right(row) and question.is_counted(row, width)
        return bool(is_goal or not left(row))

    everything = question.starts is not None
    starts = enumerate_initial_rows(moves.model)
    if not starts:
        raise Refused("no initial state")
    permitted = None if policy is None else policy.permitted_steps
    process = explore_reachable(
        moves,
        starts,
        permitted,
        question.reward,
        question.counters,
        (lambda row: False) if everything else is_closed,
    )
    return process if question.worth is None else with_state_rewards(process, question.worth)


def _start_bounds(
    process: Process, model: AutomataModel, question: QuantitativeQuery, data: object, *, exactly: bool
) -> list[Bounds]:
    """For each start: the bounds that were shown."""
    rows, width = process.rows, model.width
    lost = [question.is_lost(row, width) for row in rows]
    right = [
        not gone and bool(question.right(row)) and question.is_counted(row, width)
        for row, gone in zip(rows, lost, strict=True)
    ]
    left = [not gone and bool(question.left(row)) for row, gone in zip(rows, lost, strict=True)]
    infinite = [False] * len(rows)
    if question.steps is not None:
        if data is not None:
            raise BadCertificate("values: none are needed, so many steps are computed")
        low, high, scale = step_bounded_values(process, question, left, right, exactly=exactly)
    else:
        low, high, scale = _read_values(data, process.order)
        if question.kind == "until":
            check_probability_bounds(process, question.optimise, left, right, low, high, scale)
        else:
            infinite = check_reward_bounds(process, question.optimise, right, low, high, scale)
    found: list[Bounds] = []
    for s in _find_starts(process, question):
        ends = Fraction(low[s], scale), Fraction(high[s], scale)
        found.append(
            (None, None) if infinite[s] else (1 - ends[1], 1 - ends[0]) if question.negated else ends
        )
    return found


def _find_starts(process: Process, question: QuantitativeQuery) -> list[int]:
    """The states that are asked about, sorted by their entries."""
    if question.starts is None:
        return process.starts
    wanted = [s for s in process.order if question.starts(process.rows[s])]
    if not wanted:
        raise Refused("no start state")
    return wanted


def _read_values(data: object, order: list[int]) -> tuple[list[int], list[int], int]:
    """The values of all states, which are given in this order."""
    count = len(order)
    entry = expect_object(data, _VALUES, "values")
    if expect_integer(entry["states"], 0, MOST_STATES, "states") != count:
        raise Refused(f"values of {entry['states']} states, but there are {count}")
    scale = read_hex_integer(entry["scale"])
    if scale < 1:
        raise BadCertificate("values: the scale is not positive")
    table = [_read_value(given) for given in expect_list(entry["numbers"], "numbers")]
    vectors = []
    for side in ("low", "high"):
        places = expect_list(entry[side], side)
        if len(places) != count or not all(type(p) is int and 0 <= p < len(table) for p in places):
            raise BadCertificate(f"values: `{side}` does not name a number for each state")
        vector = [0] * count
        for state, p in zip(order, places, strict=True):
            vector[state] = table[p]
        vectors.append(vector)
    return vectors[0], vectors[1], scale


def _read_value(data: object) -> Any:
    """An integer in hexadecimal, or a pair of them for a fraction."""
    if type(data) is not list:
        return read_hex_integer(data)
    if len(data) != 2 or (below := read_hex_integer(data[1])) < 1:
        raise BadCertificate("values: a fraction that is none")
    return Fraction(read_hex_integer(data[0]), below)


def _aggregate_starts(over: str, bounds: list[Bounds]) -> Bounds:
    """The bounds of what is asked about all starts together."""
    both: list[Fraction | None] = []
    for side in (0, 1):
        values = [b[side] for b in bounds]
        finite = [v for v in values if v is not None]
        all_finite = len(finite) == len(values)
        if over == "min":
            both.append(min(finite) if finite else None)
        elif over == "max":
            both.append(max(finite) if all_finite else None)
        else:
            total = sum(finite, Fraction(0)) / (len(values) if over == "avg" else 1)
            both.append(total if all_finite else None)
    return both[0], both[1]
