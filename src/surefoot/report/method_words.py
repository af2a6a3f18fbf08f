"""The method that answered, in words: its name and the options that differ from the defaults.

Results keep the whole text (`Bmc(solver=Native(seed=0, …), depth=None)`), because defaults may change.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction

CALL = re.compile(r"\b[A-Z]\w*\(")


def describe_method(text: str) -> str:
    """
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
    from surefoot.engines.engine_text import describe_engine
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
