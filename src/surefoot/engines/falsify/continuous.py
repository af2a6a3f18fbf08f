"""Looking at runs in continuous time: integrated numerically between the times at which controls are set.

What is seen here proves nothing. An integrator has an error, and what a float is bad by may be that error: a
run is shown again with finer steps before it is told, but it stays a suspicion, and the answer unknown. The
portfolio follows it inside validated enclosures; where these show nothing, this search goes on.
Disturbances are held from one time to the next, which is one of the ways in which they may change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count as count_from
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.evolution import Population, breed_population
from surefoot.engines.falsify.robustness import Robustness, make_robustness
from surefoot.engines.falsify.watch import limit_runs
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.seconds import AskedMoments, moments_of_property
from surefoot.problem.semantics import Move
from surefoot.simulate.batch.integrate import FlowColumns, compile_flow
from surefoot.simulate.batch.model import ENDED, BatchModel, BatchStep, make_batch_model
from surefoot.simulate.batch.numbers import GivenNumbers, Numbers, RunNumbers, numbers_of_rows
from surefoot.simulate.batch.state_columns import column_kinds
from surefoot.simulate.starts import StartSamples, StartSource, prepare_starts
from surefoot.term.columns import Column, ColumnTerms, Truths, compile_columns
from surefoot.term.term import FALSE, free_names
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Reason, Unknown, Verdict
from surefoot.work.budget import Budget

POPULATION, GENERATIONS, PATIENCE = 128, 12, 4  # of a search
FIRST_LOOK = 2  # batches
DENSER = (1, 4, 2)  # times as many pieces are looked at, batch by batch, as the error asks for
LANES, PERIODS = (64, 2048), (32, 1024)  # of the first and of the last batch
FIRST_PIECES, MOST_PIECES = 2, 128  # of a period
WANTED_ERROR = 1e-9  # of a piece, relative to 1 and the value
FINER = 4  # times as many pieces, to look again
MOST_POINTS = 2000  # of a run that is told
MOST_NAMED = 8  # values of a start that are told


def is_in_continuous_time(problem: Problem) -> bool:
    flow = problem.environment.flow
    return flow is not None and flow.continuous


def continuous_objection(problem: Problem) -> str | None:
    """Why runs of a problem in continuous time cannot be looked at."""
    asked = _asked_moments(problem)
    if asked is None or (asked.reaches and asked.until is None):
        kind = type(problem.property).__name__
        limit = " without a last moment" if asked is not None else ""
        what = "in continuous time falsify looks for runs that violate Never, or miss a goal until a moment"
        return f"{what}, not {kind}{limit}"
    environment = problem.environment
    own = {v.name for v in environment.variables}
    conditions = [asked.condition] if asked.goal is None else [asked.condition, asked.goal]
    if any(free_names(condition) - own for condition in conditions):
        return "in continuous time falsify looks at conditions on variables, not on what the policy does"
    if any(o.updates for c in environment.components for e in c.edges for o in e.outcomes):
        return "in continuous time variables change by their derivatives alone: an edge has updates"
    try:
        compile_flow(environment)
        make_batch_model(_without_flow(problem))
    except SurefootError as why:
        return str(why)
    return None


def _asked_moments(problem: Problem) -> AskedMoments | None:
    flow = problem.environment.flow
    assert flow is not None
    return moments_of_property(problem.property, Fraction(flow.control_period))


def _without_flow(problem: Problem) -> Problem:
    """What decides and chooses; nothing moves."""
    return replace(problem, environment=replace(problem.environment, flow=None))


@dataclass(slots=True)
class ContinuousLooking:
    """A search that goes on where it stopped."""

    problem: Problem
    seed: int
    steps: int | None = None  # periods of the longest run
    runs: int | None = None
    made: int = 0
    longest: int = 0
    rounds: int = 0  # batches of random runs that are over
    suspected: SuspectedRun | None = None  # the first run that was told
    _events: Iterator[SuspectedRun | None] | None = None

    def look_first(self, problem: Problem, budget: Budget) -> Verdict:
        """What the first batches show."""
        return self._look(budget, FIRST_LOOK)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        """Unknown in any case: what was seen is told in it."""
        return self._look(budget, None)

    def _look(self, budget: Budget, rounds: int | None) -> Verdict:
        if self._events is None:
            before = budget.elapsed_seconds()
            self._events = _ContinuousBatches(self).look()
            taken = budget.elapsed_seconds() - before
            budget = replace(budget, seconds=max(budget.seconds, budget.elapsed_seconds() + taken))
        try:
            for found in self._events:
                if found is not None:
                    self.suspected = self.suspected or found
                    return Unknown(Reason.INCOMPLETE, describe_suspicion(found), artifact=found)
                if budget.is_spent() or (rounds is not None and self.rounds >= rounds):
                    return self._ended(Reason.TIMEOUT)
        except KeyboardInterrupt:
            return self._ended(Reason.INTERRUPTED)
        return self._ended(Reason.INCOMPLETE)

    def _ended(self, reason: Reason) -> Unknown:
        """Nothing new was seen."""
        return Unknown(reason, self.describe(), artifact=self.suspected)

    def describe(self) -> str:
        if self.suspected is not None:
            return describe_suspicion(self.suspected)
        assert self.problem.environment.flow is not None
        asked = _asked_moments(self.problem)
        until = float(self.longest * self.problem.environment.flow.control_period)
        if asked is not None and asked.until is not None:
            until = min(until, float(asked.until))
        runs = f"{count_noun(self.made, 'run')} integrated numerically up to time {until:.6g}"
        return f"none of {runs} violated it"


def describe_suspicion(found: SuspectedRun) -> str:
    """What was seen, and that it is no proof."""
    start = found.states[0]
    telling = [name for name in start if name in found.open_starts] or list(start)
    shown = ", ".join(f"{name} = {start[name]:.6g}" for name in telling[:MOST_NAMED])
    more = ", …" if len(telling) > MOST_NAMED else ""
    runs = f"of {count_noun(found.runs, 'run')} integrated numerically"
    seen = f"one violates it at time {found.time:.6g}, from the start {shown}{more}"
    return f"{runs} {seen}; that is not proved"


class _ContinuousBatches:
    """What is made once for all batches."""

    def __init__(self, looking: ContinuousLooking) -> None:
        self.looking, self.problem = looking, looking.problem
        environment = self.problem.environment
        assert environment.flow is not None
        self.period = Fraction(environment.flow.control_period)
        found = _asked_moments(self.problem)
        assert found is not None
        self.asked: AskedMoments = found
        self.flow: FlowColumns = compile_flow(environment)
        self.model: BatchModel = make_batch_model(_without_flow(self.problem))
        kinds = column_kinds(environment)
        self.watched: ColumnTerms = compile_columns(
            [self.asked.condition, FALSE if self.asked.goal is None else self.asked.goal],
            kinds,
            Arithmetic.FLOAT64,
        )
        self.pieces = 0

    def look(self) -> Iterator[SuspectedRun | None]:
        lanes, periods, looking = LANES[0], PERIODS[0], self.looking
        for number in count_from():
            rng = np.random.default_rng((looking.seed % 2**63, number))
            source = prepare_starts(self.problem.environment, rng, corners=number % 3 == 2)
            starts = source.draw(max(1, limit_runs(self.looking, lanes)), rng)
            numbers = RunNumbers(len(starts), rng, plain=number % 3 == 0)
            denser = DENSER[number % len(DENSER)]
            yield from self.batch(starts, numbers, self.limit(periods), denser)
            looking.rounds += 1
            yield None  # runs of no length say nothing themselves, and whoever looks has a limit of time
            if not limit_runs(self.looking, 1):
                return
            if number % 3 == 2:
                yield from self.search(self.limit(periods), source, rng)
                if not limit_runs(self.looking, 1):
                    return
            lanes, periods = min(2 * lanes, LANES[1]), min(2 * periods, PERIODS[1])

    def search(
        self, periods: int, source: StartSource, rng: np.random.Generator
    ) -> Iterator[SuspectedRun | None]:
        """Runs that are made to come nearer to a violation, generation by generation."""
        wanted = not self.asked.reaches
        robustness = make_robustness(self.model, self.asked.condition, holds=wanted)
        starts = source.draw(POPULATION, rng)
        population = Population(starts, GivenNumbers(len(starts), periods, rng))
        best, since = np.inf, 0
        for _ in range(GENERATIONS):
            score = _Score(robustness, np.full(POPULATION, np.inf if wanted else 0.0), nearest=wanted)
            yield from self.batch(population.starts, population.numbers, periods, DENSER[1], score)
            nearest = float(score.values.min())
            best, since = (nearest, 0) if nearest < best else (best, since + 1)
            if since > PATIENCE or not limit_runs(self.looking, 1):
                return
            environment = self.problem.environment
            population = breed_population(environment, population, score.values, source, rng)

    def limit(self, periods: int) -> int:
        if self.asked.until is not None:
            last = ceil(self.asked.until / self.period)
            periods = last if self.asked.reaches else min(periods, last)
        return periods if self.looking.steps is None else min(periods, self.looking.steps)

    def pieces_of(self, period: int, pieces: int, finer: int = 1) -> Iterator[tuple[Fraction, Fraction, int]]:
        """A period up to the last moment that counts, cut at the first and the last one: from when, how long,
        and in how many equal pieces.
        """
        begin, end = period * self.period, (period + 1) * self.period
        if self.asked.until is not None:
            end = min(end, self.asked.until)
        inside = {begin, end} | ({self.asked.since} if begin < self.asked.since < end else set())
        for start, stop in pairwise(sorted(inside)):
            share = ceil(pieces * (stop - start) / self.period)
            yield start, stop - start, finer * share

    def counts_at(self, moment: Fraction) -> bool:
        return moment >= self.asked.since and (self.asked.until is None or moment <= self.asked.until)

    def batch(
        self,
        starts: StartSamples,
        numbers: Numbers,
        periods: int,
        denser: int = 1,
        score: _Score | None = None,
    ) -> Iterator[SuspectedRun | None]:
        """Runs from these starts, one period after the other; `denser`: times as many pieces as needed."""
        count, looking, asked = len(starts), self.looking, self.asked
        state = {n: np.asarray(c) for n, c in starts.columns.items()}
        alive = np.ones(count, dtype=np.bool_)  # runs that may still violate the property
        chosen: list[dict[str, Column]] = []
        looking.made += count
        if asked.reaches and asked.until is not None and periods * self.period < asked.until:
            return
        violates, alive = self.judge(state, alive, Fraction(0))
        if violates.any():
            yield from self.confirm(starts, violates, chosen, 0, denser)
        for period in range(periods):
            numbers.step = period
            made = self.model.step(state, count, numbers_of_rows(numbers, np.arange(count)))
            chosen.append(made.chosen)
            alive &= (made.transition != ENDED) & ~made.lost
            known = {**state, **made.chosen, **(made.decision.controls if made.decision is not None else {})}
            if not self.pieces:
                self.pieces = self.choose_pieces(known, count)
            looking.longest = max(looking.longest, period + 1)
            for start, duration, pieces in self.pieces_of(period, denser * self.pieces):
                for piece, (after, lost) in enumerate(
                    self.flow.advance(known, float(duration), pieces, count), 1
                ):
                    alive &= ~lost
                    state = {**state, **after}
                    moment = start + piece * duration / pieces
                    if score is not None and self.counts_at(moment):
                        score.look(state, made, alive)
                    violates, alive = self.judge(state, alive, moment)
                    if violates.any():
                        yield from self.confirm(starts, violates, chosen, period + 1, denser)
                known = {**known, **after}
            yield None
            if not alive.any():
                return
        if asked.reaches:
            yield from self.confirm(starts, alive, chosen, periods, denser)

    def judge(self, state: dict[str, Column], alive: Truths, moment: Fraction) -> tuple[Truths, Truths]:
        """Which of these runs violate the property at a moment, and which may still do so later."""
        count = len(alive)
        found = self.watched(state, count)
        holds, ends = (
            np.asarray(np.broadcast_to(column, count) & ~lost)
            for column, lost in zip(found.columns, found.lost, strict=True)
        )
        if not self.counts_at(moment):
            holds = np.zeros(count, dtype=np.bool_)
        if self.asked.reaches:
            return np.zeros(count, dtype=np.bool_), alive & ~holds
        return holds & alive, alive & ~holds & ~ends

    def choose_pieces(self, known: dict[str, Column], count: int) -> int:
        """As many as make the estimated error of a piece small, in most runs."""
        pieces = FIRST_PIECES
        while pieces < MOST_PIECES:
            _, lost, error = self.flow.step(known, float(self.period) / pieces, count, estimate=True)
            assert error is not None
            if lost.all() or np.quantile(error[~lost], 0.9) <= WANTED_ERROR:
                break
            pieces *= 2
        return pieces

    def confirm(
        self,
        starts: StartSamples,
        rows: Truths,
        chosen: list[dict[str, Column]],
        periods: int,
        denser: int,
    ) -> Iterator[SuspectedRun]:
        """The first of these runs again with finer steps; it is told if it violates the property then too."""
        pieces = denser * (self.pieces or FIRST_PIECES)
        for row in np.flatnonzero(rows)[:2]:
            coarse = self.single_run(starts, int(row), chosen, periods, pieces, 1)
            fine = self.single_run(starts, int(row), chosen, periods, pieces, FINER)
            if fine is None or coarse is None:
                continue
            open_starts = tuple(n for n, c in starts.columns.items() if len(np.unique(c)) > 1)
            method = f"Dormand-Prince of order 5, {fine.pieces} steps in a period of {float(self.period):g}"
            error = _largest_difference(coarse, fine)
            yield SuspectedRun(
                *fine.shown_points(),
                fine.controls,
                fine.times[-1],
                self.looking.made,
                method,
                error,
                next(starts.states(self.problem.environment, [int(row)])),
                fine.moves,
                open_starts,
            )
            return

    def single_run(
        self,
        starts: StartSamples,
        row: int,
        chosen: list[dict[str, Column]],
        periods: int,
        pieces: int,
        finer: int,
    ) -> _SingleRun | None:
        """One run, state by state, up to its violation."""
        state = {n: np.asarray(c[row : row + 1]) for n, c in starts.columns.items()}
        times, states, controls, moves = [0.0], [state], list[dict[str, float]](), list[Move]()
        nothing = RunNumbers(1, np.random.default_rng(0), plain=True)
        violates, alive = self.judge(state, np.ones(1, dtype=np.bool_), Fraction(0))
        if violates[0]:
            return _SingleRun(times, states, (), (), finer * pieces)
        for period in range(periods):
            made = self.model.step(state, 1, numbers_of_rows(nothing, np.arange(1)))
            if made.transition[0] == ENDED or made.lost[0] or not alive[0]:
                return None
            held = made.decision.controls if made.decision is not None else {}
            controls.append({n: float(c[0]) for n, c in held.items()})
            picked = {n: c[row : row + 1] for n, c in chosen[period].items()}
            values = {n: float(c[0]) for n, c in picked.items()}
            moves.append(self.model.move(int(made.transition[0]), int(made.outcomes[0]), values))
            known = {**state, **picked, **held}
            for start, duration, parts in self.pieces_of(period, pieces, finer):
                for piece, (after, lost) in enumerate(self.flow.advance(known, float(duration), parts, 1), 1):
                    if lost[0]:
                        return None
                    state = {**state, **after}
                    moment = start + piece * duration / parts
                    times.append(float(moment))
                    states.append(state)
                    violates, alive = self.judge(state, alive, moment)
                    if violates[0]:
                        return _SingleRun(times, states, tuple(controls), tuple(moves), finer * pieces)
                known = {**known, **after}
        return (
            _SingleRun(times, states, tuple(controls), tuple(moves), finer * pieces)
            if self.asked.reaches and alive[0]
            else None
        )


@dataclass(slots=True)
class _Score:
    """By run: the nearest that it came to a bad state, or how far inside a goal it was."""

    robustness: Robustness
    values: NDArray[np.float64]
    nearest: bool

    def look(self, state: dict[str, Column], step: BatchStep, alive: Truths) -> None:
        found = self.robustness.distances(state, step, len(alive))
        if self.nearest:
            self.values[alive] = np.minimum(self.values[alive], found[alive])
        else:
            depth = np.where(np.isfinite(found), found, 0.0)
            self.values[alive] = np.maximum(self.values[alive], depth[alive])


@dataclass(frozen=True, slots=True)
class _SingleRun:
    """A run up to its violation, at every step of the integrator."""

    times: list[float]
    states: list[dict[str, Column]]
    controls: tuple[dict[str, float], ...]
    moves: tuple[Move, ...]
    pieces: int

    def shown_points(self) -> tuple[tuple[float, ...], tuple[dict[str, float], ...]]:
        """As many points as are told; the last one is among them."""
        stride = -(-len(self.times) // MOST_POINTS)
        places = sorted({*range(0, len(self.times), stride), len(self.times) - 1})
        shown = tuple({n: float(c[0]) for n, c in self.states[place].items()} for place in places)
        return tuple(self.times[place] for place in places), shown


def _largest_difference(coarse: _SingleRun, fine: _SingleRun) -> float:
    """Between two runs that were integrated with steps of different sizes, at times that both have."""
    pairs = zip(coarse.states, fine.states[::FINER], strict=False)
    return max(float(abs(here[n][0] - there[n][0])) for here, there in pairs for n in here)
