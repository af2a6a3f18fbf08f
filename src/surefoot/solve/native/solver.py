"""The native solver: exact witnesses, rigorous bounds, branch and bound over inputs or neurons, proofs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import ClassVar

from surefoot.errors import Unsupported
from surefoot.problem.term import Term
from surefoot.query.bounds import Interval, declared, is_empty, whole_names
from surefoot.query.formula import Formula, normal, sharpen
from surefoot.query.lower import Lowered, lower
from surefoot.query.query import Answer, Query, Sat, Undecided, Why
from surefoot.solve.native.cases import cases
from surefoot.solve.native.compile import compile_query
from surefoot.solve.native.dual.route import Neurons, either
from surefoot.solve.native.inputs import Inputs
from surefoot.solve.native.proof.literal import compiled, literals
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
    proof: bool = True
    """Write down what closes every box, so that unsat answers come with evidence."""

    def objection(self, query: Query) -> str | None:
        try:
            lowered, formulas, box = _normal_form(query)
            if any(is_empty(b) for b in box.values()) or _is_plain(lowered.query, formulas, box):
                return None
            for case, known in islice(_cases(lowered, formulas, box), 1):
                compile_query(lowered.query, case, known)
        except Unsupported as error:
            return f"`native` cannot take this query: {error.what}; {error.fix}" if error.fix else error.what
        return None

    def session(self, base: Query, *, seconds: float) -> AbstractContextManager[Ask]:
        return remote_session(prepare, base, self.seed, self.batch, self.proof, seconds=seconds)


def prepare(base: Query, seed: int, batch: int, proof: bool) -> Question:
    """Answers questions about a base query, each built afresh: it cannot depend on earlier ones."""

    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        query = Query(base.quantities, base.constraints + more, base.calls)
        return decide(query, seed, batch, seconds, proof)

    return question


def decide(
    query: Query, seed: int = 0, batch: int = 256, seconds: float = 60.0, proof: bool = True
) -> Answer:
    """By neurons and by inputs in turn, whichever has an answer first."""
    deadline = monotonic() + seconds
    lowered, formulas, box = _normal_form(query)
    if any(is_empty(b) for b in box.values()):
        return Inputs(lowered.query, formulas, box, seed, batch, proof)(deadline)
    by_neurons = Neurons(lowered.query, formulas, seed=seed, batch=batch)
    by_inputs = Inputs(lowered.query, formulas, box, seed, batch, proof)
    return _lifted(query, lowered, either(by_neurons, by_inputs, deadline))


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


def _is_plain(query: Query, formulas: tuple[Formula, ...], box: dict[str, Interval]) -> bool:
    """Whether the query is one case as it stands: then no case of it is refused."""
    found = literals(query, formulas, box) or []
    try:
        return len(found) == 1 and compiled(query, found[0]) is not None
    except Unsupported:
        return False


def _cases(
    lowered: Lowered, formulas: tuple[Formula, ...], box: dict[str, Interval]
) -> Iterator[tuple[tuple[Formula, ...], dict[str, Interval]]]:
    outputs = frozenset(name for call in lowered.query.calls for name in call.outputs)
    return cases(formulas, box, whole_names(lowered.query.quantities), outputs)
