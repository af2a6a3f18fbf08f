"""All states of a finite system at once: what the policy may pick in each, and where every step leads.

For models of Racetrack's size this is the cheapest sound means: the network is evaluated once for every
state, in batches; any action within the rounding error of the best output counts as possible. After that the
exact abstract transition relation of any set of predicates is a matter of sorting numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.listed import listed
from surefoot.engines.predicates.moves import Dynamics, domain
from surefoot.engines.predicates.tabulated.columns import Column, Columns, Mask, Numbers, Spread
from surefoot.errors import Unsupported
from surefoot.problem.environment import Bool
from surefoot.problem.meaning.inference import round_to_float32
from surefoot.problem.network import Network
from surefoot.problem.term import Term, free_names
from surefoot.solve.native.cells.points import apart, evaluated
from surefoot.work.budget import Budget

Indices: TypeAlias = NDArray[np.int64]
CHUNK = 1 << 15
MOST_STEPS = 20_000_000  # of all states together: about 400 megabytes
MOST_PICKS = 4096  # combinations of values that the environment may choose in one step


class OutOfTime(Exception):
    """The budget ended while states were enumerated."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
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

    def evaluate(self, condition: Term) -> Mask:
        """A condition over the scalars, in every state."""
        found = np.empty(len(self), dtype=np.bool_)
        for first in range(0, len(self), CHUNK):
            here = _columns(self.dynamics, self.ranges, first, min(CHUNK, len(self) - first))
            found[first : first + here.size] = here.condition(condition)
        return found


def size(dynamics: Dynamics) -> float:
    """How many states there are; infinity where there is no end of them."""
    ranges = [domain(k) for k in dynamics.layout.kinds.values()]
    return prod(len(r) for r in ranges if r is not None) if None not in ranges else float("inf")


def tabulate(dynamics: Dynamics, budget: Budget) -> Table:
    """The whole system; raises `OutOfTime`, or `Unsupported` where something cannot be tabulated."""
    ranges = tuple(r for k in dynamics.layout.kinds.values() if (r := domain(k)) is not None)
    total = prod(map(len, ranges))
    edges: list[tuple[Indices, Indices, NDArray[np.int32]]] = []
    bad, trouble = np.zeros(total, dtype=np.bool_), np.zeros(total, dtype=np.bool_)
    given, total_steps = listed(dynamics), 0
    starts = [] if given is None else [_numbers(ranges, given)]
    for first in range(0, total, CHUNK):
        if budget.spent():
            raise OutOfTime
        budget.progress(f"predicates: {first} of {total} states looked at")
        count = min(CHUNK, total - first)
        here = _with_outputs(dynamics, _columns(dynamics, ranges, first, count))
        rows = slice(first, first + count)
        bad[rows] = _some(here, dynamics.bad, dynamics)
        trouble[rows] = _some(here, dynamics.trouble, dynamics)
        if given is None:
            starts.append(first + np.flatnonzero(here.condition(dynamics.initial)))
        for part in _edges(dynamics, ranges, here, first):
            edges.append(part)
            total_steps += len(part[0])
            if total_steps > MOST_STEPS:
                raise Unsupported(f"the states have more than {MOST_STEPS} steps", fix="use --means cells")
    nothing = np.zeros(0, dtype=np.int64)
    edges = edges or [(nothing, nothing, nothing.astype(np.int32))]
    joined = [np.concatenate(part) for part in zip(*edges, strict=True)]
    return Table(
        dynamics,
        ranges,
        joined[0],
        joined[1],
        joined[2].astype(np.int32),
        np.unique(np.concatenate(starts)) if starts else np.zeros(0, dtype=np.int64),
        bad,
        trouble,
    )


def _columns(dynamics: Dynamics, ranges: tuple[range, ...], first: int, count: int) -> Columns:
    numbers = np.arange(first, first + count)
    places = np.unravel_index(numbers, tuple(map(len, ranges)))
    given: dict[str, Column] = {}
    for (name, kind), span, place in zip(dynamics.layout.kinds.items(), ranges, places, strict=True):
        given[name] = _column(kind, place + span.start, span)
    return Columns(given, count)


def _column(kind: object, values: Indices, span: range) -> Column:
    return values.astype(np.bool_) if isinstance(kind, Bool) else Numbers(values, span[0], span[-1])


def _with_outputs(dynamics: Dynamics, here: Columns) -> Columns:
    if dynamics.call is None:
        return here
    points = np.stack([_seen(here, t) for t in dynamics.call.inputs], axis=1)
    low, high = spread(dynamics.call.network, points)
    outputs = {n: Spread(low[i], high[i]) for i, n in enumerate(dynamics.outputs)}
    return Columns({**here.given, **outputs}, here.size)


def _seen(here: Columns, term: Term) -> NDArray[np.float64]:
    """What the network reads: each value rounded once to float32."""
    value = here.of(term)
    if isinstance(value, Spread):
        raise Unsupported("the network reads its own output")
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value.astype(np.float64), (here.size,))
    distinct, places = np.unique(value.values, return_inverse=True)
    near = [float(round_to_float32(Fraction(int(v), value.over))) for v in distinct]
    return np.broadcast_to(np.array(near)[places.reshape(value.values.shape)], (here.size,))


def spread(network: Network, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between which numbers each output lies in any float32 evaluation: (outputs, points) twice.

    One radius for many points first; points at which two outputs are close get one of their own.
    """
    outputs, radius = evaluated(network, points, True)
    gaps = np.diff(np.sort(outputs, axis=0), axis=0).min(axis=0, initial=np.inf)
    close = np.flatnonzero(~(gaps > 4 * radius.max(axis=0)))
    if close.size:
        outputs[:, close], radius[:, close] = apart(network, points[close], True)
    low, high = np.nextafter(outputs - radius, -np.inf), np.nextafter(outputs + radius, np.inf)
    unknown = ~np.isfinite(outputs) | ~np.isfinite(radius)
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def _some(here: Columns, cases: tuple[Term, ...], dynamics: Dynamics) -> Mask:
    """States in which one of the conditions may hold, for some values that the environment chooses."""
    found = np.zeros(here.size, dtype=np.bool_)
    for case in cases:
        for picked in _picks(dynamics, (case,)):
            found |= Columns({**here.given, **picked}, here.size).condition(case)
    return found


def _picks(dynamics: Dynamics, terms: tuple[Term, ...]) -> Iterator[Mapping[str, Column]]:
    """All values of the quantities in these terms that are neither state nor output."""
    names = sorted(set().union(*map(free_names, terms)) - set(dynamics.scalars) - set(dynamics.outputs))
    spans = [domain(dynamics.kinds[n]) for n in names]
    if any(s is None for s in spans) or prod(len(s) for s in spans if s is not None) > MOST_PICKS:
        raise Unsupported("the environment chooses among too many values to be tabulated")
    for values in product(*(s for s in spans if s is not None)):
        yield {
            n: _column(dynamics.kinds[n], np.array([v]), range(v, v + 1))
            for n, v in zip(names, values, strict=True)
        }


def _edges(
    dynamics: Dynamics, ranges: tuple[range, ...], here: Columns, first: int
) -> Iterator[tuple[Indices, Indices, NDArray[np.int32]]]:
    for number, step in enumerate(dynamics.steps):
        for picked in _picks(dynamics, (step.guard, *step.after.values())):
            everything = Columns({**here.given, **picked}, here.size)
            rows = np.flatnonzero(everything.condition(step.condition))
            if not rows.size:
                continue
            targets, inside = _targets(dynamics, ranges, everything.narrow(rows), step.after)
            sources = first + rows[inside]
            yield sources, targets[inside], np.full(sources.size, number, dtype=np.int32)


def _targets(
    dynamics: Dynamics, ranges: tuple[range, ...], here: Columns, after: Mapping[str, Term]
) -> tuple[Indices, Mask]:
    """The numbers of the next states, and which of them are states at all; the rest is in `trouble`."""
    number, inside = np.zeros(here.size, dtype=np.int64), np.ones(here.size, dtype=np.bool_)
    for name, span in zip(dynamics.scalars, ranges, strict=True):
        values = here.numbers(after[name])
        inside &= (values >= span[0]) & (values <= span[-1])
        number = number * len(span) + np.clip(values - span.start, 0, len(span) - 1)
    return number, inside


def _numbers(ranges: tuple[range, ...], states: Indices) -> Indices:
    number = np.zeros(len(states), dtype=np.int64)
    for column, span in zip(states.T, ranges, strict=True):
        number = number * len(span) + (column - span.start)
    return number
