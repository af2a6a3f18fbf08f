"""All reachable states of a model with their choices, derived from its edges; numbers are exact.

A choice is (denominator, weights, targets, rewards): probabilities are weights / denominator, and the reward
is what is expected of each kind. Counters (rewards summed up along the run, for bounds on them) stand behind
the entries of a state; beyond their bound they stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any

from ..number import Refused
from .model import Edge, Kind, Model, Outcome, conforms, location_of
from .term import Row, plain

MOST_STATES = 5_000_000
MOST_CHOSEN = 100_000
Choice = tuple[int, tuple[int, ...], tuple[int, ...], Fraction]
Transition = tuple[tuple[Edge, ...], str | None]
Permitted = Callable[[Row, list[Transition]], list[Transition]]


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """The sum of one reward ("": steps) so far, as far as it matters for its bounds."""

    reward: str
    low: Fraction | None
    high: Fraction | None
    strict: bool  # the bound above is excluded

    def count(self, before: Any, amount: Fraction) -> Any:
        total = before + amount
        if self.high is None:
            return plain(min(total, self.low or Fraction(0)))
        return plain(self.high + 1 if self._is_over(total) else total)

    def _is_over(self, total: Any) -> bool:
        return self.high is not None and (total > self.high or (self.strict and total == self.high))

    def holds(self, total: Any) -> bool:
        return not self._is_over(total) and (self.low is None or total >= self.low)

    def is_lost(self, total: Any) -> bool:
        return self._is_over(total)


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """States sorted by their entries; `choices[s]` is empty where the run ends."""

    rows: list[Row]
    choices: list[list[Choice]]
    starts: list[int]


def all_transitions(model: Model, row: Row) -> list[Transition]:
    """Every joint step whose guards hold."""
    ready = [
        [edge for edge in model.edges[c][location_of(model, c, row)] if edge.guard(row)]
        for c in range(len(model.edges))
    ]
    alone = len(model.edges) == 1 and not model.together
    found: list[Transition] = [
        ((edge,), edge.action) for several in ready for edge in several if alone or edge.action is None
    ]
    for actions, result in model.together:
        slots = [[e for e in ready[c] if e.action == a] for c, a in enumerate(actions) if a is not None]
        if all(slots):
            found += [(combination, result) for combination in product(*slots)]
    return found


def explore(
    model: Model,
    starts: list[Row],
    permitted: Permitted | None,
    reward: str | None,
    counters: Sequence[Counter],
    closed: Callable[[Row], bool],
    blocked: set[Row] | None = None,
) -> Process:
    """Everything reachable; beyond a `closed` state nothing matters, it is left without choices.

    Where no assumption about the environment can be kept a run neither goes on nor ends: such states are
    collected in `blocked`, or refused.
    """
    zero = tuple(0 for _ in counters)
    numbers: dict[Row, int] = {}
    rows: list[Row] = []
    for start in starts:
        if (full := (*start, *zero)) not in numbers:
            numbers[full] = len(rows)
            rows.append(full)
    first = len(rows)
    shares: dict[tuple[Fraction, ...], tuple[int, tuple[int, ...]]] = {}
    choices: list[list[Choice]] = []
    for row in rows:  # grows while we go through it
        own: list[Choice] = []
        if not closed(row):
            state = row[: model.width]
            steps = all_transitions(model, state)
            if permitted is not None:
                steps = permitted(state, steps)
            impossible = False
            for edges, _ in steps:
                taken = list(_outcomes(model, state, edges))
                impossible = impossible or not taken
                for outcomes in taken:
                    own.append(_choice(model, row, outcomes, reward, counters, numbers, rows, shares))
            if impossible and not own:
                if blocked is None:
                    raise Refused("an assumption that nothing satisfies, in a state with no other way on")
                blocked.add(row)
        choices.append(own)
        if len(rows) > MOST_STATES:
            raise Refused("too many states")
    return _sorted(rows, choices, first)


def _sorted(rows: list[Row], choices: list[list[Choice]], first: int) -> Process:
    order = sorted(range(len(rows)), key=rows.__getitem__)
    place = [0] * len(rows)
    for position, number in enumerate(order):
        place[number] = position
    moved = [
        [(d, w, tuple([place[t] for t in targets]), r) for d, w, targets, r in choices[n]] for n in order
    ]
    return Process([rows[n] for n in order], moved, sorted(place[:first]))


def _choice(
    model: Model,
    row: Row,
    outcomes: list[tuple[Fraction, Row, dict[str, Any]]],
    reward: str | None,
    counters: Sequence[Counter],
    numbers: dict[Row, int],
    rows: list[Row],
    shares: dict[tuple[Fraction, ...], tuple[int, tuple[int, ...]]],
) -> Choice:
    key = tuple(p for p, _, _ in outcomes)
    if key not in shares:
        if sum(key) != 1:
            raise Refused(f"probabilities that sum to {sum(key)}")
        unit = lcm(*(p.denominator for p in key))
        shares[key] = unit, tuple(int(p * unit) for p in key)
    unit, weights = shares[key]
    targets = []
    expected = Fraction(0)
    for probability, after, paid in outcomes:
        if counters:
            after = (*after, *_counted(model, row, paid, counters))
        if (number := numbers.get(after)) is None:
            number = numbers[after] = len(rows)
            rows.append(after)
        targets.append(number)
        if reward is not None:
            expected += probability * _paid(reward, paid)
    return unit, weights, tuple(targets), expected


def _paid(reward: str, paid: dict[str, Any]) -> Fraction:
    amount = Fraction(1) if reward == "" else Fraction(paid.get(reward, 0))
    if amount < 0:
        raise Refused("a negative reward")
    return amount


def _counted(model: Model, row: Row, paid: dict[str, Any], counters: Sequence[Counter]) -> Iterator[Any]:
    for counter, before in zip(counters, row[model.width :], strict=True):
        yield counter.count(before, _paid(counter.reward, paid))


def _outcomes(
    model: Model, state: Row, edges: tuple[Edge, ...]
) -> Iterator[list[tuple[Fraction, Row, dict[str, Any]]]]:
    """For each way to pick the chosen values: the outcomes of positive probability."""
    free = [choice for edge in edges for choice in edge.chosen]
    if not free:
        if all(edge.assuming(state) for edge in edges):
            yield _results(model, state, edges)
        return
    for values in product(*(_options(kind) for _, kind in free)):
        row = [*state, *[None] * (model.length - model.width)]
        for (slot, _), value in zip(free, values, strict=True):
            row[slot] = value
        full = tuple(row)
        if all(edge.assuming(full) for edge in edges):
            yield _results(model, full, edges)


def _options(kind: Kind) -> Any:
    if kind[0] == "boolean":
        return (False, True)
    if kind[0] == "integer" and None not in kind and kind[2] - kind[1] < MOST_CHOSEN:
        return range(int(kind[1]), int(kind[2]) + 1)
    raise Refused("a value is chosen among too many")


def _results(model: Model, row: Row, edges: tuple[Edge, ...]) -> list[tuple[Fraction, Row, dict[str, Any]]]:
    found = []
    for parts in product(*(edge.outcomes for edge in edges)):
        share = Fraction(1)
        for part in parts:
            share *= part.constant if part.constant is not None else Fraction(part.probability(row))
        if not 0 <= share <= 1:
            raise Refused(f"the probability {share}")
        if share:
            paid: dict[str, Any] = {}
            for part in parts:
                for name, amount in part.rewards:
                    paid[name] = paid.get(name, 0) + amount(row)
            found.append((share, _after(model, row, edges, parts), paid))
    return found


def _after(model: Model, row: Row, edges: tuple[Edge, ...], parts: tuple[Outcome, ...]) -> Row:
    after = list(row)
    updates = parts[0].updates if len(parts) == 1 else _merged(parts)
    before, index = row, updates[0].index if updates else 0
    written: set[Any] = set()
    for update in updates:
        if update.index != index:
            before, index = tuple(after), update.index
            written.clear()
        path = tuple(position(before) for position in update.path)
        if (update.slot, path) in written:
            raise Refused("a variable is written twice in one step")
        written.add((update.slot, path))
        after[update.slot] = _placed(after[update.slot], path, update.value(before))
    for edge, part in zip(edges, parts, strict=True):
        place = model.places[edge.component]
        if place is not None:
            after[place] = part.target
    for update in updates:
        if not conforms(after[update.slot], model.kinds[update.slot]):
            raise Refused(f"a variable becomes {str(after[update.slot])[:40]}, outside its kind")
    return tuple(after[: model.width])


def _merged(parts: tuple[Outcome, ...]) -> tuple[Any, ...]:
    return tuple(sorted((u for part in parts for u in part.updates), key=lambda u: u.index))


def _placed(old: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if type(path[0]) is not int or not 0 <= path[0] < len(old):
        raise Refused("an index outside its array")
    return (*old[: path[0]], _placed(old[path[0]], path[1:], value), *old[path[0] + 1 :])
