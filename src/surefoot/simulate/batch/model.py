"""A problem in columns: joint transitions, their guards, outcomes and updates, compiled when first used.

One step of `problem/semantics.py` for many states. What policy and laws leave open is picked by numbers in
[0, 1): the transition among those permitted, the value of each choice as a share of its range, the outcome by
its probability. So a run is its start and its numbers, given by chance, by the ends of ranges or by a search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice, Environment, Update
from surefoot.problem.meaning.decision import action_among
from surefoot.problem.meaning.transition import Transition, joint_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, free_choices
from surefoot.simulate.batch.decision import NOBODY, BatchDecision, BatchPolicy, Uniform, compile_batch_policy
from surefoot.simulate.batch.state_columns import (
    Names,
    column_kinds,
    column_type,
    exact_entry,
    misfit_rows,
)
from surefoot.term.columns import Column, ColumnTerms, Truths, compile_columns
from surefoot.term.term import Const, Term, split_target
from surefoot.term.value_types import Arithmetic, Bool, Int, Real, ValueType

Rows: TypeAlias = NDArray[np.int64]
MOST_TRANSITIONS = 5_000
ENDED = -1  # instead of a transition
REDRAWS = 20  # of values that miss the assumption of their edge
SHORT_BITS = 16  # of a chosen number within its range, in exact arithmetic
FAR = 1e3  # half of the values without a limit are within so much of the other end, or of 0


@dataclass(slots=True)
class BatchStep:
    """By row: the next state, the transition (ENDED: none is left) with its outcomes and choices."""

    state: dict[str, Column]
    transition: Rows
    outcomes: Rows  # the number of the combination
    chosen: dict[str, Column]  # as doubles: one name may be of several kinds
    lost: Truths
    deadlocked: Truths  # before the step: no transition is enabled at all
    decision: BatchDecision | None


@dataclass(frozen=True, slots=True)
class _Writes:
    """Updates of one index: targets with the terms of their places, and all terms of them together."""

    targets: tuple[tuple[str, int], ...]  # a variable and how many indices
    terms: ColumnTerms
    twice: bool  # a variable is written twice in every row


@dataclass(frozen=True, slots=True)
class _Combination:
    """One outcome of each edge of a transition."""

    picks: tuple[int, ...]
    levels: tuple[_Writes, ...]
    targets: tuple[tuple[str, int], ...]  # locations by key


@dataclass(frozen=True, slots=True)
class _Plan:
    """A transition with what is open in it."""

    choices: tuple[Choice, ...]
    assumptions: ColumnTerms | None
    probabilities: ColumnTerms | None  # of every combination; None: there is one
    combinations: tuple[_Combination, ...]


@dataclass(slots=True)
class BatchModel:
    """The steps of a problem without flow; `exact`: rows that are not lost are steps of the reference."""

    problem: Problem
    environment: Environment
    kinds: dict[str, ValueType]  # of a state
    transitions: tuple[Transition, ...]
    policy: BatchPolicy | None
    exact: bool
    _named: dict[str, ValueType]  # of a state and of controls
    _guards: ColumnTerms
    _edges: list[tuple[str, int, int | None]]  # key and number of the source, place of the guard
    _parts: list[Rows]  # by transition, which edges it needs
    _actions: Rows  # by transition
    _plans: dict[int, _Plan] = field(default_factory=dict)

    def enabled(self, state: Names, count: int, lost: Truths) -> Truths:
        """By transition and row; rows whose guards have no value are added to `lost`."""
        holds = self._guards(state, count)
        ready = np.empty((len(self._edges), count), dtype=np.bool_)
        for number, (key, source, place) in enumerate(self._edges):
            here = state[key] == source if key else np.ones(count, dtype=np.bool_)
            if place is not None:
                lost |= here & holds.lost[place]
                here = here & holds.columns[place]
            ready[number] = here
        joint = [ready[parts].all(axis=0) for parts in self._parts]
        return np.array(joint, dtype=np.bool_).reshape(-1, count)

    def decide(
        self, state: Names, count: int, lost: Truths, uniform: Uniform, *, by_probability: bool = True
    ) -> tuple[Truths, Truths, BatchDecision | None]:
        """The transitions that are enabled, those that are permitted, and the decision of the policy."""
        if self.policy is None:
            possible = self.enabled(state, count, lost)
            return possible, possible, None
        policy = self.policy if by_probability else replace(self.policy, even=True)
        if self.environment.controls:
            none = np.zeros((0, count), dtype=np.bool_)
            made = policy.decide(state, none, count, uniform)
            lost |= made.lost
            possible = self.enabled({**state, **made.controls}, count, lost)
            return possible, possible, made
        possible = self.enabled(state, count, lost)
        own = np.zeros((len(self.policy.names), count), dtype=np.bool_)
        for action, row in zip(self._actions, possible, strict=True):
            if action >= 0:
                own[action] |= row
        made = policy.decide(state, own, count, uniform)
        lost |= made.lost
        mine = (self._actions == NOBODY)[:, None] | (self._actions[:, None] == made.actions)
        return possible, possible & mine, made

    def step(self, state: Names, count: int, uniform: Uniform, *, by_probability: bool = True) -> BatchStep:
        """One step of every row."""
        lost = np.zeros(count, dtype=np.bool_)
        possible, permitted, made = self.decide(state, count, lost, uniform, by_probability=by_probability)
        rows = np.arange(count)
        picked = _pick_permitted(permitted, uniform, rows)
        after = {name: column.copy() for name, column in state.items()}
        outcomes, chosen = np.zeros(count, dtype=np.int64), dict[str, Column]()
        controls = made.controls if made is not None else {}
        for number in np.unique(picked):
            if number == ENDED:
                continue
            mine = np.flatnonzero(picked == number)
            whole = len(mine) == count
            names = dict(state) | controls
            some = names if whole else {n: c[mine] for n, c in names.items()}
            self._take(int(number), some, mine, after, outcomes, chosen, lost, uniform, by_probability, count)
        deadlocked = ~np.asarray(possible.any(axis=0))
        return BatchStep(after, picked, outcomes, chosen, lost, deadlocked, made)

    def _take(
        self,
        number: int,
        some: dict[str, Column],
        mine: Rows,
        after: dict[str, Column],
        outcomes: Rows,
        chosen: dict[str, Column],
        lost: Truths,
        uniform: Uniform,
        by_probability: bool,
        count: int,
    ) -> None:
        plan = self._plan(number)
        if plan.choices:
            lost[mine] |= self._choose(plan, some, mine, uniform)
            for choice in plan.choices:
                chosen.setdefault(choice.name, np.zeros(count))[mine] = some[choice.name]
        picks = np.zeros(len(mine), dtype=np.int64)
        if plan.probabilities is not None:
            picks, bad = _pick_outcome(plan.probabilities, some, mine, uniform, by_probability)
            lost[mine] |= bad
            outcomes[mine] = picks
        for place in np.unique(picks):
            here = picks == place
            rows = mine if here.all() else mine[here]
            part = some if here.all() else {n: c[here] for n, c in some.items()}
            lost[rows] |= self._write(plan.combinations[place], part, rows, after)

    def _choose(self, plan: _Plan, some: dict[str, Column], mine: Rows, uniform: Uniform) -> Truths:
        """Draw the values of choices; True where none was found that keeps the assumption."""
        for choice in plan.choices:
            some[choice.name] = self._value(choice, uniform(choice.name, mine))
        if plan.assumptions is None:
            return np.zeros(len(mine), dtype=np.bool_)
        open_rows = np.arange(len(mine))
        for turn in range(REDRAWS):
            part = some if len(open_rows) == len(mine) else {n: c[open_rows] for n, c in some.items()}
            kept = plan.assumptions(part, len(open_rows))
            fine = np.logical_and.reduce(kept.columns) & ~np.logical_or.reduce(kept.lost)
            open_rows = open_rows[~fine]
            if not len(open_rows):
                break
            for choice in plan.choices:
                shares = uniform(f"{choice.name} again {turn}", mine[open_rows])
                some[choice.name][open_rows] = self._value(choice, shares)
        missed = np.zeros(len(mine), dtype=np.bool_)
        missed[open_rows] = True
        return missed

    def _value(self, choice: Choice, shares: NDArray[np.float64]) -> Column:
        """In exact arithmetic a short fraction: those of many steps become long enough."""
        found = value_at_share(choice.kind, shares)
        if self.environment.arithmetic is Arithmetic.FLOAT64:
            return found
        match choice.kind:
            case Real(low, high, False) if low is not None and high is not None and high > low:
                grain = 2.0 ** (math.floor(math.log2(high - low)) - SHORT_BITS)
                first, last = _inner_double(low, up=True), _inner_double(high, up=False)
                return np.clip(np.rint(found / grain) * grain, first, last)
            case _:
                return found

    def _write(
        self, combination: _Combination, part: dict[str, Column], rows: Rows, after: dict[str, Column]
    ) -> Truths:
        count = len(rows)
        lost, now, written = np.zeros(count, dtype=np.bool_), dict(part), set[str]()
        for level in combination.levels:
            found = level.terms(now, count)
            lost |= np.logical_or.reduce(found.lost) if found.lost else False
            lost |= level.twice
            columns, changed = iter(found.columns), dict[str, Column]()
            seen: dict[str, list[tuple[Column, ...]]] = {}
            for name, depth in level.targets:
                value = next(columns).astype(column_type(self.kinds[name]), copy=False)
                path = tuple(next(columns) for _ in range(depth))
                if not path:
                    changed[name] = value
                    continue
                array = (changed if name in changed else now)[name].copy()
                outside = np.logical_or.reduce(
                    [(p < 0) | (p >= array.shape[axis]) for axis, p in enumerate(path, 1)]
                )
                lost |= outside
                place = tuple(np.where(outside, 0, p) for p in path)
                for other in seen.setdefault(name, []):
                    lost |= np.logical_and.reduce([a == b for a, b in zip(place, other, strict=False)])
                seen[name].append(place)
                array[(np.arange(count), *place)] = value
                changed[name] = array
            now |= changed
            written |= set(changed)
        for name in written:
            lost |= misfit_rows(now[name], self.kinds[name])
            after[name][rows] = now[name]
        for key, location in combination.targets:
            after[key][rows] = location
        return lost

    def _plan(self, number: int) -> _Plan:
        if number not in self._plans:
            self._plans[number] = self._make_plan(self.transitions[number])
        return self._plans[number]

    def _make_plan(self, transition: Transition) -> _Plan:
        environment = self.environment
        choices = free_choices(environment, transition)
        named = {**self._named, **{c.name: c.kind for c in choices}}
        edges = [environment.components[c].edges[e] for c, e in transition.edges]
        assumed = [e.assuming for e in edges if e.assuming != Const(True)]
        combined = list(product(*(range(len(e.outcomes)) for e in edges)))
        shares = None
        if len(combined) > 1:
            products = [
                _product([e.outcomes[i].probability for e, i in zip(edges, picks, strict=True)])
                for picks in combined
            ]
            shares = compile_columns(products, named, environment.arithmetic)
        return _Plan(
            tuple({c.name: c for c in choices}.values()),
            compile_columns(assumed, named, environment.arithmetic) if assumed else None,
            shares,
            tuple(self._combine(transition, picks, named) for picks in combined),
        )

    def _combine(
        self, transition: Transition, picks: tuple[int, ...], named: Mapping[str, ValueType]
    ) -> _Combination:
        environment = self.environment
        parts = [
            environment.components[c].edges[e].outcomes[i]
            for (c, e), i in zip(transition.edges, picks, strict=True)
        ]
        updates = sorted((u for part in parts for u in part.updates), key=lambda u: u.index)
        levels = tuple(
            _compile_writes([u for u in updates if u.index == index], named, environment.arithmetic)
            for index in dict.fromkeys(u.index for u in updates)
        )
        targets = []
        for (number, _), part in zip(transition.edges, parts, strict=True):
            component = environment.components[number]
            if len(component.locations) > 1:
                targets.append((f"@{component.name}", component.locations.index(part.target)))
        return _Combination(picks, levels, tuple(targets))

    def move(self, number: int, outcomes: int, chosen: Mapping[str, Any]) -> Move:
        """What a row did, as a move of the reference."""
        plan, arithmetic = self._plan(number), self.environment.arithmetic
        values = {c.name: exact_entry(chosen[c.name], c.kind, arithmetic) for c in plan.choices}
        return Move(self.transitions[number], plan.combinations[outcomes].picks, values)


def _product(factors: Sequence[Term]) -> Term:
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total


def _compile_writes(
    updates: Sequence[Update], named: Mapping[str, ValueType], arithmetic: Arithmetic
) -> _Writes:
    terms: list[Term] = []
    targets: list[tuple[str, int]] = []
    for update in updates:
        name, indices = split_target(update.target)
        targets.append((name, len(indices)))
        terms += [update.value, *indices]
    plain = [name for name, depth in targets if not depth]
    return _Writes(
        tuple(targets), compile_columns(terms, named, arithmetic), twice=len(set(plain)) < len(plain)
    )


def _pick_permitted(permitted: Truths, uniform: Uniform, rows: Rows) -> Rows:
    """The number of one permitted transition of each row, each equally likely; ENDED where there is none."""
    if len(permitted) == 1:
        return np.where(permitted[0], 0, ENDED)
    if not len(permitted):
        return np.full(len(rows), ENDED)
    counts = permitted.sum(axis=0)
    several = counts > 1
    found = np.where(counts > 0, permitted.argmax(axis=0), ENDED)
    if several.any():
        some = rows[several]
        nth = np.floor(uniform("transition", some) * counts[several]).astype(np.int64)
        running = np.cumsum(permitted[:, several], axis=0, dtype=np.int32)
        found[several] = (running <= nth).sum(axis=0)
    return found


def _pick_outcome(
    probabilities: ColumnTerms, some: Names, mine: Rows, uniform: Uniform, by_probability: bool
) -> tuple[Rows, Truths]:
    found = probabilities(some, len(mine))
    shares = np.array(np.broadcast_arrays(*found.columns), dtype=np.float64)
    lost = np.logical_or.reduce(found.lost) | ~((shares >= 0) & (shares <= 1)).all(axis=0)
    if not by_probability:
        shares = (shares > 0).astype(np.float64)
    sums = np.cumsum(shares, axis=0)
    draws = uniform("outcome", mine) * sums[-1]
    picks = np.minimum((sums <= draws).sum(axis=0), len(shares) - 1)
    never = shares[picks, np.arange(len(mine))] <= 0  # rounding at the end of the range
    picks = np.where(never, np.argmax(shares, axis=0), picks)
    return picks, lost


def value_at_share(kind: ValueType, shares: NDArray[np.float64]) -> Column:
    """The value of a kind that lies at these shares of its range; without a limit half of them are near."""
    match kind:
        case Bool():
            return shares >= 0.5
        case Int(int() as low, int() as high):
            return np.clip(low + np.floor(shares * (high - low + 1)).astype(np.int64), low, high)
        case Int(low, high):
            return np.rint(_value_of_open_range(low, high, shares)).astype(np.int64)
        case Real(low, high, float32) if low is not None and high is not None:
            first, last = _inner_double(low, up=True), _inner_double(high, up=False)
            found = np.clip(first + shares * (last - first), first, last)
            return found.astype(np.float32).astype(np.float64) if float32 else found
        case Real(low, high, float32):
            found = _value_of_open_range(low, high, shares)
            return found.astype(np.float32).astype(np.float64) if float32 else found
        case _:
            raise Unsupported("arrays are not chosen freely")


def _inner_double(end: Any, *, up: bool) -> float:
    """The double nearest to a limit that does not pass it."""
    near = float(end)
    if near == end or (near > end) is up:
        return near
    return float(np.nextafter(near, np.inf if up else -np.inf))


def _value_of_open_range(low: Any, high: Any, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    inner = np.clip(shares, 1e-9, 1 - 1e-9)
    if low is None and high is None:
        return FAR * np.tan(np.pi * (inner - 0.5))
    return float(low) + FAR * inner / (1 - inner) if high is None else float(high) - FAR * inner / (1 - inner)


def make_batch_model(problem: Problem, *, exact: bool = False, outputs: bool = False) -> BatchModel:
    """Of a problem without flow. `exact`: outputs of networks have the bits of the reference."""
    environment = problem.environment
    if environment.flow is not None:
        raise Unsupported("a differential equation has no steps")
    everything = [list(range(len(c.edges))) for c in environment.components]
    transitions: list[Transition] = []
    for transition in joint_transitions(environment, everything):
        transitions.append(transition)
        if len(transitions) > MOST_TRANSITIONS:
            raise Unsupported(f"more than {MOST_TRANSITIONS} joint transitions")
    kinds = column_kinds(environment)
    named: dict[str, ValueType] = kinds | {c.name: Real() for c in environment.controls}
    policy = None
    if problem.policy is not None:
        policy = compile_batch_policy(problem.policy, environment, kinds, exact=exact, outputs=outputs)
    guards: list[Term] = []
    edges: list[tuple[str, int, int | None]] = []
    place: dict[tuple[int, int], int] = {}
    for c, component in enumerate(environment.components):
        for e, edge in enumerate(component.edges):
            key = f"@{component.name}" if len(component.locations) > 1 else ""
            guarded = edge.guard != Const(True)
            place[c, e] = len(edges)
            edges.append((key, component.locations.index(edge.source), len(guards) if guarded else None))
            guards += [edge.guard] if guarded else []
    actions = [
        NOBODY
        if policy is None or environment.controls
        else policy.names.index(name)
        if (name := action_among(policy.names, environment, t)) is not None
        else NOBODY
        for t in transitions
    ]
    compiled = compile_columns(guards, named, environment.arithmetic)
    return BatchModel(
        problem,
        environment,
        kinds,
        tuple(transitions),
        policy,
        exact,
        named,
        compiled,
        edges,
        [np.array([place[part] for part in t.edges]) for t in transitions],
        np.array(actions, dtype=np.int64),
    )
