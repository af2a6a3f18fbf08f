"""Terms in machine code: names, arrays and conditions; the operators are in `operators.py`.

`and`, `or`, `=>` and `ite` look at later arguments only when they matter, wherever these may be undefined.
What has no value ends the function with a status; so does what does not fit into 64 bits. Not on `fold_term`:
an operator begins and ends blocks of code between its arguments, and one value may hold in one block alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from surefoot.explore.emit import machine_values as v
from surefoot.explore.emit.machine_values import (
    ConstantArray,
    ElementList,
    Number,
    Ratio,
    StateArray,
    Truth,
    Value,
    Whole,
    integer_literal,
    number_to_ratio,
    require_number,
    require_truth,
)
from surefoot.explore.emit.state_packing import CompileObjection, Packing, kind_size
from surefoot.term.interval import is_surely_defined
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Array, Bool, Real, ValueType
from surefoot.work.machine.llvm_ir import IrFunction

_MOST_ELEMENTS = 64  # of an array that is computed rather than looked up


class ConstantPool:
    """What several functions share: arrays of constants."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, ...], str] = {}

    def constants(self, data: tuple[int, ...]) -> str:
        return self._names.setdefault(data, f"@data{len(self._names)}")

    def text(self) -> str:
        return "\n".join(
            f"{name} = private unnamed_addr constant [{len(data)} x i64] "
            f"[{', '.join(f'i64 {n}' for n in data)}]"
            for data, name in self._names.items()
        )


class TermEmitter:
    """The terms of one function; variables are read at `base`, other names are given."""

    def __init__(
        self,
        f: IrFunction,
        module: ConstantPool,
        packing: Packing,
        base: str,
        more: Mapping[str, Value],
        table: Mapping[Op, Callable[[TermEmitter, tuple[Term, ...]], Value]],
    ) -> None:
        self.f, self.module, self.packing, self.base, self.more = f, module, packing, base, more
        self.table = table

    def value(self, term: Term) -> Value:
        match term:
            case Const(bool() as known):
                return Truth("true" if known else "false")
            case Const(int() as known):
                return integer_literal(known)
            case Const(Fraction() as known):
                return Ratio(integer_literal(known.numerator), integer_literal(known.denominator))
            case Var(name):
                return self._variable(name)
            case Apply(op, args):
                if op not in self.table:
                    raise CompileObjection(f"`{op.value}` is not compiled")
                return self.table[op](self, args)
        raise AssertionError(term)

    def number(self, term: Term) -> Number:
        return require_number(self.value(term))

    def ratio(self, term: Term) -> Ratio:
        return number_to_ratio(self.number(term))

    def truth(self, term: Term) -> Truth:
        return require_truth(self.value(term))

    def whole(self, term: Term) -> Whole:
        return v.emit_number_to_integer(self.f, self.number(term))

    def _variable(self, name: str) -> Value:
        if name in self.more:
            return self.more[name]
        layout = self.packing.layout
        if name not in layout.names:
            raise CompileObjection(f"`{name}` is not a variable")
        first = self.packing.first[layout.slots[name]]
        return self.in_state(layout.kinds[name], integer_literal(first), first)

    def in_state(self, kind: ValueType, first: Whole, slot: int) -> Value:
        """What is at a place of the state: an array, or a number that is read."""
        if isinstance(kind, Array):
            return StateArray(kind, self.base, first, slot)
        bounds = self.packing.slots[slot]
        text = self.f.load(self.base, first.text)
        return self._typed_value(isinstance(kind, Bool), text, bounds.low, bounds.high)

    def _typed_value(self, is_truth: bool, text: str, low: int, high: int) -> Value:
        if is_truth:
            return Truth(self.f.compare("ne", text, "0"))
        return Whole(text, low, high)

    def _elements(self, value: Value) -> list[Value]:
        """Every element of an array, computed."""
        match value:
            case ElementList(elements):
                return list(elements)
            case StateArray(Array(element, length), _, first, slot):
                steps = (
                    v.emit_integer_add(self.f, first, integer_literal(i * kind_size(element)))
                    for i in range(length)
                )
                return [self.in_state(element, step, slot) for step in steps]
            case ConstantArray(_, shape):
                return [self._constant(value, integer_literal(i)) for i in range(shape[0])]
        raise CompileObjection("a number stands where an array is needed")

    def _constant(self, table: ConstantArray, index: Whole) -> Value:
        rest = table.shape[1:]
        stride = 1
        for length in rest:
            stride *= length
        first = v.emit_integer_add(
            self.f, table.first, v.emit_integer_multiply(self.f, index, integer_literal(stride))
        )
        if rest:
            return ConstantArray(table.name, rest, first, table.low, table.high, table.truth)
        return self._typed_value(table.truth, self.f.load(table.name, first.text), table.low, table.high)

    def select(self, value: Value, index: Whole) -> Value:
        match value:
            case StateArray(Array(element, length), _, first, slot):
                place = v.emit_integer_multiply(
                    self.f, v.emit_index_check(self.f, index, length), integer_literal(kind_size(element))
                )
                return self.in_state(element, v.emit_integer_add(self.f, first, place), slot)
            case ConstantArray(_, shape):
                return self._constant(value, v.emit_index_check(self.f, index, shape[0]))
            case ElementList(elements):
                index = v.emit_index_check(self.f, index, len(elements))
                if index.low == index.high:
                    return elements[index.low]
                found = elements[-1]
                for i, one in reversed(list(enumerate(elements[:-1]))):
                    found = self.choose(
                        v.emit_integer_compare(self.f, "eq", index, integer_literal(i)), one, found
                    )
                return found
        raise CompileObjection("a number stands where an array is needed")

    def choose(self, condition: Truth, then: Value, otherwise: Value) -> Value:
        """`ite` of two values that are both there."""
        match then, otherwise:
            case Truth(left), Truth(right):
                text = f"select i1 {condition.text}, i1 {left}, i1 {right}"
                return then if left == right else Truth(self.f.value(text))
            case Whole(), Whole():
                return v.emit_integer_select(self.f, condition, then, otherwise)
            case ((Whole() | Ratio()), (Whole() | Ratio())):
                left_ratio, right_ratio = number_to_ratio(then), number_to_ratio(otherwise)
                return Ratio(
                    v.emit_integer_select(self.f, condition, left_ratio.top, right_ratio.top),
                    v.emit_integer_select(self.f, condition, left_ratio.bottom, right_ratio.bottom),
                )
            case (
                (ElementList() | StateArray() | ConstantArray()),
                (ElementList() | StateArray() | ConstantArray()),
            ):
                pairs = zip(self.array_elements(then), self.array_elements(otherwise), strict=True)
                return ElementList(tuple(self.choose(condition, a, b) for a, b in pairs))
        raise CompileObjection("the branches of `ite` are of different kinds")

    def array_elements(self, value: Value) -> list[Value]:
        elements = self._elements(value)
        if len(elements) > _MOST_ELEMENTS:
            raise CompileObjection(f"an array of {len(elements)} elements is computed")
        return elements

    def numbers(self, value: Value) -> list[Value]:
        """All numbers of a value, in the order of the slots."""
        if isinstance(value, Truth | Whole | Ratio):
            return [value]
        return [n for element in self._elements(value) for n in self.numbers(element)]

    def short_circuit(self, args: tuple[Term, ...], *, until: bool) -> Truth:
        """`or` (until = True) and `and` (until = False), from left to right."""
        result = self.truth(args[0])
        joined = "or" if until else "and"
        for arg in args[1:]:
            if result.text == ("true" if until else "false"):
                return result
            if not self.may_be_undefined(arg):
                right = self.truth(arg)
                result = self._join_truths(joined, result, right)
                continue
            before, more, after = self.f.block, self.f.label(), self.f.label()
            first, second = (after, more) if until else (more, after)
            self.f.do(f"br i1 {result.text}, label %{first}, label %{second}")
            self.f.begin(more)
            right = self.truth(arg)
            last = self.f.block
            self.f.begin(after)
            known = "true" if until else "false"
            result = Truth(self.f.value(f"phi i1 [{known}, %{before}], [{right.text}, %{last}]"))
        return result

    def may_be_undefined(self, term: Term) -> bool:
        """Decides the shape of the code alone: then a part is computed only where it is looked at."""
        known = {**self.packing.layout.kinds, **dict.fromkeys(self.more, Real())}
        return not is_surely_defined(term, known)

    def _join_truths(self, joined: str, left: Truth, right: Truth) -> Truth:
        neutral, absorbing = ("false", "true") if joined == "or" else ("true", "false")
        if left.text == neutral or right.text == absorbing:
            return right
        if right.text == neutral or left.text == absorbing:
            return left
        return Truth(self.f.value(f"{joined} i1 {left.text}, {right.text}"))

    def branch(self, condition: Truth, then: Term, otherwise: Term) -> Value:
        """`ite` where a branch may be undefined; both branches leave numbers or truth values."""
        first, second, after = self.f.label(), self.f.label(), self.f.label()
        self.f.do(f"br i1 {condition.text}, label %{first}, label %{second}")
        ends = []
        for label, term in ((first, then), (second, otherwise)):
            self.f.begin(label)
            computed = self.value(term)
            if not isinstance(computed, Truth | Whole | Ratio):
                raise CompileObjection("an array is chosen by a condition")
            ends.append((computed, self.f.block))
            self.f.do(f"br label %{after}")
        self.f.begin(after)
        (left, from_left), (right, from_right) = ends

        def meet(kind: str, a: str, b: str) -> str:
            return a if a == b else self.f.value(f"phi {kind} [{a}, %{from_left}], [{b}, %{from_right}]")

        def meet_whole(a: Whole, b: Whole) -> Whole:
            return Whole(meet("i64", a.text, b.text), min(a.low, b.low), max(a.high, b.high))

        if isinstance(left, Truth) and isinstance(right, Truth):
            return Truth(meet("i1", left.text, right.text))
        if isinstance(left, Whole) and isinstance(right, Whole):
            return meet_whole(left, right)
        a, b = number_to_ratio(require_number(left)), number_to_ratio(require_number(right))
        return Ratio(meet_whole(a.top, b.top), meet_whole(a.bottom, b.bottom))
