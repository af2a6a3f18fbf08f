"""Joint steps: which edges are ready in a state, how they combine, and where each combination leads.

Edges are found by location. How ready edges combine is asked of the reference (`meaning/transition.py`), once
for each set of ready edges that occurs; so no product of edges is built that no state has. A joint step is
worked out (product of the outcomes, order of the updates) when it first occurs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, TypeAlias

from surefoot.errors import Unsupported
from surefoot.explore.interpret.updates import (
    CompiledUpdate,
    apply_ordered_updates,
    apply_simple_updates,
    compile_update,
    has_simple_updates,
)
from surefoot.explore.number_table import NumberTable
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.environment import Choice, Edge, Environment
from surefoot.problem.meaning.decision import action_of
from surefoot.problem.meaning.transition import Transition, joint_transitions
from surefoot.problem.policy import Policy
from surefoot.term.closures import UNDEFINED_ERRORS, Closure, Row, compile_closure
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE, Const, Term
from surefoot.term.value_types import Arithmetic, Bool, Int

ReadyEdges: TypeAlias = tuple[tuple[int, ...], ...]
WeightedSuccessor: TypeAlias = tuple[int, tuple[Any, ...], tuple[int, ...]]  # weight, next state, rewards
_ROUNDING = Fraction(1, 10**9)
_LARGEST_MEMORY = 200_000  # sets of ready edges that are remembered


@dataclass(frozen=True, slots=True)
class JointDestination:
    """One outcome of each edge of a joint step; `weight` is None where it depends on the state."""

    picks: tuple[int, ...]
    weight: int | None
    writes: tuple[CompiledUpdate, ...]
    simple: bool
    places: tuple[tuple[int, int], ...]
    rewards: tuple[int | tuple[Closure, ...], ...]  # per reward asked for: its number, or what is added up


@dataclass(frozen=True, slots=True)
class _EdgeOutcome:
    """What an outcome of one edge adds to every joint step in which it takes part."""

    share: Fraction | None  # None: depends on the state
    writes: tuple[CompiledUpdate, ...]
    place: tuple[int, int] | None
    rewards: tuple[tuple[Closure, ...], ...]  # per reward asked for
    earned: tuple[Fraction | None, ...]  # likewise, where it does not depend on the state


@dataclass(frozen=True, slots=True)
class JointTransition:
    """A joint step. `factors`: the probabilities of the outcomes of each edge, where they vary."""

    number: int
    transition: Transition
    action: str | None  # of the policy; None: the environment's own
    constant: bool  # all probabilities are
    factors: tuple[tuple[Closure, ...], ...] | None
    flaw: str  # what is wrong with its constant probabilities
    chosen: tuple[tuple[int, Choice], ...]  # with their slots
    assuming: tuple[Closure, ...]


class JointTransitionCache:
    """The joint steps of an environment, worked out as they occur."""

    def __init__(
        self,
        environment: Environment,
        policy: Policy | None,
        layout: RowLayout,
        rewards: tuple[str, ...],
        numbers: NumberTable,
    ) -> None:
        self.environment, self.policy, self.layout, self.numbers = environment, policy, layout, numbers
        self.rewards = rewards
        self.plans: list[JointTransition] = []
        self._of_transition: dict[Transition, JointTransition] = {}
        self._of_ready: dict[ReadyEdges, tuple[JointTransition, ...]] = {}
        self._of_plan: dict[int, tuple[JointDestination, ...]] = {}
        self._of_outcome: dict[tuple[int, int, int], _EdgeOutcome] = {}
        self._of_term: dict[int, tuple[Term, Closure]] = {}  # by the identity of the term, which is kept
        self._of_edge: dict[int, str] = {}  # flaws of constant probabilities, by the identity of the edge
        self._tables = [
            (layout.places[n] or 0, layout.places[n] is not None, self._by_location(n))
            for n in range(len(environment.components))
        ]

    def _by_location(self, number: int) -> list[list[tuple[int, Closure | None]]]:
        component = self.environment.components[number]
        table: list[list[tuple[int, Closure | None]]] = [[] for _ in component.locations]
        for e, edge in enumerate(component.edges):
            guard = None if edge.guard == TRUE else self._closure(edge.guard)
            table[component.locations.index(edge.source)].append((e, guard))
        return table

    def _closure(self, term: Term) -> Closure:
        """One for each term of the environment, by its identity: what all outcomes pay is one term."""
        found = self._of_term.get(id(term))
        if found is None:
            slots, kinds = self.layout.slots, self.layout.kinds
            found = term, compile_closure(term, slots, kinds, self.environment.arithmetic)
            self._of_term[id(term)] = found
        return found[1]

    def enabled_steps(self, row: Row) -> tuple[JointTransition, ...]:
        """The joint steps that are possible in a state, in the order of the reference."""
        try:
            ready: ReadyEdges = tuple(
                [
                    tuple([e for e, guard in (t[row[s]] if moves else t[0]) if guard is None or guard(row)])
                    for s, moves, t in self._tables
                ]
            )
        except UNDEFINED_ERRORS:
            raise self._unclear_guard(row) from None
        found = self._of_ready.get(ready)
        if found is None:
            if len(self._of_ready) >= _LARGEST_MEMORY:
                self._of_ready.clear()
            together = joint_transitions(self.environment, [list(edges) for edges in ready])
            found = self._of_ready[ready] = tuple(self.plan(t) for t in together)
        return found

    def _unclear_guard(self, row: Row) -> Undefined:
        for n, (slot, moves, table) in enumerate(self._tables):
            for e, guard in table[row[slot] if moves else 0]:
                try:
                    _ = guard is None or guard(row)
                except UNDEFINED_ERRORS as error:
                    where = f"the guard of edge `{self.environment.components[n].name}#{e}`"
                    return undefined_error(error, where, self.layout, row)
        raise AssertionError("a guard that had no value has one now")

    def outcomes(self, plan: JointTransition, row: Row) -> list[WeightedSuccessor]:
        """Every outcome of positive probability, with the next state."""
        try:
            return list(self._outcomes(plan, row))
        except UNDEFINED_ERRORS as error:
            where = f"transition `{plan.transition.describe(self.environment)}`"
            raise undefined_error(error, where, self.layout, row) from None

    def _outcomes(self, plan: JointTransition, row: Row) -> Iterator[WeightedSuccessor]:
        if plan.flaw:
            raise Undefined(plan.flaw)
        shares = None if plan.factors is None else _outcome_probabilities(plan.factors, row)
        paid: dict[int | tuple[Closure, ...], int] = {}  # many outcomes pay the same
        for ending in self._endings(plan):
            weight = ending.weight
            if weight is None and shares is not None:
                likelihood = Fraction(1)
                for numbers, pick in zip(shares, ending.picks, strict=True):
                    likelihood *= numbers[pick]
                if not likelihood:
                    continue
                weight = self.numbers.index(likelihood)
            assert weight is not None
            following = apply_simple_updates if ending.simple else apply_ordered_updates
            after = tuple(following(self.layout, row, ending.writes, ending.places))
            for reward in ending.rewards:
                if reward not in paid:
                    paid[reward] = self._reward(reward, row)
            yield weight, after, tuple([paid[r] for r in ending.rewards])

    def shares(self, plan: JointTransition, row: Row) -> list[list[Fraction]]:
        """The probabilities of the outcomes of each edge of a joint step, in this state."""
        try:
            edges = [self.environment.components[c].edges[e] for c, e in plan.transition.edges]
            factors = tuple(tuple(self._closure(o.probability) for o in edge.outcomes) for edge in edges)
            if self.environment.arithmetic is Arithmetic.EXACT:
                return _outcome_probabilities(factors, row)
            return [_normalise_floats([Fraction(part(row)) for part in edge]) for edge in factors]
        except UNDEFINED_ERRORS as error:
            where = f"transition `{plan.transition.describe(self.environment)}`"
            raise undefined_error(error, where, self.layout, row) from None

    def take_outcome(
        self, plan: JointTransition, row: Row, picks: tuple[int, ...]
    ) -> tuple[Row, tuple[Fraction, ...]]:
        """Where one outcome of each edge leads, and its rewards."""
        ending = next(e for e in self._endings(plan) if e.picks == picks)
        following = apply_simple_updates if ending.simple else apply_ordered_updates
        try:
            after = tuple(following(self.layout, row, ending.writes, ending.places))
            rewards = tuple([self.numbers.value(self._reward(r, row)) for r in ending.rewards])
        except UNDEFINED_ERRORS as error:
            where = f"transition `{plan.transition.describe(self.environment)}`"
            raise undefined_error(error, where, self.layout, row) from None
        return after, rewards

    def _reward(self, reward: int | tuple[Closure, ...], row: Row) -> int:
        if isinstance(reward, int):
            return reward
        return self.numbers.index(sum((Fraction(part(row)) for part in reward), Fraction(0)))

    def choices(self, plan: JointTransition, row: Row) -> Iterator[Row]:
        """The row with each combination of values that the environment may choose for this step."""
        if not plan.chosen:
            rows: Iterator[Row] = iter((row,))
        else:
            rows = (
                self._with(plan, row, picks)
                for picks in _combine_values([_choice_values(c) for _, c in plan.chosen])
            )
        try:
            for extended in rows:
                if all(holds(extended) for holds in plan.assuming):
                    yield extended
        except UNDEFINED_ERRORS as error:
            where = f"the assumption of `{plan.transition.describe(self.environment)}`"
            raise undefined_error(error, where, self.layout, row) from None

    def _with(self, plan: JointTransition, row: Row, picks: tuple[Any, ...]) -> Row:
        extended = [*row, *(None for _ in self.layout.chosen)]
        for (slot, _), value in zip(plan.chosen, picks, strict=True):
            extended[slot] = value
        return tuple(extended)

    def plan(self, transition: Transition) -> JointTransition:
        """A joint step, worked out when it is first asked for."""
        known = self._of_transition.get(transition)
        if known is None:
            known = self._work_out_step(transition)
            self._of_transition[transition] = known
            self.plans.append(known)
        return known

    def _work_out_step(self, transition: Transition) -> JointTransition:
        edges = [self.environment.components[c].edges[e] for c, e in transition.edges]
        constant = all(isinstance(o.probability, Const) for edge in edges for o in edge.outcomes)
        factors = None
        if not constant:
            factors = tuple(tuple(self._closure(o.probability) for o in edge.outcomes) for edge in edges)
        policy, environment = self.policy, self.environment
        return JointTransition(
            len(self.plans),
            transition,
            None if policy is None else action_of(policy, environment, transition),
            constant,
            factors,
            self._flaw(edges) if constant else "",
            tuple((self.layout.slots[c.name], c) for edge in edges for c in edge.chosen),
            tuple(self._closure(e.assuming) for e in edges if e.assuming != TRUE),
        )

    def _endings(self, plan: JointTransition) -> tuple[JointDestination, ...]:
        """Every combination of outcomes, worked out when the step is first taken: there may be very many."""
        known = self._of_plan.get(plan.number)
        if known is None:
            edges = [self.environment.components[c].edges[e] for c, e in plan.transition.edges]
            known = self._of_plan[plan.number] = tuple(
                ending
                for picks in product(*(range(len(edge.outcomes)) for edge in edges))
                if (ending := self._ending(plan.transition, picks, plan.constant)) is not None
            )
        return known

    def _flaw(self, edges: list[Edge]) -> str:
        """What is wrong with constant probabilities; an edge takes part in many joint steps."""
        for edge in edges:
            if id(edge) not in self._of_edge:
                shares = [Fraction(self._closure(o.probability)(())) for o in edge.outcomes]
                self._of_edge[id(edge)] = _not_a_distribution(shares)
        return next((flaw for edge in edges if (flaw := self._of_edge[id(edge)])), "")

    def _ending(
        self, transition: Transition, picks: tuple[int, ...], constant: bool
    ) -> JointDestination | None:
        parts = [
            self._edge_outcome(component, edge, pick)
            for (component, edge), pick in zip(transition.edges, picks, strict=True)
        ]
        weight = None
        if constant:
            likelihood = prod((part.share for part in parts if part.share is not None), start=Fraction(1))
            if not likelihood:
                return None
            weight = self.numbers.index(likelihood)
        writes = tuple(sorted((w for part in parts for w in part.writes), key=lambda w: w.index))
        places = tuple(part.place for part in parts if part.place is not None)
        rewards = tuple(self._rewards(r, parts) for r in range(len(self.rewards)))
        return JointDestination(picks, weight, writes, has_simple_updates(writes), places, rewards)

    def _edge_outcome(self, component: int, edge: int, pick: int) -> _EdgeOutcome:
        """An outcome of an edge, compiled when it is first asked for: joint steps have many in common."""
        if (known := self._of_outcome.get((component, edge, pick))) is not None:
            return known
        outcome = self.environment.components[component].edges[edge].outcomes[pick]
        share = outcome.probability
        slot = self.layout.places[component]
        locations = self.environment.components[component].locations
        terms = [[amount for name, amount in outcome.rewards if name == asked] for asked in self.rewards]
        closures = tuple(tuple(self._closure(t) for t in several) for several in terms)
        made = self._of_outcome[component, edge, pick] = _EdgeOutcome(
            Fraction(self._closure(share)(())) if isinstance(share, Const) else None,
            tuple(compile_update(self.environment, self.layout, u) for u in outcome.updates),
            None if slot is None else (slot, locations.index(outcome.target)),
            closures,
            tuple(
                sum((Fraction(c(())) for c in several), Fraction(0))
                if all(isinstance(t, Const) for t in amounts)
                else None
                for several, amounts in zip(closures, terms, strict=True)
            ),
        )
        return made

    def _rewards(self, reward: int, parts: list[_EdgeOutcome]) -> int | tuple[Closure, ...]:
        known = [earned for part in parts if (earned := part.earned[reward]) is not None]
        if len(known) == len(parts):
            return self.numbers.index(sum(known, Fraction(0)))
        return tuple(c for part in parts for c in part.rewards[reward])


def _outcome_probabilities(factors: tuple[tuple[Closure, ...], ...], row: Row) -> list[list[Fraction]]:
    """The probabilities of each edge's outcomes in a state; an error unless they are a distribution."""
    shares = [[Fraction(probability(row)) for probability in edge] for edge in factors]
    for numbers in shares:
        if flaw := _not_a_distribution(numbers):
            raise Undefined(flaw)
    return shares


def _normalise_floats(numbers: list[Fraction]) -> list[Fraction]:
    """Probabilities that were computed in floats may be off by rounding."""
    total = sum(numbers, Fraction(0))
    if min(numbers) < 0 or abs(total - 1) > _ROUNDING:
        raise Undefined(f"the probabilities of the outcomes sum to {float(total)}, not to 1")
    return [number / total for number in numbers]


def _not_a_distribution(numbers: list[Fraction]) -> str:
    for number in numbers:
        if not 0 <= number <= 1:
            return f"{number} is not a probability"
    if (total := sum(numbers, Fraction(0))) != 1:
        return f"the probabilities of the outcomes sum to {total}, not to 1"
    return ""


def _combine_values(ranges: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """One value of each, as `product` does, which would write down every range first."""
    if not ranges:
        yield ()
        return
    for value in ranges[0]:
        for others in _combine_values(ranges[1:]):
            yield (value, *others)


def _choice_values(choice: Choice) -> tuple[Any, ...] | range:
    match choice.kind:
        case Bool():
            return (False, True)
        case Int(int() as low, int() as high):
            return range(low, high + 1)
        case _:
            raise Unsupported(f"`{choice.name}` is chosen among infinitely many values")


def undefined_error(error: BaseException, where: str, layout: RowLayout, row: Row) -> Undefined:
    """The error of a model, with its place: the edge and the state."""
    what = str(error)
    if isinstance(error, ArithmeticError):
        what = "division by zero" if isinstance(error, ZeroDivisionError) else "overflow"
    return Undefined(f"{what} in {where}, in the state {describe_state_row(layout, row)}")


def describe_state_row(layout: RowLayout, row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(layout.names, row, strict=False)) or "()"
