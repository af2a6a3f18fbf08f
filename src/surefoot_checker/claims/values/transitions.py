"""The joint steps of a model: which are enabled in a state, their outcomes, and where they lead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any

from ...kernel.problem import Edge, Outcome, Update
from ...kernel.strict_json import Refused
from ...kernel.term import Kind
from .model import AutomataModel, value_conforms
from .term import Function, Row
from .term_code import INTEGER, compile_next_row, range_check_syntax

MOST_CHOSEN = 100_000
_MANY = 64  # ways to combine edges that are written out for one place
_NOTHING, _ONE = Fraction(0), Fraction(1)
_FEW = 16  # outcomes of a step that are compiled at once
_OFTEN = 16  # how many times another outcome is met before it is compiled: that takes as long
_Ready = tuple[Edge, int | None]  # an edge, and the number of the guard that it needs


@dataclass(frozen=True, slots=True, eq=False)
class ModelStepOutcome:
    """One outcome of every edge of a step."""

    parts: tuple[Outcome, ...]
    after: Function  # the next state


@dataclass(slots=True, eq=False)
class ModelStep:
    """Edges that move together; everything but these is filled in when the step is first taken."""

    edges: tuple[Edge, ...]
    label: str | None
    endings: list[ModelStepOutcome] = field(default_factory=list)
    unit: int = 1
    weights: tuple[int, ...] | None = None  # over `unit`: the probabilities, where they are constant
    free: list[tuple[int, Kind]] = field(default_factory=list)
    assuming: list[Function] = field(default_factory=list)
    simple: bool = False  # it leaves nothing open but the outcome, whose probabilities are constant


@dataclass(frozen=True, slots=True, eq=False)
class FactoredStep:
    """A step whose edges draw and write independently: by edge and outcome, what is written.

    So a value is computed once for each outcome of an edge, and not for each combination of outcomes.
    """

    edges: tuple[tuple[tuple[tuple[int, Function], ...], ...], ...]

    def rows_after(self, row: Row) -> list[Row]:
        """The next states, in the order of the product of the outcomes."""
        found = [list(row)]
        for outcomes in self.edges:
            written = [[(slot, value(row)) for slot, value in writes] for writes in outcomes]
            if len(written) > 1:
                found = [list(before) for before in found for _ in written]
            for place, after in enumerate(found):
                for slot, value in written[place % len(written)]:
                    after[slot] = value
        return [tuple(after) for after in found]


@dataclass(frozen=True, slots=True, eq=False)
class StepPlace:
    """What may happen in one combination of locations."""

    guards: list[Function]
    conditions: list[ast.expr]  # the guards as syntax trees
    steps: list[tuple[tuple[int, ...], ModelStep]] | None  # with the guards that each needs; None: too many
    edges: list[list[_Ready]]  # by component


class JointTransitions:
    """The steps of a model; those that were needed once are kept."""

    def __init__(self, model: AutomataModel) -> None:
        self.model = model
        self._slots = [p for p in model.places if p is not None]
        self._places: dict[Row, StepPlace] = {}
        self._steps: dict[tuple[tuple[Edge, ...], str | None], ModelStep] = {}
        self._outcome_writes: dict[Outcome, tuple[tuple[int, Function], ...]] = {}
        self._together: dict[tuple[tuple[Edge, ...], ...], list[ModelStep]] = {}

    def enabled_steps(self, row: Row) -> list[ModelStep]:
        """Every joint step whose guards hold."""
        key = tuple([row[p] for p in self._slots])
        place = self.place(key)
        holds = [guard(row) for guard in place.guards]
        if place.steps is None:
            ready: list[list[_Ready]] = [
                [(e, None) for e, g in several if g is None or holds[g]] for several in place.edges
            ]
            return [step for _, step in self._combine_edges(ready)]
        return [step for needs, step in place.steps if all(map(holds.__getitem__, needs))]

    def combine_ready(self, ready: list[list[Edge]]) -> list[ModelStep]:
        """The joint steps of these edges, by component, whose guards hold."""
        key = tuple(map(tuple, ready))
        if (found := self._together.get(key)) is None:
            steps = self._combine_edges([[(edge, None) for edge in edges] for edges in ready])
            found = self._together[key] = [step for _, step in steps]
        return found

    def place(self, locations: Row) -> StepPlace:
        """What may happen where the components with several locations are in these."""
        found = self._places.get(locations)
        if found is None:
            found = self._places[locations] = self._place(locations)
        return found

    def _place(self, locations: Row) -> StepPlace:
        model = self.model
        where = iter(locations)
        here = [next(where) if place is not None else 0 for place in model.places]
        guards: list[Function] = []
        conditions: list[ast.expr] = []
        edges: list[list[_Ready]] = []
        for several in (model.edges[c][location] for c, location in enumerate(here)):
            mine: list[_Ready] = []
            for edge in several:
                guard = model.syntax(edge.guard)
                if not guard.constant:
                    guards.append(model.function(edge.guard))
                    conditions.append(guard.node)
                    mine.append((edge, len(guards) - 1))
                elif guard.value:
                    mine.append((edge, None))
            edges.append(mine)
        if self._count(edges) > _MANY:
            return StepPlace(guards, conditions, None, edges)
        return StepPlace(guards, conditions, list(self._combine_edges(edges)), edges)

    def _groups(self, edges: list[list[_Ready]]) -> Iterator[tuple[list[list[_Ready]], str | None]]:
        for actions, result in self.model.problem.synchronisations:
            yield (
                [[e for e in edges[c] if e[0].action == a] for c, a in enumerate(actions) if a is not None],
                result,
            )

    def _count(self, edges: list[list[_Ready]]) -> int:
        return sum(prod(map(len, several)) for several, _ in self._groups(edges) if several)

    def _combine_edges(self, edges: list[list[_Ready]]) -> Iterator[tuple[tuple[int, ...], ModelStep]]:
        """Edges that move alone, then those that move together, each with the guards it needs."""
        alone = len(self.model.edges) == 1 and not self.model.problem.synchronisations
        for several in edges:
            for edge, guard in several:
                if alone or edge.action is None:
                    yield () if guard is None else (guard,), self._step((edge,), edge.action)
        for groups, result in self._groups(edges):
            if all(groups):
                for combination in product(*groups):
                    needs = tuple(guard for _, guard in combination if guard is not None)
                    yield needs, self._step(tuple(edge for edge, _ in combination), result)

    def _step(self, edges: tuple[Edge, ...], label: str | None) -> ModelStep:
        if (found := self._steps.get((edges, label))) is None:
            found = self._steps[edges, label] = ModelStep(edges, label)
        return found

    def factor(self, step: ModelStep) -> tuple[int, tuple[int, ...], FactoredStep] | None:
        """The step edge by edge, with the weights of the product; None: few outcomes, or not so simple."""
        outcomes = [o for edge in step.edges for o in edge.outcomes]
        if prod(len(edge.outcomes) for edge in step.edges) <= _FEW:
            return None
        updates = [u for o in outcomes for u in o.updates]
        written = [{u.variable for o in edge.outcomes for u in o.updates} for edge in step.edges]
        if len({u.index for u in updates}) > 1 or any(u.path for u in updates):
            return None
        if sum(map(len, written)) > len(set().union(*written)):
            return None
        if any(len({u.variable for u in o.updates}) < len(o.updates) for o in outcomes):
            return None
        if any(edge.chosen or edge.assuming is not True for edge in step.edges):
            return None
        known = [[self.model.syntax(o.probability) for o in edge.outcomes] for edge in step.edges]
        if not all(share.constant and share.value for several in known for share in several):
            return None
        unit, weights, edges = 1, [1], []
        for edge, several in zip(step.edges, known, strict=True):
            of_edge, own = probabilities_to_weights([_probability(share.value) for share in several])
            unit, weights = unit * of_edge, [before * weight for before in weights for weight in own]
            edges.append(tuple(self._writes(edge, outcome) for outcome in edge.outcomes))
        return unit, tuple(weights), FactoredStep(tuple(edges))

    def _writes(self, edge: Edge, outcome: Outcome) -> tuple[tuple[int, Function], ...]:
        if outcome not in self._outcome_writes:
            model = self.model
            found = [
                (model.slots[u.variable], model.code.function(self._fitting(u))) for u in outcome.updates
            ]
            if (place := model.places[model.component_of[edge]]) is not None:
                found.append((place, lambda _, target=outcome.target: target))  # type: ignore[misc]
            self._outcome_writes[outcome] = tuple(found)
        return self._outcome_writes[outcome]

    def prepare(self, step: ModelStep) -> None:
        """Work out the outcomes of a step, once; constant probabilities must sum to 1."""
        if step.endings:
            return
        model = self.model
        chosen = dict.fromkeys(choice for edge in step.edges for choice in edge.chosen)
        step.free = [(model.slots[choice.name], choice.kind) for choice in chosen]
        if len({slot for slot, _ in step.free}) < len(step.free):
            raise Refused("edges that move together choose one value of different kinds")
        needed = [edge.assuming for edge in step.edges]
        step.assuming = [model.function(t) for t in needed if model.syntax(t).value is not True]
        combinations = list(product(*(edge.outcomes for edge in step.edges)))
        known = {outcome: model.syntax(outcome.probability) for e in step.edges for outcome in e.outcomes}
        if all(share.constant for share in known.values()):
            shares = _joint_probabilities([[known[p].value for p in e.outcomes] for e in step.edges])
            combinations = [c for c, share in zip(combinations, shares, strict=True) if share]
            step.unit, step.weights = probabilities_to_weights([share for share in shares if share])
            step.simple = not (step.free or step.assuming)
        step.endings = [
            ModelStepOutcome(parts, self._after(step.edges, parts, late=len(combinations) > _FEW))
            for parts in combinations
        ]

    def written_entries(self, step: ModelStep, ending: ModelStepOutcome) -> dict[int, ast.expr] | None:
        """What stands in the next state where it changes; None: updates follow one another."""
        updates = _sorted_updates(ending.parts)
        return (
            self._written(updates, self._targets(step.edges, ending.parts)) if _are_at_once(updates) else None
        )

    def shares(self, step: ModelStep, row: Row) -> list[Fraction]:
        """The probabilities of the endings; 0 is possible where they are not constant."""
        if step.weights is not None:
            return [Fraction(w, step.unit) for w in step.weights]
        function = self.model.function
        return _joint_probabilities(
            [[function(o.probability)(row) for o in edge.outcomes] for edge in step.edges]
        )

    def enumerate_extended_rows(self, step: ModelStep, state: Row) -> Iterator[Row]:
        """The state with each admissible way to pick the chosen values."""
        length, width = len(self.model.slots), self.model.width
        for values in product(*(_choice_values(kind) for _, kind in step.free)):
            row = [*state, *[None] * (length - width)]
            for (slot, _), value in zip(step.free, values, strict=True):
                row[slot] = value
            full = tuple(row)
            if all(holds(full) for holds in step.assuming):
                yield full

    def _after(self, edges: tuple[Edge, ...], parts: tuple[Outcome, ...], *, late: bool) -> Function:
        """The next state; `late`: there are many outcomes, of which each is compiled when it is met often."""
        updates, targets = _sorted_updates(parts), self._targets(edges, parts)
        if not _are_at_once(updates):
            return lambda row: self.write_in_order(row, updates, targets)
        if not late:
            return self._at_once(updates, targets)
        compiled: list[Function] = []
        met = 0

        def after(row: Row) -> Row:
            nonlocal met
            if met < _OFTEN:
                met += 1
                return self.write_in_order(row, updates, targets)
            if not compiled:
                compiled.append(self._at_once(updates, targets))
            following: Row = compiled[0](row)
            return following

        return after

    def _targets(self, edges: tuple[Edge, ...], parts: tuple[Outcome, ...]) -> dict[int, int]:
        """The places of the next state."""
        places = [self.model.places[self.model.component_of[edge]] for edge in edges]
        return {place: part.target for place, part in zip(places, parts, strict=True) if place is not None}

    def _written(self, updates: Sequence[Update], targets: dict[int, int]) -> dict[int, ast.expr]:
        written: dict[int, ast.expr] = {self.model.slots[u.variable]: self._fitting(u) for u in updates}
        return written | {place: ast.Constant(target) for place, target in targets.items()}

    def _at_once(self, updates: Sequence[Update], targets: dict[int, int]) -> Function:
        return compile_next_row(self.model.width, self._written(updates, targets), self.model.code)

    def _fitting(self, update: Update) -> ast.expr:
        """The new value of a variable; outside of its kind, an error."""
        kind, code = self.model.kinds[self.model.slots[update.variable]], self.model.code

        def fits(value: Any) -> Any:
            if not value_conforms(value, kind):
                raise Refused(f"a variable becomes {str(value)[:40]}, outside its kind")
            return value

        made = self.model.syntax(update.value)
        if made.kind[0] == INTEGER and kind[0] == "integer" and None not in kind:
            return range_check_syntax(made.node, kind[1], kind[2], fits, code)
        return code.call(fits, [made.node])

    def write_in_order(self, row: Row, updates: Sequence[Update], targets: dict[int, int]) -> Row:
        """Updates in the order of their indices, each written into what is there."""
        function, slots = self.model.function, self.model.slots
        after = list(row)
        before, index = row, updates[0].index if updates else 0
        written: set[Any] = set()
        for update in updates:
            if update.index != index:
                before, index = tuple(after), update.index
                written.clear()
            slot, path = slots[update.variable], tuple(function(place)(before) for place in update.path)
            if (slot, path) in written:
                raise Refused("a variable is written twice in one step")
            written.add((slot, path))
            after[slot] = _write_element(after[slot], path, function(update.value)(before))
        for place, target in targets.items():
            after[place] = target
        for slot in (slots[update.variable] for update in updates):
            if not value_conforms(after[slot], self.model.kinds[slot]):
                raise Refused(f"a variable becomes {str(after[slot])[:40]}, outside its kind")
        return tuple(after[: self.model.width])


def _sorted_updates(parts: tuple[Outcome, ...]) -> tuple[Update, ...]:
    return tuple(sorted((u for part in parts for u in part.updates), key=lambda u: u.index))


def _are_at_once(updates: Sequence[Update]) -> bool:
    """Do all of them read the same state, and each write a whole variable of its own?"""
    at_once = len({u.index for u in updates}) <= 1 and not any(u.path for u in updates)
    return at_once and len({u.variable for u in updates}) == len(updates)


def probabilities_to_weights(shares: Sequence[Fraction]) -> tuple[int, tuple[int, ...]]:
    """Probabilities as whole numbers over a common denominator."""
    if sum(shares) != 1:
        raise Refused(f"probabilities that sum to {sum(shares)}")
    unit = lcm(*(p.denominator for p in shares))
    return unit, tuple(int(p * unit) for p in shares)


def _joint_probabilities(factors: list[list[Any]]) -> list[Fraction]:
    """Products of one probability of each edge, in the order of `product`."""
    joint: list[Fraction] = [_ONE]
    for several in factors:
        shares = [_NOTHING if not value else _probability(value) for value in several]
        joint = [
            (_NOTHING if not share else before * share) if before is not _ONE else share
            for before in joint
            for share in shares
        ]
    return joint


def _probability(value: Any) -> Fraction:
    share = Fraction(value)
    if not 0 <= share <= 1:
        raise Refused(f"the probability {share}")
    return share


def _choice_values(kind: Kind) -> Any:
    if kind[0] == "boolean":
        return (False, True)
    if kind[0] == "integer" and None not in kind and kind[2] - kind[1] < MOST_CHOSEN:
        return range(int(kind[1]), int(kind[2]) + 1)
    raise Refused("a value is chosen among too many")


def _write_element(old: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if type(path[0]) is not int or not 0 <= path[0] < len(old):
        raise Refused("an index outside its array")
    return (*old[: path[0]], _write_element(old[path[0]], path[1:], value), *old[path[0] + 1 :])
