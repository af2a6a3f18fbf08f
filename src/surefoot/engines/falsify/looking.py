"""Looking for a violation: batches of runs and searches, one after the other, for as long as one likes.

Wide batches (many short runs) and long ones (few long runs) take turns and grow; then a search begins with
what came nearest. Whoever asks may stop after every step of a batch and ask to go on later.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count as count_from

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.archive import Archive, Origins, Stretch, make_archive
from surefoot.engines.falsify.decision_boundaries import (
    BoundaryPairs,
    Decisions,
    can_be_halved,
    middle_starts,
)
from surefoot.engines.falsify.descent import LEAST_NEAR, NEAR, line_moves, make_point, probe_moves
from surefoot.engines.falsify.evolution import Population, breed_population, keep_first, pick_starts
from surefoot.engines.falsify.joined_runs import join_runs
from surefoot.engines.falsify.nearness import describe_nearest
from surefoot.engines.falsify.robustness import Distances, make_robustness
from surefoot.engines.falsify.score import Score
from surefoot.engines.falsify.suspicion import Origin, confirm_some, confirm_stepwise, origin_in
from surefoot.engines.falsify.watch import (
    Watch,
    compile_watched,
    hash_rows,
    limit_runs,
    step_under_watch,
    watched_condition,
)
from surefoot.problem.identity import ProblemIdentity
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Recurs, Within
from surefoot.problem.semantics import State
from surefoot.simulate.batch.conditions import BatchConditions
from surefoot.simulate.batch.model import BatchModel, BatchStep, Rows, make_batch_model
from surefoot.simulate.batch.numbers import GivenNumbers, Numbers, RunNumbers
from surefoot.simulate.batch.runs import BatchRuns, begin_runs
from surefoot.simulate.batch.state_columns import rows_from_columns
from surefoot.simulate.starts import StartSamples, StartSource, prepare_starts, with_corners
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Reason, Trace, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

WIDE_LANES, WIDE_STEPS = (128, 4096), (24, 256)  # the first and the last batch of many short runs
LONG_LANES, LONG_STEPS = (32, 256), (128, 4096)  # and of few long ones
WIDEST_FIRST = 4  # batches before the first search
FEW_TRANSITIONS = 40  # with more the reference takes long for a step: long runs come later
MOST_CELLS = 2**20  # runs times steps of a batch: they are remembered
SEARCH_STEPS = (32, 128, 512)
POPULATION, GENERATIONS, PATIENCE = 200, 24, 6
PAIRS, BISECTIONS, BISECTED_STEPS = 32, 48, 16  # of starts between which decisions differ
DESCENTS = 8  # steps down a gradient in a search
MOST_DOUBTS = 16  # suspicions of a batch that are made again in vain
FIRST_LOOK, FIRST_LOOK_AT_MANY = 2, 3  # batches; others need long to encode a step with many transitions
TIMES_AS_LONG, MOST_TIMES_AS_LONG = 2.0, 8.0  # may a first look at (some times as) many transitions last
FIRST_TIMES, MOST_FIRST_SECONDS = 4.0, 3.0  # of the time to make ready, a first turn; seconds of it
RARE = 0.005  # an action is rare that is taken less often
EXPLORE_LANES, EXPLORE_STEPS, EXPLORE_BATCHES = 256, 32, 16  # of runs that go on from kept states
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
    rounds: int = 0  # batches of random runs that are over
    nearest: float = np.inf  # distance of the nearest state to a bad one, and that state
    nearest_state: State | None = None
    long: int = 0  # runs that seemed to violate it, in numbers that are too long to be made again
    slowest: int = -1  # steps until a good state, or between them
    _batches: int = 0
    _events: Iterator[Trace | None] | None = None

    def look_first(self, problem: Problem, budget: Budget) -> Verdict:
        """A run that violates the property, if the first batches have one."""
        times = len(model_of_runs(self.problem).transitions) / FEW_TRANSITIONS
        if times <= 1:
            return self._look(budget, FIRST_LOOK)
        longer = replace(budget, seconds=min(TIMES_AS_LONG * times, MOST_TIMES_AS_LONG) * budget.seconds)
        return self._look(longer, FIRST_LOOK_AT_MANY)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        """A run that violates the property, if one is found in time."""
        return self._look(budget, None)

    def _look(self, budget: Budget, rounds: int | None) -> Verdict:
        if self._events is None:
            budget = self._prepare(budget)
        assert self._events is not None
        told = 0.0
        try:
            for found in self._events:
                if found is not None:
                    return Violated(found)
                if budget.is_spent() or (rounds is not None and self.rounds >= rounds):
                    return Unknown(Reason.TIMEOUT, self.describe())
                if (now := budget.elapsed_seconds()) > told + 0.5:
                    told = now
                    budget.progress(f"falsify: {self.describe()}")
        except KeyboardInterrupt:
            return Unknown(Reason.INTERRUPTED, self.describe())
        return Unknown(Reason.INCOMPLETE, self.describe())

    def describe(self) -> str:
        runs = count_noun(self.made, "run")
        near = describe_nearest(self.problem, self.nearest_state, self.slowest)
        if self.long:
            seemed = f"{self.long:,} of them seemed" if self.long > 1 else "one of them seemed"
            near = f"{seemed} to, in numbers that become too long to be exact; fix: `arithmetic = float64`"
        return f"none of {runs} of up to {count_noun(self.longest, 'step')} violated it" + (
            f"; {near}" if near else ""
        )

    def _prepare(self, budget: Budget) -> Budget:
        """A turn in which everything has to be made ready lasts some times as long."""
        before = budget.elapsed_seconds()
        self._events = RunBatches(self).look()
        taken = budget.elapsed_seconds() - before
        taken = max(taken, min(FIRST_TIMES * taken, MOST_FIRST_SECONDS))
        return replace(budget, seconds=max(budget.seconds, budget.elapsed_seconds() + taken))


def model_of_runs(problem: Problem) -> BatchModel:
    """Made once for the question whether there is one and for the runs."""
    return _cached_model(ProblemIdentity(problem))


@lru_cache(maxsize=1)
def _cached_model(same: ProblemIdentity) -> BatchModel:
    return make_batch_model(same.problem)


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
        self.model: BatchModel = model_of_runs(self.problem)
        self.watched: BatchConditions = compile_watched(self.problem, self.model)
        self.bound = property_steps(self.problem)
        self.sources: dict[bool, StartSource] = {}
        wanted = isinstance(self.problem.property, Never)
        self.robustness = make_robustness(self.model, watched_condition(self.problem), holds=wanted)
        self.archive: Archive | None = None
        self.open = False  # whether anything is left open in some state
        self.decisions = _count_outputs(self.problem)
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
            is_long = number % 2 == 1 and (number % 4 == 3 or len(self.model.transitions) <= FEW_TRANSITIONS)
            lanes, steps = next(long if is_long else wide)
            if is_long and self.bound is not None:
                steps = max(steps, min(self.bound, LONG_STEPS[1]))  # somebody thinks that so many matter
            alone = yield from self.random_batch(lanes, self.limit(steps), number)
            self.looking.rounds += 1
            if alone:
                yield from self.only_run()
                return
            if number >= WIDEST_FIRST - 1 and number % 2:
                place = (number - WIDEST_FIRST + 1) // 2
                yield from self.search(self.limit(SEARCH_STEPS[place % len(SEARCH_STEPS)]))
                yield from self.explore()
                yield from self.bisect_decisions(self.limit(BISECTED_STEPS))
                if (wanted := self.rare_output(place)) is not None:
                    yield from self.search(self.limit(SEARCH_STEPS[place % len(SEARCH_STEPS)]), wanted)
            if self.is_done():
                return

    def draw(self, lanes: int, rng: np.random.Generator, corners: bool) -> StartSamples:
        return self.source(corners, rng).draw(max(limit_runs(self.looking, lanes), 1), rng)

    def source(self, corners: bool, rng: np.random.Generator) -> StartSource:
        """Made when first needed: that may take a while."""
        if False not in self.sources:
            self.sources[False] = prepare_starts(self.problem.environment, rng)
        if corners not in self.sources:
            self.sources[corners] = with_corners(self.sources[False], rng)
        return self.sources[corners]

    def random_batch(self, lanes: int, steps: int, number: int) -> Generator[Trace | None, None, bool]:
        """True: there is one start, and nothing is left open, so that one run is all there is."""
        rng = self.next_rng()
        starts = self.draw(min(lanes, max(1, MOST_CELLS // (steps + 1))), rng, corners=number % 4 >= 2)
        numbers = RunNumbers(len(starts), rng, plain=number < 2)
        yield from self.batch(starts, numbers, steps, by_probability=number % 4 in (0, 3))
        self.open |= numbers.asked
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
        archive: Archive | None = None,
        origins: Origins = (),
        decided: Decisions | None = None,
    ) -> Generator[Trace | None, None, None]:
        """One batch of runs, step by step; `archive` keeps states, `origins`: they go on from kept ones.

        `decided`: where the decisions are noted, by step and run.
        """
        problem, looking = self.problem, self.looking
        runs, watch = begin_runs(self.model, starts.columns), Watch(problem, self.watched, len(starts))
        score = score or Score(problem, self.robustness, len(starts), steps)
        origin = origin_in(problem.environment, starts)
        if archive is not None:
            archive.begin(Stretch(runs, None if origins else starts, origins))
            if origins:
                back = archive.trace_back
                origin = lambda row: back(origins[row])  # noqa: E731
        doubts, returns = 0, RETURNS[0]
        looking.made += len(starts)

        def confirm(rows: Rows, runs: BatchRuns = runs) -> Iterator[Trace | None]:
            nonlocal doubts
            if len(rows) and doubts < MOST_DOUBTS:
                looking.long += yield from confirm_some(problem, runs, origin, rows)
                doubts += len(rows)

        for step in step_under_watch(runs, watch, numbers, steps, by_probability=by_probability):
            yield from confirm(step.suspicious)
            distances = score.look(step.state, step.alive, step.rows, step.made)
            if archive is not None:
                archive.note(step.state, step.alive, step.rows, distances, step.number)
            self._count_decisions(step.made)
            if decided is not None and step.made.decision is not None:
                decided[step.number, step.rows] = step.made.decision.actions
            looking.taken += len(step.rows)
            looking.longest = max(looking.longest, step.number)
            if step.number + 1 == returns or step.number == steps or not runs.alive.any():
                returns *= RETURNS[1]
                yield from confirm(watch.find_returning())
            yield None
        if self.open and watch.hashes:
            yield from self._join(watch, runs, origin)
        score.finish(watch)
        self._note_nearest(score, watch)

    def _join(self, watch: Watch, runs: BatchRuns, origin: Origin) -> Iterator[Trace | None]:
        for row, moves in join_runs(watch, runs):
            start, before = origin(row)
            found = yield from confirm_stepwise(self.problem, start, before + moves)
            if isinstance(found, Trace):
                yield found

    def _note_nearest(self, score: Score, watch: Watch) -> None:
        looking = self.looking
        if score.nearest_state is not None and score.nearest < looking.nearest:
            looking.nearest = score.nearest
            looking.nearest_state = next(
                iter(rows_from_columns(score.nearest_state, self.problem.environment, [0]))
            )
        seen = watch.quiet if isinstance(self.problem.property, Recurs) else watch.first_good
        looking.slowest = max(looking.slowest, int(seen.max(initial=-1)))

    def _count_decisions(self, made: BatchStep) -> None:
        if self.decisions is not None and made.decision is not None:
            taken = made.decision.actions
            self.decisions += np.bincount(taken[taken >= 0], minlength=len(self.decisions))

    def rare_output(self, place: int) -> int | None:
        """An output of the network that almost never decides; None: there is none."""
        if self.decisions is None or not self.decisions.any():
            return None
        rare = np.flatnonzero(self.decisions < RARE * self.decisions.sum())
        return int(rare[place % len(rare)]) if len(rare) else None

    def explore(self) -> Iterator[Trace | None]:
        """Runs that go on from states that were met before, seldom or near to a violation."""
        if not self.open or not isinstance(self.problem.property, Never):
            return
        steps = self.limit(EXPLORE_STEPS)
        if steps < EXPLORE_STEPS:
            return
        archive = self.archive = self.archive or make_archive(self.problem, tuple(self.model.kinds))
        archive.make_room()
        rng = self.next_rng()
        most = None if self.bound is None else self.bound - steps
        for number in range(EXPLORE_BATCHES):
            if self.is_done():
                return
            lanes = limit_runs(self.looking, EXPLORE_LANES)
            again = archive.draw(lanes, most, rng) if number else None
            starts = self.draw(lanes, rng, corners=False) if again is None else again
            numbers = RunNumbers(len(starts), rng, plain=number % 2 == 0)
            origins = () if again is None else archive.drawn
            yield from self.batch(
                starts, numbers, steps, by_probability=False, archive=archive, origins=origins
            )

    def search(self, steps: int, wanted: int | None = None) -> Iterator[Trace | None]:
        """A population of runs that is made to come nearer to a violation, generation by generation.

        `wanted`: or nearer to states in which this output decides.
        """
        rng = self.next_rng()
        lanes = min(POPULATION, max(16, MOST_CELLS // (steps + 1)))
        starts = self.draw(lanes, rng, corners=True)
        population = Population(starts, GivenNumbers(len(starts), steps, rng))
        best, since = np.inf, 0
        for generation in range(GENERATIONS):
            if self.is_done():
                return
            runs = keep_first(population.starts, limit_runs(self.looking, len(population.starts)))
            score = Score(self.problem, self.robustness, len(runs), steps, wanted)
            yield from self.batch(runs, population.numbers, steps, score=score)
            if len(runs) < len(population.starts):
                return
            if generation == 0 and wanted is None:
                yield from self.descend(runs, population.numbers, score.values, steps)
            nearest = float(score.values.min())
            best, since = (nearest, 0) if nearest < best else (best, since + 1)
            if since > PATIENCE:
                return
            population = breed_population(
                self.problem.environment, population, score.values, self.source(False, rng), rng
            )

    def descend(
        self, runs: StartSamples, numbers: GivenNumbers, values: Distances, steps: int
    ) -> Iterator[Trace | None]:
        """From the nearest of some runs down the gradient, as long as that comes nearer."""
        point = make_point(self.problem.environment, runs, int(values.argmin()), numbers)
        near = NEAR
        for _ in range(DESCENTS):
            if point is None or self.is_done() or near < LEAST_NEAR:
                return
            probes = probe_moves(point, near)
            around = yield from self._distances(*point.move(probes), steps)
            moves = line_moves(probes, around)
            if moves is None:
                return
            along = yield from self._distances(*point.move(moves), steps)
            if along.min() < around[0]:
                point = point.at(moves[along.argmin()])
            else:
                near /= 16

    def bisect_decisions(self, steps: int) -> Iterator[Trace | None]:
        """Runs that begin nearer and nearer to where the policy begins to decide otherwise."""
        environment = self.problem.environment
        if self.decisions is None or not can_be_halved(environment):
            return
        rng = self.next_rng()
        starts = self.draw(2 * PAIRS, rng, corners=False)
        half = len(starts) // 2
        numbers = GivenNumbers(half, steps, rng)
        sides = [pick_starts(starts, np.arange(half) + offset) for offset in (0, half)]
        here = yield from self._decisions(sides[0], numbers, steps)
        there = yield from self._decisions(sides[1], numbers, steps)
        pairs = BoundaryPairs(sides[0], sides[1], here, there)
        for _ in range(BISECTIONS):
            if not (rows := pairs.open()).any() or self.is_done():
                return
            if not rows.all():
                kept, pairs = np.flatnonzero(rows), pairs.keep(rows)
                numbers = numbers.breed(len(kept), lambda n, kept=kept: n[kept])  # type: ignore[misc]
            middle = middle_starts(environment, pairs.first, pairs.second)
            made = yield from self._decisions(middle, numbers, steps)
            pairs = pairs.narrow(middle, made)

    def _decisions(
        self, starts: StartSamples, numbers: GivenNumbers, steps: int
    ) -> Generator[Trace | None, None, Decisions]:
        """What is decided in each step of a batch."""
        found = np.full((steps + 1, len(starts)), -1)
        yield from self.batch(starts, numbers, steps, decided=found)
        return found

    def _distances(
        self, starts: StartSamples, numbers: GivenNumbers, steps: int
    ) -> Generator[Trace | None, None, Distances]:
        score = Score(self.problem, self.robustness, len(starts), steps)
        yield from self.batch(starts, numbers, steps, score=score)
        return score.values


def _growing(
    lanes: tuple[int, int], steps: tuple[int, int], by: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    many, length = lanes[0], steps[0]
    while True:
        yield many, length
        many, length = min(by[0] * many, lanes[1]), min(by[1] * length, steps[1])


def _count_outputs(problem: Problem) -> NDArray[np.int64] | None:
    """Zeros, one for each output that may decide; None: none does."""
    policy = problem.policy
    if not isinstance(policy, NeuralPolicy) or policy.choose not in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE):
        return None
    return np.zeros(len(action_names(policy, problem.environment)), dtype=np.int64)
