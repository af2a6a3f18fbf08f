"""Every kind of step in a small proof that is accepted, and every obligation in one that fails it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.checker.making import Json, affine, claim, floats, shares, verdict, wide_slopes

from surefoot_checker.kernel.strict_json import BadCertificate

# y = relu(x + 1) - 2 relu(x), a hat of height 1; the values are x, x, before and after the ReLUs, y
HAT = [affine(0, [[1.0], [1.0]], [1.0, 0.0]), ["relu", 1], affine(2, [[1.0, -2.0]], [0.0])]
ABSOLUTE = [affine(0, [[1.0], [-1.0]], [0.0, 0.0]), ["relu", 1], affine(2, [[1.0, 1.0]], [0.0])]  # y = |x|
HIGH = ["<=", {"y": -1, "": "1.25"}]  # y >= 1.25
LOW = ["<=", {"y": 1, "": "0.25"}]  # y <= -0.25
REAL = [["x", -1, 1, "real"]]


def judged(
    atoms: list[Any],
    steps: list[Any],
    sets: Any = None,
    variables: Any = REAL,
    nodes: Any = ABSOLUTE,
    arithmetic: str = "real",
    formula: Any = None,
) -> Any:
    chosen = [list(range(len(atoms)))] if sets is None else sets
    whole = formula or ["or", *(["and", *(atoms[a] for a in s)] for s in chosen)]
    case = {"atoms": atoms, "sets": chosen, "steps": steps}
    return verdict(claim(variables, nodes, whole), case, arithmetic)


def accepted(*arguments: Any, **named: Any) -> None:
    found = judged(*arguments, **named)
    assert found.accepted, found.reason


def refused(because: str, *arguments: Any, **named: Any) -> None:
    found = judged(*arguments, **named)
    assert not found.accepted
    assert because in found.reason, found.reason


ONE = {"atoms": [[0, 1]]}


def test_drop_needs_a_positive_bound() -> None:
    accepted([["<=", {"y": -1, "": "2.01"}]], [["drop", [0], ONE]], nodes=HAT)
    refused(
        "step 0 ('drop'): the multipliers give no",
        [["<=", {"y": -1, "": 2}]],
        [["drop", [0], ONE]],
        nodes=HAT,
    )
    refused("no positive bound", [HIGH], [["drop", [0], ONE]], nodes=HAT)


def test_split_of_an_input() -> None:
    steps = [["split", 0, 0, 0], ["forward", 1, 4], ["drop", [0], ONE], ["forward", 1, 4], ["drop", [0], ONE]]
    accepted([HIGH], steps, nodes=HAT)
    refused("no positive bound", [HIGH], [*steps[:3], steps[4]], nodes=HAT)
    refused("end before all states are closed", [HIGH], steps[:3], nodes=HAT)
    refused("step 5 follows when all states are closed", [HIGH], [*steps, ["forward", 1]], nodes=HAT)
    for place in ("0.5", "-1/3", "-0x1p-1"):
        refused("no positive bound", [HIGH], [["split", 0, 0, place], *steps[1:]], nodes=HAT)


def test_split_of_a_neuron() -> None:
    """The sign of x before the second ReLU, and a multiplier of that bound."""
    off, on = ({"atoms": [[0, 1]], "bounds": [[2, 1, sign]]} for sign in (1, -1))
    split = ["split", 2, 1, 0]
    accepted([HIGH], [split, ["drop", [0], off], ["drop", [0], on]], nodes=HAT)
    refused("step 1", [HIGH], [split, ["drop", [0], ONE], ["drop", [0], on]], nodes=HAT)
    refused("step 2", [HIGH], [split, ["drop", [0], off], ["drop", [0], off]], nodes=HAT)
    refused("step 1", [HIGH], [split, ["drop", [0], on], ["drop", [0], off]], nodes=HAT)


def test_slopes() -> None:
    low = ["<=", {"y": 1, "": "1.1"}]
    positive = [["x", "0.25", 1, "real"]]
    nodes = [affine(0, [[1.0], [1.0]], [-0.5, -0.5]), ["relu", 1], affine(2, [[1.0, 1.0]], [0.0])]
    weak, strong = shares(128, 128), shares(0, 0)
    atom = ["<=", {"y": 1, "": "0.25"}]
    accepted([atom], [["slopes", 3, strong, None], ["drop", [0], ONE]], variables=positive, nodes=nodes)
    accepted(
        [atom], [["drop", [0], {**ONE, "slopes": {"3": [strong, None]}}]], variables=positive, nodes=nodes
    )
    refused(
        "no positive",
        [atom],
        [["slopes", 3, weak, None], ["drop", [0], ONE]],
        variables=positive,
        nodes=nodes,
    )
    for wrong in (shares(129, 0), shares(0), shares(0, 0, 0)):
        refused("slopes", [low], [["slopes", 3, wrong, None], ["drop", [0], ONE]], nodes=nodes)
    refused("slopes", [low], [["slopes", 3, None, strong], ["drop", [0], ONE]], nodes=nodes)
    refused("slopes", [low], [["slopes", 2, strong, None], ["drop", [0], ONE]], nodes=nodes)


def test_bound_and_forward() -> None:
    """d = relu(x + 1) - relu(x): intervals give [-1, 2], backward substitution that it is >= 0."""
    nodes = [affine(0, [[1.0], [1.0]], [1.0, 0.0]), ["relu", 1], affine(2, [[1.0, -1.0]], [0.0])]
    nodes += [["multiply", 3, floats(-1.0)], ["relu", 4]]
    tight = ["<=", {"y": -1, "": "0.1"}]  # relu(-d) >= 0.1
    steps = [["bound", 4, [[0, 0]]], ["forward", 5, 6], ["drop", [0], ONE]]
    accepted([tight], steps, nodes=nodes)
    refused("no positive", [tight], steps[1:], nodes=nodes)
    refused("no positive", [tight], [steps[0], steps[2]], nodes=nodes)
    accepted([tight], [["bound", 4, [0]], *steps[1:]], nodes=nodes)
    refused("no positive", [tight], [["bound", 4, [[0, 1]]], *steps[1:]], nodes=nodes)
    refused("no positive", [tight], [["bound", 4, [1]], *steps[1:]], nodes=nodes)
    for wrong in ([[1, 0]], [[0, 2]], [[-1, 0]], [[True, 0]], [2], [-1], [True], ["0"]):
        with pytest.raises(BadCertificate):
            judged([tight], [["bound", 4, wrong]], nodes=nodes)
    refused("no cut", [tight], [["bound", 4, [[0, 0, 1]]]], nodes=nodes)


def test_cut_shrinks_the_box_and_stays() -> None:
    """x + z >= 3/2 on the unit square, and |x - z| >= 0.6: a cut leaves [1/2, 1] of both."""
    nodes = [affine(0, [[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0]), ["relu", 1], affine(2, [[1.0, 1.0]], [0.0])]
    square = [["x", 0, 1, "real"], ["z", 0, 1, "real"]]
    atoms = [["<=", {"x": -1, "z": -1, "": "1.5"}], ["<=", {"y": -1, "": "0.6"}]]
    cut = ["cut", [[[0], {"atoms": [[0, 3]]}]]]
    end = [["forward", 1, 4], ["drop", [0], {"atoms": [[1, 1]]}]]
    accepted(atoms, [cut, *end], variables=square, nodes=nodes)
    refused("no positive", atoms, end, variables=square, nodes=nodes)
    by_cut = [["bound", 2, [[i, side, "1/3"] for i in (0, 1) for side in (0, 1)]], ["forward", 3, 4], end[1]]
    accepted(atoms, [cut, *by_cut], variables=square, nodes=nodes)
    refused("negative multiplier", atoms, [cut, ["bound", 2, [[0, 1, -1]]]], variables=square, nodes=nodes)
    refused(
        "negative multiplier", atoms, [["cut", [[[0], {"atoms": [[0, -1]]}]]]], variables=square, nodes=nodes
    )


def test_cut_takes_the_hull_of_living_sets() -> None:
    left, right = ["<=", {"x": 1, "": "0.5"}], ["<=", {"x": -1, "": "0.5"}]  # x <= -1/2, x >= 1/2
    far = ["<=", {"y": 1, "": "-0.4"}]  # y <= 0.4
    sets = [[0, 2], [1, 2]]
    both = ["cut", [[[0], {"atoms": [[0, 1]]}], [[1], {"atoms": [[1, 1]]}]]]
    split = [["split", 0, 0, 0], ["forward", 1, 4], ["drop", [0, 1], {"atoms": [[2, 1]]}]]
    refused("no positive", [left, right, far], [both, *split, *split[1:]], sets)
    parts = [["cut", [[[0], {"atoms": [[0, 1]]}]]], ["forward", 1, 4], ["drop", [0], {"atoms": [[2, 1]]}]]
    other = [["cut", [[[1], {"atoms": [[1, 1]]}]]], *parts[1:2], ["drop", [1], {"atoms": [[2, 1]]}]]
    refused("no positive", [left, right, far], [*parts, *other], sets)  # set 1 leaves everything
    first = ["drop", [1], {"atoms": [[1, 1]], "bounds": [[0, 0, 1]]}]
    accepted([left, right, far], [["split", 0, 0, 0], first, *parts, *_mirrored(parts)], sets)


def _mirrored(parts: list[Any]) -> list[Any]:
    """The same for the part x >= 0: set 0 goes first, then set 1."""
    return [
        ["drop", [0], {"atoms": [[0, 1]], "bounds": [[0, 0, -1]]}],
        ["cut", [[[1], {"atoms": [[1, 1]]}]]],
        parts[1],
        ["drop", [1], {"atoms": [[2, 1]]}],
    ]


def test_atoms_must_be_in_all_sets_concerned() -> None:
    atoms = [["<=", {"y": -1, "": 3}], ["<=", {"x": 1, "": 3}]]
    accepted(atoms, [["drop", [0], ONE], ["drop", [1], {"atoms": [[1, 1]]}]], [[0], [1]])
    accepted([*atoms, atoms[0]], [["drop", [0, 1], ONE]], [[0, 1], [0, 2]])
    refused("not in all of the sets", atoms, [["drop", [0, 1], ONE]], [[0], [1]])
    refused("not in all of the sets", atoms, [["drop", [1], ONE]], [[0], [1]])
    refused("end before all states", atoms, [["drop", [0], ONE]], [[0], [1]])


def test_signs_of_multipliers() -> None:
    accepted([["=", {"y": 1, "": 1}]], [["drop", [0], ONE]])
    accepted([["=", {"y": -1, "": -1}]], [["drop", [0], {"atoms": [[0, -1]]}]])
    refused("negative multiplier", [["<=", {"y": -1, "": -1}]], [["drop", [0], {"atoms": [[0, -1]]}]])
    refused("no positive", [["=", {"y": 1, "": 1}]], [["drop", [0], {"atoms": [[0, 0]]}]])


def test_point() -> None:
    atom = ["<=", {"y": -1, "": "0.50001"}]
    half = [["x", "-0.5", "-0.5", "real"]]
    accepted([atom], [["point", [0]]], variables=half)
    refused("set 0 is satisfied", [["<=", {"y": -1, "": "0.5"}]], [["point", [0]]], variables=half)
    refused("not fixed", [["<=", {"y": -1, "": 2}]], [["point", [0]]])
    refused("float32", [atom], [["point", [0]]], variables=half, arithmetic="float32")
    smooth = [["tanh", 0]]
    refused("tanh", [atom], [["point", [0]]], variables=half, nodes=smooth)


def test_integers_are_split_between() -> None:
    whole = [["x", "-1.5", "1.5", "integer"]]
    gap = [["<=", {"y": -1, "": "0.1"}], ["<=", {"y": 1, "": "-0.9"}]]  # 0.1 <= |x| <= 0.9
    parts = [["split", 0, 0, -1], ["point", [0]], ["split", 0, 0, 0], ["point", [0]], ["point", [0]]]
    accepted(gap, parts, variables=whole)
    refused("not fixed", gap, parts, variables=[["x", -1, 1, "real"]])
    narrow = [["cut", [[[0], {"bounds": [[0, 0, 0]]}]]], *parts]
    accepted(gap, narrow, variables=whole)


def test_a_void_state_is_still_written_out() -> None:
    atom = ["<=", {"y": -1, "": "2.01"}]
    steps = [["split", 0, 0, 5], ["drop", [0], ONE], ["drop", [0], {}]]
    accepted([atom], steps)
    refused("end before", [atom], steps[:2])
    refused("no positive", [atom], [["split", 0, 0, 5], ["drop", [0], {}], ["drop", [0], {}]])
    accepted([HIGH], [["drop", [0], {}]], variables=[["x", 1, -1, "real"]])


def test_smooth_functions_need_good_slopes() -> None:
    nodes = [["tanh", 0]]
    atom = ["<=", {"y": 1, "x": "-0.5", "": "0.75"}]  # tanh x <= x / 2 - 3/4
    variables = [["x", -2, 2, "real"]]
    good = wide_slopes(32768)
    accepted([atom], [["slopes", 2, good, None], ["drop", [0], ONE]], variables=variables, nodes=nodes)
    worse = ["<=", {"y": 1, "x": "-0.5", "": "0.2"}]
    refused(
        "no positive",
        [worse],
        [["slopes", 2, good, good], ["drop", [0], ONE]],
        variables=variables,
        nodes=nodes,
    )
    with pytest.raises(BadCertificate):
        judged([atom], [["slopes", 2, shares(1), None]], variables=variables, nodes=nodes)


def test_float32_needs_room_for_rounding() -> None:
    single = [["x", -1, 1, "float32"]]
    nodes = [affine(0, [[0.1]], [0.0])]
    near, far = ["<", {"y": -1, "": "0.1000000015"}], ["<", {"y": -1, "": "0.10001"}]
    accepted([near], [["drop", [0], ONE]], variables=single, nodes=nodes)
    refused("no positive", [near], [["drop", [0], ONE]], variables=single, nodes=nodes, arithmetic="float32")
    accepted([far], [["drop", [0], ONE]], variables=single, nodes=nodes, arithmetic="float32")
    large = [affine(0, [[3e38]], [3e38])]
    huge = ["<=", {"y": -1, "": "1000000000000000000000000000000000000000"}]
    accepted([huge], [["drop", [0], ONE]], variables=single, nodes=large)
    refused(
        "may leave the float32 range",
        [huge],
        [["drop", [0], ONE]],
        variables=single,
        nodes=large,
        arithmetic="float32",
    )


def test_quotients_need_divisors_away_from_zero() -> None:
    nodes = [["add", 0, floats(3.0)], ["quotient", 0, 1]]
    atom = ["<=", {"y": -1, "": "0.51"}]  # x / (x + 3) >= 0.51
    accepted([atom], [["drop", [0], ONE]], nodes=nodes)
    refused("divisor", [atom], [["drop", [0], ONE]], nodes=[["quotient", 0, 0]])
    refused("divisor", [atom], [["drop", [0], ONE]], nodes=[["quotient", 0, 0]], arithmetic="float32")


TWO = [["x", -1, 1, "real"], ["z", 1, 2, "real"]]
RATIO = [["pick", 0, [0]], ["pick", 0, [1]], ["quotient", 1, 2]]
TURNED = [["multiply", 0, floats(-1, -1)], ["pick", 1, [0]], ["pick", 1, [1]], ["quotient", 2, 3]]


@pytest.mark.parametrize("arithmetic", ["real", "float32"])
@pytest.mark.parametrize("nodes", [RATIO, TURNED])
def test_planes_around_quotients_follow_from_their_slopes(nodes: list[Any], arithmetic: str) -> None:
    """The first plane above x / z for |x| <= 1, 1 <= z <= 2 is x / 2 - z / 2 + 1."""
    given = {"variables": TWO, "nodes": nodes, "arithmetic": arithmetic}
    atom, false = (["<=", {"y": -1, "x": "1/2", "z": "-1/2", "": c}] for c in ("1.01", "0.99"))

    def steps(below: str | None, above: str | None) -> list[list[Any]]:
        return [["slopes", 1 + len(nodes), below, above], ["drop", [0], ONE]]

    accepted([atom], steps(None, shares(0)), **given)
    accepted([atom], steps(shares(128), shares(0)), **given)
    for above in (None, shares(64), shares(128)):
        refused("no positive", [atom], steps(shares(0), above), **given)
    for share in range(129):  # true at x = z = 1
        refused("no positive", [false], steps(shares(share), shares(share)), **given)


@pytest.mark.parametrize("wrong", [shares(129), shares(255), shares(0, 0), shares(), wide_slopes(0)])
def test_slopes_of_quotients_are_shares(wrong: str) -> None:
    given = {"variables": TWO, "nodes": RATIO}
    atom, drop = ["<=", {"y": -1, "": "1.01"}], ["drop", [0], ONE]
    accepted([atom], [["slopes", 4, shares(0), None], drop], **given)
    for sides in ([wrong, None], [None, wrong]):
        refused("slopes", [atom], [["slopes", 4, *sides], drop], **given)


def test_small_divisors_need_a_finer_grid() -> None:
    """1 / 2^-60 on the grid of 2^-40 would be a division by zero."""
    nodes = [["multiply", 0, floats(2.0**-60)], ["quotient", 1, 1]]
    atom, far = ["<=", {"y": -1, "": "2.1"}], ["<=", {"y": -1, "": "1.9"}]
    given = {"variables": [["x", 1, 2, "real"]], "nodes": nodes}
    accepted([atom], [["drop", [0], ONE]], **given)
    refused("no positive", [far], [["drop", [0], ONE]], **given)
    refused("divisor", [atom], [["drop", [0], ONE]], **(given | {"variables": [["x", 0, 2, "real"]]}))


@pytest.mark.parametrize(
    "step",
    [
        [],
        "drop",
        ["drop"],
        ["drop", [0]],
        ["drop", [], ONE],
        ["drop", [1], ONE],
        ["drop", [True], ONE],
        ["drop", 0, ONE],
        ["drop", [0], {"atom": []}],
        ["drop", [0], {"atoms": [[0, 1, 1]]}],
        ["drop", [0], {"atoms": [[1, 1]]}],
        ["drop", [0], {"atoms": [[0, "1.5.5"]]}],
        ["drop", [0], {"atoms": [[0, 1.5]]}],
        ["drop", [0], {"atoms": [[0, None]]}],
        ["drop", [0], {"bounds": [[5, 0, 1]]}],
        ["drop", [0], {"bounds": [[0, 1, 1]]}],
        ["drop", [0], {"slopes": []}],
        ["drop", [0], {"slopes": {"3": [None]}}],
        ["drop", [0], {"slopes": {"-3": [None, None]}}],
        ["forward"],
        ["forward", 0],
        ["forward", 5],
        ["forward", 1, 2, 3],
        ["bound", 5, []],
        ["bound", 1, [[0]]],
        ["split", 0, 0],
        ["split", 0, 1, 0],
        ["split", 5, 0, 0],
        ["split", 0, 0, 0.5],
        ["split", 0, 0, "1/0"],
        ["split", 0, 0, "0x"],
        ["split", 0, 0, "1e999999"],
        ["slopes", 3, "?", None],
        ["slopes", 0, None, None],
        ["cut", [[0, ONE]]],
        ["cut", [[[0]]]],
        ["jump", 1],
        [["drop"], [0], ONE],
        [{}, [0], ONE],
    ],
)
def test_what_is_no_step_is_an_error(step: Any) -> None:
    with pytest.raises(BadCertificate, match="step 0"):
        judged([HIGH], [step, ["drop", [0], ONE]])


def test_finer_grid_where_the_coarse_one_fails() -> None:
    """A margin of 2^-60: shown on the finer grid, after the steps that led there have been repeated."""
    atom: Json = ["<=", {"y": -1, "": str(f"{2**60 + 1}/{2**60}")}]  # type: ignore[assignment]
    steps = [["split", 0, 0, "1/3"], ["forward", 1, 4], ["split", 0, 0, 0]]
    steps += [["forward", 1, 4], ["drop", [0], ONE]] * 3
    found = judged([atom], steps)
    assert found.accepted, found.reason
    assert found.repeated == 2


def test_a_relu_that_is_zero_everywhere_has_two_true_lines() -> None:
    point = [["x", 0, 0, "real"]]
    for slope in (0, 128):
        told = {"atoms": [[0, 1]], "slopes": {"3": [shares(slope, slope), None]}}
        accepted([["<=", {"y": -1, "": "0.25"}]], [["drop", [0], told]], variables=point)  # y >= 0.25
        refused("no positive bound", [["<=", {"y": 1}]], [["drop", [0], told]], variables=point)  # y <= 0
        refused("no positive bound", [["<=", {"y": -1}]], [["drop", [0], told]], variables=point)  # y >= 0


def test_the_finer_grid_for_all_where_it_is_needed_often() -> None:
    atom = ["<=", {"y": -1, "": str(f"{2**60 + 1}/{2**60}")}]
    steps: list[Any] = []
    for n in range(40):
        steps += [["split", 0, 0, f"{n + 1}/50"], ["forward", 1, 4], ["drop", [0], ONE]]
    found = judged([atom], [*steps, ["forward", 1, 4], ["drop", [0], ONE]])
    assert found.accepted, found.reason
    assert (found.repeated, found.states) == (2, 41)  # the parts that contain -1 or 1
    flat = [affine(0, [[0.0]], [1.0])]  # y = 1: every drop is as close
    without = [step for step in steps if step[0] != "forward"]
    found = judged([atom], [*without, ["drop", [0], ONE]], nodes=flat)
    assert found.accepted, found.reason
    assert (found.repeated, found.states) == (0, 41)


@pytest.mark.parametrize("width", [3, 5, 7])
def test_the_chord_of_a_relu_is_above_it_at_its_end(width: int) -> None:
    """1024 relu(x) = 1024 h at x = h, which a chord with its slope rounded down would exclude.

    What substitution loses by rounding is not multiplied by the weight, and so does not make up for it.
    """
    nodes = [affine(0, [[1.0]], [0.0]), ["relu", 1], affine(2, [[1024.0]], [0.0])]
    for high in range(1, width):
        box = [["x", high - width, high, "real"]]
        at_end, beyond = (["<=", {"y": -1, "": f"{1024 * high}.{place}"}] for place in ("0", "001"))
        refused("no positive", [at_end], [["drop", [0], ONE]], variables=box, nodes=nodes)
        accepted([beyond], [["drop", [0], ONE]], variables=box, nodes=nodes)
