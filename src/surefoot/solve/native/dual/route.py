"""Which queries this search takes, and its answers to them.

A query is taken if all its calls are of one dense ReLU chain, read linear forms of the free quantities, and
read many of them: with few inputs it is better to split these. Every way to choose from its disjunctions is
a question of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic

import numpy as np

from surefoot.network.outward import Array
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.query.claim import claim
from surefoot.query.formula import Formula
from surefoot.query.query import Answer, Json, Number, Proof, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.native.dual.attack import descend
from surefoot.solve.native.dual.layered import Layered
from surefoot.solve.native.dual.log import certificate_steps
from surefoot.solve.native.dual.read import Case, alternatives, case_of, chain, question
from surefoot.solve.native.dual.search import Candidate, GaveUp, Limit, Refuted, Settings, refute
from surefoot.solve.native.witness import satisfied

LEAST_INPUTS = 7  # below, splitting inputs is better
MOST_CASES = 16
_BYTES = 900_000_000  # of sub-domains that wait


def attempt(
    query: Query,
    formulas: Sequence[Formula],
    deadline: float,
    *,
    seed: int = 0,
    batch: int = 256,
    least_inputs: int = LEAST_INPUTS,
    progress: Callable[[str], None] = lambda text: None,
) -> Answer | None:
    """The answer to a lowered query whose constraints are `formulas`; None: not a query for this search.

    `deadline` is a time of `monotonic`. A `Sat` satisfies the lowered query exactly.
    """
    cases = _cases(query, formulas, least_inputs)
    if cases is None:
        return None
    layers = chain(query.calls[0].network)
    assert layers is not None
    proved: list[Json] = []
    for case in cases:
        try:
            problem, names = question(case, *layers)
        except (ValueError, OverflowError):  # weights that are no numbers, or numbers beyond float64
            return None
        tried = _Tried(case, problem, seed)
        settings = Settings(
            batch=batch,
            most_open=_BYTES // _size(problem),
            log=True,
            seed=seed,
            expired=lambda: monotonic() > deadline,
            progress=lambda nodes, waiting, bound: progress(
                f"native: {nodes} sub-domains looked at, {waiting} open, least bound {bound:.3g}"
            ),
            accepts=tried,
        )
        match refute(problem, settings):
            case Candidate():
                return Sat(tried.assignment)
            case GaveUp(count, _, Limit.TIME, nodes):
                return Undecided(Why.TIMEOUT, f"{nodes} sub-domains looked at, {count} open")
            case GaveUp(count, _, Limit.OPEN, nodes):
                return Undecided(Why.MEMORY, f"{nodes} sub-domains looked at, {count} open")
            case GaveUp():
                return None
            case Refuted(compiled, log, _):
                if log.wanted:
                    proved.append({**case.frame(), "steps": certificate_steps(compiled, log, names)})
    return Unsat(_proof(query, formulas, proved) if len(proved) == len(cases) else None)


class _Tried:
    """Accepts a point if an assignment from it satisfies the query exactly; keeps that assignment."""

    def __init__(self, case: Case, problem: Layered, seed: int) -> None:
        self.case, self.problem, self.seed = case, problem, seed
        self.assignment: Mapping[str, Number] = {}

    def __call__(self, point: Array) -> bool:
        """From the point, and first from as far inside the rows as a few steps get."""
        problem, random = self.problem, np.random.default_rng(self.seed)
        jitter = 1e-3 * (problem.high - problem.low) * (random.random((16, len(point))) - 0.5)
        jitter[0] = 0.0
        nearby = np.minimum(np.maximum(point + jitter, problem.low), problem.high)
        best, worst = descend(problem, nearby, random, 20, first=0.03, enough=np.inf)
        for candidate in (best[int(np.argmin(worst))], point):
            try:
                assignment = self.case.assignment(candidate)
            except Undefined:
                continue
            if satisfied(self.case.query, assignment):
                self.assignment = assignment
                return True
        return False


def _cases(query: Query, formulas: Sequence[Formula], least_inputs: int) -> list[Case] | None:
    if not query.calls or chain(query.calls[0].network) is None:
        return None
    first = query.calls[0]
    if any(call.network is not first.network or call.float32 != first.float32 for call in query.calls):
        return None
    ways = alternatives(formulas, MOST_CASES)
    if not ways:
        return None
    cases = [case_of(query, choices, atoms, least_inputs) for choices, atoms in ways]
    found = [case for case in cases if case is not None]
    return found if len(found) == len(cases) else None


def _proof(query: Query, formulas: Sequence[Formula], cases: list[Json]) -> Proof | None:
    single = query.calls[0].float32
    if not single and any(any(call.slack) for call in query.calls):
        return None  # the format has no slack
    return Proof(claim(query, formulas), "float32" if single else "real", tuple(cases))


def _size(problem: Layered) -> int:
    """Bytes of one sub-domain."""
    return 8 * (3 * len(problem.low) + len(problem.offsets) + 4) + 25 * problem.neurons
