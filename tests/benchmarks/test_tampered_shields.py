"""Tampered certificates of shields, in a quick form: what is false is rejected."""

from __future__ import annotations

import pytest
from benchmarks.tampered_shields import accepted, base, judged, mutants
from benchmarks.tampering import executed
from benchmarks.tampering.executed import Claim, false_on_a_grid, unsafe_run
from benchmarks.tampering.unsafe_systems import proved_by_barrier, unsafe_system

from surefoot.problem.property import Never
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Var


def test_nothing_false_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executed, "STEPS", 60)
    certificate = base("satellite")
    assert accepted(certificate)
    claim = Claim.read(certificate)
    assert claim is not None
    assert not unsafe_run(claim)
    assert not false_on_a_grid(claim)
    words = [judged(before, data) for _, before, data in mutants([certificate], 15, 1)]
    assert not [w for w in words if w.startswith("ACCEPTED")]
    assert "rejected, claims something false" in words
    wider = {**certificate, "claim": {**certificate["claim"], "system": {**certificate["claim"]["system"]}}}
    wider["claim"]["system"]["initial"] = [[-3, 3], [-3, 3]]
    assert judged(certificate, wider) == "rejected, claims something false"


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("seed", range(3))
def test_a_system_with_an_unsafe_run_is_not_proved(seed: int) -> None:
    problem, start = unsafe_system(seed)
    bad = problem.property
    assert isinstance(bad, Never)
    state = {**start, "w": 0}
    arithmetic = problem.environment.arithmetic
    updates = problem.environment.components[0].edges[0].outcomes[0].updates
    seen = False
    for _ in range(8):
        names = {**state, "u": 0}
        state = {
            u.target.name: evaluate_term(u.value, names, arithmetic)
            for u in updates
            if isinstance(u.target, Var)
        }
        seen = seen or evaluate_term(bad.bad, state, arithmetic)
        if seen:
            break
    assert seen
    assert not proved_by_barrier(problem, 0.3)
