"""Wide layers are followed by columns: products are those of exact numbers, sets contain what networks do."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checker.reach.loops import affine, floats, network_of
from tests.checker.reach.simulator import run_network
from tests.checker.reach.test_parts import ONE, random_layers
from tests.laws.test_reach_laws import check_stepped, check_timed
from tests.laws.test_reach_planted import check_branches, check_float32

from surefoot_checker.bounds.packed_vectors import unpack_fields
from surefoot_checker.bounds.smooth_functions import enclose_tanh, tanh_line
from surefoot_checker.claims.reach import network_forms, wide_networks
from surefoot_checker.claims.reach.activation_lines import SLOPE, activation_line
from surefoot_checker.claims.reach.network_forms import NetworkOnForms
from surefoot_checker.claims.reach.weighted_rows import Scale, prepare_rows
from surefoot_checker.claims.reach.wide_networks import (
    BandMatrix,
    WideMatrix,
    WideRun,
    _multiply_bands,
    _multiply_by_columns,
    _multiply_by_rows,
    is_chain,
)
from surefoot_checker.kernel.network import AffineNode, FlatNetwork, read_network
from surefoot_checker.kernel.strict_json import Refused

Patch = pytest.MonkeyPatch
SEEDS = st.integers(0, 2**32)
LAW = settings(max_examples=80, deadline=None)
SCALES = [Scale(28, 24, 1), Scale(56, 40, 2), Scale(80, 40, 3)]


def random_matrix(draw: random.Random, rows: int, columns: int, scale: Scale) -> WideMatrix:
    """Weights of very different sizes, some of them 0, a row of zeros now and then."""
    size = 2.0 ** draw.choice([-20, -2, 0, 6, 22])
    weights = []
    for _ in range(rows):
        zero = draw.random() < 0.1
        weights += [
            0.0 if zero or draw.random() < 0.1 else size * draw.uniform(-1, 1) for _ in range(columns)
        ]
    node = AffineNode(0, columns, tuple(weights), (0.25,) * rows)
    return WideMatrix(prepare_rows(node, scale.weight), columns, scale)


def random_column(draw: random.Random, count: int) -> list[int]:
    """Up to the ends of fields of one word, or of two."""
    most = 1 << draw.choice([0, 10, 28, 36, 60, 63, 64, 90])
    return [draw.choice([0, most, -most, 1 - most, draw.randint(-most, most)]) for _ in range(count)]


def check_products(seed: int) -> None:
    draw = random.Random(seed)
    rows, columns = draw.choice([1, 4, 5, 9, 33]), draw.choice([1, 2, 7, 40])
    wide = random_matrix(draw, rows, columns, draw.choice(SCALES))
    column, less = random_column(draw, columns), draw.choice([0, 6])
    one = Fraction(1 << (wide.places + less))
    exact = [sum(map(int.__mul__, row, column)) / one for row in wide.matrix.rows]
    assert wide.times(column, less) == [x.__floor__() for x in exact]
    if not less:
        assert wide.times_all([column, column[::-1]])[0] == [x.__floor__() for x in exact]
    sizes = list(map(abs, column))
    assert wide.heights_times(sizes, less) == [
        (sum(abs(w) * x for w, x in zip(row, sizes, strict=True)) / one).__floor__()
        for row in wide.matrix.rows
    ]
    factors = random_column(draw, rows)
    assert wide.combine(factors) == [
        sum(map(int.__mul__, factors, weights)) for weights in zip(*wide.matrix.rows, strict=True)
    ]


@LAW
@given(SEEDS)
def test_products_are_exact(seed: int) -> None:
    check_products(seed)


def check_bands(seed: int, way: Callable[..., Any]) -> None:
    """V diag(s) W diag(d): what all rounding takes from a row is at most what is said."""
    draw = random.Random(seed)
    scale = draw.choice(SCALES)
    inner_count, count = draw.choice([1, 3, 20]), draw.choice([1, 5, 20])
    inner = random_matrix(draw, count, inner_count, scale)
    wide = random_matrix(draw, draw.choice([1, 2, 12]), count, scale)
    right = [draw.choice([0, draw.randint(0, 1 << scale.bits)]) for _ in range(inner_count)]
    left = [draw.choice([0, 1 << SLOPE, draw.randint(0, 1 << SLOPE)]) for _ in range(count)]
    heights = [x + 1 for x in inner.heights_times(right, 0)]
    band = BandMatrix(inner, draw.choice([None, left]), right, heights)
    used = [j for j, d in enumerate(right) if d]
    found, off = way(wide, band, used)
    assert len(found) == len(used)
    slopes = band.left or [1 << SLOPE] * count
    unit = Fraction(1 << (2 * scale.weight + SLOPE))
    for i, row in enumerate(wide.matrix.rows):
        lost = Fraction(0)
        for column, j in zip(found, used, strict=True):
            terms = (v * s * w[j] for v, s, w in zip(row, slopes, inner.matrix.rows, strict=True))
            lost += abs(sum(terms) * right[j] / unit - column[i])
        assert lost <= off + len(used)


@LAW
@given(SEEDS, st.sampled_from([_multiply_by_rows, _multiply_by_columns]))
def test_bands_behind_two_matrices(seed: int, way: Callable[..., Any]) -> None:
    check_bands(seed, way)


def _check_many(check: Callable[[int], Any]) -> None:
    for seed in range(80):
        check(seed)


def is_noticed(patch: Patch, module: Any, name: str, new: Any, check: Callable[[int], Any]) -> bool:
    with patch.context() as changed:
        changed.setattr(module, name, new)
        try:
            _check_many(check)
        except AssertionError:
            return True
    return False


def test_planted_mistakes_of_products_are_noticed(monkeypatch: Patch) -> None:
    """A carry that is not undone, fields that are too narrow, radii that are not added."""
    true = unpack_fields

    def keep_carry(packed: int, width: int, words: int, places: int) -> list[int]:
        size = 1 << (64 * words)
        signed = [(packed >> (64 * words * i)) % size for i in range(width)]
        return [(x - size if x >> (64 * words - 1) else x) >> places for x in signed]

    assert not is_noticed(monkeypatch, wide_networks, "unpack_fields", true, check_products)
    assert is_noticed(monkeypatch, wide_networks, "unpack_fields", keep_carry, check_products)


@pytest.mark.parametrize("way", [_multiply_by_rows, _multiply_by_columns])
def test_what_is_rounded_counts(way: Callable[..., Any]) -> None:
    def forget(seed: int) -> None:
        check_bands(seed, lambda *data: (way(*data)[0], 0))

    with pytest.raises(AssertionError):
        _check_many(forget)


@pytest.fixture
def all_wide(monkeypatch: Patch) -> None:
    monkeypatch.setattr(network_forms, "WIDE", 1)


@pytest.mark.usefixtures("all_wide")
@pytest.mark.parametrize("check", [check_timed, check_stepped, check_float32, check_branches])
def test_runs_stay_inside(check: Callable[[int], Any]) -> None:
    for seed in range(40):
        check(seed)


def _forget_radii(self: Any, column: Any, less: int) -> list[int]:
    return [0] * self.rows


def _forget_bands(wide: Any, band: Any) -> Any:
    return [], 0


def _mix_bands(wide: Any, band: Any) -> Any:
    found, off = _multiply_bands(wide, band)
    return [[2 * x for x in column] for column in found], off


@pytest.mark.usefixtures("all_wide")
def test_planted_mistakes_of_sets_are_noticed(monkeypatch: Patch) -> None:
    assert is_noticed(monkeypatch, WideMatrix, "heights_times", _forget_radii, check_float32)
    assert is_noticed(monkeypatch, WideMatrix, "heights_times", _forget_radii, check_layers)
    assert is_noticed(monkeypatch, wide_networks, "_multiply_bands", _forget_bands, check_layers)
    assert is_noticed(monkeypatch, wide_networks, "_multiply_bands", _mix_bands, check_layers)
    true = WideRun.widths
    halved = lambda self: [x // 2 for x in true(self)]  # noqa: E731
    assert is_noticed(monkeypatch, WideRun, "widths", halved, check_layers)


def check_layers(seed: int) -> None:
    """Values of a network at ends of its symbols are inside, and the sets as narrow as those of rows."""
    draw = random.Random(seed)
    kind, symbols, bits = (
        draw.choice(["relu", "tanh", "sigmoid"]),
        draw.choice([0, 2, 9]),
        draw.choice([44, 60]),
    )
    network = random_layers(draw, kind, [3, *(draw.choice([6, 14]) for _ in range(draw.choice([2, 3]))), 2])
    one, size = 1 << bits, draw.choice([0.02, 0.3])
    inputs = [
        (int(draw.uniform(-1, 1) * one), [int(draw.uniform(-size, size) * one) for _ in range(symbols)], 5)
        for _ in range(3)
    ]
    prepared = NetworkOnForms(network, bits)
    assert prepared.wide is not None
    prepared.finest = draw.random() < 0.3
    outputs = prepared.run(inputs)
    forms = [outputs.form(0), outputs.form(1), outputs.difference(0, 1)]
    prepared.wide = None
    by_rows = prepared.run(inputs)
    for own, other in zip(forms, [by_rows.form(0), by_rows.form(1), by_rows.difference(0, 1)], strict=True):
        assert own[2] <= 1.02 * other[2] + (2000 << (bits - 28))
    for _ in range(30):
        e = [draw.choice([Fraction(-1), Fraction(1), Fraction(draw.uniform(-1, 1))]) for _ in range(symbols)]
        values = run_network(
            network,
            [
                float((c + sum(x * y for x, y in zip(a, e, strict=True))) / Fraction(one))
                for c, a, _ in inputs
            ],
        )
        true = [*values, values[0] - values[1]]
        for (c, a, r), value in zip(forms, true, strict=True):
            assert abs(Fraction(value) * one - c - sum(x * y for x, y in zip(a, e, strict=True))) <= r


@pytest.mark.usefixtures("all_wide")
@pytest.mark.parametrize("first", range(0, 120, 40))
def test_values_are_inside(first: int) -> None:
    for seed in range(first, first + 40):
        check_layers(seed)


def chain_of(*kinds: str) -> FlatNetwork:
    nodes: list[Any] = []
    for kind in kinds:
        nodes.append(affine(len(nodes), [[1.0]], [0.5]) if kind == "affine" else [kind, len(nodes)])
    return read_network(network_of(1, *nodes))


def test_which_networks_are_chains() -> None:
    assert is_chain(chain_of("affine", "relu", "affine", "affine", "tanh"))
    assert not is_chain(chain_of("affine", "relu", "relu"))
    skipped = [affine(0, [[1.0]], [0.0]), ["relu", 1], affine(1, [[1.0]], [0.0])]
    assert not is_chain(read_network(network_of(1, *skipped)))


@pytest.mark.usefixtures("all_wide")
def test_activations_at_both_ends_and_affine_nodes_in_a_row() -> None:
    network = chain_of("tanh", "affine", "affine", "tanh", "affine", "relu")
    c, (a,), r = NetworkOnForms(network, 44).run([(ONE // 2, [ONE // 4], 0)]).form(0)
    for k in (-1.0, -0.5, 0.0, 1.0):
        (value,) = run_network(network, [0.5 + 0.25 * k])
        assert abs(value * ONE - c - a * k) <= r


@pytest.mark.usefixtures("all_wide")
@pytest.mark.parametrize("last", ["affine", "tanh"])
def test_constants_at_the_outputs(last: str) -> None:
    """Both outputs, and their difference, which shares what is inside the network."""
    draw = random.Random(7)
    for kind, constant in (("multiply", [-1.7, 15.0]), ("divide", [3.0, -0.3]), ("add", [0.1, -2.0])):
        widths = [3, 14, 9, 2]
        nodes: list[Any] = []
        for columns, rows in pairwise(widths):
            weights = [[draw.gauss(0, 1 / columns**0.5) for _ in range(columns)] for _ in range(rows)]
            nodes.append(affine(len(nodes), weights, [draw.gauss(0, 0.2) for _ in range(rows)]))
            nodes.append(["tanh", len(nodes)])
        if last == "affine":
            nodes.pop()
        nodes.append([kind, len(nodes), floats(constant)])
        network = read_network(network_of(3, *nodes))
        prepared = NetworkOnForms(network, 44)
        assert prepared.wide is not None
        inputs = [
            (draw.randint(-ONE, ONE), [draw.randint(-ONE, ONE) >> 3 for _ in range(5)], 5) for _ in range(3)
        ]
        found = prepared.run(inputs)
        prepared.wide = None
        other = prepared.run(inputs)
        forms = [found.form(0), found.form(1), found.difference(0, 1)]
        for own, slow in zip(forms, [other.form(0), other.form(1), other.difference(0, 1)], strict=True):
            assert own[2] <= 1.02 * slow[2]
        for _ in range(50):
            e = [draw.choice([-1.0, 1.0, draw.uniform(-1, 1)]) for _ in range(5)]
            values = run_network(
                network, [(c + sum(x * y for x, y in zip(a, e, strict=True))) / ONE for c, a, _ in inputs]
            )
            for (c, a, r), true in zip(forms, [*values, values[0] - values[1]], strict=True):
                assert abs(true * ONE - c - sum(x * y for x, y in zip(a, e, strict=True))) <= r


@pytest.mark.usefixtures("all_wide")
def test_an_overflow_is_refused() -> None:
    network = read_network(network_of(1, affine(0, [[3e38], [1.0]], [0.0, 0.0]), ["relu", 1]))
    with pytest.raises(Refused, match="overflow"):
        NetworkOnForms(network, 44).run([(4 * ONE, [ONE], 0)])
    c, (_,), r = NetworkOnForms(network, 44).run([(ONE >> 4, [ONE >> 6], 0)]).form(0)
    assert abs(3e38 / 16 * ONE - c) <= r + 3e38 / 64 * ONE


def test_lines_of_tanh_are_near_those_of_more_bits() -> None:
    draw = random.Random(3)
    for _ in range(2000):
        middle, half = draw.gauss(0, 4), draw.uniform(0, 0.3) * draw.choice([0, 0.001, 1, 30])
        low, high = (int(x * 2**28) for x in (middle - half, middle + half))
        line = activation_line("tanh", low, high, 28, ())
        assert line is not None
        slope, (least, most), _ = line
        for k in range(9):  # with 16 bits more, as slopes have
            x = low + (high - low) * k // 8
            bottom, top = enclose_tanh(x << 16, 44)
            assert least << 16 <= top - slope * x
            assert bottom - slope * x <= most << 16
        near = tanh_line(low << 16, high << 16, slope << 28, 44)
        assert near[0] - (least << 16) <= 3 << 16
        assert (most << 16) - near[1] <= 3 << 16
