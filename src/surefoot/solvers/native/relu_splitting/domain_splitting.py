"""Dividing sub-domains: at the sign of one neuron or several, after a look ahead or without one.

A few sub-domains cost hardly less than one, so as long as there are few each is divided at two neurons at
once. Which neuron is divided matters most where several rows compete: a search that always takes the one with
the costliest relaxation may stick to the neurons of a single copy of the network whose row alone cannot be
refuted. Looking ahead, both parts of some promising neurons are bounded with a few steps of ascent, and the
neuron is taken whose parts both gain most; what the trial closes is closed, and the others go on from its
multipliers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.network.batches import join_batches
from surefoot.network.directed_rounding import TINY, Array
from surefoot.network.relaxation import relu_gap
from surefoot.solvers.native.relu_splitting.chain_problem import Indices, Mask, ReluDomains, split_neurons
from surefoot.solvers.native.relu_splitting.dual_bound import DualAscent, DualProblem, ascend_dual_bound
from surefoot.solvers.native.relu_splitting.leaf_program import solve_leaf_program
from surefoot.solvers.native.relu_splitting.neuron_bounds import (
    ClippedBounds,
    clip_first_layer,
    select_largest,
)
from surefoot.solvers.native.relu_splitting.search_state import ReluSearch, keep_first_solution
from surefoot.solvers.native.relu_splitting.splitting_log import Multipliers, SplitEntry

_FEW = 16  # sub-domains: as long as there are not more, they are divided at two neurons each
_TRIED, _TRIAL_STEPS = 8, 2  # neurons of a sub-domain that are tried, and steps of ascent of each trial
_CLOSED = 1.3  # what a closed part counts, where 1 is to gain all that was missing
_LEAST_CLIP = 0.03  # share of the width of a neuron's bounds; smaller gains are not worth a line in a proof
_CLIP_WORK, _LEAST_CLIPPED = (
    1 << 14,
    8,
)  # inputs of all neurons of a copy that are clipped, and neurons at least
_TRIAL_SIZE = 1 << 20  # neurons of all trials together that are bounded at once


def branch_relu_domains(s: ReluSearch, still: ReluDomains, a: DualAscent, without: Mask) -> None:
    """Split sub-domains, or solve them where nothing is left to split."""
    score = branching_scores(s.c, still, a, _shared_input_influence(s.c, still) if s.propagates else 1.0)
    best = score.argmax(axis=1)
    splits = score[np.arange(len(still)), best] > 0.0
    for i in np.flatnonzero(~splits & ~without).tolist():
        _decide_leaf(s, still.pick(slice(i, i + 1)))
    rows = np.flatnonzero(splits & ~without)
    if not len(rows):
        return
    parents, score = still.pick(rows), score[rows]
    if s.looks_ahead:
        each = max(1, _TRIAL_SIZE // (2 * _TRIED * s.c.problem.neurons))
        for start in range(0, len(rows), each):
            part = slice(start, start + each)
            _look_ahead(s, parents.pick(part), score[part], a.bound[rows[part]])
    elif 4 * len(rows) + len(s.stack) <= _FEW and ((score > 0.0).sum(axis=1) > 1).all():
        first, second = np.argsort(-score, axis=1, kind="stable")[:, :2].T
        halves = _split_both_phases(s, parents, first)
        s.stack.push(_split_both_phases(s, halves, np.tile(second, 2)))
    else:
        averaged = np.take_along_axis(a.before, best[:, None], axis=1)[:, 0]  # the point of the relaxation
        _split_domains(s, parents, best[rows], averaged[rows] >= 0.0)


def _log_neuron_splits(s: ReluSearch, nodes: Indices, neurons: Indices) -> Indices:
    """Numbers of the parts of these nodes, all where the neuron is off, then all where it is on."""
    numbers = s.log.number(2 * len(nodes))
    if s.log.wanted:
        each = zip(nodes.tolist(), neurons.tolist(), numbers[::2].tolist(), strict=True)
        for node, neuron, number in each:
            s.log.add(node, SplitEntry(neuron, -1, 0, number))
    return np.concatenate([numbers[::2], numbers[1::2]])


def _split_both_phases(s: ReluSearch, parents: ReluDomains, neurons: Indices) -> ReluDomains:
    """All parts where the neuron is off, then all where it is on."""
    both = join_batches([split_neurons(parents, neurons, phase) for phase in (-1, 1)])
    return replace(both, node=_log_neuron_splits(s, parents.node, neurons))


def _split_domains(s: ReluSearch, parents: ReluDomains, neurons: Indices, on_first: Mask) -> None:
    # What is pushed last is looked at first.
    children = _split_both_phases(s, parents, neurons)
    count = len(parents)
    later = np.arange(count) + np.where(on_first, 0, count)
    s.stack.push(children.pick(later))
    s.stack.push(children.pick((later + count) % (2 * count)))


def _look_ahead(s: ReluSearch, parents: ReluDomains, score: Array, bound: Array) -> None:
    """Try some neurons of each sub-domain, and split it at the one whose parts both gain most."""
    count, many = len(parents), min(_TRIED, score.shape[1])
    neurons = np.argpartition(-score, many - 1, axis=1)[:, :many]
    each = np.repeat(np.arange(count), many)
    some, chosen = parents.pick(each), neurons.reshape(-1)
    both = join_batches([split_neurons(some, chosen, phase) for phase in (-1, 1)])
    found = ascend_dual_bound(s.c, both, _TRIAL_STEPS)
    missing = np.tile(np.maximum(-bound, 1e-9)[each], 2)
    gain = np.full(len(both), _CLOSED)
    gain[found.open] = np.clip(1.0 + found.bound / missing[found.open], 0.0, 1.0)
    off, on = gain.reshape(2, count, many)
    worth = np.where(np.take_along_axis(score, neurons, axis=1) > 0.0, (off + 0.02) * (on + 0.02), -1.0)
    place = np.arange(count) * many + worth.argmax(axis=1)
    taken = np.concatenate([place, place + count * many])
    children = replace(
        both.pick(taken),
        theta=found.theta[taken],
        row_weights=found.row_weights[taken],
        node=_log_neuron_splits(s, parents.node, chosen[place]),
    )
    closed = found.closed[taken]
    s.nodes += int(closed.sum())
    of = Multipliers(children.theta, children.phase, children.lower, children.row_weights)
    s.log.add_multipliers(children.node, of, closed, closing=True)
    s.stack.push(children.pick(~closed))


def _decide_leaf(s: ReluSearch, domain: ReluDomains) -> None:
    solved = solve_leaf_program(s.c, domain)
    if solved is None:
        s.unresolved += 1
        return
    checked = ascend_dual_bound(s.c, solved.domain, steps=0)
    if checked.closed[0]:
        of = Multipliers(checked.theta, domain.phase, domain.lower, checked.row_weights)
        s.log.add_multipliers(domain.node, of, checked.closed, closing=True)
        return
    inside = solve_leaf_program(s.c, domain, keep_phases=True)
    points = [leaf.point for leaf in (inside, solved) if leaf is not None]
    if any(keep_first_solution(s, point[None], domain.low, domain.high) for point in points):
        return
    whole = s.c.problem.whole & (domain.low[0] < domain.high[0])
    if not whole.any():
        s.unresolved += 1
        return
    _split_input(s, domain, points[0], whole)


def _split_input(s: ReluSearch, domain: ReluDomains, point: Array, whole: Mask) -> None:
    """Divide a whole-valued input: the most fractional one, else the widest."""
    fraction = np.where(whole, np.abs(point - np.rint(point)), -1.0)
    width = np.where(whole, domain.high[0] - domain.low[0], -1.0)
    chosen = int(fraction.argmax() if fraction.max() > 1e-6 else width.argmax())
    value = float(np.clip(np.floor(point[chosen]), domain.low[0, chosen], domain.high[0, chosen] - 1.0))
    below, above = domain.high.copy(), domain.low.copy()
    below[0, chosen], above[0, chosen] = value, value + 1.0
    numbers, rounds, fresh = s.log.number(2), np.zeros(1, dtype=np.int64), np.full(1, -1)
    s.log.add(int(domain.node[0]), SplitEntry(-1, chosen, int(value), int(numbers[0])))
    s.stack.push(replace(domain, high=below, node=numbers[:1], rounds=rounds, fresh=fresh))
    s.stack.push(replace(domain, low=above, node=numbers[1:], rounds=rounds, fresh=fresh))


def clip_worthwhile_neurons(c: DualProblem, still: ReluDomains, a: DualAscent) -> ClippedBounds:
    """Bounds of undecided neurons of the first layer, where they gain enough.

    With one hidden layer only of those whose chord is in use; else the bounds of deeper ones rest on all.
    """
    s = c.slices[0]
    lower, upper = still.lower[:, s], still.upper[:, s]
    wanted = (still.phase[:, s] == 0) & (lower < 0.0) & (upper > 0.0)
    if len(c.slices) == 1:
        wanted &= a.after[:, s] < 0.0
    most = max(_LEAST_CLIPPED, _CLIP_WORK // len(c.problem.low)) * c.problem.copies
    wanted = select_largest(np.abs(a.after[:, s]) * relu_gap(lower, upper), wanted, most)
    clipped = clip_first_layer(c, still, wanted)
    place = (clipped.rows, clipped.neurons)
    lower, upper = lower[place], upper[place]
    least = _LEAST_CLIP * (upper - lower)
    rises, falls = clipped.lower > lower + least, clipped.upper < upper - least
    np.copyto(clipped.lower, -np.inf, where=~rises)
    np.copyto(clipped.upper, np.inf, where=~falls)
    return clipped.pick(rises | falls)


def branching_scores(c: DualProblem, domains: ReluDomains, a: DualAscent, weight: Array | float) -> Array:
    """What the relaxation of each neuron of each open sub-domain may cost; -1 where it is decided.

    The cost is the coefficient times the largest gap between chord and ReLU. Where the line below is in use
    it counts little: its slope is free to fit. What other rows might need counts as little.
    """
    gap = relu_gap(domains.lower, domains.upper)
    score = weight * gap * (np.maximum(-a.after, 0.001 * a.after) + 0.001 * c.chordal) + TINY
    found: Array = np.where(domains.phase == 0, score, -1.0)
    return found


def _shared_input_influence(c: DualProblem, domains: ReluDomains) -> Array:
    """How much a neuron of the first layer shares its inputs with undecided ones, the nearly decided most."""
    s = c.slices[0]
    lower, upper = domains.lower[:, s], domains.upper[:, s]
    undecided = (domains.phase[:, s] == 0) & (lower < 0.0) & (upper > 0.0)
    share = np.where(undecided, upper / np.where(undecided, upper - lower, 1.0), 0.0) ** 2
    size = np.abs(c.problem.first)
    found = np.ones_like(domains.lower)
    found[:, s] += (share @ size) @ size.T
    return found
