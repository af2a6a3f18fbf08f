"""Random finite systems with fewer inputs or outputs: nothing false is ever proved of them."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.laws.abstracted import said

SYSTEMS = 14
seen: Counter[tuple[str, str]] = Counter()


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_an_abstraction_proves_nothing_false(seed: int) -> None:
    """`benchmarks/finite_systems.py --abstract` looks at 300."""
    found = said(seed)
    if found is not None:
        true, word, wrong = found
        assert wrong is None, f"seed {seed}: {wrong}"
        seen[true, word] += 1


def test_something_was_decided() -> None:
    if sum(seen.values()) < SYSTEMS // 2:
        pytest.skip("the systems above were not all looked at in this process")
    assert seen["violated", "violated"] > 0
    assert seen["holds", "holds"] > 0
