"""Reference values of the Quantitative Verification Benchmark Set: in the interval, certified, and narrow."""

from fractions import Fraction

import pytest
from benchmarks.conformance import MODELS, SMALL, answered, misses, name_of, problem_of, rows

from surefoot.engines.explicit import Explicit
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget

SLOW_TO_CHECK = (
    "firewire.false deadline 4093",
)  # `python -m benchmarks.conformance` checks all certificates

pytestmark = pytest.mark.shared_data


@pytest.mark.parametrize(
    "row", rows(MODELS) if (MODELS / "conformance.json").is_file() else [], ids=lambda r: name_of(r)
)
def test_reference_value(row: dict) -> None:
    problem, small = problem_of(row, MODELS), row["states"] < SMALL
    if small and name_of(row) not in SLOW_TO_CHECK:
        found = answered(problem, exact=False)
        assert not found["flaw"]
        assert not misses(row, found["low"], found["high"])
    else:
        verdict = Explicit().check(problem, Budget(120))
        assert isinstance(verdict, Exact)
        assert not misses(row, verdict.low, verdict.high)
    if small:
        verdict = Explicit(exact=True).check(problem, Budget(120))
        assert isinstance(verdict, Exact)
        assert verdict.low == verdict.high
        assert not misses(row, verdict.low, verdict.high)


def test_what_is_wrong_is_said() -> None:
    row, third = {"reference": 0.5}, Fraction(1, 3)
    assert not misses(row, Fraction(1, 2), Fraction(1, 2))
    assert "outside" in misses(row, third, third)
    assert misses(row, third, Fraction(2, 3)) == "too wide"
    assert misses(row, None, None) == "infinite"
    assert misses({"reference": "∞"}, third, third) == "not infinite"
    assert "outside" in misses(
        {"reference": 0.333333333333, "exact": "1/3"},
        Fraction(333333333333, 10**12),
        third - Fraction(1, 10**13),
    )
