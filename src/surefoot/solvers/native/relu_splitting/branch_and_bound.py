"""Branch and bound over the phases of ReLUs, on batches of sub-domains.

If a search does not end soon it begins once more, looking ahead (domain_splitting): how long it takes depends
on a few choices near the root, and varies by orders of magnitude. Where rows are clauses, every row by itself
shrinks the boxes first, again and again, which is unit propagation: the row of a clause whose literals are
false but one says what the last one must be. A combination of all rows, as the dual bound has it, hides that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.network.batches import BatchStack
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    Mask,
    ReluDomains,
    descend_chain_violation,
    evaluate_chain_rows,
    fix_stable_phases,
    root_relu_domain,
    sample_chain_starts,
)
from surefoot.solvers.native.relu_splitting.domain_splitting import (
    branch_relu_domains,
    clip_worthwhile_neurons,
)
from surefoot.solvers.native.relu_splitting.dual_bound import (
    MULTIPLIER_GRID,
    DualAscent,
    DualProblem,
    ascend_dual_bound,
    dual_backward_pass,
    dual_rounding_error,
    prepare_dual_problem,
    relax_relu_domains,
)
from surefoot.solvers.native.relu_splitting.neuron_bounds import (
    contract_by_fresh_splits,
    contract_by_inequality,
    intersect_neuron_bounds,
    largest_shrinkage,
    neurons_worth_bounding,
    tighten_by_intervals,
    tighten_deep_neurons,
)
from surefoot.solvers.native.relu_splitting.search_state import (
    CandidatePoint,
    ChainRefutation,
    ReluSearch,
    ReluSearchAnswer,
    ReluSearchSettings,
    SearchGaveUp,
    SearchLimit,
    keep_first_solution,
)
from surefoot.solvers.native.relu_splitting.splitting_log import (
    EmptyEntry,
    IntervalsEntry,
    Multipliers,
    NarrowedEntry,
    SplittingLog,
)

MOST_NODES = 10**9
_CHANGED = ("low", "high", "cut", "limit", "lower", "upper", "phase", "theta")  # in place
_TRIAL, _LEAST, _PAYS, _FEW_ROWS = 16, 8, 3.0, 8  # most and least boxes of a trial, what it must gain, rows
_PROMISING = 16  # times as many sub-domains may be looked at if single rows gain much
_ATTACKS, _TURNS, _FIRST_TURNS = 16, 12, 8  # points of an attack of each kind, steps downhill, of the first
_SAMPLES = 8
_AGAIN, _MOST_ROUNDS = 0.2, 2  # a box that lost this share of some width is tried again before it is split
_ROUNDS = 8
_GOES_ON = 0.5  # logarithm of a share of the volume of a box: less is not worth another round
_NEARLY = 0.01
_MOST = 20.0  # what one input counts at most


def refute_chain_problem(
    problem: ChainProblem, settings: ReluSearchSettings | None = None, most_nodes: int = MOST_NODES
) -> ReluSearchAnswer:
    """Close every sub-domain, or find a point, or say why neither."""
    return resume_relu_search(start_relu_search(problem, settings or ReluSearchSettings()), most_nodes)


def all_rows_violated(problem: ChainProblem, seed: int) -> bool:
    """Whether a few points violate every row: then none holds in the whole box."""
    points = sample_chain_starts(problem, np.random.default_rng(seed), _SAMPLES)
    return bool((evaluate_chain_rows(problem, points)[0] > 0.0).any(axis=0).all())


def needed_rows(problem: ChainProblem, steps: int, known: ReluDomains | None = None) -> Mask:
    """Which rows do not hold in the whole box anyway, as far as bounds tell; one at least.

    `known`: bounds in a box that contains what is asked about.
    """
    count = len(problem.offsets)
    opposite = replace(
        problem, rows=-problem.rows, direct=-problem.direct, offsets=np.negative(problem.offsets)
    )
    c = prepare_dual_problem(opposite)
    first = known
    if first is None:
        first = bound_root_domain(c)
        tighten_deep_neurons(c, first, first.phase == 0)
    each = replace(first.pick(np.zeros(count, dtype=np.int64)), row_weights=np.eye(count))
    left = ~ascend_dual_bound(c, each, steps, fixed_rows=True).closed
    if not left.any():
        left[0] = True
    return left


def start_relu_search(
    problem: ChainProblem, settings: ReluSearchSettings, known: ReluDomains | None = None
) -> ReluSearch:
    """A search that has not looked at anything yet; `known`: bounds that are shown already."""
    s = ReluSearch(prepare_dual_problem(problem), settings, np.random.default_rng(settings.seed), known=known)
    _push_root(s)
    return s


def _push_root(s: ReluSearch) -> None:
    """Put the whole box on an empty stack."""
    s.log, s.stack = SplittingLog(s.settings.log, s.c.problem.neurons), BatchStack()
    first = bound_root_domain(s.c) if s.known is None else s.known
    weights = np.rint(first.row_weights * MULTIPLIER_GRID) / MULTIPLIER_GRID
    s.stack.push(replace(first, row_weights=weights))


def bound_root_domain(c: DualProblem) -> ReluDomains:
    """The whole box with bounds by intervals; slopes are 1 below neurons that are more on than off."""
    first = root_relu_domain(c.problem)
    tighten_by_intervals(c, first)
    return replace(first, theta=(first.upper > -first.lower).astype(np.float64))


def resume_relu_search(s: ReluSearch, most_nodes: int = MOST_NODES) -> ReluSearchAnswer:
    """Go on until the end or a limit; after a limit this can be called again with a higher one."""
    if not (np.isfinite(s.c.size.rows).all() and np.isfinite(s.c.size.neurons).all()):
        return SearchGaveUp(1, SearchLimit.RANGE, 0)
    why: SearchLimit | None = None
    while len(s.stack) and s.found is None and why is None:
        if s.nodes > s.settings.patience[len(s.c.slices) > 1] and not (s.looks_ahead or s.propagates):
            s.looks_ahead, s.unresolved = True, 0
            _push_root(s)
        _process_batch(s, s.stack.pop(s.settings.batch))
        why = _exceeded_limit(s, most_nodes)
    if s.found is not None:
        return CandidatePoint(s.found, s.nodes)
    if len(s.stack) and why is not None:
        return SearchGaveUp(len(s.stack) + s.unresolved, why, s.nodes)
    if s.unresolved:
        return SearchGaveUp(s.unresolved, SearchLimit.TIES, s.nodes)
    return ChainRefutation(s.c, s.log, s.nodes)


def _exceeded_limit(s: ReluSearch, most_nodes: int) -> SearchLimit | None:
    if len(s.stack) > s.settings.most_open:
        return SearchLimit.OPEN
    if s.nodes > (_PROMISING if s.propagates else 1) * most_nodes:
        return SearchLimit.NODES
    return SearchLimit.TIME if s.settings.expired() else None


def _process_batch(s: ReluSearch, domains: ReluDomains) -> None:
    """Bound, contract and split one batch."""
    s.nodes += int((domains.rounds == 0).sum())
    domains = _copy_arrays(domains)
    if s.propagates:
        domains = propagate_single_rows(s.c, domains, s.log)[0]
    elif (gained := contract_by_fresh_splits(s.c, domains)).any():
        _tighten_contracted(s, domains, gained)
    if len(s.c.slices) > 1:
        for clipped in tighten_deep_neurons(s.c, domains, neurons_worth_bounding(s.c, domains)):
            s.log.add_bounds(domains.node, clipped)
    empty = _log_empty_domains(s, domains)
    if empty.all():
        return
    if empty.any():
        domains = domains.pick(~empty)
    fix_stable_phases(domains)
    still, a = _ascend_batch(s, domains)
    if not len(still):
        return
    if s.nodes >= s.next_trial:
        _try_propagation(s, still)
    likely = np.concatenate([a.points, a.last])
    low, high = np.concatenate([still.low, still.low]), np.concatenate([still.high, still.high])
    if not (keep_first_solution(s, likely, low, high) or _attack_periodically(s, a)):
        if s.propagates:
            branch_relu_domains(s, still, a, np.zeros(len(still), dtype=np.bool_))
        else:
            _contract_and_branch(s, still, a)


def _try_propagation(s: ReluSearch, still: ReluDomains) -> None:
    """Whether single rows shrink the boxes by much more than the combination of all: then they are used."""
    s.next_trial = 2 * s.nodes
    if 1 < len(s.c.problem.offsets) <= _FEW_ROWS and len(still) >= _LEAST and not s.propagates:
        some = still.pick(slice(0, _TRIAL))
        s.propagates = bool(np.median(propagate_single_rows(s.c, some, SplittingLog(False))[1]) > _PAYS)


def _ascend_batch(s: ReluSearch, domains: ReluDomains) -> tuple[ReluDomains, DualAscent]:
    """The sub-domains that an ascent leaves open, and where it ended."""
    a = ascend_dual_bound(s.c, domains, s.settings.steps)
    of = Multipliers(a.theta, domains.phase, domains.lower, a.row_weights)
    s.log.add_multipliers(domains.node, of, a.closed, closing=True)
    still = replace(domains, theta=a.theta, row_weights=a.row_weights).pick(a.open)
    return replace(still, bent=np.maximum(-a.after, 0.0)), a


def _tighten_contracted(s: ReluSearch, domains: ReluDomains, gained: Mask) -> None:
    """Intervals, in place, for boxes that became smaller."""
    part = domains.pick(gained)
    tighten_by_intervals(s.c, part)
    domains.lower[gained], domains.upper[gained] = part.lower, part.upper
    phases = np.take_along_axis(part.phase, part.fresh[:, None], axis=1)[:, 0]
    for node, neuron, phase in zip(part.node.tolist(), part.fresh.tolist(), phases.tolist(), strict=True):
        s.log.add(node, NarrowedEntry(neuron, phase))


def _copy_arrays(domains: ReluDomains) -> ReluDomains:
    """Copies of the arrays that are changed in place."""
    return replace(domains, **{name: getattr(domains, name).copy() for name in _CHANGED})


def _log_empty_domains(s: ReluSearch, domains: ReluDomains) -> Mask:
    """Which sub-domains have bounds that contradict each other; these are closed."""
    empty: Mask = np.asarray((domains.low > domains.high).any(axis=1))
    empty |= np.asarray((domains.lower > domains.upper).any(axis=1))
    for node in domains.node[empty].tolist():
        s.log.add(node, EmptyEntry())
    return empty


def _attack_periodically(s: ReluSearch, a: DualAscent) -> bool:
    """Now and then, ever more rarely: go downhill from what the relaxation likes, and from anywhere."""
    s.batches += 1
    if s.batches < s.next_attack:
        return False
    s.next_attack = 4 * s.batches
    problem = s.c.problem
    points = np.concatenate([a.points[:_ATTACKS], sample_chain_starts(problem, s.random, _ATTACKS)])
    points, worst = descend_chain_violation(
        problem, points, s.random, _TURNS if s.batches > 1 else _FIRST_TURNS
    )
    best = int(worst.argmin())
    return bool(worst[best] <= 0.0) and keep_first_solution(
        s, points[best : best + 1], problem.low, problem.high
    )


def _contract_and_branch(s: ReluSearch, still: ReluDomains, a: DualAscent) -> None:
    """Contract the open sub-domains; look at some again, split the others."""
    # Copies: neurons that bounds decide below lose their slopes, which the cut was made with.
    of = Multipliers(still.theta.copy(), still.phase.copy(), still.lower.copy(), still.row_weights)
    s.log.add_multipliers(still.node, of, np.ones(len(still), dtype=np.bool_), closing=False)
    low, high = contract_by_inequality(still.low, still.high, a.slopes, a.room, s.c.problem.whole)
    gain = largest_shrinkage(still, low, high)
    limit = a.room + np.einsum("ij,ij->i", a.slopes, a.last)
    still = replace(still, low=low, high=high, cut=a.slopes, limit=limit)
    clipped = clip_worthwhile_neurons(s.c, still, a)
    intersect_neuron_bounds(still, clipped)
    s.log.add_bounds(still.node, clipped)
    empty = _log_empty_domains(s, still)
    fix_stable_phases(still)
    again = (gain > _AGAIN) & (still.rounds < _MOST_ROUNDS) & ~empty
    if again.any():
        more = still.pick(again)
        s.stack.push(replace(more, rounds=more.rounds + 1, fresh=np.full(len(more), -1)))
    branch_relu_domains(s, still, a, again | empty)


def propagate_single_rows(
    c: DualProblem, domains: ReluDomains, log: SplittingLog
) -> tuple[ReluDomains, Array]:
    """The sub-domains that are left, and the logarithm of what part of each given box is left, negated."""
    gone = np.zeros(len(domains))
    here = np.arange(len(domains))
    active = np.ones(len(domains), dtype=np.bool_)
    domains = _copy_arrays(domains)
    for _ in range(_ROUNDS):
        part = _copy_arrays(domains.pick(active))
        closed, gain = _propagate_once(c, part, log)
        rows = np.flatnonzero(active)
        for name in ("low", "high", "lower", "upper", "cut", "limit"):
            getattr(domains, name)[rows] = getattr(part, name)
        gone[here[rows]] += np.where(closed, _MOST, gain)
        active[rows] = ~closed & (gain > _GOES_ON)
        if closed.any():
            kept = np.ones(len(domains), dtype=np.bool_)
            kept[rows[closed]] = False
            domains, here, active = domains.pick(kept), here[kept], active[kept]
        if not active.any():
            break
    return domains, gone


def _propagate_once(c: DualProblem, domains: ReluDomains, log: SplittingLog) -> tuple[Mask, Array]:
    """Every row once, then intervals; in place. Which sub-domains are closed, and what the others lost."""
    count = len(domains)
    closed = np.zeros(count, dtype=np.bool_)
    lines = relax_relu_domains(domains)
    # A ReLU that may well be off says nothing: the others must not pay for it.
    nearly_on = (domains.phase == 0) & (-domains.lower <= _NEARLY * domains.upper)
    theta = nearly_on.astype(np.float64)
    before = domains.high - domains.low
    for row in range(len(c.problem.offsets)):
        weights = np.zeros((count, len(c.problem.offsets)))
        weights[:, row] = 1.0
        found = dual_backward_pass(c, lines, domains.low, domains.high, theta, weights)
        error = dual_rounding_error(c, lines, theta, weights)
        low, high = contract_by_inequality(
            domains.low, domains.high, found.slopes, error + error - found.bound, c.problem.whole
        )
        done = (found.bound > 2.0 * error) & ~closed
        changed = ((low != domains.low) | (high != domains.high)).any(axis=1) & ~closed & ~done
        of = Multipliers(theta, domains.phase, domains.lower.copy(), weights)
        log.add_multipliers(domains.node, of, changed, closing=False)
        log.add_multipliers(domains.node, of, done, closing=True)
        closed |= done
        domains.low[changed], domains.high[changed] = low[changed], high[changed]
    after = domains.high - domains.low
    shrunk = (after < before).any(axis=1) & ~closed
    with np.errstate(all="ignore"):
        lost = np.minimum(np.log(before / np.maximum(after, 1e-300)), _MOST)
    gain = np.where(shrunk, np.where(lost > 0.0, lost, 0.0).sum(axis=1), 0.0)
    if shrunk.any():
        part = domains.pick(shrunk)
        tighten_by_intervals(c, part)
        domains.lower[shrunk], domains.upper[shrunk] = part.lower, part.upper
        domains.cut[shrunk], domains.limit[shrunk] = 0.0, 0.0
        for node in part.node.tolist():
            log.add(node, IntervalsEntry())
    return closed, gain
