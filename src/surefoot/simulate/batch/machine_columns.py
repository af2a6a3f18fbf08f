"""Terms over columns in machine code: all operations of a stage in one loop over the rows.

The meaning, and the bits, are those of `term/columns.py`. What machine code does not know (arrays, elementary
functions, powers of many factors) is done by the rules of that module, between one loop and the next: stages
take turns, machine code first. What a loop needs of an earlier one is computed again.

With `sines` it does sines and cosines itself, correctly rounded, and says if one was left open.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from surefoot.simulate.batch.machine_sine import SINE_DECLARATIONS, write_sine
from surefoot.term.columns import LARGEST, ColumnNode, ColumnTerms, is_few_products
from surefoot.term.term import Apply, Const, Op
from surefoot.term.types import BOOL, ELEMENTARY, INT, REAL, Sort
from surefoot.work.machine.llvm_ir import IrFunction

_Operand: TypeAlias = tuple[str, Sort]  # a value of LLVM and its kind
SINES = (Op.SIN, Op.COS)
STORED: dict[Sort, str] = {BOOL: "i8", INT: "i64", REAL: "double"}  # of an entry of a column
_HELD: dict[Sort, str] = {BOOL: "i1", INT: "i64", REAL: "double"}
_NEVER = "false"
JOINED = -1  # instead of a node
_INFINITY = "0x7FF0000000000000"
_GROUP = ", !llvm.access.group !0"
_METADATA = (
    '!0 = distinct !{}\n!1 = distinct !{!1, !2}\n!2 = !{!"llvm.loop.parallel_accesses", !0}\n'
    "declare double @llvm.fabs.f64(double)\ndeclare double @llvm.floor.f64(double)\n"
    "declare double @llvm.ceil.f64(double)\ndeclare double @llvm.trunc.f64(double)\n"
    "declare double @llvm.sqrt.f64(double)\n" + SINE_DECLARATIONS
)


def split_into_stages(terms: ColumnTerms, *, sines: bool) -> list[int]:
    """By node: an even number where machine code computes it, else an odd one; arguments come before."""
    stages: list[int] = []
    for node in terms.nodes:
        if not node.arguments:
            stages.append(0)
            continue
        latest = max(stages[p] for p in node.arguments)
        awkward = _is_awkward(node, [terms.nodes[p] for p in node.arguments], sines)
        stages.append(latest + (latest % 2 != awkward))
    return stages


def _is_awkward(node: ColumnNode, parts: Sequence[ColumnNode], sines: bool) -> bool:
    assert node.term is not None
    op = node.term.op
    if node.depth or any(p.depth for p in parts):
        return True
    if op in ELEMENTARY:
        return op is not Op.SQRT and not (sines and op in SINES)
    return op is Op.POW and not is_few_products(node.term.args[1])


@dataclass(slots=True)
class StageCode:
    """A loop: which nodes it reads and writes as columns; of each a value, of some also the rows lost."""

    number: int
    reads: list[tuple[int, bool]] = field(default_factory=list)  # a node; True: its lost rows
    writes: list[tuple[int, bool]] = field(default_factory=list)
    text: str = ""


def write_stage(
    terms: ColumnTerms,
    stages: Sequence[int],
    number: int,
    wanted: Sequence[tuple[int, bool]],
    joined: Sequence[int],
) -> StageCode:
    """The loop of one stage. `wanted`: nodes whose columns others need, True: with the rows that are lost;
    `joined`: nodes whose lost rows are wanted as one column."""
    code = StageCode(number)
    f = IrFunction(f"stage{number}", "ptr %table, i64 %first, i64 %count, i64 %total")
    body = _Body(terms, stages, code, f)
    f.do("br label %head")
    f.begin("head")
    f.do("%row = phi i64 [%first, %start], [%next, %head]")
    f.do("%before = phi i64 [0, %start], [%after, %head]")
    for place, and_lost in wanted:
        body.export(place, and_lost=and_lost)
    if joined:
        body.export_joined(joined)
    large = f.value(f"zext i1 {OperationWriter(f).any_of(body.large)} to i64")
    f.do(f"%after = or i64 %before, {large}")
    f.do("%next = add i64 %row, 1")
    f.do("%more = icmp slt i64 %next, %count")
    f.do("br i1 %more, label %head, label %end, !llvm.loop !1")
    f.begin("end")
    f.do("ret i64 %after")
    code.text = f.text().replace(
        "entry:\n", "entry:\n" + body.load_addresses() + "\n  br label %start\nstart:\n", 1
    )
    return code


def stage_metadata() -> str:
    return _METADATA


@dataclass(slots=True)
class _Body:
    """The operations of a row, each written when it is first needed."""

    terms: ColumnTerms
    stages: Sequence[int]
    code: StageCode
    f: IrFunction
    known: dict[int, tuple[_Operand, str]] = field(default_factory=dict)
    written: list[Sort] = field(default_factory=list)
    large: list[str] = field(default_factory=list)  # sines that are left open

    def load_addresses(self) -> str:
        """Addresses of all columns: those that are read, then of each kind one for those that are written."""
        lines, blocks, reads = [], dict[Sort, int](), len(self.code.reads)
        for number in range(reads + len(STORED)):
            lines.append(f"  %t{number} = getelementptr ptr, ptr %table, i64 {number}")
            lines.append(f"  %r{number} = load ptr, ptr %t{number}")
        for number, sort in enumerate(self.written):
            block, place = f"%r{reads + list(STORED).index(sort)}", blocks.get(sort, 0)
            blocks[sort] = place + 1
            lines.append(f"  %d{number} = mul i64 %total, {place}")
            lines.append(f"  %w{number} = getelementptr {STORED[sort]}, ptr {block}, i64 %d{number}")
        return "\n".join(lines)

    def export(self, place: int, *, and_lost: bool) -> None:
        value, sort = self.visit(place)[0]
        self._store(place, value, sort, is_lost=False)
        lost = self._lost(place) if and_lost else _NEVER
        if lost != _NEVER:
            self._store(place, lost, BOOL, is_lost=True)

    def export_joined(self, places: Sequence[int]) -> None:
        lost = OperationWriter(self.f).any_of([self._lost(place) for place in places])
        if lost != _NEVER:
            self._store(JOINED, lost, BOOL, is_lost=True)

    def _lost(self, place: int) -> str:
        (value, _), lost = self.visit(place)
        writer = OperationWriter(self.f)
        over = writer.is_no_number(value) if self.terms.nodes[place].computed else _NEVER
        return writer.any_of([lost, over])

    def _store(self, place: int, value: str, sort: Sort, *, is_lost: bool) -> None:
        number = len(self.code.writes)
        self.code.writes.append((place, is_lost))
        self.written.append(sort)
        text = self.f.value(f"zext i1 {value} to i8") if sort is BOOL else value
        at = self.f.at(f"%w{number}", "%row", STORED[sort])
        self.f.do(f"store {STORED[sort]} {text}, ptr {at}{_GROUP}")

    def visit(self, whole: int) -> tuple[_Operand, str]:
        """The value of a node and where it is lost; without recursion, as terms may be deep."""
        waiting = [whole]
        while waiting:
            place = waiting[-1]
            if place in self.known:
                waiting.pop()
                continue
            node = self.terms.nodes[place]
            if not node.arguments or self.stages[place] % 2:
                self.known[place] = self._leaf(place, node)
            elif missing := [p for p in node.arguments if p not in self.known]:
                waiting += missing
            else:
                self.known[place] = self._operation(node)
        return self.known[whole]

    def _leaf(self, place: int, node: ColumnNode) -> tuple[_Operand, str]:
        if not node.arguments and not isinstance(node.content, str):
            return (_constant_text(node.content, node.sort), node.sort), _NEVER
        lost = _NEVER
        if node.arguments:
            lost = self._load(place, BOOL, is_lost=True)
        return (self._load(place, node.sort, is_lost=False), node.sort), lost

    def _load(self, place: int, sort: Sort, *, is_lost: bool) -> str:
        number = len(self.code.reads)
        self.code.reads.append((place, is_lost))
        at = self.f.at(f"%r{number}", "%row", STORED[sort])
        value = self.f.value(f"load {STORED[sort]}, ptr {at}{_GROUP}")
        return self.f.value(f"icmp ne i8 {value}, 0") if sort is BOOL else value

    def _operation(self, node: ColumnNode) -> tuple[_Operand, str]:
        assert node.term is not None
        parts = [self.terms.nodes[p] for p in node.arguments]
        values = [self.known[p][0] for p in node.arguments]
        lost = [self.known[p][1] for p in node.arguments]
        writer = OperationWriter(self.f)
        if node.term.op in _LAZY:
            value, gone = _LAZY[node.term.op](writer, values, lost, node.sort)
            return (value, node.sort), gone
        gone = writer.any_of(lost)
        for part, (value, _) in zip(parts, values, strict=True):
            if part.computed and node.term.op not in (Op.NEG, Op.ABS, *_ARITHMETIC):
                gone = writer.any_of([gone, writer.is_no_number(value)])
        if node.term.op in SINES:
            angle = self.f.value(f"fadd double {writer.as_sort(values[0], REAL)}, 0.0")
            value, large = write_sine(self.f, angle, cosine=node.term.op is Op.COS)
            self.large.append(large)
            return (value, node.sort), gone
        value, own = writer.apply_operator(node.term, values, node.sort, checked=node.checked)
        return (value, node.sort), writer.any_of([gone, own])


def _constant_text(value: Any, sort: Sort) -> str:
    if sort is BOOL:
        return "true" if value else "false"
    return str(int(value)) if sort is INT else _double_text(float(value))


def _double_text(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


_ARITHMETIC = {Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul"}
_ROUNDED = {Op.FLOOR: "floor", Op.CEIL: "ceil", Op.TRUNC: "trunc"}
_COMPARED = {Op.LT: ("slt", "olt"), Op.LE: ("sle", "ole"), Op.EQ: ("eq", "oeq")}


@dataclass(slots=True)
class OperationWriter:
    """Instructions for one row; the second of two results: where the row is lost by this operation."""

    f: IrFunction

    def any_of(self, truths: Sequence[str]) -> str:
        found = _NEVER
        for truth in truths:
            if truth != _NEVER:
                found = truth if found == _NEVER else self.f.value(f"or i1 {found}, {truth}")
        return found

    def both(self, left: str, right: str) -> str:
        return _NEVER if _NEVER in (left, right) else self.f.value(f"and i1 {left}, {right}")

    def opposite(self, truth: str) -> str:
        return self.f.value(f"xor i1 {truth}, true")

    def is_no_number(self, value: str) -> str:
        return self.f.value(f"fcmp uge double {self.size(value)}, {_INFINITY}")

    def size(self, value: str) -> str:
        return self.f.value(f"call double @llvm.fabs.f64(double {value})")

    def as_sort(self, operand: _Operand, sort: Sort) -> str:
        value, own = operand
        return self.f.value(f"sitofp i64 {value} to double") if own is INT and sort is REAL else value

    def choose(self, condition: str, then: str, otherwise: str, sort: Sort) -> str:
        kind = _HELD[sort]
        return self.f.value(f"select i1 {condition}, {kind} {then}, {kind} {otherwise}")

    def compare(self, op: Op, left: _Operand, right: _Operand) -> str:
        sort = REAL if REAL in (left[1], right[1]) else left[1]
        a, b = self.as_sort(left, sort), self.as_sort(right, sort)
        whole, real = _COMPARED[op]
        return self.f.value(
            f"fcmp {real} double {a}, {b}" if sort is REAL else f"icmp {whole} {_HELD[sort]} {a}, {b}"
        )

    def apply_operator(
        self, term: Apply, values: list[_Operand], sort: Sort, *, checked: bool
    ) -> tuple[str, str]:
        op, first = term.op, values[0]
        match op:
            case Op.ADD | Op.SUB | Op.MUL:
                return self._fold(op, values, checked)
            case Op.LT | Op.LE | Op.EQ:
                return self.compare(op, *values), _NEVER
            case Op.NOT:
                return self.opposite(first[0]), _NEVER
            case Op.DIV:
                a, b = (self.as_sort(v, REAL) for v in values)
                return self.f.value(f"fdiv double {a}, {b}"), self.f.value(f"fcmp oeq double {b}, 0.0")
            case Op.POW:
                return self._power(term, first, sort)
            case Op.MIN | Op.MAX:
                return self._extreme(op, values, sort), _NEVER
            case Op.FLOOR | Op.CEIL | Op.TRUNC:
                return self._rounded(op, first)
            case Op.MOD:
                return self._modulo(values)
            case _:
                return self._unary(op, first), _NEVER

    def _unary(self, op: Op, operand: _Operand) -> str:
        value, sort = operand
        f = self.f
        if op is Op.SIGN:
            zero = ("0", INT) if sort is INT else ("0.0", REAL)
            above, below = self.compare(Op.LT, zero, operand), self.compare(Op.LT, operand, zero)
            return f.sub(f.value(f"zext i1 {above} to i64"), f.value(f"zext i1 {below} to i64"))
        if op is Op.SQRT:
            positive = f.value(f"fadd double {self.as_sort(operand, REAL)}, 0.0")
            return f.value(f"call double @llvm.sqrt.f64(double {positive})")
        if op is Op.NEG:
            return f.value(f"fneg double {value}") if sort is REAL else f.sub("0", value)
        assert op is Op.ABS, op
        if sort is REAL:
            return self.size(value)
        return self.choose(f.compare("slt", value, "0"), f.sub("0", value), value, INT)

    def _fold(self, op: Op, values: list[_Operand], checked: bool) -> tuple[str, str]:
        total, lost = values[0], _NEVER
        for value in values[1:]:
            if total[1] is INT and value[1] is INT:
                after, over = self._whole(op, total[0], value[0], checked)
                total, lost = (after, INT), self.any_of([lost, over])
            else:
                a, b = self.as_sort(total, REAL), self.as_sort(value, REAL)
                total = self.f.value(f"f{_ARITHMETIC[op]} double {a}, {b}"), REAL
        return total[0], lost

    def _whole(self, op: Op, left: str, right: str, checked: bool) -> tuple[str, str]:
        f, value = self.f, self.f.value(f"{_ARITHMETIC[op]} i64 {left}, {right}")
        if not checked:
            return value, _NEVER
        if op is not Op.MUL:
            return value, self.any_of(
                [f.compare("sgt", value, str(LARGEST)), f.compare("slt", value, str(-LARGEST))]
            )
        a, b = (f.value(f"sitofp i64 {v} to double") for v in (left, right))
        size = self.size(f.value(f"fmul double {a}, {b}"))
        return value, f.value(f"fcmp ogt double {size}, {_double_text(LARGEST * (1 - 1e-9))}")

    def _power(self, term: Apply, base: _Operand, sort: Sort) -> tuple[str, str]:
        exponent = term.args[1]
        assert isinstance(exponent, Const)
        if sort is INT:
            total, lost = "1", _NEVER
            for _ in range(abs(int(exponent.value))):
                total, over = self._whole(Op.MUL, total, base[0], checked=True)
                lost = self.any_of([lost, over])
            return total, lost
        factor, product = self.as_sort(base, REAL), _double_text(1.0)
        for _ in range(abs(int(exponent.value))):
            product = self.f.value(f"fmul double {product}, {factor}")
        if exponent.value >= 0:
            return product, _NEVER
        lost = self.any_of([self.is_no_number(product), self.f.value(f"fcmp oeq double {product}, 0.0")])
        return self.f.value(f"fdiv double {_double_text(1.0)}, {product}"), lost

    def _extreme(self, op: Op, values: list[_Operand], sort: Sort) -> str:
        best = self.as_sort(values[0], sort)
        for value in values[1:]:
            other = self.as_sort(value, sort)
            pair: list[_Operand] = [(other, sort), (best, sort)]
            better = self.compare(Op.LT, *(pair if op is Op.MIN else reversed(pair)))
            best = self.choose(better, other, best, sort)
        return best

    def _rounded(self, op: Op, operand: _Operand) -> tuple[str, str]:
        value, sort = operand
        if sort is INT:
            return value, _NEVER
        f = self.f
        lost = f.value(f"fcmp ugt double {self.size(value)}, {_double_text(float(LARGEST))}")
        near = self.choose(lost, "0.0", value, REAL)
        whole = f.value(f"call double @llvm.{_ROUNDED[op]}.f64(double {near})")
        return f.value(f"fptosi double {whole} to i64"), lost

    def _modulo(self, values: list[_Operand]) -> tuple[str, str]:
        f, left = self.f, values[0][0]
        size = self._unary(Op.ABS, values[1])
        nothing = f.compare("eq", size, "0")
        divisor = self.choose(nothing, "1", size, INT)
        rest = f.value(f"srem i64 {left}, {divisor}")
        return self.choose(f.compare("slt", rest, "0"), f.add(rest, divisor), rest, INT), nothing


_LazyRule: TypeAlias = Callable[[OperationWriter, list[_Operand], list[str], Sort], tuple[str, str]]


def _write_and(w: OperationWriter, values: list[_Operand], lost: list[str], _: Sort) -> tuple[str, str]:
    total, own = values[0][0], lost[0]
    for (value, _), rows in zip(values[1:], lost[1:], strict=True):
        own = w.any_of([own, w.both(total, rows)])
        total = w.f.value(f"and i1 {total}, {value}")
    return total, own


def _write_or(w: OperationWriter, values: list[_Operand], lost: list[str], _: Sort) -> tuple[str, str]:
    total, own = values[0][0], lost[0]
    for (value, _), rows in zip(values[1:], lost[1:], strict=True):
        if rows != _NEVER:
            own = w.any_of([own, w.both(w.opposite(total), rows)])
        total = w.f.value(f"or i1 {total}, {value}")
    return total, own


def _write_implies(
    w: OperationWriter, values: list[_Operand], lost: list[str], sort: Sort
) -> tuple[str, str]:
    return _write_or(w, [(w.opposite(values[0][0]), BOOL), values[1]], lost, sort)


def _write_choice(w: OperationWriter, values: list[_Operand], lost: list[str], sort: Sort) -> tuple[str, str]:
    condition = values[0][0]
    own = lost[0]
    if lost[1:] != [_NEVER, _NEVER]:
        own = w.any_of([own, w.choose(condition, lost[1], lost[2], BOOL)])
    then, otherwise = (w.as_sort(v, sort) for v in values[1:])
    return w.choose(condition, then, otherwise, sort), own


_LAZY: dict[Op, _LazyRule] = {
    Op.AND: _write_and,
    Op.OR: _write_or,
    Op.IMPLIES: _write_implies,
    Op.ITE: _write_choice,
}
