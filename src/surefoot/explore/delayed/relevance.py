"""Which variables can still matter in a state, so that the others are forgotten.

A variable is *frozen* at its value if every edge that is possible there writes the same value. Conditions are
looked at with what is frozen (conditional constant propagation); what they may still read, and what the
updates of that read, can matter: the cone of influence. Forgetting the rest is a bisimulation, for which it
is shown that no update of a forgotten variable can leave its range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

from surefoot.explore.delayed.lazy_term import LazyTerm
from surefoot.explore.delayed.reduced_state import ReducedState, canonical_state
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.semantics import has_value_type
from surefoot.term.closures import UNDEFINED_ERRORS, Row
from surefoot.term.term import Op
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

MOST_VALUATIONS = 1000  # of the variables of an update that are tried
UNKNOWN = object()
_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class LazyUpdate:
    slot: int
    path: tuple[LazyTerm, ...]
    value: LazyTerm


@dataclass(frozen=True, slots=True, eq=False)
class LazyOutcome:
    probability: LazyTerm
    updates: tuple[LazyUpdate, ...]
    rewards: tuple[LazyTerm, ...]  # of the reward that is asked for
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class LazyEdge:
    component: int
    place: int | None  # slot of the location of its component
    source: int
    guard: LazyTerm
    outcomes: tuple[LazyOutcome, ...]


class _Known(NamedTuple):
    value: Any  # or UNKNOWN
    used: frozenset[int]  # what it depends on, as far as is known


def default_value(kind: ValueType) -> Any:
    """The value that a forgotten variable gets: the least one where there is such."""
    match kind:
        case Bool():
            return False
        case Int(low, high) | Real(low, high):
            return low if low is not None else high if high is not None else 0
        case Array(element, length):
            return (default_value(element),) * length


@dataclass(slots=True, eq=False)
class Relevance:
    """`asked`: terms of the question; `goal`: one of them that is lost where it is false for ever."""

    layout: RowLayout
    edges: tuple[LazyEdge, ...]
    asked: tuple[LazyTerm, ...]
    goal: LazyTerm | None
    read: frozenset[int]  # by the policy
    default: Row = field(init=False)
    _writers: dict[int, list[LazyEdge]] = field(init=False)
    _unsafe: dict[LazyUpdate, bool] = field(init=False, default_factory=dict)
    _frozen: dict[tuple[int, Any], bool] = field(init=False, default_factory=dict)
    _found: dict[tuple[Any, ...], tuple[frozenset[int], bool]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.default = tuple(default_value(self.layout.kinds[name]) for name in self.layout.names)
        self._writers = {slot: [] for slot in range(self.layout.width)}
        for edge in self.edges:
            for slot in _written_slots(edge):
                self._writers[slot].append(edge)

    def forget(self, state: ReducedState) -> tuple[ReducedState, bool]:
        """The state without what cannot matter, and whether the goal is lost for ever."""
        row, still_open = state.row, state.open
        frozen = [s for s in range(len(row)) if s not in still_open and self._is_frozen(s, row[s])]
        key = (*frozen, *(row[slot] for slot in frozen))
        if (found := self._found.get(key)) is None:
            found = self._found[key] = self._relevant({slot: row[slot] for slot in frozen})
        relevant, lost = found
        tables = {slot: state.table(slot) for slot in still_open if slot in relevant}
        kept = [row[slot] if slot in relevant else self.default[slot] for slot in range(len(row))]
        if len(tables) == len(still_open):
            return ReducedState(tuple(kept), state.sources), lost
        shares = {k: [p for _, p in columns] for k, (_, columns) in enumerate(state.sources)}
        return canonical_state(kept, tables, shares, self.default), lost

    def _is_frozen(self, slot: int, value: Any) -> bool:
        key = (slot, value)
        if key not in self._frozen:
            known = {slot: value}
            self._frozen[key] = all(self._keeps(edge, slot, known) for edge in self._writers[slot])
        return self._frozen[key]

    def _keeps(self, edge: LazyEdge, slot: int, known: Mapping[int, Any]) -> bool:
        """Does the edge leave the variable as it is, if it is possible at all?"""
        if self._is_dead(edge, known):
            return True
        for outcome in edge.outcomes:
            if edge.place == slot and outcome.target != known[slot]:
                return False
            for update in outcome.updates:
                if update.slot != slot:
                    continue
                if update.path or not self._is_value(self._fold(update.value, known).value, known[slot]):
                    return False
        return True

    @staticmethod
    def _is_value(found: Any, value: Any) -> bool:
        return found is not UNKNOWN and bool(found == value)

    def _is_dead(self, edge: LazyEdge, known: Mapping[int, Any]) -> bool:
        if edge.place is not None and known.get(edge.place, edge.source) != edge.source:
            return True
        value = self._fold(edge.guard, known).value
        return value is not UNKNOWN and not value

    def _relevant(self, known: Mapping[int, Any]) -> tuple[frozenset[int], bool]:
        roots: set[int] = set(self.read)
        for term in self.asked:
            roots |= self._fold(term, known).used
        live = []
        for edge in self.edges:
            if edge.place is not None:
                roots.add(edge.place)
                if known.get(edge.place, edge.source) != edge.source:
                    continue
            roots |= self._fold(edge.guard, known).used
            if not self._is_dead(edge, known):
                live.append(edge)
                roots |= self._read_by(edge, known)
        goal = UNKNOWN if self.goal is None else self._fold(self.goal, known).value
        return self._close(roots, live, known), goal is not UNKNOWN and not goal

    def _read_by(self, edge: LazyEdge, known: Mapping[int, Any]) -> set[int]:
        """What probabilities and rewards of an edge read, and updates that might leave a range."""
        found: set[int] = set()
        for outcome in edge.outcomes:
            for term in (outcome.probability, *outcome.rewards):
                found |= self._fold(term, known).used
            for update in outcome.updates:
                if self._is_unsafe(update, outcome, edge):
                    found |= {update.slot, *update.value.slots, *_slots_of(update.path)}
        return found

    def _close(self, roots: set[int], live: list[LazyEdge], known: Mapping[int, Any]) -> frozenset[int]:
        """With everything that the updates of these variables read."""
        reads: dict[int, set[int]] = {}
        for edge in live:
            for outcome in edge.outcomes:
                for update in outcome.updates:
                    used = self._fold(update.value, known).used | _slots_of(update.path)
                    reads.setdefault(update.slot, set()).update(used)
        found, stack = set(roots), list(roots)
        while stack:
            for slot in reads.get(stack.pop(), ()):
                if slot not in found:
                    found.add(slot)
                    stack.append(slot)
        return frozenset(found)

    def _is_unsafe(self, update: LazyUpdate, outcome: LazyOutcome, edge: LazyEdge) -> bool:
        """May the update fail, as far as a look at the variables that it mentions tells?"""
        if update not in self._unsafe:
            self._unsafe[update] = not self._is_surely_fine(update, outcome, edge)
        return self._unsafe[update]

    def _is_surely_fine(self, update: LazyUpdate, outcome: LazyOutcome, edge: LazyEdge) -> bool:
        slot, value = update.slot, update.value
        writers = {other.component for other in self._writers[slot]}
        if update.path or value.partial or len(writers) > 1:
            return False
        if sum(other.slot == slot for other in outcome.updates) > 1:
            return False
        slots = sorted(value.slots)
        kinds = [self.layout.kinds[self.layout.names[s]] for s in slots]
        ranges = [_values_of(kind) for kind in kinds]
        if any(r is None for r in ranges) or prod(len(r) for r in ranges if r is not None) > MOST_VALUATIONS:
            return False
        conditions = [part for part in _conjuncts(edge.guard) if part.slots <= value.slots]
        kind, row = self.layout.kinds[self.layout.names[slot]], list(self.default)
        for values in product(*(r for r in ranges if r is not None)):
            for s, v in zip(slots, values, strict=True):
                row[s] = v
            here = tuple(row)
            try:
                if all(part.closure(here) for part in conditions) and not has_value_type(
                    value.closure(here), kind
                ):
                    return False
            except UNDEFINED_ERRORS:
                return False
        return True

    def _fold(self, term: LazyTerm, known: Mapping[int, Any]) -> _Known:
        """The value for ever, if what is frozen decides it, and what it depends on."""
        if term.op is None:
            return self._leaf(term, known)
        parts = [self._fold(part, known) for part in term.parts]
        every = frozenset().union(*(part.used for part in parts))
        match term.op:
            case Op.NOT:
                value = parts[0].value
                return _Known(UNKNOWN if value is UNKNOWN else not value, every)
            case Op.AND | Op.OR:
                return self._fold_connective(term, parts, every, deciding=term.op is Op.OR)
            case Op.IMPLIES:
                for part, sought in zip(parts, (False, True), strict=True):
                    if part.value is not UNKNOWN and bool(part.value) is sought:
                        return _Known(True, part.used | _partial_slots(term.parts))
                both = parts[0].value is not UNKNOWN and parts[1].value is not UNKNOWN
                return _Known(bool(parts[1].value) if both else UNKNOWN, every)
            case _:  # a choice
                if parts[0].value is UNKNOWN:
                    return _Known(UNKNOWN, every)
                branch = parts[1] if parts[0].value else parts[2]
                return _Known(branch.value, parts[0].used | branch.used)

    @staticmethod
    def _fold_connective(
        term: LazyTerm, parts: list[_Known], every: frozenset[int], *, deciding: bool
    ) -> _Known:
        for part in parts:
            if part.value is not UNKNOWN and bool(part.value) is deciding:
                return _Known(deciding, part.used | _partial_slots(term.parts))
        decided = all(part.value is not UNKNOWN for part in parts)
        return _Known(not deciding if decided else UNKNOWN, every)

    def _leaf(self, term: LazyTerm, known: Mapping[int, Any]) -> _Known:
        if not term.slots <= known.keys():
            return _Known(UNKNOWN, term.slots)
        row = list(self.default)
        for slot in term.slots:
            row[slot] = known[slot]
        try:
            return _Known(term.closure(tuple(row)), term.slots)
        except UNDEFINED_ERRORS:
            return _Known(UNKNOWN, term.slots)


def _written_slots(edge: LazyEdge) -> set[int]:
    places = set() if edge.place is None else {edge.place}
    return places | {update.slot for outcome in edge.outcomes for update in outcome.updates}


def _slots_of(terms: Iterable[LazyTerm]) -> frozenset[int]:
    return _NOTHING.union(*(term.slots for term in terms))


def _partial_slots(parts: Iterable[LazyTerm]) -> frozenset[int]:
    """Of parts that might have no value: whether they have one is not forgotten."""
    return _slots_of(part for part in parts if part.partial)


def _conjuncts(term: LazyTerm) -> Iterator[LazyTerm]:
    if term.op is Op.AND:
        for part in term.parts:
            yield from _conjuncts(part)
    else:
        yield term


def _values_of(kind: ValueType) -> range | tuple[bool, ...] | None:
    match kind:
        case Bool():
            return (False, True)
        case Int(int() as low, int() as high):
            return range(low, high + 1)
        case _:
            return None
