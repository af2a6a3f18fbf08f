"""Random decision processes from a problem to a certificate that the checker accepts, in every tier."""

from fractions import Fraction

import pytest
from benchmarks.random_processes import ENGINES, flaw, questions

TIERS = ("interpreter", "llvm, exact")  # with states passed through: test_fused.py


@pytest.mark.parametrize("seeds", [range(s, s + 25) for s in range(0, 200, 25)], ids=lambda b: str(b.start))
def test_certified(seeds: range) -> None:
    for seed in seeds:
        for asked, _, expected in questions(seed):
            for name in TIERS:
                assert not flaw(ENGINES[name], asked, expected), (seed, name, asked.property)


def test_a_contradiction_is_seen() -> None:
    asked, longer, expected = questions(1)[0]
    assert expected is not None
    assert "outside" in flaw(ENGINES["llvm, exact"], asked, expected + Fraction(1, 100))
    assert "outside" in flaw(ENGINES["interpreter, fused"], longer, expected + Fraction(1, 100))
    assert flaw(ENGINES["interpreter"], asked, None) == "infinite on one side only"
