"""Algorithm 2 of Zhu et al. (PLDI 2019): rules with closed sets, added until they cover the starts.

A part of the starts that no set covers yet is taken, a rule is synthesised for it and a set that contains the
whole part is looked for; if there is none, the part is halved. A set that was found for one part is tried for
the others first. What is covered is decided exactly, by proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice

from surefoot.encode.barrier import System
from surefoot.engines.barrier.closed import ClosedSet, Unproved, covering
from surefoot.engines.barrier.find import Shape, too_large
from surefoot.engines.barrier.plane import plane
from surefoot.engines.barrier.search import search
from surefoot.engines.shield.around import is_obstructed, ways
from surefoot.engines.shield.combination import combinations, distance
from surefoot.engines.shield.gains import Candidate, Oracle, Range, cost, fails, gains, improved
from surefoot.engines.shield.linear import furthest_inside
from surefoot.engines.shield.lost import lost_parts
from surefoot.problem.term import Term
from surefoot.query.polynomial import Monomial
from surefoot.work.budget import Budget

Box = tuple[Range, ...]
SMALLEST = Fraction(1, 64)  # of the starts, in each variable
SLICE = Fraction(1, 512)  # of the starts: how much is given up around starts that are lost
CANDIDATES = 6  # for one part
MOST_LOST = 200  # uncovered parts that are looked at for starts that are lost


@dataclass(frozen=True, slots=True)
class Sought:
    """What rules are made from."""

    oracle: Oracle | None = None  # the network that they imitate
    sketch: tuple[Monomial, ...] | None = None  # what they are combinations of; None: affine rules
    warm: tuple[Candidate, ...] = ()  # rules that are tried first as they are, and at the end improved

    def found(self, system: System, part: Box, budget: Budget) -> Iterator[Candidate]:
        if self.sketch is not None:
            return combinations(system, part, self.oracle, self.sketch, budget)
        return gains(system, part, self.oracle, budget)

    def price(self, system: System, part: Box) -> Callable[[Candidate], float]:
        """What the random search makes small; affine rules need not be near to the network."""
        if (oracle := self.oracle) is None or self.sketch is None:
            return lambda rule: cost(system, rule, part)
        return lambda rule: distance(system, rule, part, oracle)


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


def synthesise(system: System, sought: Sought, shapes: tuple[Shape, ...], budget: Budget) -> Synthesis:
    """Rules in the order in which they were found; an interruption keeps what there is."""
    refused = [too_large(len(system.variables), shape) for shape in shapes]
    if refused and all(refused):
        return Synthesis((), (system.initial,), refused[0] or "")
    work = _Work(system, sought, shapes, budget, [system.initial])
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
    sought: Sought
    shapes: tuple[Shape, ...]
    budget: Budget
    open_parts: list[Box]
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
            several = None if self.sought.sketch else _around(system, part, self.shapes, budget)
            if several is not None:
                self.branches += several
                self.open_parts.pop(0)
                return
            found = _rule(system, part, self.sought, self.shapes, budget)
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
    system: System, part: Box, sought: Sought, shapes: tuple[Shape, ...], budget: Budget
) -> Branch | str:
    """The random search is the last resort: it takes longer than proofs of a higher degree."""
    trouble = ""
    for candidates in (_candidates, _searched):
        tried: list[Candidate] = []
        for shape in shapes:
            for rule in tuple(tried) or candidates(system, part, sought, budget):
                if budget.spent():
                    return trouble or "the time is over"
                if shape == shapes[0]:
                    tried.append(rule)
                then = rule.terms(system)
                found = search(replace(system, initial=part), then, (shape,), budget, tested=True)
                if isinstance(found, ClosedSet):
                    return Branch(then, found)
                trouble = found
            tried = tried[-1:] + tried[:-1]  # the last one was made for tight limits
            if not tried:
                break
    return trouble or "every rule that was tried has unsafe runs"


def _around(system: System, part: Box, shapes: tuple[Shape, ...], budget: Budget) -> list[Branch] | None:
    """Rules that lead around unsafe states, the last leg first; None: none are needed, or none are found."""
    for legs in ways(system, part, budget) if is_obstructed(system) else ():
        found: list[Branch] = []
        for leg in legs:
            then = leg.gain.terms(system)
            one = search(replace(system, initial=leg.box), then, shapes, budget, tested=True)
            if not isinstance(one, ClosedSet):
                break
            found.append(Branch(then, one))
        if len(found) == len(legs):
            return found
    return None


def _candidates(system: System, part: Box, sought: Sought, budget: Budget) -> Iterator[Candidate]:
    """Rules without a simulated unsafe run, made one by one as they are needed."""
    others = chain(sought.warm, sought.found(system, part, budget))
    safe = (rule for rule in others if not budget.spent() and not fails(system, rule, part))
    yield from islice(safe, CANDIDATES)
    inside = None if sought.sketch or budget.spent() else furthest_inside(system, part, budget)
    if inside is not None and not fails(system, inside, part):
        yield inside


def _searched(system: System, part: Box, sought: Sought, budget: Budget) -> Iterator[Candidate]:
    """What Algorithm 1's random search makes of the best rule, and of those that were given."""
    price = sought.price(system, part)
    for rule in chain(islice(sought.found(system, part, budget), 1), sought.warm):
        if not budget.spent() and not fails(system, better := improved(rule, price, budget), part):
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
