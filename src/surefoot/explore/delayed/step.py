"""What a joint step does to a state with open outcomes: a distribution over such states.

The outcomes of an edge become a new source if what they write depends on nothing that is open already;
otherwise they are told apart at once. Edges of a joint step draw independently, so each has a source of its
own, and no product of their outcomes is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from surefoot.explore.delayed.lazy_term import LazyTerm, Open, evaluate_lazily
from surefoot.explore.delayed.model import DelayedModel
from surefoot.explore.delayed.reduced_state import ReducedState, Table, canonical_state
from surefoot.explore.delayed.relevance import LazyEdge, LazyOutcome
from surefoot.explore.interpret.updates import CompiledUpdate, apply_ordered_updates, has_simple_updates
from surefoot.term.evaluate import Undefined

Entries = Mapping[int, Any]  # slot -> value or table
Distribution = list[tuple[Fraction, ReducedState]]


class _Part(NamedTuple):
    """One outcome of an edge, or of several edges together."""

    probability: Fraction
    outcomes: tuple[tuple[LazyEdge, LazyOutcome], ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A joint step: what it is expected to pay and where it leads."""

    paid: Fraction
    after: Distribution


def take_step(model: DelayedModel, edges: Sequence[LazyEdge], state: ReducedState) -> Taken | Open:
    """The step, or what has to be resolved first. Raises where the model has no meaning."""
    shares: list[list[_Part]] = []
    paid = Fraction(0)
    for edge in edges:
        parts: list[_Part] = []
        for outcome in edge.outcomes:
            known = _numbers((outcome.probability, *outcome.rewards), state)
            if isinstance(known, Open):
                return known
            amount = sum(known[1:], Fraction(0))
            if amount < 0:
                raise Undefined("a reward below 0, which is not looked at where outcomes stay open")
            if known[0]:
                parts.append(_Part(known[0], ((edge, outcome),)))
                paid += known[0] * amount
        _check_distribution([part.probability for part in parts])
        shares.append(parts)
    fixed: dict[int, Any] = {}
    split: list[list[tuple[Fraction, Entries]]] = []
    fresh: list[tuple[tuple[Fraction, ...], dict[int, tuple[Any, ...]]]] = []
    for parts in _independent_groups(model, shares):
        entries = []
        for part in parts:
            found = _written_entries(model, part, state)
            if isinstance(found, Open):
                return found
            entries.append(found)
        _sort_group(parts, _complete_entries(entries, state), fixed, split, fresh)
    after = []
    for picks in product(*split):
        probability, written = Fraction(1), dict(fixed)
        for share, entries_picked in picks:
            probability *= share
            written.update(entries_picked)
        after.append((probability, _next_state(model, state, written, fresh)))
    return Taken(paid, after)


def _numbers(terms: Sequence[LazyTerm], state: ReducedState) -> list[Fraction] | Open:
    found = []
    for term in terms:
        value = evaluate_lazily(term, state)
        if isinstance(value, Table):
            return Open(value.source)
        if isinstance(value, Open):
            return value
        found.append(Fraction(value))
    return found


def _check_distribution(shares: list[Fraction]) -> None:
    if any(share < 0 for share in shares) or sum(shares) != 1:
        raise Undefined("probabilities that are no distribution")


def _independent_groups(model: DelayedModel, shares: list[list[_Part]]) -> list[list[_Part]]:
    """The outcomes of each edge; of all edges together where one reads or writes what another one wrote."""
    writes = [[w for part in parts for w in _writes(model, part)] for parts in shares]
    indices = {w.index for several in writes for w in several}
    slots = [{w.slot for w in several} for several in writes]
    apart = len(set().union(*slots)) == sum(map(len, slots))
    if len(shares) == 1 or (len(indices) <= 1 and apart):
        return shares
    joint = []
    for parts in product(*shares):
        probability = Fraction(1)
        outcomes: list[tuple[LazyEdge, LazyOutcome]] = []
        for part in parts:
            probability *= part.probability
            outcomes += part.outcomes
        joint.append(_Part(probability, tuple(outcomes)))
    return [joint]


def _writes(model: DelayedModel, part: _Part) -> tuple[CompiledUpdate, ...]:
    several = [w for _, outcome in part.outcomes for w in model.writes[outcome]]
    return tuple(sorted(several, key=lambda w: w.index))


def _written_entries(model: DelayedModel, part: _Part, state: ReducedState) -> dict[int, Any] | Open:
    """What the outcome writes: values, and tables over the sources that there are."""
    writes = _writes(model, part)
    places = [(edge.place, outcome.target) for edge, outcome in part.outcomes if edge.place is not None]
    entries: dict[int, Any] = {}
    if has_simple_updates(writes):
        for write, update in zip(writes, (u for _, o in part.outcomes for u in o.updates), strict=True):
            value = evaluate_lazily(update.value, state)
            if isinstance(value, Open):
                return value
            for one in value.values if isinstance(value, Table) else (value,):
                if write.fits is not None and not write.fits(one):
                    raise Undefined(f"`{model.layout.names[write.slot]}` leaves its range")
            entries[write.slot] = value
    else:
        found = _ordered_entries(model, part, writes, state)
        if isinstance(found, Open):
            return found
        entries = found
    return {**entries, **dict(places)}


def _ordered_entries(
    model: DelayedModel, part: _Part, writes: tuple[CompiledUpdate, ...], state: ReducedState
) -> dict[int, Any] | Open:
    """Updates one after the other, or of elements of arrays: for each column of the one source they read."""
    read: set[int] = set()
    for _, outcome in part.outcomes:
        for update in outcome.updates:
            read |= update.value.slots.union(*(term.slots for term in update.path))
            if update.path:
                read.add(update.slot)
    sources = state.sources_of(read)
    if len(sources) > 1:
        return Open(sources[0])
    picks = [{sources[0]: n} for n in range(state.ways(sources))] if sources else [{}]
    rows = [apply_ordered_updates(model.layout, state.with_columns(p), writes, ()) for p in picks]
    entries: dict[int, Any] = {}
    for slot in {w.slot for w in writes}:
        values = tuple(row[slot] for row in rows)
        same = all(value == values[0] for value in values)
        entries[slot] = values[0] if same else Table(sources[0], values)
    return entries


def _complete_entries(entries: list[dict[int, Any]], state: ReducedState) -> list[dict[int, Any]]:
    """Every outcome with every variable that one of them writes."""
    slots = set().union(*entries)
    old = {slot: state.table(slot) if slot in state.open else state.row[slot] for slot in slots}
    return [{**old, **written} for written in entries]


def _sort_group(
    parts: list[_Part],
    entries: list[dict[int, Any]],
    fixed: dict[int, Any],
    split: list[list[tuple[Fraction, Entries]]],
    fresh: list[tuple[tuple[Fraction, ...], dict[int, tuple[Any, ...]]]],
) -> None:
    """Is the group the same in all outcomes, a new source, or to be told apart?"""
    new: dict[int, tuple[Any, ...]] = {}
    for slot in entries[0]:
        several = tuple(written[slot] for written in entries)
        if all(entry == several[0] for entry in several):
            fixed[slot] = several[0]
        elif any(isinstance(entry, Table) for entry in several):
            split.append([(p.probability, written) for p, written in zip(parts, entries, strict=True)])
            return
        else:
            new[slot] = several
    if new:
        fresh.append((tuple(part.probability for part in parts), new))


def _next_state(
    model: DelayedModel,
    state: ReducedState,
    written: Entries,
    fresh: list[tuple[tuple[Fraction, ...], dict[int, tuple[Any, ...]]]],
) -> ReducedState:
    row = list(state.row)
    tables = {slot: state.table(slot) for slot in state.open}
    shares: dict[int, Sequence[Fraction]] = {
        k: [p for _, p in columns] for k, (_, columns) in enumerate(state.sources)
    }
    for slot, entry in written.items():
        tables.pop(slot, None)
        if isinstance(entry, Table):
            tables[slot] = entry
        else:
            row[slot] = entry
    for probabilities, columns in fresh:
        k = len(shares)
        shares[k] = probabilities
        for slot, values in columns.items():
            tables.pop(slot, None)
            tables[slot] = Table(k, values)
    return canonical_state(row, tables, shares, model.relevance.default)
