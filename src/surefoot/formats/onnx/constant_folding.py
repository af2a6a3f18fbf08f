"""ONNX nodes whose result is known while reading: constants, shapes, and arithmetic on constants alone.

Folded sums run sequentially, as everywhere, so the result does not depend on a matrix library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    broadcast_shape,
    network_size_error,
)
from surefoot.formats.onnx.protobuf import Tensor, malformed_model, tensor_type_name

# TensorProto.DataType of FLOAT, INT32, INT64 and BOOL.
_TYPES: dict[int, Any] = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_}


def translate_constant(_: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The one attribute of a Constant node."""
    if len(given.attributes) != 1:
        raise malformed_model("Constant needs exactly one value")
    ((name, found),) = given.attributes.items()
    if name == "value" and isinstance(found, np.ndarray):
        return [KnownTensor(found)]
    if name == "value" or isinstance(found, str | np.ndarray):
        raise malformed_model("the value of Constant must be a tensor")
    whole = all(isinstance(n, int) for n in (found if isinstance(found, tuple) else (found,)))
    return [KnownTensor(np.array(found, np.int64 if whole and "int" in name else np.float32))]


def translate_constant_of_shape(_: NetworkBuilder, given: NodeArguments) -> list[Value]:
    shape = given.integer_list_input(0, "the shape") or ()
    fill = given.attributes.get("value", np.zeros(1, np.float32))
    if not isinstance(fill, np.ndarray) or fill.shape != (1,):
        raise malformed_model("the value of ConstantOfShape must hold one number")
    return [KnownTensor(np.broadcast_to(fill.reshape(()), shape))]


def translate_shape(_: NetworkBuilder, given: NodeArguments) -> list[Value]:
    shape = given.value(0).shape
    start, end = given.integer("start", 0), given.integer("end", len(shape))
    return [KnownTensor(np.array(shape[start:end], np.int64))]


def translate_cast(_: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """Constants are converted; of signals truth values and indices may become numbers."""
    value, kind = given.value(0), given.integer("to", 1)
    if kind not in _TYPES or (isinstance(value, TensorSignal) and not _may_cast(value.kind, _TYPES[kind])):
        raise Unsupported(f"Cast to {tensor_type_name(kind)}", fix="export the network in float32")
    if isinstance(value, TensorSignal):
        return [replace(value, kind=str(np.dtype(_TYPES[kind])))]
    return [KnownTensor(value.array.astype(_TYPES[kind]))]


def _may_cast(kind: str, wanted: Any) -> bool:
    """Truth values and indices are numbers as they are; numbers would be rounded, or compared."""
    return (
        wanted is np.float32
        or (kind != "float32" and wanted is not np.bool_)
        or kind == str(np.dtype(wanted))
    )


def _matrix_product(left: Tensor, right: Tensor) -> Tensor:
    """left @ right with every sum taken from the first product to the last."""
    if not left.ndim or not right.ndim or left.shape[-1] != right.shape[0 if right.ndim == 1 else -2]:
        raise ValueError("inner dimensions differ")
    rows = left[None, :] if left.ndim == 1 else left
    columns = right[:, None] if right.ndim == 1 else right
    outer = broadcast_shape([rows.shape[:-2], columns.shape[:-2]])
    shape = (*outer, rows.shape[-2], columns.shape[-1])
    if math.prod(shape) > 2**22:
        raise network_size_error()
    total = np.zeros(shape, left.dtype)
    for k in range(rows.shape[-1]):
        total += rows[..., :, k, None] * columns[..., None, k, :]
    if left.ndim == 1:
        total = total[..., 0, :]
    return total[..., 0] if right.ndim == 1 else total


def _matching_arrays(given: NodeArguments) -> list[Tensor]:
    """The constant inputs, all of one type and small enough once broadcast."""
    arrays = [v.array for v in given.all() if isinstance(v, KnownTensor)]
    if len({a.dtype for a in arrays}) != 1:
        raise malformed_model(f"{given.op} mixes types of numbers")
    broadcast_shape([a.shape for a in arrays])
    return arrays


def _divide_arrays(left: Tensor, right: Tensor) -> Tensor:
    if not right.all():
        raise InvalidProblem("division by zero", fix="repair the constant")
    if left.dtype.kind == "f":
        return left / right
    return (left - np.fmod(left, right)) // right  # ONNX truncates towards zero


def _fold_operands(combine: Callable[[Tensor, Tensor], Any]) -> Callable[[NodeArguments], list[Value]]:
    def fold(given: NodeArguments) -> list[Value]:
        return [KnownTensor(np.asarray(reduce(combine, _matching_arrays(given))))]

    return fold


def _fold_where(given: NodeArguments) -> list[Value]:
    condition, *branches = (given.constant_input(i, "an input") for i in range(3))
    broadcast_shape([condition.shape, *(b.shape for b in branches)])
    return [KnownTensor(np.where(condition.astype(bool), *branches))]


def _fold_matmul(given: NodeArguments) -> list[Value]:
    return [KnownTensor(_matrix_product(*_matrix_operands(given)))]


def _matrix_operands(given: NodeArguments) -> tuple[Tensor, Tensor]:
    return given.constant_input(0, "an input"), given.constant_input(1, "an input")


def _fold_unary(apply: Callable[[Tensor], Tensor]) -> Callable[[NodeArguments], list[Value]]:
    return lambda given: [KnownTensor(np.asarray(apply(given.constant_input(0, "the input"))))]


def _positive_part(array: Tensor) -> Tensor:
    if array.dtype != np.float32:
        raise Unsupported("Relu of integers", fix="fold constants before exporting")
    return np.maximum(array, np.float32(0))


FOLDED: dict[str, Callable[[NodeArguments], list[Value]]] = {
    "Add": _fold_operands(lambda x, y: x + y),
    "Div": _fold_operands(_divide_arrays),
    "Equal": _fold_operands(lambda x, y: x == y),
    "MatMul": _fold_matmul,
    "Max": _fold_operands(np.maximum),
    "Min": _fold_operands(np.minimum),
    "Mul": _fold_operands(lambda x, y: x * y),
    "Neg": _fold_unary(lambda x: -x),
    "Relu": _fold_unary(_positive_part),
    "Sub": _fold_operands(lambda x, y: x - y),
    "Where": _fold_where,
}
