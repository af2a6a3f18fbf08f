"""A model whose actions are taken from outside, one step at a time: what a learner interacts with.

Steps are those of the reference; chance and what the environment chooses are drawn from the run's own words.
Where the action alone does not say which transition is taken, nothing is guessed: the step is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.interpret.joint_steps import (
    JointTransition,
    JointTransitionCache,
    describe_state_row,
    undefined_error,
)
from surefoot.explore.number_table import NumberTable
from surefoot.explore.row_layout import row_layout
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import clip_controls
from surefoot.problem.validate import check_environment, environment_labels
from surefoot.simulate.chosen_values import draw_chosen_values
from surefoot.simulate.draw import cumulative_thresholds, draw_outcome
from surefoot.simulate.path_property import reward_names
from surefoot.simulate.starts.draw_starts import prepare_starts
from surefoot.term.closures import UNDEFINED_ERRORS, Closure, Row, compile_closure
from surefoot.term.interval import term_interval
from surefoot.term.term import Term
from surefoot.work.philox import Stream


@dataclass(frozen=True, slots=True)
class StepTaken:
    """Where a step has led, and what it earned; `row` is None where the action was not possible."""

    row: Row | None
    rewards: Mapping[str, float]


class OpenModel:
    """The environment: `begin` draws a start, `take_step` makes a step."""

    def __init__(self, environment: Environment) -> None:
        check_environment(environment)
        if environment.flow is not None:
            what = "the environment has a differential equation, and a learner's steps are those of a map"
            raise Unsupported(what, fix="discretise it first")
        self.environment, self.layout = environment, row_layout(environment)
        self.labels = environment_labels(environment)
        self.rewards = tuple(sorted(reward_names(environment)))
        self._steps = JointTransitionCache(environment, None, self.layout, self.rewards, NumberTable())
        self._numbers = self._steps.numbers
        self._starts = prepare_starts(environment, np.random.default_rng(0))

    def compile_term(self, term: Term) -> Closure:
        """A function of rows."""
        return compile_closure(term, self.layout.slots, self.layout.kinds, self.environment.arithmetic)

    def bounds_of(self, term: Term) -> tuple[float, float]:
        """Between which numbers the term is, for the declared kinds."""
        low, high = term_interval(term, self.layout.kinds)
        return float(low), float(high)

    def begin(self, rng: np.random.Generator) -> Row:
        """A start state, by the laws that the environment declares, others uniformly or spread out."""
        (state,) = self._starts.draw(1, rng).states(self.environment)
        return self.layout.row(state)

    def can_go_on(self, row: Row) -> bool:
        """Is any step possible, whatever controls are set?"""
        if self.layout.controls:
            return True  # guards may be about them: the next step will tell
        return bool(self._steps.enabled_steps(row))

    def enabled_labels(self, row: Row) -> frozenset[str | None]:
        """The labels of what is possible now; None: the environment moves by itself."""
        return frozenset(plan.transition.label for plan in self._steps.enabled_steps(row))

    def take_step(self, row: Row, action: str | None, controls: Sequence[Any], stream: Stream) -> StepTaken:
        """The step by that action, or with these values of the controls."""
        extended = (*row, *controls)
        plans = self._steps.enabled_steps(extended)
        known = set(self.labels) if not self.layout.controls else set()
        own = [plan for plan in plans if action is not None and plan.transition.label == action]
        others = [plan for plan in plans if plan.transition.label not in known]
        possible = [*own, *others]
        if not possible:
            return StepTaken(None, {})
        if len(possible) > 1:
            raise self._open_choice(possible, row)
        (plan,) = possible
        chosen = draw_chosen_values(self.environment, self.layout, plan, extended, stream)
        limits = [cumulative_thresholds(shares) for shares in self._steps.shares(plan, chosen)]
        picks = tuple(0 if len(one) == 1 else draw_outcome(stream.word(), one) for one in limits)
        after, earned = self._steps.take_outcome(plan, chosen, picks)
        return StepTaken(after[: self.layout.width], dict(zip(self.rewards, map(float, earned), strict=True)))

    def set_controls(self, values: Sequence[float]) -> tuple[Any, ...]:
        """Numbers as the values of the controls, in the order of rows."""
        found = clip_controls(self.environment, tuple(float(value) for value in values))
        return tuple(found[name] for name in self.layout.controls)

    def value(self, closure: Closure, row: Row, what: str) -> Any:
        """The value of a compiled term; where it has none the error says in which state."""
        try:
            return closure(row)
        except UNDEFINED_ERRORS as error:
            raise undefined_error(error, what, self.layout, row) from None

    def _open_choice(self, possible: Sequence[JointTransition], row: Row) -> InvalidProblem:
        named = ", ".join(f"`{plan.transition.describe(self.environment)}`" for plan in possible)
        state = describe_state_row(self.layout, row)
        return InvalidProblem(
            f"the action leaves open which of {named} is taken, in state {state}",
            fix="give what the environment chooses probabilities",
        )
