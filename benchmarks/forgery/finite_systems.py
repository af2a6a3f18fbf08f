"""Random finite systems as certificates write them, and what is true of them, found by brute force.

One whole-number variable `x`, edges of one component that belong to the environment or to a policy, outcomes
with probabilities and costs; the policy has rules, or a network with small whole weights (so that float32 is
exact, and ties are exact ties). Nothing of the package is used.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

Json = dict[str, Any]
Choice = tuple[tuple[Fraction, int, int], ...]  # probability, next state, cost
X = ["name", "x"]
LABELS = ("a", "b")


@dataclass(frozen=True, slots=True)
class System:
    """`own[s][label]`: the policy's enabled steps; `free[s]`: the environment's."""

    size: int
    starts: tuple[int, ...]
    own: tuple[dict[str, tuple[Choice, ...]], ...]
    free: tuple[tuple[Choice, ...], ...]
    choose: str  # "none", "rules", "argmax", "argmax-applicable", "sample"
    rules: tuple[tuple[int, str], ...]  # where x is at most this number, that action
    outputs: tuple[tuple[int, int], ...]  # slope and offset of each output, in the order of LABELS

    def picks(self, state: int, *, any_tie: bool) -> list[str | None]:
        """What the policy may pick; [None]: nothing is decided."""
        enabled = [label for label in LABELS if label in self.own[state]]
        if not enabled:
            return [None]
        for most, label in self.rules:
            if state <= most:
                return [label]
        if self.choose == "rules":
            return [None]
        among = enabled if self.choose == "argmax-applicable" else list(LABELS)
        if self.choose == "sample":
            return list(among)
        values = {a: w * state + b for a, (w, b) in zip(LABELS, self.outputs, strict=True) if a in among}
        best = [label for label in among if values[label] == max(values.values())]
        return list(best if any_tie else best[:1])

    def steps(self, state: int, *, any_tie: bool) -> tuple[list[Choice], bool]:
        """The choices that policy and environment leave, and whether a run may end here."""
        free = list(self.free[state])
        if self.choose == "none":
            every = free + [c for several in self.own[state].values() for c in several]
            return every, not every
        found, ends = list(free), False
        for pick in self.picks(state, any_tie=any_tie):
            mine = self.own[state].get(pick, ()) if pick is not None else ()
            found += mine
            ends = ends or not (mine or free)
        return found, ends


CHOOSE = ("none", "rules", "argmax", "argmax-applicable")


def random_system(draw: Random, choose: Sequence[str] = CHOOSE, *, leaves: bool = False) -> System:
    """`leaves`: now and then a step leads out of the range of `x`, which is an error of the model."""
    size = draw.randint(2, 5)
    own: list[dict[str, tuple[Choice, ...]]] = []
    free: list[tuple[Choice, ...]] = []
    for _ in range(size):
        mine = {label: tuple(_choices(size, leaves, draw)) for label in LABELS if draw.random() < 0.6}
        own.append({label: several for label, several in mine.items() if several})
        free.append(tuple(_choices(size, leaves, draw)) if draw.random() < 0.3 else ())
    chosen = draw.choice(choose)
    rules: tuple[tuple[int, str], ...] = ()
    if chosen == "rules" or (chosen != "none" and draw.random() < 0.2):
        rules = tuple((draw.randrange(size), draw.choice(LABELS)) for _ in range(draw.randint(0, 2)))
    outputs = tuple((draw.randint(-1, 1), draw.randint(-1, 1)) for _ in LABELS)
    starts = tuple(sorted({draw.randrange(size) for _ in range(draw.choice((1, 1, 2)))}))
    return System(size, starts, tuple(own), tuple(free), chosen, rules, outputs)


def _choices(size: int, leaves: bool, draw: Random) -> Iterator[Choice]:
    for _ in range(draw.choice((1, 1, 2))):
        count = draw.choice((1, 1, 2, 3))
        weights = [draw.randint(1, 3) for _ in range(count)]
        yield tuple(
            (
                Fraction(w, sum(weights)),
                size if leaves and draw.random() < 0.2 else draw.randrange(size),
                draw.randint(0, 2),
            )
            for w in weights
        )


def write_problem(system: System, asked: Json) -> Json:
    edges = [_edge(*numbered) for numbered in numbered_edges(system)]
    component = {"name": "c", "locations": ["here"], "initial": ["here"], "edges": edges}
    starts: Any = ["or", *(["=", X, s] for s in system.starts)] if len(system.starts) > 1 else None
    world = {
        "variables": [["x", ["integer", 0, system.size - 1]]],
        "initial": starts or ["=", X, system.starts[0]],
        "components": [component],
        "synchronisations": [],
    }
    return {"name": "forged", "environment": world, "policy": _policy(system), "property": asked}


def _edge(state: int, label: str | None, choice: Choice) -> Json:
    outcomes = [
        {"probability": str(p), "updates": [[X, target, 0]], "rewards": [["cost", paid]], "target": "here"}
        for p, target, paid in choice
    ]
    return {
        "source": "here",
        "action": label,
        "guard": ["=", X, state],
        "chosen": [],
        "assuming": True,
        "outcomes": outcomes,
    }


def write_execution(system: System, asked: Json) -> Json:
    """The same as claims about executions write it; edges in the order of `numbered_edges`."""
    edges = [
        {
            "action": label,
            "guard": ["=", X, state],
            "chosen": [],
            "assuming": True,
            "outcomes": [[["x", target]] for _, target, _ in choice],
        }
        for state, label, choice in numbered_edges(system)
    ]
    starts = [["=", X, s] for s in system.starts]
    return {
        "name": "forged",
        "variables": [["x", 0, system.size - 1, "integer"]],
        "initial": ["or", *starts] if len(starts) > 1 else starts[0],
        "controls": [],
        "edges": edges,
        "policy": _policy(system),
        "property": asked,
    }


def numbered_edges(system: System) -> list[tuple[int, str | None, Choice]]:
    found: list[tuple[int, str | None, Choice]] = []
    for state in range(system.size):
        found += [(state, None, c) for c in system.free[state]]
        found += [(state, label, c) for label, choices in system.own[state].items() for c in choices]
    return found


def write_states(flags: Sequence[bool]) -> Any:
    """The condition that holds in these states."""
    parts = [["=", X, s] for s, flag in enumerate(flags) if flag]
    return ["or", *parts] if len(parts) > 1 else parts[0] if parts else False


def _policy(system: System) -> Json | None:
    if system.choose == "none":
        return None
    written = [{"when": ["<=", X, most], "then": label} for most, label in system.rules]
    plain = {"rules": written, "network": None, "observe": [], "choose": "argmax", "actions": []}
    if system.choose == "rules":
        return {**plain, "owns": list(LABELS)}
    slopes, offsets = ([float(o[i]) for o in system.outputs] for i in (0, 1))
    node = ["affine", 0, len(LABELS), 1, _floats(slopes), _floats(offsets)]
    network = {"width": 1, "nodes": [node]}
    names = {"observe": [X], "choose": system.choose, "actions": list(LABELS), "owns": list(LABELS)}
    return {**plain, **names, "network": network}


def _floats(values: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


# What is true of all runs.


def violates(system: System, kind: str, holds: Sequence[bool], steps: int | None, after: int) -> bool:
    """Does some run violate the property, or come to an error of the model before it is decided?

    Of equal outputs each may be picked.
    """
    moves = [system.steps(s, any_tie=True) for s in range(system.size)]
    targets = [{t for c in choices for _, t, _ in c} for choices, _ in moves]
    stops = [end or any(t >= system.size for t in targets[s]) for s, (_, end) in enumerate(moves)]
    errors = [any(t >= system.size for t in several) for several in targets]
    following = [{t for t in several if t < system.size} for several in targets]
    if kind in ("never", "within"):
        trouble = errors if kind == "never" else stops
        return _violates_in_time(system, kind, holds, steps, after, following, trouble)
    quiet = {s for s in range(system.size) if not holds[s]}
    reached = set(system.starts) if kind == "recurs" else set(system.starts) & quiet
    while True:
        more = {t for s in reached for t in following[s] if kind == "recurs" or t in quiet} | reached
        if more == reached:
            break
        reached = more
    if any(errors[s] for s in reached) or any(stops[s] for s in reached & quiet):
        return True
    return stays_quiet(reached & quiet, following)


def stays_quiet(states: set[int], following: Sequence[set[int]]) -> bool:
    """Can a run stay among these states for ever?"""
    while True:
        left = {s for s in states if following[s] & states}
        if left == states:
            return bool(states)
        states = left


def _violates_in_time(
    system: System,
    kind: str,
    holds: Sequence[bool],
    steps: int | None,
    after: int,
    following: list[set[int]],
    trouble: list[bool],
) -> bool:
    """`trouble`: where a run may come to an error, or (`within`) end."""
    here, last = set(system.starts), system.size if steps is None else steps
    for number in range(last + 1):
        if kind == "never":
            if any(holds[s] for s in here):
                return True
            if (steps is None or number < last) and any(trouble[s] for s in here):
                return True
        else:
            if number >= after:
                here = {s for s in here if not holds[s]}
            if any(trouble[s] for s in here) or (here and number == steps):
                return True
        here = {t for s in here for t in following[s]}
    return False


# What is true of values.


def best_value(
    system: System, optimise: str, goal: Sequence[bool], left: Sequence[bool], *, cost: bool
) -> list[Fraction | None]:
    """The least or greatest value of every state over all ways to choose; None: infinite."""
    moves = [system.steps(s, any_tie=False)[0] for s in range(system.size)]
    stops = [goal[s] or not moves[s] or (not cost and not left[s]) for s in range(system.size)]
    options = [[None] if stops[s] else moves[s] for s in range(system.size)]
    found: list[list[Fraction | None]] = []
    for way in product(*options):
        found.append(_chain_cost(way, goal) if cost else _chain_reach(way, goal))
    pick = max if optimise == "max" else min
    result: list[Fraction | None] = []
    for several in zip(*found, strict=True):
        finite = [v for v in several if v is not None]
        lost = len(finite) < len(several) if optimise == "max" else not finite
        result.append(None if lost else pick(finite))
    return result


def count_ways(system: System) -> int:
    total = 1
    for s in range(system.size):
        total *= max(1, len(system.steps(s, any_tie=False)[0]))
    return total


def _reaching(way: Sequence[Choice | None], goal: Sequence[bool]) -> set[int]:
    """The states from which the goal can be reached."""
    found = {s for s, flag in enumerate(goal) if flag}
    while True:
        more = {s for s, c in enumerate(way) if c is not None and any(t in found for _, t, _ in c)} | found
        if more == found:
            return found
        found = more


def _solve(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss–Jordan: each row is the coefficients and the right-hand side."""
    size = len(rows)
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def _chain_reach(way: Sequence[Choice | None], goal: Sequence[bool]) -> list[Fraction | None]:
    reaching, size = _reaching(way, goal), len(way)
    rows = []
    for s, choice in enumerate(way):
        row = [Fraction(0)] * (size + 1)
        row[s] = Fraction(1)
        if goal[s]:
            row[-1] = Fraction(1)
        elif s in reaching and choice is not None:
            for p, t, _ in choice:
                row[t] -= p
        rows.append(row)
    return list(_solve(rows))


def _chain_cost(way: Sequence[Choice | None], goal: Sequence[bool]) -> list[Fraction | None]:
    sure = [v == 1 for v in _chain_reach(way, goal)]
    rows, size = [], len(way)
    for s, choice in enumerate(way):
        row = [Fraction(0)] * (size + 1)
        row[s] = Fraction(1)
        if sure[s] and not goal[s] and choice is not None:
            for p, t, paid in choice:
                row[t] -= p
                row[-1] += p * paid
        rows.append(row)
    return [v if flag else None for v, flag in zip(_solve(rows), sure, strict=True)]


def reachable(system: System, stops: Sequence[bool]) -> list[int]:
    """The states that are reached without going on from those where the question is decided, in order."""
    found = set(system.starts)
    while True:
        more = set(found)
        for s in found:
            if not stops[s]:
                more |= {t for c in system.steps(s, any_tie=False)[0] for _, t, _ in c}
        if more == found:
            return sorted(found)
        found = more
