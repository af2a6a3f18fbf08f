"""Cells: sets of states with one value for each discrete variable, and a form for each real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import Refused
from .affine_form import Form, FormArithmetic, extend_form, form_bounds, reduce_symbols
from .interval import IntervalArithmetic
from .loop_system import ClosedLoop
from .term_forms import TermForms, widen_read

_PLACES = 24  # of the bounds of a symbol behind the point
_WORTH = 63 << (_PLACES - 5)  # a symbol is replaced if no more than 63/64 of its range is left
Box = dict[str, Any]  # a pair of numbers for a real variable, a value for a discrete one


@dataclass(frozen=True, slots=True)
class WalkOptions:
    order: int  # symbols for each real variable
    taylor: int
    pieces: int
    halvings: int = 0  # of what a network reads


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    discrete: Mapping[str, Any]
    reals: tuple[Form, ...]  # of the real variables in order
    first: int  # symbols of the start, which stay

    @property
    def symbols(self) -> int:
        return len(self.reals[0][1]) if self.reals else 0


def cell_of_box(loop: ClosedLoop, box: Box, bits: int) -> Cell:
    """A symbol for each real variable whose range is not a point."""
    exact = IntervalArithmetic(bits)
    middles, halves = [], []
    for name in loop.reals:
        low, high = exact.enclose_number(box[name][0])[0], exact.enclose_number(box[name][1])[1]
        middle = (low + high) >> 1
        middles.append(middle)
        halves.append(high - middle)
    reals = settle_radii([(c, [], r) for c, r in zip(middles, halves, strict=True)])
    discrete = {v.name: box[v.name] for v in loop.variables if v.name not in loop.reals}
    return Cell(discrete, tuple(reals), len(reals[0][1]) if reals else 0)


def settle_radii(forms: Sequence[Form]) -> list[Form]:
    """Every radius becomes a symbol of its own."""
    new = [i for i, form in enumerate(forms) if form[2]]
    found = []
    for i, (c, a, r) in enumerate(forms):
        found.append((c, a + [r if i == j else 0 for j in new], 0))
    return found


def reduce_cell(cell: Cell, limit: int) -> Cell:
    """With at most so many symbols behind those of the start; radii are 0."""
    rows = reduce_symbols([form[1] for form in cell.reals], limit, cell.first)
    return replace(cell, reals=tuple((form[0], row, 0) for form, row in zip(cell.reals, rows, strict=True)))


def cell_terms(
    loop: ClosedLoop, cell: Cell, bits: int, more: Mapping[str, Any] | None = None, count: int | None = None
) -> TermForms:
    """Values of terms over a cell, perhaps with more names, over so many symbols."""
    wide = cell.symbols if count is None else count
    reals = {n: extend_form(x, wide) for n, x in zip(loop.reals, cell.reals, strict=True)}
    return TermForms(FormArithmetic(bits, wide), loop.plant, {**cell.discrete, **reals, **(more or {})})


def policy_terms(loop: ClosedLoop, cell: Cell, bits: int) -> TermForms:
    """Values of what a policy computes over a cell. In continuous time it may compute in float64, and reads
    the doubles nearest to the state then."""
    terms = cell_terms(loop, cell, bits)
    if loop.time is None:
        return terms
    read = {
        n: widen_read(x) if loop.policy.rounded and n in loop.reals else x for n, x in terms.names.items()
    }
    return TermForms(terms.arithmetic, loop.policy, read)


def is_cell_inside(loop: ClosedLoop, cell: Cell, box: Box, bits: int, held: Box) -> bool:
    """`held`: the ranges, at the start, of variables that nothing changes. What is rounded does not count."""
    if any(type(cell.discrete[n]) is not type(box[n]) or cell.discrete[n] != box[n] for n in cell.discrete):
        return False
    for name, form in zip(loop.reals, cell.reals, strict=True):
        low, high = held[name] if name in held else (Fraction(end, 1 << bits) for end in form_bounds(form))
        if low < box[name][0] or high > box[name][1]:
            return False
    return True


def cut_symbol(cell: Cell, number: int) -> tuple[Cell, Cell]:
    """The two halves of the range of a symbol: e = -1/2 + e' / 2 and e = 1/2 + e' / 2.

    Coefficients are made even (the odd unit goes to the radius, so to a new symbol).
    """
    if not 0 <= number < cell.symbols:
        raise Refused("a cut through a symbol that the cell does not have")
    halves = []
    for sign in (-1, 1):
        forms = []
        for c, a, r in cell.reals:
            half = a[number] >> 1
            forms.append((c + sign * half, [*a[:number], half, *a[number + 1 :]], r + (a[number] & 1)))
        halves.append(replace(cell, reals=tuple(settle_radii(forms))))
    return halves[0], halves[1]


def tighten_forms(forms: Sequence[Form], assumed: Sequence[Form]) -> list[Form] | None:
    """The forms where every assumed one (over the same symbols) is at most 0; None if that is nowhere.

    c + sum a_j e_j - r <= 0 bounds each e_j by what the others can be at least. A symbol whose range shrinks
    is replaced by its middle and half of its width times a new one; what is rounded is in the radius.
    """
    count = max((len(form[1]) for form in assumed), default=0)
    one = 1 << _PLACES
    low, high = [-one] * count, [one] * count
    for c, a, r in [*assumed, *assumed]:
        least = [x * (low[j] if x > 0 else high[j]) for j, x in enumerate(a)]
        total = ((c - r) << _PLACES) + sum(least)
        if total > 0:
            return None
        for j, x in enumerate(a):
            if x:
                room = least[j] - total  # x e_j is at most this
                if x > 0:
                    high[j] = min(high[j], -(-room // x))
                else:
                    low[j] = max(low[j], -room // -x)
                if low[j] > high[j]:
                    return None
    changed = [j for j in range(count) if high[j] - low[j] <= _WORTH]
    if not changed:
        return list(forms)
    found = []
    for c, a, r in forms:
        c, a = c << _PLACES, list(a)
        for j in changed:
            if a[j]:
                c += a[j] * ((low[j] + high[j]) >> 1)
                a[j] = a[j] * ((high[j] - low[j] + 1) // 2 + 1) >> _PLACES
        found.append((c >> _PLACES, a, r + 1 + len(changed)))
    return found
