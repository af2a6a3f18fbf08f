"""Start conditions that are lists of states: thousands of them are read as data, not as a formula."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import Dynamics, scalar_domain
from surefoot.term.term import Apply, Const, Op, Term, Var, split_conjunction
from surefoot.term.value_types import Bool


def listed_starts(dynamics: Dynamics) -> NDArray[np.int64] | None:
    """The start states, one row of scalars each, if the start condition is a list of them; else None."""
    common, several = _common_and_alternatives(dynamics.initial)
    rows = []
    for alternative in several:
        row = _scalar_values(dynamics, [*common, *split_conjunction(alternative)])
        if row is None:
            return None
        if row:
            rows.append(row)
    width = len(dynamics.scalars)
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _common_and_alternatives(term: Term) -> tuple[list[Term], tuple[Term, ...]]:
    """Conjuncts, and the alternatives of the one disjunction among them, if there is one."""
    common: list[Term] = []
    several: list[tuple[Term, ...]] = []
    for part in split_conjunction(term):
        if isinstance(part, Apply) and part.op is Op.OR:
            several.append(part.args)
        else:
            common.append(part)
    if len(several) > 1:
        return [term], (Const(True),)
    return common, several[0] if several else (Const(True),)


def _scalar_values(dynamics: Dynamics, parts: list[Term]) -> list[int] | None:
    """One value for every scalar; empty where two parts contradict one another; None if something is open."""
    found: dict[str, int] = {}
    for name, value in _enumerate_equations(dynamics, parts):
        if name is None:
            return None
        if found.setdefault(name, value) != value:
            return []
    if set(found) != set(dynamics.scalars):
        return None
    for name, value in found.items():
        span = scalar_domain(dynamics.layout.kinds[name])
        if span is not None and value not in span:
            return []
    return [found[n] for n in dynamics.scalars]


def _enumerate_equations(dynamics: Dynamics, parts: list[Term]) -> Iterator[tuple[str | None, int]]:
    for part in parts:
        match part:
            case Const(True):
                continue
            case Apply(Op.EQ, (Var(name), Const(int() as value))):
                yield name, int(value)
            case Apply(Op.EQ, (Const(int() as value), Var(name))):
                yield name, int(value)
            case Var(name) if isinstance(dynamics.layout.kinds.get(name), Bool):
                yield name, 1
            case Apply(Op.NOT, (Var(name),)) if isinstance(dynamics.layout.kinds.get(name), Bool):
                yield name, 0
            case _:
                yield None, 0
