"""Algorithm 2 of Zhu et al. (PLDI 2019): rules with closed sets, added until they cover the starts.

A part of the starts that no set covers yet is taken, a rule is synthesised for it and a set that contains the
whole part is looked for; if there is none, the part is halved. A set that was found for one part is tried for
the others first. What is covered is decided exactly, by proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice

from surefoot.encode.barrier import System
from surefoot.engines.barrier.closed import ClosedSet, Unproved, covering
from surefoot.engines.barrier.plane import plane
from surefoot.engines.barrier.search import search
from surefoot.engines.shield.around import is_obstructed, ways
from surefoot.engines.shield.gains import Gain, Oracle, Range, fails, gains, improved
from surefoot.engines.shield.linear import furthest_inside
from surefoot.engines.shield.lost import lost_parts
from surefoot.problem.term import Term
from surefoot.work.budget import Budget

Box = tuple[Range, ...]
SMALLEST = Fraction(1, 64)  # of the starts, in each variable
SLICE = Fraction(1, 512)  # of the starts: how much is given up around starts that are lost
CANDIDATES = 6  # for one part
MOST_LOST = 200  # uncovered parts that are looked at for starts that are lost


@dataclass(frozen=True, slots=True)
class Branch:
    then: tuple[Term, ...]
    set: ClosedSet


@dataclass(frozen=True, slots=True)
class Synthesis:
    branches: tuple[Branch, ...]
    uncovered: tuple[Box, ...]  # parts of the starts that no set contains
    trouble: str = ""
    lost: tuple[Box, ...] = ()  # starts, some of them single states, that no control can save
    interrupted: bool = False

    def covered_share(self, starts: Sequence[Range]) -> Fraction:
        """By volume, over the variables in which starts differ."""
        return 1 - sum((_volume(box, starts) for box in self.uncovered), Fraction(0))


def _volume(box: Sequence[Range], starts: Sequence[Range]) -> Fraction:
    share = Fraction(1)
    for (low, high), (a, b) in zip(box, starts, strict=True):
        share *= (high - low) / (b - a) if b > a else 1
    return share


def synthesise(
    system: System,
    oracle: Oracle | None,
    degrees: tuple[int, ...],
    budget: Budget,
    warm: tuple[Gain, ...] = (),
) -> Synthesis:
    """Rules in the order in which they were found; an interruption keeps what there is.

    `warm`: rules that are tried first as they are, and at the end improved.
    """
    work = _Work(system, oracle, degrees, budget, [system.initial], warm)
    interrupted = False
    try:
        while work.open_parts:
            work.next_part()
    except KeyboardInterrupt:
        interrupted = True
    uncovered = (*work.uncovered, *work.open_parts)
    lost = dict.fromkeys(piece for part in uncovered[:MOST_LOST] for piece in lost_parts(system, part))
    return Synthesis(tuple(work.branches), uncovered, work.trouble, tuple(lost), interrupted)


@dataclass(slots=True)
class _Work:
    system: System
    oracle: Oracle | None
    degrees: tuple[int, ...]
    budget: Budget
    open_parts: list[Box]
    warm: tuple[Gain, ...] = ()
    branches: list[Branch] = field(default_factory=list)
    uncovered: list[Box] = field(default_factory=list)
    trouble: str = ""

    def next_part(self) -> None:
        """Cover the first open part, or halve it, or give it up."""
        system, part, budget = self.system, self.open_parts[0], self.budget
        share = _volume_of([*self.open_parts, *self.uncovered], system)
        budget.progress(f"shield: {len(self.branches)} rules, {float(1 - share):.1%} of the starts covered")
        found: Branch | str = "the time is over"
        if not budget.spent():
            if (again := _extended(system, self.branches, part, budget)) is not None:
                self.branches[again[0]] = again[1]
                self.open_parts.pop(0)
                return
            lost = lost_parts(system, part)
            if lost:
                self._shave(part, lost[0])
                return
            if (several := _around(system, part, self.degrees, budget)) is not None:
                self.branches += several
                self.open_parts.pop(0)
                return
            found = _rule(system, part, self.oracle, self.degrees, budget, self.warm)
        if isinstance(found, Branch):
            self.branches.append(found)
            self.open_parts.pop(0)
            return
        self.trouble = found
        halves = None if budget.spent() else _halved(part, system.initial)
        self.open_parts.pop(0)
        if halves is None:
            self.uncovered.append(part)
        else:
            self.open_parts += halves

    def _shave(self, part: Box, lost: Box) -> None:
        """Cut a thin slice with lost starts off, so that no rule is looked for where there is none."""
        self.open_parts.pop(0)
        cut = _shaved(part, lost, self.system.initial)
        if cut is None:
            self.trouble = "no control can save some of the starts"
            self.uncovered.append(part)
        else:
            self.open_parts = [*cut, *self.open_parts]


def _volume_of(boxes: Sequence[Box], system: System) -> Fraction:
    return sum((_volume(box, system.initial) for box in boxes), Fraction(0))


def _rule(
    system: System,
    part: Box,
    oracle: Oracle | None,
    degrees: tuple[int, ...],
    budget: Budget,
    warm: tuple[Gain, ...] = (),
) -> Branch | str:
    """The random search is the last resort: it takes longer than proofs of a higher degree."""
    trouble = "every rule that was tried has unsafe runs"
    for candidates in (_candidates, _searched):
        tried: list[Gain] = []
        for degree in degrees:
            for gain in tuple(tried) or candidates(system, part, oracle, budget, warm):
                if budget.spent():
                    return trouble
                if degree == degrees[0]:
                    tried.append(gain)
                then = gain.terms(system)
                found = search(replace(system, initial=part), then, (degree,), budget, tested=True)
                if isinstance(found, ClosedSet):
                    return Branch(then, found)
                trouble = found
            tried = tried[-1:] + tried[:-1]  # the last one was made for tight limits
            if not tried:
                break
    return trouble


def _around(system: System, part: Box, degrees: tuple[int, ...], budget: Budget) -> list[Branch] | None:
    """Rules that lead around unsafe states, the last leg first; None: none are needed, or none are found."""
    for legs in ways(system, part, budget) if is_obstructed(system) else ():
        found: list[Branch] = []
        for leg in legs:
            then = leg.gain.terms(system)
            one = search(replace(system, initial=leg.box), then, degrees, budget, tested=True)
            if not isinstance(one, ClosedSet):
                break
            found.append(Branch(then, one))
        if len(found) == len(legs):
            return found
    return None


def _candidates(
    system: System, part: Box, oracle: Oracle | None, budget: Budget, warm: tuple[Gain, ...]
) -> Iterator[Gain]:
    """Rules without a simulated unsafe run, made one by one as they are needed."""
    others = chain(warm, gains(system, part, oracle))
    safe = (gain for gain in others if not fails(system, gain, part))
    yield from islice(safe, CANDIDATES)
    inside = furthest_inside(system, part, budget)
    if inside is not None and not fails(system, inside, part):
        yield inside


def _searched(
    system: System, part: Box, oracle: Oracle | None, budget: Budget, warm: tuple[Gain, ...]
) -> Iterator[Gain]:
    """What Algorithm 1's random search makes of the best rule, and of those that were given."""
    for gain in chain(islice(gains(system, part, oracle), 1), warm):
        if not budget.spent() and not fails(system, better := improved(system, gain, part, budget), part):
            yield better


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


def _shaved(part: Box, lost: Box, starts: Sequence[Range]) -> list[Box] | None:
    """What is left, and a slice around the lost piece; None: the part is such a slice on all sides."""
    for i, ((low, high), (at, until), (a, b)) in enumerate(zip(part, lost, starts, strict=True)):
        slice_ = (b - a) * SLICE
        if at != until or high - low <= slice_:
            continue
        where = Fraction(float(high - slice_ if at == high else low + slice_))
        if low < where < high:
            halves = [(*part[:i], ends, *part[i + 1 :]) for ends in ((low, where), (where, high))]
            return halves if at == high else halves[::-1]
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
