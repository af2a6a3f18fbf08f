"""Affine terms over the outputs of a network as nodes after it: `output[0] - 10`, `11 * output[0]`.

The nodes compute in float32 as the network does: what is a multiple of one output is multiplied, then the
constant is added, each rounded once; a sum over several outputs is one affine node. Coefficients that are no
float32 numbers are rounded to the nearest.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.network import (
    Affine,
    Constant,
    Elementwise,
    Network,
    Node,
    Pick,
    freeze_float32,
    freeze_indices,
)
from surefoot.term.float32 import round_to_float32
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import network_output_name, output_index
from surefoot.term.term import Term, free_names

CONTROLS = "controls"  # the key of such terms, and the place in errors about them
OUTPUTS_CHANGED = "controls are computed from the outputs in float32, by nodes after the last layer"


def append_output_terms(network: Network, terms: tuple[Term, ...]) -> Network:
    """The network whose outputs are these affine terms over its outputs."""
    if network.memory:
        what = "controls as terms over the outputs of a recurrent network"
        raise Unsupported(what, fix="let its outputs be the controls", where=CONTROLS)
    forms = [_affine_form(term, network.outputs) for term in terms]
    nodes = list(network.nodes)
    for make in (_single_output_nodes, _affine_nodes):
        if (more := make(forms, network.outputs, len(nodes))) is not None:
            return replace(
                network,
                nodes=(*nodes, *more),
                notes=(*network.notes, OUTPUTS_CHANGED) if more else network.notes,
            )
    raise AssertionError("one of both is possible")


def _affine_form(term: Term, outputs: int) -> LinearForm:
    for name in sorted(free_names(term)):
        index = output_index(name)
        if index is None:
            what = f"`{name}` is no output of the network"
            raise InvalidProblem(what, fix="use output[0], output[1], … and numbers", where=CONTROLS)
        if index >= outputs:
            what = f"`{name}`: the network has {outputs} outputs"
            raise InvalidProblem(what, fix=f"they are numbered from 0 to {outputs - 1}", where=CONTROLS)
    try:
        return linearise_term(term)
    except Unsupported:
        what = f"`{show_term(term)}` is not affine in the outputs"
        raise InvalidProblem(what, fix="write sums of multiples: 2 * output[0] - 1", where=CONTROLS) from None


def _single_output_nodes(forms: list[LinearForm], outputs: int, source: int) -> list[Node] | None:
    """Pick, multiply, add, as far as needed; None: a term has not exactly one output."""
    if any(len(form.coefficients) != 1 for form in forms):
        return None
    nodes: list[Node] = []
    places = [output_index(form.coefficients[0][0]) for form in forms]
    if places != list(range(outputs)):
        nodes.append(Pick(source, freeze_indices(places)))
    factors = [_float32(form.coefficients[0][1]) for form in forms]
    if any(factor != 1 for factor in factors):
        nodes.append(Elementwise(source + len(nodes), Constant.MULTIPLY, freeze_float32(factors)))
    constants = [_float32(form.constant) for form in forms]
    if any(constants):
        nodes.append(Elementwise(source + len(nodes), Constant.ADD, freeze_float32(constants)))
    return nodes


def _affine_nodes(forms: list[LinearForm], outputs: int, source: int) -> list[Node]:
    names = [network_output_name(i) for i in range(outputs)]
    rows = [[_float32(dict(form.coefficients).get(name, Fraction(0))) for name in names] for form in forms]
    return [Affine(source, freeze_float32(rows), freeze_float32([_float32(f.constant) for f in forms]))]


def _float32(value: Fraction) -> np.float32:
    rounded = round_to_float32(value)
    if not np.isfinite(rounded):
        raise InvalidProblem(f"{value} is beyond float32", fix="use another unit", where=CONTROLS)
    return np.float32(rounded)
