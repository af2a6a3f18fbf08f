"""One instance of the predicate abstraction experiments, run and written down, and what a figure claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from statistics import median
from typing import Any, TypeAlias

from surefoot import api
from surefoot_studies import Tell
from surefoot_studies.racetrack.abstraction_instances import AbstractionFigure, AbstractionInstance

DEFAULT = "native"


@dataclass(frozen=True, slots=True)
class AbstractionRun:
    """`seconds` of CPU time, those of other solvers included; sizes are those so far if it did not finish."""

    instance: AbstractionInstance
    configuration: str
    finished: bool
    exact: bool  # every step is one of some state
    states: int
    abstract_starts: int
    unsafe: int
    transitions: int
    seconds: float
    solver_seconds: float  # of these, in solvers other than the native one
    tests: tuple[api.QueryStatistics, ...]
    known_from: int | None = None  # not run: it was stopped already with so many of its starts

    def facts(self) -> dict[str, Any]:
        """For JSON; `of_facts` reads it."""
        return {**asdict(self.instance), **{k: v for k, v in asdict(self).items() if k != "instance"}}


def run_from_facts(facts: Mapping[str, Any]) -> AbstractionRun:
    instance = AbstractionInstance(**{k: facts[k] for k in ("width", "predicates", "starts")})
    rest = {k: v for k, v in facts.items() if k not in ("width", "predicates", "starts", "tests")}
    return AbstractionRun(instance, **rest, tests=tuple(api.QueryStatistics(**t) for t in facts["tests"]))


def run_known_stopped(instance: AbstractionInstance, one: AbstractionRun) -> AbstractionRun:
    """What is known of an instance with more starts than this run has, which was stopped."""
    nothing = (False, False, 0, 0, 0, 0, one.seconds, 0.0, ())
    return AbstractionRun(instance, one.configuration, *nothing, known_from=one.instance.starts)


def run_instance(instance: AbstractionInstance, configuration: str, cap: float, tell: Tell) -> AbstractionRun:
    """Build the reachable abstraction as a whole, unsafe or not, for at most `cap` processor seconds."""
    return build_instance(instance, configuration, cap, tell)[0]


def build_instance(
    instance: AbstractionInstance, configuration: str, cap: float, tell: Tell
) -> tuple[AbstractionRun, api.AbstractGraph | None]:
    """What was measured, and the abstraction itself as far as it was built."""
    problem = instance.problem()
    engine = api.Predicates(instance.predicate_set(), fixed=True, configuration=configuration)
    if configuration != DEFAULT and (why := engine.objection(problem)) is not None:
        raise api.Unsupported(why)
    budget = api.ProcessorTime(cap, 0, tell, begun=api.processor_seconds())
    verdict = engine.check(problem, budget)
    seconds = budget.elapsed_seconds()
    graph = getattr(verdict, "artifact", None)
    if not isinstance(graph, api.AbstractGraph):
        return AbstractionRun(instance, configuration, False, False, 0, 0, 0, 0, seconds, 0.0, ()), None
    others = sum(t.seconds for t in graph.tests if t.kind.endswith(")"))
    starts, unsafe = sum(s.start for s in graph.states), sum(s.unsafe for s in graph.states)
    sizes = (len(graph.states), starts, unsafe, len(graph.edges))
    ended = (graph.complete, graph.exact)
    return AbstractionRun(instance, configuration, *ended, *sizes, seconds, others, graph.tests), graph


AbstractionRuns: TypeAlias = Sequence[AbstractionRun]
# Not a number: nothing was finished that could tell.
RunMeasure: TypeAlias = Callable[[AbstractionRuns], float]


def _native_runs(runs: AbstractionRuns) -> list[AbstractionRun]:
    return [r for r in runs if r.configuration == DEFAULT]


def _runs_by_predicates(runs: AbstractionRuns) -> dict[tuple[int, int], list[AbstractionRun]]:
    """Runs of one network and number of starts, by growing number of predicates."""
    found: dict[tuple[int, int], list[AbstractionRun]] = {}
    for one in sorted(_native_runs(runs), key=lambda r: r.instance.predicates):
        found.setdefault((one.instance.width, one.instance.starts), []).append(one)
    return found


def _all_finished(runs: AbstractionRuns) -> bool:
    return bool(_native_runs(runs)) and all(r.finished for r in _native_runs(runs))


def _least_rise(runs: AbstractionRuns) -> float:
    """Of the number of abstract states over predicates; an abstraction that was stopped has no number."""
    if not _all_finished(runs):
        return nan
    return min(max(r.states for r in line) / line[0].states for line in _runs_by_predicates(runs).values())


def _greatest_fall(runs: AbstractionRuns) -> float:
    if not _all_finished(runs):
        return nan
    return max(line[-1].states / max(r.states for r in line) for line in _runs_by_predicates(runs).values())


def _growth_with_starts(runs: AbstractionRuns) -> float:
    """Most abstract states from all starts, per abstract state from the first hundred random ones."""
    if not _all_finished(runs):
        return nan
    by = {(r.instance.width, r.instance.predicates, r.instance.starts): r.states for r in _native_runs(runs)}
    last = max(s for *_, s in by)
    return max(n / by[w, p, 101] for (w, p, s), n in by.items() if s == last)


def _paired_runs(
    runs: AbstractionRuns, first: str, second: str
) -> list[tuple[AbstractionRun, AbstractionRun]]:
    """Both configurations on the same instances."""
    by = {(r.instance, r.configuration): r for r in runs}
    return [(by[i, first], by[i, second]) for i, name in by if name == first and (i, second) in by]


def _precision_ratio(runs: AbstractionRuns) -> float:
    ended = [(a, b) for a, b in _paired_runs(runs, "pa-marabou", DEFAULT) if a.finished and b.finished]
    return max((a.states / b.states for a, b in ended), default=nan)


def _share_in_order(runs: AbstractionRuns, first: str, second: str) -> float:
    """In how many cases the first is not slower, where at least one of them finished."""
    ended = [(a, b) for a, b in _paired_runs(runs, first, second) if a.finished or b.finished]
    not_slower = [a.finished and (not b.finished or a.seconds <= b.seconds) for a, b in ended]
    return sum(not_slower) / len(not_slower) if not_slower else nan


def _median_time_ratio(runs: AbstractionRuns) -> float:
    """Seconds of PA+BB(Marabou), finished or not, per second of the default: the median."""
    several = [a.seconds / b.seconds for a, b in _paired_runs(runs, "pa-bb-marabou", DEFAULT)]
    return median(several) if several else nan


MEASURES: Mapping[str, RunMeasure] = {
    "share of instances that the default finishes, exactly": lambda runs: (
        sum(r.finished and r.exact for r in _native_runs(runs)) / len(_native_runs(runs))
    ),
    "most seconds of the default": lambda runs: max(r.seconds for r in _native_runs(runs)),
    "least rise of the number of abstract states over predicates": _least_rise,
    "abstract states with all predicates, per most": _greatest_fall,
    "growth of abstract states after the first hundred random starts": _growth_with_starts,
    "abstract states of PA+Marabou per exact one": _precision_ratio,
    "share where PA+Marabou is not slower than PA+BB(Marabou)": lambda runs: _share_in_order(
        runs, "pa-marabou", "pa-bb-marabou"
    ),
    "share where PA+BB(Marabou) is not slower than PA+Marabou+Z3": lambda runs: _share_in_order(
        runs, "pa-bb-marabou", "pa-marabou-z3"
    ),
    "median ratio of PA+BB(Marabou) to the default": _median_time_ratio,
}
PAPER = "the paper's configurations"  # claims about these are only looked at where they were run


def known_figures(figures: Mapping[str, AbstractionFigure]) -> dict[str, AbstractionFigure]:
    """What a claim may be about: a figure as the default makes it, or with the paper's configurations."""
    return {**figures, **{f"{name}, {PAPER}": figure for name, figure in figures.items()}}
