"""Proof logging in lock-step with the search: a box counts as closed only if certificate steps close it.

The bounds of the search are those of the certificate: whatever a box that stays open has computed by
back-substitution becomes a step, and its parts inherit the result on both sides. Of a box that closes only
the bounds that this needs are written (`proof.refutation_check`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array, BoxArray
from surefoot.query.query import Json
from surefoot.query.unsat_claim import linear_form_to_json
from surefoot.solvers.native.bounding.network_bounds import (
    BoundingPlan,
    BoundMasks,
    NetworkBounds,
    bounds_from_arrays,
    forward_interval,
    known_box,
    replace_value_box,
)
from surefoot.solvers.native.bounding.open_boxes import BoxDomains
from surefoot.solvers.native.bounding.row_bounds import CubeBounds
from surefoot.solvers.native.compiled_query import CompiledQuery, Mask
from surefoot.solvers.native.goal_cubes import GoalCubes
from surefoot.solvers.native.proof.refutation_check import (
    RefutedBoxes,
    closing_levels,
    quantise_refutation,
    refuted_by,
    remaining_box,
)
from surefoot.solvers.native.proof.steps import (
    CompactRefutation,
    CubeRefutation,
    cut_step,
    drop_step,
    slopes_steps,
)

_WAITING = 1024  # closed boxes that wait to be written; one takes some twenty kilobytes
_SHRINK = 0.97  # a cut is worth a step if it leaves at most this part of some side of the box

ProofStep: TypeAlias = list[object]
# Steps of one box are written when somebody reads the proof: what adds them to the steps so far.
DeferredSteps: TypeAlias = Callable[[list[ProofStep]], None]


@dataclass(slots=True)
class ProofLog:
    """The tree of states so far: steps of each, and how it was split."""

    problem: CompiledQuery
    plan: BoundingPlan
    goal: GoalCubes
    steps: dict[int, list[ProofStep | DeferredSteps]] = field(default_factory=lambda: {0: []})
    splits: dict[int, tuple[list[object], int, int]] = field(default_factory=dict)
    waiting: list[RefutedBoxes] = field(default_factory=list)  # closed boxes whose steps are not written yet

    def split_node(self, node: int, step: list[object]) -> tuple[int, int]:
        """The numbers of the two parts."""
        first = len(self.steps)
        self.steps[first], self.steps[first + 1] = [], []
        self.splits[node] = (step, first, first + 1)
        return first, first + 1


def confirm_box_batch(
    ledger: ProofLog,
    domains: BoxDomains,
    found: NetworkBounds,
    views: Sequence[CubeBounds],
    refuted: Mask,
    lenient: Mask,
) -> tuple[Mask, BoxArray, dict[int, BoxArray]]:
    """Write the steps for a batch of boxes: which sets stay alive, where, and bounds to be inherited.

    `refuted` says what the search knows; `lenient`: boxes where real arithmetic is enough.
    """
    alive = domains.alive.copy()
    trials = {v.number: quantise_refutation(v, found) for v in views}
    pending: Mask = ~np.asarray((alive & ~refuted).any(axis=1))
    if pending.any():
        closing = RefutedBoxes(domains, found, trials, lenient).pick(pending)
        alive[np.flatnonzero(pending)[_close_boxes(ledger, closing)]] = False
    rest = np.flatnonzero(alive.any(axis=1))
    if not rest.size:
        return alive, domains.box, domains.known
    return _log_open_boxes(ledger, domains, found, trials, alive, refuted, lenient, rest)


def _close_boxes(ledger: ProofLog, closing: RefutedBoxes) -> Mask:
    """Which of these boxes steps close; by machine code they wait to be written, up to a number of them."""
    if ledger.plan.chain is None:
        return _write_closed_boxes(ledger, closing)
    closed = closing.closed_by(closing.found)
    if closed.any():
        ledger.waiting.append(closing.pick(closed))
        if sum(map(len, ledger.waiting)) > _WAITING:
            write_waiting_steps(ledger)
    return closed


def write_waiting_steps(ledger: ProofLog) -> None:
    """Write the steps of all boxes that wait."""
    for closing in ledger.waiting:
        _write_closed_boxes(ledger, closing)
    ledger.waiting.clear()


def _write_closed_boxes(ledger: ProofLog, closing: RefutedBoxes) -> Mask:
    """Write the steps of boxes that are closed, with the fewest bounds that close them."""
    done: set[int] = set()
    for some, part, closed in closing_levels(ledger.plan, closing):
        chosen = np.flatnonzero(closed)
        done.update(some.domains.node[chosen].tolist())
        _write_bounds(ledger, some.domains, part, chosen, np.arange(len(some)))
        sets = some.domains.alive[chosen]
        _write_drops(ledger, some.domains, some.trials, chosen, sets)
    return np.array([node in done for node in closing.domains.node.tolist()], dtype=np.bool_)


def _log_open_boxes(
    ledger: ProofLog,
    domains: BoxDomains,
    found: NetworkBounds,
    trials: Mapping[int, CubeRefutation],
    alive: Mask,
    refuted: Mask,
    lenient: Mask,
    rest: NDArray[np.intp],
) -> tuple[Mask, BoxArray, dict[int, BoxArray]]:
    """Boxes that stay open: bounds to be inherited, sets that are refuted here, and a cut."""
    everyone = rest.size == len(alive)
    part = found if everyone else found.pick(rest)
    gone = np.zeros((rest.size, alive.shape[1]), dtype=np.bool_)
    for number, trial in trials.items():
        here = alive[rest, number] & refuted[rest, number]
        if here.any():
            gone[:, number] = here & refuted_by(part, trial.pick(rest), lenient[rest])
    alive[rest] &= ~gone
    hull, worth = _hull_of_cubes(part, trials, alive[rest], rest)
    light = ~worth & ~gone.any(axis=1)
    part = _drop_last_bounds(ledger, domains, part, light, rest)
    _write_bounds(ledger, domains, part, np.arange(rest.size), rest)
    _write_drops(ledger, domains, trials, rest, gone)
    box = _apply_cuts(ledger, domains, trials, alive, hull, worth, rest) if worth.any() else domains.box
    if everyone:
        return alive, box, part.inheritance(domains.known)
    known = found.inheritance(domains.known)
    for value, own in part.inheritance(domains.known).items():
        kept = known[value] = BoxArray(known[value].low.copy(), known[value].high.copy())
        kept.low[rest], kept.high[rest] = own.low, own.high
    return alive, box, known


def _apply_cuts(
    ledger: ProofLog,
    domains: BoxDomains,
    trials: Mapping[int, CubeRefutation],
    alive: Mask,
    hull: BoxArray,
    worth: Mask,
    rest: NDArray[np.intp],
) -> BoxArray:
    """The boxes of the batch, with some of the rest shrunk to their hulls."""
    members = rest[worth]
    box = BoxArray(domains.box.low.copy(), domains.box.high.copy())
    box.low[members], box.high[members] = hull.low[worth], hull.high[worth]
    given = {n: trial.pick(members).compact() for n, trial in trials.items()}
    for row, member in enumerate(members.tolist()):
        entries = [([n], given[n][row]) for n in np.flatnonzero(alive[member]).tolist()]
        ledger.steps[int(domains.node[member])].append(partial(_add_cut, ledger, entries))
    return box


def _add_cut(
    ledger: ProofLog, entries: list[tuple[list[int], CompactRefutation]], steps: list[ProofStep]
) -> None:
    steps.append(cut_step(ledger.problem, ledger.plan.chain, entries))


def _drop_last_bounds(
    ledger: ProofLog, domains: BoxDomains, part: NetworkBounds, light: Mask, rest: NDArray[np.intp]
) -> NetworkBounds:
    """Where nothing is refuted or cut off: bounds of the last layer only where they decide a sign.

    No other bound depends on them, and a part that needs them computes better ones.
    """
    last = max(part.substituted_bounds, default=0)
    if last not in ledger.plan.signs or last != max(ledger.plan.kept) or not light.any():
        return part
    known = known_box(ledger.plan, domains.known, last, rest)
    now, used = part.boxes[last], part.substituted_bounds[last]
    decided = (now.low >= 0) | (now.high <= 0) | ~light[:, None]
    wanted = BoundMasks(used.low & decided, used.high & decided)
    if part.sheet is not None:  # intervals of the parts are within those of the whole
        box = BoxArray(np.where(decided, now.low, known.low), np.where(decided, now.high, known.high))
        return bounds_from_arrays(ledger.plan, part.sheet.with_bounds(last, box, wanted.low, wanted.high))
    before = forward_interval(part, last).intersect(known)
    box = BoxArray(np.where(decided, now.low, before.low), np.where(decided, now.high, before.high))
    return replace_value_box(part, last, box, wanted)


def _hull_of_cubes(
    part: NetworkBounds, trials: Mapping[int, CubeRefutation], alive: Mask, rest: NDArray[np.intp]
) -> tuple[BoxArray, Mask]:
    """The hull of what the living sets leave, and where that is worth a step."""
    low, high = np.full_like(part.boxes[0].low, np.inf), np.full_like(part.boxes[0].high, -np.inf)
    for number in range(alive.shape[1]):
        here = alive[:, number]
        if here.any():
            left = remaining_box(part, trials[number].pick(rest))
            low = np.where(here[:, None], np.minimum(low, left.low), low)
            high = np.where(here[:, None], np.maximum(high, left.high), high)
    whole = part.boxes[0]
    shorter = (high - low) < _SHRINK * (whole.high - whole.low)
    return BoxArray(low, high), np.asarray(shorter.any(axis=1) & alive.any(axis=1))


def _write_bounds(
    ledger: ProofLog,
    domains: BoxDomains,
    part: NetworkBounds,
    chosen: NDArray[np.intp],
    members: NDArray[np.intp],
) -> None:
    """Slopes, interval bounds and back-substitutions of some boxes of a part, in order of the values."""
    if not chosen.size:
        return
    nodes = domains.node[members[chosen]].tolist()
    if part.sheet is not None:
        used = np.packbits(np.stack([part.sheet.used_low[chosen], part.sheet.used_high[chosen]], 1), axis=2)
        for node, bits in zip(nodes, used, strict=True):
            ledger.steps[node].append(partial(_add_sheet_bounds, ledger, bits))
        return
    values = list(part.substituted_bounds)
    several = [
        np.concatenate([w.low[chosen], w.high[chosen]], axis=1) for w in part.substituted_bounds.values()
    ]
    packed = [np.packbits(masks, axis=1) for masks in several]
    for row, (node, index) in enumerate(zip(nodes, chosen.tolist(), strict=True)):
        slopes = slopes_steps(ledger.problem, part, index)
        own = {v: (bits[row], masks.shape[1]) for v, bits, masks in zip(values, packed, several, strict=True)}
        ledger.steps[node].append(partial(_add_bounds, ledger, slopes, own))


def _add_sheet_bounds(ledger: ProofLog, bits: NDArray[np.uint8], steps: list[ProofStep]) -> None:
    """`bits`: which lower and which upper bounds of all entries are used."""
    plan = ledger.plan
    assert plan.chain is not None
    used = np.unpackbits(bits, axis=1, count=plan.chain.width)
    values = [value for value in plan.kept if value not in plan.plain]
    rows = {value: _bound_row_numbers(used[:, plan.chain.columns[value]].reshape(-1)) for value in values}
    _add_forward(ledger, rows, steps)


def _add_bounds(
    ledger: ProofLog,
    slopes: list[ProofStep],
    used: Mapping[int, tuple[NDArray[np.uint8], int]],
    steps: list[ProofStep],
) -> None:
    steps.extend(slopes)
    rows = {
        value: _bound_row_numbers(np.unpackbits(bits, count=count)) for value, (bits, count) in used.items()
    }
    _add_forward(ledger, rows, steps)


def _add_forward(ledger: ProofLog, rows: Mapping[int, list[int]], steps: list[ProofStep]) -> None:
    """Intervals of all values in order, and rows of those that are substituted back."""
    places, plan = ledger.problem.places, ledger.plan
    for value in range(1, max((*plan.kept, *plan.rounded), default=0) + 1):
        if places[value] < 0:
            continue
        _append_forward_step(steps, places[value])
        if rows.get(value):
            steps.append(["bound", places[value], rows[value]])


def _bound_row_numbers(used: NDArray[np.uint8]) -> list[int]:
    """Twice the entry, plus 1 for an upper bound; lower bounds first."""
    half = used.size // 2
    return [2 * j if j < half else 2 * (j - half) + 1 for j in np.flatnonzero(used).tolist()]


def _append_forward_step(steps: list[ProofStep], place: int) -> None:
    """Interval bounds of one more value, in the same step as those of the value before if possible."""
    last = steps[-1] if steps else []
    if last and last[0] == "forward" and last[-1] == place - 1:
        steps[-1] = ["forward", last[1], place]
    else:
        steps.append(["forward", place])


def _write_drops(
    ledger: ProofLog,
    domains: BoxDomains,
    trials: Mapping[int, CubeRefutation],
    members: NDArray[np.intp],
    sets: Mask,
) -> None:
    """The sets (a row of them for each of these boxes) that their multipliers refute."""
    for number in np.flatnonzero(sets.any(axis=0)).tolist():
        here = members[sets[:, number]]
        given = trials[number].pick(here).compact()
        for row, member in zip(given, here.tolist(), strict=True):
            ledger.steps[int(domains.node[member])].append(partial(_add_drop, ledger, number, row))


def _add_drop(ledger: ProofLog, number: int, given: CompactRefutation, steps: list[ProofStep]) -> None:
    steps.append(drop_step(ledger.problem, ledger.plan.chain, [number], given))


def log_box_splits(
    ledger: ProofLog, rest: BoxDomains, column: NDArray[np.intp], left: Array, right: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split every box between the end of its left and the start of its right part, and number the parts."""
    numbers = []
    for node, entry, below, above in zip(
        rest.node.tolist(), column.tolist(), left.tolist(), right.tolist(), strict=True
    ):
        # Between two neighbours of float32: the reader moves both ends to them.
        place = int(below) if ledger.problem.whole[entry] else (0.5 * below + 0.5 * above).hex()
        numbers.append(ledger.split_node(node, ["split", 0, entry, place]))
    first, second = zip(*numbers, strict=True)
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def log_empty_boxes(ledger: ProofLog, nodes: NDArray[np.int64], sets: Mask) -> None:
    """Boxes without a point: of those everything is true."""
    for member in np.flatnonzero(sets.any(axis=1)):
        steps = ledger.steps[int(nodes[member])]
        steps.append(["drop", np.flatnonzero(sets[member]).tolist(), {}])


def log_exact_refutation(
    ledger: ProofLog, node: int, sets: Iterable[int], weights: Sequence[Fraction] | None
) -> None:
    """Sets that exact arithmetic refutes: at a point, or by multipliers of the atoms of the set."""
    numbers = [int(n) for n in sets]
    if weights is None:
        ledger.steps[node].append(["point", numbers])
        return
    for number in numbers:
        atoms = zip(ledger.goal.sets[number], weights, strict=True)
        given = {"atoms": [[j, str(w)] for j, w in atoms if w]}
        ledger.steps[node].append(["exact", [number], given])


def render_proof_case(ledger: ProofLog) -> Json:
    """Definitions, atoms, sets and all steps in preorder."""
    write_waiting_steps(ledger)
    problem, goal = ledger.problem, ledger.goal
    found: dict[str, object] = {}
    if problem.equations:
        found["define"] = [[name, position] for name, position in problem.equations]
    found["atoms"] = [
        [_relation_symbol(problem, j), linear_form_to_json(form)] for j, form in enumerate(problem.forms)
    ]
    found["sets"] = [list(several) for several in (*goal.sets, *goal.opposed)]
    found["steps"] = [*_opposed_steps(ledger), *_preorder_steps(ledger)]
    return found


def _relation_symbol(problem: CompiledQuery, atom: int) -> str:
    return "=" if problem.equal[atom] else "<" if problem.strict[atom] else "<="


def _opposed_steps(ledger: ProofLog) -> list[list[object]]:
    """The sets that were left out of the search: one or two atoms of each hold nowhere."""
    first = len(ledger.goal.sets)
    return [
        ["exact" if pair.strict else "drop", [first + i], {"atoms": [[j, str(w)] for j, w in pair.atoms]}]
        for i, pair in enumerate(ledger.goal.opposed.values())
    ]


def write_node_steps(entries: Iterable[ProofStep | DeferredSteps]) -> list[ProofStep]:
    """All steps of a node, written out."""
    begun: list[ProofStep] = []
    for entry in entries:
        if callable(entry):
            entry(begun)
        else:
            begun.append(entry)
    return begun


def _preorder_steps(ledger: ProofLog) -> list[ProofStep]:
    steps: list[ProofStep] = []
    waiting = [0] if ledger.goal.sets else []
    while waiting:
        node = waiting.pop()
        steps.extend(write_node_steps(ledger.steps[node]))
        if node in ledger.splits:
            step, first, second = ledger.splits[node]
            steps.append(step)
            waiting += [second, first]
    return steps
