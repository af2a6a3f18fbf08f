"""What part a policy has in an answer: told only where a look at the small environment alone is sure of it.

The environment without a policy can do everything that it can do with one. So what none of its reachable
states satisfies holds whoever acts; if no action of the policy is enabled in any of them it is never asked;
and if in each of them all its actions lead to the same, what it picks does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import prod

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.explicit.engine import count_values_at_most, has_finitely_many_states
from surefoot.errors import SurefootError
from surefoot.explore.exploration import explore_problem
from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.initial_states import iterate_initial_rows
from surefoot.explore.row_layout import row_layout
from surefoot.problem.meaning.decision import action_names, action_of
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Never
from surefoot.term.reserved_names import is_reserved, location_parts
from surefoot.term.term import FALSE, TRUE, Term, free_names
from surefoot.term.value_types import Arithmetic
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

MOST_STATES = 2000
MOST_TRIES = 20 * MOST_STATES  # partial states that are tried to find the starts
MOST_WORK = 100_000  # states times edges, each of which is looked at in every state
MOST_SECONDS = 5.0  # beyond any time that so few states should take
Effect = tuple[tuple[tuple[int, Fraction], ...], ...]  # what the transitions of one action lead to


def notes_on_influence(problem: Problem, held: bool, budget: Budget) -> tuple[str, ...]:
    """Notes about a problem with plain steps; `held`: that a `never` was not violated."""
    environment, policy = problem.environment, problem.policy
    small = not environment.controls and environment.arithmetic is Arithmetic.EXACT
    if policy is None or isinstance(policy, OraclePolicy) or not small or environment.flow is not None:
        return ()
    if not has_finitely_many_states(environment):
        return ()
    asked = problem.property
    bad = asked.bad if held and isinstance(asked, Never) and is_about_states(asked.bad) else FALSE
    clock = Budget(min(MOST_SECONDS, budget.remaining()))
    # The answer is known already: nothing that goes wrong here, or takes too long, may cost it.
    return call_in_time(clock, lambda: _tell_influence(problem, bad, clock), lambda: (), strictly=True)


def _tell_influence(problem: Problem, bad: Term, clock: Budget) -> tuple[str, ...]:
    try:
        found = _explore_environment(replace(problem, policy=None), bad, clock)
        if found is None:
            return ()
        told = list(_on_bad_states(problem, bad, found, clock))
        return (*told, *_on_actions(problem, found))
    except (SurefootError, MemoryError):  # an error of the environment alone, say: nothing is told
        return ()


def _explore_environment(problem: Problem, bad: Term, clock: Budget) -> ExploredModel | None:
    """Everything that can be reached; None: not within the limits, or not all of it is runs."""
    environment = problem.environment
    most = min(MOST_STATES, MOST_WORK // max(1, sum(len(c.edges) for c in environment.components)))
    starts = iterate_initial_rows(environment, row_layout(environment), MOST_TRIES, clock)
    if next(islice(starts, most, None), None) is not None:
        return None
    found = explore_problem(problem, labels={"bad": bad}, budget=clock, max_states=most, tier="interpreter")
    return None if found.markov.cut.any() or found.blocked.any() else found


def is_about_states(condition: Term) -> bool:
    """Of variables and locations, not of what is picked."""
    return all(not is_reserved(n) or location_parts(n) is not None for n in free_names(condition))


def _on_bad_states(problem: Problem, bad: Term, found: ExploredModel, clock: Budget) -> Iterator[str]:
    if bad == FALSE or found.markov.labels["bad"].any():
        return
    part = "the policy has no part in this"
    everywhere = _from_everywhere(problem, bad, clock)
    if everywhere is not None and not everywhere.markov.labels["bad"].any():
        yield f"no state at all satisfies the bad condition: {part}"
    elif everywhere is not None and not everywhere.markov.labels["bad"][everywhere.markov.targets].any():
        yield f"no start satisfies the bad condition and no edge leads into a state that does: {part}"
    else:
        yield f"whatever is picked, no run of the environment comes to the bad condition: {part}"


def _from_everywhere(problem: Problem, bad: Term, clock: Budget) -> ExploredModel | None:
    """The environment started in every state; None if these are many, or one of them has an error."""
    environment = problem.environment
    places = prod(len(c.locations) for c in environment.components)
    if (
        places * prod(count_values_at_most(v.kind, MOST_STATES + 1) for v in environment.variables)
        > MOST_STATES
    ):
        return None
    anywhere = tuple(replace(c, initial=c.locations) for c in environment.components)
    started = replace(environment, initial=TRUE, components=anywhere)
    try:
        return _explore_environment(replace(problem, policy=None, environment=started), bad, clock)
    except SurefootError:
        return None


def _on_actions(problem: Problem, found: ExploredModel) -> Iterator[str]:
    """Is the policy ever asked, and does it matter what it says?"""
    assert problem.policy is not None
    names = action_names(problem.policy, problem.environment)
    carried = [_transition_action(problem, found, number) for number in range(len(found.transitions))]
    own = [name in names for name in carried]
    mine = np.array(own, dtype=np.bool_)[found.transition] if own else np.zeros(0, np.bool_)
    if not mine.any():
        yield "the policy is never asked: none of its actions is enabled in a state that can be reached"
        return
    if len(names) > 1 and not isinstance(problem.property, Expected):
        effects = _action_effects(found, carried, mine)
        if all(_is_same(problem, several, names) for several in effects.values()):
            yield "whatever the policy picks, wherever it is asked, leads to the same: it has no part in this"


def _transition_action(problem: Problem, found: ExploredModel, number: int) -> str | None:
    (transition,) = found.transitions[number]
    assert problem.policy is not None
    return action_of(problem.policy, problem.environment, transition)


def _action_effects(
    found: ExploredModel, carried: list[str | None], mine: NDArray[np.bool_]
) -> Mapping[int, Mapping[str, Effect]]:
    """By state and action of the policy: where its transitions lead, and with which probabilities."""
    markov, owners = found.markov, found.markov.owners()
    effects: dict[int, dict[str, list[tuple[tuple[int, Fraction], ...]]]] = {}
    for choice in np.flatnonzero(mine).tolist():
        places = range(int(markov.outcomes[choice]), int(markov.outcomes[choice + 1]))
        shares: dict[int, Fraction] = {}
        for place in places:
            target = int(markov.targets[place])
            shares[target] = shares.get(target, Fraction(0)) + markov.values[int(markov.weights[place])]
        name = carried[int(found.transition[choice])] or ""
        here = effects.setdefault(int(owners[choice]), {})
        here.setdefault(name, []).append(tuple(sorted(shares.items())))
    return {
        state: {name: tuple(sorted(set(ways))) for name, ways in several.items()}
        for state, several in effects.items()
    }


def _is_same(problem: Problem, several: Mapping[str, Effect], names: tuple[str, ...]) -> bool:
    """One effect, and no action that could stall instead."""
    policy: object = problem.policy
    among_enabled = isinstance(policy, NeuralPolicy) and policy.choose is Choose.ARGMAX_APPLICABLE
    return len(set(several.values())) == 1 and (among_enabled or set(several) == set(names))
