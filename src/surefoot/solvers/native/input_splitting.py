"""The search by inputs for a lowered query: with a proof where it can have one, else case by case.

The points that satisfy an equality of reals fill no box, so no search over boxes finds them: alternatives
with such equalities are cases of their own, in which the equality defines a quantity and disappears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

import numpy as np

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, integer_variable_names, simplify_formula, tighten_box
from surefoot.query.formula import All, AnyOf, Formula, Relation, conjoin_formulas, formula_atoms
from surefoot.query.query import Answer, Json, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.query.unsat_claim import LazyProof, write_unsat_claim
from surefoot.solvers.native.bounding.network_bounds import has_safe_divisors
from surefoot.solvers.native.branch_and_bound import (
    InputSearch,
    plan_query_bounds,
    run_input_search,
    start_input_search,
)
from surefoot.solvers.native.compile import compile_query
from surefoot.solvers.native.compiled_query import formula_cubes
from surefoot.solvers.native.divided_search import divide_search, run_divided_search
from surefoot.solvers.native.falsify.candidates import FalsificationTask, find_by_sampling
from surefoot.solvers.native.goal_cubes import MOST
from surefoot.solvers.native.proof.certificate_cases import CertificateCase, compile_case
from surefoot.solvers.native.proof.proof_log import ProofLog, render_proof_case
from surefoot.work.task_pool import TaskPool

_FIRST = 0.25  # of the time for a proof where the cases without one may be easier


@dataclass(slots=True)
class InputSplitting:
    """Call it with a time of `monotonic` until which it may work; it goes on where it was."""

    query: Query
    formulas: Sequence[Formula]
    box: Mapping[str, Interval]
    seed: int
    batch: int
    proof: bool
    waiting: (
        list[CertificateCase] | None
    )  # cases of a certificate that are not refuted yet, in order; None: no words
    workers: int = 1
    running: InputSearch | Sat | None = None  # the search in the first of them
    pool: TaskPool | None = None  # that works on it
    refuted: list[Callable[[], Json]] = field(default_factory=list)  # what writes the case
    doubt: Undecided | None = None  # some case is refuted for real arithmetic only

    def dismiss(self) -> None:
        """End the processes that work on it."""
        if self.pool is not None:
            self.pool.dismiss()
        self.pool = None

    def __call__(self, deadline: float) -> Answer:
        if not self.proof:
            return self._search_cases(deadline)
        began = monotonic()
        whole = integer_variable_names(self.query.quantities)
        simpler = any(has_real_equality(p, whole) for f in self.formulas for p in conjunction_parts(f))
        answer = self._search_with_proof(began + _FIRST * (deadline - began) if simpler else deadline)
        if answer is None:
            self.proof, self.running = False, None
            return self._search_cases(deadline)
        if not simpler or not isinstance(answer, Undecided) or answer.why is not UndecidedReason.TIMEOUT:
            return answer
        return self._alternate_with_cases(began, deadline)

    def _alternate_with_cases(self, began: float, deadline: float) -> Answer:
        """Case by case what was not proved in time: cases that were simplified may be easier, then go on."""
        now = monotonic()
        other = self._search_cases(now + (deadline - now) / 2)
        if isinstance(other, Sat):
            return other
        now = monotonic()
        enough = min(deadline, now + 1.0 + 4.0 * (now - began)) if isinstance(other, Unsat) else deadline
        answer = self._search_with_proof(enough)
        return (
            other
            if answer is None or (isinstance(other, Unsat) and isinstance(answer, Undecided))
            else answer
        )

    def _search_with_proof(self, deadline: float) -> Answer | None:
        """The answer with its proof; None if what refutes the query cannot be put into a certificate."""
        if self.waiting is None:
            return None
        while self.waiting:
            if monotonic() > deadline:
                return Undecided(UndecidedReason.TIMEOUT, "the cases of the query were not all looked at")
            try:
                self.running = self.running or self._start_case(self.waiting[0], deadline)
            except Unsupported:
                return None
            if isinstance(self.running, Sat):
                return self.running
            if self.running is None:
                self.refuted.append(self.waiting[0].render_empty_case)
            else:
                self.running.deadline = deadline
                self.pool = self.pool or divide_search(
                    self.workers, self.query, self.waiting[0], self.running, self.seed
                )
                ended = run_divided_search(self.running, self.pool)
                answer = self._record_refutation(self.waiting[0], self.running, ended)
                if not isinstance(answer, Unsat):
                    return answer
            self.dismiss()
            self.running = None
            del self.waiting[0]
        single = not self.doubt and bool(self.query.calls) and self.query.calls[0].float32
        query, formulas, cases = self.query, self.formulas, tuple(self.refuted)
        found = LazyProof(
            "float32" if single else "real",
            lambda: (write_unsat_claim(query, formulas), tuple(case() for case in cases)),
        )
        return replace(self.doubt or Unsat(), proof=found)

    def _start_case(self, case: CertificateCase, deadline: float) -> InputSearch | Sat | None:
        """The search in one case, None if nothing is left of it; `Unsupported`: it cannot have a proof."""
        problem = compile_case(case)
        if problem is None:
            return None
        random, plan = np.random.default_rng(self.seed), plan_query_bounds(problem, certify=True)
        sets = formula_cubes(problem.tree, MOST)
        guesses = FalsificationTask(self.query, problem, sets, deadline, random)
        if (found := find_by_sampling(guesses)) is not None:
            return found
        search = start_input_search(self.query, problem, plan, self.batch, deadline, random)
        if not has_safe_divisors(search.plan, problem.low[None], problem.high[None]):
            raise Unsupported("a divisor that may be zero")
        return search

    def _record_refutation(self, case: CertificateCase, search: InputSearch, answer: Answer) -> Answer | None:
        """Unsat if the case is refuted, and this is written down; None if it can never be."""
        assert search.ledger is not None
        in_reals = (
            isinstance(answer, Undecided) and answer.why is UndecidedReason.NUMERICS and search.in_reals
        )
        if isinstance(answer, Undecided) and not in_reals:
            return answer if answer.why in (UndecidedReason.TIMEOUT, UndecidedReason.MEMORY) else None
        if isinstance(answer, Undecided):
            self.doubt = answer
        elif isinstance(answer, Sat):
            return answer
        self.refuted.append(partial(_render_case, case, search.ledger))
        return Unsat()

    def _search_cases(self, deadline: float) -> Answer:
        doubt: Undecided | None = None
        for case, known in enumerate_equality_cases(self.query, self.formulas, self.box):
            if monotonic() > deadline:
                return Undecided(UndecidedReason.TIMEOUT, "the cases of the query were not all looked at")
            problem = compile_query(self.query, case, known)
            if problem is None:
                continue
            random = np.random.default_rng(self.seed)
            plan = plan_query_bounds(problem, certify=False)
            answer = run_input_search(
                start_input_search(self.query, problem, plan, self.batch, deadline, random)
            )
            if isinstance(answer, Sat):
                return answer
            if isinstance(answer, Undecided):
                if answer.why in (UndecidedReason.TIMEOUT, UndecidedReason.MEMORY):
                    return answer
                doubt = doubt or answer
        return doubt or Unsat()


def _render_case(case: CertificateCase, ledger: ProofLog) -> Json:
    return {**case.frame(), **render_proof_case(ledger)}


def enumerate_equality_cases(
    query: Query, formulas: Sequence[Formula], box: Mapping[str, Interval]
) -> Iterator[tuple[tuple[Formula, ...], dict[str, Interval]]]:
    """Formulas and bounds whose solutions together are those of the given ones."""
    whole = integer_variable_names(query.quantities)
    tight = tighten_box(box, formulas, whole)
    if tight is None:
        return
    # Tightened bounds of outputs must not be used to drop formulas.
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    known = {name: box[name] if name in outputs else bounds for name, bounds in tight.items()}
    parts = conjoin_formulas(simplify_formula(part, known) for f in formulas for part in conjunction_parts(f))
    flat = parts.parts if isinstance(parts, All) else (parts,)
    if AnyOf() in flat:
        return
    chosen = min((f for f in flat if has_real_equality(f, whole)), key=_count_alternatives, default=None)
    if chosen is None:
        yield flat, known
        return
    assert isinstance(chosen, AnyOf)
    rest = tuple(f for f in flat if f is not chosen)
    for alternative in chosen.parts:
        yield from enumerate_equality_cases(query, (*rest, alternative), known)


def conjunction_parts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself."""
    return formula.parts if isinstance(formula, All) else (formula,)


def has_real_equality(formula: Formula, whole: frozenset[str]) -> bool:
    """Whether an alternative of this formula is an equality of reals."""
    return isinstance(formula, AnyOf) and any(
        a.relation is Relation.EQ and not all(n in whole for n, _ in a.linear.coefficients)
        for a in formula_atoms(formula)
    )


def _count_alternatives(formula: Formula) -> int:
    return len(formula.parts) if isinstance(formula, AnyOf) else 1
