"""Solutions on the edge: corners of the linear piece in which an almost-solution lies.

Where the atoms only just hold, gradient steps come close and never arrive. On the piece of a piecewise linear
network around a point everything is linear, and a linear program finds the corner where the worst atom is
best. Neurons that are almost zero at the point stand on the border of two pieces: each may go either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.solvers.linear_program import minimise_program
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.compiled_query import CompiledQuery

_PIECES = 8  # tried around one point
_NEAR = 1e-4  # of how far a neuron can move in the box: closer to zero it may be on either side
_BORDERS = 3  # neurons whose side is left open
_TOUCHES = 1e-7  # an atom that fails by less, relative to its steepest slope, may just hold

Sides = dict[tuple[int, int], bool]  # value and entry of a neuron: on or off


def has_only_relus(network: Network) -> bool:
    """Whether every bend of the network is a ReLU, and it does not jump."""
    return not network.has_trees() and all(
        n.shape is Shape.RELU
        if isinstance(n, Activation)
        else not isinstance(n, Combine) or n.pairing is Pairing.ADD
        for n in network.nodes
    )


def enumerate_piece_corners(problem: CompiledQuery, several: Sequence[int], point: Array) -> Iterator[Array]:
    """Points of the box at which the atoms of a set may hold, one for each piece around a point."""
    network, span = problem.network, problem.high - problem.low
    if not has_only_relus(network):
        return
    values = [v[0] for v in forward_values(network, point[None])]
    bends = sorted({n.source for n in network.nodes if isinstance(n, Activation)})
    slopes = _value_derivatives(network, values, {})
    close = [
        (abs(values[v][i]) / reach[i], v, i)
        for v in bends
        for reach in [span @ np.abs(slopes[v]) + 1e-300]
        for i in np.flatnonzero(np.abs(values[v]) <= _NEAR * reach).tolist()
    ]
    near = [(v, i) for _, v, i in sorted(close)[:_BORDERS]]
    for sides in islice(product((True, False), repeat=len(near)), _PIECES):
        found = _best_corner(problem, several, point, values, bends, dict(zip(near, sides, strict=True)))
        if found is not None:
            yield found


def _value_derivatives(network: Network, values: Sequence[Array], chosen: Sides) -> list[Array]:
    """The derivatives of every value, one row per input."""
    found = [np.eye(len(values[0]))]
    for node in network.nodes:
        found.append(_node_derivative(node, found, values, chosen))
    return found


def _node_derivative(node: Node, found: Sequence[Array], values: Sequence[Array], chosen: Sides) -> Array:
    match node:
        case Affine(source, weights, _):
            result: Array = found[source] @ weights.T
            return result
        case Elementwise(source, kind, constant):
            if kind is Constant.ADD:
                return found[source]
            factor = constant.astype(np.float64)
            return found[source] * (factor if kind is Constant.MULTIPLY else 1.0 / factor)
        case Activation(source, _, _):
            return found[source] * _active_neurons(source, values, chosen)
        case Combine(left, right, _):
            return found[left] + found[right]
        case Pick(source, indices):
            return found[source][:, indices]
        case Join(parts):
            return np.concatenate([found[s] for s in parts], axis=1)
        case TreeEnsemble():
            raise AssertionError("networks that jump have no corners")


def _active_neurons(value: int, values: Sequence[Array], chosen: Sides) -> Array:
    on = (values[value] > 0).astype(np.float64)
    for (where, index), side in chosen.items():
        if where == value:
            on[index] = float(side)
    return on


def _best_corner(
    problem: CompiledQuery,
    several: Sequence[int],
    point: Array,
    values: Sequence[Array],
    bends: Sequence[int],
    chosen: Sides,
) -> Array | None:
    """Where the worst atom is best in one piece; None if it fails there."""
    slopes = _value_derivatives(problem.network, values, chosen)
    rows, right, counted = [], [], []
    for j in several:
        size = max(float(np.abs(slopes[-1][:, j]).max(initial=0.0)), 1e-12)
        for sign in (1.0, -1.0) if problem.equal[j] else (1.0,):
            rows.append(sign * slopes[-1][:, j] / size)
            right.append(sign * (slopes[-1][:, j] @ point - values[-1][j]) / size)
            counted.append(-1.0)
    for v in bends:
        side = 1.0 - 2.0 * _active_neurons(v, values, chosen)
        reach = np.maximum((problem.high - problem.low) @ np.abs(slopes[v]), 1e-12)
        movable = np.flatnonzero(np.abs(values[v]) <= reach)
        rows.extend((side * slopes[v] / reach).T[movable])
        right.extend((side * (point @ slopes[v] - values[v]) / reach)[movable])
        counted.extend([0.0] * len(movable))
    found = minimise_program(
        np.append(np.zeros(len(point)), 1.0),
        np.column_stack([np.array(rows), counted]),
        np.array(right),
        np.append(problem.low, -1.0),
        np.append(problem.high, np.inf),
    )
    if found is None or not found.columns[-1] <= _TOUCHES:
        return None
    return found.columns[:-1]
