"""What a network does in many states at once: the oracle of Algorithm 1 (Zhu et al., PLDI 2019)."""

from __future__ import annotations

from surefoot.engines.barrier.float_system import float_system
from surefoot.problem.policy import NeuralPolicy, Policy
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import ControlSystem
from surefoot.shields.evaluation.plant import by_network
from surefoot.shields.linear_controllers import Floats, Oracle
from surefoot.term.term import Const


def network_oracle(problem: Problem, system: ControlSystem) -> Oracle | None:
    """From states, one in each row, to the controls of the problem's network; None if it has none."""
    policy: Policy | None = problem.policy
    if not isinstance(policy, NeuralPolicy):
        return None
    proposed, ends = (
        by_network(policy, system),
        float_system(system, tuple(Const(0) for _ in system.controls)),
    )

    def clipped_controls(states: Floats) -> Floats:
        return ends.clip_controls(proposed(states, 0))

    return clipped_controls
