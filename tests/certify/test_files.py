"""Proofs of queries restated for files: only what the steps use is kept."""

from typing import Any

from surefoot.certify.vnnlib_claim import restate_for_files

SOURCE = {"kind": "vnnlib", "network": "n.onnx", "specification": "p.vnnlib", "output": None}
DIGESTS = {"n.onnx": "0" * 64, "p.vnnlib": "1" * 64}
ATOMS = [["<=", {"output[0]@0": "1", "": "9"}], ["<=", {"X_0@0": "1"}], ["<", {"output[0]@0": "-1"}]]


def restated(steps: list[Any]) -> dict[str, Any]:
    case = {"define": [["Y_0@0", 0]], "atoms": ATOMS, "sets": [[0, 1, 2]], "steps": steps}
    claim = {"variables": [["X_0@0", "0", "1", "float32"]]}
    found = restate_for_files({"claim": claim, "arithmetic": "real", "cases": [case]}, SOURCE, DIGESTS)
    assert found is not None
    (only,) = found["cases"]
    return dict(only)


def test_atoms_that_no_step_uses_are_left_out() -> None:
    cut = ["cut", [[[0], {"atoms": [[1, 3]], "bounds": [[2, 0, 1]]}]]]
    found = restated([cut, ["split", 0, 0, "1/2"], ["drop", [0], {"atoms": [[2, 5]]}], ["drop", [0], {}]])
    assert found["atoms"] == [["<=", {"X_0": "1"}], ["<", {"Y_0": "-1"}]]
    assert found["sets"] == [[0, 1]]
    assert found["steps"][0] == ["cut", [[[0], {"atoms": [[0, 3]], "bounds": [[2, 0, 1]]}]]]
    assert found["steps"][1:] == [
        ["split", 0, 0, "1/2"],
        ["drop", [0], {"atoms": [[1, 5]]}],
        ["drop", [0], {}],
    ]
    assert "define" not in found


def test_a_point_may_rest_on_any_atom() -> None:
    found = restated([["point", [0]]])
    assert len(found["atoms"]) == 3
    assert found["sets"] == [[0, 1, 2]]


def test_a_weaker_bound_of_the_same_side_is_replaced_by_the_tighter_one() -> None:
    tight, weak = ["<=", {"output[0]@0": "-1", "": "5"}], ["<=", {"output[0]@0": "-1", "": "-2"}]
    steps = [["drop", [0], {"atoms": [[0, 3], [1, 4]]}]]
    case = {"atoms": [weak, tight], "sets": [[0, 1]], "steps": steps}
    claim = {"variables": [["X_0@0", "0", "1", "real"]]}
    found = restate_for_files({"claim": claim, "arithmetic": "real", "cases": [case]}, SOURCE, DIGESTS)
    assert found is not None
    assert found["cases"] == [
        {
            "atoms": [["<=", {"Y_0": "-1", "": "5"}]],
            "sets": [[0]],
            "steps": [["drop", [0], {"atoms": [[0, 7]]}]],
        }
    ]
