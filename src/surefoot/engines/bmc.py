"""Bounded model checking (whiRL 1.0, section 4.2): look for a violating run of length 0, 1, 2, …

For k = 0, 1, 2, … the problem is unrolled into k steps and the solver is asked for an initial state and moves
that end badly (`Never`), or that see nothing good from state `after` to state `steps` (`Within`, the paper's
bounded liveness; a run that ends earlier counts too). A model is only a candidate: it is re-run with the
reference semantics and becomes a verdict when that run violates the property.

Beyond the paper: where no run of k steps exists the search is complete and says so; an update that could
leave its variable's range is reported instead of being cut off by the encoding; network outputs carry their
rounding error, so that "no violation" covers the float32 network. A property of the first state alone is one
query: if the solver proves it, so is the property, where need be in real arithmetic only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from surefoot.encode.call import MAY_OVERFLOW
from surefoot.encode.concrete import concretise
from surefoot.encode.unroll import Encoded, unroll
from surefoot.encode.unroll import objection as encoding_objection
from surefoot.errors import Unsupported
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Within
from surefoot.problem.semantics import holds, successors
from surefoot.problem.term import FALSE, Term, conjunction
from surefoot.query.query import Answer, Assignment, Proof, Sat, Undecided, Unsat, Why
from surefoot.solve.milp import Milp
from surefoot.solve.protocol import Ask, Solver, solve
from surefoot.verdict.verdict import (
    Certificate,
    Holds,
    Proved,
    Reason,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.work.budget import Budget

REASONS = {
    Why.TIMEOUT: Reason.TIMEOUT,
    Why.MEMORY: Reason.MEMORY,
    Why.INCOMPLETE: Reason.INCOMPLETE,
    Why.NUMERICS: Reason.NUMERICS,
}


@dataclass(frozen=True, slots=True)
class Clear:
    """No violating run of this length; `last`: no run is longer; `proof`: evidence that there is none."""

    last: bool
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """This length could not be settled, but a longer violation may still be found."""

    unknown: Unknown


@dataclass(frozen=True, slots=True)
class Bmc:
    name: ClassVar[str] = "bmc"

    solver: Solver = field(default_factory=Milp)
    """Who answers the queries."""
    depth: int | None = None
    """Stop after this many steps; without it k grows until the budget ends."""

    def objection(self, problem: Problem) -> str | None:
        if not isinstance(problem.property, Never | Within):
            return f"bmc decides Never and Within; this property is {type(problem.property).__name__}"
        if problem.policy is None:
            return "bmc needs a policy; this problem has none"
        if (why := encoding_objection(problem)) is not None:
            return why
        limit, _ = self._limit(problem)
        return self.solver.objection(unroll(problem, 1 if limit is None else min(1, limit)).query)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        limit, as_asked = self._limit(problem)
        known, doubt = -1, None  # no violation within `known` steps
        proof: Proof | None = None
        k = 0
        try:
            while limit is None or k <= limit:
                budget.progress(f"bmc: looking for a violation after {k} steps")
                if budget.spent():
                    return self._partial(Unknown(Reason.TIMEOUT, f"the budget ended before k = {k}"), known)
                match self._level(problem, k, budget, deeper=limit is None or k < limit):
                    case Clear(last, proof):
                        known = k if doubt is None else known
                        if last and doubt is None:
                            return Holds(None, self.solver.name, as_asked=True)
                        if last:
                            break
                    case Doubt(unknown):
                        doubt = doubt or unknown
                    case Unknown() as unknown:
                        return self._partial(unknown, known)
                    case verdict:
                        return verdict
                k += 1
        except KeyboardInterrupt:
            return self._partial(Unknown(Reason.INTERRUPTED, f"stopped while looking at k = {k}"), known)
        if doubt is not None:
            return self._partial(doubt, known)
        if known == 0 and as_asked and proof is not None:
            return proved(proof)
        return Holds(known, self.solver.name, as_asked)

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

    def _level(self, problem: Problem, k: int, budget: Budget, deeper: bool) -> Clear | Doubt | Verdict:
        encoded = unroll(problem, k)
        goal = violation(encoded, problem, k)
        proof: Proof | None = None
        with self.solver.session(encoded.query, seconds=budget.remaining()) as ask:
            if goal != FALSE:
                settled = self._settled(problem, encoded, ask(goal), budget)
                if settled is not None and not isinstance(settled, Proof):
                    return settled
                proof = settled
            if encoded.faithful is not None:
                overflow = encoded.faithful.endswith(MAY_OVERFLOW)
                return Doubt(Unknown(Reason.OVERFLOW if overflow else Reason.INCOMPLETE, encoded.faithful))
            if (unclear := meaningless(encoded, problem, k)) != FALSE:
                match ask(unclear):
                    case Sat():
                        text = f"the property has no value in some state after {k} steps"
                        return Doubt(Unknown(Reason.INCOMPLETE, text))
                    case Undecided(why, detail):
                        return Unknown(REASONS[why], f"k = {k}: {detail}")
            return self._frontier(encoded, k, ask, deeper, proof)

    def _settled(
        self, problem: Problem, encoded: Encoded, answer: Answer, budget: Budget
    ) -> Proof | Doubt | Verdict | None:
        """What the answer to the question for a violation of this length means; None: there is none."""
        match answer:
            case Unsat(proof):
                return proof
            case Sat(model):
                trace = confirmed(problem, encoded, model)
                if isinstance(trace, Trace):
                    return Violated(trace)
                doubt = Unknown(
                    Reason.SPURIOUS, f"a candidate of {encoded.steps} steps does not replay: {trace}"
                )
                return self._in_reals(problem, encoded.steps, budget) or Doubt(doubt)
            case Undecided(why, detail):
                unknown = Unknown(REASONS[why], f"k = {encoded.steps}: {detail}")
                if encoded.faithful is not None:
                    return unknown if why is Why.TIMEOUT else None
                if why is Why.NUMERICS:
                    return self._in_reals(problem, encoded.steps, budget) or unknown
                return unknown

    def _in_reals(self, problem: Problem, steps: int, budget: Budget) -> Proof | Verdict | None:
        """The same question without roundings: a violation that replays, a proof for reals, or nothing.

        A proof for reals is of use only if it settles the whole property.
        """
        exact = unroll(problem, steps, rounding=False)
        goal = violation(exact, problem, steps)
        match solve(self.solver, exact.query, goal, seconds=budget.remaining()):
            case Unsat(proof) if steps == 0:
                return proof
            case Sat(model) if isinstance(trace := confirmed(problem, exact, model), Trace):
                return Violated(trace)
            case _:
                return None

    def _frontier(
        self, encoded: Encoded, k: int, ask: Ask, deeper: bool, proof: Proof | None
    ) -> Clear | Doubt | Verdict:
        """No violation at k: is there any run of k steps, and do all its next steps stay in range?"""
        match ask():
            case Unsat():
                return Vacuous("no state satisfies the initial condition") if k == 0 else Clear(last=True)
            case Undecided(why, detail):
                return Unknown(REASONS[why], f"k = {k}: {detail}")
        outside = encoded.escape(k) if deeper else None
        if outside is not None and outside != FALSE:
            match ask(outside):
                case Sat(assignment):
                    what = undefined_after(encoded, assignment)
                    fix = "widen the range of the variable, or guard the edge"
                    return Doubt(Unknown(Reason.INCOMPLETE, f"after {k} steps {what}; {fix}"))
                case Undecided(why, detail):
                    return Unknown(REASONS[why], f"k = {k}: {detail}")
        return Clear(last=False, proof=proof)


def proved(proof: Proof) -> Proved:
    """The verdict for a property that is one query."""
    content = {
        "surefoot-certificate": 1,
        "claim": proof.claim,
        "arithmetic": proof.arithmetic,
        "cases": list(proof.cases),
    }
    return Proved(Certificate("unsat", content), "proved" if proof.arithmetic == "float32" else "proved-real")


def violation(encoded: Encoded, problem: Problem, k: int) -> Term:
    """The condition under which a run of exactly k steps violates the property."""
    match problem.property:
        case Never(bad):
            return encoded.condition(bad, k)
        case Within(good, steps, after):
            missed = tuple(encoded.condition(~good, i) for i in range(after, k + 1))
            return conjunction(missed if k == steps else (*missed, encoded.ended(k)))
        case other:
            raise TypeError(f"bmc does not decide {type(other).__name__}")


def meaningless(encoded: Encoded, problem: Problem, k: int) -> Term:
    """The condition under which the property has no value in the last state: division by zero, say."""
    match problem.property:
        case Never(bad):
            return encoded.undefined(bad, k)
        case Within(good, _, after):
            return encoded.undefined(good, k) if k >= after else FALSE
        case _:
            return FALSE


def confirmed(problem: Problem, encoded: Encoded, model: Assignment) -> Trace | str:
    """The candidate as a true run that violates the property, or why it is none."""
    trace = concretise(problem, encoded.decode(model))
    if isinstance(trace, str) or not isinstance(problem.property, Never):
        return trace
    try:
        for number, state in enumerate(trace.states):
            if holds(problem, state, problem.property.bad):
                return Trace(trace.states[: number + 1], trace.moves[:number])
    except Undefined as error:
        return str(error)
    return "its last state is not bad in float32"


def undefined_after(encoded: Encoded, model: Assignment) -> str:
    """What goes wrong in a next step of this run, as the reference semantics says it."""
    trace = concretise(encoded.problem, encoded.decode(model))
    if isinstance(trace, Trace):
        try:
            for _ in successors(encoded.problem, trace.states[-1]):
                pass
        except Undefined as error:
            return str(error)
        except Unsupported:
            pass  # infinitely many choices: which of them goes wrong is not told
    return "a step may leave the range of a variable or of an array index"
