"""Sessions whose solver runs in a child process, so that no answer is later than its deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeAlias

from surefoot.errors import SolverFailure
from surefoot.problem.term import Term
from surefoot.query.query import Answer, Query, Undecided, Why
from surefoot.solve.protocol import Ask
from surefoot.work.child import Died, TimedOut, borrowed

Question: TypeAlias = Callable[[tuple[Term, ...], float], Answer]  # more terms, seconds
Prepare: TypeAlias = Callable[..., Question]  # from the base query and the solver's options

GRACE = 0.4  # seconds for a solver that does look at the clock to say so itself

_prepared: dict[str, Question] = {}  # in the child: the session that its parent has open


@contextmanager
def remote_session(prepare: Prepare, base: Query, *options: object, seconds: float) -> Iterator[Ask]:
    """`prepare(base, *options)` once in a child; its answers until `seconds` from now."""
    deadline = monotonic() + seconds
    with borrowed() as worker:
        is_open = False

        def ask(*more: Term) -> Answer:
            nonlocal is_open
            if deadline <= monotonic():
                return late(seconds)
            was_open, is_open = is_open, False
            try:
                if not was_open:
                    worker.call(_open, prepare, base, options, seconds=deadline - monotonic() + GRACE)
                left = max(0.0, deadline - monotonic())
                answer = worker.call(_ask, more, left, seconds=left + GRACE)
            except TimedOut:
                return late(seconds)
            except Died as death:
                if death.memory:
                    return Undecided(Why.MEMORY, str(death))
                raise SolverFailure(str(death), fix="report this with the query (--dump-queries)") from death
            is_open = True
            return answer

        yield ask


def late(seconds: float) -> Undecided:
    return Undecided(Why.TIMEOUT, f"no answer within {seconds:g} s")


def _open(prepare: Prepare, base: Query, options: tuple[object, ...]) -> None:
    _prepared["session"] = prepare(base, *options)


def _ask(more: tuple[Term, ...], seconds: float) -> Answer:
    return _prepared["session"](more, seconds)
