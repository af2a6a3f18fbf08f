"""Every operation on sets of engine `reach` contains the exact result, for values that symbols may have."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checker.meaning import curve

from surefoot.engines.reach.elementary_range import curvature_range, function_range, slopes_at
from surefoot.engines.reach.form_series import (
    absolute_forms,
    bounds_of,
    combine_forms,
    convolve_forms,
    join_forms,
    linearise_forms,
    spread_of,
)
from surefoot.engines.reach.network_forms import activation_band, clip_forms
from surefoot.engines.reach.symbols import (
    absorb_radii,
    add_symbols,
    forms_of_box,
    narrow_forms,
    reduce_symbols,
)
from surefoot.problem.network import CURVED, Shape
from surefoot.term.elementary import elementary_value

Array = np.ndarray
SEEDS = st.integers(0, 2**32)
LAW = settings(max_examples=60, deadline=None)
DOMAINS: dict[str, tuple[float, float]] = {
    "sin": (-40, 40),
    "cos": (-40, 40),
    "exp": (-20, 20),
    "log": (1e-6, 40),
    "sqrt": (1e-6, 40),
    "atan": (-40, 40),
    "asin": (-1, 1),
    "tanh": (-20, 20),
    "tan": (-1.5, 1.5),
    "inverse": (1e-3, 40),
}
SLOPES: dict[str, Callable[[float], float]] = {
    "sin": lambda x: -math.sin(x),
    "cos": lambda x: -math.cos(x),
    "exp": math.exp,
    "log": lambda x: -1 / x**2,
    "sqrt": lambda x: -0.25 * x**-1.5,
    "atan": lambda x: -2 * x / (1 + x * x) ** 2,
    "asin": lambda x: x * ((1 - x) * (1 + x)) ** -1.5,
    "tanh": lambda x: -2 * math.tanh(x) / math.cosh(x) ** 2,
    "tan": lambda x: 2 * math.tan(x) * (1 + math.tan(x) ** 2),
    "inverse": lambda x: 2 / x**3,
}


def random_form(draw: Random, symbols: int) -> Array:
    """Centre, coefficients and radius of very different sizes, some of them 0."""

    def number() -> float:
        return 0.0 if draw.random() < 0.3 else draw.uniform(-1, 1) * 10.0 ** draw.randint(-12, 3)

    return np.array([*(number() for _ in range(symbols + 1)), abs(number())])


def random_symbols(draw: Random, symbols: int) -> list[Fraction]:
    return [
        Fraction(draw.choice((-1, 1))) if draw.random() < 0.6 else Fraction(draw.uniform(-1, 1))
        for _ in range(symbols)
    ]


def value_at(form: Array, symbols: list[Fraction], own: Fraction) -> Fraction:
    centre, *rest, radius = (Fraction(float(x)) for x in form)
    return centre + sum((a * e for a, e in zip(rest, symbols, strict=True)), Fraction(0)) + own * radius


def is_around(form: Array, symbols: list[Fraction], value: Fraction, off: Fraction = Fraction(0)) -> bool:
    return abs(value - value_at(form, symbols, Fraction(0))) <= Fraction(float(form[-1])) + off


def exact_function(name: str, x: Fraction) -> Fraction:
    return 1 / x if name == "inverse" else Fraction(elementary_value(name, x))


@LAW
@given(SEEDS, st.integers(0, 4), st.integers(1, 3))
def test_sums_of_products(seed: int, symbols: int, terms: int) -> None:
    draw = Random(seed)
    pairs = [(random_form(draw, symbols), random_form(draw, symbols)) for _ in range(terms)]
    x, y = (np.array([pair[i] for pair in pairs])[None, :, None] for i in range(2))
    found = convolve_forms(x, y, spread_of(x), spread_of(y))[0, 0]
    for _ in range(10):
        e = random_symbols(draw, symbols)
        own = [random_symbols(draw, 2) for _ in pairs]
        total = sum(
            (value_at(a, e, p) * value_at(b, e, q) for (a, b), (p, q) in zip(pairs, own, strict=True)),
            Fraction(0),
        )
        assert is_around(found, e, total)


@LAW
@given(SEEDS, st.integers(0, 4))
def test_linear_combinations(seed: int, symbols: int) -> None:
    draw = Random(seed)
    forms = [random_form(draw, symbols) for _ in range(4)]
    weights, constant = [draw.uniform(-3, 3) for _ in forms], draw.uniform(-3, 3)
    stacked = np.array(forms)[:, None]
    found = combine_forms(np.array([weights]), stacked, spread_of(stacked), np.array([constant]))[0, 0]
    for _ in range(10):
        e = random_symbols(draw, symbols)
        own = random_symbols(draw, len(forms))
        total = Fraction(constant) + sum(
            (Fraction(w) * value_at(f, e, p) for w, f, p in zip(weights, forms, own, strict=True)),
            Fraction(0),
        )
        assert is_around(found, e, total)


@LAW
@given(SEEDS, st.sampled_from(sorted(DOMAINS)))
def test_functions(seed: int, name: str) -> None:
    """Values of the library are right within half a unit; so much is allowed for."""
    draw = Random(seed)
    low, high = DOMAINS[name]
    centre = draw.uniform(low, high)
    room = min(centre - low, high - centre) * draw.choice((0.0, 1e-12, 1e-3, 0.3, 0.99))
    shares = [draw.uniform(0, 1) for _ in range(3)]
    a, b, r = (room * 0.99 * s / sum(shares) for s in shares)
    form = np.array([[centre, a, -b, r]])
    found = linearise_forms(name, form, spread_of(form))[0]
    assert np.isfinite(found).all()
    for _ in range(12):
        e, (own,) = random_symbols(draw, 2), random_symbols(draw, 1)
        value = exact_function(name, value_at(form[0], e, own))
        assert is_around(found, e, value, abs(value) * Fraction(1, 2**52))


@LAW
@given(SEEDS, st.sampled_from(sorted(DOMAINS)))
def test_ranges_of_functions_and_of_their_curvature(seed: int, name: str) -> None:
    draw = Random(seed)
    low, high = DOMAINS[name]
    a, b = sorted((draw.uniform(low, high), draw.uniform(low, high)))
    if draw.random() < 0.5:
        b = min(high, a + (b - a) * 10.0 ** draw.randint(-12, -1))
    least, most = function_range(name, np.array([a]), np.array([b]))
    bends = curvature_range(name, np.array([a]), np.array([b]))
    for share in (0.0, 1.0, *(draw.random() for _ in range(20))):
        x = min(max(a + share * (b - a), a), b)
        value = float(exact_function(name, Fraction(x)))
        assert least[0] <= value <= most[0]
        bend = SLOPES[name](x) if abs(x) < 1 or name != "asin" else None
        if bend is not None:
            slack = 1e-12 * abs(bend)
            assert bends[0][0] <= bend + slack
            assert bend - slack <= bends[1][0]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_peaks_of_waves(name: str) -> None:
    for k in range(-40, 41):
        peak = k * math.pi / 2
        for width in (1e-14, 1e-9, 1e-3, 1.0):
            low, high = function_range(name, np.array([peak - width]), np.array([peak + width]))
            value = getattr(math, name)(peak)
            assert low[0] <= value <= high[0]


def test_angles_that_are_very_large() -> None:
    for size in (2e6, 1e8, 1e10, 1e15, 1e300):
        low, high = np.array([size]), np.array([size * (1 + 1e-9)])
        for name in ("sin", "cos"):
            assert function_range(name, low, high) == (-1.0, 1.0)
        least, most = function_range("tan", low, high)
        assert np.isnan(least[0]) or least[0] <= math.tan(size) <= most[0]


@pytest.mark.parametrize("k", [0, 1, -7, 1000, 300_000])
def test_tan_has_no_range_across_a_pole(k: int) -> None:
    pole = math.pi / 2 + k * math.pi
    for width in (1e-9, 1e-6, 0.1):
        low, high = function_range("tan", np.array([pole - width]), np.array([pole + width]))
        assert np.isnan(low[0])
        assert np.isnan(high[0])


def test_poles_of_large_angles() -> None:
    """Between two floats tan changes its sign at a pole; its range there is nothing."""
    for k in range(3_000_000_000, 3_000_000_060):
        low = (k + 0.5) * math.pi - 2e-5
        while math.tan(high := math.nextafter(low, math.inf)) > 0:
            low = high
        found = function_range("tan", np.array([low]), np.array([high]))
        assert np.isnan(found).all()


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_a_function_of_nothing_has_no_range(name: str) -> None:
    for low, high in ((np.nan, 0.5), (0.5, np.nan), (np.nan, np.nan)):
        found = function_range(name, np.array([low]), np.array([high]))
        assert np.isnan(found[0][0]) or np.isnan(found[1][0])


@pytest.mark.parametrize(
    ("name", "low", "high"), [("sqrt", -1, 4), ("log", -1, 4), ("asin", 0.5, 1.5), ("inverse", -1, 1)]
)
def test_outside_of_its_domain_a_function_has_no_form(name: str, low: float, high: float) -> None:
    form = forms_of_box(np.array([[low]]), np.array([[high]]))[:, 0]
    assert np.isnan(linearise_forms(name, form, spread_of(form))).all()


@LAW
@given(SEEDS, st.sampled_from(sorted(DOMAINS)))
def test_slopes(seed: int, name: str) -> None:
    draw = Random(seed)
    low, high = DOMAINS[name]
    x = draw.uniform(low, high) * 0.99 + 0.005 * (low + high)
    h = 1e-6 * min(x - low, high - x, 1.0)
    rise = (exact_function(name, Fraction(x + h)) - exact_function(name, Fraction(x - h))) / (
        Fraction(x + h) - Fraction(x - h)
    )
    _, slope = slopes_at(name, np.array([x]))
    assert math.isclose(slope[0], float(rise), rel_tol=1e-3, abs_tol=1e-6)


@LAW
@given(SEEDS, st.integers(0, 3))
def test_absolute_values(seed: int, symbols: int) -> None:
    draw = Random(seed)
    form = random_form(draw, symbols)
    found = absolute_forms(form[None], spread_of(form[None]))[0]
    for _ in range(12):
        e, (own,) = random_symbols(draw, symbols), random_symbols(draw, 1)
        assert is_around(found, e, abs(value_at(form, e, own)))


@LAW
@given(SEEDS, st.integers(0, 4))
def test_joins(seed: int, symbols: int) -> None:
    draw = Random(seed)
    both = [random_form(draw, symbols) for _ in range(2)]
    found = join_forms(both[0][None], both[1][None])[0]
    for form in both:
        for _ in range(8):
            e, (own,) = random_symbols(draw, symbols), random_symbols(draw, 1)
            assert is_around(found, e, value_at(form, e, own))


def test_a_join_with_nothing_is_nothing() -> None:
    nothing = np.full((1, 4), np.nan)
    assert np.isnan(join_forms(nothing, np.ones((1, 4)))[0, [0, -1]]).all()


SHAPES = [
    (Shape.RELU, ()),
    *((Shape.LEAKY_RELU, (slope,)) for slope in (0.125, 0.0, 1.0, -0.5, 2.5)),
    *((Shape.CLIP, ends) for ends in ((-0.5, 0.75), (0.0, 6.0), (-2.0, -1.0), (-1e300, 0.25))),
    (Shape.TANH, ()),
    (Shape.SIGMOID, ()),
    (Shape.STEP, ()),
    (Shape.SOFTPLUS, ()),
    (Shape.ELU, (1.625,)),
    (Shape.ERF, ()),
    (Shape.SIN, ()),
    (Shape.COS, ()),
]


def activate(shape: Shape, parameters: tuple[float, ...], x: Fraction) -> Fraction:
    match shape:
        case Shape.RELU:
            return max(x, Fraction(0))
        case Shape.LEAKY_RELU:
            return x if x >= 0 else Fraction(parameters[0]) * x
        case Shape.CLIP:
            return min(max(x, Fraction(parameters[0])), Fraction(parameters[1]))
        case Shape.TANH:
            return Fraction(elementary_value("tanh", x))
        case Shape.SIGMOID:
            return (1 + Fraction(elementary_value("tanh", x / 2))) / 2
    return curve(shape.value, x, Fraction(parameters[0]) if parameters else Fraction(0))


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.sampled_from(SHAPES))
def test_bands_of_activations(seed: int, which: tuple[Shape, tuple[float, ...]]) -> None:
    draw = Random(seed)
    low = draw.choice((draw.uniform(-3, 3), draw.uniform(-40, 40), draw.uniform(-1, 1) * 1e-6))
    high = low + draw.choice((0.0, 1e-14, 1e-9, 3e-7, 2e-6, 1e-3, 1.0, 5.0, 60.0)) * draw.random()
    if draw.random() < 0.2:
        low, high = -high, -low
    slope, least, most = (x[0] for x in activation_band(*which, np.array([low]), np.array([high])))
    points = [Fraction(low), Fraction(high), *(Fraction(draw.uniform(low, high)) for _ in range(8))]
    points += [Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(i, 16) for i in range(17)]
    points += [p for p in (Fraction(0), *(Fraction(q) for q in which[1])) if low <= p <= high]
    for x in points:
        gap = activate(*which, x) - Fraction(slope) * x
        assert Fraction(least) - Fraction(1, 2**52) <= gap <= Fraction(most) + Fraction(1, 2**52)
    if which[0] not in CURVED - {Shape.STEP}:  # nothing is rounded there
        assert all(
            Fraction(least) <= activate(*which, x) - Fraction(slope) * x <= Fraction(most) for x in points
        )


@LAW
@given(SEEDS)
def test_clipped_controls(seed: int) -> None:
    draw = Random(seed)
    form = random_form(draw, 3) * draw.choice((1e-3, 1, 100))
    form[-1] = abs(form[-1])
    low, high = sorted(draw.uniform(-2, 2) for _ in range(2))
    ends = draw.choice(((low, high), (-np.inf, high), (low, np.inf), (-np.inf, np.inf)))
    found = clip_forms(form[None, None], np.array([ends[0]]), np.array([ends[1]]))[0, 0]
    for _ in range(12):
        e, (own,) = random_symbols(draw, 3), random_symbols(draw, 1)
        value = value_at(form, e, own)
        value = value if ends[0] == -np.inf else max(value, Fraction(ends[0]))
        value = value if ends[1] == np.inf else min(value, Fraction(ends[1]))
        assert is_around(found, e, value)
    reach = bounds_of(found[None])[1][0] - bounds_of(found[None])[0][0]
    assert reach <= 2.5 * float(spread_of(form[None])[0]) + 1e-9, "one limit is enough"


def support(rows: Array, weights: list[int]) -> tuple[Fraction, Fraction]:
    """Centre and half width of a sum of variables over a set of forms (variables, …)."""
    columns = [
        sum((w * Fraction(float(x)) for w, x in zip(weights, column, strict=True)), Fraction(0))
        for column in rows[:, :-1].T
    ]
    radii = sum((abs(w) * Fraction(float(r)) for w, r in zip(weights, rows[:, -1], strict=True)), Fraction(0))
    return columns[0], sum((abs(c) for c in columns[1:]), Fraction(0)) + radii


@LAW
@given(SEEDS, st.integers(1, 4), st.integers(1, 12), st.integers(1, 4))
def test_fewer_symbols_are_more_states(seed: int, count: int, symbols: int, order: int) -> None:
    draw = Random(seed)
    forms = np.array([[random_form(draw, symbols + count) for _ in range(count)] for _ in range(2)])
    forms[..., -1] = 0.0
    found = reduce_symbols(forms, order * count, count)
    limit = max(2 * order * count // 3, count)
    assert found.shape[-1] - 2 <= count + limit or found is forms
    for before, after in zip(forms, found, strict=True):
        assert (before[:, : 1 + count] == after[:, : 1 + count]).all()
        for _ in range(8):
            weights = [draw.randint(-3, 3) for _ in range(count)]
            (a, reach), (b, wider) = support(before, weights), support(after, weights)
            assert a == b
            assert wider >= reach


@LAW
@given(SEEDS, st.integers(1, 4), st.integers(0, 4))
def test_radii_become_symbols(seed: int, count: int, symbols: int) -> None:
    draw = Random(seed)
    forms = np.array([[random_form(draw, symbols) for _ in range(count)] for _ in range(3)])
    found = absorb_radii(forms)
    wide = add_symbols(forms, 3)
    assert not found[..., -1].any()
    for before, after, same in zip(forms, found, wide, strict=True):
        weights = [draw.randint(-3, 3) for _ in range(count)]
        assert support(before, weights) == support(after, weights) == support(same, weights)


@LAW
@given(SEEDS)
def test_boxes_are_inside_their_forms(seed: int) -> None:
    draw = Random(seed)
    low = np.array([[draw.uniform(-1, 1) * 10.0 ** draw.randint(-9, 9) for _ in range(3)]])
    high = low + np.array(
        [[draw.choice((0.0, draw.random() * 10.0 ** draw.randint(-12, 2))) for _ in range(3)]]
    )
    forms = forms_of_box(low, high)[0]
    for i in range(3):
        centre, reach = support(forms, [int(i == j) for j in range(3)])
        assert centre - reach <= Fraction(low[0, i])
        assert Fraction(high[0, i]) <= centre + reach


@given(SEEDS)
@LAW
def test_narrowed_sets_hold_all_that_is_assumed(seed: int) -> None:
    """Points where all that is assumed is at most 0 stay, and a cell without such points may go."""
    draw = np.random.default_rng(seed)
    cells, symbols, conditions = 4, int(draw.integers(1, 5)), int(draw.integers(1, 4))
    forms = draw.normal(size=(cells, 3, symbols + 2)) * 10.0 ** draw.integers(-6, 3, (cells, 3, 1))
    assumed = draw.normal(size=(cells, conditions, symbols + 2))
    assumed[..., 0] += draw.choice([0.0, 0.0, 2.0, -2.0], size=(cells, conditions))
    assumed[..., 1:-1] *= draw.random((cells, conditions, symbols)) < 0.8
    forms[..., -1], assumed[..., -1] = np.abs(forms[..., -1]) * 0.1, np.abs(assumed[..., -1]) * 0.1
    narrowed, possible = narrow_forms(forms, assumed)
    values = draw.uniform(-1, 1, (400, symbols))
    values[:200] = np.round(values[:200])
    directions = draw.normal(size=(8, 3))
    for cell in range(cells):
        wanted = assumed[cell, :, 0] + values @ assumed[cell, :, 1:-1].T - assumed[cell, :, -1] <= 0
        kept = values[wanted.all(1)]
        if not len(kept):
            continue
        assert possible[cell]
        points = (forms[cell, :, 0] + kept @ forms[cell, :, 1:-1].T) @ directions.T
        middle = directions @ narrowed[cell, :, 0]
        reach = (
            np.abs(directions @ narrowed[cell, :, 1:-1]).sum(1) + np.abs(directions) @ narrowed[cell, :, -1]
        )
        assert (np.abs(points - middle) <= reach * (1 + 1e-12) + 1e-300).all()


def test_a_narrowed_set_is_narrow() -> None:
    """x = e in [-1, 1], and what is assumed: x >= 1/2; nothing is left where x >= 2."""
    forms = np.array([[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]])
    narrowed, possible = narrow_forms(forms, np.array([[[0.5, -1.0, 0.0]], [[2.0, -1.0, 0.0]]]))
    assert possible.tolist() == [True, False]
    low, high = bounds_of(narrowed[0, 0])
    assert low == pytest.approx(0.5, abs=1e-6)
    assert high == pytest.approx(1.0, abs=1e-6)
