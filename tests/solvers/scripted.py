"""A solver that answers from a list: engines are tested with it in milliseconds, without any back end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from surefoot.errors import SolverFailure
from surefoot.query.query import Answer, Query
from surefoot.solvers.protocol import Ask
from surefoot.term.term import Term


@dataclass(frozen=True, slots=True)
class Scripted:
    """Gives its answers in order and notes every question; fails when it is asked once too often."""

    name: ClassVar[str] = "scripted"

    answers: tuple[Answer, ...]
    refusal: str | None = None  # what `objection` says
    asked: list[Query] = field(default_factory=list, compare=False, repr=False)  # base and more, as one query

    def objection(self, query: Query) -> str | None:
        return self.refusal

    @contextmanager
    def session(self, base: Query, *, seconds: float, workers: int = 1) -> Iterator[Ask]:
        def ask(*more: Term) -> Answer:
            self.asked.append(Query(base.quantities, base.constraints + more, base.calls))
            if len(self.asked) > len(self.answers):
                raise SolverFailure(f"the script has {len(self.answers)} answers and was asked once more")
            return self.answers[len(self.asked) - 1]

        yield ask
