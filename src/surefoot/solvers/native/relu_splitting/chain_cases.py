"""From a lowered query to questions about k copies of a ReLU chain, and back from points to assignments."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from surefoot.network.directed_rounding import TINY, Array
from surefoot.network.exact import exact_outputs
from surefoot.network.float32_error import SMALLEST, UNIT32
from surefoot.problem.network import Activation, Affine, Network, Shape
from surefoot.query.bounds import (
    Interval,
    declared_box,
    float32_within,
    intersect_intervals,
    simplify_formula,
)
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation
from surefoot.query.query import NetworkCall, Query
from surefoot.query.unsat_claim import linear_form_to_json
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainInputs,
    ChainProblem,
    are_plain_chain_inputs,
    build_chain_problem,
)
from surefoot.solvers.native.relu_splitting.splitting_log import CertificateNames
from surefoot.solvers.native.variable_definitions import (
    scale_exactly,
    solve_defining_equalities,
    substitute_linear_names,
)
from surefoot.term.linear import (
    LinearForm,
    constant_form,
    linearise_term,
    scale_form,
    subtract_forms,
    variable_form,
)
from surefoot.term.value_types import Bool, Int, Real

Choice = tuple[int, int]


def chain_layers(network: Network) -> tuple[tuple[Array, ...], tuple[Array, ...]] | None:
    """Weights and biases of a network that alternates affine and ReLU nodes and begins and ends affine."""
    weights, biases = [], []
    for number, node in enumerate(network.nodes):
        match node:
            case Affine(source, w, b) if source == number and number % 2 == 0:
                weights.append(np.asarray(w, dtype=np.float64))
                biases.append(np.asarray(b, dtype=np.float64))
            case Activation(source, Shape.RELU, _) if source == number and number % 2 == 1:
                pass
            case _:
                return None
    return (tuple(weights), tuple(biases)) if len(network.nodes) % 2 and len(weights) > 1 else None


def choice_alternatives(
    formulas: Sequence[Formula], most: int
) -> list[tuple[list[Choice], list[LinearAtom]]] | None:
    """Every way to choose from the disjunctions: the choices as a certificate has them, and all atoms.

    None if there are more than `most`.
    """
    found: list[tuple[list[Choice], list[LinearAtom]]] = []
    waiting: list[tuple[list[Choice], list[Formula]]] = [([], list(_flatten_conjunctions(formulas)))]
    while waiting:
        choices, parts = waiting.pop()
        place = next((i for i, part in enumerate(parts) if isinstance(part, AnyOf)), None)
        if place is None:
            found.append((choices, [part for part in parts if isinstance(part, LinearAtom)]))
            if len(found) > most:
                return None
            continue
        chosen = parts[place]
        assert isinstance(chosen, AnyOf)
        if len(chosen.parts) > most:
            return None
        rest = parts[:place] + parts[place + 1 :]
        waiting.extend(
            ([*choices, (place, i)], [*rest, *_flatten_conjunctions([part])])
            for i, part in reversed(list(enumerate(chosen.parts)))
        )
    return found


def _flatten_conjunctions(formulas: Sequence[Formula]) -> Iterator[Formula]:
    for formula in formulas:
        if isinstance(formula, All):
            yield from _flatten_conjunctions(formula.parts)
        else:
            yield formula


@dataclass(frozen=True, slots=True, eq=False)
class ChainCase:
    """One way to choose from the disjunctions."""

    query: Query
    choices: list[Choice]
    definitions: list[tuple[str, int]]  # variable, and the conjunct that defines it
    defined: Mapping[str, LinearForm]
    names: tuple[str, ...]  # the free quantities
    bounds: tuple[tuple[Fraction, Fraction], ...]
    calls: tuple[NetworkCall, ...]
    inputs: tuple[tuple[LinearForm, ...], ...]  # of every call, over free quantities
    atoms: tuple[LinearAtom, ...]  # over free quantities and outputs; none: it contradicts itself at sight

    def frame(self) -> dict[str, object]:
        """The certificate's case without its steps."""
        found: dict[str, object] = {}
        if self.choices:
            found["choose"] = [list(choice) for choice in self.choices]
        if self.definitions:
            found["define"] = [list(definition) for definition in self.definitions]
        found["atoms"] = [[atom.relation.value, linear_form_to_json(atom.linear)] for atom in self.atoms]
        found["sets"] = [list(range(len(self.atoms)))] if self.atoms else []
        return found

    def assignment(self, point: Array) -> dict[str, bool | int | Fraction]:
        """Exact values of all quantities from those of the free ones, moved to where they can be."""
        kinds = {q.name: q.kind for q in self.query.quantities}
        values: dict[str, Fraction] = {}
        for name, (low, high), near in zip(self.names, self.bounds, point.tolist(), strict=True):
            value, kind = Fraction(near), kinds[name]
            if isinstance(kind, Bool | Int):
                value = Fraction(round(value))
            elif kind.float32:
                value = float32_within(value, (low, high))
            values[name] = min(max(value, low), high)
        for call, inputs in zip(self.calls, self.inputs, strict=True):
            outputs = exact_outputs(call.network, [form.at(values) for form in inputs])
            values.update(zip(call.outputs, outputs, strict=True))
        for name, form in self.defined.items():
            values[name] = form.at(values)
        return {name: _typed_value(kind, values[name]) for name, kind in kinds.items()}


def _typed_value(kind: Bool | Int | Real, value: Fraction) -> bool | int | Fraction:
    if isinstance(kind, Bool) and value in (0, 1):
        return bool(value)
    return int(value) if isinstance(kind, Int) and value.denominator == 1 else value


def build_chain_case(
    query: Query, choices: list[Choice], conjuncts: list[LinearAtom], least_inputs: int
) -> ChainCase | None:
    """What is to be shown for one choice; None if some call reads another one's output, or bounds miss."""
    known = solve_defining_equalities(query, conjuncts)
    remaining, definitions = set(known.used), []
    names_defined = iter(known.defined)
    for place, atom in enumerate(conjuncts):
        if atom in remaining:
            remaining.discard(atom)
            definitions.append((next(names_defined), place))
    outputs = {name for call in query.calls for name in call.outputs}
    free = dict.fromkeys(
        q.name for q in query.quantities if q.name not in known.defined and q.name not in outputs
    )
    inputs = tuple(
        tuple(substitute_linear_names(linearise_term(term), known.defined) for term in call.inputs)
        for call in query.calls
    )
    read = {name for forms in inputs for form in forms for name, _ in form.coefficients}
    if len(read) < least_inputs or not read <= free.keys():
        return None
    box = declared_box(query.quantities)
    parts = [atom for atom in conjuncts if atom not in known.used]
    for quantity in query.quantities:
        if quantity.name in known.defined or quantity.name in outputs:
            low, high = box[quantity.name]
            value = variable_form(quantity.name)
            if low is not None:
                parts.append(LinearAtom(subtract_forms(constant_form(low), value), Relation.LE))
            if high is not None:
                parts.append(LinearAtom(subtract_forms(value, constant_form(high)), Relation.LE))
    atoms = dict.fromkeys(
        LinearAtom(scale_exactly(substitute_linear_names(atom.linear, known.defined)), atom.relation)
        for atom in parts
    )
    for atom in (*conjuncts, *atoms):  # with definitions put in, as a checker does: it must not know more
        _narrow_variable(atom, free, box)
    ends = [box[name] for name in free]
    bounds = tuple((low, high) for low, high in ends if low is not None and high is not None)
    if len(bounds) < len(ends):
        return None
    kept = tuple(atom for atom in atoms if not _always_holds(atom, box, free))
    if any(low > high for low, high in bounds) or any(atom.linear.is_constant() for atom in kept):
        kept = ()  # no number is within some bounds, or a comparison of numbers is false
    elif not kept:
        return None
    return ChainCase(
        query, choices, definitions, known.defined, tuple(free), bounds, query.calls, inputs, kept
    )


def _always_holds(atom: LinearAtom, box: Mapping[str, Interval], free: Container[str]) -> bool:
    """Whether an atom over free quantities holds in the whole box."""
    return all(name in free for name, _ in atom.linear.coefficients) and simplify_formula(atom, box) == All()


def _narrow_variable(atom: LinearAtom, free: Container[str], box: dict[str, Interval]) -> None:
    """A comparison with one free quantity bounds it."""
    if len(atom.linear.coefficients) != 1 or atom.linear.coefficients[0][0] not in free:
        return
    ((name, factor),) = atom.linear.coefficients
    end = -atom.linear.constant / factor
    both = atom.relation is Relation.EQ
    box[name] = intersect_intervals(
        box[name], (end if factor < 0 or both else None, end if factor > 0 or both else None)
    )


def chain_problem_of_case(
    case: ChainCase, weights: tuple[Array, ...], biases: tuple[Array, ...]
) -> tuple[ChainProblem, CertificateNames]:
    """The case in float64, weakened by errors of representation; and how a certificate names its parts."""
    count = len(case.names)
    place = {name: i for i, name in enumerate(case.names)}
    low = np.array([_float_below(a) for a, _ in case.bounds])
    high = np.array([-_float_below(-b) for _, b in case.bounds])
    size = np.maximum(np.abs(low), np.abs(high))
    outputs = {name: i for i, name in enumerate(name for call in case.calls for name in call.outputs)}
    whole = {q.name for q in case.query.quantities if isinstance(q.kind, Bool | Int)}
    rows, direct, offsets, errors, atoms = [], [], [], [], []
    size_of_outputs = np.zeros(len(outputs))
    for number, atom in enumerate(case.atoms):
        signs = (1, -1) if atom.relation is Relation.EQ else (1,)
        for sign in signs:
            form = scale_form(atom.linear, Fraction(sign))
            row, own = np.zeros((2, len(outputs))), np.zeros((2, count))
            for name, exact in form.coefficients:
                target, i = (own, place[name]) if name in place else (row, outputs[name])
                target[:, i] = _nearest_float(exact)
            offset, missed = _nearest_float(-form.constant)
            rows.append(row)
            direct.append(own)
            offsets.append(offset)
            errors.append(missed)
            atoms.append((number, sign))
    for i, slack in enumerate(s for call in case.calls for s in (call.slack or (0,) * len(call.outputs))):
        if not case.calls[0].float32:
            size_of_outputs[i] = -_float_below(Fraction(-slack))
    stacked, own_stacked = np.array(rows), np.array(direct)
    reading = _build_chain_inputs(case, place, size)
    problem = build_chain_problem(
        weights,
        biases,
        low,
        high,
        stacked[:, 0],
        np.array(offsets),
        reading=reading,
        whole=np.array([name in whole for name in case.names]),
        direct=own_stacked[:, 0],
        row_errors=stacked[:, 1],
        direct_errors=own_stacked[:, 1],
        offset_errors=np.array(errors)
        + (np.abs(stacked[:, 0]) + stacked[:, 1]) @ size_of_outputs * (1 + 1e-12),
    )
    span = len(case.calls[0].network.nodes) + 1
    first = [1 + t * span for t in range(len(case.calls))]
    layers = range(len(weights) - 1)
    return problem, CertificateNames(
        tuple(tuple(start + 1 + 2 * layer for start in first) for layer in layers),
        tuple(tuple(start + 2 + 2 * layer for start in first) for layer in layers),
        not are_plain_chain_inputs(reading),
        tuple(atoms),
    )


def _build_chain_inputs(case: ChainCase, place: Mapping[str, int], size: Array) -> ChainInputs:
    """The inputs of all calls; in float32 whatever is no float32 quantity alone is rounded."""
    kinds = {q.name: q.kind for q in case.query.quantities}
    single = case.calls[0].float32
    shape = (len(case.calls), case.calls[0].network.width)
    maps, shift, errors = np.zeros((*shape, len(size))), np.zeros(shape), np.zeros(shape)
    alone: list[tuple[int, int, int]] = []
    for t, forms in enumerate(case.inputs):
        for i, form in enumerate(forms):
            name = _single_variable(form)
            if name is not None and not (single and not _is_single(kinds[name])):
                alone.append((t, i, place[name]))
                continue
            shift[t, i], errors[t, i] = _nearest_float(form.constant)
            for name, exact in form.coefficients:
                near, missed = _nearest_float(exact)
                maps[t, i, place[name]] = near
                errors[t, i] += missed * size[place[name]]
            if single:
                largest = np.abs(maps[t, i]) @ size + abs(shift[t, i]) + errors[t, i]
                errors[t, i] += (UNIT32 * largest + SMALLEST) * (1 + 1e-9)
    if alone:
        maps[tuple(np.array(alone).T)] = 1.0
    errors *= 1 + 1e-12
    return ChainInputs(maps, shift, errors, single)


def _single_variable(form: LinearForm) -> str | None:
    """The name, if the form is a quantity alone."""
    if len(form.coefficients) != 1 or form.constant or form.coefficients[0][1] != 1:
        return None
    return form.coefficients[0][0]


def _is_single(kind: Bool | Int | Real) -> bool:
    return isinstance(kind, Real) and kind.float32


def _nearest_float(exact: Fraction) -> tuple[float, float]:
    """The nearest float64 and an upper bound of what it misses."""
    near = float(exact)
    if near.as_integer_ratio() == (exact.numerator, exact.denominator):
        return near, 0.0
    missed = abs(exact - Fraction(near))
    return near, float(missed) * (1 + 1e-12) + TINY if missed else 0.0


def _float_below(value: Fraction) -> float:
    near = float(value)
    if near.as_integer_ratio() == (value.numerator, value.denominator):
        return near
    return near if near <= value else nextafter(near, -inf)
