"""All states of a finite system at once: what the policy may pick in each, and where every step leads.

For models of Racetrack's size this is the cheapest sound means: the network is evaluated once for every
state, in batches; any action within the rounding error of the best output counts as possible. After that the
exact abstract transition relation of any set of predicates is a matter of sorting numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime, scalar_domain
from surefoot.engines.predicates.enumerative.columns import Column, ColumnEvaluator, IntervalColumn, Mask
from surefoot.engines.predicates.enumerative.lookups import LookupEvaluator, Lookups, scalar_column
from surefoot.engines.predicates.listed_starts import listed_starts
from surefoot.errors import Unsupported
from surefoot.problem.network import Network
from surefoot.solvers.native.batch_queries.point_evaluation import evaluate_each_point, evaluate_with_radius
from surefoot.term.float32 import round_to_float32
from surefoot.term.term import Apply, Op, Term, Var, free_names, split_conjunction
from surefoot.work.budget import Budget

Indices: TypeAlias = NDArray[np.int64]
Picks: TypeAlias = Sequence[Mapping[str, Column]]  # values that the environment chooses
CHUNK = 1 << 15
MOST_STEPS = 20_000_000  # of all states together: about 400 megabytes
MOST_PICKS = 4096  # combinations of values that the environment may choose in one step


@dataclass(frozen=True, slots=True)
class BestOutput:
    """A conjunct: this output may be as large as all of these."""

    output: int
    others: tuple[int, ...]


Ordered: TypeAlias = list[
    tuple[bool, Term | BestOutput]
]  # conjuncts, each with whether it depends on outputs


@dataclass(frozen=True, slots=True, eq=False)
class StateTable:
    """States are numbered: the last scalar runs fastest."""

    dynamics: Dynamics
    ranges: tuple[range, ...]
    sources: Indices  # every step that may be taken ...
    targets: Indices  # ... leads here ...
    steps: NDArray[np.int32]  # ... and is this one
    starts: Indices
    bad: Mask
    trouble: Mask

    def __len__(self) -> int:
        return prod(map(len, self.ranges))

    def state(self, number: int) -> dict[str, int]:
        """The scalars of a state, truth values as 0 and 1."""
        places = np.unravel_index(number, tuple(map(len, self.ranges)))
        values = (r[int(p)] for r, p in zip(self.ranges, places, strict=True))
        return dict(zip(self.dynamics.scalars, values, strict=True))

    def columns(self, states: Indices) -> ColumnEvaluator:
        """What evaluates terms over the scalars in these states."""
        return columns_from_numbers(self.dynamics, self.dynamics.scalars, self.ranges, states)

    def scalar_rows(self, states: Indices) -> Indices:
        """The scalars of these states, a row each."""
        places = np.unravel_index(states, tuple(map(len, self.ranges)))
        return np.stack([p + r.start for r, p in zip(self.ranges, places, strict=True)], axis=1)

    def evaluate(self, condition: Term) -> Mask:
        """A condition over the scalars, in every state."""
        bits, shape = self._of_mentioned([condition])
        return np.broadcast_to(bits[0].reshape(shape), tuple(map(len, self.ranges))).reshape(-1)

    def classes(self, conditions: Sequence[Term]) -> tuple[Indices, int]:
        """Which states agree on all of these conditions over scalars: a number below the count.

        The numbers have an axis for every scalar, of length 1 where the scalar is not mentioned.
        """
        bits, shape = self._of_mentioned(conditions)
        distinct, place = np.unique(np.packbits(bits, axis=0), axis=1, return_inverse=True)
        return place.reshape(shape), distinct.shape[1]

    def _of_mentioned(self, conditions: Sequence[Term]) -> tuple[NDArray[np.bool_], list[int]]:
        """The conditions for each combination of values of the scalars that are mentioned, and the shape."""
        mentioned = set().union(*map(free_names, conditions))
        both = list(zip(self.dynamics.scalars, self.ranges, strict=True))
        names, spans = [n for n, _ in both if n in mentioned], [r for n, r in both if n in mentioned]
        total = prod(map(len, spans))
        bits = np.empty((len(conditions), total), dtype=np.bool_)
        for first in range(0, total, CHUNK):
            numbers = np.arange(first, min(first + CHUNK, total))
            here = columns_from_numbers(self.dynamics, names, spans, numbers)
            for line, condition in enumerate(conditions):
                bits[line, first : first + here.size] = here.condition(condition)
        return bits, [len(r) if n in mentioned else 1 for n, r in both]

    def at(self, states: Indices, conditions: Sequence[Term]) -> NDArray[np.bool_]:
        """The conditions over scalars in these states: (conditions, states)."""
        here = self.columns(states)
        return np.array([here.condition(c) for c in conditions]).reshape(len(conditions), len(states))


def empty_table(dynamics: Dynamics) -> StateTable:
    """The states, in none of which anything is known yet, and the starts if they are a list."""
    ranges = tuple(r for k in dynamics.layout.kinds.values() if (r := scalar_domain(k)) is not None)
    given, nothing = listed_starts(dynamics), np.zeros(0, dtype=np.int64)
    starts = nothing if given is None else np.unique(_state_numbers(ranges, given))
    mask = np.zeros(prod(map(len, ranges)), dtype=np.bool_)
    return StateTable(dynamics, ranges, nothing, nothing, nothing.astype(np.int32), starts, mask, mask.copy())


def tabulate_states(dynamics: Dynamics, budget: Budget) -> StateTable:
    """The whole system; raises `OutOfTime`, or `Unsupported` where something cannot be tabulated."""
    table = empty_table(dynamics)
    look = TableBuilder(table, budget)
    for first in range(0, len(table), CHUNK):
        look.at(np.arange(first, min(first + CHUNK, len(table))))
    return look.table(table_starts(table))


def table_starts(table: StateTable) -> Indices:
    """The starts, from their list or by their condition."""
    if listed_starts(table.dynamics) is not None:
        return table.starts
    return np.flatnonzero(table.evaluate(table.dynamics.initial))


class TableBuilder:
    """Looks at states, some at a time: their steps, and whether they are bad or in trouble."""

    def __init__(self, begun: StateTable, budget: Budget) -> None:
        self.begun, self.budget = begun, budget
        self.bad, self.trouble = begun.bad.copy(), begun.trouble.copy()
        self.edges: list[tuple[Indices, Indices, NDArray[np.int32]]] = []
        self.looked = self.steps = 0
        dynamics = begun.dynamics
        self.orders = {id(s): order_conjuncts((s.guard, s.choice), dynamics.outputs) for s in dynamics.steps}
        self.choices = {
            id(s): list(enumerate_chosen_values(dynamics, (s.guard, *s.after.values())))
            for s in dynamics.steps
        }
        self.lookups = lookups_of(begun)
        for case in (*dynamics.bad_conditions, *dynamics.trouble_conditions):
            self.orders[id(case)] = order_conjuncts((case,), dynamics.outputs)
            self.choices[id(case)] = list(enumerate_chosen_values(dynamics, (case,)))

    def at(self, numbers: Indices) -> Indices:
        """Look at these states; returns where their steps lead."""
        dynamics = self.begun.dynamics
        found = [np.zeros(0, dtype=np.int64)]
        for first in range(0, len(numbers), CHUNK):
            if self.budget.is_spent():
                raise OutOfTime
            self.budget.progress(f"predicates: {self.looked} of {len(self.begun)} states looked at")
            some = numbers[first : first + CHUNK]
            look = StateBatch(dynamics, self.begun.columns(some), self.orders, self.lookups)
            for part in _enumerate_edges(self.begun, look, some, self.choices):
                self.edges.append(part)
                found.append(part[1])
                self.steps += len(part[0])
                if self.steps > MOST_STEPS:
                    raise Unsupported(
                        f"the states have more than {MOST_STEPS} steps", fix="use --means cells"
                    )
            self.bad[some] = look.some(dynamics.bad_conditions, self.choices)
            self.trouble[some] = look.some(dynamics.trouble_conditions, self.choices)
            self.looked += len(some)
        return np.concatenate(found)

    def table(self, starts: Indices) -> StateTable:
        """What was seen."""
        begun = self.begun
        edges = self.edges or [(begun.sources, begun.targets, begun.steps)]
        sources, targets, steps = (np.concatenate(part) for part in zip(*edges, strict=True))
        return StateTable(
            begun.dynamics, begun.ranges, sources, targets, steps, starts, self.bad, self.trouble
        )


def columns_from_numbers(
    dynamics: Dynamics, names: Sequence[str], ranges: Sequence[range], numbers: Indices
) -> ColumnEvaluator:
    """These combinations of values of some scalars, the last scalar running fastest."""
    places = np.unravel_index(numbers, tuple(map(len, ranges))) if ranges else ()
    given: dict[str, Column] = {}
    for name, span, place in zip(names, ranges, places, strict=True):
        given[name] = scalar_column(dynamics.layout.kinds[name], place + span.start, span)
    return ColumnEvaluator(given, len(numbers))


class StateBatch:
    """Conditions over some states; the network is evaluated in those alone where its outputs matter."""

    def __init__(
        self,
        dynamics: Dynamics,
        here: ColumnEvaluator,
        orders: Mapping[int, Ordered],
        lookups: Lookups,
    ) -> None:
        self.dynamics, self.size, self.orders = dynamics, here.size, orders
        self.low = np.full((len(dynamics.outputs), here.size), -np.inf)
        self.high = np.full((len(dynamics.outputs), here.size), np.inf)
        self.seen = np.zeros(here.size, dtype=np.bool_)
        self.most = np.full(here.size, -np.inf)  # some output is at least as large
        count = len(dynamics.outputs)
        asked = [c for order in orders.values() for depends, c in order if depends]
        self.only_best = all(isinstance(c, BestOutput) and len(c.others) == count - 1 for c in asked)
        outputs = {n: IntervalColumn(self.low[i], self.high[i]) for i, n in enumerate(dynamics.outputs)}
        self.here = LookupEvaluator({**here.given, **outputs}, here.size, lookups)

    def evaluate_network(self, rows: Indices) -> None:
        """Evaluate the network in these states, where that was not done before."""
        if self.dynamics.call is None or not (new := rows[~self.seen[rows]]).size:
            return
        some = self.here.narrow(new)
        points = np.stack([_network_input(some, t) for t in self.dynamics.call.inputs], axis=1)
        low, high = float32_output_ranges(self.dynamics.call.network, points, self.only_best)
        self.low[:, new], self.high[:, new], self.most[new] = low, high, low.max(axis=0)
        self.seen[new] = True

    def rows(self, ordered: Ordered, picked: Mapping[str, Column]) -> tuple[ColumnEvaluator, Indices]:
        """In which states all conditions may hold: first those that do not depend on outputs."""
        here = (
            LookupEvaluator({**self.here.given, **picked}, self.size, self.here.lookups)
            if picked
            else self.here
        )
        rows, few = np.arange(self.size), here
        for depends, condition in ordered:
            if depends:
                self.evaluate_network(rows)
            holds = (
                self.is_best(condition, rows)
                if isinstance(condition, BestOutput)
                else few.condition(condition)
            )
            kept = np.flatnonzero(holds)
            if kept.size < rows.size:
                rows = rows[kept]
                few = here.narrow(rows)
            if not rows.size:
                break
        return here, rows

    def is_best(self, wanted: BestOutput, rows: Indices) -> Mask:
        """In which of these states."""
        if len(wanted.others) == len(self.low) - 1:  # its own lower end is no higher than its upper end
            most = self.most[rows]
        else:
            most = self.low[np.array(wanted.others)[:, None], rows].max(axis=0)
        found: Mask = self.high[wanted.output, rows] >= most
        return found

    def some(self, cases: Sequence[Term], choices: Mapping[int, Picks]) -> Mask:
        """States in which one of the conditions may hold, for some values that the environment chooses."""
        found = np.zeros(self.size, dtype=np.bool_)
        for case in cases:
            for picked in choices[id(case)]:
                found[self.rows(self.orders[id(case)], picked)[1]] = True
        return found


def lookups_of(table: StateTable) -> Lookups:
    return Lookups(table.dynamics.layout.kinds, dict(zip(table.dynamics.scalars, table.ranges, strict=True)))


def order_conjuncts(conditions: tuple[Term, ...], outputs: tuple[str, ...]) -> Ordered:
    """The conjuncts of these conditions, those that depend on outputs last."""
    number = {name: i for i, name in enumerate(outputs)}
    found: Ordered = []
    below: dict[int, set[int]] = {}  # for every output, which must not exceed it
    for conjunct in (part for condition in conditions for part in split_conjunction(condition)):
        match conjunct:
            case Apply(Op.LE, (Var(left), Var(right))) if left in number and right in number:
                below.setdefault(number[right], set()).add(number[left])
            case part:
                found.append((not free_names(part).isdisjoint(outputs), part))
    found += [
        (True, BestOutput(i, tuple(sorted(others - {i})))) for i, others in below.items() if others - {i}
    ]
    return sorted(found, key=lambda f: f[0])


def _network_input(here: ColumnEvaluator, term: Term) -> NDArray[np.float64]:
    """What the network reads: each value rounded once to float32."""
    value = here.of(term)
    if isinstance(value, IntervalColumn):
        raise Unsupported("the network reads its own output")
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value.astype(np.float64), (here.size,))
    if value.over == 1 and max(abs(value.low), abs(value.high)) <= 2**24:
        return np.broadcast_to(value.values.astype(np.float64), (here.size,))
    distinct, places = np.unique(value.values, return_inverse=True)
    near = [float(round_to_float32(Fraction(int(v), value.over))) for v in distinct]
    return np.broadcast_to(np.array(near)[places.reshape(value.values.shape)], (here.size,))


def float32_output_ranges(
    network: Network, points: NDArray[np.float64], only_best: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between which numbers each output lies in any float32 evaluation: (outputs, points) twice.

    One radius for many points first; points at which two outputs are close get one of their own, or only
    those at which another is close to the best, where nothing but the best is asked for.
    """
    outputs, radius = evaluate_with_radius(network, points, True)
    far = 4 * radius.max(axis=0)
    if only_best:
        close = np.flatnonzero(~((outputs >= outputs.max(axis=0) - far).sum(axis=0) == 1))
    else:
        gaps = np.diff(np.sort(outputs, axis=0), axis=0).min(axis=0, initial=np.inf)
        close = np.flatnonzero(~(gaps > far))
    if close.size:
        outputs[:, close], radius[:, close] = evaluate_each_point(network, points[close], True)
    low, high = np.nextafter(outputs - radius, -np.inf), np.nextafter(outputs + radius, np.inf)
    unknown = ~np.isfinite(outputs) | ~np.isfinite(radius)
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def enumerate_chosen_values(dynamics: Dynamics, terms: tuple[Term, ...]) -> Iterator[Mapping[str, Column]]:
    """All values of the quantities in these terms that are neither state nor output."""
    names = sorted(set().union(*map(free_names, terms)) - set(dynamics.scalars) - set(dynamics.outputs))
    spans = [scalar_domain(dynamics.kinds[n]) for n in names]
    if any(s is None for s in spans) or prod(len(s) for s in spans if s is not None) > MOST_PICKS:
        raise Unsupported("the environment chooses among too many values to be tabulated")
    for values in product(*(s for s in spans if s is not None)):
        yield {
            n: scalar_column(dynamics.kinds[n], np.array([v]), range(v, v + 1))
            for n, v in zip(names, values, strict=True)
        }


def _enumerate_edges(
    table: StateTable, look: StateBatch, numbers: Indices, choices: Mapping[int, Picks]
) -> Iterator[tuple[Indices, Indices, NDArray[np.int32]]]:
    for number, step in enumerate(table.dynamics.steps):
        for picked in choices[id(step)]:
            here, rows = look.rows(look.orders[id(step)], picked)
            if not rows.size:
                continue
            targets, inside = targets_of(table.dynamics, table.ranges, here.narrow(rows), step.after)
            sources = numbers[rows[inside]]
            yield sources, targets[inside], np.full(sources.size, number, dtype=np.int32)


def targets_of(
    dynamics: Dynamics, ranges: tuple[range, ...], here: ColumnEvaluator, after: Mapping[str, Term]
) -> tuple[Indices, Mask]:
    """The numbers of the next states, and which of them are states at all; the rest is in `trouble`."""
    number, inside = np.zeros(here.size, dtype=np.int64), np.ones(here.size, dtype=np.bool_)
    for name, span in zip(dynamics.scalars, ranges, strict=True):
        values = here.numbers(after[name])
        inside &= (values >= span[0]) & (values <= span[-1])
        number = number * len(span) + (values - span.start)
    return np.where(inside, number, 0), inside


def _state_numbers(ranges: tuple[range, ...], states: Indices) -> Indices:
    number = np.zeros(len(states), dtype=np.int64)
    for values, span in zip(states.T, ranges, strict=True):
        number = number * len(span) + (values - span.start)
    return number
