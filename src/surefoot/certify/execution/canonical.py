"""A problem written out for a certificate (docs/certificates.md, section 9).

The canonical problem has scalar variables only, one automaton without locations (the location is a variable)
and one network. What does not fit is refused with the reason, never rewritten into something that holds less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple
from fractions import Fraction
from pathlib import Path
from typing import Any

from surefoot.certify.checker.file import file_bytes
from surefoot.certify.checker.network import Network as CheckedNetwork
from surefoot.certify.checker.network import read_network
from surefoot.certify.checker.number import BadCertificate
from surefoot.certify.checker.onnx_file import output_names, read_onnx
from surefoot.encode.expand import Scope, expand, expand_scalar, leaves, undefined
from surefoot.encode.interval import Kinds, Scalar
from surefoot.encode.layout import Layout, declare, in_location, lay_out
from surefoot.errors import Unsupported
from surefoot.problem.environment import Arithmetic, Bool, Edge, Environment, Int, Outcome, Real
from surefoot.problem.meaning.decision import action_names, action_of
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.names import is_reserved, location_key, output_name
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.problem.show import show
from surefoot.problem.term import (
    FALSE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction,
    disjunction,
    free_names,
)
from surefoot.query.claim import network_written

_OPERATORS = {
    op: op.value
    for op in (
        *(Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.ABS),
        *(Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES, Op.ITE),
    )
}


def canonical(problem: Problem, inputs: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The problem as JSON data; `Unsupported` says why it cannot be written in this form.

    `inputs`: files with their digests. If the network is that of one of them, as the checker reads it, the
    file is named; otherwise the weights are written out.
    """
    environment, policy = problem.environment, problem.policy
    if environment.arithmetic is not Arithmetic.EXACT or environment.flow is not None:
        raise Unsupported("the environment computes in float64, which certificates do not cover")
    if len(environment.components) != 1 or environment.synchronisations:
        raise Unsupported("certificates cover environments with a single component")
    if not isinstance(policy, NeuralPolicy):
        raise Unsupported("certificates cover policies that are one network")
    layout = lay_out(environment, set())
    names = {**layout.scope, **{c.name: Var(c.name) for c in environment.controls}}
    kinds: Kinds = {**layout.kinds, **{c.name: Real(c.low, c.high) for c in environment.controls}}
    return {
        "name": problem.name,
        "variables": [_declared(name, kind) for name, kind in layout.kinds.items()],
        "initial": _written(_start(environment, layout), layout.scope, layout.kinds),
        "controls": [[c.name, _end(c.low), _end(c.high), c.clipped] for c in environment.controls],
        "edges": [
            _edge(environment, layout, number, edge, _action(problem, number), names, kinds)
            for number, edge in enumerate(environment.components[0].edges)
        ],
        "policy": {
            "network": _network(policy.network, inputs or {}),
            "observe": [_written(t, layout.scope, layout.kinds) for t in policy.observe],
            "choose": policy.choose.value,
            "actions": list(_actions(policy, environment)),
        },
        "property": _property(problem.property, policy, names, kinds),
    }


def _actions(policy: NeuralPolicy, environment: Environment) -> tuple[str, ...]:
    return () if policy.choose is Choose.VALUE else action_names(policy, environment)


def _action(problem: Problem, number: int) -> str | None:
    assert problem.policy is not None
    edge = problem.environment.components[0].edges[number]
    return action_of(problem.policy, problem.environment, Transition(((0, number),), edge.action))


def _start(environment: Environment, layout: Layout) -> Term:
    (component,) = environment.components
    if len(component.locations) == 1:
        return environment.initial
    places = tuple(in_location(layout, environment, 0, place) for place in component.initial)
    return conjunction((disjunction(places), environment.initial))


def _end(value: Fraction | int | None) -> int | str | None:
    return None if value is None else _number(value)


def _number(value: Fraction | int) -> int | str:
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else str(exact)


def _declared(name: str, kind: Scalar) -> list[object]:
    match kind:
        case Bool():
            return [name, None, None, "boolean"]
        case Int(low, high):
            return [name, low, high, "integer"]
        case Real(low, high, float32):
            return [name, _end(low), _end(high), "float32" if float32 else "real"]


def _written(term: Term, scope: Scope, kinds: Kinds) -> Any:
    """A term over scalars that has a value in every state."""
    if undefined(term, scope, kinds) != FALSE:
        raise Unsupported(f"`{show(term)}` may have no value, which certificates do not cover")
    return _tree(expand_scalar(term, scope))


def _tree(term: Term) -> Any:
    match term:
        case Const(bool(value)):
            return value
        case Const(value):
            return _number(value)
        case Var(name):
            return ["name", name]
        case Apply(op, args) if op in _OPERATORS:
            return [_OPERATORS[op], *map(_tree, args)]
        case _:
            raise Unsupported(f"`{show(term)}` is not linear in cases, which certificates need")


def _edge(
    environment: Environment,
    layout: Layout,
    number: int,
    edge: Edge,
    action: str | None,
    names: Scope,
    kinds: Kinds,
) -> dict[str, Any]:
    own: dict[str, Scalar] = {}
    taken = set(layout.kinds)
    scope = {**names, **{c.name: declare(c.name, c.kind, own, taken) for c in edge.chosen}}
    if len(scope) < len(names) + len(edge.chosen):
        raise Unsupported("a value that the environment picks has the name of something else")
    all_kinds = {**kinds, **own}
    guard = conjunction((in_location(layout, environment, 0, edge.source), edge.guard))
    return {
        "action": action,
        "guard": _written(guard, {**names, **{n: Var(n) for n in layout.kinds}}, kinds),
        "chosen": [_declared(name, kind) for name, kind in own.items()],
        "assuming": _written(edge.assuming, scope, all_kinds),
        "outcomes": [
            list(_updates(environment, layout, outcome, scope, all_kinds))
            for outcome in edge.outcomes
            if _is_possible(outcome)
        ],
    }


def _is_possible(outcome: Outcome) -> bool:
    match outcome.probability:
        case Const(int() | Fraction() as share) if not isinstance(share, bool) and 0 <= share <= 1:
            return share > 0
        case other:
            raise Unsupported(f"the probability `{show(other)}` varies, which certificates do not cover")


def _updates(
    environment: Environment, layout: Layout, outcome: Outcome, scope: Scope, kinds: Kinds
) -> Iterator[list[object]]:
    if len({u.index for u in outcome.updates}) > 1:
        raise Unsupported("updates one after the other in one step, which certificates do not cover")
    seen: set[str] = set()
    for update in outcome.updates:
        targets, values = leaves(expand(update.target, layout.scope)), leaves(expand(update.value, scope))
        if undefined(update.target, scope, kinds) != FALSE or undefined(update.value, scope, kinds) != FALSE:
            raise Unsupported(f"the update of `{show(update.target)}` may have no value")
        if len(targets) != len(values):
            raise Unsupported(f"`{show(update.target)}` is assigned an array of another length")
        for target, value in zip(targets, values, strict=True):
            if not isinstance(target, Var) or target.name in seen:
                raise Unsupported(
                    f"which element of `{show(update.target)}` is assigned varies, or twice one"
                )
            seen.add(target.name)
            yield [target.name, _tree(value)]
    (component,) = environment.components
    if len(component.locations) > 1:
        yield [location_key(component.name), component.locations.index(outcome.target)]


def _property(asked: Property, policy: NeuralPolicy, names: Scope, kinds: Kinds) -> dict[str, Any]:
    def condition(term: Term) -> Any:
        more = {name: Var(name) for name in free_names(term) - set(names) if is_reserved(name)}
        outputs = {output_name(i): Real() for i in range(policy.network.outputs)}
        return _written(
            term,
            {**names, **more},
            {**kinds, **outputs, **dict.fromkeys(more.keys() - outputs.keys(), Bool())},
        )

    match asked:
        case Never(bad, steps):
            bound = {} if steps is None else {"steps": steps}
            return {"kind": "never", "condition": condition(bad), **bound}
        case Within(good, steps, after):
            return {"kind": "within", "condition": condition(good), "steps": steps, "after": after}
        case Eventually(good):
            return {"kind": "eventually", "condition": condition(good)}
        case Recurs(good):
            return {"kind": "recurs", "condition": condition(good)}
        case other:
            raise Unsupported(f"certificates about runs do not cover {type(other).__name__}")


def _network(network: Network, inputs: Mapping[str, str]) -> dict[str, Any]:
    written = dict(network_written(network))
    meant = read_network(written)
    for file, digest in inputs.items():
        if file.endswith((".onnx", ".onnx.gz")):
            for output, found in _readings(Path(file)):
                if _are_same(found, meant):
                    return {"file": file, "sha256": digest, "output": output}
    return written


def _readings(file: Path) -> Iterator[tuple[str | None, CheckedNetwork]]:
    """The networks in a file: the whole, or one for each output."""
    model = file_bytes(file)
    try:
        names = output_names(model)
    except BadCertificate:
        return
    for output in (None,) if len(names) == 1 else names:
        try:
            yield output, read_onnx(model, output)
        except BadCertificate:
            continue


def _are_same(left: CheckedNetwork, right: CheckedNetwork) -> bool:
    return (
        left.width == right.width
        and [type(n) for n in left.nodes] == [type(n) for n in right.nodes]
        and all(astuple(a) == astuple(b) for a, b in zip(left.nodes, right.nodes, strict=True))
    )
