"""What a model does in one state: which steps are enabled, what the policy picks, where a step leads.

Written from docs/reference (problem-file, syntax, jani, explicit) and docs/certificates.md (sections 9, 11).
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tests.laws.oracle.model import Edge, Kind, Model, Outcome
from tests.laws.oracle.network import outputs_of, softmax_shares
from tests.laws.oracle.terms import UndefinedError, Value, number, value_of

State = tuple[Value, ...]  # the variables in order, then the number of each component's location
Names = dict[str, Value]


class EscapeError(UndefinedError):
    """A new value lies outside of its kind, or probabilities are none."""


class AmbiguousError(Exception):
    """The documentation does not say what this means."""


@dataclass(frozen=True)
class Step:
    """A joint step whose guards hold."""

    label: str | None
    places: tuple[tuple[int, int], ...]  # (component, edge)
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Pick:
    """What the policy does in a state: `action` is a label or a place; None where it picks nothing."""

    share: Fraction
    action: object
    due: bool
    controls: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Landing:
    """Where one outcome of a step leads."""

    probability: Fraction
    state: State
    rewards: tuple[tuple[str, Value], ...]


class Meaning:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds: dict[str, Kind] = {v.name: v.kind for v in model.variables}
        for name, length, kind in model.windows:
            self.kinds |= {f"{name}_{i}": kind for i in range(length)}
        self.names = list(self.kinds)
        self.windows = {name: length for name, length, _ in model.windows}
        self.component = {c.name: i for i, c in enumerate(model.components)}

    def starts(self) -> list[State]:
        """Every state that satisfies `initial`, in no particular order."""
        given = {v.name: v.starts for v in self.model.variables}
        ranges = [given.get(name) or tuple(values_of(kind)) for name, kind in self.kinds.items()]
        places = [
            [c.locations.index(name) for name in (c.initial or c.locations[:1])] if c.locations else [0]
            for c in self.model.components
        ]
        states = itertools.product(*ranges, *places)
        return [s for s in states if value_of(self.model.initial, self.look(s))]

    def look(self, state: State) -> Names:
        """The names that terms over a state may mention."""
        names = dict(zip(self.names, state, strict=False))
        for i, component in enumerate(self.model.components):
            here = state[len(self.names) + i]
            for j, location in enumerate(component.locations):
                names[f"@{component.name}={location}"] = here == j
        for name, _, initial in self.model.transients:
            names[name] = initial
        before = dict(names)
        for i, component in enumerate(self.model.components):
            here = state[len(self.names) + i]
            for location, name, term in component.values:
                if component.locations[here] == location:
                    names[name] = value_of(term, before)
        return names

    def ready(self, state: State, names: Names, component: int) -> Iterator[tuple[int, Edge]]:
        """The edges of a component that could take part in a step."""
        automaton = self.model.components[component]
        here = state[len(self.names) + component]
        for i, edge in enumerate(automaton.edges):
            at_source = edge.source is None or automaton.locations[here] == edge.source
            if at_source and value_of(edge.guard, names):
                yield i, edge

    def enabled(self, state: State, names: Names) -> list[Step]:
        ready = [list(self.ready(state, names, c)) for c in range(len(self.model.components))]
        steps = [
            Step(None, ((c, i),), (e,)) for c, own in enumerate(ready) for i, e in own if e.action is None
        ]
        if self.model.synchronisations is None:
            assert len(self.model.components) == 1
            steps += [Step(e.action, ((0, i),), (e,)) for i, e in ready[0] if e.action is not None]
            return steps
        for vector in self.model.synchronisations:
            parts = [
                [((self.component[c], i), e) for i, e in ready[self.component[c]] if e.action == action]
                for c, action in vector.actions
            ]
            for joint in itertools.product(*parts):
                steps.append(Step(vector.result, tuple(p for p, _ in joint), tuple(e for _, e in joint)))
        return steps

    # The policy

    def owns(self, step: Step) -> bool:
        policy = self.model.policy
        if policy is None or policy.choose == "value":
            return False
        if policy.edges_of is not None:
            return any(c == self.component[policy.edges_of] for c, _ in step.places)
        if policy.actions is None:
            return step.label is not None
        return step.label in policy.actions

    def keys(self) -> list[object]:
        """What the outputs of the network stand for."""
        policy = self.model.policy
        assert policy is not None
        if policy.edges_of is None:
            return list(policy.actions or ())
        component = self.component[policy.edges_of]
        order = policy.order or range(len(self.model.components[component].edges))
        return [(component, i) for i in order]

    def takes(self, step: Step, action: object) -> bool:
        """Whether this step is (one of) the action that was picked."""
        return action in step.places if isinstance(action, tuple) else step.label == action

    def controls(self, names: Names) -> dict[str, Value]:
        """What a policy of values sets, and for a network its outputs."""
        policy = self.model.policy
        if policy is None:
            return {}
        found: dict[str, Value] = {}
        raw: list[Value] = []
        if policy.layers:
            observed = self.observed(names)
            raw = [number(Fraction(float(x))) for x in outputs_of(policy.layers, observed)]
            found |= {f"output{i}": x for i, x in enumerate(raw)}
        elif self.model.controls:
            for when, then in policy.branches or ():
                if value_of(when, names):
                    assert isinstance(then, tuple)
                    raw = [value_of(t, names) for t in then]
                    break
            else:
                raise AmbiguousError("no branch sets the controls")
        for control, x in zip(self.model.controls, raw, strict=False):
            x = x if control.low is None else max(x, control.low)
            found[control.name] = number(x if control.high is None else min(x, control.high))
        return found

    def observed(self, names: Names) -> list[Value]:
        """The inputs of the network; the name of a window stands for all its values."""
        assert self.model.policy is not None
        found = []
        for term in self.model.policy.observe:
            if isinstance(term, tuple) and term[0] == "var" and term[1] in self.windows:
                found += [names[f"{term[1]}_{i}"] for i in range(self.windows[term[1]])]
            else:
                found.append(value_of(term, names))
        return found

    def picks(self, names: Names, steps: list[Step], *, widened: bool) -> list[Pick]:
        """What the policy may pick: one thing, with `sample` one for each draw, widened one for each tie."""
        policy = self.model.policy
        owned = [s for s in steps if self.owns(s)]
        if policy is None or policy.choose == "value" or not owned:
            return [Pick(Fraction(1), None, False)]
        if policy.branches is not None:
            for when, then in policy.branches:
                if value_of(when, names):
                    return [Pick(Fraction(1), then, True)]
            return [Pick(Fraction(1), None, True)]
        keys = self.keys()
        scores = [names[f"output{i}"] for i in range(len(keys))]
        if policy.choose == "sample":
            shares = softmax_shares(outputs_of(policy.layers, self.observed(names)))
            return [Pick(share, key, True) for share, key in zip(shares, keys, strict=True)]
        allowed = [
            i
            for i, key in enumerate(keys)
            if policy.choose == "argmax" or any(self.takes(s, key) for s in owned)
        ]
        top = max(scores[i] for i in allowed)
        best = [i for i in allowed if scores[i] == top]
        chosen = best if widened else best[:1]
        return [Pick(Fraction(1, len(chosen)), keys[i], True) for i in chosen]

    # Steps

    def valuations(self, step: Step, names: Names) -> Iterator[Names]:
        """The values that the environment may pick for this step."""
        choices = {c.name: c for e in step.edges for c in e.chosen}
        ranges = [
            sorted({value_of(t, names) for t in c.candidates})
            if c.candidates is not None
            else list(values_of(c.kind))
            for c in choices.values()
        ]
        for values in itertools.product(*ranges):
            chosen = dict(zip(choices, values, strict=True))
            if not all(choices[n].kind.contains(x) for n, x in chosen.items()):
                continue
            if all(value_of(e.assuming, names | chosen) for e in step.edges):
                yield chosen

    def land(self, state: State, step: Step, names: Names) -> list[Landing]:
        """The outcomes of positive probability; `names` has the chosen values and controls in it.

        Where one of them has no meaning the others are in the error: a run may take them all the same.
        """
        landings, failure = [], None
        for joint in itertools.product(*(e.outcomes for e in step.edges)):
            probability = Fraction(1)
            for outcome in joint:
                p = Fraction(value_of(outcome.probability, names))
                if not 0 <= p <= 1:
                    raise EscapeError("a probability outside of [0, 1]")
                probability *= p
            if probability > 0:
                try:
                    landings.append(self.follow(state, step, joint, names, probability))
                except UndefinedError as error:
                    failure = error
        if failure is not None:
            failure.beside = tuple(landings)
            raise failure
        if sum(x.probability for x in landings) != 1:
            raise EscapeError("probabilities that do not sum to 1")
        return landings

    def follow(
        self, state: State, step: Step, joint: tuple[Outcome, ...], names: Names, probability: Fraction
    ) -> Landing:
        current = dict(names)
        transient = {name: initial for name, _, initial in self.model.transients}
        rewards: dict[str, Value] = {}
        for outcome in joint:
            for name, term in outcome.rewards:
                rewards[name] = rewards.get(name, 0) + value_of(term, names)
        updates = [u for outcome in joint for u in outcome.updates]
        for order in sorted({u.order for u in updates}):
            writes: list[tuple[str, Value, Value]] = []
            for u in (u for u in updates if u.order == order):
                index = None if u.index is None else value_of(u.index, current)
                writes.append((u.name, index, value_of(u.value, current)))
            for name, index, value in writes:
                if name in self.windows:
                    length = self.windows[name]
                    for i in range(length - 1):
                        current[f"{name}_{i}"] = names[f"{name}_{i + 1}"]
                    current[f"{name}_{length - 1}"] = value
                elif index is None:
                    current[name] = value
                    if name in transient:
                        transient[name] = value
                else:
                    array = current[name]
                    if not 0 <= index < len(array):
                        raise UndefinedError("an index outside of the array")
                    current[name] = (*array[:index], value, *array[index + 1 :])
            for name, kind in self.kinds.items():
                if not kind.contains(current[name]):
                    raise EscapeError(f"{name} = {current[name]}")
        places = list(state[len(self.names) :])
        for (component, _), outcome in zip(step.places, joint, strict=True):
            if outcome.target is not None:
                places[component] = self.model.components[component].locations.index(outcome.target)
        for name, value in transient.items():
            rewards[f"steps {name}"] = value
            rewards[f"exit {name}"] = names[name]
        after = (*(current[name] for name in self.names), *places)
        return Landing(probability, after, tuple(sorted(rewards.items())))


def values_of(kind: Kind) -> Iterator[Value]:
    if kind.length is not None:
        yield from itertools.product(*(list(values_of(kind.entry)) for _ in range(kind.length)))
    elif kind.base == "bool":
        yield from (False, True)
    else:
        assert kind.base == "int"
        assert kind.low is not None
        assert kind.high is not None
        yield from range(kind.low, kind.high + 1)
