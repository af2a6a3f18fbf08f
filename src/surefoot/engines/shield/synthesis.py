"""Algorithm 2 of Zhu et al. (PLDI 2019): rules with closed sets, added until they cover the starts.

A part of the starts that no set covers yet is taken, a rule is synthesised for it and a set that contains the
whole part is looked for; if there is none, the part is halved. A set that was found for one part is tried for
the others first. What is covered is decided exactly, by proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from surefoot.encode.barrier import System
from surefoot.engines.barrier.closed import ClosedSet, Unproved, covering
from surefoot.engines.barrier.plane import plane
from surefoot.engines.barrier.search import search
from surefoot.engines.shield.gains import Gain, Oracle, Range, gains
from surefoot.problem.term import Term
from surefoot.work.budget import Budget

Box = tuple[Range, ...]
SMALLEST = Fraction(1, 64)  # of the starts, in each variable
CANDIDATES = 6  # for one part


@dataclass(frozen=True, slots=True)
class Branch:
    then: tuple[Term, ...]
    set: ClosedSet


@dataclass(frozen=True, slots=True)
class Synthesis:
    branches: tuple[Branch, ...]
    uncovered: tuple[Box, ...]  # parts of the starts that no set contains
    trouble: str = ""

    def covered_share(self, starts: Sequence[Range]) -> Fraction:
        """By volume, over the variables in which starts differ."""
        return 1 - sum((_volume(box, starts) for box in self.uncovered), Fraction(0))


def _volume(box: Sequence[Range], starts: Sequence[Range]) -> Fraction:
    share = Fraction(1)
    for (low, high), (a, b) in zip(box, starts, strict=True):
        share *= (high - low) / (b - a) if b > a else 1
    return share


def synthesise(system: System, oracle: Oracle | None, degrees: tuple[int, ...], budget: Budget) -> Synthesis:
    """Rules in the order in which they were found."""
    branches: list[Branch] = []
    open_parts: list[Box] = [system.initial]
    uncovered: list[Box] = []
    trouble = ""
    while open_parts:
        part = open_parts.pop(0)
        if budget.spent():
            uncovered.append(part)
            continue
        done = _volume_of([*open_parts, *uncovered, part], system)
        budget.progress(f"shield: {len(branches)} rules, {float(1 - done):.0%} of the starts covered")
        if (again := _extended(system, branches, part, budget)) is not None:
            branches[again[0]] = again[1]
            continue
        found = _rule(system, part, oracle, degrees, budget)
        if not isinstance(found, str):
            branches.append(found)
            continue
        trouble = found
        halves = _halved(part, system.initial)
        if halves is None:
            uncovered.append(part)
        else:
            open_parts += halves
    return Synthesis(tuple(branches), tuple(uncovered), trouble)


def _volume_of(boxes: Sequence[Box], system: System) -> Fraction:
    return sum((_volume(box, system.initial) for box in boxes), Fraction(0))


def _rule(
    system: System, part: Box, oracle: Oracle | None, degrees: tuple[int, ...], budget: Budget
) -> Branch | str:
    trouble = "no rule was found"
    candidates: list[Gain] = []
    for gain in gains(system, part, oracle, budget):
        candidates.append(gain)
        if len(candidates) >= CANDIDATES:
            break
    for degree in degrees:
        for gain in candidates:
            if budget.spent():
                return trouble
            then = gain.terms(system)
            found = search(replace(system, initial=part), then, (degree,), budget, tested=True)
            if isinstance(found, ClosedSet):
                return Branch(then, found)
            trouble = found
    return trouble


def _extended(
    system: System, branches: Sequence[Branch], part: Box, budget: Budget
) -> tuple[int, Branch] | None:
    """A rule whose set contains this part too."""
    for index, branch in enumerate(branches):
        where = plane(system, branch.then, branch.set.domain)
        try:
            return index, replace(branch, set=covering(where, branch.set, part, budget))
        except Unproved:
            continue
    return None


def _halved(part: Box, starts: Sequence[Range]) -> list[Box] | None:
    """In the variable in which the part is the largest share of the starts; None: it is small enough."""
    shares = [
        (high - low) / (b - a) if b > a else Fraction(0)
        for (low, high), (a, b) in zip(part, starts, strict=True)
    ]
    widest = max(range(len(shares)), key=lambda i: shares[i])
    if shares[widest] <= SMALLEST:
        return None
    low, high = part[widest]
    middle = Fraction(float((low + high) / 2))
    first = (*part[:widest], (low, middle), *part[widest + 1 :])
    return [first, (*part[:widest], (middle, high), *part[widest + 1 :])]
