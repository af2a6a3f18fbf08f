"""Small random networks with every kind of node, for laws."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
    freeze_float32,
    freeze_indices,
)
from tests.laws.tree_ensembles import random_trees

_PARAMETERS = {
    Shape.LEAKY_RELU: [(0.125,), (-0.5,), (1.5,), (0.0,)],
    Shape.CLIP: [(-0.5, 0.75), (0.0, 0.25), (1.0, 1.0)],
    Shape.ELU: [(1.0,), (0.25,), (1.75,)],
}
_AWAY_FROM_ZERO = [(0.25, 8.0), (-4.0, -0.5), (1e-3, 2.0)]
_KINDS = ["affine", "affine", "activation", "activation", "elementwise", "combine", "divide", "pick", "join"]


@st.composite
def networks(draw: st.DrawFn, most_nodes: int = 6, smooth: bool = True, trees: bool = True) -> Network:
    """A network of up to 4 inputs; weights spread over scales, with zeros and small integers among them.

    Most divisors are kept away from zero; the others may be anything.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    widths, nodes = [draw(st.integers(1, 4))], list[Node]()
    kinds = [*_KINDS, "trees"] if trees else _KINDS
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=most_nodes)):
        node, width = _node(draw, rng, kind, widths, smooth)
        if isinstance(node, Combine) and node.pairing is Pairing.DIVIDE and draw(st.integers(0, 3)):
            clip = draw(st.sampled_from(_AWAY_FROM_ZERO))
            nodes.append(Activation(node.right, Shape.CLIP, tuple(float(np.float32(c)) for c in clip)))
            widths.append(width)
            node = replace(node, right=len(nodes))
        nodes.append(node)
        widths.append(width)
    return Network(widths[0], tuple(nodes))


def of_one_node() -> dict[str, Network]:
    """A network of two inputs for every member of every table of operations."""
    nodes: dict[str, Node] = {
        **{f"constant {k.value}": Elementwise(0, k, freeze_float32([2, -0.5])) for k in Constant},
        **{s.value: Activation(0, s, _PARAMETERS.get(s, [()])[0]) for s in Shape},
        **{f"pair {p.value}": Combine(0, 0, p) for p in Pairing},
        "trees": random_trees(np.random.default_rng(2), 2, 2, 2, 4, even=True),
    }
    return {name: Network(2, (node,), name) for name, node in nodes.items()}


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Mostly normal, some zero, some whole, some of quite another scale."""
    x = rng.normal(size=shape) * rng.choice([1.0, 1.0, 1.0, 1e-3, 30.0], size=shape)
    return np.where(rng.random(shape) < 0.15, np.round(x), x).astype(np.float32)


def _node(
    draw: st.DrawFn, rng: np.random.Generator, kind: str, widths: list[int], smooth: bool
) -> tuple[Node, int]:
    last = len(widths) - 1
    source = draw(st.sampled_from([last, last, last, draw(st.integers(0, last))]))
    width = widths[source]
    match kind:
        case "affine":
            rows = draw(st.integers(1, 5))
            return Affine(
                source, freeze_float32(numbers(rng, rows, width)), freeze_float32(numbers(rng, rows))
            ), rows
        case "activation":
            shapes = list(Shape) if smooth else [Shape.RELU, Shape.LEAKY_RELU, Shape.CLIP]
            shape = draw(st.sampled_from(shapes))
            return Activation(source, shape, draw(st.sampled_from(_PARAMETERS.get(shape, [()])))), width
        case "elementwise":
            constant = numbers(rng, width)
            constant[constant == 0] = 0.5
            return Elementwise(source, draw(st.sampled_from(Constant)), freeze_float32(constant)), width
        case "combine":
            same = [i for i, w in enumerate(widths) if w == width]
            return Combine(source, draw(st.sampled_from(same)), draw(st.sampled_from(Pairing))), width
        case "divide":
            same = [i for i, w in enumerate(widths) if w == width]
            return Combine(source, draw(st.sampled_from(same)), Pairing.DIVIDE), width
        case "pick":
            indices = rng.integers(0, width, size=draw(st.integers(1, 4)))
            return Pick(source, freeze_indices(indices)), indices.size
        case "trees":
            outputs, count = draw(st.integers(1, 3)), draw(st.integers(1, 3))
            node = random_trees(rng, width, outputs, count, 4, even=draw(st.booleans()))
            return replace(node, source=source), outputs
    several = (source, draw(st.integers(0, last)))
    return Join(several), sum(widths[s] for s in several)


def boxes(rng: np.random.Generator, width: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Input boxes of several sizes, points among them."""
    centre = rng.normal(size=(batch, width)) * rng.choice([0.1, 1.0, 4.0], size=(batch, 1))
    radius = np.abs(rng.normal(size=(batch, width))) * rng.choice([0.0, 1e-6, 0.1, 1.0, 3.0], size=(batch, 1))
    return (centre - radius).astype(np.float32).astype(float), (centre + radius).astype(np.float32).astype(
        float
    )


def points(rng: np.random.Generator, low: np.ndarray, high: np.ndarray, count: int) -> np.ndarray:
    """Float32 points of one box: corners and random ones."""
    share = rng.random((count, low.size))
    share[: count // 2] = rng.integers(0, 2, size=(count // 2, low.size))
    inside = (low + share * (high - low)).astype(np.float32)
    return np.clip(inside, low, high).astype(np.float32)  # the ends are float32 themselves
