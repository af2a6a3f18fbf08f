"""A digest of a problem's content: equal digests mean the same question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction

from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Var


def problem_digest(problem: Problem) -> str | None:
    """SHA-256 of everything that it says; None where a part, such as a Python function, has no content."""
    digest = hashlib.sha256()
    parts = (problem.name, problem.environment, problem.policy, problem.property)
    try:
        for text in _enumerate_content(parts):
            digest.update(f"{len(text)}:{text}".encode())
    except _Opaque:
        return None
    return digest.hexdigest()


class _Opaque(Exception):
    """Something whose content is not known."""


def _enumerate_content(value: object) -> Iterator[str]:
    match value:
        case None | bool() | int() | float() | str() | bytes() | Fraction():
            yield f"{type(value).__name__} {value!r}"
        case Enum():
            yield f"{type(value).__name__}.{value.name}"
        case Network():
            yield f"network {value.digest()} {value.name} {value.head} {value.scores} {value.notes}"
        case Const() | Var() | Apply():
            yield f"term {show_term(value)}"
        case tuple() | list():
            yield f"list {len(value)}"
            for one in value:
                yield from _enumerate_content(one)
        case Mapping():
            yield f"table {len(value)}"
            for key, one in value.items():
                yield from _enumerate_content((key, one))
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield f"{type(value).__module__}.{type(value).__qualname__}"
            for field in fields(value):
                yield from _enumerate_content((field.name, getattr(value, field.name)))
        case _:
            raise _Opaque(type(value).__name__)
