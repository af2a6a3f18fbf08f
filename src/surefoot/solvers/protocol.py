"""What every solver is: a frozen dataclass of its options with two methods.

`objection` says in one sentence why this solver cannot take the query, or None.
`session` asserts a base query once and answers follow-up questions about it.

The law every solver is tested for: inside `session(base) as ask`, `ask(*more)` gives the same answer as a
fresh session on `base` with `more` added. A session is a cache, never a state that the caller has to track.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from surefoot.errors import Unsupported
from surefoot.query.query import Answer, Query
from surefoot.term.term import Term


class Ask(Protocol):
    def __call__(self, *more: Term) -> Answer: ...


class Solver(Protocol):
    @property
    def name(self) -> str: ...

    def objection(self, query: Query) -> str | None: ...

    def session(self, base: Query, *, seconds: float, workers: int = 1) -> AbstractContextManager[Ask]:
        """Answers questions until `seconds` after it was opened; then every answer is a timeout.

        `workers`: processes that may work on a question at the same time; the answer is the same.
        """
        ...


def solve_query(solver: Solver, query: Query, *more: Term, seconds: float) -> Answer:
    """One question, one answer."""
    if (why := solver.objection(query)) is not None:
        raise Unsupported(why)
    with solver.session(query, seconds=seconds) as ask:
        return ask(*more)
