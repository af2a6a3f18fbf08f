"""Questions with clauses: as if multiplied out, but only as far as it matters."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from tests.engines.predicates.wide_systems import piles

from surefoot.certify.replay import replay
from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.dynamics import build_dynamics
from surefoot.engines.predicates.symbolic import case_splitting
from surefoot.engines.predicates.symbolic.case_splitting import IMPOSSIBLE, OPEN, Reply, case_by_case
from surefoot.engines.predicates.symbolic.clause_index import ClauseIndex
from surefoot.engines.predicates.symbolic.cubes import Cube, satisfies_cube
from surefoot.engines.predicates.symbolic.search import symbolic_search
from surefoot.query.formula import AnyOf, Formula, LinearAtom, Relation, conjoin_formulas, disjoin_formulas
from surefoot.run import verify
from surefoot.term.linear import LinearForm
from surefoot.term.term import Var
from surefoot.term.value_types import Int, Real
from surefoot.verdict.verdict import Proved, Violated
from surefoot.work.budget import Budget

KINDS = {"x": Int(0, 3), "y": Int(0, 3), "a": Real(None, None), "b": Real(None, None)}
POINTS = [{"x": Fraction(x), "y": Fraction(y)} for x, y in product(range(4), repeat=2)]


def index() -> ClauseIndex:
    return ClauseIndex(("x", "y"), KINDS)


def outputs(point: dict[str, Fraction]) -> dict[str, Fraction]:
    """What a network would say."""
    return {"a": 2 * point["x"] - point["y"], "b": point["y"] - Fraction(1, 2)}


def comparison(random: Random, names: str) -> LinearAtom:
    name = random.choice(names)
    sign = Fraction(random.choice([-1, 1]))
    return LinearAtom(LinearForm(((name, sign),), Fraction(random.randint(-3, 3))), Relation.LE)


def disjunction(random: Random) -> Formula:
    """Of comparisons of the state, conjunctions of these, and comparisons of outputs."""
    several: list[Formula] = [
        conjoin_formulas(comparison(random, "xy") for _ in range(random.randint(1, 2)))
        for _ in range(random.randint(1, 3))
    ]
    difference = (("a", Fraction(1)), ("b", Fraction(-1)))
    several.append(LinearAtom(LinearForm(difference, Fraction(random.randint(-2, 2))), Relation.LE))
    return disjoin_formulas(several)


def holds(condition: Formula, values: dict[str, Fraction]) -> bool:
    """With nothing of the package; `comparison` and `disjunction` make only these."""
    if isinstance(condition, LinearAtom):
        assert condition.relation is Relation.LE
        return condition.linear.constant + sum(c * values[n] for n, c in condition.linear.coefficients) <= 0
    return (any if isinstance(condition, AnyOf) else all)(holds(p, values) for p in condition.parts)


def inside(point: dict[str, Fraction], cube: Cube) -> bool:
    values = point | outputs(point)
    bounds = all(
        (low is None or low <= values[n]) and (high is None or values[n] <= high)
        for n, (low, high) in cube.box.items()
    )
    return bounds and all(holds(part, values) for part in (*cube.rows, *cube.clauses))


class Answering:
    """All points are looked at."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, cubes: Sequence[Cube]) -> list[Reply]:
        self.asked += len(cubes)
        assert not any(cube.clauses for cube in cubes)
        found = (next((p for p in POINTS if inside(p, c)), None) for c in cubes)
        return [IMPOSSIBLE if point is None else Reply(True, point) for point in found]


def test_the_answers_are_those_of_all_cases() -> None:
    random = Random(5)
    possible = impossible = 0
    for _ in range(400):
        cubes = []
        for _ in range(random.randint(1, 4)):
            clauses = (disjunction(random) for _ in range(random.randint(0, 8)))
            limit = random.randint(0, 3)
            box = {"x": (limit, 3)} if random.random() < 0.5 else {"y": (0, limit)}
            cubes.append(Cube(box, (), tuple(c for c in clauses if isinstance(c, AnyOf))))
        replies = case_by_case(cubes, index(), Answering(), Answering())
        for cube, reply in zip(cubes, replies, strict=True):
            there = [p for p in POINTS if inside(p, cube)]
            assert there == [p for p in POINTS if satisfies_cube(p | outputs(p), cube)]
            assert reply.possible is bool(there)
            assert reply.point in there if there else reply.point is None
            possible += bool(there)
            impossible += not there
    assert min(possible, impossible) > 100


def test_what_is_impossible_anyway_has_no_cases() -> None:
    clause = AnyOf(tuple(comparison(Random(1), "xy") for _ in range(3)))
    never = LinearAtom(LinearForm((("a", Fraction(-1)),), Fraction(100)), Relation.LE)
    asking = Answering()
    assert case_by_case([Cube({}, (never,), (clause,) * 9)], index(), asking, asking) == [IMPOSSIBLE]
    assert asking.asked == 1


def test_too_many_cases_count_as_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_splitting, "MOST_CASES", 1)
    difference = LinearAtom(LinearForm((("a", Fraction(1)),), Fraction(100)), Relation.LE)
    clause = AnyOf((difference, LinearAtom(LinearForm((("x", Fraction(-1)),), Fraction(4)), Relation.LE)))
    assert case_by_case([Cube({}, (), (clause,))], index(), Answering(), Answering()) == [OPEN]


def test_a_question_that_is_left_open_is_divided_too() -> None:
    """As a whole nothing is known of it, but each of its cases is impossible."""
    low, high = (
        LinearAtom(LinearForm((("x", Fraction(sign)),), Fraction(end)), Relation.LE)
        for sign, end in ((1, -1), (-1, 2))
    )

    def ask(cubes: Sequence[Cube]) -> list[Reply]:
        return [IMPOSSIBLE if "x" in cube.box else OPEN for cube in cubes]

    question = Cube({}, (), (AnyOf((low, high)),))
    assert case_by_case([question], index(), ask, ask) == [IMPOSSIBLE]
    assert case_by_case([question], index(), lambda cubes: [OPEN] * len(cubes), ask) == [OPEN]


def test_the_best_of_nine_applicable_actions_is_no_65536_cases() -> None:
    """Each of the others is applicable or not in four ways; more than 10^20 states."""
    problem = piles((Var("pile8") <= 99) & (Var("pile0") >= 1))
    ways = symbolic_search(build_dynamics(problem), frozenset(), Budget(60)).expansion.moves
    assert ways == 9  # that a lock is 0, or 2, or more than 3 stays a clause of the step
    given = (Var("pile8") <= 99, Var("pile0") >= 1, Var("lock0") <= 0)
    result = verify(problem, engine=Predicates(given, fixed=True), budget=Budget(100))
    assert isinstance(result.verdict, Proved)


def test_an_action_that_is_not_applicable_does_not_count() -> None:
    """The last pile is taken from although the output of another one, which is locked, is better."""
    problem = piles((Var("pile8") <= 99) & (Var("pile7") >= 1))
    verdict = Predicates().check(problem, Budget(60))
    assert isinstance(verdict, Violated)
    assert replay(problem, verdict.trace) is None
