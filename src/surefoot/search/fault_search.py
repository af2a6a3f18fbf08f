"""Faults of a policy: violating runs are drawn, or searched for, and their decisions looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.engines.protocol import Engine
from surefoot.engines.selection import NoEngine
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.fault_analysis.bounded_fault import AHEAD
from surefoot.fault_analysis.fault_table import tabulate_faults
from surefoot.fault_analysis.last_decision import as_played, fault_objection, held_objection
from surefoot.problem.policy import ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield, shapes_for
from surefoot.shields.program import synthesis_program
from surefoot.shields.recheck import read_old_rules
from surefoot.verdict.fault import FaultKind, FaultTable
from surefoot.verdict.verdict import Result, Trace, Violated
from surefoot.work.budget import Budget

RUNS = 100  # violating runs that are looked at, if nothing else is asked for
SHIELD_SHARE = 0.3  # of the time: to prove a shield again


@dataclass(frozen=True, slots=True)
class FaultSearch:
    """The faults, and the answer of the engines where they had to be asked for a violating run."""

    table: FaultTable
    result: Result | None = None


def _fix_for(problem: Problem) -> str:
    """What to do where nothing can be said about decisions."""
    flow = problem.environment.flow
    if problem.policy is None or flow is None:
        return "ask about a policy and a property of its runs: never, within, eventually"
    if flow.continuous:
        return 'ask about steps, in doubles: `--time steps`, and `arithmetic = "float64"` in the problem file'
    return "leave `period` out of `[flow]`, so that every step is a decision"


def search_faults(
    problem: Problem,
    budget: Budget,
    *,
    runs: int = RUNS,
    by: FaultKind | None = None,
    ahead: int = AHEAD,
    shield: Path | None = None,
    engines: Engine | str | Sequence[Engine | str] | None = None,
) -> FaultSearch:
    """The faults of so many violating runs of a problem, most frequent first.

    `by`: which decision of a run is counted; None: the costliest one where chance has a part, else the last.
    `ahead`: how many steps beyond the violation it is looked where the game is not solved. `shield`: a file
    whose proved sets tell instead.
    """
    if (why := held_objection(problem) or fault_objection(as_played(problem))) is not None:
        raise Unsupported(why, fix=_fix_for(problem))
    program = None if shield is None else prove_shield_again(shield, problem, budget.part(SHIELD_SHARE))
    asked: list[Result] = []

    def search(left: Budget) -> Trace | None:
        try:
            asked.append(verify(problem, engines, left))
        except NoEngine:
            return None
        found = asked[-1]
        return found.verdict.trace if isinstance(found.verdict, Violated) and found.certified else None

    table = tabulate_faults(problem, budget, runs, search=search, by=by, ahead=ahead, shield=program)
    return FaultSearch(table, asked[0] if asked else None)


def prove_shield_again(path: Path, problem: Problem, budget: Budget) -> ProgramPolicy:
    """The program of a stored shield with its sets, which the checker accepts for this problem."""
    if not problem.environment.controls:
        fix = "leave --shield out: without real controls the game is solved, or looked ahead in"
        raise InvalidProblem("the sets of a shield are about real controls", fix=fix, where="--shield")
    made = make_certified_shield(problem, shapes_for(), budget, read_old_rules(path, problem))
    if not made.accepted:
        raise InvalidProblem(
            f"the shield is not proved for this problem: {made.reason}",
            fix="give one that `surefoot shield` made for it, or more time",
            where=str(path),
        )
    return synthesis_program(made.system, made.found)
