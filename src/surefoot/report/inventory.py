"""What there is: engines and solvers in a line each, and whether the solvers answer rightly here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

from surefoot.engines import ENGINES
from surefoot.query.query import Query, QueryVariable, Sat, Unsat
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import TRUE, Var
from surefoot.term.value_types import Real


def summarise_engines() -> dict[str, str]:
    """By name the first line of what an engine says of itself."""
    return {name: _first_line(kind) for name, kind in ENGINES.items()}


def summarise_solvers() -> dict[str, tuple[str | None, str]]:
    """By name why a solver cannot be used here (None: it can), and the first line of its description."""
    trivial = Query((QueryVariable("x", Real()),), (TRUE,))
    return {name: (kind().objection(trivial), _first_line(kind)) for name, kind in SOLVERS.items()}


def probe_solvers(seconds: float = 20.0) -> Iterator[tuple[str, bool]]:
    """Does each installed solver find x in [0, 1] with x >= 1/2 and none with x >= 2?"""
    query = Query((QueryVariable("x", Real(Fraction(0), Fraction(1))),), ())
    for name, kind in SOLVERS.items():
        solver = kind()
        if solver.objection(query) is None:
            some = solve_query(solver, query, Var("x") >= Fraction(1, 2), seconds=seconds)
            none = solve_query(solver, query, Var("x") >= 2, seconds=seconds)
            yield name, isinstance(some, Sat) and isinstance(none, Unsat)


def _first_line(kind: type) -> str:
    text = kind.__doc__ if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else None
    return (text or sys.modules[kind.__module__].__doc__ or "").strip().splitlines()[0]
