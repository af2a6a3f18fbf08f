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

from surefoot.engines.barrier.float_system import Floats, float_system
from surefoot.engines.barrier.invariant_set import InvariantSet, cover_start_box, prove_invariant_set
from surefoot.engines.barrier.scaled_system import Unproved, scale_system
from surefoot.engines.barrier.search import saturation_cases
from surefoot.reductions.barrier import ControlSystem, barrier_rows
from surefoot.shields.enlarge.float_shield import FloatRule, LinearDynamics
from surefoot.shields.enlarge.larger_sets import covered_by
from surefoot.shields.linear_controllers import Gain
from surefoot.shields.synthesis import ShieldRule
from surefoot.work.budget import Budget

TIMES = (8.0, 4.0, 3.0, 2.5, 2.0, 1.7, 1.4, 1.2)  # of the room of a control: what the rule asks for at most
DRAWN, LEAST = 20000, 200  # states of the domain; so many in the set
CLOSE = 1e-4  # of the domain: between two states of a slope


def enumerate_stronger_rules(
    system: ControlSystem, branch: ShieldRule, piece: FloatRule, moving: LinearDynamics, budget: Budget
) -> Iterator[ShieldRule]:
    """The branch with the same set and stronger rules, as far as they are proved; the strongest first."""
    if len(barrier_rows(branch.set.barrier)) > 1:
        return
    states = np.random.default_rng(budget.seed).uniform(piece.low, piece.high, (DRAWN, len(piece.low)))
    states = states[piece.contains(states)]
    if len(states) < LEAST:
        return
    slopes = _barrier_slopes(piece, states) @ moving.control
    known = np.column_stack([states, np.ones(len(states))])
    solved = -np.linalg.lstsq(known, slopes, rcond=None)[0].astype(np.float64)
    largest = np.abs(known @ solved).max(axis=0)
    if not np.all(largest > 0):
        return
    room = np.array([float((high or 0) - (low or 0)) / 2 for _, low, high in system.controls])
    for times in TIMES:
        if budget.is_spent():
            return
        rule = solved * (times * float((room / largest).min()))
        gain = Gain(rule[:-1].T, rule[-1])
        controls = float_system(system, ()).clip_controls(gain.controls(states))
        if not piece.contains(moving.step(states, controls)).all():
            continue
        if (made := _prove_same_set(system, branch, gain, budget)) is not None:
            yield ShieldRule(gain.terms(system), made)


def _barrier_slopes(piece: FloatRule, states: Floats) -> Floats:
    steps = np.diag((piece.high - piece.low) * CLOSE)
    return np.column_stack([
        (piece.highest(states + step) - piece.highest(states - step)) / (2 * step.max()) for step in steps
    ])  # fmt: skip


def _prove_same_set(
    system: ControlSystem, branch: ShieldRule, gain: Gain, budget: Budget
) -> InvariantSet | None:
    covers = covered_by(branch.set)
    where = scale_system(system, gain.terms(system), branch.set.domain, tested=True)
    rows = [where.of(row) for row in barrier_rows(branch.set.barrier)]
    try:
        made = prove_invariant_set(
            where, rows, covers[0] if covers else None, saturation_cases(system)[-1], True, budget
        )
        for cover in covers[1:]:
            made = cover_start_box(where, made, cover, budget)
    except Unproved:
        return None
    return made
