"""A fixed part of `benchmarks/falsify_campaign.py`: a problem of each kind is found, and replays."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benchmarks.falsify_campaign import FINITE, Case, Row, judge_case, make_cases
from tests.laws.oracle.plant_runs import ask_property, object_to_trace
from tests.laws.oracle.plants import KINDS, PlantMaker

EACH = 1
KNOWN_MISSES = 0


def some_cases(kind: str, folder: Path) -> list[Case]:
    found: list[Case] = []
    for case in make_cases(kind, 1000, folder, 120):
        if case.truth is not None:  # what nobody refutes would be looked at until the time ends
            found.append(case)
        if len(found) == EACH:
            return found
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", [*FINITE, *KINDS])
def test_what_the_oracle_refutes_is_found_and_nothing_else(kind: str, tmp_path: Path) -> None:
    row = Row()
    for case in some_cases(kind, tmp_path):
        judge_case(case, row, proofs=False)
    assert not row.wrong
    assert len(row.missed) <= KNOWN_MISSES


def test_the_oracle_notices_a_trace_that_is_none() -> None:
    """A state that is not where the step leads, a start that is none, an end that is not bad."""
    plant = ask_property(PlantMaker("float64", 3).plant(), 3)
    start = plant.starts.draw(Random(0), corner=False)
    said = {name: {"hex": float(value).hex()} for name, value in start.items()}
    far = {name: {"hex": float(value + 100).hex()} for name, value in start.items()}
    nothing = {"states": [said], "moves": [], "loop": None}
    assert object_to_trace(plant, nothing) != ""
    assert object_to_trace(plant, {"states": [far], "moves": [], "loop": None}) != ""
    move = {"edges": [[0, 0]], "outcomes": [0], "chosen": {c.name: "0" for c in plant.edges[0].chosen}}
    assert "step 0" in object_to_trace(plant, {"states": [said, far], "moves": [move], "loop": None})
