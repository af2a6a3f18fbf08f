"""Which quantities of a lowered query are free, and how all the others follow from them.

A quantity follows from others where a top-level equality defines it, unless that closes a circle: the outputs
of a network depend on whatever its inputs mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from surefoot.query.bounds import Interval
from surefoot.query.formula import Formula, LinearAtom, Relation
from surefoot.query.query import NetworkCall, Query
from surefoot.term.linear import LinearForm, add_forms, linearise_term, scale_form, variable_form
from surefoot.term.value_types import Bool, Int, Real


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
    whole = {q.name for q in query.quantities if isinstance(q.kind, Bool | Int)}
    fixed_grid = {q.name for q in query.quantities if isinstance(q.kind, Real) and q.kind.float32}
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


def _is_whole(value: LinearForm, whole: set[str]) -> bool:
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
