"""A function of finitely many states as a tree of comparisons: exact on the states it was grown from.

The best comparison at every node is the one after which the classes are least mixed (Gini, as in CART,
Breiman et al. 1984); growing ends where only one class is left, never before. States that differ in no
column have one class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.explore.explored_model import States
from surefoot.problem.environment import Environment
from surefoot.term.reserved_names import location_key
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var
from surefoot.term.value_types import Array, Bool, ValueType

Numbers = NDArray[np.int64]
LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Leaf:
    value: int


@dataclass(frozen=True, slots=True)
class DecisionNode:
    """`low` where the column is at most `limit`, else `high`."""

    column: int
    limit: int
    low: Tree
    high: Tree


Tree: TypeAlias = Leaf | DecisionNode


@dataclass(frozen=True, slots=True, eq=False)
class StateColumn:
    """A whole number of every state. `at_most` writes down a comparison as a term."""

    name: str
    values: Numbers
    at_most: Callable[[int], Term]


def state_columns(environment: Environment, states: States, numbers: Numbers) -> list[StateColumn]:
    """Locations, variables and elements of arrays of some states; constant ones left out."""
    found = []
    for component in environment.components:
        name = location_key(component.name)
        if name in states.names:  # it has several locations
            values = states.column(name)[numbers].astype(np.int64)
            found.append(StateColumn(name, values, _comparison_test(Var(name))))
    for variable in environment.variables:
        values = states.column(variable.name)[numbers].tolist()
        found += _enumerate_scalar_columns(variable.name, Var(variable.name), variable.kind, values)
    return [c for c in found if len(c.values) and c.values.min() < c.values.max()]


def _enumerate_scalar_columns(
    name: str, term: Term, kind: ValueType, values: Sequence[Any]
) -> Iterator[StateColumn]:
    """A column for a number or truth value, several for an array."""
    if isinstance(kind, Array):
        for index in range(kind.length):
            yield from _enumerate_scalar_columns(
                f"{name}[{index}]", term[index], kind.element, [v[index] for v in values]
            )
        return
    if any(abs(v) >= LARGEST for v in values):
        raise Unsupported(f"`{name}` has numbers of more than 64 bits, which shields of actions do not cover")
    at_most = _negation_test(term) if isinstance(kind, Bool) else _comparison_test(term)
    yield StateColumn(name, np.array(values, dtype=np.int64), at_most)


def _negation_test(of: Term) -> Callable[[int], Term]:
    return lambda _: Apply(Op.NOT, (of,))


def _comparison_test(of: Term) -> Callable[[int], Term]:
    return lambda limit: Apply(Op.LE, (of, Const(limit)))


def grow_tree(columns: Sequence[Numbers], classes: Numbers) -> Tree:
    """A tree that gives every row its class; classes are numbered from 0."""
    count = int(classes.max()) + 1 if len(classes) else 1
    return _grow_subtree(columns, classes, np.arange(len(classes)), count)


def _grow_subtree(columns: Sequence[Numbers], classes: Numbers, rows: Numbers, count: int) -> Tree:
    mine = classes[rows]
    if not len(rows) or (mine == mine[0]).all():
        return Leaf(int(mine[0]) if len(rows) else 0)
    best: tuple[float, int, int] | None = None
    for number, column in enumerate(columns):
        values = column[rows]
        least, most = int(values.min()), int(values.max())
        if least == most:
            continue
        seen, place = np.unique(values, return_inverse=True)
        table = np.bincount(place * count + mine, minlength=len(seen) * count).reshape(len(seen), count)
        low = np.cumsum(table, axis=0)[:-1].astype(np.float64)
        high = table.sum(axis=0) - low
        mixed = len(rows) - (low**2).sum(axis=1) / low.sum(axis=1) - (high**2).sum(axis=1) / high.sum(axis=1)
        at = int(mixed.argmin())
        if best is None or mixed[at] < best[0] - 1e-9:
            best = (float(mixed[at]), number, int(seen[at]))
    if best is None:
        raise ValueError("two states that differ in nothing have two classes")
    _, number, limit = best
    low_side = columns[number][rows] <= limit
    return DecisionNode(
        number,
        limit,
        _grow_subtree(columns, classes, rows[low_side], count),
        _grow_subtree(columns, classes, rows[~low_side], count),
    )


def count_comparisons(tree: Tree) -> int:
    """How many comparisons it has."""
    return 0 if isinstance(tree, Leaf) else 1 + count_comparisons(tree.low) + count_comparisons(tree.high)


def tree_to_term(tree: Tree, columns: Sequence[StateColumn], of: Callable[[int], Term]) -> Term:
    """The tree as a condition: `of` says what a class stands for. Equal branches become one."""
    if isinstance(tree, Leaf):
        return of(tree.value)
    low, high = tree_to_term(tree.low, columns, of), tree_to_term(tree.high, columns, of)
    if low == high:
        return low
    test = columns[tree.column].at_most(tree.limit)
    match low == TRUE, high == FALSE, low == FALSE, high == TRUE:
        case (True, True, _, _):
            return test
        case (_, _, True, True):
            return Apply(Op.NOT, (test,))
        case _:
            return Apply(Op.ITE, (test, low, high))
