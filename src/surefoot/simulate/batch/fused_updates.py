"""The updates of all transitions as one function of the state and of the outcome that each row takes.

Outcomes of transitions have numbers, their *codes*. A variable becomes the term that the outcome with the
row's code writes, or stays as it is. That covers transitions without choices, with constant probabilities,
that write whole variables once; the others are done one after the other by the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.environment import Environment, Outcome
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import free_choices
from surefoot.simulate.batch.fast_columns import FastColumns, compile_fast_columns
from surefoot.simulate.batch.state_columns import Names, column_type, misfit_rows
from surefoot.term.columns import Column, Truths
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Apply, Const, Op, Term, Var, split_target
from surefoot.term.value_types import Array, Int, Real, ValueType

_Rows: TypeAlias = NDArray[np.int64]
_CODE = " code"  # a name that nobody can have
_MOST_UPDATES = 3_000
_NO_CODE = -1


@dataclass(frozen=True, slots=True, eq=False)
class FusedUpdates:
    """`first`: by transition, the code of its first outcome, or -1 where it is not among these."""

    first: _Rows  # one more at the end: for rows without a transition
    several: Truths  # by transition: there is something to draw
    shares: NDArray[np.float64]  # by transition and outcome: its probability
    names: tuple[str, ...]
    kinds: Mapping[str, ValueType]
    terms: FastColumns  # a term for each name, and at the end whether all are within their limits
    others: tuple[str, ...]  # names whose kinds are more than limits
    types: tuple[type[np.generic], ...]  # of the entries of each name
    leaves_some: bool  # there are transitions that are not among these
    draws: bool  # some transition has several outcomes

    def pick_outcomes(self, picked: _Rows, numbers: NDArray[np.float64], *, by_probability: bool) -> _Rows:
        """Of rows with such transitions, by numbers in [0, 1)."""
        shares = self.shares[picked]
        if not by_probability:
            shares = (shares > 0).astype(np.float64)
        sums = np.cumsum(shares, axis=1)
        picks = np.minimum((sums <= (numbers * sums[:, -1])[:, None]).sum(axis=1), shares.shape[1] - 1)
        never = shares[np.arange(len(picks)), picks] <= 0  # rounding at the end of the range
        return np.asarray(np.where(never, np.argmax(shares, axis=1), picks))

    def write(self, state: Names, codes: _Rows) -> tuple[dict[str, Column], Truths]:
        """The columns that change, and the rows in which something has no value or does not fit."""
        count = len(codes)
        found = self.terms({**state, _CODE: codes}, count)
        columns = {
            name: column.astype(entry, copy=False)
            for name, entry, column in zip(self.names, self.types, found.columns, strict=False)
        }
        lost = found.lost[0] | ~found.columns[-1]
        for name in self.others:
            lost |= misfit_rows(columns[name], self.kinds[name])
        return columns, lost


def fuse_updates(
    environment: Environment,
    transitions: Sequence[Transition],
    kinds: Mapping[str, ValueType],
    named: Mapping[str, ValueType],
    *,
    exact: bool,
    threads: int,
) -> FusedUpdates | None:
    """Of those transitions that are simple enough; None if there are none, or too many updates."""
    first = np.full(len(transitions) + 1, _NO_CODE)
    shares: list[list[float]] = [[] for _ in transitions]
    writes: dict[str, dict[Term, list[int]]] = {}
    code = size = 0
    for number, transition in enumerate(transitions):
        outcomes = list(_simple_outcomes(environment, transition))
        if not outcomes:
            continue
        first[number] = code
        shares[number] = [float(share) for share, _ in outcomes]
        for _, written in outcomes:
            for name, term in written.items():
                writes.setdefault(name, {}).setdefault(term, []).append(code)
            code, size = code + 1, size + len(written)
            if size > _MOST_UPDATES:
                return None
    if not code:
        return None
    names = tuple(writes)
    known = {**named, _CODE: Int(_NO_CODE, code)}
    values = [_select_by_code(Var(name), writes[name]) for name in names]
    fitting = [fit for n, v in zip(names, values, strict=True) for fit in _limits(v, kinds[n])]
    terms = [*values, Apply(Op.AND, tuple(fitting)) if fitting else Const(True)]
    table = np.zeros((len(transitions), max(map(len, shares))))
    for number, row in enumerate(shares):
        table[number, : len(row)] = row
    return FusedUpdates(
        first,
        np.array([len(row) > 1 for row in shares]),
        table,
        names,
        kinds,
        compile_fast_columns(terms, known, environment.arithmetic, exact=exact, joined=True, threads=threads),
        tuple(n for n in names if _is_more_than_limits(kinds[n])),
        tuple(column_type(kinds[n]) for n in names),
        bool((first[:-1] < 0).any()),
        any(len(row) > 1 for row in shares),
    )


def _simple_outcomes(
    environment: Environment, transition: Transition
) -> Iterator[tuple[Fraction, dict[str, Term]]]:
    """The probability and the writes of every combination of outcomes; nothing if they are not simple."""
    edges = [environment.components[c].edges[e] for c, e in transition.edges]
    if free_choices(environment, transition) or any(e.assuming != Const(True) for e in edges):
        return
    found = []
    for parts in product(*(edge.outcomes for edge in edges)):
        share = Fraction(1)
        for part in parts:
            if not isinstance(part.probability, Const) or not 0 <= part.probability.value <= 1:
                return
            share *= Fraction(part.probability.value)
        written = _plain_writes(environment, transition, parts)
        if written is None:
            return
        found.append((share, written))
    yield from found


def _plain_writes(
    environment: Environment, transition: Transition, parts: Sequence[Outcome]
) -> dict[str, Term] | None:
    """What each variable becomes; None if elements are written, or one thing after the other, or twice."""
    written: dict[str, Term] = {}
    updates = [u for part in parts for u in part.updates]
    if len({u.index for u in updates}) > 1:
        return None
    for update in updates:
        name, indices = split_target(update.target)
        if indices or name in written:
            return None
        written[name] = update.value
    for (number, _), part in zip(transition.edges, parts, strict=True):
        component = environment.components[number]
        if len(component.locations) > 1:
            written[location_key(component.name)] = Const(component.locations.index(part.target))
    return written


def _select_by_code(old: Term, writes: Mapping[Term, Sequence[int]]) -> Term:
    """What is written by the code of the row, otherwise what was there."""
    value = old
    for term, codes in writes.items():
        if term != old:
            value = Apply(Op.ITE, (_is_among(codes), term, value))
    return value


def _is_among(codes: Sequence[int]) -> Term:
    """Codes come in order; neighbours become a range."""
    code, found, start = Var(_CODE), list[Term](), codes[0]
    for number, here in enumerate(codes):
        if number + 1 < len(codes) and codes[number + 1] == here + 1:
            continue
        low = Apply(Op.LE, (Const(start), code))
        found.append(
            Apply(Op.EQ, (code, Const(here)))
            if start == here
            else Apply(Op.AND, (low, Apply(Op.LE, (code, Const(here)))))
        )
        start = codes[number + 1] if number + 1 < len(codes) else here
    return found[0] if len(found) == 1 else Apply(Op.OR, tuple(found))


def _limits(value: Term, kind: ValueType) -> Iterator[Term]:
    if isinstance(kind, Int | Real) and not _is_more_than_limits(kind):
        if kind.low is not None:
            yield Apply(Op.LE, (Const(kind.low), value))
        if kind.high is not None:
            yield Apply(Op.LE, (value, Const(kind.high)))


def _is_more_than_limits(kind: ValueType) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, Real) and kind.float32)
