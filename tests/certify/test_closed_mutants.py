"""Damaged certificates of closed sets, in small; `benchmarks.mutation.closed_sets` makes hundreds."""

import pytest
from benchmarks.mutation import closed_sets


def test_no_mutant_that_claims_something_false_is_accepted() -> None:
    result = closed_sets.campaign(40, seed=0)
    assert sum(result["seen"].values()) == 40
    assert result["wrong"] == []
    assert sum(n for row, n in result["seen"].items() if ": false, rejected" in row) >= 10
    assert sum(n for row, n in result["seen"].items() if ": true, accepted" in row) >= 3


def test_a_checker_that_accepts_everything_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = closed_sets.outcome

    def gullible(content: closed_sets.Content) -> tuple[str, str, str]:
        return real(content)[0], "accepted", ""

    monkeypatch.setattr(closed_sets, "outcome", gullible)
    assert any(w["truth"] == "false" for w in closed_sets.campaign(25, seed=0)["wrong"])
