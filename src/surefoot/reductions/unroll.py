"""k steps of a problem as one query, and the way back from its answers.

What a query admits: every run of the reference semantics of exactly `steps` steps, and (where rounding or a
tie makes it possible) a few more. A run that would leave a variable's kind, or evaluate an undefined term, is
cut off before that step; `escape` says where that happens, so that nothing is lost in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from surefoot.errors import Unsupported
from surefoot.problem.identity import ProblemIdentity
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Expected, Never, Probability, Property, Recurs, Within
from surefoot.problem.semantics import Move
from surefoot.query.query import Assignment, NetworkCall, Query, QueryVariable
from surefoot.query.reduction import Reduction
from surefoot.reductions.concretise import CandidateRun
from surefoot.reductions.expand import expand_scalar, undefined_condition
from surefoot.reductions.scalar_layout import at_step, invert_value
from surefoot.reductions.transition_branch import TransitionBranch
from surefoot.reductions.transition_system import (
    TransitionSystem,
    build_transition_system,
    encoding_objection,
)
from surefoot.term.interval import Kinds, Scalar
from surefoot.term.term import (
    FALSE,
    TRUE,
    Const,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    equal,
    free_names,
    negate_condition,
    split_conjunction,
)
from surefoot.term.value_types import Arithmetic, Bool, Int
from surefoot.verdict.verdict import Refused

__all__ = ["Unrolling", "encoding_objection", "unroll"]


@dataclass(frozen=True, slots=True)
class Unrolling:
    query: Query
    problem: Problem
    steps: int
    faithful: Refused | None  # why "no solution" must not be taken for "no such run"
    system: TransitionSystem
    decides_last: bool  # the policy is asked in the last state too

    def query_with(self, more: Term) -> Query:
        """The query with one more condition, unless that is false of every run."""
        extra = () if more == FALSE else (more,)
        return Query(self.query.quantities, self.query.constraints + extra, self.query.calls)

    def condition_at(self, term: Term, step: int) -> Term:
        """A condition of a property, about one state of the run."""
        return self._at(expand_scalar(term, self.system.names_in(term)), step)

    def undefined_at(self, term: Term, step: int) -> Term:
        """A condition of a property, or the policy that it asks about, has no value in one state."""
        system, scope = self.system, self.system.names_in(term)
        unclear = undefined_condition(term, scope, {**system.layout.kinds, **system.decision_kinds})
        if free_names(expand_scalar(term, scope)) & set(system.decision_kinds):
            unclear = disjunction_of((unclear, negate_condition(system.orderly)))
        return self._at(unclear, step)

    def ended_at(self, step: int) -> Term:
        """The run may end: something that the policy may pick leaves no transition."""
        return self._at(self.system.ended, step)

    def same_state(self, first: int, second: int) -> Term:
        """Two states of the run are one and the same: all their variables and locations are equal."""
        scalars = self.system.layout.kinds
        return conjunction_of(tuple(equal(Var(f"{n}@{first}"), Var(f"{n}@{second}")) for n in scalars))

    def are_same(self, assignment: Assignment, first: int, second: int) -> bool:
        """Are these two states one and the same in a solution?"""
        scalars = self.system.layout.kinds
        return all(assignment[f"{n}@{first}"] == assignment[f"{n}@{second}"] for n in scalars)

    @property
    def is_finite(self) -> bool:
        """Are there finitely many states?"""
        return all(_is_finite(kind) for kind in self.system.layout.kinds.values())

    def escape(self, step: int) -> Term | None:
        """Some permitted step from here has no value or leaves a variable's kind; None: surely not.

        To be asked about the last state: in the others the query says that an orderly step is taken.
        """
        return None if self.system.escape is None else self._at(self.system.escape, step)

    def invert(self, assignment: Assignment) -> CandidateRun:
        """The initial state and the moves that a solution stands for."""
        system, environment = self.system, self.problem.environment
        in_float64 = environment.arithmetic is Arithmetic.FLOAT64
        first = {name: assignment[f"{name}@0"] for name in system.layout.kinds}
        initial = system.layout.invert(environment, first, in_float64)
        moves = []
        for step in range(self.steps):
            _, leap = system.leaps[round(assignment[f"{system.selector}@{step}"])]
            picked = {name: assignment[f"{name}@{step}"] for name in system.chosen_kinds}
            chosen = {n: invert_value(k, t, picked, in_float64) for n, k, t in leap.chosen}
            moves.append(Move(leap.transition, leap.outcomes, chosen))
        return CandidateRun(initial, tuple(moves))

    def _at(self, term: Term, step: int) -> Term:
        if not 0 <= step <= self.steps:
            raise ValueError(f"the run has states 0 to {self.steps}, not {step}")
        if (
            step == self.steps
            and not self.decides_last
            and free_names(term) & set(self.system.decision_kinds)
        ):
            raise ValueError("the policy is not asked in the last state; unroll with decide_last=True")
        return at_step(term, step)


@lru_cache(maxsize=2)
def _cached_system(same: ProblemIdentity, rounding: bool) -> TransitionSystem:
    """What is the same for runs of every length, kept for the next one."""
    if (why := encoding_objection(same.problem)) is not None:
        raise Unsupported(why)
    return build_transition_system(same.problem, rounding)


def unroll(
    problem: Problem,
    steps: int,
    *,
    from_initial: bool = True,
    rounding: bool = True,
    decide_last: bool = True,
) -> Unrolling:
    """The runs of exactly `steps` steps, from initial states or from any state.

    `rounding`: network outputs may be off by their float32 rounding error; without, the networks are exact.
    `decide_last` False leaves the policy out of the last state, unless the property speaks about it.
    """
    return _cached_unrolling(ProblemIdentity(problem), steps, from_initial, rounding, decide_last)


@lru_cache(maxsize=4)
def _cached_unrolling(
    same: ProblemIdentity, steps: int, from_initial: bool, rounding: bool, decide_last: bool
) -> Unrolling:
    """The runs whose query was looked at for objections are those that are asked about next."""
    return _copy_steps(same.problem, steps, from_initial, rounding, decide_last)


def _copy_steps(
    problem: Problem, steps: int, from_initial: bool, rounding: bool, decide_last: bool
) -> Unrolling:
    system = _cached_system(ProblemIdentity(problem), rounding)
    decides_last = decide_last or _asks_policy(problem.property, system)
    quantities: list[QueryVariable] = []
    constraints: list[Term] = [at_step(system.initial, 0)] if from_initial else []
    calls: list[NetworkCall] = []
    for step in range(steps + 1):
        moves = step < steps
        quantities += _step_variables(system.layout.kinds, step)
        quantities += _step_variables(system.escape_kinds, step)
        if moves or decides_last:
            quantities += _step_variables(system.decision_kinds, step)
            constraints += [at_step(c, step) for c in system.constraints]
            calls += [
                NetworkCall(
                    c.network,
                    tuple(at_step(t, step) for t in c.inputs),
                    _step_names(c.outputs, step),
                    c.slack,
                    c.float32,
                )
                for c in system.calls
            ]
        if moves:
            quantities += _step_variables(system.chosen_kinds, step)
            quantities.append(
                QueryVariable(f"{system.selector}@{step}", Int(0, max(0, len(system.leaps) - 1)))
            )
            constraints += _encode_step(system, step)
    query = Query(tuple(quantities), tuple(c for c in constraints if c != TRUE), tuple(calls))
    return Unrolling(query, problem, steps, system.doubt, system, decides_last)


def _is_finite(kind: Scalar) -> bool:
    return isinstance(kind, Bool) or (
        isinstance(kind, Int) and kind.low is not None and kind.high is not None
    )


def _step_names(names: tuple[str, ...], step: int) -> tuple[str, ...]:
    return tuple(f"{n}@{step}" for n in names)


def _step_variables(kinds: Kinds, step: int) -> list[QueryVariable]:
    return [QueryVariable(f"{name}@{step}", kind) for name, kind in kinds.items()]


def _asks_policy(asked: Property, system: TransitionSystem) -> bool:
    """Does the property speak about what the policy does?"""
    match asked:
        case Never(condition) | Eventually(condition) | Recurs(condition) | Within(condition):
            conditions: tuple[Term, ...] = (condition,)
        case Probability(path):
            conditions = (path.left, path.right)
        case Expected(_, until):
            conditions = (until,)
    used = (free_names(expand_scalar(c, system.names_in(c))) for c in conditions)
    return any(names & set(system.decision_kinds) for names in used)


def _encode_step(system: TransitionSystem, step: int) -> Iterator[Term]:
    """A disjunction over the leaps; what all of them have in common is said once."""
    yield at_step(system.orderly, step)
    cases = [_branch_constraints(when, leap, step) for when, leap in system.leaps]
    if not cases:
        yield FALSE
        return
    common = set(cases[0]).intersection(*cases[1:])
    yield from (part for part in cases[0] if part in common)
    selector = Var(f"{system.selector}@{step}")
    own = (tuple(part for part in case if part not in common) for case in cases)
    if len(cases) > 1:
        yield disjunction_of(
            tuple(conjunction_of((equal(selector, m), *parts)) for m, parts in enumerate(own))
        )


def _branch_constraints(when: Term, leap: TransitionBranch, step: int) -> list[Term]:
    """What a leap demands, in the order in which it must be looked at, and the next state."""
    demanded = at_step(conjunction_of((when, leap.possible)), step)
    following = (_assignment_term(f"{name}@{step + 1}", at_step(v, step)) for name, v in leap.after.items())
    return [*split_conjunction(demanded), *following]


def _assignment_term(name: str, value: Term) -> Term:
    if isinstance(value, Const) and isinstance(value.value, bool):
        return Var(name) if value.value else ~Var(name)
    return equal(Var(name), value)


UNROLL = Reduction("unroll", encoding_objection, unroll, Unrolling.invert)
