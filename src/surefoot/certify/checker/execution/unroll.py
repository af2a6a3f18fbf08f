"""Runs of a problem as queries: states at times 0, 1, …, a network call for each, and the moves between.

Every run of the reference semantics of this many steps, whose states keep to their ranges, is a solution.
Variable `x` at time t is called `x@t`, output i `output[i]@t`, and the n-th value that the environment may
pick (values of different edges with the same name and range are one) `chosen[n]@t`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ..number import Refused
from ..query import Call, Formula, Query, Variable, inner
from .formula import FALSE, TRUE, Ends, all_of, compare, names_in, settled_by_each_other, simplified, some_of
from .problem import Control, Declared, Edge, Problem
from .term import Number, Scope, Truth, constant, mentioned, truth, value, variable

_ONE = Fraction(1)


@dataclass(frozen=True)
class Moment:
    """What can be said about the state at one time."""

    problem: Problem
    time: int

    def at(self, name: str, time: int | None = None) -> str:
        return f"{name}@{self.time if time is None else time}"

    @cached_property
    def scope(self) -> Scope:
        """State variables and controls."""
        numbers = {v.name: variable(self.at(v.name)) for v in self.problem.variables}
        truths = {v.name: self._bit(v.name) for v in self.problem.variables if v.kind == "boolean"}
        for control, output in zip(self.problem.controls, self.outputs, strict=False):
            numbers[control.name] = _clipped(control, output)
        bounds = {v.name: (v.low, v.high) for v in self.declared()}
        return Scope(numbers, truths, bounds)

    def plain(self) -> Scope:
        """State variables alone."""
        own = {v.name: self.scope.numbers[v.name] for v in self.problem.variables}
        return replace(self.scope, numbers=own)

    def _bit(self, name: str, time: int | None = None) -> Truth:
        return (
            ("=", {self.at(name, time): _ONE, "": -_ONE}),
            ("=", {self.at(name, time): _ONE}),
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.at(f"output[{i}]") for i in range(self.problem.outputs))

    def condition(self, wanted: bool) -> Formula:
        """The property's condition may be `wanted` in this state."""
        numbers = {f"output[{i}]": variable(name) for i, name in enumerate(self.outputs)}
        asked = self.problem.property.condition
        plain = {v.name for v in self.problem.variables} | numbers.keys()
        reserved = {} if mentioned(asked) <= plain else self._reserved()
        truths = {**reserved, **self.scope.truths}
        names = replace(self.scope, numbers={**numbers, **self.scope.numbers}, truths=truths)
        return truth(asked, wanted, names)

    def initial(self) -> Formula:
        return truth(self.problem.initial, True, self.plain())

    def call(self, bounds: Mapping[str, Ends], integers: frozenset[str]) -> Call:
        """The network reads the observed terms, each of which must be linear within these bounds."""
        inputs, plain = [], self.plain()
        for seen in self.problem.observe:
            lines = [
                line for where, line in value(seen, plain) if simplified(where, bounds, integers) != FALSE
            ]
            if any(line != lines[0] for line in lines[1:]):
                raise Refused("an observed term is not linear")
            inputs.append(lines[0] if lines else {})
        return Call(self.problem.network, tuple(inputs), self.outputs)

    # Which edges are enabled, and which of them the policy permits.

    @cached_property
    def guards(self) -> tuple[Truth, ...]:
        return tuple(
            (truth(e.guard, True, self.scope), truth(e.guard, False, self.scope)) for e in self.problem.edges
        )

    def _edges(self, action: str | None) -> list[int]:
        return [n for n, e in enumerate(self.problem.edges) if e.action == action]

    def _enabled(self, action: str) -> Truth:
        """Some edge with this action is enabled, and none is."""
        numbers = self._edges(action)
        return some_of(self.guards[n][0] for n in numbers), all_of(self.guards[n][1] for n in numbers)

    def _own(self) -> Truth:
        """Some action of the policy is enabled, and none is."""
        numbers = [n for n, e in enumerate(self.problem.edges) if e.action in self.problem.actions]
        return some_of(self.guards[n][0] for n in numbers), all_of(self.guards[n][1] for n in numbers)

    @cached_property
    def best(self) -> tuple[Formula, ...]:
        """For each output: its action may be the one that the policy picks."""
        found = []
        for i, name in enumerate(self.outputs):
            ahead = []
            for j, other in enumerate(self.outputs):
                beats = compare("<=", {other: _ONE}, {name: _ONE})
                if self.problem.choose == "sample" or i == j:
                    beats = TRUE
                elif self.problem.choose == "argmax-applicable":
                    beats = some_of((self._enabled(self.problem.actions[j])[1], beats))
                ahead.append(beats)
            if self.problem.choose == "argmax-applicable":
                ahead.append(self._enabled(self.problem.actions[i])[0])
            found.append(all_of(ahead))
        return tuple(found)

    def _picks(self, action: str) -> Formula:
        labels = self.problem.actions
        return some_of(best for best, label in zip(self.best, labels, strict=True) if label == action)

    def permitted(self, number: int) -> Formula:
        """This edge is enabled, and the policy permits it."""
        action = self.problem.edges[number].action
        if self.problem.choose == "value" and action in self.problem.actions:
            return FALSE
        picked = self._picks(action) if action is not None and action in self.problem.actions else TRUE
        return all_of((self.guards[number][0], picked))

    def ended(self) -> Formula:
        """Policy and environment together may permit nothing."""
        labels, choose = self.problem.actions, self.problem.choose
        silent = [
            g[1] for g, e in zip(self.guards, self.problem.edges, strict=True) if e.action not in labels
        ]
        own = TRUE
        if choose == "argmax":
            ways = (all_of((b, self._enabled(a)[1])) for b, a in zip(self.best, labels, strict=True))
            own = some_of(ways)
        elif labels:
            own = self._own()[1]
        return all_of((*silent, own))

    def _reserved(self) -> dict[str, Truth]:
        """`deadlocked`, `stalled` and `chosen(action)`; on a tie a pick may be this one or another."""
        problem = self.problem
        guards = self.guards
        found = {"deadlocked": (all_of(g[1] for g in guards), some_of(g[0] for g in guards))}
        some, none = self._own()
        if problem.choose == "value":
            return found | {"stalled": (FALSE, TRUE)}
        pairs = list(zip(self.best, problem.actions, strict=True))
        if problem.choose == "sample":
            missing = some_of(self._enabled(a)[1] for a in problem.actions)
            all_there = all_of(self._enabled(a)[0] for a in problem.actions)
            found["stalled"] = (all_of((some, missing)), some_of((none, all_there)))
            return found | {f"chosen({a})": (some, none) for a in problem.actions}
        misses = some_of(all_of((b, self._enabled(a)[1])) for b, a in pairs)
        meets = some_of(all_of((b, self._enabled(a)[0])) for b, a in pairs)
        found["stalled"] = (all_of((some, misses)), some_of((none, meets)))
        for action in problem.actions:
            others = some_of(b for b, a in pairs if a != action)
            found[f"chosen({action})"] = (all_of((some, self._picks(action))), some_of((none, others)))
        return found

    # Steps.

    def leaps(self) -> list[tuple[Formula, ...]]:
        """The ways to move on: each a list of what must hold, the next state included."""
        found = []
        for number, edge in enumerate(self.problem.edges):
            before = (self.permitted(number), truth(edge.assuming, True, self._with_chosen(edge)))
            for updates in edge.outcomes:
                after = (self._becomes(v, updates, edge) for v in self.problem.variables)
                whole = all_of((*before, *after))
                if whole != FALSE:
                    found.append(inner(whole) if whole[0] == "and" else (whole,))
        return found

    def move(self) -> Formula:
        """Some leap is taken; what all of them have in common is said once."""
        ways = self.leaps()
        if not ways:
            return FALSE
        common = [part for part in ways[0] if all(part in way for way in ways[1:])]
        own = some_of(all_of(part for part in way if part not in common) for way in ways)
        return all_of((*common, own))

    def _with_chosen(self, edge: Edge) -> Scope:
        picks = chosen_names(self.problem)
        numbers = {c.name: variable(self.at(picks[c])) for c in edge.chosen}
        truths = {c.name: self._bit(picks[c]) for c in edge.chosen if c.kind == "boolean"}
        both = {**self.scope.numbers, **numbers}, {**self.scope.truths, **truths}
        return replace(self.scope, numbers=both[0], truths=both[1])

    def _becomes(self, target: Declared, updates: Mapping[str, object], edge: Edge) -> Formula:
        """The next value of a variable."""
        new, term = self.at(target.name, self.time + 1), updates.get(target.name, ("name", target.name))
        scope = self._with_chosen(edge)
        if target.kind == "boolean":
            bits = self._bit(target.name, self.time + 1)
            ways = (
                all_of((bit, truth(term, said, scope))) for bit, said in zip(bits, (True, False), strict=True)
            )
            if term == ("name", target.name):
                return compare("=", {new: _ONE}, {self.at(target.name): _ONE})
            return some_of(ways)
        cases = value(term, scope)
        return some_of(all_of((where, compare("=", {new: _ONE}, line))) for where, line in cases)

    def escape(self) -> Formula:
        """A permitted step may lead out of the range of a variable."""
        found = []
        for number, edge in enumerate(self.problem.edges):
            scope = self._with_chosen(edge)
            before = (self.permitted(number), truth(edge.assuming, True, scope))
            for updates in edge.outcomes:
                leaving = some_of(
                    self._leaves(v, value(updates[v.name], scope))
                    for v in self.problem.variables
                    if v.name in updates and v.kind != "boolean"
                )
                found.append(all_of((*before, leaving)))
        return some_of(found)

    def _leaves(self, target: Declared, cases: Number) -> Formula:
        kinds = self.kinds()
        found = []
        for where, line in cases:
            if target.kind == "integer" and not _is_whole(line, kinds):
                raise Refused(f"`{target.name[:60]}` is an integer, but its new value may be none")
            alone = len(line) == 1 and all(c == 1 and kinds.get(n) == "float32" for n, c in line.items())
            if target.kind == "float32" and not alone:
                raise Refused(f"`{target.name[:60]}` is a float32 number, but its new value may be none")
            below = FALSE if target.low is None else compare("<", line, {"": target.low})
            above = FALSE if target.high is None else compare("<", {"": target.high}, line)
            found.append(all_of((where, some_of((below, above)))))
        return some_of(found)

    def kinds(self) -> dict[str, str]:
        return {v.name: v.kind for v in self.declared()}

    def declared(self) -> Iterable[Variable]:
        """The variables of this time: state, outputs, picks."""
        for v in self.problem.variables:
            yield Variable(self.at(v.name), v.low, v.high, _plain(v.kind))
        for name in self.outputs:
            yield Variable(name, None, None, "real")
        for choice, name in chosen_names(self.problem).items():
            yield Variable(self.at(name), choice.low, choice.high, _plain(choice.kind))


def chosen_names(problem: Problem) -> dict[Declared, str]:
    distinct = dict.fromkeys(c for edge in problem.edges for c in edge.chosen)
    return {choice: f"chosen[{n}]" for n, choice in enumerate(distinct)}


def _plain(kind: str) -> str:
    return "integer" if kind == "boolean" else kind


def _is_whole(line: Mapping[str, Fraction], kinds: Mapping[str, str]) -> bool:
    return all(c.denominator == 1 and (not n or kinds.get(n) == "integer") for n, c in line.items())


def _clipped(control: Control, output: str) -> Number:
    if not control.clipped or (control.low is None and control.high is None):
        return variable(output)
    line, cases, inside = {output: _ONE}, [], []
    for end, low in ((control.low, True), (control.high, False)):
        if end is not None:
            beyond = compare("<=", line, {"": end}) if low else compare("<=", {"": end}, line)
            inside.append(compare("<=", {"": end}, line) if low else compare("<=", line, {"": end}))
            cases.append((beyond, constant(end)[0][1]))
    return ((all_of(inside), line), *cases)


def run_query(problem: Problem, steps: int, parts: Iterable[Formula], what: str) -> Query:
    """The runs of this many steps that satisfy all parts. A network is called where its outputs matter."""
    moments = [Moment(problem, time) for time in range(steps + 1)]
    whole = all_of((*(m.move() for m in moments[:-1]), *parts))
    variables = {v.name: v for m in moments for v in m.declared()}
    if len(variables) < sum(1 for m in moments for _ in m.declared()):
        raise Refused("two variables have the same name")
    bounds: dict[str, Ends] = {v.name: (v.low, v.high) for v in variables.values()}
    integers = frozenset(v.name for v in variables.values() if v.kind == "integer")
    whole, known = settled_by_each_other(whole, bounds, integers)
    used = names_in(whole)
    calls = []
    for moment in moments:
        if used.intersection(moment.outputs):
            calls.append(moment.call(known, integers))
            used |= set(moment.outputs) | {n for line in calls[-1].inputs for n in line if n}
    return Query(tuple(v for v in variables.values() if v.name in used), tuple(calls), whole, what)
