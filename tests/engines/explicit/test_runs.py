"""What all runs do, on random finite systems: violations replay, what holds is proved and accepted."""

from random import Random

import pytest
from tests.solvers.markov.random_processes import Rows, random_rows
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.replay import replay
from surefoot.certify.values.claim import build_graph_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.environment import Component, Environment, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.run import verify
from surefoot.term.term import FALSE, Const, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Certificate, Holds, Proved, Reason, Unknown, Violated
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate


def after(rows: Rows, states: set[int]) -> set[int]:
    return {t for s in states for c in rows[s] for _, t, _ in c}


def is_kept(rows: Rows, asked: Property, starts: set[int], good: set[int]) -> bool:
    """By following sets of states; a run without good states for as long as there are states goes round."""
    match asked:
        case Never(_, steps):
            here = set(starts)
            for _ in range(len(rows) if steps is None else steps + 1):
                if here & good:  # the condition is what is bad
                    return False
                here = after(rows, here)
            return True
        case Within(_, steps, first):
            here = set(starts)
            for i in range(steps + 1):
                here = here - good if i >= first else here
                if any(not rows[s] for s in here) or (i == steps and here):
                    return False
                here = after(rows, here)
            return True
        case Recurs():
            everything = set(starts)
            for _ in rows:
                everything |= after(rows, everything)
            return is_kept(rows, Eventually(one_of([])), everything, good)
        case _:
            here = set(starts) - good
            for _ in range(len(rows) + 1):
                if any(not rows[s] for s in here):
                    return False
                here = after(rows, here) - good
            return not here


@pytest.mark.parametrize("block", range(4))
def test_runs(block: int) -> None:
    kept = 0
    for seed in range(50 * block, 50 * block + 50):
        draw = Random(seed)
        rows, _ = random_rows(seed)
        if draw.random() < 0.7:  # mostly forward, so that things may hold
            rows = [[[(p, min(s + 1 + t % 2, len(rows) - 1), r) for p, t, r in c] for c in cs]
                    for s, cs in enumerate(rows)]  # fmt: skip
        starts = [s == 0 or draw.random() < 0.2 for s in range(len(rows))]
        flags = [draw.random() < 0.4 for _ in rows]
        good = {s for s, flag in enumerate(flags) if flag}
        steps, first = draw.randint(0, 5), draw.randint(0, 2)
        condition = one_of(flags)
        for asked in (
            Never(condition),
            Never(condition, steps),
            Eventually(condition),
            Recurs(condition),
            Within(condition, max(steps, first), first),
        ):
            wanted = problem(rows, asked, starts)
            assert Explicit().objection(wanted) is None
            verdict = Explicit().check(wanted, Budget(20))
            claimed = build_graph_certificate(wanted)
            assert isinstance(claimed, Certificate)
            accepted = judge_certificate(dict(claimed.content)).accepted
            if is_kept(rows, asked, {s for s, flag in enumerate(starts) if flag}, good):
                kept += 1
                assert isinstance(verdict, Holds), (seed, asked)
                assert accepted, (seed, asked)
            else:
                assert isinstance(verdict, Violated), (seed, asked)
                assert replay(wanted, verdict.trace) is None, (seed, asked)
                assert not accepted, (seed, asked)
    assert kept > 20


def test_proved_by_the_pipeline() -> None:
    rows: Rows = [[[(1, 1, 0)]], [[(1, 0, 0)]], []]
    wanted = problem(rows, Never(one_of([False, False, True])), [True, False, False])
    result = verify(wanted, Explicit(), Budget(20))
    assert isinstance(result.verdict, Proved)
    assert result.certified


def test_cut_off_before_the_end() -> None:
    rows: Rows = [[[(1, s + 1, 0)]] for s in range(5)] + [[]]
    wanted = problem(rows, Never(one_of([False] * 5 + [True])), [True] + [False] * 5)
    verdict = Explicit(max_states=3).check(wanted, Budget(20))
    assert isinstance(verdict, Unknown)
    assert verdict.holds_up_to is not None
    assert 1 <= verdict.holds_up_to <= 4


def test_start_states_that_take_too_long_to_find_end_the_turn() -> None:
    """Conjuncts that speak of the last variable: all others are gone through first."""
    variables = tuple(Variable(f"x{i}", Int(0, 9)) for i in range(6))
    last = equal(sum((Var(v.name) for v in variables[1:]), Var("x0")), Const(54))
    problem = Problem("late", Environment("late", variables, last, (Component("c", ()),)), None, Never(FALSE))
    spent = Explicit().check(problem, Budget(0.01))
    assert isinstance(spent, Unknown)
    assert spent.reason is Reason.TIMEOUT
