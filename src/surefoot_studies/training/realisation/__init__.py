"""Is the trace of an over-approximate environment one of the study's simulator?"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from surefoot import api
from surefoot_studies.comparison import Simulated
from surefoot_studies.training.realisation import aurora, deeprm, pensieve
from surefoot_studies.training.realisation.compare_runs import (
    SimulatorDriver,
    TraceRealisation,
    judge_attempt,
)

__all__ = ["TraceRealisation", "realise_trace", "replay_in_simulator"]

DRIVERS: dict[str, SimulatorDriver] = {
    "aurora": aurora.DRIVER,
    "deeprm": deeprm.DRIVER,
    "pensieve": pensieve.DRIVER,
}


def replay_in_simulator(study: str, problem: api.Problem, trace: api.Trace) -> Simulated | None:
    """Is the trace real? Asked of the study's simulator, if it has one."""
    found = realise_trace(study, problem, trace)
    return None if found is None else Simulated(found.outcome, found.words(), asdict(found))


def realise_trace(study: str, problem: api.Problem, trace: api.Trace) -> TraceRealisation | None:
    """Look for a run of the simulator that shows the trace; None for a study without simulator."""
    if study not in DRIVERS or not isinstance(problem.policy, api.NeuralPolicy):
        return None
    driver = DRIVERS[study]
    policy = problem.policy
    states = list(trace.states)
    if trace.loop is not None:
        while len(states) < driver.longest:
            states += trace.states[trace.loop + 1 :]
    wanted = np.array(
        [api.observation_vector(policy, problem.environment, s) for s in states], dtype=np.float64
    )
    reason = driver.impossible(problem, wanted)
    judged = [
        judge_attempt(problem, wanted[: len(a.seen)], a, driver.quantities, loops=trace.loop is not None)
        for a in driver.attempts(problem, wanted)
        if len(a.seen) >= len(trace.states)
    ]
    if not judged:
        return TraceRealisation(
            "not reproduced" if reason is None else "impossible", reason or "no run was found"
        )
    best = max(judged, key=lambda j: j.rank())
    about = best.attempt
    found = (len(about.seen), best.inside and best.breaks, best.deviations, about.parameters)
    if best.real and reason is None:
        return TraceRealisation("real", "", *found)
    if best.inside and best.breaks:
        return TraceRealisation("real nearby", reason or "", *found)
    if reason is not None:
        return TraceRealisation("impossible", reason, *found)
    why = "no run was found that breaks the property in the declared ranges"
    if best.departure is not None:
        state, name, distance = best.departure
        why = f"the runs that were tried depart first in state {state}, by {distance:.4g} in {name}"
    return TraceRealisation("not reproduced", why, *found)
