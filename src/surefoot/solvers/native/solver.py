"""How the native solver decides a query: by neurons and by inputs in turn, with proofs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from time import monotonic

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, declared_box, integer_variable_names, is_empty
from surefoot.query.formula import Formula, negation_normal_form, sharpen_integer_atoms
from surefoot.query.lower import LoweredQuery, lower_query
from surefoot.query.query import Answer, Query, Sat, Undecided, UndecidedReason
from surefoot.solvers.native.compile import compile_query
from surefoot.solvers.native.input_splitting import InputSplitting, enumerate_equality_cases
from surefoot.solvers.native.proof.certificate_cases import CertificateCase, certificate_cases, compile_case
from surefoot.solvers.native.relu_splitting.query_search import ReluSplitting, alternate_searches
from surefoot.solvers.native.witness import satisfies_within_enclosure
from surefoot.solvers.remote import Question
from surefoot.term.term import Term


def check_native_bounds(query: Query) -> None:
    """`Unsupported` for a bound that neither the declarations nor the constraints of a query give."""
    form = _normal_form(query)
    if any(is_empty(b) for b in form.box.values()) or _is_single_case(form):
        return
    asked = form.lowered.query
    for case, known in islice(enumerate_equality_cases(asked, form.formulas, form.box), 1):
        compile_query(asked, case, known)


def prepare_native_session(base: Query, seed: int, batch: int, proof: bool, workers: int = 1) -> Question:
    """Answers questions about a base query, each built afresh: it cannot depend on earlier ones."""

    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        query = Query(base.quantities, base.constraints + more, base.calls)
        return decide_native_query(query, seed, batch, seconds, proof, workers)

    return question


def decide_native_query(
    query: Query,
    seed: int = 0,
    batch: int = 256,
    seconds: float = 60.0,
    proof: bool = True,
    workers: int = 1,
) -> Answer:
    """By neurons and by inputs in turn, whichever has an answer first."""
    deadline = monotonic() + seconds
    form = _normal_form(query)
    asked, formulas = form.lowered.query, form.formulas
    by_inputs = InputSplitting(asked, formulas, form.box, seed, batch, proof, form.cases, workers)
    if any(is_empty(b) for b in form.box.values()):
        return by_inputs(deadline)
    by_neurons = ReluSplitting(asked, formulas, seed=seed, batch=batch)
    try:
        return _lift_answer(query, form.lowered, alternate_searches(by_neurons, by_inputs, deadline))
    finally:
        by_inputs.dismiss()


def _lift_answer(query: Query, lowered: LoweredQuery, answer: Answer) -> Answer:
    """The answer about the query before it was lowered."""
    if not isinstance(answer, Sat):
        return answer
    assignment = lowered.invert(answer.assignment)
    if satisfies_within_enclosure(query, assignment):
        return Sat(assignment)
    return Undecided(UndecidedReason.NUMERICS, "a solution of the lowered query does not satisfy the query")


@dataclass(frozen=True, slots=True, eq=False)
class _NormalForm:
    """A lowered query, its formulas and bounds, and the cases of a certificate about it."""

    lowered: LoweredQuery
    formulas: tuple[Formula, ...]
    box: dict[str, Interval]
    cases: list[CertificateCase] | None


def _normal_form(query: Query) -> _NormalForm:
    lowered = lower_query(query)
    whole = integer_variable_names(lowered.query.quantities)
    formulas = tuple(sharpen_integer_atoms(negation_normal_form(c), whole) for c in lowered.query.constraints)
    box = declared_box(lowered.query.quantities)
    return _NormalForm(lowered, formulas, box, certificate_cases(lowered.query, formulas, box))


def _is_single_case(form: _NormalForm) -> bool:
    """Whether the query is one case as it stands: then no case of it is refused."""
    try:
        return form.cases is not None and len(form.cases) == 1 and compile_case(form.cases[0]) is not None
    except Unsupported:
        return False
