"""Where plans stop and what they say; experiments repeated, as a check of the wiring."""

from fractions import Fraction

import numpy as np
import pytest
from tests.solvers.sampling.walk import ends, fixed_boundary

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.solvers.sampling.fixed_plans import FixedRuns, Mixture, Spending, next_look
from surefoot.solvers.sampling.methods import METHODS, choose_plan
from surefoot.solvers.sampling.plan import Progress, SamplingPlan, Stop
from surefoot.solvers.sampling.sequential_ratio_test import SequentialRatioTest
from surefoot.work.philox import philox_words, uniform_doubles

EPS, DELTA = Fraction(1, 20), Fraction(1, 20)


def outcomes(seed: int, experiments: int, runs: int, success: float, undecided: float = 0.0) -> np.ndarray:
    """One row of outcomes per experiment."""
    drawn = uniform_doubles(philox_words(seed, np.arange(experiments), 0, runs))
    return np.where(drawn < success, 1, np.where(drawn < success + undecided, 2, 0)).astype(np.uint8)


def finished(plan: SamplingPlan, sequence: np.ndarray) -> Progress:
    progress = plan.consume(Progress(), sequence)
    assert progress.stop is not None
    return progress


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("p", "cut"), [(0.0, 0.0), (0.01, 0.0), (0.3, 0.0), (1.0, 0.0), (0.1, 0.03)])
def test_repeated_experiments(method: str, p: float, cut: float) -> None:
    plan = choose_plan(method, Fraction(1, 10), Fraction(1, 10))
    repeats = 60 if method in ("mixture", "spending") else 400
    misses = 0
    for row in outcomes(7, repeats, 800, p, cut):
        known = plan.interval(finished(plan, row))
        assert known.high - known.low <= Fraction(1, 5) or cut
        misses += not known.low <= Fraction(p + cut / 2).limit_denominator(1000) <= known.high
    assert misses <= 0.1 * repeats + 3 * np.sqrt(0.09 * repeats)


def test_the_default_covers_as_proved_and_wald_does_not() -> None:
    plan = choose_plan("clopper-pearson", EPS, DELTA)
    p, hits, wald = 0.07, 0, 0
    rows = outcomes(3, 2000, 402, p)
    for row in rows:
        known = plan.interval(finished(plan, row))
        hits += known.low <= Fraction(7, 100) <= known.high
        count, runs = np.cumsum(row), np.arange(1, 403)
        share = count / runs
        at = np.argmax((runs >= 30) & (1.96 * np.sqrt(share * (1 - share) / runs) <= 0.05))
        wald += abs(share[at] - p) <= 0.05
    assert hits >= 0.95 * len(rows) - 3 * np.sqrt(0.0475 * len(rows))
    assert wald < 0.95 * len(rows) - 3 * np.sqrt(0.0475 * len(rows))


def test_the_first_and_the_last_possible_stop() -> None:
    plan = choose_plan("clopper-pearson", Fraction(1, 100), DELTA)
    assert plan.ahead(Progress()) == 368
    progress = finished(plan, np.zeros(1000))
    assert (progress.runs, progress.successes, progress.stop) == (368, 0, Stop.PRECISE)
    assert plan.interval(progress).low == 0
    assert plan.interval(progress).high == Fraction(1, 100)
    assert plan.ahead(progress) == 0
    assert plan.consume(progress, np.ones(50)) == progress
    mixed = finished(plan, np.arange(20_000) % 2)
    assert mixed.runs == 9701
    known = plan.interval(mixed)
    assert (known.low, known.high) == (Fraction(4850, 9701) - EPS / 5, Fraction(4850, 9701) + EPS / 5)
    assert (mixed.successes, mixed.failures, mixed.undecided) == (4850, 4851, 0)
    assert known.confidence == Fraction(19, 20)


@pytest.mark.parametrize("method", METHODS)
def test_no_stop_comes_sooner_than_announced(method: str) -> None:
    plan = choose_plan(method, EPS, DELTA)
    for seed in range(3):
        row = outcomes(seed, 1, 6000, (0.0, 0.1, 0.6)[seed])[0]
        progress = Progress()
        while progress.stop is None:
            ahead = plan.ahead(progress)
            assert ahead >= 1
            before = plan.consume(progress, row[progress.runs : progress.runs + ahead - 1])
            assert before.stop is None
            progress = plan.consume(progress, row[progress.runs : progress.runs + ahead])


@pytest.mark.parametrize("method", METHODS)
def test_too_much_truncation_ends_the_experiment(method: str) -> None:
    plan = choose_plan(method, EPS, DELTA)
    progress = finished(plan, outcomes(5, 1, 3000, 0.2, 0.3)[0])
    assert progress.stop is Stop.TRUNCATION
    known = plan.interval(progress)
    assert known.low <= Fraction(1, 5)
    assert known.high >= Fraction(1, 2)


def test_undecided_runs_widen_both_sides() -> None:
    plan = choose_plan("clopper-pearson", EPS, DELTA)
    row = np.array([2] * 5 + [0] * 400)
    progress = finished(plan, row)
    assert progress.stop is Stop.PRECISE
    known = plan.interval(progress)
    least = plan.boundary.least  # type: ignore[attr-defined]
    assert known.low == 0
    assert known.high == Fraction(5, least[5]) + EPS
    assert progress.runs == least[5]


def test_numbers_of_runs_of_the_fixed_plans() -> None:
    eps = Fraction(1, 100)
    okamoto, exact = choose_plan("okamoto", eps, DELTA), choose_plan("clopper-pearson-fixed", eps, DELTA)
    assert isinstance(okamoto, FixedRuns)
    assert isinstance(exact, FixedRuns)
    assert okamoto.runs == 18445
    assert exact.runs == 9704  # 9701 are enough for half of them, a little less than half needs three more
    half = exact.interval(Progress(9704, 4852))
    assert float(half.high - half.low) == pytest.approx(0.02, rel=1e-3)
    assert half.high - half.low <= Fraction(2, 100)
    assert okamoto.interval(Progress(18445, 0)).high == eps


@pytest.mark.parametrize("runs", [7, 12])
def test_clopper_pearson_covers_by_enumeration(runs: int) -> None:
    plan = FixedRuns(Fraction(1, 4), Fraction(1, 5), runs)
    for p in (Fraction(i, 40) for i in range(41)):
        inside = Fraction(0)
        for (n, k), weight in ends(fixed_boundary(Fraction(1, 4), runs), p).items():
            known = plan.interval(Progress(n, k))
            inside += weight if known.low <= p <= known.high else 0
        assert inside >= Fraction(4, 5)


def test_spending_shares_the_risk_over_its_looks() -> None:
    plan = choose_plan("spending", Fraction(1, 200), DELTA)
    assert isinstance(plan, Spending)
    assert all(2 * a <= 3 * b + 2 for a, b in zip(plan.looks[1:], plan.looks, strict=False))
    progress = finished(plan, np.zeros(plan.looks[-1]))
    assert progress.runs in plan.looks[:2]
    halves = finished(plan, np.arange(plan.looks[-1]) % 2)
    assert halves.stop is Stop.PRECISE
    assert halves.runs == plan.looks[-1]


def test_the_looks_of_the_confidence_sequence_do_not_depend_on_batches() -> None:
    looks, look = [], 0
    while look < 5000:
        look = next_look(look)
        looks.append(look)
    assert looks[:3] == [1, 2, 3]
    assert all(next_look(runs) == min(n for n in looks if n > runs) for runs in range(0, 4000, 37))
    assert finished(Mixture(EPS, DELTA, most=300), np.arange(400) % 2).stop is Stop.LIMIT


def sprt_errors(test: SequentialRatioTest, p: float, longest: int) -> tuple[float, float]:
    """P(above) and P(below), by going through all counts."""
    alive, above, below = {0: 1.0}, 0.0, 0.0
    for n in range(1, longest + 1):
        after: dict[int, float] = {}
        for k, weight in alive.items():
            after[k] = after.get(k, 0.0) + weight * (1 - p)
            after[k + 1] = after.get(k + 1, 0.0) + weight * p
        alive = {}
        for k, weight in after.items():
            before = Progress(n - 1, k - 1) if k else Progress(n - 1, 0)
            end = test.consume(before, [1] if k else [0])
            above += weight if end.low is not None else 0.0
            below += weight if end.high is not None else 0.0
            if end.stop is None and weight > 1e-12:
                alive[k] = weight
    return above, below


def test_errors_of_the_threshold_test() -> None:
    test = SequentialRatioTest(Fraction(2, 5), Fraction(1, 5), Fraction(1, 10))
    assert sprt_errors(test, 0.2, 120)[0] <= 0.1
    assert sprt_errors(test, 0.6, 120)[1] <= 0.1
    assert sprt_errors(test, 0.75, 120)[0] > 0.95


def test_the_threshold_test_says_on_which_side() -> None:
    test = SequentialRatioTest(Fraction(1, 10), Fraction(1, 100), DELTA)
    many, none = finished(test, np.ones(100)), finished(test, np.zeros(1000))
    assert (many.stop, test.interval(many).low) == (Stop.DECIDED, Fraction(9, 100))
    assert (none.stop, test.interval(none).high) == (Stop.DECIDED, Fraction(11, 100))
    assert test.consume(Progress(), np.full(5000, 2)).stop is None  # nobody knows
    short = SequentialRatioTest(Fraction(1, 10), Fraction(1, 100), DELTA, most=50).consume(
        Progress(), np.zeros(60)
    )
    assert (short.runs, short.stop) == (50, Stop.LIMIT)


@pytest.mark.parametrize("method", METHODS)
def test_many_questions_share_the_risk(method: str) -> None:
    one = choose_plan(method, EPS, DELTA / 10)
    assert choose_plan(method, EPS, DELTA, questions=10) == one
    assert one.interval(Progress()).confidence == 1 - DELTA / 10


def test_what_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="okamoto"):
        choose_plan("okamot", EPS, DELTA)
    for eps, delta in ((Fraction(0), DELTA), (Fraction(1, 2), DELTA), (EPS, Fraction(0)), (EPS, Fraction(1))):
        with pytest.raises(InvalidProblem):
            choose_plan("okamoto", eps, delta)
    with pytest.raises(InvalidProblem):
        choose_plan("okamoto", EPS, DELTA, questions=0)
    with pytest.raises(Unsupported, match="runs"):
        choose_plan("okamoto", Fraction(1, 10**6), DELTA)
    with pytest.raises(InvalidProblem, match="indifference"):
        SequentialRatioTest(Fraction(1, 100), Fraction(1, 100), DELTA)
    with pytest.raises(InvalidProblem, match="outcomes"):
        choose_plan("okamoto", EPS, DELTA).consume(Progress(), [3])
