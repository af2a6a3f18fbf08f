"""Barrier certificates of others: a JSON file with programs and polynomials (docs/reference/foreign.md).

    {"barriers_le_0": ["0.5*x1**2 - 1"],        the set of each rule: where its polynomial is at most 0
     "K": [[[-3.4, -1.2]]]                      of each rule a row for each control: u = K x; or instead
     "program": [["-3.4*x1 - 1.2*x2"]],         of each rule a text for each control
     "variables": ["x1", "x2"]}                 optional: names in these texts, in the order of the problem

Other keys are not looked at. Numbers mean exactly what is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, locate_errors
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.term.parser import parse_term
from surefoot.term.term import Const, Term, Var
from surefoot.term.traverse import substitute_names

LARGEST_BYTES = 1 << 24
LARGEST, MOST_EXPONENT = 10**300, 30
_NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d{1,4})?|\.\d+(?:[eE][+-]?\d{1,4})?"
_NAME = r"[A-Za-z_]\w*"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>{_NAME})|(?P<sign>\*\*|[*^+-]))")

Terms = dict[tuple[int, ...], Fraction]  # a polynomial: exponents to coefficients


@dataclass(frozen=True, slots=True)
class ForeignRule:
    """Where the barrier is at most 0 the controls get these values."""

    then: tuple[Term, ...]
    barrier: Terms


def read_barriers(path: Path, variables: Sequence[str], controls: Sequence[str]) -> tuple[ForeignRule, ...]:
    """The rules of a file, in the variables of a problem; a mistake is named with its place."""
    require_file(path)
    if path.stat().st_size > LARGEST_BYTES:
        raise InvalidProblem("larger than 16 MB", where=str(path))
    try:
        data = json.loads(path.read_text("utf-8"), parse_float=_exact_number)
    except (ValueError, RecursionError):
        what = "not a JSON document, or a number in it is beyond 1e300 or below 1e-300"
        raise InvalidProblem(what, where=str(path)) from None
    with locate_errors(str(path), InvalidProblem):
        return _parse_rules(data, tuple(variables), tuple(controls))


def _exact_number(word: str) -> Fraction:
    """What is written, if doubles come near it."""
    if not re.fullmatch(rf"-?(?:{_NUMBER})", word) or not _is_plain(found := Fraction(word)):
        raise ValueError(word)
    return found


def _is_plain(value: Fraction) -> bool:
    return not value or Fraction(1, LARGEST) <= abs(value) <= LARGEST


def is_foreign_barrier(data: object) -> bool:
    return isinstance(data, dict) and "barriers_le_0" in data


def _parse_rules(data: Any, variables: tuple[str, ...], controls: tuple[str, ...]) -> tuple[ForeignRule, ...]:
    if not is_foreign_barrier(data):
        raise InvalidProblem("no `barriers_le_0`", fix="give one polynomial for each rule")
    texts, programs = data["barriers_le_0"], data.get("program", data.get("K"))
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise InvalidProblem("not a list of polynomials as texts", where="barriers_le_0")
    where = "program" if "program" in data else "K"
    if not isinstance(programs, list) or len(programs) != len(texts):
        raise InvalidProblem("not one program for each barrier", where=where)
    spoken = [*texts, *(part for p in programs if isinstance(p, list) for part in p if isinstance(part, str))]
    used = {n for t in spoken for n in re.findall(rf"(?:{_NUMBER})|({_NAME})", t) if n}
    numbered = tuple(f"x{i + 1}" for i in range(len(variables)))
    names = data.get("variables", list(variables) if used <= set(variables) else list(numbered))
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise InvalidProblem("not a list of names", where="variables")
    if len(names) != len(variables) or len(set(names)) != len(names):
        raise InvalidProblem(f"not {len(variables)} names", where="variables")
    found = []
    for i, (text, program) in enumerate(zip(texts, programs, strict=True)):
        if not isinstance(program, list) or len(program) != len(controls):
            raise InvalidProblem(f"not {len(controls)} controls", where=f"{where}[{i}]")
        then = tuple(_parse_control(part, names, variables, f"{where}[{i}]") for part in program)
        with locate_errors(f"barriers_le_0[{i}]"):
            found.append(ForeignRule(then, read_polynomial(text, names)))
    return tuple(found)


def _parse_control(part: Any, names: Sequence[str], variables: Sequence[str], where: str) -> Term:
    """A text, or a row of a matrix."""
    if isinstance(part, str):
        read = parse_term(part.replace("**", "^"), names=names)
        return substitute_names(read, {n: Var(v) for n, v in zip(names, variables, strict=True)})
    numbers = part if isinstance(part, list) else []
    if len(numbers) != len(variables) or not all(
        type(k) in (int, Fraction) and _is_plain(k) for k in numbers
    ):
        raise InvalidProblem(f"neither a text nor a row of {len(variables)} numbers", where=where)
    products: list[Term] = [Const(k) * Var(v) for k, v in zip(numbers, variables, strict=True) if k]
    total, *rest = products or [Const(0)]
    for product in rest:
        total = total + product
    return total


def read_polynomial(text: str, names: Sequence[str]) -> Terms:
    """A sum of products of numbers and powers of names, without brackets."""
    places = {name: i for i, name in enumerate(names)}
    found: Terms = {}
    tokens, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidProblem(f"not a sum of products at character {at + 1}", fix="expand brackets")
        tokens.append((match.lastgroup, match.group(match.lastgroup or 0)))
        at = match.end()
    index = 0
    while index < len(tokens):
        coefficient, exponents = Fraction(1), [0] * len(names)
        while index < len(tokens) and tokens[index] in (("sign", "+"), ("sign", "-")):
            coefficient *= -1 if tokens[index][1] == "-" else 1
            index += 1
        while True:
            kind, word = tokens[index] if index < len(tokens) else ("end", "")
            if kind == "number":
                coefficient *= Fraction(word)
            elif kind == "name" and word in places:
                power = 1
                if index + 2 < len(tokens) and tokens[index + 1][1] in ("**", "^"):
                    power, index = _parse_exponent(tokens[index + 2]), index + 2
                exponents[places[word]] += power
            else:
                raise InvalidProblem(
                    f"`{word[:40]}` where a number or one of {', '.join(names[:4])} … is needed"
                )
            index += 1
            if index >= len(tokens) or tokens[index] != ("sign", "*"):
                break
            index += 1
        if index < len(tokens) and tokens[index] not in (("sign", "+"), ("sign", "-")):
            raise InvalidProblem(
                f"`{tokens[index][1][:40]}` where + or - is needed", fix="write products with *"
            )
        monomial = tuple(exponents)
        found[monomial] = found.get(monomial, Fraction(0)) + coefficient
    if not all(map(_is_plain, found.values())):
        raise InvalidProblem("a number beyond 1e300 or below 1e-300", fix="scale the polynomial")
    if not any(found.values()):
        raise InvalidProblem("an empty polynomial")
    return {m: c for m, c in found.items() if c}


def _parse_exponent(token: tuple[str | None, str]) -> int:
    kind, word = token
    if kind != "number" or not word.isdigit() or int(word) > MOST_EXPONENT:
        raise InvalidProblem(f"`{word[:40]}` is not an exponent up to {MOST_EXPONENT}")
    return int(word)
