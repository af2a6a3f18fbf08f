"""Notes about answers in which the policy has no part; they are said only where that is sure."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import process_time

import pytest
from tests.laws.brute_force import truth
from tests.laws.finite_systems import problems

from surefoot.cli import run_command_line
from surefoot.engines.explicit import Explicit, influence
from surefoot.engines.explicit.influence import notes_on_influence
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore, Probability
from surefoot.problem.property import Path as Formula
from surefoot.run import verify
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, equal, ite
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

X, Y = Var("x"), Var("y")
LABELS = ("right", "left", "up", "down")
CLIFF = equal(Y, 0) & (X >= 1) & (X <= 4)


def cliff_walking(bad: Term = CLIFF) -> Problem:
    """A move into the cliff leads back to the start, as in Gymnasium: nobody is ever in it."""
    ways = {"right": (1, 0), "left": (-1, 0), "up": (0, 1), "down": (0, -1)}
    edges = []
    for label, (dx, dy) in ways.items():
        inside = [X + dx >= 0, X + dx <= 5, Y + dy >= 0, Y + dy <= 2]
        falls = equal(Y + dy, 0) & (X + dx >= 1) & (X + dx <= 4)
        moves = (Update(X, ite(falls, 0, X + dx)), Update(Y, ite(falls, 0, Y + dy)))
        edges.append(
            Edge(action=label, guard=conjunction_of(tuple(inside)), outcomes=(Outcome(updates=moves),))
        )
    variables = (Variable("x", Int(0, 5)), Variable("y", Int(0, 2)))
    start = equal(X, 0) & equal(Y, 0)
    world = Environment("cliff", variables, start, (Component("main", tuple(edges)),))
    policy = ProgramPolicy((Branch(equal(Y, 0), "up"), Branch(X < 5, "right"), Branch(TRUE, "down")), LABELS)
    return Problem("cliff", world, policy, Never(bad))


def notes(problem: Problem) -> str:
    return "\n".join(verify(problem, Explicit(), Budget(20)).notes)


def test_a_bad_set_that_no_edge_enters() -> None:
    assert "no start satisfies the bad condition and no edge leads into a state that does" in notes(
        cliff_walking()
    )
    before = replace(cliff_walking(), property=NeverBefore(CLIFF, equal(X, 5)))
    assert "no edge leads into" in notes(before)
    assert "no part" not in notes(cliff_walking(equal(X, 2) & equal(Y, 2)))  # the policy avoids that


def test_a_bad_condition_that_no_state_satisfies() -> None:
    assert "no state at all satisfies the bad condition" in notes(cliff_walking((X > 3) & (X < Y)))


def counting(edges: tuple[Edge, ...], bad: Term, policy: ProgramPolicy) -> Problem:
    world = Environment("counting", (Variable("x", Int(0, 9)),), equal(X, 0), (Component("main", edges),))
    return Problem("counting", world, policy, Never(bad))


def step(action: str | None, guard: Term, by: int) -> Edge:
    return Edge(action=action, guard=guard, outcomes=(Outcome(updates=(Update(X, X + by),)),))


def test_a_bad_state_that_the_environment_never_reaches() -> None:
    edges = (step("up", X < 4, 1), step("down", X > 0, -1), step("jump", (X > 6) & (X < 9), 1))
    policy = ProgramPolicy((Branch(X < 3, "up"), Branch(TRUE, "down")))
    found = notes(counting(edges, equal(X, 8), policy))
    assert "whatever is picked, no run of the environment comes to the bad condition" in found
    assert "no part" not in notes(counting(edges, equal(X, 4), policy))


def test_a_policy_that_is_never_asked() -> None:
    edges = (step(None, X < 3, 1), step("up", X > 5, 0), step("down", X > 6, -1))
    policy = ProgramPolicy((Branch(TRUE, "up"),), ("up", "down"))
    for asked in (Never(equal(X, 3)), Probability(Formula("F", equal(X, 3)))):
        found = notes(replace(counting(edges, equal(X, 3), policy), property=asked))
        assert "the policy is never asked" in found


def test_a_policy_whose_actions_do_the_same() -> None:
    edges = (step("up", X < 3, 1), step("down", X < 3, 1))
    policy = ProgramPolicy((Branch(X < 2, "up"), Branch(TRUE, "down")))
    same = "whatever the policy picks, wherever it is asked, leads to the same"
    assert same in notes(counting(edges, equal(X, 3), policy))
    half = Edge(action="down", guard=X < 3, outcomes=(Outcome(Const(Fraction(1, 2)), (Update(X, X + 1),)),
                                                      Outcome(Const(Fraction(1, 2)))))  # fmt: skip
    assert same not in notes(counting((edges[0], half), equal(X, 3), policy))
    stalling = (step("up", X < 3, 1), step("down", X < 2, 1))
    assert same not in notes(counting(stalling, equal(X, 3), policy))


def test_notes_are_true_of_random_systems() -> None:
    """Where the bad condition is said to be out of reach, it is so for the environment alone."""
    said = 0
    for seed in range(120):
        problem = problems(seed)["never"]
        found = notes_on_influence(problem, True, Budget(20))
        if any("bad condition" in note for note in found):
            said += 1
            assert truth(replace(problem, policy=None)) == "holds"
    assert said


def test_notes_stand_in_text_json_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, stored, page = tmp_path / "m.toml", tmp_path / "r.json", tmp_path / "r.html"
    model.write_text(
        'initial = "x = 0"\n[variables]\nx = "int 0..9"\n[[edges]]\naction = "up"\nguard = "x < 4"\n'
        'updates = { x = "x + 1" }\n[[edges]]\naction = "down"\nguard = "x > 0 and x < 5"\n'
        'updates = { x = "x - 1" }\n[policy.program]\nbranches = [{ action = "up" }]\n'
        '[properties]\nsafe = "never x > 6"\n',
        "utf-8",
    )
    assert (
        run_command_line(["check", str(model), "--quiet", "--json", str(stored), "--report", str(page)]) == 0
    )
    words = "no start satisfies the bad condition and no edge leads into a state that does"
    assert words in capsys.readouterr().out
    assert any(words in note for note in json.loads(stored.read_text("utf-8"))["notes"])
    assert words in page.read_text("utf-8")


@pytest.mark.parametrize("assuming", [TRUE, Var("w") < 0])
def test_no_answer_is_lost_to_a_note(assuming: Term) -> None:
    wide = Edge(
        action="b",
        chosen=(Choice("w", Int(0, 10**9)),),
        assuming=assuming,
        outcomes=(Outcome(updates=(Update(X, Var("w")),)),),
    )
    short = Edge(action="a", outcomes=(Outcome(updates=(Update(X, Const(1)),)),))
    world = Environment(
        "wide", (Variable("x", Int(0, 10**9)),), equal(X, 0), (Component("m", (short, wide)),)
    )
    problem = Problem("wide", world, ProgramPolicy((Branch(TRUE, "a"),), ("a", "b")), Never(equal(X, 1)))
    budget = Budget(30)
    assert isinstance(verify(problem, "bmc", budget).verdict, Violated)
    assert budget.elapsed_seconds() < 25  # of which five are for notes


def test_many_starts_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is known, and who looks for its reasons must not take longer than the answer took."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("explored")

    monkeypatch.setattr(influence, "explore_problem", refuse)
    names = [Var(f"h{i}") for i in range(12)]
    total: Term = Const(0)
    for name in names:
        total = total + name
    for start in (equal(total, 30), TRUE, equal(total * total, 3)):
        edges = tuple(
            Edge(action=f"a{i}", guard=v < 9, outcomes=(Outcome(updates=(Update(v, v + 1),)),))
            for i, v in enumerate(names)
        )
        variables = tuple(Variable(v.name, Int(0, 9)) for v in names)
        world = Environment("heaps", variables, start, (Component("main", edges),))
        policy = ProgramPolicy((Branch(TRUE, "a0"),), tuple(f"a{i}" for i in range(12)))
        began = process_time()
        assert (
            notes_on_influence(Problem("heaps", world, policy, Never(names[0] > 8)), False, Budget(60)) == ()
        )
        assert process_time() - began < 2
