"""Solutions in corners of a small network that no gradient leads to: by a mixed-integer program.

A network of ReLUs is linear once every neuron is on or off; with few neurons that are not yet decided a
program with one whole number for each finds out which of them are on in a solution. Then, with these fixed,
a linear program moves the point to where the worst atom is best. HiGHS counts in floats: the points are
guesses, and that it finds none means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    IndexArray,
    Join,
    Node,
    Pick,
)
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.solvers.linear_program import minimise_program
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.compiled_query import CompiledQuery, Mask
from surefoot.solvers.native.falsify.piece_corners import has_only_relus

FEW_BENDS = 24  # neurons that are not decided: so few cost little
MOST_BENDS = 48  # ... and with so many HiGHS may take as long as a small search by bounds
_NODES = 8  # of the search by HiGHS
_STEPS = 20_000  # of its simplex method
_LARGEST = 1e7  # numbers beyond which its tolerance says nothing


@dataclass(frozen=True, slots=True, eq=False)
class _AffineForm:
    """A value as a linear function of the inputs and of the neurons that are not decided."""

    rows: Array
    constant: Array


@dataclass(frozen=True, slots=True, eq=False)
class _OpenNeurons:
    """Neurons of one value that are not decided: before the ReLU, columns after it, and their bounds."""

    before: _AffineForm
    columns: IndexArray
    low: Array
    high: Array


def enumerate_milp_points(
    problem: CompiledQuery, found: NetworkBounds, sets: Sequence[tuple[int, ...]], bends: range
) -> Iterator[Array]:
    """Points of the box at which the atoms of a set hold in floats; `found`: bounds over that box alone.

    `bends`: how many neurons may be undecided.
    """
    if not has_only_relus(problem.network) or (problem.whole & ~problem.free).any():
        return
    if found.sheet is not None and found.sheet.open_relus() not in bends:
        return
    undecided = [
        (v, straddling)
        for v, node in enumerate(problem.network.nodes, start=1)
        if isinstance(node, Activation) and (straddling := _open_neurons(found, node)).any()
    ]
    count = sum(int(straddling.sum()) for _, straddling in undecided)
    if count not in bends:
        return
    forms, neurons = _network_forms(problem, found, dict(undecided), count)
    atoms = forms[-1]
    if not all(np.isfinite(f.rows).all() and np.abs(f.rows).max(initial=0.0) < _LARGEST for f in forms):
        return
    for several in sets:
        yield from _milp_points(problem, atoms, several, neurons, count)


def _open_neurons(found: NetworkBounds, node: Activation) -> Mask:
    box = found.boxes[node.source]
    return np.asarray((box.low[0] < 0) & (box.high[0] > 0))


def _network_forms(
    problem: CompiledQuery, found: NetworkBounds, bends: dict[int, Mask], count: int
) -> tuple[list[_AffineForm], list[_OpenNeurons]]:
    """Every value of the network, and the neurons that have a column of their own."""
    inputs = len(problem.low)
    forms = [_AffineForm(np.eye(inputs, inputs + count), np.zeros(inputs))]
    neurons: list[_OpenNeurons] = []
    free = inputs
    for value, node in enumerate(problem.network.nodes, start=1):
        if not isinstance(node, Activation):
            forms.append(_linear_node_form(node, forms))
            continue
        before, box = forms[node.source], found.boxes[node.source]
        on = (box.low[0] >= 0).astype(np.float64)
        rows, constant = before.rows * on[:, None], before.constant * on
        if value in bends:
            index = np.flatnonzero(bends[value])
            columns = free + np.arange(len(index), dtype=np.intp)
            free += len(index)
            rows[index], constant[index] = 0.0, 0.0
            rows[index, columns] = 1.0
            inner = _AffineForm(before.rows[index], before.constant[index])
            neurons.append(_OpenNeurons(inner, columns, box.low[0, index], box.high[0, index]))
        forms.append(_AffineForm(rows, constant))
    return forms, neurons


def _linear_node_form(node: Node, forms: Sequence[_AffineForm]) -> _AffineForm:
    match node:
        case Affine(source, weights, bias):
            return _AffineForm(weights @ forms[source].rows, weights @ forms[source].constant + bias)
        case Elementwise(source, kind, constant):
            given, amount = forms[source], constant.astype(np.float64)
            if kind is Constant.ADD:
                return _AffineForm(given.rows, given.constant + amount)
            factor = amount if kind is Constant.MULTIPLY else 1.0 / amount
            return _AffineForm(given.rows * factor[:, None], given.constant * factor)
        case Combine(left, right, _):
            return _AffineForm(
                forms[left].rows + forms[right].rows, forms[left].constant + forms[right].constant
            )
        case Pick(source, indices):
            return _AffineForm(forms[source].rows[indices], forms[source].constant[indices])
        case Join(several):
            return _AffineForm(
                np.concatenate([forms[s].rows for s in several]),
                np.concatenate([forms[s].constant for s in several]),
            )
        case TreeEnsemble():
            raise AssertionError("networks that jump are not looked at")
        case Activation():
            raise AssertionError("activations have columns of their own")


def _milp_points(
    problem: CompiledQuery,
    atoms: _AffineForm,
    several: Sequence[int],
    neurons: Sequence[_OpenNeurons],
    count: int,
) -> Iterator[Array]:
    """The point deepest inside the atoms of a set, for the neurons that are on in a first solution; that one.

    Columns: inputs, neurons after their ReLU, whether each is on, and by how much the worst atom fails.
    """
    inputs = len(problem.low)
    width = inputs + 2 * count + 1
    rows: list[Array] = []
    right: list[Array] = []
    for j in several:
        size = max(float(np.abs(atoms.rows[j]).max(initial=0.0)), 1e-12)
        for sign in (1.0, -1.0) if problem.equal[j] else (1.0,):
            row = np.zeros(width)
            row[: inputs + count], row[-1] = sign * atoms.rows[j] / size, -1.0
            rows.append(row[None])
            right.append(np.array([-sign * atoms.constant[j] / size]))
    for bend in neurons:
        block = _relu_big_m_rows(bend, width, count)
        rows.append(block[0])
        right.append(block[1])
    matrix, bounds = np.concatenate(rows), np.concatenate(right)
    low = np.concatenate([problem.low, np.zeros(2 * count + 1)])
    high = np.concatenate([problem.high, *(b.high for b in neurons), np.ones(count), [0.0]])
    whole = np.concatenate([problem.whole, np.zeros(count, np.bool_), np.ones(count, np.bool_), [False]])
    nothing = np.zeros(width)
    first = minimise_program(
        nothing, matrix, bounds, low, high, whole=whole, most_nodes=_NODES, most_steps=_STEPS
    )
    if first is None:
        return
    fixed = np.rint(first.columns)
    low, high = np.where(whole, fixed, low), np.where(whole, fixed, high)
    low[-1], high[-1] = -1.0, np.inf
    cost = nothing.copy()
    cost[-1] = 1.0
    second = minimise_program(cost, matrix, bounds, low, high, most_steps=_STEPS)
    if second is not None:
        yield second.columns[:inputs]
    yield first.columns[:inputs]


def _relu_big_m_rows(bend: _OpenNeurons, width: int, count: int) -> tuple[Array, Array]:
    """y >= x, y <= x - low (1 - on), y <= high on, for x before and y after the ReLU."""
    own = np.arange(len(bend.columns))
    before = np.zeros((len(own), width))
    before[:, : bend.before.rows.shape[1]] = bend.before.rows
    after, on = np.zeros_like(before), np.zeros_like(before)
    after[own, bend.columns] = 1.0
    on[own, bend.columns + count] = 1.0
    low, high = bend.low[:, None], bend.high[:, None]
    rows = np.concatenate([before - after, after - before - low * on, after - high * on])
    constant = bend.before.constant
    return rows, np.concatenate([-constant, constant - bend.low, np.zeros(len(own))])
