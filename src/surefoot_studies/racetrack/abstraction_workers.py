"""Runs of predicate abstraction carried out, each once, by one process or by several.

An abstraction from more starts has all abstract states of the one from some of them, so that every test of
the latter is one of the former too. A configuration that was stopped by its cap is therefore not run again
with more starts: it would be stopped as well (`known_from`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeAlias

from surefoot import api
from surefoot_studies import Tell
from surefoot_studies.racetrack.abstraction_instances import AbstractionInstance
from surefoot_studies.racetrack.abstraction_log import StoredRuns
from surefoot_studies.racetrack.abstraction_runs import AbstractionRun, run_instance

PlannedRun: TypeAlias = tuple[AbstractionInstance, str, float]  # with a configuration, for so many seconds
_LOOK_UP = 1.0  # seconds
_TELL = 10.0  # seconds


def run_missing_instances(wanted: Sequence[PlannedRun], stored: StoredRuns, tell: Tell, workers: int) -> None:
    """Run what is not stored yet, those from few starts first. Interrupted: what is made is stored."""
    ordered = sorted(dict.fromkeys(wanted), key=lambda one: one[0].starts)
    rest = [one for one in ordered if stored.of(*one) is None]
    if not rest:
        return
    crew: api.WorkerPool = (
        api.SerialPool(_local_runner(tell)) if workers == 1 else api.ProcessPool(workers, _worker_runner)
    )
    try:
        _dispatch_runs(rest, stored, tell, crew)
    except KeyboardInterrupt:
        pass
    finally:
        crew.dismiss()


def _dispatch_runs(rest: list[PlannedRun], stored: StoredRuns, tell: Tell, crew: api.WorkerPool) -> None:
    total, busy, told = len(rest), dict[int, PlannedRun](), monotonic()
    tickets = iter(range(total))
    while rest or busy:
        for one in list(rest):
            if crew.idle == 0:
                break
            if stored.of(*one) is not None:  # a run from fewer starts was stopped meanwhile
                rest.remove(one)
            elif not any(_extends_starts_of(one, other) for other in busy.values()):
                rest.remove(one)
                ticket = next(tickets)
                busy[ticket] = one
                instance, configuration, _ = one
                tell(f"{total - len(rest)} of {total}: {_describe_instance(instance)}, {configuration}")
                crew.ask(ticket, *one)
        for ticket, made in crew.answers(_LOOK_UP) if busy else ():
            stored.add(made, busy.pop(ticket)[2])
        if busy and monotonic() - told > _TELL:
            told = monotonic()
            tell(f"{total - len(rest) - len(busy)} of {total} runs are made")


def _extends_starts_of(one: PlannedRun, other: PlannedRun) -> bool:
    """The other has the first starts of this one, so that it may tell how this one ends."""
    mine, its = one[0], other[0]
    same = (mine.width, mine.predicates, one[1]) == (its.width, its.predicates, other[1])
    return same and its.starts < mine.starts


def _local_runner(tell: Tell) -> Callable[[AbstractionInstance, str, float], AbstractionRun]:
    return lambda instance, configuration, cap: run_instance(instance, configuration, cap, tell)


def _worker_runner() -> Callable[[AbstractionInstance, str, float], AbstractionRun]:
    return _local_runner(lambda _: None)


def _describe_instance(instance: AbstractionInstance) -> str:
    starts = api.count_noun(instance.starts, "start")
    return f"network {instance.width}, {instance.predicates} predicates, {starts}"
