"""The truth about a claim `graph` that something is never so, from its problem alone: all runs are followed.

Networks are evaluated in float32, sums from left to right; of equal outputs each may be picked. These are
some of the evaluations that a certificate in float32 arithmetic has to cover. Terms and networks are those of
`execution_truth`; nothing of the package is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from benchmarks.mutation.execution_truth import NotFinite, evaluated, network_outputs

State = tuple[Any, ...]  # values of the variables, then the location of each component
MOST = 20_000


class Wrong(Exception):
    """A run comes to a state in which something has no value or leaves its range: the claim is not true."""


def value(term: Any, names: Mapping[str, Any]) -> Any:
    """The value of a term; parts that do not matter are not looked at."""
    if type(term) is not list:
        return term if type(term) is bool else Fraction(term)
    match term:
        case ["name", name]:
            if name not in names:
                raise NotFinite(f"no value of {name}")
            return names[name]
        case ["at", component, location]:
            return names[f"at {component}"] == location
        case ["deadlocked" | "stalled" as name]:
            return names[name]
        case ["chosen", action]:
            return names["picked"] == action
        case ["and", *parts]:
            return all(value(p, names) for p in parts)
        case ["or", *parts]:
            return any(value(p, names) for p in parts)
        case ["=>", premise, conclusion]:
            return not value(premise, names) or value(conclusion, names)
        case ["ite", test, then, otherwise]:
            return value(then if value(test, names) else otherwise, names)
        case ["array", *parts]:
            return tuple(value(p, names) for p in parts)
        case ["select", array, index]:
            several, place = value(array, names), value(index, names)
            if place.denominator != 1 or not 0 <= place < len(several):
                raise Wrong("an index outside its array")
            return several[int(place)]
        case [operator, *parts]:
            return evaluated([operator, *(value(p, names) for p in parts)], {})
    raise NotFinite("a term of no kind")


class Runs:
    """The states and steps of a problem as a claim `graph` writes it."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem, self.world = problem, problem["environment"]
        self.names = [name for name, _ in self.world["variables"]]
        self.ranges = [_range(kind) for _, kind in self.world["variables"]]
        self.components = self.world["components"]
        self.asked = problem["property"]
        if self.asked["kind"] != "never" or len(set(self.names)) < len(self.names):
            raise NotFinite("not a claim that something is never so")
        self.alone = len(self.components) == 1 and not self.world["synchronisations"]

    def starts(self) -> Iterator[State]:
        for values in product(*self.ranges):
            if value(self.world["initial"], dict(zip(self.names, values, strict=True))):
                for places in product(*(c["initial"] for c in self.components)):
                    yield (*values, *places)

    def named(self, state: State) -> dict[str, Any]:
        places = zip((c["name"] for c in self.components), state[len(self.names) :], strict=True)
        return {**dict(zip(self.names, state, strict=False)), **{f"at {n}": p for n, p in places}}

    def steps(self, state: State) -> Iterator[tuple[str | None, tuple[str, ...], list[Mapping[str, Any]]]]:
        """Joint steps: label, names of their edges, and the edges, which keep the component's number."""
        names = self.named(state)
        ready: list[list[dict[str, Any]]] = []
        for number, component in enumerate(self.components):
            here = names[f"at {component['name']}"]
            mine = [
                {**e, "component": number, "called": f"{component['name']}#{place}"}
                for place, e in enumerate(component["edges"])
                if e["source"] == here
            ]
            ready.append([e for e in mine if value(e["guard"], names)])
        for several in ready:
            for edge in several:
                if self.alone or edge["action"] is None:
                    yield edge["action"], (edge["called"],), [edge]
        for actions, label in self.world["synchronisations"]:
            groups = [
                [e for e in ready[c] if e["action"] == a] for c, a in enumerate(actions) if a is not None
            ]
            for together in product(*groups):  # a vector of no action: a step that changes nothing
                yield label, tuple(e["called"] for e in together), list(together)

    def look(self, state: State) -> tuple[bool, list[State]]:
        """Is it bad, for some action that may be picked; and what may come next."""
        names, steps = self.named(state), list(self.steps(state))
        owned = [self._action(label, called) for label, called, _ in steps]
        own = {a for a in owned if a is not None}
        picks = self._picks(names, own)
        bad, after = False, []
        for pick in picks:
            seen = {**names, "picked": pick, "deadlocked": not steps}
            seen["stalled"] = bool(own) and pick not in own
            bad = bad or bool(value(self.asked["condition"], seen))
        for action, (_, _, edges) in zip(owned, steps, strict=True):
            if action is None or action in picks:
                after += list(self._after(state, names, edges))
        return bad, after

    def _action(self, label: str | None, called: tuple[str, ...]) -> str | None:
        owns = [] if self.problem["policy"] is None else self.problem["policy"]["owns"]
        return next((name for name in (label, *called) if name in owns), None)

    def _picks(self, names: Mapping[str, Any], own: set[str]) -> list[str | None]:
        policy = self.problem["policy"]
        if policy is None or not own:
            return [None]
        if policy["rules"] or policy["network"] is None:
            raise NotFinite("rules")
        outputs = network_outputs(policy["network"], [Fraction(value(t, names)) for t in policy["observe"]])
        ready = [i for i, a in enumerate(policy["actions"]) if policy["choose"] == "argmax" or a in own]
        best = max((outputs[i] for i in ready), default=None)
        return [policy["actions"][i] for i in ready if outputs[i] == best]

    def _after(
        self, state: State, names: Mapping[str, Any], edges: list[Mapping[str, Any]]
    ) -> Iterator[State]:
        chosen = [c for e in edges for c in e["chosen"]]
        for picked in product(*(_range(kind) for _, kind in chosen)):
            here = {**names, **{c[0]: p for c, p in zip(chosen, picked, strict=True)}}
            if not all(value(e["assuming"], here) for e in edges):
                continue
            for parts in product(*(e["outcomes"] for e in edges)):
                if all(value(p["probability"], here) for p in parts):
                    yield self._moved(state, here, edges, parts)

    def _moved(
        self, state: State, here: Mapping[str, Any], edges: list[Mapping[str, Any]], parts: tuple[Any, ...]
    ) -> State:
        new = list(state)
        written: set[str] = set()
        for edge, part in zip(edges, parts, strict=True):
            new[len(self.names) + edge["component"]] = part["target"]
            for target, term, index in part["updates"]:
                if index != 0 or target[0] != "name" or target[1] not in self.names:
                    raise NotFinite("an update of another kind")
                place = self.names.index(target[1])
                if target[1] in written or (found := value(term, here)) not in self.ranges[place]:
                    raise Wrong("a variable leaves its range or is written twice")
                written.add(target[1])
                new[place] = found
        return tuple(new)

    def reached(self) -> dict[State, bool]:
        """All states of runs, and whether each is bad."""
        found: dict[State, bool] = {}
        waiting = list(self.starts())
        while waiting:
            state = waiting.pop()
            if state not in found:
                found[state], after = self.look(state)
                waiting += after
        return found


def _range(kind: Any) -> list[Any]:
    if kind == "boolean":
        return [False, True]
    if kind[0] != "integer" or None in kind or kind[2] - kind[1] > MOST:
        raise NotFinite("a variable of another kind, or with too many values")
    return [Fraction(v) for v in range(kind[1], kind[2] + 1)]


def truth(problem: Mapping[str, Any]) -> str:
    """`true`, `false` or `not known`."""
    try:
        return "false" if any(Runs(problem).reached().values()) else "true"
    except Wrong:
        return "false"
    except (NotFinite, KeyError, IndexError, ValueError, TypeError):
        return "not known"
