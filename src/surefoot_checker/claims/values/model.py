"""A finite system: where its names stand in a state, and its terms compiled when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...kernel.problem import Edge, Problem
from ...kernel.strict_json import BadCertificate
from ...kernel.term import Kind, Term
from .term import Function, term_to_syntax
from .term_code import ExpressionCompiler, TermSyntax


@dataclass(frozen=True, slots=True, eq=False)
class AutomataModel:
    """A row is a state (`width` entries: variables, then locations), then the values that are chosen."""

    problem: Problem
    width: int
    slots: Mapping[str, int]  # of variables, of places (`@component`) and of chosen values
    kinds: tuple[Kind, ...]  # of variables
    places: tuple[int | None, ...]  # slot of the location of each component, None where it has only one
    sure: Mapping[int, Kind]  # the kinds of all entries of a state: nothing else is ever written
    edges: tuple[tuple[tuple[Edge, ...], ...], ...]  # by component and location
    component_of: Mapping[Edge, int]
    code: ExpressionCompiler = field(default_factory=ExpressionCompiler)  # of all its terms
    # Of terms by their identity, each with the term, so that nothing else can take its place in memory.
    trees: dict[int, tuple[Term, TermSyntax]] = field(default_factory=dict)
    functions: dict[int, tuple[Term, Function]] = field(default_factory=dict)

    def syntax(self, term: Term) -> TermSyntax:
        """A term of an edge as a syntax tree."""
        if (found := self.trees.get(id(term))) is None:
            found = self.trees[id(term)] = term, term_to_syntax(term, self.slots, self.sure, self.code)
        return found[1]

    def function(self, term: Term) -> Function:
        """The function of a term of an edge, compiled when it is first needed."""
        if (found := self.functions.get(id(term))) is None:
            found = self.functions[id(term)] = term, self.code.function(self.syntax(term).node)
        return found[1]


def build_automata_model(problem: Problem) -> AutomataModel:
    """The model of a problem without controls."""
    if problem.controls or problem.time is not None:
        raise BadCertificate("problem: finite systems have neither controls nor continuous time")
    kinds = tuple(_check_kind(v.kind) for v in problem.variables)
    slots: dict[Any, int] = {v.name: i for i, v in enumerate(problem.variables)}
    sure: dict[int, Kind] = dict(enumerate(kinds))
    places: list[int | None] = []
    for component in problem.components:
        several = len(component.locations) > 1
        places.append(len(slots) if several else None)
        if several:
            sure[len(slots)] = ("integer", 0, len(component.locations) - 1)
            slots[f"@{component.name}"] = len(slots)
    width = len(slots)
    owners = {edge: c for c, component in enumerate(problem.components) for edge in component.edges}
    for edge in owners:
        if any(outcome.probability is None for outcome in edge.outcomes):
            raise BadCertificate("an outcome without its probability")
        for choice in edge.chosen:
            _check_kind(choice.kind)
            slots.setdefault(choice.name, len(slots))
    edges = tuple(
        tuple(tuple(e for e in c.edges if e.source == location) for location in range(len(c.locations)))
        for c in problem.components
    )
    return AutomataModel(problem, width, slots, kinds, tuple(places), sure, edges, owners)


def _check_kind(kind: Kind) -> Kind:
    """The kind, if finite systems cover it."""
    if kind[0] == "array":
        _check_kind(kind[2])
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
