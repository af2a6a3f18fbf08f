"""Environments as PRISM text, for simulators that read nothing else: components become modules.

Edges that move together must have the same action, which is what PRISM synchronises on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Int

_INFIX = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.MUL: "*",
    Op.DIV: "/",
    Op.LT: "<",
    Op.LE: "<=",
    Op.EQ: "=",
    Op.AND: "&",
    Op.OR: "|",
    Op.IMPLIES: "=>",
}
_CALLS = {Op.MIN: "min", Op.MAX: "max", Op.FLOOR: "floor", Op.CEIL: "ceil"}


def prism_text(environment: Environment, start: Mapping[str, Any]) -> str:
    """`start`: the only start state. A variable belongs to the first component that writes it."""
    for vector in environment.synchronisations:
        if any(action not in (None, vector.result) for action in vector.actions):
            raise Unsupported("edges that move together have different actions")
    owners = {}
    for component in environment.components:
        for edge in component.edges:
            for outcome in edge.outcomes:
                for update in outcome.updates:
                    assert isinstance(update.target, Var)
                    owners.setdefault(update.target.name, component.name)
    modules = [_module(environment, c, owners, start) for c in environment.components]
    return "\n".join(["mdp", *modules]) + "\n"


def _module(
    environment: Environment, component: Component, owners: Mapping[str, str], start: Mapping[str, Any]
) -> str:
    lines = [f"module {component.name}"]
    for variable in environment.variables:
        if owners.get(variable.name) == component.name:
            assert isinstance(variable.kind, Int)
            kind = variable.kind
            lines.append(f"  {variable.name} : [{kind.low}..{kind.high}] init {start[variable.name]};")
    place = f"at_{component.name}"
    first = component.locations.index(component.initial[0])
    lines.append(f"  {place} : [0..{len(component.locations) - 1}] init {first};")
    lines += [_command(component, edge, place) for edge in component.edges]
    return "\n".join([*lines, "endmodule"])


def _command(component: Component, edge: Edge, place: str) -> str:
    outcomes = []
    for outcome in edge.outcomes:
        moves = [f"({place}'={component.locations.index(outcome.target)})"]
        moves += [f"({_term(u.target)}'={_term(u.value)})" for u in outcome.updates]
        outcomes.append(f"{_term(outcome.probability)} : {' & '.join(moves)}")
    guard = f"{place}={component.locations.index(edge.source)} & {_term(edge.guard)}"
    return f"  [{edge.action or ''}] {guard} -> {' + '.join(outcomes)};"


def _term(term: Term) -> str:
    match term:
        case Const(bool() as value):
            return str(value).lower()
        case Const(value):
            return str(value) if isinstance(value, int) else f"({value.numerator}/{value.denominator})"
        case Var(name):
            return name
        case Apply(Op.NOT, (part,)):
            return f"!({_term(part)})"
        case Apply(Op.NEG, (part,)):
            return f"(0-{_term(part)})"
        case Apply(op, args) if op in _INFIX:
            return "(" + _INFIX[op].join(_term(a) for a in args) + ")"
        case Apply(op, args) if op in _CALLS:
            return f"{_CALLS[op]}({','.join(_term(a) for a in args)})"
        case _:
            raise Unsupported(f"PRISM text of {term}")
