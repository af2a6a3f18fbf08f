"""Policies that are decision trees, in every engine: a walk on a grid, and a cart that is kept upright."""

from __future__ import annotations

import base64
import copy
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.problem.network import Network, freeze_float32, freeze_indices
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot_checker.check import judge_certificate

Tree = Any  # a leaf is a list of numbers, a branch (feature, threshold, where at most it, where above)


def ensemble(width: int, *trees: Tree, start: tuple[float, ...] = (0.0, 0.0)) -> Network:
    features: list[int] = []
    thresholds: list[float] = []
    lower: list[int] = []
    upper: list[int] = []
    leaves: list[list[float]] = []

    def place(tree: Tree) -> int:
        if isinstance(tree, list):
            leaves.append(tree)
            return -len(leaves)
        number = len(features)
        features.append(tree[0])
        thresholds.append(tree[1])
        lower.append(0)
        upper.append(0)
        lower[number] = place(tree[2])
        upper[number] = place(tree[3])
        return number

    roots = [place(tree) for tree in trees]
    node = TreeEnsemble(
        0,
        freeze_indices(features),
        freeze_float32(thresholds),
        freeze_indices(lower),
        freeze_indices(upper),
        freeze_indices(roots),
        freeze_float32(leaves),
        freeze_float32(start),
    )
    return Network(width, (node,), "trees")


RIGHT, DOWN = [0.0, 1.0], [1.0, 0.0]
# Down to the last row, then right; thresholds at whole numbers as XGBoost has them: x < 4 is x <= 3.9999998.
BEFORE_FOUR = float(np.nextafter(np.float32(4), np.float32(0)))
WALK = ensemble(2, (0, BEFORE_FOUR, DOWN, RIGHT))
# The same by votes of three trees.
VOTES = ensemble(
    2, (0, BEFORE_FOUR, DOWN, RIGHT), (0, 3.5, DOWN, [0.25, 0.75]), (1, 2.0, [0.5, 0.5], [0.5, 0.5])
)
# One step too early.
EARLY = ensemble(2, (0, 2.5, DOWN, RIGHT))


def check_walk(network: Network, asked: Any, **options: Any) -> Any:
    x, y = sf.integer("x", 0, 4), sf.integer("y", 0, 4)
    plain = sf.Environment("walk", start=(x == 0) & (y == 0))
    plain = plain.edge("down", guard=x < 4, update={x: x + 1}).edge("right", guard=y < 4, update={y: y + 1})
    policy = sf.NeuralPolicy(network, (x, y), ("down", "right"))
    return sf.check(plain, policy, asked(x, y), timeout=60, **options)


def corner(x: Any, y: Any) -> Any:
    """The upper right triangle is never entered."""
    return sf.never(y > x)


def is_accepted(content: Any) -> bool:
    return judge_certificate(content, base=Path()).accepted


@pytest.mark.parametrize("network", [WALK, VOTES], ids=["one tree", "three trees"])
@pytest.mark.parametrize("engine", ["explicit", "induction", "predicates"])
def test_a_walk_is_proved_with_a_certificate(network: Network, engine: str) -> None:
    found = check_walk(network, corner, engine=engine)
    assert found.proved, found
    assert is_accepted(found.certificate.content)


@pytest.mark.parametrize("engine", ["explicit", "induction", "predicates", "falsify"])
def test_a_threshold_one_too_low_is_found(engine: str) -> None:
    found = check_walk(EARLY, lambda x, y: sf.never((x == 3) & (y == 1)), engine=engine)
    assert found.violated
    assert found.trace.states[-1] == {"x": 3, "y": 1}
    assert check_walk(WALK, lambda x, y: sf.never((x == 3) & (y == 1)), engine="explicit").proved


@pytest.mark.parametrize("solver", ["native", "z3"])
def test_solvers_agree(solver: str) -> None:
    if solver == "z3":
        pytest.importorskip("z3")
    found = check_walk(WALK, corner, engine="bmc", solver=solver, depth=3)
    assert not found.violated
    assert check_walk(EARLY, lambda x, y: sf.never(y == 1), engine="bmc", solver=solver).violated


def test_goals_and_probabilities() -> None:
    assert check_walk(VOTES, lambda x, y: sf.eventually((x == 4) & (y == 4)), engine="explicit").proved
    x, y = sf.integer("x", 0, 4), sf.integer("y", 0, 4)
    slips = sf.Environment("walk", start=(x == 0) & (y == 0)).edge(
        "down", guard=x < 4, outcomes=[("3/4", {x: x + 1}), ("1/4", {y: sf.minimum(y + 1, 4)})]
    )
    slips = slips.edge("right", guard=y < 4, update={y: y + 1})
    policy = sf.NeuralPolicy(WALK, (x, y), ("down", "right"))
    asked = "P=? [ true U y > x ]"
    exact = sf.probability(slips, asked, policy=policy, engine="explicit", timeout=60)
    assert exact.certificate is not None
    assert is_accepted(exact.certificate.content)
    near = sf.probability(slips, asked, policy=policy, engine="statistical", eps=0.02, timeout=60)
    assert near.low - 0.02 <= exact.low <= exact.high <= near.high + 0.02


def test_what_cannot_follow_trees_says_so() -> None:
    by_milp = check_walk(WALK, corner, engine="bmc", solver="milp")
    assert "`milp` does not encode decision trees; `trees` has some" in str(by_milp)
    with pytest.raises(sf.SurefootError, match="`reach` follows no decision trees; `trees` has some"):
        check_walk(WALK, lambda x, y: sf.never(y > x, steps=3), engine="reach")


# Left and right by the angle and its speed, in boosted trees that begin with a sum.
CART = ensemble(
    2,
    (0, 0.02, (1, 0.1, [0.4, 0.0], [0.0, 0.1]), [0.0, 0.5]),
    (1, -0.05, [0.3, 0.0], (0, -0.01, [0.2, 0.1], [0.0, 0.25])),
    (0, -0.03, [0.25, 0.0], [0.0, 0.2]),
    start=(0.0, 0.125),
)


def check_cart(limit: float, **options: Any) -> Any:
    angle, speed = sf.real("angle", -3, 3), sf.real("speed", -9, 9)
    near = (angle >= -0.02) & (angle <= 0.02) & (speed >= -0.02) & (speed <= 0.02)
    cart = sf.Environment("cart", start=near)
    for name, push in (("left", 0.3), ("right", -0.3)):
        cart = cart.edge(name, update={angle: angle + 0.02 * speed, speed: speed + 0.3 * angle + push})
    policy = sf.NeuralPolicy(CART, (angle, speed), ("left", "right"))
    bad = sf.never((angle > limit) | (angle < -limit), steps=4)
    return sf.check(cart, policy, bad, timeout=60, **options)


def test_a_cart_of_real_numbers() -> None:
    proved = check_cart(0.1, engine="bmc")
    assert proved.proved, proved
    assert is_accepted(proved.certificate.content)
    assert check_cart(0.0203, engine="bmc").violated
    assert check_cart(0.0203, engine="falsify").violated


def trees_of(content: Any) -> list[Any]:
    """The node in the certificate, wherever it stands."""
    waiting: list[Any] = [content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list) and part and part[0] == "trees":
            return part
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    raise AssertionError("no trees")


def text_of(numbers: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def test_a_certificate_of_other_trees_is_judged_by_those() -> None:
    """Each change lets the policy turn too early: whatever the steps say, it must not be accepted."""
    for engine in ("induction", "explicit"):
        content = check_walk(WALK, corner, engine=engine).certificate.content
        assert is_accepted(content)
        lower_threshold, other_sides, other_leaves = (copy.deepcopy(content) for _ in range(3))
        trees_of(lower_threshold)[3] = text_of([-1.0])
        node = trees_of(other_sides)
        node[4], node[5] = node[5], node[4]
        node = trees_of(other_leaves)
        node[7] = text_of([0.0, 1.0, 1.0, 0.0])
        assert not any(map(is_accepted, (lower_threshold, other_sides, other_leaves)))
