"""The solutions of linear equations and inequalities over real and whole numbers, by coordinates.

Equations are solved in fractions: some real numbers become linear forms of the others, and the whole numbers
are a point plus combinations of a basis of the lattice that is left. What remains are inequalities on the
coordinates (the free real numbers and all whole numbers), as a matrix of doubles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.simulate.starts.start_cases import Atom, Box, NoStart, is_whole_kind
from surefoot.term.interval import Scalar
from surefoot.term.linear import LinearForm, add_forms, scale_form
from surefoot.term.term import Op
from surefoot.term.value_types import Real

Floats = NDArray[np.float64]
_ROUNDING = 1e-6  # room in comparisons of whole numbers, which are computed in doubles


@dataclass(frozen=True, slots=True, eq=False)
class LinearRegion:
    """matrix . u <= right for coordinates u; `solved` says what the other numbers are."""

    names: tuple[str, ...]  # of the coordinates: free real numbers, then whole numbers
    whole: NDArray[np.bool_]
    solved: Mapping[str, LinearForm]
    matrix: Floats
    right: Floats
    scales: Floats  # what the rows were divided by
    low: Floats  # of each coordinate by itself; infinite where there is no limit
    high: Floats
    sources: tuple[Atom, ...]  # what each row says, over the coordinates
    equations: tuple[LinearForm, ...]  # of whole numbers alone, with whole coefficients
    lattice: Floats  # a basis of their solutions, by rows over all coordinates

    @property
    def reals(self) -> int:
        return int((~self.whole).sum())

    @property
    def dimension(self) -> int:
        return self.reals + len(self.lattice)

    def contains(self, points: Floats, slack: float = 0.0) -> NDArray[np.bool_]:
        """Rows that keep all inequalities; equations are not looked at."""
        return np.asarray((points @ self.matrix.T <= self.right + slack).all(axis=1))


def solve_equations(box: Box, atoms: Sequence[Atom], kinds: Mapping[str, Scalar]) -> LinearRegion:
    """The region of a conjunction; `NoStart` where the equations alone have no solution."""
    solved, integral = _eliminate_reals([a.form for a in atoms if a.op is Op.EQ], box, kinds)
    reals = [n for n, kind in kinds.items() if isinstance(kind, Real) and n not in solved]
    wholes = [n for n, kind in kinds.items() if is_whole_kind(kind) and n not in solved]
    names = (*reals, *wholes)
    basis = _integer_kernel(integral, wholes)
    lattice = np.zeros((len(basis), len(names)))
    lattice[:, len(reals) :] = np.array(basis, dtype=np.float64).reshape(len(basis), len(wholes))
    rows: list[Atom] = [
        Atom(a.op, form)
        for a in atoms
        if a.op is not Op.EQ and not (form := substitute_forms(a.form, solved)).is_constant()
    ]
    for name, bounds in box.items():
        own = solved.get(name, LinearForm(((name, Fraction(1)),)))
        if own.is_constant():
            continue
        if bounds.low is not None:
            less = add_forms(scale_form(own, Fraction(-1)), LinearForm((), bounds.low))
            rows.append(Atom(Op.LT if bounds.low_open else Op.LE, less))
        if bounds.high is not None:
            more = add_forms(own, LinearForm((), -bounds.high))
            rows.append(Atom(Op.LT if bounds.high_open else Op.LE, more))
    kept, matrix, right, scales = _inequality_matrix(rows, names, set(wholes))
    low = np.array([-np.inf if (b := box[n].low) is None else float(b) for n in names])
    high = np.array([np.inf if (b := box[n].high) is None else float(b) for n in names])
    whole = np.array([n in set(wholes) for n in names], dtype=np.bool_)
    return LinearRegion(
        names, whole, solved, matrix, right, scales, low, high, kept, tuple(integral), lattice
    )


def substitute_forms(form: LinearForm, solved: Mapping[str, LinearForm]) -> LinearForm:
    total = LinearForm((), form.constant)
    for name, c in form.coefficients:
        total = add_forms(total, scale_form(solved.get(name, LinearForm(((name, Fraction(1)),))), c))
    return total


def _eliminate_reals(
    equations: Sequence[LinearForm], box: Box, kinds: Mapping[str, Scalar]
) -> tuple[dict[str, LinearForm], list[LinearForm]]:
    """Numbers with one value, real ones as forms of the others, and equations between whole numbers."""
    solved: dict[str, LinearForm] = {}
    integral: list[LinearForm] = []
    for name, bounds in box.items():
        if bounds.low is not None and bounds.is_point():
            solved[name] = LinearForm((), bounds.low)
    for equation in equations:
        form = substitute_forms(equation, solved)
        if form.is_constant():
            if form.constant:
                raise NoStart(
                    "there is no start state: equations of the initial condition exclude each other"
                )
            continue
        reals = [(n, c) for n, c in form.coefficients if isinstance(kinds[n], Real)]
        if not reals:
            integral.append(_whole_coefficients(form))
            continue
        name, c = min(reals, key=lambda p: _pivot_cost(p[1], kinds[p[0]]))
        rest = LinearForm(tuple(p for p in form.coefficients if p[0] != name), form.constant)
        solved[name] = scale_form(rest, -1 / c)
        for other in list(solved):
            solved[other] = substitute_forms(solved[other], {name: solved[name]})
    return solved, integral


def _pivot_cost(coefficient: Fraction, kind: Scalar) -> tuple[bool, int, int]:
    """Dividing by 1, or by a power of two, keeps numbers short."""
    c = abs(coefficient)
    powers = (c.numerator & (c.numerator - 1)) == 0
    return isinstance(kind, Real) and kind.float32, 0 if c == 1 else 1 if powers else 2, c.numerator


def _whole_coefficients(form: LinearForm) -> LinearForm:
    """The same equation in whole numbers without a common factor; `NoStart` where these cannot meet it."""
    common = lcm(*(c.denominator for _, c in form.coefficients))
    factor = Fraction(common, gcd(*(int(c * common) for _, c in form.coefficients)))
    scaled = scale_form(form, factor)
    if scaled.constant.denominator != 1:
        raise NoStart("there is no start state: an equation of the initial condition has no whole solution")
    return scaled


def _integer_kernel(equations: Sequence[LinearForm], names: Sequence[str]) -> list[list[int]]:
    """A short basis of the whole solutions of the homogeneous equations; `NoStart` if the others have none.

    Column operations make the equations lower triangular; the columns that become zero are the basis.
    """
    size = len(names)
    place = {n: i for i, n in enumerate(names)}
    columns = [[int(i == j) for i in range(size)] for j in range(size)]  # of the unimodular matrix
    images: list[list[int]] = [[0] * size for _ in equations]  # each equation on each column
    for row, equation in enumerate(equations):
        for name, c in equation.coefficients:
            images[row][place[name]] = int(c)
    start, point = 0, [0] * size
    for row, equation in enumerate(equations):
        image = images[row]
        while True:
            used = [j for j in range(start, size) if image[j]]
            if len(used) <= 1:
                break
            best = min(used, key=lambda j: abs(image[j]))
            for j in used:
                if j != best:
                    times = image[j] // image[best]
                    columns[j] = [a - times * b for a, b in zip(columns[j], columns[best], strict=True)]
                    for other in images:
                        other[j] -= times * other[best]
        needed = -int(equation.constant) - sum(int(c) * point[place[n]] for n, c in equation.coefficients)
        if not used:
            if needed:
                raise NoStart(
                    "there is no start state: equations of the initial condition exclude each other"
                )
            continue
        pivot = used[0]
        if needed % image[pivot]:
            raise NoStart(
                "there is no start state: an equation of the initial condition has no whole solution"
            )
        times = needed // image[pivot]
        point = [a + times * b for a, b in zip(point, columns[pivot], strict=True)]
        columns[start], columns[pivot] = columns[pivot], columns[start]
        for other in images:
            other[start], other[pivot] = other[pivot], other[start]
        start += 1
    return _shorten_basis(columns[start:])


def _shorten_basis(basis: list[list[int]]) -> list[list[int]]:
    """Vectors made shorter by each other, as long as that helps."""
    if len(basis) > 60:
        return basis
    changed = True
    while changed:
        changed = False
        for i, first in enumerate(basis):
            for j, second in enumerate(basis):
                size = sum(a * a for a in second)
                times = round(Fraction(sum(a * b for a, b in zip(first, second, strict=True)), size))
                if i != j and times:
                    shorter = [a - times * b for a, b in zip(first, second, strict=True)]
                    if sum(a * a for a in shorter) < sum(a * a for a in first):
                        basis[i] = first = shorter
                        changed = True
    return basis


def _inequality_matrix(
    rows: Sequence[Atom], names: Sequence[str], wholes: set[str]
) -> tuple[tuple[Atom, ...], Floats, Floats, Floats]:
    """Rows with coefficients of size 1; comparisons of whole numbers alone are sharpened."""
    place = {n: i for i, n in enumerate(names)}
    kept = tuple(dict.fromkeys(rows))
    matrix, right = np.zeros((len(kept), len(names))), np.zeros(len(kept))
    for number, atom in enumerate(kept):
        form = atom.form
        if all(n in wholes for n, _ in form.coefficients):
            common = lcm(*(c.denominator for _, c in form.coefficients))
            factor = Fraction(common, gcd(*(int(c * common) for _, c in form.coefficients)))
            scaled = scale_form(form, factor)
            most = -scaled.constant
            form = LinearForm(
                scaled.coefficients, -Fraction(ceil(most) - 1 if atom.op is Op.LT else floor(most))
            )
            right[number] = float(-form.constant) + _ROUNDING
        else:
            right[number] = float(-form.constant)
        for name, c in form.coefficients:
            matrix[number, place[name]] = float(c)
    sizes = np.abs(matrix).max(axis=1, initial=0.0)
    sizes[sizes == 0] = 1.0
    return kept, matrix / sizes[:, None], right / sizes, sizes


def values_of_solved(
    region: LinearRegion, coordinates: Mapping[str, Any], *, exact: bool = False
) -> dict[str, Any]:
    """The other numbers, from columns of the coordinates: in doubles, or all of them in fractions."""
    found: dict[str, Any] = {}
    for name, form in region.solved.items():
        total: Any = form.constant if exact else float(form.constant)
        for other, c in form.coefficients:
            total = total + coordinates[other] * (c if exact else float(c))
        found[name] = total
    return found
