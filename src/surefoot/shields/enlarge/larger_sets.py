"""Closed sets that contain the states which the network visits by itself.

Zhu et al. (PLDI 2019) take any set that contains the starts; a shield with a small one overrules networks
that are safe. Here the semidefinite program of section 4.2 is solved once more for the same rule: among the
barriers whose margin is a small part of the largest one, the one with the smallest sum of max(0, B + room)
over visited states. What is found is proved exactly as any other set, and replaces the set of its rule if it
contains more of these states and all starts that the old one covered; else the old one is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.barrier.domain import inner_limits
from surefoot.engines.barrier.float_system import Floats, evaluate_polynomial
from surefoot.engines.barrier.invariant_set import InvariantSet, cover_start_box, prove_invariant_set
from surefoot.engines.barrier.scaled_system import Range, ScaledSystem, Unproved, scale_system
from surefoot.engines.barrier.search import contraction_factors, saturation_cases, shrink_domain
from surefoot.engines.barrier.sos_candidate import Polyhedron, Shape, SosTemplate, fit_barrier, sos_template
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import ControlSystem, barrier_rows
from surefoot.shields.enlarge.visited_states import visited_states
from surefoot.shields.linear_controllers import Oracle
from surefoot.shields.synthesis import ShieldRule, Synthesis
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late

Truths: TypeAlias = NDArray[np.bool_]
ENOUGH = 0.999  # of the visited states
SAMPLE = 200  # states in one program
ROOMY = Fraction(5, 4)  # times the box of the visited states
LEAST_SECONDS = 10.0
TIMES = 1.0  # of what the synthesis took


def enlarge_sets(
    system: ControlSystem, found: Synthesis, oracle: Oracle, shapes: Sequence[Shape], budget: Budget
) -> Synthesis:
    """The same rules; sets are replaced where better ones are proved in time."""
    seconds = max(LEAST_SECONDS, TIMES * budget.elapsed_seconds())
    branches = list(found.branches)
    try:
        states = visited_states(system, oracle, budget)
        within = budget.begin_part(min(budget.remaining(), seconds))
        for index in range(len(branches)):
            outside = states[~_in_any_set(system, branches[:index] + branches[index + 1 :], states)]
            if within.is_spent() or not len(outside):
                break
            branches[index] = _enlarge_set(system, branches[index], outside, shapes, within)
    except Late:
        return replace(found, branches=tuple(branches))
    except KeyboardInterrupt:
        return replace(found, branches=tuple(branches), interrupted=True)
    return replace(found, branches=tuple(branches))


def _enlarge_set(
    system: ControlSystem, branch: ShieldRule, states: Floats, shapes: Sequence[Shape], budget: Budget
) -> ShieldRule:
    best, share = branch, float(_in_rule_set(system, branch, states).mean())
    for where, shape, reached, factor in _enumerate_attempts(system, branch, states, shapes, budget):
        if share >= ENOUGH or budget.is_spent():
            break
        budget.progress(f"shield: {share:.1%} of what the network visits is in the set of a rule")
        outside = states[~_in_rule_set(system, best, states)]
        sample = np.random.default_rng(budget.seed).permutation(outside)[:SAMPLE]
        covers = covered_by(branch.set)
        barrier = fit_barrier(where, covers[0], shape, factor, reached, budget, _in_units(where, sample))
        if barrier is None:
            continue
        if float(_in_level_set(where, [barrier], states).mean()) <= share:
            continue
        try:
            made = prove_invariant_set(
                where, [barrier], covers[0], reached, branch.set.tested, budget, shape.squares
            )
            for cover in covers[1:]:
                made = cover_start_box(where, made, cover, budget)
        except Unproved:
            continue
        other = ShieldRule(branch.then, made)
        if (more := float(_in_rule_set(system, other, states).mean())) > share:
            best, share = other, more
    return best


def _enumerate_attempts(
    system: ControlSystem, branch: ShieldRule, states: Floats, shapes: Sequence[Shape], budget: Budget
) -> Iterator[tuple[ScaledSystem, SosTemplate, list[tuple[bool, bool]], Fraction]]:
    """What the search for sets tries, in the box of the set and in one around the states."""
    for shape in [shape for shape in shapes if not isinstance(shape, Polyhedron)][:2]:
        for domain in dict.fromkeys((_box_around(system, branch.set, states), branch.set.domain)):
            try:
                where = shrink_domain(scale_system(system, branch.then, domain, tested=True), tested=True)
            except Unproved:
                continue
            for reached in reversed(saturation_cases(system)):
                for factor in contraction_factors(system, branch.then, budget):
                    yield where, sos_template(shape), reached, factor


def _box_around(system: ControlSystem, known: InvariantSet, states: Floats) -> tuple[Range, ...]:
    """The set's box and the states with some room, but nothing beyond which all is unsafe."""
    found = []
    for i, ((low, high), (least, most)) in enumerate(zip(known.domain, inner_limits(system), strict=True)):
        first = min(low, Fraction(float(states[:, i].min())))
        last = max(high, Fraction(float(states[:, i].max())))
        middle, half = (first + last) / 2, (last - first) / 2 * ROOMY
        first = middle - half if first < low else low
        last = middle + half if last > high else high
        first = first if least is None else max(first, least)
        last = last if most is None else min(last, most)
        found.append((Fraction(float(first)), Fraction(float(last))))
    return tuple(found)


def _in_any_set(system: ControlSystem, branches: Sequence[ShieldRule], states: Floats) -> Truths:
    found: Truths = np.zeros(len(states), dtype=bool)
    for branch in branches:
        found |= _in_rule_set(system, branch, states)
    return found


def _in_rule_set(system: ControlSystem, branch: ShieldRule, states: Floats) -> Truths:
    where = scale_system(system, branch.then, branch.set.domain)
    return _in_level_set(where, [where.of(row) for row in barrier_rows(branch.set.barrier)], states)


def _in_level_set(where: ScaledSystem, rows: Sequence[Polynomial], states: Floats) -> Truths:
    """Which states are in the plane's box where no row of the barrier is positive."""
    low, high = (np.array([float(r[i]) for r in where.domain]) for i in (0, 1))
    in_box = ((states >= low) & (states <= high)).all(axis=1)
    inside = _in_units(where, states)
    found: Truths = in_box & np.all([evaluate_polynomial(row, inside) <= 0 for row in rows], axis=0)
    return found


def _in_units(where: ScaledSystem, states: Floats) -> Floats:
    """States in the units of the plane; disturbances, of which no barrier speaks, are 0."""
    centres, units = (np.array([float(u[i]) for u in where.units[: states.shape[1]]]) for i in (0, 1))
    return np.pad((states - centres) / units, ((0, 0), (0, where.size - states.shape[1])))


def covered_by(known: InvariantSet) -> list[tuple[Range, ...]]:
    """The boxes that the set is shown to contain."""
    return [tuple((Fraction(low), Fraction(high)) for low, high in box) for box in known.proof["covers"]]
