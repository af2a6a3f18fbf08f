"""The MILP solver: HiGHS on networks as big-M rows, with exact witnesses.

What decides is imported where a question is asked: every command names its solvers, few ask them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from surefoot.query.objection import query_objection
from surefoot.query.query import Query
from surefoot.solvers.linear_program import missing_highs
from surefoot.solvers.protocol import Ask
from surefoot.solvers.remote import Question, remote_session


@dataclass(frozen=True, slots=True)
class Milp:
    """HiGHS. Sat answers satisfy the query exactly; Unsat is HiGHS's word, with feasibility tolerance 1e-9,
    given twice: with and without presolve.

    A query whose only solutions lie on a boundary that floats miss is `Undecided` (numerics), never Sat.
    """

    name: ClassVar[str] = "milp"

    seed: int = 0

    def objection(self, query: Query) -> str | None:
        if (absent := missing_highs()) is not None:
            return absent
        for call in query.calls:
            if call.network.divisors():
                return f"`milp` does not encode quotients of variables; `{call.network.name}` has some"
            if call.network.has_trees():
                return f"`milp` does not encode decision trees; `{call.network.name}` has some"
            if not call.network.is_piecewise_linear():
                return f"`milp` needs piecewise-linear networks; `{call.network.name}` is not"
        return query_objection(self.name, query, _check_bounds)

    def session(self, base: Query, *, seconds: float, workers: int = 1) -> AbstractContextManager[Ask]:
        from surefoot.solvers.milp.solver import prepare_milp

        return remote_session(prepare_milp, base, self.seed, seconds=seconds)

    def question(self, base: Query) -> Question:
        from surefoot.solvers.milp.solver import prepare_milp

        return prepare_milp(base, self.seed)


def _check_bounds(query: Query) -> None:
    from surefoot.solvers.milp.solver import check_milp_bounds

    check_milp_bounds(query)
