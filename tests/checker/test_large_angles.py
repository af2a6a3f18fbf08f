"""A sine of a number beyond what the reference takes has no value: a claim about it is refused."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.network.float32_error import may_overflow_float32
from surefoot.problem.network import Activation, Affine, Network, Shape, freeze_float32
from surefoot_checker.bounds.case_problem import CaseProblem, GraphValue
from surefoot_checker.bounds.interval_propagation import may_overflow
from surefoot_checker.bounds.subdomain import PrecisionGrid, SubdomainState
from surefoot_checker.kernel.network import ActivationNode, AffineNode
from surefoot_checker.kernel.strict_json import Refused


@pytest.mark.parametrize("shape", [Shape.SIN, Shape.COS])
@pytest.mark.parametrize(("slope", "refused"), [(1e3, False), (1e21, True)])
def test_both_know_the_limit(shape: Shape, slope: float, refused: bool) -> None:
    steep = Affine(0, freeze_float32([[slope]]), freeze_float32([0.0]))
    network = Network(1, (steep, Activation(1, shape)))
    assert may_overflow_float32(network, np.array([-1.0]), np.array([1.0])) == refused
    weight = float(np.float32(slope))
    values = (
        GraphValue(1, None, ()),
        GraphValue(1, AffineNode(0, 1, (weight,), (0.0,)), (0,)),
        GraphValue(1, ActivationNode(1, shape.value, ()), (1,)),
    )
    grid = PrecisionGrid(CaseProblem((), values, (), (), True), 40, None)
    end = int(weight) << 40
    state = SubdomainState([[-1 << 40], [-end], [-1 << 40]], [[1 << 40], [end], [1 << 40]], 0, [None], [None])
    if refused:
        with pytest.raises(Refused, match="angle of a sine is too large"):
            may_overflow(grid, state, 2)
    else:
        assert not may_overflow(grid, state, 2)
