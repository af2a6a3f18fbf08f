"""Sets that somebody else has published: are they closed and safe, and do they contain the starts?

Barriers and rules are given, so every condition is a question of its own: a proof by sums of squares, made
exact, or a state that may speak against it (`falsify.py`), or neither. The conditions are those of the sets
{B <= 0} (Zhu et al., PLDI 2019, section 4.2): they contain the starts, have no unsafe state, and no step of
its rule leaves one. A factor of B that is a power of two changes no set; it is chosen so that numbers are
near 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any

from surefoot.engines.barrier.domain import inner_limits
from surefoot.engines.barrier.falsify import RaySampler
from surefoot.engines.barrier.float_system import float_system
from surefoot.engines.barrier.invariant_set import InvariantSet, Obligations, box_text
from surefoot.engines.barrier.scaled_system import Range, ScaledSystem, Unproved, scale_system
from surefoot.engines.barrier.search import saturation_cases
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import ControlSystem, horner_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.work.budget import Budget

Box = tuple[Range, ...]
WIDER = (Fraction(9, 8), Fraction(3, 2), Fraction(3))  # times what the rays reach
SMALLEST = Fraction(1, 16)  # of the starts, in each variable: parts are not cut smaller
WIDE, LARGEST = 60, 300  # monomials of a matrix: programs with wider ones take hours; so do projections


@dataclass(frozen=True, slots=True, eq=False)
class ForeignBarrier:
    """One rule with its barrier in the variables of the system."""

    then: tuple[Term, ...]
    barrier: Polynomial


@dataclass(slots=True)
class SetProofs:
    """What is proved of one set in one box so far; `missing` says what is not."""

    work: Obligations
    unsafe: list[Any] | None = None
    saturation: list[Any] | None = None
    steps: list[Any] | None = None
    covers: list[tuple[Any, Any]] = field(default_factory=list)
    missing: str = ""

    def count(self) -> int:
        """How much is proved."""
        return (self.unsafe is not None) + (self.steps is not None)

    def as_invariant_set(self) -> InvariantSet | None:
        if self.unsafe is None or self.saturation is None or self.steps is None:
            return None
        return self.work.assemble_set(self.saturation, self.unsafe, self.steps, self.covers)


def foreign_barrier_term(system: ControlSystem, barrier: Polynomial, rounded: bool) -> Term:
    """A sum of products; `rounded`: the numbers are doubles."""
    parts: list[Term] = []
    for monomial in sorted(barrier.terms, key=lambda m: (sum(m), m)):
        value = barrier.terms[monomial]
        factors = [Var(system.variables[i]) for i, e in enumerate(monomial) for _ in range(e)]
        number = Const(Fraction(float(value)) if rounded else value)
        parts.append(Apply(Op.MUL, (number, *factors)) if factors else number)
    return Apply(Op.ADD, tuple(parts)) if len(parts) > 1 else parts[0]


def _scale_barrier(barrier: Polynomial, domain: Sequence[Range]) -> Polynomial:
    """Times a power of two, so that the largest monomial over the domain is about 1."""
    sizes = [max(abs(low), abs(high)) for low, high in domain]
    largest = Fraction(0)
    for monomial, coefficient in barrier.terms.items():
        value = abs(coefficient)
        for size, exponent in zip(sizes, monomial, strict=True):
            value *= size**exponent
        largest = max(largest, value)
    factor = Fraction(1)
    while largest * factor > 1:
        factor /= 2
    while 0 < largest * factor < Fraction(1, 2):
        factor *= 2
    return barrier.times(factor)


def _count_monomials(system: ControlSystem, given: ForeignBarrier) -> int:
    """Of the matrices of a proof about a step."""
    count = len(system.variables) + len(system.disturbances)
    degree = max(p.degree for p in float_system(system, given.then).next) * given.barrier.degree
    return comb(count + (degree + 1) // 2, count)


def is_proof_too_large(system: ControlSystem, given: ForeignBarrier) -> bool:
    """Are the matrices of a proof out of reach?"""
    return _count_monomials(system, given) > LARGEST


def enumerate_hull_boxes(
    system: ControlSystem, given: ForeignBarrier, region: RaySampler, budget: Budget
) -> Iterator[Box]:
    """Boxes around the set, as far as rays tell, and the starts; in doubles.

    Where proofs are wide, within the limits of the variables if the set is: then no unsafe state is in the
    box, and two proofs for each variable that has limits are not needed.
    """
    hull = zip(*region.hull(budget), system.initial, strict=True)
    sides = [(min(Fraction(float(a)), low), max(Fraction(float(b)), high)) for a, b, (low, high) in hull]
    limits = inner_limits(system) if _count_monomials(system, given) > WIDE else [(None, None)] * len(sides)
    for factor in WIDER:
        wider = []
        for (a, b), (least, most) in zip(sides, limits, strict=True):
            low, high = a - (b - a) / 2 * (factor - 1), b + (b - a) / 2 * (factor - 1)
            low = max(low, least) if least is not None and least < a else low
            high = min(high, most) if most is not None and most > b else high
            wider.append((Fraction(float(low)), Fraction(float(high))))
        yield tuple(wider)


def prove_foreign_set(
    system: ControlSystem, given: ForeignBarrier, domain: Box, tested: bool, budget: Budget
) -> SetProofs:
    """Of the part of a published set in the domain."""
    wide, barrier = _count_monomials(system, given) > WIDE, _scale_barrier(given.barrier, domain)
    term = foreign_barrier_term(system, barrier, system.rounded)
    if wide:  # many terms: a step is put into them with few products
        doubles = {m: Fraction(float(c)) if system.rounded else c for m, c in barrier.terms.items()}
        term = horner_term(Polynomial({m: c for m, c in doubles.items() if c}), system.variables)
    return prove_invariance(scale_system(system, given.then, domain), term, tested, budget, wide=wide)


def prove_invariance(
    where: ScaledSystem, term: Term, tested: bool, budget: Budget, *, wide: bool = False
) -> SetProofs:
    """That no step leaves the part of the set in the domain, and that it has no unsafe state."""
    found = SetProofs(Obligations(where, term, tested, budget, wide=wide))
    try:
        found.unsafe = found.work.unsafe()
    except Unproved as why:
        found.missing = str(why)
    for reached in saturation_cases(where.system):
        try:
            found.saturation = found.work.saturation(reached)
            found.steps = found.work.steps(reached, *found.work.margins())
            break
        except Unproved as why:
            found.missing = str(why)
    return found


def cover_starts(sets: Sequence[SetProofs], system: ControlSystem, budget: Budget) -> list[Box]:
    """Show part by part that the starts are in the sets; what is left open is given back."""
    parts, left = [system.initial], []
    while parts:
        part = parts.pop()
        if _cover_part(sets, part):
            continue
        halves = None if budget.is_spent() else _bisect_part(part, system.initial)
        if halves is None:
            left.append(part)
        else:
            parts += halves
    return left


def _cover_part(sets: Sequence[SetProofs], part: Box) -> bool:
    for several in sets:
        work = several.work
        sides = zip(part, work.where.domain, strict=True)
        if all(a <= low and high <= b for (low, high), (a, b) in sides):
            try:
                several.covers.append((box_text(part), work.start(part, work.margins()[0])))
                return True
            except Unproved:
                continue
    return False


def _bisect_part(part: Box, starts: Box) -> list[Box] | None:
    shares = [
        (b - a) / (d - c) if d > c else Fraction(0) for (a, b), (c, d) in zip(part, starts, strict=True)
    ]
    widest = max(range(len(shares)), key=lambda i: shares[i])
    if shares[widest] <= SMALLEST:
        return None
    low, high = part[widest]
    middle = Fraction(float((low + high) / 2))
    return [(*part[:widest], ends_of, *part[widest + 1 :]) for ends_of in ((low, middle), (middle, high))]
