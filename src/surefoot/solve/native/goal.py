"""The sets of atoms of which one has to hold entirely, as rows over the outputs of the compiled network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.network.outward import Array
from surefoot.query.bounds import Interval, interval
from surefoot.solve.native.bounding.substitute import Bounded
from surefoot.solve.native.problem import Compiled, Mask, Opposed, conjunctions, opposed

_HARDLY = 1e-9  # relative
MOST = 64  # conjunctions that a formula is multiplied out to


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """Row j says atom j <= 0; the rows after the atoms are the negatives of equalities."""

    sets: tuple[tuple[int, ...], ...]
    rows: Array
    of_set: tuple[NDArray[np.intp], ...]  # the rows that have to be <= 0 for each set
    opposed: dict[tuple[int, ...], Opposed]  # sets left out: one or two of their atoms hold nowhere


def goal(problem: Compiled, whole: Bounded) -> Goal:
    """The sets of the formula, without atoms that hold everywhere in the box; `whole`: its bounds."""
    ranges = _ranges(problem)
    sure = _sure(problem, whole) | _exactly_sure(problem, ranges)
    found = (tuple(j for j in several if j not in sure) for several in conjunctions(problem.tree, MOST))
    every = _least(tuple(dict.fromkeys(found)))
    refuted = {
        several: _exactly_false(problem, ranges, several) or opposed(problem, several) for several in every
    }
    pairs = {several: pair for several, pair in refuted.items() if pair is not None}
    sets = tuple(several for several in every if several not in pairs)
    count, both = len(problem.strict), np.flatnonzero(problem.equal)
    mirrored = {int(j): count + i for i, j in enumerate(both)}
    rows = np.concatenate([np.eye(count), -np.eye(count)[both]])
    of_set = tuple(
        np.array([*several, *(mirrored[j] for j in several if j in mirrored)], dtype=np.intp)
        for several in sets
    )
    return Goal(sets, rows, of_set, pairs)


def _least(sets: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The sets that do not contain another one: where a set holds, so do those within it."""
    bare = [frozenset(several) for several in sets]
    return tuple(several for several, own in zip(sets, bare, strict=True) if not any(b < own for b in bare))


def _sure(problem: Compiled, whole: Bounded) -> frozenset[int]:
    least = whole.least(-np.eye(len(problem.strict)))[1][0]
    holds = np.where(problem.strict, least > 0, least >= 0) & ~problem.equal
    return frozenset(np.flatnonzero(holds).tolist())


def _ranges(problem: Compiled) -> list[Interval]:
    """The exact range of every atom over inputs alone: floats miss what just holds, or just does not."""
    outputs = {name for call in problem.calls for name in call.outputs}
    box = dict(zip(problem.names, problem.exact, strict=True))
    return [
        (None, None) if any(name in outputs for name, _ in form.coefficients) else interval(form, box)
        for form in problem.forms
    ]


def _exactly_sure(problem: Compiled, ranges: Sequence[Interval]) -> frozenset[int]:
    """Atoms that hold everywhere."""
    found = set()
    for j, (least, most) in enumerate(ranges):
        low_enough = most is not None and (most < 0 if problem.strict[j] else most <= 0)
        if low_enough and (not problem.equal[j] or least == 0):
            found.add(j)
    return frozenset(found)


def _exactly_false(problem: Compiled, ranges: Sequence[Interval], several: Sequence[int]) -> Opposed | None:
    """An atom of the set that holds nowhere."""
    for j in several:
        least, most = ranges[j]
        if least is not None and (least > 0 or (least == 0 and problem.strict[j])):
            return Opposed(((j, Fraction(1)),), least, least == 0)
        if most is not None and most < 0 and problem.equal[j]:
            return Opposed(((j, Fraction(-1)),), -most, False)
    return None


def failing(problem: Compiled, least: Array) -> Mask:
    """Which atoms hold nowhere in which boxes, from lower bounds of all rows."""
    count = len(problem.strict)
    above = least[:, :count]
    fails = np.where(problem.strict, above >= 0, above > 0)
    fails[:, problem.equal] |= least[:, count:] > 0
    return fails


def holding(rows: Array, found: Bounded) -> Mask:
    """Which rows of outputs are <= 0 in the whole box, or hardly more: they refute nothing."""
    planes, least = found.least(-rows)
    box = found.boxes[0]
    size = np.matmul(np.abs(planes.coefficients), box.magnitude[..., None])[..., 0] + np.abs(planes.constant)
    return np.asarray(least >= -_HARDLY * size)
