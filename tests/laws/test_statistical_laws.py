"""On random systems: what is sampled, computed and searched for never contradict each other."""

from __future__ import annotations

from collections import Counter

from tests.laws.estimated import contradictions


def test_engines_do_not_contradict_each_other() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(24):
        told, wrong = contradictions(seed, bmc_seconds=0.3 if seed < 4 else 1e-6)
        assert wrong == [], seed
        kinds[told.split()[0]] += 1
    assert kinds["Estimated"] + kinds["PerStart"] > 15
