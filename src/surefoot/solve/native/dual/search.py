"""Branch and bound over batches of sub-domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from surefoot.network.outward import Array
from surefoot.solve.native.dual.attack import descend, starts
from surefoot.solve.native.dual.bounding.ascend import Ascent, Steps, ascend
from surefoot.solve.native.dual.bounding.bounds import (
    apply,
    by_intervals,
    contract_by_fresh_splits,
    contracted,
    shrinkage,
    tighten_deep,
)
from surefoot.solve.native.dual.bounding.domains import Domains, Stack, joined, root, settle, split_neurons
from surefoot.solve.native.dual.bounding.kernel import MULTIPLIER_GRID, Compiled, compiled
from surefoot.solve.native.dual.bounding.program import solve
from surefoot.solve.native.dual.bounding.propagate import influence, propagated
from surefoot.solve.native.dual.branch import best_neurons, likely_on, worthwhile
from surefoot.solve.native.dual.layered import Indices, Layered, Mask, evaluate
from surefoot.solve.native.dual.log import Dual, Empty, Log, Multipliers, Narrowed, Split

MOST_NODES = 10**9
_TRIAL, _PAYS, _FEW_ROWS = 16, 1.0, 8  # boxes of a trial, what it must gain, rows that are tried
_PROMISING = 16  # times as many sub-domains may be looked at if single rows gain much
_ATTACKS, _TURNS = 16, 12  # points of an attack of each kind, and steps downhill


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search. The same settings give the same search, unless `expired` cuts it short."""

    batch: int = 256
    steps: Steps = field(default_factory=Steps)
    most_open: int = 100_000  # sub-domains waiting, a bound of the memory
    again: float = 0.2  # a box that lost this share of some width is tried again before it is split
    most_rounds: int = 2
    log: bool = False
    seed: int = 0  # of the attack
    expired: Callable[[], bool] = lambda: False
    progress: Callable[[int, int, float], None] = lambda nodes, waiting, bound: None
    accepts: Callable[[Array], bool] = lambda point: True  # whether a point really is a solution


@dataclass(frozen=True, slots=True, eq=False)
class Refuted:
    """No point satisfies all rows, in exact arithmetic."""

    compiled: Compiled
    log: Log
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A point that satisfies all rows in float64; to be checked exactly by whoever asked."""

    point: Array
    nodes: int


class Limit(Enum):
    """What ended a search before its end."""

    TIME = "time is up"
    OPEN = "too many sub-domains are waiting"
    NODES = "too many sub-domains were looked at"
    TIES = "some sub-domains without undecided neurons are ties"
    RANGE = "values of the network may leave the range of float64"


@dataclass(frozen=True, slots=True)
class GaveUp:
    open: int
    bound: float  # the least bound seen among the open sub-domains; they would be closed by a positive one
    why: Limit
    nodes: int


Answer = Refuted | Candidate | GaveUp


@dataclass(slots=True)
class Search:
    """The running search."""

    c: Compiled
    settings: Settings
    log: Log
    stack: Stack
    random: np.random.Generator
    nodes: int = 0
    batches: int = 0
    next_attack: int = 1
    propagates: bool = False  # whether boxes are shrunk by every row before anything else
    next_trial: int = 15
    unresolved: int = 0
    worst: float = np.inf
    found: Array | None = None


def refute(problem: Layered, settings: Settings | None = None, most_nodes: int = MOST_NODES) -> Answer:
    """Close every sub-domain, or find a point, or say why neither."""
    return resumed(started(problem, settings or Settings()), most_nodes)


def needed(problem: Layered, steps: Steps) -> Mask:
    """Which rows do not hold in the whole box anyway, as far as bounds tell; one at least."""
    count = len(problem.offsets)
    opposite = replace(
        problem, rows=-problem.rows, direct=-problem.direct, offsets=np.negative(problem.offsets)
    )
    c, first = compiled(opposite), root(opposite)
    by_intervals(c, first)
    theta = (first.upper > -first.lower).astype(np.float64)
    tighten_deep(c, first, first.phase == 0)
    each = replace(first, theta=theta).take(np.zeros(count, dtype=np.int64))
    each = replace(each, row_weights=np.eye(count))
    left = ~ascend(c, each, steps, fixed_rows=True).closed
    if not left.any():
        left[0] = True
    return left


def started(problem: Layered, settings: Settings) -> Search:
    """A search that has not looked at anything yet."""
    random = np.random.default_rng(settings.seed)
    s = Search(compiled(problem), settings, Log(settings.log, problem.neurons), Stack(), random)
    first = root(problem)
    by_intervals(s.c, first)
    theta = (first.upper > -first.lower).astype(np.float64)
    weights = np.rint(first.row_weights * MULTIPLIER_GRID) / MULTIPLIER_GRID
    s.stack.push(replace(first, theta=theta, row_weights=weights))
    return s


def resumed(s: Search, most_nodes: int = MOST_NODES) -> Answer:
    """Go on until the end or a limit; after a limit this can be called again with a higher one."""
    if not (np.isfinite(s.c.size.rows).all() and np.isfinite(s.c.size.neurons).all()):
        return GaveUp(1, -np.inf, Limit.RANGE, 0)
    why: Limit | None = None
    while s.stack.count and s.found is None and why is None:
        _batch(s, s.stack.pop(s.settings.batch))
        s.settings.progress(s.nodes, s.stack.count, s.worst)
        why = _limit(s, most_nodes)
    if s.found is not None:
        return Candidate(s.found, s.nodes)
    if s.stack.count and why is not None:
        return GaveUp(s.stack.count + s.unresolved, s.worst, why, s.nodes)
    if s.unresolved:
        return GaveUp(s.unresolved, s.worst, Limit.TIES, s.nodes)
    return Refuted(s.c, s.log, s.nodes)


def _limit(s: Search, most_nodes: int) -> Limit | None:
    if s.stack.count > s.settings.most_open:
        return Limit.OPEN
    if s.nodes > (_PROMISING if s.propagates else 1) * most_nodes:
        return Limit.NODES
    return Limit.TIME if s.settings.expired() else None


def _batch(s: Search, domains: Domains) -> None:
    """Bound, contract and split one batch."""
    s.nodes += int((domains.rounds == 0).sum())
    domains = _own(domains)
    if s.propagates:
        domains = propagated(s.c, domains, s.log)[0]
    elif (gained := contract_by_fresh_splits(s.c, domains)).any():
        _narrow(s, domains, gained)
    if len(s.c.slices) > 1:
        for clipped in tighten_deep(s.c, domains, domains.bent & (domains.phase == 0)):
            s.log.add_bounds(domains.node, clipped)
    domains = _without_empty(s, domains)
    if not len(domains):
        return
    settle(domains)
    still, a = _bounded(s, domains)
    if not len(still):
        return
    if s.nodes >= s.next_trial:
        _trial(s, still)
    s.worst = min(s.worst, float(a.bound.min()))
    if not (
        _try(s, a.points, still.low, still.high) or _try(s, a.last, still.low, still.high) or _attack(s, a)
    ):
        if s.propagates:
            _branched(s, still, a, np.zeros(len(still), dtype=np.bool_))
        else:
            _proceed(s, still, a)


def _trial(s: Search, still: Domains) -> None:
    """Whether single rows shrink the boxes by much more than the combination of all: then they are used."""
    s.next_trial = 2 * s.nodes
    if 1 < len(s.c.problem.offsets) <= _FEW_ROWS and not s.propagates:
        some = still.part(0, min(len(still), _TRIAL))
        s.propagates = bool(propagated(s.c, some, Log(False))[1].mean() > _PAYS)


def _bounded(s: Search, domains: Domains) -> tuple[Domains, Ascent]:
    """The sub-domains that an ascent leaves open, and where it ended."""
    a = ascend(s.c, domains, s.settings.steps)
    if s.log.wanted and a.closed.any():
        of = Multipliers(a.theta, domains.phase, domains.lower, a.row_weights)
        for i in np.flatnonzero(a.closed).tolist():
            s.log.add(int(domains.node[i]), Dual(of, i, closing=True))
    still = replace(domains, theta=a.theta, row_weights=a.row_weights).take(a.open)
    return replace(still, bent=a.after < 0.0), a


def _narrow(s: Search, domains: Domains, gained: Mask) -> None:
    """Intervals, in place, for boxes that became smaller."""
    part = domains.take(gained)
    by_intervals(s.c, part)
    domains.lower[gained], domains.upper[gained] = part.lower, part.upper
    phases = np.take_along_axis(part.phase, part.fresh[:, None], axis=1)[:, 0]
    for node, neuron, phase in zip(part.node.tolist(), part.fresh.tolist(), phases.tolist(), strict=True):
        s.log.add(node, Narrowed(neuron, phase))


def _own(domains: Domains) -> Domains:
    """Copies of the arrays that are changed in place."""
    return replace(
        domains,
        low=domains.low.copy(),
        high=domains.high.copy(),
        cut=domains.cut.copy(),
        limit=domains.limit.copy(),
        lower=domains.lower.copy(),
        upper=domains.upper.copy(),
        phase=domains.phase.copy(),
        theta=domains.theta.copy(),
    )


def _without_empty(s: Search, domains: Domains) -> Domains:
    empty = _empty(domains)
    if not empty.any():
        return domains
    for node in domains.node[empty].tolist():
        s.log.add(node, Empty())
    return domains.take(~empty)


def _empty(domains: Domains) -> Mask:
    gone: Mask = np.asarray((domains.low > domains.high).any(axis=1))
    return gone | np.asarray((domains.lower > domains.upper).any(axis=1))


def _try(s: Search, points: Array, low: Array, high: Array) -> bool:
    """Keep the first of these points that satisfies all rows."""
    problem = s.c.problem
    points = np.where(problem.whole, np.rint(points), points)
    points = np.minimum(np.maximum(points, low), high)
    good = (evaluate(problem, points)[0] <= 0.0).all(axis=1)
    for i in np.flatnonzero(good).tolist():
        # Once more alone: another order of summation may decide a tie otherwise.
        if (evaluate(problem, points[i : i + 1])[0] <= 0.0).all() and s.settings.accepts(points[i]):
            s.found = points[i]
            return True
    return False


def _attack(s: Search, a: Ascent) -> bool:
    """Now and then, ever more rarely: go downhill from what the relaxation likes, and from anywhere."""
    s.batches += 1
    if s.batches < s.next_attack:
        return False
    s.next_attack = 4 * s.batches
    problem = s.c.problem
    points = np.concatenate([a.points[:_ATTACKS], starts(problem, s.random, _ATTACKS)])
    points, worst = descend(problem, points, s.random, _TURNS)
    best = int(worst.argmin())
    return bool(worst[best] <= 0.0) and _try(s, points[best : best + 1], problem.low, problem.high)


def _proceed(s: Search, still: Domains, a: Ascent) -> None:
    """Contract the open sub-domains; look at some again, split the others."""
    if s.log.wanted:
        of = Multipliers(still.theta, still.phase.copy(), still.lower.copy(), still.row_weights)
        for i, node in enumerate(still.node.tolist()):
            s.log.add(node, Dual(of, i, closing=False))
    low, high = contracted(still.low, still.high, a.slopes, a.room, s.c.problem.whole)
    gain = shrinkage(still, low, high)
    limit = a.room + np.einsum("ij,ij->i", a.slopes, a.last)
    still = replace(still, low=low, high=high, cut=a.slopes, limit=limit)
    clipped = worthwhile(s.c, still, a)
    apply(still, clipped)
    s.log.add_bounds(still.node, clipped)
    empty = _empty(still)
    for node in still.node[empty].tolist():
        s.log.add(node, Empty())
    settle(still)
    again = (gain > s.settings.again) & (still.rounds < s.settings.most_rounds) & ~empty
    if again.any():
        more = still.take(again)
        s.stack.push(replace(more, rounds=more.rounds + 1, fresh=np.full(len(more), -1)))
    _branched(s, still, a, again | empty)


def _branched(s: Search, still: Domains, a: Ascent, without: Mask) -> None:
    """Split sub-domains, or solve them where nothing is left to split."""
    neurons = best_neurons(s.c, still, a, influence(s.c, still) if s.propagates else 1.0)
    for i in np.flatnonzero((neurons < 0) & ~without).tolist():
        _leaf(s, still.part(i, i + 1))
    split = (neurons >= 0) & ~without
    if split.any():
        _split(s, still.take(split), neurons[split], likely_on(a, neurons)[split])


def _split(s: Search, parents: Domains, neurons: Indices, on_first: Mask) -> None:
    off, on = split_neurons(parents, neurons, -1), split_neurons(parents, neurons, 1)
    numbers = s.log.number(2 * len(parents))
    off, on = replace(off, node=numbers[::2]), replace(on, node=numbers[1::2])
    if s.log.wanted:
        each = zip(parents.node.tolist(), neurons.tolist(), numbers[::2].tolist(), strict=True)
        for parent, neuron, number in each:
            s.log.add(parent, Split(neuron, -1, 0, number))
    # What is pushed last is looked at first.
    children = joined([off, on])
    count = len(parents)
    later = np.arange(count) + np.where(on_first, 0, count)
    s.stack.push(children.take(later))
    s.stack.push(children.take((later + count) % (2 * count)))


def _leaf(s: Search, domain: Domains) -> None:
    solved = solve(s.c, domain)
    if solved is None:
        s.unresolved += 1
        return
    checked = ascend(s.c, solved.domain, replace(s.settings.steps, count=0))
    if checked.closed[0]:
        of = Multipliers(checked.theta, domain.phase, domain.lower, checked.row_weights)
        s.log.add(int(domain.node[0]), Dual(of, 0, closing=True))
        return
    inside = solve(s.c, domain, keep_phases=True)
    points = [leaf.point for leaf in (inside, solved) if leaf is not None]
    if any(_try(s, point[None], domain.low, domain.high) for point in points):
        return
    whole = s.c.problem.whole & (domain.low[0] < domain.high[0])
    if not whole.any():
        s.unresolved += 1
        return
    _split_input(s, domain, points[0], whole)


def _split_input(s: Search, domain: Domains, point: Array, whole: Mask) -> None:
    """Divide a whole-valued input: the most fractional one, else the widest."""
    fraction = np.where(whole, np.abs(point - np.rint(point)), -1.0)
    width = np.where(whole, domain.high[0] - domain.low[0], -1.0)
    chosen = int(fraction.argmax() if fraction.max() > 1e-6 else width.argmax())
    value = float(np.clip(np.floor(point[chosen]), domain.low[0, chosen], domain.high[0, chosen] - 1.0))
    below, above = domain.high.copy(), domain.low.copy()
    below[0, chosen], above[0, chosen] = value, value + 1.0
    numbers, rounds, fresh = s.log.number(2), np.zeros(1, dtype=np.int64), np.full(1, -1)
    s.log.add(int(domain.node[0]), Split(-1, chosen, int(value), int(numbers[0])))
    s.stack.push(replace(domain, high=below, node=numbers[:1], rounds=rounds, fresh=fresh))
    s.stack.push(replace(domain, low=above, node=numbers[1:], rounds=rounds, fresh=fresh))
