"""An engine in text: what differs from the defaults for its `repr`, everything for a result."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from surefoot.term.printer import show_term
from surefoot.term.term import Term


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
