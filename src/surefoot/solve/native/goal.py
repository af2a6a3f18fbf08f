"""The sets of atoms of which one has to hold entirely, as rows over the outputs of the compiled network."""

from __future__ import annotations

from dataclasses import dataclass

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
    opposed: dict[tuple[int, ...], Opposed]  # sets left out: two of their atoms contradict each other


def goal(problem: Compiled, whole: Bounded) -> Goal:
    """The sets of the formula, without atoms that hold everywhere in the box; `whole`: its bounds."""
    sure = _sure(problem, whole)
    found = (tuple(j for j in several if j not in sure) for several in conjunctions(problem.tree, MOST))
    every = tuple(dict.fromkeys(found))
    pairs = {several: pair for several in every if (pair := opposed(problem, several)) is not None}
    sets = tuple(several for several in every if several not in pairs)
    count, both = len(problem.strict), np.flatnonzero(problem.equal)
    mirrored = {int(j): count + i for i, j in enumerate(both)}
    return Goal(
        sets,
        np.concatenate([np.eye(count), -np.eye(count)[both]]),
        tuple(
            np.array([*several, *(mirrored[j] for j in several if j in mirrored)], dtype=np.intp)
            for several in sets
        ),
        pairs,
    )


def _sure(problem: Compiled, whole: Bounded) -> frozenset[int]:
    least = whole.below(-np.eye(len(problem.strict))).minimum(whole.boxes[0])[0]
    holds = np.where(problem.strict, least > 0, least >= 0) & ~problem.equal
    return frozenset(np.flatnonzero(holds).tolist()) | _exactly_sure(problem)


def _exactly_sure(problem: Compiled) -> frozenset[int]:
    """Atoms over inputs alone that the exact bounds imply: floats miss those that just hold."""
    box: dict[str, Interval] = {name: (None, None) for call in problem.calls for name in call.outputs}
    box |= dict(zip(problem.names, problem.exact, strict=True))
    found = set()
    for j, form in enumerate(problem.forms):
        _, most = interval(form, box)
        if most is not None and not problem.equal[j] and (most < 0 if problem.strict[j] else most <= 0):
            found.add(j)
    return frozenset(found)


def failing(problem: Compiled, least: Array) -> Mask:
    """Which atoms hold nowhere in which boxes, from lower bounds of all rows."""
    count = len(problem.strict)
    above = least[:, :count]
    fails = np.where(problem.strict, above >= 0, above > 0)
    fails[:, problem.equal] |= least[:, count:] > 0
    return fails


def holding(sets: Goal, found: Bounded) -> Mask:
    """Which rows are <= 0 in the whole box, or hardly more: they refute nothing."""
    planes, box = found.below(-sets.rows), found.boxes[0]
    size = np.matmul(np.abs(planes.coefficients), box.magnitude[..., None])[..., 0] + np.abs(planes.constant)
    return np.asarray(planes.minimum(box) >= -_HARDLY * size)
