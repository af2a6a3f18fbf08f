"""Branch and bound over input boxes: every open box is refuted, yields a solution, or is split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from surefoot.network.linear import Planes
from surefoot.network.outward import Array, Box
from surefoot.problem.meaning.evaluate import Undefined
from surefoot.query.query import Answer, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.native.attack import attack, descend, settled, violation
from surefoot.solve.native.bounding.bounds import Bounded, Layout, bounded, layout, pieces, together
from surefoot.solve.native.bounding.domains import (
    Domains,
    Stack,
    cut,
    each_point,
    joined,
    on_grid,
    splittable,
)
from surefoot.solve.native.bounding.dual import improved
from surefoot.solve.native.bounding.leaf import Refuted, decide_set, linear_forms
from surefoot.solve.native.bounding.passes import forward
from surefoot.solve.native.bounding.refute import combined, contracted, empty, multipliers
from surefoot.solve.native.bounding.stable import all_linear
from surefoot.solve.native.bounding.views import View, better, merged
from surefoot.solve.native.problem import Compiled, Mask, conjunctions, contradicts, truth
from surefoot.solve.native.witness import assigned, columns, inside, satisfied

_SETS = 64  # conjunctions that a formula is multiplied out to
_MEMORY = 1_200_000_000  # bytes of open boxes
_GIVEN_UP = 64  # boxes at the precision floor after which the search ends
_STEPS = 8  # of improvement of a plane
_SLOPE = 0.1  # how much the slope of a plane counts for the choice of a split
_TRIES = 4  # candidates of a batch that are evaluated exactly
_REGIONS = 32  # sets that are looked at one by one before the search
_FEW = 16  # points of a box that are looked at one by one
_DOWNHILL = 32  # candidates of a batch that are moved downhill


@dataclass(slots=True)
class Closed:
    """Why no point of a box satisfies a set of atoms: multipliers, or which atoms fail by themselves."""

    low: Array
    high: Array
    atoms: tuple[int, ...]
    why: object


@dataclass(slots=True)
class Search:
    """One search; `log` collects what closed every box, if it is given."""

    query: Query
    problem: Compiled
    batch: int
    deadline: float
    random: np.random.Generator
    log: list[Closed] | None = None
    progress: Callable[[str], None] = lambda text: None
    plan: Layout = field(init=False)
    sets: tuple[tuple[int, ...], ...] = field(init=False)
    rows: Array = field(init=False)
    of_set: list[NDArray[np.intp]] = field(init=False)
    span: Array = field(init=False)
    slack: list[int] = field(init=False)  # inputs that stand for the slack of an output
    given_up: int = 0
    visited: int = 0

    def __post_init__(self) -> None:
        problem = self.problem
        self.plan = layout(problem.network)
        self.span = np.maximum(problem.high - problem.low, 1e-300)
        count = len(problem.strict)
        sure = self._sure()
        found = (tuple(j for j in several if j not in sure) for several in conjunctions(problem.tree, _SETS))
        self.sets = tuple(several for several in dict.fromkeys(found) if not contradicts(problem, several))
        own = {quantity.name for quantity in problem.quantities}
        self.slack = [i for i, name in enumerate(problem.names) if name not in own]
        both = np.flatnonzero(problem.equal)
        self.rows = np.concatenate([np.eye(count), -np.eye(count)[both]])
        mirrored = {int(j): count + i for i, j in enumerate(both)}
        self.of_set = [
            np.array([*several, *(mirrored[j] for j in several if j in mirrored)], dtype=np.intp)
            for several in self.sets
        ]

    def _sure(self) -> frozenset[int]:
        """The atoms that hold in the whole box: no set needs to mention them."""
        problem = self.problem
        found = bounded(self.plan, problem.low[None], problem.high[None], {})
        least = found.below(-np.eye(len(problem.strict))).minimum(found.boxes[0])[0]
        holds = np.where(problem.strict, least > 0, least >= 0) & ~problem.equal
        return frozenset(np.flatnonzero(holds).tolist())

    def run(self) -> Answer:
        stack = Stack()
        stack.push(self._root())
        while stack and self.sets:
            if monotonic() > self.deadline:
                return self._late(stack)
            if len(stack) * self._bytes() > _MEMORY:
                return Undecided(Why.MEMORY, f"{len(stack)} open boxes")
            if self.given_up >= _GIVEN_UP:
                break
            is_root = not self.visited
            answer = self._batch(stack.pop(self.batch), stack)
            if answer is None and is_root and stack:
                answer = self._attack()
            if answer is not None:
                return answer
            self.progress(f"native: {self.visited} boxes looked at, {len(stack)} open")
        if self.given_up:
            return Undecided(Why.INCOMPLETE, f"{self.given_up} boxes at the precision floor")
        if self.problem.curtailed:
            name = self.problem.curtailed[0]
            return Undecided(Why.INCOMPLETE, f"`{name}` has no bounds; nothing found within artificial ones")
        return Unsat()

    def _bytes(self) -> int:
        """What one open box takes."""
        widths = self.problem.network.widths()
        return 16 * (widths[0] + sum(widths[v] for v in self.plan.kept)) + len(self.sets) + 8

    def _late(self, stack: Stack) -> Undecided:
        return Undecided(Why.TIMEOUT, f"{self.visited} boxes looked at, {len(stack)} open")

    def _root(self) -> Domains:
        box = on_grid(self.problem, Box(self.problem.low[None], self.problem.high[None]))
        keep = ~empty(box)
        widths = self.problem.network.widths()
        known = {
            v: Box(np.full((1, widths[v]), -np.inf), np.full((1, widths[v]), np.inf))
            for v in self.plan.kept
            if v not in self.plan.plain
        }
        alive = np.ones((1, len(self.sets)), dtype=np.bool_)
        root = Domains(box, known, alive, np.zeros(1, dtype=np.int64)).pick(keep)
        return self._by_region(root) if len(root) and 1 < len(self.sets) <= _REGIONS else root

    def _by_region(self, root: Domains) -> Domains:
        """One box for all sets that leave the same part of it: alternatives may concern different regions."""
        planes = bounded(self.plan, root.box.low, root.box.high, root.known).below(self.rows)
        least = planes.minimum(root.box)
        groups: dict[bytes, tuple[Box, list[int]]] = {}
        for number, rows in enumerate(self.of_set):
            part = Planes(planes.coefficients[:, rows], planes.constant[:, rows])
            box = contracted(part, least[:, rows], root.box) if rows.size else root.box
            box = on_grid(self.problem, box)
            if not empty(box).any():
                key = box.low.tobytes() + box.high.tobytes()
                groups.setdefault(key, (box, []))[1].append(number)
        parts = []
        for box, members in groups.values():
            alive = np.zeros_like(root.alive)
            alive[:, members] = True
            parts.append(Domains(box, root.known, alive, root.depth))
        return joined(parts) if parts else root.pick(slice(0, 0))

    def _attack(self) -> Sat | None:
        tried: list[Sat] = []

        def enough(points: Array, worst: Array) -> bool:
            best = int(np.argmin(worst))
            if worst[best] <= 0 and (answer := self._solution(points[best])) is not None:
                tried.append(answer)
            return bool(tried) or monotonic() > self.deadline

        points, worst = attack(self.problem, self.sets, self.random, enough)
        return tried[0] if tried else self._first(points, worst)

    def _first(self, points: Array, worst: Array) -> Sat | None:
        """The first of the best candidates that is a solution."""
        for index in np.argsort(worst, kind="stable")[:_TRIES]:
            if worst[index] <= 0 and (answer := self._solution(points[index])) is not None:
                return answer
        return None

    def _solution(self, point: Array) -> Sat | None:
        """A solution near a point that satisfies the formula in floats, as far inside as a few steps find.

        A witness well inside also survives float32 inference, so slack is used only where there is no other.
        """
        problem = self.problem
        low, high = problem.low.copy(), problem.high.copy()
        low[self.slack] = high[self.slack] = 0.0
        start = np.clip(point, low, high)
        jitter = 1e-3 * (high - low) * (self.random.random((16, len(low))) - 0.5)
        jitter[0] = 0.0
        points, worst = descend(
            problem, self.sets, np.clip(start + jitter, low, high), low, high, steps=20, first_rate=0.03
        )
        best = int(np.argmin(worst))
        answer = self._check(points[best]) if worst[best] <= 0 else None
        return answer or self._check(point)

    def _check(self, point: Array | list[Fraction]) -> Sat | None:
        """A solution if the point, moved to where the inputs can be, satisfies the query exactly."""
        try:
            values = columns(self.problem, inside(self.problem, list(point)))
        except Undefined:
            return None
        assignment = assigned(self.problem, values)
        return Sat(assignment) if satisfied(self.query, assignment) else None

    def _batch(self, domains: Domains, stack: Stack) -> Answer | None:
        self.visited += len(domains)
        parts = []
        for piece in pieces(self.plan, len(domains), domains.known):
            if monotonic() > self.deadline:
                return self._late(stack)
            part = domains.pick(piece)
            parts.append(bounded(self.plan, part.box.low, part.box.high, part.known))
        return self._judged(domains, together(parts), stack)

    def _candidates(self, points: Array) -> Sat | None:
        """A solution among points that the bounds found worst, after a few steps downhill from the best."""
        points = settled(self.problem, points)
        worst = violation(self.problem, forward(self.problem.network, points)[-1])
        worst = np.nan_to_num(worst, nan=np.inf)
        answer = self._first(points, worst)
        if answer is not None:
            return answer
        best = points[np.argsort(worst, kind="stable")[:_DOWNHILL]]
        low, high = self.problem.low, self.problem.high
        return self._first(*descend(self.problem, self.sets, best, low, high, steps=8, first_rate=0.02))

    def _judged(self, domains: Domains, found: Bounded, stack: Stack) -> Answer | None:
        """Close, shrink and split a batch of boxes whose bounds are known."""
        planes = found.below(self.rows)
        least = planes.minimum(domains.box)
        fails = self._fails(least)
        possible = truth(self.problem.tree, np.where(fails, 1.0, -1.0)) <= 0
        alive = domains.alive & possible[:, None]
        views = []
        for number, several in enumerate(self.sets):
            self._note(domains.alive[:, number] & ~possible, domains.box, number, fails)
            failing = alive[:, number] & fails[:, list(several)].any(axis=1)
            self._note(failing, domains.box, number, fails)
            alive[:, number] &= ~failing
            if alive[:, number].any():
                views.append(self._view(number, found, planes, least, alive))
        box, slopes = merged(domains.box, views, alive)
        box = on_grid(self.problem, box)
        keep = alive.any(axis=1) & ~empty(box)
        if not keep.any():
            return None
        points = np.concatenate([v.worst[keep & alive[:, v.number]] for v in views])
        answer: Answer | None = self._candidates(points) if len(points) else None
        if answer is not None:
            return answer
        known = {v: found.boxes[v] for v in domains.known}
        rest = Domains(box, known, alive, domains.depth + 1).pick(keep)
        return self._branch(rest, slopes[keep], all_linear(self.problem, found)[keep], stack)

    def _fails(self, least: Array) -> Mask:
        """Which atoms hold nowhere in which boxes."""
        problem, count = self.problem, len(self.problem.strict)
        above = least[:, :count]
        fails = np.where(problem.strict, above >= 0, above > 0)
        fails[:, problem.equal] |= least[:, count:] > 0
        return fails

    def _view(self, number: int, found: Bounded, planes: Planes, least: Array, alive: Mask) -> View:
        """What one set of atoms says about the boxes; refuted ones are noted in `alive`."""
        rows, whole_box = self.of_set[number], found.boxes[0]
        view = View(
            number,
            Box(whole_box.low.copy(), whole_box.high.copy()),
            np.zeros_like(whole_box.low),
            0.5 * (whole_box.low + whole_box.high),
        )
        if not rows.size:
            return view
        here = alive[:, number].copy()
        some = found if here.all() else found.pick(here)
        box = some.boxes[0]
        part = Planes(planes.coefficients[here][:, rows], planes.constant[here][:, rows])
        idle = self._holding(some)[:, rows] if rows.size > 1 else np.zeros((len(box.low), 1), dtype=np.bool_)
        share, scale = multipliers(part, box, idle)
        plane = combined(part, share * scale, box)
        best = improved(some, self.rows[rows], share, scale, _STEPS)
        plane, value = better(plane, plane.minimum(box)[:, 0], best.plane, best.value)
        self._note(value > 0, box, number, best.row)
        every = Planes(
            np.concatenate([part.coefficients, plane.coefficients], axis=1),
            np.concatenate([part.constant, plane.constant], axis=1),
        )
        shrunk = contracted(every, np.concatenate([least[here][:, rows], value[:, None]], axis=1), box)
        alive[here, number] = ~(value > 0) & ~empty(shrunk)
        slope = plane.coefficients[:, 0]
        view.box.low[here], view.box.high[here] = shrunk.low, shrunk.high
        view.slopes[here] = best.gain + _SLOPE * np.abs(slope)
        view.worst[here] = np.where(slope > 0, shrunk.low, shrunk.high)
        return view

    def _holding(self, found: Bounded) -> Mask:
        """Which rows are <= 0 in the whole box: they refute nothing."""
        return np.asarray(found.below(-self.rows).minimum(found.boxes[0]) >= 0)

    def _note(self, closed: Mask, box: Box, number: int, why: Array | Mask) -> None:
        if self.log is not None:
            for i in np.flatnonzero(closed):
                self.log.append(Closed(box.low[i], box.high[i], self.sets[number], why[i]))

    def _branch(self, rest: Domains, slopes: Array, straight: Mask, stack: Stack) -> Answer | None:
        """Decide what can be decided exactly, split the others."""
        able = splittable(self.problem, rest.box)
        kept = []
        for index in range(len(rest)):
            if (straight[index] and self.problem.rational) or not able[index].any():
                if monotonic() > self.deadline:
                    return self._late(stack)
                answer = self._exactly(rest, index, bool(straight[index]), bool(able[index].any()))
                if isinstance(answer, Sat):
                    return answer
                if answer is not None:
                    continue
                if not able[index].any():
                    self.given_up += 1
                    continue
            points = each_point(self.problem, rest.pick([index]), able[index], _FEW)
            if points is None:
                kept.append(index)
            else:
                stack.push(points)
        if kept:
            self._split(rest.pick(kept), able[kept], slopes[kept], stack)
        return None

    def _split(self, rest: Domains, able: Mask, slopes: Array, stack: Stack) -> None:
        width = rest.box.high - rest.box.low
        score = np.where(able, width * slopes + 1e-9 * width / self.span, -1.0)
        for half in cut(self.problem, rest.box, score.argmax(axis=1)):
            child = Domains(half, rest.known, rest.alive, rest.depth)
            stack.push(child.pick(~empty(half)))

    def _exactly(self, rest: Domains, index: int, straight: bool, able: bool) -> Sat | Unsat | None:
        """Sat or Unsat for one box in exact arithmetic, None if that does not tell."""
        problem = self.problem
        if not able:
            fixed = all(problem.grid[i] or a == b for i, (a, b) in enumerate(problem.exact))
            answer = self._check(rest.box.low[index])
            if answer is not None or not problem.rational or fixed:
                return answer or (Unsat() if fixed and problem.rational else None)
        if not straight:
            return None
        forms = linear_forms(problem, rest.box.low[index].tolist(), rest.box.high[index].tolist())
        if forms is None:
            return None
        for number in np.flatnonzero(rest.alive[index]):
            verdict = decide_set(problem, forms, self.sets[number])
            if isinstance(verdict, Refuted):
                rest.alive[index, number] = False
                if self.log is not None:
                    low, high = rest.box.low[index], rest.box.high[index]
                    self.log.append(Closed(low, high, self.sets[number], verdict))
                continue
            for point in verdict:
                answer = self._check(point)
                if answer is not None:
                    return answer
        return None if rest.alive[index].any() else Unsat()
