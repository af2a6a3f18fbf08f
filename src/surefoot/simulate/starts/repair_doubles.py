"""Starts of float64 environments whose equations miss by rounding: neighbouring doubles are tried."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from surefoot.simulate.starts.sample_case import Values
from surefoot.simulate.starts.start_cases import Block, linear_parts
from surefoot.term.columns import ColumnTerms, compile_columns
from surefoot.term.term import Apply, Op, Term, Var, conjunction_of, free_names
from surefoot.term.types import is_truth_value
from surefoot.term.value_types import Arithmetic, Real

_MOST_REPAIRED = 4000
_CANDIDATES = 48
_NEAR = 3  # units in the last place


def repair_rows(
    block: Block, arithmetic: Arithmetic, values: Values, count: int, rng: np.random.Generator
) -> Values:
    """The same rows; where the condition fails, real numbers are replaced by what an equation says, or by a
    neighbour."""
    if arithmetic is not Arithmetic.FLOAT64 or not count:
        return values
    condition = compile_columns([conjunction_of(block.conjuncts)], block.kinds, arithmetic)
    values = dict(values)
    bad = _failing_rows(condition, values, count)
    for name, term in _direct_equations(block):
        if not len(bad):
            return values
        some = {n: column[bad] for n, column in values.items()}
        found = compile_columns([term], block.kinds, arithmetic)(some, len(bad))
        column = values[name].copy()
        column[bad] = np.where(found.lost[0], column[bad], found.columns[0])
        changed = values | {name: column}
        fixed = ~np.isin(bad, _failing_rows(condition, changed, count))
        if fixed.any() or len(bad) == count:
            values = changed
        bad = _failing_rows(condition, values, count)
    bad = bad[:_MOST_REPAIRED]
    values, bad = _try_neighbours(block, condition, values, bad, rng)
    for difference, name, factor in _linear_equations(block):  # solved once more, for each name in turn
        if not len(bad):
            break
        some = {n: column[bad] for n, column in values.items()}
        error = compile_columns([difference], block.kinds, arithmetic)(some, len(bad)).columns[0]
        column = values[name].copy()
        column[bad] -= error / factor
        values, bad = _try_neighbours(block, condition, values | {name: column}, bad, rng)
    return values


def _direct_equations(block: Block) -> Iterator[tuple[str, Term]]:
    """Conjuncts that say what a real variable is."""
    for part in block.conjuncts:
        if isinstance(part, Apply) and part.op is Op.EQ:
            for side, other in (part.args, part.args[::-1]):
                if (
                    isinstance(side, Var)
                    and isinstance(block.kinds[side.name], Real)
                    and side.name not in free_names(other)
                ):
                    yield side.name, other
                    break


def _linear_equations(block: Block) -> Iterator[tuple[Term, str, float]]:
    """Left minus right side, a real variable in it, and its coefficient; what is added last comes first."""
    for part in block.conjuncts:
        if isinstance(part, Apply) and part.op is Op.EQ and not is_truth_value(part.args[0], block.kinds):
            difference = part.args[0] - part.args[1]
            parts = linear_parts(difference)
            if parts.is_linear():
                for name, c in reversed(parts.form().coefficients):
                    if isinstance(block.kinds[name], Real):
                        yield difference, name, float(c)


def _failing_rows(condition: ColumnTerms, values: Values, count: int) -> NDArray[np.int64]:
    found = condition(values, count)
    return np.flatnonzero(~found.columns[0] | found.lost[0])


def _try_neighbours(
    block: Block, condition: ColumnTerms, values: Values, bad: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Values, NDArray[np.int64]]:
    """The values with some rows mended, and the rows that are not."""
    reals = [n for n, kind in block.kinds.items() if isinstance(kind, Real) and not kind.float32]
    for _ in range(2):
        if not len(bad):
            break
        rows = np.repeat(bad, _CANDIDATES)
        tried = {name: column[rows] for name, column in values.items()}
        for name in reals:
            ulps = rng.integers(-_NEAR, _NEAR, size=len(rows), endpoint=True)
            ulps[rng.random(len(rows)) < 0.5] = 0
            tried[name] = tried[name] + ulps * np.spacing(np.abs(tried[name]))
        fine = np.ones(len(rows), dtype=np.bool_)
        fine[_failing_rows(condition, tried, len(rows))] = False
        by_row = fine.reshape(len(bad), _CANDIDATES)
        mended = by_row.any(axis=1)
        places = by_row.argmax(axis=1) + np.arange(len(bad)) * _CANDIDATES
        for name in reals:
            column = values[name].copy()
            column[bad[mended]] = tried[name][places[mended]]
            values = values | {name: column}
        bad = bad[~mended]
    return values, bad
