"""A control problem as a polynomial system: boxes of starts and disturbances, one map, unsafe states."""

from surefoot.reductions.barrier.control_system import (
    ControlBranch,
    ControlSystem,
    box_from_bounds,
    control_branches,
    read_control_system,
    without_target,
)
from surefoot.reductions.barrier.horner import horner_term
from surefoot.reductions.barrier.membership import (
    barrier_rows,
    inside_set,
    largest_of_rows,
    next_state_inside,
)
from surefoot.reductions.barrier.polynomials import polynomial_of, relaxed_dnf
from surefoot.reductions.barrier.taylor import (
    FlowpipeBounds,
    SampledFlow,
    polynomial_box_range,
    polynomial_change_bound,
)

__all__ = [
    "ControlBranch",
    "ControlSystem",
    "FlowpipeBounds",
    "SampledFlow",
    "barrier_rows",
    "box_from_bounds",
    "control_branches",
    "horner_term",
    "inside_set",
    "largest_of_rows",
    "next_state_inside",
    "polynomial_box_range",
    "polynomial_change_bound",
    "polynomial_of",
    "read_control_system",
    "relaxed_dnf",
    "without_target",
]
