"""The last decision that could have been different, in systems in which it is known."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.fault_analysis.finite_fault import fault_by_region
from surefoot.fault_analysis.last_decision import as_played, find_fault, find_fault_beside
from surefoot.fault_analysis.winning_region import solve_region
from surefoot.interface.questions import plain_problem
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.report.fault_text import fault_lines
from surefoot.term.term import TRUE, Const
from surefoot.verdict.fault import FaultFinding
from surefoot.work.budget import Budget


def finding(problem: Problem, **options: object) -> FaultFinding:
    """Of the run that a check finds."""
    result = sf.check(problem, timeout=60)
    assert result.violated
    played = as_played(result.problem)
    return find_fault(played, result.data.verdict.trace, Budget(60), **options)  # type: ignore[union-attr, arg-type]


def corridor(asked: object, *, slips: bool = False) -> Problem:
    """A walk from 2; beyond 5 there is only the way on to 9, and 0 is home."""
    x = sf.integer("x", 0, 9)
    world = sf.Environment("corridor", start=x == 2)
    world = world.edge("on", guard=(x > 0) & (x < 9), update={x: x + 1})
    if slips:
        world = world.edge(
            "back", guard=(x > 0) & (x <= 5), outcomes=[("9/10", {x: x - 1}), ("1/10", {x: x + 1})]
        )
    else:
        world = world.edge("back", guard=(x > 0) & (x <= 5), update={x: x - 1})
    world = world.edge("stay", guard=(x == 0) | (x == 9))
    policy = sf.Policy.program([(sf.TRUE & (x > 0) & (x < 9), "on"), (sf.TRUE, "stay")])
    return plain_problem(Problem("corridor", world, policy, asked))  # type: ignore[arg-type]


X = sf.integer("x", 0, 9)


@pytest.mark.parametrize(
    ("asked", "step", "safe"),
    [
        (sf.never(X == 9), 3, ("back",)),
        (sf.never(X == 9, steps=20), 3, ("back",)),
        (sf.eventually(X == 0), 3, ("back",)),
        (sf.within(X == 0, 12), 3, ("back",)),
        (sf.recurs(X == 0), 3, ("back",)),
        (sf.never_before(X == 9, X == 1), 3, ("back",)),
    ],
)
def test_the_last_decision_is_where_the_corridor_narrows(
    asked: object, step: int, safe: tuple[str, ...]
) -> None:
    found = finding(corridor(asked))
    assert found.fault is not None
    assert (found.fault.step, found.fault.state["x"]) == (step, 5)
    assert [a.action for a in found.fault.chosen] == ["on"]
    assert tuple(a.action for a in found.fault.safe) == safe
    assert found.fault.saved.kind == "exact"
    assert found.fault.lost is not None
    assert found.fault.lost.kind == "exact"


def test_a_deadline_moves_the_decision_forward() -> None:
    """From 2 home is two steps away: with three steps only one may be wasted, with two none."""
    tight = finding(corridor(sf.within(X == 0, 2)))
    assert tight.fault is not None
    assert tight.fault.step == 0


def test_a_start_without_a_way_out_is_lost() -> None:
    x = sf.integer("x", 0, 9)
    world = sf.Environment("slide", start=x == 6).edge("on", guard=x < 9, update={x: x + 1})
    found = finding(Problem("slide", world, sf.Policy.program([(sf.TRUE, "on")]), sf.never(x == 9)))
    assert found.fault is None
    assert found.lost is not None
    assert found.lost.kind == "exact"
    told = fault_lines(plain_problem(Problem("slide", world, None, sf.never(x == 9))), found)
    assert told == ["decision  no decision could have prevented it: the start is already lost (exact)"]


def test_a_run_that_goes_round_could_be_saved_each_time() -> None:
    x = sf.integer("x", 0, 3)
    world = sf.Environment("round", start=x == 0)
    world = world.edge("turn", guard=x < 3, update={x: sf.choose_value(x == 2, 0, x + 1)})
    world = world.edge("leave", guard=x == 2, update={x: 3})
    found = finding(Problem("round", world, sf.Policy.program([(sf.TRUE, "turn")]), sf.eventually(x == 3)))
    assert found.fault is not None
    assert found.fault.lost is None
    assert found.fault.state["x"] == 2
    assert [a.action for a in found.fault.safe] == ["leave"]


def test_a_stall_in_the_last_state_is_a_decision() -> None:
    x = sf.integer("x", 0, 3)
    world = sf.Environment("stall", start=x == 0)
    world = world.edge("up", guard=x < 2, update={x: x + 1}).edge("down", guard=x == 2, update={x: 3})
    found = finding(Problem("stall", world, sf.Policy.program([(sf.TRUE, "up")]), sf.never("stalled")))
    assert found.fault is not None
    assert found.fault.stalls
    assert [a.action for a in found.fault.safe] == ["down"]


def test_where_chance_has_a_part_the_costliest_decision_is_told() -> None:
    found = finding(corridor(sf.never(X == 9), slips=True))
    assert found.fault is None  # a slip may follow every step
    assert found.lost is not None
    assert found.costliest is not None
    before, after = found.costliest.risk or (0, 0)
    assert after > before
    assert [a.action for a in found.costliest.safe] == ["back"]
    assert found.costliest.state["x"] == 5
    assert after == pytest.approx(1.0)
    assert before == pytest.approx((9**5 - 1) / (9**6 - 1))  # a gambler at 5 who is ruined at 6, safe at 0


def test_a_cut_exploration_claims_nothing_that_it_does_not_know() -> None:
    problem = as_played(corridor(sf.never(X == 9)))
    result = sf.check(problem, timeout=60)
    trace = result.data.verdict.trace  # type: ignore[union-attr]
    for states in range(1, 9):
        told = fault_by_region(problem, trace, solve_region(problem, Budget(60), max_states=states))
        assert told.unknown or told.fault is not None
        if told.fault is not None:
            assert told.fault.step == 3


def braking(*, controls: bool) -> Problem:
    """A car at 0 with speed 2, a wall at 10: braking takes as many steps as there is speed."""
    position, speed = sf.real("position"), sf.real("speed")
    start = (position == 0) & (speed == 2)
    world = sf.Environment("car", start=start, arithmetic="float64")
    after = {position: position + speed / 4}
    if controls:
        push = sf.real("push", -1, 1)
        world = sf.Environment("car", start=start, arithmetic="float64", controls=[push])
        world = world.edge(update={position: position + speed / 4, speed: sf.maximum(0, speed + push / 4)})
        policy = sf.Policy.program([(position < 9, [0.5]), (sf.TRUE, [-1])])
    else:
        world = world.edge("push", update={**after, speed: speed + 0.125})
        world = world.edge("brake", update={**after, speed: sf.maximum(0, speed - 0.25)})
        policy = sf.Policy.program([(position < 9, "push"), (sf.TRUE, "brake")])
    return plain_problem(Problem("car", world, policy, sf.never(position >= 10)))


def last_state_that_braking_saves(problem: Problem) -> int:
    """By driving: brake from each state of the violating run on."""
    states = sf.check(problem, timeout=60).data.verdict.trace.states  # type: ignore[union-attr]
    saved = []
    for number, state in enumerate(states):
        position, speed = state["position"], state["speed"]
        while speed > 0 and position < 10:
            position, speed = position + speed / 4, max(0.0, speed - 0.25)
        if position < 10:
            saved.append(number)
    return saved[-1]


def test_real_numbers_are_looked_at_ahead() -> None:
    problem = braking(controls=False)
    found = finding(problem, ahead=30)
    assert found.fault is not None
    assert found.fault.step == last_state_that_braking_saves(problem)
    assert [a.action for a in found.fault.safe] == ["brake"]
    assert found.fault.saved.kind == "bounded"
    assert (found.fault.saved.steps or 0) >= 30
    assert found.fault.lost is not None
    assert found.fault.lost.kind == "exact"


def test_controls_are_tried_on_a_grid() -> None:
    problem = braking(controls=True)
    found = finding(problem, ahead=30)
    assert found.fault is not None
    assert found.fault.step == last_state_that_braking_saves(problem)
    assert found.fault.untried
    assert {"push": -1.0} in [dict(a.controls) for a in found.fault.safe]
    assert found.fault.saved.kind == "bounded"
    assert found.fault.lost is not None
    assert found.fault.lost.kind == "sampled"


def test_beside_an_answer_it_ends_in_time() -> None:
    problem = corridor(sf.never(X == 9))
    trace = sf.check(problem, timeout=60).data.verdict.trace  # type: ignore[union-attr]
    late = find_fault_beside(problem, trace, Budget(0.0), 0.0)
    assert late is not None
    assert "no time" in late.unknown
    assert find_fault_beside(replace(problem, policy=None), trace, Budget(9), 0.0) is None


def test_many_runs_are_counted_and_exported(tmp_path: Path) -> None:
    x = sf.integer("x", 0, 9)
    world = sf.Environment("counter", start=x <= 3)
    world = world.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    policy = sf.Policy.program([(x < 7, "up"), (x >= 7, "reset")])
    found = sf.faults(world, policy, sf.never(x == 5), runs=50, timeout=60)
    assert found.runs == 4  # there are four starts
    ((decision),) = found.decisions
    assert decision.count == 4
    for name in ("a.json", "a.html", "a.svg"):
        found.save(tmp_path / name)
    assert json.loads((tmp_path / "a.json").read_text())["decisions"][0]["safe"] == [{"action": "reset"}]
    for name in ("a.csv", "a.jsonl", "a.npz"):
        found.export(tmp_path / name)
    assert (tmp_path / "a.csv").read_text() == "x,bad,good,claim,runs\n4,up,reset,exact,4\n"
    arrays = np.load(io.BytesIO((tmp_path / "a.npz").read_bytes()))
    assert arrays["actions"].tolist() == ["up", "reset"]
    assert arrays["bad"].tolist() == [[True, False]]
    assert arrays["good"].tolist() == [[False, True]]
    with pytest.raises(InvalidProblem):
        found.export(tmp_path / "a.xlsx")


def test_what_no_decision_changes_is_refused() -> None:
    x = sf.integer("x", 0, 9)
    world = sf.Environment("counter", start=x == 0).edge("up", guard=x < 9, update={x: x + 1})
    with pytest.raises(Unsupported, match="nobody decides"):
        sf.faults(Problem("alone", world, None, sf.never(x == 5)))


def test_continuous_time_is_refused_with_a_way_out() -> None:
    x, u = sf.real("x"), sf.real("u", -1, 1)
    flow = sf.Flow({x: u - x}, 0.1, continuous=True)
    world = sf.Environment("tank", start=(x >= 0) & (x <= 1), controls=[u], flow=flow)
    policy = ProgramPolicy((Branch(TRUE, (Const(0),)),))
    with pytest.raises(Unsupported, match="fix: ask about steps, in doubles: `--time steps`"):
        sf.faults(world, policy, sf.never(x > 2))


@pytest.mark.parametrize("risk", ["0", "1/10"])
def test_a_decision_without_need_of_a_risk_is_the_costliest(risk: str) -> None:
    x = sf.integer("x", 0, 3)
    world = sf.Environment("mini", start=x == 1)
    world = world.edge("risky", guard=x == 1, outcomes=[("1/2", {x: 3}), ("1/2", {x: 0})])
    outcomes = [(risk, {x: 3}), (str(1 - Fraction(risk)), {x: 0})] if risk != "0" else [("1", {x: 0})]
    world = world.edge("careful", guard=x == 1, outcomes=outcomes)
    found = sf.faults(world, sf.Policy.program([(sf.TRUE, "risky")]), sf.never(x == 3), runs=9)
    (only,) = found.decisions
    assert only.fault.safe[0].action == "careful"
    assert only.fault.risk == (pytest.approx(float(Fraction(risk))), 0.5)
    last = sf.faults(world, sf.Policy.program([(sf.TRUE, "risky")]), sf.never(x == 3), runs=9, by="last")
    assert len(last.decisions) == (risk == "0")
