"""Single steps that a question cannot see are passed through: the same value with and without them."""

from fractions import Fraction
from random import Random

import pytest
from tests.engines.explicit.test_runs import is_kept
from tests.solvers.markov.random_processes import (
    Rows,
    cost_of_chain,
    random_rows,
    reach_of_chain,
    schedulers,
    stretched,
)
from tests.solvers.markov.written import one_of, problem

from surefoot.engines.explicit import Explicit
from surefoot.explore.exploration import explore_problem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Eventually, Expected, Never, Path, Probability, Property, Recurs
from surefoot.term.term import Const, ite
from surefoot.verdict.verdict import Exact, Verdict
from surefoot.work.budget import Budget
from surefoot_studies.racetrack.model import racetrack_environment as racetrack
from surefoot_studies.racetrack.policies import careful_policy
from surefoot_studies.racetrack.problem import bend_track, decisions_to_goal, goal_probability

TIERS = ("interpreter", "llvm")


def flags_for(rows: Rows, original: int, draw: Random, share: float) -> list[bool]:
    """Like the state they lead to, mostly, for states in between."""
    found = [draw.random() < share for _ in range(original)]
    for choices in rows[original:]:
        target = choices[0][0][1]
        like = found[target] if target < len(found) else share > 0.5
        found.append(like if draw.random() < 0.9 else not like)
    return found


def value(wanted: Problem, fuse: bool, tier: str) -> tuple[Verdict, int]:
    """The verdict, and how many states it took."""
    told: list[str] = []
    engine = Explicit(exact=True, fuse=fuse, tier=tier)  # type: ignore[arg-type]
    assert engine.objection(wanted) is None
    verdict = engine.check(wanted, Budget(30, progress=told.append))
    return verdict, next(int(line.split()[0]) for line in told if "bytes each" in line)


def best(several: list[list[Fraction | None]], optimise: str) -> Fraction | None:
    finite = [v[0] for v in several if v[0] is not None]
    if optimise == "max":
        return max(finite) if len(finite) == len(several) else None
    return min(finite, default=None)


@pytest.mark.parametrize("block", range(4))
def test_the_same_value(block: int) -> None:
    passed = 0
    for seed in range(50 * block, 50 * block + 50):
        draw = Random(seed)
        rows, _ = random_rows(seed)
        longer = stretched(rows, draw)
        left, right = (flags_for(longer, len(rows), draw, share) for share in (0.9, 0.25))
        optimise = draw.choice(("min", "max"))
        bound = Bound(Const(1) if draw.random() < 0.5 else None, Const(draw.randint(1, 4)), "cost")
        until = Path("U", one_of(right), one_of(left))
        questions: list[Property] = [
            Probability(until, None, optimise),
            Expected("cost", one_of(right), None, optimise),
            draw.choice(
                [
                    Probability(Path("W", one_of(right), one_of(left)), None, optimise),
                    Probability(Path("U", one_of(right), one_of(left), (bound,)), None, optimise),
                    Expected(ite(one_of(left), Const(0), Const(1)), one_of(right), None, optimise),
                    Expected("cost", one_of(right)),
                ]
            ),
        ]
        pays = any(r for choices in longer for c in choices for _, _, r in c)
        starts = [s == 0 for s in range(len(longer))]
        for number, asked in enumerate(questions):
            if not pays and "cost" in str(asked):
                continue
            wanted = problem(longer, asked, starts)
            whole, states = value(wanted, False, "interpreter")
            fused, fewer = value(wanted, True, TIERS[(seed + number) % 4 == 0])
            assert isinstance(whole, Exact)
            assert isinstance(fused, Exact)
            assert (fused.low, fused.high) == (whole.low, whole.high), (seed, asked)
            assert whole.certificate is not None
            assert fused.certificate is None
            passed += states - fewer
            if number < 2 and seed % 5 == 0:
                reach = [reach_of_chain(c, left, right) for c in schedulers(longer)]
                every = reach if number == 0 else [cost_of_chain(c, right) for c in schedulers(longer)]
                assert whole.low == best(every, optimise), (seed, asked)
    assert passed > 100


def test_steps_are_not_passed_through_where_they_count() -> None:
    rows: Rows = [[[(Fraction(1), s + 1, 0)]] for s in range(5)] + [[]]
    goal = one_of([s == 5 for s in range(6)])
    starts = [s == 0 for s in range(6)]
    within = Bound(None, Const(4))
    for asked, expected in (
        (Probability(Path("F", goal, bounds=(within,)), None, "max"), 0),
        (Probability(Path("X", goal), None, "max"), 0),
        (Expected("steps", goal, None, "max"), 5),
        (Expected(Const(2), goal, None, "max"), 10),
    ):
        verdict, states = value(problem(rows, asked, starts), True, "interpreter")
        assert isinstance(verdict, Exact)
        assert verdict.low == expected
        assert states == 6


@pytest.mark.parametrize("tier", TIERS)
def test_ends_and_loops_are_seen(tier: str) -> None:
    """What all runs do can be read off the smaller graph as well: nothing that matters is lost."""
    for seed in range(60):
        draw = Random(seed)
        rows, _ = random_rows(seed)
        longer = stretched(rows, draw)
        flags = flags_for(longer, len(rows), draw, 0.4)
        good = {s for s, flag in enumerate(flags) if flag}
        condition = one_of(flags)
        wanted = problem(longer, Never(condition), [s == 0 for s in range(len(longer))])
        fused = explore_problem(wanted, labels={}, through=~condition, tier=tier)  # type: ignore[arg-type]
        markov = fused.markov
        where = [fused.valuation(s)["where"] for s in range(markov.states)]
        smaller: Rows = [
            [
                [
                    (Fraction(1), int(t), 0)
                    for t in markov.targets[markov.outcomes[c] : markov.outcomes[c + 1]]
                ]
                for c in range(markov.choices[s], markov.choices[s + 1])
            ]
            for s in range(markov.states)
        ]
        for asked in (Never(condition), Eventually(condition), Recurs(condition)):
            whole = is_kept(longer, asked, {0}, good)
            marked = {s for s, place in enumerate(where) if place in good}
            assert is_kept(smaller, asked, {0}, marked) == whole, (seed, asked)


@pytest.mark.parametrize("tier", TIERS)
def test_a_policy_is_asked_in_every_state_that_it_decides(tier: str) -> None:
    """The micro-steps of the collision check are passed through; the decisions are not."""
    track = bend_track()
    for asked in (goal_probability(), decisions_to_goal()):
        wanted = Problem("race", racetrack(track, anywhere=True), careful_policy(track), asked)
        whole, states = value(wanted, False, "auto")
        fused, fewer = value(wanted, True, tier)
        assert isinstance(whole, Exact)
        assert isinstance(fused, Exact)
        assert (whole.low, whole.high) == (fused.low, fused.high)
        assert 3 * fewer < states
