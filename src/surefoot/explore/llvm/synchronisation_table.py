"""What the kernel must know of an environment: which edges move alone, which together, and who acts.

A choice is known by its code: the position of an edge that moves alone, or, for a vector, its offset plus the
positions of its edges among the candidates, read as the digits of a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from surefoot.explore.emit.model import NumberedEdge, numbered_edges
from surefoot.explore.emit.state_packing import CompileObjection
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.policy import Policy
from surefoot.term.term import Const, split_target

_MOST_ACTIONS = 62
_MOST_CODES = 2**62


@dataclass(frozen=True, slots=True)
class SyncPart:
    """The edges that may take part for one component."""

    candidates: tuple[int, ...]
    stride: int


@dataclass(frozen=True, slots=True)
class SyncVector:
    parts: tuple[SyncPart, ...]
    code: int
    action: int  # of the policy, by its label; -1: none
    label: str | None


@dataclass(frozen=True, slots=True)
class SynchronisationTable:
    edges: tuple[NumberedEdge, ...]
    alone: tuple[int, ...]
    alone_actions: tuple[int, ...]
    vectors: tuple[SyncVector, ...]
    edge_actions: tuple[int, ...]  # of the policy, by `component#edge`; -1: none
    actions: tuple[str, ...]
    codes: int  # all codes are below

    def transition(self, code: int) -> Transition:
        if code < len(self.alone):
            edge = self.edges[self.alone[code]]
            return Transition(((edge.component, edge.index),), edge.edge.action)
        vector = next(v for v in reversed(self.vectors) if v.code <= code)
        digits = code - vector.code
        taken = []
        for part in vector.parts:
            position, digits = divmod(digits, part.stride)
            edge = self.edges[part.candidates[position]]
            taken.append((edge.component, edge.index))
        return Transition(tuple(taken), vector.label)


def synchronisation_table(environment: Environment, policy: Policy | None) -> SynchronisationTable:
    edges = numbered_edges(environment)
    actions = () if policy is None else action_names(policy, environment)
    if len(actions) > _MOST_ACTIONS:
        raise CompileObjection(f"the policy has {len(actions)} actions")
    number = {name: i for i, name in enumerate(actions)}
    names = [f"{environment.components[n.component].name}#{n.index}" for n in edges]
    edge_actions = tuple(number.get(name, -1) for name in names)
    everything = len(environment.components) == 1 and not environment.synchronisations
    alone = tuple(i for i, n in enumerate(edges) if n.edge.action is None or everything)
    vectors = []
    code = len(alone)
    for vector in environment.synchronisations:
        candidates = [
            tuple(i for i, n in enumerate(edges) if n.component == c and n.edge.action == action)
            for c, action in enumerate(vector.actions)
            if action is not None
        ]
        stride, parts = 1, []
        for several in reversed(candidates):
            parts.append(SyncPart(several, stride))
            stride *= max(1, len(several))
        label = number.get(vector.result, -1) if vector.result is not None else -1
        vectors.append(SyncVector(tuple(reversed(parts)), code, label, vector.result))
        code += stride
        if code > _MOST_CODES:
            raise CompileObjection("there are too many ways to combine edges")
        _check_write_conflicts(edges, candidates)
    by_label = [number.get(edges[i].edge.action or "", -1) for i in alone]
    own = [edge_actions[i] if a < 0 else a for i, a in zip(alone, by_label, strict=True)]
    return SynchronisationTable(edges, alone, tuple(own), tuple(vectors), edge_actions, actions, code)


def _check_write_conflicts(edges: tuple[NumberedEdge, ...], candidates: list[tuple[int, ...]]) -> None:
    """Edges that move together must write different places, whatever the state."""
    for left, right in combinations(candidates, 2):
        mine, theirs = ({key for i in part for key in _enumerate_writes(edges[i])} for part in (left, right))
        for name, index, path in mine:
            for other, level, place in theirs:
                if name == other and index == level and len(path) == len(place) and _may_meet(path, place):
                    raise CompileObjection(f"two edges that move together may both write `{name}`")


def _may_meet(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(left, right, strict=True))


def _enumerate_writes(edge: NumberedEdge) -> Iterator[tuple[str, int, tuple[int | None, ...]]]:
    """Names, indices and paths (None: a place that depends on the state) of an edge's updates."""
    for outcome in edge.edge.outcomes:
        for update in outcome.updates:
            name, path = split_target(update.target)
            known = (i.value if isinstance(i, Const) and type(i.value) is int else None for i in path)
            yield name, update.index, tuple(known)
