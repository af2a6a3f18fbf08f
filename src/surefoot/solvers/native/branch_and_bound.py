"""Branch and bound over input boxes: every open box is refuted, yields a solution, or is split.

A batch of boxes is bounded (`bounding.network_bounds`), every set of atoms that may still hold in them is
refuted or shrinks its part of the box (`bounding.row_bounds`), what remains is searched for solutions
(`falsify`), decided exactly where the network is linear or the box a point (`bounding.linear_leaf`), or
halved. With a proof log each of these counts only if the steps of a certificate confirm it
(`proof.proof_log`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from surefoot.network.back_substitution import Planes
from surefoot.network.batches import BatchStack, join_batches
from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.query.query import Answer, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.native.bounding.linear_leaf import (
    FarkasMultipliers,
    decide_atom_set,
    is_linear_on_boxes,
    linear_piece,
)
from surefoot.solvers.native.bounding.network_bounds import (
    BoundingPlan,
    NetworkBounds,
    batch_slices,
    bound_box_batch,
    build_bounding_plan,
    concatenate_bounds,
    may_overflow_on_boxes,
    vacuous_bounds,
)
from surefoot.solvers.native.bounding.open_boxes import (
    BoxDomains,
    halve_boxes,
    round_boxes_to_grid,
    split_into_points,
    splittable_inputs,
)
from surefoot.solvers.native.bounding.row_bounds import bound_cube, contract_by_planes, merge_cube_bounds
from surefoot.solvers.native.compiled_query import CompiledQuery, Mask, tree_violation
from surefoot.solvers.native.falsify.candidates import (
    FalsificationTask,
    confirm_solution_exactly,
    find_among_points,
    find_by_attack,
    find_by_milp,
)
from surefoot.solvers.native.falsify.milp_points import FEW_BENDS, MOST_BENDS
from surefoot.solvers.native.goal_cubes import GoalCubes, failing_atoms, select_goal_cubes
from surefoot.solvers.native.proof.proof_log import (
    ProofLog,
    confirm_box_batch,
    log_box_splits,
    log_empty_boxes,
    log_exact_refutation,
)
from surefoot.solvers.native.proof.region_splitting import split_between_regions
from surefoot.solvers.native.threshold_splits import InputThresholds, find_split_places, input_thresholds

MEMORY = 1_200_000_000  # bytes of open boxes
_GIVEN_UP = 64  # boxes at the precision floor after which the search ends
_REGIONS = 32  # sets that are looked at one by one before the search
_LATER = (15, 63)  # boxes after which the best points of a batch are moved downhill; with machine code
_AFTER = ((1, 3, 127), (1, 63, 255))  # ... more is tried to guess a solution: it costs less than their bounds
_FULL, _NEURONS = 32, 400  # boxes of a network with so many neurons that take hardly longer than one
_FEW = 16  # points of a box that are looked at one by one
_PATIENCE = 5  # splits after which a box that only rounding keeps open is left to real arithmetic
REALS_ONLY = "holds in real arithmetic; float32 rounding may break it"


@dataclass(slots=True)
class InputSearch:
    """One search; the counters change while it runs."""

    problem: CompiledQuery
    plan: BoundingPlan
    goal: GoalCubes
    guesses: FalsificationTask
    batch: int
    deadline: float
    ledger: ProofLog | None
    whole: NetworkBounds  # bounds over the whole box
    guessed: int = 0  # how many kinds of guesses were tried
    given_up: int = 0
    visited: int = 0
    memory: int = MEMORY  # bytes
    elsewhere: int = 0  # open boxes of other parts
    dealt: int = 0  # parts to which open boxes were given (`divided_search`)
    in_reals: bool = False  # some box was closed for real arithmetic only
    stack: BatchStack[BoxDomains] = field(default_factory=BatchStack)
    thresholds: tuple[InputThresholds, ...] = field(init=False)  # of decision trees, by input
    neurons: int = field(init=False)
    bytes: int = field(init=False)  # of one open box

    def __post_init__(self) -> None:
        widths = self.problem.network.widths()
        self.thresholds = input_thresholds(self.problem)
        self.neurons = sum(widths[v] for v in self.plan.kept)
        self.bytes = 16 * (widths[0] + self.neurons) + len(self.goal.sets) + 16


def plan_query_bounds(problem: CompiledQuery, certify: bool) -> BoundingPlan:
    """What a search has to bound; `certify`: only with what a certificate can name."""
    return build_bounding_plan(problem.network, problem.rounded, problem.entries, certify)


def start_input_search(
    query: Query,
    problem: CompiledQuery,
    plan: BoundingPlan,
    batch: int,
    deadline: float,
    random: np.random.Generator,
) -> InputSearch:
    """A search over the whole box, with a ledger if the plan is one for certificates."""
    certify = plan.certified
    overflow = bool(plan.rounded) and may_overflow_on_boxes(plan, problem.low[None], problem.high[None])
    if overflow:
        plan = build_bounding_plan(problem.network, {}, problem.entries, certify)
    whole = bound_box_batch(plan, problem.low[None], problem.high[None], {})
    if plan.chain is not None and not np.isfinite(whole.boxes[-1].low).all():
        plan = replace(plan, chain=None)  # beyond the range of float64, where machine code knows nothing
        whole = bound_box_batch(plan, problem.low[None], problem.high[None], {})
    sets = select_goal_cubes(problem, whole, every_atom=not certify)
    guesses = FalsificationTask(query, problem, sets.sets, deadline, random)
    ledger = ProofLog(problem, plan, sets) if certify else None
    return InputSearch(problem, plan, sets, guesses, batch, deadline, ledger, whole, in_reals=overflow)


def run_input_search(s: InputSearch) -> Answer:
    """Sat, Unsat for the arithmetic that was asked for, or why neither; after a time-out it can go on."""
    return search_open_boxes(s) or final_answer(s)


def search_open_boxes(s: InputSearch, most: float = inf) -> Answer | None:
    """An answer or what ended the search early; None if nothing is left to look at, or `most` were."""
    if not s.visited and not s.stack:
        s.stack.push(_root_domains(s))
    while s.stack and s.goal.sets and s.visited < most:
        if monotonic() > s.deadline:
            return _timeout_answer(s)
        if len(s.stack) * s.bytes > s.memory:
            return Undecided(UndecidedReason.MEMORY, f"{len(s.stack)} open boxes")
        if s.given_up >= _GIVEN_UP:
            break
        answer = _process_batch(s, s.stack.pop(s.batch))
        if answer is None and s.stack:
            answer = _try_next_guess(s)
        if answer is not None:
            return answer
    return None


def has_ended(s: InputSearch) -> bool:
    """Is nothing left to look at?"""
    return not s.stack or not s.goal.sets or s.given_up >= _GIVEN_UP


def _try_next_guess(s: InputSearch) -> Answer | None:
    """Solutions by other means than bounds: what is cheap at once, the rest where bounds take longer."""
    after = _AFTER[s.plan.chain is not None]
    if s.guessed >= len(after) or s.visited < after[s.guessed]:
        return None
    s.guessed += 1
    match s.guessed:
        case 1:
            return find_by_milp(s.guesses, s.whole, range(1, FEW_BENDS + 1))
        case 2:
            more = range(FEW_BENDS + 1, MOST_BENDS + 1)
            return find_by_attack(s.guesses, thorough=False) or find_by_milp(s.guesses, s.whole, more)
        case _:
            return find_by_attack(s.guesses, thorough=True)


def _try_all_guesses(s: InputSearch) -> Answer | None:
    """All guesses that have not been made."""
    s.visited = max(s.visited, *_AFTER[-1])
    while s.guessed < len(_AFTER[-1]):
        if (answer := _try_next_guess(s)) is not None:
            return answer
    return None


def final_answer(s: InputSearch) -> Answer:
    """The answer when no box is open, or too many were given up."""
    if s.given_up:
        return _try_all_guesses(s) or Undecided(
            UndecidedReason.INCOMPLETE, f"{s.given_up} boxes at the precision floor"
        )
    if s.problem.curtailed:
        name = s.problem.curtailed[0]
        detail = f"`{name}` has no bounds; nothing found within artificial ones"
        return _try_all_guesses(s) or Undecided(UndecidedReason.INCOMPLETE, detail)
    return Undecided(UndecidedReason.NUMERICS, REALS_ONLY) if s.in_reals else Unsat()


def _timeout_answer(s: InputSearch) -> Undecided:
    return Undecided(UndecidedReason.TIMEOUT, f"{s.visited} boxes looked at, {len(s.stack)} open")


def _root_domains(s: InputSearch) -> BoxDomains:
    box = round_boxes_to_grid(s.problem, BoxArray(s.problem.low[None], s.problem.high[None]))
    known = vacuous_bounds(s.plan)
    alive, zero = np.ones((1, len(s.goal.sets)), dtype=np.bool_), np.zeros(1, dtype=np.int64)
    root = BoxDomains(box, known, alive, zero, zero).pick(~box.empty)
    if not len(root) or len(s.goal.sets) < 2:
        return root
    if s.ledger is not None:
        return split_between_regions(s.ledger, root)
    return _split_by_region(s, root) if len(s.goal.sets) <= _REGIONS else root


def _split_by_region(s: InputSearch, root: BoxDomains) -> BoxDomains:
    """One box for all sets that leave the same part of it: alternatives may concern different regions."""
    planes = bound_box_batch(s.plan, root.box.low, root.box.high, root.known).below(s.goal.rows)
    least = planes.minimum(root.box)
    groups: dict[bytes, tuple[BoxArray, list[int]]] = {}
    for number, rows in enumerate(s.goal.of_set):
        part = Planes(planes.coefficients[:, rows], planes.constant[:, rows])
        box = contract_by_planes(part, least[:, rows], root.box) if rows.size else root.box
        box = round_boxes_to_grid(s.problem, box)
        if not box.empty.any():
            key = box.low.tobytes() + box.high.tobytes()
            groups.setdefault(key, (box, []))[1].append(number)
    parts = []
    for box, members in groups.values():
        alive = np.zeros_like(root.alive)
        alive[:, members] = True
        parts.append(BoxDomains(box, root.known, alive, root.node, root.stubborn))
    return join_batches(parts) if parts else root.pick(slice(0, 0))


def _process_batch(s: InputSearch, domains: BoxDomains) -> Answer | None:
    parts = []
    for piece in batch_slices(s.plan, len(domains)):
        if monotonic() > s.deadline:
            s.stack.push(domains)
            return _timeout_answer(s)
        part = domains.pick(piece)
        parts.append(_bound_boxes(s, part))
    s.visited += len(domains)
    return _close_or_branch(s, domains, concatenate_bounds(parts))


def _bound_boxes(s: InputSearch, part: BoxDomains) -> NetworkBounds:
    """The bounds of some boxes; those of the whole box are there already."""
    box, whole = part.box, s.whole.boxes[0]
    if not s.visited and np.array_equal(box.low, whole.low) and np.array_equal(box.high, whole.high):
        return s.whole
    return bound_box_batch(s.plan, box.low, box.high, part.known)


def _close_or_branch(s: InputSearch, domains: BoxDomains, found: NetworkBounds) -> Answer | None:
    """Close, shrink and split a batch of boxes whose bounds are known."""
    planes, least = found.least(s.goal.rows)
    fails = failing_atoms(s.problem, s.goal, least)
    alive = domains.alive.copy()
    if s.ledger is None:
        alive &= (tree_violation(s.problem.tree, np.where(fails, 1.0, -1.0)) <= 0)[:, None]
    views = [
        bound_cube(s.goal, number, found, planes, least, fails, alive[:, number])
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
        box, slopes = merge_cube_bounds(domains.box, views, alive)
    else:
        alive, box, known = confirm_box_batch(s.ledger, domains, found, views, refuted, lenient)
        slopes = merge_cube_bounds(domains.box, views, alive)[1]
    if box is domains.box:  # boxes of a batch are on the grid
        keep: Mask = np.asarray(alive.any(axis=1))
    else:
        box = round_boxes_to_grid(s.problem, box)
        gone = box.empty
        keep = alive.any(axis=1) & ~gone
        if s.ledger is not None and gone.any():
            log_empty_boxes(s.ledger, domains.node, alive & gone[:, None])
    if not keep.any():
        return None
    points = np.concatenate([v.worst[keep & alive[:, v.number]] for v in views])
    answer: Answer | None = (
        find_among_points(s.guesses, points, s.visited >= _LATER[s.plan.chain is not None])
        if len(points)
        else None
    )
    if answer is not None:
        return answer
    # A point stays as stubborn as it was: it is looked at once more, not for ever.
    at_first = np.where(splittable_inputs(s.problem, domains.box).any(axis=1), 0, domains.stubborn)
    stubborn = np.where((nearly | ~alive).all(axis=1), domains.stubborn + 1, at_first)
    rest = BoxDomains(box, known, alive, domains.node, stubborn)
    rest = rest if keep.all() else rest.pick(keep)
    shrunk: Mask = np.any((box.low > domains.box.low) | (box.high < domains.box.high), axis=1)
    return _branch_boxes(s, rest, slopes[keep], is_linear_on_boxes(s.problem, found)[keep], shrunk[keep])


def _branch_boxes(
    s: InputSearch, rest: BoxDomains, slopes: Array, straight: Mask, shrunk: Mask
) -> Answer | None:
    """Decide what can be decided exactly, split the others."""
    able = splittable_inputs(s.problem, rest.box)
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
                return _timeout_answer(s)
            answer = _decide_exactly(s, rest, index, bool(straight[index]), bool(able[index].any()))
            if isinstance(answer, Sat):
                return answer
            if answer is not None:
                continue
            if not able[index].any():
                s.given_up += 1
                continue
        points = None if s.ledger else split_into_points(s.problem, rest.pick([index]), able[index], _FEW)
        if points is None:
            kept.append(index)
        else:
            s.stack.push(points)
    if kept:
        again = _count_extra_halvings(s, len(kept) + len(s.stack) + s.elsewhere)
        some = rest if len(kept) == len(rest) else rest.pick(kept)
        _split_boxes(s, some, able[kept], slopes[kept], again)
    return None


def _count_extra_halvings(s: InputSearch, count: int) -> int:
    """How many times more to halve every box: the fixed cost of a batch is that of many small boxes."""
    room = _FULL * _NEURONS // max(s.neurons, _NEURONS)
    if s.visited == 1:
        return int(room >= 4)  # most boxes that are not refuted at once are in four parts
    return min(2, max(0, (room // count).bit_length() - 2))


def _is_new_point(s: InputSearch, rest: BoxDomains, index: int, able: bool, bent: bool) -> bool:
    """Whether a box has just shrunk to a point: it is bounded once more, now without any width.

    That may leave less to float32 rounding, or show that the network is linear there (`bent`: not before).
    """
    in_doubt = bool(s.plan.rounded) and not s.in_reals and bool(rest.stubborn[index] < _PATIENCE)
    return not able and (in_doubt or bent)


def _split_boxes(s: InputSearch, rest: BoxDomains, able: Mask, slopes: Array, again: int = 0) -> None:
    """Halve every box; `again`: so many times more, where larger batches cost hardly more."""
    width = rest.box.high - rest.box.low
    span = np.maximum(s.problem.high - s.problem.low, 1e-300)
    column = np.where(able, width * slopes + 1e-9 * width / span, -1.0).argmax(axis=1)
    column, places = _prefer_thresholds(s, rest, able, slopes, column)
    halves = halve_boxes(rest.box, column, s.problem.whole, s.problem.single, places)
    numbers: tuple[NDArray[np.int64], ...] = (rest.node, rest.node)
    if s.ledger is not None:
        index = np.arange(len(rest))
        numbers = log_box_splits(
            s.ledger, rest, column, halves[0].high[index, column], halves[1].low[index, column]
        )
    box, node = join_batches(halves), np.concatenate(numbers)
    there = np.flatnonzero(~box.empty)
    origin = there % len(rest)
    child = rest.pick(origin)
    child.box, child.node = BoxArray(box.low[there], box.high[there]), node[there]
    more = splittable_inputs(s.problem, child.box) if again else able
    if again and len(child) and more.any(axis=1).all():
        _split_boxes(s, child, more, slopes[origin], again - 1)
    else:
        s.stack.push(child)


def _prefer_thresholds(
    s: InputSearch, rest: BoxDomains, able: Mask, slopes: Array, column: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Array | None]:
    """With decision trees: inputs with thresholds in the box first, and where; then whole numbers.

    What is constant between thresholds has no slopes, by which the other inputs would be compared.
    """
    if not s.thresholds:
        return column, None
    places, counts = find_split_places(s.thresholds, rest.box)
    split = able & ~np.isnan(places)
    width = rest.box.high - rest.box.low
    effect = width * slopes
    share = effect / np.maximum(effect.max(axis=1, keepdims=True, initial=0.0), 1e-300)
    best = np.where(split, share + 1e-3 * counts / (1.0 + counts), -1.0).argmax(axis=1)
    whole = able & s.problem.whole
    others = np.where(whole.any(axis=1), np.where(whole, width, -1.0).argmax(axis=1), column)
    chosen = np.where(split.any(axis=1), best, others)
    return chosen, places[np.arange(len(chosen)), chosen]


def _decide_exactly(
    s: InputSearch, rest: BoxDomains, index: int, straight: bool, able: bool
) -> Sat | Unsat | None:
    """Sat or Unsat for one box in exact arithmetic, None if that does not tell.

    What is refuted so holds for real arithmetic only. With float32 rounding a box is split a few times more
    before that is accepted.
    """
    problem = s.problem
    if not able:
        fixed = all(problem.grid[i] or a == b for i, (a, b) in enumerate(problem.exact))
        answer = confirm_solution_exactly(s.guesses, rest.box.low[index])
        if answer is not None or not problem.rational or fixed:
            if answer is None and fixed and problem.rational:
                s.in_reals |= bool(s.plan.rounded)
                if s.ledger is not None:
                    log_exact_refutation(
                        s.ledger, int(rest.node[index]), np.flatnonzero(rest.alive[index]), None
                    )
                return Unsat()
            return answer
    if not straight:
        return None
    piece = linear_piece(problem, rest.box.low[index].tolist(), rest.box.high[index].tolist())
    if piece is None:
        return None
    proofs = {}
    for number in np.flatnonzero(rest.alive[index]).tolist():
        verdict = decide_atom_set(problem, piece, s.goal.sets[number])
        if isinstance(verdict, FarkasMultipliers):
            proofs[number] = verdict
            continue
        for point in verdict:
            answer = confirm_solution_exactly(s.guesses, point)
            if answer is not None:
                return answer
    if s.plan.rounded and proofs and able and not s.in_reals and rest.stubborn[index] < _PATIENCE:
        rest.stubborn[index] += 1
        return None
    s.in_reals |= bool(s.plan.rounded and proofs)
    for number, refuted in proofs.items():
        rest.alive[index, number] = False
        if s.ledger is not None:
            log_exact_refutation(s.ledger, int(rest.node[index]), [number], refuted.weights)
    return None if rest.alive[index].any() else Unsat()
