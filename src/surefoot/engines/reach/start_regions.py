"""The starts of a closed loop as boxes: one for each case of the initial condition and each discrete value.

A box may hold more than the starts: where a condition on several variables cuts it, cells without starts are
left out later. In float64 a number means the nearest double, which may be beyond it: both are in the box.
Sums are rounded there, so only comparisons of a variable with a number bound it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.query.bounds import rounded_down, rounded_up
from surefoot.query.formula import All, AnyOf, Formula, Relation, negation_normal_form
from surefoot.reductions.closed_loop import ClosedLoop, is_discrete
from surefoot.term.interval import Scalar
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var, free_names, split_conjunction
from surefoot.term.value_types import Arithmetic, Bool

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
