"""How each operator is written at each opset: its inputs with their types, its outputs and its attributes.

From the operators' pages of the standard, for the types that the checker reads. A file that writes an
operator as another opset does is refused, as runtimes do: to read it nevertheless would be to guess.
"""

from __future__ import annotations

from typing import TypeAlias

from ..untrusted_file import ReadError, quote_for_message
from .model import BOOL, FLOAT, INT32, INT64, Attribute, Tensor
from .values import FlatSignal, OnnxOperands, Value

ANY = 2**31 - 1
_LETTERS = {FLOAT: "f", INT32: "i", INT64: "l", BOOL: "b"}
Row: TypeAlias = tuple[int, str, int, str]

# From which opset on; the inputs as `group:types`, where inputs of one group are of one type, `?` may be left
# out and `*` may occur several times; the most outputs; the attributes as `name:type`, `!` being required.
# Types of inputs: float32 f, int32 i, int64 l, bool b. Of attributes: float f, int i, string s, tensor t, and
# lists of floats F and ints I.
SIGNATURES: dict[str, tuple[Row, ...]] = {
    "Add": ((7, "T:fil T:fil", 1, ""),),
    "Cast": (
        (7, "T1:filb", 1, "to:i!"),
        (19, "T1:filb", 1, "saturate:i to:i!"),
        (24, "T1:filb", 1, "round_mode:s saturate:i to:i!"),
    ),
    "Clip": (
        (7, "T:f", 1, "max:f min:f"),
        (11, "T:f T:f? T:f?", 1, ""),
        (12, "T:fil T:fil? T:fil?", 1, ""),
    ),
    "Concat": ((7, "T:filb*", 1, "axis:i!"),),
    "Constant": (
        (7, "", 1, "value:t!"),
        (11, "", 1, "value:t"),
        (12, "", 1, "value:t value_float:f value_floats:F value_int:i value_ints:I value_string:s"),
    ),
    "Conv": ((7, "T:f T:f T:f?", 1, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"),),
    "Div": ((7, "T:fil T:fil", 1, ""),),
    "Dropout": (
        (7, "T:f", 2, "ratio:f"),
        (12, "T:f T1:f? T2:b?", 2, "seed:i"),
    ),
    "Expand": ((8, "T:filb :l", 1, ""),),
    "Flatten": (
        (7, "T:f", 1, "axis:i"),
        (9, "T:filb", 1, "axis:i"),
    ),
    "Gather": ((7, "T:filb Tind:il", 1, "axis:i"),),
    "Gemm": (
        (7, "T:f T:f T:f", 1, "alpha:f beta:f transA:i transB:i"),
        (9, "T:fil T:fil T:fil", 1, "alpha:f beta:f transA:i transB:i"),
        (11, "T:fil T:fil T:fil?", 1, "alpha:f beta:f transA:i transB:i"),
    ),
    "Identity": (
        (7, "T:filb", 1, ""),
        (14, "V:filb", 1, ""),
    ),
    "LeakyRelu": ((7, "T:f", 1, "alpha:f"),),
    "MatMul": (
        (7, "T:f T:f", 1, ""),
        (9, "T:fil T:fil", 1, ""),
    ),
    "Max": (
        (7, "T:f*", 1, ""),
        (12, "T:fil*", 1, ""),
    ),
    "Min": (
        (7, "T:f*", 1, ""),
        (12, "T:fil*", 1, ""),
    ),
    "Mul": ((7, "T:fil T:fil", 1, ""),),
    "Neg": ((7, "T:fil", 1, ""),),
    "Pow": (
        (7, "T:f T:f", 1, ""),
        (12, "T:fil T1:fil", 1, ""),
    ),
    "ReduceMean": (
        (7, "T:fil", 1, "axes:I keepdims:i"),
        (18, "T:fil :l?", 1, "keepdims:i noop_with_empty_axes:i"),
    ),
    "ReduceSum": (
        (7, "T:fil", 1, "axes:I keepdims:i"),
        (13, "T:fil :l?", 1, "keepdims:i noop_with_empty_axes:i"),
    ),
    "Relu": (
        (7, "T:f", 1, ""),
        (14, "T:fil", 1, ""),
    ),
    "Reshape": (
        (7, "T:filb :l", 1, ""),
        (14, "T:filb :l", 1, "allowzero:i"),
    ),
    "Shape": (
        (7, "T:filb", 1, ""),
        (15, "T:filb", 1, "end:i start:i"),
    ),
    "Sigmoid": ((7, "T:f", 1, ""),),
    "Slice": (
        (7, "T:filb", 1, "axes:I ends:I! starts:I!"),
        (10, "T:filb Tind:il Tind:il Tind:il? Tind:il?", 1, ""),
    ),
    "Split": (
        (7, "T:filb", ANY, "axis:i split:I"),
        (13, "T:filb :l?", ANY, "axis:i"),
        (18, "T:filb :l?", ANY, "axis:i num_outputs:i"),
    ),
    "Squeeze": (
        (7, "T:filb", 1, "axes:I"),
        (13, "T:filb :l?", 1, ""),
    ),
    "Sub": ((7, "T:fil T:fil", 1, ""),),
    "Tanh": ((7, "T:f", 1, ""),),
    "Transpose": ((7, "T:filb", 1, "perm:I"),),
    "Unsqueeze": (
        (7, "T:filb", 1, "axes:I!"),
        (13, "T:filb :l", 1, ""),
    ),
}


UNREAD = {("Cast", "round_mode"), ("Constant", "value_string"), ("Shape", "end"), ("Shape", "start")}


def check_signature(given: OnnxOperands) -> None:
    """Refuse a node that is not written as its operator is at the opset of the file."""
    opset = given.opset
    if given.op not in SIGNATURES:
        raise ReadError(f"operator {quote_for_message(given.op)} is not read by the checker")
    rows = [row for row in SIGNATURES[given.op] if row[0] <= opset]
    if not rows:
        raise ReadError(f"operator {quote_for_message(given.op)} does not exist at opset {opset}")
    _, inputs, outputs, attributes = rows[-1]
    if not 1 <= given.results <= outputs:
        raise ReadError(f"{given.op} does not have {given.results} outputs at opset {opset}")
    _check_attributes(given, dict(a.split(":") for a in attributes.split()), opset)
    _check_inputs(given, inputs.split(), opset)


def _check_attributes(given: OnnxOperands, known: dict[str, str], opset: int) -> None:
    for name, value in given.attributes.items():
        if name not in known:
            raise ReadError(f"{given.op} has no attribute {quote_for_message(name)} at opset {opset}")
        if not _has_attribute_type(value, known[name][0]):
            raise ReadError(f"attribute {quote_for_message(name)} of {given.op} is of another type")
        if (given.op, name) in UNREAD:
            raise ReadError(f"attribute {quote_for_message(name)} is not read by the checker")
    if missing := [n for n, kind in known.items() if kind.endswith("!") and n not in given.attributes]:
        raise ReadError(f"{given.op} needs the attribute {quote_for_message(missing[0])} at opset {opset}")


def _has_attribute_type(value: Attribute, letter: str) -> bool:
    if letter in "FI":
        kind = float if letter == "F" else int
        return isinstance(value, tuple) and all(type(n) is kind for n in value)
    return type(value) is {"f": float, "i": int, "s": str, "t": Tensor}[letter]


def _check_inputs(given: OnnxOperands, forms: list[str], opset: int) -> None:
    several = bool(forms) and forms[-1].endswith("*")
    if len(given.values) > len(forms) and not several:
        raise ReadError(f"{given.op} does not have {len(given.values)} inputs at opset {opset}")
    groups: dict[str, str] = {}
    for place in range(max(len(given.values), len(forms))):
        group, _, kinds = forms[min(place, len(forms) - 1)].partition(":")
        value = given.optional(place)
        if value is None:
            if not kinds.endswith("?"):
                raise ReadError(f"{given.op} needs input {place} at opset {opset}")
            continue
        letter = _LETTERS[tensor_element_type(value)]
        if letter not in kinds or (group and groups.setdefault(group, letter) != letter):
            raise ReadError(f"input {place} of {given.op} is of another type than at opset {opset}")


def tensor_element_type(value: Value) -> int:
    return FLOAT if isinstance(value, FlatSignal) else value.kind
