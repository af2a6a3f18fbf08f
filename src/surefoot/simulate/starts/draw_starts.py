"""Start states of an environment, drawn: uniformly from boxes and lists, elsewhere spread out.

Blocks of variables that the initial condition does not tie together are drawn one by one. Every row is looked
at by the meaning of the condition, without any tolerance, before it is given out; rows that miss it (by
rounding, mostly) are counted and drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Component, Environment
from surefoot.problem.semantics import State
from surefoot.simulate.batch.model import value_at_share
from surefoot.simulate.batch.state_columns import column_kinds, column_type, exact_entry
from surefoot.simulate.starts.check_starts import check_rows
from surefoot.simulate.starts.list_starts import list_block
from surefoot.simulate.starts.repair_doubles import repair_rows
from surefoot.simulate.starts.sample_case import CaseSampler, Values, draw_case, prepare_case
from surefoot.simulate.starts.start_cases import (
    Block,
    Bounds,
    Box,
    Case,
    NoStart,
    StartCondition,
    block_cases,
    read_start_condition,
)
from surefoot.term.columns import Column
from surefoot.term.interval import Scalar
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Var
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

Law: TypeAlias = Literal["uniform", "spread"]
MOST_SAMPLED_CASES = 64  # of a disjunction whose cases need a walk each
UNIFORM_BITS = 32  # of a real number within its range, in exact arithmetic
_CORNERS = 0.4  # share of the rows of a box of which some coordinates are at an end
_ROUNDS = 12
_LEAST_YIELD = 0.1  # share of rows that meet the condition; below it rows are repeated
_MOST_RANGE = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class StartSamples:
    """Start states by columns, as `simulate/batch/state_columns.py` has them.

    `exact` has fractions instead of doubles for real variables of which some value is no double.
    """

    columns: dict[str, Column]
    law: Law
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
class _Source:
    """Where the values of a block come from."""

    law: Law
    how: str
    draw: Callable[[int, np.random.Generator], Values]


@dataclass(frozen=True, slots=True, eq=False)
class StartSource:
    """An initial condition made ready for drawing, as often as one likes."""

    environment: Environment
    condition: StartCondition
    sources: tuple[_Source, ...]
    corners: bool

    def draw(self, count: int, rng: np.random.Generator) -> StartSamples:
        """So many start states; `Unsupported` where everything that was drawn misses the condition."""
        kept: list[_Rows] = []
        if not count:
            only = self.draw(1, rng)
            columns = {name: column[:0] for name, column in only.columns.items()}
            return StartSamples(columns, only.law, only.how, 0, {})
        missing, failed = count, 0
        for number in range(_ROUNDS):
            drawn = _draw_rows(self, missing, rng)
            fine = check_rows(self.environment, drawn.columns, drawn.exact, missing)
            kept.append(_take_rows(drawn, np.flatnonzero(fine)))
            failed += int((~fine).sum())
            missing -= int(fine.sum())
            if missing <= 0 or (number >= 2 and fine.mean() < _LEAST_YIELD):
                break
        have = count - missing
        if not have:
            raise Unsupported(
                f"no start state was found: all of {failed} candidates miss the initial condition",
                fix="give the initial condition room, or start values",
            )
        again = rng.integers(max(have, 1), size=count - have)
        joined = _take_rows(_join_rows(kept), np.concatenate([np.arange(have), again]).astype(np.int64))
        is_uniform = all(s.law == "uniform" for s in self.sources) and not self.corners and have == count
        law: Law = "uniform" if is_uniform else "spread"
        return StartSamples(joined.columns, law, _describe(self.sources), failed, joined.exact)


def prepare_starts(
    environment: Environment, rng: np.random.Generator, *, corners: bool = False
) -> StartSource:
    """What `draw_starts` draws from: worth keeping where it is drawn from more than once.

    Raises `NoStart` where there is surely no start state, and `Unsupported` where none was found.
    """
    condition = read_start_condition(environment)
    sources = tuple(_block_source(b, environment.arithmetic, rng, corners) for b in condition.blocks)
    return StartSource(environment, condition, sources, corners)


def draw_starts(
    environment: Environment, count: int, rng: np.random.Generator, *, corners: bool = False
) -> StartSamples:
    """So many start states; with `corners` some of them are extreme ones (for searches)."""
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


def _describe(sources: Sequence[_Source]) -> str:
    """What is drawn how, without what is fixed."""
    words = list(dict.fromkeys(s.how for s in sources if s.how != "one value"))
    return "; ".join(words) or "one start"


def _draw_rows(source: StartSource, count: int, rng: np.random.Generator) -> _Rows:
    environment, condition = source.environment, source.condition
    values: Values = {}
    for part in source.sources:
        values |= part.draw(count, rng)
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


def _join_values(found: Sequence[Values]) -> Values:
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}


def _assemble(tree: Any, kind: ValueType, values: Values, count: int) -> NDArray[Any]:
    if isinstance(tree, Var):
        return values[tree.name]
    assert isinstance(kind, Array)
    if not tree:
        return np.zeros((count, 0))
    return np.stack([_assemble(part, kind.element, values, count) for part in tree], axis=1)


# --- where the values of a block come from ---------------------------------------------------------------


def _block_source(block: Block, arithmetic: Arithmetic, rng: np.random.Generator, corners: bool) -> _Source:
    listed = list_block(block, arithmetic) if len(block.kinds) > 1 else None
    if listed is not None:
        return _list_source(listed)
    cases = block_cases(block)
    if not cases:
        names = ", ".join(f"`{n}`" for n in list(block.kinds)[:4])
        raise NoStart(f"there is no start state: the conditions on {names} exclude each other")
    if len(cases) == 1 and cases[0].is_box():
        return _box_source(cases[0].box, block.kinds, arithmetic, corners)
    listed = list_block(block, arithmetic, cases)
    if listed is not None:
        return _list_source(listed)
    if all(c.is_point() for c in cases):
        return _list_source(_point_table(cases, block.kinds, arithmetic))
    if all(c.is_box() for c in cases):
        return _union_source(cases, block.kinds, arithmetic, corners)
    return _walk_source(block, cases, arithmetic, rng, corners)


def _box_source(box: Box, kinds: Mapping[str, Scalar], arithmetic: Arithmetic, corners: bool) -> _Source:
    def draw(count: int, rng: np.random.Generator) -> Values:
        return draw_box(box, kinds, arithmetic, count, rng, corners)

    if all(b.is_point() for b in box.values()):
        return _Source("uniform", "one value", draw)
    if any(b.low is None or b.high is None for b in box.values()):
        return _Source("spread", "spread over an unbounded range", draw)
    return _Source("uniform", "uniform in a box", draw)


def draw_box(
    box: Box,
    kinds: Mapping[str, Scalar],
    arithmetic: Arithmetic,
    count: int,
    rng: np.random.Generator,
    corners: bool,
) -> Values:
    extreme = rng.random(count) < (_CORNERS if corners else 0.0)
    found: Values = {}
    for name, kind in kinds.items():
        bounds = box[name]
        column = _draw_between(bounds, kind, arithmetic, count, rng)
        for end, is_open in ((bounds.low, bounds.low_open), (bounds.high, bounds.high_open)):
            if corners and end is not None and not is_open:
                column = _put_end(column, extreme & (rng.random(count) < 0.45), end, kind, arithmetic)
        found[name] = column
    return found


def _put_end(
    column: NDArray[Any], rows: NDArray[np.bool_], end: Fraction, kind: Scalar, arithmetic: Arithmetic
) -> NDArray[Any]:
    if (
        isinstance(kind, Real)
        and arithmetic is Arithmetic.EXACT
        and not kind.float32
        and Fraction(float(end)) != end
    ):
        column = column.astype(object)
        column[rows] = end
    elif not isinstance(kind, Real) or Fraction(float(end)) == end:
        column = column.copy()
        column[rows] = (
            bool(end) if isinstance(kind, Bool) else int(end) if isinstance(kind, Int) else float(end)
        )
    return column


def _draw_between(
    bounds: Bounds, kind: Scalar, arithmetic: Arithmetic, count: int, rng: np.random.Generator
) -> NDArray[Any]:
    low, high = bounds.low, bounds.high
    if low is not None and bounds.is_point():
        return _constant_column(low, kind, arithmetic, count)
    match kind:
        case Bool():
            return rng.random(count) < 0.5
        case Int() if low is not None and high is not None:
            if max(abs(low), abs(high)) > _MOST_RANGE:
                raise Unsupported("integers of more than 62 bits are not drawn", fix="bound them")
            return rng.integers(int(low), int(high), size=count, endpoint=True)
        case Int():
            whole = Int(None if low is None else int(low), None if high is None else int(high))
            return np.asarray(value_at_share(whole, rng.random(count)))
        case Real(_, _, float32):
            if low is None or high is None:
                spread = value_at_share(Real(low, high, float32), rng.random(count))
                return np.asarray(spread)
            return _draw_real(low, high, float32, arithmetic, count, rng)
    raise Unsupported("arrays are drawn by their elements")


def _constant_column(value: Fraction, kind: Scalar, arithmetic: Arithmetic, count: int) -> NDArray[Any]:
    if isinstance(kind, Bool):
        return np.full(count, bool(value))
    if isinstance(kind, Int):
        return np.full(count, int(value), dtype=np.int64)
    if arithmetic is Arithmetic.EXACT and Fraction(float(value)) != value:
        return np.full(count, value, dtype=object)
    return np.full(count, float(value))


def _draw_real(
    low: Fraction, high: Fraction, float32: bool, arithmetic: Arithmetic, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Uniformly; in exact arithmetic of numbers with few binary digits, if there are any in the range."""
    first, last = float(low), float(high)
    column = first + (last - first) * rng.random(count)
    if arithmetic is Arithmetic.EXACT and last > first:
        grid = 2.0 ** (np.floor(np.log2(last - first)) - UNIFORM_BITS)
        column = np.rint(column / grid) * grid
    if float32:
        column = column.astype(np.float32).astype(np.float64)
    return np.clip(column, _inner(low, up=True), _inner(high, up=False))


def _inner(end: Fraction, *, up: bool) -> float:
    near = float(end)
    if near == end or (near > end) is up:
        return near
    return float(np.nextafter(near, np.inf if up else -np.inf))


def _list_source(table: Values) -> _Source:
    rows = len(next(iter(table.values())))
    if not rows:
        raise NoStart("there is no start state: no combination of values meets the initial condition")

    def draw(count: int, rng: np.random.Generator) -> Values:
        chosen = rng.integers(rows, size=count)
        return {name: column[chosen] for name, column in table.items()}

    return _Source("uniform", f"list of {rows} starts", draw)


def _point_table(cases: Sequence[Case], kinds: Mapping[str, Scalar], arithmetic: Arithmetic) -> Values:
    points = dict.fromkeys(tuple(c.box[n].low for n in kinds) for c in cases)
    table: Values = {}
    for number, (name, kind) in enumerate(kinds.items()):
        column = [_constant_column(Fraction(p[number] or 0), kind, arithmetic, 1) for p in points]
        table[name] = np.concatenate(column)
    return table


def _union_source(
    cases: Sequence[Case], kinds: Mapping[str, Scalar], arithmetic: Arithmetic, corners: bool
) -> _Source:
    """Boxes by their volumes; a point that lies in several is kept as often as it would be in one."""
    volumes = [_box_volume(c.box, kinds) for c in cases]
    draws = [_box_source(c.box, kinds, arithmetic, corners).draw for c in cases]
    if any(v is None for v in volumes) or not sum(v or 0 for v in volumes) or not all(volumes):
        # Boxes without a limit, or some of a lower dimension than others: each of them is met.
        return _Source(
            "spread",
            f"one of {len(cases)} boxes, each as often",
            lambda count, rng: _draw_by_case(
                [1 / len(cases)] * len(cases),
                draws,
                count,
                rng,
            ),
        )
    shares = [float(v / sum(w or 0 for w in volumes)) for v in volumes if v is not None]

    def draw(count: int, rng: np.random.Generator) -> Values:
        parts: list[Values] = []
        have = 0
        while have < count:
            drawn = _draw_by_case(shares, draws, max(64, 2 * (count - have)), rng)
            times = np.sum([_rows_in_box(drawn, c.box, kinds) for c in cases], axis=0)
            kept = rng.random(len(times)) * times < 1
            parts.append({n: column[kept] for n, column in drawn.items()})
            have += int(kept.sum())
        return {name: column[:count] for name, column in _join_values(parts).items()}

    return _Source("uniform", f"uniform in {len(cases)} boxes", draw)


def _box_volume(box: Box, kinds: Mapping[str, Scalar]) -> Fraction | None:
    total = Fraction(1)
    for name, kind in kinds.items():
        low, high = box[name].low, box[name].high
        if low is None or high is None:
            return None
        total *= high - low if isinstance(kind, Real) else high - low + 1
    return total


def _rows_in_box(values: Values, box: Box, kinds: Mapping[str, Scalar]) -> NDArray[np.bool_]:
    inside = np.ones(len(next(iter(values.values()))), dtype=np.bool_)
    for name in kinds:
        column = values[name].astype(np.float64)
        low, high = box[name].low, box[name].high
        inside &= (low is None or column >= float(low)) & (high is None or column <= float(high))
    return inside


def _draw_by_case(
    shares: Sequence[float],
    draws: Sequence[Callable[[int, np.random.Generator], Values]],
    count: int,
    rng: np.random.Generator,
) -> Values:
    counts = rng.multinomial(count, np.array(shares) / sum(shares))
    parts = [draw(int(n), rng) for n, draw in zip(counts, draws, strict=True) if n]
    joined = _join_values(parts)
    order = rng.permutation(count)
    return {name: column[order] for name, column in joined.items()}


def _walk_source(
    block: Block, cases: Sequence[Case], arithmetic: Arithmetic, rng: np.random.Generator, corners: bool
) -> _Source:
    """Each case by a walk of its own, drawn by its estimated size but never rarely."""
    if len(cases) > MOST_SAMPLED_CASES:
        cases = [cases[i] for i in rng.permutation(len(cases))[:MOST_SAMPLED_CASES]]
    samplers: list[CaseSampler] = []
    trouble: Unsupported | None = None
    for case in cases:
        try:
            samplers.append(prepare_case(case, block.kinds, arithmetic, rng))
        except Unsupported as error:
            if trouble is None or isinstance(trouble, NoStart):
                trouble = error
    if not samplers:
        assert trouble is not None
        raise trouble
    sizes = np.nan_to_num(np.array([s.size for s in samplers]), posinf=1e3, neginf=-1e3)
    same = len({(s.region.reals, len(s.region.lattice)) for s in samplers}) == 1
    shares = np.exp(sizes - sizes.max()) if same else np.ones(len(samplers))
    shares = shares / shares.sum() + 0.25 / len(samplers)

    def draw_with(sampler: CaseSampler, count: int, rng: np.random.Generator) -> Values:
        return repair_rows(block, arithmetic, draw_case(sampler, count, rng, corners=corners), count, rng)

    draws = [partial(draw_with, sampler) for sampler in samplers]
    how = samplers[0].how if len(samplers) == 1 else f"one of {len(samplers)} cases; {samplers[0].how}"
    return _Source(
        "spread", how, lambda count, generator: _draw_by_case(list(shares), draws, count, generator)
    )
