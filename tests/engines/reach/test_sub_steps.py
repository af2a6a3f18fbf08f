"""Sub-steps of differential equations against solutions that are known, and series against derivatives."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.engines.reach.small_loops import timed_loop

from surefoot.engines.reach.flow_step import bound_over_time, decide_switches, enclose_sub_step, take_sub_step
from surefoot.engines.reach.form_series import bounds_of, extend_forms, start_forms
from surefoot.engines.reach.interval_series import extend_intervals, start_intervals
from surefoot.engines.reach.network_forms import clip_forms
from surefoot.engines.reach.symbols import forms_of_box
from surefoot.engines.reach.term_levels import TermNodes, arrange_levels
from surefoot.engines.reach.walk import prepare_walk
from surefoot.reductions.closed_loop import read_closed_loop
from surefoot.reductions.loop_question import read_question
from surefoot.term.parser import parse_term

NEAR = 1e-15  # of what the library's functions say


def flow_of(derivatives: dict[str, str], chosen: dict[str, tuple[float, float]] | None = None):
    problem = timed_loop(derivatives, dict.fromkeys(derivatives, (0.0, 1.0)), "never false", chosen=chosen)
    loop = read_closed_loop(problem)
    flow = prepare_walk(loop, read_question(problem, loop.scope, loop.period)).flow
    assert flow is not None
    return flow


def step_from(flow, low: list[float], high: list[float], length: float, order: int):
    state = forms_of_box(np.array([low]), np.array([high]))
    controls = np.zeros((1, len(flow.controls), state.shape[-1]))
    step = take_sub_step(flow, state, controls, length, order)
    assert step.good.all()
    return step


def is_inside(value: float, low: float, high: float) -> bool:
    return low - NEAR * abs(value) <= value <= high + NEAR * abs(value)


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("rate", [-3.0, -0.5, 0.75, 2.0])
def test_growth(order: int, rate: float) -> None:
    """x' = a x from a point: nothing but remainder and rounding is around the solution."""
    flow = flow_of({"x": f"{rate} * x"})
    for length in (0.01, 0.1, 0.2):
        for start in (1.0, -0.7, 1e-3):
            step = step_from(flow, [start], [start], length, order)
            low, high = bounds_of(step.forms)
            solution = start * math.exp(rate * length)
            assert is_inside(solution, low[0, 0], high[0, 0])
            assert high[0, 0] - low[0, 0] <= 3 * abs(start) * (abs(rate) * length) ** order + 1e-12
            for share in (0.0, 0.3, 0.7, 1.0):
                value = start * math.exp(rate * length * share)
                assert is_inside(value, step.enclosure[0][0, 0], step.enclosure[1][0, 0])
                span = (0.9 * share * length, share * length)
                for closely in (False, True):
                    down, up = bound_over_time(
                        step.series, step.rest, flow.variables, order, span, closely=closely
                    )
                    assert is_inside(value, down[0, 0], up[0, 0])


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_turning(order: int) -> None:
    """x' = y, y' = -x from a box: corners turn, and sums of both variables stay inside as well."""
    flow = flow_of({"x": "y", "y": "-x"})
    step = step_from(flow, [0.8, -0.1], [1.0, 0.1], 0.1, order)
    for x in (0.8, 1.0):
        for y in (-0.1, 0.1):
            c, s = math.cos(0.1), math.sin(0.1)
            end = np.array([x * c + y * s, y * c - x * s])
            for weight in ((1, 0), (0, 1), (1, 1), (1, -1), (-2, 3)):
                line = np.array(weight) @ step.forms[0]
                reach = np.abs(line[1:-1]).sum() + np.abs(weight) @ step.forms[0, :, -1]
                assert abs(np.array(weight) @ end - line[0]) <= reach + 1e-15


@pytest.mark.parametrize("rate", [-2.0, 0.0, 1.5])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_disturbances_that_push(rate: float, order: int) -> None:
    """x' = a x + w with w at one end all the time: the farthest that a run can get."""
    flow = flow_of({"x": f"{rate} * x + w"}, {"w": (-0.25, 0.5)})
    length = 0.2
    step = step_from(flow, [0.3], [0.3], length, order)
    low, high = bounds_of(step.forms)
    for w in (-0.25, 0.5, 0.125):
        for share in (0.5, 1.0):
            t = length * share
            grown = math.exp(rate * t)
            driven = t if rate == 0 else (grown - 1) / rate
            value = 0.3 * grown + w * driven
            assert is_inside(value, step.enclosure[0][0, 0], step.enclosure[1][0, 0])
            if share == 1.0:
                assert is_inside(value, low[0, 0], high[0, 0])
    assert order == 1 or high[0, 0] - low[0, 0] <= 0.75 * length * math.exp(2 * length) * 1.6


def test_disturbances_that_push_each_other() -> None:
    """x' = 8 y, y' = w: the error of y drives that of x."""
    flow = flow_of({"x": "8 * y", "y": "w"}, {"w": (-1.0, 1.0)})
    step = step_from(flow, [0.0, 0.0], [0.0, 0.0], 0.1, 3)
    low, high = bounds_of(step.forms)
    assert high[0, 0] >= 4 * 0.1**2
    assert low[0, 0] <= -4 * 0.1**2


def test_a_disturbance_times_a_state() -> None:
    flow = flow_of({"x": "x * w"}, {"w": (-1.0, 2.0)})
    step = step_from(flow, [1.0], [1.0], 0.1, 4)
    low, high = bounds_of(step.forms)
    assert low[0, 0] <= math.exp(-0.1)
    assert math.exp(0.2) <= high[0, 0]


def test_a_disturbance_far_from_zero() -> None:
    """The middle of its range is no double."""
    flow = flow_of({"x": "w - 1000000"}, {"w": (1e6, 1e6 + 3.5e-10)})
    step = step_from(flow, [0.0], [0.0], 1.0, 2)
    low, high = bounds_of(step.forms)
    ends = (float(Fraction(str(1e6)) - 10**6), float(Fraction(str(1e6 + 3.5e-10)) - 10**6))
    assert low[0, 0] <= ends[0]
    assert ends[1] <= high[0, 0]


def test_solutions_that_blow_up_are_not_enclosed() -> None:
    """x' = x^2 from 1 is infinite at time 1."""
    flow = flow_of({"x": "x * x"})
    box = (np.array([[1.0]]), np.array([[1.0]]))
    held = (np.zeros((1, 1)), np.zeros((1, 1)))
    assert not enclose_sub_step(flow, box, held, 1.0)[1].any()
    found, good = enclose_sub_step(flow, box, held, 0.1)
    assert good.all()
    assert found[1][0, 0] >= 1 / 0.9


@pytest.mark.parametrize("text", ["sqrt(x)", "1 / x", "log(x)", "asin(x)", "tan(3 * x)"])
def test_where_a_derivative_has_no_value_there_is_no_step(text: str) -> None:
    flow = flow_of({"x": text})
    state = forms_of_box(np.array([[-1.6]]), np.array([[1.6]]))
    step = take_sub_step(flow, state, np.zeros((1, 1, state.shape[-1])), 0.1, 3)
    assert not step.good.any()


SERIES = {
    "exp(x)": lambda t, k: math.exp(t) / math.factorial(k),
    "sin(x)": lambda t, k: math.sin(t + k * math.pi / 2) / math.factorial(k),
    "cos(2 * x)": lambda t, k: 2**k * math.cos(2 * t + k * math.pi / 2) / math.factorial(k),
    "log(x)": lambda t, k: math.log(t) if k == 0 else (-1) ** (k - 1) / (k * t**k),
    "1 / x": lambda t, k: (-1) ** k / t ** (k + 1),
    "x * x * x": lambda t, k: math.comb(3, k) * t ** (3 - k) if k <= 3 else 0.0,
    "x ^ 5": lambda t, k: math.comb(5, k) * t ** (5 - k) if k <= 5 else 0.0,
    "sqrt(x)": lambda t, k: _binomial(0.5, k) * t ** (0.5 - k),
    "1 / sqrt(x)": lambda t, k: _binomial(-0.5, k) * t ** (-0.5 - k),
    "sin(x) / cos(x) - tan(x)": lambda t, k: 0.0,
    "(exp(x) - exp(-x)) / (exp(x) + exp(-x)) - tanh(x)": lambda t, k: 0.0,
    "asin(sin(x))": lambda t, k: (t, 1.0)[k] if k < 2 else 0.0,
    "acos(cos(x))": lambda t, k: (t, 1.0)[k] if k < 2 else 0.0,
    "atan(tan(x))": lambda t, k: (t, 1.0)[k] if k < 2 else 0.0,
}


def _binomial(a: float, k: int) -> float:
    found = 1.0
    for i in range(k):
        found *= (a - i) / (i + 1)
    return found


@pytest.mark.parametrize("text", SERIES)
@pytest.mark.parametrize("width", [0.0, 1e-3, 0.1])
def test_series_along_a_line(text: str, width: float) -> None:
    """x(t) = x0 + t: coefficients of a term are its derivatives by x over k!, for all x0 of a box."""
    nodes = TermNodes("none")
    x, term = nodes.name("x"), nodes.value(parse_term(text))
    levels, orders = arrange_levels(nodes), 6
    low, high = np.array([0.6]), np.array([0.6 + width])
    rest = start_intervals(levels, orders, 1)
    forms = start_forms(levels, orders, 1, 1)
    rest.low[x, 0], rest.high[x, 0] = low, high
    rest.low[x, 1] = rest.high[x, 1] = 1.0
    forms.set(x, 0, forms_of_box(low[:, None], high[:, None])[:, 0])
    forms.set(x, 1, np.array([[1.0, 0.0, 0.0]]))
    for k in range(orders):
        extend_intervals(rest, k)
        extend_forms(forms, k, decide_switches(levels, rest)[0])
        down, up = bounds_of(forms.forms[term, k], forms.spread[term, k])
        for share in (0.0, 0.4, 1.0):
            true = SERIES[text](0.6 + share * width, k)
            slack = 1e-13 * (1 + abs(true)) if width or "(" in text else 1e-14 * (1 + abs(true))
            assert rest.low[term, k, 0] - slack <= true <= rest.high[term, k, 0] + slack
            assert down[0] - slack <= true <= up[0] + slack


def test_many_rows_are_the_same_as_one() -> None:
    """Cells do not see each other."""
    draw = Random(5)
    flow = flow_of({"x": "sin(y) * x", "y": "-x + 0.2 * y ^ 2"})
    low = np.array([[draw.uniform(-1, 1) for _ in range(2)] for _ in range(5)])
    high = low + np.array([[draw.choice((0.0, 0.2)) for _ in range(2)] for _ in range(5)])
    state = forms_of_box(low, high)
    together = take_sub_step(flow, state, np.zeros((5, 1, state.shape[-1])), 0.1, 4)
    for row in range(5):
        alone = step_from(flow, list(low[row]), list(high[row]), 0.1, 4)
        assert np.allclose(alone.forms[0], together.forms[row], rtol=0, atol=1e-13)


def test_limits_of_controls_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    """A set that has grown beyond all bounds is no number, which is nothing to warn about."""
    forms = np.array([[[0.0, np.inf, 0.0]], [[0.0, 1e308, 1e308]]])
    found = clip_forms(forms, np.array([-4.0]), np.array([4.0]))
    assert not np.isfinite(found[0]).all()
    assert not recwarn.list


@pytest.mark.parametrize("order", [2, 3, 4])
def test_between_two_times(order: int) -> None:
    """x' = y, y' = -x: corners are inside at all times, and closely is closer where both coefficients of a
    value have the same symbols."""
    flow = flow_of({"x": "y - 2*x", "y": "-x"})
    low, high = [0.8, -0.1], [1.0, 0.1]
    step = step_from(flow, low, high, 0.4, order)
    spans = ((0.0, 0.4), (0.1, 0.3), (0.2, 0.2))
    for first, last in spans:
        near, far = (
            bound_over_time(step.series, step.rest, flow.variables, order, (first, last), closely=closely)
            for closely in (True, False)
        )
        assert ((near[1] - near[0]) <= (far[1] - far[0])).all()
        for x in (low[0], high[0]):
            for y in (low[1], high[1]):
                for t in np.linspace(first, last, 7):
                    value = solve_linear(np.array([[-2.0, 1.0], [-1.0, 0.0]]), np.array([x, y]), t)
                    for number in (0, 1):
                        assert is_inside(value[number], near[0][number, 0], near[1][number, 0])
    step = step_from(flow, low, high, 0.1, order)
    near, far = (
        bound_over_time(step.series, step.rest, flow.variables, order, (0.0, 0.1), closely=closely)
        for closely in (True, False)
    )
    assert order == 2 or near[1][0, 0] - near[0][0, 0] < 0.99 * (far[1][0, 0] - far[0][0, 0])


def solve_linear(matrix: np.ndarray, start: np.ndarray, time: float) -> np.ndarray:
    """The series of exp(matrix * time), of many terms."""
    total, term = start.copy(), start.copy()
    for k in range(1, 30):
        term = matrix @ term * time / k
        total += term
    return total
