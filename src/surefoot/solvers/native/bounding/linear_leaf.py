"""Boxes on which the network is linear, decided exactly: a rational solution or rational multipliers.

Exact evaluations at a corner and along each input give the linear forms of all atoms; HiGHS proposes in
floats, rationals decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import BoxArray
from surefoot.problem.network import Activation, Combine, Pairing
from surefoot.solvers.linear_program import minimise_program
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds, straddles_kink
from surefoot.solvers.native.compiled_query import CompiledQuery, Mask
from surefoot.solvers.native.witness import column_values
from surefoot.term.evaluate import Undefined

_DENOMINATORS = (1, 60, 10**4, 10**9)


@dataclass(frozen=True, slots=True)
class LinearForms:
    """Atom j at x is constant[j] + slopes[j] . x, for every x between low and high."""

    low: list[Fraction]
    high: list[Fraction]
    slopes: list[list[Fraction]]
    constant: list[Fraction]

    def least(self, weights: Sequence[Fraction], atoms: Sequence[int]) -> Fraction:
        """The minimum of a weighted sum of atoms over the box."""
        total = sum((w * self.constant[j] for w, j in zip(weights, atoms, strict=True)), Fraction(0))
        for i, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            slope = sum((w * self.slopes[j][i] for w, j in zip(weights, atoms, strict=True)), Fraction(0))
            total += slope * (low if slope > 0 else high)
        return total


@dataclass(frozen=True, slots=True)
class FarkasMultipliers:
    """These multipliers, one per atom of the set, leave no solution."""

    weights: tuple[Fraction, ...]


def linear_forms(problem: CompiledQuery, low: Sequence[float], high: Sequence[float]) -> LinearForms | None:
    """The atoms on a box on which the network is linear; None where it has no value."""
    ends = [
        (max(Fraction(a), least), min(Fraction(b), most))
        for a, b, (least, most) in zip(low, high, problem.exact, strict=False)
    ]
    base = [a for a, _ in ends]
    try:
        start = _atom_values(problem, base)
        slopes: list[list[Fraction]] = [[] for _ in start]
        for i, (a, b) in enumerate(ends):
            other = _atom_values(problem, [*base[:i], b, *base[i + 1 :]]) if b > a else start
            for row, first, second in zip(slopes, start, other, strict=True):
                row.append((second - first) / (b - a) if b > a else Fraction(0))
    except Undefined:
        return None
    constant = [
        v - sum((s * x for s, x in zip(row, base, strict=True)), Fraction(0))
        for v, row in zip(start, slopes, strict=True)
    ]
    return LinearForms(base, [b for _, b in ends], slopes, constant)


def _atom_values(problem: CompiledQuery, point: Sequence[Fraction]) -> list[Fraction]:
    values = column_values(problem, point)
    return [form.at(values) for form in problem.forms]


def decide_atom_set(
    problem: CompiledQuery, forms: LinearForms, atoms: Sequence[int]
) -> FarkasMultipliers | list[list[Fraction]]:
    """Multipliers that refute this set of atoms on the box, or points worth an exact check."""
    if any(a > b for a, b in zip(forms.low, forms.high, strict=True)):
        return FarkasMultipliers((Fraction(0),) * len(atoms))
    point, weights = _solve_violation_program(problem, forms, atoms)
    for proposal in _propose_multipliers(weights):
        if _is_refutation(problem, forms, atoms, proposal):
            return FarkasMultipliers(tuple(proposal))
    return list(_rational_points(problem, forms, atoms, point))


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
    problem: CompiledQuery, forms: LinearForms, atoms: Sequence[int], weights: Sequence[Fraction]
) -> bool:
    """Equalities may have multipliers of either sign, and a strict atom makes a minimum of 0 enough."""
    if any(w < 0 and not problem.equal[j] for w, j in zip(weights, atoms, strict=True)):
        return False
    least = forms.least(weights, atoms)
    return least > 0 or (
        least == 0 and any(w > 0 and problem.strict[j] for w, j in zip(weights, atoms, strict=True))
    )


def _solve_violation_program(
    problem: CompiledQuery, forms: LinearForms, atoms: Sequence[int]
) -> tuple[list[float], list[float]]:
    """The point where the worst violation is least, and the multipliers that show that it is."""
    rows, right, owner = [], [], []
    for position, j in enumerate(atoms):
        slopes = [float(s) for s in forms.slopes[j]]
        scale = max(1e-12, *(abs(s) for s in slopes)) if slopes else 1.0
        for sign in (1.0, -1.0) if problem.equal[j] else (1.0,):
            rows.append([*(sign * s / scale for s in slopes), -1.0])
            right.append(-sign * float(forms.constant[j]) / scale)
            owner.append((position, sign / scale))
    width = len(forms.low)
    middle = [float(a + b) / 2 for a, b in zip(forms.low, forms.high, strict=True)]
    if not rows:
        return middle, []
    low, high = np.array([*map(float, forms.low), -1.0]), np.array([*map(float, forms.high), np.inf])
    found = minimise_program(np.append(np.zeros(width), 1.0), np.array(rows), np.array(right), low, high)
    weights = [0.0] * len(atoms)
    if found is None:
        return middle, weights
    for (position, factor), marginal in zip(owner, found.marginals.tolist(), strict=True):
        weights[position] += -marginal * factor
    return found.columns[:width].tolist(), weights


def _rational_points(
    problem: CompiledQuery, forms: LinearForms, atoms: Sequence[int], point: Sequence[float]
) -> Iterator[list[Fraction]]:
    """Rational points near a float one, in the box, on grids, with the equalities solved exactly."""
    for denominator in (None, *_DENOMINATORS[1:3]):
        near = []
        for i, x in enumerate(point):
            value = Fraction(x) if denominator is None else Fraction(x).limit_denominator(denominator)
            value = min(max(value, forms.low[i]), forms.high[i])
            near.append(Fraction(round(value)) if problem.whole[i] else value)
        solved = _solve_equalities(problem, forms, [j for j in atoms if problem.equal[j]], near)
        if solved is not None:
            yield solved


def _solve_equalities(
    problem: CompiledQuery, forms: LinearForms, equalities: Sequence[int], near: list[Fraction]
) -> list[Fraction] | None:
    """The point with as few real inputs as necessary changed so that the equalities hold exactly."""
    rows = [({i: s for i, s in enumerate(forms.slopes[j]) if s}, forms.constant[j]) for j in equalities]
    point = list(near)
    reduced: list[tuple[int, dict[int, Fraction], Fraction]] = []
    for slopes, constant in rows:
        for pivot, others, base in reduced:
            factor = slopes.pop(pivot, Fraction(0))
            if factor:
                constant += factor * base
                for i, s in others.items():
                    slopes[i] = slopes.get(i, Fraction(0)) + factor * s
        able = [i for i, s in slopes.items() if s and not problem.grid[i] and forms.low[i] < forms.high[i]]
        if not able:
            continue  # decided by the rest of the point
        pivot = max(able, key=lambda i: abs(slopes[i]) * (forms.high[i] - forms.low[i]))
        coefficient = slopes.pop(pivot)
        value = {i: -s / coefficient for i, s in slopes.items() if s}
        base = -constant / coefficient
        reduced = [_substitute_pivot(entry, pivot, value, base) for entry in reduced]
        reduced.append((pivot, value, base))
    for pivot, others, base in reduced:
        point[pivot] = base + sum((s * point[i] for i, s in others.items()), Fraction(0))
    return point


def _substitute_pivot(
    entry: tuple[int, dict[int, Fraction], Fraction], name: int, value: dict[int, Fraction], base: Fraction
) -> tuple[int, dict[int, Fraction], Fraction]:
    pivot, others, constant = entry
    factor = others.get(name, Fraction(0))
    if not factor:
        return entry
    rest = {i: s for i, s in others.items() if i != name}
    for i, s in value.items():
        rest[i] = rest.get(i, Fraction(0)) + factor * s
    return pivot, rest, constant + factor * base


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
    return linear


def _pair_is_linear(left: BoxArray, right: BoxArray, pairing: Pairing) -> Mask:
    if pairing is not Pairing.MAXIMUM:
        return np.zeros(len(left.low), dtype=np.bool_)
    return np.asarray(((left.low >= right.high) | (right.low >= left.high)).all(axis=1))
