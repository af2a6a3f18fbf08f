"""Convergence: a polynomial that falls with every step outside of a target (Lyapunov). Zhu et al. (PLDI 2019)
say that their supplement guarantees stability of programs; the argument here is our own.

In a closed set {x in a box, B(x) <= 0} a polynomial V is looked for with V(next) <= V - least at every state
of the set that is not in the target, for every disturbance and every case of the controls. V is found in
floats and its proofs are made exact, as for barriers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from surefoot.engines.barrier.invariant_set import InvariantSet, Obligations, barrier_to_term, number_text
from surefoot.engines.barrier.scaled_system import Unproved, bound_barrier_shift, scale_system
from surefoot.engines.barrier.search import search_invariant_set
from surefoot.query.polynomial import Polynomial, enumerate_monomials
from surefoot.reductions.barrier import ControlSystem, relaxed_dnf
from surefoot.solvers.sos.template import TemplateCondition, fit_template
from surefoot.term.term import Term
from surefoot.work.budget import Budget

FALLS = tuple(Fraction(1, 2**bits) for bits in (6, 10, 14, 18, 22, 27))  # in units of the plane


def search_ranking_function(
    work: Obligations, target: Term, reached: Sequence[tuple[bool, bool]], degrees: Sequence[int]
) -> dict[str, Any]:
    """The function and its proofs; `Unproved` where there is none."""
    for degree in degrees:
        for least in FALLS:
            work.budget.progress(f"barrier: a ranking function of degree {degree}")
            basis = [m for m in enumerate_monomials(work.where.states, work.where.size, degree) if any(m)]
            found = fit_template(
                _decrease_conditions(work, target, reached, basis, 4 * least), len(basis), work.budget
            )
            if found is None:
                continue
            function = Polynomial({m: c for m, c in zip(basis, found, strict=True) if c})
            try:
                return _prove_decrease(work, target, reached, barrier_to_term(work.where, function), least)
            except Unproved:
                continue
    raise Unproved("no ranking function is found")


def _target_complement(work: Obligations, target: Term) -> list[tuple[list[Fraction], list[Polynomial]]]:
    """Ways to be outside of the target: the slack and the polynomial of each comparison."""
    found = []
    for case in relaxed_dnf(target, False):
        slack = [work.slack(left, right) for left, right in case]
        gaps = [
            work.where.of(right) - work.where.of(left) + work.where.constant(s)
            for (left, right), s in zip(case, slack, strict=True)
        ]
        found.append((slack, gaps))
    return found


def _decrease_conditions(
    work: Obligations,
    target: Term,
    reached: Sequence[tuple[bool, bool]],
    basis: Sequence[tuple[int, ...]],
    least: Fraction,
) -> list[TemplateCondition]:
    where, found = work.where, []
    for following, inside, products in work.step_modes(reached):
        moved = where.substitution(following)
        linear = {
            k: Polynomial({m: Fraction(1)})
            - Polynomial({m: Fraction(1)}).substitute_variables(moved, where.size)
            for k, m in enumerate(basis)
        }
        for _, gaps in _target_complement(work, target):
            more = [(len(inside) + i,) for i in range(len(gaps))]
            found.append(
                TemplateCondition(
                    where.constant(-least),
                    linear,
                    (*inside, *gaps),
                    (*products, *more),
                    where.everything,
                )
            )
    return found


def _prove_decrease(
    work: Obligations,
    target: Term,
    reached: Sequence[tuple[bool, bool]],
    function: Term,
    least: Fraction,
) -> dict[str, Any]:
    where = work.where
    _, step, _ = work.margins()
    drift = bound_barrier_shift(where.system, function, where.domain, step) if any(step) else Fraction(0)
    before, cases = where.of(function), []
    for following, inside, products in work.step_modes(reached):
        after = where.of(function, dict(zip(where.system.variables, following, strict=True)))
        wanted = before - after - where.constant(least + drift)
        several = []
        for slack, gaps in _target_complement(work, target):
            more = [(len(inside) + i,) for i in range(len(gaps))]
            shown = work.prove("the ranking", wanted, [*inside, *gaps], [*products, *more])
            several.append({"slack": [number_text(s) for s in slack], "proof": shown})
        cases.append(several)
    return {"function": function, "least": least, "drift": drift, "cases": cases}


def enumerate_invariant_sets(
    system: ControlSystem, then: tuple[Term, ...], degrees: tuple[int, ...], budget: Budget
) -> Iterator[tuple[InvariantSet, Obligations, list[tuple[bool, bool]]]]:
    """Closed sets of rising degree, with what their proofs are made of."""
    for degree in degrees:
        found = search_invariant_set(system, then, (degree,), budget)
        if isinstance(found, InvariantSet):
            where = scale_system(system, then, found.domain)
            shown = found.proof["saturation"]
            reached = [
                (low is not None and pair[0] is None, high is not None and pair[1] is None)
                for (_, low, high), pair in zip(system.controls, shown, strict=True)
            ]
            yield found, Obligations(where, found.barrier, False, budget), reached
