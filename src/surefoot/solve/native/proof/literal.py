"""The cases of a certificate: the formula as it stands, with choices from disjunctions that tie reals.

The points that satisfy an equality of reals fill no box, so each alternative of a disjunction with such an
equality becomes a case of its own, in which the equality defines a quantity (docs/certificates.md, section
5). Disjunctions are also chosen from where a case would have too many sets of atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from surefoot.errors import Unsupported
from surefoot.problem.environment import Real
from surefoot.query.bounds import Interval, intersect, is_empty
from surefoot.query.formula import All, AnyOf, Atom, Formula, Relation, atoms
from surefoot.query.linear import Linear, constant, minus
from surefoot.query.query import Json, Query
from surefoot.solve.native.compile import compile_query
from surefoot.solve.native.goal import MOST
from surefoot.solve.native.names import dependence, substituted
from surefoot.solve.native.problem import Compiled, ways

CASES = 64  # of a certificate
Choices = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """One case: choices, what is left of the formula, bounds. `closed`: it contradicts itself at sight."""

    query: Query
    choices: Choices
    parts: tuple[Formula, ...]
    known: Mapping[str, Interval]
    closed: bool

    def frame(self, equations: Sequence[tuple[str, int]] = ()) -> dict[str, object]:
        """What a certificate says of the case before its atoms."""
        found: dict[str, object] = {}
        if self.choices:
            found["choose"] = [list(choice) for choice in self.choices]
        if equations:
            found["define"] = [list(equation) for equation in equations]
        return found

    def at_sight(self) -> Json:
        """The case of a certificate where there is nothing to search."""
        equations = () if self.closed else dependence(self.query, self.parts).equations
        return {**self.frame(equations), "atoms": [], "sets": [], "steps": []}


def literals(query: Query, formulas: Iterable[Formula], box: Mapping[str, Interval]) -> list[Literal] | None:
    """All cases, without any simplification; None where a certificate cannot speak about the query."""
    if any(call.float32 != query.calls[0].float32 for call in query.calls):
        return None
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    definable = frozenset(
        q.name
        for q in query.quantities
        if isinstance(q.kind, Real) and not q.kind.float32 and q.name not in outputs
    )
    found: list[Literal] = []
    waiting: list[tuple[Choices, tuple[Formula, ...]]] = [((), tuple(_flat(formulas)))]
    while waiting:
        if len(found) + len(waiting) > CASES:
            return None
        choices, parts = waiting.pop()
        known = _bounds([part for part in parts if isinstance(part, Atom)], box, outputs)
        plain = all(isinstance(part, Atom) for part in parts)
        every = known if plain else _bounds(parts, box, outputs)
        closed = AnyOf() in parts or any(is_empty(b) for b in every.values())
        place = None if closed else _chosen(parts, definable)
        if place is None:
            found.append(Literal(query, choices, parts, known, closed))
            continue
        rest, options = parts[:place] + parts[place + 1 :], parts[place]
        assert isinstance(options, AnyOf)
        waiting.extend(
            ((*choices, (place, i)), (*rest, *_flat([part])))
            for i, part in reversed(list(enumerate(options.parts)))
        )
    return found


@lru_cache(maxsize=1)
def compiled(case: Literal) -> Compiled | None:
    """The problem to search; None if nothing satisfies the case, at sight.

    `Unsupported` says why a certificate cannot speak about it.
    """
    if case.closed:
        return None
    problem = compile_query(case.query, case.parts, _known(case.query, case), literal=True)
    if problem is None or not ways(problem.tree):
        return None
    if problem.curtailed or ways(problem.tree) > MOST:
        raise Unsupported("a quantity without bounds, or too many sets of atoms")
    return problem


def _known(query: Query, case: Literal) -> dict[str, Interval]:
    """The bounds of free quantities when the definitions are put into everything else."""
    defined = dependence(query, case.parts).defined
    if not defined and all(isinstance(part, Atom) for part in case.parts):
        return dict(case.known)
    parts = [_substituted(part, defined) for part in case.parts]
    for name, value in defined.items():
        low, high = case.known[name]
        if low is not None:
            parts.append(Atom(minus(constant(low), value), Relation.LE))
        if high is not None:
            parts.append(Atom(minus(value, constant(high)), Relation.LE))
    outputs = frozenset(name for call in query.calls for name in call.outputs)
    # What is defined keeps bounds that are conjuncts of their own: they become atoms.
    return _bounds(parts, case.known, outputs | defined.keys())


def _substituted(formula: Formula, values: Mapping[str, Linear]) -> Formula:
    match formula:
        case All(parts):
            return All(tuple(_substituted(p, values) for p in parts))
        case AnyOf(parts):
            return AnyOf(tuple(_substituted(p, values) for p in parts))
        case Atom(linear, relation):
            return Atom(substituted(linear, values), relation)


def _flat(formulas: Iterable[Formula]) -> Iterator[Formula]:
    for formula in formulas:
        if isinstance(formula, All):
            yield from _flat(formula.parts)
        else:
            yield formula


def _bounds(
    parts: Sequence[Formula], box: Mapping[str, Interval], others: frozenset[str]
) -> dict[str, Interval]:
    """Bounds of the box and, but for these others, of comparisons with single quantities in all parts."""
    ends = _ends(All(tuple(parts)))
    return {n: intersect(b, ends[n]) if n in ends and n not in others else b for n, b in box.items()}


def _ends(formula: Formula) -> dict[str, Interval]:
    """Bounds of quantities wherever a formula holds: all parts of a conjunction, the hull of alternatives."""
    found: dict[str, Interval] = {}
    match formula:
        case All(parts):
            for part in parts:
                for name, ends in _ends(part).items():
                    found[name] = intersect(found[name], ends) if name in found else ends
        case AnyOf(parts):
            several = [_ends(part) for part in parts]
            for name in several[0] if several else ():
                if all(name in each for each in several):
                    found[name] = _hull([each[name] for each in several])
        case Atom(linear, relation) if len(linear.coefficients) == 1:
            [(name, factor)] = linear.coefficients
            end = linear.constant if factor < 0 else -linear.constant
            end = end if abs(factor) == 1 else end / abs(factor)
            both = relation is Relation.EQ
            found[name] = (end if both or factor < 0 else None, end if both or factor > 0 else None)
    return found


def _hull(several: Sequence[Interval]) -> Interval:
    lows, highs = [low for low, _ in several], [high for _, high in several]
    return (
        min((x for x in lows if x is not None), default=None) if None not in lows else None,
        max((x for x in highs if x is not None), default=None) if None not in highs else None,
    )


def _chosen(parts: Sequence[Formula], definable: frozenset[str]) -> int | None:
    """The position of the disjunction to choose from next, the one with the fewest alternatives."""
    several = [i for i, part in enumerate(parts) if isinstance(part, AnyOf)]
    tying = [i for i in several if _defines(parts[i], definable)]
    if not tying and _ways(All(tuple(parts))) > MOST:
        tying = several
    return min(tying, key=lambda i: sum(1 for _ in atoms(parts[i])), default=None)


def _defines(formula: Formula, definable: frozenset[str]) -> bool:
    """Whether an equality in a formula may say what a real quantity is."""
    return any(
        atom.relation is Relation.EQ and any(n in definable for n, _ in atom.linear.coefficients)
        for atom in atoms(formula)
    )


def _ways(formula: Formula) -> int:
    """How many sets of atoms a formula is multiplied out to."""
    match formula:
        case All(parts):
            total = 1
            for part in parts:
                total *= _ways(part)
            return total
        case AnyOf(parts):
            return sum(map(_ways, parts))
        case Atom():
            return 1
