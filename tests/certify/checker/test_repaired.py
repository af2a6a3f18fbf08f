"""False claims that a version of the checker once accepted."""

from fractions import Fraction
from typing import Any

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
