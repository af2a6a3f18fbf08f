"""Reachable sets of a network in its plant: safety, goals and safety for ever, with a certificate.

Sets are affine forms whose symbols plant and network share (Singh et al. 2018 for networks), time is followed
by Taylor series with a validated remainder (Moore 1966; Lohner 1987; Chen, Ábrahám and Sankaranarayanan 2012,
Flow*), starts are halved where a set is too wide (as in NNV, POLAR-Express and CORA, the tools of ARCH-COMP's
category AINNCS). What is shown in floats is computed again in integers by the checker.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from surefoot.engines.engine_text import show_changes
from surefoot.engines.protocol import Turns
from surefoot.errors import InvalidProblem, SurefootError
from surefoot.problem.problem import Problem
from surefoot.term.arguments import (
    check_fields,
    take_bool,
    take_in_range,
    take_optional,
    take_text,
    whole_number,
)
from surefoot.verdict.verdict import Certificate, Proved, Unknown, Verdict
from surefoot.work.budget import Budget

if TYPE_CHECKING:
    from surefoot.engines.reach.analysis import Analysis


@dataclass(frozen=True, slots=True, repr=False)
class Reach:
    name: ClassVar[str] = "reach"

    order: int | None = None
    """Symbols for each variable; without it as many as were found useful."""

    taylor: int | None = None
    """The order of series in time; without it as the plant needs it."""

    pieces: int | None = None
    """Sub-steps of a control period; without it as the plant needs them."""

    halvings: int | None = None
    """How often the set that a network sees is halved; without it as its outputs need it."""

    run_directory: str | None = None
    """Cells that are done are recorded in this folder."""

    resume: bool = False
    """Go on with what the folder has; what it says goes through the checker like anything else."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        some = take_optional(take_in_range(whole_number, 1))
        folder = take_optional(take_text)
        check_fields(
            self,
            order=some,
            taylor=some,
            pieces=some,
            halvings=take_optional(whole_number),
            run_directory=folder,
            resume=take_bool,
        )

    def objection(self, problem: Problem) -> str | None:
        from surefoot.engines.reach.analysis import prepare_problem  # with all that it needs

        try:
            prepare_problem(problem)
        except SurefootError as why:
            return str(why)
        except OverflowError:
            return "a constant is beyond all doubles, in which sets are followed; fix: scale the variables"
        return None

    def suits(self, problem: Problem) -> bool:
        """Is time continuous, or a step more than pieces of linear maps?"""
        from surefoot.reductions.closed_loop import is_curved, read_closed_loop

        if problem.environment.flow is not None:
            return True
        try:
            return is_curved(read_closed_loop(problem))
        except SurefootError:
            return False

    def begin(self, problem: Problem, seed: int) -> Turns:
        """What goes on where it stopped; what is recorded in a folder does so by itself."""
        return self if self.run_directory is not None or self.resume else ReachTurns(self)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        if self.run_directory is None and self.resume:
            raise InvalidProblem("there is nothing to resume", fix="name the folder with --run-directory")
        return ReachTurns(self).check(problem, budget)


@dataclass(slots=True, eq=False)
class ReachTurns:
    """The engine at work on one problem."""

    engine: Reach
    analysis: Analysis | None = None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        from surefoot.engines.reach.analysis import GivenOptions, begin_analysis

        asked = self.engine
        if self.analysis is None:
            given = GivenOptions(asked.order, asked.taylor, asked.pieces, asked.halvings)
            self.analysis = begin_analysis(problem, given)
        folder = None if asked.run_directory is None else Path(asked.run_directory)
        import numpy as np

        with np.errstate(all="ignore"):  # sets without bounds give no number, and are given up
            found = self.analysis.go_on(budget, folder, resume=asked.resume)
        if found.content is None:
            return Unknown(found.reason, found.words, artifact=found.flowpipe)
        return Proved(Certificate("reach", found.content), artifact=found.flowpipe)
