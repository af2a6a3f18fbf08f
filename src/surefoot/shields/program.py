"""The rules of a synthesis as a policy, and a policy that it overrules (Algorithm 3, Zhu et al., PLDI 2019).

The paper's shield predicts the next state and asks whether the invariant holds there. Here the prediction is
made for the middle of all disturbances, and the test leaves room for everything that disturbances and
rounding can change: what passes it is in a set of the certificate, whatever happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from surefoot.engines.barrier.engine import invariant_set_content
from surefoot.engines.barrier.invariant_set import Obligations
from surefoot.engines.barrier.scaled_system import (
    SPARE,
    Unproved,
    bound_barrier_shift,
    bound_rounding_error,
    reading_error,
    scale_system,
)
from surefoot.problem.policy import Branch, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.query.polynomial import Polynomial, polynomial_from_constant, polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, inside_set, next_state_inside, polynomial_of
from surefoot.shields.linear_controllers import Range
from surefoot.shields.synthesis import Synthesis
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class SetPermit:
    """What is permitted is predicted to be inside this box, with a barrier of at most minus the margin."""

    inside: tuple[Range, ...]
    margin: Fraction


def synthesis_program(system: ControlSystem, found: Synthesis) -> ProgramPolicy:
    """The first rule in whose set the state is."""
    return ProgramPolicy(
        tuple(
            Branch(inside_set(system, b.set.domain, b.set.barrier, b.set.margin), b.then)
            for b in found.branches
        )
    )


def synthesis_evidence(found: Synthesis, permits: Sequence[SetPermit] | None = None) -> dict[str, Any]:
    """What the certificate needs to know of the sets."""
    shown: dict[str, Any] = {"sets": [invariant_set_content(b.set) for b in found.branches]}
    if found.uncovered:
        shown["parts"] = [box for b in found.branches for box in b.set.proof["covers"]]
    if permits is not None:
        shown["permits"] = [{"inside": p.inside, "margin": p.margin} for p in permits]
    return shown


def shield_policy(
    system: ControlSystem, found: Synthesis, policy: Policy
) -> tuple[ShieldedPolicy, tuple[SetPermit, ...]]:
    """The policy, overruled where its controls are not seen to lead into a set."""
    permits = permits_of(system, found)
    test = next_state_inside(
        system, [b.set.barrier for b in found.branches], [(p.inside, p.margin) for p in permits]
    )
    return ShieldedPolicy(policy, test, synthesis_program(system, found)), permits


def permits_of(system: ControlSystem, found: Synthesis) -> tuple[SetPermit, ...]:
    """Boxes and margins with room for what disturbances and rounding can change."""
    hull = [
        (min(low for low, _ in ranges), max(high for _, high in ranges))
        for ranges in zip(*(b.set.domain for b in found.branches), strict=True)
    ]
    far = _prediction_errors(system, hull, _left_out(system, found))
    permits = []
    for branch in found.branches:
        inside = tuple(
            (_round_up(low + gap), _round_down(high - gap))
            for (low, high), gap in zip(branch.set.domain, far, strict=True)
        )
        sizes = {
            name: (float(max(abs(a), abs(b))), 0.0)
            for name, (a, b) in zip(system.variables, branch.set.domain, strict=True)
        }
        error = (
            Fraction(bound_rounding_error(branch.set.barrier, sizes)[1]) if system.rounded else Fraction(0)
        )
        room = Fraction(branch.set.proof["margins"]["room"])
        change = bound_barrier_shift(system, branch.set.barrier, branch.set.domain, far)
        permits.append(SetPermit(inside, _round_up((room + error + change) * SPARE)))
    return tuple(permits)


def with_room_between(system: ControlSystem, found: Synthesis, budget: Budget) -> Synthesis:
    """In continuous time what is proposed may lead from one set into another: each set is shown to be safe
    with room for periods that begin in the others, or else stays as it is."""
    planes = [scale_system(system, b.then, b.set.domain, tested=True) for b in found.branches]
    periods = tuple(where.proposed for where in planes if where.proposed is not None)
    branches = []
    for where, branch in zip(planes, found.branches, strict=True):
        roomy = replace(where, others=periods)
        work = Obligations(roomy, branch.set.barrier, branch.set.tested, budget)
        try:
            proof = {**branch.set.proof, "unsafe": work.unsafe()}
            branches.append(replace(branch, set=replace(branch.set, proof=proof)))
        except Unproved:
            branches.append(branch)
    return replace(found, branches=tuple(branches))


def _round_up(value: Fraction) -> Fraction:
    found = Fraction(float(value))
    return found if found >= value else Fraction(float(value + abs(value) / 2**50))


def _round_down(value: Fraction) -> Fraction:
    return -_round_up(-value)


def _left_out(system: ControlSystem, found: Synthesis) -> list[Fraction]:
    """In continuous time, how far states after a period may be from what is predicted in exact numbers."""
    zero = [Fraction(0)] * len(system.variables)
    if system.motion is None:
        return zero
    planes = [scale_system(system, b.then, b.set.domain, tested=True) for b in found.branches]
    steps = [where.prediction_error(where.proposed) for where in planes if where.proposed is not None]
    return [max(several) for several in zip(zero, *steps, strict=True)]


def _prediction_errors(
    system: ControlSystem, hull: Sequence[Range], more: Sequence[Fraction]
) -> list[Fraction]:
    """How far each next value may be from the predicted one; `more`: by what else."""
    names = [*system.variables, *(n for n, _, _ in system.controls), *(n for n, _ in system.disturbances)]
    size, count = len(names), len(system.disturbances)
    free = {n: polynomial_from_variable(i, size) for i, n in enumerate(names)}
    middle = {n: (low + high) / 2 for n, (low, high) in system.disturbances}
    there = free | {n: free[n] + polynomial_from_constant(m, size) for n, m in middle.items()}
    fixed = free | {n: polynomial_from_constant(m, size) for n, m in middle.items()}
    sizes = [max(abs(low), abs(high)) for low, high in hull]
    sizes += [max(abs(low or Fraction(0)), abs(high or Fraction(0))) for _, low, high in system.controls]
    widths = [(high - low) / 2 for _, (low, high) in system.disturbances]
    known = {n: (float(s), 0.0) for n, s in zip(names[: size - count], sizes, strict=True)}
    if system.motion is not None:
        read = zip(system.variables, sizes, strict=False)
        known |= {n: (float(s + reading_error(s)), float(reading_error(s)) * 2) for n, s in read}
    known |= {n: (float(max(abs(a), abs(b))), 0.0) for n, (a, b) in system.disturbances}
    found = []
    for term, rest in zip(system.next, more, strict=True):
        moved, still = (polynomial_of(term, n, size, system.rounded) for n in (there, fixed))
        change = _magnitude_bound(moved - still, [*sizes, *widths])
        error = Fraction(2 * bound_rounding_error(term, known)[1]) if system.rounded else Fraction(0)
        found.append((change + error + rest) * SPARE)
    return found


def _magnitude_bound(polynomial: Polynomial, sizes: Sequence[Fraction]) -> Fraction:
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        product = abs(coefficient)
        for size, exponent in zip(sizes, monomial, strict=True):
            product *= size**exponent
        total += product
    return total
