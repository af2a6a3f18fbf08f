"""Branch and bound over batches of sub-domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.dual.ascend import Ascent, Steps, ascend
from surefoot.solve.native.dual.bounds import tightened
from surefoot.solve.native.dual.branch import best_neurons, likely_phase
from surefoot.solve.native.dual.clip import clip_first_layer
from surefoot.solve.native.dual.contract import contract_by_fresh_splits, contracted, shrinkage
from surefoot.solve.native.dual.domains import Domains, Stack, joined, root, settle, split_neurons
from surefoot.solve.native.dual.kernel import Compiled, compiled
from surefoot.solve.native.dual.layered import Indices, Layered, Mask, evaluate
from surefoot.solve.native.dual.leaf import solve_leaf
from surefoot.solve.native.dual.log import Closed, Log, Shrunk, Split, dyadic, multipliers


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search. The same settings give the same search, unless `expired` cuts it short."""

    batch: int = 256
    steps: Steps = field(default_factory=Steps)
    most_open: int = 100_000  # sub-domains waiting, a bound of the memory
    most_nodes: int = 10**9
    again: float = 0.2  # a box that lost this share of some width is tried again before it is split
    most_rounds: int = 2
    log: bool = False
    expired: Callable[[], bool] = lambda: False
    progress: Callable[[int, int], None] = lambda nodes, waiting: None


@dataclass(frozen=True, slots=True, eq=False)
class Refuted:
    """No point satisfies all rows, in exact arithmetic."""

    log: Log
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A point that satisfies all rows in float64; to be checked exactly by whoever asked."""

    point: Array
    nodes: int


@dataclass(frozen=True, slots=True)
class GaveUp:
    open: int
    bound: float  # the least bound seen among the open sub-domains; they would be closed by a positive one
    why: str
    nodes: int


Answer = Refuted | Candidate | GaveUp


@dataclass(slots=True)
class _Search:
    """The running search."""

    c: Compiled
    settings: Settings
    log: Log
    stack: Stack
    nodes: int = 0
    unresolved: int = 0
    worst: float = np.inf
    found: Array | None = None


def refute(problem: Layered, settings: Settings | None = None) -> Answer:
    """Close every sub-domain, or find a point, or say why neither."""
    settings = settings or Settings()
    if settings.log:
        settings = replace(settings, steps=replace(settings.steps, dyadic=True))
    s = _Search(compiled(problem), settings, Log(settings.log), Stack())
    if not (np.isfinite(s.c.size.rows).all() and np.isfinite(s.c.size.neurons).all()):
        return GaveUp(1, -np.inf, "values of the network may leave the range of float64", 0)
    first = root(problem)
    if not tightened(s.c, first).any():
        theta = (first.upper > -first.lower).astype(np.float64)
        weights = dyadic(theta, first.phase, first.row_weights)[1]
        first = replace(first, theta=theta, row_weights=weights)
    s.stack.push(first)
    why = ""
    while s.stack.count and s.found is None and not why:
        _batch(s, s.stack.pop(settings.batch))
        settings.progress(s.nodes, s.stack.count)
        why = _limit(s)
    if s.found is not None:
        return Candidate(s.found, s.nodes)
    if s.stack.count:
        return GaveUp(s.stack.count + s.unresolved, s.worst, why, s.nodes)
    if s.unresolved:
        return GaveUp(s.unresolved, s.worst, "some sub-domains without undecided neurons are ties", s.nodes)
    return Refuted(s.log, s.nodes)


def _limit(s: _Search) -> str:
    if s.stack.count > s.settings.most_open:
        return f"more than {s.settings.most_open} sub-domains are waiting"
    if s.nodes > s.settings.most_nodes:
        return f"more than {s.settings.most_nodes} sub-domains were looked at"
    return "time is up" if s.settings.expired() else ""


def _batch(s: _Search, domains: Domains) -> None:
    """Bound, contract and split one batch."""
    s.nodes += int((domains.rounds == 0).sum())
    domains = _own(domains)
    low, high = domains.low.copy(), domains.high.copy()
    contract_by_fresh_splits(s.c, domains)
    if s.log.wanted:
        _log_boxes(s, domains, (domains.low != low).any(axis=1) | (domains.high != high).any(axis=1), None)
    empty = tightened(s.c, domains)
    if empty.any():
        for node in domains.node[empty] if s.log.wanted else ():
            s.log.add(Closed(int(node), None))
        domains = domains.take(~empty)
    if not len(domains):
        return
    settle(domains)
    a = ascend(s.c, domains, s.settings.steps)
    if s.log.wanted:
        for i in np.flatnonzero(a.closed):
            found = multipliers(a.theta[i], domains.phase[i], a.row_weights[i])
            s.log.add(Closed(int(domains.node[i]), found))
    if not len(a.open):
        return
    s.worst = min(s.worst, float(a.bound.min()))
    if not _try(s, a.points, domains.low[a.open], domains.high[a.open]) and not _try(
        s, a.last, domains.low[a.open], domains.high[a.open]
    ):
        _proceed(s, domains, a)


def _own(domains: Domains) -> Domains:
    """Copies of the arrays that are changed in place."""
    return replace(
        domains,
        low=domains.low.copy(),
        high=domains.high.copy(),
        lower=domains.lower.copy(),
        upper=domains.upper.copy(),
        phase=domains.phase.copy(),
        theta=domains.theta.copy(),
    )


def _try(s: _Search, points: Array, low: Array, high: Array) -> bool:
    """Keep the first of these points that satisfies all rows."""
    problem = s.c.problem
    points = np.where(problem.whole, np.rint(points), points)
    points = np.minimum(np.maximum(points, low), high)
    good = (evaluate(problem, points) @ problem.rows.T <= problem.offsets).all(axis=1)
    for i in np.flatnonzero(good):
        # Once more alone: another order of summation may decide a tie otherwise.
        if (evaluate(problem, points[i : i + 1]) @ problem.rows.T <= problem.offsets).all():
            s.found = points[i]
            return True
    return False


def _proceed(s: _Search, domains: Domains, a: Ascent) -> None:
    """Contract the open sub-domains; look at some again, split the others."""
    still = replace(domains, theta=a.theta, row_weights=a.row_weights).take(a.open)
    low, high = contracted(still.low, still.high, a.slopes, a.room, s.c.problem.whole)
    gain = shrinkage(still, low, high)
    limit = a.room + np.einsum("ij,ij->i", a.slopes, a.last)
    still = replace(still, low=low, high=high, cut=a.slopes, limit=limit)
    if s.log.wanted:
        _log_boxes(s, still, np.ones(len(still), dtype=np.bool_), a)
    clip_first_layer(s.c, still)
    settle(still)
    empty = (low > high).any(axis=1)
    for node in still.node[empty] if s.log.wanted else ():
        s.log.add(Closed(int(node), None))
    again = (gain > s.settings.again) & (still.rounds < s.settings.most_rounds) & ~empty
    neurons = best_neurons(still, a)
    for i in np.flatnonzero((neurons < 0) & ~again & ~empty):
        _leaf(s, still.part(int(i), int(i) + 1))
    split = (neurons >= 0) & ~again & ~empty
    if split.any():
        _split(s, still.take(split), neurons[split], likely_phase(a, neurons)[split] > 0)
    if again.any():
        more = still.take(again)
        s.stack.push(replace(more, rounds=more.rounds + 1, fresh=np.full(len(more), -1)))


def _split(s: _Search, parents: Domains, neurons: Indices, on_first: Mask) -> None:
    off, on = split_neurons(parents, neurons, -1), split_neurons(parents, neurons, 1)
    numbers = s.log.number(2 * len(parents))
    off, on = replace(off, node=numbers[::2]), replace(on, node=numbers[1::2])
    if s.log.wanted:
        for parent, neuron, number in zip(parents.node, neurons, numbers[::2], strict=True):
            s.log.add(Split(int(parent), int(neuron), -1, 0.0, int(number), int(number) + 1))
    # What is pushed last is looked at first.
    children = joined([off, on])
    count = len(parents)
    later = np.arange(count) + np.where(on_first, 0, count)
    s.stack.push(children.take(later))
    s.stack.push(children.take((later + count) % (2 * count)))


def _leaf(s: _Search, domain: Domains) -> None:
    solved = solve_leaf(s.c, domain)
    if solved is None:
        s.unresolved += 1
        return
    checked = ascend(s.c, solved.domain, replace(s.settings.steps, count=0))
    if checked.closed[0]:
        found = multipliers(checked.theta[0], domain.phase[0], checked.row_weights[0])
        s.log.add(Closed(int(domain.node[0]), found))
        return
    inside = solve_leaf(s.c, domain, keep_phases=True)
    points = [leaf.point for leaf in (inside, solved) if leaf is not None]
    if any(_try(s, point[None], domain.low, domain.high) for point in points):
        return
    whole = s.c.problem.whole & (domain.low[0] < domain.high[0])
    if not whole.any():
        s.unresolved += 1
        return
    _split_input(s, domain, points[0], whole)


def _split_input(s: _Search, domain: Domains, point: Array, whole: Mask) -> None:
    """Divide a whole-valued input: the most fractional one, else the widest."""
    fraction = np.where(whole, np.abs(point - np.rint(point)), -1.0)
    width = np.where(whole, domain.high[0] - domain.low[0], -1.0)
    chosen = int(fraction.argmax() if fraction.max() > 1e-6 else width.argmax())
    value = float(np.clip(np.floor(point[chosen]), domain.low[0, chosen], domain.high[0, chosen] - 1.0))
    below, above = domain.high.copy(), domain.low.copy()
    below[0, chosen], above[0, chosen] = value, value + 1.0
    numbers = s.log.number(2)
    fresh, rounds = np.full(1, -1), np.zeros(1, dtype=np.int64)
    s.log.add(Split(int(domain.node[0]), -1, chosen, value, int(numbers[0]), int(numbers[1])))
    s.stack.push(replace(domain, high=below, node=numbers[:1], fresh=fresh, rounds=rounds))
    s.stack.push(replace(domain, low=above, node=numbers[1:], fresh=fresh, rounds=rounds))


def _log_boxes(s: _Search, domains: Domains, changed: Mask, a: Ascent | None) -> None:
    for i in np.flatnonzero(changed):
        cut = None if a is None else multipliers(domains.theta[i], domains.phase[i], domains.row_weights[i])
        s.log.add(Shrunk(int(domains.node[i]), domains.low[i], domains.high[i], cut))
