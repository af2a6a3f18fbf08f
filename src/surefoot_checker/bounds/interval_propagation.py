"""Interval arithmetic: bounds of a value from those of the values it reads, and the radius of its rounding.

Lower bounds are rounded down to the grid, upper ones up. In float32 arithmetic a value is what a computer
gets: the exact function of the computed values before it, plus an error of at most the radius
(docs/certificates.md, section 4).
"""

from __future__ import annotations

from operator import add, sub

from ..kernel.network import ActivationNode, AffineNode, CombineNode, ElementwiseNode, JoinNode, PickNode
from ..kernel.strict_json import Refused
from ..kernel.trees import TreesNode
from .case_problem import CallInput
from .curved_functions import CURVES, curve_error
from .packed_vectors import enclose_half
from .smooth_functions import enclose_logistic, enclose_tanh
from .subdomain import PrecisionGrid, SubdomainState
from .tree_leaves import cached_leaves, scale_trees, tree_extremes, tree_radius

Bounds = tuple[list[int], list[int]]
UNIT = 24  # float32 rounds with a relative error of 2^-24
LARGEST = ((1 << 24) - 1) << 104  # the largest float32 number


def propagate_interval(grid: PrecisionGrid, state: SubdomainState, v: int) -> Bounds:
    """Bounds of value v by interval arithmetic."""
    low, high = _exact_interval(grid, state, v)
    errors = rounding_radius(grid, state, v, (low, high))
    if errors is None:
        return low, high
    return list(map(sub, low, errors)), list(map(add, high, errors))


def rounding_radius(
    grid: PrecisionGrid, state: SubdomainState, v: int, exact: Bounds | None = None
) -> list[int] | None:
    """How far a computed entry can be from the exact function; None: not at all."""
    if not grid.float32:
        return None
    if v in state.radii:
        return state.radii[v]
    value = grid.values[v]
    found: list[int] | None = None
    match value.node:
        case AffineNode() as node:
            operations = node.columns + 1
            lost = -(-(4 * operations << grid.bits) >> 126)
            rest = (1 << UNIT) - operations
            found = [lost - (-t * operations // rest) for t in _bound_partial_sums(grid, state, v)]
        case ActivationNode(kind="tanh"):
            sizes = state.sizes(value.sources[0])
            found = [4 * (-(-min(size, grid.one) >> 23) + grid.tiny) for size in sizes]
        case ActivationNode(kind="sigmoid"):
            found = [4 * (-(-grid.one >> 23) + grid.tiny)] * value.width
        case ActivationNode(kind=kind, parameters=given) if kind in CURVES:
            factor = given[0].as_integer_ratio() if given else None
            around = exact or _exact_interval(grid, state, v)
            errors = [curve_error(kind, size, grid.bits, factor) for size in _interval_magnitudes(around)]
            found = None if kind == "step" else [error or 0 for error in errors]
        case (
            ElementwiseNode()
            | ActivationNode(kind="leaky_relu")
            | CombineNode(kind="sum" | "product" | "quotient")
        ):
            found = [
                _operation_error(grid, s)
                for s in _interval_magnitudes(exact or _exact_interval(grid, state, v))
            ]
        case TreesNode() as node:
            found = tree_radius(grid, node)
        case CallInput(_, _, single, _, whole):
            sizes = _interval_magnitudes(exact or _exact_interval(grid, state, v))
            found = [
                0 if alone or (integer and s <= 1 << (UNIT + grid.bits)) else _operation_error(grid, s)
                for s, alone, integer in zip(sizes, single, whole or (False,) * len(single), strict=True)
            ]
    state.radii[v] = found
    return found


def _bound_partial_sums(grid: PrecisionGrid, state: SubdomainState, v: int) -> list[int]:
    """Upper bounds of sum |w||x| + |b| per entry of an affine value.

    The sizes are rounded up to a coarser grid first: they have fewer digits, and it is an upper bound anyway.
    """
    node = grid.values[v].node
    assert isinstance(node, AffineNode)
    if node.columns + 1 >= 1 << 23:
        raise Refused("a sum of so many terms has no useful rounding error")
    coarse = max(0, grid.bits - 24)
    factors = [-(-size >> coarse) for size in state.sizes(grid.values[v].sources[0])]
    found, error = grid.kernel(v, node).sizes.times([*factors, grid.one >> coarse])
    return [(entry + error) << coarse for entry in found]


def _operation_error(grid: PrecisionGrid, size: int) -> int:
    return -(-size >> UNIT) + grid.tiny


def _interval_magnitudes(bounds: Bounds) -> list[int]:
    return [max(high, -low) for low, high in zip(*bounds, strict=True)]


def may_overflow(grid: PrecisionGrid, state: SubdomainState, v: int) -> bool:
    """Whether some result in the computation of value v may leave the float32 range."""
    value = grid.values[v]
    errors = rounding_radius(grid, state, v)
    if isinstance(value.node, AffineNode):
        largest = max(map(add, _bound_partial_sums(grid, state, v), errors or ()), default=0)
    elif isinstance(value.node, TreesNode):
        largest = max(map(add, scale_trees(grid, value.node).sizes, errors or ()), default=0)
    elif errors is None:
        return False
    else:
        largest = max(map(add, _interval_magnitudes(_exact_interval(grid, state, v)), errors), default=0)
    if isinstance(value.node, ElementwiseNode) and value.node.kind == "divide":
        tiny = 2.0**-126
        return largest > LARGEST << grid.bits or any(-tiny < c < tiny for c in value.node.constant)
    return largest > LARGEST << grid.bits


def _exact_interval(grid: PrecisionGrid, state: SubdomainState, v: int) -> Bounds:
    """Bounds of the exact function of what the node reads."""
    value = grid.values[v]
    node = value.node
    low, high = state.low, state.high
    match node:
        case AffineNode():
            return _affine_interval(grid, v, node, low[value.sources[0]], high[value.sources[0]])
        case ActivationNode():
            s = value.sources[0]
            return _activation_interval(grid, node, low[s], high[s])
        case ElementwiseNode():
            s = value.sources[0]
            return _elementwise_interval(grid, node, low[s], high[s])
        case CombineNode():
            s, t = value.sources
            return _combine_intervals(grid, node, (low[s], high[s]), (low[t], high[t]))
        case PickNode(_, indices):
            s = value.sources[0]
            return [low[s][i] for i in indices], [high[s][i] for i in indices]
        case JoinNode():
            return [x for s in value.sources for x in low[s]], [x for s in value.sources for x in high[s]]
        case TreesNode():
            return tree_extremes(grid, cached_leaves(grid, state, v))
        case CallInput():
            return _input_interval(grid, node, state)
        case None:
            return low[v], high[v]


def _affine_interval(
    grid: PrecisionGrid, v: int, node: AffineNode, low: list[int], high: list[int]
) -> Bounds:
    """With x = (c + r e) / 2 for c = low + high, r = high - low, -1 <= e <= 1: (W c +- |W| r) / 2 + b."""
    kernel = grid.kernel(v, node)
    middle = [*map(add, low, high), 2 << grid.bits]
    return enclose_half(kernel.columns, kernel.sizes, middle, [*map(sub, high, low), 0])


def _activation_interval(
    grid: PrecisionGrid, node: ActivationNode, low: list[int], high: list[int]
) -> Bounds:
    """All are monotonic, but for leaky ReLU with a negative slope, sine and cosine."""
    bits = grid.bits
    if node.kind in CURVES:
        given = [p.as_integer_ratio() for p in node.parameters]
        ranges = [CURVES[node.kind](x, y, bits, given) for x, y in zip(low, high, strict=True)]
        return [x for x, _ in ranges], [x for _, x in ranges]
    match node.kind:
        case "relu":
            return [x if x > 0 else 0 for x in low], [x if x > 0 else 0 for x in high]
        case "tanh":
            return [enclose_tanh(x, bits)[0] for x in low], [enclose_tanh(x, bits)[1] for x in high]
        case "sigmoid":
            return [enclose_logistic(x, bits)[0] for x in low], [enclose_logistic(x, bits)[1] for x in high]
        case "clip":
            ratios = [p.as_integer_ratio() for p in node.parameters]
            least, most = ((n << bits) // d for n, d in ratios)
            least_up, most_up = (-((-n << bits) // d) for n, d in ratios)
            return [min(max(x, least), most) for x in low], [min(max(x, least_up), most_up) for x in high]
        case _:
            above, below = node.parameters[0].as_integer_ratio()
            found = []
            for least, most in zip(low, high, strict=True):
                ends = [(x * below if x > 0 else x * above) for x in (least, most)]
                kink = [0] if least < 0 < most else []
                found.append((min(ends + kink) // below, -(-max(ends + kink) // below)))
            return [x for x, _ in found], [x for _, x in found]


def _elementwise_interval(
    grid: PrecisionGrid, node: ElementwiseNode, low: list[int], high: list[int]
) -> Bounds:
    ratios = grid.ratios(node)
    if node.kind == "add":
        bits = grid.bits
        return (
            [x + (n << bits) // d for x, (n, d) in zip(low, ratios, strict=True)],
            [x - (-n << bits) // d for x, (n, d) in zip(high, ratios, strict=True)],
        )
    return (
        [(x if n > 0 else y) * n // d for x, y, (n, d) in zip(low, high, ratios, strict=True)],
        [-((x if n > 0 else y) * -n // d) for y, x, (n, d) in zip(low, high, ratios, strict=True)],
    )


def _combine_intervals(grid: PrecisionGrid, node: CombineNode, left: Bounds, right: Bounds) -> Bounds:
    match node.kind:
        case "sum":
            return list(map(add, left[0], right[0])), list(map(add, left[1], right[1]))
        case "maximum":
            return list(map(max, left[0], right[0])), list(map(max, left[1], right[1]))
    both = [corner_interval(grid, node.kind, *ends) for ends in zip(*left, *right, strict=True)]
    return [x for x, _ in both], [x for _, x in both]


def corner_interval(grid: PrecisionGrid, kind: str, a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """Around x * y or x / y for a <= x <= b, c <= y <= d: extremes are at corners."""
    bits = grid.bits
    if kind == "product":
        corners = (a * c, a * d, b * c, b * d)
        return min(corners) >> bits, -(-max(corners) >> bits)
    least = grid.tiny if grid.float32 else 1
    if c < least and d > -least:
        raise Refused("a divisor may be zero")
    quotients = [(x << bits, y) if y > 0 else (-x << bits, -y) for x in (a, b) for y in (c, d)]
    return min(x // y for x, y in quotients), max(-(-x // y) for x, y in quotients)


def _input_interval(grid: PrecisionGrid, node: CallInput, state: SubdomainState) -> Bounds:
    if node.span is not None:
        v, first = node.span
        here = slice(first, first + len(node.rows))
        return state.low[v][here], state.high[v][here]
    low, high = [], []
    for row, constant in zip(node.rows, node.constants, strict=True):
        least = (constant.numerator << grid.bits) // constant.denominator
        most = -((-constant.numerator << grid.bits) // constant.denominator)
        for v, i, c in row:
            n, d = c.numerator, c.denominator
            ends = (state.low[v][i], state.high[v][i]) if n > 0 else (state.high[v][i], state.low[v][i])
            least += ends[0] * n // d
            most -= -ends[1] * n // d
        low.append(least)
        high.append(most)
    return low, high
