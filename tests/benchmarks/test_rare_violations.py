"""What random runs almost never meet is found by few runs that are led to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from benchmarks.rare_violations import cloud, seam

from surefoot.certify.replay import replay
from surefoot.engines.falsify import Falsify
from surefoot.problem.problem import Problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget


@pytest.mark.parametrize("make", [cloud, seam])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_and_halving_lead_to_violations(make: Callable[[], Problem], seed: int) -> None:
    """Without them 30,000 runs do not meet the point in 60 dimensions, and it takes 300,000 to the seam."""
    executed = discretise(make())
    found = Falsify(runs=20_000).check(end_at_goal(executed), Budget(120, seed))
    assert isinstance(found, Violated)
    assert replay(executed, found.trace) is None
