"""A transition table as an environment: one edge for each action, and constant arrays over the states.

The arrays say where outcome number k of an action leads, how likely it is and what it pays. So a table of
100,000 states has as many edges as one of ten. An action whose steps have very different numbers of outcomes
is divided into edges of similar ones, whose arrays are short.

`terminated` is a variable: true after a step that ends the episode, and then nothing happens any more. Starts
that are not equally likely are held by equally many lots: the variable `lot`, which says nothing later on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.tables.state_encoding import StateEncoding
from surefoot.formats.tables.transition_table import Outcomes, TransitionTable
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.term.term import (
    FALSE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    divide_terms,
    equal,
)
from surefoot.term.value_types import Bool, Int

TERMINATED, LOT, ELAPSED = "terminated", "lot", "elapsed"
MOST_LOTS = 20_000
REWARD, GAIN, LOSS = "reward", "gain", "loss"
MOST_CELLS = 30_000_000  # numbers in all arrays
_EXACT_INTEGERS = 2**62  # what machine code takes
_FEW_STARTS = 64
_WASTE = 4  # numbers in arrays for each outcome that there is
_SOME = 20_000


@dataclass(frozen=True, slots=True)
class _Group:
    """Some states in which an action can be taken, as an edge: `place` is where they stand in its arrays."""

    states: tuple[int, ...]
    place: Term
    places: tuple[int, ...]  # of these states
    size: int
    guard: tuple[Term, ...]


def build_table_environment(
    name: str,
    table: TransitionTable,
    encoding: StateEncoding,
    actions: Sequence[str],
    *,
    definitions: Sequence[tuple[str, Term]] = (),
    counted: int | None = None,
    notes: Sequence[str] = (),
) -> Environment:
    """The environment; `actions`: the labels, `counted`: so many steps are counted in the state."""
    return _Builder(table, encoding, counted).build(name, actions, definitions, notes)


class _Builder:
    def __init__(self, table: TransitionTable, encoding: StateEncoding, counted: int | None) -> None:
        self.table, self.encoding, self.counted = table, encoding, counted
        self.constants: dict[Any, Const] = {}
        self.arrays: dict[tuple[Any, ...], Term] = {}
        self.written = 0
        self.columns = [self.array(column) for column in encoding.columns()]
        outcomes = [o for row in table.rows for several in row for o in several or ()]
        ends = {o.state for o in outcomes if o.terminated}
        self.acting = {o.state for o in outcomes if not o.terminated} | {n for n, _ in table.starts}
        self.ends: list[bool] | None = None  # by cell, where the next state alone says it
        if not ends & self.acting:
            self.ends = [False] * encoding.size
            for number in ends:
                self.ends[encoding.cells[number]] = True
        self.signed = any(o.reward < 0 for o in outcomes)
        self.lots = [] if table.is_uniform_start() else allot_starts(table)

    def build(
        self, name: str, actions: Sequence[str], definitions: Sequence[tuple[str, Term]], notes: Sequence[str]
    ) -> Environment:
        edges: list[Edge] = []
        named: list[str] = []
        for number, action in enumerate(actions):
            several = [self.edge(number, action, group) for group in self.groups(number)]
            edges += several or [Edge(action=action, guard=FALSE)]  # known, though it can never be taken
            if number in self.table.normalised:
                named.append(f"main.{action}")
        first = [Variable(LOT, Int(0, len(self.lots) - 1))] if self.lots else []
        own = [Variable(TERMINATED, Bool())]
        own += [] if self.counted is None else [Variable(ELAPSED, Int(0, self.counted))]
        taken = {variable.name for variable in self.encoding.variables}
        if twice := next((v.name for v in (*first, *own) if v.name in taken), None):
            what = f"`{twice}` is an entry of the states, and a name of this tool"
            raise InvalidProblem(what, fix="call the entries otherwise: variables=[…]", where="variables")
        return Environment(
            name,
            (*first, *self.encoding.variables, *own),
            self.initial(),
            (Component("main", tuple(edges)),),
            definitions=tuple(definitions),
            normalised=tuple(named),
            notes=(*normalisation_notes(self.table), *notes),
        )

    # --- constants ------------------------------------------------------------------------------------

    def constant(self, value: Any) -> Const:
        key = (value.__class__, value)
        if (found := self.constants.get(key)) is None:
            found = self.constants[key] = Const(value)
        return found

    def array(self, values: Iterable[Any]) -> Term:
        """One term for equal arrays, so that they are looked at once."""
        key = tuple(map(self.constant, values))
        identity = tuple(map(id, key))
        if (found := self.arrays.get(identity)) is None:
            self.written += len(key)
            if self.written > MOST_CELLS:
                what = f"the table needs more than {MOST_CELLS} numbers"
                raise Unsupported(what, fix="merge states that behave alike", where="successors")
            found = self.arrays[identity] = Apply(Op.ARRAY, key)
        return found

    def lookup(self, group: _Group, values: Sequence[Any], filler: Any) -> Term:
        """What these values are by state; a constant if they are all the same."""
        if all(value == values[0] for value in values):
            return self.constant(values[0])
        cells = [filler] * group.size
        for place, value in zip(group.places, values, strict=True):
            cells[place] = value
        return Apply(Op.SELECT, (self.array(cells), group.place))

    def fractions(self, group: _Group, values: Sequence[Fraction], filler: int) -> Term:
        """The same of fractions: whole numbers over a common denominator, or over their own."""
        unit = common_denominator(values)
        if unit == 1:
            return self.lookup(group, [value.numerator for value in values], filler)
        if all(value == values[0] for value in values):
            return Const(values[0])
        if unit is not None and unit * max(Fraction(1), *map(abs, values)) < _EXACT_INTEGERS:
            over = self.lookup(group, [int(value * unit) for value in values], filler * unit)
            return divide_terms(over, Const(unit))
        above = self.lookup(group, [value.numerator for value in values], filler)
        return divide_terms(above, self.lookup(group, [value.denominator for value in values], 1))

    # --- edges ----------------------------------------------------------------------------------------

    def groups(self, action: int) -> list[_Group]:
        """The states in which the action can be taken, by how many outcomes it has."""
        rows, cells = self.table.rows, self.encoding.cells
        able = [n for n, row in enumerate(rows) if row[action]]
        if not able:
            return []
        counts = {n: len(rows[n][action] or ()) for n in able}
        most, size = max(counts.values()), self.encoding.size
        if most * size <= _WASTE * sum(counts.values()) + _SOME:
            guard = () if self.acting <= set(able) else (self.mark(able),)
            places = tuple(cells[n] for n in able)
            return [_Group(tuple(able), self.encoding.cell, places, size, guard)]
        several: dict[int, list[int]] = {}
        for n in able:
            several.setdefault(counts[n].bit_length(), []).append(n)
        return [self.short_group(own) for _, own in sorted(several.items())]

    def mark(self, states: Iterable[int]) -> Term:
        marked = [False] * self.encoding.size
        for number in states:
            marked[self.encoding.cells[number]] = True
        return Apply(Op.SELECT, (self.array(marked), self.encoding.cell))

    def short_group(self, states: list[int]) -> _Group:
        """With arrays that are as long as there are states in it."""
        places = [0] * self.encoding.size
        for place, number in enumerate(states):
            places[self.encoding.cells[number]] = place
        where = Apply(Op.SELECT, (self.array(places), self.encoding.cell))
        return _Group(tuple(states), where, tuple(range(len(states))), len(states), (self.mark(states),))

    def edge(self, action: int, label: str, group: _Group) -> Edge:
        goes_on: list[Term] = [~Var(TERMINATED)]
        goes_on += [] if self.counted is None else [Var(ELAPSED) < self.counted]
        rows = [self.table.rows[n][action] or () for n in group.states]
        outcomes = tuple(self.outcome(group, rows, k) for k in range(max(map(len, rows))))
        return Edge(action=label, guard=conjunction_of((*goes_on, *group.guard)), outcomes=outcomes)

    def outcome(self, group: _Group, rows: Sequence[Outcomes], number: int) -> Outcome:
        """Outcome number k of each state; where there are fewer, one of probability 0."""
        there = [row[number] if number < len(row) else None for row in rows]
        shares = [Fraction(0) if o is None else o.probability for o in there]
        cells = self.encoding.cells
        after = self.lookup(group, [0 if o is None else cells[o.state] for o in there], 0)
        if self.ends is not None:
            ends = self.select(self.ends, after)
        else:
            ends = self.lookup(group, [o is not None and o.terminated for o in there], False)
        updates = [*self.moves(after), Update(Var(TERMINATED), ends)]
        if self.lots:
            updates.append(Update(Var(LOT), Const(0)))
        if self.counted is not None:
            updates.append(Update(Var(ELAPSED), Var(ELAPSED) + 1))
        paid = [Fraction(0) if o is None else o.reward for o in there]
        probability = self.fractions(group, shares, int(number == 0))
        return Outcome(probability, tuple(updates), self.rewards(group, paid))

    def select(self, values: Sequence[Any], cell: Term) -> Term:
        if isinstance(cell, Const):
            assert isinstance(cell.value, int)
            return Const(values[cell.value])
        if all(value == values[0] for value in values):
            return self.constant(values[0])
        return Apply(Op.SELECT, (self.array(values), cell))

    def moves(self, after: Term) -> list[Update]:
        """The state of a cell."""
        found = []
        for variable, column in zip(self.encoding.variables, self.columns, strict=True):
            target = Var(variable.name)
            if target == self.encoding.cell:
                value = after
            elif isinstance(after, Const):
                assert isinstance(column, Apply)
                assert isinstance(after.value, int)
                value = column.args[after.value]
            else:
                value = Apply(Op.SELECT, (column, after))
            found.append(Update(target, value))
        return found

    def rewards(self, group: _Group, paid: Sequence[Fraction]) -> tuple[tuple[str, Term], ...]:
        found = [(REWARD, self.fractions(group, paid, 0))]
        if self.signed:
            found.append((GAIN, self.fractions(group, [max(p, Fraction(0)) for p in paid], 0)))
            found.append((LOSS, self.fractions(group, [max(-p, Fraction(0)) for p in paid], 0)))
        return tuple(found)

    # --- starts ---------------------------------------------------------------------------------------

    def initial(self) -> Term:
        starts = [number for number, _ in self.table.starts]
        parts: list[Term] = [~Var(TERMINATED)]
        parts += [] if self.counted is None else [equal(Var(ELAPSED), 0)]
        variables, entries = self.encoding.variables, self.encoding.entries
        if self.lots:
            columns = zip(*(entries[n] for n in self.lots), strict=True)
            held = [
                equal(Var(v.name), Apply(Op.SELECT, (self.array(column), Var(LOT))))
                for v, column in zip(variables, columns, strict=True)
            ]
            return conjunction_of((*held, *parts))
        several = starts
        spread = self.encoding.cell_name() is not None and len(variables) > 1  # the cell says the others
        if len(several) == 1 or (len(several) <= _FEW_STARTS and not spread):
            each = [
                conjunction_of(
                    tuple(equal(Var(v.name), e) for v, e in zip(variables, entries[n], strict=True))
                )
                for n in several
            ]
            return conjunction_of((disjunction_of(tuple(each)), *parts))
        tied = [
            equal(Var(v.name), Apply(Op.SELECT, (column, self.encoding.cell)))
            for v, column in zip(variables, self.columns, strict=True)
            if spread and Var(v.name) != self.encoding.cell
        ]
        return conjunction_of((self.mark(several), *tied, *parts))


def allot_starts(table: TransitionTable) -> list[int]:
    """The starts, each as often as its probability says."""
    unit = common_denominator([share for _, share in table.starts])
    if unit is None or unit > MOST_LOTS:
        what = f"the probabilities of the starts need more than {MOST_LOTS} equally likely lots"
        fix = "round them: Fraction(p).limit_denominator(100)"
        raise Unsupported(what, fix=fix, where="initial")
    return [number for number, share in table.starts for _ in range(int(share * unit))]


def common_denominator(values: Iterable[Fraction]) -> int | None:
    """The least one; None where it is long."""
    unit = 1
    for denominator in {value.denominator for value in values}:
        unit = lcm(unit, denominator)
        if unit >= _EXACT_INTEGERS:
            return None
    return unit


def normalisation_notes(table: TransitionTable) -> tuple[str, ...]:
    """How far from 1 the probabilities of the table were."""
    if not table.divided:
        return ()
    steps = sum(outcomes is not None for row in table.rows for outcomes in row)
    far = f"{float(table.farthest):.2g}"
    return (
        f"of {steps} steps in the table, {table.divided} had probabilities whose sum was up to {far} from 1",
    )
