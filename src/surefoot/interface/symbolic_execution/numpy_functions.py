"""numpy's functions on symbols, by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    subtract,
)
from surefoot.interface.symbolic_execution.array_sums import (
    add_in_sequence,
    all_values,
    any_value,
    count_nonzero,
    cross_product,
    differences,
    largest_value,
    mean_value,
    multiply_matrices,
    outer_product,
    place_of_largest,
    place_of_smallest,
    product_of_values,
    running_sums,
    smallest_value,
    sort_values,
    standard_deviation,
    sum_values,
    variance,
    vector_norm,
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

__all__ = ["apply_elementwise", "vector_norm", "where"]


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
        return add_in_sequence([choose(compare(step, value), 1, 0) for step in steps]) if steps else 0

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


def make_array(value: Any, dtype: Any = None, copy: Any = True, **_: Any) -> Any:
    if dtype is not None and kind_of_dtype(dtype) is None:
        if holds_symbols(value):
            return Unfollowed(
                f"an array of `{np.dtype(dtype)}` rounds in another way than the model", "write dtype=float"
            )
        return np.array(value, dtype=dtype)
    if not copy and type(value) is SymbolArray and kind_of_dtype(dtype or value.dtype) is value.kind:
        return value
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

        def wrap(part: Any) -> SymbolArray:
            return SymbolArray(part if len(set(kinds)) == 1 else convert_cells(part, kind), kind)

        return [wrap(part) for part in found] if isinstance(found, list | tuple) else wrap(found)

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
            "expm1",
            "log1p",
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
    "log1p": lambda x: elementary_functions.logarithm(add(x, 1.0)),
    "expm1": lambda x: subtract(elementary_functions.exponential(x), 1.0),
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
    "sort": sort_values,
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
    "array": make_array,
    **dict.fromkeys(("asarray", "ascontiguousarray", "asanyarray"), partial(make_array, copy=False)),
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
