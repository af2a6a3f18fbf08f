"""The game from one state on, by the reference semantics: who wins within some steps.

What the policy may pick is tried one by one, against everything that the environment may do. Where values are
chosen among infinitely many some of them stand for all; where controls are real numbers a grid with the
corners of their box does. Then what is found is a sample, and whoever asks has to say so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.explore.interpret.joint_steps import JointTransitionCache
from surefoot.explore.number_table import NumberTable
from surefoot.explore.row_layout import row_layout
from surefoot.explore.state_conditions import compile_conditions
from surefoot.fault_analysis.winning_region import pick_condition
from surefoot.problem.environment import Choice, Control, Environment
from surefoot.problem.meaning.decision import action_among, action_names
from surefoot.problem.meaning.transition import Transition, enabled_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Within
from surefoot.problem.semantics import (
    State,
    enumerate_outcomes,
    free_choices,
    holds_in_state,
    policy_decision,
)
from surefoot.simulate.batch.model import value_at_share
from surefoot.simulate.batch.state_columns import exact_entry
from surefoot.term.closures import UNDEFINED_ERRORS, Closure
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import chosen_action
from surefoot.term.term import Term, free_names
from surefoot.term.value_types import Arithmetic, Bool, Int
from surefoot.verdict.fault import Alternative
from surefoot.work.budget import Budget

MOST_VALUES = 64  # of choices that are all tried
SHARES = (0.0, 0.5, float(np.nextafter(1.0, 0.0)), 0.25, 0.75)  # of a range, where only some are
MOST_GRID = 81  # controls
MOST_DEPTH = 200


class Value(IntEnum):
    """For the policy, worst first. `OPEN`: neither happens within the steps that were looked at."""

    LOST = 0
    OPEN = 1
    WON = 2


class TooManyStates(Exception):
    """More states than are looked at, or no time left."""


@dataclass(frozen=True, slots=True)
class Options:
    """What may happen in a state: by what is picked the next states, and those of the environment's own.

    `doubtful`: something in it has no value, or no chosen value keeps an assumption.
    """

    own: tuple[State, ...]
    picks: tuple[tuple[Alternative, tuple[State, ...]], ...]
    doubtful: bool = False


class CompiledSteps:
    """The steps of an environment of whole numbers as the exploration makes them: the same, and faster."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._layout = problem, row_layout(problem.environment)
        self._cache = JointTransitionCache(
            problem.environment, problem.policy, self._layout, (), NumberTable((Fraction(0), Fraction(1)))
        )
        self._conditions: dict[Term, Closure | None] = {}

    def options(self, state: State) -> Options:
        row = self._layout.row(state)
        own: list[State] = []
        picks: dict[str, list[State]] = {}
        undefined: set[str | None] = set()
        enabled = self._cache.enabled_steps(row)
        for plan in enabled:
            try:
                after = [
                    self._layout.state(following)
                    for extended in self._cache.choices(plan, row)
                    for _, following, _ in self._cache.outcomes(plan, extended)
                ]
            except InvalidProblem:
                undefined.add(plan.action)
                continue
            if after:
                (own if plan.action is None else picks.setdefault(plan.action, [])).extend(after)
        return gather_options(bool(enabled), own, picks, undefined)

    def holds(self, state: State, condition: Term) -> bool | None:
        """None: it is about more than a state."""
        if condition not in self._conditions:
            made = compile_conditions(self._problem, self._layout, {"asked": condition})
            self._conditions[condition] = None if made.facts else made.closures["asked"]
        found = self._conditions[condition]
        return None if found is None else bool(found(self._layout.row(state)))


def gather_options(
    enabled: bool, own: list[State], picks: Mapping[str, list[State]], undefined: Set[str | None]
) -> Options:
    """What a state offers; a pick with a step that has no value is not offered."""
    kept = tuple((Alternative(a), tuple(after)) for a, after in picks.items() if a not in undefined)
    return Options(tuple(own), kept, bool(undefined) or (enabled and not own and not picks))


def _has_whole_numbers(environment: Environment) -> bool:
    chosen = [e.chosen for part in environment.components for e in part.edges]
    return (
        environment.arithmetic is Arithmetic.EXACT
        and all(isinstance(v.kind, Bool | Int) for v in environment.variables)
        and all(map(_is_enumerable, chosen))
    )


@dataclass(slots=True)
class LocalGame:
    """`nodes`: how many states may be looked at; more raise `TooManyStates`."""

    problem: Problem
    budget: Budget
    nodes: int = 5_000
    _known: dict[tuple[Hashable, int, int], Value] = field(default_factory=dict)
    _options: dict[Hashable, Options] = field(default_factory=dict)
    _steps: CompiledSteps | None = None

    def __post_init__(self) -> None:
        whole = _has_whole_numbers(self.problem.environment) and not self.problem.environment.controls
        self._steps = CompiledSteps(self.problem) if whole else None

    @property
    def all_choices(self) -> bool:
        """Is everything tried that the environment may choose?"""
        parts = self.problem.environment.components
        return all(_is_enumerable(e.chosen) for part in parts for e in part.edges)

    @property
    def all_picks(self) -> bool:
        """Is everything tried that the policy may pick?"""
        return not self.problem.environment.controls

    def value(self, state: State, index: int, horizon: int) -> Value:
        """Who wins if the state is number `index` of a run and nothing counts after number `horizon`.

        LOST is a fact, as far as all picks are tried; WON is one as far as all choices are.
        """
        place = (_key(state), index, horizon)
        if place not in self._known:
            self._known[place] = self._compute(state, index, horizon)
        return self._known[place]

    def _compute(self, state: State, index: int, horizon: int) -> Value:
        decided = self._decided(state, index)
        if decided is not None:
            return decided
        if index >= horizon:
            return Value.OPEN
        if horizon - index > MOST_DEPTH:
            raise TooManyStates
        options = self.options(state)
        if not options.own and not options.picks:
            return Value.OPEN if options.doubtful else self._ended(state)
        worst = min((self.value(s, index + 1, horizon) for s in options.own), default=Value.WON)
        if worst is Value.LOST:
            return worst
        best = Value.LOST
        for pick, after in options.picks:
            if not self._is_picked_bad(state, pick):
                best = max(best, self._worst(after, best, index + 1, horizon))
                if best is Value.WON or (best is Value.OPEN and worst is Value.OPEN):
                    break
        if not options.picks:
            best = Value.LOST if self._is_picked_bad(state, Alternative()) else Value.WON
        found = min(worst, best)
        return Value.OPEN if found is Value.LOST and options.doubtful else found

    def _worst(self, after: tuple[State, ...], enough: Value, index: int, horizon: int) -> Value:
        worst = Value.WON
        for state in after:
            worst = min(worst, self.value(state, index, horizon))
            if worst <= enough:
                break
        return worst

    def _decided(self, state: State, index: int) -> Value | None:
        """What is known of a state by itself."""
        match self.problem.property:
            case Never(bad, steps):
                if steps is not None and index > steps:
                    return Value.WON
                return Value.LOST if not _depends_on_pick(bad) and self._holds(state, bad) else None
            case Within(good, steps, after):
                if index >= after and index <= steps and self._holds(state, good):
                    return Value.WON
                return Value.LOST if index >= steps else None
            case Eventually(good):
                return Value.WON if self._holds(state, good) else None
        return None

    def _ended(self, state: State) -> Value:
        if isinstance(self.problem.property, Never):
            return Value.LOST if self._is_picked_bad(state, Alternative()) else Value.WON
        return Value.LOST

    def _is_picked_bad(self, state: State, pick: Alternative) -> bool:
        match self.problem.property:
            case Never(bad) if _depends_on_pick(bad):
                return self._holds(state, pick_condition(bad, pick.action))
        return False

    def _holds(self, state: State, condition: Term) -> bool:
        try:
            if self._steps is not None and (found := self._steps.holds(state, condition)) is not None:
                return found
            return holds_in_state(self.problem, state, condition)
        except (InvalidProblem, *UNDEFINED_ERRORS):
            return False

    def safe_picks(self, state: State, index: int, horizon: int) -> tuple[tuple[Alternative, Value], ...]:
        """What may be picked without losing within the steps that are looked at."""
        found = []
        for pick, after in self.options(state).picks:
            if not self._is_picked_bad(state, pick):
                value = self._worst(after, Value.LOST, index + 1, horizon)
                if value is not Value.LOST:
                    found.append((pick, value))
        return tuple(found)

    def options(self, state: State) -> Options:
        """Everything that is tried in this state."""
        place = _key(state)
        if place not in self._options:
            self.nodes -= 1
            if self.nodes < 0 or self.budget.is_spent():
                raise TooManyStates
            controls = bool(self.problem.environment.controls)
            self._options[place] = self._control_options(state) if controls else self._action_options(state)
        return self._options[place]

    def _action_options(self, state: State) -> Options:
        if self._steps is not None:
            return self._steps.options(state)
        environment, policy = self.problem.environment, self.problem.policy
        assert policy is not None
        names = action_names(policy, environment)
        own: list[State] = []
        picks: dict[str, list[State]] = {}
        undefined: set[str | None] = set()
        enabled = enabled_transitions(environment, state)
        for transition in enabled:
            action = action_among(names, environment, transition)
            try:
                after = list(self._following(state, transition, {}))
            except InvalidProblem:
                undefined.add(action)
                continue
            if after:
                (own if action is None else picks.setdefault(action, [])).extend(after)
        return gather_options(bool(enabled), own, picks, undefined)

    def _control_options(self, state: State) -> Options:
        """The environment's transitions follow what is picked: none is its own."""
        picks: list[tuple[Alternative, tuple[State, ...]]] = []
        doubtful = False
        for values in self.control_grid(state):
            after: list[State] = []
            try:
                for transition in enabled_transitions(self.problem.environment, state, values):
                    after += self._following(state, transition, values)
            except InvalidProblem:
                doubtful = True
                continue
            if after:
                picks.append((Alternative(controls=values), tuple(after)))
        return Options((), tuple(picks), doubtful)

    def after_pick(self, state: State, pick: Alternative) -> list[State]:
        """What may follow a pick, whether or not it is one of those that are tried; nothing: not offered."""
        environment, policy = self.problem.environment, self.problem.policy
        assert policy is not None
        names = () if environment.controls else action_names(policy, environment)
        found: list[State] = []
        for transition in enabled_transitions(environment, state, pick.controls):
            if environment.controls or action_among(names, environment, transition) in (None, pick.action):
                found += self._following(state, transition, pick.controls)
        return found

    def control_grid(self, state: State) -> list[dict[str, Any]]:
        """Corners of the box of controls, its middle, and what the policy sets here."""
        environment = self.problem.environment
        exact = environment.arithmetic is Arithmetic.EXACT
        try:
            made = policy_decision(self.problem, state)
        except InvalidProblem:
            made = None
        ends = [
            control_ends(c, None if made is None else made.controls.get(c.name)) for c in environment.controls
        ]
        points = 3 if 3 ** len(ends) <= MOST_GRID else 2
        axes = [[low, high] if points == 2 else [low, (low + high) / 2, high] for low, high in ends]
        number = Fraction if exact else float
        found = [
            {c.name: number(v) for c, v in zip(environment.controls, values, strict=True)}
            for values in islice(product(*axes), 2 * MOST_GRID)
        ]
        return found if made is None else [dict(made.controls), *found]

    def _following(
        self, state: State, transition: Transition, controls: Mapping[str, Any]
    ) -> Iterator[State]:
        """The next states by every outcome and every value that is tried and keeps the assumptions."""
        environment = self.problem.environment
        edges = [environment.components[c].edges[e] for c, e in transition.edges]
        for chosen in tried_values(free_choices(environment, transition), environment.arithmetic):
            names = {**state, **controls, **chosen}
            if not all(evaluate_term(e.assuming, names, environment.arithmetic) for e in edges):
                continue
            for successor in enumerate_outcomes(environment, state, transition, chosen, controls):
                yield successor.state


def control_ends(control: Control, picked: Any) -> tuple[Fraction, Fraction]:
    """The box of a control; without a limit as far as ten times what is picked."""
    far = 10 * max(Fraction(1), abs(Fraction(picked or 0)))
    low = -far if control.low is None else Fraction(control.low)
    high = far if control.high is None else Fraction(control.high)
    return min(low, high), high


def tried_values(choices: tuple[Choice, ...], arithmetic: Arithmetic) -> Iterator[dict[str, Any]]:
    """All values of choices where they are few, else ends and middles of their ranges."""
    if _is_enumerable(choices):
        axes: list[list[Any]] = [_all_values(c) for c in choices]
    else:
        shares = np.array(SHARES[: 5 if len(choices) == 1 else 3])
        axes = [
            list(dict.fromkeys(exact_entry(v, c.kind, arithmetic) for v in value_at_share(c.kind, shares)))
            for c in choices
        ]
    for values in islice(product(*axes), MOST_VALUES):
        yield {c.name: v for c, v in zip(choices, values, strict=True)}


def _all_values(choice: Choice) -> list[Any]:
    match choice.kind:
        case Bool():
            return [False, True]
        case Int(int() as low, int() as high):
            return list(range(low, high + 1))
    raise AssertionError(choice)


def _is_enumerable(choices: tuple[Choice, ...]) -> bool:
    total = 1
    for choice in choices:
        match choice.kind:
            case Bool():
                total *= 2
            case Int(int() as low, int() as high):
                total *= max(high - low + 1, 1)
            case _:
                return False
    return total <= MOST_VALUES


def _depends_on_pick(condition: Term) -> bool:
    names = free_names(condition)
    return "stalled" in names or any(chosen_action(n) is not None for n in names)


def _key(state: State) -> Hashable:
    return tuple(sorted(state.items()))
