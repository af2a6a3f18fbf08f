"""Runs of exactly k steps from the initial states: is one of them a violation, and what else is known then?

Engines share this examination of one length. It asks, in this order: is there a violating run; is there one
in whose last state the property has no value; is there any run of this length that still matters; can its
next step leave the range of a variable. Nothing is lost in silence: what the encoding does not cover is a
doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.engines.simple_path import simple_run
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.query.query import Answer, Assignment, Proof, Sat, Undecided, UndecidedReason, Unsat
from surefoot.reductions.refutation.violation import (
    encode_open_run,
    encode_undefined_property,
    encode_violation,
)
from surefoot.reductions.refutation.witness import confirm_violation, has_corner_start, undefined_after
from surefoot.reductions.scalar_layout import at_step
from surefoot.reductions.unroll import Unrolling, unroll
from surefoot.solvers.protocol import Ask, Solver, solve_query
from surefoot.term.term import FALSE
from surefoot.verdict.verdict import Reason, Trace, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget

REASONS = {
    UndecidedReason.TIMEOUT: Reason.TIMEOUT,
    UndecidedReason.MEMORY: Reason.MEMORY,
    UndecidedReason.INCOMPLETE: Reason.INCOMPLETE,
    UndecidedReason.NUMERICS: Reason.NUMERICS,
}


@dataclass(frozen=True, slots=True)
class Clear:
    """No violating run of this length; `last`: nor any longer one; `proof`: evidence that there is none."""

    last: bool
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """This length could not be settled, but a longer violation may still be found."""

    unknown: Unknown


def unfaithful_reason(encoded: Unrolling) -> Unknown | None:
    """Why "no solution" of this encoding says nothing about the runs."""
    if encoded.faithful is None:
        return None
    return Unknown(encoded.faithful.reason, encoded.faithful.detail)


@dataclass(frozen=True, slots=True)
class BoundedCheck:
    """The runs of a problem, one length after the other."""

    problem: Problem
    solver: Solver
    budget: Budget
    loops: bool = True  # also look at runs that return to an earlier state

    def examine(self, k: int, *, deeper: bool) -> Clear | Doubt | Verdict:
        """Everything about the runs of k steps; `deeper`: their next steps matter too."""
        encoded = unroll(self.problem, k)
        goal = encode_violation(encoded, loops=self.loops)
        proof: Proof | None = None
        clock = self.budget
        with self.solver.session(encoded.query, seconds=clock.remaining(), workers=clock.processes) as ask:
            if goal != FALSE:
                settled = self._interpret_answer(encoded, ask(goal))
                if settled is not None and not isinstance(settled, Proof):
                    return settled
                proof = settled
            if (doubt := unfaithful_reason(encoded)) is not None:
                return Doubt(doubt)
            if (unclear := encode_undefined_property(encoded)) != FALSE:
                match ask(unclear):
                    case Sat():
                        text = f"the property has no value in some state after {k} steps"
                        return Doubt(Unknown(Reason.INCOMPLETE, text))
                    case Undecided() as undecided:
                        return undecided_at(k, undecided)
            cleared = self._frontier(encoded, ask, deeper, proof)
        vague = self._vague_start(encoded) if k == 0 and isinstance(cleared, Clear | Vacuous) else None
        return cleared if vague is None else vague

    def _vague_start(self, encoded: Unrolling) -> Doubt | Verdict | None:
        """Why it is not known which runs there are; None: the start condition has a value in every state."""
        if encoded.system.vague_start == FALSE:
            return None
        anywhere = unroll(self.problem, 0, from_initial=False)
        asked = at_step(encoded.system.vague_start, 0)
        match solve_query(self.solver, anywhere.query, asked, seconds=self.budget.remaining()):
            case Unsat():
                return None
            case Sat():
                return Doubt(Unknown(Reason.INCOMPLETE, "the start condition has no value in some state"))
            case Undecided() as undecided:
                return undecided_at(0, undecided)

    def _interpret_answer(self, encoded: Unrolling, answer: Answer) -> Proof | Doubt | Verdict | None:
        """What the answer to the question for a violation of this length means; None: there is none."""
        match answer:
            case Unsat(proof):
                return proof
            case Sat(model):
                trace = confirm_violation(encoded, model)
                if isinstance(trace, Trace):
                    return Violated(trace)
                doubt = Unknown(
                    Reason.SPURIOUS, f"a candidate of {encoded.steps} steps does not replay: {trace}"
                )
                return self._in_reals(encoded.steps) or Doubt(doubt)
            case Undecided(why) as undecided:
                unknown = undecided_at(encoded.steps, undecided)
                if encoded.faithful is not None:
                    return unknown if why is UndecidedReason.TIMEOUT else None
                if why is UndecidedReason.NUMERICS and answer.proof is not None and self._is_one_query():
                    return answer.proof
                if why is UndecidedReason.NUMERICS:
                    return self._in_reals(encoded.steps) or unknown
                return unknown

    def _in_reals(self, steps: int) -> Proof | Verdict | None:
        """The same question without roundings: a violation that replays, a proof for reals, or nothing.

        A proof for reals is of use only if it settles the whole property: other lengths are about float32.
        """
        exact = unroll(self.problem, steps, rounding=False)
        goal = encode_violation(exact, loops=self.loops)
        match solve_query(self.solver, exact.query, goal, seconds=self.budget.remaining()):
            case Unsat(proof) if steps == 0 and self._is_one_query():
                return proof
            case Sat(model) if isinstance(trace := confirm_violation(exact, model), Trace):
                return Violated(trace)
            case _:
                return None

    def _is_one_query(self) -> bool:
        """Is the property about the first state alone?"""
        return isinstance(self.problem.property, Never | Within) and self.problem.property.steps == 0

    def _frontier(
        self, encoded: Unrolling, ask: Ask, deeper: bool, proof: Proof | None
    ) -> Clear | Doubt | Verdict:
        """No violation at k: is there any run of k steps, and do all its next steps stay in range?"""
        k, open_runs = encoded.steps, encode_open_run(encoded)
        if k == 0 and not deeper and self._is_one_query() and has_corner_start(encoded):
            return Clear(last=False, proof=proof)  # there is a run, and its next steps do not matter
        match ask(*open_runs):
            case Unsat():
                return self._no_longer_run(encoded, ask)
            case Undecided() as undecided:
                return undecided_at(k, undecided)
            case Sat(assignment):
                some = assignment
        outside = encoded.escape(k) if deeper else None
        if outside is not None and outside != FALSE:
            match ask(*open_runs, outside):
                case Sat(assignment):
                    what = undefined_after(encoded, assignment)
                    fix = "widen the range of the variable, or guard the edge"
                    return Doubt(Unknown(Reason.INCOMPLETE, f"after {k} steps {what}; {fix}"))
                case Undecided() as undecided:
                    return undecided_at(k, undecided)
        return Clear(last=deeper and self._all_return(encoded, ask, some), proof=proof)

    def _all_return(self, encoded: Unrolling, ask: Ask, some: Assignment) -> bool:
        """Every run of this length passes some state twice, so that a longer one shows nothing new.

        Asked where there are finitely many states. A shortest violation passes no state twice, but for the
        return of a lasso; and lassos of this length have been looked for.
        """
        if not self.loops or not encoded.is_finite or not isinstance(self.problem.property, Never | Recurs):
            return False
        return isinstance(simple_run(encoded, ask, (), some), Unsat)

    def _no_longer_run(self, encoded: Unrolling, ask: Ask) -> Clear | Verdict:
        """All runs that matter are shorter. Where there is no run at all the property says nothing."""
        k = encoded.steps
        if encode_open_run(encoded):  # no run of this length matters: is there any?
            match ask():
                case Sat():
                    return Clear(last=True)
                case Undecided() as undecided:
                    return undecided_at(k, undecided)
        if k == 0:
            return Vacuous("no state satisfies the initial condition")
        if not isinstance(self.problem.property, Eventually | Recurs):
            return Clear(last=True)
        for steps in range(k):
            shorter = unroll(self.problem, steps)
            match solve_query(
                self.solver, shorter.query, shorter.ended_at(steps), seconds=self.budget.remaining()
            ):
                case Sat():
                    return Clear(last=True)
                case Undecided() as undecided:
                    return undecided_at(steps, undecided)
        return Vacuous(f"what the environment assumes cannot be kept for {k} steps, and no run ends before")


def undecided_at(k: int, undecided: Undecided) -> Unknown:
    return Unknown(REASONS[undecided.why], f"k = {k}: {undecided.detail}")
