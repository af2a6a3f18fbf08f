"""The start box in cells: one question for each, whose runs draw their starts within the cell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor, inf
from typing import Any

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.explore.explored_model import RowStates
from surefoot.explore.row_layout import RowLayout, row_layout
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.simulate.path_property import PathProperty, RunOutcomes
from surefoot.simulate.simulator import RunSimulator, make_simulator
from surefoot.simulate.starts.start_cases import NoStart, block_cases, read_start_condition
from surefoot.term.term import Const, Term, Var, conjunction_of
from surefoot.term.value_types import Arithmetic, Int, Real
from surefoot.work.philox import Stream

CELLS = 10  # of a variable, if nobody says how many
MOST_CELLS = 10_000
_PURPOSE = 1 << 62


class CellSimulator:
    """Makes runs where a `RunSimulator` does; start number k is a draw from cell k."""

    together = 256

    def __init__(
        self, problem: Problem, what: PathProperty, max_steps: int, uniform: bool, cells: str
    ) -> None:
        self._made = what, max_steps, uniform
        environment = problem.environment
        splits = _read_cells(environment, cells)
        self._problems: list[Problem] = []
        self._simulators: dict[int, RunSimulator] = {}
        self.words: list[str] = []
        rows = []
        for parts in product(*splits.values()):
            inside = conjunction_of((environment.initial, *(condition for condition, _, _ in parts)))
            self._problems.append(replace(problem, environment=replace(environment, initial=inside)))
            try:
                drawn = self._simulator(len(self._problems) - 1)
            except NoStart:
                self._problems.pop()
                continue
            ranges = ", ".join(words for _, _, words in parts)
            self.words.append(f"{drawn.law}, with {ranges}")
            rows.append(tuple(middle for _, middle, _ in parts))
        if not rows:
            raise NoStart("there is no start state in any cell")
        whole = row_layout(environment)
        names = tuple(splits)
        layout = RowLayout(len(names), {n: i for i, n in enumerate(names)}, whole.kinds, (), names, (), ())
        self.starts = RowStates(layout, tuple(rows))
        self.law = ""

    def runs(self, seed: int, start: int | None, first: int, count: int, until: float = inf) -> RunOutcomes:
        assert start is not None
        own = Stream(seed, start, 0, _PURPOSE).word()  # another seed for each cell
        return self._simulator(start).runs(own, None, first, count, until)

    def _simulator(self, cell: int) -> RunSimulator:
        if cell not in self._simulators:
            what, max_steps, uniform = self._made
            self._simulators[cell] = make_simulator(
                self._problems[cell], what, max_steps=max_steps, uniform=uniform, drawn=True
            )
        return self._simulators[cell]


def _read_cells(environment: Environment, text: str) -> dict[str, list[tuple[Term, Any, str]]]:
    """Of each named variable its parts: the condition, its middle, and words."""
    ranges = _start_ranges(environment)
    if text:
        pairs = [part.partition(":")[::2] for part in text.split(",")]
        wanted = {name.strip(): _read_count(name, number) for name, number in pairs}
    else:
        open_names = [n for n, (low, high) in ranges.items() if low is None or low != high]
        if not 1 <= len(open_names) <= 2:
            told = ", ".join(f"`{n}`" for n in open_names) or "none"
            raise InvalidProblem(
                f"the starts do not differ in one or two variables but in: {told}",
                fix="name one or two of them with --cells, or --x and --y of a heat map",
            )
        wanted = dict.fromkeys(open_names, CELLS)
    total = 1
    for name, number in wanted.items():
        if name not in ranges:
            raise InvalidProblem(f"`{name}` is no number of the state", fix=did_you_mean(name, list(ranges)))
        total *= number
    if total > MOST_CELLS:
        raise InvalidProblem(f"{total:,} cells are too many", fix=f"at most {MOST_CELLS:,}")
    return {name: _split_range(environment, name, *ranges[name], number) for name, number in wanted.items()}


def _read_count(name: str, number: str) -> int:
    if not number.strip():
        return CELLS
    if not number.strip().isdecimal() or not int(number):
        raise InvalidProblem(f"`{number}` is no number of cells", fix=f"write {name.strip()}:{CELLS}")
    return int(number)


def _start_ranges(environment: Environment) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """By variable that is a number: the least and the greatest start value."""
    found: dict[str, tuple[Fraction | None, Fraction | None]] = {}
    own = {v.name for v in environment.variables if isinstance(v.kind, Int | Real)}
    for block in read_start_condition(environment).blocks:
        cases = block_cases(block)
        for name in block.kinds:
            if name in own and cases:
                lows, highs = [c.box[name].low for c in cases], [c.box[name].high for c in cases]
                low = None if None in lows else min(b for b in lows if b is not None)
                high = None if None in highs else max(b for b in highs if b is not None)
                found[name] = low, high
    return {v.name: found[v.name] for v in environment.variables if v.name in found}


def _split_range(
    environment: Environment, name: str, low: Fraction | None, high: Fraction | None, number: int
) -> list[tuple[Term, Any, str]]:
    if low is None or high is None:
        raise InvalidProblem(f"`{name}` starts without limits", fix="bound it in the initial condition")
    variable, kind = Var(name), next(v.kind for v in environment.variables if v.name == name)
    if isinstance(kind, Int):
        first, last = ceil(low), floor(high)
        number = min(number, last - first + 1)
        ends = [first + (last - first + 1) * i // number for i in range(number + 1)]
        return [
            (
                (variable >= a) & (variable < b),
                (a + b - 1) // 2,
                f"{name} = {a}" if b == a + 1 else f"{name} from {a} to {b - 1}",
            )
            for a, b in pairwise(ends)
        ]
    parts = []
    for i in range(number if high > low else 1):
        a, b = (low + (high - low) * k / number for k in (i, i + 1))
        below = variable <= Const(high) if i == number - 1 or high == low else variable < Const(b)
        middle: Any = (a + b) / 2
        if environment.arithmetic is Arithmetic.FLOAT64:
            middle = float(middle)
        parts.append(
            ((variable >= Const(a)) & below, middle, f"{name} from {float(a):.6g} to {float(b):.6g}")
        )
    return parts
