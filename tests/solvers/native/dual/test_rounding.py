"""The error term is needed, large enough, and not too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.branch_and_bound import refute_chain_problem
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    build_chain_problem,
    fix_stable_phases,
    root_relu_domain,
)
from surefoot.solvers.native.relu_splitting.dual_bound import (
    dual_backward_pass,
    dual_rounding_error,
    prepare_dual_problem,
    relax_relu_domains,
)
from surefoot.solvers.native.relu_splitting.neuron_bounds import tighten_by_intervals, tighten_deep_neurons
from surefoot.solvers.native.relu_splitting.search_state import ChainRefutation


def exact_value(weights: tuple[Array, ...], biases: tuple[Array, ...], point: Array) -> Fraction:
    value = [Fraction(float(v)) for v in point]
    for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
        value = [max(v, Fraction(0)) if i else v for v in value]
        value = [
            Fraction(float(bias))
            + sum((Fraction(float(c)) * v for c, v in zip(row, value, strict=True)), Fraction(0))
            for row, bias in zip(w, b, strict=True)
        ]
    return value[0]


def point_question(seed: int) -> tuple[ChainProblem, Fraction]:
    """y(x) <= 0 at a single x, with the exact y(x)."""
    r = np.random.default_rng(seed)
    weights = (r.normal(0, 1, (9, 6)), r.normal(0, 1, (7, 9)), r.normal(0, 1, (1, 7)))
    biases = (r.normal(0, 1, 9), r.normal(0, 1, 7), r.normal(0, 1, 1))
    x = r.normal(0, 3, 6)
    return build_chain_problem(weights, biases, x, x, np.ones((1, 1)), np.zeros(1)), exact_value(
        weights, biases, x
    )


def above(value: Fraction) -> float:
    """The least float64 that is not below."""
    number = float(value)
    return number if Fraction(number) >= value else float(np.nextafter(number, np.inf))


def test_plain_float64_would_refute_what_holds() -> None:
    fooled = 0
    for seed in range(60):
        problem, value = point_question(seed)
        problem.offsets[:] = above(value)  # y(x) <= offset holds exactly
        c, domain = prepare_dual_problem(problem), root_relu_domain(problem)
        tighten_by_intervals(c, domain)
        tighten_deep_neurons(c, domain, domain.phase == 0)
        fix_stable_phases(domain)
        r, theta = relax_relu_domains(domain), domain.theta
        found = dual_backward_pass(c, r, domain.low, domain.high, theta, domain.row_weights)
        fooled += bool(found.bound[0] > 0.0)
        error = dual_rounding_error(c, r, theta, domain.row_weights)
        assert found.bound[0] <= error[0]
        assert not isinstance(refute_chain_problem(problem), ChainRefutation)
    assert fooled > 0


def test_tiny_margins_are_not_claimed_and_small_ones_are() -> None:
    for seed in range(20):
        problem, value = point_question(seed)
        problem.offsets[:] = float(value) - 1e-13
        assert not isinstance(refute_chain_problem(problem), ChainRefutation)
        problem.offsets[:] = float(value) - 1e-8
        assert isinstance(refute_chain_problem(problem), ChainRefutation)


def test_nan_never_closes() -> None:
    """Weights that overflow inside the network make every bound infinite or NaN."""
    weights = (np.full((2, 2), 1e200), np.array([[1e200, -1e200]]))
    with np.errstate(all="ignore"):
        problem = build_chain_problem(
            weights, (np.zeros(2), np.zeros(1)), -np.ones(2), np.ones(2), np.ones((1, 1)), -np.ones(1)
        )
        assert not isinstance(refute_chain_problem(problem), ChainRefutation)


def test_bounds_of_neurons_contain_exact_values() -> None:
    for seed in range(30):
        problem, _ = point_question(seed)
        c, domain = prepare_dual_problem(problem), root_relu_domain(problem)
        tighten_by_intervals(c, domain)
        for j in range(9):
            terms = zip(problem.first[j], problem.low, strict=True)
            value = Fraction(float(problem.first_bias[j])) + sum(
                (Fraction(float(w)) * Fraction(float(x)) for w, x in terms), Fraction(0)
            )
            assert Fraction(float(domain.lower[0, j])) <= value <= Fraction(float(domain.upper[0, j]))
