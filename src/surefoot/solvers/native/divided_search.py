"""A search over boxes in parts: open boxes are dealt out, each part is searched alone, proofs are joined.

The search begins alone, until it has looked at so many boxes that parts are worth it. Then it goes in rounds:
all open boxes are dealt by their number to so many parts, each with a number of boxes that it may look at
and random numbers of its own, and what the parts leave open is dealt again. What happens depends on the
boxes alone, never on how many processes there are, nor on which of them is faster: the first part that has
a solution is the answer, and the steps of all parts are one proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchStack
from surefoot.query.query import Answer, Query, Sat, Undecided, UndecidedReason
from surefoot.solvers.native.bounding.open_boxes import BoxDomains
from surefoot.solvers.native.branch_and_bound import (
    InputSearch,
    final_answer,
    has_ended,
    plan_query_bounds,
    search_open_boxes,
    start_input_search,
)
from surefoot.solvers.native.proof.certificate_cases import CertificateCase, compile_case
from surefoot.solvers.native.proof.proof_log import ProofLog, ProofStep, write_node_steps, write_waiting_steps
from surefoot.work.task_pool import TaskPool

PARTS = 16
ALONE = 100_000  # boxes times neurons before the first round: some tenths of a second
LEAST_OPEN = 8  # boxes that are worth a round
LEAST_BOXES, GROWTH = 256, 4  # of a part in a round, and what part of all boxes so far
PATIENCE = 0.5  # seconds in parts before there are other processes
_GRACE = 1.0  # seconds for a part that does look at the clock to say what it knows


@dataclass(frozen=True, slots=True, eq=False)
class SearchPart:
    """Open boxes, and where the search stands."""

    number: int  # of all parts so far
    domains: BoxDomains
    elsewhere: int  # open boxes of other parts
    boxes: int  # that may be looked at
    deadline: float
    visited: int
    guessed: int
    given_up: int
    in_reals: bool


@dataclass(frozen=True, slots=True, eq=False)
class PartResult:
    """Nodes are numbered from 0: those that were given, then new ones."""

    answer: Answer | None
    left: BoxDomains | None
    steps: list[list[ProofStep]]
    splits: dict[int, tuple[list[object], int, int]]
    visited: int
    guessed: int
    given_up: int
    in_reals: bool


def divide_search(workers: int, query: Query, case: CertificateCase, s: InputSearch, seed: int) -> TaskPool:
    """Who looks at the parts of this search."""
    return TaskPool(
        workers,
        prepare_parts,
        query,
        case,
        seed,
        s.batch,
        here=partial(search_part, s, seed),
        patience=PATIENCE,
    )


def prepare_parts(query: Query, case: CertificateCase, seed: int, batch: int) -> Callable[..., PartResult]:
    """In another process: the same search, of which nothing is known."""
    problem = compile_case(case)
    assert problem is not None
    plan, random = plan_query_bounds(problem, certify=True), np.random.default_rng(seed)
    return partial(search_part, start_input_search(query, problem, plan, batch, inf, random), seed)


def run_divided_search(s: InputSearch, pool: TaskPool) -> Answer:
    """As `run_input_search`: Sat, Unsat for the arithmetic that was asked for, or why neither."""
    assert s.ledger is not None
    while True:
        alone = max(s.visited + LEAST_BOXES, 0 if s.dealt else ALONE // max(1, s.neurons))
        few = not s.dealt or len(s.stack) < LEAST_OPEN
        if few and (answer := search_open_boxes(s, alone)) is not None:
            return answer
        if has_ended(s):
            return final_answer(s)
        if len(s.stack) >= LEAST_OPEN and (answer := _run_round(s, s.ledger, pool)) is not None:
            return answer


def _run_round(s: InputSearch, ledger: ProofLog, pool: TaskPool) -> Answer | None:
    """All open boxes in parts; a solution, or what ended some part early."""
    domains = s.stack.pop(len(s.stack))
    count = min(PARTS, len(domains))
    given = [domains.pick(np.arange(first, len(domains), count)) for first in range(count)]
    most = max(LEAST_BOXES, s.visited // GROWTH)
    parts = [
        SearchPart(
            s.dealt + number,
            part,
            len(domains) - len(part),
            most,
            s.deadline,
            s.visited,
            s.guessed,
            s.given_up,
            s.in_reals,
        )
        for number, part in enumerate(given)
    ]
    s.dealt += count
    ended: Undecided | None = None
    done = 0
    for found in pool.run([(part,) for part in parts], lambda: monotonic() > s.deadline + _GRACE):
        if isinstance(found.answer, Sat):
            return found.answer
        ended = ended or (found.answer if isinstance(found.answer, Undecided) else None)
        _merge_part(s, ledger, given[done], found)
        done += 1
    for domains in given[done:]:
        s.stack.push(domains)
    if done < count:
        return Undecided(UndecidedReason.TIMEOUT, f"{s.visited} boxes looked at, {len(s.stack)} open")
    return ended


def _merge_part(s: InputSearch, ledger: ProofLog, given: BoxDomains, found: PartResult) -> None:
    """Its steps in the one proof, what it left open on the stack."""
    first = len(ledger.steps)
    more = np.arange(first, first + len(found.steps) - len(given), dtype=np.int64)
    numbers: NDArray[np.int64] = np.concatenate([given.node, more])
    for node, steps in zip(numbers.tolist(), found.steps, strict=True):
        ledger.steps.setdefault(node, []).extend(steps)
    for node, (step, one, other) in found.splits.items():
        ledger.splits[int(numbers[node])] = (step, int(numbers[one]), int(numbers[other]))
    s.visited += found.visited
    s.given_up += found.given_up
    s.guessed, s.in_reals = max(s.guessed, found.guessed), s.in_reals or found.in_reals
    if found.left is not None:
        found.left.node = numbers[found.left.node]
        s.stack.push(found.left)


def search_part(s: InputSearch, seed: int, part: SearchPart) -> PartResult:
    """The search `s` with these boxes instead of its own; nothing of it changes."""
    count = len(part.domains)
    ledger = ProofLog(s.problem, s.plan, s.goal, {node: [] for node in range(count)})
    random = np.random.default_rng((seed, 1 + part.number))
    own = replace(
        s,
        deadline=part.deadline,
        guesses=replace(s.guesses, deadline=part.deadline, random=random),
        ledger=ledger,
        visited=part.visited,
        guessed=part.guessed,
        given_up=part.given_up,
        in_reals=part.in_reals,
        memory=s.memory // PARTS,
        elsewhere=part.elsewhere,
        stack=BatchStack(replace(part.domains, node=np.arange(count, dtype=np.int64))),
    )
    answer = search_open_boxes(own, part.visited + part.boxes)
    write_waiting_steps(ledger)
    return PartResult(
        answer,
        own.stack.pop(len(own.stack)) if own.stack else None,
        [write_node_steps(ledger.steps[node]) for node in range(len(ledger.steps))],
        ledger.splits,
        own.visited - part.visited,
        own.guessed,
        own.given_up - part.given_up,
        own.in_reals,
    )
