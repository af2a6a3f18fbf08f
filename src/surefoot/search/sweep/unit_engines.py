"""The engine of one problem of a sweep, with its options from their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem, Unsupported, WrongType, did_you_mean
from surefoot.formats.predicate_list import read_conditions
from surefoot.run import build_engines_of
from surefoot.search.sweep.sweep_plan import SweepUnit, engine_fields
from surefoot.solvers import SOLVERS


def _read_truth(text: str) -> bool:
    return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]


def _read_solver(text: str) -> str:
    if text not in SOLVERS:
        raise InvalidProblem(f"there is no solver `{text}`", fix=did_you_mean(text, SOLVERS))
    return text


_READERS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "int | None": int,
    "Fraction": Fraction,
    "Fraction | None": Fraction,
    "bool": _read_truth,
    "str": str,
    "str | None": str,
    "Solver": _read_solver,
    "tuple[Term, ...]": read_conditions,
}


def build_unit_engines(unit: SweepUnit) -> list[Engine] | None:
    """The named engine, once for each solver that is tried unasked; None: all that can."""
    if unit.engine is None:
        return None
    kinds = engine_fields(unit.engine)
    given: dict[str, Any] = {name: read_option(name, text, kinds[name]) for name, text in unit.options}
    try:
        return build_engines_of([unit.engine], given)
    except WrongType as error:
        option = error.where.rpartition(".")[2]
        raise InvalidProblem(f"option `{option}`: {error.what}", fix=error.fix) from None


def read_option(name: str, text: str, kind: str) -> object:
    """The value that a text means for a field of this type."""
    kind = kind if kind in _READERS or "Solver" not in kind else "Solver"
    reader = _READERS.get(kind, str)
    try:
        return reader(text)
    except (ValueError, ZeroDivisionError, KeyError):
        what = f"option `{name}`: `{text}` is no {'number' if reader in (int, Fraction) else 'truth value'}"
        raise Unsupported(
            what, fix=f"write {name}=1" if reader in (int, Fraction) else "true or false"
        ) from None
