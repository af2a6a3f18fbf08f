"""Which variables can still matter in a state (docs/certificates.md, section 11).

A variable is frozen if every edge that is possible at its value leaves it as it is. With what is frozen,
conditions are looked at for ever; what they may still read, and what the updates of that read, matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from ...kernel.problem import Edge, Outcome, Update
from ...kernel.strict_json import Refused
from ...kernel.term import Kind
from .model import AutomataModel, value_conforms
from .open_outcomes import OpenState, OpenTerm, OpenTerms, Varies, default_of, entry_of, normal_state
from .term import Row

MOST_VALUATIONS = 1000  # of the variables of an update
_NO = frozenset[int]()
_OPEN = object()  # not known for ever
Known = Mapping[int, Any]
Folded = tuple[Any, frozenset[int]]  # the value for ever, or `_OPEN`; what it depends on as far as is known


class RelevantVariables:
    """`asked`: conditions of the question; `goal`: where it is false for ever, nothing can be reached."""

    def __init__(
        self,
        model: AutomataModel,
        terms: OpenTerms,
        asked: tuple[OpenTerm, ...],
        goal: OpenTerm | None,
        read: frozenset[int],
        reward: str | None,
    ) -> None:
        self._model, self._terms, self._reward = model, terms, reward
        self._asked, self._goal, self._read = asked, goal, read
        self.default: Row = tuple(default_of(model.sure[slot]) for slot in range(model.width))
        self._edges = [edge for component in model.problem.components for edge in component.edges]
        self._writers: list[list[Edge]] = [[] for _ in range(model.width)]
        for edge in self._edges:
            for slot in self._written(edge):
                self._writers[slot].append(edge)
        self._frozen: dict[tuple[int, Any], bool] = {}
        self._relevant: dict[tuple[Any, ...], tuple[frozenset[int], bool]] = {}
        self._safe: dict[Update, bool] = {}

    def _place(self, edge: Edge) -> int | None:
        return self._model.places[self._model.component_of[edge]]

    def _written(self, edge: Edge) -> set[int]:
        found = {self._model.slots[u.variable] for outcome in edge.outcomes for u in outcome.updates}
        return found if (place := self._place(edge)) is None else {*found, place}

    def forget(self, state: OpenState) -> tuple[OpenState, bool]:
        """The state with the default for what cannot matter, and whether the goal is lost for ever."""
        still = {slot for slots, _ in state.sources for slot in slots}
        frozen = tuple(s for s, value in enumerate(state.row) if s not in still and self._stays(s, value))
        key = (*frozen, *(state.row[slot] for slot in frozen))
        if key not in self._relevant:
            self._relevant[key] = self._look_ahead({slot: state.row[slot] for slot in frozen})
        matter, lost = self._relevant[key]
        row = [value if s in matter else self.default[s] for s, value in enumerate(state.row)]
        if still <= matter:
            return OpenState(tuple(row), state.sources), lost
        kept: dict[int, Varies] = {slot: entry_of(state, slot) for slot in still & matter}
        shares = [[share for _, share in columns] for _, columns in state.sources]
        return normal_state(row, kept, shares, self.default), lost

    def _stays(self, slot: int, value: Any) -> bool:
        """Is the variable frozen at this value?"""
        if (slot, value) not in self._frozen:
            known = {slot: value}
            self._frozen[slot, value] = all(
                self._impossible(edge, known) or self._leaves(edge, slot, known)
                for edge in self._writers[slot]
            )
        return self._frozen[slot, value]

    def _impossible(self, edge: Edge, known: Known) -> bool:
        place = self._place(edge)
        if place is not None and place in known and known[place] != edge.source:
            return True
        value, _ = self._fold(self._terms.of(edge.guard), known)
        return value is not _OPEN and not value

    def _leaves(self, edge: Edge, slot: int, known: Known) -> bool:
        for outcome in edge.outcomes:
            if self._place(edge) == slot and outcome.target != known[slot]:
                return False
            for update in outcome.updates:
                if self._model.slots[update.variable] == slot:
                    value, _ = self._fold(self._terms.of(update.value), known)
                    if update.path or value is _OPEN or value != known[slot]:
                        return False
        return True

    def _look_ahead(self, known: Known) -> tuple[frozenset[int], bool]:
        matter = set(self._read)
        for term in self._asked:
            matter |= self._fold(term, known)[1]
        feeds: dict[int, set[int]] = {}
        for edge in self._edges:
            place = self._place(edge)
            if place is not None:
                matter.add(place)
                if place in known and known[place] != edge.source:
                    continue
            matter |= self._fold(self._terms.of(edge.guard), known)[1]
            if not self._impossible(edge, known):
                for outcome in edge.outcomes:
                    matter |= self._read_in(outcome, edge, known)
                    for update in outcome.updates:
                        used = self._fold(self._terms.of(update.value), known)[1] | self._in_path(update)
                        feeds.setdefault(self._model.slots[update.variable], set()).update(used)
        waiting = list(matter)
        while waiting:
            more = feeds.get(waiting.pop(), set()) - matter
            matter |= more
            waiting += more
        lost = False
        if self._goal is not None:
            value, _ = self._fold(self._goal, known)
            lost = value is not _OPEN and not value
        return frozenset(matter), lost

    def _read_in(self, outcome: Outcome, edge: Edge, known: Known) -> set[int]:
        """What its probability and rewards read, and what may take an update out of its range."""
        rewards = [term for name, term in outcome.rewards if name == self._reward]
        found: set[int] = set()
        for term in (outcome.probability, *rewards):
            found |= self._fold(self._terms.of(term), known)[1]
        for update in outcome.updates:
            if update not in self._safe:
                self._safe[update] = self._is_safe(update, outcome, edge)
            if not self._safe[update]:
                slot = self._model.slots[update.variable]
                found |= {slot, *self._terms.of(update.value).slots, *self._in_path(update)}
        return found

    def _in_path(self, update: Update) -> frozenset[int]:
        return _NO.union(*(self._terms.of(term).slots for term in update.path))

    def _is_safe(self, update: Update, outcome: Outcome, edge: Edge) -> bool:
        """Does every valuation of the variables that it mentions give a value of the kind?"""
        slot, value = self._model.slots[update.variable], self._terms.of(update.value)
        owners = {self._model.component_of[other] for other in self._writers[slot]}
        times = sum(other.variable == update.variable for other in outcome.updates)
        if update.path or value.partial or len(owners) > 1 or times > 1:
            return False
        slots, count = sorted(value.slots), 1
        ranges = [_few_values(self._model.sure[s]) for s in slots]
        for values in ranges:
            count *= len(values)
        if not all(ranges) or count > MOST_VALUATIONS:
            return False
        guards = [g for g in _conjuncts(self._terms.of(edge.guard)) if g.slots <= value.slots]
        row = list(self.default)
        for valuation in product(*ranges):
            for s, v in zip(slots, valuation, strict=True):
                row[s] = v
            here = tuple(row)
            try:
                possible = all(guard.function(here) for guard in guards)
                if possible and not value_conforms(value.function(here), self._model.sure[slot]):
                    return False
            except Refused:
                return False
        return True

    def _fold(self, term: OpenTerm, known: Known) -> Folded:
        """What a term is for ever, where only these variables are known and stay as they are."""
        if not term.word:
            if not term.slots <= known.keys():
                return _OPEN, term.slots
            row = list(self.default)
            for slot in term.slots:
                row[slot] = known[slot]
            try:
                return term.function(tuple(row)), term.slots
            except Refused:
                return _OPEN, term.slots
        parts = [self._fold(part, known) for part in term.parts]
        whole = _NO.union(*(used for _, used in parts))
        if term.word == "ite":
            (condition, used), then, otherwise = parts
            value, more = then if condition else otherwise
            return (_OPEN, whole) if condition is _OPEN else (value, used | more)
        if term.word == "not":
            return (_OPEN if parts[0][0] is _OPEN else not parts[0][0]), whole
        # `a => b` is `not a or b`; one part that has the value `sought` decides the others away.
        sought = [False, True] if term.word == "=>" else [term.word == "or"] * len(parts)
        result = term.word != "and"
        for (value, used), decides in zip(parts, sought, strict=True):
            if value is not _OPEN and bool(value) is decides:
                return result, used.union(*(p.slots for p in term.parts if p.partial))
        return (_OPEN if any(value is _OPEN for value, _ in parts) else not result), whole


def _conjuncts(term: OpenTerm) -> Iterator[OpenTerm]:
    if term.word != "and":
        yield term
    for part in term.parts if term.word == "and" else ():
        yield from _conjuncts(part)


def _few_values(kind: Kind) -> range | tuple[bool, ...]:
    """The values of a kind, none if it is not known how many there are."""
    if kind[0] == "boolean":
        return (False, True)
    if kind[0] == "integer" and None not in kind:
        return range(kind[1], kind[2] + 1)
    return range(0)
