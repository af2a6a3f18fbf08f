"""Bounded model checking (whiRL 1.0, section 4.2): look for a violating run of length 0, 1, 2, …

For k = 0, 1, 2, … the problem is unrolled into k steps and the solver is asked for an initial state and moves
that violate the property: they end in a bad state (`Never`), see nothing good from state `after` to state
`steps` (`Within`, the paper's bounded liveness), or return to an earlier state without anything good at all
(`Eventually`) or since then (`Recurs`). A run that ends without being good violates the last three as well.
A model is only a candidate: it is re-run with the reference semantics and becomes a verdict when that run
violates the property; a loop must return exactly.

Beyond the paper: where no run of k steps matters any more the search is complete and says so; an update that
could leave its variable's range is reported instead of being cut off by the encoding; network outputs carry
their rounding error, so that "no violation" covers the float32 network. A property of the first state alone
is one query: if the solver proves it, so is the property, where need be in real arithmetic only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from surefoot.engines.bounded_check import BoundedCheck, Clear, Doubt
from surefoot.engines.engine_text import show_changes
from surefoot.engines.start_check import check_first_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.query.query import Proof
from surefoot.reductions.refutation.violation import encode_violation
from surefoot.reductions.unroll import encoding_objection as encoding_objection
from surefoot.reductions.unroll import unroll
from surefoot.solvers import take_solver
from surefoot.solvers.milp import Milp
from surefoot.solvers.protocol import Solver
from surefoot.term.arguments import check_fields, take_in_range, take_optional, whole_number
from surefoot.verdict.verdict import (
    Certificate,
    Holds,
    ProofArgument,
    Proved,
    Reason,
    Unknown,
    Vacuous,
    Verdict,
)
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late


@dataclass(frozen=True, slots=True, repr=False)
class Bmc:
    name: ClassVar[str] = "bmc"

    solver: Solver = field(default_factory=Milp)
    """Who answers the queries."""
    depth: int | None = None
    """Stop after this many steps; without it k grows until the budget ends."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        check_fields(self, solver=take_solver, depth=take_optional(take_in_range(whole_number, 0)))

    def objection(self, problem: Problem) -> str | None:
        if not isinstance(problem.property, Never | Within | Eventually | Recurs):
            kind = type(problem.property).__name__
            return f"bmc decides Never, Within, Eventually and Recurs; this property is {kind}"
        if problem.policy is None:
            return "bmc needs a policy; this problem has none"
        if (why := encoding_objection(problem)) is not None:
            return why
        limit, _ = self._limit(problem)
        encoded = unroll(problem, 1 if limit is None else min(1, limit))
        return self.solver.objection(encoded.query_with(encode_violation(encoded)))

    def check_start(self, problem: Problem, budget: Budget) -> Verdict:
        """What is known of the starts alone, whatever a step is."""
        return check_first_states(problem, self.solver, budget)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        limit, as_asked = self._limit(problem)
        levels = BoundedCheck(problem, self.solver, budget)
        known, doubt = -1, None  # no violation within `known` steps
        proof: Proof | None = None
        k = 0
        try:
            while limit is None or k <= limit:
                budget.progress(f"bmc: looking for a violation after {k} steps")
                if budget.is_spent():
                    return self._partial(Unknown(Reason.TIMEOUT, f"the budget ended before k = {k}"), known)
                match levels.examine(k, deeper=limit is None or k < limit):
                    case Clear(last, proof):
                        known = k if doubt is None else known
                        if last and doubt is None:
                            argument = ProofArgument(
                                "unrolled", k if limit is None or not as_asked else limit
                            )
                            return Holds(None, self.solver.name, as_asked=True, argument=argument)
                        if last:
                            break
                    case Doubt(unknown):
                        doubt = doubt or unknown
                    case Unknown() as unknown:
                        return self._partial(unknown, known)
                    case Vacuous() if doubt is not None:
                        break
                    case verdict:
                        return verdict
                k += 1
        except Late:
            late = Unknown(Reason.TIMEOUT, f"the budget ended while k = {k} was prepared")
            return self._partial(late, known)
        except KeyboardInterrupt:
            return self._partial(Unknown(Reason.INTERRUPTED, f"stopped while looking at k = {k}"), known)
        if doubt is not None:
            return self._partial(doubt, known)
        if known == 0 and as_asked and proof is not None:
            return verdict_from_proof(proof)
        shown = ProofArgument("unrolled", known) if as_asked else None
        return Holds(known, self.solver.name, as_asked, argument=shown)

    def _limit(self, problem: Problem) -> tuple[int | None, bool]:
        """How far to look, and whether the property itself asks for no more."""
        asked = problem.property.steps if isinstance(problem.property, Never | Within) else None
        given = [b for b in (asked, self.depth) if b is not None]
        limit = min(given) if given else None
        return limit, limit is not None and limit == asked

    def _partial(self, unknown: Unknown, known: int) -> Unknown:
        if known < 0:
            return unknown
        return Unknown(unknown.reason, unknown.detail, known, self.solver.name)


def verdict_from_proof(proof: Proof) -> Proved:
    """The verdict for a property that is one query."""
    content = {
        "surefoot-certificate": 2,
        "claim": proof.claim,
        "arithmetic": proof.arithmetic,
        "cases": list(proof.cases),
    }
    return Proved(Certificate("unsat", content), "proved" if proof.arithmetic == "float32" else "proved-real")
