"""Simulation of any problem, by the tier that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Literal, TypeAlias

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.emit.state_packing import CompileObjection
from surefoot.explore.explored_model import RowStates
from surefoot.explore.initial_states import initial_rows
from surefoot.explore.row_layout import RowLayout, row_layout
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, has_value_type
from surefoot.simulate.column_simulation import LANES, ColumnObjection, ColumnSimulation
from surefoot.simulate.compiled_simulation import CompiledSimulation
from surefoot.simulate.drawn_starts import DrawnStarts
from surefoot.simulate.interpreted_simulation import InterpretedSimulation
from surefoot.simulate.path_property import DecisionCounts, PathProperty, RunOutcomes
from surefoot.term.closures import Row
from surefoot.work.machine.jit import cache_folder

_MOST_LISTED = 100_000  # tries
Tier: TypeAlias = Literal["auto", "llvm", "columns", "interpreter"]


class RunSimulator:
    """Draws runs by number: the same (seed, start, run) gives the same run, in any tier and any order."""

    def __init__(
        self,
        starts: RowStates,
        simulation: InterpretedSimulation | ColumnSimulation | CompiledSimulation,
        tier: Tier,
        law: str = "",
    ) -> None:
        self.starts = starts
        self.tier = tier
        self.law = law  # by which runs draw their starts, in words; empty: they begin where they are told to
        self._simulation = simulation

    def runs(self, seed: int, start: int | None, first: int, count: int, until: float = inf) -> RunOutcomes:
        """Runs `first` to `first + count - 1`; start None: each draws its start state by its first number.

        Where runs are in step the longest may take long after all others: at `until`, by `monotonic`, those
        that are under way are undecided, and the ones that have not begun are missing.
        """
        if not 0 <= seed < 1 << 64:
            raise InvalidProblem(f"a seed of {seed} is not a 64-bit number without sign")
        if start is not None and not 0 <= start < len(self.starts):
            raise InvalidProblem(f"there is no start state number {start}")
        if isinstance(self._simulation, ColumnSimulation):
            return self._simulation.runs(seed, start, first, count, until)
        return self._simulation.runs(seed, start, first, count)

    @property
    def together(self) -> int:
        """So many runs take hardly longer than one."""
        return LANES // 16 if self.tier == "columns" else 1

    def counts(self) -> DecisionCounts:
        return replace(self._simulation.counts)


def make_simulator(
    problem: Problem,
    watched: PathProperty,
    *,
    max_steps: int,
    tier: Tier = "auto",
    starts: Sequence[State] | None = None,
    uniform: bool = False,
    memo: bool = True,
    drawn: bool = False,
) -> RunSimulator:
    """What draws the runs of a problem.

    `starts`: states in which runs begin; None: all initial states, in the order of
    `explore/initial_states.py`.
    `uniform`: what is left open is equally likely; otherwise it is refused where a run meets it.
    `drawn`: each run draws its start, by the laws that the environment declares and else uniformly;
    `Unsupported` where that is no law.
    `memo`: decisions are remembered by state; False: the policy is evaluated at every decision.
    """
    layout = row_layout(problem.environment)
    by_law: DrawnStarts | None = None
    if starts is not None:
        rows = _given_rows(problem.environment, layout, starts)
    else:
        rows, by_law = start_rows(problem.environment, layout, drawn=drawn)
    if not rows:
        raise Unsupported("there is no start state")
    known = RowStates(layout, tuple(rows))
    words = "" if not drawn else f"list of {len(rows)} starts" if by_law is None else by_law.words
    if by_law is None and tier in ("auto", "llvm"):
        try:
            in_code = CompiledSimulation(
                problem, watched, max_steps, known.rows, uniform=uniform, memo=memo, cache=cache_folder()
            )
            return RunSimulator(known, in_code, "llvm", words)
        except CompileObjection as why:
            if tier == "llvm":
                raise Unsupported(f"this is not compiled: {why}", fix="use the interpreter") from None
    if tier in ("auto", "columns"):
        try:
            in_step = ColumnSimulation(
                problem, watched, max_steps, known.rows, uniform=uniform, memo=memo, drawn=by_law
            )
            return RunSimulator(known, in_step, "columns", words)
        except ColumnObjection as why:
            if tier == "columns":
                raise Unsupported(
                    f"this is not simulated in columns: {why}", fix="use the interpreter"
                ) from None
    slow = InterpretedSimulation(
        problem, watched, max_steps, known.rows, uniform=uniform, memo=memo, drawn=by_law
    )
    return RunSimulator(known, slow, "interpreter", words)


def start_rows(
    environment: Environment, layout: RowLayout, *, drawn: bool
) -> tuple[list[Row], DrawnStarts | None]:
    """All starts, or the law by which they are `drawn`: few starts without laws are listed all the same, and
    each of them is equally likely."""
    if not drawn:
        try:
            return initial_rows(environment, layout), None
        except Unsupported as error:
            other = "or draw starts by a law: --starts uniform, or `over avg` with laws in [starts]"
            fix = f"{error.fix}, {other}" if error.fix else ""
            raise Unsupported(error.what, fix=fix) from None
    if not environment.start_laws:
        try:
            return initial_rows(environment, layout, _MOST_LISTED), None
        except Unsupported:
            pass
    by_law = DrawnStarts(environment)
    return [by_law.row(0, 0)], by_law


def _given_rows(environment: Environment, layout: RowLayout, starts: Sequence[State]) -> list[Row]:
    for state in starts:
        for name in layout.names:
            if name not in state or not has_value_type(
                state[name], layout.kinds[name], environment.arithmetic
            ):
                raise InvalidProblem(f"`{name}` has no value of its kind in a start state: {state.get(name)}")
    return [layout.row(state) for state in starts]
