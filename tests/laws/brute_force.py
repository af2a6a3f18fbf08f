"""The truth about a property of a finite system: every state that matters is visited.

`violated`: some run violates it. `unclear`: none does, but a run comes to a state in which the property has
no value or from which a step leaves the range of a variable. `holds`: neither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import product

from surefoot.errors import Unsupported
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    State,
    apply_move,
    free_choices,
    holds_in_state,
    may_end,
    permitted_transitions,
)
from surefoot.term.evaluate import Undefined
from surefoot.term.term import Term
from surefoot.term.value_types import Bool, Int, ValueType

MOST = 10_000


def truth(problem: Problem, limit: int = MOST) -> str:
    """One of `violated`, `unclear`, `holds`; `Unsupported` where there are more states than the limit."""
    graph = Graph(problem, limit)
    match problem.property:
        case Never(bad, int() as steps):
            return verdict(graph.meets(bad, steps), graph)
        case Never(bad):
            reached = graph.explore(graph.starts(), lambda _: True)
            return verdict(any(graph.is_bad(bad, s) for s in reached), graph)
        case Eventually(good):
            quiet = graph.explore(graph.starts(), lambda s: not graph.is_good(good, s))
            return verdict(any(map(graph.ended, quiet)) or graph.has_cycle(quiet), graph)
        case Recurs(good):
            reached = graph.explore(graph.starts(), lambda _: True)
            quiet = [s for s in reached if not graph.is_good(good, s)]
            return verdict(any(map(graph.ended, quiet)) or graph.has_cycle(quiet), graph)
        case Within(good, steps, after):
            return verdict(graph.misses(good, steps, after), graph)
    raise AssertionError(problem.property)


def verdict(violated: bool, graph: Graph) -> str:
    return "violated" if violated else "unclear" if graph.unclear else "holds"


def _values(kind: ValueType) -> Iterable[object]:
    match kind:
        case Bool():
            return (False, True)
        case Int(int() as low, int() as high):
            return range(low, high + 1)
    raise AssertionError(kind)


def key(state: State) -> Hashable:
    return tuple(sorted(state.items()))


@dataclass
class Graph:
    """States and steps as far as they were looked at."""

    problem: Problem
    limit: int = MOST  # of states that are looked at
    unclear: bool = False  # something without a value was met
    _after: dict[Hashable, list[State]] = field(default_factory=dict)

    def starts(self) -> list[State]:
        return list(enumerate_initial_states(self.problem.environment, MOST))

    def after(self, state: State) -> list[State]:
        if key(state) not in self._after:
            self._after[key(state)] = list(self._successors(state))
        return self._after[key(state)]

    def _successors(self, state: State) -> Iterable[State]:
        environment = self.problem.environment
        try:
            permitted = permitted_transitions(self.problem, state)
        except Undefined:
            self.unclear = True
            return
        for transition in permitted:
            edges = [environment.components[c].edges[e] for c, e in transition.edges]
            free = free_choices(environment, transition)
            values = [_values(c.kind) for c in free]
            for picked in product(*values):
                chosen = {c.name: v for c, v in zip(free, picked, strict=True)}
                for outcomes in product(*(range(len(e.outcomes)) for e in edges)):
                    try:
                        yield apply_move(self.problem, state, Move(transition, outcomes, chosen))
                    except NotAStep:
                        continue  # against the assumption
                    except Undefined:
                        self.unclear = True

    def ended(self, state: State) -> bool:
        return may_end(self.problem, state)

    def is_good(self, good: Term, state: State) -> bool:
        try:
            return holds_in_state(self.problem, state, good)
        except Undefined:
            self.unclear = True
            return True  # nothing follows from it but doubt

    def is_bad(self, bad: Term, state: State) -> bool:
        try:
            return holds_in_state(self.problem, state, bad)
        except Undefined:
            self.unclear = True
            return False

    def explore(self, starts: list[State], passes: Callable[[State], bool]) -> list[State]:
        """Everything that can be reached through states that pass."""
        found: dict[Hashable, State] = {}
        open_states = [s for s in starts if passes(s)]
        while open_states:
            state = open_states.pop()
            if key(state) not in found:
                if len(found) == self.limit:
                    raise Unsupported(f"more than {self.limit} states")
                found[key(state)] = state
                open_states += [s for s in self.after(state) if passes(s)]
        return list(found.values())

    def has_cycle(self, states: list[State]) -> bool:
        """Take away states without a successor among the rest; what is left goes round."""
        left = {key(s): s for s in states}
        while True:
            stuck = [k for k, s in left.items() if not any(key(n) in left for n in self.after(s))]
            if not stuck:
                return bool(left)
            for k in stuck:
                del left[k]

    def meets(self, bad: Term, steps: int) -> bool:
        """Is there a run of at most so many steps to a bad state?"""
        here = {key(s): s for s in self.starts()}
        for number in range(steps + 1):
            if any(self.is_bad(bad, s) for s in here.values()):
                return True
            if number < steps:
                here = {key(n): n for s in here.values() for n in self.after(s)}
        return False

    def misses(self, good: Term, steps: int, after: int) -> bool:
        """Is there a run without a good state from `after` to `steps`, or to its earlier end?"""
        quiet = {key(s): s for s in self.starts()}
        for number in range(steps + 1):
            if number >= after:
                quiet = {k: s for k, s in quiet.items() if not self.is_good(good, s)}
            if number == steps:
                return bool(quiet)
            if any(map(self.ended, quiet.values())):
                return True
            quiet = {key(n): n for s in quiet.values() for n in self.after(s)}
        return False
