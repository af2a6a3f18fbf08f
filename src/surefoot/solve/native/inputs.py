"""The search by inputs for a lowered query: with a proof where it can have one, else case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, intersect, is_empty, whole_names
from surefoot.query.claim import claim
from surefoot.query.formula import All, Atom, Formula, Relation
from surefoot.query.query import Answer, Proof, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.native.bounding.bounds import divides
from surefoot.solve.native.cases import cases, ties_reals
from surefoot.solve.native.compile import compile_query
from surefoot.solve.native.goal import MOST
from surefoot.solve.native.problem import Compiled, ways
from surefoot.solve.native.proof.write import case as case_written
from surefoot.solve.native.search import Search, run, start


@dataclass(slots=True)
class Inputs:
    """Call it with a time of `monotonic` until which it may work; it goes on where it was."""

    query: Query
    formulas: Sequence[Formula]
    box: Mapping[str, Interval]
    seed: int
    batch: int
    proof: bool
    running: Search | None = None

    def __call__(self, deadline: float) -> Answer:
        if self.proof and self.running is None:
            self.running = self._started(deadline)
            self.proof = self.running is not None
        if self.running is not None:
            self.running.deadline = deadline
            answer = self._proved(self.running, run(self.running))
            if answer is not None:
                return answer
            self.proof, self.running = False, None
        return self._case_by_case(deadline)

    def _started(self, deadline: float) -> Search | None:
        """A search with a proof; None where no certificate can speak about the query."""
        problem = literal(self.query, self.formulas, self.box)
        if problem is None:
            return None
        random = np.random.default_rng(self.seed)
        search = start(self.query, problem, self.batch, deadline, random, True)
        return search if divides(search.plan, problem.low[None], problem.high[None]) else None

    def _proved(self, search: Search, answer: Answer) -> Answer | None:
        """The answer with its proof; None if what refutes the query cannot be put into a certificate."""
        if isinstance(answer, Sat) or search.ledger is None:
            return answer
        in_reals = isinstance(answer, Undecided) and answer.why is Why.NUMERICS and search.in_reals
        if isinstance(answer, Undecided) and not in_reals:
            return answer if answer.why in (Why.TIMEOUT, Why.MEMORY) else None
        arithmetic = "float32" if search.problem.rounded and not search.in_reals else "real"
        found = Proof(claim(self.query, self.formulas), arithmetic, (case_written(search.ledger),))
        return replace(answer, proof=found)

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
            answer = run(start(self.query, problem, self.batch, deadline, random, False))
            if isinstance(answer, Sat):
                return answer
            if isinstance(answer, Undecided):
                if answer.why in (Why.TIMEOUT, Why.MEMORY):
                    return answer
                doubt = doubt or answer
        return doubt or Unsat()


def literal(query: Query, formulas: Sequence[Formula], box: Mapping[str, Interval]) -> Compiled | None:
    """The query as one case without any simplification, where a certificate can speak about it."""
    flat = tuple(p for f in formulas for p in (f.parts if isinstance(f, All) else (f,)))
    whole = whole_names(query.quantities)
    outputs = {name for call in query.calls for name in call.outputs}
    if any(ties_reals(f, whole) for f in flat) or any(
        call.float32 != query.calls[0].float32 for call in query.calls
    ):
        return None
    known = dict(box)
    for atom in flat:
        if isinstance(atom, Atom) and len(atom.linear.coefficients) == 1:
            ((name, factor),) = atom.linear.coefficients
            if name not in outputs:
                limit = -atom.linear.constant / factor
                both = atom.relation is Relation.EQ
                least = limit if both or factor < 0 else None
                known[name] = intersect(known[name], (least, limit if both or factor > 0 else None))
    if any(is_empty(b) for b in known.values()):
        return None
    try:
        problem = compile_query(query, flat, known, literal=True)
    except Unsupported:
        return None
    if problem is None or problem.curtailed or not problem.names:
        return None
    return problem if 0 < ways(problem.tree) <= MOST else None
