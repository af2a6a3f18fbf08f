"""How many operations the next value of a variable has, written out: as often as they stand in the term.

Updates that come one after the other, and stages of Runge and Kutta, multiply what they are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby

from surefoot.problem.environment import Environment, Update
from surefoot.term.term import Apply, Term, Var, split_target
from surefoot.term.traverse import Leaf, fold_term

MOST_OPERATIONS = 200_000
MOST_NESTED = 190  # levels of operations in operations; a formula in a file may have 200


def count_leaves(term: Term, seen: dict[int, Counter[str]]) -> Counter[str]:
    """How often each name occurs in a term; all other nodes are counted under no name.

    Parts that are the same object are looked at once.
    """
    if id(term) not in seen:
        found = Counter([term.name if isinstance(term, Var) else ""])
        for argument in term.args if isinstance(term, Apply) else ():
            found += count_leaves(argument, seen)
        seen[id(term)] = found
    return seen[id(term)]


def written_out_objection(environment: Environment) -> str | None:
    """Which value would be too long, where updates come one after the other; else None."""
    for component in environment.components:
        for edge in component.edges:
            for outcome in edge.outcomes:
                if (why := long_update(outcome.updates)) is not None:
                    return why
    return None


def long_update(updates: Collection[Update], nested: int = MOST_NESTED) -> str | None:
    """Which of the values is too long or too deep, where they come one after the other; else None."""
    if len({update.index for update in updates}) < 2:
        return None
    for name, levels in _levels_after(updates).items():
        if levels > nested:
            return f"the next value of `{name}` is nested {levels} levels deep, written out"
    for name, size in _sizes_after(updates).items():
        if size > MOST_OPERATIONS:
            return f"the next value of `{name}` has {size} operations, written out"
    return None


def _sizes_after(updates: Iterable[Update]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    ordered = sorted(updates, key=lambda update: update.index)
    for _, together in groupby(ordered, key=lambda update: update.index):
        written = {}
        for update in together:
            leaves = count_leaves(update.value, {})
            written[split_target(update.target)[0]] = sum(
                n * sizes.get(leaf, 1) for leaf, n in leaves.items()
            )
        sizes |= written
    return sizes


def _levels_after(updates: Iterable[Update]) -> dict[str, int]:
    levels: dict[str, int] = {}
    ordered = sorted(updates, key=lambda update: update.index)
    for _, together in groupby(ordered, key=lambda update: update.index):
        levels |= {split_target(u.target)[0]: _count_levels(u.value, dict(levels)) for u in together}
    return levels


def _count_levels(whole: Term, below: Mapping[str, int]) -> int:
    """How deep a term is, where names stand for terms that are so deep."""

    def leaf(part: Leaf) -> int:
        return below.get(part.name, 0) if isinstance(part, Var) else 0

    return fold_term(whole, leaf, lambda _, inner: 1 + max(inner, default=0))
