"""What can be said about the state at one time: its names, which edges are enabled, what the policy may do.

A policy is a list of rules and perhaps a network behind them: the first rule whose condition holds decides,
and the network where none does. Wherever a pick is open (ties, sampling) every possible one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ...kernel.problem import Control
from ...kernel.query import ClaimedVariable, Formula, Linear
from ...kernel.term import Term, term_atoms
from .canonical_problem import CanonicalProblem
from .formula import FALSE, TRUE, form_comparison, formula_and, formula_or
from .term import (
    FormulaScope,
    Number,
    Truth,
    constant_cases,
    number_cases,
    truth_formula,
    variable_cases,
)

_ONE = Fraction(1)


@dataclass(frozen=True)
class TimeFrame:
    problem: CanonicalProblem
    time: int

    def at(self, name: str, time: int | None = None) -> str:
        return f"{name}@{self.time if time is None else time}"

    @cached_property
    def plain(self) -> FormulaScope:
        """State variables alone."""
        numbers = {v.name: variable_cases(self.at(v.name)) for v in self.problem.variables}
        truths = {v.name: self.bit(v.name) for v in self.problem.variables if v.kind == "boolean"}
        return FormulaScope(numbers, truths, {v.name: (v.low, v.high) for v in self.frame_variables()})

    @cached_property
    def scope(self) -> FormulaScope:
        """State variables and controls."""
        return replace(self.plain, numbers={**self.plain.numbers, **self._controls()})

    def bit(self, name: str, time: int | None = None) -> Truth:
        """A boolean is true, and is false."""
        here = self.at(name, time)
        return ("=", {here: _ONE, "": -_ONE}), ("=", {here: _ONE})

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.at(f"output[{i}]") for i in range(self.problem.outputs))

    def frame_variables(self) -> Iterable[ClaimedVariable]:
        """The variables of this time: state, outputs, picks."""
        for v in self.problem.variables:
            yield ClaimedVariable(self.at(v.name), v.low, v.high, _numeric_kind(v.kind))
        ends = self.problem.free.outputs
        for number, name in enumerate(self.outputs):
            low, high = ends.get(number, (None, None))
            yield ClaimedVariable(name, low, high, "real")
        for choice, name in chosen_names(self.problem).items():
            yield ClaimedVariable(self.at(name), choice.low, choice.high, _numeric_kind(choice.kind))
        for number, (least, most) in self.problem.free.inputs.items():
            yield ClaimedVariable(self.free_input(number), least, most, self._read_kind(number))
        for number in ends:
            yield ClaimedVariable(self.computed_outputs[number], None, None, "real")

    # Inputs and outputs of the network that are free: nothing ties them to what the network reads or says.

    def free_input(self, number: int) -> str:
        return self.at(f"input[{number}]")

    @property
    def computed_outputs(self) -> tuple[str, ...]:
        """What the network computes; a free output is another number than that."""
        free = self.problem.free.outputs
        return tuple(self.at(f"computed[{i}]") if i in free else o for i, o in enumerate(self.outputs))

    def _read_kind(self, number: int) -> str:
        """What stands for a variable alone is a number of its kind."""
        seen = self.problem.observe[number]
        return next(
            (_numeric_kind(v.kind) for v in self.problem.variables if seen == ("name", v.name)), "real"
        )

    def initial(self) -> Formula:
        return truth_formula(self.problem.initial, True, self.plain)

    def condition(self, wanted: bool) -> Formula:
        """The property's condition may be `wanted` in this state."""
        return self.condition_formula(self.problem.property.condition, wanted)

    def condition_formula(self, asked: Term, wanted: bool) -> Formula:
        """A condition about state, policy and what it picks may be `wanted` in this state."""
        raw: dict[Any, Number] = {("output", i): variable_cases(o) for i, o in enumerate(self.outputs)}
        numbers = {} if self.problem.rules else raw  # where a rule decides, the network is not asked
        known = {("name", v.name) for v in self.problem.variables} | numbers.keys()
        reserved = {} if term_atoms(asked) <= known else self._acting_truths()
        names = replace(
            self.scope,
            numbers={**numbers, **self.scope.numbers},
            truths={**reserved, **self.scope.truths},
            is_open=bool(reserved),
        )
        return truth_formula(asked, wanted, names)

    # Which rule decides.

    @cached_property
    def _fires(self) -> tuple[Formula, ...]:
        """For each rule: it is the first whose condition holds."""
        found: list[Formula] = []
        before: list[Formula] = []
        for when, _ in self.problem.rules:
            found.append(formula_and((*before, truth_formula(when, True, self.plain))))
            before.append(truth_formula(when, False, self.plain))
        return tuple(found)

    @cached_property
    def _no_rule(self) -> Formula:
        return formula_and(truth_formula(when, False, self.plain) for when, _ in self.problem.rules)

    def _controls(self) -> dict[str, Number]:
        """Each control in cases: what a rule says, or the output."""
        found: dict[str, Number] = {}
        for number, control in enumerate(self.problem.controls):
            cases: list[tuple[Formula, Linear]] = []
            for fires, (_, then) in zip(self._fires, self.problem.rules, strict=True):
                said = _clip_control(control, number_cases(then[number], self.plain))
                cases += [(formula_and((fires, where)), line) for where, line in said]
            if self.problem.network is not None:
                for where, line in _clip_control(control, variable_cases(self.outputs[number])):
                    cases.append((formula_and((self._no_rule, where)), line))
            found[control.name] = tuple(case for case in cases if case[0] != FALSE)
        return found

    # Which edges are enabled, and which of them the policy permits.

    @cached_property
    def guards(self) -> tuple[Truth, ...]:
        edges = self.problem.edges
        return tuple(
            (truth_formula(e.guard, True, self.scope), truth_formula(e.guard, False, self.scope))
            for e in edges
        )

    def _action_enabled(self, actions: Iterable[str]) -> Truth:
        """Some edge with such an action is enabled, and none is."""
        wanted = set(actions)
        guards = [g for g, e in zip(self.guards, self.problem.edges, strict=True) if e.action in wanted]
        return formula_or(g[0] for g in guards), formula_and(g[1] for g in guards)

    @cached_property
    def _best(self) -> tuple[tuple[Formula, str], ...]:
        """For each output: the network may pick its action."""
        problem, found = self.problem, []
        for i, name in enumerate(self.outputs):
            ahead = [self._no_rule]
            for j, other in enumerate(self.outputs):
                beats = TRUE if i == j else form_comparison("<=", {other: _ONE}, {name: _ONE})
                if problem.choose == "argmax-applicable":
                    beats = formula_or((self._action_enabled([problem.actions[j]])[1], beats))
                ahead.append(TRUE if problem.choose == "sample" else beats)
            if problem.choose == "argmax-applicable":
                ahead.append(self._action_enabled([problem.actions[i]])[0])
            found.append((formula_and(ahead), problem.actions[i]))
        return tuple(found)

    @cached_property
    def _picks(self) -> tuple[tuple[Formula, str], ...]:
        """Where the policy may pick which action."""
        if self.problem.choose == "value":
            return ()
        rules = zip(self._fires, self.problem.rules, strict=True)
        return (*((fires, str(then)) for fires, (_, then) in rules), *self._best)

    def edge_permitted(self, number: int) -> Formula:
        """This edge is enabled, and the policy permits it."""
        action = self.problem.edges[number].action
        picked = TRUE
        if action is not None and action in self.problem.owns:
            picked = formula_or(where for where, label in self._picks if label == action)
        return formula_and((self.guards[number][0], picked))

    def edge_blocked(self, number: int) -> Formula:
        """This edge may be disabled, or the policy may pick another action; else it is surely permitted."""
        action, disabled = self.problem.edges[number].action, self.guards[number][1]
        if action is None or action not in self.problem.owns:
            return disabled
        return formula_or((disabled, *self._others(action)))

    def _others(self, action: str) -> list[Formula]:
        """Where the policy may pick something else, so that this action is not picked."""
        problem = self.problem
        sampled = problem.choose == "sample" and problem.network is not None
        single = self._picks[: len(problem.rules)] if sampled else self._picks
        others = [where for where, label in single if label != action]
        if problem.network is None or (sampled and action not in problem.actions):
            others.append(self._no_rule)
        return others

    def may_end(self) -> Formula:
        """Policy and environment together may permit nothing: a run may end here, if others go on."""
        edges = zip(self.guards, self.problem.edges, strict=True)
        silent = formula_and(guard[1] for guard, edge in edges if edge.action not in self.problem.owns)
        return formula_and((silent, TRUE if self.problem.choose == "value" else self._idle()))

    def _idle(self) -> Formula:
        """Something that may be picked is not enabled; of what may be drawn one action is enough."""
        applicable, none = (
            self.problem.choose == "argmax-applicable",
            self._action_enabled(self.problem.actions)[1],
        )
        picks = self._picks[: len(self.problem.rules)] if applicable else self._picks
        ways = [formula_and((where, self._action_enabled([label])[1])) for where, label in picks]
        if applicable or self.problem.network is None:
            ways.append(formula_and((self._no_rule, none)))
        return formula_or(ways)

    def _acting_truths(self) -> dict[Any, Truth]:
        """Of `deadlocked`, `stalled` and `chosen`; on a tie a pick may be this one or another."""
        problem, guards = self.problem, self.guards
        found: dict[Any, Truth] = {
            ("deadlocked",): (formula_and(g[1] for g in guards), formula_or(g[0] for g in guards))
        }
        if problem.choose == "value":
            return found | {("stalled",): (FALSE, TRUE)}
        some, none = self._action_enabled(problem.owns)
        sampled = problem.choose == "sample" and problem.network is not None
        single = self._picks[: len(problem.rules)] if sampled else self._picks
        misses = [formula_and((where, self._action_enabled([label])[1])) for where, label in single]
        meets = [formula_and((where, self._action_enabled([label])[0])) for where, label in single]
        if sampled:
            each = [self._action_enabled([a]) for a in problem.actions]
            misses.append(formula_and((self._no_rule, formula_or(e[1] for e in each))))
            meets.append(formula_and((self._no_rule, formula_and(e[0] for e in each))))
        if problem.network is None:
            misses.append(self._no_rule)
        found["stalled",] = (formula_and((some, formula_or(misses))), formula_or((none, *meets)))
        for action in problem.owns:
            picked = formula_or(where for where, label in self._picks if label == action)
            found["chosen", action] = (
                formula_and((some, picked)),
                formula_or((none, *self._others(action))),
            )
        return found


def chosen_names(problem: CanonicalProblem) -> dict[ClaimedVariable, str]:
    distinct = dict.fromkeys(c for edge in problem.edges for c in edge.chosen)
    return {choice: f"chosen[{n}]" for n, choice in enumerate(distinct)}


def _numeric_kind(kind: str) -> str:
    return "integer" if kind == "boolean" else kind


def _clip_control(control: Control, cases: Number) -> Number:
    """Each case as it is inside the bounds, and the bounds beyond them."""
    if not control.clipped:
        return cases
    found = []
    for where, line in cases:
        inside = [where]
        for end, low in ((control.low, True), (control.high, False)):
            if end is not None:
                pair = (line, {"": end} if end else {})
                inside.append(form_comparison("<=", *(pair[::-1] if low else pair)))
                beyond = form_comparison("<=", *(pair if low else pair[::-1]))
                found.append((formula_and((where, beyond)), constant_cases(end)[0][1]))
        found.insert(0, (formula_and(inside), line))
    return tuple(case for case in found if case[0] != FALSE)
