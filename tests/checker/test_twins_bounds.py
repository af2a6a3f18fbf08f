"""Intervals, rounding, lines and backward substitution in integers, beside their twins in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.checker.twins import plain_bounds, plain_relaxations
from tests.checker.twins.plain_bounds import Box, Plane
from tests.checker.twins.random_cases import (
    PARAMETERS,
    boxes_of,
    case_problems,
    flat_networks,
    floats,
    moderate,
    planes_of,
)

from surefoot_checker.bounds.back_substitution import ExactForm, entry_form
from surefoot_checker.bounds.case_problem import CallInput, CaseProblem, GraphValue, evaluate_exactly
from surefoot_checker.bounds.interval_propagation import may_overflow, propagate_interval, rounding_radius
from surefoot_checker.bounds.point_bounds import point_enclosure, rough_enclosure
from surefoot_checker.bounds.relaxations import cached_relaxation, check_slopes, step_relaxation
from surefoot_checker.bounds.row_batch import row_forms
from surefoot_checker.bounds.subdomain import PrecisionGrid, SubdomainState
from surefoot_checker.bounds.variable_box import exact_ends, root_state, separate_box
from surefoot_checker.kernel.inference import network_function
from surefoot_checker.kernel.network import ActivationNode, AffineNode, CombineNode, FlatNetwork, PickNode
from surefoot_checker.kernel.query import ClaimedVariable
from surefoot_checker.kernel.strict_json import Refused

PRECISIONS = st.sampled_from([(40, True), (40, False), (112, False)])
# With so few bits what is lost by rounding is large, and so is what is wrong about it.
ROUGH = st.sampled_from([(16, True), (16, False), (20, False), (40, True)])
DIGITS = Fraction(1, 10**45)  # how far the twins' tanh and sigmoid may be off
problems = case_problems(flat_networks())


@st.composite
def relu_networks(draw: st.DrawFn, numbers: st.SearchStrategy[float] = moderate) -> FlatNetwork:
    """Affine layers and ReLU in turn."""
    widths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    nodes: list[AffineNode | ActivationNode] = []
    for columns, rows in pairwise(widths):
        weights = draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns))
        bias = draw(st.lists(numbers, min_size=rows, max_size=rows))
        nodes += [AffineNode(len(nodes), columns, tuple(weights), tuple(bias))]
        nodes += [ActivationNode(len(nodes), "relu")]
    return FlatNetwork(widths[0], tuple(nodes[: draw(st.sampled_from((-1, len(nodes))))]))


@st.composite
def curved_nodes(draw: st.DrawFn) -> FlatNetwork:
    """One node that is not linear, of one input or two."""
    kind = draw(
        st.sampled_from(("relu", "relu", *PARAMETERS, "tanh", "sigmoid", "maximum", "product", "quotient"))
    )
    if kind in ("maximum", "product"):
        return FlatNetwork(2, (PickNode(0, (0,)), PickNode(0, (1,)), CombineNode(1, 2, kind)))
    if kind == "quotient":
        ends = draw(st.sampled_from([(0.25, 8.0), (-4.0, -0.5), (2.0**-5, 2.0)]))
        clipped = ActivationNode(2, "clip", ends)
        return FlatNetwork(2, (PickNode(0, (0,)), PickNode(0, (1,)), clipped, CombineNode(1, 3, kind)))
    return FlatNetwork(1, (ActivationNode(0, kind, draw(st.sampled_from(PARAMETERS.get(kind, [()])))),))


irregular = st.floats(-4, 4, width=32).filter(lambda x: abs(x) > 2.0**-10)


def open_root(problem: CaseProblem, bits: int, coarse: bool) -> tuple[PrecisionGrid, SubdomainState]:
    grid = PrecisionGrid(problem, bits, {}, coarse)
    try:
        state = root_state(grid)
    except Refused:  # a divisor may be zero, or a value beyond float32
        assume(False)
    assume(not state.void)
    return grid, state


def slack(grid: PrecisionGrid, size: Fraction) -> Fraction:
    """What rounding to the grid may cost where numbers are of this size: weights may have 30 bits only."""
    return 8 * (1 + size) * (Fraction(1, 1 << 21) if grid.coarse else Fraction(1, grid.one))


def huge_input() -> CaseProblem:
    """A number up to the largest float32, times 0, plus a bias."""
    anything = ClaimedVariable("x0", Fraction(0), Fraction(2**128 - 2**104), "float32")
    read = CallInput((((0, 0, Fraction(1)),),), (Fraction(0),), (True,), (0, 0))
    added = AffineNode(0, 1, (0.0,), (16777215.0,))
    values = (GraphValue(1, None, ()), GraphValue(1, read, (0,)), GraphValue(1, added, (1,)))
    return CaseProblem((anything,), values, (), (), False)


@given(case_problems(flat_networks(floats), floats) | problems, PRECISIONS)
@example(huge_input(), (40, True))
@settings(max_examples=75, deadline=None)
def test_intervals_and_radii(problem: CaseProblem, precision: tuple[int, bool]) -> None:
    """Around the twin's, and not much wider."""
    grid, state = open_root(problem, *precision)
    boxes = boxes_of(grid, state)
    for v, value in enumerate(grid.values[1:], start=1):
        low, high = propagate_interval(grid, state, v)
        exact = plain_bounds.image_interval(value, boxes)
        radii = plain_bounds.rounding_radii(value, boxes) if problem.float32 else [Fraction(0)] * value.width
        known = rounding_radius(grid, state, v) or [0] * value.width
        size = max([abs(x) for ends in boxes for end in ends for x in end], default=Fraction(0))
        if isinstance(value.node, AffineNode):
            # The bias is one more weight, times 1: in narrow fields all factors are rounded alike, at the
            # scale of the largest.
            weights = sum(abs(Fraction(w)) for w in (*value.node.weights, *value.node.bias))
            size = (1 + size) * (1 + weights)
        if isinstance(value.node, CombineNode):
            size *= 1 + size
        for i, (least, most) in enumerate(exact):
            radius = Fraction(known[i], grid.one)
            assert radii[i] - DIGITS <= radius
            # Magnitudes are rounded up to 24 bits before the radius is taken of them.
            assert radius <= radii[i] + slack(grid, size) + (1 + size) / (1 << 40)
            assert Fraction(low[i], grid.one) <= least - radii[i] + DIGITS
            assert most + radii[i] - DIGITS <= Fraction(high[i], grid.one)
            assert least - radius - Fraction(low[i], grid.one) <= slack(grid, size)
            assert Fraction(high[i], grid.one) - most - radius <= slack(grid, size)


@given(case_problems(flat_networks(floats), floats))
@settings(max_examples=50, deadline=None)
def test_overflow_is_seen(problem: CaseProblem) -> None:
    """No value that is said to stay within float32 has a partial sum beyond it."""
    grid, state = open_root(problem, 40, True)
    if not problem.float32:
        return
    boxes = boxes_of(grid, state)
    for v, value in enumerate(grid.values[1:], start=1):
        assert not may_overflow(grid, state, v)
        if isinstance(value.node, AffineNode):
            factor = 1 + plain_bounds.growth(value.node.columns + 1)
            assert all(factor * s <= 2**128 - 2**104 for s in plain_bounds.partial_sums(value, boxes))
        else:
            assert all(
                max(abs(x), abs(y)) <= 2**128 - 2**104
                for x, y in plain_bounds.image_interval(value, boxes)
                if any(plain_bounds.rounding_radii(value, boxes))
            )


shares, wide = st.integers(0, 128), st.integers(0, 65535)
WIDE = ("tanh", "sigmoid", "clip")


@given(case_problems(curved_nodes(), irregular) | problems, PRECISIONS | ROUGH, st.data())
@settings(max_examples=150, deadline=None)
def test_lines(problem: CaseProblem, precision: tuple[int, bool], data: st.DataObject) -> None:
    """Those of the page, within rounding; and on the right side of the function at every point tried."""
    grid, state = open_root(problem, *precision)
    boxes = boxes_of(grid, state)
    for v, value in enumerate(grid.values[1:], start=1):
        node = value.node
        if not isinstance(node, ActivationNode | CombineNode) or node.kind == "sum":
            continue
        number = wide if node.kind in WIDE else shares
        several = st.none() | st.tuples(*[number] * value.width)
        slopes = data.draw(several), data.draw(several)
        try:
            check_slopes(grid, v, slopes)
        except Refused:
            slopes = (None, None)
        state.slopes[v] = slopes
        state.lines.pop(v, None)
        found = planes_of(grid, value, cached_relaxation(grid, state, v))
        told = planes_of(grid, value, step_relaxation(grid, state, v, slopes))
        read = [list(zip(*boxes[s], strict=True)) for s in value.sources]
        for i in range(value.width):
            ends = [source[i] for source in read]
            below, above = (None if s is None else s[i] for s in slopes)
            if isinstance(node, ActivationNode):
                expected = plain_relaxations.relax_activation(node, ends[0], below, above)
            else:
                expected = plain_relaxations.relax_pair(node.kind, ends[0], ends[1], below, above)
            check_planes(grid, node, ends, found[i], expected)
            check_planes(grid, node, ends, told[i], None)
            if node.kind == "relu" and below is not None:
                assert told[i][0] == ((Fraction(below, 128),), 0)


def check_planes(
    grid: PrecisionGrid,
    node: ActivationNode | CombineNode,
    ends: list[plain_bounds.Interval],
    found: tuple[Plane, Plane],
    expected: tuple[Plane, Plane] | None,
) -> None:
    size = max(abs(x) for pair in ends for x in pair)
    steep = max(abs(x) for plane in found for x in (*plane[0], plane[1]))
    tolerance = (8 + 8 * size + 8 * steep) / grid.one + DIGITS
    for share in ((0, 0), (1, 1), (0, 1), (1, 0), (Fraction(1, 3), Fraction(4, 7))):
        point = [low + s * (high - low) for (low, high), s in zip(ends, share, strict=False)]
        at = [level + sum(s * x for s, x in zip(slopes, point, strict=True)) for slopes, level in found]
        if isinstance(node, ActivationNode):
            true = plain_bounds.apply_activation(node.kind, node.parameters, point[0])
        else:
            true = plain_bounds.apply_pair(node.kind, *point)
        assert at[0] - DIGITS <= true <= at[1] + DIGITS
        for side in range(2) if expected is not None else ():
            slopes, level = expected[side]
            meant = level + sum(s * x for s, x in zip(slopes, point, strict=True))
            assert abs(at[side] - meant) <= tolerance, (node.kind, side)


def exact_minimum(
    grid: PrecisionGrid,
    state: SubdomainState,
    form: dict[tuple[int, int], Fraction],
    box: Box | None = None,
) -> Fraction:
    """Backward substitution without rounding, with the lines that the state has."""
    boxes = boxes_of(grid, state)
    curved = {
        v: planes_of(grid, value, cached_relaxation(grid, state, v))
        for v, value in enumerate(grid.values)
        if isinstance(value.node, ActivationNode | CombineNode) and value.node.kind != "sum"
    }
    radii = {}
    if grid.float32:
        radii = {
            v: plain_bounds.rounding_radii(value, boxes) for v, value in enumerate(grid.values[1:], start=1)
        }
    vector, constant = plain_bounds.substitute_backward(grid.values, radii, curved, form, Fraction(0))
    return plain_bounds.minimise_over_box(vector, constant, box or boxes[0])


def total_size(grid: PrecisionGrid, boxes: list[Box]) -> Fraction:
    """Larger than all that a coefficient could be multiplied by: for tolerances only."""
    weights = [
        1 + sum(abs(Fraction(w)) for w in value.node.weights + value.node.bias)
        for value in grid.values
        if isinstance(value.node, AffineNode)
    ]
    found = 1 + sum(abs(x) for box in boxes for end in box for x in end)
    for weight in weights:
        found *= weight
    return found


@given(case_problems(relu_networks(irregular), irregular) | problems, PRECISIONS | ROUGH, st.data())
@settings(max_examples=150, deadline=None)
def test_backward_substitution(
    problem: CaseProblem, precision: tuple[int, bool], data: st.DataObject
) -> None:
    """Never above the twin."""
    grid, state = open_root(problem, *precision)
    v = data.draw(st.integers(0, len(grid.values) - 1))
    assume(grid.values[v].width)
    i, side = data.draw(st.integers(0, grid.values[v].width - 1)), data.draw(st.integers(0, 1))
    exact = exact_minimum(grid, state, {(v, i): Fraction(-1 if side else 1)})
    assert Fraction(entry_form(grid, state, v, i, side).minimum(), grid.one**2) <= exact + DIGITS


@given(case_problems(flat_networks(st.floats(-2, 2, width=32)), st.floats(-2, 2, width=32)), st.data())
@settings(max_examples=37, deadline=None)
def test_backward_substitution_loses_little(problem: CaseProblem, data: st.DataObject) -> None:
    """With moderate numbers and 112 bits the bound is nearly that of the twin."""
    grid, state = open_root(problem, 112, False)
    v = len(grid.values) - 1
    assume(grid.values[v].width)
    i = data.draw(st.integers(0, grid.values[v].width - 1))
    form = entry_form(grid, state, v, i, 0)
    exact = exact_minimum(grid, state, {(v, i): Fraction(1)})
    size = total_size(grid, boxes_of(grid, state))
    share = 1 << (40 if problem.float32 else 60)  # magnitudes that a radius depends on are rounded up
    assert exact - Fraction(form.minimum(), grid.one**2) <= size * size / share


@given(case_problems(relu_networks(irregular), irregular) | case_problems(relu_networks()), st.data())
@settings(max_examples=75, deadline=None)
def test_many_rows_together(problem: CaseProblem, data: st.DataObject) -> None:
    """Rows of packed words: never above the twin, and near it where the numbers are moderate."""
    grid, state = open_root(problem, 40, True)
    layers = [v for v, value in enumerate(grid.values) if isinstance(value.node, AffineNode) and value.width]
    v = data.draw(st.sampled_from(layers or [0]))
    rows = [(i, side) for i in range(grid.values[v].width) for side in (0, 1)]
    together = row_forms(grid, state, v, rows) if layers else None
    if together is None:
        return
    box = separate_box(grid, state, together.place)
    minima = [] if box is None else [together.minima(box)]
    minima.append([form.minimum() for form in together.forms()])
    for number, (i, side) in enumerate(rows):
        exact = exact_minimum(grid, state, {(v, i): Fraction(-1 if side else 1)})
        for found in minima:
            assert Fraction(found[number], grid.one**2) <= exact + DIGITS


@given(problems, PRECISIONS, st.data())
@settings(max_examples=50, deadline=None)
def test_exact_substitution(problem: CaseProblem, precision: tuple[int, bool], data: st.DataObject) -> None:
    """The very number of the twin."""
    assume(not problem.float32)
    grid, state = open_root(problem, *precision)
    form, terms = ExactForm(grid, state), {}
    for _ in range(data.draw(st.integers(1, 3))):
        v = data.draw(st.integers(0, len(grid.values) - 1))
        if grid.values[v].width:
            i = data.draw(st.integers(0, grid.values[v].width - 1))
            coefficient = data.draw(st.fractions(-3, 3, max_denominator=60))
            form.add_term(v, i, Fraction(1), coefficient)
            terms[v, i] = terms.get((v, i), Fraction(0)) + coefficient
    assert form.minimum() == exact_minimum(grid, state, terms, exact_ends(grid, state))


@given(case_problems(flat_networks(floats, curved=("relu", "leaky_relu", "clip"))), st.data())
@settings(max_examples=50, deadline=None)
def test_exact_values(problem: CaseProblem, data: st.DataObject) -> None:
    point = [data.draw(st.fractions(-9, 9, max_denominator=99)) for _ in range(problem.values[0].width)]
    expected: list[list[Fraction]] | None = [point]
    try:
        for value in problem.values[1:]:
            expected.append(plain_bounds.evaluate_value(value, expected))
    except ZeroDivisionError:
        expected = None
    try:
        found = evaluate_exactly(problem, point)
    except Refused:
        found = None
    assert found == expected


@given(relu_networks(), st.data())
@settings(max_examples=37, deadline=None)
def test_points(network: FlatNetwork, data: st.DataObject) -> None:
    """The quick enclosure of many points contains the twin's of each, and so does the careful one."""
    near, careful = rough_enclosure(network), point_enclosure(network)
    assert near is not None
    variables = tuple(f"x{i}" for i in range(network.width))
    for _ in range(3):
        inputs = tuple(data.draw(moderate) for _ in variables)
        boxes: list[Box] = [([Fraction(x) for x in inputs],) * 2]
        for value in near.grid.values[1:]:
            exact = plain_bounds.image_interval(value, boxes)
            radii = plain_bounds.rounding_radii(value, boxes)
            both = list(zip(exact, radii, strict=True))
            boxes.append(([low - r for (low, _), r in both], [high + r for (_, high), r in both]))
        found = [(careful(inputs), 64)]
        if (quick := near(inputs)) is not None:
            found.append((quick, 40))
        for (lows, highs), bits in found:
            for low, high, least, most in zip(lows, highs, *boxes[-1], strict=True):
                assert Fraction(low, 1 << bits) <= least
                assert most <= Fraction(high, 1 << bits)
        try:
            computed = network_function(network)(inputs)
        except Refused:
            continue
        assert all(
            low <= Fraction(x) <= high
            for low, x, high in zip(boxes[-1][0], computed, boxes[-1][1], strict=True)
        )
