"""The native solver: exact witnesses, rigorous bounds, branch and bound over inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import ClassVar

import numpy as np

from surefoot.errors import Unsupported
from surefoot.problem.term import Term
from surefoot.query.bounds import Interval, declared, is_empty, whole_names
from surefoot.query.formula import Formula, normal, sharpen
from surefoot.query.lower import Lowered, lower
from surefoot.query.query import Answer, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.native.cases import cases
from surefoot.solve.native.compile import compile_query
from surefoot.solve.native.dual.route import Neurons, either
from surefoot.solve.native.search import Closed, Search
from surefoot.solve.native.witness import satisfied
from surefoot.solve.protocol import Ask
from surefoot.solve.remote import Question, remote_session


@dataclass(frozen=True, slots=True)
class Native:
    """Branch and bound with rigorous linear bounds, for every kind of network node.

    Unsat rests on float64 bounds with explicit error terms and on exact arithmetic. Sat answers satisfy the
    query exactly; outputs of networks with tanh or sigmoid lie within a rigorous enclosure of the true value.
    """

    name: ClassVar[str] = "native"

    seed: int = 0
    batch: int = 256

    def objection(self, query: Query) -> str | None:
        try:
            lowered, formulas, box = _normal_form(query)
            if not any(is_empty(b) for b in box.values()):
                for case, known in islice(_cases(lowered, formulas, box), 1):
                    compile_query(lowered.query, case, known)
        except Unsupported as error:
            return f"`native` cannot take this query: {error.what}; {error.fix}" if error.fix else error.what
        return None

    def session(self, base: Query, *, seconds: float) -> AbstractContextManager[Ask]:
        return remote_session(prepare, base, self.seed, self.batch, seconds=seconds)


def prepare(base: Query, seed: int, batch: int) -> Question:
    """Answers questions about a base query, each built afresh: it cannot depend on earlier ones."""

    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        return decide(Query(base.quantities, base.constraints + more, base.calls), seed, batch, seconds)

    return question


def decide(
    query: Query, seed: int = 0, batch: int = 256, seconds: float = 60.0, log: list[Closed] | None = None
) -> Answer:
    """Search every case of the query until one has a solution."""
    deadline = monotonic() + seconds
    lowered, formulas, box = _normal_form(query)
    if any(is_empty(b) for b in box.values()):
        return Unsat()
    answer = either(
        Neurons(lowered.query, formulas, seed=seed, batch=batch),
        lambda until: _by_inputs(lowered, formulas, box, seed, batch, until, log),
        deadline,
    )
    return _lifted(query, lowered, answer)


def _by_inputs(
    lowered: Lowered,
    formulas: tuple[Formula, ...],
    box: dict[str, Interval],
    seed: int,
    batch: int,
    deadline: float,
    log: list[Closed] | None,
) -> Answer:
    doubt: Undecided | None = None
    for case, known in _cases(lowered, formulas, box):
        if monotonic() > deadline:
            return Undecided(Why.TIMEOUT, "the cases of the query were not all looked at")
        problem = compile_query(lowered.query, case, known)
        if problem is None:
            continue
        search = Search(lowered.query, problem, batch, deadline, np.random.default_rng(seed), log)
        answer = search.run()
        if isinstance(answer, Sat):
            return answer
        if isinstance(answer, Undecided):
            if answer.why in (Why.TIMEOUT, Why.MEMORY):
                return answer
            doubt = doubt or answer
    return doubt or Unsat()


def _lifted(query: Query, lowered: Lowered, answer: Answer) -> Answer:
    """The answer about the query before it was lowered."""
    if not isinstance(answer, Sat):
        return answer
    assignment = lowered.back(answer.assignment)
    if satisfied(query, assignment):
        return Sat(assignment)
    return Undecided(Why.NUMERICS, "a solution of the lowered query does not satisfy the query")


def _normal_form(query: Query) -> tuple[Lowered, tuple[Formula, ...], dict[str, Interval]]:
    lowered = lower(query)
    whole = whole_names(lowered.query.quantities)
    formulas = tuple(sharpen(normal(c), whole) for c in lowered.query.constraints)
    return lowered, formulas, declared(lowered.query.quantities)


def _cases(
    lowered: Lowered, formulas: tuple[Formula, ...], box: dict[str, Interval]
) -> Iterator[tuple[tuple[Formula, ...], dict[str, Interval]]]:
    outputs = frozenset(name for call in lowered.query.calls for name in call.outputs)
    return cases(formulas, box, whole_names(lowered.query.quantities), outputs)
