"""The functions of one model in machine code: what is enabled, what each outcome does, which labels hold.

    unpack(packed, numbers)             pack(numbers, packed)
    guards(numbers, enabled)            one byte per edge
    apply<o>_<l>(before, after)         the updates of outcome o with the l-th index
    probability<e>(numbers, pairs)      those of an edge's outcomes, where they depend on the state
    reward<o>_<r>(numbers, pair)        likewise a reward
    labels(numbers, facts, bytes)       quantities(numbers, facts, pairs)
    until(numbers, out)                 stays(numbers, out): is the state not left, not passed through?

Each returns 0 or a status of `machine_values.py`. Edges and outcomes are numbered through all components.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from surefoot.explore.emit import machine_values as v
from surefoot.explore.emit.exact_quotients import quotient_functions
from surefoot.explore.emit.machine_values import (
    UNDEFINED,
    Truth,
    Value,
    Whole,
    integer_literal,
    number_to_ratio,
    require_number,
)
from surefoot.explore.emit.operators import emit_number_comparison, emit_number_sum, make_term_emitter
from surefoot.explore.emit.state_packing import CompileObjection, Packing, kind_size
from surefoot.explore.emit.term_emitter import ConstantPool, TermEmitter
from surefoot.problem.environment import Edge, Environment, Outcome, Update
from surefoot.term.term import TRUE, Const, Term, split_target
from surefoot.term.value_types import Array, Bool, ValueType
from surefoot.work.machine.llvm_ir import OVERFLOWING, IrFunction

_EXACT_IN_FLOAT32 = 2**24
_POINTERS = "ptr noalias nocapture readonly %numbers, ptr noalias nocapture %out"


@dataclass(frozen=True, slots=True)
class NumberedEdge:
    """An edge with its number, and the number of its first outcome."""

    component: int
    index: int
    edge: Edge
    first: int


def numbered_edges(environment: Environment) -> tuple[NumberedEdge, ...]:
    found: list[NumberedEdge] = []
    outcomes = 0
    for c, component in enumerate(environment.components):
        for e, edge in enumerate(component.edges):
            found.append(NumberedEdge(c, e, edge, outcomes))
            outcomes += len(edge.outcomes)
    return tuple(found)


class ModelEmitter:
    """The text of a model's functions, and the names of those that exist."""

    def __init__(
        self,
        environment: Environment,
        packing: Packing,
        rewards: tuple[str, ...],
        labels: Mapping[str, Term],
        quantities: Mapping[str, Term],
        facts: tuple[str, ...],
    ) -> None:
        self.environment, self.packing, self.module = environment, packing, ConstantPool()
        self.edges = numbered_edges(environment)
        self.rewards, self.facts, self.quantity_count = rewards, facts, len(quantities)
        self.levels = sorted({u.index for n in self.edges for o in n.edge.outcomes for u in o.updates}) or [0]
        self.functions: dict[str, str] = {}
        self._packers()
        self._guards()
        for n in self.edges:
            self._edge(n)
        self._labels(labels)
        self._quantities(quantities)

    def text(self) -> str:
        quotients = (f.text() for f in quotient_functions(v.OVERFLOW))
        return "\n".join([OVERFLOWING, self.module.text(), *quotients, *self.functions.values(), ""])

    def _end(self, f: IrFunction) -> None:
        if not f.ended:
            f.do("ret i64 0")
        self.functions[f.name] = f.text()

    def _packers(self) -> None:
        unpack = IrFunction(
            "unpack", "ptr noalias nocapture readonly %packed, ptr noalias nocapture %numbers"
        )
        words = [unpack.load("%packed", str(w)) for w in range(self.packing.words)]
        pack = IrFunction("pack", "ptr noalias nocapture readonly %numbers, ptr noalias nocapture %packed")
        packed = ["0"] * self.packing.words
        for i, slot in enumerate(self.packing.slots):
            if not slot.bits:
                unpack.store("%numbers", str(i), str(slot.low))
                continue
            part = unpack.value(f"lshr i64 {words[slot.word]}, {slot.shift}")
            part = unpack.value(f"and i64 {part}, {(1 << slot.bits) - 1}")
            unpack.store("%numbers", str(i), unpack.add(part, str(slot.low)))
            raised = pack.sub(pack.load("%numbers", str(i)), str(slot.low))
            shifted = pack.value(f"shl i64 {raised}, {slot.shift}")
            packed[slot.word] = pack.value(f"or i64 {packed[slot.word]}, {shifted}")
        for w, text in enumerate(packed):
            pack.store("%packed", str(w), text)
        self._end(unpack)
        self._end(pack)

    def _guards(self) -> None:
        whole = IrFunction("guards", _POINTERS)
        for c, component in enumerate(self.environment.components):
            if not component.edges:
                continue
            f = IrFunction(f"guards{c}", _POINTERS, internal=True)
            mine = [(i, n.edge) for i, n in enumerate(self.edges) if n.component == c]
            entry = self.packing.layout.places[c]
            if entry is None:
                self._ready(f, [(i, edge) for i, edge in mine if edge.source == component.locations[0]])
            else:
                self._by_location(f, self.packing.first[entry], component.locations, mine)
            self._end(f)
            whole.pass_on(whole.value(f"call i64 @guards{c}(ptr %numbers, ptr %out)"))
        self._end(whole)

    def _by_location(
        self, f: IrFunction, slot: int, locations: tuple[str, ...], mine: list[tuple[int, Edge]]
    ) -> None:
        blocks = {place: f.label() for place in locations}
        after = f.label()
        here = f.load("%numbers", str(slot))
        cases = " ".join(f"i64 {i}, label %{blocks[place]}" for i, place in enumerate(locations))
        f.do(f"switch i64 {here}, label %{after} [{cases}]")
        for place in locations:
            f.begin(blocks[place])
            self._ready(f, [(i, edge) for i, edge in mine if edge.source == place])
            f.do(f"br label %{after}")
        f.begin(after)

    def _ready(self, f: IrFunction, edges: list[tuple[int, Edge]]) -> None:
        """Stores 1 for the edges whose guards hold; the bytes are 0 before."""
        for i, edge in edges:
            if edge.guard == TRUE:
                f.store("%out", str(i), "1", "i8")
                continue
            holds = self._terms(f).truth(edge.guard)
            f.store("%out", str(i), f.value(f"zext i1 {holds.text} to i8"), "i8")

    def _terms(
        self, f: IrFunction, base: str = "%numbers", more: Mapping[str, Value] | None = None
    ) -> TermEmitter:
        return make_term_emitter(f, self.module, self.packing, base, more)

    def _edge(self, n: NumberedEdge) -> None:
        edge = n.edge
        if edge.chosen:
            raise CompileObjection("an edge leaves values to the environment")
        if edge.assuming != TRUE:
            raise CompileObjection("an edge has an assumption")
        if not all(isinstance(o.probability, Const) for o in edge.outcomes):
            self._probability(n)
        for k, outcome in enumerate(edge.outcomes):
            self._updates(n, n.first + k, outcome)
            for r, name in enumerate(self.rewards):
                self._reward(n.first + k, r, [t for reward, t in outcome.rewards if reward == name])

    def _probability(self, n: NumberedEdge) -> None:
        f = IrFunction(f"probability{self.edges.index(n)}", _POINTERS)
        t = self._terms(f)
        total = require_number(integer_literal(0))
        for k, outcome in enumerate(n.edge.outcomes):
            share = t.ratio(outcome.probability)
            f.fail(v.emit_integer_compare(f, "slt", share.top, integer_literal(0)).text, UNDEFINED)
            f.fail(v.emit_integer_compare(f, "slt", share.bottom, share.top).text, UNDEFINED)
            f.store("%out", str(2 * k), share.top.text)
            f.store("%out", str(2 * k + 1), share.bottom.text)
            total = emit_number_sum(f, total, share)
        is_one = emit_number_comparison(f, "eq", total, integer_literal(1))
        f.fail(f.value(f"xor i1 {is_one.text}, true"), UNDEFINED)
        self._end(f)

    def _reward(self, outcome: int, reward: int, parts: list[Term]) -> None:
        if all(isinstance(p, Const) for p in parts):
            return
        f = IrFunction(f"reward{outcome}_{reward}", _POINTERS)
        t = self._terms(f)
        total = require_number(integer_literal(0))
        for part in parts:
            total = emit_number_sum(f, total, t.number(part))
        f.store("%out", "0", number_to_ratio(total).top.text)
        f.store("%out", "1", number_to_ratio(total).bottom.text)
        self._end(f)

    def _updates(self, n: NumberedEdge, outcome: int, what: Outcome) -> None:
        """One function per index that has updates; the last one also moves to the next location."""
        component = self.environment.components[n.component]
        entry = self.packing.layout.places[n.component]
        for level, index in enumerate(self.levels):
            updates = [u for u in what.updates if u.index == index]
            last = level == len(self.levels) - 1  # terms of all levels see the old location
            moves = last and entry is not None and what.target != n.edge.source
            if not updates and not moves:
                continue
            f = IrFunction(f"apply{outcome}_{level}", _POINTERS)
            written: list[tuple[str, int, Whole]] = []
            for update in updates:
                self._write(f, update, written)
            if moves and entry is not None:
                place = component.locations.index(what.target)
                f.store("%out", str(self.packing.first[entry]), str(place))
            self._end(f)

    def _write(self, f: IrFunction, update: Update, written: list[tuple[str, int, Whole]]) -> None:
        t = self._terms(f)
        computed = t.value(update.value)
        name, path, kind, first, slot = self._place(t, update.target)
        for other, length, place in written:
            if other == name and length == path:
                f.fail(v.emit_integer_compare(f, "eq", place, first).text, UNDEFINED)
        written.append((name, path, first))
        numbers = t.numbers(computed)
        if len(numbers) != kind_size(kind):
            raise CompileObjection(f"`{name}` is given an array of another length")
        for i, one in enumerate(numbers):
            where = v.emit_integer_add(f, first, integer_literal(i))
            f.store("%out", where.text, self._fit_to_slot(f, one, kind, slot, name))

    def _fit_to_slot(self, f: IrFunction, value: Value, kind: ValueType, slot: int, name: str) -> str:
        """The number to be stored; undefined outside the bounds."""
        while isinstance(kind, Array):
            kind = kind.element
        if isinstance(value, Truth) != isinstance(kind, Bool):
            raise CompileObjection(f"`{name}` is given a value of another kind")
        if isinstance(value, Truth):
            return f.value(f"zext i1 {value.text} to i64")
        bounds = self.packing.slots[slot]
        exact = v.emit_number_to_integer(f, require_number(value))
        f.fail(v.emit_integer_compare(f, "slt", exact, integer_literal(bounds.low)).text, UNDEFINED)
        f.fail(v.emit_integer_compare(f, "slt", integer_literal(bounds.high), exact).text, UNDEFINED)
        return exact.text

    def _place(self, t: TermEmitter, target: Term) -> tuple[str, int, ValueType, Whole, int]:
        """Name, length of the path, kind, first slot, and one of the slots."""
        layout = self.packing.layout
        name, path = split_target(target)
        slot = self.packing.first[layout.slots[name]]
        kind, first = layout.kinds[name], integer_literal(slot)
        for index in path:
            assert isinstance(kind, Array)
            inside = v.emit_index_check(t.f, t.whole(index), kind.length)
            step = v.emit_integer_multiply(t.f, inside, integer_literal(kind_size(kind.element)))
            kind, first = kind.element, v.emit_integer_add(t.f, first, step)
        return name, len(path), kind, first, slot

    def _facts(self, f: IrFunction) -> dict[str, Value]:
        facts: dict[str, Value] = {}
        for i, name in enumerate(self.facts):
            facts[name] = Truth(f.compare("ne", f.load("%facts", str(i)), "0"))
        return facts

    def _labels(self, labels: Mapping[str, Term]) -> None:
        f = IrFunction("labels", f"{_POINTERS}, ptr noalias nocapture readonly %facts")
        for i, term in enumerate(labels.values()):
            holds = self._terms(f, more=self._facts(f)).truth(term)
            f.store("%out", str(i), f.value(f"zext i1 {holds.text} to i8"), "i8")
        self._end(f)

    def add_condition(self, name: str, condition: Term) -> None:
        """name(numbers, out): does the condition hold in this state?"""
        f = IrFunction(name, _POINTERS)
        f.store("%out", "0", f.value(f"zext i1 {self._terms(f).truth(condition).text} to i64"))
        self._end(f)

    def add_observe(self, observed: tuple[Term, ...]) -> None:
        """observe(numbers, out): the terms as float32 numbers, each rounded once.

        A conversion rounds correctly; so does the division of two numbers that are float32 numbers.
        """
        f = IrFunction("observe", _POINTERS)
        for i, term in enumerate(observed):
            value = self._terms(f).value(term)
            if isinstance(value, Truth):
                rounded = f.value(f"uitofp i1 {value.text} to float")
            else:
                exact = require_number(value)
                parts = (exact,) if isinstance(exact, Whole) else (exact.top, exact.bottom)
                if len(parts) > 1 and any(max(-p.low, p.high) > _EXACT_IN_FLOAT32 for p in parts):
                    raise CompileObjection("a large quotient is observed")
                floats = [f.value(f"sitofp i64 {part.text} to float") for part in parts]
                rounded = floats[0] if len(floats) == 1 else f.value(f"fdiv float {floats[0]}, {floats[1]}")
            f.store("%out", str(i), rounded, "float")
        self._end(f)

    def _quantities(self, quantities: Mapping[str, Term]) -> None:
        f = IrFunction("quantities", f"{_POINTERS}, ptr noalias nocapture readonly %facts")
        for i, term in enumerate(quantities.values()):
            amount = self._terms(f, more=self._facts(f)).ratio(term)
            f.store("%out", str(2 * i), amount.top.text)
            f.store("%out", str(2 * i + 1), amount.bottom.text)
        self._end(f)


def constant_reward(outcome: Outcome, name: str) -> Fraction | None:
    """The reward of an outcome if it does not depend on the state."""
    parts = [t for reward, t in outcome.rewards if reward == name]
    if not all(isinstance(p, Const) for p in parts):
        return None
    return sum((Fraction(p.value) for p in parts if isinstance(p, Const)), Fraction(0))
