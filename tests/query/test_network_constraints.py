"""What the writers are told, computed with numbers: the exact outputs of the network."""

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Pairing,
    Pick,
    Shape,
    freeze_float32,
    freeze_indices,
)
from surefoot.query.network_constraints import (
    ChoiceWriter,
    Factor,
    NetworkWriter,
    Place,
    ReluWriter,
    write_network,
)

FIRST = Affine(0, freeze_float32([[1, -2], [0.5, 1]]), freeze_float32([0.25, -1]))
NETWORKS = {
    "relu": Network(2, (FIRST, Activation(1, Shape.RELU))),
    "leaky": Network(2, (FIRST, Activation(1, Shape.LEAKY_RELU, (0.25,)))),
    "steep": Network(2, (FIRST, Activation(1, Shape.LEAKY_RELU, (1.5,)))),
    "clip": Network(2, (FIRST, Activation(1, Shape.CLIP, (-0.5, 0.75)))),
    "crossed clip": Network(2, (FIRST, Activation(1, Shape.CLIP, (0.75, -0.5)))),
    "maximum": Network(2, (FIRST, Combine(0, 1, Pairing.MAXIMUM))),
    "add": Network(2, (FIRST, Combine(0, 1, Pairing.ADD))),
    "constants": Network(
        2, tuple(Elementwise(i, kind, freeze_float32([3, -0.5])) for i, kind in enumerate(Constant))
    ),
    "pick and join": Network(2, (FIRST, Pick(1, freeze_indices([1, 0, 1])), Join((0, 2)))),
}


class _Numbers(NetworkWriter[Fraction]):
    def affine(self, inputs: Sequence[tuple[float, Fraction]], bias: float, place: Place) -> Fraction:
        return self.combine(inputs, bias, place)

    def combine(
        self, parts: Sequence[tuple[Factor, Fraction]], constant: Factor, place: Place | None
    ) -> Fraction:
        return Fraction(constant) + sum(Fraction(factor) * x for factor, x in parts)


class _ByRelu(_Numbers, ReluWriter[Fraction]):
    def relu(self, x: Fraction, source: Place | None) -> Fraction:
        return max(x, Fraction(0))


class _ByChoice(_Numbers, ChoiceWriter[Fraction]):
    def choose(
        self, x: Fraction, relation: str, y: Fraction, then: Fraction, otherwise: Fraction
    ) -> Fraction:
        return then if (x < y if relation == "<" else x >= y) else otherwise


@pytest.mark.parametrize("writer", [_ByRelu(), _ByChoice()], ids=["relu", "choice"])
@pytest.mark.parametrize("name", NETWORKS)
def test_both_vocabularies_say_what_the_network_computes(name: str, writer: NetworkWriter[Fraction]) -> None:
    random = Random(name)
    for _ in range(40):
        point = [Fraction(random.randint(-12, 12), 8) for _ in range(2)]
        assert write_network(NETWORKS[name], point, writer) == list(exact_outputs(NETWORKS[name], point))


def test_what_is_not_piecewise_linear_is_refused() -> None:
    for node in (Activation(1, Shape.TANH), Combine(0, 1, Pairing.MULTIPLY), Combine(0, 1, Pairing.DIVIDE)):
        with pytest.raises(Unsupported, match="not piecewise linear"):
            write_network(Network(2, (FIRST, node)), [Fraction(1)] * 2, _ByRelu())
    with pytest.raises(InvalidProblem, match="not a finite number"):
        write_network(
            Network(2, (FIRST, Activation(1, Shape.CLIP, (0.0, float("inf"))))), [Fraction(1)] * 2, _ByRelu()
        )
