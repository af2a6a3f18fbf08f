"""Writing LLVM IR with vectors of eight numbers, and the table that the functions read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from struct import pack

from surefoot.work.machine.llvm_ir import IrFunction, IrOperand

LANES = 8
BLOCKS = (4, 2)  # vectors of a row that are summed side by side: widths are padded to two vectors
V, B = f"<{LANES} x double>", f"<{LANES} x i1>"
DECLARED = "\n".join(
    (
        f"declare {V} @llvm.fabs.v{LANES}f64({V})",
        "declare double @llvm.fabs.f64(double)",
        f"declare double @llvm.vector.reduce.fadd.v{LANES}f64(double, {V})",
        "declare double @llvm.exp.f64(double)",
    )
)


class LayerWord(IntEnum):
    """Words of the record of a layer; the first record is that of the inputs."""

    WIDTH = 0
    PADDED = 1
    SOURCE = 2  # width of what it reads
    SOURCE_PADDED = 3
    WEIGHTS = 4  # a row for every entry of the layer
    TURNED = 5  # ... of what it reads
    BIAS = 6
    BENT = 7  # whether it reads what is before it through ReLUs
    WANTED = 8  # whether back-substitution bounds its entries
    COLUMN = 9  # of its first entry in the sheets
    DIRECT = 10  # weights of the inputs, if it reads these too, else 0
    DIRECT_TURNED = 11
    FACTORS = 12
    ROUNDED = 13  # float32 rounds it: 0 no, 1 as a sum of products, 2 once
    MASK = 14  # 1 for the entries that are rounded, 0 for the others


class RoundingFactor(IntEnum):
    """Numbers of a layer, for the account of rounding."""

    INTERVAL = 0  # of its interval from what it reads
    LINES = 1  # of the inputs only: of the sum of all constants
    BACK = 2  # of a step back from it
    RADIUS = 3  # float32 rounding: factor, constant, and factor that shows an overflow
    RADIUS_LEAST = 4
    RADIUS_ROOM = 5
    RADIUS_BACK = 6


class TableField(IntEnum):
    """Words of the table that every function gets."""

    LAYERS = 0
    LAST = 1  # number of the last layer
    BOXES = 2
    COLUMNS = 3
    LOW = 4  # sheets: a row for every box
    HIGH = 5
    BELOW = 6  # slopes of the lines below and above ReLUs, constants of those above
    ABOVE = 7
    CONSTANT = 8
    COST = 9  # what roundings change per unit of a coefficient
    REAL = 10  # ... without those of float32
    RADIUS = 11
    USED_LOW = 12  # bytes: bounds that back-substitution gave
    USED_HIGH = 13
    KNOWN_LOW = 14  # 0: nothing is known
    KNOWN_HIGH = 15
    SUBSTITUTES = 16  # 0: intervals only
    START = 17  # the first layer that is not known
    SCRATCH = 18
    ROWS = 19  # coefficients of the last layer
    ROW_COUNT = 20
    ROW_STEP = 21  # from the rows of one box to those of the next, 0: the same for all
    PLANES = 22
    CONSTANTS = 23
    LEAST = 24
    TRACE = 25  # a sheet for coefficients after the ReLUs, or 0
    SCRATCH_SIZE = 26  # numbers of one buffer
    SHARES = 27  # of an ascent: shares and scales of the rows, and how many steps
    SCALES = 28
    STEPS = 29
    MULTIPLIERS = 30  # its result, with planes, constants, least values and slopes in place of those below
    HEIGHTS = 31
    GAINS = 32
    WORK = 33  # sheets of one row each


SHEETS = tuple(TableField)[TableField.LOW : TableField.USED_LOW]  # what is known about boxes, in doubles


class ScratchBuffer(IntEnum):
    """Parts of the scratch memory. Two rows of coefficients are substituted side by side."""

    ONE = 0  # coefficients of both rows, turn by turn
    TWO = 1
    ONE_AFTER = 2
    TWO_AFTER = 3
    ONE_DIRECT = 4
    TWO_DIRECT = 5
    CENTRE = 6  # of the inputs
    REACH = 7
    MIDDLE = 8  # of what a layer reads: centres, widths, largest sizes
    WIDTH = 9
    SIZE = 10
    PRODUCT_ONE = 11
    PRODUCT_TWO = 12
    EFFECT = 13
    STATE = 14  # constant, slack and least value of both planes, then sums over the box
    EVERY = 15  # the numbers 0, 1, 2, ...
    ROW = 16
    POINT = 17
    HEIGHT = 18
    ALIVE = 19  # from here a list of entries for every layer, after its length


class AscentArray(IntEnum):
    """Sheets of one row for an ascent."""

    MET = 0  # coefficients after each ReLU
    ARGUMENTS = 1
    MOMENTUM = 2
    BEST = 3  # slopes
    BEST_MET = 4


class PlaneState(IntEnum):
    CONSTANT = 0
    SLACK = 2
    LEAST = 4
    COSTS = 6  # sum of all costs of a box so far


class ChainFunction(IrFunction):
    """A function over the table, with numbers and vectors of numbers."""

    def __init__(self, name: str, more: str = "", *, internal: bool = True) -> None:
        super().__init__(name, "ptr %table" + more, internal=internal)

    def text(self) -> str:
        if not self.ended:
            self.do("ret i64 0")
        return super().text()

    def field(self, field: TableField) -> str:
        return self.load("%table", field)

    def address(self, field: TableField) -> str:
        return self.pointer(self.field(field))

    def pointer(self, number: str) -> str:
        return self.value(f"inttoptr i64 {number} to ptr")

    def layer(self, number: str) -> str:
        return self.at(self.address(TableField.LAYERS), self.mul(number, len(LayerWord)))

    def word(self, layer: str, field: LayerWord) -> str:
        return self.load(layer, field)

    def array(self, layer: str, field: LayerWord) -> str:
        return self.pointer(self.word(layer, field))

    def factor(self, layer: str, which: RoundingFactor) -> str:
        return self.load(self.array(layer, LayerWord.FACTORS), which, "double")

    def sheet(self, field: TableField, box: str, column: str = "0") -> str:
        """Where the numbers of a box begin, or those of one of its columns."""
        place = self.add(self.mul(box, self.field(TableField.COLUMNS)), column)
        return self.at(self.address(field), place, "double")

    def sheets(self, box: str, column: str, *fields: TableField) -> list[str]:
        return [self.sheet(field, box, column) for field in fields]

    def buffer(self, which: ScratchBuffer) -> str:
        place = self.mul(self.field(TableField.SCRATCH_SIZE), which)
        return self.at(self.address(TableField.SCRATCH), place, "double")

    def work(self, which: AscentArray, column: str = "0") -> str:
        place = self.add(self.mul(self.field(TableField.COLUMNS), which), column)
        return self.at(self.address(TableField.WORK), place, "double")

    def place(self, kind: str, start: str) -> str:
        """A local variable of any kind."""
        self._count += 1
        name = f"%p{self._count}"
        self._places.append(f"  {name} = alloca {kind}")
        self.do(f"store {kind} {start}, ptr {name}")
        return name

    def load_place(self, place: str, kind: str) -> str:
        return self.value(f"load {kind}, ptr {place}, align 8")

    def store_place(self, place: str, value: str, kind: str) -> None:
        self.do(f"store {kind} {value}, ptr {place}, align 8")

    def vector(self, base: str, index: IrOperand) -> str:
        return self.load_place(self.at(base, index, "double"), V)

    def put_vector(self, base: str, index: IrOperand, value: str) -> None:
        self.store_place(self.at(base, index, "double"), value, V)

    def number(self, base: str, index: IrOperand) -> str:
        return self.load_place(self.at(base, index, "double"), "double")

    def put_number(self, base: str, index: IrOperand, value: str) -> None:
        self.store_place(self.at(base, index, "double"), value, "double")

    def fill(self, base: str, padded: str) -> None:
        """Zeros."""
        with self.vectors(padded) as i:
            self.put_vector(base, i, "zeroinitializer")

    def copy_vectors(self, source: str, target: str, padded: str) -> None:
        with self.vectors(padded) as i:
            self.put_vector(target, i, self.vector(source, i))

    def broadcast_number(self, number: str) -> str:
        """A vector of equal numbers."""
        one = self.value(f"insertelement {V} poison, double {number}, i64 0")
        return self.value(f"shufflevector {V} {one}, {V} poison, <{LANES} x i32> zeroinitializer")

    def broadcast_bit(self, bit: str) -> str:
        one = self.value(f"insertelement {B} poison, i1 {bit}, i64 0")
        return self.value(f"shufflevector {B} {one}, {B} poison, <{LANES} x i32> zeroinitializer")

    def combine(self, op: str, left: str, right: str, kind: str = V) -> str:
        return self.value(f"{op} contract {kind} {left}, {right}")

    def plus(self, left: str, right: str, kind: str = V) -> str:
        return self.combine("fadd", left, right, kind)

    def minus(self, left: str, right: str, kind: str = V) -> str:
        return self.combine("fsub", left, right, kind)

    def times(self, left: str, right: str, kind: str = V) -> str:
        return self.combine("fmul", left, right, kind)

    def less(self, left: str, right: str, kind: str = V, how: str = "olt") -> str:
        return self.value(f"fcmp {how} {kind} {left}, {right}")

    def choose(self, condition: str, left: str, right: str, kind: str = V) -> str:
        mask = B if kind == V else "i1"
        return self.value(f"select {mask} {condition}, {kind} {left}, {kind} {right}")

    def larger(self, left: str, right: str, kind: str = V) -> str:
        """The larger of two numbers; the second if one is no number."""
        return self.choose(self.less(left, right, kind, "ogt"), left, right, kind)

    def smaller(self, left: str, right: str, kind: str = V) -> str:
        return self.choose(self.less(left, right, kind, "olt"), left, right, kind)

    def size(self, value: str, kind: str = V) -> str:
        suffix = f"v{LANES}f64" if kind == V else "f64"
        return self.value(f"call {kind} @llvm.fabs.{suffix}({kind} {value})")

    def total(self, vector: str) -> str:
        call = f"call reassoc double @llvm.vector.reduce.fadd.v{LANES}f64"
        return self.value(f"{call}(double -0.0, {V} {vector})")

    def constant(self, number: float, kind: str = V) -> str:
        """A literal; as a vector all of its entries."""
        text = _float_to_hex(number)
        return text if kind != V else "<" + ", ".join(f"double {text}" for _ in range(LANES)) + ">"

    def running_sum(self) -> str:
        """A running sum, a vector of them."""
        place = self.place(V, "zeroinitializer")
        self.store_place(place, "zeroinitializer", V)
        return place

    def add_to_sum(self, place: str, part: str) -> None:
        """Add a vector to a running sum."""
        self.store_place(place, self.plus(self.load_place(place, V), part), V)

    def reduce_sum(self, place: str) -> str:
        return self.total(self.load_place(place, V))

    @contextmanager
    def vectors(self, padded: str) -> Iterator[str]:
        """For the index of the first entry of each vector."""
        with self.count("0", self.value(f"lshr i64 {padded}, 3")) as i:
            yield self.value(f"shl i64 {i}, 3")

    @contextmanager
    def unless_zero(self, number: str) -> Iterator[None]:
        with self.when(self.compare("ne", number, "0")):
            yield


def _float_to_hex(number: float) -> str:
    return "0x" + pack(">d", number).hex().upper()
