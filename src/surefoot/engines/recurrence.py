"""Recurrence sets: runs that violate a property for ever without ever returning to a state.

Where real values never repeat there is no lasso. What takes its place (after Gupta, Henzinger, Majumdar,
Rybalchenko and Xu, "Proving Non-Termination", POPL 2008) is a set of states which a run from a start comes
to, in which no state is good, and from each of whose states some step leads back into the set. "Some step" is
made one question about all states of the set by fixing how the environment picks: by a habit, such as keeping
an input as it is.

1. The solver finds a run of k = 0, 1, 2, … steps whose last state is not good (for `Eventually`: none is).
2. The reference semantics prolongs it by a habit, until some steps in a row have met no good state.
3. Candidates are boxes around the states it passes then: one, or a ring of several where truth values,
   locations and edges alternate; wider than need be, or open towards where a number goes, with "not good"
   added.
4. The solver is asked for a state of a box from which the step is impossible, may not be taken by the policy
   within its rounding error, leads out, or which is good. A box is widened to where a step leads, and cut
   where a state is good or has no such step, until there is no such state or patience ends.

Nothing found here is an answer yet: the run is replayed and the set is certified before anything is called
violated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from surefoot.engines.bounded_check import undecided_at
from surefoot.engines.engine_text import show_changes
from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Recurs
from surefoot.problem.semantics import State, apply_move, holds_in_state
from surefoot.query.query import Sat, Undecided, UndecidedReason, Unsat
from surefoot.reductions.concretise import concrete_runs
from surefoot.reductions.refutation.environment_strategies import (
    ENVIRONMENT_STRATEGIES,
    StrategyRun,
    follow_strategy,
)
from surefoot.reductions.refutation.recurrence_set import recurrence_failures
from surefoot.reductions.refutation.state_boxes import (
    StateBox,
    StateScalar,
    box_around_states,
    history_groups,
    state_scalars,
)
from surefoot.reductions.refutation.violation import encode_no_good_state
from surefoot.reductions.unroll import Unrolling, unroll
from surefoot.reductions.unroll import encoding_objection as encoding_objection
from surefoot.solvers import take_solver
from surefoot.solvers.milp import Milp
from surefoot.solvers.native import Native
from surefoot.solvers.protocol import Ask, Solver, solve_query
from surefoot.term.arguments import check_fields, take_in_range, take_optional, whole_number
from surefoot.term.normal_form import fold_condition
from surefoot.term.term import TRUE, Apply, Op, Term, conjunction_of, disjunction_of, free_names
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.recurrence import recurrence_move
from surefoot.verdict.verdict import Reason, RecurrenceRegion, Trace, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

LONGEST = 12  # run to a set, unless asked for more
PROLONGED = 32  # steps by habit
LARGEST_RING = 6
ROUNDS = 16  # of widening and cutting
LEAST_SECONDS = 2.0  # for one candidate


@dataclass(frozen=True, slots=True, repr=False)
class Recurrence:
    name: ClassVar[str] = "recurrence"

    solver: Solver = field(default_factory=Milp)
    """Who looks for runs; sets are always left to `native`, which has to prove them in the end."""
    depth: int | None = None
    """The longest run to a set that is looked for; without it 12 steps."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        check_fields(self, solver=take_solver, depth=take_optional(take_in_range(whole_number, 0)))

    def objection(self, problem: Problem) -> str | None:
        if not isinstance(problem.property, Eventually | Recurs):
            kind = type(problem.property).__name__
            return f"recurrence sets refute Eventually and Recurs; this property is {kind}"
        if problem.policy is None:
            return "recurrence needs a policy; this problem has none"
        environment = problem.environment
        if environment.arithmetic is not Arithmetic.EXACT or len(environment.components) != 1:
            return "recurrence sets are certified for exact environments with a single component"
        if (why := encoding_objection(problem)) is not None:
            return why
        anywhere = unroll(problem, 0, from_initial=False).query
        return self.solver.objection(anywhere) or Native().objection(anywhere)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        assert isinstance(problem.property, Eventually | Recurs)
        good, longest = problem.property.good, LONGEST if self.depth is None else self.depth
        tried: set[object] = set()
        try:
            search = _Search(problem, unroll(problem, 0, from_initial=False), budget, good)
            for k in range(longest + 1):
                budget.progress(f"recurrence: sets that a run comes to in {k} steps")
                run = self._find_run(problem, k, budget)
                if isinstance(run, Unknown):
                    return run
                for habit in ENVIRONMENT_STRATEGIES:
                    if budget.is_spent():
                        return Unknown(Reason.TIMEOUT, f"the budget ended at k = {k}")
                    followed = None if run is None else follow_strategy(problem, run, habit, PROLONGED)
                    if followed is None or (key := _run_key(followed)) in tried:
                        continue
                    tried.add(key)
                    trace = search.endless(followed)
                    if trace is not None:
                        return Violated(trace)
        except KeyboardInterrupt:
            return Unknown(Reason.INTERRUPTED, "stopped while looking for a recurrence set")
        what = f"no recurrence set among boxes around runs of up to {longest} steps"
        return Unknown(Reason.INCOMPLETE, what)

    def _find_run(self, problem: Problem, k: int, budget: Budget) -> Trace | Unknown | None:
        """A run of k steps that may go on without a good state; None if there is none at hand."""
        assert isinstance(problem.property, Eventually | Recurs)
        encoded, good = unroll(problem, k), problem.property.good
        first = 0 if isinstance(problem.property, Eventually) else k or 1  # every start will do for `Recurs`
        asked = encode_no_good_state(encoded, good, first, k)
        match solve_query(self.solver, encoded.query, *asked, seconds=budget.remaining()):
            case Sat(model):
                found = (r for r in concrete_runs(problem, encoded.invert(model)) if isinstance(r, Trace))
                return next((r for r in found if _is_quiet(problem, r.states[first:], good)), None)
            case Unsat() if isinstance(problem.property, Eventually):
                return Unknown(Reason.INCOMPLETE, f"no run of {k} steps is without a good state")
            case Undecided(UndecidedReason.TIMEOUT) as undecided:
                return undecided_at(k, undecided)
            case _:
                return None


def _is_quiet(problem: Problem, states: Sequence[State], good: Term) -> bool:
    try:
        return not any(holds_in_state(problem, s, good) for s in states)
    except InvalidProblem:  # it has no value
        return False


def _negate_condition(condition: Term) -> Term:
    """The opposite, with comparisons turned round, so that it reads well."""

    def literal(part: Term, sign: bool) -> Term:
        match part:
            case Apply(Op.LE, (left, right)) if not sign:
                return left > right
            case Apply(Op.LT, (left, right)) if not sign:
                return left >= right
            case _:
                return part if sign else ~part

    return fold_condition(
        condition,
        False,
        literal,
        lambda parts: conjunction_of(tuple(parts)),
        lambda parts: disjunction_of(tuple(parts)),
    )


def _run_key(followed: StrategyRun) -> object:
    """Equal for runs that come to the same in the same way."""
    return tuple(sorted(followed.trace.states[-1].items())), followed.steps


@dataclass(frozen=True, slots=True)
class _Search:
    """Candidates around a run that was prolonged, and what becomes of them."""

    problem: Problem
    anywhere: Unrolling
    budget: Budget
    good: Term

    def endless(self, followed: StrategyRun) -> Trace | None:
        """The run up to the first state of a recurrence set around it, with that set."""
        for steps, boxes, core, guard in self._candidates(followed):
            seconds = min(self.budget.remaining(), max(LEAST_SECONDS, self.budget.remaining() / 16))
            prover = Native(seed=self.budget.seed, proof=False)
            with prover.session(self.anywhere.query, seconds=seconds) as ask:
                regions = self._close_boxes(ask, steps, boxes, core, guard)
            if regions is not None and (trace := self._trace_into_ring(followed, regions)) is not None:
                return trace
        return None

    def _trace_into_ring(self, followed: StrategyRun, regions: tuple[RecurrenceRegion, ...]) -> Trace | None:
        trace = followed.trace
        for number in range(len(trace.moves) - len(followed.steps), len(trace.states)):
            for place, region in enumerate(regions):
                if holds_in_state(self.problem, trace.states[number], region.where):
                    ring = regions[place:] + regions[:place]
                    return Trace(trace.states[: number + 1], trace.moves[:number], None, ring)
        return None

    def _candidates(
        self, followed: StrategyRun
    ) -> Iterator[tuple[Sequence[RecurrenceRegion], tuple[StateBox, ...], tuple[StateBox, ...], Term]]:
        """Rings of boxes with their steps, boxes around what must stay inside, and what else is demanded."""
        places = state_scalars(self.problem.environment)
        own = {v.name for v in self.problem.environment.variables}
        guard = _negate_condition(self.good) if free_names(self.good) <= own else TRUE
        count = len(followed.steps)
        states = followed.trace.states[-count - 1 :]
        size = _ring_period(places, states, followed.steps)
        if size is None:
            return
        last = [states[count - size + i :: size] for i in range(size)]
        core = tuple(box_around_states(places, several[:1]) for several in last)
        groups = history_groups(self.problem.environment, places) if size == 1 else ()
        for first in (0, count // 4, count // 2):
            start = count - size - (count - size - first) // size * size  # a whole number of rings to the end
            rings = [states[start + i : count : size] for i in range(size)]
            steps = followed.steps[start : start + size]
            exact = [box_around_states(places, several, groups) for several in rings]
            wide = (steps, tuple(b.wider(Fraction(1)) for b in exact), core, TRUE)
            if size > 1:
                yield wide
            for share in (Fraction(1, 32), Fraction(0)):
                both = zip(exact, rings, strict=True)
                yield steps, tuple(b.wider(share).open_sides(several) for b, several in both), core, guard
            if size == 1:
                yield wide

    def _close_boxes(
        self,
        ask: Ask,
        steps: Sequence[RecurrenceRegion],
        boxes: tuple[StateBox, ...],
        core: tuple[StateBox, ...],
        guard: Term,
    ) -> tuple[RecurrenceRegion, ...] | None:
        """The boxes, widened and cut until a run can stay in them; None if that does not come about."""
        for _ in range(ROUNDS):
            plain = tuple(replace(s, where=b.where()) for b, s in zip(boxes, steps, strict=True))
            regions = tuple(replace(r, where=conjunction_of((r.where, guard))) for r in plain)
            found = self._trouble(ask, regions)
            if found is None:  # often the boxes alone will do, and read better
                return plain if guard != TRUE and self._trouble(ask, plain) is None else regions
            if isinstance(found, Undecided):
                return None
            place, what, state = found
            changed = self._adjust_boxes(regions, boxes, core, place, what, state)
            if changed is None:
                return None
            boxes = changed
        return None

    def _trouble(
        self, ask: Ask, regions: tuple[RecurrenceRegion, ...]
    ) -> tuple[int, str, State] | Undecided | None:
        """The first state that does not do as its region says."""
        for place, region in enumerate(regions):
            following = regions[(place + 1) % len(regions)]
            for what, question in recurrence_failures(self.anywhere, region, following):
                match ask(question):
                    case Sat(model):
                        return place, what, self.anywhere.invert(model).initial
                    case Undecided() as undecided:
                        return undecided
        return None

    def _adjust_boxes(
        self,
        regions: tuple[RecurrenceRegion, ...],
        boxes: tuple[StateBox, ...],
        core: tuple[StateBox, ...],
        place: int,
        what: str,
        state: State,
    ) -> tuple[StateBox, ...] | None:
        changed, following = list(boxes), (place + 1) % len(boxes)
        if what == "outside":
            try:
                after = apply_move(self.problem, state, recurrence_move(self.problem, state, regions[place]))
            except InvalidProblem:
                return None
            box = boxes[following].widened_to(after)
            place = following
        else:
            box = boxes[place].without(state, core[place])
        if box is None or box == boxes[place]:
            return None
        changed[place] = box
        return tuple(changed)


def _ring_period(
    places: Sequence[StateScalar], states: Sequence[State], steps: Sequence[RecurrenceRegion]
) -> int | None:
    """The length of the ring in which truth values, locations and steps of the later half repeat."""
    half = len(steps) // 2
    others = [p for p in places if not p.is_number]
    seen = [(tuple(p.value_in(s) for p in others), done) for s, done in zip(states, steps, strict=False)][
        half:
    ]
    for size in range(1, min(LARGEST_RING, len(seen) // 2) + 1):
        if all(a == b for a, b in zip(seen, seen[size:], strict=False)):
            return size
    return None
