"""Stronger rules for sets that there are.

Where a network wants to leave a set, its shield intervenes again and again, and each time the rule moves the
state back by as much as it is strong: after a strong push the network can act for longer. The controls that
push furthest into a set {B <= 0} are those against B's slope, u = -c * (dB/du), and for a large c they are at
their ends. Here they are made an affine rule by least squares over states of the set (of degree 2 they are
one), and the same set is proved anew with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot.encode.barrier import System, rows_of
from surefoot.engines.barrier.closed import ClosedSet, closed_set, covering
from surefoot.engines.barrier.plane import Unproved, plane
from surefoot.engines.barrier.sampled import Floats, sampled
from surefoot.engines.barrier.search import ends
from surefoot.engines.shield.gains import Gain
from surefoot.engines.shield.synthesis import Branch
from surefoot.engines.shield.widening.trial import Moving, Piece
from surefoot.engines.shield.widening.widen import covered_by
from surefoot.work.budget import Budget

TIMES = (8.0, 4.0, 3.0, 2.5, 2.0, 1.7, 1.4, 1.2)  # of the room of a control: what the rule asks for at most
DRAWN, LEAST = 20000, 200  # states of the domain; so many in the set
CLOSE = 1e-4  # of the domain: between two states of a slope


def stronger(
    system: System, branch: Branch, piece: Piece, moving: Moving, budget: Budget
) -> Iterator[Branch]:
    """The branch with the same set and stronger rules, as far as they are proved; the strongest first."""
    if len(rows_of(branch.set.barrier)) > 1:
        return
    states = np.random.default_rng(budget.seed).uniform(piece.low, piece.high, (DRAWN, len(piece.low)))
    states = states[piece.contains(states)]
    if len(states) < LEAST:
        return
    slopes = _slopes(piece, states) @ moving.control
    known = np.column_stack([states, np.ones(len(states))])
    solved = -np.linalg.lstsq(known, slopes, rcond=None)[0].astype(np.float64)
    largest = np.abs(known @ solved).max(axis=0)
    if not np.all(largest > 0):
        return
    room = np.array([float((high or 0) - (low or 0)) / 2 for _, low, high in system.controls])
    for times in TIMES:
        if budget.spent():
            return
        rule = solved * (times * float((room / largest).min()))
        gain = Gain(rule[:-1].T, rule[-1])
        controls = sampled(system, ()).clipped(gain.controls(states))
        if not piece.contains(moving.step(states, controls)).all():
            continue
        if (made := _proved(system, branch, gain, budget)) is not None:
            yield Branch(gain.terms(system), made)


def _slopes(piece: Piece, states: Floats) -> Floats:
    steps = np.diag((piece.high - piece.low) * CLOSE)
    return np.column_stack([
        (piece.highest(states + step) - piece.highest(states - step)) / (2 * step.max()) for step in steps
    ])  # fmt: skip


def _proved(system: System, branch: Branch, gain: Gain, budget: Budget) -> ClosedSet | None:
    covers = covered_by(branch.set)
    where = plane(system, gain.terms(system), branch.set.domain, tested=True)
    rows = [where.of(row) for row in rows_of(branch.set.barrier)]
    try:
        made = closed_set(where, rows, covers[0] if covers else None, ends(system)[-1], True, budget)
        for cover in covers[1:]:
            made = covering(where, made, cover, budget)
    except Unproved:
        return None
    return made
