"""Which quantities of a lowered query are free, their bounds, and how all the others follow from them.

A quantity follows from others where a top-level equality defines it, unless that closes a circle: the outputs
of a network depend on whatever its inputs mention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor, inf, lcm, nextafter
from typing import TypeVar

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.directed_rounding import Array
from surefoot.network.float32_error import error_bounds
from surefoot.network.interval import interval_bounds
from surefoot.query.bounds import Interval, float32_near, integer_variable_names, linear_range
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation
from surefoot.query.query import NetworkCall, Query
from surefoot.term.linear import (
    LinearForm,
    add_forms,
    constant_form,
    linearise_term,
    scale_form,
    subtract_forms,
    variable_form,
)
from surefoot.term.value_types import Bool, Int, Real

T = TypeVar("T")
Choices = tuple[tuple[int, int], ...]  # positions of a disjunction and of its alternative, in turn


@dataclass(frozen=True, slots=True)
class VariableDefinitions:
    """`defined`: name to its value over free names and outputs; `used`: the equalities that say so.

    `equations`: the defined names in order, each with the position of its equality among the formulas.
    """

    defined: Mapping[str, LinearForm]
    used: frozenset[LinearAtom]
    equations: tuple[tuple[str, int], ...]


def solve_defining_equalities(query: Query, formulas: Sequence[Formula]) -> VariableDefinitions:
    """Solve as many top-level equalities as possible, each for the latest declared quantity that can be."""
    if not any(isinstance(f, LinearAtom) and f.relation is Relation.EQ for f in formulas):
        return VariableDefinitions({}, frozenset(), ())
    rank = {q.name: i for i, q in enumerate(query.quantities)}
    outputs = {name for call in query.calls for name in call.outputs}
    whole, fixed_grid = integer_variable_names(query.quantities), float32_variable_names(query)
    needs: dict[str, set[str]] = {}
    for call in query.calls:
        mentioned = {n for t in call.inputs for n, _ in linearise_term(t).coefficients}
        needs.update((name, mentioned) for name in call.outputs)
    defined: dict[str, LinearForm] = {}
    mentions: dict[str, set[str]] = {}  # by which defined names a name has been mentioned
    used = set()
    equations = []
    for position, atom in enumerate(formulas):
        if not isinstance(atom, LinearAtom) or atom.relation is not Relation.EQ:
            continue
        row = substitute_linear_names(atom.linear, defined)
        for name, coefficient in sorted(row.coefficients, key=lambda entry: -rank[entry[0]]):
            others = LinearForm(tuple(e for e in row.coefficients if e[0] != name), row.constant)
            value = scale_form(others, -1 / coefficient)
            able = name not in outputs and name not in fixed_grid
            able = able and (name not in whole or _is_whole(value, whole))
            if able and not _reaches_goal({n for n, _ in value.coefficients}, name, needs):
                needs[name] = {n for n, _ in value.coefficients}
                changed = mentions.pop(name, set())
                for earlier in changed:
                    defined[earlier] = substitute_linear_names(defined[earlier], {name: value})
                defined[name] = value
                for other, _ in value.coefficients:
                    mentions.setdefault(other, set()).update(changed, (name,))
                used.add(atom)
                equations.append((name, position))
                break
    return VariableDefinitions(defined, frozenset(used), tuple(equations))


def substitute_linear_names(linear: LinearForm, values: Mapping[str, LinearForm]) -> LinearForm:
    """The expression with these names replaced."""
    if not any(n in values for n, _ in linear.coefficients):
        return linear
    total = LinearForm((), linear.constant)
    for name, coefficient in linear.coefficients:
        total = add_forms(total, scale_form(values.get(name, variable_form(name)), coefficient))
    return total


def float32_variable_names(query: Query) -> frozenset[str]:
    """The quantities whose values are float32 numbers."""
    return frozenset(q.name for q in query.quantities if isinstance(q.kind, Real) and q.kind.float32)


def _is_whole(value: LinearForm, whole: frozenset[str]) -> bool:
    return value.constant.denominator == 1 and all(
        n in whole and c.denominator == 1 for n, c in value.coefficients
    )


def _reaches_goal(start: Iterable[str], goal: str, needs: Mapping[str, set[str]]) -> bool:
    seen, waiting = set(start), list(start)
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        new = needs.get(name, set()) - seen
        seen |= new
        waiting.extend(new)
    return False


def scale_exactly(linear: LinearForm) -> LinearForm:
    """A positive multiple of moderate size that float64 holds exactly, or of moderate size at least."""
    up = lcm(linear.constant.denominator, *(c.denominator for _, c in linear.coefficients))
    whole = [c.numerator * (up // c.denominator) for _, c in linear.coefficients]
    base = linear.constant.numerator * (up // linear.constant.denominator)
    most = max(map(abs, whole), default=0)
    # By a power of two: no digit is lost.
    if max(most, abs(base)) < 2**53:
        unit = 1 << max(most.bit_length() - 1, 0)
        if unit == up:
            return linear
        names = (name for name, _ in linear.coefficients)
        parts = tuple((name, Fraction(c, unit)) for name, c in zip(names, whole, strict=True))
        return LinearForm(parts, Fraction(base, unit))
    largest = max((abs(c) for _, c in linear.coefficients), default=Fraction(0))
    size = largest.numerator.bit_length() - largest.denominator.bit_length()
    return scale_form(linear, Fraction(2) ** -size)


def certificate_objection(
    query: Query, placed: Sequence[NetworkCall], box: Mapping[str, Interval], room: Mapping[str, Interval]
) -> str | None:
    """Why a certificate cannot speak about this query."""
    if [c.outputs for c in placed] != [c.outputs for c in query.calls]:
        return "network calls are not in the order of their evaluation"
    if any(any(c.slack) and not c.float32 for c in placed):
        return "outputs with slack"
    for name in (n for c in placed for n in c.outputs):
        low, high = box[name]
        if low is None and high is None:
            continue
        least, most = room[name]
        if (low is not None and (least is None or least < low)) or (
            high is not None and (most is None or most > high)
        ):
            return f"output `{name}` has bounds of its own"
    return None


class VariableBounds(dict[str, Interval]):
    """Bounds by name; those of outputs of networks are computed when they are first asked for."""

    def __init__(self, known: Mapping[str, Interval]) -> None:
        super().__init__(known)
        self.owners: dict[str, Callable[[], dict[str, Interval]]] = {}

    def __missing__(self, name: str) -> Interval:
        self.update(self.owners[name]())
        return self[name]


def round_bounds_inward(kind: Bool | Int | Real, bounds: Interval) -> Interval:
    """Bounds moved inward to numbers of the kind: whole ones, float32 ones."""
    low, high = bounds
    if isinstance(kind, Int):
        return (None if low is None else Fraction(ceil(low)), None if high is None else Fraction(floor(high)))
    if not isinstance(kind, Real) or not kind.float32:
        return bounds
    return (
        None if low is None else float32_near(low, up=True),
        None if high is None else float32_near(high, up=False),
    )


def bound_outputs(call: NetworkCall, room: VariableBounds, single: frozenset[str]) -> None:
    """The ranges of the raw outputs of a call, by intervals, for when they are asked for."""
    inputs = [linear_range(linearise_term(t), room) for t in call.inputs]
    for term, ends in zip(call.inputs, inputs, strict=True):
        if None in ends:
            name = next(n for n, _ in linearise_term(term).coefficients if None in room[n])
            raise Unsupported(
                f"`{name}` has no bounds, and a network reads it",
                fix=f"give a lower and an upper bound for `{name}`",
            )
    room.owners |= dict.fromkeys(call.outputs, partial(_output_ranges, call, inputs, single))


def _output_ranges(
    call: NetworkCall, inputs: Sequence[Interval], single: frozenset[str]
) -> dict[str, Interval]:
    low, high = float_box(inputs)
    values = interval_bounds(call.network, low, high)
    found, ranges = values[-1], {}
    errors = [0.0] * len(call.outputs)
    if call.float32:
        inexact = not all(single_variable_name(linearise_term(t)) in single for t in call.inputs)
        errors = error_bounds(call.network, low, high, input_rounding=inexact, values=values).tolist()
    for name, least, most, error in zip(
        call.outputs, found.low.tolist(), found.high.tolist(), errors, strict=True
    ):
        ranges[name] = (
            None if inf in (-least, error) else Fraction(least) - Fraction(error),
            None if inf in (most, error) else Fraction(most) + Fraction(error),
        )
    return ranges


def float_box(bounds: Sequence[Interval]) -> tuple[Array, Array]:
    """The bounds in float64, rounded outward; no bound is infinite."""
    low = np.array([float_below(low) for low, _ in bounds], dtype=np.float64)
    high = np.array([-float_below(None if high is None else -high) for _, high in bounds], dtype=np.float64)
    return low, high


def float_below(value: Fraction | None) -> float:
    """The nearest float64 that is not above; -inf beyond the range."""
    try:
        near = -inf if value is None else float(value)
    except OverflowError:
        return -inf
    if value is None or abs(near) >= 2.0**1023:
        return -inf
    top, bottom = near.as_integer_ratio()
    return near if top * value.denominator <= value.numerator * bottom else nextafter(near, -inf)


def single_variable_name(row: LinearForm) -> str | None:
    """The name that a row is, if it is nothing else."""
    if len(row.coefficients) != 1 or row.constant or row.coefficients[0][1] != 1:
        return None
    return row.coefficients[0][0]


def nearest_float(exact: Fraction) -> tuple[float, Fraction]:
    """The nearest float64 and what it misses."""
    near = float(exact)
    if near.as_integer_ratio() == (exact.numerator, exact.denominator):
        return near, Fraction(0)
    return near, abs(exact - Fraction(near))


def bound_atoms(value: LinearForm, bounds: Interval) -> list[LinearAtom]:
    """The comparisons that say that a value is within bounds."""
    low, high = bounds
    below = [] if low is None else [LinearAtom(subtract_forms(constant_form(low), value), Relation.LE)]
    above = [] if high is None else [LinearAtom(subtract_forms(value, constant_form(high)), Relation.LE)]
    return below + above


def bounds_of_atom(atom: LinearAtom) -> tuple[str, Interval] | None:
    """What a comparison of a single quantity with a number says about it."""
    if len(atom.linear.coefficients) != 1:
        return None
    ((name, factor),) = atom.linear.coefficients
    end = atom.linear.constant if factor < 0 else -atom.linear.constant
    end = end if abs(factor) == 1 else end / abs(factor)
    both = atom.relation is Relation.EQ
    return name, (end if both or factor < 0 else None, end if both or factor > 0 else None)


def expand_choices(
    formulas: Iterable[Formula], decide: Callable[[Choices, tuple[Formula, ...]], int | T], most: int
) -> list[T] | None:
    """What `decide` makes of every way to choose from disjunctions; None if there are more than `most`.

    It gets choices as a certificate has them and the conjuncts that are left, and may name the position of a
    disjunction to choose from instead.
    """
    found: list[T] = []
    waiting: list[tuple[Choices, tuple[Formula, ...]]] = [((), tuple(flatten_conjunctions(formulas)))]
    while waiting:
        if len(found) + len(waiting) > most:
            return None
        choices, parts = waiting.pop()
        place = decide(choices, parts)
        if not isinstance(place, int):
            found.append(place)
            continue
        rest, options = parts[:place] + parts[place + 1 :], parts[place]
        assert isinstance(options, AnyOf)
        waiting.extend(
            ((*choices, (place, i)), (*rest, *flatten_conjunctions([part])))
            for i, part in reversed(list(enumerate(options.parts)))
        )
    return found


def flatten_conjunctions(formulas: Iterable[Formula]) -> Iterator[Formula]:
    """The conjuncts, in the order in which a certificate counts them."""
    for formula in formulas:
        if isinstance(formula, All):
            yield from flatten_conjunctions(formula.parts)
        else:
            yield formula
