"""Shields of actions against a search through every way to act."""

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path as File
from random import Random
from typing import Any

import numpy as np
import pytest

from surefoot.engines.explicit.engine import Explicit
from surefoot.errors import Unsupported
from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Path, Probability
from surefoot.run import verify
from surefoot.shields.export.action_shield import c_actions, python_actions
from surefoot.shields.finite.decision_tree import DecisionNode, Tree, grow_tree
from surefoot.shields.finite.shield import (
    FiniteShield,
    action_table,
    examples_of,
    finite_shield,
    restrict_to_permitted,
)
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import location_name
from surefoot.term.term import TRUE, Apply, Const, Op, Var, disjunction_of, equal
from surefoot.term.value_types import Array, Int
from surefoot.verdict.verdict import Exact, Proved
from surefoot.work.budget import Budget

WHERE = Var("where")
DOES = ("in", "waits", "out")
Step = tuple[int, str | None, tuple[tuple[Fraction, int], ...]]  # from, action, outcomes


def value_at(tree: Tree, row: Sequence[int]) -> int:
    while isinstance(tree, DecisionNode):
        tree = tree.low if row[tree.column] <= tree.limit else tree.high
    return tree.value


def random_steps(seed: int) -> tuple[int, list[Step], set[int]]:
    """Up to six places; actions may have several steps in one place, and some steps are the environment's."""
    draw = Random(seed)
    places = draw.randint(3, 6)
    steps: list[Step] = []
    for place in range(places):
        for _ in range(draw.choice((1, 2, 2, 3, 4))):
            targets = [draw.randrange(places) for _ in range(draw.choice((1, 1, 2)))]
            shares = [draw.randint(1, 4) for _ in targets]
            outcomes = tuple((Fraction(n, sum(shares)), t) for n, t in zip(shares, targets, strict=True))
            steps.append((place, draw.choice(("left", "right", "right", "stay", None)), outcomes))
    return places, steps, set(draw.sample(range(1, places), draw.choice((1, 1, 2))))


def problem_of(places: int, steps: list[Step], bad: set[int]) -> Problem:
    edges = [
        Edge(
            action=action,
            guard=equal(WHERE, Const(place)),
            outcomes=tuple(Outcome(Const(p), (Update(WHERE, Const(t)),)) for p, t in outcomes),
        )
        for place, action, outcomes in steps
    ]
    names = ("left", "right", "stay")
    declared = [Edge(action=a, guard=equal(WHERE, Const(-1))) for a in names]  # never enabled
    variables = (Variable("where", Int(-1, places - 1)),)
    environment = Environment("walk", variables, equal(WHERE, 0), (Component("walk", (*edges, *declared)),))
    unsafe = disjunction_of(tuple(equal(WHERE, Const(b)) for b in sorted(bad)))
    policy = ProgramPolicy((Branch(TRUE, "right"),), names)
    return Problem("walk", environment, policy, Never(unsafe))


def ways(steps: list[Step], places: int) -> Iterator[dict[int, str]]:
    """Every choice of one enabled action in each place where there is one."""
    offered = {p: sorted({a for at, a, _ in steps if at == p and a is not None}) for p in range(places)}
    acting = [p for p in range(places) if offered[p]]
    for chosen in product(*(offered[p] for p in acting)):
        yield dict(zip(acting, chosen, strict=True))


def risks(places: int, steps: list[Step], bad: set[int], way: dict[int, str]) -> list[float]:
    """The greatest probability of a bad place, over every way the environment may resolve the rest."""
    open_steps = [
        [s for s in steps if s[0] == p and (s[1] is None or s[1] == way.get(p))] if p not in bad else []
        for p in range(places)
    ]
    most = np.array([float(p in bad) for p in range(places)])
    for chosen in product(*(o or [None] for o in open_steps)):
        matrix = np.zeros((places, places))
        for place, step in enumerate(chosen):
            for share, target in step[2] if step is not None else ():
                matrix[place, target] += float(share)
        value = np.array([float(p in bad) for p in range(places)])
        for _ in range(400):
            value = np.where([p in bad for p in range(places)], 1.0, matrix @ value)
        most = np.maximum(most, value)
    return most.tolist()


def in_place(shield: FiniteShield) -> dict[int, int]:
    where = shield.arena.explored.states.column("where").tolist()
    return {place: number for number, place in enumerate(where)}


@pytest.mark.parametrize("seed", range(30))
def test_safest_actions_are_the_safest(seed: int) -> None:
    places, steps, bad = random_steps(seed)
    asked = problem_of(places, steps, bad)
    table = [(way, risks(places, steps, bad, way)) for way in ways(steps, places)]
    best = [min(row[p] for _, row in table) for p in range(places)]
    for allowed in (Fraction(0), Fraction(1, 4)):
        shield = finite_shield(asked, allowed, Budget(60))
        risk = shield.safest.risk
        for place, number in in_place(shield).items():
            bound = float(Fraction(risk[number]) / shield.safest.scale)
            assert bound >= best[place] - 1e-9, "a bound below what is possible"
            if allowed:
                assert bound <= best[place] + 1e-6, "not the safest way to act"
            else:
                assert (bound == 0.0) == (best[place] < 1e-9)


@pytest.mark.parametrize("seed", range(16))
def test_what_is_proved_holds_behind_the_shield(seed: int) -> None:
    places, steps, bad = random_steps(seed)
    asked = problem_of(places, steps, bad)
    shield = finite_shield(asked, Fraction(0), Budget(60))
    sure = bool(shield.safest.kept[shield.arena.markov.initial].all())
    found = verify(shield.anybody(), Explicit(), Budget(60))
    assert isinstance(found.verdict, Proved) == sure
    behind = shield.shielded_problem()
    assert behind is not None
    alone = verify(behind, Explicit(), Budget(60), certificates=False).verdict
    assert (type(alone).__name__ == "Holds") or not sure
    chance = Probability(Path("F", asked.property.bad), None, "max")  # type: ignore[union-attr]
    some = finite_shield(asked, Fraction(1, 3), Budget(60))
    worst = verify(replace(some.anybody(), property=chance), Explicit(), Budget(60)).verdict
    assert isinstance(worst, Exact)


def written(shield: FiniteShield, folder: File) -> Any:
    path = folder / "made.py"
    path.write_text(python_actions(action_table(shield, "as tested")))
    spec = importlib.util.spec_from_file_location("made", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_source_code_does_what_was_found(seed: int, tmp_path: File) -> None:
    shield = finite_shield(problem_of(*random_steps(seed)), Fraction(1, 4), Budget(60))
    module = written(shield, tmp_path)
    names = shield.arena.actions
    for example in examples_of(shield):
        took, overruled = module.step(example.state, names[example.proposed])
        assert (took, overruled) == (names[example.action], example.intervened)
        assert module.action_masks(example.state)[example.action]
    for odd in (99, 0.5, float("nan"), float("inf")):
        assert module.step([odd] * len(module.STATE), names[0])[1] == 2 or not module.STATE
    if (compiler := shutil.which("cc")) is None:
        return
    header, source = c_actions(action_table(shield, "as tested"), "made", examples_of(shield))
    (tmp_path / "made.h").write_text(header)
    (tmp_path / "made.c").write_text(source)
    strict = ["-Wall", "-Wextra", "-Werror", "-std=c99", "-DMADE_SELF_TEST"]
    subprocess.run([compiler, *strict, "-o", tmp_path / "made", tmp_path / "made.c"], check=True)
    assert b"agree" in subprocess.run([tmp_path / "made"], check=True, capture_output=True).stdout


@pytest.mark.parametrize("seed", [3, 5])
def test_source_code_refuses_what_is_no_action_and_no_state(seed: int, tmp_path: File) -> None:
    shield = finite_shield(problem_of(*random_steps(seed)), Fraction(1, 4), Budget(60))
    module = written(shield, tmp_path)
    example = examples_of(shield)[0]
    for wrong in (0, -1, 1.0, None, "lfet", module.ACTIONS[0].upper(), ""):
        with pytest.raises(
            ValueError, match=f"is no action; give the name of one: {module.ACTIONS[0]}"
        ) as told:
            module.step(example.state, wrong)
        assert str(told.value).startswith(repr(wrong))
    count = len(module.STATE)
    odd: list[Any] = [4, None, [], [0] * (count + 1), dict.fromkeys(module.STATE, 0), "0" * count, {0, 1}]
    for state in (*odd, ["0"] * count, [None] * count):
        for call in (lambda s: module.step(s, module.ACTIONS[0]), module.action_masks):
            with pytest.raises(ValueError, match=f"a state is {count} numbers in this order: "):
                call(state)
    if (compiler := shutil.which("cc")) is None:
        return
    header, source = c_actions(action_table(shield, "as tested"), "made", examples_of(shield))
    (tmp_path / "made.h").write_text(header)
    (tmp_path / "made.c").write_text(source)
    assert " *   3  there is no action of the proposed number: likewise" in header
    assert f" * actions, by number: 0 {module.ACTIONS[0]}, 1 {module.ACTIONS[1]}" in header
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", tmp_path / "made.so", tmp_path / "made.c"], check=True
    )
    library = ctypes.CDLL(str(tmp_path / "made.so"))
    taken = ctypes.c_int(-7)
    for visited, row in ((int(n), r) for r, n in enumerate(shield.visited)):
        state = (ctypes.c_int64 * count)(*(int(c.values[row]) for c in shield.columns))
        safest = int(shield.safest.action[visited])
        for wrong in (-1, len(module.ACTIONS), 2**31 - 1):
            assert library.made_step(state, wrong, ctypes.byref(taken)) == 3
            assert taken.value == safest
            assert library.made_permitted(state, wrong) == 0
    outside = (ctypes.c_int64 * count)(*[99] * count)
    assert library.made_step(outside, -1, ctypes.byref(taken)) == 2


def test_a_tree_is_exact() -> None:
    draw = Random(1)
    columns = [np.array([draw.randrange(6) for _ in range(300)]) for _ in range(3)]
    known: dict[tuple[int, ...], int] = {}
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    classes = np.array([known.setdefault(row, draw.randrange(4)) for row in rows])
    tree = grow_tree(columns, classes)
    assert all(value_at(tree, row) == c for row, c in zip(rows, classes.tolist(), strict=True))


def test_conditions_about_the_policy_are_refused() -> None:
    asked = problem_of(*random_steps(0))
    with pytest.raises(Unsupported, match="about states, not about `stalled`"):
        finite_shield(replace(asked, property=Never(Var("stalled"))), Fraction(0), Budget(9))


def test_where_nobody_acts_there_is_nothing_to_permit() -> None:
    asked = problem_of(3, [(0, "left", ((Fraction(1), 1),))], {0})  # the start is bad
    with pytest.raises(Unsupported, match="nothing to permit"):
        finite_shield(asked, Fraction(0), Budget(9))


def test_what_is_permitted_may_depend_on_the_places_of_several_components() -> None:
    """Two cars, one lane: who is in it keeps the other one out."""
    lane = Var(location_name("red", "lane")) & Var(location_name("blue", "lane"))
    cars = [
        Component(
            name,
            (
                Edge("road", f"{name} in", outcomes=(Outcome(target="lane"),)),
                Edge("road", f"{name} waits", outcomes=(Outcome(target="road"),)),
                Edge("lane", f"{name} out", outcomes=(Outcome(target="road"),)),
            ),
            ("road", "lane"),
            ("road",),
        )
        for name in ("red", "blue")
    ]
    steps = [(f"{name} {does}", place) for place, name in enumerate(("red", "blue")) for does in DOES]
    vectors = tuple(Synchronisation((a, None) if not place else (None, a), a) for a, place in steps)
    world = Environment("cars", (), TRUE, tuple(cars), synchronisations=vectors)
    policy = ProgramPolicy((Branch(TRUE, "red in"),), tuple(a for a, _ in steps))
    shield = finite_shield(Problem("cars", world, policy, Never(lane)), Fraction(0), Budget(60))
    for problem in (shield.anybody(), shield.shielded_problem()):
        assert problem is not None
        found = verify(problem, Explicit(), Budget(60))
        assert isinstance(found.verdict, Proved) or problem.policy is not None
        assert type(found.verdict).__name__ in ("Proved", "Holds"), found
    allowed = {a: shield.permission_term(number) for number, a in enumerate(shield.arena.actions)}
    for red, blue in product((0, 1), repeat=2):
        state = {"@red": red, "@blue": blue}
        assert evaluate_term(allowed["red in"], state) == (red == 0 and blue == 0) or red + blue == 2


def test_arrays_of_arrays_are_columns_and_huge_numbers_are_refused() -> None:
    table, count = Var("table"), Var("count")
    rows = Apply(Op.ARRAY, tuple(Apply(Op.ARRAY, (Const(0), Const(0))) for _ in range(2)))
    up = Update(table[0][1], table[0][1] + 1)
    edges = (
        Edge(action="up", guard=table[0][1] < 2, outcomes=(Outcome(updates=(up,)),)),
        Edge(action="rest"),
    )
    variables = (Variable("table", Array(Array(Int(0, 2), 2), 2)),)
    world = Environment("nested", variables, equal(table, rows), (Component("only", edges),))
    shield = finite_shield(Problem("nested", world, None, Never(table[0][1] >= 2)), Fraction(0), Budget(60))
    assert [c.name for c in shield.columns] == ["table[0][1]"]
    assert isinstance(verify(shield.anybody(), Explicit(), Budget(60)).verdict, Proved)
    low = 2**70
    more = Outcome(updates=(Update(count, count + 1),))
    huge = Component(
        "only", (Edge(action="up", guard=count < low + 2, outcomes=(more,)), Edge(action="rest"))
    )
    world = Environment("huge", (Variable("count", Int(0, low + 2)),), equal(count, low), (huge,))
    with pytest.raises(Unsupported, match="more than 64 bits"):
        finite_shield(Problem("huge", world, None, Never(count > low + 1)), Fraction(0), Budget(9))


def test_edges_of_two_components_are_refused() -> None:
    """Their guards would exclude each other's steps, and a proof would say too much."""
    asked = problem_of(*random_steps(0))
    (walk,) = asked.environment.components
    other = replace(walk, name="other", edges=(Edge(action="left"),))
    both = replace(asked.environment, components=(walk, other))
    with pytest.raises(Unsupported, match="edges of one component"):
        restrict_to_permitted(both, {"walk#0": TRUE, "other#0": TRUE})
