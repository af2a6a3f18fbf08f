"""What a network may compute at a point, whatever the order of summation (docs/certificates.md, section 4).

`enclosure` is interval arithmetic at the point. Where thousands of points are asked for, `Rough` is about ten
times as fast: it follows the exact function in fixed point, all entries of a layer at once, and adds to the
outputs one error that covers every float32 evaluation at every point of a box around those asked so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..kernel.network import ActivationNode, AffineNode, FlatNetwork, flat_node_sources
from ..kernel.strict_json import Refused
from .case_problem import CaseProblem, GraphValue
from .interval_propagation import may_overflow, propagate_interval, rounding_radius
from .subdomain import PrecisionGrid, SubdomainState

Bounds = tuple[list[int], list[int]]
_FINE, _COARSE = 64, 40  # bits behind the point
_ONE = 1 << _COARSE


def point_enclosure(network: FlatNetwork) -> Callable[[tuple[float, ...]], Bounds]:
    """Between which multiples of 2^-64 the outputs of every float32 evaluation lie."""
    grid = _network_grid(network, _FINE)

    def around(inputs: tuple[float, ...]) -> Bounds:
        ratios = [x.as_integer_ratio() for x in inputs]
        low = [(n << _FINE) // d for n, d in ratios]
        high = [-((-n << _FINE) // d) for n, d in ratios]
        state = _bound_values(grid, low, high)
        if state is None:
            raise Refused("a value of the network may leave the float32 range")
        return state.low[-1], state.high[-1]

    return around


def _network_grid(network: FlatNetwork, bits: int) -> PrecisionGrid:
    widths = network.widths()
    nodes = zip(network.nodes, widths[1:], strict=True)
    values = (
        GraphValue(widths[0], None, ()),
        *(GraphValue(w, node, tuple(flat_node_sources(node))) for node, w in nodes),
    )
    return PrecisionGrid(CaseProblem((), values, (), (), True), bits, {})


def _bound_values(grid: PrecisionGrid, low: list[int], high: list[int]) -> SubdomainState | None:
    """Bounds of all values of every float32 evaluation in this box; None: one of them may overflow."""
    count = len(grid.values)
    state = SubdomainState([low] * count, [high] * count, 0, [], [])
    for v in range(1, count):
        state.low[v], state.high[v] = propagate_interval(grid, state, v)
        if may_overflow(grid, state, v):
            return None
    return state


def rough_enclosure(network: FlatNetwork) -> RoughEnclosure | None:
    """For networks of affine layers and ReLU, one after the other; None for others."""
    for place, node in enumerate(network.nodes):
        layer = isinstance(node, AffineNode) or (isinstance(node, ActivationNode) and node.kind == "relu")
        if not layer or flat_node_sources(node) != (place,):
            return None
    return RoughEnclosure(network)


class RoughEnclosure:
    """Outputs as multiples of 2^-40, with one error for all points of a box that grows as it is needed.

    c is what is computed here, x what some float32 evaluation computes, d a bound of |x - c|, entry by entry.
    Affine: x = W x' + b + e with |e| <= r (section 4, with the sizes of x' over the box), and c is W c' + b
    up to t, so d = |W| d' + r + t. ReLU brings no two numbers further apart.
    """

    def __init__(self, network: FlatNetwork) -> None:
        self.grid = _network_grid(network, _COARSE)
        self.low: list[int] = []
        self.high: list[int] = []
        self.errors: list[int] | None = None  # None: there is no such error for the box

    def __call__(self, inputs: tuple[float, ...]) -> Bounds | None:
        ratios = map(float.as_integer_ratio, inputs)
        point = [(n << _COARSE) // d for n, d in ratios]  # less than one below the input
        if not self.low or any(not a <= p < b for a, p, b in zip(self.low, point, self.high, strict=True)):
            self._widen(point)
        if self.errors is None:
            return None
        found = self._fixed_point_outputs(point)
        return [c - d for c, d in zip(found, self.errors, strict=True)], [
            c + d for c, d in zip(found, self.errors, strict=True)
        ]

    def _fixed_point_outputs(self, values: Sequence[int]) -> Sequence[int]:
        grid = self.grid
        for v, value in enumerate(grid.values[1:], start=1):
            if isinstance(value.node, AffineNode):
                values = grid.kernel(v, value.node).columns.times([*values, _ONE])[0]
            else:
                values = [x if x > 0 else 0 for x in values]
        return values

    def _widen(self, point: list[int]) -> None:
        """Make the box larger by more than this point, so that few points do."""
        low, high = self.low or point, self.high or [p + 1 for p in point]
        room = [abs(p) // 4 + _ONE for p in point]
        self.low = [a if a <= p else p - r for a, p, r in zip(low, point, room, strict=True)]
        self.high = [b if p < b else p + r for b, p, r in zip(high, point, room, strict=True)]
        self.errors = self._bound_errors()

    def _bound_errors(self) -> list[int] | None:
        grid = self.grid
        state = _bound_values(grid, self.low, self.high)
        if state is None:
            return None
        errors = [1] * grid.values[0].width
        for v, value in enumerate(grid.values[1:], start=1):
            if not isinstance(value.node, AffineNode):
                continue
            kernel = grid.kernel(v, value.node)
            spread, lost = kernel.sizes.times([*errors, 0])
            rounding = rounding_radius(grid, state, v)
            assert rounding is not None
            off = kernel.columns.error_bound(state.total(value.sources[0]) + sum(errors) + _ONE)
            errors = [s + lost + r + off for s, r in zip(spread, rounding, strict=True)]
        return errors
