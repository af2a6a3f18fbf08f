"""Is an explored problem what the reference semantics says, state by state?"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, enumerate_successors, holds_in_state, policy_decision
from surefoot.term.term import Term


def key(state: State) -> tuple[Any, ...]:
    return tuple(sorted(state.items()))


def visit(problem: Problem, labels: Mapping[str, Term], most: int = 5000) -> list[State]:
    """Every reachable state by the reference, breadth first; raises what it raises."""
    waiting = list(enumerate_initial_states(problem.environment, 100_000))
    seen = {key(state) for state in waiting}
    for state in waiting:
        for label in labels.values():
            holds_in_state(problem, state, label)
        for successor in enumerate_successors(problem, state):
            if key(successor.state) not in seen:
                seen.add(key(successor.state))
                waiting.append(successor.state)
        assert len(waiting) <= most
    return waiting


def by_reference(problem: Problem, state: State) -> list[Any]:
    """The choices of a state: transition, chosen values, and outcomes in order."""
    rows: list[Any] = []
    last: tuple[int, ...] = ()
    for successor in enumerate_successors(problem, state):
        name = (successor.move.transition, dict(successor.move.chosen))
        if not rows or rows[-1][0] != name or successor.move.outcomes <= last:  # two vectors may be equal
            rows.append((name, []))
        last = successor.move.outcomes
        rows[-1][1].append((successor.probability, key(successor.state), successor.rewards))
    return rows


def explored_rows(explored: ExploredModel, state: int) -> list[Any]:
    markov = explored.markov
    rows = []
    for choice in range(markov.choices[state], markov.choices[state + 1]):
        (transition,) = explored.transitions[explored.transition[choice]]
        name = (transition, dict(explored.chosen_values[explored.chosen[choice]]))
        outcomes = []
        for o in range(markov.outcomes[choice], markov.outcomes[choice + 1]):
            rewards = {n: markov.values[column[o]] for n, column in markov.rewards.items()}
            target = key(explored.valuation(int(markov.targets[o])))
            outcomes.append((markov.values[markov.weights[o]], target, rewards))
        rows.append((name, outcomes))
        assert sum((p for p, _, _ in outcomes), Fraction(0)) == 1
    return rows


def check(explored: ExploredModel, problem: Problem, labels: Mapping[str, Term]) -> None:
    """Same states, choices, probabilities, rewards and labels; nothing missing and nothing more."""
    markov = explored.markov
    states = [explored.valuation(i) for i in range(markov.states)]
    starts = [key(s) for s in enumerate_initial_states(problem.environment, 100_000)]
    assert sorted(key(states[i]) for i in markov.initial) == sorted(starts)
    assert set(markov.targets.tolist()) | set(markov.initial.tolist()) == set(range(markov.states))
    assert len({key(s) for s in states}) == markov.states
    for i, state in enumerate(states):
        for name, label in labels.items():
            assert markov.labels[name][i] == holds_in_state(problem, state, label), (name, state)
        if markov.cut[i] or explored.final[i]:
            assert markov.choices[i] == markov.choices[i + 1]
            continue
        made = policy_decision(problem, state)
        assert explored.stalled[i] == (made is not None and made.stalls)
        expected = by_reference(problem, state)
        found = explored_rows(explored, i)
        assert [name for name, _ in found] == [name for name, _ in expected], state
        for (_, ours), (_, theirs) in zip(found, expected, strict=True):
            assert [(p, s) for p, s, _ in ours] == [(p, s) for p, s, _ in theirs]
            for (_, _, rewards), (_, _, wanted) in zip(ours, theirs, strict=True):
                assert rewards == {name: wanted.get(name, 0) for name in rewards}
    for name in explored.states.names:
        assert explored.states.column(name).tolist() == [s[name] for s in states]
