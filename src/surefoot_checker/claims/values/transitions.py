"""The joint steps of a model: which are enabled in a state, their outcomes, and where they lead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any

from ...kernel.strict_json import Refused
from ...kernel.term import Kind
from .model import AutomataModel, ModelEdge, ModelOutcome, ModelUpdate, value_conforms
from .term import Function, Row
from .term_code import INTEGER, compile_next_row, range_check_syntax

MOST_CHOSEN = 100_000
_MANY = 5000  # ways to combine edges that are written out for one place
_Ready = tuple[ModelEdge, int | None]  # an edge, and the number of the guard that it needs


@dataclass(frozen=True, slots=True, eq=False)
class ModelStepOutcome:
    """One outcome of every edge of a step."""

    parts: tuple[ModelOutcome, ...]
    after: Function  # the next state


@dataclass(slots=True, eq=False)
class ModelStep:
    """Edges that move together; everything but these is filled in when the step is first taken."""

    edges: tuple[ModelEdge, ...]
    label: str | None
    endings: list[ModelStepOutcome] = field(default_factory=list)
    unit: int = 1
    weights: tuple[int, ...] | None = None  # over `unit`: the probabilities, where they are constant
    free: list[tuple[int, Kind]] = field(default_factory=list)
    assuming: list[Function] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """What may happen in one combination of locations."""

    guards: list[Function]
    steps: list[tuple[tuple[int, ...], ModelStep]] | None  # with the guards that each needs; None: too many
    always: list[ModelStep] | None  # the steps, if there is no guard to look at
    edges: list[list[_Ready]]  # by component


class JointTransitions:
    """The steps of a model; those that were needed once are kept."""

    def __init__(self, model: AutomataModel) -> None:
        self.model = model
        self._slots = [p for p in model.places if p is not None]
        self._places: dict[Row, _Place] = {}
        self._steps: dict[tuple[tuple[ModelEdge, ...], str | None], ModelStep] = {}

    def enabled_steps(self, row: Row) -> list[ModelStep]:
        """Every joint step whose guards hold."""
        key = tuple([row[p] for p in self._slots])
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._place(key)
        if place.always is not None:
            return place.always
        holds = [guard(row) for guard in place.guards]
        if place.steps is None:
            ready: list[list[_Ready]] = [
                [(e, None) for e, g in several if g is None or holds[g]] for several in place.edges
            ]
            return [step for _, step in self._combine_edges(ready)]
        return [
            s for needs, s in place.steps if not needs or (holds[needs[0]] and _all_hold(holds, needs[1:]))
        ]

    def _place(self, locations: Row) -> _Place:
        model = self.model
        where = iter(locations)
        here = [next(where) if place is not None else 0 for place in model.places]
        guards: list[Function] = []
        edges: list[list[_Ready]] = []
        for several in (model.edges[c][location] for c, location in enumerate(here)):
            mine: list[_Ready] = []
            for edge in several:
                if not edge.guard.constant:
                    guards.append(model.code.of(edge.guard))
                    mine.append((edge, len(guards) - 1))
                elif edge.guard.value:
                    mine.append((edge, None))
            edges.append(mine)
        if self._count(edges) > _MANY:
            return _Place(guards, None, None, edges)
        steps = list(self._combine_edges(edges))
        return _Place(guards, steps, None if guards else [step for _, step in steps], edges)

    def _groups(self, edges: list[list[_Ready]]) -> Iterator[tuple[list[list[_Ready]], str | None]]:
        for actions, result in self.model.together:
            yield (
                [[e for e in edges[c] if e[0].action == a] for c, a in enumerate(actions) if a is not None],
                result,
            )

    def _count(self, edges: list[list[_Ready]]) -> int:
        return sum(prod(map(len, several)) for several, _ in self._groups(edges) if several)

    def _combine_edges(self, edges: list[list[_Ready]]) -> Iterator[tuple[tuple[int, ...], ModelStep]]:
        """Edges that move alone, then those that move together, each with the guards it needs."""
        alone = len(self.model.edges) == 1 and not self.model.together
        for several in edges:
            for edge, guard in several:
                if alone or edge.action is None:
                    yield () if guard is None else (guard,), self._step((edge,), edge.action)
        for groups, result in self._groups(edges):
            if all(groups):
                for combination in product(*groups):
                    needs = tuple(guard for _, guard in combination if guard is not None)
                    yield needs, self._step(tuple(edge for edge, _ in combination), result)

    def _step(self, edges: tuple[ModelEdge, ...], label: str | None) -> ModelStep:
        if (found := self._steps.get((edges, label))) is None:
            found = self._steps[edges, label] = ModelStep(edges, label)
        return found

    def prepare(self, step: ModelStep) -> None:
        """Work out the outcomes of a step; constant probabilities must sum to 1."""
        code = self.model.code
        step.free = list(dict.fromkeys(choice for edge in step.edges for choice in edge.chosen))
        if len({slot for slot, _ in step.free}) < len(step.free):
            raise Refused("edges that move together choose one value of different kinds")
        needed = [edge.assuming for edge in step.edges]
        step.assuming = [code.of(m) for m in needed if not (m.constant and m.value is True)]
        combinations = list(product(*(edge.outcomes for edge in step.edges)))
        if not all(part.probability.constant for parts in combinations for part in parts):
            step.endings = [ModelStepOutcome(parts, self._after(step.edges, parts)) for parts in combinations]
            return
        shares = [
            _joint_probability([Fraction(part.probability.value) for part in parts]) for parts in combinations
        ]
        kept = [(parts, share) for parts, share in zip(combinations, shares, strict=True) if share]
        step.unit, step.weights = probabilities_to_weights([share for _, share in kept])
        step.endings = [ModelStepOutcome(parts, self._after(step.edges, parts)) for parts, _ in kept]

    def shares(self, step: ModelStep, row: Row) -> list[Fraction]:
        """The probabilities of the endings; 0 is possible where they are not constant."""
        if step.weights is not None:
            return [Fraction(w, step.unit) for w in step.weights]
        code = self.model.code
        return [
            _joint_probability([Fraction(code.of(p.probability)(row)) for p in e.parts]) for e in step.endings
        ]

    def enumerate_extended_rows(self, step: ModelStep, state: Row) -> Iterator[Row]:
        """The state with each admissible way to pick the chosen values."""
        length, width = self.model.length, self.model.width
        for values in product(*(_choice_values(kind) for _, kind in step.free)):
            row = [*state, *[None] * (length - width)]
            for (slot, _), value in zip(step.free, values, strict=True):
                row[slot] = value
            full = tuple(row)
            if all(holds(full) for holds in step.assuming):
                yield full

    def _after(self, edges: tuple[ModelEdge, ...], parts: tuple[ModelOutcome, ...]) -> Function:
        updates = tuple(sorted((u for part in parts for u in part.updates), key=lambda u: u.index))
        targets = {}
        for edge, part in zip(edges, parts, strict=True):
            if (place := self.model.places[edge.component]) is not None:
                targets[place] = part.target
        at_once = len({u.index for u in updates}) <= 1 and not any(u.path for u in updates)
        if not at_once or len({u.slot for u in updates}) < len(updates):
            return lambda row: self._one_by_one(row, updates, targets)
        written: dict[int, ast.expr] = {u.slot: self._fitting(u) for u in updates}
        written |= {place: ast.Constant(target) for place, target in targets.items()}
        return compile_next_row(self.model.width, written, self.model.code)

    def _fitting(self, update: ModelUpdate) -> ast.expr:
        """The new value of a variable; outside of its kind, an error."""
        kind, code = self.model.kinds[update.slot], self.model.code

        def fits(value: Any) -> Any:
            if not value_conforms(value, kind):
                raise Refused(f"a variable becomes {str(value)[:40]}, outside its kind")
            return value

        made = update.value
        if made.sort == INTEGER and kind[0] == "integer" and None not in kind:
            return range_check_syntax(made.node, kind[1], kind[2], fits, code)
        return code.call(fits, [made.node])

    def _one_by_one(self, row: Row, updates: Sequence[ModelUpdate], targets: dict[int, int]) -> Row:
        """Updates in the order of their indices, each written into what is there."""
        code = self.model.code
        after = list(row)
        before, index = row, updates[0].index if updates else 0
        written: set[Any] = set()
        for update in updates:
            if update.index != index:
                before, index = tuple(after), update.index
                written.clear()
            path = tuple(code.of(position)(before) for position in update.path)
            if (update.slot, path) in written:
                raise Refused("a variable is written twice in one step")
            written.add((update.slot, path))
            after[update.slot] = _write_element(after[update.slot], path, code.of(update.value)(before))
        for place, target in targets.items():
            after[place] = target
        for update in updates:
            if not value_conforms(after[update.slot], self.model.kinds[update.slot]):
                raise Refused(f"a variable becomes {str(after[update.slot])[:40]}, outside its kind")
        return tuple(after[: self.model.width])


def probabilities_to_weights(shares: Sequence[Fraction]) -> tuple[int, tuple[int, ...]]:
    """Probabilities as whole numbers over a common denominator."""
    if sum(shares) != 1:
        raise Refused(f"probabilities that sum to {sum(shares)}")
    unit = lcm(*(p.denominator for p in shares))
    return unit, tuple(int(p * unit) for p in shares)


def _all_hold(holds: list[Any], needed: tuple[int, ...]) -> bool:
    return not needed or all(holds[guard] for guard in needed)


def _joint_probability(factors: list[Fraction]) -> Fraction:
    share = prod(factors, start=Fraction(1))
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
