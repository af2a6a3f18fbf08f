"""Branch and bound over input boxes: every open box is refuted, yields a solution, or is split.

A batch of boxes is bounded (`bounding.bounds`), every set of atoms that may still hold in them is refuted or
shrinks its part of the box (`bounding.views`), what remains is searched for solutions (`guess`), decided
exactly where the network is linear or the box a point (`bounding.leaf`), or halved. With a ledger each of
these counts only if the steps of a certificate confirm it (`proof.ledger`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from surefoot.network.linear import Planes
from surefoot.network.outward import Array, Box
from surefoot.query.query import Answer, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.native.bounding.bounds import bounded, nothing_known, overflows, pieces
from surefoot.solve.native.bounding.domains import (
    Domains,
    Stack,
    cut,
    each_point,
    joined,
    on_grid,
    splittable,
)
from surefoot.solve.native.bounding.layout import Layout, layout
from surefoot.solve.native.bounding.leaf import Refuted, all_linear, decide_set, linear_forms
from surefoot.solve.native.bounding.refute import contracted, empty
from surefoot.solve.native.bounding.substitute import Bounded, stacked, together
from surefoot.solve.native.bounding.views import merged, view
from surefoot.solve.native.goal import Goal, failing, goal
from surefoot.solve.native.guess.candidates import Guesses, among, attacked, chosen, exactly
from surefoot.solve.native.guess.mixed import FEW_BENDS, MOST_BENDS
from surefoot.solve.native.problem import Compiled, Mask, truth
from surefoot.solve.native.proof.ledger import Ledger, closed_exactly, confirm, halved, vanished
from surefoot.solve.native.proof.regions import separated

_MEMORY = 1_200_000_000  # bytes of open boxes
_GIVEN_UP = 64  # boxes at the precision floor after which the search ends
_REGIONS = 32  # sets that are looked at one by one before the search
_LATER = (15, 63)  # boxes after which the best points of a batch are moved downhill; with machine code
_AFTER = ((1, 3, 127), (1, 63, 255))  # ... more is tried to guess a solution: it costs less than their bounds
_FULL, _NEURONS = 32, 400  # boxes of a network with so many neurons that take hardly longer than one
_FEW = 16  # points of a box that are looked at one by one
_PATIENCE = 5  # splits after which a box that only rounding keeps open is left to real arithmetic
REALS_ONLY = "holds in real arithmetic; float32 rounding may break it"


@dataclass(slots=True)
class Search:
    """One search; the counters change while it runs."""

    problem: Compiled
    plan: Layout
    goal: Goal
    guesses: Guesses
    batch: int
    deadline: float
    ledger: Ledger | None
    whole: Bounded  # bounds over the whole box
    progress: Callable[[str], None] = lambda text: None
    guessed: int = 0  # how many kinds of guesses were tried
    given_up: int = 0
    visited: int = 0
    in_reals: bool = False  # some box was closed for real arithmetic only
    stack: Stack = field(default_factory=Stack)
    neurons: int = field(init=False)
    bytes: int = field(init=False)  # of one open box

    def __post_init__(self) -> None:
        widths = self.problem.network.widths()
        self.neurons = sum(widths[v] for v in self.plan.kept)
        self.bytes = 16 * (widths[0] + self.neurons) + len(self.goal.sets) + 16


def planned(problem: Compiled, certify: bool) -> Layout:
    """What a search has to bound; `certify`: only with what a certificate can name."""
    return layout(problem.network, problem.rounded, problem.entries, certify)


def start(
    query: Query, problem: Compiled, plan: Layout, batch: int, deadline: float, random: np.random.Generator
) -> Search:
    """A search over the whole box, with a ledger if the plan is one for certificates."""
    certify = plan.certified
    overflow = bool(plan.rounded) and overflows(plan, problem.low[None], problem.high[None])
    if overflow:
        plan = layout(problem.network, {}, problem.entries, certify)
    whole = bounded(plan, problem.low[None], problem.high[None], {})
    if plan.chain is not None and not np.isfinite(whole.boxes[-1].low).all():
        plan = replace(plan, chain=None)  # beyond the range of float64, where machine code knows nothing
        whole = bounded(plan, problem.low[None], problem.high[None], {})
    sets = goal(problem, whole, every_atom=not certify)
    guesses = Guesses(query, problem, sets.sets, deadline, random, plan.chain)
    ledger = Ledger(problem, plan, sets) if certify else None
    return Search(problem, plan, sets, guesses, batch, deadline, ledger, whole, in_reals=overflow)


def run(s: Search) -> Answer:
    """Sat, Unsat for the arithmetic that was asked for, or why neither; after a time-out it can go on."""
    if not s.visited and not s.stack:
        s.stack.push(_root(s))
    while s.stack and s.goal.sets:
        if monotonic() > s.deadline:
            return _late(s)
        if len(s.stack) * s.bytes > _MEMORY:
            return Undecided(Why.MEMORY, f"{len(s.stack)} open boxes")
        if s.given_up >= _GIVEN_UP:
            break
        answer = _batch(s, s.stack.pop(s.batch))
        if answer is None and s.stack:
            answer = _guessed(s)
        if answer is not None:
            return answer
        s.progress(f"native: {s.visited} boxes looked at, {len(s.stack)} open")
    return _end(s)


def _guessed(s: Search) -> Answer | None:
    """Solutions by other means than bounds: what is cheap at once, the rest where bounds take longer."""
    after = _AFTER[s.plan.chain is not None]
    if s.guessed >= len(after) or s.visited < after[s.guessed]:
        return None
    s.guessed += 1
    match s.guessed:
        case 1:
            return chosen(s.guesses, s.whole, range(1, FEW_BENDS + 1))
        case 2:
            more = range(FEW_BENDS + 1, MOST_BENDS + 1)
            return attacked(s.guesses, thorough=False) or chosen(s.guesses, s.whole, more)
        case _:
            return attacked(s.guesses, thorough=True)


def _attacked(s: Search) -> Answer | None:
    """All guesses that have not been made."""
    s.visited = max(s.visited, *_AFTER[-1])
    while s.guessed < len(_AFTER[-1]):
        if (answer := _guessed(s)) is not None:
            return answer
    return None


def _end(s: Search) -> Answer:
    """The answer when no box is open, or too many were given up."""
    if s.given_up:
        return _attacked(s) or Undecided(Why.INCOMPLETE, f"{s.given_up} boxes at the precision floor")
    if s.problem.curtailed:
        name = s.problem.curtailed[0]
        detail = f"`{name}` has no bounds; nothing found within artificial ones"
        return _attacked(s) or Undecided(Why.INCOMPLETE, detail)
    return Undecided(Why.NUMERICS, REALS_ONLY) if s.in_reals else Unsat()


def _late(s: Search) -> Undecided:
    return Undecided(Why.TIMEOUT, f"{s.visited} boxes looked at, {len(s.stack)} open")


def _root(s: Search) -> Domains:
    box = on_grid(s.problem, Box(s.problem.low[None], s.problem.high[None]))
    known = nothing_known(s.plan)
    alive, zero = np.ones((1, len(s.goal.sets)), dtype=np.bool_), np.zeros(1, dtype=np.int64)
    root = Domains(box, known, alive, zero, zero).pick(~empty(box))
    if not len(root) or len(s.goal.sets) < 2:
        return root
    if s.ledger is not None:
        return separated(s.ledger, root)
    return _by_region(s, root) if len(s.goal.sets) <= _REGIONS else root


def _by_region(s: Search, root: Domains) -> Domains:
    """One box for all sets that leave the same part of it: alternatives may concern different regions."""
    planes = bounded(s.plan, root.box.low, root.box.high, root.known).below(s.goal.rows)
    least = planes.minimum(root.box)
    groups: dict[bytes, tuple[Box, list[int]]] = {}
    for number, rows in enumerate(s.goal.of_set):
        part = Planes(planes.coefficients[:, rows], planes.constant[:, rows])
        box = contracted(part, least[:, rows], root.box) if rows.size else root.box
        box = on_grid(s.problem, box)
        if not empty(box).any():
            key = box.low.tobytes() + box.high.tobytes()
            groups.setdefault(key, (box, []))[1].append(number)
    parts = []
    for box, members in groups.values():
        alive = np.zeros_like(root.alive)
        alive[:, members] = True
        parts.append(Domains(box, root.known, alive, root.node, root.stubborn))
    return joined(parts) if parts else root.pick(slice(0, 0))


def _batch(s: Search, domains: Domains) -> Answer | None:
    parts = []
    for piece in pieces(s.plan, len(domains)):
        if monotonic() > s.deadline:
            s.stack.push(domains)
            return _late(s)
        part = domains.pick(piece)
        parts.append(_bounded(s, part))
    s.visited += len(domains)
    return _judged(s, domains, together(parts))


def _bounded(s: Search, part: Domains) -> Bounded:
    """The bounds of some boxes; those of the whole box are there already."""
    box, whole = part.box, s.whole.boxes[0]
    if not s.visited and np.array_equal(box.low, whole.low) and np.array_equal(box.high, whole.high):
        return s.whole
    return bounded(s.plan, box.low, box.high, part.known)


def _judged(s: Search, domains: Domains, found: Bounded) -> Answer | None:
    """Close, shrink and split a batch of boxes whose bounds are known."""
    planes, least = found.least(s.goal.rows)
    fails = failing(s.problem, s.goal, least)
    alive = domains.alive.copy()
    if s.ledger is None:
        alive &= (truth(s.problem.tree, np.where(fails, 1.0, -1.0)) <= 0)[:, None]
    views = [
        view(s.goal, number, found, planes, least, fails, alive[:, number])
        for number in range(len(s.goal.sets))
        if alive[:, number].any()
    ]
    lenient = (domains.stubborn >= _PATIENCE) | s.in_reals
    refuted, nearly = np.zeros_like(alive), np.zeros_like(alive)
    for seen in views:
        refuted[:, seen.number] = seen.closed | (seen.real & lenient)
        nearly[:, seen.number] = seen.real
        s.in_reals |= bool((lenient & seen.real & ~seen.closed & seen.here).any())
    if s.ledger is None:
        alive &= ~refuted
        known = found.inheritance(domains.known)
        box, slopes = merged(domains.box, views, alive)
    else:
        alive, box, known = confirm(s.ledger, domains, found, views, refuted, lenient)
        slopes = merged(domains.box, views, alive)[1]
    if box is domains.box:  # boxes of a batch are on the grid
        keep: Mask = np.asarray(alive.any(axis=1))
    else:
        box = on_grid(s.problem, box)
        gone = empty(box)
        keep = alive.any(axis=1) & ~gone
        if s.ledger is not None and gone.any():
            vanished(s.ledger, domains.node, alive & gone[:, None])
    if not keep.any():
        return None
    points = np.concatenate([v.worst[keep & alive[:, v.number]] for v in views])
    answer: Answer | None = (
        among(s.guesses, points, s.visited >= _LATER[s.plan.chain is not None]) if len(points) else None
    )
    if answer is not None:
        return answer
    # A point stays as stubborn as it was: it is looked at once more, not for ever.
    at_first = np.where(splittable(s.problem, domains.box).any(axis=1), 0, domains.stubborn)
    stubborn = np.where((nearly | ~alive).all(axis=1), domains.stubborn + 1, at_first)
    rest = Domains(box, known, alive, domains.node, stubborn)
    rest = rest if keep.all() else rest.pick(keep)
    shrunk: Mask = np.any((box.low > domains.box.low) | (box.high < domains.box.high), axis=1)
    return _branch(s, rest, slopes[keep], all_linear(s.problem, found)[keep], shrunk[keep])


def _branch(s: Search, rest: Domains, slopes: Array, straight: Mask, shrunk: Mask) -> Answer | None:
    """Decide what can be decided exactly, split the others."""
    able = splittable(s.problem, rest.box)
    kept: list[int] = []
    for index in range(len(rest)):
        if _is_new_point(
            s, rest, index, bool(able[index].any()), bool(shrunk[index] and not straight[index])
        ):
            rest.stubborn[index] += _PATIENCE
            s.stack.push(rest.pick([index]))
            continue
        if (straight[index] and s.problem.rational) or not able[index].any():
            if monotonic() > s.deadline:
                s.stack.push(rest.pick([*kept, *range(index, len(rest))]))
                return _late(s)
            answer = _exactly(s, rest, index, bool(straight[index]), bool(able[index].any()))
            if isinstance(answer, Sat):
                return answer
            if answer is not None:
                continue
            if not able[index].any():
                s.given_up += 1
                continue
        points = None if s.ledger else each_point(s.problem, rest.pick([index]), able[index], _FEW)
        if points is None:
            kept.append(index)
        else:
            s.stack.push(points)
    if kept:
        again = _again(s, len(kept) + len(s.stack))
        some = rest if len(kept) == len(rest) else rest.pick(kept)
        _split(s, some, able[kept], slopes[kept], again)
    return None


def _again(s: Search, count: int) -> int:
    """How many times more to halve every box: the fixed cost of a batch is that of many small boxes."""
    room = _FULL * _NEURONS // max(s.neurons, _NEURONS)
    if s.visited == 1:
        return int(room >= 4)  # most boxes that are not refuted at once are in four parts
    return min(2, max(0, (room // count).bit_length() - 2))


def _is_new_point(s: Search, rest: Domains, index: int, able: bool, bent: bool) -> bool:
    """Whether a box has just shrunk to a point: it is bounded once more, now without any width.

    That may leave less to float32 rounding, or show that the network is linear there (`bent`: not before).
    """
    in_doubt = bool(s.plan.rounded) and not s.in_reals and bool(rest.stubborn[index] < _PATIENCE)
    return not able and (in_doubt or bent)


def _split(s: Search, rest: Domains, able: Mask, slopes: Array, again: int = 0) -> None:
    """Halve every box; `again`: so many times more, where larger batches cost hardly more."""
    width = rest.box.high - rest.box.low
    span = np.maximum(s.problem.high - s.problem.low, 1e-300)
    column = np.where(able, width * slopes + 1e-9 * width / span, -1.0).argmax(axis=1)
    halves = cut(s.problem, rest.box, column)
    numbers: tuple[NDArray[np.int64], ...] = (rest.node, rest.node)
    if s.ledger is not None:
        index = np.arange(len(rest))
        numbers = halved(s.ledger, rest, column, halves[0].high[index, column], halves[1].low[index, column])
    box, node = stacked(halves), np.concatenate(numbers)
    there = np.flatnonzero(~empty(box))
    origin = there % len(rest)
    child = rest.pick(origin)
    child.box, child.node = Box(box.low[there], box.high[there]), node[there]
    more = splittable(s.problem, child.box) if again else able
    if again and len(child) and more.any(axis=1).all():
        _split(s, child, more, slopes[origin], again - 1)
    else:
        s.stack.push(child)


def _exactly(s: Search, rest: Domains, index: int, straight: bool, able: bool) -> Sat | Unsat | None:
    """Sat or Unsat for one box in exact arithmetic, None if that does not tell.

    What is refuted so holds for real arithmetic only. With float32 rounding a box is split a few times more
    before that is accepted.
    """
    problem = s.problem
    if not able:
        fixed = all(problem.grid[i] or a == b for i, (a, b) in enumerate(problem.exact))
        answer = exactly(s.guesses, rest.box.low[index])
        if answer is not None or not problem.rational or fixed:
            if answer is None and fixed and problem.rational:
                s.in_reals |= bool(s.plan.rounded)
                if s.ledger is not None:
                    closed_exactly(s.ledger, int(rest.node[index]), np.flatnonzero(rest.alive[index]), None)
                return Unsat()
            return answer
    if not straight:
        return None
    forms = linear_forms(problem, rest.box.low[index].tolist(), rest.box.high[index].tolist())
    if forms is None:
        return None
    proofs = {}
    for number in np.flatnonzero(rest.alive[index]).tolist():
        verdict = decide_set(problem, forms, s.goal.sets[number])
        if isinstance(verdict, Refuted):
            proofs[number] = verdict
            continue
        for point in verdict:
            answer = exactly(s.guesses, point)
            if answer is not None:
                return answer
    if s.plan.rounded and proofs and able and not s.in_reals and rest.stubborn[index] < _PATIENCE:
        rest.stubborn[index] += 1
        return None
    s.in_reals |= bool(s.plan.rounded and proofs)
    for number, refuted in proofs.items():
        rest.alive[index, number] = False
        if s.ledger is not None:
            closed_exactly(s.ledger, int(rest.node[index]), [number], refuted.weights)
    return None if rest.alive[index].any() else Unsat()
