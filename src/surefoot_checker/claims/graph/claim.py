"""A claim about all runs of a finite system: every reachable state is looked at, or those of a closed set."""

from __future__ import annotations

from ...kernel.asked_property import RunProperty
from ...kernel.problem import read_problem
from ...kernel.strict_json import BadCertificate, Refused, expect_object
from ...kernel.untrusted_file import quote_for_message as shown_name
from ..unsat.query_claim import FileLocations
from ..values.bound_checks import Choices, Flags
from ..values.claim import ORIGIN, ClaimSummary
from ..values.initial_rows import enumerate_initial_rows
from ..values.model import build_automata_model
from ..values.pctl_question import compile_condition
from ..values.policy import build_claimed_policy
from ..values.state_space import explore_reachable
from ..values.term import Function, Row
from ..values.transitions import JointTransitions
from .closed_set import check_closed_set
from .summation_order import AnyOrderPolicy, asks_policy


def check_graph_claim(claim_data: object, closed: object, places: FileLocations) -> ClaimSummary:
    """Raises `Refused` unless every run keeps the property; `closed`: a set that shows it, or None."""
    claim = expect_object(claim_data, frozenset({"kind", "problem"}), "claim")
    problem = read_problem(claim["problem"])
    asked = problem.property
    if not isinstance(asked, RunProperty):
        raise BadCertificate("property: not one of runs")
    moves = JointTransitions(build_automata_model(problem))
    policy = None if problem.policy is None else build_claimed_policy(problem.policy, moves, places)
    any_order = None if policy is None else AnyOrderPolicy(policy)
    test = compile_condition(asked.condition, moves, any_order)
    if closed is None:
        size = _check_reachable(moves, any_order, asked, test)
    elif asked.kind == "never":
        ask = any_order if asks_policy(asked.condition) else None
        is_bad = test if ask is None else (lambda row: ask.holds(row, test, bad=True))
        size = check_closed_set(closed, moves, any_order, is_bad)
    else:
        raise BadCertificate("a closed set shows that something is never so, nothing else")
    words = f"every run of {shown_name(problem.name)} keeps its property: {asked.kind}"
    words += "" if asked.before is None else " before the goal"
    decides = policy is not None and policy.network is not None
    unsaid = (ORIGIN, *problem.unsaid, *(() if policy is None else policy.unsaid))
    return ClaimSummary(words, *size, "float32" if decides else "exact", unsaid)


def _check_reachable(
    moves: JointTransitions,
    any_order: AnyOrderPolicy | None,
    asked: RunProperty,
    test: Function,
) -> tuple[int, int]:
    """Explore everything; how many states and choices there are."""
    permitted = None if any_order is None else any_order.permitted_steps
    blocked: set[Row] = set()
    starts = enumerate_initial_rows(moves.model)
    process = explore_reachable(moves, starts, permitted, None, (), lambda row: False, blocked)
    if any_order is None:
        holds = [bool(test(row)) for row in process.rows]
    else:
        holds = [any_order.holds(row, test, bad=asked.kind == "never") for row in process.rows]
    stuck = set() if any_order is None else any_order.stuck
    ends = [
        row in stuck or not (several or row in blocked)
        for row, several in zip(process.rows, process.choices, strict=True)
    ]
    _check_all_runs(process.choices, ends, process.starts, asked, holds)
    return len(process.rows), sum(map(len, process.choices))


def _check_all_runs(
    choices: Choices, ends: Flags, starts: list[int], asked: RunProperty, holds: Flags
) -> None:
    """Refuses unless every run keeps the property."""
    match asked.kind:
        case "never":
            _check_never(choices, starts, holds, asked.steps)
        case "within":
            _check_within(choices, ends, starts, holds, asked.steps or 0, asked.after)
        case _:
            _check_no_quiet_run(choices, ends, starts, holds, through_good=asked.kind == "recurs")


def _successor_states(choices: Choices, states: set[int]) -> set[int]:
    return {t for s in states for c in choices[s] for t in c[2]}


def _check_never(choices: Choices, starts: list[int], bad: Flags, steps: int | None) -> None:
    seen = here = set(starts)
    number = 0
    while here:
        if any(bad[s] for s in here):
            raise Refused(f"a bad state after {number} steps")
        if number == steps:
            return
        here = _successor_states(choices, here) - seen
        seen = seen | here
        number += 1


def _check_within(
    choices: Choices, ends: Flags, starts: list[int], good: Flags, steps: int, after: int
) -> None:
    here = set(starts)
    for number in range(steps + 1):
        if number >= after:
            here = {s for s in here if not good[s]}
        if not here:
            return
        if number == steps or any(ends[s] for s in here):
            raise Refused(f"a run of {number} steps without a good state in time")
        here = _successor_states(choices, here)


def _check_no_quiet_run(
    choices: Choices, ends: Flags, starts: list[int], good: Flags, *, through_good: bool
) -> None:
    """Neither an end nor a cycle without good states; for `eventually`, along states that are not good."""
    seen = {s for s in starts if through_good or not good[s]}
    stack = list(seen)
    while stack:
        for target in _successor_states(choices, {stack.pop()}):
            if target not in seen and (through_good or not good[target]):
                seen.add(target)
                stack.append(target)
    quiet = {s for s in seen if not good[s]}
    if any(ends[s] for s in quiet):
        raise Refused("a run ends without a good state")
    left = {s: {t for t in _successor_states(choices, {s}) if t in quiet} for s in quiet}
    users: dict[int, list[int]] = {s: [] for s in quiet}
    for s, targets in left.items():
        for t in targets:
            users[t].append(s)
    done = [s for s, targets in left.items() if not targets]
    count = 0
    while done:
        last = done.pop()
        count += 1
        for s in users[last]:
            left[s].discard(last)
            if not left[s]:
                done.append(s)
    if count < len(quiet):
        raise Refused("a cycle without good states")
