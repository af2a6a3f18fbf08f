"""Answers of engine `reach` that would be wrong proofs, each of which a rule of its own prevents."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.engines.reach.small_loops import (
    ask_reach,
    check_reach_proof,
    linear_network,
    stepped_loop,
    timed_loop,
    write_edge,
)

from surefoot.engines.reach import Reach
from surefoot.problem.policy import Choose
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Timed
from surefoot.term.parser import parse_term
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.verdict import Proved
from surefoot.work.budget import Budget

APPLICABLE = Choose.ARGMAX_APPLICABLE


def is_proved(problem: Problem, seconds: float = 1.0) -> bool:
    """The checker accepts all that is proved. Options are given: the first walk is within the time."""
    verdict = ask_reach(problem, seconds, order=10, taylor=4, pieces=4)
    if isinstance(verdict, Proved):
        checked = check_reach_proof(problem, verdict)
        assert checked.accepted, checked.reason
        return True
    return False


@pytest.mark.parametrize("change", ["-x", "x / 2"])
def test_coming_back_meets_no_goal(change: str) -> None:
    starts = {"x": (-1.0, 1.0)}
    asked = "eventually x > 5"
    problem = timed_loop({"x": change}, starts, asked) if change == "-x" else None
    assert not is_proved(problem or stepped_loop({"x": change}, starts, asked))


def test_bad_states_count_in_regions_that_are_come_back_to() -> None:
    """x goes to 0: it is back inside of its starts after a second, and bad after three."""
    problem = timed_loop({"x": "-x"}, {"x": (-1.0, 1.0)}, "never x > 5")
    late = replace(problem, property=Timed(Never(parse_term("abs(x) < 0.5")), None, Fraction(3)))
    assert not is_proved(late, 8.0)


def test_a_run_that_ends_meets_no_goal() -> None:
    starts, asked = {"x": (0.0, 0.5)}, "within 5 x > 3"
    assert not is_proved(stepped_loop({"x": "x + 1"}, starts, asked, guard="x < 1"))
    assert is_proved(stepped_loop({"x": "x + 1"}, starts, asked))
    both = [write_edge({"x": "x + 1"}, guard="x < 1"), write_edge({"x": "x + 1"}, guard="x >= 1")]
    assert is_proved(stepped_loop(both, starts, asked))
    gap = [write_edge({"x": "x + 1"}, guard="x < 1"), write_edge({"x": "x + 1"}, guard="x > 1")]
    assert not is_proved(stepped_loop(gap, starts, asked))


def test_a_choice_that_a_disturbance_makes() -> None:
    """At the middle of w the derivative is 0."""
    problem = timed_loop(
        {"x": "ite(w > 0.2, 1, 0)"},
        {"x": (0.0, 0.1)},
        "never x > 0.5 for 1 seconds",
        chosen={"w": (-0.5, 0.5)},
    )
    assert not is_proved(problem)


def test_the_size_of_a_disturbance() -> None:
    starts, range_ = {"x": (0.0, 0.0)}, {"w": (-0.5, 0.5)}
    assert not is_proved(timed_loop({"x": "abs(w)"}, starts, "never x > 0.4 for 1 seconds", chosen=range_))


def test_a_point_that_fails_is_not_forgotten() -> None:
    assert not is_proved(timed_loop({"x": "1"}, {"x": (0.0, 0.0)}, "never x > 0.5 for 1 seconds"))


@pytest.mark.parametrize("condition", ["abs(x) > 1.5", "max(x, 0 - x) > 1.5", "ite(x > 0, x, 0 - x) > 1.5"])
def test_conditions_with_corners_in_continuous_time(condition: str) -> None:
    assert is_proved(timed_loop({"x": "-x"}, {"x": (-1.0, 1.0)}, f"never {condition} for 1 seconds"))
    assert not is_proved(timed_loop({"x": "x"}, {"x": (-1.0, 1.0)}, f"never {condition} for 1 seconds"))


def test_the_best_action_among_those_that_are_enabled() -> None:
    """Action a is better, but only b is enabled."""
    edges = [write_edge({"x": "x + 1"}, action="a", guard="x < 0"), write_edge({"x": "x - 1"}, action="b")]
    network = linear_network([0, 1], [0, 0])
    starts, actions = {"x": (0.5, 0.6)}, ("a", "b")
    moves = stepped_loop(
        edges, starts, "never x < 0 for 3 steps", actions=actions, choose=APPLICABLE, network=network
    )
    assert not is_proved(moves)
    near = stepped_loop(
        edges, starts, "never x < -1 for 9 steps", actions=actions, choose=APPLICABLE, network=network
    )
    assert is_proved(near)
    stalls = stepped_loop(edges, starts, "never x < 0 for 3 steps", actions=actions, network=network)
    assert is_proved(stalls)


def test_doubles_next_to_the_ends_of_starts() -> None:
    """0.1 as a double is above 1/10, and is a start."""
    problem = stepped_loop({"x": "x / 2"}, {"x": (-0.1, 0.1)}, "never x > 0.2", arithmetic=Arithmetic.FLOAT64)
    assert is_proved(problem)


@pytest.mark.parametrize("moment", ["0", "1/3", "0.5", "1", "1.5", "2"])
def test_one_moment_of_continuous_time(moment: str) -> None:
    """x(t) = t; a moment may lie within a sub-step."""
    high, low = (float(Fraction(moment)) + by for by in (0.01, -0.01))
    assert is_proved(timed_loop({"x": "1"}, {"x": (0.0, 0.0)}, f"never x > {high} at time {moment}"))
    assert not is_proved(timed_loop({"x": "1"}, {"x": (0.0, 0.0)}, f"never x > {low} at time {moment}"))


@pytest.mark.parametrize("moment", ["1/3", "0.5", "1.7", "2"])
def test_a_goal_at_a_moment_within_a_sub_step(moment: str) -> None:
    at = float(Fraction(moment))
    for asked, true in ((at - 0.01, True), (at + 0.01, False)):
        for words in (
            f"x > {asked} at time {moment}",
            f"within {moment} seconds x > {asked} after {moment} seconds",
        ):
            assert is_proved(timed_loop({"x": "1"}, {"x": (0.0, 0.0)}, words)) is true


@pytest.mark.parametrize(
    "asked",
    [
        "never x > 1.2 from 0.3 to 1.25 seconds",
        "never x > 0.6 before x > 0.7 for 1 seconds",
        "never x > 0.6 before x > 0.6 for 1 seconds",
        "within 0.7 seconds x > 0.8 after 0.5 seconds",
        "x > 0.51 at time 0.5",
        "never x > 0.3 for 1/3 seconds",
    ],
)
def test_false_claims_about_times(asked: str) -> None:
    assert not is_proved(timed_loop({"x": "1"}, {"x": (0.0, 0.0)}, asked))


def test_no_starts_are_an_objection() -> None:
    problem = timed_loop({"x": "-x"}, {"x": (-1.0, 1.0)}, "never x > 5")
    none = parse_term("x >= 1 and x <= 0")
    empty = replace(problem, environment=replace(problem.environment, initial=none))
    assert "nothing satisfies the initial condition" in (Reach().objection(empty) or "")


def test_a_search_that_cannot_go_on_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit of time it would ask again for ever."""
    monkeypatch.setattr("surefoot.engines.reach.search.MOST_CELLS", 3)
    problem = timed_loop({"x": "x"}, {"x": (-1.0, 1.0)}, "never x > 2 for 5 seconds")
    assert not isinstance(Reach().check(problem, Budget(60)), Proved)


@pytest.mark.parametrize(
    ("change", "chosen", "true"),
    [
        ("-x", {}, True),
        ("-x^3", {}, True),
        ("x", {}, False),
        ("-x + w", {"w": (-2.0, 2.0)}, False),
        ("-x + w", {"w": (0.0, 3.0)}, False),
        ("0.5 - x", {}, True),
        ("1.5 - x", {}, False),
    ],
)
def test_runs_leave_a_range_only_where_the_derivative_points(
    change: str, chosen: dict[str, tuple[float, float]], true: bool
) -> None:
    ends = {"x": (-1.0, 1.0)}
    problem = timed_loop({"x": change}, ends, "never x > 9 for 2 seconds", chosen=chosen, ranges=ends)
    assert is_proved(problem) is true
