"""Barrier certificates (Zhu, Xiong, Magill and Jagannathan, PLDI 2019, section 4.2).

A program of polynomials controls a polynomial system. For it a set of states is looked for that contains the
starts, that no step leaves and that has no unsafe state: {x in a box, B(x) <= 0} for a polynomial B whose
conditions are sums of squares. B is found in floats, its proofs are made exact, and the checker expands them
again. Degrees rise from 2; the paper's condition is changed as `sos_candidate.py` says. For linear systems
the set may be a polyhedron instead, as in the paper's artifact (`polyhedron`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from surefoot.engines.engine_text import show_changes
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Recurs
from surefoot.reductions.barrier import control_branches, read_control_system, without_target
from surefoot.term.arguments import check_fields, take_in_range, take_word, whole_number
from surefoot.term.term import TRUE
from surefoot.verdict.verdict import Certificate, Proved, Reason, Refused, Unknown, Verdict
from surefoot.work.budget import Budget

if TYPE_CHECKING:
    from surefoot.engines.barrier.invariant_set import InvariantSet


@dataclass(frozen=True, slots=True, repr=False)
class Barrier:
    name: ClassVar[str] = "barrier"

    degree: int = 6
    """The highest degree of the polynomial; 2, 4, … are tried in this order."""

    polynomial: bool = False
    """Only polynomials: no polyhedra, which are tried too if the system is linear."""

    squares: Literal["auto", "sos", "sdsos"] = "auto"
    """Sums of squares with any matrices, with sums of 2x2 ones (sdsos: many variables), or by their size."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        check_fields(self, degree=take_in_range(whole_number, 1), squares=take_word("auto", "sos", "sdsos"))

    def objection(self, problem: Problem) -> str | None:
        try:
            read_control_system(_drop_target(problem))
            rules = control_branches(problem.policy)
        except Unsupported as why:
            return str(why)
        flow = problem.environment.flow
        if flow is not None and flow.continuous and isinstance(problem.property, Eventually | Recurs):
            return "barrier shows convergence of steps, and the problem is about continuous time"
        if len(rules) != 1 or rules[0].when != TRUE:
            return "barrier looks at programs of one rule; sets of several rules come with their certificate"
        return None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        from surefoot.engines.barrier.search import (
            search_invariant_set,
        )  # with all that it needs, when it is needed
        from surefoot.engines.barrier.sos_candidate import SosTemplate, barrier_shapes

        if isinstance(problem.property, Eventually | Recurs):
            return self._converges(problem, budget)
        system = read_control_system(problem)
        (rule,) = control_branches(problem.policy)
        shapes = tuple(SosTemplate(degree, self.squares) for degree in range(2, self.degree + 1, 2))
        found = search_invariant_set(
            system, rule.then, shapes if self.polynomial else barrier_shapes(shapes), budget
        )
        if not isinstance(found, Refused):
            return Proved(Certificate("barrier", {"sets": [invariant_set_content(found)]}))
        if budget.is_spent():
            return Unknown(Reason.TIMEOUT, "no barrier within the time")
        return Unknown(Reason.INCOMPLETE, f"no barrier of degree {self.degree} or less: {found}")

    def _converges(self, problem: Problem, budget: Budget) -> Verdict:
        """A closed set, and in it a polynomial that falls with every step outside of the target."""
        from surefoot.engines.barrier.ranking import enumerate_invariant_sets, search_ranking_function
        from surefoot.engines.barrier.scaled_system import Unproved

        closed, target = without_target(problem)
        (rule,) = control_branches(problem.policy)
        degrees = tuple(range(2, self.degree + 1, 2))
        trouble = "no closed set"
        for found, work, reached in enumerate_invariant_sets(
            read_control_system(closed), rule.then, degrees, budget
        ):
            try:
                shown = search_ranking_function(work, target, reached, degrees[:2])
                return Proved(
                    Certificate("convergence", {"sets": [invariant_set_content(found)], "ranking": shown})
                )
            except Unproved as why:
                trouble = str(why)
        if budget.is_spent():
            return Unknown(Reason.TIMEOUT, "no ranking function within the time")
        return Unknown(Reason.INCOMPLETE, f"convergence is not shown: {trouble}")


def _drop_target(problem: Problem) -> Problem:
    """For questions about the system alone."""
    asks = isinstance(problem.property, Eventually | Recurs)
    return without_target(problem)[0] if asks else problem


def invariant_set_content(found: InvariantSet) -> dict[str, Any]:
    return {
        "domain": found.domain,
        "barrier": found.barrier,
        "tested": found.tested,
        "margin": found.margin,
        "proof": found.proof,
    }
