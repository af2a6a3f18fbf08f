"""Forged certificates: no false claim is accepted, and true ones are; the campaign makes thousands."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from benchmarks.forgery.__main__ import KINDS, is_accepted
from benchmarks.forgery.evidence import MARGINS, give_evidence
from benchmarks.forgery.flow_runs import is_refuted_flow
from benchmarks.forgery.intervals import Interval, Unsure, evaluate
from benchmarks.forgery.polynomial_systems import convergent_base, flow_base
from benchmarks.forgery.stepped_runs import is_refuted, is_refuted_convergence, most_steps
from benchmarks.forgery.target_lies import resting_ranking
from benchmarks.forgery.time_lies import turned_between

COUNTS = {
    **{"values": 400, "graphs": 400, "executions": 150, "recurrences": 150},
    **{"barriers": 50, "flows": 12, "convergence": 18},
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_forged_claim_is_accepted(kind: str) -> None:
    draw, seen = Random(4), list[tuple[bool | None, bool]]()
    while len(seen) < COUNTS[kind]:
        for rule, certificate, true in KINDS[kind](draw):
            accepted = is_accepted(certificate)
            assert true is not False or not accepted, (rule, certificate)
            seen.append((true, accepted))
    assert seen.count((False, False)) > COUNTS[kind] // 10
    assert seen.count((True, True)) > COUNTS[kind] // 10


def test_intervals_contain_what_they_stand_for() -> None:
    third = Interval.of(Fraction(1, 3))
    assert evaluate(["<", ["*", 3, ["name", "x"]], "1001/1000"], {"x": third}, Interval.of)
    with pytest.raises(Unsure):
        evaluate(["<=", ["*", 3, ["name", "x"]], 1], {"x": third}, Interval.of)
    undecided = ["<=", ["*", 3, ["name", "x"]], 1]
    assert evaluate(["or", undecided, ["<", ["name", "x"], 1]], {"x": third}, Interval.of)
    assert not evaluate(["and", undecided, ["<", 1, ["name", "x"]]], {"x": third}, Interval.of)


def _doubled(arithmetic: str) -> dict[str, Any]:
    """x is doubled in every step, from within 1; unsafe is 3 and more."""
    x = ["name", "x"]
    inner = {"domain": [[-1, 1]], "barrier": -1, "tested": False, "margin": 0}
    return {
        "arithmetic": arithmetic,
        "claim": {
            "target": ["<", ["*", x, x], "1/100"],
            "system": {
                **{"name": "doubled", "variables": ["x"], "initial": [["1/8", 1]], "controls": []},
                **{"disturbances": [], "next": [["*", 2, x]], "unsafe": ["<=", 3, x], "shield": None},
                "rules": [{"set": inner, "then": []}],
            },
        },
        "ranking": {"function": ["*", x, x], "least": "1/100"},
    }


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_runs_refute_what_is_false_and_nothing_else(arithmetic: str) -> None:
    data = _doubled(arithmetic)
    assert most_steps(data) == 201
    assert is_refuted(data)
    assert is_refuted_convergence(data)
    data["claim"]["system"]["next"] = [["*", "1/2", ["name", "x"]]]
    assert not is_refuted(data)
    assert not is_refuted_convergence(data)
    data["claim"]["target"] = ["<", 2, ["name", "x"]]
    assert is_refuted_convergence(data)


def test_a_run_between_samples_refutes() -> None:
    """The system is safe at its samples; only what the checker says of the time between them refuses it."""
    for seed in range(3):
        draw = Random(seed)
        data = flow_base(draw)
        assert turned_between(data, draw)
        assert is_refuted_flow(data)
        found = give_evidence(data, dict.fromkeys(MARGINS, Fraction(0)))
        assert found is not None
        certificate, gaps = found
        assert not gaps
        assert not is_accepted(certificate)
        data["claim"]["system"]["unsafe"] = ["<=", 100, ["name", "x"]]
        assert not is_refuted_flow(data)


def test_a_ranking_that_rests_is_proved_by_the_liar() -> None:
    """Every other proof is there: what refuses is that `least` is not positive."""
    complete = 0
    for seed in range(8):
        draw = Random(seed)
        data = convergent_base(draw)
        assert resting_ranking(data, draw)
        found = give_evidence(data)
        assert found is not None
        certificate, gaps = found
        del certificate["about"]
        complete += not gaps
        assert not is_accepted(certificate)
    assert complete
