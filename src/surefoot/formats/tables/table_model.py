"""A table with all that questions about it need: what a network observes, actions, properties by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, WrongType
from surefoot.formats.tables.state_encoding import StateEncoding, encode_states, is_plain_name
from surefoot.formats.tables.table_environment import (
    ELAPSED,
    GAIN,
    LOSS,
    LOT,
    REWARD,
    TERMINATED,
    build_table_environment,
)
from surefoot.formats.tables.transition_table import State, TransitionTable, show_state
from surefoot.problem.environment import Environment
from surefoot.problem.property import (
    STEPS,
    Bound,
    Eventually,
    Expected,
    Never,
    Path,
    Probability,
    Property,
    Within,
)
from surefoot.term.arguments import describe_value
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    equal,
    ite,
    negate_condition,
)
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Int

Label: TypeAlias = "Callable[[Any], Any] | Term"
_MOST_OBSERVED = 5000
_FEW = 16  # states that a condition lists


@dataclass(frozen=True, slots=True)
class TableModel:
    """An environment, how policies are wired to it, and the properties that can be asked by name."""

    environment: Environment
    encoding: StateEncoding
    table: TransitionTable
    actions: tuple[str, ...]
    properties: Mapping[str, Property]
    absent: Mapping[str, str]  # why a usual name is not there
    limit: int | None = None  # episodes are cut off after so many steps
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # all values of a variable, if known


@dataclass(frozen=True, slots=True)
class TableQuestions:
    """What is said about a table beside its steps."""

    labels: Mapping[str, Label] = field(default_factory=dict)  # names that questions may use
    goal: Label | None = None
    bad: Label | None = None
    limit: int | None = None
    counted: bool = False  # the steps of the episode are part of the state
    notes: tuple[str, ...] = ()


def build_table_model(
    name: str,
    table: TransitionTable,
    actions: Sequence[str] | None = None,
    *,
    variables: Sequence[str] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    asked: TableQuestions | None = None,
) -> TableModel:
    """The model of a table; `actions`: their labels, `variables`: the names of the entries of a state."""
    said = asked or TableQuestions()
    encoding = encode_states(table.states, variables, ranges)
    labels = name_actions(table.actions) if actions is None else _check_labels(actions, table)
    known = _Known(table, encoding, said)
    environment = build_table_environment(
        name,
        table,
        encoding,
        labels,
        definitions=known.definitions(),
        counted=said.limit if said.counted else None,
        notes=said.notes,
    )
    properties = _episode_properties(known, said.limit)
    return TableModel(
        environment, encoding, table, labels, properties, known.absent, said.limit, dict(ranges or {})
    )


def name_actions(actions: Sequence[State]) -> tuple[str, ...]:
    """Labels of actions: texts as they are, others by their names, numbers as `a0`."""
    found = []
    for action in actions:
        name = action if isinstance(action, str) else getattr(action, "name", None)
        found.append(name if isinstance(name, str) else f"a{action}".replace("-", "_"))
    for label, action in zip(found, actions, strict=True):
        if not label or found.count(label) > 1:
            what = f"the action {show_state(action)} has no name of its own"
            raise InvalidProblem(what, fix="name them: names=[…]", where="actions")
    return tuple(found)


def _check_labels(labels: Sequence[str], table: TransitionTable) -> tuple[str, ...]:
    if isinstance(labels, str) or not all(isinstance(label, str) and label for label in labels):
        raise WrongType("a name of an action is no text", fix='give ["left", "right"]', where="names")
    if len(labels) != len(table.actions) or len(set(labels)) != len(labels):
        what = f"{len(set(labels))} different names for {len(table.actions)} actions"
        shown = ", ".join(show_state(action) for action in table.actions[:8])
        raise InvalidProblem(what, fix=f"give one for each of {shown}", where="names")
    return tuple(labels)


class _Known:
    """What names mean in this table: labels, `goal` and `bad`."""

    def __init__(self, table: TransitionTable, encoding: StateEncoding, said: TableQuestions) -> None:
        self.table, self.encoding = table, encoding
        self.absent: dict[str, str] = {}
        self.labels = {name: self._term(label, name) for name, label in said.labels.items()}
        over = Var(TERMINATED)
        goal = None if said.goal is None else self._condition(said.goal, "goal")
        bad = None if said.bad is None else self._condition(said.bad, "bad")
        if goal is None and (won := self._rewarded_ends()):
            goal = conjunction_of((over, self._by_cell([n in won for n in range(len(table.states))])))
            if bad is None and won == self._ends():
                self.why_safe = "no episode ends without a positive reward"
        if goal is not None and goal == over:
            self.why_safe = "every end of an episode is the goal"
        if bad is None and goal is not None and not self.why_safe:
            bad = conjunction_of((over, negate_condition(goal)))
        self.goal, self.bad = goal, bad
        if goal is None:
            self.absent |= dict.fromkeys(("goal", "P goal", "Pmax goal"), self.why)
        if bad is None:
            self.absent |= dict.fromkeys(("safe", "P safe", "Pmax safe"), self.why_safe or self.why)

    why_safe = ""
    why = "nothing says which states are the goal: no episode ends with a positive reward"

    def definitions(self) -> tuple[tuple[str, Term], ...]:
        taken = {v.name for v in self.encoding.variables} | {TERMINATED, LOT, ELAPSED}
        found = dict(self.encoding.names)
        for name in self.labels:
            if not isinstance(name, str) or not is_plain_name(name) or name in taken:
                what = f"the label {show_state(name)} is no name of its own"
                raise InvalidProblem(what, fix="give it a name that no variable has", where="labels")
        for name, term in (("goal", self.goal), ("bad", self.bad), *self.labels.items()):
            if term is not None and name not in taken:
                found[name] = term
        return tuple(found.items())

    def _condition(self, label: Label, name: str) -> Term:
        term = self._term(label, name)
        if callable(label) and not _is_truth_table(term):
            fix = "give a function of a state that returns True or False"
            raise WrongType(f"`{name}` is a number", fix=fix, where=name)
        return substitute_names(term, dict(self.encoding.names) | self.labels)

    def _term(self, label: Label, name: str) -> Term:
        """A term, or the function of a state by cell."""
        if not callable(label):
            return label
        values = []
        for state in self.table.states:
            try:
                value = label(state)
            except Exception as error:
                what = f"it ends with {type(error).__name__}: {' '.join(str(error).split())}"
                where = f"{name}: state {show_state(state)}"
                raise InvalidProblem(what, fix="correct the function", where=where) from error
            values.append(bool(value) if type(value).__name__ in ("bool_", "bool") else value)
        kinds = {type(value) is bool for value in values}
        if len(kinds) > 1 or not all(isinstance(value, int) for value in values):
            odd = next((v for v in values if not isinstance(v, int)), None)
            what = (
                f"it returns {describe_value(odd)}"
                if len(kinds) == 1
                else "it returns truth values and numbers"
            )
            raise WrongType(what, fix="return True or False, or an int", where=name)
        return self._by_cell(values)

    def _by_cell(self, values: Sequence[Any]) -> Term:
        if len(set(values)) == 1:
            return Const(values[0])
        if values[0].__class__ is bool and (told := self._one_entry(values)) is not None:
            return told
        if values[0].__class__ is bool and 2 * sum(values) <= len(values) and sum(values) <= _FEW:
            return self._one_of([number for number, holds in enumerate(values) if holds])
        cells: list[Const] = [Const(type(values[0])(0))] * self.encoding.size
        for cell, value in zip(self.encoding.cells, values, strict=True):
            cells[cell] = Const(value)
        return Apply(Op.SELECT, (Apply(Op.ARRAY, tuple(cells)), self.encoding.cell))

    def _one_entry(self, values: Sequence[bool]) -> Term | None:
        """That one entry of the state has one of few values, where it alone decides."""
        found: list[tuple[Term, ...]] = []
        for place, variable in enumerate(self.encoding.variables):
            held: dict[int, bool] = {}
            pairs = zip(self.encoding.entries, values, strict=True)
            if all(held.setdefault(entries[place], value) == value for entries, value in pairs):
                chosen = sorted(entry for entry, value in held.items() if value)
                if len(chosen) <= min(_FEW, len(held) // 2):
                    found.append(tuple(equal(Var(variable.name), entry) for entry in chosen))
        return disjunction_of(min(found, key=len)) if found else None

    def _one_of(self, states: Sequence[int]) -> Term:
        """That the state is one of these, as a reader would write it."""
        own = self.encoding.variables
        own = own[:1] if own[0].name == self.encoding.cell_name() else own
        entries = self.encoding.entries
        each = [
            conjunction_of(tuple(equal(Var(v.name), e) for v, e in zip(own, entries[n], strict=False)))
            for n in states
        ]
        return disjunction_of(tuple(each))

    def _ends(self) -> set[int]:
        several = [outcomes for row in self.table.rows for outcomes in row if outcomes]
        return {outcome.state for outcomes in several for outcome in outcomes if outcome.terminated}

    def _rewarded_ends(self) -> set[int]:
        """The states into which episodes end with a positive reward; none where that is not sure."""
        paid: dict[int, set[bool]] = {}
        for row in self.table.rows:
            for outcomes in row:
                for outcome in outcomes or ():
                    if outcome.terminated:
                        paid.setdefault(outcome.state, set()).add(outcome.reward > 0)
        won = {state for state, signs in paid.items() if True in signs}
        if any(len(paid[state]) > 1 for state in won):
            self.why = "an episode may end in the same state with a positive reward and without"
            return set()
        return won


def _is_truth_table(term: Term) -> bool:
    """Of what was made from a function."""
    if isinstance(term, Apply) and term.op is Op.SELECT and isinstance(term.args[0], Apply):
        term = term.args[0].args[0]
    return not isinstance(term, Const) or isinstance(term.value, bool)


def _episode_properties(known: _Known, limit: int | None) -> dict[str, Property]:
    """What can be asked by name."""
    last = limit
    bounds = () if last is None else (Bound(high=Const(last)),)
    found: dict[str, Property] = {}
    if known.bad is not None:
        found["safe"] = Never(known.bad, last)
        found["P safe"] = Probability(Path("G", negate_condition(known.bad), bounds=bounds), over="avg")
    if known.goal is not None:
        found["goal"] = Eventually(known.goal) if last is None else Within(known.goal, last)
        found["P goal"] = Probability(Path("F", known.goal, bounds=bounds), over="avg")
    for name in ("safe", "goal"):  # whatever policy is best for it
        if isinstance(average := found.get(f"P {name}"), Probability):
            found[f"Pmax {name}"] = replace(average, optimise="max")
    over = Var(TERMINATED)
    signs = {o.reward > 0 for row in known.table.rows for several in row for o in several or () if o.reward}
    found["return"] = Expected(REWARD, over, over="avg", steps=last)
    if False in signs:  # the parts have a value (infinity, too) where the difference of both has none
        if True in signs:
            found["gain"] = Expected(GAIN, over, over="avg", steps=last)
        found["loss"] = Expected(LOSS, over, over="avg", steps=last)
    found["steps"] = Expected(STEPS, over, over="avg", steps=last)
    return found


def one_hot_terms(name: str, encoding: StateEncoding) -> tuple[Term, ...]:
    """How a network observes a variable: one number for each value, 1 where it has it."""
    kind = next((v.kind for v in encoding.variables if v.name == name), None)
    if not isinstance(kind, Int) or kind.low is None or kind.high is None:
        raise InvalidProblem(f"`{name}` is no variable of the table", where="observe")
    if kind.high - kind.low >= _MOST_OBSERVED:
        what = f"`{name}` has {kind.high - kind.low + 1} values, too many to be observed one by one"
        raise InvalidProblem(what, fix="observe its entries", where="observe")
    return tuple(ite(equal(Var(name), v), 1, 0) for v in range(kind.low, kind.high + 1))
