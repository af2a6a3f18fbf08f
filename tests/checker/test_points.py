"""Outputs of networks at points: every order of summation lies within the bounds, the fast ones too."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from surefoot_checker.bounds.point_bounds import RoughEnclosure, point_enclosure, rough_enclosure
from surefoot_checker.kernel.network import ActivationNode, AffineNode, FlatNetwork, Node


def network(draw: Random, widths: list[int], size: float) -> FlatNetwork:
    def numbers(count: int) -> tuple[float, ...]:
        return tuple(float(np.float32(draw.uniform(-size, size))) for _ in range(count))

    nodes: list[Node] = []
    for columns, rows in pairwise(widths):
        nodes += [AffineNode(len(nodes), columns, numbers(rows * columns), numbers(rows))]
        nodes += [ActivationNode(len(nodes), "relu")]
    return FlatNetwork(widths[0], tuple(nodes[:-1]))


def computed(asked: FlatNetwork, inputs: tuple[float, ...], draw: Random) -> list[float]:
    """A float32 evaluation in some order of summation."""
    values = [np.float32(x) for x in inputs]
    for node in asked.nodes:
        if isinstance(node, AffineNode):
            before = values
            values = []
            for row, bias in enumerate(node.bias):
                parts = [
                    np.float32(w) * x
                    for w, x in zip(node.weights[row * node.columns :], before, strict=False)
                ]
                parts.append(np.float32(bias))
                draw.shuffle(parts)
                total = np.float32(0)
                for part in parts:
                    total = total + part
                values.append(total)
        else:
            values = [max(x, np.float32(0)) for x in values]
    return [float(x) for x in values]


@pytest.mark.parametrize("seed", range(12))
def test_every_order_lies_within(seed: int) -> None:
    draw = Random(seed)
    asked = network(draw, [3, draw.randint(1, 9), draw.randint(1, 9), 4], draw.choice((0.01, 1.0, 40.0)))
    near, exact = rough_enclosure(asked), point_enclosure(asked)
    assert near is not None
    for _ in range(30):
        inputs = tuple(
            float(np.float32(draw.choice((draw.randint(-9, 9), draw.uniform(-3, 3))))) for _ in "xyz"
        )
        wide, narrow = near(inputs), exact(inputs)
        assert wide is not None
        for number, output in enumerate(computed(asked, inputs, draw)):
            top, bottom = output.as_integer_ratio()
            assert wide[0][number] * bottom <= top << 40 <= wide[1][number] * bottom
            assert narrow[0][number] * bottom <= top << 64 <= narrow[1][number] * bottom


def test_the_error_is_small_enough_to_be_of_use() -> None:
    draw = Random(1)
    near = rough_enclosure(network(draw, [4, 16, 16, 9], 1.0))
    assert near is not None
    for _ in range(20):
        found = near(tuple(float(draw.randint(-10, 10)) for _ in range(4)))
        assert found is not None
        assert max(high - low for low, high in zip(*found, strict=True)) < (1 << 40) // 100


def test_where_a_value_may_overflow_there_are_no_fast_bounds() -> None:
    near = rough_enclosure(FlatNetwork(1, (AffineNode(0, 1, (3e38,), (0.0,)),)))
    assert isinstance(near, RoughEnclosure)
    assert near((2.0,)) is None


def test_other_layers_have_no_fast_bounds() -> None:
    assert (
        rough_enclosure(FlatNetwork(1, (AffineNode(0, 1, (1.0,), (0.0,)), ActivationNode(1, "tanh")))) is None
    )
    assert (
        rough_enclosure(FlatNetwork(1, (AffineNode(0, 1, (1.0,), (0.0,)), AffineNode(0, 1, (1.0,), (0.0,)))))
        is None
    )
