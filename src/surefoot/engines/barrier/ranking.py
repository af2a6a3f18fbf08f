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

from surefoot.encode.barrier import System, conjunctions
from surefoot.engines.barrier.closed import ClosedSet, Obligations, number_text, written
from surefoot.engines.barrier.find import pairs
from surefoot.engines.barrier.plane import Unproved, plane, shift
from surefoot.engines.barrier.search import search
from surefoot.problem.term import Term
from surefoot.query.polynomial import Polynomial, constant, monomials
from surefoot.solve.sos import Condition, fit
from surefoot.work.budget import Budget

FALLS = tuple(Fraction(1, 2**bits) for bits in (6, 10, 14, 18, 22, 27))  # in units of the plane


def ranking(
    work: Obligations, target: Term, reached: Sequence[tuple[bool, bool]], degrees: Sequence[int]
) -> dict[str, Any]:
    """The function and its proofs; `Unproved` where there is none."""
    for degree in degrees:
        for least in FALLS:
            work.budget.progress(f"barrier: a ranking function of degree {degree}")
            basis = [m for m in monomials(work.where.states, work.where.size, degree) if any(m)]
            found = fit(_conditions(work, target, reached, basis, 4 * least), len(basis), work.budget)
            if found is None:
                continue
            function = Polynomial({m: c for m, c in zip(basis, found, strict=True) if c})
            try:
                return _proved(work, target, reached, written(work.where, function), least)
            except Unproved:
                continue
    raise Unproved("no ranking function is found")


def _modes(
    work: Obligations, reached: Sequence[tuple[bool, bool]]
) -> list[tuple[list[Polynomial], list[Polynomial], list[tuple[int, ...]]]]:
    """Next values, constraints and their products for each case of the controls."""
    where = work.where
    disturbed, found = where.disturbed(), []
    for controls, constraints in where.modes(reached):
        inside = [*work.inside(), *disturbed, *constraints]
        first = len(work.inside())
        products = [
            *work.own(),
            *pairs(len(where.system.disturbances), first),
            *((first + len(disturbed) + i,) for i in range(len(constraints))),
        ]
        found.append((where.following(controls), inside, products))
    return found


def _outside(work: Obligations, target: Term) -> list[tuple[list[Fraction], list[Polynomial]]]:
    """Ways to be outside of the target: the slack and the polynomial of each comparison."""
    found = []
    for case in conjunctions(target, False):
        slack = [work.slack(left, right) for left, right in case]
        gaps = [
            work.where.of(right) - work.where.of(left) + constant(s, work.where.size)
            for (left, right), s in zip(case, slack, strict=True)
        ]
        found.append((slack, gaps))
    return found


def _conditions(
    work: Obligations,
    target: Term,
    reached: Sequence[tuple[bool, bool]],
    basis: Sequence[tuple[int, ...]],
    least: Fraction,
) -> list[Condition]:
    where, found = work.where, []
    for following, inside, products in _modes(work, reached):
        moved = [
            (value - constant(centre, where.size)).times(1 / unit)
            for value, (centre, unit) in zip(following, where.units, strict=False)
        ]
        rest = [constant(0, where.size)] * len(where.system.disturbances)
        linear = {
            k: Polynomial({m: Fraction(1)})
            - Polynomial({m: Fraction(1)}).replaced([*moved, *rest], where.size)
            for k, m in enumerate(basis)
        }
        for _, gaps in _outside(work, target):
            more = [(len(inside) + i,) for i in range(len(gaps))]
            found.append(
                Condition(
                    constant(-least, where.size),
                    linear,
                    (*inside, *gaps),
                    (*products, *more),
                    where.everything,
                )
            )
    return found


def _proved(
    work: Obligations,
    target: Term,
    reached: Sequence[tuple[bool, bool]],
    function: Term,
    least: Fraction,
) -> dict[str, Any]:
    where = work.where
    _, step, _ = work.margins()
    drift = shift(where.system, function, where.domain, step) if any(step) else Fraction(0)
    before, cases = where.of(function), []
    for following, inside, products in _modes(work, reached):
        after = where.of(function, dict(zip(where.system.variables, following, strict=True)))
        wanted = before - after - constant(least + drift, where.size)
        several = []
        for slack, gaps in _outside(work, target):
            more = [(len(inside) + i,) for i in range(len(gaps))]
            shown = work.proved("the ranking", wanted, [*inside, *gaps], [*products, *more])
            several.append({"slack": [number_text(s) for s in slack], "proof": shown})
        cases.append(several)
    return {"function": function, "least": least, "drift": drift, "cases": cases}


def set_and_work(
    system: System, then: tuple[Term, ...], degrees: tuple[int, ...], budget: Budget
) -> Iterator[tuple[ClosedSet, Obligations, list[tuple[bool, bool]]]]:
    """Closed sets of rising degree, with what their proofs are made of."""
    for degree in degrees:
        found = search(system, then, (degree,), budget)
        if isinstance(found, ClosedSet):
            where = plane(system, then, found.domain)
            shown = found.proof["saturation"]
            reached = [
                (low is not None and pair[0] is None, high is not None and pair[1] is None)
                for (_, low, high), pair in zip(system.controls, shown, strict=True)
            ]
            yield found, Obligations(where, found.barrier, False, budget), reached
