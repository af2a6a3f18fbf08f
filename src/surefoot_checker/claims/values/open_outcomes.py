"""States in which outcomes of chance are open, and terms over them (docs/certificates.md, section 11).

A source says what several variables are worth together: columns of values with their probabilities. Sources
are independent of one another, and of the values that the state has. A term over such a state has a value, or
varies with one source, or depends on a source that has to be resolved before it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from ...kernel.strict_json import Refused
from ...kernel.term import Kind, Term, atom_key, is_atom, term_atoms
from .model import AutomataModel
from .term import Function, Row

MOST_WAYS = 64  # combinations of columns that are looked at, of several sources
CONNECTIVES = frozenset({"and", "or", "not", "=>", "ite"})
PARTIAL = frozenset({"/", "%", "^", "select"})  # operators that may have no value
Source = tuple[tuple[int, ...], tuple[tuple[Row, Fraction], ...]]  # slots, and columns with probabilities


class OpenState:
    """A row, in which open variables have their default, and sources sorted by their slots."""

    __slots__ = ("owners", "row", "sources")

    def __init__(self, row: Row, sources: tuple[Source, ...]) -> None:
        self.row, self.sources = row, sources
        self.owners = {slot: number for number, (slots, _) in enumerate(sources) for slot in slots}

    def touched(self, slots: frozenset[int]) -> list[int]:
        """The sources that these variables depend on, in order."""
        if self.owners.keys().isdisjoint(slots):
            return []
        return sorted({self.owners[slot] for slot in slots if slot in self.owners})

    def fill(self, picks: Mapping[int, int]) -> Row:
        """The row in which some sources have come out so."""
        row = list(self.row)
        for number, pick in picks.items():
            slots, columns = self.sources[number]
            for slot, value in zip(slots, columns[pick][0], strict=True):
                row[slot] = value
        return tuple(row)

    def count(self, number: int) -> int:
        return len(self.sources[number][1])

    def split(self, number: int) -> Iterator[tuple[Fraction, OpenState]]:
        """The state once for each way in which a source comes out."""
        others = self.sources[:number] + self.sources[number + 1 :]
        for pick, (_, share) in enumerate(self.sources[number][1]):
            yield share, OpenState(self.fill({number: pick}), others)


@dataclass(frozen=True, slots=True)
class Varies:
    """One value for each column of a source."""

    source: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Depends:
    """No value before this source is resolved; `undefined`: in some case there is none at all."""

    source: int
    undefined: bool = False


def awaited_source(found: Any) -> int | None:
    return found.source if isinstance(found, Varies | Depends) else None


@dataclass(frozen=True, slots=True, eq=False)
class OpenTerm:
    """A term with its parts, as far down as its operators are connectives."""

    function: Function
    slots: frozenset[int]
    word: str  # of the connective, or nothing
    parts: tuple[OpenTerm, ...]
    partial: bool

    def evaluate(self, state: OpenState) -> Any:
        """The value, `Varies` or `Depends`."""
        sources = state.touched(self.slots)
        if not sources:
            return self.function(state.row)
        ways = 1
        for number in sources:
            ways *= state.count(number)
        if len(sources) == 1 or ways <= MOST_WAYS:
            try:
                values = tuple(
                    self.function(state.fill(dict(zip(sources, picks, strict=True))))
                    for picks in product(*(range(state.count(n)) for n in sources))
                )
            except Refused:
                return Depends(sources[0], True)
            if all(value == values[0] for value in values):
                return values[0]
            if len(sources) == 1:
                return Varies(sources[0], values)
        return _CONNECTED[self.word](self.parts, state) if self.word else Depends(sources[0])


def _first_deciding(parts: Sequence[OpenTerm], state: OpenState, sought: bool) -> Any:
    """Of `and` and `or`: a part with this value decides; if none does, the first one that waits counts."""
    waiting: int | None = None
    for part in parts:
        found = part.evaluate(state)
        source = awaited_source(found)
        if source is None:
            if bool(found) is sought:
                return sought
            continue
        waiting = source if waiting is None else waiting
        if isinstance(found, Depends) and found.undefined:
            return Depends(waiting, True)
    return (not sought) if waiting is None else Depends(waiting)


def _opposite(parts: Sequence[OpenTerm], state: OpenState) -> Any:
    found = parts[0].evaluate(state)
    source = awaited_source(found)
    if source is None:
        return not found
    return Depends(source, isinstance(found, Depends) and found.undefined)


def _implied(parts: Sequence[OpenTerm], state: OpenState) -> Any:
    premise = parts[0].evaluate(state)
    source = awaited_source(premise)
    if source is None and not premise:
        return True
    if isinstance(premise, Depends) and premise.undefined:
        return premise
    conclusion = parts[1].evaluate(state)
    other = awaited_source(conclusion)
    if other is not None:
        broken = isinstance(conclusion, Depends) and conclusion.undefined
        return Depends(other if source is None else source, broken)
    if source is None:
        return bool(conclusion)
    return True if conclusion else Depends(source)


def _chosen(parts: Sequence[OpenTerm], state: OpenState) -> Any:
    condition = parts[0].evaluate(state)
    source = awaited_source(condition)
    if source is None:
        return parts[1 if condition else 2].evaluate(state)
    return Depends(source, isinstance(condition, Depends) and condition.undefined)


_CONNECTED: Mapping[str, Callable[[Sequence[OpenTerm], OpenState], Any]] = {
    "and": lambda parts, state: _first_deciding(parts, state, False),
    "or": lambda parts, state: _first_deciding(parts, state, True),
    "not": _opposite,
    "=>": _implied,
    "ite": _chosen,
}


class OpenTerms:
    """The terms of a model, each taken apart once."""

    def __init__(self, model: AutomataModel) -> None:
        self._model = model
        self._known: dict[
            int, tuple[Term, OpenTerm]
        ] = {}  # with the term, so that its identity stays its own

    def of(self, term: Term) -> OpenTerm:
        if (found := self._known.get(id(term))) is None:
            found = self._known[id(term)] = term, self._take_apart(term)
        return found[1]

    def _take_apart(self, term: Term) -> OpenTerm:
        function = self._model.function(term)
        slots = frozenset(self._model.slots[atom_key(atom)] for atom in term_atoms(term))
        if type(term) is tuple and term[0] in CONNECTIVES:
            parts = tuple(self.of(part) for part in term[1:])
            return OpenTerm(function, slots, term[0], parts, any(part.partial for part in parts))
        return OpenTerm(function, slots, "", (), _may_be_undefined(term))


def _may_be_undefined(term: Term) -> bool:
    if type(term) is not tuple or is_atom(term):
        return False
    return term[0] in PARTIAL or any(map(_may_be_undefined, term[1:]))


def default_of(kind: Kind) -> Any:
    """What an open or forgotten variable has in a row: its least value, if there is one."""
    if kind[0] == "boolean":
        return False
    if kind[0] == "array":
        return (default_of(kind[2]),) * kind[1]
    return next((end for end in kind[1:] if end is not None), 0)


def normal_state(
    row: Sequence[Any], open_entries: Mapping[int, Varies], shares: Sequence[Sequence[Fraction]], default: Row
) -> OpenState:
    """The one way to write a state: columns that are equal are one, what does not vary is a value."""
    whole = list(row)
    sources: list[Source] = []
    for number, probabilities in enumerate(shares):
        mine = [slot for slot in sorted(open_entries) if open_entries[slot].source == number]
        for slot in mine:
            values = open_entries[slot].values
            whole[slot] = default[slot] if any(v != values[0] for v in values) else values[0]
        varying = [s for s in mine if any(v != open_entries[s].values[0] for v in open_entries[s].values)]
        if varying:
            columns: dict[Row, Fraction] = {}
            each = zip(*(open_entries[s].values for s in varying), strict=True)
            for column, share in zip(each, probabilities, strict=True):
                columns[column] = columns.get(column, Fraction(0)) + share
            sources.append((tuple(varying), tuple(sorted(columns.items()))))
    return OpenState(tuple(whole), tuple(sorted(sources)))


def entry_of(state: OpenState, slot: int) -> Any:
    """The value of a variable, or how it varies."""
    if (number := state.owners.get(slot)) is None:
        return state.row[slot]
    slots, columns = state.sources[number]
    place = slots.index(slot)
    return Varies(number, tuple(column[place] for column, _ in columns))
