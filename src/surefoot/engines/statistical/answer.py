"""The work of the engine: what is watched, who makes the runs, and the verdict about all starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from surefoot.engines.pctl_question import PctlQuestion, pctl_question
from surefoot.engines.statistical.bounded_rewards import count_bounded_rewards
from surefoot.engines.statistical.engine import Statistical
from surefoot.engines.statistical.experiment import Experiment, run_prefixes
from surefoot.engines.statistical.out_of_reach import still_possible
from surefoot.engines.statistical.question import (
    Infinite,
    ProbabilityQuestion,
    RewardQuestion,
    RunQuestion,
    StartCell,
    combine_intervals,
    named_counts,
    total_counts,
)
from surefoot.engines.statistical.reward_range import never_falls, reward_range
from surefoot.engines.statistical.sobel_wald import SobelWaldTest
from surefoot.engines.statistical.splitting import SplittingTrees, WeightQuestion
from surefoot.engines.statistical.start_cells import CellSimulator
from surefoot.errors import InvalidProblem, SurefootError, did_you_mean
from surefoot.explore.row_layout import row_layout
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.run_fate import can_settle
from surefoot.simulate.simulator import RunSimulator, make_simulator
from surefoot.solvers.sampling.boundary.store import user_folder
from surefoot.solvers.sampling.empirical_bernstein import Betting
from surefoot.solvers.sampling.interruptible import Interruptible, plan_share
from surefoot.solvers.sampling.methods import METHODS, choose_interruptible_plan
from surefoot.solvers.sampling.plan import SamplingPlan
from surefoot.solvers.sampling.rare_events import RareEventPlan, RareProgress
from surefoot.term.term import conjunction_of
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Reason, Unknown, Verdict
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time
from surefoot.work.fingerprint import content_fingerprint
from surefoot.work.ray_pool import RayPool
from surefoot.work.run_directory import RunDirectory
from surefoot.work.worker_pool import ProcessPool, SerialPool, WorkerPool

PLANNING = 0.3  # of the time, for a rule that has to be proved by computation
PLAN_AT_ONCE = "mixture"  # needs no such proof
_RUNS = 4  # to be raised whenever run number r becomes another run than it was


def statistical_verdict(options: Statistical, problem: Problem, budget: Budget) -> Verdict:
    """An interval for the starts together, or one for each of them."""
    wanted = problem.property
    assert isinstance(wanted, Probability | Expected)
    what = pctl_question(wanted, "max")
    budget.progress("preparing the simulation")
    watched, path = watched_runs(problem, what)
    drawn = draws_starts(options, problem)
    made = (watched, path, *simulation_options(options, problem))
    simulator = build_simulator(*made)
    in_cells = isinstance(simulator, CellSimulator)
    together = (drawn and not in_cells) or (wanted.over in ("avg", "sum") and len(simulator.starts) > 1)
    starts: list[int | None] = [None] if together else list(range(len(simulator.starts)))
    alone = options.family_wise or (
        wanted.over != "values" and not in_cells
    )  # else each interval stands for itself
    question = statistical_question(options, problem, len(starts) if alone else 1, budget)
    cells = [StartCell(start, question, question.begin()) for start in starts]
    try:
        with ExitStack() as stack:
            stop = _build_experiment(options, made, simulator, cells, budget, stack).execute()
    except Infinite as why:
        if len(cells) == 1 or wanted.over == "max":
            return Exact(None, None, None)
        return Unknown(Reason.INCOMPLETE, f"from one of the starts the value is infinite: {why}")
    own = {name for name in simulator.starts.layout.names if name in row_layout(problem.environment).slots}
    found = _starts_verdict(cells, wanted, simulator, own, stop, what.negated)
    return replace(found, starts=simulator.law) if isinstance(found, Estimated) else found


def draws_starts(options: Statistical, problem: Problem) -> bool:
    """Does every run draw its start by a law? Where told so, or asked for an average over declared laws."""
    wanted = problem.property
    assert isinstance(wanted, Probability | Expected)
    declared = bool(problem.environment.start_laws) and wanted.over == "avg"
    return options.starts is not None or declared


def watched_runs(problem: Problem, what: PctlQuestion) -> tuple[Problem, PathProperty]:
    """What is simulated, and by what runs are judged: with counters of rewards that have bounds, and ended
    where `right` is out of reach."""
    low = what.after if what.after else None
    counting, left, right = count_bounded_rewards(problem, what)
    path = PathProperty(right, left, low, what.steps, what.reward)
    if can_settle(path):
        path = replace(path, left=conjunction_of((left, still_possible(right, counting.environment))))
    return counting, path


def simulation_options(options: Statistical, problem: Problem) -> tuple[Any, ...]:
    """What runs depend on, besides problem and seed."""
    split = () if options.importance is None else (options.importance, options.factor)
    cells = options.cells
    if cells is None and options.starts is not None and _asks_for_values(problem):
        cells = ""
    return (options.max_steps, options.uniform, draws_starts(options, problem), cells, *split)


def _asks_for_values(problem: Problem) -> bool:
    asked = problem.property
    return isinstance(asked, Probability | Expected) and asked.over == "values"


def build_simulator(
    problem: Problem,
    what: PathProperty,
    max_steps: int,
    uniform: bool,
    drawn: bool = False,
    cells: str | None = None,
    importance: str = "",
    factor: int = 0,
) -> RunSimulator | SplittingTrees | CellSimulator:
    """What makes the runs, or trees of them; `cells`: of starts that are drawn (empty: any)."""
    if importance and cells is not None:
        raise InvalidProblem("splitting knows no cells of starts", fix="leave out --cells or --importance")
    if cells is not None:
        return CellSimulator(problem, what, max_steps, uniform, cells)
    if importance:
        return SplittingTrees(problem, what, max_steps, uniform, importance, factor, drawn)
    return make_simulator(problem, what, max_steps=max_steps, uniform=uniform, drawn=drawn)


def _build_worker(*made: Any) -> Callable[..., Any]:
    """The same in another process."""
    return run_prefixes(build_simulator(*made).runs)


def statistical_question(options: Statistical, problem: Problem, sharing: int, budget: Budget) -> RunQuestion:
    """The question about one start, with its part of the risk."""
    wanted, delta = problem.property, options.delta / sharing
    if isinstance(wanted, Expected):
        within = reward_range(problem.environment, wanted, options.least, options.most)
        grows = never_falls(problem.environment, wanted.reward)
        return RewardQuestion(Betting(within, options.eps, delta), wanted.steps is None, grows)
    assert isinstance(wanted, Probability)
    negated = pctl_question(wanted, "max").negated
    if options.importance is not None:
        return WeightQuestion(RareEventPlan(delta, options.trees), negated)
    value = None if wanted.threshold is None else wanted.threshold.value
    known = ("auto", *METHODS, "sprt")
    if options.method not in known:
        raise InvalidProblem(
            f"there is no method `{options.method}`", fix=did_you_mean(options.method, known)
        )
    if options.method == "sprt" and value is None:
        raise InvalidProblem("`sprt` needs a threshold", fix="ask P>=0.9 [ … ], or use another method")
    if options.method in ("auto", "sprt") and value is not None and 0 < value < 1:
        width = min(options.eps, value / 2, (1 - value) / 2)
        test = SobelWaldTest(value, width, plan_share(delta))
        return ProbabilityQuestion(Interruptible(test, delta), negated)
    method = "clopper-pearson" if options.method in ("auto", "sprt") else options.method
    budget.progress("proving the stopping rule (kept for the next time)")

    def make_plan() -> SamplingPlan | None:
        return choose_interruptible_plan(method, options.eps, delta, folder=user_folder(os.environ))

    share = Budget(PLANNING * budget.remaining())
    own = options.method in METHODS
    found = make_plan() if own else call_in_time(share, make_plan, lambda: None, strictly=True)
    if found is None:
        budget.progress(f"that takes too long: the rule is `{PLAN_AT_ONCE}`, which needs more runs")
        found = choose_interruptible_plan(PLAN_AT_ONCE, options.eps, delta)
    return ProbabilityQuestion(found, negated)


def _build_experiment(
    options: Statistical,
    made: tuple[Any, ...],
    simulator: RunSimulator | SplittingTrees | CellSimulator,
    cells: list[StartCell],
    budget: Budget,
    stack: ExitStack,
) -> Experiment:
    """The experiment with its workers and its folder; `stack` dismisses and closes them."""
    directory = None
    if options.run_directory is not None:
        name = content_fingerprint(
            (_RUNS, _surefoot_version(), *made, budget.seed, [cell.start for cell in cells])
        )
        directory = RunDirectory(Path(options.run_directory), name, options.resume)
        if options.resume and not directory.records:
            budget.progress("nothing is recorded of this question: other options, seed or version, or no run")
        stack.enter_context(directory)
    elif options.resume:
        raise InvalidProblem("there is nothing to resume", fix="name the folder with --run-directory")
    found = Experiment(
        cells,
        budget.seed,
        budget,
        _worker_pool(options, budget, simulator, made),
        directory,
        simulator.together,
    )
    stack.callback(lambda: found.crew.dismiss())
    if _given_workers(options, budget) is None and options.ray is None and budget.processes > 1:
        found.grow = lambda: _larger_pool(budget.processes, made)
    return found


def _surefoot_version() -> str:
    """Of surefoot: what a run is may differ between two of them."""
    try:
        return version("surefoot")
    except PackageNotFoundError:
        return ""


def _given_workers(options: Statistical, budget: Budget) -> int | None:
    """None: nobody has said how many."""
    return budget.workers if options.workers is None else options.workers


def _worker_pool(
    options: Statistical,
    budget: Budget,
    simulator: RunSimulator | SplittingTrees | CellSimulator,
    made: tuple[Any, ...],
) -> WorkerPool:
    workers = _given_workers(options, budget)
    if options.ray is not None:
        return RayPool(options.ray, workers, _build_worker, *made)
    if workers is None or workers == 1:
        return SerialPool(run_prefixes(simulator.runs))
    return ProcessPool(workers, _build_worker, *made)


def _larger_pool(size: int, made: tuple[Any, ...]) -> WorkerPool | None:
    try:
        return ProcessPool(size, _build_worker, *made)
    except SurefootError:  # a black box that stays in this process
        return None


def _starts_verdict(
    cells: list[StartCell],
    wanted: Probability | Expected,
    simulator: RunSimulator | SplittingTrees | CellSimulator,
    own: set[str],
    stop: str,
    negated: bool,
) -> Verdict:
    """What is known about the starts, as the property asks."""
    in_cells = isinstance(simulator, CellSimulator)
    if in_cells or (wanted.over == "values" and len(cells) > 1):
        laws = simulator.words if isinstance(simulator, CellSimulator) else [""] * len(cells)
        starts = [simulator.starts.valuation(i) for i in range(len(cells))]
        table = [
            (
                {name: value for name, value in starts[i].items() if name in own},
                replace(_estimate_cells([c], "max", stop, negated), starts=laws[i]),
            )
            for i, c in enumerate(cells)
        ]
        return PerStart(tuple(table), None)
    found = _estimate_cells(cells, wanted.over, stop, negated)
    many = len(simulator.starts) if wanted.over == "sum" else 1
    mean = None if found.mean is None else found.mean * many
    return replace(found, low=found.low * many, high=found.high * many, mean=mean)


def _estimate_cells(cells: list[StartCell], over: str, stop: str, negated: bool) -> Estimated:
    known = [cell.question.interval(cell.state) for cell in cells]
    low, high = combine_intervals(known, over)
    confidence = 1 - sum((1 - interval.confidence for interval in known), Fraction(0))
    stops = [stop if cell.open else str(cell.state.stop.value) for cell in cells]
    worst = next((s for s in stops if not Estimated(low, high, confidence, {}, s).complete), stops[0])
    state = cells[0].state
    mean = state.mean() if isinstance(state, RareProgress) and len(cells) == 1 else None
    unbiased = mean if mean is None or not negated else 1 - mean
    return Estimated(low, high, confidence, named_counts(total_counts(cells), negated), worst, unbiased)
