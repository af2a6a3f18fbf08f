"""Faults of many violating runs: which decisions they are, and how often each of them occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

from surefoot.certify.replay import replay
from surefoot.engines.falsify.collect import ViolationCollector
from surefoot.errors import SurefootError
from surefoot.fault_analysis.bounded_fault import AHEAD, bounded_objection, fault_by_looking
from surefoot.fault_analysis.finite_fault import fault_by_region
from surefoot.fault_analysis.last_decision import as_played, fault_objection, find_fault, held_objection
from surefoot.fault_analysis.rollouts import Trials
from surefoot.fault_analysis.winning_region import WinningRegion, region_objection, solve_region
from surefoot.problem.policy import ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.discretise import discretise
from surefoot.verdict.fault import CountedFault, Fault, FaultFinding, FaultKind, FaultTable
from surefoot.verdict.verdict import Reason, Trace
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

DRAWING_SHARE = 0.5  # of the time, to draw a first run
REGION_SHARE, RISK_SHARE = 0.5, 0.5  # of what is left, for the winning region; for risks
MOST_SECONDS_EACH = 5.0  # of a run whose decisions are looked at one by one


def tabulate_faults(
    problem: Problem,
    budget: Budget,
    runs: int,
    *,
    search: Callable[[Budget], Trace | None] = lambda _: None,
    by: FaultKind | None = None,
    ahead: int = AHEAD,
    shield: ProgramPolicy | None = None,
) -> FaultTable:
    """The faults of so many violating runs; `search` is asked for one if none is drawn in half of the time.

    `by`: which decision is counted; None: the costliest one where chance has a part in a finite system.
    Ends with the time, or with ^C, and hands over what there is.
    """
    played = as_played(problem)
    if (why := held_objection(problem) or fault_objection(played)) is not None:
        return FaultTable(stop=why)
    gathered = _Gathered(runs, by or "last")

    def stop_late() -> FaultTable:
        gathered.stop = "the time ended"
        return gathered.table()

    def gather() -> FaultTable:
        _gather(gathered, problem, played, budget, search, by, ahead, shield)
        return gathered.table()

    return call_in_time(
        budget, gather, stop_late, strictly=True
    )  # there is more to do: to print and write it


def _gather(
    gathered: _Gathered,
    problem: Problem,
    played: Problem,
    budget: Budget,
    search: Callable[[Budget], Trace | None],
    by: FaultKind | None,
    ahead: int,
    shield: ProgramPolicy | None,
) -> None:
    try:
        collector = ViolationCollector(played, budget.part(DRAWING_SHARE))
        region: WinningRegion | None = None
        for trace in _drawn_runs(problem, collector):
            if not gathered.count:
                collector.budget = budget  # there are some: all the time is theirs
                region = None if shield is not None else _region_of(played, budget)
                if by is None and region is not None:
                    budget.progress("faults: how likely a violation is, state by state")
                    risks = region.action_risks(budget.part(RISK_SHARE).remaining)
                    gathered.by = "last" if risks is None else "costliest"
            gathered.add(trace, _finding(played, trace, region, budget, ahead, shield, gathered))
            gathered.tried = collector.made
            budget.progress(f"faults: {gathered.count} violating runs of {collector.made}")
            if gathered.is_full() or budget.is_spent():
                break
        gathered.tried = collector.made
        if not gathered.count and (first := search(budget)) is not None:
            gathered.add(first, find_fault(played, first, budget, ahead=ahead, shield=shield))
        gathered.stop = _why_stopped(gathered, collector)
    except KeyboardInterrupt:
        gathered.stop = Reason.INTERRUPTED.value
    except SurefootError as error:
        gathered.stop = f"no further runs are drawn: {error}"


def _why_stopped(gathered: _Gathered, collector: ViolationCollector) -> str:
    if gathered.is_full():
        return ""
    return "no other violating run was met" if collector.is_quiet else "the time ended"


def _drawn_runs(problem: Problem, collector: ViolationCollector) -> Iterator[Trace]:
    """Those that replay."""
    executed = discretise(problem)
    for trace in collector.collect():
        if replay(executed, trace) is None:
            yield trace


def _region_of(played: Problem, budget: Budget) -> WinningRegion | None:
    """Of all starts at once; None: there are too many states or starts."""
    if region_objection(played) is not None:
        return None
    try:
        return solve_region(played, budget.part(REGION_SHARE))
    except SurefootError:
        return None


def _finding(
    played: Problem,
    trace: Trace,
    region: WinningRegion | None,
    budget: Budget,
    ahead: int,
    shield: ProgramPolicy | None,
    gathered: _Gathered,
) -> FaultFinding:
    """By the winning region of all starts, or by looking ahead."""
    left = max(1, gathered.runs - gathered.count)
    each = min(MOST_SECONDS_EACH, max(0.5, budget.remaining() / left))
    clock = replace(budget, seconds=min(budget.seconds, budget.elapsed_seconds() + each))
    if region is not None:
        found = fault_by_region(played, trace, region, budget.remaining)
        if not found.unknown:
            return found
    elif region_objection(played) is None:
        return find_fault(played, trace, clock, ahead=ahead, shield=shield)
    if (why := bounded_objection(played, trace)) is not None:
        return FaultFinding(unknown=why)
    if gathered.trials is None and shield is None:
        gathered.trials = Trials(played, budget.seed)
    return fault_by_looking(played, trace, clock, ahead, shield, gathered.trials)


class _Gathered:
    """What is known so far."""

    def __init__(self, runs: int, by: FaultKind) -> None:
        self.runs, self.by, self.count, self.tried, self.stop, self.blameless = runs, by, 0, 0, "", 0
        self.trials: Trials | None = None
        self._faults: dict[Hashable, tuple[Fault, Trace]] = {}
        self._often: Counter[Hashable] = Counter()
        self._lost: FaultFinding | None = None
        self._lost_count = 0
        self._unknown: Counter[str] = Counter()

    def is_full(self) -> bool:
        return self.count >= self.runs

    def add(self, trace: Trace, found: FaultFinding) -> None:
        self.count += 1
        told = found.fault if self.by == "last" else found.costliest
        if told is not None:
            place = _fault_key(told)
            self._faults.setdefault(place, (told, trace))
            self._often[place] += 1
        elif self.by == "costliest" and not found.unknown:
            self.blameless += 1
        if found.lost is not None:
            self._lost = self._lost or found
            self._lost_count += 1
        if found.unknown:
            self._unknown[found.unknown] += 1

    def table(self) -> FaultTable:
        counted = [
            CountedFault(fault, self._often[place], trace) for place, (fault, trace) in self._faults.items()
        ]
        counted.sort(key=lambda c: -c.count)
        return FaultTable(
            decisions=tuple(counted),
            runs=self.count,
            tried=self.tried,
            lost=self._lost_count,
            lost_claim=None if self._lost is None else self._lost.lost,
            unknown=tuple(self._unknown.most_common()),
            stop=self.stop,
            by=self.by,
            blameless=self.blameless,
        )


def _fault_key(fault: Fault) -> Hashable:
    """One decision: a state, and what is picked in it."""
    picked = tuple((a.action, tuple(sorted(a.controls.items()))) for a in fault.chosen)
    return tuple(sorted(fault.state.items())), picked, fault.stalls
