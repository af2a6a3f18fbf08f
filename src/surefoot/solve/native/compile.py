"""A lowered query as one network over one box: all calls with their linear plumbing, one output per atom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import cast

import numpy as np

from surefoot.errors import Unsupported
from surefoot.problem.environment import Real
from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
    Combine,
    Join,
    Network,
    Node,
    Pick,
    frozen_indices,
)
from surefoot.problem.term import Var
from surefoot.query.bounds import Interval, intersect, interval, is_empty, simplify, whole_names
from surefoot.query.formula import All, AnyOf, Atom, Formula, Relation, all_of, any_of, holds
from surefoot.query.linear import Linear, as_term, constant, linearise, minus, plus, variable
from surefoot.query.query import NetworkCall, Query
from surefoot.solve.native.names import Dependence, dependence, exactly_scaled, inexpressible, substituted
from surefoot.solve.native.problem import Compiled, Either, Every, Mask, Tree
from surefoot.solve.native.room import Room, alone, bound_outputs, float_box, on_grid

FAR = Fraction(2**24)  # how far a quantity without bounds is searched


@dataclass(slots=True)
class _Plumbing:
    """Inputs, calls and nodes so far; a column is an input or a raw output of a call."""

    box: Mapping[str, Interval]
    inputs: list[str]
    nodes: list[Node] = field(default_factory=list)
    calls: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)  # value number and its columns
    errors: list[Fraction] = field(default_factory=list)  # bounds of the errors of representation
    pending: list[tuple[int, list[tuple[int, int]]]] = field(default_factory=list)  # node: (row, error)
    rounded: dict[int, Mask] = field(
        default_factory=dict
    )  # values of float32 calls, entries that are rounded
    places: dict[int, int] = field(default_factory=dict)  # value to its number in a certificate
    entries: list[int] = field(default_factory=list)  # values that are input vectors of calls

    def columns(self) -> list[str]:
        return self.inputs + [name for _, names in self.calls for name in names]


def compile_query(
    query: Query, formulas: Sequence[Formula], box: Mapping[str, Interval], literal: bool = False
) -> Compiled | None:
    """The network, box and formula of a lowered query; None if exact bounds show that nothing satisfies it.

    `box` holds exact bounds that every solution has to respect. `Unsupported` names a quantity without
    bounds that feeds a network. `literal`: keep every atom, also those that the bounds decide, and refuse
    what a certificate has no words for.
    """
    known = dependence(query, formulas)
    calls = _ordered(query.calls if literal else [_with_slack(c) for c in query.calls], known)
    outputs = {name for call in calls for name in call.outputs}
    inputs = [q.name for q in query.quantities if q.name not in known.defined and q.name not in outputs]
    room = Room({q.name: on_grid(q.kind, box[q.name]) for q in query.quantities if q.name in inputs})
    if any(is_empty(bounds) for bounds in room.values()):
        return None
    columns: dict[str, Linear] = {}
    placed = []
    single = _float32_names(query)
    for call in calls:
        placed.append(_substituted_call(call, columns))
        bound_outputs(placed[-1], room, single)
        columns |= _slack_inputs(call, inputs, room)
    if literal and (why := inexpressible(query, placed, box, room)) is not None:
        raise Unsupported(why)
    formula = _residual(query, formulas, known, columns, box, room)
    if not literal:
        formula = simplify(formula, {**{name: room[name] for name in outputs}, **room})
        if formula == AnyOf():
            return None
    curtailed = tuple(n for n in inputs if None in room[n])
    room |= {name: intersect(room[name], (-FAR, FAR)) for name in curtailed}
    table: dict[Atom, int] = {}
    tree = _tree(formula, table)
    if not table:
        table[Atom(constant(-1), Relation.LE)] = 0  # so that there is an output; it always holds
    plumbing = _Plumbing(room, inputs)
    for call in placed:
        _place(plumbing, call, single)
    forms = tuple(atom.linear for atom in table)
    _affine(plumbing, forms)
    values = {q.name: known.defined.get(q.name, variable(q.name)) for q in query.quantities}
    values = {name: substituted(value, columns) for name, value in values.items()}
    return _finished(query, plumbing, table, tree, values, tuple(placed), curtailed, known.equations)


def _with_slack(call: NetworkCall) -> NetworkCall:
    """The call with its stated slack in place of an account of every rounding: then a solution may use it."""
    return replace(call, float32=False) if any(call.slack) else call


def _ordered(calls: Sequence[NetworkCall], known: Dependence) -> list[NetworkCall]:
    """The calls with defined names replaced, each after those whose outputs it reads."""
    waiting = [_substituted_call(c, known.defined) for c in calls]
    missing = {name for c in waiting for name in c.outputs}
    ordered: list[NetworkCall] = []
    while waiting:
        ready = [c for c in waiting if not (missing & _mentioned(c))]
        if not ready:
            raise Unsupported("network calls that read each other's outputs", fix="order the calls")
        ordered.extend(ready)
        waiting = [c for c in waiting if missing & _mentioned(c)]
        missing -= {name for c in ready for name in c.outputs}
    return ordered


def _substituted_call(call: NetworkCall, values: Mapping[str, Linear]) -> NetworkCall:
    """The call with these names replaced in its inputs."""
    if not values and all(isinstance(t, Var) for t in call.inputs):
        return call
    return replace(call, inputs=tuple(as_term(substituted(linearise(t), values)) for t in call.inputs))


def _mentioned(call: NetworkCall) -> set[str]:
    return {n for t in call.inputs for n, _ in linearise(t).coefficients}


def _slack_inputs(call: NetworkCall, inputs: list[str], room: dict[str, Interval]) -> dict[str, Linear]:
    """Outputs with slack are the raw output plus an input of their own."""
    found: dict[str, Linear] = {}
    if call.float32:
        return found  # its rounding is part of the bounds
    for name, slack in zip(call.outputs, call.slack, strict=False):
        if slack:
            extra = f"slack of {name}"
            while extra in room:
                extra += "'"
            room[extra] = (-slack, slack)
            inputs.append(extra)
            found[name] = plus(variable(name), variable(extra))
    return found


def _residual(
    query: Query,
    formulas: Sequence[Formula],
    known: Dependence,
    columns: Mapping[str, Linear],
    box: Mapping[str, Interval],
    room: Mapping[str, Interval],
) -> Formula:
    """What is left to satisfy, over inputs and raw outputs: formulas, and bounds of what is no input.

    Bounds that hold anyway are left out.
    """
    parts = [f for f in formulas if f not in known.used] if known.used else list(formulas)
    outputs = {name for call in query.calls for name in call.outputs}
    for quantity in query.quantities:
        if quantity.name in known.defined or quantity.name in outputs:
            value, (low, high) = variable(quantity.name), box[quantity.name]
            if low is None and high is None:
                continue
            whole = substituted(substituted(value, known.defined), columns)
            least, most = interval(whole, room)
            if low is not None and (least is None or least < low):
                parts.append(Atom(minus(constant(low), value), Relation.LE))
            if high is not None and (most is None or most > high):
                parts.append(Atom(minus(value, constant(high)), Relation.LE))
    rewritten = [_rewritten(p, known.defined) for p in parts]
    return all_of(_rewritten(p, columns) if columns else p for p in rewritten)


def _float32_names(query: Query) -> frozenset[str]:
    return frozenset(q.name for q in query.quantities if isinstance(q.kind, Real) and q.kind.float32)


def _rewritten(formula: Formula, values: Mapping[str, Linear]) -> Formula:
    match formula:
        case All(parts):
            return all_of(_rewritten(p, values) for p in parts)
        case AnyOf(parts):
            return any_of(_rewritten(p, values) for p in parts)
        case Atom(linear, relation):
            value = substituted(linear, values)
            if value.is_constant():
                return All() if holds(value.constant, relation) else AnyOf()
            return Atom(exactly_scaled(value), relation)


def _tree(formula: Formula, table: dict[Atom, int]) -> Tree:
    match formula:
        case All(parts):
            return Every(tuple(_tree(p, table) for p in parts))
        case AnyOf(parts):
            return Either(tuple(_tree(p, table) for p in parts))
        case Atom():
            return table.setdefault(formula, len(table))


def _place(plumbing: _Plumbing, call: NetworkCall, single: frozenset[str]) -> None:
    """Append a call: its inputs, then a copy of its nodes."""
    rows = tuple(linearise(t) for t in call.inputs)
    picks = [_single_input(plumbing, row) for row in rows]
    if None in picks:
        _affine(plumbing, rows)
    else:
        plumbing.nodes.append(Pick(0, frozen_indices(picks)))
    shift = len(plumbing.nodes)
    plumbing.nodes.extend(_moved(node, shift) for node in call.network.nodes)
    plumbing.entries.append(shift)
    first = 1 + len(plumbing.places)
    plumbing.places.update((shift + i, first + i) for i in range(len(call.network.nodes) + 1))
    if call.float32:
        exact = [alone(row) in single for row in rows]
        plumbing.rounded[shift] = ~np.array(exact, dtype=np.bool_)
        for i, width in enumerate(call.network.widths()[1:], start=1):
            plumbing.rounded[shift + i] = np.ones(width, dtype=np.bool_)
    plumbing.calls.append((len(plumbing.nodes), call.outputs))


def _single_input(plumbing: _Plumbing, row: Linear) -> int | None:
    name = alone(row)
    return plumbing.inputs.index(name) if name in plumbing.inputs else None


def _moved(node: Node, shift: int) -> Node:
    match node:
        case Combine(left, right, pairing):
            return Combine(left + shift, right + shift, pairing)
        case Join(several):
            return Join(tuple(s + shift for s in several))
        case Affine(source, weights, bias):
            return doubles(source + shift, weights, bias)
        case Activation(source, shape, parameters):
            return Activation(source + shift, shape, parameters)
        case _:
            return replace(node, source=node.source + shift)


def doubles(source: int, weights: object, bias: object) -> Affine:
    """An affine node with float64 weights: bounds convert weights to float64 anyway."""
    w, b = np.array(weights, dtype=np.float64), np.array(bias, dtype=np.float64)
    return Affine(source, cast("Array32", w), cast("Array32", b))


def _affine(plumbing: _Plumbing, rows: Sequence[Linear]) -> None:
    """Append rows over all columns; what float64 cannot hold of them becomes errors of representation."""
    names = plumbing.columns()
    place = {name: i for i, name in enumerate(names)}
    weights, bias = np.zeros((len(rows), len(names))), np.zeros(len(rows))
    inexact = []
    for number, row in enumerate(rows):
        bias[number], error = _near(row.constant)
        for name, coefficient in row.coefficients:
            weights[number, place[name]], missed = _near(coefficient)
            error += missed * _magnitude(plumbing.box[name]) if missed else 0
        if error:
            inexact.append((number, len(plumbing.errors)))
            plumbing.errors.append(error)
    used = [c for c in plumbing.calls if weights[:, [place[n] for n in c[1]]].any()]
    kept = list(range(len(plumbing.inputs))) + [place[n] for c in used for n in c[1]]
    source = 0
    if used:
        plumbing.nodes.append(Join((0, *(value for value, _ in used))))
        source = len(plumbing.nodes)
    plumbing.nodes.append(doubles(source, weights[:, kept], bias))
    plumbing.pending.append((len(plumbing.nodes) - 1, inexact))


def _near(exact: Fraction) -> tuple[float, Fraction]:
    """The nearest float64 and what it misses."""
    near = float(exact)
    if near.as_integer_ratio() == (exact.numerator, exact.denominator):
        return near, Fraction(0)
    return near, abs(exact - Fraction(near))


def _magnitude(bounds: Interval) -> Fraction:
    low, high = bounds
    if low is None or high is None:
        raise Unsupported(
            "a network may overflow on the box of its inputs", fix="give tighter bounds for them"
        )
    return max(abs(low), abs(high))


def _with_errors(plumbing: _Plumbing) -> list[Node]:
    """The nodes for the final inputs: the errors of representation come last."""
    if not plumbing.errors:
        return plumbing.nodes
    nodes, inputs, count = list(plumbing.nodes), len(plumbing.inputs), len(plumbing.errors)
    for number, inexact in plumbing.pending:
        node = nodes[number]
        assert isinstance(node, Affine)
        extra = np.zeros((len(node.bias), count))
        for row, error in inexact:
            extra[row, error] = 1.0
        weights = np.concatenate([node.weights[:, :inputs], extra, node.weights[:, inputs:]], axis=1)
        nodes[number] = doubles(node.source, weights, node.bias)
    return nodes


def _finished(
    query: Query,
    plumbing: _Plumbing,
    table: Mapping[Atom, int],
    tree: Tree,
    values: dict[str, Linear],
    calls: tuple[NetworkCall, ...],
    curtailed: tuple[str, ...],
    equations: tuple[tuple[str, int], ...],
) -> Compiled:
    bounds = [plumbing.box[name] for name in plumbing.inputs]
    low, high = float_box(bounds + [(-e, e) for e in plumbing.errors])
    whole = whole_names(query.quantities)
    single = _float32_names(query)
    errors = [False] * len(plumbing.errors)
    return Compiled(
        network=Network(len(low), tuple(_with_errors(plumbing))),
        low=low,
        high=high,
        whole=np.array([n in whole for n in plumbing.inputs] + errors, dtype=np.bool_),
        single=np.array([n in single for n in plumbing.inputs] + errors, dtype=np.bool_),
        free=np.arange(len(low)) < len(plumbing.inputs),
        strict=np.array([a.relation is Relation.LT for a in table], dtype=np.bool_),
        equal=np.array([a.relation is Relation.EQ for a in table], dtype=np.bool_),
        tree=tree,
        names=tuple(plumbing.inputs),
        exact=tuple((cast("Fraction", low), cast("Fraction", high)) for low, high in bounds),
        values=values,
        calls=calls,
        quantities=query.quantities,
        forms=tuple(atom.linear for atom in table),
        curtailed=curtailed,
        rounded=plumbing.rounded,
        places=tuple(plumbing.places.get(v, -1 if v else 0) for v in range(len(plumbing.nodes) + 1)),
        entries=frozenset(plumbing.entries),
        equations=equations,
    )
