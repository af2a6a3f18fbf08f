"""Runs by the reference semantics, state by state, with the random words of the definition."""

from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.problem.meaning.decision import action_of
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, enumerate_outcomes, holds_in_state, policy_decision
from surefoot.simulate.draw import cumulative_thresholds, draw_outcome
from surefoot.simulate.path_property import ENDED, FAILED, STALLED, SUCCEEDED, UNDECIDED, PathProperty
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.work.philox import Stream


def run(
    problem: Problem, watched: PathProperty, most: int, start: State, stream: Stream, uniform: bool
) -> tuple[int, int, Fraction]:
    """Outcome, number of steps and reward."""
    environment, state, gained = problem.environment, start, Fraction(0)
    low = watched.low or 0
    steps = 0
    while True:
        right = holds_in_state(problem, state, watched.right)
        if right and steps >= low:
            return SUCCEEDED, steps, gained
        if not holds_in_state(problem, state, watched.left) or steps == watched.high:
            return FAILED, steps, gained
        if steps == most:
            return settled(problem, watched, state, gained, steps, uniform)
        made = policy_decision(problem, state)
        possible = enabled_transitions(environment, state)
        anything = bool(possible)
        if made is not None:
            assert problem.policy is not None
            action = next(iter(made.actions), None)
            if len(made.actions) > 1:
                shares = [Fraction(s) for s in made.actions.values()]
                limits = cumulative_thresholds([s / sum(shares) for s in shares])
                action = list(made.actions)[draw_outcome(stream.word(), limits)]
            possible = tuple(
                t for t in possible if action_of(problem.policy, environment, t) in (None, action)
            )
        if not possible:
            if right and (watched.high is None or low <= watched.high):
                return SUCCEEDED, low, gained
            return (STALLED if anything else ENDED), steps, gained
        if len(possible) > 1 and not uniform:
            raise Unsupported("several")
        transition = possible[stream.below(len(possible)) if len(possible) > 1 else 0]
        picks = []
        for c, e in transition.edges:
            of_edge = environment.components[c].edges[e].outcomes
            shares = [Fraction(evaluate_term(o.probability, state, environment.arithmetic)) for o in of_edge]
            if sum(shares) != 1 or min(shares) < 0:
                raise Undefined("not a distribution")
            picks.append(draw_outcome(stream.word(), cumulative_thresholds(shares)) if len(shares) > 1 else 0)
        for successor in enumerate_outcomes(
            environment, state, transition, {}, {}
        ):  # of all: one may be undefined
            if successor.move.outcomes == tuple(picks):
                following = successor
        if isinstance(watched.reward, str) and watched.reward == "steps":
            gained += 1
        elif isinstance(watched.reward, str):
            gained += Fraction(following.rewards.get(watched.reward, 0))
        elif watched.reward is not None:
            gained += Fraction(evaluate_term(watched.reward, state, environment.arithmetic))
        state, steps = following.state, steps + 1


def settled(
    problem: Problem, watched: PathProperty, state: State, gained: Fraction, steps: int, uniform: bool
) -> tuple[int, int, Fraction]:
    """What a run that is cut off here would surely have become, if its reward does not matter."""
    if watched.reward is not None and watched.high is not None:
        return UNDECIDED, steps, gained
    graph = everything_after(problem, watched, state, uniform)
    if graph is None:
        return UNDECIDED, steps, gained
    if all(after for after in graph.values()):
        return FAILED, steps, Fraction(0)
    certain = watched.reward is None and watched.high is None and not watched.low
    hopeful = {name for name, after in graph.items() if not after}
    for _ in graph:
        hopeful |= {name for name, after in graph.items() if after & hopeful}
    return (SUCCEEDED if certain and len(hopeful) == len(graph) else UNDECIDED), steps, gained


def everything_after(
    problem: Problem, watched: PathProperty, state: State, uniform: bool
) -> dict[str, set[str]] | None:
    """The states that can follow, each with its successors: none if `right` holds. None: a run is over."""
    environment, graph, waiting = problem.environment, dict[str, set[str]](), [state]
    while waiting:
        here = waiting.pop()
        if (name := _name(here)) in graph:
            continue
        graph[name] = set()
        if holds_in_state(problem, here, watched.right):
            continue
        made, possible = policy_decision(problem, here), enabled_transitions(environment, here)
        options = [possible]
        if made is not None:
            assert problem.policy is not None
            wanted = list(made.actions) or [None]
            owned = [(t, action_of(problem.policy, environment, t)) for t in possible]
            options = [tuple(t for t, own in owned if own in (None, action)) for action in wanted]
        if not holds_in_state(problem, here, watched.left) or not all(options):
            return None
        if not uniform and any(len(together) > 1 for together in options):
            return None
        for transition in {t for together in options for t in together}:
            for successor in enumerate_outcomes(environment, here, transition, {}, {}):
                if successor.probability:
                    graph[name].add(_name(successor.state))
                    waiting.append(successor.state)
    return graph


def _name(state: State) -> str:
    return repr(sorted(state.items()))
