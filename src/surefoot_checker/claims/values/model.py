"""The environment of a finite system with its terms compiled: components, edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.problem import Edge, Outcome, Problem, Update
from ...kernel.strict_json import BadCertificate
from ...kernel.term import Kind, Term
from .term import Slots, term_to_syntax
from .term_code import ExpressionCompiler, TermSyntax


@dataclass(frozen=True, slots=True, eq=False)
class ModelUpdate:
    index: int
    slot: int
    path: tuple[TermSyntax, ...]  # into an array
    value: TermSyntax


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutcome:
    probability: TermSyntax
    updates: tuple[ModelUpdate, ...]
    rewards: tuple[tuple[str, TermSyntax], ...]
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class ModelEdge:
    component: int
    number: int
    action: str | None
    guard: TermSyntax
    chosen: tuple[tuple[int, Kind], ...]  # slot and kind
    assuming: TermSyntax
    outcomes: tuple[ModelOutcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AutomataModel:
    """A row is a state (`width` entries: variables, then locations), then the values that are chosen."""

    width: int
    length: int
    slots: Mapping[str, int]  # of variables, of places (`@component`) and of chosen values
    kinds: tuple[Kind, ...]  # of variables
    places: tuple[int | None, ...]  # slot of the location of each component, None where it has only one
    names: tuple[str, ...]  # of components
    locations: tuple[tuple[str, ...], ...]
    first: tuple[tuple[int, ...], ...]  # initial locations
    initial: Term
    edges: tuple[tuple[tuple[ModelEdge, ...], ...], ...]  # by component and location
    together: tuple[tuple[tuple[str | None, ...], str | None], ...]
    code: ExpressionCompiler  # of all its terms

    def sure(self) -> Mapping[int, Kind]:
        """The kinds of all entries of a state: nothing else is ever written."""
        return _entry_kinds(self.kinds, self.places, self.locations)


def _entry_kinds(
    kinds: Sequence[Kind], places: Sequence[int | None], locations: Sequence[tuple[str, ...]]
) -> Mapping[int, Kind]:
    found: dict[int, Kind] = dict(enumerate(kinds))
    for place, several in zip(places, locations, strict=True):
        if place is not None:
            found[place] = ("integer", 0, len(several) - 1)
    return found


def build_automata_model(problem: Problem) -> AutomataModel:
    """The model of a problem without controls, whose terms are compiled when they are needed."""
    if problem.controls or problem.time is not None:
        raise BadCertificate("problem: finite systems have neither controls nor continuous time")
    slots: dict[Any, int] = {v.name: i for i, v in enumerate(problem.variables)}
    places: list[int | None] = []
    for component in problem.components:
        several = len(component.locations) > 1
        places.append(len(slots) if several else None)
        if several:
            slots[f"@{component.name}"] = len(slots)
    width = len(slots)
    for edge in (edge for component in problem.components for edge in component.edges):
        for choice in edge.chosen:
            slots.setdefault(choice.name, len(slots))
    kinds = tuple(_covered_kind(v.kind) for v in problem.variables)
    locations = tuple(c.locations for c in problem.components)
    compiler = _ModelCompiler(slots, _entry_kinds(kinds, places, locations), ExpressionCompiler())
    return AutomataModel(
        width,
        len(slots),
        slots,
        kinds,
        tuple(places),
        tuple(c.name for c in problem.components),
        locations,
        tuple(c.initial for c in problem.components),
        problem.initial,
        tuple(
            tuple(
                tuple(compiler.edge(c, n, e) for n, e in enumerate(component.edges) if e.source == location)
                for location in range(len(component.locations))
            )
            for c, component in enumerate(problem.components)
        ),
        problem.synchronisations,
        compiler.code,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ModelCompiler:
    """Where names stand, and the code that terms become part of."""

    slots: Slots
    kinds: Mapping[int, Kind]
    code: ExpressionCompiler

    def term(self, term: Term) -> TermSyntax:
        return term_to_syntax(term, self.slots, self.kinds, self.code)

    def edge(self, component: int, number: int, edge: Edge) -> ModelEdge:
        chosen = tuple((self.slots[c.name], _covered_kind(c.kind)) for c in edge.chosen)
        outcomes = tuple(self.outcome(o) for o in edge.outcomes)
        guard, assuming = self.term(edge.guard), self.term(edge.assuming)
        return ModelEdge(component, number, edge.action, guard, chosen, assuming, outcomes)

    def outcome(self, outcome: Outcome) -> ModelOutcome:
        if outcome.probability is None:
            raise BadCertificate("an outcome without its probability")
        updates = tuple(sorted(map(self.update, outcome.updates), key=lambda u: u.index))
        rewards = tuple((name, self.term(amount)) for name, amount in outcome.rewards)
        return ModelOutcome(self.term(outcome.probability), updates, rewards, outcome.target)

    def update(self, update: Update) -> ModelUpdate:
        path = tuple(self.term(part) for part in update.path)
        return ModelUpdate(update.index, self.slots[update.variable], path, self.term(update.value))


def _covered_kind(kind: Kind) -> Kind:
    if kind[0] == "array":
        return ("array", kind[1], _covered_kind(kind[2]))
    if kind[0] == "float32":
        raise BadCertificate("a kind that is not covered")
    if kind[0] == "integer" and any(end is not None and type(end) is not int for end in kind[1:]):
        raise BadCertificate("an end of a range of whole numbers that is none")
    return kind


def value_conforms(value: Any, kind: Kind) -> bool:
    if kind[0] == "boolean":
        return type(value) is bool
    if kind[0] == "array":
        return (
            type(value) is tuple and len(value) == kind[1] and all(value_conforms(v, kind[2]) for v in value)
        )
    if type(value) is not int and (kind[0] == "integer" or type(value) is not Fraction):
        return False
    return (kind[1] is None or kind[1] <= value) and (kind[2] is None or value <= kind[2])
