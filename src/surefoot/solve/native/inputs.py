"""The search by inputs for a lowered query: with a proof where it can have one, else case by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

import numpy as np

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, whole_names
from surefoot.query.claim import WrittenLater, claim
from surefoot.query.formula import Formula
from surefoot.query.query import Answer, Json, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.native.bounding.bounds import divides
from surefoot.solve.native.cases import cases, parts_of, ties_reals
from surefoot.solve.native.compile import compile_query
from surefoot.solve.native.goal import MOST
from surefoot.solve.native.guess.candidates import Guesses, at_once
from surefoot.solve.native.problem import conjunctions
from surefoot.solve.native.proof.ledger import Ledger
from surefoot.solve.native.proof.literal import Literal, compiled
from surefoot.solve.native.proof.write import case as case_written
from surefoot.solve.native.search import Search, planned, run, start

_FIRST = 0.25  # of the time for a proof where the cases without one may be easier


@dataclass(slots=True)
class Inputs:
    """Call it with a time of `monotonic` until which it may work; it goes on where it was."""

    query: Query
    formulas: Sequence[Formula]
    box: Mapping[str, Interval]
    seed: int
    batch: int
    proof: bool
    waiting: list[Literal] | None  # cases of a certificate that are not refuted yet, in order; None: no words
    running: Search | Sat | None = None  # the search in the first of them
    refuted: list[Callable[[], Json]] = field(default_factory=list)  # what writes the case
    doubt: Undecided | None = None  # some case is refuted for real arithmetic only

    def __call__(self, deadline: float) -> Answer:
        if not self.proof:
            return self._case_by_case(deadline)
        began = monotonic()
        whole = whole_names(self.query.quantities)
        simpler = any(ties_reals(p, whole) for f in self.formulas for p in parts_of(f))
        answer = self._with_proof(began + _FIRST * (deadline - began) if simpler else deadline)
        if answer is None:
            self.proof, self.running = False, None
            return self._case_by_case(deadline)
        if not simpler or not isinstance(answer, Undecided) or answer.why is not Why.TIMEOUT:
            return answer
        return self._both(began, deadline)

    def _both(self, began: float, deadline: float) -> Answer:
        """Case by case what was not proved in time: cases that were simplified may be easier, then go on."""
        now = monotonic()
        other = self._case_by_case(now + (deadline - now) / 2)
        if isinstance(other, Sat):
            return other
        now = monotonic()
        enough = min(deadline, now + 1.0 + 4.0 * (now - began)) if isinstance(other, Unsat) else deadline
        answer = self._with_proof(enough)
        return (
            other
            if answer is None or (isinstance(other, Unsat) and isinstance(answer, Undecided))
            else answer
        )

    def _with_proof(self, deadline: float) -> Answer | None:
        """The answer with its proof; None if what refutes the query cannot be put into a certificate."""
        if self.waiting is None:
            return None
        while self.waiting:
            if monotonic() > deadline:
                return Undecided(Why.TIMEOUT, "the cases of the query were not all looked at")
            try:
                self.running = self.running or self._started(self.waiting[0], deadline)
            except Unsupported:
                return None
            if isinstance(self.running, Sat):
                return self.running
            if self.running is None:
                self.refuted.append(self.waiting[0].at_sight)
            else:
                self.running.deadline = deadline
                answer = self._refuted(self.waiting[0], self.running, run(self.running))
                if not isinstance(answer, Unsat):
                    return answer
            self.running = None
            del self.waiting[0]
        single = not self.doubt and bool(self.query.calls) and self.query.calls[0].float32
        query, formulas, cases = self.query, self.formulas, tuple(self.refuted)
        found = WrittenLater(
            "float32" if single else "real", lambda: (claim(query, formulas), tuple(case() for case in cases))
        )
        return replace(self.doubt or Unsat(), proof=found)

    def _started(self, case: Literal, deadline: float) -> Search | Sat | None:
        """The search in one case, None if nothing is left of it; `Unsupported`: it cannot have a proof."""
        problem = compiled(case)
        if problem is None:
            return None
        random, plan = np.random.default_rng(self.seed), planned(problem, certify=True)
        sets = conjunctions(problem.tree, MOST)
        guesses = Guesses(self.query, problem, sets, deadline, random, plan.chain)
        if (found := at_once(guesses)) is not None:
            return found
        search = start(self.query, problem, plan, self.batch, deadline, random)
        if not divides(search.plan, problem.low[None], problem.high[None]):
            raise Unsupported("a divisor that may be zero")
        return search

    def _refuted(self, case: Literal, search: Search, answer: Answer) -> Answer | None:
        """Unsat if the case is refuted, and this is written down; None if it can never be."""
        assert search.ledger is not None
        in_reals = isinstance(answer, Undecided) and answer.why is Why.NUMERICS and search.in_reals
        if isinstance(answer, Undecided) and not in_reals:
            return answer if answer.why in (Why.TIMEOUT, Why.MEMORY) else None
        if isinstance(answer, Undecided):
            self.doubt = answer
        elif isinstance(answer, Sat):
            return answer
        self.refuted.append(partial(_written, case, search.ledger))
        return Unsat()

    def _case_by_case(self, deadline: float) -> Answer:
        doubt: Undecided | None = None
        outputs = frozenset(name for call in self.query.calls for name in call.outputs)
        whole = whole_names(self.query.quantities)
        for case, known in cases(self.formulas, self.box, whole, outputs):
            if monotonic() > deadline:
                return Undecided(Why.TIMEOUT, "the cases of the query were not all looked at")
            problem = compile_query(self.query, case, known)
            if problem is None:
                continue
            random = np.random.default_rng(self.seed)
            plan = planned(problem, certify=False)
            answer = run(start(self.query, problem, plan, self.batch, deadline, random))
            if isinstance(answer, Sat):
                return answer
            if isinstance(answer, Undecided):
                if answer.why in (Why.TIMEOUT, Why.MEMORY):
                    return answer
                doubt = doubt or answer
        return doubt or Unsat()


def _written(case: Literal, ledger: Ledger) -> Json:
    return {**case.frame(), **case_written(ledger)}
