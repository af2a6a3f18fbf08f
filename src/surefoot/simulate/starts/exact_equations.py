"""Equations that are not linear, met exactly: solved for a variable in which they are linear there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot.term.closures import UNDEFINED_ERRORS, Closure, compile_closure
from surefoot.term.interval import Scalar
from surefoot.term.term import Term, free_names
from surefoot.term.value_types import Arithmetic, Real


def meet_exactly(
    equations: Sequence[Term],
    rows: Sequence[dict[str, Any]],
    kinds: Mapping[str, Scalar],
    free: Sequence[str],
) -> None:
    """Change one of the `free` names of each row for each equation, where that is possible."""
    names = list(kinds)
    slots = {name: i for i, name in enumerate(names)}
    plan: list[tuple[Closure, list[str]]] = []
    for equation in equations:
        difference = equation.args[0] - equation.args[1]  # type: ignore[union-attr]
        own = sorted(n for n in free_names(difference) if n in free and isinstance(kinds[n], Real))
        plan.append((compile_closure(difference, slots, kinds, Arithmetic.EXACT), own))
    for row in rows:
        used: set[str] = set()
        for difference, candidates in plan:
            for name in candidates:
                if name not in used and _solve_for(name, difference, row, names):
                    used.add(name)
                    break


def _solve_for(name: str, difference: Closure, row: dict[str, Any], names: Sequence[str]) -> bool:
    def error(value: Any) -> Any:
        return difference(tuple(value if n == name else row.get(n, 0) for n in names))

    try:
        at_zero, at_one = Fraction(error(0)), Fraction(error(1))
        if at_zero == at_one:
            return False
        value = at_zero / (at_zero - at_one)
        if error(value) != 0:
            return False
    except UNDEFINED_ERRORS:
        return False
    row[name] = value
    return True
