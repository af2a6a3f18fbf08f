"""What can be said about the state at one time: its names, which edges are enabled, what the policy may do.

A policy is a list of rules and perhaps a network behind them: the first rule whose condition holds decides,
and the network where none does. Wherever a pick is open (ties, sampling) every possible one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ..query import Formula, Linear, Variable
from .formula import FALSE, TRUE, all_of, compare, some_of
from .problem import Control, Declared, Problem
from .term import Number, Scope, Term, Truth, constant, mentioned, truth, value, variable

_ONE = Fraction(1)


@dataclass(frozen=True)
class Moment:
    problem: Problem
    time: int

    def at(self, name: str, time: int | None = None) -> str:
        return f"{name}@{self.time if time is None else time}"

    @cached_property
    def plain(self) -> Scope:
        """State variables alone."""
        numbers = {v.name: variable(self.at(v.name)) for v in self.problem.variables}
        truths = {v.name: self.bit(v.name) for v in self.problem.variables if v.kind == "boolean"}
        return Scope(numbers, truths, {v.name: (v.low, v.high) for v in self.declared()})

    @cached_property
    def scope(self) -> Scope:
        """State variables and controls."""
        return replace(self.plain, numbers={**self.plain.numbers, **self._controls()})

    def bit(self, name: str, time: int | None = None) -> Truth:
        """A boolean is true, and is false."""
        here = self.at(name, time)
        return ("=", {here: _ONE, "": -_ONE}), ("=", {here: _ONE})

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.at(f"output[{i}]") for i in range(self.problem.outputs))

    def declared(self) -> Iterable[Variable]:
        """The variables of this time: state, outputs, picks."""
        for v in self.problem.variables:
            yield Variable(self.at(v.name), v.low, v.high, _plain(v.kind))
        ends = self.problem.free.outputs
        for number, name in enumerate(self.outputs):
            low, high = ends.get(number, (None, None))
            yield Variable(name, low, high, "real")
        for choice, name in chosen_names(self.problem).items():
            yield Variable(self.at(name), choice.low, choice.high, _plain(choice.kind))
        for number, (least, most) in self.problem.free.inputs.items():
            yield Variable(self.free_input(number), least, most, self._read_kind(number))
        for number in ends:
            yield Variable(self.computed[number], None, None, "real")

    # Inputs and outputs of the network that are free: nothing ties them to what the network reads or says.

    def free_input(self, number: int) -> str:
        return self.at(f"input[{number}]")

    @property
    def computed(self) -> tuple[str, ...]:
        """What the network computes; a free output is another number than that."""
        free = self.problem.free.outputs
        return tuple(self.at(f"computed[{i}]") if i in free else o for i, o in enumerate(self.outputs))

    def _read_kind(self, number: int) -> str:
        """What stands for a variable alone is a number of its kind."""
        seen = self.problem.observe[number]
        return next((_plain(v.kind) for v in self.problem.variables if seen == ("name", v.name)), "real")

    def initial(self) -> Formula:
        return truth(self.problem.initial, True, self.plain)

    def condition(self, wanted: bool) -> Formula:
        """The property's condition may be `wanted` in this state."""
        return self.says(self.problem.property.condition, wanted)

    def says(self, asked: Term, wanted: bool) -> Formula:
        """A condition about state, policy and what it picks may be `wanted` in this state."""
        raw = {f"output[{i}]": variable(name) for i, name in enumerate(self.outputs)}
        numbers = {} if self.problem.rules else raw  # where a rule decides, the network is not asked
        known = {v.name for v in self.problem.variables} | numbers.keys()
        reserved = {} if mentioned(asked) <= known else self._reserved()
        names = replace(
            self.scope,
            numbers={**numbers, **self.scope.numbers},
            truths={**reserved, **self.scope.truths},
            is_open=bool(reserved),
        )
        return truth(asked, wanted, names)

    # Which rule decides.

    @cached_property
    def _fires(self) -> tuple[Formula, ...]:
        """For each rule: it is the first whose condition holds."""
        found: list[Formula] = []
        before: list[Formula] = []
        for when, _ in self.problem.rules:
            found.append(all_of((*before, truth(when, True, self.plain))))
            before.append(truth(when, False, self.plain))
        return tuple(found)

    @cached_property
    def _no_rule(self) -> Formula:
        return all_of(truth(when, False, self.plain) for when, _ in self.problem.rules)

    def _controls(self) -> dict[str, Number]:
        """Each control in cases: what a rule says, or the output."""
        found: dict[str, Number] = {}
        for number, control in enumerate(self.problem.controls):
            cases: list[tuple[Formula, Linear]] = []
            for fires, (_, then) in zip(self._fires, self.problem.rules, strict=True):
                said = _clipped(control, value(then[number], self.plain))
                cases += [(all_of((fires, where)), line) for where, line in said]
            if self.problem.network is not None:
                for where, line in _clipped(control, variable(self.outputs[number])):
                    cases.append((all_of((self._no_rule, where)), line))
            found[control.name] = tuple(case for case in cases if case[0] != FALSE)
        return found

    # Which edges are enabled, and which of them the policy permits.

    @cached_property
    def guards(self) -> tuple[Truth, ...]:
        edges = self.problem.edges
        return tuple((truth(e.guard, True, self.scope), truth(e.guard, False, self.scope)) for e in edges)

    def _enabled(self, actions: Iterable[str]) -> Truth:
        """Some edge with such an action is enabled, and none is."""
        wanted = set(actions)
        guards = [g for g, e in zip(self.guards, self.problem.edges, strict=True) if e.action in wanted]
        return some_of(g[0] for g in guards), all_of(g[1] for g in guards)

    @cached_property
    def _best(self) -> tuple[tuple[Formula, str], ...]:
        """For each output: the network may pick its action."""
        problem, found = self.problem, []
        for i, name in enumerate(self.outputs):
            ahead = [self._no_rule]
            for j, other in enumerate(self.outputs):
                beats = TRUE if i == j else compare("<=", {other: _ONE}, {name: _ONE})
                if problem.choose == "argmax-applicable":
                    beats = some_of((self._enabled([problem.actions[j]])[1], beats))
                ahead.append(TRUE if problem.choose == "sample" else beats)
            if problem.choose == "argmax-applicable":
                ahead.append(self._enabled([problem.actions[i]])[0])
            found.append((all_of(ahead), problem.actions[i]))
        return tuple(found)

    @cached_property
    def _picks(self) -> tuple[tuple[Formula, str], ...]:
        """Where the policy may pick which action."""
        if self.problem.choose == "value":
            return ()
        rules = zip(self._fires, self.problem.rules, strict=True)
        return (*((fires, str(then)) for fires, (_, then) in rules), *self._best)

    def permitted(self, number: int) -> Formula:
        """This edge is enabled, and the policy permits it."""
        action = self.problem.edges[number].action
        picked = TRUE
        if action is not None and action in self.problem.owns:
            picked = some_of(where for where, label in self._picks if label == action)
        return all_of((self.guards[number][0], picked))

    def blocked(self, number: int) -> Formula:
        """This edge may be disabled, or the policy may pick another action; else it is surely permitted."""
        action, disabled = self.problem.edges[number].action, self.guards[number][1]
        if action is None or action not in self.problem.owns:
            return disabled
        return some_of((disabled, *self._others(action)))

    def _others(self, action: str) -> list[Formula]:
        """Where the policy may pick something else, so that this action is not picked."""
        problem = self.problem
        sampled = problem.choose == "sample" and problem.network is not None
        single = self._picks[: len(problem.rules)] if sampled else self._picks
        others = [where for where, label in single if label != action]
        if problem.network is None or (sampled and action not in problem.actions):
            others.append(self._no_rule)
        return others

    def ended(self) -> Formula:
        """Policy and environment together may permit nothing: a run may end here, if others go on."""
        edges = zip(self.guards, self.problem.edges, strict=True)
        silent = all_of(guard[1] for guard, edge in edges if edge.action not in self.problem.owns)
        return all_of((silent, TRUE if self.problem.choose == "value" else self._idle()))

    def _idle(self) -> Formula:
        """Something that may be picked is not enabled; of what may be drawn one action is enough."""
        applicable, none = self.problem.choose == "argmax-applicable", self._enabled(self.problem.actions)[1]
        picks = self._picks[: len(self.problem.rules)] if applicable else self._picks
        ways = [all_of((where, self._enabled([label])[1])) for where, label in picks]
        if applicable or self.problem.network is None:
            ways.append(all_of((self._no_rule, none)))
        return some_of(ways)

    def _reserved(self) -> dict[str, Truth]:
        """`deadlocked`, `stalled` and `chosen(action)`; on a tie a pick may be this one or another."""
        problem, guards = self.problem, self.guards
        found = {"deadlocked": (all_of(g[1] for g in guards), some_of(g[0] for g in guards))}
        if problem.choose == "value":
            return found | {"stalled": (FALSE, TRUE)}
        some, none = self._enabled(problem.owns)
        sampled = problem.choose == "sample" and problem.network is not None
        single = self._picks[: len(problem.rules)] if sampled else self._picks
        misses = [all_of((where, self._enabled([label])[1])) for where, label in single]
        meets = [all_of((where, self._enabled([label])[0])) for where, label in single]
        if sampled:
            each = [self._enabled([a]) for a in problem.actions]
            misses.append(all_of((self._no_rule, some_of(e[1] for e in each))))
            meets.append(all_of((self._no_rule, all_of(e[0] for e in each))))
        if problem.network is None:
            misses.append(self._no_rule)
        found["stalled"] = (all_of((some, some_of(misses))), some_of((none, *meets)))
        for action in problem.owns:
            picked = some_of(where for where, label in self._picks if label == action)
            found[f"chosen({action})"] = (all_of((some, picked)), some_of((none, *self._others(action))))
        return found


def chosen_names(problem: Problem) -> dict[Declared, str]:
    distinct = dict.fromkeys(c for edge in problem.edges for c in edge.chosen)
    return {choice: f"chosen[{n}]" for n, choice in enumerate(distinct)}


def _plain(kind: str) -> str:
    return "integer" if kind == "boolean" else kind


def _clipped(control: Control, cases: Number) -> Number:
    """Each case as it is inside the bounds, and the bounds beyond them."""
    if not control.clipped:
        return cases
    found = []
    for where, line in cases:
        inside = [where]
        for end, low in ((control.low, True), (control.high, False)):
            if end is not None:
                pair = (line, {"": end} if end else {})
                inside.append(compare("<=", *(pair[::-1] if low else pair)))
                beyond = compare("<=", *(pair if low else pair[::-1]))
                found.append((all_of((where, beyond)), constant(end)[0][1]))
        found.insert(0, (all_of(inside), line))
    return tuple(case for case in found if case[0] != FALSE)
