"""From a lowered query to questions about k copies of a ReLU chain, and back from points to assignments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import TINY, Array
from surefoot.network.exact import exact_outputs
from surefoot.network.float32_error import SMALLEST, UNIT32
from surefoot.problem.network import Activation, Affine, Network, Shape
from surefoot.query.bounds import (
    Interval,
    declared_box,
    integer_variable_names,
    intersect_intervals,
    simplify_formula,
)
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation
from surefoot.query.query import NetworkCall, Query
from surefoot.query.unsat_claim import linear_form_to_json
from surefoot.solvers.native.proof.certificate_cases import bounds_of_free, undivided_case
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainInputs,
    ChainProblem,
    are_plain_chain_inputs,
    build_chain_problem,
)
from surefoot.solvers.native.relu_splitting.splitting_log import CertificateNames
from surefoot.solvers.native.variable_definitions import (
    Choices,
    VariableDefinitions,
    bound_atoms,
    bounds_of_atom,
    expand_choices,
    float32_variable_names,
    float_below,
    float_box,
    nearest_float,
    scale_exactly,
    single_variable_name,
    solve_defining_equalities,
    substitute_linear_names,
)
from surefoot.solvers.native.witness import nearest_value, typed_value
from surefoot.term.linear import LinearForm, linearise_term, scale_form, variable_form


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
) -> list[tuple[Choices, list[LinearAtom]]] | None:
    """Every way to choose from the disjunctions: the choices as a certificate has them, and all atoms."""

    def decide(choices: Choices, parts: tuple[Formula, ...]) -> int | tuple[Choices, list[LinearAtom]]:
        place = next((i for i, part in enumerate(parts) if isinstance(part, AnyOf)), None)
        atoms = [part for part in parts if isinstance(part, LinearAtom)]
        return (choices, atoms) if place is None else place

    return expand_choices(formulas, decide, most)


@dataclass(frozen=True, slots=True, eq=False)
class ChainCase:
    """One way to choose from the disjunctions, or several that share what they are about."""

    query: Query
    choices: Choices
    definitions: tuple[tuple[str, int], ...]  # variable, and the conjunct that defines it
    defined: Mapping[str, LinearForm]
    names: tuple[str, ...]  # the free quantities
    bounds: tuple[tuple[Fraction, Fraction], ...]
    calls: tuple[NetworkCall, ...]
    inputs: tuple[tuple[LinearForm, ...], ...]  # of every call, over free quantities
    atoms: tuple[LinearAtom, ...]  # over free quantities and outputs; none: it contradicts itself at sight
    sets: tuple[tuple[int, ...], ...]  # the atoms of each way

    def frame(self) -> dict[str, object]:
        """The certificate's case without its steps."""
        found: dict[str, object] = {}
        if self.choices:
            found["choose"] = [list(choice) for choice in self.choices]
        if self.definitions:
            found["define"] = [list(definition) for definition in self.definitions]
        found["atoms"] = [[atom.relation.value, linear_form_to_json(atom.linear)] for atom in self.atoms]
        found["sets"] = [list(several) for several in self.sets]
        return found

    def assignment(self, point: Array) -> dict[str, bool | int | Fraction]:
        """Exact values of all quantities from those of the free ones, moved to where they can be."""
        kinds = {q.name: q.kind for q in self.query.quantities}
        whole = integer_variable_names(self.query.quantities)
        single = float32_variable_names(self.query)
        values = {
            name: nearest_value(near, bounds, name in whole, name in single)
            for name, bounds, near in zip(self.names, self.bounds, point.tolist(), strict=True)
        }
        for call, inputs in zip(self.calls, self.inputs, strict=True):
            outputs = exact_outputs(call.network, [form.at(values) for form in inputs])
            values.update(zip(call.outputs, outputs, strict=True))
        for name, form in self.defined.items():
            values[name] = form.at(values)
        return {name: typed_value(kind, values[name]) for name, kind in kinds.items()}


def build_chain_case(
    query: Query, choices: Choices, conjuncts: list[LinearAtom], least_inputs: int
) -> ChainCase | None:
    """What is to be shown for one choice; None if some call reads another one's output, or bounds miss."""
    known = solve_defining_equalities(query, conjuncts)
    outputs = {name for call in query.calls for name in call.outputs}
    free = dict.fromkeys(
        q.name for q in query.quantities if q.name not in known.defined and q.name not in outputs
    )
    inputs = _inputs_of_calls(query, known)
    read = {name for forms in inputs for form in forms for name, _ in form.coefficients}
    if len(read) < least_inputs or not read <= free.keys():
        return None
    box = declared_box(query.quantities)
    parts = [atom for atom in conjuncts if atom not in known.used]
    for quantity in query.quantities:
        if quantity.name in known.defined or quantity.name in outputs:
            parts += bound_atoms(variable_form(quantity.name), box[quantity.name])
    atoms = _atoms_over_free(parts, known)
    for atom in (*conjuncts, *atoms):  # with definitions put in, as a checker does: it must not know more
        own = bounds_of_atom(atom)
        if own is not None and own[0] in free:
            box[own[0]] = intersect_intervals(box[own[0]], own[1])
    ends = [box[name] for name in free]
    bounds = tuple((low, high) for low, high in ends if low is not None and high is not None)
    if len(bounds) < len(ends):
        return None
    kept = tuple(atom for atom in atoms if not _always_holds(atom, box, free))
    if any(low > high for low, high in bounds) or any(atom.linear.is_constant() for atom in kept):
        kept = ()  # no number is within some bounds, or a comparison of numbers is false
    elif not kept:
        return None
    sets = (tuple(range(len(kept))),) if kept else ()
    return ChainCase(
        query, choices, known.equations, known.defined, tuple(free), bounds, query.calls, inputs, kept, sets
    )


def join_alternatives(
    query: Query, formulas: Sequence[Formula], ways: Sequence[tuple[Choices, list[LinearAtom]]], least: int
) -> ChainCase | None:
    """All ways to choose as one case with a set of atoms each; None where choices define quantities."""
    whole = undivided_case(query, formulas)
    known = solve_defining_equalities(query, whole.parts)
    equations = {
        part for part in whole.parts if isinstance(part, LinearAtom) and part.relation is Relation.EQ
    }
    if whole.closed or any(
        a.relation is Relation.EQ and a not in equations for _, atoms in ways for a in atoms
    ):
        return None
    outputs = {name for call in query.calls for name in call.outputs}
    free = dict.fromkeys(
        q.name for q in query.quantities if q.name not in known.defined and q.name not in outputs
    )
    inputs = _inputs_of_calls(query, known)
    read = {name for forms in inputs for form in forms for name, _ in form.coefficients}
    box = bounds_of_free(whole)
    ends = [box[name] for name in free]
    bounds = tuple((low, high) for low, high in ends if low is not None and high is not None and low <= high)
    if len(bounds) < len(ends) or len(read) < least or not read <= free.keys():
        return None
    declared = declared_box(query.quantities)
    said = [a for n in (*known.defined, *outputs) for a in bound_atoms(variable_form(n), declared[n])]
    places: dict[LinearAtom, int] = {}
    sets: dict[tuple[int, ...], None] = {}
    for _, atoms in ways:
        parts = [atom for atom in (*atoms, *said) if atom not in known.used]
        own = _atoms_over_free(parts, known, _scale_by_slopes if len(ways) > 1 else scale_exactly)
        kept = [atom for atom in own if not _always_holds(atom, box, free)]
        if any(atom.linear.is_constant() for atom in kept):
            continue  # a comparison of numbers that is false
        if not kept:
            return None
        sets[tuple(sorted(places.setdefault(atom, len(places)) for atom in kept))] = None
    if not sets:
        return None
    every, several = tuple(places), tuple(sets)
    return ChainCase(
        query, (), known.equations, known.defined, tuple(free), bounds, query.calls, inputs, every, several
    )


def _inputs_of_calls(query: Query, known: VariableDefinitions) -> tuple[tuple[LinearForm, ...], ...]:
    """What every call reads, over free quantities and outputs."""
    return tuple(
        tuple(substitute_linear_names(linearise_term(term), known.defined) for term in call.inputs)
        for call in query.calls
    )


def _atoms_over_free(
    parts: Iterable[LinearAtom],
    known: VariableDefinitions,
    scale: Callable[[LinearForm], LinearForm] = scale_exactly,
) -> list[LinearAtom]:
    """The atoms with definitions put in, scaled to numbers that floats hold, each once."""
    return list(
        dict.fromkeys(
            LinearAtom(scale(substitute_linear_names(atom.linear, known.defined)), atom.relation)
            for atom in parts
        )
    )


def _scale_by_slopes(linear: LinearForm) -> LinearForm:
    """A positive multiple whose coefficients floats hold, whatever the constant: what is alike stays so."""
    if linear.is_constant():
        return linear
    name, coefficient = linear.coefficients[0]
    scaled = dict(scale_exactly(LinearForm(linear.coefficients, Fraction(0))).coefficients)
    return scale_form(linear, scaled[name] / coefficient)


def _always_holds(atom: LinearAtom, box: Mapping[str, Interval], free: Container[str]) -> bool:
    """Whether an atom over free quantities holds in the whole box."""
    return all(name in free for name, _ in atom.linear.coefficients) and simplify_formula(atom, box) == All()


def chain_problem_of_case(
    case: ChainCase,
    weights: tuple[Array, ...],
    biases: tuple[Array, ...],
    chosen: Collection[int] | None = None,
) -> tuple[ChainProblem, CertificateNames]:
    """The case in float64, weakened by errors of representation; and how a certificate names its parts.

    `chosen`: the atoms that become rows.
    """
    count = len(case.names)
    place = {name: i for i, name in enumerate(case.names)}
    low, high = float_box(case.bounds)
    size = np.maximum(np.abs(low), np.abs(high))
    outputs = {name: i for i, name in enumerate(name for call in case.calls for name in call.outputs)}
    whole = integer_variable_names(case.query.quantities)
    rows, direct, offsets, errors, atoms = [], [], [], [], []
    size_of_outputs = np.zeros(len(outputs))
    for number, atom in enumerate(case.atoms):
        if chosen is not None and number not in chosen:
            continue
        signs = (1, -1) if atom.relation is Relation.EQ else (1,)
        for sign in signs:
            form = scale_form(atom.linear, Fraction(sign))
            row, own = np.zeros((2, len(outputs))), np.zeros((2, count))
            for name, exact in form.coefficients:
                target, i = (own, place[name]) if name in place else (row, outputs[name])
                target[:, i] = _nearest_with_error(exact)
            offset, missed = _nearest_with_error(-form.constant)
            rows.append(row)
            direct.append(own)
            offsets.append(offset)
            errors.append(missed)
            atoms.append((number, sign))
    for i, slack in enumerate(s for call in case.calls for s in (call.slack or (0,) * len(call.outputs))):
        if not case.calls[0].float32:
            size_of_outputs[i] = -float_below(Fraction(-slack))
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
    rounded, single = float32_variable_names(case.query), case.calls[0].float32
    shape = (len(case.calls), case.calls[0].network.width)
    maps, shift, errors = np.zeros((*shape, len(size))), np.zeros(shape), np.zeros(shape)
    alone: list[tuple[int, int, int]] = []
    for t, forms in enumerate(case.inputs):
        for i, form in enumerate(forms):
            name = single_variable_name(form)
            if name is not None and (name in rounded or not single):
                alone.append((t, i, place[name]))
                continue
            shift[t, i], errors[t, i] = _nearest_with_error(form.constant)
            for name, exact in form.coefficients:
                near, missed = _nearest_with_error(exact)
                maps[t, i, place[name]] = near
                errors[t, i] += missed * size[place[name]]
            if single:
                largest = np.abs(maps[t, i]) @ size + abs(shift[t, i]) + errors[t, i]
                errors[t, i] += (UNIT32 * largest + SMALLEST) * (1 + 1e-9)
    if alone:
        maps[tuple(np.array(alone).T)] = 1.0
    errors *= 1 + 1e-12
    return ChainInputs(maps, shift, errors, single)


def _nearest_with_error(exact: Fraction) -> tuple[float, float]:
    """The nearest float64 and an upper bound of what it misses."""
    near, missed = nearest_float(exact)
    return near, float(missed) * (1 + 1e-12) + TINY if missed else 0.0
