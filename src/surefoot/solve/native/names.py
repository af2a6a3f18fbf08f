"""Which quantities of a lowered query are free, and how all the others follow from them.

A quantity follows from others where a top-level equality defines it, unless that closes a circle: the outputs
of a network depend on whatever its inputs mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from surefoot.problem.environment import Bool, Int, Real
from surefoot.query.bounds import Interval
from surefoot.query.formula import Atom, Formula, Relation
from surefoot.query.linear import Linear, linearise, plus, scaled, variable
from surefoot.query.query import NetworkCall, Query


@dataclass(frozen=True, slots=True)
class Dependence:
    """`defined`: name to its value over free names and outputs; `used`: the equalities that say so.

    `equations`: the defined names in order, each with the position of its equality among the formulas.
    """

    defined: Mapping[str, Linear]
    used: frozenset[Atom]
    equations: tuple[tuple[str, int], ...]


def dependence(query: Query, formulas: Sequence[Formula]) -> Dependence:
    """Solve as many top-level equalities as possible, each for the latest declared quantity that can be."""
    if not any(isinstance(f, Atom) and f.relation is Relation.EQ for f in formulas):
        return Dependence({}, frozenset(), ())
    rank = {q.name: i for i, q in enumerate(query.quantities)}
    outputs = {name for call in query.calls for name in call.outputs}
    whole = {q.name for q in query.quantities if isinstance(q.kind, Bool | Int)}
    fixed_grid = {q.name for q in query.quantities if isinstance(q.kind, Real) and q.kind.float32}
    needs: dict[str, set[str]] = {}
    for call in query.calls:
        mentioned = {n for t in call.inputs for n, _ in linearise(t).coefficients}
        needs.update((name, mentioned) for name in call.outputs)
    defined: dict[str, Linear] = {}
    mentions: dict[str, set[str]] = {}  # by which defined names a name has been mentioned
    used = set()
    equations = []
    for position, atom in enumerate(formulas):
        if not isinstance(atom, Atom) or atom.relation is not Relation.EQ:
            continue
        row = substituted(atom.linear, defined)
        for name, coefficient in sorted(row.coefficients, key=lambda entry: -rank[entry[0]]):
            others = Linear(tuple(e for e in row.coefficients if e[0] != name), row.constant)
            value = scaled(others, -1 / coefficient)
            able = name not in outputs and name not in fixed_grid
            able = able and (name not in whole or _is_whole(value, whole))
            if able and not _reaches({n for n, _ in value.coefficients}, name, needs):
                needs[name] = {n for n, _ in value.coefficients}
                changed = mentions.pop(name, set())
                for earlier in changed:
                    defined[earlier] = substituted(defined[earlier], {name: value})
                defined[name] = value
                for other, _ in value.coefficients:
                    mentions.setdefault(other, set()).update(changed, (name,))
                used.add(atom)
                equations.append((name, position))
                break
    return Dependence(defined, frozenset(used), tuple(equations))


def substituted(linear: Linear, values: Mapping[str, Linear]) -> Linear:
    """The expression with these names replaced."""
    if not any(n in values for n, _ in linear.coefficients):
        return linear
    total = Linear((), linear.constant)
    for name, coefficient in linear.coefficients:
        total = plus(total, scaled(values.get(name, variable(name)), coefficient))
    return total


def _is_whole(value: Linear, whole: set[str]) -> bool:
    return value.constant.denominator == 1 and all(
        n in whole and c.denominator == 1 for n, c in value.coefficients
    )


def _reaches(start: Iterable[str], goal: str, needs: Mapping[str, set[str]]) -> bool:
    seen, waiting = set(start), list(start)
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        new = needs.get(name, set()) - seen
        seen |= new
        waiting.extend(new)
    return False


def exactly_scaled(linear: Linear) -> Linear:
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
        return Linear(parts, Fraction(base, unit))
    largest = max((abs(c) for _, c in linear.coefficients), default=Fraction(0))
    size = largest.numerator.bit_length() - largest.denominator.bit_length()
    return scaled(linear, Fraction(2) ** -size)


def inexpressible(
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
