"""Start values by the laws that the problem declares, given that the initial condition holds.

Variables with a law are drawn by it, each by itself; variables without one are what an equation says, or
uniform in their range. What does not meet the condition is drawn again: the joint law is the product of these
laws, conditioned on the condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Law
from surefoot.simulate.starts.boxes import constant_column, draw_between, round_to_grid
from surefoot.simulate.starts.sample_case import Values, compute_columns
from surefoot.simulate.starts.start_cases import Block, Bounds, Case
from surefoot.term.columns import ColumnTerms, compile_columns
from surefoot.term.interval import Scalar
from surefoot.term.term import Apply, Op, Term, Var, conjunction_of, free_names
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

_Way: TypeAlias = "Law | Bounds | Term"
_MOST_DRAWS = 4_000_000
_LARGEST_BATCH = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class LawSource:
    """How each name gets its value, in this order, and what is left to be met."""

    kinds: Mapping[str, Scalar]
    arithmetic: Arithmetic
    ways: tuple[tuple[str, _Way], ...]
    condition: ColumnTerms

    @property
    def how(self) -> str:
        return f"by the laws of {', '.join(f'`{n}`' for n, way in self.ways if isinstance(way, Law))}"

    def draw(self, count: int, rng: np.random.Generator) -> Values:
        """Rows that meet the condition, as far as doubles tell; `Unsupported` where hardly any does."""
        parts: list[Values] = []
        have = tried = 0
        batch = max(256, count + count // 4)
        while have < count:
            if tried > _MOST_DRAWS:
                what = (
                    f"the laws of the starts hardly ever meet the initial condition: {have} of {tried} times"
                )
                raise Unsupported(what, fix="narrow the laws, or leave them out")
            values = self._draw_rows(batch, rng)
            in_doubles = {n: c.astype(np.float64) if c.dtype == object else c for n, c in values.items()}
            found = self.condition(in_doubles, batch)
            kept = found.columns[0] & ~found.lost[0] & _rows_of_kinds(in_doubles, self.kinds)
            parts.append({n: c[kept] for n, c in values.items()})
            have, tried = have + int(kept.sum()), tried + batch
            batch = min(_LARGEST_BATCH, 2 * batch)
        return {n: np.concatenate([p[n] for p in parts])[:count] for n in self.kinds}

    def _draw_rows(self, count: int, rng: np.random.Generator) -> Values:
        values: Values = {}
        for name, way in self.ways:
            kind = self.kinds[name]
            if isinstance(way, Law):
                values[name] = _draw_law(way, name, kind, self.arithmetic, count, rng)
            elif isinstance(way, Bounds):
                values[name] = draw_between(way, kind, self.arithmetic, count, rng)
            else:
                made = compute_columns([way], [name], values, self.kinds, self.arithmetic, count)
                values[name] = made[0]
        return values


def prepare_laws(
    block: Block, cases: Sequence[Case], laws: Mapping[str, Law], arithmetic: Arithmetic
) -> LawSource:
    """`Unsupported` where a variable has neither a law nor an equation nor limits."""
    ways: list[tuple[str, _Way]] = [(n, laws[n]) for n in block.kinds if n in laws]
    known, waiting = set(laws), [n for n in block.kinds if n not in laws]
    left = list(block.conjuncts)
    while waiting:
        found = next((d for part in left for d in _definitions(part, waiting, known)), None)
        if found is None:
            name = waiting[0]
            way: _Way = _joint_bounds(name, cases)
        else:
            name, way, used = found
            left.remove(used)
        ways.append((name, way))
        waiting.remove(name)
        known.add(name)
    condition = compile_columns([conjunction_of(tuple(left))], block.kinds, arithmetic)
    return LawSource(block.kinds, arithmetic, tuple(ways), condition)


def _definitions(part: Term, waiting: Sequence[str], known: set[str]) -> Sequence[tuple[str, Term, Term]]:
    """An equation that gives a variable without a law as a term of those before it."""
    if not isinstance(part, Apply) or part.op is not Op.EQ:
        return ()
    return [
        (side.name, other, part)
        for side, other in (part.args, part.args[::-1])
        if isinstance(side, Var) and side.name in waiting and free_names(other) <= known
    ]


def _joint_bounds(name: str, cases: Sequence[Case]) -> Bounds:
    lows, highs = [c.box[name].low for c in cases], [c.box[name].high for c in cases]
    if None in lows or None in highs:
        what = f"`{name}` is tied to start values with laws, and has neither a law nor limits"
        raise Unsupported(what, fix="give it a law too, or limits")
    return Bounds(min(b for b in lows if b is not None), max(b for b in highs if b is not None))


def _draw_law(
    law: Law, name: str, kind: Scalar, arithmetic: Arithmetic, count: int, rng: np.random.Generator
) -> NDArray[Any]:
    match kind, law.name, law.parameters:
        case Bool(), "uniform", _:
            return rng.random(count) < 0.5
        case Int(), "integer", (low, high):
            return draw_between(Bounds(Fraction(low), Fraction(high)), Int(), arithmetic, count, rng)
        case Real(_, _, float32), "uniform", (low, high):
            limits = Bounds(Fraction(low), Fraction(high))
            return draw_between(limits, Real(None, None, float32), arithmetic, count, rng)
        case Real(_, _, float32), "normal", (mean, deviation):
            if not deviation:
                return constant_column(Fraction(mean), kind, arithmetic, count)
            column = rng.normal(float(mean), float(deviation), size=count)
            return round_to_grid(column, float(deviation), float32, arithmetic)
        case _:
            raise InvalidProblem(f"the law `{law.name}` does not fit the variable `{name}`")


def _rows_of_kinds(values: Values, kinds: Mapping[str, Scalar]) -> NDArray[np.bool_]:
    fine = np.ones(len(next(iter(values.values()))), dtype=np.bool_)
    for name, kind in kinds.items():
        if not isinstance(kind, Bool):
            if kind.low is not None:
                fine &= values[name] >= float(kind.low)
            if kind.high is not None:
                fine &= values[name] <= float(kind.high)
    return fine
