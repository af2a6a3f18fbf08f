"""Polynomial systems with a run that is known to become unsafe, whatever is decided."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.old_format import to_format_1
from surefoot.engines.barrier import Barrier
from surefoot.problem.environment import Component, Control, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield, shapes_for
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of
from surefoot.term.value_types import Arithmetic, Real
from surefoot.verdict.verdict import Proved
from surefoot.work.budget import Budget

SECONDS = 3.0


def unsafe_system(seed: int) -> tuple[Problem, dict[str, Any]]:
    """Degree 1 to 3, 1 to 3 variables; the control moves a variable of its own. And the start of that run."""
    rng = np.random.default_rng(seed)
    count, degree = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    names = [Var(f"x{i}") for i in range(count)]
    arithmetic = Arithmetic.FLOAT64 if seed % 2 else Arithmetic.EXACT
    updates = [Update(x, _term(rng, names, degree)) for x in names]
    updates.append(Update(Var("w"), Const(Fraction(1, 2)) * Var("w") + Var("u")))
    state: dict[str, Any] = {x.name: Fraction(int(rng.integers(-8, 9)), 8) for x in names}
    if arithmetic is Arithmetic.FLOAT64:
        state = {n: float(v) for n, v in state.items()}
    start = dict(state)
    for _ in range(int(rng.integers(1, 7 if arithmetic is Arithmetic.FLOAT64 else 4))):
        state = {
            u.target.name: evaluate_term(u.value, state, arithmetic)
            for u in updates[:-1]
            if isinstance(u.target, Var)
        }
    near = conjunction_of(
        tuple(
            (Var(n) >= Const(Fraction(v) - Fraction(1, 100)))
            & (Var(n) <= Const(Fraction(v) + Fraction(1, 100)))
            for n, v in state.items()
        )
    )
    initial = conjunction_of(
        (
            *((x >= -1) & (x <= 1) for x in names),
            (Var("w") >= -1) & (Var("w") <= 1),
        )
    )
    environment = Environment(
        f"unsafe-{seed}",
        (*(Variable(x.name, Real()) for x in names), Variable("w", Real())),
        initial,
        (Component("plant", (Edge(outcomes=(Outcome(updates=tuple(updates)),)),)),),
        (Control("u", Fraction(-1), Fraction(1)),),
        arithmetic=arithmetic,
    )
    policy = ProgramPolicy((Branch(TRUE, (Const(Fraction(-1, 4)) * Var("w"),)),))
    return Problem(environment.name, environment, policy, Never(near)), start


def _term(rng: np.random.Generator, names: list[Var], degree: int) -> Term:
    total: Term = Const(Fraction(int(rng.integers(-2, 3)), 20))
    for _ in range(int(rng.integers(1, 4))):
        factor: Term = Const(Fraction(int(rng.integers(-9, 10)), 10))
        for _ in range(int(rng.integers(1, degree + 1))):
            factor = factor * names[int(rng.integers(0, len(names)))]
        total = total + factor
    return total


def proved_by_barrier(problem: Problem, seconds: float) -> bool:
    return isinstance(verify(problem, Barrier(degree=4), Budget(seconds)).verdict, Proved)


def wrongly_proved(seed: int) -> int:
    """How many of engine `barrier` and the synthesis claim that this run is safe."""
    problem, start = unsafe_system(seed)
    wrong = int(proved_by_barrier(problem, SECONDS))
    made = make_certified_shield(problem, shapes_for(), Budget(SECONDS))
    if made.accepted and made.certificate is not None:
        system = to_format_1(made.certificate)["claim"]["system"]
        for part in system.get("parts", [system["initial"]]):
            ends = zip(system["variables"], part, strict=True)
            wrong += all(n == "w" or Fraction(a) <= Fraction(start[n]) <= Fraction(b) for n, (a, b) in ends)
    return wrong
