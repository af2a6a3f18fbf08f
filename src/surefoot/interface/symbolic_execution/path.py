"""Path exploration: the function is run again for every series of decisions.

Python asks for the truth of a condition (`if`, `while`, …), and the path answers: what it knows already
decides, and where both are possible the run is made twice. The tree of these decisions is the recorded model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from time import process_time
from typing import Any, Generic, TypeVar

from surefoot.interface.symbolic_execution.recording import KnownBounds, Recording
from surefoot.interface.symbolic_execution.refusal import Refusal, find_user_line
from surefoot.term.interval import Interval
from surefoot.term.term import Apply, Const, Op, Term

T = TypeVar("T")
MOST_DECISIONS = 300  # on one path: a loop that does not end asks for ever
_LESS, _SAME, _MORE = 1, 2, 4  # what two terms may be to each other


@dataclass(frozen=True, slots=True)
class PathLimits:
    """How much is explored before a trace is refused."""

    paths: int = 1_000
    seconds: float = 40.0


@dataclass(slots=True)
class Path:
    """One run of the function: the decisions that it is to take, and what they say."""

    recording: Recording
    prefix: tuple[tuple[Term, bool], ...] = ()
    taken: list[tuple[Term, bool]] = field(default_factory=list)
    facts: dict[int, bool] = field(default_factory=dict)
    relations: dict[tuple[int, int], int] = field(default_factory=dict)
    bounds: KnownBounds = field(init=False)
    pending: list[int] = field(default_factory=list)  # places of decisions whose other side is possible
    deadline: float = inf
    lines: Counter[str] = field(default_factory=Counter)  # where decisions are made

    def __post_init__(self) -> None:
        self.bounds = KnownBounds(self.recording)

    def interval(self, term: Term) -> Interval:
        return self.bounds.interval(term)

    def decide(self, condition: Term) -> bool:
        """The truth of a condition on this path."""
        negated = isinstance(condition, Apply) and condition.op is Op.NOT
        plain = condition.args[0] if isinstance(condition, Apply) and negated else condition
        known = self._known_truth(plain)
        if known is None:
            known = self._next_decision(plain)
            self._learn(plain, known)
            self.bounds.forget_memo()
        return known is not negated

    def _known_truth(self, condition: Term) -> bool | None:
        if isinstance(condition, Const):
            return bool(condition.value)
        if id(condition) in self.facts:
            return self.facts[id(condition)]
        low, high = self.bounds.interval(condition)
        if low == high:
            return bool(low == 1)
        related = self._related_truth(condition)
        if related is not None:
            self.bounds.narrow(condition, related)
            self.bounds.forget_memo()
            return related
        for side in (True, False):
            if not self.bounds.copy().narrow(condition, side):
                return not side
        return None

    def _next_decision(self, condition: Term) -> bool:
        place = len(self.taken)
        if place >= MOST_DECISIONS:
            what = f"more than {MOST_DECISIONS} decisions on one path"
            raise Refusal(what, "write a loop with a fixed number of turns: for _ in range(10)")
        if place % 16 == 15 and process_time() > self.deadline:
            raise Refusal("following every path takes too long", "use fewer branches, or np.where")
        if place < len(self.prefix):
            before, side = self.prefix[place]
            if before is not condition:
                raise Refusal(
                    "the function does not do the same when it is called again",
                    "pass what it remembers or draws as an argument",
                )
        else:
            side = True
            self.pending.append(place)
            self.lines[find_user_line()] += 1
        self.taken.append((condition, side))
        return side

    def _learn(self, condition: Term, holds: bool) -> None:
        self.facts[id(condition)] = holds
        match condition:
            case Apply(Op.LT | Op.LE | Op.EQ as op, (left, right)):
                allowed = {Op.LT: _LESS, Op.LE: _LESS | _SAME, Op.EQ: _SAME}[op]
                self._relate(left, right, allowed if holds else 7 & ~allowed)
            case Apply(Op.AND, parts) if holds:
                for part in parts:
                    self._learn_part(part, True)
            case Apply(Op.OR, parts) if not holds:
                for part in parts:
                    self._learn_part(part, False)
        self.bounds.narrow(condition, holds)

    def _learn_part(self, part: Term, holds: bool) -> None:
        if isinstance(part, Apply) and part.op is Op.NOT:
            part, holds = part.args[0], not holds
        self._learn(part, holds)

    def _relate(self, left: Term, right: Term, allowed: int) -> None:
        mirrored = (allowed & _SAME) | (_MORE if allowed & _LESS else 0) | (_LESS if allowed & _MORE else 0)
        for key, mask in (((id(left), id(right)), allowed), ((id(right), id(left)), mirrored)):
            self.relations[key] = self.relations.get(key, 7) & mask

    def _related_truth(self, condition: Term) -> bool | None:
        match condition:
            case Apply(Op.LT | Op.LE | Op.EQ as op, (left, right)):
                possible = _SAME if left is right else self.relations.get((id(left), id(right)), 7)
                wanted = {Op.LT: _LESS, Op.LE: _LESS | _SAME, Op.EQ: _SAME}[op]
                if not possible & wanted:
                    return False
                if not possible & ~wanted:
                    return True
        return None


@dataclass(frozen=True, slots=True)
class Leaf(Generic[T]):
    """Where a path ends: what the function gave there."""

    result: T


@dataclass(frozen=True, slots=True)
class Fork(Generic[T]):
    """A decision, and what comes of either answer."""

    condition: Term
    then: Fork[T] | Leaf[T]
    otherwise: Fork[T] | Leaf[T]


_PATH: ContextVar[Path | None] = ContextVar("path", default=None)


def current_path() -> Path:
    """The path of the run that is going on."""
    path = _PATH.get()
    if path is None:
        raise Refusal("a symbol is used outside its trace", "do not keep values between calls")
    return path


@contextmanager
def use_path(path: Path) -> Iterator[Path]:
    token = _PATH.set(path)
    try:
        yield path
    finally:
        _PATH.reset(token)


def explore_paths(
    recording: Recording, run: Callable[[], T], limits: PathLimits
) -> tuple[Fork[T] | Leaf[T], int]:
    """The tree of decisions of `run`, and the number of its paths."""
    deadline = process_time() + limits.seconds
    waiting: list[tuple[tuple[Term, bool], ...]] = [()]
    found: list[tuple[list[tuple[Term, bool]], T]] = []
    lines: Counter[str] = Counter()
    while waiting:
        if len(found) >= limits.paths:
            raise Refusal(
                f"more than {limits.paths} paths through the function",
                "write np.where, np.clip, min or max instead of `if` inside loops, or trace(…, paths=…)",
                lines.most_common(1)[0][0],
            )
        path = Path(recording, waiting.pop(), deadline=deadline, lines=lines)
        with use_path(path):
            result = run()
        if len(path.taken) < len(path.prefix):
            raise Refusal(
                "the function does not do the same when it is called again",
                "pass what it remembers or draws as an argument",
            )
        found.append((path.taken, result))
        for place in path.pending:
            condition, side = path.taken[place]
            waiting.append((*path.taken[:place], (condition, not side)))
    return _build_tree(found), len(found)


def _build_tree(paths: list[tuple[list[tuple[Term, bool]], T]]) -> Fork[T] | Leaf[T]:
    """Paths by their decisions. Depth is bounded by `MOST_DECISIONS`, so no recursion is used."""
    by_decisions = {tuple((id(c), side) for c, side in taken): Leaf(result) for taken, result in paths}
    conditions = {
        tuple((id(c), s) for c, s in taken[:n]): taken[n][0] for taken, _ in paths for n in range(len(taken))
    }
    built: dict[tuple[tuple[int, bool], ...], Fork[T] | Leaf[T]] = dict(by_decisions)
    for key in sorted(conditions, key=len, reverse=True):
        own = conditions[key]
        built[key] = Fork(own, built[(*key, (id(own), True))], built[(*key, (id(own), False))])
    return built[()]


def merge_tree(
    recording: Recording, tree: Fork[tuple[Term, ...]] | Leaf[tuple[Term, ...]]
) -> tuple[Term, ...]:
    """One term for each place of the results: choices where the branches differ."""
    order: list[Fork[tuple[Term, ...]]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Fork):
            order.append(node)
            waiting += [node.then, node.otherwise]
    values: dict[int, tuple[Term, ...]] = {}

    def value(node: Any) -> tuple[Term, ...]:
        return node.result if isinstance(node, Leaf) else values[id(node)]

    for fork in reversed(order):
        pairs = zip(value(fork.then), value(fork.otherwise), strict=True)
        values[id(fork)] = tuple(recording.choose(fork.condition, a, b) for a, b in pairs)
    return value(tree)
