"""False claims that a version of the checker once accepted."""

import hashlib
from base64 import b64encode
from fractions import Fraction
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from tests.checker.making import affine, certificate, claim, verdict

from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_checker.kernel.vnnlib_file import read_vnnlib_claim


def written_out(formula: list[Any], case: dict[str, Any], variables: list[Any]) -> dict[str, Any]:
    claim = {"kind": "query", "variables": variables, "networks": [], "calls": [], "formula": formula}
    return {"surefoot-certificate": 1, "claim": claim, "arithmetic": "real", "cases": [case]}


def test_no_point_falls_between_thresholds_of_two_precisions() -> None:
    """x = c with c above 1/3 rounded down to the coarse grid, and below 1/3 rounded to the fine one.

    The first part was closed on the coarse grid, where it ends before c, the second on the fine one, where
    it begins after c.
    """
    coarse, fine = (Fraction((1 << bits) // 3, 1 << bits) for bits in (40, 112))
    inside = (coarse + fine) / 2
    atom = ["=", {"x": "1", "": str(-inside)}]
    case = {
        "atoms": [atom],
        "sets": [[0]],
        "steps": [
            ["split", 0, 0, "1/3"],
            ["drop", [0], {"atoms": [[0, "-1"]]}],
            ["drop", [0], {"atoms": [[0, "1"]]}],
        ],
    }
    assert not judge_certificate(written_out(["or", atom, atom], case, [["x", "0", "1", "real"]])).accepted


def test_a_bias_that_no_word_holds() -> None:
    """y = -(x + 10^7): the constant of a row wrapped round and became a lower bound above the upper one."""
    size = 7
    rows = [[-1.0 if i == j and i < size - 1 else 0.0 for j in range(size)] for i in range(size)]
    nodes = [affine(0, [[1.0]] * size, [1e7] * size), ["relu", 1], affine(2, rows, [0.0] * size)]
    formula = ["<=", {"y0": 1}]
    steps = [["bound", 4, [[i, 0] for i in range(size)]], ["drop", [0], {"atoms": [[0, 1]]}]]
    case = {"atoms": [formula], "sets": [[0]], "steps": steps}
    claimed = claim([["x", -1, 1, "real"]], nodes, formula, [f"y{i}" for i in range(size)])
    for arithmetic in ("real", "float32"):
        assert not verdict(claimed, case, arithmetic).accepted


def test_large_weights_that_nothing_multiplies_are_no_reason_to_crash() -> None:
    """A weight of 3e38 takes more bits than a field that is made for a sum of zeros."""
    weights, bias = (b64encode(pack("<2f", *numbers)).decode() for numbers in ((3e38, -3e38), (0, 0)))
    network = {"width": 1, "nodes": [["affine", 0, 2, 1, weights, bias]]}
    variables = [["x", "0", "1", "real"], ["y", None, None, "real"], ["z", None, None, "real"]]
    atom = ["<=", {"y": "1"}]
    case = {"atoms": [atom], "sets": [[0]], "steps": [["drop", [0], {"atoms": [[0, "0"]]}]]}
    data = written_out(["and", atom], case, variables)
    data["claim"] |= {"networks": [network], "calls": [[0, [{"x": "1"}], ["y", "z"]]]}
    assert not judge_certificate(data).accepted


def test_a_clip_at_a_number_that_float32_does_not_have() -> None:
    """A float32 evaluation clips at the nearest float32 number, which is above 0.1 here."""
    formula = ["<", {"y": -1, "": float(np.float64(0.1)).hex()}]
    case = {"atoms": [formula], "sets": [[0]], "steps": [["drop", [0], {"atoms": [[0, 1]]}]]}
    claimed = claim([["x", 0, 0, "float32"]], [["clip", 0, (0.1).hex(), 1]], formula)
    with pytest.raises(BadCertificate, match="float32"):
        verdict(claimed, case, "float32")


def test_rows_of_zeros_and_huge_weights() -> None:
    """Nothing to add up, but what is packed does not fit the smallest fields."""
    nodes = [affine(0, [[1e30]], [0.0]), ["relu", 1], affine(2, [[1e30]], [2.0**63])]
    formula = ["<=", {"y": -1, "": -1}]
    steps = [["drop", [0], {"atoms": [[0, 0]]}]]
    case = {"atoms": [formula], "sets": [[0]], "steps": steps}
    assert not verdict(claim([["x", 0, 1, "real"]], nodes, formula), case).accepted


PROPERTY = """(declare-const X_0 Real) (declare-const Y_0 Real)
(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= Y_0 2))"""


def _inside(folder: Path) -> dict[str, Any]:
    """y = 3 x reaches 2; the tensor `inside` = x does not."""
    nodes = [helper.make_node("Relu", ["x"], ["inside"]), helper.make_node("Mul", ["inside", "c"], ["y"])]
    ends = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1]) for n in ("x", "y")]
    three = numpy_helper.from_array(np.array([3], np.float32), "c")
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [three])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()
    (folder / "net.onnx").write_bytes(data)
    (folder / "property.vnnlib").write_text(PROPERTY)
    files = {
        key: {
            "file": f"well known/{name}",
            "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
        }
        for key, name in (("network", "net.onnx"), ("property", "property.vnnlib"))
    }
    atom = ["<=", {"Y_0": -1, "": 2}]
    case = {"atoms": [atom], "sets": [[0]], "steps": [["drop", [0], {"atoms": [[0, 1]]}]]}
    return certificate({"kind": "vnnlib", **files, "output": "inside", "inputs": "float32"}, case, "float32")


def test_a_tensor_inside_the_network_is_not_its_output(tmp_path: Path) -> None:
    """Such a claim was printed as one about the network, under whatever path the certificate gave."""
    given = _inside(tmp_path)
    found = judge_certificate(given, base=tmp_path)
    assert found.accepted
    assert "`inside`" in found.claim
    assert str(tmp_path / "net.onnx") in found.claim
    assert "well known" not in found.claim
    assert any("inside it" in what for what in found.not_certified)
    given["claim"]["output"] = None
    assert not judge_certificate(given, base=tmp_path).accepted


def test_a_query_written_out_is_not_about_a_given_property() -> None:
    given = written_out(["or"], {"atoms": [], "sets": [], "steps": []}, [])
    assert judge_certificate(given).accepted
    with pytest.raises(BadCertificate, match="property"):
        judge_certificate(given, property=Path("property.vnnlib"))


def test_strings_and_ends_of_lines_in_properties() -> None:
    """What stands in a string asserts nothing; a carriage return ends a comment too."""
    quoted = PROPERTY + '(set-info :a ")(assert (<= X_0 -1))(set-info :b ")'
    assert read_vnnlib_claim(quoted.encode()) == read_vnnlib_claim(PROPERTY.encode())
    comment = PROPERTY + "(assert (or (<= Y_0 7) ; or\r (<= Y_0 8)))"
    assert read_vnnlib_claim(comment.encode()) == read_vnnlib_claim(comment.replace("\r", "\n").encode())
