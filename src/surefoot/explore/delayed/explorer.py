"""Exploration with delayed outcomes: what nobody has looked at stays open (lazy sampling, forgetting).

Where an outcome of chance writes what nothing reads yet, the state is not split: the outcome is an unresolved
source, and variables are tables over it. What really depends on a source resolves it: conditions of the
question, guards, the policy, probabilities, rewards and updates, in this order. Where there is more than one
choice everything is resolved first, so that whoever chooses knows the state. What cannot matter any more is
forgotten. Values of probabilities and expected rewards are those of the whole process (certificates.md, 11,
has the proof). The idea is that of probabilistic symbolic execution (Geldenhuys, Dwyer, Visser, ISSTA 2012),
with independence instead of path conditions, and of delayed sampling (Murray et al., AISTATS 2018).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.delayed.lazy_term import Open, evaluate_lazily
from surefoot.explore.delayed.model import DelayedModel
from surefoot.explore.delayed.reduced_state import ReducedState, Source, Table
from surefoot.explore.delayed.relevance import LazyEdge
from surefoot.explore.delayed.step import Distribution, Taken, take_step
from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.initial_states import initial_rows
from surefoot.explore.interpret.markov_builder import MarkovBuilder, freeze_array
from surefoot.explore.limits import ExplorationLimits
from surefoot.explore.number_table import NumberTable
from surefoot.explore.policy_decisions import compile_policy
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.meaning.decision import action_of
from surefoot.problem.meaning.transition import Transition, joint_transitions
from surefoot.problem.property import counts_steps
from surefoot.problem.semantics import State
from surefoot.query.markov import Markov
from surefoot.term.closures import UNDEFINED_ERRORS, Row

START, GOAL, LOST, WITHIN = range(4)
ReducedKey = tuple[int, Row, tuple[Source, ...]]
_OFTEN = 64  # states after which the clock is looked at


class DelayedGaveUp(Exception):
    """Something is undefined, or a limit is reached: another tier has to say which state that is."""


@dataclass(frozen=True, slots=True, eq=False)
class ReducedStates:
    """The states of a reduced process; start states as they are, others with what is known of them."""

    layout: RowLayout
    keys: tuple[ReducedKey, ...]
    names: tuple[str, ...] = ("state",)

    def __len__(self) -> int:
        return len(self.keys)

    def valuation(self, number: int) -> State:
        return self.layout.state(self.keys[number][1])

    def column(self, name: str) -> NDArray[Any]:
        found = np.empty(len(self.keys), dtype=object)
        for number, key in enumerate(self.keys):
            found[number] = key
        return found


class _Settled(NamedTuple):
    """What holds in a state in which nothing has to be resolved; no steps where a run ends or is decided."""

    rank: int
    steps: tuple[Taken, ...]
    worth: Fraction
    near_tie: bool = False
    stalled: bool = False


class DelayedExplorer:
    """An exploration under way."""

    def __init__(self, model: DelayedModel) -> None:
        self.model = model
        problem = model.problem
        self.numbers = NumberTable((Fraction(0), Fraction(1)))
        self.settled: dict[Any, _Settled | int] = {}
        self.together: dict[tuple[tuple[int, ...], ...], tuple[Transition, ...]] = {}
        self.decide = None
        if problem.policy is not None:
            self.decide = compile_policy(problem.policy, problem.environment, model.layout, outputs=False)
        self.keys: list[ReducedKey] = []
        self.known: dict[ReducedKey, int] = {}
        self.found: list[_Settled] = []
        self.depth: list[int] = []  # of each state: steps from the nearest start
        self.growing = MarkovBuilder(1)
        self.starts = self.done = 0
        self.seconds = 0.0

    def advance(self, limits: ExplorationLimits) -> bool:
        """Go on until all states are known (true) or a limit is reached.

        Raises `DelayedGaveUp` where something is undefined: another tier has to say what and where.
        """
        began = perf_counter()
        try:
            if not self.starts:
                self._add_starts(limits)
            while self.done < len(self.keys):
                if self.done % _OFTEN == 0 and limits.limit_reached(len(self.keys), 0):
                    return False
                self._expand(self.done)
                self.done += 1
        except UNDEFINED_ERRORS as error:
            raise DelayedGaveUp(str(error)) from None
        finally:
            self.seconds += perf_counter() - began
        return True

    @property
    def is_done(self) -> bool:
        return self.starts > 0 and self.done == len(self.keys)

    def _add_starts(self, limits: ExplorationLimits) -> None:
        rows = initial_rows(self.model.problem.environment, self.model.layout, budget=limits.budget)
        for row in rows:
            self._add(START, ReducedState(row, ()), 0)
        self.starts = len(rows)

    def _add(self, rank: int, state: ReducedState, depth: int) -> int:
        key = (rank, (), ()) if rank in (GOAL, LOST) else (rank, *state.key)
        if (number := self.known.get(key)) is None:
            number = self.known[key] = len(self.keys)
            self.keys.append(key)
            self.depth.append(depth)
            found = self.settled[state.key] if rank != START else self._settle_start(state)
            self.found.append(found)  # type: ignore[arg-type]
        return number

    def _settle_start(self, state: ReducedState) -> _Settled:
        """Start states are kept as they are; what happens there is what happens in what is left of them."""
        reduced, lost = self.model.relevance.forget(state)
        return self._settle(reduced, lost)  # type: ignore[return-value]

    def _expand(self, number: int) -> None:
        growing, below = self.growing, self.depth[number] + 1
        for step in self.found[number].steps:
            shares: dict[int, Fraction] = {}
            for probability, rank, state in self._resolve(step.after):
                target = self._add(rank, state, below)
                shares[target] = shares.get(target, Fraction(0)) + probability
            paid = self.numbers.index(step.paid)
            growing.choice([(self.numbers.index(p), t, (paid,)) for t, p in shares.items()], 0, 0)
        growing.end_state()

    def _resolve(self, after: Distribution) -> list[tuple[Fraction, int, ReducedState]]:
        """Where a step leads, with everything resolved that the states there have to know."""
        found = []
        stack = list(reversed(after))
        while stack:
            share, state = stack.pop()
            state, lost = self.model.relevance.forget(state)
            said = self._settle(state, lost)
            if isinstance(said, _Settled):
                found.append((share, said.rank, state))
                continue
            stack += [(share * p, one) for p, one in reversed(state.resolve_source(said))]
        return found

    def _settle(self, state: ReducedState, lost: bool) -> _Settled | int:
        """What holds in a state, or the source to be resolved first."""
        if (found := self.settled.get(state.key)) is None:
            found = self.settled[state.key] = self._look(state, lost)
        return found

    def _look(self, state: ReducedState, lost: bool) -> _Settled | int:
        model = self.model
        if lost:
            return _Settled(LOST, (), Fraction(0))
        for term, ends, rank in ((model.right, True, GOAL), (model.left, False, LOST)):
            value = evaluate_lazily(term, state)
            if isinstance(value, Table | Open):
                return value.source
            if bool(value) is ends:
                return _Settled(rank, (), Fraction(0))
        enabled = self._enabled_transitions(state)
        if isinstance(enabled, int):
            return enabled
        return self._look_at_steps(state, enabled)

    def _look_at_steps(self, state: ReducedState, enabled: tuple[Transition, ...]) -> _Settled | int:
        model = self.model
        near_tie = stalled = False
        if self.decide is not None:
            policy, environment = model.problem.policy, model.problem.environment
            assert policy is not None
            actions = [action_of(policy, environment, t) for t in enabled]
            if own := frozenset(a for a in actions if a is not None):
                if some := state.sources_of(model.read):
                    return some[0]
                (made,) = self.decide([state.row], [own])
                near_tie, stalled = made.near_tie, made.decision.stalls
                picked = made.decision.actions
                enabled = tuple(t for t, a in zip(enabled, actions, strict=True) if a is None or a in picked)
        if len(enabled) > 1 and state.sources:
            return 0
        worth = Fraction(0)
        if enabled and model.worth is not None:
            value = evaluate_lazily(model.worth, state)
            if isinstance(value, Table | Open):
                return value.source
            worth = Fraction(value)
        steps = []
        for transition in enabled:
            taken = take_step(model, [model.edges[at] for at in transition.edges], state)
            if isinstance(taken, Open):
                return taken.source
            steps.append(taken)
        return _Settled(WITHIN, tuple(steps), worth, near_tie, stalled)

    def _enabled_transitions(self, state: ReducedState) -> tuple[Transition, ...] | int:
        """The joint steps whose guards hold; a guard that is open counts only if its edge could move."""
        model = self.model
        ready: list[list[int]] = []
        waiting: list[dict[int, int]] = []  # by component: edges whose guards are open, with their sources
        for place, table in zip(model.layout.places, model.by_place, strict=True):
            if place is not None and place in state.open:
                return state.open[place]
            here = table[state.row[place] if place is not None else 0]
            holding, waits = _sort_guards(here, state)
            ready.append(holding)
            waiting.append(waits)
        if any(waiting):
            source = self._first_awaited(ready, waiting)
            if source is not None:
                return source
        key = tuple(map(tuple, ready))
        if (found := self.together.get(key)) is None:
            together = joint_transitions(model.problem.environment, ready)
            found = self.together[key] = tuple(together)
        return found

    def _first_awaited(self, ready: list[list[int]], waiting: list[dict[int, int]]) -> int | None:
        """The source of the first open guard on which a joint step depends."""
        environment = self.model.problem.environment
        components = environment.components
        possible = [
            {components[c].edges[e].action for e in (*ready[c], *waiting[c])} for c in range(len(components))
        ]
        alone = len(components) == 1 and not environment.synchronisations
        for c, waits in enumerate(waiting):
            for e, source in waits.items():
                action = components[c].edges[e].action
                if action is None or alone:
                    return source
                for vector in environment.synchronisations:
                    parts = zip(vector.actions, possible, strict=True)
                    if vector.actions[c] == action and all(a is None or a in some for a, some in parts):
                        return source
        return None

    def build_result(self) -> ExploredModel:
        """The whole process."""
        count, found, growing = len(self.keys), self.found, self.growing
        worth = array("i", [self.numbers.index(one.worth) for one in found])
        ranks = np.array([one.rank for one in found], dtype=np.int8)
        reward = self.model.question.reward
        named = isinstance(reward, str) and not counts_steps(reward)
        targets = freeze_array(growing.targets, np.int64)
        nothing = np.zeros(count, dtype=np.bool_)
        markov = Markov(
            freeze_array(growing.choices, np.int64),
            freeze_array(growing.outcomes, np.int64),
            targets,
            freeze_array(growing.weights, np.int32),
            self.numbers.values(),
            np.arange(self.starts, dtype=np.int64),
            {str(reward): freeze_array(growing.rewards[0], np.int32)} if named else {},
            {"left": ranks != LOST, "right": ranks == GOAL},
            nothing,
        )
        quantities = (
            {} if reward is None or isinstance(reward, str) else {"reward": freeze_array(worth, np.int32)}
        )
        choices = len(growing.transition)
        bytes_each = (growing.bytes() + 200 * count) / max(count, 1)
        return ExploredModel(
            markov,
            ReducedStates(self.model.layout, tuple(self.keys)),
            np.full(choices, -1, dtype=np.int32),
            (),
            np.zeros(choices, dtype=np.int32),
            (),
            np.zeros(choices, dtype=np.int32),
            ({},),
            np.array([one.stalled for one in found], dtype=np.bool_),
            np.array([one.near_tie for one in found], dtype=np.bool_),
            nothing,
            ranks != WITHIN,
            nothing,
            quantities,
            "delayed",
            {"explore": self.seconds},
            bytes_each,
        )


def _sort_guards(
    here: tuple[tuple[int, LazyEdge], ...], state: ReducedState
) -> tuple[list[int], dict[int, int]]:
    """The edges whose guards hold, and those whose guards are open, with their sources."""
    holding: list[int] = []
    waits: dict[int, int] = {}
    for number, edge in here:
        value = evaluate_lazily(edge.guard, state)
        if isinstance(value, Table | Open):
            waits[number] = value.source
        elif value:
            holding.append(number)
    return holding, waits
