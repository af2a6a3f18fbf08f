"""Engines and solvers in words: a line each, the one that answered, and whether solvers are right here."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fractions import Fraction

from surefoot.engines import ENGINES
from surefoot.engines.engine_text import describe_engine
from surefoot.query.query import Query, QueryVariable, Sat, Unsat
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import TRUE, Var
from surefoot.term.value_types import Real

CALL = re.compile(r"\b[A-Z]\w*\(")


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


def describe_method(text: str) -> str:
    """The method of a result in words: its name and what differs from the defaults of this version.

    >>> describe_method("Bmc(solver=Native(seed=0, batch=256, proof=True), depth=8)")
    'bmc (solver native, depth 8)'
    """
    begin = CALL.search(text)
    if begin is None:
        return text
    end = _closing(text, begin.end())
    try:
        call = ast.parse(text[begin.start() : end], mode="eval").body
    except (SyntaxError, ValueError):
        return text
    words = _call_words(call) if isinstance(call, ast.Call) else None
    return text if words is None else text[: begin.start()] + words + describe_method(text[end:])


def _closing(text: str, begin: int) -> int:
    """After the bracket that closes the one before `begin`; quoted brackets do not count."""
    depth, quote = 1, ""
    for place in range(begin, len(text)):
        sign = text[place]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place + 1
    return len(text)


def _call_words(call: ast.Call) -> str | None:
    """None where it is neither an engine nor a solver of this version."""

    if not isinstance(call.func, ast.Name):
        return None
    known = {kind.__name__: (name, kind) for table in (ENGINES, SOLVERS) for name, kind in table.items()}
    if call.func.id not in known:
        return None
    name, kind = known[call.func.id]
    usual = ast.parse(describe_engine(kind()), mode="eval").body
    assert isinstance(usual, ast.Call)
    defaults = {k.arg: ast.dump(k.value) for k in usual.keywords}
    told = [
        f"{k.arg.replace('_', ' ')} {_value_words(k.value)}"
        for k in call.keywords
        if k.arg and (k.arg == "solver" or defaults.get(k.arg) != ast.dump(k.value))
    ]
    return f"{name} ({', '.join(told)})" if told else name


def _value_words(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        if isinstance(value.value, bool):
            return "on" if value.value else "off"
        return str(value.value)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id == "Fraction":
            ends = [a.value for a in value.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
            return f"{float(Fraction(*ends)):.6g}"
        return _call_words(value) or ast.unparse(value)
    if isinstance(value, ast.Tuple | ast.List):
        return ", ".join(map(_value_words, value.elts))
    return ast.unparse(value)
