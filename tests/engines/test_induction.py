"""k-induction: on the table of small examples, the k it needs, and its logic with scripted answers."""

from __future__ import annotations

import pytest
from tests.certify.test_replay import counter
from tests.engines.graphs import N, among, graph
from tests.examples import EXAMPLES, Example
from tests.solvers.scripted import Scripted

from surefoot.engines.induction import Induction
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.query.query import Sat, Undecided, UndecidedReason, Unsat
from surefoot.run import verify
from surefoot.solvers import SOLVERS
from surefoot.term.term import Var, divide_terms
from surefoot.verdict.verdict import Holds, Reason, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

X = Var("x")
solvers = pytest.mark.parametrize("solver", ["milp", "z3"])


def induction(problem_or_graph, solver: str = "milp", depth: int | None = 8) -> Verdict:  # type: ignore[no-untyped-def]
    """The engine's own answer, before anything is certified."""
    return Induction(SOLVERS[solver](), depth).check(problem_or_graph, Budget(30))


@solvers
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_examples_are_never_contradicted(example: Example, solver: str) -> None:
    engine = Induction(SOLVERS[solver](), depth=5)
    if engine.objection(example.problem) is not None:
        assert isinstance(example.problem.property, Within | Never)
        return
    match verify(example.problem, engine, Budget(8)).verdict:
        case Violated(trace):
            assert not example.holds
            assert len(trace.moves) == example.steps
        case Holds(up_to):
            assert example.holds
            assert up_to is None


def shown(k: int, solver: str) -> Holds:
    return Holds(None, solver, as_asked=True, how=f"by induction with k = {k}")


TAIL = [(0, 0), (5, 6), (6, 7)]  # 5, 6, 7 cannot be reached from 0


@solvers
@pytest.mark.parametrize(
    ("asked", "arrows", "k"),
    [
        (Never(among(8)), TAIL, 1),  # there is no such state
        (Never(among(4)), [(4, 4), (0, 0)], 2),  # 4 has no other predecessor
        (Never(among(7)), TAIL, 4),  # 5, 6 lead to 7, nothing leads to 5
        (Recurs(among(0)), [(0, 1), (1, 2), (2, 0)], 3),
        (Recurs(among(0, 5, 6, 7)), TAIL, 2),  # dead ends that are not good: 1 to 4, without predecessor
        (Recurs(among(0)), TAIL, 4),
    ],
)
def test_k_is_the_smallest_that_closes(
    asked: Property, arrows: list[tuple[int, int]], k: int, solver: str
) -> None:
    problem = graph(arrows, asked, states=3 if isinstance(asked, Recurs) and (1, 2) in arrows else 8)
    assert induction(problem, solver, depth=k) == shown(k, solver)
    if k > 1:
        assert isinstance(induction(problem, solver, depth=k - 1), Unknown)


def test_simple_paths_make_it_complete_for_never() -> None:
    """5 and 6 go round for ever without being reachable: only paths that pass no state twice are finite."""
    problem = graph([(0, 1), (1, 0), (5, 6), (6, 5), (6, 7)], Never(among(7)), states=8)
    assert induction(problem) == shown(4, "milp")


def test_simple_paths_are_not_used_for_liveness() -> None:
    """The loop 5, 6 is unreachable, and every run recurs; but from anywhere it does not."""
    problem = graph([(0, 0), (5, 6), (6, 5)], Recurs(among(0, 1, 2, 3, 4, 7)), states=8)
    found = induction(problem)
    assert isinstance(found, Unknown)
    assert found.reason is Reason.DEPTH


def test_a_step_out_of_range_is_no_proof() -> None:
    found = induction(graph([(0, 1), (1, 9)], Never(among(7)), states=8))
    assert isinstance(found, Unknown)
    assert "outside its kind" in found.detail
    unreachable = graph([(0, 0), (5, 9)], Never(among(7)), states=8)
    assert induction(unreachable) == shown(2, "milp")


@solvers
@pytest.mark.parametrize("asked", [Recurs(divide_terms(1, N - 3) < 5), Never(divide_terms(1, N - 3) > 5)])
def test_a_state_in_which_the_property_has_no_value_is_no_proof(asked: Property, solver: str) -> None:
    """All other states are good, or not bad; the base comes to state 3 late."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    found = induction(graph(ring, asked, states=5), solver)
    assert isinstance(found, Unknown)
    assert "no value" in found.detail
    shortcut = [(0, 1), (1, 2), (2, 4), (3, 4), (4, 0)]
    assert induction(graph(shortcut, asked, states=5), solver) == shown(2, solver)


def test_a_bounded_property_is_not_for_induction() -> None:
    problem = graph([(0, 1)], Never(among(7), steps=3), states=8)
    assert "number of steps" in (Induction().objection(problem) or "")
    assert "Within" in (Induction().objection(graph([(0, 1)], Within(N > 3, 3), states=8)) or "")
    assert Induction(Scripted((), refusal="no")).objection(counter()) == "no"


CLEAR = (Unsat(), Sat({"x@0": 0, "x@1": 1}), Unsat())  # no violation, some run, no step out of range
RUN = Sat({f"x@{i}": i for i in range(9)})


def scripted(*answers: object) -> Induction:
    return Induction(Scripted(answers))  # type: ignore[arg-type]


def test_base_and_step_are_asked_in_turn() -> None:
    """counter has escapes, so the step is asked twice: for bad states, for steps out of range."""
    engine = scripted(*CLEAR, RUN, *CLEAR, Unsat(), Unsat())
    assert engine.check(counter(), Budget(60)) == shown(2, "scripted")


def test_the_budget_ends_the_search_and_knowledge_is_kept() -> None:
    engine = scripted(*CLEAR, RUN, *CLEAR, RUN, Undecided(UndecidedReason.TIMEOUT, "slow"))
    assert engine.check(counter(), Budget(60)) == Unknown(Reason.TIMEOUT, "k = 2: slow", 1, "scripted")
    assert isinstance(verdict := scripted().check(counter(), Budget(0)), Unknown)
    assert (verdict.reason, verdict.holds_up_to) == (Reason.TIMEOUT, None)


def test_an_undecided_step_is_not_a_proof() -> None:
    engine = Induction(Scripted((*CLEAR, Unsat(), Undecided(UndecidedReason.NUMERICS, "tiny"))), depth=1)
    assert engine.check(counter(), Budget(60)) == Unknown(Reason.NUMERICS, "k = 1: tiny", 0, "scripted")


@pytest.mark.parametrize("kind", [Eventually, Recurs])
def test_about_loops_nothing_is_known_from_the_base(kind: type[Eventually] | type[Recurs]) -> None:
    found = induction(graph([(0, 1), (1, 1)], kind(among(7)), states=8), depth=3)
    assert isinstance(found, Unknown)
    assert found.holds_up_to is None
