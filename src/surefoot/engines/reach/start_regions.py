"""The starts of a closed loop as boxes: one for each case of the initial condition and each discrete value.

A box may hold more than the starts: where a condition on several variables cuts it, cells without starts are
left out later. In float64 a number means the nearest double, which may be beyond it: both are in the box.
Sums are rounded there, so only comparisons of a variable with a number bound it.

Runs may come back into regions; what was nearest to that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import Mask
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.form_series import bounds_of
from surefoot.errors import Unsupported
from surefoot.query.bounds import rounded_down, rounded_up
from surefoot.query.formula import All, AnyOf, Formula, Relation, negation_normal_form
from surefoot.reductions.closed_loop import ClosedLoop, is_discrete
from surefoot.term.interval import Scalar
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var, free_names, split_conjunction
from surefoot.term.value_types import Arithmetic, Bool

ROOM, MOST_ROOM = (
    2e-4,
    2e-2,
)  # how far inside of a box that we propose cells end: for each period, and at most
CONSTANT = 1e-10  # what roundings may do to a variable that nothing changes, relative
Corner = tuple[Fraction, ...]
MOST_CASES = 256
Ends = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True, slots=True)
class Region:
    """A box of states; discrete variables have one value. `start`: it belongs to the cover of the starts."""

    box: Mapping[str, tuple[Fraction, Fraction]]
    start: bool = True


def enumerate_start_regions(loop: ClosedLoop) -> list[Region]:
    """Boxes that together hold every start."""
    found: list[Region] = []
    for case in _cases(loop.initial):
        meant = _with_doubles if _is_rounded(loop) else _as_written
        ends = {name: meant(_declared(kind)) for name, kind in loop.kinds.items()}
        if not all(_tighten(ends, formula, meant) for formula in _atoms(case, loop)):
            continue
        choices = [_values(name, kind, ends[name]) for name, kind in loop.kinds.items()]
        for values in product(*choices):
            found.append(Region(dict(zip(loop.kinds, values, strict=True))))
            if len(found) > MOST_CASES:
                raise Unsupported(f"the starts are more than {MOST_CASES} cases")
    return found


def _cases(initial: Term) -> list[Term]:
    """The cases of a disjunction at the top, each with all other conditions."""
    cases: list[tuple[Term, ...]] = [()]
    for part in split_conjunction(initial):
        several = part.args if isinstance(part, Apply) and part.op is Op.OR else (part,)
        if len(cases) * len(several) > MOST_CASES:
            several = (part,)
        cases = [(*case, *split_conjunction(one)) for case in cases for one in several]
    return [Apply(Op.AND, case) if len(case) != 1 else case[0] for case in cases]


def _is_rounded(loop: ClosedLoop) -> bool:
    return loop.arithmetic is Arithmetic.FLOAT64 and loop.derivatives is None


def _as_written(ends: Ends) -> Ends:
    return ends


def _with_doubles(ends: Ends) -> Ends:
    """In float64 a number also means the double nearest to it."""
    low, high = ends
    return (
        None if low is None else min(low, Fraction(float(low))),
        None if high is None else max(high, Fraction(float(high))),
    )


def _atoms(case: Term, loop: ClosedLoop) -> Iterator[Formula]:
    for part in split_conjunction(case):
        if part == FALSE:
            yield AnyOf()
            continue
        if _is_rounded(loop) and not _is_plain(part, loop):
            continue
        try:
            yield negation_normal_form(part)
        except Unsupported:
            continue  # no bound of one variable


def _is_plain(part: Term, loop: ClosedLoop) -> bool:
    """Of a variable and a number, or of whole numbers alone."""
    if all(is_discrete(loop.kinds[name]) for name in free_names(part)):
        return True
    return (
        isinstance(part, Apply)
        and len(part.args) == 2
        and any(isinstance(side, Var) for side in part.args)
        and any(_is_constant(side) for side in part.args)
    )


def _is_constant(side: Term) -> bool:
    if isinstance(side, Apply) and side.op is Op.NEG:
        (side,) = side.args
    return isinstance(side, Const)


def _declared(kind: Scalar) -> Ends:
    if isinstance(kind, Bool):
        return Fraction(0), Fraction(1)
    return (None if kind.low is None else Fraction(kind.low)), (
        None if kind.high is None else Fraction(kind.high)
    )


def _tighten(ends: dict[str, Ends], formula: Formula, meant: Callable[[Ends], Ends]) -> bool:
    """With the bounds of single variables that a formula says, as they are `meant`; False: nothing satisfies
    it."""
    if isinstance(formula, All):
        return all(_tighten(ends, part, meant) for part in formula.parts)
    if isinstance(formula, AnyOf):
        return bool(formula.parts)
    if len(formula.linear.coefficients) != 1:
        return True
    ((name, coefficient),) = formula.linear.coefficients
    low, high = ends[name]
    limit = -formula.linear.constant / coefficient
    least, most = meant((limit, limit))
    assert least is not None
    assert most is not None
    if coefficient > 0 or formula.relation is Relation.EQ:
        high = most if high is None else min(high, most)
    if coefficient < 0 or formula.relation is Relation.EQ:
        low = least if low is None else max(low, least)
    ends[name] = low, high
    return low is None or high is None or low <= high


def _values(name: str, kind: Scalar, ends: Ends) -> list[tuple[Fraction, Fraction]]:
    low, high = ends
    if low is None or high is None:
        raise Unsupported(
            f"the start values of `{name}` have no bounds",
            fix=f"bound it in `initial` or by its kind: -1 <= {name} <= 1",
        )
    if not is_discrete(kind):
        return [(low, high)]
    first, last = ceil(low), floor(high)
    if last - first >= MOST_CASES:
        raise Unsupported(f"`{name}` has more than {MOST_CASES} start values")
    return [(Fraction(v), Fraction(v)) for v in range(first, last + 1)]


def list_constants(loop: ClosedLoop) -> NDArray[np.bool_]:
    """Variables that nothing changes, not even by rounding (what is chosen has a bound on all variables)."""
    if loop.derivatives is not None:
        chosen = any(edge.chosen for edge in loop.edges)
        return np.array([term == Const(0) and not chosen for term in loop.derivatives])
    outcomes = [outcome for edge in loop.edges for outcome in edge.outcomes]
    return np.array([all(o.get(v, Var(v)) == Var(v) for o in outcomes) for v in loop.variables])


def range_inside(kind: Scalar) -> tuple[float, float]:
    """Inside of the declared range; without one everything."""
    if isinstance(kind, Bool):
        return 0.0, 1.0
    least = -np.inf if kind.low is None else rounded_up(Fraction(kind.low))
    most = np.inf if kind.high is None else rounded_down(Fraction(kind.high))
    return least, most


class RegionBoxes:
    """The boxes of regions, rounded inward.

    `exact`, for each region and variable: nothing changes it, and a checker has its ends as they are. Only
    floats would round its range, so that this much does not count.

    After many periods the sets of a checker are not quite ours: cells have to come back by some more than to
    the sides of boxes that we propose, where these are not `exact`.
    """

    def __init__(
        self, boxes: Sequence[tuple[Corner, Corner]], exact: Mask, proposed: NDArray[np.bool_]
    ) -> None:
        self.least = np.array([[rounded_up(x) for x in low] for low, _ in boxes])
        self.most = np.array([[rounded_down(x) for x in high] for _, high in boxes])
        slack = CONSTANT * (np.abs(self.least) + np.abs(self.most)) * exact
        self.least, self.most = self.least - slack, self.most + slack
        self.radius = np.maximum(0.5 * (self.most - self.least), 1e-300)
        self.room = np.where(exact | ~proposed[:, None], 0.0, 0.5 * (self.most - self.least))

    def begin_walk(self, cells: int) -> CellReturns:
        return CellReturns(self, cells)


class CellReturns:
    """One walk of several cells: what was nearest to coming back."""

    def __init__(self, boxes: RegionBoxes, cells: int) -> None:
        self.boxes, self.periods = boxes, 0
        self.nearest = np.full(cells, np.inf)
        self.weights: list[Array | None] = [None] * cells
        self.bounds: list[tuple[int, Array, Array] | None] = [None] * cells  # with the region it is next to

    def find_regions(self, forms: Array, cell: NDArray[np.intp]) -> NDArray[np.intp]:
        """The number of a region whose box holds each row, or -1."""
        low, high = bounds_of(forms)
        found = np.full(len(forms), -1, dtype=np.intp)
        beyond = np.full(len(forms), np.inf)
        over, next_to = np.zeros((len(forms), forms.shape[1])), np.zeros(len(forms), dtype=np.intp)
        boxes = self.boxes
        self.periods += 1
        by = min(ROOM * self.periods, MOST_ROOM) * boxes.room
        for number, (least, most) in reversed(
            list(enumerate(zip(boxes.least + by, boxes.most - by, strict=True)))
        ):
            with np.errstate(all="ignore"):
                out = np.fmax(least - low, high - most)
                own = (out / boxes.radius[number]).max(1)
            found[(out <= 0).all(1)] = number
            nearer = own < beyond
            beyond[nearer], over[nearer] = own[nearer], (out[nearer] > 0) / boxes.radius[number]
            next_to[nearer] = number
        beyond[found >= 0] = np.inf
        for row in np.flatnonzero(beyond < self.nearest[cell]):
            own_cell, count = cell[row], forms.shape[1]
            self.nearest[own_cell] = beyond[row]
            self.weights[own_cell] = over[row] @ np.abs(forms[row, :, 1 : count + 1])
            self.bounds[own_cell] = int(next_to[row]), low[row], high[row]
        return found

    def join(self, other: CellReturns) -> CellReturns:
        """Of one walk after the other."""
        found = CellReturns(self.boxes, 0)
        found.nearest = np.concatenate([self.nearest, other.nearest])
        found.weights, found.bounds = self.weights + other.weights, self.bounds + other.bounds
        return found
