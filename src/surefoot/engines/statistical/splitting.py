"""Importance splitting with a fixed factor (Glasserman, Heidelberger, Shahabuddin, Zajic 1999): rare events.

A term says how near a state is to the rare event. Whenever a run comes to a higher level (the whole part of
the term) than ever before, it is split into `factor` runs for each level, which go on independently, each
with that part of the weight. What is taken from a whole tree is the weight of its branches that succeed. It
is in [0, 1], its mean is the probability itself, whatever the term and the factor, and trees are independent
of each other: so bounds for the mean of such values (`solvers/sampling/rare_events.py`) hold without any
assumption about levels. A bad term only makes them wide.

Tree number r of a start reads the random numbers of run r; branch number b of it, in the order in which they
came to be, those with purpose b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, inf, nextafter
from typing import Any, ClassVar

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.explored_model import RowStates
from surefoot.explore.row_layout import row_layout
from surefoot.problem.problem import Problem
from surefoot.simulate.interpreted_simulation import InterpretedSimulation, RunInProgress
from surefoot.simulate.path_property import FAILED, SUCCEEDED, UNDECIDED, PathProperty, RunOutcomes
from surefoot.simulate.simulator import start_rows
from surefoot.solvers.sampling.plan import ConfidenceInterval
from surefoot.solvers.sampling.rare_events import RareEventPlan, RareProgress
from surefoot.term.closures import UNDEFINED_ERRORS, compile_closure
from surefoot.term.parser import parse_term
from surefoot.work.philox import Stream

_AT_ONCE = 256  # trees
_MOST_BRANCHES = 1 << 16  # of one tree


@dataclass(slots=True)
class _Tree:
    branches: int = 1
    succeeded: Fraction = Fraction(0)
    undecided: Fraction = Fraction(0)


@dataclass(slots=True)
class _Branch:
    tree: _Tree
    run: int
    lane: RunInProgress
    level: int
    weight: Fraction = Fraction(1)


@dataclass(slots=True)
class SplittingTrees:
    """Makes trees where a simulator makes runs; the weight that succeeded stands for the reward."""

    problem: Problem
    what: PathProperty
    max_steps: int
    uniform: bool
    importance: str
    factor: int
    drawn: bool = False  # every tree draws its start by a law
    starts: RowStates = field(init=False)
    _interpreted: InterpretedSimulation = field(init=False)
    _level: Any = field(init=False)
    together: ClassVar[int] = 1

    @property
    def law(self) -> str:
        by_law = self._interpreted.drawn
        return (
            by_law.words if by_law is not None else f"list of {len(self.starts)} starts" if self.drawn else ""
        )

    def __post_init__(self) -> None:
        environment = self.problem.environment
        if self.factor < 2:
            raise InvalidProblem(f"a run that is split into {self.factor}", fix="--factor 2 or more")
        layout = row_layout(environment)
        rows, by_law = start_rows(environment, layout, drawn=self.drawn)
        self._interpreted = InterpretedSimulation(
            self.problem, self.what, self.max_steps, (), uniform=self.uniform, memo=True, drawn=by_law
        )
        self.starts = RowStates(layout, tuple(rows))
        self._interpreted.starts = self.starts.rows
        term = parse_term(self.importance)
        self._level = compile_closure(term, layout.slots, layout.kinds, environment.arithmetic)

    def runs(self, seed: int, start: int | None, first: int, count: int, until: float = inf) -> RunOutcomes:
        """Trees are always grown to their end."""
        trees: list[_Tree] = []
        for begin in range(first, first + count, _AT_ONCE):
            trees += self._grow_trees(seed, start, range(begin, min(begin + _AT_ONCE, first + count)))
        kinds = [UNDECIDED if t.undecided else SUCCEEDED if t.succeeded else FAILED for t in trees]
        return RunOutcomes(
            np.array(kinds, dtype=np.int8),
            np.array([tree.branches for tree in trees], dtype=np.int64),
            np.array([_round_towards(tree.succeeded, -inf) for tree in trees]),
            np.array([min(1.0, _round_towards(tree.succeeded + tree.undecided, inf)) for tree in trees]),
        )

    def _grow_trees(self, seed: int, start: int | None, numbers: range) -> list[_Tree]:
        place = 0 if start is None else start + 1
        live: list[_Branch] = []
        for run in numbers:
            stream = Stream(seed, run, place)
            by_law = self._interpreted.drawn
            row = (
                by_law.row(seed, run)
                if by_law is not None
                else self.starts.rows[stream.below(len(self.starts)) if start is None else start]
            )
            live.append(_Branch(_Tree(), run, RunInProgress(row, stream), self._level_of(row)))
        trees = [branch.tree for branch in live]
        while live:
            self._interpreted.advance([branch.lane for branch in live])
            going: list[_Branch] = []
            for branch in live:
                going += self._after(branch, seed, place)
            live = going
        return trees

    def _after(self, branch: _Branch, seed: int, place: int) -> list[_Branch]:
        """What a branch has become after a step: over, itself, or several."""
        lane, tree = branch.lane, branch.tree
        if lane.error is not None:
            raise lane.error
        if lane.outcome is not None:
            tree.succeeded += branch.weight if lane.outcome == SUCCEEDED else 0
            tree.undecided += branch.weight if lane.outcome == UNDECIDED else 0
            return []
        level = self._level_of(lane.row)
        if level <= branch.level:
            return [branch]
        copies = self.factor ** (level - branch.level)
        branch.level, branch.weight = level, branch.weight / copies
        found = [branch]
        for number in range(tree.branches, tree.branches + copies - 1):
            copy = RunInProgress(lane.row, Stream(seed, branch.run, place, number), lane.steps)
            found.append(_Branch(tree, branch.run, copy, level, branch.weight))
        tree.branches += copies - 1
        if tree.branches > _MOST_BRANCHES:
            raise Unsupported(
                f"the tree of run {branch.run} has more than {_MOST_BRANCHES:,} branches",
                fix="a smaller --factor, or an importance with fewer levels",
            )
        return found

    def _level_of(self, row: Any) -> int:
        try:
            level: int = floor(self._level(row))
            return level
        except UNDEFINED_ERRORS:
            raise InvalidProblem(f"the importance `{self.importance}` has no value in some state") from None


def _round_towards(weight: Fraction, towards: float) -> float:
    nearest = float(weight)
    return nearest if Fraction(nearest) == weight else nextafter(nearest, towards)


@dataclass(frozen=True, slots=True)
class WeightQuestion:
    """The question about trees: the mean of the weight that succeeds, or of the rest of it."""

    plan: RareEventPlan
    negated: bool = False

    def begin(self) -> RareProgress:
        return RareProgress()

    def consume(self, state: RareProgress, runs: RunOutcomes) -> RareProgress:
        return self.plan.consume(state, runs.reward_low, runs.reward_high)

    def ahead(self, state: RareProgress) -> int:
        return self.plan.ahead(state)

    def interval(self, state: RareProgress) -> ConfidenceInterval:
        known = self.plan.interval(state)
        if not self.negated:
            return known
        return ConfidenceInterval(1 - known.high, 1 - known.low, known.confidence)
