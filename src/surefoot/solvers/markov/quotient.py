"""A smaller process with the same values: states of known value, end components and chains are folded away.

What remains is an equation x = optimum over choices of (constant + sum of probabilities times x) over nodes.
A node stands for an end component that costs nothing to go round in (its states have one value) or for a
single state. A node with one choice and one next node has the value of that one plus its cost; it is left
out. Every state remembers its node and what to add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.solvers.markov.integer_vectors import (
    IntegerVector,
    IntegerWeights,
    integer_zeros,
    sum_rows,
)
from surefoot.solvers.markov.qualitative import MarkovGraph, csr_positions


@dataclass(frozen=True, slots=True, eq=False)
class QuotientProcess:
    """Nodes, their choices and the outcomes of these that lead to nodes; the rest is in the constants."""

    choices: NDArray[np.int64]  # [nodes + 1]
    outcomes: NDArray[np.int64]  # [choices + 1]
    targets: NDArray[np.int64]  # [outcomes]: node
    weights: IntegerVector  # [outcomes]: over `unit`
    constants: IntegerVector  # [choices]: over unit * scale
    unit: int
    scale: int
    origin: NDArray[np.int64]  # [choices]: the choice of the process
    folded: NDArray[np.int64]  # choices of the process that are taken in what was left out
    node: NDArray[np.int64]  # [states]: -1 where the value is known
    offset: IntegerVector  # [states]: over scale: what to add to the value of the node, or the known value

    @property
    def nodes(self) -> int:
        return len(self.choices) - 1

    def choice_values(self, values: IntegerVector) -> IntegerVector:
        """[choices]: constant + sum of probabilities times values, over unit * scale."""
        return cast(
            IntegerVector, self.constants + sum_rows(self.weights * values[self.targets], self.outcomes)
        )

    def state_values(self, values: IntegerVector) -> IntegerVector:
        """[states]: the values of all states from those of the nodes."""
        full = self.offset.copy()
        inside = self.node >= 0
        full[inside] += values[self.node[inside]]
        return full


def build_quotient(
    graph: MarkovGraph,
    given: IntegerWeights,
    open_states: NDArray[np.bool_],
    known: IntegerVector,
    usable: NDArray[np.bool_],
    component: NDArray[np.int64],
    scale: int,
) -> QuotientProcess:
    """`known`: values (over scale) outside the open states. `component`: number of the one to merge, or -1.

    All outcomes of usable choices are open states or have a known value; the scale is a multiple of the
    grain of the rewards.
    """
    markov = graph.markov
    node = _number_nodes(open_states, component)
    kept = np.flatnonzero(usable & open_states[graph.owners])
    cost = _expected_costs(graph, given, kept, scale)
    kept, cost, node, offset, folded = _collapse_chains(graph, given.unit, kept, cost, node)
    full = known.copy()
    full[open_states] = offset[open_states]
    order = np.argsort(node[graph.owners[kept]], kind="stable")
    kept, cost = kept[order], cost[order]
    positions = csr_positions(markov.outcomes, kept)
    counts = np.diff(markov.outcomes)[kept]
    row = np.repeat(np.arange(len(kept), dtype=np.int64), counts)
    ends = np.concatenate(([0], np.cumsum(counts)))
    constants = cost + sum_rows(given.weights[positions] * full[markov.targets[positions]], ends)
    inner = node[markov.targets[positions]] >= 0
    count = int(node.max(initial=-1)) + 1
    per_node = np.bincount(node[graph.owners[kept]], minlength=count)
    per_row = np.bincount(row[inner], minlength=len(kept))
    return QuotientProcess(
        np.concatenate(([0], np.cumsum(per_node))).astype(np.int64),
        np.concatenate(([0], np.cumsum(per_row))).astype(np.int64),
        node[markov.targets[positions]][inner],
        given.weights[positions][inner],
        constants,
        given.unit,
        scale,
        kept,
        folded,
        node,
        full,
    )


def _number_nodes(open_states: NDArray[np.bool_], component: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nodes: one for each component, one for each open state outside of them."""
    node = np.full(len(open_states), np.int64(-1))
    merged = open_states & (component >= 0)
    node[merged] = np.unique(component[merged], return_inverse=True)[1]
    single = np.flatnonzero(open_states & (component < 0))
    node[single] = int(node.max(initial=-1)) + 1 + np.arange(len(single))
    return node


def _expected_costs(
    graph: MarkovGraph, given: IntegerWeights, kept: NDArray[np.int64], scale: int
) -> IntegerVector:
    """[kept]: expected rewards over unit * scale."""
    if given.amounts is None:
        return integer_zeros(len(kept))
    paid = sum_rows(given.weights * given.amounts, graph.markov.outcomes)
    return cast(IntegerVector, paid[kept] * (scale // given.grain))


def _collapse_chains(
    graph: MarkovGraph, unit: int, kept: NDArray[np.int64], cost: IntegerVector, node: NDArray[np.int64]
) -> tuple[NDArray[np.int64], IntegerVector, NDArray[np.int64], IntegerVector, NDArray[np.int64]]:
    """Leave out choices inside a node, then nodes whose single choice leads to one other node for sure."""
    markov, count = graph.markov, int(node.max(initial=-1)) + 1
    first = node[markov.targets[markov.outcomes[kept]]]
    positions = csr_positions(markov.outcomes, kept)
    row = np.repeat(np.arange(len(kept), dtype=np.int64), np.diff(markov.outcomes)[kept])
    mixed = np.zeros(len(kept), dtype=np.bool_)
    mixed[row[node[markov.targets[positions]] != first[row]]] = True
    own = node[graph.owners[kept]]
    leaves = mixed | (first != own)
    kept, cost, first, mixed, own = kept[leaves], cost[leaves], first[leaves], mixed[leaves], own[leaves]
    alone = np.bincount(own, minlength=count)[own] == 1
    plain = alone & ~mixed & (first >= 0)
    plain[plain] = [c % unit == 0 for c in cost[plain]]
    follow = np.arange(count, dtype=np.int64)
    extra = integer_zeros(count)
    follow[own[plain]] = first[plain]
    extra[own[plain]] = cost[plain] // unit
    while (follow[follow] != follow).any():  # no cycles: each would be an end component
        extra = extra + extra[follow]
        follow = follow[follow]
    offset = integer_zeros(len(node))
    inside = node >= 0
    offset[inside] = extra[node[inside]]
    heads = np.unique(follow)
    renumbered = np.full(count, np.int64(-1))
    renumbered[heads] = np.arange(len(heads))
    final = node.copy()
    final[inside] = renumbered[follow[node[inside]]]
    stay = ~plain
    return kept[stay], cost[stay], final, offset, kept[plain]
