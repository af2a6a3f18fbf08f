"""Tampered certificates of shields, in a quick form: what is false is rejected."""

from __future__ import annotations

import pytest
from benchmarks.tampered_shields import accepted, base, judged, mutants
from benchmarks.tampering import executed, unsafe_systems
from benchmarks.tampering.executed import Claim, false_on_a_grid, unsafe_run


def test_nothing_false_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executed, "STEPS", 60)
    certificate = base("satellite")
    assert accepted(certificate)
    claim = Claim.read(certificate)
    assert claim is not None
    assert not unsafe_run(claim)
    assert not false_on_a_grid(claim)
    words = [judged(before, data) for _, before, data in mutants([certificate], 25, 1)]
    assert not [w for w in words if w.startswith("ACCEPTED")]
    assert "rejected, claims something false" in words
    wider = {**certificate, "claim": {**certificate["claim"], "system": {**certificate["claim"]["system"]}}}
    wider["claim"]["system"]["initial"] = [[-3, 3], [-3, 3]]
    assert judged(certificate, wider) == "rejected, claims something false"


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_system_with_an_unsafe_run_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsafe_systems, "SECONDS", 0.3)
    assert unsafe_systems.wrongly_proved(0) == 0
