"""Candidates for a program of one rule: affine in the state (sketches of section 4.1, Zhu et al., PLDI 2019).

First what the network does, by least squares along its own runs; then linear-quadratic regulators with
several weights; then the paper's random search (Algorithm 1), which improves the best of them by differences
of simulated rewards. Rules in other monomials are in `combination`. Nothing here decides anything:
a candidate counts only with a proved set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from surefoot.engines.barrier.float_system import evaluate_polynomial, float_system
from surefoot.reductions.barrier import ControlSystem
from surefoot.term.term import Const, Term, Var
from surefoot.work.budget import Budget

Floats: TypeAlias = NDArray[np.float64]
Oracle: TypeAlias = Callable[[Floats], Floats]  # states, one in each row, to controls
Range: TypeAlias = tuple[Fraction, Fraction]
WEIGHTS = (1.0, 0.01, 100.0, 1e-4, 1e4)
RUNS, STEPS = 64, 600
ROUNDS, NOISE, RATE = 40, 0.05, 0.02  # of the random search
UNSAFE, SATURATED = 1e4, 1e2  # what an unsafe state costs, and a control at its end


class TunableRule(Protocol):
    """A rule whose numbers Algorithm 1 can change."""

    @property
    def weights(self) -> Floats: ...

    def sizes(self) -> Floats:
        """How much each weight is changed."""
        ...

    def weighing(self, weights: Floats) -> Self: ...

    def controls(self, states: Floats) -> Floats: ...

    def terms(self, system: ControlSystem) -> tuple[Term, ...]: ...


CandidateRule = TypeVar("CandidateRule", bound=TunableRule)


@dataclass(frozen=True, slots=True)
class Gain:
    """controls = matrix * state + offset."""

    matrix: Floats
    offset: Floats

    @property
    def weights(self) -> Floats:
        return self.matrix

    def sizes(self) -> Floats:
        size: Floats = np.abs(self.matrix)
        return np.maximum(size, float(size.max()) * 0.1 + 1e-6)

    def weighing(self, weights: Floats) -> Gain:
        return Gain(weights, self.offset)

    def controls(self, states: Floats) -> Floats:
        return states @ self.matrix.T + self.offset

    def terms(self, system: ControlSystem) -> tuple[Term, ...]:
        found = []
        for row, constant in zip(self.matrix, self.offset, strict=True):
            numbers = zip(map(round_to_six_digits, row), system.variables, strict=True)
            products: list[Term] = [Const(k) * Var(name) for k, name in numbers if k]
            last = round_to_six_digits(constant)
            rest: list[Term] = [Const(last)] if last or not products else []
            total, *more = [*products, *rest]
            for part in more:
                total = total + part
            found.append(total)
        return tuple(found)


def round_to_six_digits(value: float) -> Fraction:
    """Six significant digits: a program that people can read."""
    return Fraction(f"{value:.6g}")


def enumerate_gains(
    system: ControlSystem, starts: Sequence[Range], oracle: Oracle | None, budget: Budget
) -> Iterator[Gain]:
    """Candidates, those first that simulation finds safe and cheap; none when the time is over."""
    found = []
    if oracle is not None:
        found.append(_imitate_network(system, starts, oracle))
    found += list(enumerate_regulators(system))
    scored = []
    for index, gain in enumerate(found):
        if budget.is_spent():
            return
        scored.append((rollout_cost(system, gain, starts), index, gain))
    yield from (gain for _, _, gain in sorted(scored, key=lambda t: t[:2]))


def linearise_system(system: ControlSystem) -> tuple[Floats, Floats, Floats]:
    """The system near the origin: x' = A x + B u + c, for the middle of the disturbances."""
    count, inputs = len(system.variables), len(system.controls)
    maps = float_system(system).next
    middle = [float(a + b) / 2 for _, (a, b) in system.disturbances]
    offsets = np.eye(count + inputs) * 1e-4
    points = np.vstack([offsets, -offsets, np.zeros((1, count + inputs))])
    fixed = np.broadcast_to(np.array(middle), (len(points), len(middle)))
    rows = np.column_stack([points[:, :count], fixed, points[:, count:]])
    values = np.column_stack([evaluate_polynomial(m, rows) for m in maps])
    slopes = (values[: count + inputs] - values[count + inputs : -1]).T / 2e-4
    return slopes[:, :count], slopes[:, count:], values[-1]


def enumerate_regulators(system: ControlSystem) -> Iterator[Gain]:
    """Regulators towards the origin, with the constant controls that keep it there as well as they can."""
    state, control, drift = linearise_system(system)
    steady = -np.linalg.lstsq(control, drift, rcond=None)[0].astype(np.float64)
    widths = np.array([max(float(b - a), 1e-3) for a, b in system.initial])
    for scale in (np.ones(len(widths)), widths**-2.0):
        for weight in WEIGHTS:
            try:
                cost_to_go = linalg.solve_discrete_are(
                    state, control, np.diag(scale), weight * np.eye(control.shape[1])
                )
            except (linalg.LinAlgError, ValueError):
                continue
            weighed = weight * np.eye(control.shape[1]) + control.T @ cost_to_go @ control
            yield Gain(-np.linalg.solve(weighed, control.T @ cost_to_go @ state), steady)


def sample_starts(starts: Sequence[Range], generator: np.random.Generator) -> Floats:
    low, high = (np.array([float(r[i]) for r in starts]) for i in (0, 1))
    states = generator.uniform(low, high, (RUNS, len(low)))
    states[: RUNS // 2] = np.where(generator.random((RUNS // 2, len(low))) < 0.5, low, high)
    return states


def _imitate_network(system: ControlSystem, starts: Sequence[Range], oracle: Oracle) -> Gain:
    """Least squares on what the network does along its own runs."""
    rows, done = record_rollouts(system, starts, oracle)
    solved = np.linalg.lstsq(np.column_stack([rows, np.ones(len(rows))]), done, rcond=None)[0].astype(
        np.float64
    )
    return Gain(solved[:-1].T, solved[-1])


def record_rollouts(system: ControlSystem, starts: Sequence[Range], oracle: Oracle) -> tuple[Floats, Floats]:
    """States of runs under these controls, and the controls."""
    generator, moving = np.random.default_rng(0), float_system(system)
    states, seen, done = sample_starts(starts, generator), [], []
    for _ in range(STEPS // 4):
        actions = oracle(states)
        seen.append(states)
        done.append(actions)
        states = moving.next_states(states, moving.draw_disturbances(RUNS, generator), actions)
        if not np.all(np.isfinite(states)):
            break
    return np.vstack(seen), np.vstack(done)


def rollout_cost(system: ControlSystem, rule: TunableRule, starts: Sequence[Range]) -> float:
    """The mean of what states and controls cost along runs; unsafe states cost much more."""
    generator, moving = np.random.default_rng(1), float_system(system)
    states, total, is_unsafe = sample_starts(starts, generator), 0.0, unsafe_states(system)
    widths = np.array([max(float(b - a), 1e-3) for a, b in system.initial])
    for _ in range(STEPS):
        wanted = rule.controls(states)
        actions = moving.clip_controls(wanted)
        states = moving.next_states(states, moving.draw_disturbances(RUNS, generator), actions)
        if not np.all(np.isfinite(states)) or np.abs(states).max() > 1e6:
            return float("inf")
        total += float(np.mean((states / widths) ** 2)) + UNSAFE * float(np.mean(is_unsafe(states)))
        if system.controls:  # the mean over no controls would be no number, nor would the cost of any rule
            total += SATURATED * float(np.mean(actions != wanted))
    return total / STEPS


def fails_in_simulation(system: ControlSystem, rule: TunableRule, starts: Sequence[Range]) -> bool:
    """Does a simulated run from these starts become unsafe? Then no set of this rule contains them all."""
    generator, moving = np.random.default_rng(2), float_system(system)
    states, is_unsafe = sample_starts(starts, generator), unsafe_states(system)
    for _ in range(STEPS // 2):
        if not np.all(np.isfinite(states)) or bool(np.any(is_unsafe(states))):
            return True
        actions = moving.clip_controls(rule.controls(states))
        states = moving.next_states(states, moving.draw_disturbances(RUNS, generator), actions)
    return False


def unsafe_states(system: ControlSystem) -> Callable[[Floats], NDArray[np.bool_]]:
    """Which of many states are unsafe; the polynomials are made once."""
    cases = system.unsafe_polynomials()

    def is_unsafe(states: Floats) -> NDArray[np.bool_]:
        found = np.zeros(len(states), dtype=bool)
        for gaps in cases:
            inside = np.ones(len(states), dtype=bool)
            for gap in gaps:
                inside &= evaluate_polynomial(gap, states) >= 0
            found |= inside
        return found

    return is_unsafe


def improve_by_random_search(
    rule: CandidateRule, price: Callable[[CandidateRule], float], budget: Budget
) -> CandidateRule:
    """Algorithm 1: steps along random directions, by the difference of the prices on both sides."""
    generator, best, sizes = np.random.default_rng(budget.seed), rule, rule.sizes()
    lowest = price(rule)
    for _ in range(ROUNDS):
        if budget.is_spent():
            break
        direction = generator.normal(size=sizes.shape) * sizes
        sides = [price(rule.weighing(rule.weights + s * NOISE * direction)) for s in (1, -1)]
        if not np.all(np.isfinite(sides)):
            continue
        slope = (sides[0] - sides[1]) / (abs(sides[0]) + abs(sides[1]) + 1e-12)
        rule = rule.weighing(rule.weights - RATE * slope / NOISE * direction)
        reached = price(rule)
        if reached < lowest:
            best, lowest = rule, reached
    return best
