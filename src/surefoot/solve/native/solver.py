"""The native solver: exact witnesses, rigorous bounds, branch and bound over inputs or neurons, proofs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
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
from surefoot.solve.native.proof.literal import Literal, compiled, literals
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
            form = _normal_form(query)
            if any(is_empty(b) for b in form.box.values()) or _is_plain(form):
                return None
            for case, known in islice(_cases(form), 1):
                compile_query(form.lowered.query, case, known)
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
    form = _normal_form(query)
    asked, formulas = form.lowered.query, form.formulas
    waiting = None if form.cases is None else list(form.cases)
    by_inputs = Inputs(asked, formulas, form.box, seed, batch, proof, waiting)
    if any(is_empty(b) for b in form.box.values()):
        return by_inputs(deadline)
    by_neurons = Neurons(asked, formulas, seed=seed, batch=batch)
    return _lifted(query, form.lowered, either(by_neurons, by_inputs, deadline))


def _lifted(query: Query, lowered: Lowered, answer: Answer) -> Answer:
    """The answer about the query before it was lowered."""
    if not isinstance(answer, Sat):
        return answer
    assignment = lowered.back(answer.assignment)
    if satisfied(query, assignment):
        return Sat(assignment)
    return Undecided(Why.NUMERICS, "a solution of the lowered query does not satisfy the query")


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """A lowered query, its formulas and bounds, and the cases of a certificate about it."""

    lowered: Lowered
    formulas: tuple[Formula, ...]
    box: dict[str, Interval]
    cases: tuple[Literal, ...] | None


def _normal_form(query: Query) -> _Form:
    try:
        return _latest_form(query)
    except TypeError:  # a constant that cannot be hashed
        return _form(query)


@lru_cache(maxsize=1)
def _latest_form(query: Query) -> _Form:
    """The query that somebody asks about is often the one that was looked at for objections just before."""
    return _form(query)


def _form(query: Query) -> _Form:
    lowered = lower(query)
    whole = whole_names(lowered.query.quantities)
    formulas = tuple(sharpen(normal(c), whole) for c in lowered.query.constraints)
    box = declared(lowered.query.quantities)
    found = literals(lowered.query, formulas, box)
    return _Form(lowered, formulas, box, None if found is None else tuple(found))


def _is_plain(form: _Form) -> bool:
    """Whether the query is one case as it stands: then no case of it is refused."""
    try:
        return form.cases is not None and len(form.cases) == 1 and compiled(form.cases[0]) is not None
    except Unsupported:
        return False


def _cases(form: _Form) -> Iterator[tuple[tuple[Formula, ...], dict[str, Interval]]]:
    query = form.lowered.query
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    return cases(form.formulas, form.box, whole_names(query.quantities), outputs)
