"""k-induction (whiRL 2.0, section III): show that no sequence of k states, from anywhere, can go wrong.

For k = 1, 2, 3, … first the base: no run of k - 1 steps from an initial state is in trouble (that is bmc's
question, and its violations are reported as such). Then the step, about k consecutive states that may start
in ANY state within the declared ranges, reachable or not:

    Never(bad)        k - 1 states that are not bad, then one in trouble
    Recurs(good)      k states none of which is good; and, as for Never, a last state in trouble
    Eventually(good)  k states none of which is good

Trouble is what no run may come to: for `Never` a bad state; for `Recurs` a state that is not good and in
which the run ends, because a finite run violates it unless it ends well; for both a state in which the
property has no value, or from which a step would leave the range of a variable. If the solver finds no such
sequence the property holds along all runs. `Eventually` follows because every run is good within its first k
states, unless it ends before; that, and trouble before the first good state, is looked at in the base.

Trouble is a question of safety: if it can be reached then also by a run that passes no state twice, so such
runs suffice (the simple-path strengthening, which makes the method complete for finite systems). For the
sequences without good states this would be wrong: a loop of such states is what refutes `Recurs`, and it
passes states twice. There no such demand is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from surefoot.engines.bounded_check import BoundedCheck, Clear, Doubt, undecided_at, unfaithful_reason
from surefoot.engines.engine_text import show_changes
from surefoot.engines.simple_path import simple_run
from surefoot.engines.start_check import check_first_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs
from surefoot.query.query import Answer, Undecided, Unsat
from surefoot.reductions.refutation.violation import encode_no_good_state
from surefoot.reductions.unroll import Unrolling, unroll
from surefoot.reductions.unroll import encoding_objection as encoding_objection
from surefoot.solvers import take_solver
from surefoot.solvers.milp import Milp
from surefoot.solvers.protocol import Ask, Solver
from surefoot.term.arguments import check_fields, take_in_range, take_optional, whole_number
from surefoot.term.term import FALSE, Term, conjunction_of, disjunction_of
from surefoot.verdict.verdict import Holds, ProofArgument, Reason, Unknown, Verdict
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late


@dataclass(frozen=True, slots=True)
class OpenObligations:
    """What has not been shown yet, and why the solver could not decide some of it."""

    trouble: bool  # that no run comes to trouble
    sequence: bool  # that some of k consecutive states is good
    undecided: Unknown | None = None
    trouble_at: int = 0  # the k with which that was shown
    sequence_at: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Induction:
    name: ClassVar[str] = "induction"

    solver: Solver = field(default_factory=Milp)
    """Who answers the queries."""
    depth: int | None = None
    """The largest k that is tried; without it k grows until the budget ends."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        check_fields(self, solver=take_solver, depth=take_optional(take_in_range(whole_number, 0)))

    def objection(self, problem: Problem) -> str | None:
        match problem.property:
            case Never(_, None) | Eventually() | Recurs():
                pass
            case Never():
                return "induction is about whole runs; this property is about a number of steps"
            case other:
                kind = type(other).__name__
                return f"induction decides Never, Eventually and Recurs; this property is {kind}"
        if problem.policy is None:
            return "induction needs a policy; this problem has none"
        if (why := encoding_objection(problem)) is not None:
            return why
        encoded = unroll(problem, 1, from_initial=False)
        asked = disjunction_of((conjunction_of(nothing_good(encoded)), *_trouble_conditions(encoded)))
        return self.solver.objection(encoded.query_with(asked))

    def check_start(self, problem: Problem, budget: Budget) -> Verdict:
        """What is known of the starts alone, whatever a step is."""
        return check_first_states(problem, self.solver, budget)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        if (why := unfaithful_reason(unroll(problem, 0))) is not None:
            return why
        levels = BoundedCheck(problem, self.solver, budget, loops=False)
        left = OpenObligations(
            trouble=isinstance(problem.property, Never | Recurs),
            sequence=isinstance(problem.property, Eventually | Recurs),
        )
        known, k = -1, 1  # no violation within `known` steps
        try:
            while self.depth is None or k <= self.depth:
                budget.progress(f"induction: k = {k}")
                if budget.is_spent():
                    open_question = f"; {left.undecided.detail}" if left.undecided else ""
                    unknown = Unknown(Reason.TIMEOUT, f"the budget ended before k = {k}{open_question}")
                    return self._partial(unknown, problem, known)
                match levels.examine(k - 1, deeper=True):
                    case Clear(last):
                        known = k - 1
                        if last:
                            argument = ProofArgument("unrolled", k - 1)
                            return Holds(None, self.solver.name, as_asked=True, argument=argument)
                    case Doubt(unknown) | (Unknown() as unknown):
                        return self._partial(unknown, problem, known)
                    case verdict:
                        return verdict
                left = self._step(problem, k, left, budget)
                if not left.trouble and not left.sequence:
                    how, argument = f"by induction with k = {k}", _induction_argument(problem, left)
                    return Holds(None, self.solver.name, as_asked=True, how=how, argument=argument)
                k += 1
        except Late:
            unknown = Unknown(Reason.TIMEOUT, f"the budget ended while k = {k} was prepared")
            return self._partial(unknown, problem, known)
        except KeyboardInterrupt:
            unknown = Unknown(Reason.INTERRUPTED, f"stopped while looking at k = {k}")
            return self._partial(unknown, problem, known)
        unknown = left.undecided or Unknown(Reason.DEPTH, f"not shown by induction up to k = {k - 1}")
        return self._partial(unknown, problem, known)

    def _step(self, problem: Problem, k: int, left: OpenObligations, budget: Budget) -> OpenObligations:
        """What is left after the questions about k consecutive states from anywhere."""
        encoded = unroll(problem, k - 1, from_initial=False)
        answers: list[Answer] = []
        with self.solver.session(encoded.query, seconds=budget.remaining(), workers=budget.processes) as ask:
            if left.sequence:
                answers.append(ask(*nothing_good(encoded)))
            sequence = left.sequence and not isinstance(answers[-1], Unsat)
            if left.trouble:
                answers.append(_ask_for_trouble(encoded, ask))
            trouble = left.trouble and not isinstance(answers[-1], Unsat)
        undecided = (undecided_at(k, a) for a in answers if isinstance(a, Undecided))
        return OpenObligations(
            trouble,
            sequence,
            left.undecided or next(undecided, None),
            k if left.trouble else left.trouble_at,
            k if left.sequence else left.sequence_at,
        )

    def _partial(self, unknown: Unknown, problem: Problem, known: int) -> Unknown:
        """With what is known; about loops the base says nothing."""
        if known < 0 or not isinstance(problem.property, Never):
            return unknown
        return Unknown(unknown.reason, unknown.detail, known, self.solver.name)


def _induction_argument(problem: Problem, shown: OpenObligations) -> ProofArgument:
    """What was shown. `Eventually` needs the sequences from initial states only."""
    match problem.property:
        case Never():
            return ProofArgument("induction", shown.trouble_at)
        case Recurs():
            return ProofArgument("induction", shown.trouble_at, shown.sequence_at)
        case _:
            return ProofArgument("unrolled", shown.sequence_at - 1)


def _ask_for_trouble(encoded: Unrolling, ask: Ask) -> Answer:
    """Do some states that are not bad lead to one in trouble? Unsat only if to none of its kinds."""
    last = encoded.steps
    match encoded.problem.property:
        case Never(bad):
            before = tuple(encoded.condition_at(~bad, i) for i in range(last))
        case _:
            before = ()
    for trouble in _trouble_conditions(encoded):
        answer = simple_run(encoded, ask, (*before, trouble))
        if not isinstance(answer, Unsat):
            return answer
    return Unsat()


def _trouble_conditions(encoded: Unrolling) -> tuple[Term, ...]:
    """The kinds of trouble in the last state."""
    last = encoded.steps
    match encoded.problem.property:
        case Never(bad):
            found = [encoded.condition_at(bad, last), encoded.undefined_at(bad, last)]
        case Recurs(good):
            ends = conjunction_of((*encode_no_good_state(encoded, good, last, last), encoded.ended_at(last)))
            found = [ends, encoded.undefined_at(good, last)]
        case _:
            return ()
    if (escape := encoded.escape(last)) is not None:
        found.append(escape)
    return tuple(t for t in found if t != FALSE)


def nothing_good(encoded: Unrolling) -> tuple[Term, ...]:
    """No state of the sequence is good."""
    match encoded.problem.property:
        case Eventually(good) | Recurs(good):
            return encode_no_good_state(encoded, good, 0, encoded.steps)
        case _:
            return (FALSE,)
