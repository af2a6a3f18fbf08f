"""The best (or worst) way to choose as a table: a value and a choice for every state, beside a policy.

The choices are memoryless and optimal in every state. Where the problem has a policy, the value of the chain
that it induces stands beside the optimum, for all states that the policy reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from surefoot.engines.explicit.answer import SolvedProcess, solve_process, value_bounds
from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.start_filters import End
from surefoot.errors import Unsupported
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Optimise, Probability
from surefoot.problem.semantics import State
from surefoot.verdict.verdict import Reason, Unknown
from surefoot.work.budget import Budget

Row = tuple[Any, ...]  # the entries of a state


@dataclass(frozen=True, slots=True)
class OptimalState:
    """One state: bounds of the optimum (None: infinite), what to do, and bounds of the policy's value."""

    state: State
    low: End
    high: End
    transition: Transition | None  # None: nothing to choose, or the question is decided here
    chosen: Mapping[str, Any]
    is_start: bool
    policy: tuple[End, End] | None  # None: no policy, or it does not come here
    near_tie: bool = False  # another order of summation in the network may decide otherwise here

    def gap(self) -> tuple[Fraction, Fraction] | None:
        """Bounds of how far the policy is from the optimum, where both are finite."""
        (low, high), (least, most) = self.policy or (None, None), (self.low, self.high)
        if low is None or high is None or least is None or most is None:
            return None
        return max(least - high, low - most, Fraction(0)), max(most - low, high - least)


def optimal_table(
    problem: Problem, optimise: Optimise, budget: Budget, engine: Explicit | None = None
) -> tuple[OptimalState, ...] | Unknown:
    """Every state that matters for the question, in the order of the exploration."""
    engine = engine or Explicit()
    asked = problem.property
    if not isinstance(asked, Probability | Expected):
        raise Unsupported("an optimum needs a probability or an expected reward")
    best = replace(problem, policy=None, property=replace(asked, optimise=optimise, threshold=None))
    if (why := engine.objection(best)) is not None:
        raise Unsupported(why)
    found = solve_process(engine, best, budget)
    if isinstance(found, Unknown):
        return found
    if found.explored.markov.cut.any():
        if found.late or budget.is_spent():
            return Unknown(Reason.TIMEOUT, f"the time ended after {found.explored.markov.states} states")
        raise Unsupported("the exploration ended early, so that the best choice is not known")
    (side,) = found.sides
    if side[0].steps is not None or side[0].bounds:
        raise Unsupported("with a limit on steps or rewards the best choice depends on more than the state")
    mine: dict[Row, tuple[End, End, bool]] = {}
    if problem.policy is not None:
        policy = solve_process(engine, problem, budget)
        if isinstance(policy, Unknown):
            return policy
        mine = _of_policy(policy)
    names, rows = _state_rows(found)
    starts = set(side[1].unfolded.markov.initial.tolist())
    table = []
    for number, (row, ends) in enumerate(zip(rows, value_bounds(found), strict=True)):
        low, high, near = mine.get(row, (None, None, False))
        beside = (low, high) if row in mine else None
        state = dict(zip(names, row, strict=True))
        table.append(
            OptimalState(state, *ends, *_optimal_choice(found, number), number in starts, beside, near)
        )
    return tuple(table)


def _of_policy(policy: SolvedProcess) -> dict[Row, tuple[End, End, bool]]:
    """Bounds and near ties by state; where a draw has ended a run is not a state of its own."""
    numbers = policy.sides[0][1].unfolded.state
    near, halted = policy.explored.near_tie[numbers].tolist(), policy.explored.halted[numbers].tolist()
    together = zip(_state_rows(policy)[1], value_bounds(policy), near, halted, strict=True)
    return {row: (*ends, tied) for row, ends, tied, ended in together if not ended}


def _state_rows(of: SolvedProcess) -> tuple[tuple[str, ...], list[Row]]:
    """The entries of all states, and their names."""
    states, numbers = of.explored.states, of.sides[0][1].unfolded.state
    columns = [states.column(name)[numbers].tolist() for name in states.names]
    return states.names, list(zip(*columns, strict=True)) if columns else [()] * len(numbers)


def _optimal_choice(of: SolvedProcess, number: int) -> tuple[Transition | None, Mapping[str, Any]]:
    ((_, what, answer),) = of.sides
    markov, explored = what.unfolded.markov, of.explored
    taken = int(answer.scheduler[number])
    if taken < 0 or markov.choices[number] == markov.choices[number + 1]:
        return None, {}
    place = int(explored.markov.choices[what.unfolded.state[number]]) + taken - int(markov.choices[number])
    (transition,) = explored.transitions[explored.transition[place]]
    return transition, explored.chosen_values[explored.chosen[place]]
