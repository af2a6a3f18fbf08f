"""Predicates that a question brings with it, as those of PlaJA do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surefoot.engines.predicates import Predicates
from surefoot.engines.protocol import Engine
from surefoot.term.term import Term


def with_predicates(
    engines: Sequence[Engine], given: tuple[Term, ...] | None, named: tuple[Term, ...]
) -> tuple[list[Engine], tuple[str, ...]]:
    """The engines with the predicates that a question names, unless others are given; and what to tell."""
    if not named:
        return list(engines), ()
    if given is not None:
        return list(engines), (f"the {len(named)} predicates of the question were replaced by those given",)
    if not any(isinstance(engine, Predicates) for engine in engines):
        return list(engines), (f"the {len(named)} predicates of the question help `predicates` only",)
    return [replace(e, predicates=named) if isinstance(e, Predicates) else e for e in engines], ()
