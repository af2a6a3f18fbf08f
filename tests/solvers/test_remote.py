"""What happens to a session whose solver hangs, crashes or runs out of memory: never an answer."""

from time import monotonic

import pytest
from tests.solvers.examples import crashing, greedy, relu, sleepy

from surefoot.errors import SolverFailure
from surefoot.query.query import Query, Sat, Undecided, UndecidedReason
from surefoot.solvers.milp.solver import prepare_milp
from surefoot.solvers.remote import remote_session

NOTHING = Query((), ())


def test_a_hanging_solver_is_a_timeout() -> None:
    start = monotonic()
    with remote_session(sleepy, NOTHING, seconds=0.5) as ask:
        for _ in range(2):
            answer = ask()
            assert isinstance(answer, Undecided)
            assert answer.why is UndecidedReason.TIMEOUT
    assert monotonic() - start < 2.5


def test_a_crash_is_a_failure_not_an_answer() -> None:
    with (
        pytest.raises(SolverFailure, match="exit code 7"),
        remote_session(crashing, NOTHING, seconds=10) as ask,
    ):
        ask()


def test_running_out_of_memory_is_undecided() -> None:
    with remote_session(greedy, NOTHING, seconds=10) as ask:
        answer = ask()
        assert isinstance(answer, Undecided)
        assert answer.why is UndecidedReason.MEMORY
        again = ask()  # a new child is started and prepared
        assert isinstance(again, Undecided)


def test_sessions_side_by_side_do_not_mix() -> None:
    negative = relu(low=-2, high=-1)
    with (
        remote_session(prepare_milp, relu(), 0, seconds=20) as first,
        remote_session(prepare_milp, negative, 0, seconds=20) as second,
    ):
        for ask, sign in ((first, 1), (second, -1), (first, 1)):
            answer = ask()
            assert isinstance(answer, Sat)
            assert answer.assignment["x"] * sign >= 0
