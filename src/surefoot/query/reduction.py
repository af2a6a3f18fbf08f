"""The one protocol of every translation of a question into another one (after cvxpy's `Reduction`).

`objection` says why something cannot be translated, or None; it looks and translates nothing. `apply`
translates, and refuses exactly what has an objection. `invert` is the way back: an answer about what was made
as an answer about what was given.

    discretise      problem without its flow            trace of the one to trace of the other
    end at goal     `never … before` as `never`         trace
    abstract        fewer network inputs and outputs    trace
    expand          variables as scalars                value of a variable from those of its scalars
    unroll          k steps as a query                  assignment to candidate run
    lower           linear comparisons only             assignment
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from surefoot.errors import SurefootError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reduction:
    """Arguments after the first one are the options of a translation; `invert` takes what was made first."""

    name: str
    objection: Callable[..., SurefootError | str | None]
    apply: Callable[..., Any]
    invert: Callable[..., Any]


def keep_answer(made: object, answer: T) -> T:
    """The way back where states, moves and names are the same on both sides."""
    return answer
