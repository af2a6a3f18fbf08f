"""A solver that keeps a copy of every question: composed around any other solver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from surefoot.errors import Unsupported
from surefoot.query.query import Answer, Query
from surefoot.query.smtlib import to_smtlib, to_vnnlib
from surefoot.solvers.protocol import Ask, Solver
from surefoot.term.term import Term


@dataclass(frozen=True, slots=True, repr=False)
class Recording:
    """Writes each question as SMT-LIB, and as VNN-LIB with its network where one network call allows it."""

    solver: Solver
    folder: Path
    numbers: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.solver.name

    def __repr__(self) -> str:
        return repr(self.solver)

    def objection(self, query: Query) -> str | None:
        return self.solver.objection(query)

    @contextmanager
    def session(self, base: Query, *, seconds: float, workers: int = 1) -> Iterator[Ask]:
        with self.solver.session(base, seconds=seconds, workers=workers) as ask:

            def record_question(*more: Term) -> Answer:
                self._write(Query(base.quantities, base.constraints + more, base.calls))
                return ask(*more)

            yield record_question

    def _write(self, query: Query) -> None:
        stem = self.folder / f"query-{next(self.numbers):04d}"
        for suffix, export in ((".smt2", to_smtlib), (".vnnlib", to_vnnlib)):
            try:
                stem.with_suffix(suffix).write_text(export(query), encoding="utf-8")
            except Unsupported as reason:
                stem.with_suffix(f"{suffix}.skipped").write_text(f"{reason}\n", encoding="utf-8")
