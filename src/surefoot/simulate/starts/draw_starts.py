"""Start states of an environment, drawn: uniformly from boxes and lists, elsewhere spread out.

Blocks of variables that the initial condition does not tie together are drawn one by one. Every row is looked
at by the meaning of the condition, without any tolerance, before it is given out; rows that miss it (by
rounding, mostly) are counted and drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Component, Environment
from surefoot.problem.semantics import State
from surefoot.simulate.batch.state_columns import column_kinds, column_type, exact_entry
from surefoot.simulate.starts.block_sources import BlockSource, StartLaw, prepare_block
from surefoot.simulate.starts.check_starts import check_rows, compile_start_condition
from surefoot.simulate.starts.sample_case import Values
from surefoot.simulate.starts.start_cases import NoStart, StartCondition, read_start_condition
from surefoot.term.columns import Column, ColumnTerms
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Apply, Op, Var
from surefoot.term.traverse import enumerate_parts
from surefoot.term.types import ELEMENTARY, is_whole
from surefoot.term.value_types import Arithmetic, Array, ValueType

_ROUNDING = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.POW, *ELEMENTARY})
_ROUNDS = 12
_LEAST_YIELD = 0.1  # share of rows that meet the condition; below it rows are repeated


@dataclass(frozen=True, slots=True, eq=False)
class StartSamples:
    """Start states by columns, as `simulate/batch/state_columns.py` has them.

    `exact` has fractions instead of doubles for real variables of which some value is no double.
    """

    columns: dict[str, Column]
    law: StartLaw
    how: str
    failed: int  # rows that missed the condition and were drawn again
    exact: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def states(self, environment: Environment, rows: Iterable[int] | None = None) -> Iterator[State]:
        """The start states of these rows, of all by default, as the reference has them."""
        kinds = column_kinds(environment)
        for row in range(len(self)) if rows is None else rows:
            yield {
                name: _fractions_in(self.exact[name][row])
                if name in self.exact
                else exact_entry(self.columns[name][row], kind, environment.arithmetic)
                for name, kind in kinds.items()
            }


def _fractions_in(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(map(_fractions_in, value))
    if isinstance(value, float):
        value = Fraction(value)
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


@dataclass(frozen=True, slots=True, eq=False)
class StartSource:
    """An initial condition made ready for drawing, as often as one likes."""

    environment: Environment
    condition: StartCondition
    compiled: ColumnTerms | None  # the whole condition, as every row is looked at
    sources: tuple[BlockSource, ...]
    corners: bool

    def draw(self, count: int, rng: np.random.Generator) -> StartSamples:
        """So many start states; `Unsupported` where everything that was drawn misses the condition."""
        kept: list[_Rows] = []
        if not count:
            only = self.draw(1, rng)
            columns = {name: column[:0] for name, column in only.columns.items()}
            return StartSamples(columns, only.law, only.how, 0, {})
        missing, failed, rows = count, 0, count
        for number in range(_ROUNDS):
            try:
                drawn = _draw_rows(self, rows, rng)
            except OverflowError:
                raise Unsupported("start values are beyond float64") from None
            fine = check_rows(self.environment, self.compiled, drawn.columns, drawn.exact, rows)
            places = np.flatnonzero(fine)[:missing]
            kept.append(_take_rows(drawn, places))
            failed += int((~fine).sum())
            missing -= len(places)
            if missing <= 0 or (number >= 2 and fine.mean() < _LEAST_YIELD):
                break
            rows = min(4 * count, int(1.2 * missing / max(_LEAST_YIELD, fine.mean())) + 8)
        have = count - missing
        if not have:
            raise Unsupported(
                f"no start state was found: all of {failed} candidates miss the initial condition",
                fix="give the initial condition room, or start values",
            )
        again = rng.integers(max(have, 1), size=count - have)
        joined = _take_rows(_join_rows(kept), np.concatenate([np.arange(have), again]).astype(np.int64))
        laws = {s.law for s in self.sources} | ({"spread"} if self.corners or have < count else set())
        law: StartLaw = "spread" if "spread" in laws else "given" if "given" in laws else "uniform"
        return StartSamples(joined.columns, law, _describe(self.sources), failed, joined.exact)


def prepare_starts(
    environment: Environment, rng: np.random.Generator, *, corners: bool = False
) -> StartSource:
    """What `draw_starts` draws from: worth keeping where it is drawn from more than once.

    Raises `NoStart` where there is surely no start state, and `Unsupported` where none was found.
    """
    try:
        return _prepare_exactly(environment, rng, corners)
    except NoStart as error:
        if not _is_rounded_condition(environment):
            raise
        raise Unsupported(f"no start state was found: without rounding {error.what}", fix=error.fix) from None
    except OverflowError:
        raise Unsupported("a number in the initial condition is beyond float64") from None


def with_corners(source: StartSource, rng: np.random.Generator) -> StartSource:
    """The source as `prepare_starts` makes it with `corners`; what was made ready is used again."""
    if source.environment.start_laws:  # they do not matter then
        return prepare_starts(source.environment, rng, corners=True)
    return replace(source, corners=True)


def _is_rounded_condition(environment: Environment) -> bool:
    """Is something rounded in the condition? Then it may be met where it would not be in exact arithmetic."""
    kinds = column_kinds(environment)
    return environment.arithmetic is Arithmetic.FLOAT64 and any(
        isinstance(part, Apply) and part.op in _ROUNDING and not is_whole(part, kinds)
        for part in enumerate_parts(environment.initial)
    )


def _prepare_exactly(environment: Environment, rng: np.random.Generator, corners: bool) -> StartSource:
    condition = read_start_condition(environment)
    laws = {} if corners else dict(environment.start_laws)
    arithmetic = environment.arithmetic
    sources = tuple(prepare_block(b, laws, arithmetic, rng) for b in condition.blocks)
    return StartSource(environment, condition, compile_start_condition(environment), sources, corners)


def draw_starts(
    environment: Environment, count: int, rng: np.random.Generator, *, corners: bool = False
) -> StartSamples:
    """So many start states: by the laws that the environment declares, others uniformly or spread out.

    With `corners` some of them are extreme ones, and laws do not matter (for searches).
    """
    return prepare_starts(environment, rng, corners=corners).draw(count, rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """States by columns; fractions for columns in which some number is no double."""

    columns: dict[str, Column]
    exact: dict[str, NDArray[Any]]


def _take_rows(states: _Rows, rows: NDArray[np.int64]) -> _Rows:
    return _Rows(
        {name: column[rows] for name, column in states.columns.items()},
        {name: column[rows] for name, column in states.exact.items()},
    )


def _join_rows(parts: Sequence[_Rows]) -> _Rows:
    columns = {n: np.concatenate([p.columns[n] for p in parts]) for n in parts[0].columns}
    some = dict.fromkeys(name for p in parts for name in p.exact)
    exact = {n: np.concatenate([p.exact.get(n, p.columns[n]).astype(object) for p in parts]) for n in some}
    return _Rows(columns, exact)


def _describe(sources: Sequence[BlockSource]) -> str:
    """What is drawn how, without what is fixed."""
    words = list(dict.fromkeys(s.how for s in sources if s.how != "one value"))
    return "; ".join(words) or "one start"


def _draw_rows(source: StartSource, count: int, rng: np.random.Generator) -> _Rows:
    environment, condition = source.environment, source.condition
    values: Values = {}
    for part in source.sources:
        values |= part.draw(count, rng, source.corners)
    for component in environment.components:
        places = _initial_places(component)
        if len(component.locations) > 1:
            values[location_key(component.name)] = rng.choice(places, size=count)
    columns: dict[str, Column] = {}
    exact: dict[str, NDArray[Any]] = {}
    for name, kind in column_kinds(environment).items():
        column = _assemble(condition.layout.trees[name], kind, values, count)
        if column.dtype == object:
            exact[name] = column
            column = column.astype(np.float64)
        columns[name] = column.astype(column_type(kind), copy=False)
    return _Rows(columns, exact)


def _initial_places(component: Component) -> list[int]:
    if not component.initial:
        raise InvalidProblem(f"component `{component.name}` has no initial location")
    return sorted({component.locations.index(place) for place in component.initial})


def _assemble(tree: Any, kind: ValueType, values: Values, count: int) -> NDArray[Any]:
    if isinstance(tree, Var):
        return values[tree.name]
    assert isinstance(kind, Array)
    if not tree:
        return np.zeros((count, 0))
    return np.stack([_assemble(part, kind.element, values, count) for part in tree], axis=1)
