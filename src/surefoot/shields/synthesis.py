"""The CEGIS loop of shield synthesis, Algorithm 2 of Zhu et al. (PLDI 2019).

Rules with invariant sets are added until they cover the starts; a counterexample is a start that none covers.

A start that no set contains yet is searched (line 4), and a region around it is taken, at first all that is
still open (5 to 8). For the region a rule is synthesised (9) and a set that contains it is looked for (10).
If there is none, the region is made half as wide (12); else what is left of the starts is open (14). Where no
start outside of the sets is met, parts are halved until proofs show which set contains them: what is covered
is decided exactly (3). A region that has become tiny is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import islice
from math import prod

import numpy as np

from surefoot.engines.barrier.float_system import is_linear
from surefoot.engines.barrier.invariant_set import InvariantSet, cover_start_box
from surefoot.engines.barrier.scaled_system import Unproved, scale_system
from surefoot.engines.barrier.search import search_invariant_set
from surefoot.engines.barrier.sos_candidate import Polyhedron, Shape, template_objection
from surefoot.query.polynomial import Monomial
from surefoot.reductions.barrier import ControlSystem
from surefoot.shields.linear_controllers import (
    Floats,
    Oracle,
    Range,
    TunableRule,
    enumerate_gains,
    fails_in_simulation,
    improve_by_random_search,
    rollout_cost,
)
from surefoot.shields.linear_system import furthest_inside
from surefoot.shields.sketch_rules import enumerate_sketch_rules, imitation_distance
from surefoot.shields.start_regions import (
    Box,
    halve_part,
    region_around,
    slice_off_piece,
    subtract_region,
    uncovered_start,
    widest_share,
)
from surefoot.shields.unavoidable import unavoidable_parts
from surefoot.shields.waypoints import enumerate_routes, is_obstructed
from surefoot.term.term import Term
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late

SMALLEST = Fraction(1, 64)  # of the starts: regions and parts are not made smaller
CANDIDATES = 6  # for one part
OVER = "the time is over"
MOST_LOST = 200  # uncovered parts that are looked at for starts that are lost


@dataclass(frozen=True, slots=True)
class RuleSource:
    """What rules are made from."""

    oracle: Oracle | None = None  # the network that they imitate
    sketch: tuple[Monomial, ...] | None = None  # what they are combinations of; None: affine rules
    warm: tuple[TunableRule, ...] = ()  # rules that are tried first as they are, and at the end improved

    def candidate_rules(self, system: ControlSystem, part: Box, budget: Budget) -> Iterator[TunableRule]:
        if self.sketch is not None:
            return enumerate_sketch_rules(system, part, self.oracle, self.sketch, budget)
        return enumerate_gains(system, part, self.oracle, budget)

    def price(self, system: ControlSystem, part: Box) -> Callable[[TunableRule], float]:
        """What the random search makes small; affine rules need not be near to the network."""
        if (oracle := self.oracle) is None or self.sketch is None:
            return lambda rule: rollout_cost(system, rule, part)
        return lambda rule: imitation_distance(system, rule, part, oracle)


@dataclass(frozen=True, slots=True)
class ShieldRule:
    then: tuple[Term, ...]
    set: InvariantSet


@dataclass(frozen=True, slots=True)
class Synthesis:
    branches: tuple[ShieldRule, ...]
    uncovered: tuple[Box, ...]  # parts of the starts that no set contains
    trouble: str = ""
    lost: tuple[Box, ...] = ()  # starts, some of them single states, that no control can save
    interrupted: bool = False

    def covered_share(self, starts: Sequence[Range]) -> Fraction:
        """By volume, over the variables in which starts differ."""
        return 1 - _volume_share(self.uncovered, starts)


def _volume_share(boxes: Sequence[Box], starts: Sequence[Range]) -> Fraction:
    """Of the starts, by volume; the boxes meet at their sides only."""
    total = Fraction(0)
    for box in boxes:
        pairs = zip(box, starts, strict=True)
        total += prod(((high - low) / (b - a) for (low, high), (a, b) in pairs if b > a), start=Fraction(1))
    return total


def synthesise_rules(
    system: ControlSystem, sought: RuleSource, shapes: tuple[Shape, ...], budget: Budget
) -> Synthesis:
    """Rules in the order in which they were found; an interruption keeps what there is."""
    if not is_linear(system):
        shapes = tuple(shape for shape in shapes if not isinstance(shape, Polyhedron))
    if not shapes:
        return Synthesis((), (system.initial,), "polyhedra are for linear systems in steps, unlike this one")
    refused = [template_objection(len(system.variables), shape) for shape in shapes]
    if refused and all(refused):
        return Synthesis((), (system.initial,), refused[0] or "")
    generator = np.random.default_rng(budget.seed)
    work = _Work(system, sought, shapes, budget, [system.initial], generator)
    interrupted = False
    try:
        while work.open_parts:
            work.next_part()
    except Late:
        work.trouble = "the time is over"
    except KeyboardInterrupt:
        interrupted = True
        work.trouble = work.trouble or "it was interrupted"
    uncovered = (*work.uncovered, *work.open_parts)
    lost = dict.fromkeys(piece for part in uncovered[:MOST_LOST] for piece in unavoidable_parts(system, part))
    return Synthesis(tuple(work.branches), uncovered, work.trouble, tuple(lost), interrupted)


@dataclass(slots=True)
class _Work:
    system: ControlSystem
    sought: RuleSource
    shapes: tuple[Shape, ...]
    budget: Budget
    open_parts: list[Box]
    generator: np.random.Generator
    branches: list[ShieldRule] = field(default_factory=list)
    uncovered: list[Box] = field(default_factory=list)
    trouble: str = ""

    def next_part(self) -> None:
        """Cover the first open part, or a region of it, or cut it, or give it up."""
        system, part, budget = self.system, self.open_parts[0], self.budget
        self._tell(Fraction(1))
        if budget.is_spent():
            self.trouble = _timeout_trouble(self.trouble)
            self._replace([], given_up=part)
            return
        start = uncovered_start(system, [b.set for b in self.branches], part, self.generator)
        if start is None:
            self._decide_cover(part)
            return
        lost = unavoidable_parts(system, part)
        if lost:
            self._shave(part, lost[0])
            return
        several = None if self.sought.sketch else _rules_around_obstacles(system, part, self.shapes, budget)
        if several is not None:
            self.branches += several
            self._replace([])
            return
        self._cover_around(start, part)

    def _cover_around(self, start: Floats, part: Box) -> None:
        """Lines 5 to 17: smaller and smaller regions around a start, until one has a rule with a set."""
        system, radius, region = self.system, Fraction(1), part
        while True:
            found = _find_rule(system, region, self.sought, self.shapes, self.budget)
            if isinstance(found, ShieldRule):
                self.branches.append(found)
                self._replace(subtract_region(part, region))
                return
            self.trouble = found
            if self.budget.is_spent():
                self._replace([], given_up=part)
                return
            if radius <= SMALLEST or widest_share(region, system.initial)[0] <= SMALLEST:
                self._replace(subtract_region(part, region), given_up=region)
                return
            before = region
            while region == before:
                radius /= 2
                region = region_around(start, radius, part, system.initial)
            self._tell(radius)

    def _decide_cover(self, part: Box) -> None:
        """No start of the part was met outside of all sets: show that one contains it, or cut it."""
        again = _extend_cover(self.system, self.branches, part, self.budget)
        if again is not None:
            self.branches[again[0]] = again[1]
            self._replace([])
            return
        share, place = widest_share(part, self.system.initial)
        if share > SMALLEST:
            self._replace(halve_part(part, place))
            return
        found = _find_rule(self.system, part, self.sought, self.shapes, self.budget)
        if isinstance(found, ShieldRule):
            self.branches.append(found)
            self._replace([])
        else:
            self.trouble = found
            self._replace([], given_up=part)

    def _replace(self, parts: Sequence[Box], given_up: Box | None = None) -> None:
        """Put these in the place of the first open part."""
        self.open_parts = [*parts, *self.open_parts[1:]]
        self.uncovered += [] if given_up is None else [given_up]

    def _tell(self, radius: Fraction) -> None:
        share = _volume_share([*self.open_parts, *self.uncovered], self.system.initial)
        told = f"shield: {len(self.branches)} rules, {float(1 - share):.1%} of the starts covered"
        self.budget.progress(told if radius == 1 else f"{told}, radius {float(radius):.3g} of the starts")

    def _shave(self, part: Box, lost: Box) -> None:
        """Cut a thin slice with lost starts off, so that no rule is looked for where there is none."""
        cut = slice_off_piece(part, lost, self.system.initial)
        if cut is None:
            self.trouble = "no control can save some of the starts"
            self._replace([], given_up=part)
        else:
            self._replace(cut)


def _find_rule(
    system: ControlSystem, part: Box, sought: RuleSource, shapes: tuple[Shape, ...], budget: Budget
) -> ShieldRule | str:
    """The random search is the last resort: it takes longer than proofs of a higher degree."""
    trouble = ""
    made = cache(
        lambda: tuple(sought.candidate_rules(system, part, budget))
    )  # both ways begin with the same ones
    for candidates in (_enumerate_candidates, _enumerate_improved):
        tried: list[TunableRule] = []
        for number, together in enumerate(_group_shapes(shapes)):
            for rule in tuple(tried) or candidates(system, part, sought, made, budget):
                if budget.is_spent():
                    return _timeout_trouble(trouble)
                if number == 0:
                    tried.append(rule)
                then = rule.terms(system)
                found = search_invariant_set(
                    replace(system, initial=part), then, together, budget, tested=True
                )
                if isinstance(found, InvariantSet):
                    return ShieldRule(then, found)
                trouble = found.detail
            tried = tried[-1:] + tried[:-1]  # the last one was made for tight limits
            if not tried:
                break
    if budget.is_spent():
        return _timeout_trouble(trouble)
    return trouble or "every rule that was tried has unsafe runs"


def _timeout_trouble(trouble: str) -> str:
    """More time may help, whatever the last attempt failed by."""
    if not trouble or trouble.startswith(OVER):
        return OVER
    return f"{OVER}; the last attempt: {trouble}"


def _group_shapes(shapes: tuple[Shape, ...]) -> list[tuple[Shape, ...]]:
    """What is tried for every rule before the next: a polyhedron at once with what comes after it."""
    found: list[tuple[Shape, ...]] = []
    for shape in shapes:
        if found and isinstance(found[-1][-1], Polyhedron):
            found[-1] = (*found[-1], shape)
        else:
            found.append((shape,))
    return found


def _rules_around_obstacles(
    system: ControlSystem, part: Box, shapes: tuple[Shape, ...], budget: Budget
) -> list[ShieldRule] | None:
    """Rules that lead around unsafe states, the last leg first; None: none are needed, or none are found."""
    for legs in enumerate_routes(system, part, budget) if is_obstructed(system) else ():
        found: list[ShieldRule] = []
        if budget.is_spent():
            return None
        for leg in legs:
            then = leg.gain.terms(system)
            one = search_invariant_set(replace(system, initial=leg.box), then, shapes, budget, tested=True)
            if not isinstance(one, InvariantSet):
                break
            found.append(ShieldRule(then, one))
        if len(found) == len(legs):
            return found
    return None


def _enumerate_candidates(
    system: ControlSystem,
    part: Box,
    sought: RuleSource,
    made: Callable[[], tuple[TunableRule, ...]],
    budget: Budget,
) -> Iterator[TunableRule]:
    """Rules without a simulated unsafe run, made one by one as they are needed."""

    def others() -> Iterator[TunableRule]:
        yield from sought.warm
        yield from made()

    safe = (
        rule for rule in others() if not budget.is_spent() and not fails_in_simulation(system, rule, part)
    )
    yield from islice(safe, CANDIDATES)
    inside = None if sought.sketch or budget.is_spent() else furthest_inside(system, part, budget)
    if inside is not None and not fails_in_simulation(system, inside, part):
        yield inside


def _enumerate_improved(
    system: ControlSystem,
    part: Box,
    sought: RuleSource,
    made: Callable[[], tuple[TunableRule, ...]],
    budget: Budget,
) -> Iterator[TunableRule]:
    """What Algorithm 1's random search makes of the best rule, and of those that were given."""
    price = sought.price(system, part)
    for rule in (*made()[:1], *sought.warm) if system.controls else ():
        if not budget.is_spent() and not fails_in_simulation(
            system, better := improve_by_random_search(rule, price, budget), part
        ):
            yield better


def _extend_cover(
    system: ControlSystem, branches: Sequence[ShieldRule], part: Box, budget: Budget
) -> tuple[int, ShieldRule] | None:
    """A rule whose set contains this part too."""
    for index, branch in enumerate(branches):
        try:
            where = scale_system(system, branch.then, branch.set.domain, tested=True)
            return index, replace(branch, set=cover_start_box(where, branch.set, part, budget))
        except Unproved:
            continue
    return None
