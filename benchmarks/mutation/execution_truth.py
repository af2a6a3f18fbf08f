"""The truth about a claim about runs, from its canonical problem alone: every state that matters is visited.

Only problems over integers and booleans with actions. Networks are evaluated in float32, sums from left to
right, and ties go to the lowest output: one of the evaluations that a certificate in float32 arithmetic has
to cover. Nothing of the package is used.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

import numpy as np

State = tuple[int, ...]
MOST = 4000


class NotFinite(Exception):
    """There are no finitely many states to look at, or the problem makes no sense."""


def is_false(problem: Mapping[str, Any]) -> bool:
    """Does some run violate the property, or leave the range of a variable where the claim excludes that?"""
    return Runs(problem).violated()


def evaluated(term: Any, names: Mapping[str, Any]) -> Any:
    """The value of a term; numbers are exact."""
    if type(term) is bool:
        return term
    if type(term) is not list:
        return Fraction(term)
    if term[0] == "name":
        if term[1] not in names:
            raise NotFinite(f"no value of {term[1]}")
        return names[term[1]]
    parts = [evaluated(part, names) for part in term[1:]]
    match term[0]:
        case "+":
            return sum(parts)
        case "-":
            return parts[0] - parts[1]
        case "negate":
            return -parts[0]
        case "*":
            return reduce(mul, parts)
        case "/":
            if not parts[1]:
                raise NotFinite("a division by zero")
            return Fraction(parts[0]) / parts[1]
        case "min" | "max":
            return min(parts) if term[0] == "min" else max(parts)
        case "abs":
            return abs(parts[0])
        case "<":
            return parts[0] < parts[1]
        case "<=":
            return parts[0] <= parts[1]
        case "=":
            return parts[0] == parts[1]
        case "not":
            return not parts[0]
        case "and" | "or":
            return all(parts) if term[0] == "and" else any(parts)
        case "=>":
            return bool(parts[1]) or not parts[0]
        case "ite":
            return parts[1] if parts[0] else parts[2]
    raise NotFinite(f"operator {term[0]}")


def network_outputs(network: Mapping[str, Any], inputs: list[Fraction]) -> list[Fraction]:
    values = [[np.float32(float(x)) for x in inputs]]
    for node in network["nodes"]:
        if node[0] == "affine":
            source, rows, columns = values[node[1]], node[2], node[3]
            weights, bias = _floats(node[4]), _floats(node[5])
            found = []
            for row in range(rows):
                total = np.float32(0)
                for column in range(columns):
                    total += weights[row * columns + column] * source[column]
                found.append(total + bias[row])
            values.append(found)
        elif node[0] == "relu":
            values.append([max(x, np.float32(0)) for x in values[node[1]]])
        else:
            raise NotFinite(f"node {node[0]}")
    return [Fraction(float(x)) for x in values[-1]]


def _floats(text: str) -> list[np.float32]:
    data = base64.b64decode(text)
    return [np.float32(x) for x in struct.unpack(f"<{len(data) // 4}f", data)]


def _range(declared: list[Any]) -> list[Any]:
    _, low, high, kind = declared
    if kind == "boolean":
        return [False, True]
    if kind != "integer" or low is None or high is None:
        raise NotFinite("a variable with infinitely many values")
    return list(range(-(-Fraction(low) // 1), Fraction(high) // 1 + 1))


class Runs:
    """The states and steps of a canonical problem."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = problem
        self.names = [v[0] for v in problem["variables"]]
        self.ranges = [_range(v) for v in problem["variables"]]
        if problem["controls"] or len(set(self.names)) < len(self.names):
            raise NotFinite("controls")
        self.asked = problem["property"]
        self.labels = problem["policy"]["actions"]
        self.owns = problem["policy"]["owns"]
        self.known: dict[State, tuple[list[State], bool, bool, bool]] = {}

    def starts(self) -> list[State]:
        if reduce(mul, map(len, self.ranges), 1) > MOST:
            raise NotFinite("too many states")
        return [s for s in product(*self.ranges) if evaluated(self.problem["initial"], self._values(s))]

    def _values(self, state: State) -> dict[str, Any]:
        return dict(zip(self.names, state, strict=True))

    def look(self, state: State) -> tuple[list[State], bool, bool, bool]:
        """Next states within their ranges; is there one outside, is it an end, does the condition hold."""
        if state not in self.known:
            self.known[state] = self._looked(state)
        return self.known[state]

    def _looked(self, state: State) -> tuple[list[State], bool, bool, bool]:
        values, policy = self._values(state), self.problem["policy"]
        inputs = [Fraction(evaluated(t, values)) for t in policy["observe"]]
        outputs = [] if policy["network"] is None else network_outputs(policy["network"], inputs)
        enabled = [e for e in self.problem["edges"] if evaluated(e["guard"], values)]
        own = {e["action"] for e in enabled if e["action"] in self.owns}
        if policy["rules"]:
            picked = self._ruled(values) if own else set()
        else:
            picked = self._picked(policy["choose"], outputs, own)
        permitted = [e for e in enabled if e["action"] not in self.owns or e["action"] in picked]
        outside, after = False, []
        for edge in permitted:
            for new in self._after(edge, values):
                after.append(new)
        kept = [s for s in after if all(x in r for x, r in zip(s, self.ranges, strict=True))]
        outside = len(kept) < len(after)
        seen = values | {f"output[{i}]": o for i, o in enumerate(outputs)}
        seen |= {f"chosen({a})": a in picked for a in self.owns}
        seen |= {"deadlocked": not enabled, "stalled": bool(own) and not (picked and picked <= own)}
        return kept, outside, not permitted, bool(evaluated(self.asked["condition"], seen))

    def _ruled(self, values: Mapping[str, Any]) -> set[str]:
        """What the first rule that applies says; a network behind rules is not looked at here."""
        if self.problem["policy"]["network"] is not None:
            raise NotFinite("rules before a network")
        fitting = [r["then"] for r in self.problem["policy"]["rules"] if evaluated(r["when"], values)]
        return set(fitting[:1])

    def _picked(self, choose: str, outputs: list[Fraction], own: set[str]) -> set[str]:
        if not own:
            return set()
        if choose == "sample":
            return set(self.labels)
        ready = [i for i, a in enumerate(self.labels) if choose == "argmax" or a in own]
        return {self.labels[max(ready, key=lambda i: (outputs[i], -i))]}

    def _after(self, edge: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[State]:
        for picks in product(*map(_range, edge["chosen"])):
            here = {**values, **{c[0]: p for c, p in zip(edge["chosen"], picks, strict=True)}}
            if evaluated(edge["assuming"], here):
                for outcome in edge["outcomes"]:
                    new = {name: evaluated(term, here) for name, term in outcome}
                    yield tuple(new.get(n, values[n]) for n in self.names)

    def violated(self) -> bool:
        kind, steps, after = self.asked["kind"], self.asked.get("steps"), self.asked.get("after", 0)
        if steps is not None:
            return self._violated_within(kind, steps, after)
        reached = self.reached(kind == "eventually")
        if any(self.look(s)[1] for s in reached):
            return True  # a step leaves the ranges
        if kind == "never":
            return any(self.look(s)[3] for s in reached)
        quiet = {s for s in reached if not self.look(s)[3]}
        return any(self.look(s)[2] for s in quiet) or self._has_cycle(quiet)

    def reached(self, until_good: bool = False) -> set[State]:
        """The states of all runs, or of all runs until they are good."""
        found: set[State] = set()
        waiting = self.starts()
        while waiting:
            state = waiting.pop()
            if state not in found and not (until_good and self.look(state)[3]):
                found.add(state)
                waiting += self.look(state)[0]
        return found

    def _has_cycle(self, states: set[State]) -> bool:
        left = set(states)
        while True:
            stuck = {s for s in left if not left.intersection(self.look(s)[0])}
            if not stuck:
                return bool(left)
            left -= stuck

    def _violated_within(self, kind: str, steps: int, after: int) -> bool:
        here = quiet = set(self.starts())
        for number in range(steps + 1):
            if kind == "never" and any(self.look(s)[3] for s in here):
                return True
            if number >= after:
                quiet = {s for s in quiet if not self.look(s)[3]}
            if kind == "within" and quiet and (number == steps or any(self.look(s)[2] for s in quiet)):
                return True
            if number < steps and any(self.look(s)[1] for s in here):
                return True
            here = {n for s in here for n in self.look(s)[0]}
            quiet = {n for s in quiet for n in self.look(s)[0]}
        return False
