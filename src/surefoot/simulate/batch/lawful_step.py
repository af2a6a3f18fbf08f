"""Steps in columns by the laws of a problem: what is open is drawn by each run's own random words.

The words are read in the order in which `simulate/interpreted_simulation.py` reads them: for the action of a
policy that draws, for the transition where several are possible, for each chosen value (again as long as the
assumption is missed), and for each edge with several outcomes. A row in which anything is in doubt is lost,
and the interpreter makes that run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np

from surefoot.errors import SurefootError, Unsupported
from surefoot.explore.interpret.joint_steps import JointTransitionCache
from surefoot.problem.environment import Edge, Outcome
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import free_choices
from surefoot.simulate.batch.decision import BatchDecision
from surefoot.simulate.batch.model import ENDED, BatchModel, Rows
from surefoot.simulate.batch.run_words import RunWords
from surefoot.simulate.batch.state_columns import Names, misfit_rows
from surefoot.simulate.draw import cumulative_thresholds
from surefoot.term.columns import Column, ColumnTerms, Truths, compile_columns
from surefoot.term.term import Const
from surefoot.term.value_types import Arithmetic, ValueType

MOST_UNITS = 2**60  # of a reward in a column
_EXACT_UNITS = 2.0**53
_MOST_REJECTIONS = 1000
_SUM_ERROR = 0.9e-9  # of probabilities; a little less than the interpreter bears

_OutcomeLaw: TypeAlias = tuple[int, ...] | ColumnTerms | None  # thresholds, probabilities; None: one outcome


@dataclass(slots=True)
class DecidedRows:
    """What is possible in each row, what is left of it by the decision of the policy, and who was asked."""

    possible: Truths
    permitted: Truths
    decision: BatchDecision | None
    asked: Truths
    lost: Truths


@dataclass(slots=True)
class LawfulStep:
    """By row: the next state, whether there is one, and what the step gains, from below and from above."""

    state: dict[str, Column]
    moved: Truths
    lost: Truths
    low: Rows
    high: Rows


@dataclass(frozen=True, slots=True)
class _RewardLaw:
    """What an outcome gives: whole units of its constants, and terms."""

    low: int
    high: int
    terms: ColumnTerms | None


@dataclass(frozen=True, slots=True)
class _TransitionLaw:
    outcomes: tuple[_OutcomeLaw, ...]  # by edge
    counts: tuple[int, ...]  # of outcomes by edge
    rewards: tuple[_RewardLaw, ...]  # by combination


@dataclass(slots=True)
class LawfulSteps:
    """`reward`: the name of a reward of the environment that is counted, in units of 1 / `scale`."""

    model: BatchModel
    cache: JointTransitionCache
    uniform: bool
    reward: str | None
    scale: int
    _laws: dict[int, _TransitionLaw | None] = field(default_factory=dict)

    def decide(self, state: Names, count: int, words: RunWords) -> DecidedRows:
        model, lost = self.model, np.zeros(count, dtype=np.bool_)
        possible, permitted, made = model.decide(state, count, lost, lambda _, rows: words.shares(rows))
        asked: Truths = np.zeros(count, dtype=np.bool_)
        if made is not None:
            own = model.actions >= 0
            asked = (
                np.ones(count, dtype=np.bool_)
                if model.environment.controls
                else np.asarray(possible[own].any(axis=0))
            )
        return DecidedRows(possible, permitted, made, asked, lost)

    def take(self, state: Names, count: int, decided: DecidedRows, words: RunWords) -> LawfulStep:
        lost = decided.lost.copy()
        picked = self._pick(decided.permitted, words, lost)
        low, high = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        names = dict(state) if decided.decision is None else {**state, **decided.decision.controls}
        after, left = dict(state), picked
        if self.reward is None and self.model.fused is not None:
            together = self.model.fused.first[picked] >= 0
            if together.any():
                after |= self._leave_together(names, picked, together, lost, words)
                left = np.where(together, ENDED, picked)
        taken = np.flatnonzero(np.bincount(left + 1, minlength=1)[1:])
        if len(taken):
            after = {n: c.copy() if c is state[n] else c for n, c in after.items()}
        step = LawfulStep(after, picked != ENDED, lost, low, high)
        for number in taken:
            mine = np.flatnonzero(left == number)
            some = dict(names) if len(mine) == count else {n: c[mine] for n, c in names.items()}
            self._leave(int(number), some, mine, step, words)
        return step

    def _leave_together(
        self, names: Names, picked: Rows, together: Truths, lost: Truths, words: RunWords
    ) -> dict[str, Column]:
        """All transitions without choices and with constant probabilities at once."""
        fused = self.model.fused
        assert fused is not None
        codes = fused.first[picked]
        for number in np.flatnonzero(np.bincount(picked[together])):
            law = self._law(int(number))
            if law is None:
                lost |= picked == number
            elif any(law.outcomes):
                mine = np.flatnonzero(picked == number)
                codes[mine] += self._draw_outcomes(law, {}, mine, lost, words)
        columns, missed = fused.write(names, codes)
        lost |= missed
        return columns

    def _pick(self, permitted: Truths, words: RunWords, lost: Truths) -> Rows:
        if len(permitted) == 1:
            return np.where(permitted[0], 0, ENDED)
        counts = permitted.sum(axis=0)
        found = np.where(counts > 0, permitted.argmax(axis=0), ENDED) if len(permitted) else counts + ENDED
        several = counts > 1
        if several.any():
            if not self.uniform:
                lost |= several
                return found
            for bound in np.unique(counts[several]):
                rows = np.flatnonzero(counts == bound)
                running = np.cumsum(permitted[:, rows], axis=0, dtype=np.int32)
                found[rows] = (running <= words.below(rows, int(bound))).sum(axis=0)
        return found

    def _leave(
        self, number: int, some: dict[str, Column], mine: Rows, step: LawfulStep, words: RunWords
    ) -> None:
        plan, law = self.model.plan(number), self._law(number)
        if law is None:  # it is no distribution: the interpreter says so
            step.lost[mine] = True
            return
        step.lost[mine] |= self._choose(number, some, mine, words)
        place = self._draw_outcomes(law, some, mine, step.lost, words)
        for number_of in np.unique(place):
            here = place == number_of
            rows = mine if here.all() else mine[here]
            part_names = some if here.all() else {n: c[here] for n, c in some.items()}
            step.lost[rows] |= self.model.write(plan.combinations[number_of], part_names, rows, step.state)
            if law.rewards:
                reward = law.rewards[number_of]
                low, high, bad = self._gain(reward, part_names, len(rows))
                step.low[rows], step.high[rows] = low, high
                step.lost[rows] |= bad

    def _draw_outcomes(
        self, law: _TransitionLaw, names: Names, mine: Rows, lost: Truths, words: RunWords
    ) -> Rows:
        """The number of the combination of outcomes, by one word for each edge that has several."""
        place = np.zeros(len(mine), dtype=np.int64)
        for part, count in zip(law.outcomes, law.counts, strict=True):
            place *= count
            if isinstance(part, tuple):
                place += words.outcomes(mine, part)
            elif part is not None:
                picks, bad = _pick_by_terms(part, names, mine, words)
                place += picks
                lost[mine] |= bad
        return place

    def _gain(self, law: _RewardLaw, names: Names, count: int) -> tuple[Rows | int, Rows | int, Truths]:
        if law.terms is None:
            return law.low, law.high, np.zeros(count, dtype=np.bool_)
        found = law.terms(names, count)
        lost = np.logical_or.reduce(found.lost)
        low, high = np.full(count, law.low), np.full(count, law.high)
        broken = np.zeros(count, dtype=np.int64)
        for column in found.columns:
            least, most, bad = count_units(column, self.scale)
            low, high, lost = low + least, high + most, lost | bad
            broken += least != most
        return low, high, lost | (broken > 1)  # two broken parts may make a whole one

    def _choose(self, number: int, some: dict[str, Column], mine: Rows, words: RunWords) -> Truths:
        """Values of choices until the assumption is met; True where it is not."""
        plan = self.model.plan(number)
        choices = free_choices(self.model.environment, self.model.transitions[number])
        missed = np.zeros(len(mine), dtype=np.bool_)
        if not choices and plan.assumptions is None:
            return missed
        open_rows = np.arange(len(mine))
        for _ in range(_MOST_REJECTIONS if choices else 1):
            fits = np.ones(len(open_rows), dtype=np.bool_)
            for choice in choices:
                values = words.value(mine[open_rows], choice)
                fits &= ~misfit_rows(values, choice.kind)
                if len(open_rows) == len(mine):
                    some[choice.name] = values
                else:
                    some[choice.name][open_rows] = values
            if plan.assumptions is not None:
                part = some if len(open_rows) == len(mine) else {n: c[open_rows] for n, c in some.items()}
                kept = plan.assumptions(part, len(open_rows))
                undefined = fits & np.logical_or.reduce(kept.lost)
                missed[open_rows[undefined]] = True
                fits = undefined | (fits & np.logical_and.reduce(kept.columns))
            open_rows = open_rows[~fits]
            if not len(open_rows):
                return missed
        missed[open_rows] = True
        return missed

    def _law(self, number: int) -> _TransitionLaw | None:
        if number not in self._laws:
            try:
                self._laws[number] = self._make_law(self.model.transitions[number])
            except SurefootError:
                self._laws[number] = None
        return self._laws[number]

    def _make_law(self, transition: Transition) -> _TransitionLaw:
        environment = self.model.environment
        edges = [environment.components[c].edges[e] for c, e in transition.edges]
        if any(choice.law is None for choice in free_choices(environment, transition)):
            raise Unsupported("a choice without a law")
        kinds = self.model.names | {c.name: c.kind for c in free_choices(environment, transition)}
        laws: list[_OutcomeLaw]
        if all(_is_constant(edge) for edge in edges):
            shares = self.cache.shares(self.cache.plan(transition), ())
            laws = [cumulative_thresholds(parts) if len(parts) > 1 else None for parts in shares]
        else:
            laws = [
                compile_columns(
                    [o.probability for o in edge.outcomes], kinds, environment.arithmetic, exact=True
                )
                for edge in edges
            ]
        rewards: tuple[_RewardLaw, ...] = ()
        if self.reward is not None:
            rewards = tuple(
                self._reward_law([e.outcomes[i] for e, i in zip(edges, picks, strict=True)], kinds)
                for picks in product(*(range(len(e.outcomes)) for e in edges))
            )
        return _TransitionLaw(tuple(laws), tuple(len(e.outcomes) for e in edges), rewards)

    def _reward_law(self, parts: list[Outcome], kinds: Mapping[str, ValueType]) -> _RewardLaw:
        terms = [amount for part in parts for name, amount in part.rewards if name == self.reward]
        constants = sum((self._constant(t) for t in terms if isinstance(t, Const)), Fraction(0)) * self.scale
        low, high = (
            constants.numerator // constants.denominator,
            -(-constants.numerator // constants.denominator),
        )
        others = [t for t in terms if not isinstance(t, Const)]
        if not others:
            return _RewardLaw(*_check_units(low, high), None)
        if low != high:  # together with a broken part it may be a whole number of units
            raise Unsupported("a reward that is no whole number of units beside others")
        arithmetic = self.model.environment.arithmetic
        return _RewardLaw(*_check_units(low, high), compile_columns(others, kinds, arithmetic, exact=True))

    def _constant(self, term: Const) -> Fraction:
        value = Fraction(term.value)
        return value if self.model.environment.arithmetic is Arithmetic.EXACT else Fraction(float(value))


def _check_units(low: int, high: int) -> tuple[int, int]:
    if max(abs(low), abs(high)) > MOST_UNITS:
        raise Unsupported("a reward beyond 60 bits")
    return low, high


def _is_constant(edge: Edge) -> bool:
    return all(isinstance(o.probability, Const) for o in edge.outcomes)


def _pick_by_terms(
    terms: ColumnTerms, names: Names, mine: Rows, words: RunWords
) -> tuple[Rows | int, Truths]:
    """The outcome of an edge whose probabilities vary; True where they are none, or it is too close."""
    found = terms(names, len(mine))
    parts = np.array(np.broadcast_arrays(*found.columns), dtype=np.float64)
    with np.errstate(all="ignore"):
        fine = (parts >= 0).all(axis=0) & (np.abs(parts.sum(axis=0) - 1) < _SUM_ERROR)
    lost = np.logical_or.reduce(found.lost) | ~fine
    if len(parts) == 1:
        return 0, lost
    picks, near = words.outcomes_by_shares(mine, parts)
    return picks, lost | near


def count_units(column: Column, scale: int) -> tuple[Rows, Rows, Truths]:
    """Amounts in units of 1 / scale, from below and from above; True where they are too many to count."""
    if column.dtype.kind in "ib":
        bad = np.abs(column.astype(np.float64)) >= MOST_UNITS / scale
        units = np.where(bad, 0, column).astype(np.int64) * scale
        return units, units, bad
    with np.errstate(all="ignore"):
        exact = column * float(scale)  # a power of two
        bad = ~(np.abs(exact) < _EXACT_UNITS)
        low, high = np.floor(exact), np.ceil(exact)
    return (
        np.where(bad, 0, low).astype(np.int64),
        np.where(bad, 0, high).astype(np.int64),
        np.asarray(bad),
    )
