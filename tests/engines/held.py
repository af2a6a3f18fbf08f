"""Plants in continuous time for tests, and their solutions by a method of order 8 with tight tolerances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from surefoot.engines.barrier.float_system import evaluate_polynomial
from surefoot.problem.environment import Choice, Component, Control, Edge, Environment, Variable
from surefoot.problem.flow import Flow
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.query.polynomial import polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, polynomial_of, relaxed_dnf
from surefoot.term.parser import parse_term
from surefoot.term.term import TRUE
from surefoot.term.value_types import Arithmetic, Real

Floats = NDArray[np.float64]
PIECES, DENSE = 4, 6  # disturbances in one period, and states that are looked at under each


def plant(
    rates: dict[str, str],
    step: str,
    starts: str,
    bad: str,
    *,
    rule: tuple[str, ...] = (),
    limit: str | None = None,
    gust: str | None = None,
    continuous: bool = True,
    method: str = "taylor",
    arithmetic: Arithmetic = Arithmetic.FLOAT64,
) -> Problem:
    """Controls u0, u1, … within the limit; the gust `d` is within its own."""
    ends = None if limit is None else Fraction(limit)
    chosen = () if gust is None else (Choice("d", Real(-Fraction(gust), Fraction(gust))),)
    controls = tuple(
        Control(f"u{i}", clipped=False) if ends is None else Control(f"u{i}", -ends, ends)
        for i in range(len(rule))
    )
    environment = Environment(
        "plant",
        tuple(Variable(name, Real()) for name in rates),
        parse_term(starts),
        (Component("plant", (Edge(chosen=chosen),)),),
        controls,
        arithmetic=arithmetic,
        flow=Flow(
            tuple((name, parse_term(text)) for name, text in rates.items()),
            Fraction(step),
            method if continuous else "euler",
            continuous,
        ),
    )
    policy = ProgramPolicy((Branch(TRUE, tuple(map(parse_term, rule))),))
    return Problem("plant", environment, policy, Never(parse_term(bad)))


def period(
    system: ControlSystem, states: Floats, controls: Floats, generator: np.random.Generator
) -> tuple[list[Floats], Floats]:
    """States at many times of one period, the first and the last included, and the mean disturbances: these
    jump within it."""
    assert system.motion is not None
    names = [
        *system.variables,
        *(n for n, _, _ in system.controls),
        *(n for n, _ in system.disturbances),
    ]
    ring = {n: polynomial_from_variable(i, len(names)) for i, n in enumerate(names)}
    rates = [polynomial_of(t, ring, len(names), rounded=False) for t in system.motion.derivatives]
    ends = np.array([[float(a), float(b)] for _, (a, b) in system.disturbances]).reshape(-1, 2)
    shape, found, now = states.shape, [states], states
    mean = np.zeros((len(states), len(ends)))
    for _ in range(PIECES):
        drawn = generator.uniform(ends[:, 0], ends[:, 1], (len(states), len(ends)))
        drawn = np.where(generator.random(drawn.shape) < 0.7, ends[:, 0], drawn)
        drawn = np.where(generator.random(drawn.shape) < 0.5, ends[:, 1] + ends[:, 0] - drawn, drawn)

        mean += drawn / PIECES

        def field(_: float, flat: Floats, drawn: Floats = drawn) -> Floats:
            rows = np.column_stack([flat.reshape(shape), controls, drawn])
            return np.column_stack([evaluate_polynomial(rate, rows) for rate in rates]).ravel()

        length = float(system.motion.period) / PIECES
        times = np.linspace(0.0, length, DENSE)
        solved = solve_ivp(
            field, (0.0, length), now.ravel(), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-13
        )
        found += [solved.y[:, i].reshape(shape) for i in range(1, DENSE)]
        now = found[-1]
    return found, mean


def unsafe(system: ControlSystem, states: Floats) -> NDArray[np.bool_]:
    """Which of them are, as the condition says."""
    ring = {n: polynomial_from_variable(i, len(system.variables)) for i, n in enumerate(system.variables)}
    found = np.zeros(len(states), dtype=np.bool_)
    for case in relaxed_dnf(system.unsafe):
        inside = np.ones(len(states), dtype=np.bool_)
        for left, right in case:
            gap = polynomial_of(right, ring, len(ring), False) - polynomial_of(left, ring, len(ring), False)
            inside &= evaluate_polynomial(gap, states) >= 0
        found |= inside
    return found


def ruled(system: ControlSystem, then: tuple[object, ...], states: Floats) -> Floats:
    """What the rule says, clipped."""
    ring = {n: polynomial_from_variable(i, len(system.variables)) for i, n in enumerate(system.variables)}
    columns = []
    for term, (_, low, high) in zip(then, system.controls, strict=True):
        value = evaluate_polynomial(polynomial_of(term, ring, len(ring), system.rounded), states)  # type: ignore[arg-type]
        columns.append(np.clip(value, *(e if e is None else float(e) for e in (low, high))))
    return np.column_stack(columns) if columns else np.zeros((len(states), 0))
