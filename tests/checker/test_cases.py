"""Choices, definitions and sets: what is left to show must cover every solution of the query."""

from __future__ import annotations

from typing import Any

import pytest
from tests.checker.making import Json, affine, claim, verdict

from surefoot_checker.kernel.strict_json import BadCertificate

A, B, C = (["<=", {"x": -1, "": n}] for n in (2, 3, 4))  # x >= 2, 3, 4: none is possible
D = ["=", {"x": 2, "z": -1}]  # z = 2 x
BOX = [["x", 0, 1, "real"], ["z", 0, 1, "real"]]


def query(formula: Any, variables: Any = BOX, calls: Any = (), networks: Any = ()) -> Json:
    return {
        "kind": "query",
        "variables": variables,
        "networks": list(networks),
        "calls": list(calls),
        "formula": formula,
    }


def drops(count: int) -> list[Any]:
    return [["drop", [s], {"atoms": [[s, 1]]}] for s in range(count)]


def result(formula: Any, cases: Any, **named: Any) -> Any:
    return verdict(query(formula, **named), cases)


def one(*atoms: Any, sets: Any = None, steps: Any = None, **more: Any) -> Json:
    return {
        **more,
        "atoms": list(atoms),
        "sets": [[a] for a in range(len(atoms))] if sets is None else sets,
        "steps": drops(len(atoms)) if steps is None else steps,
    }


def refused(because: str, formula: Any, cases: Any, **named: Any) -> None:
    found = result(formula, cases, **named)
    assert not found.accepted
    assert because in found.reason, found.reason


def accepted(formula: Any, cases: Any, **named: Any) -> None:
    found = result(formula, cases, **named)
    assert found.accepted, found.reason


def test_every_alternative_has_a_case() -> None:
    formula = ["and", ["or", A, B], ["or", B, C]]
    cases = [one(A, choose=[[0, 0]]), one(B, choose=[[0, 1]])]
    accepted(formula, cases)
    refused("alternative 1 of disjunction 0", formula, cases[:1])
    refused("alternative 0 of disjunction 0", formula, cases[1:])
    deeper = [cases[0], one(B, choose=[[0, 1], [0, 0]]), one(C, choose=[[0, 1], [0, 1]])]
    accepted(formula, deeper)
    refused("alternative 0", formula, [deeper[0], deeper[2]])
    refused("same disjunction", formula, [cases[0], one(C, choose=[[1, 0]])])
    refused("no disjunction", formula, [one(A, choose=[[2, 0]])])
    accepted(formula, [one(A, B), cases[0]])  # the first case is everything, whatever the second is
    refused("no alternative", formula, [*cases, one(A, choose=[[0, 2]])])


def test_a_choice_moves_the_conjuncts() -> None:
    formula = ["and", ["or", ["and", B, ["or", A, C]], A], D]
    accepted(
        formula, [one(A, choose=[[0, 0], [2, 0]]), one(C, choose=[[0, 0], [2, 1]]), one(A, choose=[[0, 1]])]
    )
    refused("no disjunction", formula, [one(A, choose=[[0, 0], [0, 0]]), one(A, choose=[[0, 1]])])


def test_no_case_is_needed_for_what_is_false() -> None:
    accepted(["and", A, ["or"]], [])
    refused("there is none", ["and", A], [])
    refused("there is none", ["or", A, B], [])


def test_sets_cover_the_formula() -> None:
    accepted(["or", A, B], one(A, B))
    accepted(["or", A, ["and", B, C]], one(A, C))
    accepted(["and", ["or", A, B], ["or", B, C]], one(A, B))
    refused("contains all atoms of no set", ["or", A, B, C], one(A, B))
    refused("contains all atoms of no set", ["and", ["or", A, B], ["or", B, C]], one(B))
    product = [[0, 2], [1]]
    accepted(["and", ["or", A, B], ["or", C, B]], one(A, B, C, sets=product, steps=drops(2)))
    refused(
        "contains all atoms", ["and", ["or", A, B], ["or", C, ["<=", {"x": 1}]]], one(A, B, C, sets=product)
    )
    accepted(["or", A, ["and", B, ["or"]]], one(A))
    accepted(["or"], one(sets=[], steps=[]))
    refused("contains all atoms", D, one(sets=[], steps=[]))


def test_atoms_are_the_same_up_to_positive_factors() -> None:
    twice, opposite = ["<=", {"x": "-2", "": 4}], ["<=", {"x": 1, "": -2}]
    accepted(A, one(twice))
    refused("contains all atoms", A, one(opposite, steps=[]))
    refused("contains all atoms", A, one(["<=", {"x": -1, "": 3}]))
    refused("contains all atoms", A, one(["<", {"x": -1, "": 2}]))
    accepted(["<", A[1]], one(A))  # weaker is fine
    equal = ["=", {"x": -1, "": 2}]
    accepted(equal, one(["=", {"x": "1/3", "": "-2/3"}], steps=[["drop", [0], {"atoms": [[0, -1]]}]]))
    accepted(equal, one(A))
    refused("contains all atoms", A, one(equal))


def test_definitions() -> None:
    """z = 2 x with z >= 3 and z <= 1: the bounds of z become conjuncts."""
    high = ["<=", {"z": -1, "": 3}]
    of_x = ["<=", {"x": -2, "": 3}]
    accepted(["and", D, high], one(of_x, define=[["z", 0]]))
    accepted(["and", D, high], one(["<=", {"z": -2, "": 6}], define=[["x", 0]]))
    bounds = ["<=", {"x": 2, "": -1}]
    tight = ["<=", {"x": -1, "": "0.6"}]
    both = {"sets": [[0, 1]], "steps": [["drop", [0], {"atoms": [[0, 1], [1, 2]]}]]}
    accepted(["and", D, tight], one(bounds, tight, define=[["z", 0]], **both))
    refused("no equality", ["and", high, D], one(of_x, define=[["z", 0]]))
    refused("no variable", ["and", D, D], one(of_x, define=[["z", 0], ["z", 1]]))
    refused("no equality", ["and", D, D], one(of_x, define=[["z", 0], ["x", 1]]))
    refused("no variable", ["and", D], one(of_x, define=[["w", 0]]))
    with pytest.raises(BadCertificate):
        result(["and", D, high], one(high, define=[["z", 0]]))  # z is not free any more


def test_outputs_are_not_defined_and_calls_stay_in_order() -> None:
    network = {"width": 1, "nodes": [affine(0, [[1.0]], [0.0])]}
    free = ["y", None, None, "real"]
    calls = [[0, [{"x": 1}], ["y"]]]
    named = {"variables": [*BOX, free], "calls": calls, "networks": [network]}
    equal = ["and", ["=", {"y": 1, "z": -1}], ["<=", {"y": -1, "": 2}]]
    accepted(equal, one(["<=", {"y": -1, "": 2}], define=[["z", 0]]), **named)
    refused("no variable that can be defined", equal, one(A, define=[["y", 0]]), **named)
    cycle = ["and", ["=", {"y": 1, "x": -1, "": 1}], ["<=", {"y": -1, "": 2}]]
    with pytest.raises(BadCertificate, match="not known here"):
        result(cycle, one(["<=", {"y": -1, "": 2}], define=[["x", 0]]), **named)
    with pytest.raises(BadCertificate, match="output"):
        result(A, one(A), variables=[*BOX, free], networks=[network], calls=[*calls, *calls])
    with pytest.raises(BadCertificate, match="does not fit"):
        result(
            A, one(A), variables=[*BOX, free], networks=[network], calls=[[0, [{"x": 1}, {"x": 1}], ["y"]]]
        )


def test_free_variables_need_bounds() -> None:
    loose = [["x", 0, 1, "real"], ["z", None, None, "real"]]
    refused("`z` has no bounds", A, one(A), variables=loose)
    accepted(["and", A, ["<=", {"z": 1}], ["<=", {"z": -2, "": -4}]], one(A), variables=loose)
    refused("`z` has no bounds", ["or", A, ["and", A, ["=", {"z": 1}]]], one(A), variables=loose)
    accepted(["and", A, ["=", {"z": 1, "x": -1}]], one(A, define=[["z", 1]]), variables=loose)


def test_top_level_comparisons_bound_variables_but_not_inside_a_disjunction() -> None:
    near = ["<=", {"x": 1, "": "-0.5"}]
    far = ["<=", {"x": -1, "": "0.75"}]
    accepted(["and", near, far], one(far))
    refused("no positive", ["or", far, ["and", near, far]], one(far))
    accepted(["or", ["and", near, far], ["and", far, near]], [one(far, choose=[[0, a]]) for a in (0, 1)])


@pytest.mark.parametrize(
    "case",
    [
        {"atoms": [], "sets": []},
        {"atoms": [A], "sets": [[1]], "steps": []},
        {"atoms": [A], "sets": [[0]], "steps": [], "extra": 1},
        {"atoms": [["and", A]], "sets": [[0]], "steps": []},
        {"atoms": [["<=", {"w": 1}]], "sets": [[0]], "steps": []},
        {"atoms": [["<=", {"x": 1.5}]], "sets": [[0]], "steps": []},
        {"atoms": [["<=", {"x": True}]], "sets": [[0]], "steps": []},
        {"atoms": [["!=", {"x": 1}]], "sets": [[0]], "steps": []},
        {"atoms": [A], "sets": [[0]], "steps": [], "choose": [[0]]},
        {"atoms": [A], "sets": [[0]], "steps": [], "choose": [[-1, 0]]},
        {"atoms": [A], "sets": [[0]], "steps": [], "define": [["z"]]},
        {"atoms": [A], "sets": [[0]], "steps": [], "define": [["z", 7]]},
        [],
    ],
)
def test_what_is_no_case_is_an_error(case: Any) -> None:
    with pytest.raises(BadCertificate):
        verdict(query(["and", A, D]), [case])


def test_hard_covers_are_given_up_not_endless() -> None:
    """Ten pigeons in nine holes, two of them always in the same one."""
    at = [[["<=", {"x": -1, "": 10 * pigeon + hole}] for hole in range(9)] for pigeon in range(10)]
    formula = ["and", *(["or", *holes] for holes in at)]
    pairs = [(i, k) for i in range(10) for k in range(i)]
    sets = [[9 * i + hole, 9 * k + hole] for i, k in pairs for hole in range(9)]
    refused("too many to compare", formula, one(*(a for holes in at for a in holes), sets=sets, steps=[]))


def test_claims_are_read_strictly() -> None:
    good = claim([["x", 0, 1, "real"]], [affine(0, [[1.0]], [0.0])], A)
    case = one(A)
    assert verdict(good, case).accepted
    for change in (
        {"kind": "other"},
        {"extra": 1},
        {"variables": [["x", 0, 1, "real"]]},
        {"variables": [["x", 0, 1, "complex"], ["y", None, None, "real"]]},
        {"variables": [["x", 0, 1, "real"], ["x", 0, 1, "real"], ["y", None, None, "real"]]},
        {"variables": [["x", 0, 0.5, "real"], ["y", None, None, "real"]]},
        {"calls": [[1, [{"x": 1}], ["y"]]]},
        {"calls": [[-1, [{"x": 1}], ["y"]]]},
        {"calls": [[0, [{"w": 1}], ["y"]]]},
        {"networks": [{"width": 1}]},
        {"networks": [{"width": 1, "nodes": [["affine", 1, 1, 1, "AACAPw==", "AAAAAA=="]]}]},
        {"networks": [{"width": 1, "nodes": [["affine", 0, 1, 1, "AADAfw==", "AAAAAA=="]]}]},
        {"networks": [{"width": 1, "nodes": [["affine", 0, 1, 2, "AACAPw==", "AAAAAA=="]]}]},
        {"networks": [{"width": 1, "nodes": [["divide", 0, "AAAAAA=="]]}]},
        {"networks": [{"width": 1, "nodes": [["clip", 0, 1, -1]]}]},
        {"networks": [{"width": 1, "nodes": [["pick", 0, [1]]]}]},
        {"networks": [{"width": 1, "nodes": [["softmax", 0]]}]},
    ):
        with pytest.raises(BadCertificate):
            verdict({**good, **change}, case)


def within(low: int, high: int) -> list[Any]:
    """low <= x <= high."""
    return ["and", ["<=", {"x": -1, "": low}], ["<=", {"x": 1, "": -high}]]


def test_alternatives_bound_a_variable_by_their_hull() -> None:
    free = [["x", None, None, "real"]]
    regions = ["or", within(0, 1), within(5, 6)]
    for impossible in (["<=", {"x": -1, "": 7}], ["<=", {"x": 1, "": 1}]):  # x >= 7, x <= -1
        accepted(["and", regions, impossible], [one(impossible)], variables=free)
    for possible in (["<=", {"x": -1, "": 6}], ["<=", {"x": 1}]):  # x >= 6, x <= 0
        refused("no positive bound", ["and", regions, possible], [one(possible)], variables=free)
    impossible = ["<=", {"x": -1, "": 7}]
    for open_end in (["or", within(0, 1), ["<=", {"x": -1, "": 5}]], ["or", within(0, 1), ["and"]]):
        refused("no bounds", ["and", open_end, impossible], [one(impossible)], variables=free)


NOTHING: Json = {"atoms": [], "sets": [], "steps": []}


def test_what_contradicts_itself_at_sight_needs_no_steps() -> None:
    false = ["<=", {"": 1}]
    accepted(["and", A], [NOTHING])  # x is at most 1 and at least 2
    accepted(["and", A, ["<=", {"w": 1}]], [NOTHING], variables=[*BOX, ["w", None, None, "real"]])
    accepted(["or"], [NOTHING])
    accepted(["and", ["or", false, ["and", false, D]], D], [NOTHING])
    accepted(["or", A, false], [{**NOTHING, "choose": [[0, n]]} for n in (0, 1)])
    accepted(["and", ["=", {"x": 1, "": -2}]], [{**NOTHING, "define": [["x", 0]]}])
    between = [["x", "1/3", "2/3", "integer"]]
    accepted(["and"], [NOTHING], variables=between)
    accepted(["and"], [NOTHING], variables=[["x", "1/3", "1/3", "float32"]])


def test_what_can_be_satisfied_is_not_closed_at_sight() -> None:
    refused("no set", ["and"], [NOTHING])
    refused("no set", ["and", ["<=", {"x": 1}], ["<=", {"x": -1}]], [NOTHING])  # x = 0
    refused("no set", ["or", ["<=", {"": 1}], D], [NOTHING])
    refused("no set", ["and"], [NOTHING], variables=[["x", "1/3", "1/3", "real"]])
    refused("no set", ["and"], [NOTHING], variables=[["x", "1/4", "1/4", "float32"], ["w", 3, None, "real"]])
    refused("follows when the case is closed", ["and", A], [{**NOTHING, "steps": drops(1)}])
    refused("alternative 1", ["or", A, D], [{**NOTHING, "choose": [[0, 0]]}])
