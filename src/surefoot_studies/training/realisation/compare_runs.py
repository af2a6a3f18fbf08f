"""Compare a run of a simulator with a trace: how far apart they are, and whether it breaks the property too.

Everything is compared in what the policy's network reads. A trace is

- `real` if some run of the simulator shows all of it, each quantity within the simulator's own noise, inside
  the ranges that the problem declares, with decisions that break the property as well;
- `real nearby` if such a run breaks the property in the same way but departs from the trace by more;
- `impossible` if there is a reason why no run of the simulator can show it;
- `not reproduced` otherwise: that no run was found proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot import api

Floats: TypeAlias = NDArray[np.float64]
Outcome: TypeAlias = Literal["real", "real nearby", "not reproduced", "impossible"]
ROUNDING = 1e-6  # of float32 observations


@dataclass(frozen=True, slots=True)
class ObservedQuantity:
    """Inputs of the network that mean the same at different times, and how much the simulator's noise is."""

    name: str
    inputs: tuple[int, ...]
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """A run of the simulator: what the policy saw in each state of the trace, and what made it so."""

    seen: Floats
    parameters: Mapping[str, float]
    usual: bool = True  # every decision is the likeliest one


@dataclass(frozen=True, slots=True)
class SimulatorDriver:
    """How one simulator is driven along a trace, which is given as the observations of its states."""

    quantities: tuple[ObservedQuantity, ...]
    longest: int  # states of a loop that are followed, at most
    impossible: Callable[[api.Problem, Floats], str | None]
    attempts: Callable[[api.Problem, Floats], Sequence[Attempt]]


@dataclass(frozen=True, slots=True)
class TraceRealisation:
    """What came of looking for a trace in the simulator."""

    outcome: Outcome
    why: str = ""  # why not, in words
    states: int = 0  # of the trace, loops followed to the end of the episode
    breaks: bool = False  # the closest run breaks the property too, inside the declared ranges
    deviations: Mapping[str, float] = field(default_factory=dict)  # of the closest run, the largest of each
    parameters: Mapping[str, float] = field(default_factory=dict)  # of the closest run

    def words(self) -> str:
        """For a reader, in one line."""
        said = self.outcome + (f" ({self.why})" if self.why else "")
        if not self.parameters:
            return said
        apart = _format_numbers({n: d for n, d in self.deviations.items() if d > ROUNDING}) or "nothing"
        which = "a run that breaks the property" if self.breaks else "the closest run"
        return (
            f"{said}: {which} ({_format_numbers(self.parameters)}) departs from "
            f"{self._trace_words()} by {apart}"
        )

    def _trace_words(self) -> str:
        return "the trace" if self.states == 1 else f"the trace (its loop followed for {self.states} states)"


def _format_numbers(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())


@dataclass(frozen=True, slots=True)
class JudgedAttempt:
    """One attempt beside the trace."""

    attempt: Attempt
    deviations: Mapping[str, float]
    departure: tuple[int, str, float] | None  # first state, quantity and distance beyond the noise
    inside: bool  # every observation is one that the problem admits
    breaks: bool  # the decisions break the property, where those of the trace do

    @property
    def real(self) -> bool:
        return self.departure is None and self.inside and self.breaks

    def rank(self) -> tuple[bool, bool, bool, int, int, float]:
        """The better the larger: what it shows, how usual and how long it is, how close to the trace."""
        length = len(self.attempt.seen)
        agreed = length if self.departure is None else self.departure[0]
        shown = self.real, self.inside and self.breaks, self.attempt.usual
        return *shown, length, agreed, -sum(self.deviations.values())


def judge_attempt(
    problem: api.Problem,
    wanted: Floats,
    attempt: Attempt,
    quantities: tuple[ObservedQuantity, ...],
    *,
    loops: bool,
) -> JudgedAttempt:
    """`wanted`: the observations of the trace; a finite one breaks the property in its last state."""
    apart = np.abs(attempt.seen - wanted)
    largest = {q.name: float(apart[:, q.inputs].max()) for q in quantities}
    departure = None
    for state, row in enumerate(apart):
        beyond = [(q.name, float(row[list(q.inputs)].max())) for q in quantities if _is_beyond_noise(row, q)]
        if beyond:
            departure = (state, *max(beyond, key=lambda b: b[1]))
            break
    low, high = declared_ranges(problem)
    inside = bool(((attempt.seen >= low - ROUNDING) & (attempt.seen <= high + ROUNDING)).all())
    broken = violating_rows(problem, attempt.seen if loops else attempt.seen[-1:])
    return JudgedAttempt(attempt, largest, departure, inside, bool(broken.all()))


def _is_beyond_noise(row: Floats, quantity: ObservedQuantity) -> bool:
    return bool(row[list(quantity.inputs)].max() > quantity.noise + ROUNDING)


def violating_rows(problem: api.Problem, seen: Floats) -> NDArray[np.bool_]:
    """Is this a bad state (of `Never`), or one that is not good (of the others)?"""
    assert isinstance(problem.policy, api.NeuralPolicy)
    outputs = api.evaluate_network_batch(problem.policy.network, seen.astype(np.float32)).outputs
    condition, bad = violation_condition(problem)
    different, which = np.unique(outputs, axis=0, return_inverse=True)
    found = np.array([_holds_for_outputs(condition, row) == bad for row in different], dtype=np.bool_)
    return found[which.reshape(-1)]


def violation_condition(problem: api.Problem) -> tuple[api.Term, bool]:
    """The condition of the property, and whether satisfying it breaks the property."""
    match problem.property:
        case api.Never(bad):
            return bad, True
        case api.Recurs(good) | api.Eventually(good) | api.Within(good):
            return good, False
        case other:
            raise TypeError(f"no trace violates {other!r}")


def _holds_for_outputs(condition: api.Term, outputs: NDArray[np.float32]) -> bool:
    names = {api.network_output_name(i): Fraction(float(v)) for i, v in enumerate(outputs)}
    return bool(api.evaluate_term(condition, names))


def declared_ranges(problem: api.Problem) -> tuple[Floats, Floats]:
    """What the problem admits, per input of the network; terms that are no variable are not limited."""
    assert isinstance(problem.policy, api.NeuralPolicy)
    kinds = {v.name: v.kind for v in problem.environment.variables}
    ends: list[tuple[float, float]] = []
    for seen in problem.policy.observe:
        match seen:
            case api.Var(name) if isinstance(kind := kinds.get(name), api.Real):
                low, high = kind.low, kind.high
                ends.append((-np.inf if low is None else float(low), np.inf if high is None else float(high)))
            case api.Const(value):
                ends.append((float(value), float(value)))
            case _:
                ends.append((-np.inf, np.inf))
    low_ends, high_ends = zip(*ends, strict=True)
    return np.array(low_ends), np.array(high_ends)
