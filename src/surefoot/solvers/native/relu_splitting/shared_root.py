"""All alternatives of a disjunction at once, before any of them is searched for itself.

Bounds of neurons that hold in the whole box serve every alternative, and are most of the work at the root of
a wide network. Comparisons with the same left side differ by a constant alone, so one dual bound for each
left side says of all alternatives which of them it refutes; those with several comparisons that are left get
weights of their own. What is still open is searched one by one, from these bounds. Alternatives that are
about other parts of the box get a box of their own first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.query.bounds import Interval, intersect_intervals
from surefoot.query.formula import LinearAtom, Relation
from surefoot.solvers.native.relu_splitting.branch_and_bound import bound_root_domain, needed_rows
from surefoot.solvers.native.relu_splitting.chain_cases import ChainCase, chain_problem_of_case
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    ReluDomains,
    fix_stable_phases,
    refine_chain_noise,
    select_problem_rows,
)
from surefoot.solvers.native.relu_splitting.dual_bound import (
    DualProblem,
    ascend_dual_bound,
    prepare_dual_problem,
    sufficient_bound,
)
from surefoot.solvers.native.relu_splitting.neuron_bounds import (
    ClippedBounds,
    bound_deep_neurons,
    intersect_neuron_bounds,
    tighten_by_intervals,
)
from surefoot.solvers.native.relu_splitting.splitting_log import (
    CertificateNames,
    Multipliers,
    StepWriter,
)
from surefoot.solvers.native.variable_definitions import bounds_of_atom, float_box

MOST_ENTRIES = 1 << 24  # of rows over inputs and outputs
_STEPS, _NEEDED_STEPS = 20, 2  # of the ascents at the root, and to see that a row says nothing
_BATCH = 256


@dataclass(frozen=True, slots=True, eq=False)
class Refuted:
    """Sets that one row of multipliers refutes."""

    sets: tuple[int, ...]
    of: Multipliers
    row: int
    c: DualProblem
    names: CertificateNames


@dataclass(slots=True, eq=False)
class SharedRoot:
    """What is known of all sets of atoms of a case together."""

    case: ChainCase
    problem: ChainProblem  # its rows are the atoms that are not just bounds of an input
    names: CertificateNames
    c: DualProblem
    domains: ReluDomains  # one for each part of the box that some sets are about
    parts: tuple[tuple[int, ...], ...]  # the sets of each
    cuts: tuple[tuple[int, ...], ...]  # the atoms that say which part it is
    empty: tuple[tuple[int, tuple[int, ...]], ...]  # sets that no input satisfies, and the atoms that say so
    rows: dict[int, list[int]] = field(default_factory=dict)  # of every atom that does not hold anyway
    clipped: list[ClippedBounds] = field(default_factory=list)
    refuted: list[list[Refuted]] = field(default_factory=list)  # part by part
    open: list[int] = field(default_factory=list)  # sets, the one nearest to a solution first

    def rows_of(self, number: int) -> list[int]:
        """The rows of a set that count."""
        return [row for atom in self.case.sets[number] for row in self.rows.get(atom, ())]


def bound_shared_root(
    case: ChainCase, layers: tuple[tuple[Array, ...], tuple[Array, ...]]
) -> SharedRoot | None:
    """Bounds for all sets, and what they refute; None where the sets are too many or say nothing of outputs.

    `ValueError` or `OverflowError` for numbers beyond float64.
    """
    divided = _divide_by_inputs(case)
    if divided is None:
        return None
    parts, cuts, empty, boxes = divided
    absorbed = {a for some in cuts for a in some} | {a for _, some in empty for a in some}
    kept = [a for a in range(len(case.atoms)) if not _is_input_bound(case, a) or a not in absorbed]
    wide = len(case.names) + sum(len(call.outputs) for call in case.calls)
    if not kept or len(kept) * wide > MOST_ENTRIES:
        return None
    problem, names = chain_problem_of_case(case, *layers, chosen=set(kept))
    c = prepare_dual_problem(problem)
    if not (np.isfinite(c.size.rows).all() and np.isfinite(c.size.neurons).all()):
        return None
    first = bound_root_domain(c)
    low, high = (np.array(side) for side in zip(*boxes, strict=True))
    domains = first.pick(np.zeros(len(parts), dtype=np.int64))
    domains = replace(domains, low=np.maximum(domains.low, low), high=np.minimum(domains.high, high))
    domains = replace(domains, node=np.arange(len(parts)))
    root = SharedRoot(case, problem, names, c, domains, parts, cuts, empty)
    _bound_layers(root)
    c, problem = root.c, root.problem
    fix_stable_phases(domains)
    domains.theta[...] = np.where(domains.phase == 0, domains.upper > -domains.lower, 0.0)
    whole = domains if not any(cuts) else first  # the bounds of a single part are those of all
    needed = needed_rows(problem, _NEEDED_STEPS, whole.pick(slice(0, 1)))
    every: dict[int, list[int]] = {}
    for row, (atom, _) in enumerate(names.atoms):
        every.setdefault(atom, []).append(row)
        if needed[row]:
            root.rows.setdefault(atom, []).append(row)
    for s in (s for part in parts for s in part):
        if not root.rows_of(s):  # all of its rows hold anyway
            root.rows |= {atom: every[atom] for atom in case.sets[s] if atom in every}
    if any(not root.rows_of(s) for part in parts for s in part):
        return None
    root.refuted = [[] for _ in parts]
    _refute_by_single_rows(root)
    _refute_by_several_rows(root)
    return root


def _bound_layers(root: SharedRoot) -> None:
    """Bounds of all undecided neurons, layer by layer, each with float32 errors as the ones before say."""
    domains = root.domains
    for layer in range(len(root.c.slices) + 1):
        problem = refine_chain_noise(root.problem, layer, domains.lower, domains.upper)
        if problem is not root.problem:
            root.problem, root.c = problem, prepare_dual_problem(problem)
        if layer == len(root.c.slices):
            break
        tighten_by_intervals(root.c, domains)
        if layer:
            s = root.c.slices[layer]
            open_neurons = (domains.lower[:, s] < 0.0) & (domains.upper[:, s] > 0.0)
            root.clipped.append(bound_deep_neurons(root.c, domains, layer, open_neurons))
            intersect_neuron_bounds(domains, root.clipped[-1])


def _is_input_bound(case: ChainCase, atom: int) -> bool:
    own = bounds_of_atom(case.atoms[atom])
    return own is not None and own[0] in case.names


_Divided = tuple[
    tuple[tuple[int, ...], ...],
    tuple[tuple[int, ...], ...],
    tuple[tuple[int, tuple[int, ...]], ...],
    list[tuple[Array, Array]],
]


def _divide_by_inputs(case: ChainCase) -> _Divided | None:
    """Sets with the same bounds of inputs together, the atoms of these, and their boxes; and empty sets."""
    whole = dict(zip(case.names, case.bounds, strict=True))
    groups: dict[tuple[int, ...], list[int]] = {}
    empty, boxes = [], {}
    for number, several in enumerate(case.sets):
        box: dict[str, Interval] = {}
        tight: dict[tuple[str, int], int] = {}
        for atom in several:
            own = bounds_of_atom(case.atoms[atom])
            if own is None or own[0] not in whole:
                continue
            if case.atoms[atom].relation is Relation.EQ:
                return None
            name, before = own[0], box.get(own[0], whole[own[0]])
            box[name] = after = intersect_intervals(before, own[1])
            tight |= {(name, side): atom for side in (0, 1) if after[side] != before[side]}
        missed = next((n for n, (a, b) in box.items() if a is not None and b is not None and a > b), None)
        used = tuple(sorted({a for (n, _), a in tight.items() if missed in (None, n)}))
        if missed is not None:
            empty.append((number, used))
            continue
        groups.setdefault(used, []).append(number)
        if used not in boxes:
            ends = [box.get(name, whole[name]) for name in case.names]
            boxes[used] = float_box([(a, b) for a, b in ends if a is not None and b is not None])
    if not groups:
        return None
    return tuple(map(tuple, groups.values())), tuple(groups), tuple(empty), [boxes[used] for used in groups]


def _refute_by_single_rows(root: SharedRoot) -> None:
    """One dual bound for each left side and part of the box, with the hardest constant that is asked for."""
    offsets = root.problem.offsets
    place = {atom: rows[0] for atom, rows in root.rows.items()}
    side_of = {a: s for a in place if (s := _left_side(root.case.atoms[a])) is not None}
    hardest: dict[object, int] = {}
    for atom, side in side_of.items():
        best = hardest.get(side)
        if best is None or offsets[place[atom]] > offsets[place[best]]:
            hardest[side] = atom
    if not hardest:
        return
    number = {side: i for i, side in enumerate(hardest)}
    pairs = sorted(
        {
            (part, number[side_of[a]])
            for part, sets in enumerate(root.parts)
            for s in sets
            for a in root.case.sets[s]
            if a in side_of
        }
    )
    c, names = _select_rows(root, sorted(place[a] for a in hardest.values()))
    row_of = {side: i for i, (a, _) in enumerate(names.atoms) for side in (side_of[a],)}
    sides = list(hardest)
    for start in range(0, len(pairs), _BATCH):
        some = pairs[start : start + _BATCH]
        rows = np.array([row_of[sides[n]] for _, n in some])
        domains = root.domains.pick(np.array([part for part, _ in some]))
        a = ascend_dual_bound(
            c, replace(domains, row_weights=np.eye(len(names.atoms))[rows]), _STEPS, fixed_rows=True
        )
        spare = np.full(len(some), np.inf)  # by how much a constant may be worse than the hardest one
        spare[a.open] = a.bound - sufficient_bound(c, 0.5 * (a.room + a.bound))
        of = Multipliers(a.theta, domains.phase, domains.lower, a.row_weights)
        for row, (part, n) in enumerate(some):
            atoms = _atoms_refuted(
                root, part, side_of, sides[n], offsets[place[hardest[sides[n]]]] + spare[row]
            )
            if atoms:
                weakest = max(atoms.values(), key=lambda atom: offsets[place[atom]])
                told = tuple((weakest if side_of[b] == sides[n] else b, 1) for b, _ in names.atoms)
                found = Refuted(tuple(atoms), of, row, c, replace(names, atoms=told))
                root.refuted[part].append(found)


def _atoms_refuted(
    root: SharedRoot, part: int, side_of: Mapping[int, object], side: object, most: float
) -> dict[int, int]:
    """The sets of a part that are not refuted yet and have an atom of this left side below a constant."""
    offsets = {atom: root.problem.offsets[row] for row, (atom, _) in enumerate(root.names.atoms)}
    done = {s for found in root.refuted[part] for s in found.sets}
    return {
        s: a
        for s in root.parts[part]
        if s not in done
        for a in root.case.sets[s]
        if side_of.get(a) == side and offsets[a] < most
    }


def _left_side(atom: LinearAtom) -> object:
    """What is compared with a number; None for equalities."""
    return None if atom.relation is Relation.EQ else atom.linear.coefficients


def _select_rows(root: SharedRoot, rows: Sequence[int]) -> tuple[DualProblem, CertificateNames]:
    chosen = np.zeros(len(root.problem.offsets), dtype=np.bool_)
    chosen[list(rows)] = True
    names = replace(root.names, atoms=tuple(root.names.atoms[r] for r in np.flatnonzero(chosen)))
    return prepare_dual_problem(select_problem_rows(root.problem, chosen)), names


def _refute_by_several_rows(root: SharedRoot) -> None:
    """Sets of several rows that are left, each with weights of its own; the rest is open."""
    left = [
        (part, s)
        for part, sets in enumerate(root.parts)
        for s in sets
        if not any(s in found.sets for found in root.refuted[part])
    ]
    if not left:
        return
    c, names = _select_rows(root, sorted({row for _, s in left for row in root.rows_of(s)}))
    place: dict[int, list[int]] = {}
    for row, (atom, _) in enumerate(names.atoms):
        place.setdefault(atom, []).append(row)
    bounds: dict[int, float] = {}
    for start in range(0, len(left), _BATCH):
        some = left[start : start + _BATCH]
        among = np.zeros((len(some), len(names.atoms)), dtype=np.bool_)
        for row, (_, s) in enumerate(some):
            among[row, [r for a in root.case.sets[s] if a in root.rows for r in place.get(a, ())]] = True
        domains = root.domains.pick(np.array([part for part, _ in some]))
        weights = among / among.sum(axis=1, keepdims=True)
        weights = np.rint(weights * 2.0**18) / 2.0**18
        a = ascend_dual_bound(c, replace(domains, row_weights=weights), _STEPS, among=among)
        of = Multipliers(a.theta, domains.phase, domains.lower, a.row_weights)
        for row in np.flatnonzero(a.closed).tolist():
            part, s = some[row]
            root.refuted[part].append(Refuted((s,), of, row, c, names))
        bounds |= {some[i][1]: float(b) for i, b in zip(a.open.tolist(), a.bound.tolist(), strict=True)}
    root.open = sorted(bounds, key=lambda s: (bounds[s], s))


def problem_of_set(root: SharedRoot, number: int) -> tuple[ChainProblem, CertificateNames, ReluDomains]:
    """The question about one set alone, and what is known of it."""
    part = next(i for i, sets in enumerate(root.parts) if number in sets)
    chosen = np.zeros(len(root.problem.offsets), dtype=np.bool_)
    chosen[root.rows_of(number)] = True
    known = root.domains.pick(np.array([part]))
    problem = replace(select_problem_rows(root.problem, chosen), low=known.low[0], high=known.high[0])
    names = replace(root.names, atoms=tuple(root.names.atoms[r] for r in np.flatnonzero(chosen)))
    count = int(chosen.sum())
    weights, zero = np.full((1, count), 1.0 / count), np.zeros(1, dtype=np.int64)
    known = replace(known, row_weights=weights, node=zero, bent=np.zeros_like(known.bent))
    return problem, names, known


def shared_root_steps(root: SharedRoot, trees: Mapping[int, Sequence[object]]) -> list[object]:
    """The whole proof: what is shared, and of each set that was open its own `trees`."""
    steps: list[object] = []
    for number, atoms in root.empty:
        weights = [[a, str(1 / abs(root.case.atoms[a].linear.coefficients[0][1]))] for a in atoms]
        steps.append(["drop", [number], {"atoms": weights}])
    for part, sets in enumerate(root.parts):
        if part < len(root.parts) - 1:
            steps.append(["divide", list(sets)])
        steps.extend(_part_steps(root, part))
        still = [s for s in root.open if s in sets]
        for position, s in enumerate(still):
            if position < len(still) - 1:
                steps.append(["divide", [s]])
            steps.extend(trees[s])
    return steps


def _part_steps(root: SharedRoot, part: int) -> Iterator[object]:
    """The box of a part, bounds of its neurons, and the sets that these refute."""
    written, sets = StepWriter(root.c, root.names), list(root.parts[part])
    for atom in root.cuts[part]:
        linear = root.case.atoms[atom].linear
        yield ["cut", [[sets, {"atoms": [[atom, str(1 / abs(Fraction(linear.coefficients[0][1])))]]}]]]
    if root.names.folded or root.cuts[part]:
        yield from written.intervals()
    for layer, clipped in enumerate(root.clipped):
        start, end = np.searchsorted(clipped.rows, (part, part + 1)).tolist()
        if layer:  # bounds of the layer before made those of this one, and float32 errors, smaller
            yield ["forward", min(root.names.after[layer]), max(root.names.before[layer + 1])]
        yield from written.bounds(clipped, start, end)
    if root.clipped:
        yield ["forward", min(root.names.after[-1]), max(root.names.after[-1])]
    for found in root.refuted[part]:
        yield ["drop", list(found.sets), StepWriter(found.c, found.names).multipliers(found.of, found.row)]
