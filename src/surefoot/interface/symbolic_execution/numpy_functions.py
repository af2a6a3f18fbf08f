"""numpy's functions on symbols, by their names."""

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
    is_symbol,
    kind_of,
    less,
    less_equal,
    multiply,
    note_inexact,
    subtract,
)
from surefoot.interface.symbolic_execution.operations import OPERATIONS
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol import Symbol, Unfollowed
from surefoot.interface.symbolic_execution.symbol_array import (
    SymbolArray,
    apply_elementwise,
    box_value,
    convert_cells,
    is_array,
    kind_of_dtype,
    map_cells,
    to_array,
    unbox,
    where,
)
from surefoot.term.term import Op

__all__ = ["apply_elementwise", "where"]
_FEW = 8  # numpy adds fewer numbers from left to right
_BLOCK = 128


def holds_symbols(value: Any) -> bool:
    """Is there a symbol anywhere in an argument?"""
    if type(value) in (Symbol, Unfollowed):
        return True
    if type(value) is SymbolArray:
        return any(is_symbol(cell) for cell in value.cells.ravel())
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(holds_symbols, value.ravel()))
    if isinstance(value, list | tuple):
        return any(map(holds_symbols, value))
    return isinstance(value, dict) and any(map(holds_symbols, value.values()))


def lower_arrays(value: Any) -> Any:
    """Arrays of numbers alone as numpy's own, anywhere in an argument."""
    if type(value) is SymbolArray:
        return np.array(value.cells.tolist(), dtype=value.dtype).reshape(value.shape)
    if type(value) in (list, tuple):
        return type(value)(map(lower_arrays, value))
    return value


def call_with_numbers(function: Callable[..., Any], given: Any, named: Any) -> Any:
    """numpy's function itself; the arrays that it makes may take symbols later."""
    found = function(*lower_arrays(tuple(given)), **{n: lower_arrays(v) for n, v in named.items()})
    followed = isinstance(found, np.ndarray) and found.ndim > 0 and kind_of_dtype(found.dtype) is not None
    return to_array(found).copy() if followed else found


def on_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers on arrays too; numpy's scalars come out."""

    def apply(*given: Any, out: Any = None, where: Any = True, dtype: Any = None) -> Any:
        if where is not True or (dtype is not None and kind_of_dtype(dtype) is None):
            raise Refusal("`where=` and `dtype=` of numpy's functions are not followed", "write np.where")
        if any(is_array(v) or isinstance(v, list | tuple) for v in given if not is_symbol(v)):
            found = map_cells(function, [to_array(v) for v in given])
        else:
            value = function(*given)
            found = box_value(value, kind_of(value))
        if out is not None:
            out[...] = found
            return out
        return found

    return apply


def _raise_values(base: Any, exponent: Any) -> Any:
    return (
        apply_elementwise("power", (base, exponent))
        if is_array(base)
        else on_elements(OPERATIONS["power"])(base, exponent)
    )


def clip_values(value: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> Any:
    low, high = named.get("min", a_min), named.get("max", a_max)
    if low is not None:
        value = on_elements(arithmetic.largest)(value, low)
    return value if high is None else on_elements(arithmetic.smallest)(value, high)


def cast_scalar(value: Any, dtype: Any) -> Any:
    """`np.float64(x)`, `x.astype(float)`: one of numpy's scalars, or a value that must not be used."""
    kind = kind_of_dtype(dtype)
    if kind is None:
        return Unfollowed(
            f"`{np.dtype(dtype)}` rounds in another way than the model",
            "write np.float64, or leave the type out",
        )
    return box_value(value, kind)


def where_values(condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise Refusal(
            "np.where with a condition alone gives as many places as hold", "write np.where(c, a, b)"
        )
    return where(condition, *branches)


def select_values(conditions: Any, choices: Any, default: Any = 0) -> Any:
    found = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = where(condition, choice, found)
    return found


# Sums and other values of whole arrays


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
    return on_elements(divide)(sum_values(_as_float(array), axis, keepdims), float(count))


def _as_float(array: SymbolArray) -> SymbolArray:
    return SymbolArray(convert_cells(array.cells, float), float)


def variance(value: Any, axis: Any = None, ddof: int = 0) -> Any:
    array = _as_float(to_array(value))
    apart = apply_elementwise("subtract", (array, mean_value(array, axis, True)))
    count = array.size if axis is None else array.shape[axis]
    total = sum_values(apply_elementwise("multiply", (apart, apart)), axis)
    return on_elements(divide)(total, float(count - ddof))


def standard_deviation(value: Any, axis: Any = None, ddof: int = 0) -> Any:
    return on_elements(elementary_functions.square_root)(variance(value, axis, ddof))


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
        cells[i, j] = _add_in_sequence([multiply(x, y) for x, y in zip(rows[i], columns[:, j], strict=True)])
    found = to_array(cells.tolist())
    if a.ndim == 1:
        found = found[0]
    return found[..., 0] if b.ndim == 1 and a.ndim == 2 else found[0] if b.ndim == 1 else found


def _add_in_sequence(values: list[Any]) -> Any:
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
    return on_elements(elementary_functions.square_root)(sum_values(squares, axis, keepdims))


# Tables


def interpolate(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    places, values = [float(v) for v in xp], [float(v) for v in fp]
    if period is not None:
        raise Refusal("np.interp with a period is not followed", "take the remainder first")

    def one(value: Any) -> Any:
        found: Any = values[-1] if right is None else right
        found = choose(less_equal(value, places[-1]), values[-1], found)
        for j in range(len(places) - 2, -1, -1):
            slope = (values[j + 1] - values[j]) / (places[j + 1] - places[j])
            line = add(multiply(slope, subtract(value, places[j])), values[j])
            found = choose(less(value, places[j + 1]), line, found)
        return choose(less(value, places[0]), values[0] if left is None else left, found)

    return on_elements(one)(x)


def count_places(sorted_values: Any, x: Any, side: str = "left", **_: Any) -> Any:
    """np.searchsorted: how many are below, or not above."""
    steps = [unbox(v) for v in to_array(sorted_values).cells]
    compare = less if side == "left" else less_equal

    def one(value: Any) -> Any:
        return _add_in_sequence([choose(compare(step, value), 1, 0) for step in steps]) if steps else 0

    return on_elements(one)(x)


def count_bins(x: Any, bins: Any, right: bool = False) -> Any:
    """np.digitize of bins that rise."""
    if any(a > b for a, b in zip(list(bins)[:-1], list(bins)[1:], strict=True)):
        raise Refusal("np.digitize of bins that fall is not followed", "give them in rising order")
    return count_places(bins, x, "left" if right else "right")


def are_close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, **_: Any) -> Any:
    def one(x: Any, y: Any) -> Any:
        return less_equal(
            arithmetic.absolute(subtract(x, y)), add(atol, multiply(rtol, arithmetic.absolute(y)))
        )

    return on_elements(one)(a, b)


def round_values(value: Any, decimals: int = 0, **_: Any) -> Any:
    return on_elements(lambda v: arithmetic.round_numpy(v, decimals))(value)


def take_values(value: Any, index: Any, **_: Any) -> Any:
    return to_array(value)[index]


def _step_value(x: Any, at_zero: Any) -> Any:
    return choose(less(x, 0), 0.0, choose(arithmetic.equal(x, 0), at_zero, 1.0))


# Arrays that are made, and arrays that are only arranged anew


def make_array(value: Any, dtype: Any = None, **_: Any) -> Any:
    if dtype is not None and kind_of_dtype(dtype) is None:
        if holds_symbols(value):
            return Unfollowed(
                f"an array of `{np.dtype(dtype)}` rounds in another way than the model", "write dtype=float"
            )
        return np.array(value, dtype=dtype)
    try:
        found = to_array(value, dtype)
    except TypeError:
        if holds_symbols(value):
            raise
        return np.array(value, dtype=dtype)
    return found.copy()


def _making(name: str) -> Callable[..., Any]:
    def create(*given: Any, **named: Any) -> Any:
        if "dtype" in named and kind_of_dtype(named["dtype"]) is not None:
            named["dtype"] = kind_of_dtype(named["dtype"])
        if given and type(given[0]) is SymbolArray and name.endswith("_like"):
            named.setdefault("dtype", given[0].kind)
            given = (np.empty(given[0].shape), *given[1:])
        if name in ("full", "full_like") and holds_symbols(given[1:]):
            filled = to_array(given[1])
            shape = given[0].shape if name == "full_like" else given[0]
            return SymbolArray(np.broadcast_to(filled.cells, shape).copy(), filled.kind)
        found = getattr(np, name)(*given, **named)
        return to_array(found) if kind_of_dtype(found.dtype) is not None else found

    return create


def _arranging(name: str) -> Callable[..., Any]:
    def arrange(*given: Any, **named: Any) -> Any:
        kinds: list[type] = []
        cells = _cells_of(given[0], kinds)
        if name == "append":
            given = (given[0], _cells_of(given[1], kinds), *given[2:])
        found = getattr(np, name)(cells, *given[1:], **named)
        kind = max(kinds, key=[bool, int, float].index)
        if isinstance(found, list | tuple):
            return [SymbolArray(convert_cells(part, kind), kind) for part in found]
        return SymbolArray(convert_cells(found, kind), kind)

    return arrange


def _cells_of(value: Any, kinds: list[type]) -> Any:
    """numpy's array of objects, or a list of them."""
    if isinstance(value, list | tuple) and any(map(is_array, value)):
        return [_cells_of(part, kinds) for part in value]
    array = to_array(value)
    kinds.append(array.kind)
    return array.cells


def refuse_random(*_: Any, **__: Any) -> Any:
    raise Refusal("the step draws random numbers", "pass them as an argument: noise=sf.real(-0.1, 0.1)")


_ARRANGED = (
    "concatenate stack hstack vstack column_stack append roll flip transpose reshape ravel squeeze "
    "expand_dims tile repeat atleast_1d atleast_2d broadcast_to swapaxes moveaxis split array_split diag"
)
_MADE = "zeros ones empty full zeros_like ones_like empty_like full_like eye identity arange linspace"
_ELEMENTS: dict[str, Callable[..., Any]] = {
    **{
        name: elementary_functions.FUNCTIONS[name]
        for name in [
            "sin",
            "cos",
            "tan",
            "tanh",
            "sinh",
            "cosh",
            "exp",
            "log",
            "sqrt",
            "log2",
            "log10",
            "hypot",
            "copysign",
        ]
    },
    **{"arc" + name[1:]: elementary_functions.FUNCTIONS[name] for name in ("asin", "acos", "atan")},
    **{
        name: elementary_functions.FUNCTIONS[name]
        for name in ("asin", "acos", "atan", "atan2", "degrees", "radians")
    },
    "arctan2": elementary_functions.arc_tangent_of_two,
    "rad2deg": elementary_functions.to_degrees,
    "deg2rad": elementary_functions.to_radians,
    **{
        n: OPERATIONS[n]
        for n in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "floor_divide",
            "remainder",
            "fmod",
            "negative",
            "positive",
            "absolute",
            "sign",
        ]
    },
    **{
        n: OPERATIONS[n]
        for n in ["floor", "ceil", "trunc", "less", "less_equal", "equal", "not_equal", "minimum", "maximum"]
    },
    **{n: OPERATIONS[n] for n in ["logical_not", "logical_and", "logical_or", "logical_xor"]},
    "true_divide": divide,
    "mod": OPERATIONS["remainder"],
    "abs": OPERATIONS["absolute"],
    "fabs": lambda x: arithmetic.to_float(arithmetic.absolute(x)),
    "fix": OPERATIONS["trunc"],
    "rint": lambda x: arithmetic.round_numpy(arithmetic.to_float(x)),
    "square": lambda x: multiply(x, x),
    "reciprocal": lambda x: divide(1.0, x),
    "float_power": lambda x, y: OPERATIONS["power"](arithmetic.to_float(x), y),
    "greater": lambda x, y: less(y, x),
    "greater_equal": lambda x, y: less_equal(y, x),
    "fmin": OPERATIONS["minimum"],
    "fmax": OPERATIONS["maximum"],
    "bitwise_and": OPERATIONS["bit_and"],
    "bitwise_or": OPERATIONS["bit_or"],
    "bitwise_xor": OPERATIONS["bit_xor"],
    "invert": OPERATIONS["invert"],
    "bitwise_not": OPERATIONS["invert"],
    "heaviside": _step_value,
    "isnan": lambda x: False,
    "isinf": lambda x: False,
    "isfinite": lambda x: True,
}
NUMPY: dict[str, Callable[..., Any]] = {
    **{name: on_elements(function) for name, function in _ELEMENTS.items()},
    **{name: _arranging(name) for name in _ARRANGED.split()},
    "power": _raise_values,
    "pow": _raise_values,
    "round": round_values,
    "around": round_values,
    "clip": clip_values,
    "where": where_values,
    "select": select_values,
    "sum": sum_values,
    "mean": mean_value,
    "average": mean_value,
    "var": variance,
    "std": standard_deviation,
    "prod": product_of_values,
    **dict.fromkeys(("min", "amin"), smallest_value),
    **dict.fromkeys(("max", "amax"), largest_value),
    "any": any_value,
    "all": all_values,
    "count_nonzero": count_nonzero,
    "argmin": place_of_smallest,
    "argmax": place_of_largest,
    "cumsum": running_sums,
    "diff": differences,
    **dict.fromkeys(("dot", "matmul", "inner", "vdot"), multiply_matrices),
    "outer": outer_product,
    "cross": cross_product,
    "interp": interpolate,
    "searchsorted": count_places,
    "digitize": count_bins,
    "isclose": are_close,
    "allclose": lambda a, b, **named: all_values(are_close(a, b, **named)),
    "array_equal": lambda a, b: all_values(apply_elementwise("equal", (a, b))),
    "copy": make_array,
    "take": take_values,
    "shape": lambda x: to_array(x).shape,
    "ndim": lambda x: to_array(x).ndim,
    "size": lambda x: to_array(x).size,
    "isscalar": is_symbol,
    "nan_to_num": lambda x, **_: x,
}
MAKING: dict[str, Callable[..., Any]] = {
    **{name: _making(name) for name in _MADE.split()},
    **dict.fromkeys(("array", "asarray", "ascontiguousarray", "asanyarray"), make_array),
}
_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_and": "all",
    "logical_or": "any",
}


def apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """numpy's own function was given a symbol, or an array of symbols."""
    name = ufunc.__name__
    if method == "reduce" and name in _REDUCED:
        named.setdefault("axis", 0)
        return NUMPY[_REDUCED[name]](*inputs, **named)
    if method == "accumulate" and name == "add":
        return running_sums(*inputs)
    if method == "outer" and name == "multiply":
        return outer_product(*inputs)
    if not holds_symbols(inputs) and named.get("out") is None:
        return call_with_numbers(getattr(ufunc, method), inputs, named)
    if method != "__call__" or name not in NUMPY:
        raise Refusal(f"`np.{name}` is not followed", "write it with + - * / and np.where")
    out = named.pop("out", None)
    found = NUMPY[name](*inputs, **named)
    if out is not None and out[0] is not None:
        if type(out[0]) is not SymbolArray:
            raise Refusal("symbols are written into an array that was made outside", "write a = a + b")
        out[0][...] = found
        return out[0]
    return found


def apply_numpy_function(function: Any, given: Any, named: Any) -> Any:
    """The same for numpy's other functions."""
    if (
        not holds_symbols(given)
        and not holds_symbols(named)
        and function.__name__ not in ("copyto", "put", "fill_diagonal")
    ):
        return call_with_numbers(function, given, named)
    if function.__name__ == "norm":
        return vector_norm(*given, **named)
    traced = NUMPY.get(function.__name__) or MAKING.get(function.__name__)
    if traced is None:
        raise Refusal(f"`np.{function.__name__}` is not followed", "write it with + - * / and np.where")
    return traced(*given, **named)
