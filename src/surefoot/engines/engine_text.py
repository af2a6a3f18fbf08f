"""An engine in text: what differs from the defaults for `repr` and readers, everything for a result."""

from __future__ import annotations

import ast
import re
from dataclasses import MISSING, Field, fields, is_dataclass
from fractions import Fraction
from typing import Any

from surefoot.term.printer import show_term
from surefoot.term.term import Term

CALL = re.compile(r"\b[A-Z]\w*\(")


def show_changes(engine: Any) -> str:
    """The options that differ from the defaults: `Bmc(depth=8)`."""
    changed = [f for f in fields(engine) if f.repr and getattr(engine, f.name) != _default_of(f)]
    return _call_text(engine, changed)


def describe_engine(engine: Any) -> str:
    """All options, as a stored result names them: defaults may change from version to version."""
    if not is_dataclass(engine):
        return repr(engine)
    return _call_text(engine, [f for f in fields(engine) if f.repr])


def _call_text(engine: Any, shown: list[Field[Any]]) -> str:
    options = ", ".join(f"{f.name}={_plain(getattr(engine, f.name))!r}" for f in shown)
    return f"{type(engine).__name__}({options})"


def _plain(value: Any) -> Any:
    """Conditions as they are written in a model."""
    if isinstance(value, tuple):
        return tuple(show_term(part) if isinstance(part, Term) else part for part in value)
    return value


def _default_of(option: Field[Any]) -> Any:
    return option.default_factory() if option.default_factory is not MISSING else option.default


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
    from surefoot.engines import ENGINES
    from surefoot.solvers import SOLVERS

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
