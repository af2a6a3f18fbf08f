"""The native solver: exact witnesses, rigorous bounds, branch and bound over inputs or neurons, proofs.

What decides is imported where a question is asked: every command names its solvers, few ask them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from surefoot.query.objection import query_objection
from surefoot.query.query import Query
from surefoot.solvers.protocol import Ask
from surefoot.solvers.remote import remote_session


@dataclass(frozen=True, slots=True)
class Native:
    """Branch and bound with rigorous linear bounds, for every kind of network node.

    Unsat rests on float64 bounds with explicit error terms and on exact arithmetic. Sat answers satisfy the
    query exactly; outputs of networks with tanh or sigmoid lie within a rigorous enclosure of the true value.
    """

    name: ClassVar[str] = "native"

    seed: int = 0
    batch: int = 256
    proof: bool = True
    """Write down what closes every box, so that unsat answers come with evidence."""

    def objection(self, query: Query) -> str | None:
        return query_objection(self.name, query, _check_bounds)

    def session(self, base: Query, *, seconds: float, workers: int = 1) -> AbstractContextManager[Ask]:
        from surefoot.solvers.native.solver import prepare_native_session

        return remote_session(
            prepare_native_session, base, self.seed, self.batch, self.proof, workers, seconds=seconds
        )


def _check_bounds(query: Query) -> None:
    from surefoot.solvers.native.solver import check_native_bounds

    check_native_bounds(query)
