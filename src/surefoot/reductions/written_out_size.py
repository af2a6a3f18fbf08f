"""How many operations the next value of a variable has, written out: as often as they stand in the term.

Updates that come one after the other, and stages of Runge and Kutta, multiply what they are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import groupby

from surefoot.problem.environment import Environment, Update
from surefoot.term.term import Apply, Term, Var, split_target

MOST_OPERATIONS = 200_000


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


def long_update(updates: Collection[Update]) -> str | None:
    """Which of the values is too long, where they come one after the other; else None."""
    if len({update.index for update in updates}) < 2:
        return None
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
