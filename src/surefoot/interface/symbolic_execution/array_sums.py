"""Sums, means, extremes and products of arrays of symbols, in numpy's order of operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution import arithmetic, elementary_functions
from surefoot.interface.symbolic_execution.arithmetic import (
    add,
    choose,
    divide,
    kind_of,
    less,
    multiply,
    note_inexact,
    subtract,
)
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol_array import (
    SymbolArray,
    apply_elementwise,
    box_value,
    convert_cells,
    is_array,
    map_cells,
    to_array,
    unbox,
)
from surefoot.term.term import Op

_FEW = 8  # numpy adds fewer numbers from left to right
_BLOCK = 128


def _along_axis(value: Any, axis: Any, keepdims: bool, function: Callable[[list[Any]], Any]) -> Any:
    array = to_array(value)
    if axis is None:
        single = function(list(array.cells.ravel()))
        found = box_value(single, kind_of(single))
        return to_array(found).reshape((1,) * array.ndim) if keepdims else found
    if not isinstance(axis, int | np.integer):
        raise Refusal("sums along several axes are not followed", "sum along one axis after the other")
    moved = np.moveaxis(array.cells, axis, -1)
    cells = np.empty(moved.shape[:-1], dtype=object)
    for place in np.ndindex(*cells.shape):
        cells[place] = function(list(moved[place]))
    kind = kind_of(cells.ravel()[0]) if cells.size else array.kind
    found = SymbolArray(convert_cells(cells, kind), kind)
    if keepdims:
        return SymbolArray(np.expand_dims(found.cells, axis), kind)
    return found if found.ndim else found.cells[()]


def _reduction(function: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def reduce_array(value: Any, axis: Any = None, keepdims: bool = False, **named: Any) -> Any:
        if any(v is not None for k, v in named.items() if k != "out") or named.get("out") is not None:
            raise Refusal(f"`{next(iter(named))}=` is not followed here", "leave it out")
        return _along_axis(value, axis, keepdims, function)

    return reduce_array


def _add_pairwise(values: list[Any]) -> Any:
    """From left to right; eight and more numbers in eight sums, as numpy does."""
    if not values:
        return 0.0
    if kind_of(values[0]) is not float or len(values) < _FEW:
        total: Any = 0
        for value in values:
            total = add(total, value if kind_of(value) is not bool else unbox(value))
        return total
    if len(values) > _BLOCK:
        note_inexact("`np.sum`")
    sums, even = list(values[:8]), len(values) - len(values) % 8
    for place in range(8, even):
        sums[place % 8] = add(sums[place % 8], values[place])
    while len(sums) > 1:
        sums = [add(sums[i], sums[i + 1]) for i in range(0, len(sums), 2)]
    for value in values[even:]:
        sums[0] = add(sums[0], value)
    return sums[0]


def sum_values(value: Any, axis: Any = None, keepdims: bool = False, **named: Any) -> Any:
    array = to_array(value)
    if array.ndim > 1 and array.size >= _FEW and array.kind is float:
        note_inexact("`np.sum`")
    return _reduction(_add_pairwise)(array, axis, keepdims, **named)


def mean_value(value: Any, axis: Any = None, keepdims: bool = False) -> Any:
    array = to_array(value)
    count = array.size if axis is None else array.shape[axis]
    return _on_each(divide, sum_values(_as_float(array), axis, keepdims), float(count))


def _as_float(array: SymbolArray) -> SymbolArray:
    return SymbolArray(convert_cells(array.cells, float), float)


def variance(value: Any, axis: Any = None, ddof: int = 0) -> Any:
    array = _as_float(to_array(value))
    apart = apply_elementwise("subtract", (array, mean_value(array, axis, True)))
    count = array.size if axis is None else array.shape[axis]
    total = sum_values(apply_elementwise("multiply", (apart, apart)), axis)
    return _on_each(divide, total, float(count - ddof))


def standard_deviation(value: Any, axis: Any = None, ddof: int = 0) -> Any:
    return _on_each(elementary_functions.square_root, variance(value, axis, ddof))


def _multiply_all(values: list[Any]) -> Any:
    total: Any = 1
    for value in values:
        total = multiply(total, value)
    return total


product_of_values = _reduction(_multiply_all)
smallest_value = _reduction(lambda values: arithmetic.smallest(*values))
largest_value = _reduction(lambda values: arithmetic.largest(*values))
any_value = _reduction(lambda values: arithmetic.connect_truths(Op.OR, *values))
all_values = _reduction(lambda values: arithmetic.connect_truths(Op.AND, *values))
count_nonzero = _reduction(lambda values: _add_pairwise([choose(v, 1, 0) for v in values]))


def _place_of(better: Callable[[Any, Any], Any]) -> Callable[[list[Any]], Any]:
    def find(values: list[Any]) -> Any:
        """The first of the best."""
        best, place = values[0], 0
        for number, value in enumerate(values[1:], start=1):
            beats = better(value, best)
            best, place = choose(beats, value, best), choose(beats, number, place)
        return place

    return find


place_of_smallest = _reduction(_place_of(less))
place_of_largest = _reduction(_place_of(lambda value, best: less(best, value)))


def running_sums(value: Any, axis: Any = None) -> Any:
    array = to_array(value)
    if array.ndim > 1:
        raise Refusal("np.cumsum of a table is not followed", "write it for each row")
    total, found = 0, []
    for cell in array.cells:
        total = add(total, cell)
        found.append(total)
    return to_array(found)


def sort_values(value: Any, axis: Any = -1) -> Any:
    """By exchanging neighbours, as often as may be needed."""
    array = to_array(value)
    if array.ndim != 1:
        raise Refusal("sorting tables is not followed", "sort each row")
    cells = list(array.cells)
    for done in range(len(cells)):
        for i in range(len(cells) - 1 - done):
            pair = cells[i], cells[i + 1]
            cells[i], cells[i + 1] = arithmetic.smallest(*pair), arithmetic.largest(*pair)
    return to_array(cells)


def differences(value: Any) -> Any:
    array = to_array(value)
    return apply_elementwise("subtract", (array[1:], array[:-1]))


# Products of vectors and matrices


def multiply_matrices(left: Any, right: Any) -> Any:
    """The sums of products are rounded in the order of the library for linear algebra."""
    a, b = to_array(left), to_array(right)
    if a.ndim == 0 or b.ndim == 0:
        return apply_elementwise("multiply", (a, b))
    if float in (a.kind, b.kind):
        note_inexact("products of matrices")
    if a.ndim > 2 or b.ndim > 2:
        raise Refusal("products of arrays with more than two axes are not followed", "take matrices of it")
    rows = a.cells if a.ndim == 2 else a.cells[np.newaxis, :]
    columns = b.cells if b.ndim == 2 else b.cells[:, np.newaxis]
    if rows.shape[1] != columns.shape[0]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit")
    cells = np.empty((rows.shape[0], columns.shape[1]), dtype=object)
    for i, j in np.ndindex(*cells.shape):
        cells[i, j] = add_in_sequence([multiply(x, y) for x, y in zip(rows[i], columns[:, j], strict=True)])
    found = to_array(cells.tolist())
    if a.ndim == 1:
        found = found[0]
    return found[..., 0] if b.ndim == 1 and a.ndim == 2 else found[0] if b.ndim == 1 else found


def add_in_sequence(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = add(total, value)
    return total


def outer_product(left: Any, right: Any) -> Any:
    a, b = to_array(left).ravel(), to_array(right).ravel()
    return apply_elementwise("multiply", (a.reshape(-1, 1), b.reshape(1, -1)))


def cross_product(left: Any, right: Any) -> Any:
    a, b = to_array(left), to_array(right)
    if a.shape != (3,) or b.shape != (3,):
        raise Refusal("np.cross of other shapes than three numbers is not followed", "write it out")
    x, y = a.cells, b.cells
    turns = [(1, 2), (2, 0), (0, 1)]
    return to_array([subtract(multiply(x[i], y[j]), multiply(x[j], y[i])) for i, j in turns])


def vector_norm(value: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = _as_float(to_array(value))
    if ord == 1 and array.ndim == 1:
        return sum_values(apply_elementwise("absolute", (array,)))
    if ord == math.inf and array.ndim == 1:
        return largest_value(apply_elementwise("absolute", (array,)))
    if ord not in (None, 2) or (ord == 2 and array.ndim > 1 and axis is None):
        raise Refusal(f"this norm (ord={ord}) is not followed", "write it out")
    squares = apply_elementwise("multiply", (array, array))
    if axis is None:
        note_inexact("products of matrices")
        squares, axis = squares.ravel(), None
    return _on_each(elementary_functions.square_root, sum_values(squares, axis, keepdims))


def _on_each(function: Callable[..., Any], *given: Any) -> Any:
    """A function of numbers, also of arrays; numpy's scalars come out."""
    if any(map(is_array, given)):
        return map_cells(function, [to_array(v) for v in given])
    value = function(*given)
    return box_value(value, kind_of(value))
