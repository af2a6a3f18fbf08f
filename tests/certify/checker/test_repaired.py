"""False claims that a version of the checker once accepted."""

from base64 import b64encode
from fractions import Fraction
from struct import pack
from typing import Any

from tests.certify.checker.making import affine, claim, verdict

from surefoot.certify.checker.check import check


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
    assert not check(written_out(["or", atom, atom], case, [["x", "0", "1", "real"]])).accepted


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
    assert not check(data).accepted
