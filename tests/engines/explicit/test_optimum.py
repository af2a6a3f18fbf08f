"""Tables of optimal choices: following them gives the optimum, and a policy stands beside it."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path as File

import pytest
from tests.solvers.markov.random_processes import Rows, random_rows, reach_of_chain
from tests.solvers.markov.written import one_of, problem

from surefoot.cli import run_command_line
from surefoot.engines.explicit import Explicit
from surefoot.engines.explicit.optimum import optimal_table
from surefoot.errors import Unsupported
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Path, Probability
from surefoot.term.term import TRUE, Const, Var
from surefoot.work.budget import Budget


def test_following_the_table_is_optimal() -> None:
    for seed in range(40):
        rows, _ = random_rows(seed)
        goal = [s == len(rows) - 1 for s in range(len(rows))]
        starts = [True] * len(rows)
        for optimise in ("min", "max"):
            asked = problem(rows, Probability(Path("F", one_of(goal)), None, optimise), starts)
            table = optimal_table(asked, optimise, Budget(20), Explicit(exact=True))
            assert isinstance(table, tuple)
            chain: list = [None] * len(rows)
            place = {}
            for s, choices in enumerate(rows):
                for c in range(len(choices)):
                    place[len(place)] = (s, c)
            for row in table:
                if row.transition is not None:
                    ((_, edge),) = row.transition.edges
                    s, c = place[edge]
                    assert s == row.state["where"]
                    chain[s] = rows[s][c]
            reached = reach_of_chain(chain, [True] * len(rows), goal)
            assert {r.state["where"]: r.low for r in table} == dict(enumerate(reached)), seed


ROWS: Rows = [
    [[(Fraction(1, 2), 1, 0), (Fraction(1, 2), 2, 0)], [(Fraction(9, 10), 1, 0), (Fraction(1, 10), 2, 0)]],
    [],
    [],
]


def with_policy() -> Problem:
    asked = problem(ROWS, Probability(Path("F", one_of([False, True, False]))), [True, False, False])
    return Problem(
        asked.name, asked.environment, ProgramPolicy((Branch(TRUE, "a0"),), ("a0", "a1")), asked.property
    )


def test_a_policy_beside_the_optimum() -> None:
    table = optimal_table(with_policy(), "max", Budget(10), Explicit(exact=True))
    assert isinstance(table, tuple)
    start = next(row for row in table if row.is_start)
    assert (start.low, start.policy) == (Fraction(9, 10), (Fraction(1, 2), Fraction(1, 2)))
    assert start.transition is not None
    assert start.transition.label == "a1"


def test_choices_that_depend_on_more_than_the_state() -> None:
    path = Path("F", one_of([False, True, False]), bounds=(Bound(None, Const(3)),))
    with pytest.raises(Unsupported, match="depends on more"):
        optimal_table(problem(ROWS, Probability(path), [True, False, False]), "max", Budget(10))


def test_the_command(tmp_path: File, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.py"
    model.write_text("from tests.engines.explicit.test_optimum import with_policy\nproblem = with_policy()\n")
    assert (
        run_command_line(
            ["optimum", str(model), "--trust-python", "--quiet", "--json", str(tmp_path / "t.json")]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "max between 0.899999999999 and 0.900000000001; the policy between 0.499999999999" in told
    states = json.loads((tmp_path / "t.json").read_text())["states"]
    assert states[0]["take"]["label"] == "a1"
    assert [float(e) for e in states[0]["gap"]] == pytest.approx([0.4, 0.4], abs=1e-9)


def constant_network(choose: Choose, actions: tuple[str, ...]) -> Problem:
    """The problem with a network whose outputs are all equal."""
    asked = with_policy()
    network = dense_network([([[0.0]] * len(actions), [1.0] * len(actions))])
    return replace(asked, policy=NeuralPolicy(network, (Var("where"),), actions, choose))


def test_a_draw_that_ends_the_run_is_no_state_of_its_own() -> None:
    table = optimal_table(
        constant_network(Choose.SAMPLE, ("a0", "a1", "none")), "max", Budget(10), Explicit(exact=True)
    )
    assert isinstance(table, tuple)
    (start,) = (row for row in table if row.is_start)
    assert start.policy == (Fraction(7, 15), Fraction(7, 15))
    assert start.gap() == (Fraction(13, 30), Fraction(13, 30))


def test_near_ties_are_flagged() -> None:
    table = optimal_table(
        constant_network(Choose.ARGMAX, ("a0", "a1")), "max", Budget(10), Explicit(exact=True)
    )
    assert isinstance(table, tuple)
    assert [(row.state["where"], row.policy) for row in table if row.near_tie] == [(0, (Fraction(1, 2),) * 2)]
    assert not any(row.near_tie for row in optimal_table(with_policy(), "max", Budget(10)))  # type: ignore[union-attr]
