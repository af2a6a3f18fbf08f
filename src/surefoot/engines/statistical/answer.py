"""The work of the engine: what is watched, who makes the runs, and the verdict about all starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from surefoot.compile.simulation import Simulator, Watched, simulate
from surefoot.engines.asked import Asked, asked
from surefoot.engines.statistical.experiment import Experiment, prefixes
from surefoot.engines.statistical.question import (
    Cell,
    Infinite,
    Mean,
    Question,
    Share,
    combined,
    named_counts,
    total,
)
from surefoot.engines.statistical.reward_range import never_falls, reward_range
from surefoot.engines.statistical.sided import Sided
from surefoot.engines.statistical.splitting import Trees, Weight
from surefoot.errors import InvalidProblem, SurefootError, did_you_mean
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability
from surefoot.solve.sampling import METHODS, Betting, choose
from surefoot.solve.sampling.boundary.store import user_folder
from surefoot.solve.sampling.rare import Rare, RareProgress
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Reason, Unknown, Verdict
from surefoot.work.budget import Budget
from surefoot.work.crew import Alone, Cluster, Crew, Processes
from surefoot.work.digest import digest
from surefoot.work.run_directory import RunDirectory

_RUNS = 2  # to be raised whenever run number r becomes another run than it was


class Options(Protocol):
    """The fields of the engine that matter here."""

    @property
    def eps(self) -> Fraction: ...
    @property
    def delta(self) -> Fraction: ...
    @property
    def method(self) -> str: ...
    @property
    def max_steps(self) -> int: ...
    @property
    def uniform(self) -> bool: ...
    @property
    def family_wise(self) -> bool: ...
    @property
    def least(self) -> Fraction | None: ...
    @property
    def most(self) -> Fraction | None: ...
    @property
    def importance(self) -> str | None: ...
    @property
    def factor(self) -> int: ...
    @property
    def trees(self) -> int: ...
    @property
    def workers(self) -> int | None: ...
    @property
    def ray(self) -> str | None: ...
    @property
    def run_directory(self) -> str | None: ...
    @property
    def resume(self) -> bool: ...


def answer(options: Options, problem: Problem, budget: Budget) -> Verdict:
    """An interval for the starts together, or one for each of them."""
    wanted = problem.property
    assert isinstance(wanted, Probability | Expected)
    what = asked(wanted, "max")
    budget.progress("preparing the simulation")
    simulator = runs_of(problem, watched(what), *made_by(options))
    together = wanted.over in ("avg", "sum") and len(simulator.starts) > 1
    starts: list[int | None] = [None] if together else list(range(len(simulator.starts)))
    alone = options.family_wise or wanted.over != "values"  # else each interval stands for itself
    question = posed(options, problem, len(starts) if alone else 1, budget)
    cells = [Cell(start, question, question.begin()) for start in starts]
    try:
        with ExitStack() as stack:
            stop = experiment(options, problem, what, simulator, cells, budget, stack).run()
    except Infinite as why:
        if len(cells) == 1 or wanted.over == "max":
            return Exact(None, None, None)
        return Unknown(Reason.INCOMPLETE, f"from one of the starts the value is infinite: {why}")
    return verdict(cells, wanted, simulator, stop, what.negated)


def watched(what: Asked) -> Watched:
    low = what.after if what.after else None
    return Watched(what.right, what.left, low, what.steps, what.reward)


def made_by(options: Options) -> tuple[Any, ...]:
    """What runs depend on, besides problem and seed."""
    split = () if options.importance is None else (options.importance, options.factor)
    return (options.max_steps, options.uniform, *split)


def runs_of(
    problem: Problem, what: Watched, max_steps: int, uniform: bool, importance: str = "", factor: int = 0
) -> Simulator | Trees:
    """What makes the runs, or trees of them."""
    if importance:
        return Trees(problem, what, max_steps, uniform, importance, factor)
    return simulate(problem, what, max_steps=max_steps, uniform=uniform)


def worker(*made: Any) -> Callable[..., Any]:
    """The same in another process."""
    return prefixes(runs_of(*made).runs)


def posed(options: Options, problem: Problem, sharing: int, budget: Budget) -> Question:
    """The question about one start, with its part of the risk."""
    wanted, delta = problem.property, options.delta / sharing
    if isinstance(wanted, Expected):
        within = reward_range(problem.environment, wanted, options.least, options.most)
        grows = never_falls(problem.environment, wanted.reward)
        return Mean(Betting(within, options.eps, delta), wanted.steps is None, grows)
    assert isinstance(wanted, Probability)
    negated = asked(wanted, "max").negated
    if options.importance is not None:
        return Weight(Rare(delta, options.trees), negated)
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
        return Share(Sided(value, width, delta), negated)
    method = "clopper-pearson" if options.method in ("auto", "sprt") else options.method
    budget.progress("proving the stopping rule (kept for the next time)")
    return Share(choose(method, options.eps, delta, folder=user_folder(os.environ)), negated)


def experiment(
    options: Options,
    problem: Problem,
    what: Asked,
    simulator: Simulator | Trees,
    cells: list[Cell],
    budget: Budget,
    stack: ExitStack,
) -> Experiment:
    """The experiment with its workers and its folder; `stack` dismisses and closes them."""
    made = (problem, watched(what), *made_by(options))
    directory = None
    if options.run_directory is not None:
        name = digest((_RUNS, _version(), *made, budget.seed, [cell.start for cell in cells]))
        directory = RunDirectory(Path(options.run_directory), name, options.resume)
        if options.resume and not directory.records:
            budget.progress("nothing is recorded of this question: other options, seed or version, or no run")
        stack.enter_context(directory)
    elif options.resume:
        raise InvalidProblem("there is nothing to resume", fix="name the folder with --run-directory")
    found = Experiment(cells, budget.seed, budget, _crew(options, simulator, made), directory)
    stack.callback(lambda: found.crew.dismiss())
    if options.workers is None and options.ray is None and (os.cpu_count() or 1) > 1:
        found.grow = lambda: _larger(made)
    return found


def _version() -> str:
    """Of surefoot: what a run is may differ between two of them."""
    try:
        return version("surefoot")
    except PackageNotFoundError:
        return ""


def _crew(options: Options, simulator: Simulator | Trees, made: tuple[Any, ...]) -> Crew:
    if options.workers == 0:
        raise InvalidProblem("no workers make no runs", fix="--workers 1 or more")
    if options.ray is not None:
        return Cluster(options.ray, options.workers, worker, *made)
    if options.workers is None or options.workers == 1:
        return Alone(prefixes(simulator.runs))
    return Processes(options.workers, worker, *made)


def _larger(made: tuple[Any, ...]) -> Crew | None:
    try:
        return Processes(os.cpu_count() or 1, worker, *made)
    except SurefootError:  # a black box that stays in this process
        return None


def verdict(
    cells: list[Cell], wanted: Probability | Expected, simulator: Simulator | Trees, stop: str, negated: bool
) -> Verdict:
    """What is known about the starts, as the property asks."""
    if wanted.over == "values" and len(cells) > 1:
        table = [
            (simulator.starts.valuation(i), _estimated([c], "max", stop, negated))
            for i, c in enumerate(cells)
        ]
        return PerStart(tuple(table), None)
    found = _estimated(cells, wanted.over, stop, negated)
    many = len(simulator.starts) if wanted.over == "sum" else 1
    mean = None if found.mean is None else found.mean * many
    return replace(found, low=found.low * many, high=found.high * many, mean=mean)


def _estimated(cells: list[Cell], over: str, stop: str, negated: bool) -> Estimated:
    known = [cell.question.interval(cell.state) for cell in cells]
    low, high = combined(known, over)
    confidence = 1 - sum((1 - interval.confidence for interval in known), Fraction(0))
    stops = [stop if cell.open else str(cell.state.stop.value) for cell in cells]
    worst = next((s for s in stops if not Estimated(low, high, confidence, {}, s).complete), stops[0])
    state = cells[0].state
    mean = state.mean() if isinstance(state, RareProgress) and len(cells) == 1 else None
    unbiased = mean if mean is None or not negated else 1 - mean
    return Estimated(low, high, confidence, named_counts(total(cells), negated), worst, unbiased)
