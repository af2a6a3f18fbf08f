"""Outcomes that stay open until something depends on them: fewer states, the same values."""

from fractions import Fraction

import pytest

from surefoot.engines.explicit import Explicit
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
from surefoot.problem.property import Bound, Expected, Path, Probability, Property
from surefoot.term.reserved_names import DEADLOCKED
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, disjunction_of, equal, ite
from surefoot.term.value_types import Array, Bool, Int
from surefoot.verdict.verdict import Exact, Unknown
from surefoot.work.budget import Budget

T = Var("t")
HALF = Const(Fraction(1, 2))


def coins(count: int) -> tuple[Var, ...]:
    return tuple(Var(f"c{n}") for n in range(count))


def flips(count: int, *more: Edge, last: int = 0) -> Environment:
    """One coin after the other is flipped, then `more` happens."""
    edges = [
        Edge(
            guard=equal(T, n),
            outcomes=tuple(
                Outcome(HALF, (Update(c, Const(value)), Update(T, Const(n + 1)))) for value in (0, 1)
            ),
        )
        for n, c in enumerate(coins(count))
    ]
    names = ("t", *(c.name for c in coins(count)))
    variables = tuple(Variable(n, Int(0, count + last if n == "t" else 1)) for n in names)
    start = conjunction_of(tuple(equal(Var(n), 0) for n in names))
    return Environment("flips", variables, start, (Component("c", (*edges, *more)),))


def reaches(goal: Term, optimise: str | None = None) -> Probability:
    return Probability(Path("F", goal), None, optimise)  # type: ignore[arg-type]


def ask(
    world: Environment, asked: Property, tier: str, policy: ProgramPolicy | None = None
) -> tuple[Exact, int]:
    told: list[str] = []
    problem = Problem("p", world, policy, asked)
    verdict = Explicit(exact=True, tier=tier).check(problem, Budget(60, progress=told.append))  # type: ignore[arg-type]
    assert isinstance(verdict, Exact), verdict
    return verdict, next(int(line.split()[0]) for line in told if "bytes each" in line)


def test_coins_that_are_read_at_the_end() -> None:
    """A disjunction is resolved part by part, and the first true one ends the search."""
    goal = equal(T, 30) & disjunction_of(tuple(equal(c, 1) for c in coins(30)))
    verdict, states = ask(flips(30), reaches(goal), "delayed")
    assert verdict.low == verdict.high == 1 - Fraction(1, 2**30)
    assert states < 100


def test_it_is_chosen_by_itself() -> None:
    goal = equal(T, 24) & conjunction_of(tuple(equal(c, 1) for c in coins(24)))
    verdict, states = ask(flips(24), reaches(goal), "auto")
    assert verdict.low == Fraction(1, 2**24)
    assert states < 100


def test_what_one_outcome_writes_belongs_together() -> None:
    x, y = Var("x"), Var("y")
    both = tuple(
        Outcome(HALF, (Update(x, Const(n)), Update(y, Const(n)), Update(T, Const(1)))) for n in (0, 1)
    )
    later = Edge(guard=equal(T, 1), outcomes=(Outcome(updates=(Update(x, 1 - x), Update(T, Const(2)))),))
    kinds = (Variable("t", Int(0, 2)), Variable("x", Int(0, 1)), Variable("y", Int(0, 1)))
    start = equal(T, 0) & equal(x, 0) & equal(y, 0)
    world = Environment(
        "pair", kinds, start, (Component("c", (Edge(guard=equal(T, 0), outcomes=both), later)),)
    )
    for goal, value in ((equal(x, y), 0), (equal(x, y + 1), Fraction(1, 2)), (x < y, Fraction(1, 2))):
        assert ask(world, reaches(equal(T, 2) & goal), "delayed")[0].low == value


def test_a_source_is_resolved_once() -> None:
    """What was seen once is known ever after: the coin shows the same at both looks."""
    world = flips(
        1,
        *(
            Edge(
                guard=equal(T, 1) & (c if n else ~c),
                outcomes=(Outcome(updates=(Update(T, Const(2)),), rewards=()),),
            )
            for n, c in enumerate((equal(coins(1)[0], 1),) * 2)
        ),
        last=2,
    )
    (c,) = coins(1)
    assert ask(world, reaches(equal(T, 2) & equal(c, 1)), "delayed")[0].low == Fraction(1, 2)
    look = Probability(Path("U", equal(T, 2) & equal(c, 0), ~equal(T, 1) | equal(c, 1)))
    assert ask(world, look, "delayed")[0].high == 0


def guessing() -> Environment:
    """A coin is flipped, then somebody says what it shows."""
    guess = [
        Edge(action=f"say{n}", guard=equal(T, 1), outcomes=(Outcome(updates=(Update(T, Const(2 + n)),)),))
        for n in (0, 1)
    ]
    return flips(1, *guess, last=2)


def test_who_chooses_sees_the_state() -> None:
    (coin,) = coins(1)
    right = (equal(T, 2) & equal(coin, 0)) | (equal(T, 3) & equal(coin, 1))
    assert ask(guessing(), reaches(right, "max"), "delayed")[0].low == 1
    assert ask(guessing(), reaches(right, "min"), "delayed")[0].high == 0
    both = ask(guessing(), reaches(right), "delayed")[0]
    assert both.low == 0
    assert both.high == 1


def test_what_a_policy_reads_is_resolved() -> None:
    (coin,) = coins(1)
    right = (equal(T, 2) & equal(coin, 0)) | (equal(T, 3) & equal(coin, 1))
    sees = ProgramPolicy((Branch(equal(coin, 0), "say0"), Branch(TRUE, "say1")), ("say0", "say1"))
    blind = ProgramPolicy((Branch(TRUE, "say1"),), ("say0", "say1"))
    assert ask(guessing(), reaches(right), "delayed", sees)[0].low == 1
    assert ask(guessing(), reaches(right), "delayed", blind)[0].low == Fraction(1, 2)


def test_rewards_and_numbers_of_steps() -> None:
    three = coins(3)
    paid = Edge(
        guard=equal(T, 3),
        outcomes=(
            Outcome(
                updates=(Update(T, Const(4)),),
                rewards=(("won", three[0] + 2 * three[1] + ite(three[2] <= 0, 1, 0)),),
            ),
        ),
    )
    world = flips(3, paid, last=1)
    assert ask(world, Expected("won", equal(T, 4)), "delayed")[0].low == 2
    assert ask(world, Expected("steps", equal(T, 4)), "delayed")[0].low == 4
    assert ask(world, Expected(three[0] + 1, equal(T, 4)), "delayed")[0].low == 4 + Fraction(3, 2)
    within = Probability(Path("F", equal(three[1], 1), bounds=(Bound(None, Const(2)),)))
    assert ask(world, within, "delayed")[0].low == Fraction(1, 2)
    assert ask(world, Expected("won", equal(T, 4), steps=3), "delayed")[0].high == 0


def test_edges_that_move_together_draw_independently() -> None:
    names = tuple(f"x{n}" for n in range(16))
    parts = tuple(
        Component(
            f"c{n}",
            (
                Edge(
                    action="go",
                    guard=equal(T, 0),
                    outcomes=tuple(Outcome(HALF, (Update(Var(x), Const(v)),)) for v in (0, 1)),
                ),
            ),
        )
        for n, x in enumerate(names)
    )
    clock = Component(
        "clock", (Edge(action="go", guard=equal(T, 0), outcomes=(Outcome(updates=(Update(T, Const(1)),)),)),)
    )
    variables = (Variable("t", Int(0, 1)), *(Variable(x, Int(0, 1)) for x in names))
    start = conjunction_of(tuple(equal(Var(v.name), 0) for v in variables))
    world = Environment(
        "together", variables, start, (*parts, clock), synchronisations=(Synchronisation(("go",) * 17, "go"),)
    )
    goal = equal(T, 1) & conjunction_of(tuple(equal(Var(x), 1) for x in names))
    verdict, states = ask(world, reaches(goal), "delayed")
    assert verdict.low == Fraction(1, 2**16)
    assert states < 40


def test_arrays_and_updates_in_order() -> None:
    a, i = Var("a"), Var("i")
    drawn = tuple(
        Outcome(HALF, (Update(i, Const(n)), Update(a[i], Const(1), 1), Update(T, T + 1, 1))) for n in (0, 1)
    )
    kinds = (Variable("t", Int(0, 3)), Variable("a", Array(Int(0, 1), 2)), Variable("i", Int(0, 1)))
    start = equal(T, 0) & equal(i, 0) & equal(a[0], 0) & equal(a[1], 0)
    world = Environment("array", kinds, start, (Component("c", (Edge(guard=T < 3, outcomes=drawn),)),))
    goal = equal(a[0] + a[1], 2)
    for tier in ("interpreter", "delayed"):
        assert ask(world, reaches(goal), tier)[0].low == Fraction(3, 4)


def test_what_cannot_matter_is_forgotten() -> None:
    """A flag that stays decides the question, and the coins behind it are never told apart."""
    done, count = Var("done"), 12
    edges = [
        Edge(
            guard=equal(T, n),
            outcomes=tuple(
                Outcome(
                    HALF, (Update(c, Const(v)), Update(T, Const(n + 1)), Update(done, done | Const(bool(v))))
                )
                for v in (0, 1)
            ),
        )
        for n, c in enumerate(coins(count))
    ]
    variables = (
        Variable("t", Int(0, count)),
        Variable("done", Bool()),
        *(Variable(c.name, Int(0, 1)) for c in coins(count)),
    )
    start = conjunction_of((equal(T, 0), ~done, *(equal(c, 0) for c in coins(count))))
    world = Environment("flag", variables, start, (Component("c", tuple(edges)),))
    verdict, states = ask(world, reaches(equal(T, count) & ~done), "delayed")
    assert verdict.low == Fraction(1, 2**count)
    assert states < 3 * count


def test_an_error_of_what_is_forgotten_is_still_one() -> None:
    """A counter that nobody reads, and that leaves its range."""
    n = Var("n")
    step = Edge(
        guard=T < 3,
        outcomes=(Outcome(HALF, (Update(n, n + 1), Update(T, T + 1))), Outcome(HALF, (Update(T, T + 1),))),
    )
    kinds = (Variable("t", Int(0, 3)), Variable("n", Int(0, 2)))
    world = Environment("counter", kinds, equal(T, 0) & equal(n, 0), (Component("c", (step,)),))
    problem = Problem("p", world, None, reaches(equal(T, 3)))
    for tier in ("interpreter", "delayed"):
        verdict = Explicit(tier=tier).check(problem, Budget(20))
        assert isinstance(verdict, Unknown), tier


def test_several_starts() -> None:
    world = flips(4)
    open_start = Environment(world.name, world.variables, equal(T, 0) & (coins(4)[3] <= 1), world.components)
    goal = equal(T, 2) & equal(coins(4)[3], 1) & equal(coins(4)[0], 1)
    for over, value in (("max", Fraction(1, 2)), ("min", 0), ("avg", Fraction(1, 4))):
        asked = Probability(Path("F", goal), None, None, over)  # type: ignore[arg-type]
        assert ask(open_start, asked, "delayed")[0].low == value


@pytest.mark.parametrize("asked", [Probability(Path("X", T <= 1)), reaches(Var(DEADLOCKED))])
def test_questions_for_which_no_outcome_stays_open(asked: Probability) -> None:
    problem = Problem("p", flips(2), None, asked)
    assert isinstance(Explicit(tier="delayed").check(problem, Budget(20)), Unknown)
    assert isinstance(Explicit().check(problem, Budget(20)), Exact)
