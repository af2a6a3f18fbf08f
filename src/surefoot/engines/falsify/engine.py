"""Falsification by simulation: runs are made, thousands at a time, until one violates the property.

Random runs first (the baseline of every falsifier), then runs with extreme disturbances and choices. What is
found is made again by the reference semantics with zero tolerance before it is an answer. That nothing is
found says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.engines.engine_text import show_changes
from surefoot.engines.falsify.suspicion import confirm_first, make_watch
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.simulate.batch.model import BatchModel, make_batch_model
from surefoot.simulate.batch.numbers import MANNERS, numbers_in_manner
from surefoot.simulate.batch.runs import begin_runs
from surefoot.simulate.starts import draw_starts
from surefoot.term.arguments import check_fields, take_in_range, take_optional, whole_number
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Reason, Trace, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

FIRST_STEPS, MOST_STEPS, GROWTH = 64, 4096, 4
LANES = 256, 4096  # runs of the first batch, and of the largest


@dataclass(frozen=True, slots=True, repr=False)
class Falsify:
    name: ClassVar[str] = "falsify"

    steps: int | None = None
    """The longest run that is made; without it 64, 256, 1024 and 4096 steps in turn."""
    runs: int | None = None
    """Stop after so many runs; without it when the budget ends."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        check_fields(
            self,
            steps=take_optional(take_in_range(whole_number, 0)),
            runs=take_optional(take_in_range(whole_number, 1)),
        )

    def objection(self, problem: Problem) -> str | None:
        if not isinstance(problem.property, Never | Within | Eventually | Recurs):
            kind = type(problem.property).__name__
            return f"falsify looks for runs that violate Never, Within, Eventually or Recurs, not {kind}"
        if problem.environment.overapproximate:
            return "the environment is an over-approximation: its runs may not exist"
        try:
            make_batch_model(problem)
        except SurefootError as why:
            return str(why)
        return None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        model = make_batch_model(problem, outputs=True)
        made, steps, asked = 0, 0, _property_steps(problem)
        first = FIRST_STEPS if self.steps is None else self.steps
        longest = first if asked is None else min(asked, MOST_STEPS if self.steps is None else self.steps)
        lanes, number = LANES[0], 0
        try:
            while not budget.is_spent() and (self.runs is None or made < self.runs):
                budget.progress(f"falsify: {made} runs of up to {longest} steps")
                count = lanes if self.runs is None else min(lanes, self.runs - made)
                found = _search_batch(problem, model, count, longest, number, budget)
                if found is not None:
                    return Violated(found)
                made, steps, number = made + count, max(steps, longest), number + 1
                if number % len(MANNERS) == 0:
                    lanes = min(2 * lanes, LANES[1])
                    if self.steps is None and asked is None:
                        longest = min(GROWTH * longest, MOST_STEPS)
        except KeyboardInterrupt:
            return Unknown(Reason.INTERRUPTED, _what_was_seen(made, steps))
        reason = Reason.TIMEOUT if budget.is_spent() else Reason.INCOMPLETE
        return Unknown(reason, _what_was_seen(made, steps))


def _property_steps(problem: Problem) -> int | None:
    """After how many steps a run is decided; None: it may take any number."""
    match problem.property:
        case Never(_, steps) | Within(_, steps):
            return steps
        case _:
            return None


def _what_was_seen(runs: int, steps: int) -> str:
    return f"none of {count_noun(runs, 'run')} of up to {count_noun(steps, 'step')} violated it"


def _search_batch(
    problem: Problem, model: BatchModel, count: int, longest: int, number: int, budget: Budget
) -> Trace | None:
    """One batch of runs, in the manner of its number."""
    rng = np.random.default_rng((budget.seed, number))
    manner = MANNERS[number % len(MANNERS)]
    starts = draw_starts(problem.environment, count, rng, corners=manner != "random").columns
    uniform, runs = numbers_in_manner(manner, count, rng), begin_runs(model, starts)
    watch = make_watch(problem, model, count)
    for step in range(longest + 1):
        state, alive = runs.state, runs.alive.copy()
        made = runs.advance(uniform, by_probability=manner != "extreme")
        suspicious = watch.look(state, alive, made)
        for trace in confirm_first(problem, runs, suspicious, step):
            return trace
        if not runs.alive.any() or budget.is_spent():
            break
    for trace in confirm_first(problem, runs, watch.returning(), longest + 1):
        return trace
    return None
