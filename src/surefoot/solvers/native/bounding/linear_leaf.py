"""Boxes on which the network is linear, decided exactly: a rational solution or rational multipliers.

Exact evaluations at a corner and along each input give the linear forms of all atoms; HiGHS proposes in
floats, rationals decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import BoxArray
from surefoot.network.tree_bounds import are_constant_on_boxes
from surefoot.problem.network import Activation, Combine, Pairing
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.query.bounds import linear_range
from surefoot.solvers.linear_program import minimise_program
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds, straddles_kink
from surefoot.solvers.native.compiled_query import CompiledQuery, Mask
from surefoot.solvers.native.variable_definitions import substitute_linear_names
from surefoot.solvers.native.witness import column_values
from surefoot.term.evaluate import Undefined
from surefoot.term.linear import LinearForm, add_forms, scale_form

_DENOMINATORS = (1, 60, 10**4, 10**9)


@dataclass(frozen=True, slots=True)
class LinearPiece:
    """The atoms as linear forms of the free inputs, for every point of a box."""

    box: dict[str, tuple[Fraction, Fraction]]
    atoms: list[LinearForm]

    def least(self, weights: Sequence[Fraction], atoms: Sequence[int]) -> Fraction:
        """The minimum of a weighted sum of atoms over the box."""
        total = LinearForm()
        for weight, j in zip(weights, atoms, strict=True):
            total = add_forms(total, scale_form(self.atoms[j], weight))
        least = linear_range(total, self.box)[0]
        assert least is not None
        return least


@dataclass(frozen=True, slots=True)
class FarkasMultipliers:
    """These multipliers, one per atom of the set, leave no solution."""

    weights: tuple[Fraction, ...]


def linear_piece(problem: CompiledQuery, low: Sequence[float], high: Sequence[float]) -> LinearPiece | None:
    """The atoms on a box on which the network is linear; None where it has no value."""
    box = {
        name: (max(Fraction(a), least), min(Fraction(b), most))
        for name, (least, most), a, b in zip(problem.names, problem.exact, low, high, strict=False)
    }
    corner = {name: a for name, (a, _) in box.items()}
    slopes: dict[str, list[Fraction]] = {}
    try:
        start = _atom_values(problem, corner)
        for name, (a, b) in box.items():
            if b > a:
                other = _atom_values(problem, corner | {name: b})
                slopes[name] = [(y - x) / (b - a) for x, y in zip(start, other, strict=True)]
    except Undefined:
        return None
    atoms = []
    for j, value in enumerate(start):
        steep = LinearForm(tuple((name, several[j]) for name, several in slopes.items() if several[j]))
        atoms.append(LinearForm(steep.coefficients, value - steep.at(corner)))
    return LinearPiece(box, atoms)


def _atom_values(problem: CompiledQuery, point: Mapping[str, Fraction]) -> list[Fraction]:
    values = column_values(problem, list(point.values()))
    return [form.at(values) for form in problem.forms]


def decide_atom_set(
    problem: CompiledQuery, piece: LinearPiece, atoms: Sequence[int]
) -> FarkasMultipliers | list[list[Fraction]]:
    """Multipliers that refute this set of atoms on the box, or points worth an exact check."""
    if any(a > b for a, b in piece.box.values()):
        return FarkasMultipliers((Fraction(0),) * len(atoms))
    point, weights = _solve_violation_program(problem, piece, atoms)
    for proposal in _propose_multipliers(weights):
        if _is_refutation(problem, piece, atoms, proposal):
            return FarkasMultipliers(tuple(proposal))
    return list(_rational_points(problem, piece, atoms, point))


def _propose_multipliers(weights: Sequence[float]) -> Iterator[list[Fraction]]:
    largest = max((abs(w) for w in weights), default=0.0)
    for denominator in _DENOMINATORS:
        if largest:
            yield [Fraction(w / largest).limit_denominator(denominator) for w in weights]
    yield [Fraction(w) for w in weights]
    for number in range(len(weights)):
        for sign in (1, -1):
            yield [Fraction(sign * (number == other)) for other in range(len(weights))]


def _is_refutation(
    problem: CompiledQuery, piece: LinearPiece, atoms: Sequence[int], weights: Sequence[Fraction]
) -> bool:
    """Equalities may have multipliers of either sign, and a strict atom makes a minimum of 0 enough."""
    if any(w < 0 and not problem.equal[j] for w, j in zip(weights, atoms, strict=True)):
        return False
    least = piece.least(weights, atoms)
    return least > 0 or (
        least == 0 and any(w > 0 and problem.strict[j] for w, j in zip(weights, atoms, strict=True))
    )


def _solve_violation_program(
    problem: CompiledQuery, piece: LinearPiece, atoms: Sequence[int]
) -> tuple[list[float], list[float]]:
    """The point where the worst violation is least, and the multipliers that show that it is."""
    rows, right, owner = [], [], []
    for position, j in enumerate(atoms):
        exact = dict(piece.atoms[j].coefficients)
        slopes = [float(exact.get(name, 0)) for name in piece.box]
        scale = max(1e-12, *(abs(s) for s in slopes)) if slopes else 1.0
        for sign in (1.0, -1.0) if problem.equal[j] else (1.0,):
            rows.append([*(sign * s / scale for s in slopes), -1.0])
            right.append(-sign * float(piece.atoms[j].constant) / scale)
            owner.append((position, sign / scale))
    width, ends = len(piece.box), piece.box.values()
    middle = [float(a + b) / 2 for a, b in ends]
    if not rows:
        return middle, []
    low = np.array([*(float(a) for a, _ in ends), -1.0])
    high = np.array([*(float(b) for _, b in ends), np.inf])
    found = minimise_program(np.append(np.zeros(width), 1.0), np.array(rows), np.array(right), low, high)
    weights = [0.0] * len(atoms)
    if found is None:
        return middle, weights
    for (position, factor), marginal in zip(owner, found.marginals.tolist(), strict=True):
        weights[position] += -marginal * factor
    return found.columns[:width].tolist(), weights


def _rational_points(
    problem: CompiledQuery, piece: LinearPiece, atoms: Sequence[int], point: Sequence[float]
) -> Iterator[list[Fraction]]:
    """Rational points near a float one, in the box, on grids, with the equalities solved exactly."""
    solved = _solve_equalities(problem, piece, [j for j in atoms if problem.equal[j]])
    for denominator in (None, *_DENOMINATORS[1:3]):
        near = {}
        for (name, (low, high)), x, whole in zip(piece.box.items(), point, problem.whole, strict=False):
            value = Fraction(x) if denominator is None else Fraction(x).limit_denominator(denominator)
            value = min(max(value, low), high)
            near[name] = Fraction(round(value)) if whole else value
        yield list((near | {name: form.at(near) for name, form in solved.items()}).values())


def _solve_equalities(
    problem: CompiledQuery, piece: LinearPiece, equalities: Sequence[int]
) -> dict[str, LinearForm]:
    """As few real inputs as necessary, as forms of the others for which the equalities hold exactly."""
    real = {name for name, grid in zip(problem.names, problem.grid, strict=False) if not grid}
    solved: dict[str, LinearForm] = {}
    for j in equalities:
        form = substitute_linear_names(piece.atoms[j], solved)
        effect = {n: abs(c) * (piece.box[n][1] - piece.box[n][0]) for n, c in form.coefficients if n in real}
        pivot = max(effect, key=lambda n: effect[n], default=None)
        if pivot is None:
            continue  # decided by the rest of the point
        slopes = dict(form.coefficients)
        factor = -1 / slopes.pop(pivot)
        value = scale_form(LinearForm(tuple(slopes.items()), form.constant), factor)
        solved = {n: substitute_linear_names(f, {pivot: value}) for n, f in solved.items()} | {pivot: value}
    return solved


def is_linear_on_boxes(problem: CompiledQuery, found: NetworkBounds) -> Mask:
    """Per box; a factor or divisor that is not fixed makes a box not linear."""
    if found.sheet is not None:
        return found.sheet.all_linear()
    linear = np.ones(len(found.boxes[0].low), dtype=np.bool_)
    for node in problem.network.nodes:
        match node:
            case Activation(source, shape, parameters):
                box = found.boxes[source]
                linear &= ~straddles_kink(shape, parameters, box.low, box.high).any(axis=1)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                linear &= _pair_is_linear(found.boxes[left], found.boxes[right], pairing)
            case TreeEnsemble(source):
                linear &= are_constant_on_boxes(node, found.boxes[source])
    return linear


def _pair_is_linear(left: BoxArray, right: BoxArray, pairing: Pairing) -> Mask:
    if pairing is not Pairing.MAXIMUM:
        return np.zeros(len(left.low), dtype=np.bool_)
    return np.asarray(((left.low >= right.high) | (right.low >= left.high)).all(axis=1))
