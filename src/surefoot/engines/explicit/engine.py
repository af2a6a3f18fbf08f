"""Explicit states: probabilities, expected rewards and runs of everything that is reachable.

The reachable part of the problem becomes a Markov decision process (`compile`), where a policy has already
decided what is its own; what stays open is resolved for the least or the greatest value. The solver
(`solve/markov`) answers with bounds that hold exactly, for all states at once. What the checker needs are
these bounds, sorted by state: it derives the process again from the problem (docs/certificates.md, 11).
Deep statistical model checking (the induced chain of a policy) samples what is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.compile import Explored, explore
from surefoot.engines.explicit.asked import Asked, Posed, asked, posed
from surefoot.engines.explicit.evidence import in_order, values
from surefoot.engines.explicit.runs import decide
from surefoot.errors import Unsupported
from surefoot.problem.environment import Arithmetic, Array, Bool, Int, Kind
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.problem.policy import Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Never, Probability
from surefoot.query.markov import Answer
from surefoot.solve.markov import Undecided, solve
from surefoot.verdict.verdict import Certificate, Exact, PerStart, Reason, Unknown, Verdict
from surefoot.work.budget import Budget

End = Fraction | None  # None: infinite
MOST_NAMED = 3  # near ties that are told
_OVER = ("min", "max", "sum", "avg", "values")


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """What was explored, and one side of the question, or both: least and greatest."""

    explored: Explored
    sides: tuple[tuple[Asked, Posed, Answer], ...]


@dataclass(frozen=True, slots=True)
class Explicit:
    name: ClassVar[str] = "explicit"

    width: Fraction = Fraction(1, 10**6)
    """How wide the interval of an answer may be, relative to its lower end."""
    exact: bool = False
    """Compute in fractions: the answer is the number itself. For models that are not too large."""
    max_states: int | None = None
    """Stop exploring here; bounds then cover whatever the rest could do."""
    memory: int | None = None
    """Stop exploring when the states take so many megabytes."""

    def objection(self, problem: Problem) -> str | None:
        if not isinstance(problem.property, Probability | Expected):
            return _objection_to_runs(problem)
        if problem.property.over not in _OVER:
            return f"explicit does not know the filter `{problem.property.over}` over start states"
        if problem.property.starts is not None and _has_reward_bound(problem.property):
            return "explicit counts rewards from the initial states only"
        try:
            asked(problem.property, "max")
        except Unsupported as why:
            return f"explicit does not cover {why}"
        return None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        try:
            return self._answer(problem, budget)
        except (Unsupported, Undefined) as why:  # of a state that only exploration comes to
            return Unknown(Reason.INCOMPLETE, str(why))

    def _answer(self, problem: Problem, budget: Budget) -> Verdict:
        if not isinstance(problem.property, Probability | Expected):
            return self._runs(problem, budget)
        solved = self.solved(problem, budget)
        if isinstance(solved, Unknown):
            return solved
        starts = _starts(solved)
        if not len(starts):
            return Unknown(Reason.INCOMPLETE, "no reachable state is a start state")
        bounds = _bounds(solved, starts)
        cut = any(what.unfolded.markov.cut.any() for _, what, _ in solved.sides)
        whole = None if cut else Certificate("process", _evidence(solved))
        if problem.property.over != "values" or len(bounds) == 1:
            return Exact(*over(problem.property.over, bounds), whole)
        states = solved.sides[0][1].unfolded.state
        part = None if whole is None else Certificate("part", {})
        table = [
            (solved.explored.valuation(int(states[s])), Exact(low, high, part))
            for s, (low, high) in zip(starts, bounds, strict=True)
        ]
        return PerStart(tuple(table), whole)

    def _runs(self, problem: Problem, budget: Budget) -> Verdict:
        asked_of = problem.property
        condition = asked_of.bad if isinstance(asked_of, Never) else asked_of.good  # type: ignore[union-attr]
        labels = {"condition": condition}
        explored = explore(
            problem, labels=labels, budget=budget, max_states=self.max_states, memory=self._bytes()
        )
        if budget.spent() and explored.markov.cut.any():
            return Unknown(Reason.TIMEOUT, f"the time ended after {explored.markov.states} states")
        return decide(problem, explored, explored.markov.labels["condition"])

    def _bytes(self) -> int | None:
        return None if self.memory is None else self.memory << 20

    def solved(self, problem: Problem, budget: Budget) -> Solved | Unknown:
        """One question, or two where the property leaves open whether least or greatest is meant."""
        assert isinstance(problem.property, Probability | Expected)
        first = asked(problem.property, "min")
        labels = first.labels() | (
            {} if problem.property.starts is None else {"starts": problem.property.starts}
        )
        explored = explore(
            problem,
            labels=labels,
            rewards=first.rewards(),
            quantities=first.quantities(),
            budget=budget,
            max_states=self.max_states,
            memory=self._bytes(),
        )
        if explored.blocked.any():
            why = "an assumption about the environment cannot be kept in a reachable state"
            return Unknown(Reason.INCOMPLETE, why)
        one_side = problem.property.optimise is not None or explored.markov.is_chain
        wanted = [first] if one_side else [first, asked(problem.property, "max")]
        sides = []
        for side in wanted:
            what = posed(explored, side, everywhere=problem.property.starts is not None)
            budget.progress(f"solving for {what.unfolded.markov.states} states")
            try:
                answer = solve(
                    what.unfolded.markov,
                    what.question,
                    width=self.width,
                    exact=self.exact,
                    seconds_left=budget.remaining,
                )
            except Undecided as why:
                reason = Reason.TIMEOUT if budget.spent() else Reason.NUMERICS
                return Unknown(reason, str(why))
            sides.append((side, what, answer))
        return Solved(explored, tuple(sides))


def _evidence(solved: Solved) -> dict[str, Any]:
    states = solved.explored.states
    given = [
        None if side.steps is not None else values(states, what.unfolded, answer)
        for side, what, answer in solved.sides
    ]
    near = np.flatnonzero(solved.explored.near_tie)
    return {"values": given, "near ties": [solved.explored.valuation(int(s)) for s in near[:MOST_NAMED]]}


def _objection_to_runs(problem: Problem) -> str | None:
    """Runs of finite systems whose policy, if any, is a program: what the checker can look at as well."""
    environment = problem.environment
    if environment.arithmetic is not Arithmetic.EXACT or environment.controls:
        return "explicit looks at runs of systems with exact arithmetic and without controls"
    chosen = [c.kind for part in environment.components for e in part.edges for c in e.chosen]
    if not all(map(_is_finite, [*(v.kind for v in environment.variables), *chosen])):
        return "explicit looks at all states; a variable here has infinitely many values"
    if problem.policy is not None and not _is_program(problem.policy):
        return "explicit looks at runs of environments and programs; the policy has a network"
    return None


def _is_finite(kind: Kind) -> bool:
    match kind:
        case Bool() | Int(int(), int()):
            return True
        case Array(element):
            return _is_finite(element)
        case _:
            return False


def _is_program(policy: Policy) -> bool:
    inner = [b.then for b in policy.branches] if isinstance(policy, ProgramPolicy) else [None]
    return all(
        isinstance(then, str) or (isinstance(then, ProgramPolicy) and _is_program(then)) for then in inner
    )


def _has_reward_bound(wanted: Probability | Expected) -> bool:
    return isinstance(wanted, Probability) and any(b.reward is not None for b in wanted.path.bounds)


def _starts(solved: Solved) -> NDArray[np.int64]:
    """The start states of the process, as the property means them, sorted by what they are."""
    unfolded = solved.sides[0][1].unfolded
    is_start = np.zeros(unfolded.markov.states, dtype=np.bool_)
    is_start[unfolded.markov.initial] = True
    is_start = unfolded.markov.labels.get("starts", is_start)
    order = in_order(solved.explored.states, unfolded)
    return order[is_start[order]]


def _bounds(solved: Solved, starts: NDArray[np.int64]) -> list[tuple[End, End]]:
    """For each start: the lower end of the first answer, the upper end of the last one."""
    columns = []
    for side, _, answer in solved.sides:
        column: list[tuple[End, End]] = []
        for s in starts:
            low, high = Fraction(answer.low[s]) / answer.scale, Fraction(answer.high[s]) / answer.scale
            if answer.infinite[s]:
                column.append((None, None))
            else:
                column.append((1 - high, 1 - low) if side.negated else (low, high))
        columns.append(column)
    return [(a[0], b[1]) for a, b in zip(columns[0], columns[-1], strict=True)]


def over(which: str, bounds: list[tuple[End, End]]) -> tuple[End, End]:
    """What is asked about all starts together."""
    fold: dict[str, Callable[[list[End]], End]] = {
        "min": _least,
        "max": _most,
        "sum": _sum,
        "avg": _average,
        "values": _sum,  # of one
    }
    return fold[which]([b[0] for b in bounds]), fold[which]([b[1] for b in bounds])


def _least(ends: list[End]) -> End:
    return min((e for e in ends if e is not None), default=None)


def _most(ends: list[End]) -> End:
    return None if None in ends else max(e for e in ends if e is not None)


def _sum(ends: list[End]) -> End:
    return None if None in ends else sum((e for e in ends if e is not None), Fraction(0))


def _average(ends: list[End]) -> End:
    total = _sum(ends)
    return None if total is None else total / len(ends)
