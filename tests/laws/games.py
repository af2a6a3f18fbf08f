"""Games on random finite systems solved by brute force: by definition over the reference semantics.

Where few ways to act are possible every one of them is tried (positional strategies suffice for these
properties), and all runs of each are looked at; elsewhere the sets are computed by their equations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from tests.laws.brute_force import key

from surefoot.problem.meaning.decision import action_names, action_of
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    State,
    apply_move,
    enabled_transitions,
    free_choices,
    holds_in_state,
)
from surefoot.term.reserved_names import STALLED, chosen_action
from surefoot.term.term import Const, Term, free_names
from surefoot.term.traverse import substitute_names

Key = Hashable
MOST_STRATEGIES = 400


def condition_if(condition: Term, action: str | None) -> Term:
    said = {n: Const(chosen_action(n) == action) for n in free_names(condition) if chosen_action(n)}
    return substitute_names(condition, {**said, STALLED: Const(False)})


@dataclass
class BruteGame:
    """All states that the environment can come to, whoever acts."""

    problem: Problem
    states: dict[Key, State] = field(default_factory=dict)
    own: dict[Key, list[Key]] = field(default_factory=dict)
    by_action: dict[Key, dict[str, list[Key]]] = field(default_factory=dict)
    blocked: bool = False
    _holds: dict[tuple[Key, str | None], bool] = field(default_factory=dict)
    _won: dict[int, set[Key]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        free = replace(self.problem, policy=None)
        assert self.problem.policy is not None
        names = action_names(self.problem.policy, free.environment)
        todo = list(enumerate_initial_states(free.environment, 10_000))
        while todo:
            state = todo.pop()
            k = key(state)
            if k in self.states:
                continue
            self.states[k], self.own[k], self.by_action[k] = state, [], {}
            enabled = enabled_transitions(free.environment, state)
            for transition in enabled:
                action = action_of(self.problem.policy, free.environment, transition)
                assert action is None or action in names
                for after in _after(free, state, transition):
                    todo.append(after)
                    where = self.own[k] if action is None else self.by_action[k].setdefault(action, [])
                    where.append(key(after))
            self.blocked |= bool(enabled) and not self.own[k] and not self.by_action[k]

    def holds(self, k: Key, action: str | None = None) -> bool:
        if (k, action) not in self._holds:
            self._holds[k, action] = self._evaluate(k, action)
        return self._holds[k, action]

    def _evaluate(self, k: Key, action: str | None) -> bool:
        asked = self.problem.property
        condition = asked.bad if isinstance(asked, Never) else asked.good  # type: ignore[union-attr]
        return holds_in_state(
            replace(self.problem, policy=None), self.states[k], condition_if(condition, action)
        )

    def keeps(self, k: Key, action: str | None, inside: Callable[[Key], bool]) -> bool:
        mine = [] if action is None else self.by_action[k][action]
        return all(map(inside, [*self.own[k], *mine]))

    def ended(self, k: Key) -> bool:
        return not self.own[k] and not self.by_action[k]

    def options(self, k: Key) -> list[str | None]:
        return list(self.by_action[k]) or [None]

    def can_go_into(self, k: Key, inside: Callable[[Key], bool]) -> bool:
        return not self.ended(k) and any(self.keeps(k, a, inside) for a in self.options(k))

    def won(self, index: int) -> set[Key]:
        """The states from which the property can be kept if they are number `index` of a run."""
        if index not in self._won:
            self._won[index] = self._winning_states(index)
        return self._won[index]

    def _winning_states(self, index: int) -> set[Key]:
        match self.problem.property:
            case Never(_, None):
                return self._greatest(lambda k, w: self._avoids(k, w))
            case Never(_, int() as steps):
                won = set(self.states)
                for _ in range(steps - index + 1):
                    won = {k for k in self.states if self._avoids(k, won)}
                return won
            case Eventually():
                return self._least(lambda k, w: self.holds(k) or self.can_go_into(k, w.__contains__))
            case Recurs():
                return self._greatest_set(self._again)
            case Within(_, steps, after):
                won: set[Key] = set()
                for number in range(steps, index - 1, -1):
                    counts = number >= after
                    won = {
                        k
                        for k in self.states
                        if (counts and self.holds(k)) or self.can_go_into(k, won.__contains__)
                    }
                return won
        raise AssertionError(self.problem.property)

    def _avoids(self, k: Key, won: set[Key]) -> bool:
        if self.ended(k):
            return not self.holds(k)
        return any(not self.holds(k, a) and self.keeps(k, a, won.__contains__) for a in self.options(k))

    def _again(self, won: set[Key]) -> set[Key]:
        good = {k for k in won if self.holds(k) and (self.ended(k) or self.can_go_into(k, won.__contains__))}
        return self._least(lambda k, w: k in good or self.can_go_into(k, w.__contains__))

    def _greatest(self, stays: Callable[[Key, set[Key]], bool]) -> set[Key]:
        return self._greatest_set(lambda won: {k for k in won if stays(k, won)})

    def _greatest_set(self, left: Callable[[set[Key]], set[Key]]) -> set[Key]:
        won = set(self.states)
        while (fewer := left(won)) != won:
            won = fewer
        return won

    def _least(self, comes: Callable[[Key, set[Key]], bool]) -> set[Key]:
        won: set[Key] = set()
        while True:
            more = {k for k in self.states if comes(k, won)}
            if more == won:
                return won
            won = more

    def safe(self, k: Key, index: int) -> set[str]:
        """The actions after which the property can still be kept, whatever follows."""
        after = self.won(index + 1)
        never = isinstance(self.problem.property, Never)
        return {
            a
            for a in self.by_action[k]
            if not (never and self.holds(k, a)) and all(n in after for n in self.by_action[k][a])
        }

    def strategies(self) -> Iterator[dict[Key, str | None]] | None:
        """Every positional way to act; None: too many."""
        deciding = [k for k in self.states if len(self.by_action[k]) > 1]
        count = 1
        for k in deciding:
            count *= len(self.by_action[k])
            if count > MOST_STRATEGIES:
                return None
        fixed = {k: self.options(k)[0] for k in self.states}
        several = product(*(self.options(k) for k in deciding))
        return ({**fixed, **dict(zip(deciding, picks, strict=True))} for picks in several)

    def won_by_trying(self) -> set[Key] | None:
        """The same as `won`, by every way to act and all of its runs; None: too many ways, or steps count."""
        if isinstance(self.problem.property, Within) or getattr(self.problem.property, "steps", None):
            return None
        found: set[Key] = set()
        several = self.strategies()
        if several is None:
            return None
        for way in several:
            found |= {k for k in self.states if self._keeps_property(k, way)}
        return found

    def _keeps_property(self, start: Key, way: dict[Key, str | None]) -> bool:
        def after(k: Key) -> list[Key]:
            a = way[k]
            return self.own[k] + ([] if a is None else self.by_action[k][a])

        asked, live = self.problem.property, not isinstance(self.problem.property, Never)

        def passes(k: Key) -> bool:
            return not (isinstance(asked, Eventually) and self.holds(k))

        reached: set[Key] = set()
        todo = [start] if passes(start) else []
        while todo:
            k = todo.pop()
            if k not in reached:
                reached.add(k)
                todo += [n for n in after(k) if passes(n)]
        if not live:
            return not any(self.holds(k, way[k]) for k in reached)
        quiet = {k for k in reached if not self.holds(k)}
        if any(self.ended(k) for k in quiet):
            return False
        while True:  # take away states without a successor among the rest: what is left goes round
            stuck = {k for k in quiet if not any(n in quiet for n in after(k))}
            if not stuck:
                return not quiet
            quiet -= stuck


def _after(free: Problem, state: State, transition: object) -> Iterator[State]:
    environment = free.environment
    edges = [environment.components[c].edges[e] for c, e in transition.edges]  # type: ignore[attr-defined]
    choices = free_choices(environment, transition)  # type: ignore[arg-type]
    ranges = [
        (False, True) if not hasattr(c.kind, "low") else range(c.kind.low, c.kind.high + 1) for c in choices
    ]
    for values in product(*ranges):
        chosen = {c.name: v for c, v in zip(choices, values, strict=True)}
        for outcomes in product(*(range(len(e.outcomes)) for e in edges)):
            try:
                yield apply_move(free, state, Move(transition, outcomes, chosen))  # type: ignore[arg-type]
            except NotAStep:
                continue
