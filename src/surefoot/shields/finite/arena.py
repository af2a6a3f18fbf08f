"""A finite system as a game: whoever acts picks an action, the environment all that this leaves open.

Every reachable state is explored without a policy. In a state with actions of the policy, one of them is
picked; the environment then picks among the transitions that carry it out, or takes one of its own instead.
So no assumption is made about which of two enabled transitions comes about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.explicit.engine import has_finitely_many_states
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_names, action_of
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore, Path, Probability
from surefoot.problem.validate import environment_labels
from surefoot.query.markov import Markov
from surefoot.shields.finite.game import OWN as OWN
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action, output_index
from surefoot.term.term import Term, free_names
from surefoot.term.value_types import Arithmetic
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """`action`: of each choice, an index into `actions`, or `OWN`."""

    explored: ExploredModel
    actions: tuple[str, ...]
    action: NDArray[np.int64]  # [choices]
    bad: NDArray[np.bool_]  # [states]
    goals: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)  # name -> [states]

    @property
    def markov(self) -> Markov:
        return self.explored.markov

    def enabled_actions(self) -> NDArray[np.bool_]:
        """[states, actions]: is there a transition that carries the action out?"""
        found = np.zeros((self.markov.states, len(self.actions)), dtype=np.bool_)
        mine = self.action != OWN
        found[self.markov.owners()[mine], self.action[mine]] = True
        return found


def arena_of(
    problem: Problem,
    budget: Budget,
    max_states: int | None = None,
    goals: Mapping[str, Term] | None = None,
) -> Arena:
    """The reachable states and all that may happen in them; `goals`: further conditions to look at."""
    bad = _checked_bad_condition(problem)
    actions = _shielded_actions(problem)
    explored = explore_problem(
        Problem(problem.name, problem.environment, None, problem.property),
        labels={"bad": bad} | {f"goal {name}": goal for name, goal in (goals or {}).items()},
        until=bad,
        budget=budget,
        max_states=max_states,
    )
    if explored.markov.cut.any():
        limit = explored.why_cut or "the time"
        raise Unsupported(f"{limit} ended the exploration after {explored.markov.states} states")
    if explored.blocked.any():
        raise Unsupported("an assumption about the environment cannot be kept in a reachable state")
    names = [
        _carried_action(problem, explored, number, actions) for number in range(len(explored.transitions))
    ]
    action = np.array(names, dtype=np.int64)[explored.transition] if len(names) else np.zeros(0, np.int64)
    found = explored.markov.labels
    return Arena(explored, actions, action, found["bad"], {n: found[f"goal {n}"] for n in goals or {}})


def _checked_bad_condition(problem: Problem) -> Term:
    bad = bad_condition(problem)
    for name in free_names(bad):
        if name in (STALLED, DEADLOCKED) or chosen_action(name) or output_index(name) is not None:
            raise Unsupported(f"a shield covers conditions about states, not about `{name}`")
    if not is_finite_environment(problem.environment):
        raise Unsupported("a shield of actions needs a system with finitely many states")
    return bad


def is_finite_environment(environment: Environment) -> bool:
    """Can all states be looked at, as far as kinds and arithmetic tell?"""
    return environment.arithmetic is Arithmetic.EXACT and has_finitely_many_states(environment)


def ask_for_ever(problem: Problem) -> Problem:
    """The problem without a limit and an end of `never`: what is kept for ever is kept as long as asked."""
    match problem.property:
        case Never(bad) | NeverBefore(bad):
            return replace(problem, property=Never(bad))
    return problem


def bad_condition(problem: Problem) -> Term:
    """What is to be avoided: BAD of `never BAD`, or what a question asks the probability of."""
    match problem.property:
        case Never(bad, None):
            return bad
        case Probability(Path("F", bad, bounds=())):
            return bad
        case _:
            raise Unsupported("a shield needs a property `never BAD`, `always GOOD` or `P(F BAD)`")


def _shielded_actions(problem: Problem) -> tuple[str, ...]:
    """Those of the policy; without one, all labels."""
    if problem.policy is not None:
        return action_names(problem.policy, problem.environment)
    found = environment_labels(problem.environment)
    if not found:
        fix = "give the steps that are to be shielded an action"
        raise InvalidProblem("no step has an action, so there is nothing to permit", fix=fix)
    return found


def _carried_action(problem: Problem, explored: ExploredModel, number: int, actions: tuple[str, ...]) -> int:
    (transition,) = explored.transitions[number]
    if problem.policy is None:
        return OWN if transition.label is None else actions.index(transition.label)
    name = action_of(problem.policy, problem.environment, transition)
    return OWN if name is None else actions.index(name)
