"""Forged certificates: no false claim is accepted, and true ones are; the campaign makes thousands."""

from __future__ import annotations

from random import Random

import pytest
from benchmarks.forgery.__main__ import KINDS, is_accepted

COUNTS = {"values": 400, "graphs": 400, "executions": 150, "recurrences": 150}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_forged_claim_is_accepted(kind: str) -> None:
    draw, seen = Random(4), []
    while len(seen) < COUNTS[kind]:
        for rule, certificate, true in KINDS[kind](draw):
            accepted = is_accepted(certificate)
            assert true or not accepted, (rule, certificate)
            seen.append((true, accepted))
    assert seen.count((False, False)) > COUNTS[kind] // 10
    assert seen.count((True, True)) > COUNTS[kind] // 10
