"""A lowered query as one network over one box: all calls with their linear plumbing, one output per atom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import cast

import numpy as np

from surefoot.errors import Unsupported
from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
    Combine,
    Join,
    Network,
    Node,
    Pick,
    freeze_indices,
)
from surefoot.query.bounds import (
    Interval,
    integer_variable_names,
    intersect_intervals,
    is_empty,
    is_small_integer,
    linear_range,
    simplify_formula,
)
from surefoot.query.formula import (
    All,
    AnyOf,
    Formula,
    LinearAtom,
    Relation,
    conjoin_formulas,
    disjoin_formulas,
    relation_holds,
)
from surefoot.query.query import NetworkCall, Query
from surefoot.solvers.native.compiled_query import CompiledQuery, Either, Every, Mask, Tree
from surefoot.solvers.native.variable_definitions import (
    VariableBounds,
    VariableDefinitions,
    bound_atoms,
    bound_outputs,
    certificate_objection,
    float32_variable_names,
    float_box,
    nearest_float,
    round_bounds_inward,
    scale_exactly,
    single_variable_name,
    solve_defining_equalities,
    substitute_linear_names,
)
from surefoot.term.linear import (
    LinearForm,
    add_forms,
    constant_form,
    linearise_term,
    term_from_linear,
    variable_form,
)
from surefoot.term.term import Var

FAR = Fraction(2**24)  # how far a quantity without bounds is searched


@dataclass(slots=True)
class _NetworkBuilder:
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
    whole: frozenset[str] = frozenset()  # quantities that are whole numbers

    def columns(self) -> list[str]:
        return self.inputs + [name for _, names in self.calls for name in names]


def compile_query(
    query: Query, formulas: Sequence[Formula], box: Mapping[str, Interval], literal: bool = False
) -> CompiledQuery | None:
    """The network, box and formula of a lowered query; None if exact bounds show that nothing satisfies it.

    `box` holds exact bounds that every solution has to respect. `Unsupported` names a quantity without
    bounds that feeds a network. `literal`: keep every atom, also those that the bounds decide, and refuse
    what a certificate has no words for.
    """
    known = solve_defining_equalities(query, formulas)
    calls = _order_calls(query.calls if literal else [_with_slack(c) for c in query.calls], known)
    outputs = {name for call in calls for name in call.outputs}
    inputs = [q.name for q in query.quantities if q.name not in known.defined and q.name not in outputs]
    room = VariableBounds(
        {q.name: round_bounds_inward(q.kind, box[q.name]) for q in query.quantities if q.name in inputs}
    )
    if any(is_empty(bounds) for bounds in room.values()):
        return None
    columns: dict[str, LinearForm] = {}
    placed = []
    single = float32_variable_names(query)
    for call in calls:
        placed.append(_substitute_call(call, columns))
        bound_outputs(placed[-1], room, single)
        columns |= _slack_inputs(call, inputs, room)
    if literal and (why := certificate_objection(query, placed, box, room)) is not None:
        raise Unsupported(why)
    formula = _residual_formula(query, formulas, known, columns, box, room)
    if not literal:
        formula = simplify_formula(formula, {**{name: room[name] for name in outputs}, **room})
        if formula == AnyOf():
            return None
    curtailed = tuple(n for n in inputs if None in room[n])
    room |= {name: intersect_intervals(room[name], (-FAR, FAR)) for name in curtailed}
    table: dict[LinearAtom, int] = {}
    tree = _build_atom_tree(formula, table)
    if not table:
        table[LinearAtom(constant_form(-1), Relation.LE)] = 0  # so that there is an output; it always holds
    plumbing = _NetworkBuilder(room, inputs, whole=integer_variable_names(query.quantities))
    for call in placed:
        _append_call(plumbing, call, single)
    forms = tuple(atom.linear for atom in table)
    _append_affine(plumbing, forms)
    values = {q.name: known.defined.get(q.name, variable_form(q.name)) for q in query.quantities}
    values = {name: substitute_linear_names(value, columns) for name, value in values.items()}
    return _build_compiled_query(
        query, plumbing, table, tree, values, tuple(placed), curtailed, known.equations
    )


def _with_slack(call: NetworkCall) -> NetworkCall:
    """The call with its stated slack in place of an account of every rounding: then a solution may use it."""
    return replace(call, float32=False) if any(call.slack) else call


def _order_calls(calls: Sequence[NetworkCall], known: VariableDefinitions) -> list[NetworkCall]:
    """The calls with defined names replaced, each after those whose outputs it reads."""
    waiting = [_substitute_call(c, known.defined) for c in calls]
    missing = {name for c in waiting for name in c.outputs}
    ordered: list[NetworkCall] = []
    while waiting:
        ready = [c for c in waiting if not (missing & _input_variables(c))]
        if not ready:
            raise Unsupported("network calls that read each other's outputs", fix="order the calls")
        ordered.extend(ready)
        waiting = [c for c in waiting if missing & _input_variables(c)]
        missing -= {name for c in ready for name in c.outputs}
    return ordered


def _substitute_call(call: NetworkCall, values: Mapping[str, LinearForm]) -> NetworkCall:
    """The call with these names replaced in its inputs."""
    if not values and all(isinstance(t, Var) for t in call.inputs):
        return call
    return replace(
        call,
        inputs=tuple(
            term_from_linear(substitute_linear_names(linearise_term(t), values)) for t in call.inputs
        ),
    )


def _input_variables(call: NetworkCall) -> set[str]:
    return {n for t in call.inputs for n, _ in linearise_term(t).coefficients}


def _slack_inputs(call: NetworkCall, inputs: list[str], room: dict[str, Interval]) -> dict[str, LinearForm]:
    """Outputs with slack are the raw output plus an input of their own."""
    found: dict[str, LinearForm] = {}
    if call.float32:
        return found  # its rounding is part of the bounds
    for name, slack in zip(call.outputs, call.slack, strict=False):
        if slack:
            extra = f"slack of {name}"
            while extra in room:
                extra += "'"
            room[extra] = (-slack, slack)
            inputs.append(extra)
            found[name] = add_forms(variable_form(name), variable_form(extra))
    return found


def _residual_formula(
    query: Query,
    formulas: Sequence[Formula],
    known: VariableDefinitions,
    columns: Mapping[str, LinearForm],
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
            value, (low, high) = variable_form(quantity.name), box[quantity.name]
            if low is None and high is None:
                continue
            whole = substitute_linear_names(substitute_linear_names(value, known.defined), columns)
            least, most = linear_range(whole, room)
            below, above = (
                least is None or low is None or least < low,
                most is None or high is None or most > high,
            )
            parts += bound_atoms(value, (low if below else None, high if above else None))
    rewritten = [_substitute_formula(p, known.defined) for p in parts]
    return conjoin_formulas(_substitute_formula(p, columns) if columns else p for p in rewritten)


def _substitute_formula(formula: Formula, values: Mapping[str, LinearForm]) -> Formula:
    match formula:
        case All(parts):
            return conjoin_formulas(_substitute_formula(p, values) for p in parts)
        case AnyOf(parts):
            return disjoin_formulas(_substitute_formula(p, values) for p in parts)
        case LinearAtom(linear, relation):
            value = substitute_linear_names(linear, values)
            if value.is_constant():
                return All() if relation_holds(value.constant, relation) else AnyOf()
            return LinearAtom(scale_exactly(value), relation)


def _build_atom_tree(formula: Formula, table: dict[LinearAtom, int]) -> Tree:
    match formula:
        case All(parts):
            return Every(tuple(_build_atom_tree(p, table) for p in parts))
        case AnyOf(parts):
            return Either(tuple(_build_atom_tree(p, table) for p in parts))
        case LinearAtom():
            return table.setdefault(formula, len(table))


def _append_call(plumbing: _NetworkBuilder, call: NetworkCall, single: frozenset[str]) -> None:
    """Append a call: its inputs, then a copy of its nodes."""
    rows = tuple(linearise_term(t) for t in call.inputs)
    picks = [_single_input(plumbing, row) for row in rows]
    if None in picks:
        _append_affine(plumbing, rows)
    else:
        plumbing.nodes.append(Pick(0, freeze_indices(picks)))
    shift = len(plumbing.nodes)
    plumbing.nodes.extend(_shift_sources(node, shift) for node in call.network.nodes)
    plumbing.entries.append(shift)
    first = 1 + len(plumbing.places)
    plumbing.places.update((shift + i, first + i) for i in range(len(call.network.nodes) + 1))
    if call.float32:
        exact = [
            single_variable_name(row) in single or is_small_integer(row, plumbing.whole, plumbing.box)
            for row in rows
        ]
        plumbing.rounded[shift] = ~np.array(exact, dtype=np.bool_)
        for i, width in enumerate(call.network.widths()[1:], start=1):
            plumbing.rounded[shift + i] = np.ones(width, dtype=np.bool_)
    plumbing.calls.append((len(plumbing.nodes), call.outputs))


def _single_input(plumbing: _NetworkBuilder, row: LinearForm) -> int | None:
    name = single_variable_name(row)
    return plumbing.inputs.index(name) if name in plumbing.inputs else None


def _shift_sources(node: Node, shift: int) -> Node:
    match node:
        case Combine(left, right, pairing):
            return Combine(left + shift, right + shift, pairing)
        case Join(several):
            return Join(tuple(s + shift for s in several))
        case Affine(source, weights, bias):
            return _float64_affine(source + shift, weights, bias)
        case Activation(source, shape, parameters):
            return Activation(source + shift, shape, parameters)
        case _:
            return replace(node, source=node.source + shift)


def _float64_affine(source: int, weights: object, bias: object) -> Affine:
    """An affine node with float64 weights: bounds convert weights to float64 anyway."""
    w, b = np.array(weights, dtype=np.float64), np.array(bias, dtype=np.float64)
    return Affine(source, cast("Array32", w), cast("Array32", b))


def _append_affine(plumbing: _NetworkBuilder, rows: Sequence[LinearForm]) -> None:
    """Append rows over all columns; what float64 cannot hold of them becomes errors of representation."""
    names = plumbing.columns()
    place = {name: i for i, name in enumerate(names)}
    weights, bias = np.zeros((len(rows), len(names))), np.zeros(len(rows))
    inexact = []
    for number, row in enumerate(rows):
        bias[number], error = nearest_float(row.constant)
        for name, coefficient in row.coefficients:
            weights[number, place[name]], missed = nearest_float(coefficient)
            error += missed * _largest_magnitude(plumbing.box[name]) if missed else 0
        if error:
            inexact.append((number, len(plumbing.errors)))
            plumbing.errors.append(error)
    used = [c for c in plumbing.calls if weights[:, [place[n] for n in c[1]]].any()]
    kept = list(range(len(plumbing.inputs))) + [place[n] for c in used for n in c[1]]
    source = 0
    if used:
        plumbing.nodes.append(Join((0, *(value for value, _ in used))))
        source = len(plumbing.nodes)
    plumbing.nodes.append(_float64_affine(source, weights[:, kept], bias))
    plumbing.pending.append((len(plumbing.nodes) - 1, inexact))


def _largest_magnitude(bounds: Interval) -> Fraction:
    low, high = bounds
    if low is None or high is None:
        raise Unsupported(
            "a network may overflow on the box of its inputs", fix="give tighter bounds for them"
        )
    return max(abs(low), abs(high))


def _nodes_with_errors(plumbing: _NetworkBuilder) -> list[Node]:
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
        nodes[number] = _float64_affine(node.source, weights, node.bias)
    return nodes


def _build_compiled_query(
    query: Query,
    plumbing: _NetworkBuilder,
    table: Mapping[LinearAtom, int],
    tree: Tree,
    values: dict[str, LinearForm],
    calls: tuple[NetworkCall, ...],
    curtailed: tuple[str, ...],
    equations: tuple[tuple[str, int], ...],
) -> CompiledQuery:
    bounds = [plumbing.box[name] for name in plumbing.inputs]
    low, high = float_box(bounds + [(-e, e) for e in plumbing.errors])
    whole = integer_variable_names(query.quantities)
    single = float32_variable_names(query)
    errors = [False] * len(plumbing.errors)
    return CompiledQuery(
        network=Network(len(low), tuple(_nodes_with_errors(plumbing))),
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
