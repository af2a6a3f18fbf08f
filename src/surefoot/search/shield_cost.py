"""What a shield costs: how often it overrules a policy, and what the policy reaches behind it.

Runs of the policy alone and behind the shield from the same starts, as they are executed. Nothing of this is
proved; a shield that overrules nothing, or behind which a goal is never reached, is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.policy import ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.discretise import discretise
from surefoot.simulate.batch.model import make_batch_model
from surefoot.simulate.batch.runs import begin_runs
from surefoot.simulate.starts.draw_starts import prepare_starts
from surefoot.term.columns import ColumnTerms, compile_columns
from surefoot.term.term import Term
from surefoot.work.budget import Budget

Truths: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ShieldCost:
    """Of so many runs: bad ones alone and behind the shield, and by goal how many reach it, likewise."""

    runs: int
    steps: int
    decisions: int  # that the policy made behind the shield
    overruled: int
    bad: tuple[int, int]
    goals: Mapping[str, tuple[int, int]]

    def warnings(self) -> tuple[str, ...]:
        """What makes a shield useless, or takes away what was to be reached."""
        told = []
        if self.decisions and not self.overruled:
            told.append(
                "no decision was overruled"
                + (": the policy alone was never bad either" if not self.bad[0] else "")
            )
        told += [
            f"behind the shield no run comes to the goal of `{name}` any more ({alone} of {self.runs} did)"
            for name, (alone, behind) in self.goals.items()
            if alone and not behind
        ]
        return tuple(told)


def measure_shield_cost(
    shielded: Problem, bad: Term, goals: Mapping[str, Term], runs: int, steps: int, budget: Budget
) -> ShieldCost | None:
    """Simulate the policy of a shielded problem alone and behind the shield; None: there was no time."""
    policy = shielded.policy
    assert isinstance(policy, ShieldedPolicy)
    behind = discretise(shielded)
    alone = discretise(_without_shield(shielded, policy))
    rng = np.random.default_rng((budget.seed, 7))
    starts = prepare_starts(behind.environment, rng).draw(runs, rng).columns
    kinds = make_batch_model(behind).kinds
    watched = compile_columns([bad, *goals.values()], kinds, behind.environment.arithmetic)
    first = _simulate(alone, alone, starts, watched, steps, budget)
    second = _simulate(behind, alone, starts, watched, steps, budget)
    if first is None or second is None:
        return None
    names = list(goals)
    met = {n: (int(first.met[i + 1]), int(second.met[i + 1])) for i, n in enumerate(names)}
    return ShieldCost(
        runs, steps, second.decisions, second.overruled, (int(first.met[0]), int(second.met[0])), met
    )


def _without_shield(shielded: Problem, policy: ShieldedPolicy) -> Problem:
    return Problem(shielded.name, shielded.environment, policy.policy, shielded.property)


@dataclass(slots=True)
class _Seen:
    met: list[int]
    decisions: int = 0
    overruled: int = 0


def _simulate(
    problem: Problem,
    proposing: Problem,
    starts: Mapping[str, Any],
    watched: ColumnTerms,
    steps: int,
    budget: Budget,
) -> _Seen | None:
    """Every run ends at a bad state; a goal that was met before counts."""
    model, rng = make_batch_model(problem), np.random.default_rng((budget.seed, 8))
    inner = make_batch_model(proposing)
    live = begin_runs(model, starts)
    count = live.count
    met = np.zeros((len(watched.places), count), dtype=np.bool_)
    seen = _Seen([])

    def uniform(_: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return rng.random(len(rows))

    for step in range(steps + 1):
        if budget.is_spent():
            return None
        columns = watched(live.state, count)
        for i, (column, lost) in enumerate(zip(columns.columns, columns.lost, strict=True)):
            met[i] |= np.asarray(column, dtype=np.bool_) & ~lost & live.alive
        live.alive &= ~met[0]
        if step == steps or not live.alive.any():
            break
        proposed = _decide(inner, live.state, count, uniform)
        taken = _decide(model, live.state, count, uniform)
        seen.decisions += int(live.alive.sum())
        seen.overruled += int((live.alive & (proposed != taken)).sum())
        live.advance(uniform)
    seen.met = [int(row.sum()) for row in met]
    return seen


def _decide(model: Any, state: Mapping[str, Any], count: int, uniform: Any) -> NDArray[np.object_]:
    """By row the name of the action that is taken."""
    lost = np.zeros(count, dtype=np.bool_)
    made = model.decide(state, count, lost, uniform)[2]
    names = np.array([*model.policy.names, ""], dtype=object)
    return np.asarray(names[made.actions], dtype=object)
