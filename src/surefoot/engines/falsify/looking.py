"""Looking for a violation: batches of runs and searches, one after the other, for as long as one likes.

Wide batches (many short runs) and long ones (few long runs) take turns and grow; then a search begins with
what came nearest. Whoever asks may stop after every step of a batch and ask to go on later.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import count as count_from

import numpy as np

from surefoot.engines.falsify.evolution import Population, breed_population
from surefoot.engines.falsify.robustness import Robustness, make_robustness
from surefoot.engines.falsify.score import Score
from surefoot.engines.falsify.suspicion import confirm_some
from surefoot.engines.falsify.watch import Watch, compile_watched, hash_rows, watched_condition
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Within
from surefoot.simulate.batch.conditions import BatchConditions
from surefoot.simulate.batch.model import BatchModel, Rows, make_batch_model
from surefoot.simulate.batch.numbers import GivenNumbers, Numbers, RunNumbers, numbers_of_rows
from surefoot.simulate.batch.runs import BatchRuns, begin_runs
from surefoot.simulate.starts import StartSamples, StartSource, prepare_starts
from surefoot.term.reserved_names import output_index
from surefoot.term.term import free_names
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Reason, Trace, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

WIDE_LANES, WIDE_STEPS = (128, 4096), (24, 256)  # the first and the last batch of many short runs
LONG_LANES, LONG_STEPS = (32, 256), (128, 4096)  # and of few long ones
WIDEST_FIRST = 4  # batches before the first search
MOST_CELLS = 2**20  # runs times steps of a batch: they are remembered
SEARCH_STEPS = (32, 128, 512)
POPULATION, GENERATIONS, PATIENCE = 200, 24, 6
MOST_DOUBTS = 16  # suspicions of a batch that are made again in vain
RETURNS = (8, 4)  # after so many steps runs that return are looked for, then after so many times more


@dataclass(slots=True)
class Looking:
    """A search that goes on where it stopped."""

    problem: Problem
    seed: int
    steps: int | None = None  # the longest run
    runs: int | None = None  # stop after so many
    name: str = "falsify"
    made: int = 0
    longest: int = 0
    taken: int = 0
    _batches: int = 0
    _events: Iterator[Trace | None] | None = None
    _budget: Budget = field(default_factory=Budget)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        """A run that violates the property, if one is found in time."""
        if self._events is None:
            budget = self._prepare(budget)
        self._budget = budget
        assert self._events is not None
        told = 0.0
        try:
            for found in self._events:
                if found is not None:
                    return Violated(found)
                if budget.is_spent():
                    return Unknown(Reason.TIMEOUT, self.describe())
                if (now := budget.elapsed_seconds()) > told + 0.5:
                    told = now
                    budget.progress(f"falsify: {self.describe()}")
        except KeyboardInterrupt:
            return Unknown(Reason.INTERRUPTED, self.describe())
        return Unknown(Reason.INCOMPLETE, self.describe())

    def describe(self) -> str:
        runs = count_noun(self.made, "run")
        return f"none of {runs} of up to {count_noun(self.longest, 'step')} violated it"

    def _prepare(self, budget: Budget) -> Budget:
        """A turn in which everything has to be made ready lasts as long again."""
        before = budget.elapsed_seconds()
        self._events = RunBatches(self).look()
        taken = budget.elapsed_seconds() - before
        return replace(budget, seconds=max(budget.seconds, budget.elapsed_seconds() + taken))


def property_steps(problem: Problem) -> int | None:
    """After how many steps a run is decided; None: it may take any number."""
    match problem.property:
        case Never(_, steps) | Within(_, steps):
            return steps
        case _:
            return None


class RunBatches:
    """What is made once for all batches."""

    def __init__(self, looking: Looking) -> None:
        self.looking, self.problem = looking, looking.problem
        self.model: BatchModel = make_batch_model(self.problem, outputs=_asks_outputs(self.problem))
        self.watched: BatchConditions = compile_watched(self.problem, self.model)
        self.bound = property_steps(self.problem)
        self.sources: dict[bool, StartSource] = {}
        self.robustness: Robustness | None = None
        self.source(False, self.next_rng())

    def next_rng(self) -> np.random.Generator:
        self.looking._batches += 1
        return np.random.default_rng((self.looking.seed % 2**63, self.looking._batches))

    def limit(self, steps: int) -> int:
        """How long runs are if they may be so long: a deadline has to be reached."""
        asked = self.bound
        if asked is not None:
            steps = asked if isinstance(self.problem.property, Within) else min(steps, asked)
        return steps if self.looking.steps is None else min(steps, self.looking.steps)

    def is_done(self) -> bool:
        return self.looking.runs is not None and self.looking.made >= self.looking.runs

    def look(self) -> Iterator[Trace | None]:
        wide = _growing(WIDE_LANES, WIDE_STEPS, (4, 2))
        long = _growing(LONG_LANES, LONG_STEPS, (2, 4))
        for number in count_from():
            lanes, steps = next(long if number % 2 else wide)
            alone = yield from self.random_batch(lanes, self.limit(steps), number)
            if alone:
                yield from self.only_run()
                return
            if self.is_done():
                return
            if number >= WIDEST_FIRST - 1 and number % 2:
                place = (number - WIDEST_FIRST + 1) // 2
                yield from self.search(self.limit(SEARCH_STEPS[place % len(SEARCH_STEPS)]))

    def draw(self, lanes: int, rng: np.random.Generator, corners: bool) -> StartSamples:
        if self.looking.runs is not None:
            lanes = min(lanes, self.looking.runs - self.looking.made)
        return self.source(corners, rng).draw(max(lanes, 1), rng)

    def source(self, corners: bool, rng: np.random.Generator) -> StartSource:
        """Made when first needed: that may take a while."""
        if corners not in self.sources:
            self.sources[corners] = prepare_starts(self.problem.environment, rng, corners=corners)
        return self.sources[corners]

    def random_batch(self, lanes: int, steps: int, number: int) -> Generator[Trace | None, None, bool]:
        """True: there is one start, and nothing is left open, so that one run is all there is."""
        rng = self.next_rng()
        starts = self.draw(min(lanes, max(1, MOST_CELLS // (steps + 1))), rng, corners=number % 4 >= 2)
        numbers = RunNumbers(len(starts), rng, plain=number < 2)
        yield from self.batch(starts, numbers, steps, by_probability=number % 4 in (0, 3))
        return not numbers.asked and len(np.unique(hash_rows(starts.columns, len(starts)))) == 1

    def only_run(self) -> Iterator[Trace | None]:
        rng = self.next_rng()
        starts = self.source(False, rng).draw(1, rng)
        self.looking.made = 0
        yield from self.batch(starts, RunNumbers(1, rng), self.limit(LONG_STEPS[1]))

    def batch(
        self,
        starts: StartSamples,
        numbers: Numbers,
        steps: int,
        *,
        by_probability: bool = True,
        score: Score | None = None,
    ) -> Generator[Trace | None, None, None]:
        """One batch of runs, step by step."""
        problem, looking = self.problem, self.looking
        runs, watch = begin_runs(self.model, starts.columns), Watch(problem, self.watched, len(starts))
        doubts, returns = 0, RETURNS[0]
        looking.made += len(starts)

        def confirm(rows: Rows, runs: BatchRuns = runs) -> Iterator[Trace]:
            nonlocal doubts
            if len(rows) and doubts < MOST_DOUBTS:
                yield from confirm_some(problem, runs, starts, rows, looking._budget)
                doubts += len(rows)

        for step in range(steps + 1):
            state, alive, rows = runs.state, runs.alive.copy(), runs.rows
            numbers.step = step
            made = runs.advance(numbers_of_rows(numbers, rows), by_probability=by_probability)
            suspicious = watch.look(state, alive, rows, made)
            yield from confirm(suspicious)
            if score is not None:
                score.look(state, alive, rows, made)
            looking.taken += len(rows)
            looking.longest = max(looking.longest, step)
            if step + 1 == returns or step == steps or not runs.alive.any():
                returns *= RETURNS[1]
                yield from confirm(watch.find_returning())
            yield None
            if not runs.alive.any():
                break
            if 2 * runs.alive.sum() < runs.count:
                runs.drop_dead()
        if score is not None:
            score.finish(watch)

    def search(self, steps: int) -> Iterator[Trace | None]:
        """A population of runs that is made to come nearer to a violation, generation by generation."""
        if self.robustness is None:
            wanted = isinstance(self.problem.property, Never)
            self.robustness = make_robustness(self.model, watched_condition(self.problem), holds=wanted)
        rng = self.next_rng()
        lanes = min(POPULATION, max(16, MOST_CELLS // (steps + 1)))
        starts = self.draw(lanes, rng, corners=True)
        population = Population(starts, GivenNumbers(len(starts), steps, rng))
        best, since = np.inf, 0
        for _ in range(GENERATIONS):
            score = Score(self.problem, self.robustness, len(population.starts), steps)
            yield from self.batch(population.starts, population.numbers, steps, score=score)
            if self.is_done():
                return
            nearest = float(score.values.min())
            best, since = (nearest, 0) if nearest < best else (best, since + 1)
            if since > PATIENCE:
                return
            population = breed_population(
                self.problem.environment, population, score.values, self.source(False, rng), rng
            )


def _growing(
    lanes: tuple[int, int], steps: tuple[int, int], by: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    many, length = lanes[0], steps[0]
    while True:
        yield many, length
        many, length = min(by[0] * many, lanes[1]), min(by[1] * length, steps[1])


def _asks_outputs(problem: Problem) -> bool:
    return any(output_index(name) is not None for name in free_names(watched_condition(problem)))
