"""Synchronisation vectors, and which member of each vector counts what a whole step is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from surefoot.formats.jani.edges import RawEdge
from surefoot.formats.jani.json_document import JsonNode
from surefoot.problem.environment import Synchronisation

Member = tuple[str, str | None]  # component and action
MOST_TRIES = 20_000


def read_vectors(
    system: Mapping[str, JsonNode],
    components: list[str],
    edges: Mapping[str, list[RawEdge]],
    actions: Mapping[str, JsonNode],
    notes: set[str],
) -> tuple[Synchronisation, ...]:
    """The vectors in which every named action occurs; others can never be taken."""
    known = {c: {e.action for e in own if e.action is not None} for c, own in edges.items()}
    vectors: list[Synchronisation] = []
    for entry in system["syncs"].entries() if "syncs" in system else []:
        row = entry.table(("synchronise",), ("result",))
        slots = row["synchronise"].entries()
        if len(slots) != len(components):
            what = f"the vector names {len(slots)} actions, but there are {len(components)} automata"
            row["synchronise"].fail(what, "name one action, or null, for each of them")
        parts = tuple(None if s.value is None else s.declared_name(actions, "action") for s in slots)
        if all(part is None for part in parts):
            row["synchronise"].fail("no automaton takes part", "name at least one action")
        result = None
        if "result" in row and row["result"].value is not None:
            result = row["result"].declared_name(actions, "action")
        if all(p is None or p in known[c] for p, c in zip(parts, components, strict=True)):
            vectors.append(Synchronisation(parts, result))
    _check_labels(system, components, known, vectors, notes)
    return tuple(vectors)


def _check_labels(
    system: Mapping[str, JsonNode],
    components: list[str],
    known: Mapping[str, set[str]],
    vectors: list[Synchronisation],
    notes: set[str],
) -> None:
    """An edge whose action is in no vector never moves; alone and without vectors, it does."""
    if len(components) == 1 and not vectors:
        if known[components[0]] and "syncs" in system:
            what = "the automaton has edges with actions, but `syncs` is empty"
            system["syncs"].refuse(what, "leave `syncs` out, or list the actions")
        return
    for number, component in enumerate(components):
        listed = {vector.actions[number] for vector in vectors}
        for action in sorted(known[component] - listed):
            notes.add(f"action `{action}` of `{component}` is in no synchronisation: its edges never move")


def counting_members(
    components: list[str],
    edges: Mapping[str, list[RawEdge]],
    vectors: tuple[Synchronisation, ...],
) -> set[Member] | None:
    """Component and action of the edges that count once for each step of the whole model.

    Edges that move alone count for themselves. Of each vector exactly one member has to count; None if no
    choice of members does it.
    """
    alone: set[Member] = {(c, None) for c in components}
    if len(components) == 1 and not vectors:
        return alone | {(components[0], e.action) for e in edges[components[0]]}
    groups: list[tuple[Member, ...]] = [
        tuple((c, a) for c, a in zip(components, vector.actions, strict=True) if a is not None)
        for vector in vectors
    ]
    chosen = _choose_members(groups)
    return None if chosen is None else alone | chosen


def separate_vectors(
    components: list[str],
    edges: Mapping[str, list[RawEdge]],
    vectors: tuple[Synchronisation, ...],
) -> tuple[dict[str, list[RawEdge]], tuple[Synchronisation, ...], set[Member]]:
    """The same system in which the first member of every vector has edges of its own, and counts.

    They are copies with another action, which occurs nowhere else; edges that no vector needs any more go.
    """
    taken = {e.action for own in edges.values() for e in own if e.action is not None}
    more: dict[str, list[RawEdge]] = {c: [] for c in components}
    found: list[Synchronisation] = []
    counting: set[Member] = {(c, None) for c in components}
    for number, vector in enumerate(vectors):
        place = next(i for i, action in enumerate(vector.actions) if action is not None)
        component, action = components[place], vector.actions[place]
        name = f"{action} ({number})"
        while name in taken:
            name += "_"
        more[component] += [replace(e, action=name) for e in edges[component] if e.action == action]
        actions = (*vector.actions[:place], name, *vector.actions[place + 1 :])
        found.append(Synchronisation(actions, vector.result))
        counting.add((component, name))
    used = {(c, a) for v in found for c, a in zip(components, v.actions, strict=True)}
    kept = {c: [e for e in edges[c] if e.action is None or (c, e.action) in used] for c in components}
    return {c: [*kept[c], *more[c]] for c in components}, tuple(found), counting


def _choose_members(groups: list[tuple[Member, ...]]) -> set[Member] | None:
    """One member of each group counts, the others do not; found by trying, and given up after many tries."""
    picks: list[int] = []  # for each group so far, the position of the member that counts
    position = 0  # of the member to try next
    for _ in range(MOST_TRIES):
        if len(picks) == len(groups):
            return {group[pick] for group, pick in zip(groups, picks, strict=True)}
        group = groups[len(picks)]
        if position == len(group):
            if not picks:
                return None
            position = picks.pop() + 1
        elif _is_consistent(groups, picks, position):
            picks.append(position)
            position = 0
        else:
            position += 1
    return None


def _is_consistent(groups: list[tuple[Member, ...]], picks: list[int], position: int) -> bool:
    """May this member of the next group count, given which members of earlier groups do?"""
    group = groups[len(picks)]
    member, others = group[position], {m for n, m in enumerate(group) if n != position}
    for earlier, pick in zip(groups, picks, strict=False):
        if earlier[pick] in others or (member in earlier and earlier[pick] != member):
            return False
    return True
