"""How far a state is from satisfying a condition, over columns: 0 where it holds, else a positive number.

A comparison is missed by the difference of its sides, as a share of what is usual for it, so that each counts
between 0 and 1; a truth value and an edge of the automaton to a wanted location are missed by 1 each. Of a
conjunction all parts have to be met: their distances are added. Of a disjunction the nearest part counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.explore.state_conditions import locate_by_number
from surefoot.problem.environment import Component, Environment
from surefoot.simulate.batch.conditions import BatchConditions, compile_batch_conditions, condition_kinds
from surefoot.simulate.batch.model import BatchModel, BatchStep
from surefoot.simulate.batch.state_columns import Names
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import map_variables
from surefoot.term.types import infer_term_type
from surefoot.term.value_types import Int, Real, ValueType

Distances: TypeAlias = NDArray[np.float64]
_Tree: TypeAlias = Callable[
    [Sequence[Any], Sequence[float]], Any
]  # values and scales of the parts: distances
_TINY = 1e-12


@dataclass(slots=True)
class Robustness:
    """The distance to a condition; what is usual for a comparison is learned from the states of a batch."""

    parts: BatchConditions
    tree: _Tree
    scales: list[float] = field(default_factory=list)

    def distances(self, state: Names, step: BatchStep, count: int) -> Distances:
        """By row; infinite where it has no value."""
        found = self.parts(state, step, count)
        if not self.scales:
            self.scales = [_usual_size(c) for c in found.columns]
        with np.errstate(all="ignore"):
            total = np.broadcast_to(
                np.asarray(self.tree(found.columns, self.scales), dtype=np.float64), count
            )
        lost = np.logical_or.reduce(found.lost) if found.lost else False
        return np.where(lost | np.isnan(total), np.inf, total)


def _usual_size(column: NDArray[Any]) -> float:
    if column.dtype.kind == "b":
        return 1.0
    sizes = np.abs(column[np.isfinite(column)])
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


def make_robustness(model: BatchModel, condition: Term, *, holds: bool = True) -> Robustness:
    """The distance to states where the condition holds, or where it does not."""
    environment = model.environment
    located = map_variables(condition, lambda v: locate_by_number(environment, v))
    listing = _Parts(environment, condition_kinds(model, [located]))
    tree = listing.read(located, holds)
    return Robustness(compile_batch_conditions(model, listing.terms), tree)


@dataclass(slots=True)
class _Parts:
    environment: Environment
    kinds: dict[str, ValueType]
    terms: list[Term] = field(default_factory=list)

    def read(self, term: Term, holds: bool) -> _Tree:
        match term:
            case Const(bool() as value):
                distance = 0.0 if value is holds else 1.0
                return lambda values, scales: distance
            case Apply(Op.NOT, (inner,)):
                return self.read(inner, not holds)
            case Apply(Op.AND | Op.OR as op, args):
                parts = [self.read(a, holds) for a in args]
                return _add(parts) if (op is Op.AND) is holds else _nearest(parts)
            case Apply(Op.IMPLIES, (left, right)):
                parts = [self.read(left, not holds), self.read(right, holds)]
                return _nearest(parts) if holds else _add(parts)
            case Apply(Op.ITE, (condition, then, otherwise)):
                first = _add([self.read(condition, True), self.read(then, holds)])
                return _nearest([first, _add([self.read(condition, False), self.read(otherwise, holds)])])
            case Apply(Op.EQ, (Var(name), Const(int() as number))) if name.startswith("@"):
                return self._location(name, number, holds)
            case Apply(Op.LT | Op.LE as op, (left, right)):
                return _excess(self._place(left - right), 1.0 if holds else -1.0, (op is Op.LT) is holds)
            case Apply(Op.EQ, (left, right)) if self._is_number(left):
                return _difference(self._place(left - right), holds)
            case _:
                return _truth(self._place(term), holds)

    def _place(self, term: Term) -> int:
        self.terms.append(term)
        return len(self.terms) - 1

    def _is_number(self, term: Term) -> bool:
        kind = infer_term_type(term, self.kinds, "property", lambda name: InvalidProblem(f"`{name}`"))
        return isinstance(kind, Int | Real)

    def _location(self, key: str, number: int, holds: bool) -> _Tree:
        component = next(c for c in self.environment.components if location_key(c.name) == key)
        place, steps = self._place(Var(key)), steps_to_location(component, number)
        table = steps if holds else np.where(np.arange(len(steps)) == number, 1.0, 0.0)
        return lambda values, scales: table[np.asarray(values[place], dtype=np.int64)]


def _add(parts: Sequence[_Tree]) -> _Tree:
    return lambda values, scales: sum(part(values, scales) for part in parts)


def _nearest(parts: Sequence[_Tree]) -> _Tree:
    def least(values: Sequence[Any], scales: Sequence[float]) -> Any:
        total = parts[0](values, scales)
        for part in parts[1:]:
            total = np.minimum(total, part(values, scales))
        return total

    return least


def _excess(place: int, sign: float, strict: bool) -> _Tree:
    """How much the difference is above 0 (sign 1) or below it (-1)."""

    def distance(values: Sequence[Any], scales: Sequence[float]) -> Any:
        above = sign * np.asarray(values[place], dtype=np.float64)
        missed = above >= 0 if strict else above > 0
        return np.where(missed, _TINY + above / (above + scales[place] + _TINY), 0.0)

    return distance


def _difference(place: int, holds: bool) -> _Tree:
    def distance(values: Sequence[Any], scales: Sequence[float]) -> Any:
        size = np.abs(np.asarray(values[place], dtype=np.float64))
        return size / (size + scales[place]) if holds else np.where(size == 0, 1.0, 0.0)

    return distance


def _truth(place: int, holds: bool) -> _Tree:
    return lambda values, scales: np.where(np.asarray(values[place], dtype=np.bool_) == holds, 0.0, 1.0)


def steps_to_location(component: Component, number: int) -> Distances:
    """By location: how many edges lead to this one at least; more than all of them where none does."""
    before: dict[str, set[str]] = {}
    for edge in component.edges:
        for outcome in edge.outcomes:
            before.setdefault(outcome.target, set()).add(edge.source)
    wanted = component.locations[number]
    steps, front = {wanted: 0}, [wanted]
    for place in front:
        for earlier in before.get(place, ()):
            if earlier not in steps:
                steps[earlier] = steps[place] + 1
                front.append(earlier)
    return np.array([steps.get(p, len(component.locations)) for p in component.locations], dtype=np.float64)
