"""An environment as a JANI model.

Rewards become transient variables that edges assign, one for each component that pays, because in JANI two
automata cannot add to one variable in the same step. Where a term asks for the location of a component, a
transient variable tells it. Values that the environment picks freely become one edge for each of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from surefoot.errors import Unsupported
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.export.properties import encode_jani_property
from surefoot.formats.jani.export.terms import ExportNames, Json, jani_expression, jani_number
from surefoot.problem.environment import Component, Edge, Environment, Outcome
from surefoot.problem.property import Property
from surefoot.problem.semantics import has_value_type
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import (
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    free_names,
    split_conjunction,
)
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

FEATURES = ("derived-operators", "arrays", "trigonometric-functions")
MOST_CHOICES = 1000  # edges that one edge with free choices becomes


def write_jani(
    environment: Environment,
    properties: Mapping[str, Property] | None = None,
    *,
    kind: Literal["lts", "dtmc", "mdp"] = "mdp",
) -> str:
    """The text of a JANI model with the same meaning; what has no counterpart is refused with a sentence."""
    _check_exportable(environment)
    payers = _paying_components(environment)
    names = ExportNames(environment, {v.name for v in environment.variables})
    rewards = {
        reward: {c: names.fresh(reward if len(owners) == 1 else f"{reward} of {c}") for c in owners}
        for reward, owners in payers.items()
    }
    writer = _Writer(environment, names, rewards)
    asked = {reward: list(own.values()) for reward, own in rewards.items()}
    written = [encode_jani_property(n, p, names, asked) for n, p in (properties or {}).items()]
    automata = [writer.automaton(c) for c in environment.components]
    fixed, restriction = writer.starts()
    content = {
        "jani-version": 1,
        "name": environment.name,
        "type": kind,
        "features": list(FEATURES),
        "actions": [{"name": action} for action in _action_names(environment)],
        "variables": [*writer.variables(fixed), *writer.transients()],
        **({} if restriction is None else {"restrict-initial": {"exp": restriction}}),
        "properties": written,
        "automata": automata,
        "system": _encode_system(environment),
    }
    for automaton, component in zip(automata, environment.components, strict=True):
        automaton["locations"] = writer.locations(component)
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _check_exportable(environment: Environment) -> None:
    if environment.controls:
        raise Unsupported("JANI has no controls", fix="export environments with actions")
    if environment.flow is not None:
        raise Unsupported(
            "differential equations are written as steps", fix="discretise the environment first"
        )
    if environment.arithmetic is not Arithmetic.EXACT:
        raise Unsupported("JANI numbers are exact; this environment computes with float64", fix="use exact")
    if environment.start_laws:
        raise Unsupported("JANI has no laws of start values", fix="leave the laws of the starts out")
    for variable in environment.variables:
        kind = variable.kind
        while isinstance(kind, Array):
            kind = kind.element
        if isinstance(kind, Real) and kind.float32:
            raise Unsupported(
                f"JANI has no float32 numbers; `{variable.name}` is one", fix="use real numbers"
            )


def _paying_components(environment: Environment) -> dict[str, list[str]]:
    """Which components pay which reward."""
    found: dict[str, list[str]] = {}
    for component in environment.components:
        paid = [r for e in component.edges for o in e.outcomes for r, _ in o.rewards]
        for reward in dict.fromkeys(paid):
            found.setdefault(reward, []).append(component.name)
    return found


def _action_names(environment: Environment) -> list[str]:
    used = [e.action for c in environment.components for e in c.edges if e.action is not None]
    used += [v.result for v in environment.synchronisations if v.result is not None]
    return list(dict.fromkeys(used))


def _encode_system(environment: Environment) -> Json:
    elements = [{"automaton": c.name} for c in environment.components]
    vectors = [
        {"synchronise": list(v.actions), **({} if v.result is None else {"result": v.result})}
        for v in environment.synchronisations
    ]
    alone = len(elements) == 1 and not vectors
    return {"elements": elements} if alone else {"elements": elements, "syncs": vectors}


@dataclass(frozen=True, slots=True)
class _Writer:
    environment: Environment
    names: ExportNames
    rewards: Mapping[str, Mapping[str, str]]  # reward -> component -> transient variable

    def variables(self, fixed: Mapping[str, Json]) -> Iterator[Json]:
        for variable in self.environment.variables:
            if isinstance(variable.kind, Array) and variable.name not in fixed:
                what = f"the array `{variable.name}` has several initial values, which JANI cannot say"
                raise Unsupported(what, fix="fix its initial value")
            start = {"initial-value": fixed[variable.name]} if variable.name in fixed else {}
            yield {"name": variable.name, "type": _encode_type(variable.kind), **start}

    def transients(self) -> Iterator[Json]:
        """Written last: by then it is known which are needed."""
        for name in self.names.tests.values():
            yield {"name": name, "type": "bool", "initial-value": False, "transient": True}
        for name in (
            *self.names.numbers.values(),
            *(n for own in self.rewards.values() for n in own.values()),
        ):
            kind = "int" if name in self.names.numbers.values() else "real"
            yield {"name": name, "type": kind, "initial-value": 0, "transient": True}

    def locations(self, component: Component) -> list[Json]:
        written = []
        for index, location in enumerate(component.locations):
            values: list[Json] = []
            if (component.name, location) in self.names.tests:
                values.append({"ref": self.names.tests[component.name, location], "value": True})
            if component.name in self.names.numbers:
                values.append({"ref": self.names.numbers[component.name], "value": index})
            written.append({"name": location, **({"transient-values": values} if values else {})})
        return written

    def starts(self) -> tuple[dict[str, Json], Json]:
        """Initial values that an equation fixes, and the rest of the condition."""
        kinds = {v.name: v.kind for v in self.environment.variables}
        fixed: dict[str, Json] = {}
        rest: list[Term] = []
        for part in split_conjunction(self.environment.initial):
            match part:
                case Apply(Op.EQ, (Var(name), value)) if (
                    name in kinds and name not in fixed and _is_start(value, kinds[name])
                ):
                    fixed[name] = jani_expression(value, self.names, "initial")
                case _:
                    rest.append(part)
        left = conjunction_of(tuple(rest))
        return fixed, None if left == TRUE else jani_expression(left, self.names, "initial")

    def automaton(self, component: Component) -> dict[str, Any]:
        edges = [
            self._edge(component, edge, f"`{component.name}#{number}`")
            for number, whole in enumerate(component.edges)
            for edge in without_choices(whole, f"`{component.name}#{number}`")
        ]
        return {
            "name": component.name,
            "locations": [],
            "initial-locations": list(component.initial),
            "edges": edges,
        }

    def _edge(self, component: Component, edge: Edge, where: str) -> Json:
        written: dict[str, Any] = {"location": edge.source}
        if edge.action is not None:
            written["action"] = edge.action
        if edge.guard != TRUE:
            written["guard"] = {"exp": jani_expression(edge.guard, self.names, where)}
        written["destinations"] = [self._destination(component, o, where) for o in edge.outcomes]
        return written

    def _destination(self, component: Component, outcome: Outcome, where: str) -> Json:
        first = min(
            (
                u.index
                for c in self.environment.components
                for e in c.edges
                for o in e.outcomes
                for u in o.updates
            ),
            default=0,
        )
        assignments = [
            _encode_assignment(
                jani_expression(u.target, self.names, where),
                jani_expression(u.value, self.names, where),
                u.index,
            )
            for u in outcome.updates
        ]
        for reward, amount in outcome.rewards:
            name = self.rewards[reward][component.name]
            assignments.append(_encode_assignment(name, jani_expression(amount, self.names, where), first))
        return {
            "location": outcome.target,
            "probability": {"exp": jani_expression(outcome.probability, self.names, where)},
            "assignments": assignments,
        }


def _encode_assignment(target: Json, value: Json, index: int) -> Json:
    return {"ref": target, "value": value, **({"index": index} if index else {})}


def _is_start(value: Term, kind: ValueType) -> bool:
    return not free_names(value) and has_value_type(evaluate_term(value, {}), kind)


def without_choices(edge: Edge, where: str, language: str = "JANI") -> Iterator[Edge]:
    """One edge for each combination of values that the environment may pick."""
    if not edge.chosen:
        yield edge
        return
    if edge.assuming != TRUE:
        what = f"values that the environment picks under an assumption cannot be written in {language}"
        raise Unsupported(what, fix="give their ranges instead", where=where)
    ranges: list[list[bool] | range] = []
    count = 1
    for choice in edge.chosen:
        match choice.kind:
            case Bool():
                ranges.append([False, True])
            case Int(int() as low, int() as high):
                ranges.append(range(low, high + 1))
            case _:
                what = f"`{choice.name}` is picked among infinitely many values"
                raise Unsupported(what, fix="use a bounded integer", where=where)
        count *= len(ranges[-1])
    if count > MOST_CHOICES:
        raise Unsupported(f"the edge stands for {count} choices", fix=f"at most {MOST_CHOICES} are written")
    for values in product(*ranges):
        picked = {c.name: Const(v) for c, v in zip(edge.chosen, values, strict=True)}
        outcomes = tuple(_with_values(o, picked) for o in edge.outcomes)
        yield replace(edge, chosen=(), outcomes=outcomes)


def _with_values(outcome: Outcome, picked: Mapping[str, Const]) -> Outcome:
    def substitute_choices(term: Term) -> Term:
        return fold_constant_parts(substitute_names(term, picked))

    return replace(
        outcome,
        probability=substitute_choices(outcome.probability),
        updates=tuple(
            replace(u, target=substitute_choices(u.target), value=substitute_choices(u.value))
            for u in outcome.updates
        ),
        rewards=tuple((name, substitute_choices(amount)) for name, amount in outcome.rewards),
    )


def _encode_type(kind: ValueType) -> Json:
    match kind:
        case Bool():
            return "bool"
        case Array(element):
            return {"kind": "array", "base": _encode_type(element)}
        case Int(low, high) | Real(low, high):
            base = "int" if isinstance(kind, Int) else "real"
            bounds = {
                key: jani_number(bound)
                for key, bound in (("lower-bound", low), ("upper-bound", high))
                if bound is not None
            }
            return {"kind": "bounded", "base": base, **bounds} if bounds else base
