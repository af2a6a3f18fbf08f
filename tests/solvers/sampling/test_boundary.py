"""The proof of coverage: it agrees with exact experiments, wrong rules fail, run counts are as known."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.solvers.sampling.walk import ends, expected_runs, fixed_boundary, floating, misses

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.solvers.sampling.boundary.coverage import bound_miss_probability, prove_boundary
from surefoot.solvers.sampling.boundary.lattice import binomial_coefficients, shares_reaching
from surefoot.solvers.sampling.boundary.store import load_or_prove, user_folder
from surefoot.solvers.sampling.boundary.table import (
    Boundary,
    chen_boundary,
    clopper_pearson_boundary,
    tabulate_rule,
)
from surefoot.solvers.sampling.fixed_plans import Spending
from surefoot.solvers.sampling.methods import choose_plan

SMALL = [
    clopper_pearson_boundary(Fraction(1, 5), Fraction(1, 10)),
    chen_boundary(Fraction(1, 4), Fraction(1, 10)),
    fixed_boundary(Fraction(1, 4), 20),
    fixed_boundary(Fraction(1, 5), 21),
    Boundary(Fraction(1, 4), (12, 13, 16, 16, 16, 17, 17, 17, 17)),
]


def wald(eps: Fraction, delta: Fraction, start: int = 100) -> Boundary:
    """The textbook's interval k / n ± z sqrt(p^ (1 - p^) / n), looked at from the 100th run on."""
    quantile = {Fraction(1, 20): 1.959964, Fraction(1, 10): 1.644854}[delta]

    def enough(runs: np.ndarray, rarer: np.ndarray) -> np.ndarray:
        share = rarer / np.maximum(runs, 1)
        return (runs >= start) & (quantile * np.sqrt(share * (1 - share) / np.maximum(runs, 1)) <= float(eps))

    return tabulate_rule(eps, enough, 2 * int((quantile / (2 * float(eps))) ** 2) + 200)


@pytest.mark.parametrize("boundary", SMALL)
def test_ways_to_every_place_are_those_of_exact_enumeration(boundary: Boundary) -> None:
    p = Fraction(1, 3)
    found = ends(boundary, p)
    shares = shares_reaching(boundary)
    mantissas, exponents = binomial_coefficients(boundary)
    for j, n in enumerate(boundary.least):
        ways = found.get((n, j), Fraction(0)) / (p**j * (1 - p) ** (n - j))
        computed = Fraction(float(shares[j] * mantissas[j])) * Fraction(2) ** int(exponents[j])
        assert abs(computed - ways) <= max(ways, 1) / 10**12


@pytest.mark.parametrize("boundary", SMALL)
def test_the_bound_holds_for_every_p_and_is_reached(boundary: Boundary) -> None:
    found = bound_miss_probability(boundary)
    assert not found.why
    eps, tiny = boundary.eps, Fraction(1, 2**20)
    shares = {Fraction(k, n) for n, k in ends(boundary, Fraction(1, 2))}
    corners = {
        share + side * eps + nudge for share in shares for side in (1, -1) for nudge in (-tiny, 0, tiny)
    }
    values = [misses(boundary, p) for p in corners if 0 <= p <= Fraction(1, 2)]
    assert max(values) <= Fraction(found.bound)
    assert float(max(values)) == pytest.approx(found.bound, rel=1e-3)
    generator = np.random.default_rng(0)
    for p in generator.integers(0, 1025, 20).tolist():  # between the corners: never more
        assert misses(boundary, Fraction(p, 1024)) <= Fraction(found.bound)


@pytest.mark.parametrize("p", [0.0, 0.003, 0.0101, 0.02, 0.037, 0.1, 0.3333, 0.4999, 0.5, 0.71, 0.99])
def test_long_boundaries_agree_with_floating_experiments(p: float) -> None:
    proved = prove_boundary(clopper_pearson_boundary, Fraction(1, 50), Fraction(1, 20))
    miss, mean = floating(proved.boundary, p)
    assert miss <= proved.miss
    assert expected_runs(proved.boundary, p) == pytest.approx(mean, rel=1e-9)


def test_the_worst_of_a_long_boundary_is_where_the_proof_says() -> None:
    boundary = clopper_pearson_boundary(Fraction(1, 50), Fraction(1, 20))
    found = bound_miss_probability(boundary)
    beside = [floating(boundary, found.at + side * 1e-9)[0] for side in (1, -1)]
    assert max(beside) == pytest.approx(found.bound, rel=1e-5)


def test_run_counts_of_the_default() -> None:
    proved = prove_boundary(clopper_pearson_boundary, Fraction(1, 100), Fraction(1, 20))
    assert proved.level == Fraction(1, 20)  # no price for looking after every run
    assert proved.miss <= 0.05
    assert proved.boundary.most == 9701
    means = [expected_runs(proved.boundary, p) for p in (0.0, 0.01, 0.1, 0.5)]
    assert means == pytest.approx([368, 724, 3780, 9701], rel=2e-3)


@pytest.mark.parametrize("eps", [Fraction(1, 20), Fraction(1, 50)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)])
def test_common_precisions_are_proved_at_their_own_level(eps: Fraction, delta: Fraction) -> None:
    assert prove_boundary(clopper_pearson_boundary, eps, delta).level == delta


def test_a_level_that_fails_is_lowered() -> None:
    eps, delta = Fraction(1, 10), Fraction(1, 100_000)
    assert bound_miss_probability(clopper_pearson_boundary(eps, delta)).bound > delta
    proved = prove_boundary(clopper_pearson_boundary, eps, delta)
    assert proved.level < delta
    assert Fraction(bound_miss_probability(proved.boundary).bound) == Fraction(proved.miss) <= delta


def test_chen_is_proved_and_dearer() -> None:
    proved = prove_boundary(chen_boundary, Fraction(1, 50), Fraction(1, 20))
    assert proved.level == Fraction(1, 20)
    assert proved.miss < 0.01
    assert expected_runs(proved.boundary, 0.5) > 1.8 * expected_runs(
        prove_boundary(clopper_pearson_boundary, Fraction(1, 50), Fraction(1, 20)).boundary, 0.5
    )


@pytest.mark.parametrize("eps", [Fraction(1, 20), Fraction(1, 50)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 20)])
@pytest.mark.parametrize("start", [1, 100])
def test_the_wald_interval_is_refused(eps: Fraction, delta: Fraction, start: int) -> None:
    boundary = wald(eps, delta, start)
    found = bound_miss_probability(boundary)
    assert not found.why
    assert found.bound > delta
    reached = max(floating(boundary, found.at + side * 1e-9)[0] for side in (1, -1))
    assert reached == pytest.approx(found.bound, rel=1e-4)  # it misses that often, indeed


def test_a_rule_that_does_not_listen_to_its_level_is_given_up() -> None:
    with pytest.raises(Unsupported, match="proved"):
        prove_boundary(lambda eps, _: wald(eps, Fraction(1, 20), 30), Fraction(1, 10), Fraction(1, 20))


def test_stopping_a_little_earlier_is_noticed() -> None:
    boundary = clopper_pearson_boundary(Fraction(1, 50), Fraction(1, 20))
    hasty = Boundary(boundary.eps, tuple(n - 40 if j > 0 else n for j, n in enumerate(boundary.least[:-20])))
    assert hasty.is_ordered
    assert bound_miss_probability(hasty).bound > 0.05


def test_rules_outside_the_argument_are_refused_with_a_reason() -> None:
    unordered = Boundary(Fraction(1, 10), (30, 40, 90, 90, 90, *[200] * 96))
    assert not unordered.is_ordered
    assert "order" in bound_miss_probability(unordered).why
    assert "convex" in bound_miss_probability(fixed_boundary(Fraction(1, 10), 20)).why


@pytest.mark.parametrize("least", [(), (0, 2, 5), (5, 4, 5), (1, 5), (3, 3, 3), (4, 4, 4, 6)])
def test_tables_that_are_none(least: tuple[int, ...]) -> None:
    with pytest.raises(InvalidProblem):
        Boundary(Fraction(1, 10), least)


def test_fine_precisions_fall_back_to_spending() -> None:
    assert isinstance(choose_plan("clopper-pearson", Fraction(1, 1000), Fraction(1, 20)), Spending)
    with pytest.raises(Unsupported, match="spending"):
        choose_plan("chen", Fraction(1, 1000), Fraction(1, 20))


def test_proved_boundaries_are_kept(tmp_path: Path) -> None:
    eps, delta, made = Fraction(1, 10), Fraction(1, 20), []

    def make():  # type: ignore[no-untyped-def]
        made.append(1)
        return prove_boundary(clopper_pearson_boundary, eps, delta)

    def get():  # type: ignore[no-untyped-def]
        return load_or_prove(tmp_path, "clopper-pearson", eps, delta, make)

    assert get() == get()
    assert len(made) == 1
    (path,) = (tmp_path / "boundaries").iterdir()
    text = path.read_text()
    for damaged in (text.replace("[36", "[35"), text[:-10], "", "[]", '{"sha256": 1}', "\0"):
        assert damaged != text
        path.write_text(damaged)
        assert get() == prove_boundary(clopper_pearson_boundary, eps, delta)
    assert len(made) == 7
    assert path.read_text() == text
    load_or_prove(tmp_path, "clopper-pearson", eps, Fraction(1, 10), make)
    assert len(made) == 8


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    plan = choose_plan("clopper-pearson", Fraction(1, 10), Fraction(1, 20), folder=blocked)
    assert plan == choose_plan("clopper-pearson", Fraction(1, 10), Fraction(1, 20))


def test_the_folder_of_the_user() -> None:
    assert user_folder({"XDG_CACHE_HOME": "x", "HOME": "y"}) == Path("x/surefoot")
    assert user_folder({"HOME": "y"}) == Path("y/.cache/surefoot")
    assert user_folder({}) is None
