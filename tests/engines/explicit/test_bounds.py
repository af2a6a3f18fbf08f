"""Bounds on steps and rewards, filters, open choices, cut explorations: from the problem to the checker."""

from fractions import Fraction
from functools import partial
from random import Random

import pytest
from tests.solvers.markov.random_processes import Rows, random_rows
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.engines.start_filters import count_starts, select_starts
from surefoot.problem.property import Bound, Expected, Path, Probability, Property, Threshold
from surefoot.term.term import Const
from surefoot.verdict.verdict import Exact, PerStart, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate


def solved(rows: Rows, asked: Property, exact: bool = True) -> tuple[Fraction | None, Fraction | None]:
    wanted = problem(rows, asked, [s == 0 for s in range(len(rows))])
    engine = Explicit(exact=exact)
    assert engine.objection(wanted) is None
    verdict = engine.check(wanted, Budget(60))
    assert isinstance(verdict, Exact)
    certificate = build_process_certificate(wanted, verdict)
    assert certificate is not None
    found = judge_certificate(dict(certificate.content))
    assert found.accepted, found.reason
    return verdict.low, verdict.high


def within_cost(
    rows: Rows, left, right, low: int, high: int, best, state: int, paid: int, depth: int
) -> Fraction:
    """The best probability of left U right with a cost from low to high, so many steps ahead."""
    if paid > high:
        return Fraction(0)
    if right[state] and paid >= low:
        return Fraction(1)
    if not left[state] or not rows[state] or not depth:
        return Fraction(0)
    return best(
        sum(p * within_cost(rows, left, right, low, high, best, t, paid + r, depth - 1) for p, t, r in choice)
        for choice in rows[state]
    )


def paying(seed: int) -> Rows:
    """Every step costs 1 or 2, so that a bound on the cost ends all runs."""
    rows, _ = random_rows(seed)
    rows[0] = rows[0] or [[(Fraction(1), len(rows) - 1, 1)]]
    return [[[(p, t, 1 + (r > 0)) for p, t, r in c] for c in choices][:2] for choices in rows]


@pytest.mark.parametrize("exact", [False, True])
def test_bounds_on_rewards(exact: bool) -> None:
    for seed in range(40):
        draw, rows = Random(seed), paying(seed)
        left, right = ([draw.random() < share for _ in rows] for share in (0.9, 0.3))
        low, high, strict = draw.choice((0, 2)), draw.randint(2, 5), draw.random() < 0.3
        for optimise, best in (("max", max), ("min", min)):
            bound = Bound(Const(low) if low else None, Const(high), "cost", strict)
            asked = Probability(Path("U", one_of(right), one_of(left), (bound,)), None, optimise)
            expected = within_cost(rows, left, right, low, high - strict, best, 0, 0, 8)
            below, above = solved(rows, asked, exact)
            assert below is not None
            assert above is not None
            assert below <= expected <= above, (seed, optimise)
            assert above - below <= expected / 10**6


def _value(rows: Rows, bounds: tuple[Bound, ...], optimise: str, operator: str, right, left=None, way=None):
    path = Path(operator, one_of(right), one_of(left or [True] * len(right)), bounds)
    low, high = solved(rows, Probability(path, None, way or optimise))
    assert low == high
    return low


def test_duals() -> None:
    """G, W and R against U of the same processes; X against one step."""
    for seed in range(25):
        draw, rows = Random(seed), paying(seed)
        left, right = ([draw.random() < 0.6 for _ in rows] for _ in range(2))
        neither = [not a and not b for a, b in zip(left, right, strict=True)]
        opposite = {"min": "max", "max": "min"}
        steps = draw.choice((None, 3))
        bounds = () if steps is None else (Bound(None, Const(steps)),)
        for optimise in ("min", "max"):
            value = partial(_value, rows, bounds, optimise)
            other = opposite[optimise]
            assert value("G", right) == 1 - value("F", [not b for b in right], None, other)
            assert value("W", right, left) == 1 - value("U", neither, [not b for b in right], other)
            weak = value("U", [not b for b in right], [not a for a in left], other)
            assert value("R", right, left) == 1 - weak
            best = max if optimise == "max" else min
            after = [sum((p for p, t, _ in c if right[t]), Fraction(0)) for c in rows[0]]
            step = Probability(Path("X", one_of(right)), None, optimise)
            assert solved(rows, step)[0] == best(after)


ROWS: Rows = [
    [[(Fraction(1, 2), 1, 1), (Fraction(1, 2), 2, 3)], [(Fraction(1), 2, 1)]],
    [],
    [[(Fraction(1, 3), 0, 0), (Fraction(2, 3), 3, 0)]],
    [],
]
GOAL = [False, True, False, False]


def test_what_is_left_open_is_covered() -> None:
    low, high = solved(ROWS, Probability(Path("F", one_of(GOAL))))
    assert (low, high) == (0, Fraction(3, 5))


def test_every_start_has_its_own() -> None:
    asked = Probability(Path("F", one_of(GOAL)), None, "max", "values")
    wanted = problem(ROWS, asked, [True] * 4)
    verdict = Explicit(exact=True).check(wanted, Budget(10))
    assert isinstance(verdict, PerStart)
    found = {s["where"]: v.low for s, v in verdict.table if isinstance(v, Exact)}
    assert found == {0: Fraction(3, 5), 1: 1, 2: Fraction(1, 5), 3: 0}
    certificate = build_process_certificate(wanted, verdict)
    assert certificate is not None
    content = dict(certificate.content)
    assert judge_certificate(content).accepted
    content["claim"] = {**content["claim"], "low": [["3/5", "3/5"], [1, 1], ["1/4", "1/4"], [0, 0]]}
    assert not judge_certificate(content).accepted


def test_other_starts_than_the_initial_ones() -> None:
    asked = Probability(Path("F", one_of(GOAL)), None, "max", "min", one_of([True, False, True, False]))
    assert solved(ROWS, asked) == (Fraction(1, 5), Fraction(1, 5))


def test_an_infinite_reward() -> None:
    assert solved(ROWS, Expected("cost", one_of(GOAL), None, "min")) == (None, None)
    assert solved(ROWS, Expected("cost", one_of([False, True, False, True]), None, "max"))[0] is not None


def test_a_limit_on_states_widens_the_interval() -> None:
    asked = Probability(Path("F", one_of(GOAL)), None, "max")
    wanted = problem(ROWS, asked, [True, False, False, False])
    verdict = Explicit(max_states=1).check(wanted, Budget(10))
    assert isinstance(verdict, Exact)
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low <= Fraction(1, 2) < Fraction(3, 5) <= verdict.high
    cost = problem(ROWS, Expected("cost", one_of(GOAL), None, "max"), [True, False, False, False])
    assert isinstance(Explicit(max_states=1).check(cost, Budget(10)), Unknown)


def test_what_lies_beyond_the_question_need_not_be_explored() -> None:
    """Beyond state 1 there are more states than the limit; the question is decided there."""
    rows: Rows = [[[(Fraction(1, 2), 1, 0), (Fraction(1, 2), 2, 0)]], [[(Fraction(1), 3, 0)]], []]
    rows += [[[(Fraction(1), s + 1, 0)]] for s in range(3, 40)] + [[]]
    goal = [s == 1 for s in range(len(rows))]
    asked = Probability(Path("F", one_of(goal)), None, "max")
    wanted = problem(rows, asked, [s == 0 for s in range(len(rows))])
    verdict = Explicit(max_states=10, exact=True).check(wanted, Budget(10))
    assert isinstance(verdict, Exact)
    assert verdict.low == verdict.high == Fraction(1, 2)
    certificate = build_process_certificate(wanted, verdict)
    assert certificate is not None
    assert judge_certificate(dict(certificate.content)).accepted


def test_filters_that_name_or_count_starts() -> None:
    """The values of the four starts are 3/5, 1, 1/5 and 0."""
    reach = Path("F", one_of(GOAL))
    for over, expected in (("argmax", [1]), ("argmin", [3])):
        for starts in ([True] * 4, [s == expected[0] for s in range(4)]):
            verdict = Explicit(exact=True).check(
                problem(ROWS, Probability(reach, None, "max", over), starts), Budget(10)
            )
            assert isinstance(verdict, PerStart)
            assert [s["where"] for s, _ in verdict.table] == expected
            assert verdict.certificate is None
    for relation, limit, number in ((">=", "3/5", 2), (">", "3/5", 1), ("<", "1/5", 1), ("<=", "1/5", 2)):
        threshold = Threshold(relation, Fraction(limit))
        asked = Probability(reach, threshold, "max", "count")
        verdict = Explicit(exact=True).check(problem(ROWS, asked, [True] * 4), Budget(10))
        assert isinstance(verdict, Exact)
        assert (verdict.low, verdict.high, verdict.certificate) == (number, number, None)


def test_filters_of_intervals_list_what_may_be() -> None:
    third, half = Fraction(1, 3), Fraction(1, 2)
    bounds = [(third, half), (Fraction(2, 5), Fraction(3, 5)), (Fraction(0), third), (None, None)]
    assert select_starts("values", bounds) == [0, 1, 2, 3]
    assert select_starts("argmax", bounds) == [3]
    assert select_starts("argmax", bounds[:3]) == [0, 1]
    assert select_starts("argmin", bounds) == [0, 2]
    assert select_starts("argmin", bounds[3:] * 2) == [0, 1]
    assert count_starts(Threshold(">=", Fraction(2, 5)), bounds) == (2, 3)
    assert count_starts(Threshold("<", half), bounds) == (1, 3)
    assert count_starts(Threshold("<=", half), bounds) == (2, 3)
    assert count_starts(Threshold(">", Fraction(1)), [(half, None)]) == (0, 1)


@pytest.mark.parametrize("operator", ["F", "G"])
@pytest.mark.parametrize(("low", "high", "strict"), [(1, 1, True), (2, 2, True), (0, 0, True)])
def test_a_bound_on_steps_that_nothing_can_meet(operator, low: int, high: int, strict: bool) -> None:
    rows = [[[(Fraction(1), 1, 0)]], [[(Fraction(1), 1, 0)]]]
    path = Path(operator, one_of([False, True]), bounds=(Bound(Const(low), Const(high), strict=strict),))
    wanted = problem(rows, Probability(path, None, "max"), [True, False])
    assert "nothing can meet" in (Explicit().objection(wanted) or "")
