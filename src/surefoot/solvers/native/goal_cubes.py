"""The sets of atoms of which one has to hold entirely, as rows over the outputs of the compiled network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array
from surefoot.query.bounds import linear_range
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.compiled_query import (
    CompiledQuery,
    Mask,
    OpposedAtoms,
    find_opposed_atoms,
    formula_cubes,
)
from surefoot.term.linear import add_forms, scale_form

_HARDLY = 1e-9  # relative
MOST = 64  # conjunctions that a formula is multiplied out to


@dataclass(frozen=True, slots=True, eq=False)
class GoalCubes:
    """A row for each atom that counts says that it is <= 0; after these the negatives of equalities."""

    sets: tuple[tuple[int, ...], ...]
    rows: Array
    atoms: NDArray[np.intp]  # of each row
    direct: int  # rows that are no negatives
    of_set: tuple[NDArray[np.intp], ...]  # the rows that have to be <= 0 for each set
    opposed: dict[tuple[int, ...], OpposedAtoms]  # sets left out: one or two of their atoms hold nowhere


def select_goal_cubes(problem: CompiledQuery, whole: NetworkBounds, every_atom: bool) -> GoalCubes:
    """The sets of the formula, without atoms that hold everywhere in the box; `whole`: its bounds.

    `every_atom`: with rows also for atoms that are in no set.
    """
    ranges = _exact_ranges(problem)
    sure = _atoms_exactly_true(problem, ranges)
    sure |= _atoms_true_by_bounds(problem, whole, [j for j in range(len(problem.strict)) if j not in sure])
    found = (tuple(j for j in several if j not in sure) for several in formula_cubes(problem.tree, MOST))
    every = _minimal_cubes(tuple(dict.fromkeys(found)))
    refuted = {
        several: _find_false_atom(problem, ranges, several)
        or find_opposed_atoms(problem, several)
        or _find_opposed_in_box(problem, several)
        for several in every
    }
    pairs = {several: pair for several, pair in refuted.items() if pair is not None}
    sets = tuple(several for several in every if several not in pairs)
    count = len(problem.strict)
    named = range(count) if every_atom else sorted({j for several in sets for j in several})
    both = [j for j in named if problem.equal[j]]
    place = {j: i for i, j in enumerate(named)}
    mirrored = {j: len(place) + i for i, j in enumerate(both)}
    atoms = np.array([*named, *both], dtype=np.intp)
    rows = np.zeros((atoms.size, count))
    rows[np.arange(atoms.size), atoms] = [1.0] * len(place) + [-1.0] * len(both)
    of_set = tuple(
        np.array(
            [*(place[j] for j in several), *(mirrored[j] for j in several if j in mirrored)], dtype=np.intp
        )
        for several in sets
    )
    return GoalCubes(sets, rows, atoms, len(place), of_set, pairs)


def _minimal_cubes(sets: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The sets that do not contain another one: where a set holds, so do those within it."""
    bare = [frozenset(several) for several in sets]
    return tuple(several for several, own in zip(sets, bare, strict=True) if not any(b < own for b in bare))


def _atoms_true_by_bounds(
    problem: CompiledQuery, whole: NetworkBounds, some: Sequence[int]
) -> frozenset[int]:
    """Those of some atoms that bounds show to hold everywhere."""
    rows = np.zeros((len(some), len(problem.strict)))
    rows[np.arange(len(some)), some] = -1.0
    least = whole.least(rows)[1][0].tolist() if some else []
    holds = (j for j, room in zip(some, least, strict=True) if (room > 0 if problem.strict[j] else room >= 0))
    return frozenset(j for j in holds if not problem.equal[j])


def _exact_ranges(problem: CompiledQuery) -> list[tuple[Fraction, Fraction] | None]:
    """The exact range of every atom over inputs alone, None for the others.

    Floats miss what just holds, or just does not.
    """
    box = dict(zip(problem.names, problem.exact, strict=True))
    return [
        cast("tuple[Fraction, Fraction]", linear_range(form, box))
        if all(name in box for name, _ in form.coefficients)
        else None
        for form in problem.forms
    ]


def _atoms_exactly_true(
    problem: CompiledQuery, ranges: Sequence[tuple[Fraction, Fraction] | None]
) -> frozenset[int]:
    """Atoms that hold everywhere."""
    found = set()
    for j, ends in enumerate(ranges):
        if ends is None:
            continue
        least, most = ends
        low_enough = most < 0 if problem.strict[j] else most <= 0
        if low_enough and (not problem.equal[j] or least == 0):
            found.add(j)
    return frozenset(found)


def _find_false_atom(
    problem: CompiledQuery, ranges: Sequence[tuple[Fraction, Fraction] | None], several: Sequence[int]
) -> OpposedAtoms | None:
    """An atom of the set that holds nowhere."""
    for j in several:
        ends = ranges[j]
        if ends is None:
            continue
        least, most = ends
        if least > 0 or (least == 0 and problem.strict[j]):
            return OpposedAtoms(((j, Fraction(1)),), least, least == 0)
        if most < 0 and problem.equal[j]:
            return OpposedAtoms(((j, Fraction(-1)),), -most, False)
    return None


def _find_opposed_in_box(problem: CompiledQuery, several: Sequence[int]) -> OpposedAtoms | None:
    """Two atoms that say the opposite of each other about outputs, but for inputs, which have bounds."""
    box = dict(zip(problem.names, problem.exact, strict=True))
    alike: dict[tuple[str, ...], list[tuple[int, tuple[Fraction, ...]]]] = {}
    for j in several:
        about = sorted((name, c) for name, c in problem.forms[j].coefficients if name not in box)
        if about:
            alike.setdefault(tuple(n for n, _ in about), []).append((j, tuple(c for _, c in about)))
    for atoms in alike.values():
        for place, (j, own) in enumerate(atoms):
            for k, others in atoms[:place]:
                ratio = others[0] / own[0]
                for sign in (1, -1) if all(c == ratio * d for c, d in zip(others, own, strict=True)) else ():
                    found = _refute_atom_pair(problem, box, ((j, -sign * ratio), (k, Fraction(sign))))
                    if found is not None:
                        return found
    return None


def _refute_atom_pair(
    problem: CompiledQuery,
    box: Mapping[str, tuple[Fraction, Fraction]],
    pair: tuple[tuple[int, Fraction], tuple[int, Fraction]],
) -> OpposedAtoms | None:
    """Two atoms whose outputs cancel with these factors, if their sum holds nowhere."""
    if any(factor < 0 and not problem.equal[j] for j, factor in pair):
        return None
    (j, factor), (k, other) = pair
    total = add_forms(scale_form(problem.forms[j], factor), scale_form(problem.forms[k], other))
    least = linear_range(total, box)[0]
    assert least is not None
    strict = bool(problem.strict[j] or problem.strict[k])
    return OpposedAtoms(pair, least, least == 0) if least > 0 or (least == 0 and strict) else None


def failing_atoms(problem: CompiledQuery, sets: GoalCubes, least: Array) -> Mask:
    """Which atoms hold nowhere in which boxes, from lower bounds of all rows."""
    atoms, both = sets.atoms[: sets.direct], sets.atoms[sets.direct :]
    above = least[:, : sets.direct]
    fails = np.zeros((len(least), len(problem.strict)), dtype=np.bool_)
    fails[:, atoms] = np.where(problem.strict[atoms], above >= 0, above > 0)
    if both.size:
        fails[:, both] |= least[:, sets.direct :] > 0
    return fails


def holding_rows(rows: Array, found: NetworkBounds) -> Mask:
    """Which rows of outputs are <= 0 in the whole box, or hardly more: they refute nothing."""
    planes, least = found.least(-rows)
    box = found.boxes[0]
    size = np.matmul(np.abs(planes.coefficients), box.magnitude[..., None])[..., 0] + np.abs(planes.constant)
    return np.asarray(least >= -_HARDLY * size)
