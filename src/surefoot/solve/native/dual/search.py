"""Branch and bound over batches of sub-domains.

If a search does not end soon it begins once more, looking ahead (divide): how long it takes depends on a few
choices near the root, and varies by orders of magnitude.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
from surefoot.solve.native.dual.bounding.domains import Domains, Stack, root, settle
from surefoot.solve.native.dual.bounding.kernel import MULTIPLIER_GRID, compiled
from surefoot.solve.native.dual.bounding.propagate import propagated
from surefoot.solve.native.dual.branch import worthwhile
from surefoot.solve.native.dual.divide import branched
from surefoot.solve.native.dual.layered import Layered, Mask, evaluate
from surefoot.solve.native.dual.log import Dual, Empty, Log, Multipliers, Narrowed
from surefoot.solve.native.dual.state import (
    Answer,
    Candidate,
    GaveUp,
    Limit,
    Refuted,
    Search,
    Settings,
    tried,
)

MOST_NODES = 10**9
_TRIAL, _LEAST, _PAYS, _FEW_ROWS = 16, 8, 3.0, 8  # most and least boxes of a trial, what it must gain, rows
_PROMISING = 16  # times as many sub-domains may be looked at if single rows gain much
_ATTACKS, _TURNS, _FIRST_TURNS = 16, 12, 8  # points of an attack of each kind, steps downhill, of the first
_SAMPLES = 8


def refute(problem: Layered, settings: Settings | None = None, most_nodes: int = MOST_NODES) -> Answer:
    """Close every sub-domain, or find a point, or say why neither."""
    return resumed(started(problem, settings or Settings()), most_nodes)


def all_violated(problem: Layered, seed: int) -> bool:
    """Whether a few points violate every row: then none holds in the whole box."""
    points = starts(problem, np.random.default_rng(seed), _SAMPLES)
    return bool((evaluate(problem, points)[0] > 0.0).any(axis=0).all())


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
    _begin(s)
    return s


def _begin(s: Search) -> None:
    """Put the whole box on an empty stack."""
    problem = s.c.problem
    s.log, s.stack = Log(s.settings.log, problem.neurons), Stack()
    first = root(problem)
    by_intervals(s.c, first)
    theta = (first.upper > -first.lower).astype(np.float64)
    weights = np.rint(first.row_weights * MULTIPLIER_GRID) / MULTIPLIER_GRID
    s.stack.push(replace(first, theta=theta, row_weights=weights))


def resumed(s: Search, most_nodes: int = MOST_NODES) -> Answer:
    """Go on until the end or a limit; after a limit this can be called again with a higher one."""
    if not (np.isfinite(s.c.size.rows).all() and np.isfinite(s.c.size.neurons).all()):
        return GaveUp(1, -np.inf, Limit.RANGE, 0)
    why: Limit | None = None
    while s.stack.count and s.found is None and why is None:
        if s.nodes > s.settings.patience[len(s.c.slices) > 1] and not (s.looks_ahead or s.propagates):
            s.looks_ahead, s.unresolved, s.worst = True, 0, np.inf
            _begin(s)
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
    likely = np.concatenate([a.points, a.last])
    low, high = np.concatenate([still.low, still.low]), np.concatenate([still.high, still.high])
    if not (tried(s, likely, low, high) or _attack(s, a)):
        if s.propagates:
            branched(s, still, a, np.zeros(len(still), dtype=np.bool_))
        else:
            _proceed(s, still, a)


def _trial(s: Search, still: Domains) -> None:
    """Whether single rows shrink the boxes by much more than the combination of all: then they are used."""
    s.next_trial = 2 * s.nodes
    if 1 < len(s.c.problem.offsets) <= _FEW_ROWS and len(still) >= _LEAST and not s.propagates:
        some = still.part(0, min(len(still), _TRIAL))
        s.propagates = bool(np.median(propagated(s.c, some, Log(False))[1]) > _PAYS)


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


def _attack(s: Search, a: Ascent) -> bool:
    """Now and then, ever more rarely: go downhill from what the relaxation likes, and from anywhere."""
    s.batches += 1
    if s.batches < s.next_attack:
        return False
    s.next_attack = 4 * s.batches
    problem = s.c.problem
    points = np.concatenate([a.points[:_ATTACKS], starts(problem, s.random, _ATTACKS)])
    points, worst = descend(problem, points, s.random, _TURNS if s.batches > 1 else _FIRST_TURNS)
    best = int(worst.argmin())
    return bool(worst[best] <= 0.0) and tried(s, points[best : best + 1], problem.low, problem.high)


def _proceed(s: Search, still: Domains, a: Ascent) -> None:
    """Contract the open sub-domains; look at some again, split the others."""
    if s.log.wanted:
        # Copies: neurons that bounds decide below lose their slopes, which the cut was made with.
        of = Multipliers(still.theta.copy(), still.phase.copy(), still.lower.copy(), still.row_weights)
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
    branched(s, still, a, again | empty)
