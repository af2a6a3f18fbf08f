"""The best (or worst) way to choose as a table: a value and a choice for every state, beside a policy.

The choices are memoryless and optimal in every state. Where the problem has a policy, the value of the chain
that it induces stands beside the optimum, for all states that the policy reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from surefoot.engines.explicit.answer import Solved, solved
from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.explicit.filters import End
from surefoot.errors import Unsupported
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Optimise, Probability
from surefoot.problem.semantics import State
from surefoot.verdict.verdict import Unknown
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class Optimal:
    """One state: bounds of the optimum (None: infinite), what to do, and bounds of the policy's value."""

    state: State
    low: End
    high: End
    transition: Transition | None  # None: nothing to choose, or the question is decided here
    chosen: Mapping[str, Any]
    is_start: bool
    policy: tuple[End, End] | None  # None: no policy, or it does not come here


def optimal_table(
    problem: Problem, optimise: Optimise, budget: Budget, engine: Explicit | None = None
) -> tuple[Optimal, ...] | Unknown:
    """Every state that matters for the question, in the order of the exploration."""
    engine = engine or Explicit()
    asked = problem.property
    if not isinstance(asked, Probability | Expected):
        raise Unsupported("an optimum needs a probability or an expected reward")
    best = replace(problem, policy=None, property=replace(asked, optimise=optimise, threshold=None))
    if (why := engine.objection(best)) is not None:
        raise Unsupported(why)
    found = solved(engine, best, budget)
    if isinstance(found, Unknown):
        return found
    if found.explored.markov.cut.any():
        raise Unsupported("the exploration ended early, so that the best choice is not known")
    (side,) = found.sides
    if side[0].steps is not None or side[0].bounds:
        raise Unsupported("with a limit on steps or rewards the best choice depends on more than the state")
    mine: dict[tuple[Any, ...], tuple[End, End]] = {}
    if problem.policy is not None:
        policy = solved(engine, problem, budget)
        if isinstance(policy, Unknown):
            return policy
        names = policy.explored.states.names
        mine = {_key(state, names): (low, high) for state, low, high in _values(policy)}
    names = found.explored.states.names
    starts = set(side[1].unfolded.markov.initial.tolist())
    return tuple(
        Optimal(state, low, high, *_choice(found, number), number in starts, mine.get(_key(state, names)))
        for number, (state, low, high) in enumerate(_values(found))
    )


def _key(state: State, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(state[name] for name in names)


def _values(of: Solved) -> list[tuple[State, End, End]]:
    """The bounds of every state: from the least to the greatest value where something is left open."""
    ends: list[list[tuple[End, End]]] = []
    for side, what, answer in of.sides:
        column: list[tuple[End, End]] = []
        for s in range(what.unfolded.markov.states):
            low, high = Fraction(answer.low[s]) / answer.scale, Fraction(answer.high[s]) / answer.scale
            if answer.infinite[s]:
                column.append((None, None))
            else:
                column.append((1 - high, 1 - low) if side.negated else (low, high))
        ends.append(column)
    states = of.sides[0][1].unfolded.state
    return [
        (of.explored.valuation(int(s)), first[0], last[1])
        for s, first, last in zip(states, ends[0], ends[-1], strict=True)
    ]


def _choice(of: Solved, number: int) -> tuple[Transition | None, Mapping[str, Any]]:
    ((_, what, answer),) = of.sides
    markov, explored = what.unfolded.markov, of.explored
    taken = int(answer.scheduler[number])
    if taken < 0 or markov.choices[number] == markov.choices[number + 1]:
        return None, {}
    place = int(explored.markov.choices[what.unfolded.state[number]]) + taken - int(markov.choices[number])
    (transition,) = explored.transitions[explored.transition[place]]
    return transition, explored.chosen_values[explored.chosen[place]]
