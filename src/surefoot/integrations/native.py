"""A shield that was written as C, called from Python: `step(state, proposed)` as the Python module has it.

    surefoot shield MODEL --c guard
    cc -O2 -std=c99 -shared -fPIC guard.c -o guard.so

    from surefoot.integrations.native import native
    step = native("guard.so")                  # or native("lib/any.so", "guard"): the name of the C file
    applied, intervened = step(state, proposed)

C and Python agree bit for bit; C is sooner where there are many variables, because the time of a call does
not grow with the size of the barrier. A step uses memory of its own: make one for each thread.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from struct import Struct, error

from surefoot import api


def native(path: str | Path, name: str | None = None) -> api.StepFunction:
    """The step of a compiled shield; `name`: of the C file without `.c`, if the library has another."""
    file = Path(path).resolve()
    symbol = api.c_symbol(file.stem if name is None else name)
    try:
        library = ctypes.PyDLL(str(file))  # the interpreter's lock is kept: a step is shorter than a switch
        function = getattr(library, f"{symbol}_step")
        states, controls = (ctypes.c_int * 2).in_dll(library, f"{symbol}_sizes")
    except OSError as problem:
        fix = "compile it: cc -O2 -std=c99 -shared -fPIC guard.c -o guard.so"
        raise api.InvalidProblem(f"cannot be loaded: {problem}", fix=fix, where=str(path)) from None
    except (AttributeError, ValueError):
        fix = "compile what `surefoot shield --c` wrote, and name its file"
        raise api.InvalidProblem(f"there is no shield `{symbol}` in it", fix=fix, where=str(path)) from None
    given, applied = (ctypes.c_double * (states + controls))(), (ctypes.c_double * controls)()
    proposal = ctypes.byref(given, states * ctypes.sizeof(ctypes.c_double))
    places = ctypes.byref(given), proposal, ctypes.byref(applied)
    write, read = Struct(f"{states + controls}d").pack_into, Struct(f"{controls}d").unpack_from
    numbers = f"{states} state values and {controls} controls, all of them numbers"

    def step(state: Sequence[float], proposed: Sequence[float]) -> tuple[tuple[float, ...], int]:
        try:
            write(given, 0, *state, *proposed)
        except error:
            raise ValueError(numbers) from None
        if len(proposed) != controls:  # and so the state has as many too few or too many
            raise ValueError(numbers)
        intervened: int = function(*places)
        return read(applied), intervened

    return step
