"""Certificates about a controlled system that were written by hand to say something else than is shown."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.old_format import judge_both_formats

from surefoot_checker.__main__ import main
from surefoot_checker.kernel.strict_json import BadCertificate

_X: list[Any] = ["name", "x"]
_NOTHING: dict[str, Any] = {"weights": [], "over": 1}
_HALVES: dict[str, Any] = {
    "surefoot-certificate": 1,
    "arithmetic": "exact",
    "claim": {
        "kind": "barrier",
        "system": {
            "name": "halves",
            "variables": ["x"],
            "initial": [[-1, 1]],
            "controls": [],
            "disturbances": [],
            "next": [["/", _X, 2]],
            "unsafe": ["<=", 2, _X],
            "rules": [
                {"set": {"domain": [[-1, 1]], "barrier": -1, "tested": False, "margin": 0}, "then": []}
            ],
            "shield": None,
        },
    },
    "sets": [
        {
            "scale": [[0, 1]],
            "margins": {"room": 0, "step": [0], "barrier": 0},
            "covers": [[[-1, 1]]],
            "start": [_NOTHING],
            "unsafe": [{"slack": [0], "proof": {"weights": [[1, 1], [3, 1]], "over": 1}}],
            "saturation": [],
            "steps": [[_NOTHING, {"weights": [[0, 1]], "over": 2}, {"weights": [[1, 1]], "over": 2}]],
        }
    ],
}


@pytest.fixture
def halves() -> dict[str, Any]:
    """x becomes x/2 in every step, from within 1: it never comes to 2."""
    assert judge_both_formats(_HALVES).claim == (
        "no run of the system `halves`, controlled by its program, comes to an unsafe state"
    )
    assert judge_both_formats(_HALVES).accepted
    return copy.deepcopy(_HALVES)


def test_a_name_does_not_end_its_quotation(halves: dict[str, Any]) -> None:
    """The claim was printed as one about other systems too."""
    halves["claim"]["system"]["name"] = "x`, or of any other system, or `y"
    found = judge_both_formats(halves)
    assert found.accepted
    assert found.claim.count("`") == 2


def test_parts_of_the_starts_are_starts(halves: dict[str, Any]) -> None:
    """Every run from the initial box is unsafe at once, which boxes elsewhere hid."""
    system = halves["claim"]["system"]
    system["parts"] = [[[0, 1]]]
    assert "from 1 boxes of its starts" in judge_both_formats(halves).claim
    system["parts"] = [[[1, 0]]]  # of which everything would be true
    with pytest.raises(BadCertificate, match="empty"):
        judge_both_formats(halves)
    system["parts"] = [[[0, 1]]]
    for elsewhere in ([5, 6], [-1, "1/2"], ["1/2", 2]):
        system["initial"] = [elsewhere]
        with pytest.raises(BadCertificate, match="parts"):
            judge_both_formats(halves)


@pytest.mark.parametrize("hidden", ["\x1b[2K\raccepted: all is well", "\ud800"])
def test_a_rejected_file_does_not_write_over_the_verdict(
    halves: dict[str, Any], hidden: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names and keys were printed as they are, with what moves the cursor of a terminal."""
    file = tmp_path / "certificate.json"
    system = halves["claim"]["system"]
    places = (("unsafe", ["<=", 2, ["name", hidden]], 2), (hidden, 0, 2), ("next", [hidden], 2))
    for key, value, code in places:
        forged = {**halves, "claim": {"kind": "barrier", "system": {**system, key: value}}}
        file.write_text(json.dumps(forged))
        assert main([str(file)]) == code
        said = capsys.readouterr().out
        assert all(line.isprintable() for line in said.splitlines())
        assert "\r" not in said
        assert not said.startswith("accepted")
